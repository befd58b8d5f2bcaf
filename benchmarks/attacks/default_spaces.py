"""Failing and warning trials of default spaces on difficult data.

Each class of scikit-learn in the catalog is fitted with its own values, with the values
of the initial design, and with random values of its default space, on small tables: few
rows, one column, constant columns, repeated rows, more columns than rows, a rare class,
negative targets, and two outputs. A line has the class, the data, the numbers of failed
and of all fits, and the first error. Pairs are left out if the own values fail, too.

Example: python benchmarks/attacks/default_spaces.py --number 10 --names SVC,NuSVC
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils import all_estimators, get_tags

from skbayes.defaults.catalog import CATALOG, DataFacts
from skbayes.defaults.parts import parts_of, space_of
from skbayes.space import Space

# Fits with these limits are fast, and fail as others do.
LIMITS = {"n_estimators": 5, "n_jobs": 1}
KINDS = ("classifier", "regressor", "transformer")


def data(seed: int = 0) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield difficult data: a name, the table, and a target of numbers."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 5)), rng.normal(size=60)
    yield "12 rows", X[:12], y[:12]
    yield "one column", X[:, :1], y
    yield "two columns", X[:, :2], y
    constant = X.copy()
    constant[:, 2:] = 1.0
    yield "constant columns", constant, y
    copies = np.repeat(X[:3], 10, axis=0)
    yield "three distinct rows", copies, np.tile(y[:3], 10)
    yield "wide", rng.normal(size=(20, 100)), y[:20]
    yield "copied columns", np.hstack([X, X]), y
    yield "large numbers", 1e6 * X + 1e7, 1e6 * y
    yield "nonnegative", np.abs(X), np.abs(y)
    yield "rare class", X, y
    yield "two outputs", X, np.column_stack([y, -y + X[:, 0]])


def classes_of(name: str, y: np.ndarray) -> np.ndarray | None:
    """Return a target of classes; None for several outputs."""
    if y.ndim > 1:
        return None
    if name == "rare class":
        return (np.arange(len(y)) < 4).astype(int)
    return np.arange(len(y)) % (2 if len(y) < 20 else 3)


def estimators() -> Iterator[tuple[str, Any]]:
    """Yield classifiers, regressors and transformers of the catalog that need none."""
    listed = dict(all_estimators())
    for package, name in sorted(CATALOG):
        if package != "sklearn":
            continue
        try:
            estimator = listed[name]()
            kind = get_tags(estimator).estimator_type
        except (AttributeError, KeyError, TypeError):
            continue  # it needs an estimator, or is not in this release
        if kind not in KINDS:
            continue
        if hasattr(estimator, "partial_fit") and "max_iter" in estimator.get_params():
            estimator.set_params(max_iter=20)
        limits = {k: v for k, v in LIMITS.items() if k in estimator.get_params()}
        yield name, estimator.set_params(**limits)


def failures(
    estimator: Any, X: np.ndarray, y: np.ndarray, number: int, warn: str = "ignore"
) -> tuple[int, int, str] | None:
    """Return the numbers of failed and of all fits, and an error.

    None is returned if the own values fail.
    """
    rows = np.arange(len(X)) % 5 != 0
    facts = DataFacts.of(X, y, rows.mean())
    notation = space_of(parts_of(estimator, facts))
    if not notation:
        return None
    space = Space.from_notation(notation)
    U = np.random.default_rng(0).random((number, space.n_columns))
    samples = [*space.decode(space.from_uniform(U)), *space.covering_sample()]
    failed, message = 0, ""
    for params in ({}, *samples):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter(warn, ConvergenceWarning)
            try:
                model = clone(estimator).set_params(**params)
                model.fit(X[rows], y[rows])
                method = getattr(model, "predict", None) or model.transform
                values = method(X[~rows])
                values = values.data if sparse.issparse(values) else values
                if not np.isfinite(np.asarray(values, dtype=float)).all():
                    raise ValueError("not finite")
            except Exception as error:
                if not params:
                    return None
                failed += 1
                message = message or f"{params} {type(error).__name__}: {error}"
    return failed, len(samples), message


def rows_of_table(number: int, names: str = "") -> Iterator[tuple[str, str, Any]]:
    """Yield the class, the data, and the failures."""
    for name, estimator in estimators():
        if names and name not in names.split(","):
            continue
        for label, X, y in data():
            target = classes_of(label, y) if is_classifier(estimator) else y
            if target is not None:
                yield name, label, failures(estimator, X, target, number)


def convergence(number: int) -> None:
    """Print the classes whose samples do not converge on plain data."""
    plain = {"breast_cancer": load_breast_cancer, "diabetes": load_diabetes}
    for name, estimator in estimators():
        for label, loader in plain.items():
            X, y = loader(return_X_y=True)
            if is_classifier(estimator) != (label == "breast_cancer"):
                continue
            for scaled in (True, False):
                rows = StandardScaler().fit_transform(X) if scaled else X
                found = failures(estimator, rows, y, number, "error")
                if found is not None and found[0]:
                    text = found[2].replace("\n", " ")[:150]
                    print(
                        f"{name:30}{label:15}{scaled!s:6}{found[0]:3}/{found[1]} {text}"
                    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=10, help="random values")
    parser.add_argument("--names", default="", help="classes, separated by commas")
    parser.add_argument("--convergence", action="store_true")
    options = parser.parse_args()
    if options.convergence:
        convergence(options.number)
        return
    for name, label, found in rows_of_table(options.number, options.names):
        if found is not None and found[0]:
            text = found[2].replace("\n", " ")[:150]
            print(f"{name:30}{label:22}{found[0]:3}/{found[1]} {text}", flush=True)


if __name__ == "__main__":
    main()
