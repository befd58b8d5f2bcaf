"""Facts about the training data that determine bounds of search spaces."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import type_of_target

from skbayes.utils.to_host import to_host

__all__ = ["DataFacts"]

# Class weights are tuned if the largest class has at least this many times the rows of
# the smallest.
IMBALANCE = 1.5

# A target with more distinct values has no classes.
MAX_CLASSES = 1000


@dataclasses.dataclass(frozen=True)
class DataFacts:
    """Facts about the rows that an estimator is fitted to; None if unknown.

    Attributes
    ----------
    n_rows : int or None
        Number of training rows of a fold.
    n_features : int or None
        Number of columns.
    n_classes : int or None
        Number of classes of a classification target.
    imbalanced : bool
        Whether the class sizes differ enough to tune class weights.
    max_nu : float
        Largest `nu` that is feasible in support vector machines for all pairs of
        classes.
    y_scale : float
        Standard deviation of a numeric target, rounded to a power of ten.
    has_missing : bool
        Whether the data may contain missing values.
    scale_matters : bool
        Whether a monotonic transformation of a column can change predictions.
    """

    n_rows: int | None = None
    n_features: int | None = None
    n_classes: int | None = None
    imbalanced: bool = False
    max_nu: float = 0.5
    y_scale: float = 1.0
    has_missing: bool = True
    scale_matters: bool = True

    @classmethod
    def of(cls, X: Any = None, y: Any = None, train_share: float = 1.0) -> DataFacts:
        """Return the facts about `X` and `y`, given the fraction of training rows."""
        X, y = to_host(X), to_host(y)
        found: dict[str, Any] = {}
        n_samples = _n_samples(y if X is None else X)
        if n_samples is not None:
            found["n_rows"] = max(1, math.floor(n_samples * train_share))
        found["n_features"] = _n_features(X)
        found["has_missing"] = X is None or _may_miss(X)
        return cls(**found, **_target(y))

    def with_features(self, n_features: int | None) -> DataFacts:
        """Return facts about the same rows with another number of columns."""
        return dataclasses.replace(self, n_features=n_features)


def _n_samples(data: Any) -> int | None:
    shape = getattr(data, "shape", None)
    if shape:
        return int(shape[0])
    return len(data) if hasattr(data, "__len__") else None


def _n_features(X: Any) -> int | None:
    shape = getattr(X, "shape", None)
    if shape is not None:
        return int(shape[1]) if len(shape) == 2 else None
    first = X[0] if isinstance(X, list | tuple) and X else None
    return len(first) if isinstance(first, list | tuple) else None


def _may_miss(X: Any) -> bool:
    """Return whether the data contain missing values or values that are not numbers."""
    values = X.data if sparse.issparse(X) else X
    try:
        return bool(np.isnan(np.asarray(values, dtype=np.float64)).any())
    except (RuntimeError, TypeError, ValueError):
        return True


def _target(y: Any) -> dict[str, Any]:
    """Return the facts about the target."""
    if y is None:
        return {}
    try:
        kind = type_of_target(y)
    except (RuntimeError, TypeError, ValueError):
        return {}
    if kind in ("binary", "multiclass"):
        _, counts = np.unique(np.asarray(y), return_counts=True)
        found: dict[str, Any] = {"y_scale": _scale(y)}
        if len(counts) <= MAX_CLASSES:
            found |= {
                "n_classes": len(counts),
                "imbalanced": bool(counts.max() > IMBALANCE * counts.min()),
                "max_nu": 2.0 * counts.min() / (counts.min() + counts.max()),
            }
        return found
    return {"y_scale": _scale(y)}


def _scale(y: Any) -> float:
    try:
        spread = float(np.nanstd(np.asarray(y, dtype=np.float64)))
    except (TypeError, ValueError):
        return 1.0
    if not (math.isfinite(spread) and spread > 0.0):
        return 1.0
    return 10.0 ** round(math.log10(spread))
