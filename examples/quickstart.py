"""
Quick start: from GridSearchCV to BayesSearchCV
===============================================

This example tunes gradient boosting on scikit-learn's breast cancer data, first with a
grid search and then with :class:`~skbayes.BayesSearchCV`. It compares the results, the
number of fits, and the time.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import GridSearchCV

from skbayes import BayesSearchCV

X, y = load_breast_cancer(return_X_y=True)
model = GradientBoostingClassifier(n_estimators=200, random_state=0)

# %%
# Define both searches
# --------------------
#
# The grid has 27 configurations. The Bayesian search has ranges with the same limits
# and a budget of 12 configurations.
grid_space = {
    "learning_rate": [0.01, 0.1, 1.0],
    "max_depth": [1, 2, 4],
    "subsample": [0.4, 0.7, 1.0],
}
bayes_space = {
    "learning_rate": (0.01, 1.0, "log-uniform"),
    "max_depth": (1, 4),
    "subsample": (0.4, 1.0),
}
common = {"scoring": "neg_log_loss", "cv": 3}
grid = GridSearchCV(model, grid_space, **common)
bayes = BayesSearchCV(model, bayes_space, n_iter=12, random_state=0, **common)

# %%
# Compare the results
# -------------------
#
# The log loss is the mean over the folds of the cross-validation. Lower is better.
for search in (grid, bayes):
    start = perf_counter()
    search.fit(X, y)
    n_fits = len(search.cv_results_["params"]) * search.n_splits_
    print(f"{type(search).__name__}: {n_fits} fits, {perf_counter() - start:.1f} s")
    print(f"  log loss {-search.best_score_:.4f} with {search.best_params_}")

# %%
# Draw the progress
# -----------------
#
# The order of a grid is arbitrary. Its line is therefore a mean over 1000 random
# orders: the mean of the best loss so far.
rng = np.random.default_rng(0)
losses = np.tile(-grid.cv_results_["mean_test_score"], (1000, 1))
grid_best = np.minimum.accumulate(rng.permuted(losses, axis=1), axis=1).mean(axis=0)
bayes_best = np.minimum.accumulate(-bayes.cv_results_["mean_test_score"])
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for search, best, style in ((grid, grid_best, "C7--"), (bayes, bayes_best, "C0-")):
    fits = search.n_splits_ * np.arange(1, len(best) + 1)
    axes.step(fits, best, style, where="post", lw=2, label=type(search).__name__)
axes.set(xlabel="number of fits", ylabel="log loss", title="Best log loss so far")
axes.set_ylim(0.95 * bayes_best[-1], 1.5 * bayes_best[-1])
axes.legend(frameon=False)
figure.savefig("quickstart.png", dpi=150)
