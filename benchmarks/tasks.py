"""Tasks of the judges: search spaces, and scores of configurations.

A task has a name like "judge:task". These are the judges:

- sklearn: 60 combinations of a scikit-learn estimator and a table. Sixteen use digits,
  breast_cancer, wine and diabetes, each with an RBF-SVM, a multi-layer perceptron,
  gradient boosting and a penalized linear model. The others are 22 UCI tables with two
  of eight learners each: these four, nearest neighbors, a decision tree, a random
  forest of 20 trees, and ridge regression on a Nyström approximation of a kernel. The
  score is the estimator's own (accuracy, or R²), averaged over 3 folds. Columns and
  targets of regressions are standardized, missing values are imputed, and categories
  are one-hot encoded. To keep fits cheap, digits has 500 rows and UCI tables 400, the
  perceptron 20 epochs, and boosting 20 rounds.
- xgboost: YAHPO Gym's surrogates of XGBoost (14 dimensions, two of them categorical) on
  119 data sets, alternately with accuracy and log loss.
- xgboost-tree: the same in conditional notation (`Choice`).
- lcbench: YAHPO Gym's surrogates of perceptrons (seven dimensions) on 34 data sets,
  alternately with accuracy and cross-entropy.
- tables: seven grids of the estimators above. Their scores are in results/grids/, and
  were computed by `evaluate` (grids.py in commit 8df9298).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from harness import HERE, load
from methods import Categories, Float, Int, Params, Space, as_notation
from sklearn import datasets
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import ElasticNet, Ridge, RidgeClassifier, SGDClassifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skbayes.benchmark import LookupTable
from skbayes.space import Choice

DIGITS_ROWS = 500

SVM: Space = {
    "C": Float(1e-2, 1e4, log=True),
    "gamma": Float(1e-6, 1e1, log=True),
}
SVM_REGRESSION: Space = {
    "C": Float(1e-3, 1e3, log=True),
    "gamma": Float(1e-6, 1e1, log=True),
    "epsilon": Float(1e-3, 1e0, log=True),
}
MLP: Space = {
    "n_hidden": Int(4, 128, log=True),
    "alpha": Float(1e-6, 1e1, log=True),
    "learning_rate_init": Float(1e-4, 1e-1, log=True),
    "activation": Categories(("relu", "tanh", "logistic")),
    "solver": Categories(("adam", "sgd")),
}
BOOSTING: Space = {
    "learning_rate": Float(1e-2, 1e0, log=True),
    "max_iter": Int(5, 20),
    "max_leaf_nodes": Int(2, 32, log=True),
    "min_samples_leaf": Int(1, 50, log=True),
    "l2_regularization": Float(1e-6, 1e2, log=True),
    "max_features": Float(0.1, 1.0),
}
LINEAR: Space = {
    "loss": Categories(("hinge", "log_loss", "modified_huber")),
    "alpha": Float(1e-7, 1e0, log=True),
    "l1_ratio": Float(0.0, 1.0),
    "learning_rate": Categories(("optimal", "invscaling", "constant", "adaptive")),
    "eta0": Float(1e-4, 1e0, log=True),
}
LINEAR_REGRESSION: Space = {
    "degree": Int(1, 2),
    "alpha": Float(1e-5, 1e1, log=True),
    "l1_ratio": Float(0.0, 1.0),
}
NEIGHBORS: Space = {
    "n_neighbors": Int(1, 60, log=True),
    "weights": Categories(("uniform", "distance")),
    "metric": Categories(("euclidean", "manhattan", "chebyshev", "cosine")),
}
TREE: Space = {
    "max_depth": Int(1, 20),
    "min_samples_split": Int(2, 60, log=True),
    "min_samples_leaf": Int(1, 60, log=True),
    "max_features": Float(0.1, 1.0),
    "ccp_alpha": Float(1e-5, 1e-1, log=True),
}
FOREST: Space = {
    "max_depth": Int(2, 30, log=True),
    "min_samples_leaf": Int(1, 30, log=True),
    "max_features": Float(0.05, 1.0),
    "max_samples": Float(0.2, 1.0),
}
KERNEL: Space = {
    "kernel": Categories(("rbf", "laplacian", "sigmoid")),
    "gamma": Float(1e-6, 1e1, log=True),
    "n_components": Int(10, 100, log=True),
    "alpha": Float(1e-4, 1e3, log=True),
}
CRITERION: Space = {"criterion": Categories(("gini", "entropy"))}
ERROR_CRITERION: Space = {"criterion": Categories(("squared_error", "friedman_mse"))}


def _mlp(kind: type) -> Callable[..., Any]:
    def build(n_hidden: int, **params: Any) -> Any:
        fixed = {"batch_size": 64, "max_iter": 20, "random_state": 0}
        return kind(hidden_layer_sizes=(n_hidden,), **fixed, **params)

    return build


def _seeded(kind: type, **fixed: Any) -> Callable[..., Any]:
    return lambda **params: kind(random_state=0, **fixed, **params)


def _kernel_ridge(kind: type) -> Callable[..., Any]:
    def build(alpha: float, **params: Any) -> Any:
        return make_pipeline(Nystroem(random_state=0, **params), kind(alpha=alpha))

    return build


Builder = Callable[..., Any]
LEARNERS: dict[str, tuple[tuple[Builder, Space], tuple[Builder, Space]]] = {
    # name: (classifier, its space), (regressor, its space)
    "svm": ((SVC, SVM), (SVR, SVM_REGRESSION)),
    "mlp": ((_mlp(MLPClassifier), MLP), (_mlp(MLPRegressor), MLP)),
    "boosting": (
        (_seeded(HistGradientBoostingClassifier, early_stopping=False), BOOSTING),
        (_seeded(HistGradientBoostingRegressor, early_stopping=False), BOOSTING),
    ),
    "linear": (
        (_seeded(SGDClassifier, penalty="elasticnet", max_iter=50), LINEAR),
        (ElasticNet, LINEAR_REGRESSION),
    ),
    "neighbors": ((KNeighborsClassifier, NEIGHBORS), (KNeighborsRegressor, NEIGHBORS)),
    "tree": (
        (_seeded(DecisionTreeClassifier), TREE | CRITERION),
        (_seeded(DecisionTreeRegressor), TREE | ERROR_CRITERION),
    ),
    "forest": (
        (_seeded(RandomForestClassifier, n_estimators=20), FOREST | CRITERION),
        (_seeded(RandomForestRegressor, n_estimators=20), FOREST),
    ),
    "kernel": (
        (_kernel_ridge(RidgeClassifier), KERNEL),
        (_kernel_ridge(Ridge), KERNEL),
    ),
}
DATA = ("digits", "breast_cancer", "wine", "diabetes")
SHIPPED = tuple(
    f"{data}-{learner}"
    for data in DATA
    for learner in ("svm", "mlp", "boosting", "linear")
)
UCI_DATA = (
    "abalone auto_mpg banknote bodyfat boston_housing breast_cancer_yugoslavia cpu "
    "ecoli german_credit haberman ionosphere mammography oil_spill pima quake "
    "segment servo sonar soybean strike vote wine_red"
).split()
# The pairs alternate, so that each learner is used on five or six tables.
UCI = tuple(
    f"{data}-{list(LEARNERS)[(2 * i + j + i // 4) % len(LEARNERS)]}"
    for i, data in enumerate(UCI_DATA)
    for j in range(2)
)
TASKS = SHIPPED + UCI
UCI_ROWS = 400
Fold = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@cache
def folds(data: str, degree: int = 1) -> list[Fold]:
    """Return three prepared folds, each (X_train, y_train, X_test, y_test)."""
    if data in UCI_DATA:
        return uci_folds(data)
    X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    if data == "digits":
        rows = np.random.default_rng(0).permutation(len(y))[:DIGITS_ROWS]
        X, y = X[rows], y[rows]
    if data == "diabetes":
        y = (y - y.mean()) / y.std()
    X = PolynomialFeatures(degree, include_bias=False).fit_transform(X)
    return _split(X, y, StandardScaler(), data == "diabetes")


def uci_folds(name: str) -> list[Fold]:
    """Split a UCI table into three folds of numbers."""
    import pandas as pd

    table = load().load_uci(name)
    X, y = pd.DataFrame(table["data"]), table["target"]
    rows = np.random.default_rng(0).permutation(len(y))[:UCI_ROWS]
    X, y = X.iloc[rows], y[rows]
    regression = table["task"] == "regression"
    if regression:
        y = (y - y.mean()) / y.std()
    else:
        common = np.isin(y, [c for c in np.unique(y) if np.sum(y == c) >= 3])
        X, y = X[common], y[common]
    categorical = list(table["categorical"])
    numeric = [c for c in X.columns if c not in categorical]
    prepare = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), categorical),
    )
    return _split(X, y, prepare, regression)


def _split(X: Any, y: np.ndarray, prepare: Any, regression: bool) -> list[Fold]:
    splitter = KFold if regression else StratifiedKFold
    split = []
    for train, test in splitter(3, shuffle=True, random_state=0).split(X, y):
        parts = [X.iloc[i] if hasattr(X, "iloc") else X[i] for i in (train, test)]
        prepare.fit(parts[0])
        X_train, X_test = (prepare.transform(part) for part in parts)
        split.append((X_train, y[train], X_test, y[test]))
    return split


@cache
def is_regression(data: str) -> bool:
    """Return whether the target of a data set is a number."""
    if data in UCI_DATA:
        return load().uci_index()[data]["task"] == "regression"
    return data == "diabetes"


def space_of(task: str) -> Space:
    """Return the search space of a task."""
    data, learner = task.split("-")
    return LEARNERS[learner][is_regression(data)][1]


def fold_scores(task: str, params: Params) -> np.ndarray:
    """Return the scores of the three folds; NaN if a fit fails."""
    data, learner = task.split("-")
    build = LEARNERS[learner][is_regression(data)][0]
    params = dict(params)
    # Products of columns are only used on the data of scikit-learn, which have few
    # columns.
    degree = params.pop("degree", 1)
    try:
        return np.array(
            [
                build(**params).fit(X_train, y_train).score(X_test, y_test)
                for X_train, y_train, X_test, y_test in folds(data, degree)
            ]
        )
    except ValueError:  # the weights overflow
        return np.full(3, np.nan)


def evaluate(task: str, params: Params) -> float:
    """Return the mean score of the three folds; NaN if a fit fails."""
    return float(np.mean(fold_scores(task, params)))


# -- YAHPO Gym and grids -----------------------------------------------------------

METRICS = {
    "rbv2_xgboost": {"acc": 1.0, "logloss": -1.0},
    "lcbench": {"val_accuracy": 1.0, "val_cross_entropy": -1.0},
}
GRIDS = HERE / "results" / "grids"


class Task(NamedTuple):
    """Search space in the notations of methods.py and of skbayes, and the score."""

    space: Space | None
    notation: Any
    score: Callable[[Params], float]


@cache
def yahpo(scenario: str) -> Any:
    return load().Yahpo(scenario)


def yahpo_space(scenario: str) -> dict[str, Any]:
    """Return the flat search space of a scenario."""
    space: dict[str, Any] = {}
    for dim in yahpo(scenario).space:
        if dim["type"] == "categorical":
            space[dim["name"]] = Categories(tuple(dim["choices"]))
        else:
            kind = Int if dim["type"] == "uniform_int" else Float
            space[dim["name"]] = kind(dim["lower"], dim["upper"], bool(dim["log"]))
    return space


def yahpo_tree(scenario: str) -> dict[str, Any]:
    """Return the search space of a scenario with conditional parameters."""
    flat = as_notation(yahpo_space(scenario))
    parents = yahpo(scenario).parents
    (switch,) = {parent for parent, _ in parents.values()}
    options = {
        option: {name: flat[name] for name in parents if option in parents[name][1]}
        for option in flat[switch]
    }
    free = {name: flat[name] for name in flat if name not in parents}
    return {**free, switch: Choice(options)}


def tasks_of(judge: str) -> list[str]:
    """Return the names of the tasks of a judge."""
    if judge == "sklearn":
        return [f"sklearn:{task}" for task in TASKS]
    if judge == "tables":
        return sorted(f"tables:{path.stem}" for path in GRIDS.glob("*.csv"))
    scenario = "lcbench" if judge == "lcbench" else "rbv2_xgboost"
    metrics = list(METRICS[scenario])
    return [
        f"{judge}:{instance}/{metrics[i % len(metrics)]}"
        for i, instance in enumerate(yahpo(scenario).instances)
    ]


def _grid(name: str) -> Task:
    path = GRIDS / f"{name}.csv"
    columns = path.read_text().partition("\n")[0].split(",")[:-1]
    table = LookupTable.from_csv(path, columns, {"score": "max"})
    scores = {
        tuple(sorted(params.items())): float(score)
        for params, (score,) in zip(table.params, table.scores, strict=True)
    }
    grid = {c: list(dict.fromkeys(p[c] for p in table.params)) for c in columns}
    return Task(None, grid, lambda params: scores[tuple(sorted(params.items()))])


@cache
def make_task(name: str) -> Task:
    """Return a task."""
    judge, _, what = name.partition(":")
    if judge == "sklearn":
        space = space_of(what)
        return Task(space, as_notation(space), lambda params: evaluate(what, params))
    if judge == "tables":
        return _grid(what)
    scenario = "lcbench" if judge == "lcbench" else "rbv2_xgboost"
    instance, metric = what.split("/")
    model = yahpo(scenario)
    column, sign = model.outputs.index(metric), METRICS[scenario][metric]
    space = yahpo_space(scenario)
    defaults = {
        name: dim.options[0] if isinstance(dim, Categories) else dim.low
        for name, dim in space.items()
    }

    def score(params: Params) -> float:
        complete = {**defaults, **params}
        return sign * float(model.predict([complete], instance)[0, column])

    tree = judge.endswith("tree")
    return Task(space, yahpo_tree(scenario) if tree else as_notation(space), score)
