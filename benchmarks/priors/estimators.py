"""Estimators about which knowledge is collected, and their configurations."""

from __future__ import annotations

import importlib
import warnings
from functools import cache
from typing import Any

import numpy as np
from priors import data
from scipy.stats import qmc

from skbayes.space import Space
from skbayes.spaces import default_space

__all__ = ["ESTIMATORS", "configurations", "folds", "make", "space_of", "task_of"]

# Numbers of random configurations of estimators evaluated on three folds, and on two.
N_CONFIGURATIONS = {3: 500, 2: 300}
# Number of trees that is sufficient to compare the other parameters.
FOREST = {"n_estimators": 30}
QUIET = {"verbose": -1, "n_jobs": 1}
# Module, fixed parameters and number of folds, in the order of collection: cheap
# estimators first.
ESTIMATORS: dict[str, tuple[str, dict[str, Any], int]] = {
    "SVC": ("sklearn.svm", {"max_iter": 20_000}, 3),
    "LogisticRegression": ("sklearn.linear_model", {}, 3),
    "KNeighborsClassifier": ("sklearn.neighbors", {}, 3),
    "DecisionTreeClassifier": ("sklearn.tree", {}, 3),
    "Ridge": ("sklearn.linear_model", {}, 3),
    "SVR": ("sklearn.svm", {"max_iter": 20_000}, 3),
    "KNeighborsRegressor": ("sklearn.neighbors", {}, 3),
    "DecisionTreeRegressor": ("sklearn.tree", {}, 3),
    "ElasticNet": ("sklearn.linear_model", {}, 3),
    "LinearSVC": ("sklearn.svm", {}, 3),
    "SGDClassifier": ("sklearn.linear_model", {"max_iter": 200}, 3),
    "RidgeClassifier": ("sklearn.linear_model", {}, 3),
    "SGDRegressor": ("sklearn.linear_model", {"max_iter": 200}, 3),
    "KernelRidge": ("sklearn.kernel_ridge", {}, 3),
    "LGBMClassifier": ("lightgbm", QUIET, 2),
    "RandomForestClassifier": ("sklearn.ensemble", FOREST, 2),
    "LGBMRegressor": ("lightgbm", QUIET, 2),
    "ExtraTreesClassifier": ("sklearn.ensemble", FOREST, 2),
    "RandomForestRegressor": ("sklearn.ensemble", FOREST, 2),
    "MLPClassifier": ("sklearn.neural_network", {"max_iter": 60}, 2),
    "GradientBoostingClassifier": ("sklearn.ensemble", {}, 2),
    "HistGradientBoostingClassifier": ("sklearn.ensemble", {}, 2),
}

REGRESSORS = ("Ridge", "SVR", "ElasticNet", "KernelRidge")


def make(name: str) -> Any:
    """Return an estimator with the parameters for its evaluation."""
    module, fixed, _ = ESTIMATORS[name]
    kind = getattr(importlib.import_module(module), name)
    seed = {"random_state": 0} if "random_state" in kind().get_params() else {}
    return kind(**fixed, **seed)


def folds(name: str, table: str) -> list[data.Fold]:
    """Return the folds of a table on which an estimator is evaluated."""
    return data.folds(table)[: ESTIMATORS[name][2]]


def task_of(name: str) -> str:
    """Return "classification" or "regression"."""
    regression = name.endswith("Regressor") or name in REGRESSORS
    return "regression" if regression else "classification"


@cache
def space_of(name: str, table: str) -> Space:
    """Return the default search space of an estimator on a table."""
    X, y, *_ = data.folds(table)[0]
    return Space.from_notation(dict(default_space(make(name), X, y)))


def labels(space: Space) -> list[str]:
    """Return labels of columns: their names, with a number if a name is repeated."""
    found: dict[str, int] = {}
    out = []
    for column in space.columns:
        name = column.name or "|"
        found[name] = found.get(name, 0) + 1
        out.append(name if found[name] == 1 else f"{name}#{found[name]}")
    return out


@cache
def _stream(name: str) -> dict[str, np.ndarray]:
    """Return one uniform stream for each column that the space has on any table."""
    spaces = [space_of(name, table) for table in data.tables(task_of(name))]
    known = list(dict.fromkeys(label for space in spaces for label in labels(space)))
    n = N_CONFIGURATIONS[ESTIMATORS[name][2]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # not a power of 2
        U = qmc.Sobol(len(known), scramble=True, seed=0).random(n)
    return dict(zip(known, U.T, strict=True))


def configurations(name: str, table: str) -> list[dict[str, Any]]:
    """Return the configurations on a table: the estimator's own, then random ones.

    A configuration has the same values on all tables, except for bounds that depend on
    the data.
    """
    space, stream = space_of(name, table), _stream(name)
    U = np.column_stack([stream[label] for label in labels(space)])
    return [{}, *space.decode(space.from_uniform(U))]
