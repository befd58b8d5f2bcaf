"""
Mixed columns of a data frame with LightGBM
===========================================

Many data frames have numerical columns with missing values and columns of categories.
This example tunes the encoder of the categories together with LightGBM.
"""

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from skbayes import BayesSearchCV
from skbayes.inspection import PartialDependenceDisplay

# %%
# Generate the data
# -----------------
#
# The target is the number of bicycles that are rented in an hour. It depends on the
# hour, the temperature, the weather, and the station.
rng = np.random.default_rng(0)
n = 1500
frame = pd.DataFrame(
    {
        "hour": rng.integers(0, 24, n),
        "temperature": rng.normal(15, 8, n),
        "weather": rng.choice(["clear", "cloudy", "rain"], n),
        "station": rng.choice([f"S{i}" for i in range(40)], n),
    }
)
demand = frame["station"].map({f"S{i}": rng.gamma(5, 8) for i in range(40)})
demand *= frame["weather"].map({"clear": 1.0, "cloudy": 0.8, "rain": 0.3})
demand *= np.exp(-(((frame["hour"] - 17) / 5) ** 2))
y = demand + frame["temperature"] + rng.normal(0, 3, n)
frame.loc[rng.random(n) < 0.1, "temperature"] = np.nan
frame.head()

# %%
# Tune the encoder and the model
# ------------------------------
#
# The encoder is a step of the pipeline, and a dimension of the search space. LightGBM
# accepts missing values. The table shows the best trials.
encode = ColumnTransformer(
    [("encode", OrdinalEncoder(), ["weather", "station"])], remainder="passthrough"
)
model = LGBMRegressor(n_estimators=60, n_jobs=1, verbose=-1)
encoders = [OrdinalEncoder(), OneHotEncoder(sparse_output=False), TargetEncoder()]
space = {
    "columns__encode": encoders,
    "model__num_leaves": (2, 128, "log-uniform"),
    "model__learning_rate": (0.01, 1.0, "log-uniform"),
}
encode.set_output(transform="pandas")
pipeline = Pipeline([("columns", encode), ("model", model)])
search = BayesSearchCV(pipeline, space, n_iter=20, cv=3, random_state=0)
search.fit(frame, y)
search.results_frame().nlargest(5, "mean_test_score").filter(regex="param_|mean_test")

# %%
# Draw the expected score
# -----------------------
#
# The surrogate predicts the score for each value of a hyper-parameter, averaged over
# the other hyper-parameters. The band is two standard deviations wide on either side.
PartialDependenceDisplay.from_search(search, list(space))
