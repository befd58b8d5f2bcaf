"""Grid searches, and searches with fewer trials on the ranges of their grids.

Ten tasks with an estimator, a table of at most 800 training rows, and a grid as in a
tutorial. The split, the folds and the search have another seed in each run::

    python benchmarks/grids.py run --jobs 2 --save table

- `half`, `third`: BayesSearchCV on the ranges of the grid, with half or a third of its
  configurations;
- `random-half`, `random-third`: RandomizedSearchCV with as many configurations;
- `pair-half`, `pair-third`: BayesSearchCV with the log-uniform ranges as plain pairs
  (low, high), which are uniform, on the tasks that have one.

Floats over two decades or more have a log-uniform range. Two values, and options that
are no numbers, are a list in each search. The columns are the share of runs whose best
cross-validated score is at least that of the grid, in percent, and the logarithm (times
1000) of the ratio of the error to that of the grid: in cross-validation and on new
rows. The error is 1 − accuracy, or 1 − R².
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import one_thread  # noqa: F401

# isort: split
import numpy as np
from harness import Figures, Record, Runs, Study, main
from scipy.stats import loguniform, randint, uniform
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    StratifiedKFold,
    train_test_split,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeRegressor
from small_tables import REGRESSION, rows_of

from skbayes import BayesSearchCV

N_ROWS, N_FOLDS = 800, 3
METHODS = (
    *("half", "third", "random-half", "random-third", "pair-half", "pair-third"),
    "grid",
)


def _scaled(estimator: Any) -> Any:
    return make_pipeline(StandardScaler(), estimator)


TASKS: dict[str, tuple[Any, dict[str, list]]] = {
    "digits: SVM": (
        _scaled(SVC()),
        {"svc__C": [0.1, 1.0, 10.0, 100.0], "svc__gamma": [1e-4, 1e-3, 1e-2, 1e-1]},
    ),
    "wine_red: SVM": (
        _scaled(SVR()),
        {
            "svr__C": [0.1, 1.0, 10.0],
            "svr__gamma": [0.01, 0.1, 1.0],
            "svr__epsilon": [0.01, 0.1, 1.0],
        },
    ),
    "german_credit: logistic": (
        _scaled(LogisticRegression(max_iter=2000)),
        {
            "logisticregression__C": [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0],
            "logisticregression__class_weight": [None, "balanced"],
        },
    ),
    "diabetes: elastic net": (
        make_pipeline(StandardScaler(), PolynomialFeatures(2), ElasticNet()),
        {
            "elasticnet__alpha": [0.01, 0.1, 1.0, 10.0],
            "elasticnet__l1_ratio": [0.1, 0.5, 0.9, 1.0],
        },
    ),
    "boston_housing: ridge": (
        make_pipeline(StandardScaler(), PolynomialFeatures(), Ridge()),
        {
            "polynomialfeatures__degree": [1, 2],
            "ridge__alpha": [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3],
        },
    ),
    "segment: neighbors": (
        _scaled(KNeighborsClassifier()),
        {
            "kneighborsclassifier__n_neighbors": [1, 3, 5, 9, 15, 25],
            "kneighborsclassifier__weights": ["uniform", "distance"],
            "kneighborsclassifier__p": [1, 2],
        },
    ),
    "abalone: tree": (
        DecisionTreeRegressor(random_state=0),
        {"max_depth": [2, 4, 6, 8, 12], "min_samples_leaf": [1, 2, 5, 10, 20]},
    ),
    "pima: forest": (
        RandomForestClassifier(30, random_state=0),
        {
            "max_depth": [2, 5, 10],
            "min_samples_leaf": [1, 4, 16],
            "max_features": [0.2, 0.5, 1.0],
        },
    ),
    "breast_cancer: boosting": (
        GradientBoostingClassifier(n_estimators=30, random_state=0),
        {
            "learning_rate": [0.01, 0.1, 1.0],
            "max_depth": [1, 2, 4],
            "subsample": [0.4, 0.7, 1.0],
        },
    ),
    "sonar: perceptron": (
        _scaled(MLPClassifier(max_iter=15, random_state=0)),
        {
            "mlpclassifier__alpha": [1e-4, 1e-2, 1.0],
            "mlpclassifier__learning_rate_init": [1e-3, 1e-2, 1e-1],
            "mlpclassifier__hidden_layer_sizes": [(20,), (50,), (100,)],
        },
    ),
}


def is_scale(values: list) -> bool:
    """Return whether a list of the grid becomes a log-uniform range."""
    return isinstance(values[0], float) and values[-1] >= 100 * values[0]


def ranges(grid: Mapping[str, list], kind: str) -> dict[str, Any]:
    """Return the search space with the ranges of a grid."""
    space: dict[str, Any] = dict(grid)
    for name, values in grid.items():
        low, high = values[0], values[-1]
        if len(values) < 3 or not isinstance(low, int | float):
            continue
        if kind == "random":
            space[name] = uniform(low, high - low)
            if isinstance(low, int):
                space[name] = randint(low, high + 1)
            elif is_scale(values):
                space[name] = loguniform(low, high)
        else:
            prior = "log-uniform" if is_scale(values) and kind != "pair" else "uniform"
            space[name] = (low, high, prior)
    return space


def run(method: str, task: str, seed: int, options: Mapping[str, Any]) -> Record:
    """Run one search; return its scores in cross-validation and on new rows."""
    table = task.partition(":")[0]
    estimator, grid = TASKS[task]
    X, y = rows_of(table)
    is_regression = table in REGRESSION
    stratify = None if is_regression else y
    n_rows = min(N_ROWS, len(y) * 3 // 4)
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=n_rows, random_state=seed, stratify=stratify
    )
    splitter = KFold if is_regression else StratifiedKFold
    cv = splitter(N_FOLDS, shuffle=True, random_state=seed)
    kind, _, share = method.rpartition("-")
    n_cells = math.prod(map(len, grid.values()))
    n_iter = n_cells // {"half": 2, "third": 3, "grid": 1}[share]
    search: Any
    if method == "grid":
        search = GridSearchCV(estimator, grid, cv=cv)
    else:
        cls = RandomizedSearchCV if kind == "random" else BayesSearchCV
        space = ranges(grid, kind)
        search = cls(estimator, space, n_iter=n_iter, cv=cv, random_state=seed)
    search.fit(X, y)
    errors = np.array([1.0 - search.best_score_, 1.0 - search.score(X_test, y_test)])
    if not is_regression:  # an error of 0 has no logarithm
        errors += 0.5 / np.array([len(y), len(y_test)])
    return {"errors": errors.tolist()}


def figures(runs: Runs, options: Mapping[str, Any]) -> Figures:
    """Return the columns of each run that has a grid search with the same seed."""
    grids = runs.get("grid", {})
    return {
        method: {
            key: _columns(np.array(record["errors"]), np.array(grids[key]["errors"]))
            for key, record in records.items()
            if key in grids
        }
        for method, records in runs.items()
    }


def _columns(errors: np.ndarray, of_grid: np.ndarray) -> np.ndarray:
    at_least = errors[0] <= of_grid[0] + 1e-12
    return np.array([100.0 * at_least, *1000.0 * np.log(errors / of_grid)])


def applies(method: str, task: str) -> bool:
    """Return whether a method differs from the others on a task."""
    return "pair" not in method or any(map(is_scale, TASKS[task][1].values()))


STUDY = Study(
    name="grids_against_ranges",
    tasks=lambda: list(TASKS),
    methods=METHODS,
    run=run,
    columns=lambda options: ["at least the grid (%)", "error", "error on new rows"],
    figures=figures,
    applies=applies,
    smallest=("--tasks", "abalone", "--methods", "third,grid", "--seeds", "1"),
)

if __name__ == "__main__":
    main(STUDY, __doc__ or "")
