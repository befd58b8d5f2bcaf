"""
Forecasting a time series
=========================

The test data of a forecast must be later than its training data. This example tunes a
forecast of daily sales with ``TimeSeriesSplit``, and draws the forecast for the last
weeks, which the search has not used.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import Ridge
from sklearn.model_selection import TimeSeriesSplit
from sklearn.pipeline import make_pipeline

from skbayes import BayesSearchCV

# %%
# Generate the data
# -----------------
#
# The series has a trend, a yearly and a weekly pattern, and noise.
rng = np.random.default_rng(0)
day = np.arange(4 * 365)
X = day[:, np.newaxis]
y = 100 + 0.03 * day + 15 * np.sin(2 * np.pi * day / 365) + rng.normal(0, 4, len(day))
y += np.array([0, -4, -3, 0, 6, 14, 9])[day % 7]

# %%
# Tune the features and the model
# -------------------------------
#
# A transformer computes the features of a day: the trend, and waves with fractions of
# the periods of a year and a week. The numbers of waves are hyper-parameters.


class Waves(TransformerMixin, BaseEstimator):
    """Trend, and sines and cosines with fractions of both periods."""

    def __init__(self, per_year=1, per_week=1):
        self.per_year, self.per_week = per_year, per_week

    def fit(self, X, y=None):
        """Compute the periods in days."""
        self.periods_ = [365 / k for k in range(1, self.per_year + 1)]
        self.periods_ += [7 / k for k in range(1, self.per_week + 1)]
        return self

    def transform(self, X):
        """Return the features."""
        angles = 2 * np.pi * X / np.array(self.periods_)
        return np.hstack([X, np.sin(angles), np.cos(angles)])


model = make_pipeline(Waves(), Ridge())
space = {
    "waves__per_year": (1, 8),
    "waves__per_week": (1, 3),
    "ridge__alpha": (1e-2, 1e4, "log-uniform"),
}
common = {"scoring": "neg_mean_absolute_error", "cv": TimeSeriesSplit(5, test_size=90)}
search = BayesSearchCV(model, space, n_iter=20, random_state=0, **common)
search.fit(X[:-90], y[:-90])
print(f"mean absolute error {-search.best_score_:.2f} with {search.best_params_}")

# %%
# Draw the forecast
# -----------------
#
# The model was fitted to the data before the dotted line.
error = np.abs(search.predict(X[-90:]) - y[-90:]).mean()
print(f"mean absolute error of the forecast: {error:.2f}")
figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
axes.plot(day[-130:], y[-130:], ".-", color="0.7", label="sales")
axes.plot(day[-130:], search.predict(X[-130:]), label="model")
axes.axvline(day[-90], color="0.2", ls=":")
axes.set(xlabel="day", ylabel="sales")
axes.legend(loc="upper left", ncols=2)
