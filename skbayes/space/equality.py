"""Equality and hashes of options, whatever objects they are."""

from __future__ import annotations

import math
import types
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

__all__ = ["OptionKey", "hash_of", "keeps_more_than_parameters", "same"]

# What copy.deepcopy hands on as it is.
_ATOMS = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    np.ufunc,
)


def same(a: Any, b: Any, whole: bool = False) -> bool:
    """Whether two options are the same.

    1, 1.0 and True differ; an object equals its copies, so that an optimizer that was
    pickled, or a search that was cloned, still knows its options. Estimators are
    compared by their parameters, with `whole` by what they learned too. Values that
    cannot be compared differ.
    """
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, _ATOMS):
        return False
    try:
        if isinstance(a, np.ndarray):
            return _same_arrays(a, b, whole)
        if isinstance(a, list | tuple):
            pairs = zip(a, b, strict=False)
            return len(a) == len(b) and all(same(x, y, whole) for x, y in pairs)
        if isinstance(a, dict):
            return a.keys() == b.keys() and all(same(a[k], b[k], whole) for k in a)
        if isinstance(a, float) and math.isnan(a) and math.isnan(b):
            return True
        if type(a).__eq__ is not object.__eq__:
            return bool(a == b)
        return _same_objects(a, b, whole)
    except Exception:  # values that cannot be compared
        return False


def _same_arrays(a: np.ndarray, b: np.ndarray, whole: bool) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype == object:
        return same(a.tolist(), b.tolist(), whole)
    return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def _same_objects(a: Any, b: Any, whole: bool) -> bool:
    """Compare objects without an ``__eq__`` by what makes a copy of them."""
    if hasattr(a, "get_params") and not whole:
        whole = keeps_more_than_parameters(a)
        if not whole:
            return same(a.get_params(deep=False), b.get_params(deep=False))
    state, other = a.__reduce_ex__(4), b.__reduce_ex__(4)
    return isinstance(state, tuple) and same(state[:3], other[:3], whole)


def keeps_more_than_parameters(estimator: Any) -> bool:
    """Whether clones of an estimator may hold what it learned (FrozenEstimator)."""
    usual = BaseEstimator.__sklearn_clone__
    return getattr(type(estimator), "__sklearn_clone__", usual) is not usual


class OptionKey:
    """Value in a key: hashable whatever it is, and equal to what is the `same`."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OptionKey) and same(self.value, other.value)

    def __hash__(self) -> int:
        return hash_of(self.value)


def hash_of(value: Any) -> int:
    """Hash, within one process, that is equal for what is the `same`."""
    kind = type(value)
    if isinstance(value, _ATOMS):
        return hash((kind, id(value)))
    try:
        if isinstance(value, list | tuple):
            return hash((kind, tuple(map(hash_of, value))))
        if isinstance(value, dict | np.ndarray) or value != value:
            return hash(kind)
        if kind.__eq__ is not object.__eq__:
            return hash((kind, value))
    except Exception:  # it cannot be hashed, or not even be compared
        pass
    return hash(kind)
