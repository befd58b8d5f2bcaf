"""Optimism of the best score, and the part that `corrected_best_score` removes.

Random searches over support vector machines are run on 100 rows of five features. The
true score of the winner is measured on 2,000 new rows. The output is the mean error of
the best score, the mean error of the corrected score, and the share of the optimism
that is removed.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse

import numpy as np
from scipy.stats import loguniform
from sklearn.model_selection import RandomizedSearchCV
from sklearn.svm import SVC

from skbayes.results import corrected_best_score

SPACE = {"C": loguniform(1e-2, 1e3), "gamma": loguniform(1e-3, 1e1)}


def draw(rng, n_rows, signal):
    X = rng.normal(size=(n_rows, 5))
    y = (signal * X[:, 0] + rng.normal(size=n_rows) > 0).astype(int)
    return X, y


def errors(seed, n_splits, signal):
    """Return the errors of the best score and of the corrected one in one search."""
    rng = np.random.default_rng(seed)
    X, y = draw(rng, 100, signal)
    search = RandomizedSearchCV(
        SVC(), SPACE, n_iter=25, cv=n_splits, random_state=seed
    ).fit(X, y)
    truth = search.score(*draw(rng, 2000, signal))
    corrected = corrected_best_score(search.cv_results_, search.best_index_, n_splits)
    return search.best_score_ - truth, corrected - truth


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--searches", type=int, default=150, help="number of searches, 150 by default"
    )
    n_searches = parser.parse_args().searches
    print("labels    folds  best score  corrected  removed   (mean error ± s.e.)")
    for name, signal in (("random", 0.0), ("learnable", 1.0)):
        for n_splits in (5, 10):
            found = np.array(
                [errors(seed, n_splits, signal) for seed in range(n_searches)]
            )
            plain, left = found.mean(axis=0)
            se = found.std(axis=0) / np.sqrt(n_searches)
            print(
                f"{name:9} {n_splits:5}  {plain:.3f}±{se[0]:.3f}  "
                f"{left:+.3f}±{se[1]:.3f} {(plain - left) / plain:7.0%}"
            )


if __name__ == "__main__":
    main()
