"""
Accuracy against size: the forests that nothing beats in both
=============================================================

A random forest recognizes digits the better the more and the deeper its trees are, and
the larger it is. :class:`~skbayes.ParetoSearchCV` looks for the tradeoffs between the
two; ``RandomizedSearchCV`` tries as many forests from the same ranges.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import randint
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import RandomizedSearchCV

from skbayes import ParetoSearchCV
from skbayes.acquisition.hypervolume import hypervolume, reference_point
from skbayes.evaluation import model_size

parser = argparse.ArgumentParser(description="Forests between accuracy and size.")
parser.add_argument("--n-iter", type=int, default=40)
parser.add_argument("--n-jobs", type=int, default=2)
parser.add_argument("--rows", type=int, default=None, help="use only so many rows")
parser.add_argument("--output", default="pareto.png", help="picture to write")
options = parser.parse_args()

# %%
# Both searches
# -------------

SPACE = {
    "n_estimators": (1, 200, "log-uniform"),
    "max_depth": (1, 15),
    "max_features": (1, 30),
}

# The same, as RandomizedSearchCV wants it.
DISTRIBUTIONS = {
    "n_estimators": [*np.unique(np.geomspace(1, 200, 60).astype(int))],
    "max_depth": randint(1, 16),
    "max_features": randint(1, 31),
}


def error_and_size(estimator, X, y):
    """Score by several numbers at once, as RandomizedSearchCV can do."""
    return {"accuracy": estimator.score(X, y), "model_size": model_size(estimator)}


X, y = load_digits(return_X_y=True)
X, y = X[: options.rows], y[: options.rows]
forest = RandomForestClassifier(random_state=0)
common = {
    "n_iter": options.n_iter,
    "cv": 3,
    "n_jobs": options.n_jobs,
    "random_state": 0,
}
pareto = ParetoSearchCV(
    forest, SPACE, objectives={"accuracy": "max", "model_size": "min"}, **common
).fit(X, y)
random = RandomizedSearchCV(
    forest, DISTRIBUTIONS, scoring=error_and_size, refit=False, **common
).fit(X, y)

# %%
# The front
# ---------
#
# "knee" is the point that is refitted unless you say otherwise.

front = pareto.pareto_front_
print(f"{len(front)} of {len(pareto.trials_)} forests are on the front:")
print(front.drop(columns="trial").round(4).to_string(index=False))
print(f"knee: {pareto.best_params_}, accuracy {pareto.best_score_:.4f}")

# %%
# Beside a random search
# ----------------------
#
# On the left the trials of both, and the front; on the right the share of the volume
# that each front dominates after each trial.


def tried(search):
    """Error and size of each trial, in order."""
    results = search.cv_results_
    return np.column_stack(
        [1 - results["mean_test_accuracy"], results["mean_test_model_size"]]
    )


def growth(points, reference):
    """Volume dominated after each trial; sizes count by their logarithm."""
    Y = -np.column_stack([points[:, 0], np.log(points[:, 1])])
    return np.array([hypervolume(Y[: i + 1], reference) for i in range(len(Y))])


def draw(pareto, random):
    """Draw the trials of both searches, and how the volume grew."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    everything = np.vstack([tried(pareto), tried(random)])
    Y = -np.column_stack([everything[:, 0], np.log(everything[:, 1])])
    reference = reference_point(Y)
    volume = np.prod(Y.max(axis=0) - reference)
    for search, name, color in (
        (random, "RandomizedSearchCV", "0.6"),
        (pareto, "ParetoSearchCV", "C0"),
    ):
        error, size = tried(search).T
        left.plot(size, error, ".", color=color, label=name)
        share = growth(tried(search), reference) / volume
        right.plot(np.arange(1, len(share) + 1), share, color=color, label=name)
    front = pareto.pareto_front_
    left.step(
        front["model_size"], 1 - front["accuracy"], color="C0", where="post", lw=1
    )
    left.set(xscale="log", yscale="log", xlabel="bytes", ylabel="error")
    right.set(xlabel="trials", ylabel="share of the volume", ylim=(0, 1))
    right.legend(frameon=False, loc="lower right")
    return figure


figure = draw(pareto, random)
if options.output:
    figure.savefig(options.output, dpi=150)
