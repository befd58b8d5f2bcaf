"""Tasks of boosting for `rounds.py`: tables, learners, and their search spaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from shared import load
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import OrdinalEncoder

__all__ = [
    "CAP",
    "DATA",
    "LEARNERS",
    "ROUNDS_NAME",
    "SPACES",
    "Task",
    "load_task",
    "table",
]

# Maximum number of rounds.
CAP = 1000
N_FOLDS = 5
# Maximum number of rows of a table, before 30 % of them are held out.
DATA = {
    "adult": 4600,
    "mammography": 4600,
    "segment": 1860,
    "german_credit": 1000,
    "letter": 2000,
}
LEARNERS = ("lightgbm", "xgboost", "histgb")
ROUNDS_NAME = {
    "lightgbm": "n_estimators",
    "xgboost": "n_estimators",
    "histgb": "max_iter",
}
RATE = {"learning_rate": (0.01, 0.3, "log-uniform")}
SHARES = {"subsample": (0.5, 1.0), "colsample_bytree": (0.5, 1.0)}
# Search space of each learner without the rounds.
SPACES: dict[str, dict[str, Any]] = {
    "lightgbm": {
        **RATE,
        **SHARES,
        "num_leaves": (4, 48, "log-uniform"),
        "min_child_samples": (2, 50, "log-uniform"),
        "reg_lambda": (1e-3, 10.0, "log-uniform"),
    },
    "xgboost": {
        **RATE,
        **SHARES,
        "max_depth": (2, 8),
        "min_child_weight": (0.3, 20.0, "log-uniform"),
        "reg_lambda": (1e-3, 10.0, "log-uniform"),
    },
    "histgb": {
        **RATE,
        "max_leaf_nodes": (4, 48, "log-uniform"),
        "min_samples_leaf": (2, 50, "log-uniform"),
        "max_features": (0.5, 1.0),
        "l2_regularization": (1e-3, 10.0, "log-uniform"),
    },
}


@dataclass
class Task:
    """Inputs of a search, and the held-out rows."""

    learner: str
    estimator: Any
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    splits: list[tuple[np.ndarray, np.ndarray]]
    scoring: str

    @property
    def space(self) -> dict[str, Any]:
        """Search space without the rounds."""
        return SPACES[self.learner]

    @property
    def n_classes(self) -> int:
        """Number of classes, which are numbered from 0."""
        return int(self.y.max()) + 1

    def test_loss(self, params: dict[str, Any]) -> float:
        """Fit on all training rows; return the loss on the test rows."""
        model = clone(self.estimator).set_params(**params).fit(self.X, self.y)
        if self.scoring == "accuracy":
            return 1.0 - float(accuracy_score(self.y_test, model.predict(self.X_test)))
        proba = model.predict_proba(self.X_test)
        return float(log_loss(self.y_test, proba, labels=model.classes_))


def load_task(learner: str, data: str, seed: int, scoring: str) -> Task:
    """Load a table; its rows, the test rows and the folds depend on the seed."""
    X, y = table(data)
    if len(y) > DATA[data]:
        X, _, y, _ = train_test_split(
            X, y, train_size=DATA[data], stratify=y, random_state=seed
        )
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=seed
    )
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    splits = list(folds.split(X, y))
    model = _estimator(learner, seed)
    return Task(learner, model, X, y, X_test, y_test, splits, scoring)


def _estimator(learner: str, seed: int) -> Any:
    if learner == "lightgbm":
        import lightgbm

        return lightgbm.LGBMClassifier(
            n_jobs=1, verbose=-1, random_state=seed, subsample_freq=1
        )
    if learner == "xgboost":
        import xgboost

        return xgboost.XGBClassifier(n_jobs=1, random_state=seed)
    return HistGradientBoostingClassifier(random_state=seed, early_stopping=False)


def table(data: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features as numbers, with codes of categories, and labels from 0."""
    loaders = load()
    if data == "adult":
        X, y = loaders.load_adult("object")["train"]
        return OrdinalEncoder().fit_transform(X), y
    if data == "letter":
        X, y = loaders.load_letter()["train"]
        # Letters A to J only, because each class requires one tree per round.
        return X[y < 10].astype(float), y[y < 10]
    given = loaders.load_uci(data)
    columns = [
        np.unique(column, return_inverse=True)[1] if column.dtype == object else column
        for column in given["data"].values()
    ]
    return np.column_stack(columns).astype(float), given["target"]
