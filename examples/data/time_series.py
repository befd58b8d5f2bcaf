"""
Forecasting a time series
=========================

To evaluate a forecast, the test data must be later than the training data. This example
tunes a forecasting model of daily sales with random splits and with
``TimeSeriesSplit``. It compares the cross-validated mean absolute errors with those on
later data, which the searches have not used.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.signal import lfilter
from sklearn.compose import ColumnTransformer
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import KFold, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from skbayes import BayesSearchCV

# %%
# Generate the data
# -----------------
#
# The sales have a weekly pattern and a level that changes slowly. Forecasts are made
# one week ahead: the features are the day and the sales of at least seven days before.
# The rows are sorted by time.
rng = np.random.default_rng(0)
day = np.arange(600)
level = 100 + lfilter([1], [1, -0.98], rng.normal(0, 2, 600))
sales = level + np.array([0, -4, -3, 0, 6, 14, 9])[day % 7] + rng.normal(0, 2, 600)
frame = pd.DataFrame({"day": day, "sales": sales})
for lag in (7, 8, 14, 21):
    frame[f"lag {lag}"] = frame["sales"].shift(lag)
frame = frame.dropna()
X, y = frame.drop(columns="sales"), frame["sales"]

# %%
# Tune the model with both splits
# -------------------------------
#
# A forecast one week ahead cannot use the sales of the six days before it. ``gap=6``
# removes them from the training data. The search also chooses whether the day is a
# feature. Searches maximize the score, so scikit-learn negates errors.
columns = ColumnTransformer([("day", "passthrough", ["day"])], remainder="passthrough")
svr = make_pipeline(columns, StandardScaler(), SVR())
space = {
    "columntransformer__day": ["passthrough", "drop"],
    "svr__C": (1.0, 1e3, "log-uniform"),
    "svr__gamma": (1e-4, 10.0, "log-uniform"),
}
figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
axes.plot(day[-84:], sales[-84:], ".-", color="0.7", label="sales")
for cv in (KFold(5, shuffle=True, random_state=0), TimeSeriesSplit(5, gap=6)):
    search = BayesSearchCV(
        svr, space, scoring="neg_mean_absolute_error", cv=cv, n_iter=15, random_state=0
    ).fit(X[:-90], y[:-90])
    forecast, name = search.predict(X[-84:]), type(cv).__name__
    axes.plot(day[-84:], forecast, label=f"tuned with {name}")
    error = mean_absolute_error(y[-84:], forecast)
    print(f"{name}: cross-validated {-search.best_score_:.2f}, later data {error:.2f}")
    print(f"  {search.best_params_}")
axes.set(xlabel="day", ylabel="sales", title="Sales and forecasts of the later data")
axes.legend(loc="upper left", bbox_to_anchor=(1, 1))

# %%
# With random splits, the training data include the days before and after each test day.
# A model with the day as a feature can interpolate the level between them. This is
# impossible on later data, so the cross-validated error is too low.
