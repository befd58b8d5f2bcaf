"""Index of the dicts of a list by the values of their parameters."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from skbayes.space.dimensions import Dimension, Integer, Real, is_number, native
from skbayes.space.distribution import Distribution
from skbayes.space.lists import Categorical, Constant, Ordinal, option_key

# Dimensions are compared value by value up to this number of values.
MAX_COMPARED = 1000

Numbers = np.ndarray


class DictIndex:
    """Dicts that may contain a configuration, or may overlap with another dict.

    Only hashes of listed values and bounds of ranges are compared, so the result may
    contain too many dicts.

    Parameters
    ----------
    dicts : list of dict
        Dimensions by the name of the parameter.
    is_open : list of bool or None, default=None
        Whether a dict may have further parameters, under the options of a choice.
    """

    def __init__(
        self,
        dicts: Sequence[Mapping[str, Dimension]],
        is_open: Sequence[bool] | None = None,
    ) -> None:
        self._dicts = dicts
        self._is_open = np.array(is_open or [False] * len(dicts))
        self._n_names = np.array(list(map(len, dicts)))
        names = sorted({name for parsed in dicts for name in parsed})
        self._columns = {name: _NameIndex(name, dicts) for name in names}
        self._n_common: dict[tuple[str, ...], Numbers] = {}

    def containing(self, params: Mapping[str, Any]) -> Numbers:
        """Return the indices of the dicts that may contain some of the parameters."""
        names = [name for name in self._columns if name in params]
        hits = [self._columns[name].with_value(params[name]) for name in names]
        return np.flatnonzero(self._counts(hits) == self._n_names)

    def overlapping(self, number: int) -> Numbers:
        """Return the indices of the earlier dicts that may overlap with a dict."""
        parsed = self._dicts[number]
        names = tuple(parsed)
        if names not in self._n_common:
            every = [self._columns[name].every for name in names]
            self._n_common[names] = self._counts(every)
        common = self._n_common[names]
        hits = [self._columns[k].with_any_value(d) for k, d in parsed.items()]
        has_names = self._is_open | (common == self._n_names) & (common == len(names))
        if self._is_open[number]:
            has_names[:] = True
        overlaps = has_names & (self._counts(hits) == common)
        return np.flatnonzero(overlaps[:number])

    def _counts(self, hits: Sequence[Numbers]) -> Numbers:
        joined = np.concatenate([np.empty(0, dtype=np.intp), *hits])
        return np.bincount(joined, minlength=len(self._dicts))


class _NameIndex:
    """Dicts with a parameter, by its values.

    Lists are found by their values, ranges by their bounds. Other dimensions may
    contain any value.
    """

    def __init__(self, name: str, dicts: Sequence[Mapping[str, Dimension]]) -> None:
        listed: dict[Hashable, list[int]] = {}
        bounds: list[tuple[float, float, int]] = []
        every, any_value, wide = [], [], []
        for number, parsed in enumerate(dicts):
            if name not in parsed:
                continue
            every.append(number)
            dimension = parsed[name]
            if _is_compared(dimension):
                for key in _keys_of(dimension):
                    listed.setdefault(key, []).append(number)
                continue
            wide.append(number)
            if isinstance(dimension, Real | Integer):
                bounds.append((float(dimension.low), float(dimension.high), number))
            else:
                any_value.append(number)
        self._listed = {key: np.array(numbers) for key, numbers in listed.items()}
        self._bounds = np.array(bounds, dtype=np.float64).reshape(-1, 3)
        self._any = np.array(any_value, dtype=np.intp)
        self._wide = np.array(wide, dtype=np.intp)
        self.every = np.array(every, dtype=np.intp)
        self._by_dimension: dict[Hashable, Numbers] = {}

    def with_value(self, value: Any) -> Numbers:
        """Return the indices of the dicts that may contain a value."""
        value = native(value)
        keys = [_key_of(value), ("id", id(value))]
        hits = [self._any, *(self._listed[key] for key in keys if key in self._listed)]
        if len(self._bounds) and is_number(value):
            low, high, numbers = self._bounds.T
            number = _as_float(value)
            hits.append(numbers[(low <= number) & (number <= high)].astype(np.intp))
        return np.unique(np.concatenate(hits))

    def with_any_value(self, dimension: Dimension) -> Numbers:
        """Return the indices of the dicts that may contain a value of a dimension."""
        if not _is_compared(dimension):
            return self.every
        key = dimension.key
        if key not in self._by_dimension:
            hits = [self._listed[k] for k in _keys_of(dimension) if k in self._listed]
            self._by_dimension[key] = np.unique(np.concatenate([self._wide, *hits]))
        return self._by_dimension[key]


def _is_compared(dimension: Dimension) -> bool:
    kinds = Ordinal, Categorical, Constant, Real, Integer, Distribution
    return isinstance(dimension, kinds) and dimension.n_values <= MAX_COMPARED


def _keys_of(dimension: Dimension) -> set[Hashable]:
    """Return the keys of the values of a finite dimension."""
    values = dimension.decode(dimension.grid)
    # An option that is modified later is found by its identity.
    return {key for v in values for key in (_key_of(v), ("id", id(v)))}


def _key_of(value: Any) -> Hashable:
    """Return a key that is equal for values that a dimension considers equal."""
    return (
        _as_float(value) if is_number(value) and value == value else option_key(value)
    )


def _as_float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
