"""
Mixed columns of a data frame with LightGBM
===========================================

Many data frames have numerical columns with missing values and columns of categories.
This example tunes the encoder of the categories together with LightGBM. LightGBM also
accepts columns of the pandas type ``category`` without an encoder.
"""

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from skbayes import BayesSearchCV

# %%
# Generate the data
# -----------------
#
# The target is the number of bicycles that are rented in an hour. It depends on the
# hour, the temperature, the weather, and the station.
rng, size = np.random.default_rng(0), 1000
frame = pd.DataFrame(
    {
        "hour": rng.integers(0, 24, size),
        "temperature": rng.normal(15, 8, size),
        "weather": rng.choice(["clear", "cloudy", "rain"], size),
        "station": rng.choice([f"S{i}" for i in range(40)], size),
    }
)
demand = frame["station"].map({f"S{i}": rng.gamma(5, 8) for i in range(40)})
demand *= frame["weather"].map({"clear": 1.0, "cloudy": 0.8, "rain": 0.3})
demand *= np.exp(-(((frame["hour"] - 17) / 5) ** 2))
y = demand + frame["temperature"] + rng.normal(0, 3, size)
frame.loc[rng.random(size) < 0.1, "temperature"] = np.nan

# %%
# Tune the encoder and the model
# ------------------------------
#
# ``columns__encode`` lists the alternatives for the encoder, which is a part of the
# column transformer. Test folds may contain categories that the training folds do not
# have, so each encoder accepts unknown categories. With ``early_stopping="auto"``, the
# search chooses the number of trees of each trial (:doc:`/early_stopping`).
# ``TargetEncoder`` splits the rows at random, so the results differ slightly between
# runs. If rows belong to groups, such as customers, add a splitter as in
# :doc:`/auto_examples/data/groups`.
encode = ColumnTransformer(
    [("encode", TargetEncoder(), ["weather", "station"])], remainder="passthrough"
).set_output(transform="pandas")
model = LGBMRegressor(n_jobs=1, verbose=-1)
ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
space = {
    "columns__encode": [ordinal, one_hot, TargetEncoder()],
    "model__num_leaves": (2, 128, "log-uniform"),
    "model__learning_rate": (0.05, 1.0, "log-uniform"),
}
pipeline = Pipeline([("columns", encode), ("model", model)])
options = {"n_iter": 10, "cv": 3, "early_stopping": "auto", "random_state": 0}
search = BayesSearchCV(pipeline, space, **options)
search.fit(frame, y)
best = search.results_frame().nlargest(5, "mean_test_score")
best.filter(regex="param_|mean_test|rounds")

# %%
# Draw the learning curves
# ------------------------
#
# Each line is a trial: the mean score over the folds after each number of trees.
curves = search.learning_curves_.groupby(["rounds", "trial"])["test_score"]
curves.mean().unstack().plot(title="Learning curves of LightGBM", legend=False)
