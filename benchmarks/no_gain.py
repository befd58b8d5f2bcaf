"""Rates at which searches without any gain report one.

The labels are random, so that all configurations have the same score on new rows. A
gain of more than two standard errors is therefore always chance. The table compares
``best_gain_`` and ``best_gain_std_`` with the plain difference from the estimator's own
values and the standard error of a fixed pair (Nadeau and Bengio, 2003)::

    python benchmarks/no_gain.py 240

Each seed makes one search with 25 trials. The third line is the share of the searches
in which the advice says that no gain is visible.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV
from skbayes.inspection import advice

N_ROWS, N_COLUMNS = 100, 8

SEARCHES = [
    (
        KNeighborsClassifier(),
        {"n_neighbors": (1, 40), "weights": ["uniform", "distance"], "p": [1, 2]},
    ),
    (
        DecisionTreeClassifier(random_state=0),
        {"max_depth": [None, 1, 2, 3, 5, 8], "min_samples_leaf": (1, 20)},
    ),
    (
        SVC(),
        {"C": (0.01, 100.0, "log-uniform"), "gamma": ["scale", 0.001, 0.01, 0.1, 1.0]},
    ),
    (LogisticRegression(), {"C": (0.001, 1000.0, "log-uniform")}),
]


def gains(seed: int) -> tuple[float, float, bool]:
    """Return two gains in standard errors, and whether the advice sees no gain."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, N_COLUMNS))
    y = rng.permutation(np.arange(N_ROWS) % 2)
    model, space = SEARCHES[seed % 4]
    n_splits = [3, 5, 10][seed // 4 % 3]
    search = BayesSearchCV(
        model,
        space,
        n_iter=25,
        scoring=["accuracy", "roc_auc"][seed // 12 % 2],
        cv=StratifiedKFold(n_splits, shuffle=True, random_state=seed),
        refit=False,
        random_state=seed,
    ).fit(X, y)
    folds = [search.cv_results_[f"split{k}_test_score"] for k in range(n_splits)]
    best, initial = np.transpose(folds)[[search.best_index_, search.own_index_]]
    factor = 1.0 / n_splits + 1.0 / (n_splits - 1)
    plain = np.mean(best - initial), np.sqrt(factor * np.var(best - initial, ddof=1))
    reported = search.best_gain_, search.best_gain_std_
    is_told = any("No gain" in s or "own values are" in s for s in advice(search))
    return *(gain / max(std, 1e-12) for gain, std in (plain, reported)), is_told


def main(n_searches: int) -> None:
    """Print the rates."""
    plain, reported, told = np.array([gains(seed) for seed in range(n_searches)]).T
    for name, z in (("plain difference", plain), ("best_gain_", reported)):
        print(f"{name}: > 1 std {np.mean(z > 1):.1%}, > 2 std {np.mean(z > 2):.1%}")
    print(f"advice sees no gain: {np.mean(told):.1%}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
