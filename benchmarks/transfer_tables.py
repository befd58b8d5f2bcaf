"""Scores of whole grids on small data sets, for transfer.py and prior_fading.py.

The tables have three learners on 12 data sets of at most 400 rows, with three folds and
accuracy:

- svc: C, gamma and class_weight of SVC, 338 configurations;
- tree: depth, leaf size, criterion and ccp_alpha of DecisionTreeClassifier, 480;
- lightgbm: num_leaves, learning_rate, n_estimators, min_child_samples and reg_lambda of
  LGBMClassifier, 960.

The tables are stored in benchmarks/cache/transfer_tables; existing ones are not
computed again.

Example: python benchmarks/transfer_tables.py
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import itertools
import time
import warnings
from functools import cache
from typing import Any

import numpy as np
from common import HERE, names
from sklearn_tasks import folds

from skbayes.space import Space

DATA = (
    "breast_cancer_yugoslavia",
    "ecoli",
    "german_credit",
    "haberman",
    "ionosphere",
    "pima",
    "segment",
    "sonar",
    "soybean",
    "vote",
    "wine",
    "digits",
)
GRIDS: dict[str, dict[str, list]] = {
    "svc": {
        "C": [float(f"{x:.3g}") for x in np.logspace(-3, 3, 13)],
        "gamma": [float(f"{x:.3g}") for x in np.logspace(-5, 1, 13)],
        "class_weight": [None, "balanced"],
    },
    "tree": {
        "max_depth": [1, 2, 3, 4, 5, 6, 8, 10, 13, 16],
        "min_samples_leaf": [1, 2, 3, 5, 8, 13, 21, 34],
        "criterion": ["gini", "entropy"],
        "ccp_alpha": [1e-4, 1e-3, 1e-2],
    },
    "lightgbm": {
        "num_leaves": [2, 4, 8, 16, 31],
        "learning_rate": [0.01, 0.03, 0.1, 0.3],
        "n_estimators": [10, 20, 40, 80, 160, 320],
        "min_child_samples": [2, 5, 20, 50],
        "reg_lambda": [0.01, 10.0],
    },
}
FOLDER = HERE / "cache" / "transfer_tables"


def grid(learner: str) -> list[dict[str, Any]]:
    """Return all configurations of a learner, in the order of a table."""
    axes = GRIDS[learner]
    return [
        dict(zip(axes, values, strict=True))
        for values in itertools.product(*axes.values())
    ]


@cache
def space(learner: str) -> Space:
    """Return the search space of a learner."""
    return Space.from_notation(GRIDS[learner])


@cache
def table(learner: str, data: str) -> np.ndarray:
    """Return the accuracies of all configurations of a learner on a data set."""
    path = FOLDER / f"{learner}-{data}.npy"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.save(path, _compute(learner, data))
    return np.load(path)


def _compute(learner: str, data: str) -> np.ndarray:
    if learner == "lightgbm":
        return _boosted(data)
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    def make(params: dict[str, Any]) -> Any:
        if learner == "svc":
            return SVC(**params, max_iter=20_000)
        return DecisionTreeClassifier(**params, random_state=0)

    return np.array(
        [
            np.mean([make(params).fit(X, y).score(A, b) for X, y, A, b in folds(data)])
            for params in grid(learner)
        ]
    )


def _boosted(data: str) -> np.ndarray:
    """Return scores for all numbers of rounds, with one fit per configuration."""
    from lightgbm import LGBMClassifier

    axes = GRIDS["lightgbm"]
    scores: dict[tuple, float] = {}
    rounds = axes["n_estimators"]
    for leaves, rate, least, reg in itertools.product(
        axes["num_leaves"],
        axes["learning_rate"],
        axes["min_child_samples"],
        axes["reg_lambda"],
    ):
        own = np.zeros((3, len(rounds)))
        for k, (X, y, A, b) in enumerate(folds(data)):
            model = LGBMClassifier(
                num_leaves=leaves,
                learning_rate=rate,
                min_child_samples=least,
                reg_lambda=reg,
                n_estimators=max(rounds),
                n_jobs=1,
                verbose=-1,
            ).fit(X, y)
            for j, n in enumerate(rounds):
                own[k, j] = np.mean(model.predict(A, num_iteration=n) == b)
        for j, n in enumerate(rounds):
            scores[leaves, rate, n, least, reg] = float(np.mean(own[:, j]))
    return np.array([scores[tuple(one.values())] for one in grid("lightgbm")])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learners", type=names(GRIDS), default=list(GRIDS))
    args = parser.parse_args()
    for learner in args.learners:
        for data in DATA:
            begin = time.perf_counter()
            scores = table(learner, data)
            print(
                f"{learner}-{data}: best {np.max(scores):.3f}, median "
                f"{np.median(scores):.3f}, {time.perf_counter() - begin:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
