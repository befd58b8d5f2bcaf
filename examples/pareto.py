"""Accuracy against size: the forests that nothing beats in both.

A random forest recognises digits the better the more and the deeper its trees are, and
the larger it is. ParetoSearchCV looks for the tradeoffs between the two;
RandomizedSearchCV tries as many forests from the same ranges.

The script prints the front, and draws it with all trials of both searches. On the right
is the share of the volume that each front dominates after each trial.
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
from skbayes.search.objectives import model_size

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
    for search, name, colour in (
        (random, "RandomizedSearchCV", "0.6"),
        (pareto, "ParetoSearchCV", "C0"),
    ):
        error, size = tried(search).T
        left.plot(size, error, ".", color=colour, label=name)
        share = growth(tried(search), reference) / volume
        right.plot(np.arange(1, len(share) + 1), share, color=colour, label=name)
    front = pareto.pareto_front_
    left.step(
        front["model_size"], 1 - front["accuracy"], color="C0", where="post", lw=1
    )
    left.set(xscale="log", yscale="log", xlabel="bytes", ylabel="error")
    right.set(xlabel="trials", ylabel="share of the volume", ylim=(0, 1))
    right.legend(frameon=False, loc="lower right")
    figure.savefig("pareto.png", dpi=150)


def main():
    """Run both searches, print the front, and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n-iter", type=int, default=40)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--rows", type=int, default=None, help="use only so many rows")
    arguments = parser.parse_args()

    X, y = load_digits(return_X_y=True)
    X, y = X[: arguments.rows], y[: arguments.rows]
    forest = RandomForestClassifier(random_state=0)
    pareto = ParetoSearchCV(
        forest,
        SPACE,
        objectives={"accuracy": "max", "model_size": "min"},
        n_iter=arguments.n_iter,
        cv=3,
        n_jobs=arguments.n_jobs,
        random_state=0,
    ).fit(X, y)
    random = RandomizedSearchCV(
        forest,
        DISTRIBUTIONS,
        n_iter=arguments.n_iter,
        scoring=error_and_size,
        refit=False,
        cv=3,
        n_jobs=arguments.n_jobs,
        random_state=0,
    ).fit(X, y)

    front = pareto.pareto_front_
    print(f"{len(front)} of {len(pareto.trials_)} forests are on the front:")
    print(front.drop(columns="trial").round(4).to_string(index=False))
    print(f"knee: {pareto.best_params_}, accuracy {pareto.best_score_:.4f}")
    draw(pareto, random)


if __name__ == "__main__":
    main()
