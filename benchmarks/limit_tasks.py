"""Tasks with bounds on outcomes for `limits.py`: spaces, scores and outcomes.

Times are replaced by the counts that determine them, so that results are the same on
any machine. The number of leaves replaces the time of a prediction, and the number of
LIBSVM iterations replaces the time of a fit.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from methods import Categories, Float, Int, Params, Space
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import recall_score
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from skbayes.evaluation.constraints import Bound

__all__ = ["TASKS", "Task"]

# Number of rows of adult, and number of splits.
N_ROWS, N_SPLITS = 1500, 3

Data = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Task:
    """Search task: `fit` returns a fitted estimator, and `outcome` measures it."""

    space: Space
    bounds: tuple[Bound, ...]
    fit: Callable[[Params, np.ndarray, np.ndarray], Any]
    outcomes: Callable[[Any, np.ndarray, np.ndarray, np.ndarray], dict[str, float]]
    data: Callable[[], Data]

    def evaluate(self, params: Params) -> tuple[float, list[float]]:
        """Return the mean accuracy over the splits, and the slacks of the bounds."""
        X, y, group = self.data()
        scores, outcomes = [], []
        splits = StratifiedKFold(N_SPLITS, shuffle=True, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for train, test in splits.split(X, y):
                model = self.fit(params, X[train], y[train])
                scores.append(model.score(X[test], y[test]))
                outcomes.append(self.outcomes(model, X[test], y[test], group[test]))
        means = {
            bound.name: float(np.mean([one[bound.name] for one in outcomes]))
            for bound in self.bounds
        }
        slacks = [bound.slack(means[bound.name]) for bound in self.bounds]
        return float(np.mean(scores)), slacks


@functools.cache
def _adult() -> Data:
    from shared import load

    data = load().load_adult()
    X, y = data["train"]
    names = data["feature_names"]
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(len(y))[:N_ROWS])
    X = X[rows].toarray()
    women = X[:, names.index("sex=Female")]
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-12)
    return X, y[rows], women


@functools.cache
def _breast_cancer() -> Data:
    X, y = load_breast_cancer(return_X_y=True)
    return X, y, np.zeros(len(y))


def _forest(params: Params, X: np.ndarray, y: np.ndarray) -> Any:
    return RandomForestClassifier(random_state=0, **params).fit(X, y)


def _nodes(forest: Any, *data: np.ndarray) -> dict[str, float]:
    return {"nodes": sum(tree.tree_.node_count for tree in forest.estimators_)}


def _boosting(params: Params, X: np.ndarray, y: np.ndarray) -> Any:
    return HistGradientBoostingClassifier(random_state=0, **params).fit(X, y)


def _leaves(model: Any, *data: np.ndarray) -> dict[str, float]:
    trees = [tree for stage in model._predictors for tree in stage]
    return {"leaves": sum(tree.get_n_leaf_nodes() for tree in trees)}


def _weighted(params: Params, X: np.ndarray, y: np.ndarray) -> Any:
    rest = {name: value for name, value in params.items() if name != "weight"}
    weights = {0: 1.0, 1: params["weight"]}
    return HistGradientBoostingClassifier(
        random_state=0, class_weight=weights, **rest
    ).fit(X, y)


def _fairness(
    model: Any, X: np.ndarray, y: np.ndarray, group: np.ndarray
) -> dict[str, float]:
    predicted = model.predict(X)
    recalls = [recall_score(y[group == g], predicted[group == g]) for g in (0, 1)]
    return {
        "recall": recall_score(y, predicted),
        "gap": abs(recalls[0] - recalls[1]),
    }


def _svc(params: Params, X: np.ndarray, y: np.ndarray) -> Any:
    return SVC(max_iter=100_000, **params).fit(X, y)


def _iterations(model: Any, *data: np.ndarray) -> dict[str, float]:
    return {"iterations": float(np.sum(model.n_iter_))}


_TREES: Space = {
    "learning_rate": Float(0.01, 1.0, log=True),
    "max_iter": Int(5, 40, log=True),
    "max_leaf_nodes": Int(2, 32, log=True),
    "min_samples_leaf": Int(1, 100, log=True),
    "l2_regularization": Float(1e-6, 1e2, log=True),
}

TASKS: dict[str, Task] = {
    "forest": Task(
        {
            "n_estimators": Int(5, 200),
            "max_depth": Int(1, 20),
            "min_samples_leaf": Int(1, 30, log=True),
            "max_features": Float(0.05, 1.0),
            "criterion": Categories(("gini", "entropy")),
        },
        (Bound("nodes", True, 600.0, True),),
        _forest,
        _nodes,
        _breast_cancer,
    ),
    "boosting": Task(
        _TREES, (Bound("leaves", True, 100.0, True),), _boosting, _leaves, _adult
    ),
    "fair": Task(
        {"weight": Float(0.3, 100.0, log=True), **_TREES},
        (Bound("recall", False, 0.9), Bound("gap", True, 0.05)),
        _weighted,
        _fairness,
        _adult,
    ),
    "svc": Task(
        {
            "C": Float(1e-3, 1e4, log=True),
            "gamma": Float(1e-6, 1e1, log=True),
            "shrinking": Categories((True, False)),
        },
        (Bound("iterations", True, 400.0, True),),
        _svc,
        _iterations,
        _adult,
    ),
}
