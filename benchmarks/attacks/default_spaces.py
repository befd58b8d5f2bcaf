"""Failing trials of default spaces on difficult data.

Each class of the catalog is fitted with its own values, with random values of its
default space, and with values that together use every option, on small tables: few
rows, one column, constant columns, repeated rows, more columns than rows, a rare class,
negative targets, and two outputs. A line has the class, the data, the numbers of failed
and of all fits, and the first error. Pairs are left out if the own values fail, too.
The last line has the number of pairs in which more than a tenth of the fits fail.

Example: python benchmarks/attacks/default_spaces.py --number 10 --names SVC,NuSVC
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import one_thread  # noqa: E402, F401

# isort: split
import argparse
import importlib
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import all_estimators, get_tags

from skbayes.defaults.catalog import CATALOG, DataFacts
from skbayes.defaults.parts import parts_of, space_of
from skbayes.space import Space

# Fits with these limits are fast, and fail as others do.
LIMITS = {"n_estimators": 3, "iterations": 3, "max_iter": 20}
QUIET = {
    "catboost": {"verbose": 0, "allow_writing_files": False, "iterations": 3},
    "lightgbm": {"verbose": -1, "n_jobs": 1},
    "xgboost": {"n_estimators": 3, "n_jobs": 1},
}
KINDS = ("classifier", "regressor")
MAX_SHARE = 0.1

# Number of failed fits, number of fits, and the first error.
Failures = tuple[int, int, str]


def data(seed: int = 0) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield difficult data: a name, the table, and a target of numbers."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 5)), rng.normal(size=60)
    yield "8 rows", X[:8], y[:8]
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
    yield "negative targets", X, -np.abs(y)
    yield "rare class", X, y
    yield "class of two rows", X, y
    yield "two outputs", X, np.column_stack([y, -y + X[:, 0]])


def classes_of(name: str, y: np.ndarray) -> np.ndarray | None:
    """Return a target of classes; None for several outputs."""
    if y.ndim > 1:
        return None
    if name == "rare class":
        return (np.arange(len(y)) < 4).astype(int)
    if name == "class of two rows":
        return np.where(np.arange(len(y)) < 3, 2, np.arange(len(y)) % 2)
    return np.arange(len(y)) % (2 if len(y) < 20 else 3)


def estimators() -> Iterator[tuple[str, Any]]:
    """Yield classifiers, regressors and transformers of the catalog that need none."""
    listed = dict(all_estimators())
    for package, name in sorted(CATALOG):
        try:
            module = {} if package == "sklearn" else importlib.import_module(package)
            kind = listed[name] if package == "sklearn" else getattr(module, name)
            estimator = kind(**QUIET.get(package, {}))
            kind = get_tags(estimator).estimator_type
            if kind in KINDS or hasattr(estimator, "transform"):
                yield name, estimator
        except (AttributeError, ImportError, KeyError, TypeError):
            continue  # it needs an estimator, or is not installed


def failures(estimator: Any, X: np.ndarray, y: np.ndarray, number: int) -> Failures:
    """Return the failures; no fits if the own values fail, or nothing is tuned."""
    if type(estimator).__name__ == "TfidfTransformer":  # counts are not negative
        X = np.abs(X)
    notation = space_of(parts_of(estimator, DataFacts.of(X, y, 0.75)))
    if not notation or error_of(estimator, {}, X, y):
        return 0, 0, ""
    space = Space.from_notation(notation)
    U = np.random.default_rng(0).random((number, space.n_columns))
    samples = [*space.decode(space.from_uniform(U)), *space.covering_sample()]
    errors = [
        f"{params} {error}"
        for params in samples
        if (error := error_of(estimator, params, X, y))
    ]
    return len(errors), len(samples), errors[0] if errors else ""


def error_of(estimator: Any, params: dict, X: np.ndarray, y: np.ndarray) -> str:
    """Return the error of a short fit to one of two folds, or an empty string."""
    splits = check_cv(4, y, classifier=is_classifier(estimator)).split(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for train, test in list(splits)[::3]:
            model = clone(estimator).set_params(**params)
            values = model.get_params(deep=False)
            model.set_params(**{k: v for k, v in LIMITS.items() if values.get(k)})
            try:
                model.fit(X[train], y[train])
                method = getattr(model, "predict", None) or model.transform
                values = method(X[test])
                values = values.data if sparse.issparse(values) else values
                if not np.isfinite(np.asarray(values, dtype=float)).all():
                    return "not finite"
            except Exception as error:
                return f"{type(error).__name__}: {error}"
    return ""


def table(
    number: int, names: str = "", seed: int = 0
) -> Iterator[tuple[str, str, Failures]]:
    """Yield the class, the data, and the failures."""
    for name, estimator in estimators():
        if names and name not in names.split(","):
            continue
        for label, X, y in data(seed):
            target = classes_of(label, y) if is_classifier(estimator) else y
            if target is not None:
                yield name, label, failures(estimator, X, target, number)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=6, help="random values")
    parser.add_argument("--names", default="", help="classes, separated by commas")
    parser.add_argument("--seed", type=int, default=0, help="seed of the data")
    options = parser.parse_args()
    n_fits, pairs, classes, many = 0, 0, set(), 0
    for name, label, (failed, n_samples, message) in table(
        options.number, options.names, options.seed
    ):
        n_fits, pairs = n_fits + n_samples, pairs + (n_samples > 0)
        classes |= {name} if n_samples else set()
        many += failed > MAX_SHARE * n_samples
        if failed:
            text = message.replace("\n", " ")[:150]
            print(f"{name:30}{label:22}{failed:3}/{n_samples} {text}", flush=True)
    print(
        f"{len(classes)} classes, {pairs} pairs, {n_fits} fits, "
        f"{time.process_time():.0f} s: more than a tenth fails in {many} pairs"
    )


if __name__ == "__main__":
    main()
