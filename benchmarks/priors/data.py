"""Small tables for the evaluation of estimators, reduced to a few hundred rows.

The main tables are the 22 UCI tables, and iris, wine, breast_cancer, digits and
diabetes of scikit-learn. Further tables are used for learning only:

- adult and letter;
- each regression table with its target split into two classes ("abalone.cut");
- each classification table with its last numeric column as the target ("pima.number").

Within each fold, missing values are imputed, numbers are standardized, and categories
are one-hot encoded. The target of a regression is standardized.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import shared
from sklearn import datasets
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

__all__ = ["Fold", "folds", "judged", "tables"]

SHIPPED = {
    "iris": "classification",
    "wine": "classification",
    "breast_cancer": "classification",
    "digits": "classification",
    "diabetes": "regression",
}
# Numbers of training and test rows. Tables with few rows are split in three folds.
N_TRAIN, N_TEST = 400, 600
N_SMALL = 800
# The smaller classes are omitted, so that boosting stays cheap, and so are classes with
# too few rows for each fold.
MAX_CLASSES, MIN_ROWS = 5, 6

# X_train, y_train, X_test, y_test
Fold = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@cache
def judged(task: str) -> list[str]:
    """Return the names of the main tables for "classification" or "regression"."""
    uci = shared.load().uci_index()
    known = {name: about["task"] for name, about in uci.items()} | SHIPPED
    return sorted(name for name, own in known.items() if own == task)


@cache
def tables(task: str) -> list[str]:
    """Return the names of the tables for learning: the main ones, then others."""
    if task == "classification":
        derived = [f"{name}.cut" for name in judged("regression")]
        return [*judged(task), *derived, "adult", "letter"]
    derived = [
        f"{name}.number"
        for name in judged("classification")
        if _last_number(_read(name)[0])
    ]
    return [*judged(task), *derived]


def _last_number(X: Any) -> str | None:
    """Return the last numeric column with more values than a category would have."""
    found = [c for c in X.columns if X[c].dtype.kind == "f" and X[c].nunique() >= 20]
    return found[-1] if found else None


@cache
def folds(name: str) -> list[Fold]:
    """Return the prepared folds of a table."""
    X, y, categorical, regression = _read(name)
    if regression:
        y = (y - y.mean()) / y.std()
    else:
        classes, counts = np.unique(y, return_counts=True)
        largest = np.argsort(-counts, kind="stable")[:MAX_CLASSES]
        common = np.isin(y, classes[[c for c in largest if counts[c] >= MIN_ROWS]])
        X, y = X[common], np.unique(y[common], return_inverse=True)[1]
    numeric = [c for c in X.columns if c not in categorical]
    impute = SimpleImputer(strategy="median")
    prepare = make_column_transformer(
        (make_pipeline(impute, StandardScaler()), numeric),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), categorical),
    )
    split = []
    for train, test in _splitter(len(y), regression).split(X, y):
        prepare.fit(X.iloc[train])
        inner, outer = (prepare.transform(X.iloc[rows]) for rows in (train, test))
        split.append((inner, y[train], outer, y[test]))
    return split


def _splitter(n_rows: int, regression: bool) -> Any:
    if n_rows < N_SMALL:
        kind = KFold if regression else StratifiedKFold
        return kind(3, shuffle=True, random_state=0)
    shuffle = ShuffleSplit if regression else StratifiedShuffleSplit
    n_test = min(N_TEST, n_rows - N_TRAIN)
    return shuffle(2, train_size=N_TRAIN, test_size=n_test, random_state=0)


def _read(name: str) -> tuple[Any, np.ndarray, list[str], bool]:
    """Return columns, target, categorical columns, and whether it is a regression."""
    import pandas as pd

    name, _, change = name.partition(".")
    if name in SHIPPED:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True, as_frame=True)
        table = (X, y.to_numpy(), [], SHIPPED[name] == "regression")
    elif name == "adult":
        one = shared.load().load_adult("object")
        X = pd.DataFrame(one["train"][0], columns=one["feature_names"]).infer_objects()
        table = (X, one["train"][1], one["categorical"], False)
    elif name == "letter":
        X, y = shared.load().load_letter()["train"]
        table = (pd.DataFrame(X.astype(float)).add_prefix("x"), y, [], False)
    else:
        one = shared.load().load_uci(name)
        regression = one["task"] == "regression"
        table = (
            pd.DataFrame(one["data"]),
            one["target"],
            one["categorical"],
            regression,
        )
    return _changed(table, change)


def _changed(table: Any, change: str) -> tuple[Any, np.ndarray, list[str], bool]:
    """Return a table with another target."""
    X, y, categorical, regression = table
    if change == "cut":
        # Classes of equal size for half of the tables.
        share = 0.5 if X.shape[1] % 2 else 0.75
        return X, (y > np.quantile(y, share)).astype(int), categorical, False
    if change == "number":
        column = _last_number(X)
        X = X[X[column].notna()]
        return X.drop(columns=column), X[column].to_numpy(), categorical, True
    return X, y, categorical, regression
