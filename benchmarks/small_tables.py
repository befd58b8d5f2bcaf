"""Tasks of `new_rows.py`: learners on small parts of tables.

A task is named "table:learner". It has one outer split of the rows of a table, with few
training rows, so that the losses on the others show what a search has found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import load
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn import datasets
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

N_FOLDS = 5
N_TEST, LEAST_OF_CLASS, MOST_CLASSES = 2000, 15, 7
LIMIT = {"max_iter": 5000}
FOREST = {"n_estimators": 30, "random_state": 0}
BOOSTING = {"n_estimators": 50, "random_state": 0, "n_jobs": 1, "verbose": -1}
NETWORK = {"max_iter": 25, "learning_rate_init": 0.01, "random_state": 0}
# Learner: its classes for classification and regression, their parameters, and the
# maximum number of training rows.
LEARNERS: dict[str, tuple[type, type, dict, dict, int]] = {
    "linear": (LogisticRegression, Ridge, {}, {}, 600),
    "neighbors": (KNeighborsClassifier, KNeighborsRegressor, {}, {}, 600),
    "boosting": (LGBMClassifier, LGBMRegressor, BOOSTING, BOOSTING, 400),
    "svm": (SVC, SVR, LIMIT, LIMIT, 500),
    "network": (MLPClassifier, MLPRegressor, NETWORK, NETWORK, 400),
    "forest": (RandomForestClassifier, RandomForestRegressor, FOREST, FOREST, 400),
}
CLASSIFICATION = (
    *("adult", "iris", "breast_cancer", "digits", "letter", "wine"),
    *("banknote", "breast_cancer_yugoslavia", "ecoli", "german_credit", "haberman"),
    *("ionosphere", "mammography", "oil_spill", "pima", "segment", "sonar"),
    *("soybean", "vote"),
)
REGRESSION = (
    *("abalone", "auto_mpg", "bodyfat", "boston_housing", "cpu", "diabetes", "quake"),
    *("servo", "strike", "wine_red"),
)
FROM_SKLEARN = ("breast_cancer", "diabetes", "digits", "iris", "wine")


def task_names() -> list[str]:
    """Return "table:learner", ordered so that each learner gets tables early."""
    kinds = (CLASSIFICATION, REGRESSION)
    # The tables of regression are distributed among the others.
    places = {name: (i + 0.5) / len(k) for k in kinds for i, name in enumerate(k)}
    tables = sorted(places, key=lambda name: places[name])
    return [
        f"{tables[(i + 4 * j) % len(tables)]}:{learner}"
        for i in range(len(tables))
        for j, learner in enumerate(LEARNERS)
    ]


@dataclass
class Task:
    """Rows of one outer split, and an estimator with its search space."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    estimator: Any
    scoring: str
    method: str | None  # predictions that are recorded

    def folds(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the folds of the search."""
        is_regression = self.scoring == "neg_root_mean_squared_error"
        splitter = (KFold if is_regression else StratifiedKFold)(N_FOLDS)
        return list(splitter.split(self.X, self.y))

    def loss(self, predictions: np.ndarray) -> float:
        """Return the loss of predictions for the test rows."""
        if self.scoring == "accuracy":
            wrong = np.sum(predictions != self.y_test)
            return float((wrong + 0.5) / (len(self.y_test) + 1))
        if self.method == "predict":
            return float(np.sqrt(np.mean((predictions - self.y_test) ** 2)))
        chosen = np.asarray(predictions, float)[
            np.arange(len(self.y_test)), self.y_test
        ]
        return float(-np.mean(np.log(np.maximum(chosen, np.finfo(float).eps))))


def rows_of(table: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the numeric columns and the targets of a table."""
    if table in FROM_SKLEARN:
        return getattr(datasets, f"load_{table}")(return_X_y=True)
    if table in ("adult", "letter"):
        X, y = getattr(load(), f"load_{table}")()["train"]
        chosen = np.random.default_rng(0).permutation(len(y))[:4000]
        X = X[chosen]
        return np.asarray(X.todense() if table == "adult" else X, float), y[chosen]
    raw = load().load_uci(table)
    names = list(raw["data"])
    columns = np.column_stack([raw["data"][name].astype(object) for name in names])
    nominal = [i for i, name in enumerate(names) if name in raw["categorical"]]
    columns[:, nominal] = columns[:, nominal].astype(str)
    numeric = [i for i in range(len(names)) if i not in nominal]
    encode = OneHotEncoder(sparse_output=False, min_frequency=5, drop="if_binary")
    transformer = ColumnTransformer(
        [("number", SimpleImputer(), numeric), ("nominal", encode, nominal)]
    )
    return np.asarray(transformer.fit_transform(columns), float), raw["target"]


def make_task(name: str, seed: int) -> Task:
    """Return a task with one outer split."""
    table, learner = name.split(":")
    X, y = rows_of(table)
    is_regression = table in REGRESSION
    if not is_regression:
        # Classes that are rare, or many, are left out.
        counts = np.bincount(y)
        frequent = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
        kept = np.isin(y, frequent[counts[frequent] >= LEAST_OF_CLASS])
        X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    n_rows = min(LEARNERS[learner][4], len(y) * 6 // 10)
    X, X_test, y, y_test = train_test_split(
        X,
        y,
        train_size=n_rows,
        random_state=seed,
        stratify=None if is_regression else y,
    )
    varies = X.std(axis=0) > 0
    X, X_test = X[:, varies], X_test[:N_TEST, varies]
    if is_regression:
        y, y_test = (y - y.mean()) / y.std(), (y_test - y.mean()) / y.std()
    kinds, parameters = LEARNERS[learner][:2], LEARNERS[learner][2:4]
    estimator = kinds[is_regression](**parameters[is_regression])
    if learner != "boosting":
        estimator = make_pipeline(StandardScaler(), estimator)
    scoring, method = "neg_log_loss", "predict_proba"
    if is_regression:
        scoring, method = "neg_root_mean_squared_error", "predict"
    elif learner == "svm":
        scoring, method = "accuracy", "predict"
    return Task(X, y, X_test, y_test[:N_TEST], estimator, scoring, method)
