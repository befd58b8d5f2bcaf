"""Equality and hashes of options of any type."""

from __future__ import annotations

import math
import types
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

__all__ = ["ItemKey", "OptionKey", "hash_of", "keeps_more_than_parameters", "same"]

# Types that copy.deepcopy does not copy.
_ATOMS = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    np.ufunc,
)


def same(a: Any, b: Any, whole: bool = False, copies: bool = True) -> bool:
    """Return whether two options are the same.

    The values 1, 1.0 and True differ. An object equals its copies, so that a pickled
    optimizer or a cloned search recognizes its options. Estimators are compared by
    their parameters, and with `whole` also by their fitted state. Values that cannot be
    compared are different. Without `copies`, two objects of a class without ``__eq__``
    are also different, unless they are estimators.
    """
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, _ATOMS):
        return False
    try:
        if isinstance(a, np.ndarray):
            return _same_arrays(a, b, whole, copies)
        if isinstance(a, list | tuple):
            pairs = zip(a, b, strict=False)
            return len(a) == len(b) and all(same(x, y, whole, copies) for x, y in pairs)
        if isinstance(a, dict):
            return a.keys() == b.keys() and all(
                same(a[k], b[k], whole, copies) for k in a
            )
        if isinstance(a, float) and math.isnan(a) and math.isnan(b):
            return True
        if type(a).__eq__ is not object.__eq__:
            return bool(a == b)
        return _same_objects(a, b, whole, copies)
    except Exception:  # values that cannot be compared
        return False


def _same_arrays(a: np.ndarray, b: np.ndarray, whole: bool, copies: bool) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype == object:
        return same(a.tolist(), b.tolist(), whole, copies)
    return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def _same_objects(a: Any, b: Any, whole: bool, copies: bool) -> bool:
    """Compare objects without an ``__eq__`` by the state used to copy them."""
    if not (copies or hasattr(a, "get_params")):
        return False
    if hasattr(a, "get_params") and not whole:
        whole = keeps_more_than_parameters(a)
        if not whole:
            params, other_params = a.get_params(deep=False), b.get_params(deep=False)
            return same(params, other_params, copies=copies)
    state, other = a.__reduce_ex__(4), b.__reduce_ex__(4)
    return isinstance(state, tuple) and same(state[:3], other[:3], whole, copies)


def keeps_more_than_parameters(estimator: Any) -> bool:
    """Return whether clones may keep the fitted state, as those of FrozenEstimator."""
    usual = BaseEstimator.__sklearn_clone__
    return getattr(type(estimator), "__sklearn_clone__", usual) is not usual


class OptionKey:
    """Hashable key of any value; keys are equal for values that are the `same`."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OptionKey) and same(self.value, other.value)

    def __hash__(self) -> int:
        return hash_of(self.value)


class ItemKey(OptionKey):
    """Key of an item of a list, for which different objects differ; see `same`."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ItemKey) and same(
            self.value, other.value, copies=False
        )

    def __hash__(self) -> int:
        return hash_of(self.value, copies=False)


def hash_of(value: Any, copies: bool = True) -> int:
    """Return a hash, valid within one process, equal for values that are the `same`."""
    kind = type(value)
    if isinstance(value, _ATOMS):
        return hash((kind, id(value)))
    try:
        if isinstance(value, list | tuple):
            return hash((kind, tuple(hash_of(item, copies) for item in value)))
        if isinstance(value, dict):
            items = ((key, hash_of(value[key], copies)) for key in value)
            return hash((kind, frozenset(items)))
        if isinstance(value, np.ndarray) or value != value:
            return hash(kind)
        if kind.__eq__ is not object.__eq__:
            return hash((kind, value))
        if hasattr(value, "get_params"):
            if keeps_more_than_parameters(value):
                return hash(kind)
            return hash((kind, hash_of(value.get_params(deep=False), copies)))
        if not copies:
            return hash((kind, id(value)))
    except Exception:  # it cannot be hashed or compared
        pass
    return hash(kind)
