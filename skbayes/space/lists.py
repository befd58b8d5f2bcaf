"""Dimensions with listed values, and the equality of values of any type."""

from __future__ import annotations

import types
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from skbayes.space.dimensions import (
    Dimension,
    FloatArray,
    is_finite_number,
    is_number,
    native,
    nearest,
)

# Types whose objects copy.deepcopy does not copy.
_ATOMS = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    np.ufunc,
)

# A list of positive numbers that spans at least this factor is put on a log scale.
LOG_SPAN = 100.0

# Types whose copies are always equal to the original.
_COMPARED_BY_VALUE = (str, bytes, int, float, bool, type(None))

# Maximum number of values of a list in a message.
MAX_SHOWN = 8


def same(a: Any, b: Any, copies: bool = True) -> bool:
    """Return whether two options are the same, by their keys."""
    if a is b or type(a) is not type(b):
        return a is b
    return option_key(a, copies) == option_key(b, copies)


def option_key(value: Any, copies: bool = True) -> Hashable:
    """Return a key of any value, valid in one process; equal for the same options.

    The values 1, 1.0 and True differ. An object equals its copies, so that a pickled
    optimizer or a cloned search recognizes its options. Estimators are compared by
    their parameters, unless clones may keep the fitted state. An object that cannot be
    compared only equals itself. Without `copies`, an object of a class without
    ``__eq__`` that is not an estimator also only equals itself.
    """
    return _key(value, copies, False, ())


def distinct(values: Iterable[Any]) -> list[Any]:
    """Return values without repetitions, in the order of their first occurrence."""
    by_key: dict[Hashable, Any] = {}
    for value in values:
        by_key.setdefault(option_key(value), value)
    return list(by_key.values())


def _key(value: Any, copies: bool, whole: bool, outer: tuple[Any, ...]) -> Hashable:
    """Return the key of a value inside `outer`; `whole` includes fitted states."""
    kind = type(value)
    if value is None or kind in _COMPARED_BY_VALUE:
        return kind, "nan" if value != value else value

    def inner(*values: Any) -> tuple[Hashable, ...]:
        return tuple(_key(v, copies, whole, (*outer, value)) for v in values)

    by_identity = kind, _Compared(value, by_identity=True)
    if isinstance(value, _ATOMS) or any(value is container for container in outer):
        return by_identity
    try:
        if isinstance(value, list | tuple):
            return kind, inner(*value)
        if isinstance(value, dict):
            return kind, frozenset(zip(value, inner(*value.values()), strict=True))
        if isinstance(value, np.ndarray):
            form = kind, value.dtype, value.shape
            if value.dtype == object:
                return *form, inner(*value.ravel())
            if value.dtype.kind in "fc":
                value = np.where(np.isnan(value), np.nan, value + 0.0)
            return *form, value.tobytes()
        if kind.__eq__ is not object.__eq__:
            return kind, _Compared(value)
        if hasattr(value, "get_params"):
            whole = whole or keeps_more_than_parameters(value)
            if not whole:
                return kind, inner(value.get_params(deep=False))
        elif not copies:
            return by_identity
        reduced = value.__reduce_ex__(4)  # the state by which it is copied
        return kind, inner(*reduced[:3]) if isinstance(reduced, tuple) else reduced
    except Exception:  # it cannot be copied or compared
        return by_identity


class _Compared:
    """Value that is compared by the ``__eq__`` of its class, or by its identity."""

    def __init__(self, value: Any, by_identity: bool = False) -> None:
        self.value, self.by_identity = value, by_identity

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Compared) or self.value is other.value:
            return isinstance(other, _Compared)
        try:
            return not self.by_identity and bool(self.value == other.value)
        except Exception:
            return False

    def __hash__(self) -> int:
        try:
            return id(self.value) if self.by_identity else hash(self.value)
        except Exception:
            return 0


def keeps_more_than_parameters(estimator: Any) -> bool:
    """Return whether clones may keep the fitted state, as with FrozenEstimator."""
    usual = BaseEstimator.__sklearn_clone__
    return getattr(type(estimator), "__sklearn_clone__", usual) is not usual


class _Listed(Dimension):
    """Distinct values of a list; `repeated` holds the items that were dropped."""

    _positions: FloatArray

    def __init__(self, items: Sequence[Any]) -> None:
        self.values, self.repeated = self._tabulate(items)
        self.n_values = len(self.values)

    def _tabulate(self, items: Sequence[Any]) -> tuple[tuple, tuple]:
        """Return distinct items and repeated ones; store the indices of the former."""
        self._places: dict[Any, int] = {}
        values: list[Any] = []
        repeated = []
        for item in items:
            if self._places.setdefault(self._key(item), len(values)) == len(values):
                values.append(item)
            else:
                repeated.append(item)
        self._places_by_id = {id(value): place for place, value in enumerate(values)}
        return tuple(values), tuple(repeated)

    def __getstate__(self) -> dict[str, Any]:
        # Hashes of strings and functions differ between processes. They are computed
        # on first use, because options may not be unpickled yet.
        return {**self.__dict__, "_places": {}, "_places_by_id": {}}

    def index(self, value: Any) -> int:
        """Return the index of a value; ValueError if it is not in the list."""
        if not self._places:
            self._tabulate(self.values)
        value = native(value)
        # Compare identities first: comparing estimators is slow, and an option that has
        # been modified has another hash.
        place = self._places_by_id.get(id(value))
        if place is None:
            place = self._places.get(self._key(value))
        if place is None and not isinstance(value, _COMPARED_BY_VALUE):
            # A copy of an option, for example from a worker process.
            copies = (k for k, listed in enumerate(self.values) if same(listed, value))
            place = next(copies, None)
        if place is None:
            raise self._reject(value)
        return place

    def _key(self, value: Any) -> Any:
        """Return a hashable key; different objects without ``__eq__`` differ."""
        return option_key(value, copies=False)

    def place(self, positions: FloatArray) -> NDArray[np.int_]:
        """Return the indices of the values that are nearest to positions (n,)."""
        return nearest(self._positions, positions)

    def encode(self, values: Sequence[Any]) -> FloatArray:  # noqa: D102
        return self.positions(np.array(list(map(self.index, values)), dtype=np.int64))

    def decode(self, positions: ArrayLike) -> list[Any]:  # noqa: D102
        places = self.place(np.asarray(positions, dtype=np.float64))
        return [self.values[place] for place in places.tolist()]

    def snap(self, positions: FloatArray) -> FloatArray:  # noqa: D102
        return self.positions(self.place(positions))

    def from_uniform(self, uniform: FloatArray) -> FloatArray:
        """Return the positions (n,) of values drawn with equal probabilities."""
        places = (np.asarray(uniform) * self.n_values).astype(np.int64)
        return self.positions(np.minimum(places, int(self.n_values) - 1))

    @property
    def grid(self) -> FloatArray:  # noqa: D102
        return self._positions

    def _reject(self, value: Any) -> ValueError:
        if len(self.values) <= MAX_SHOWN:
            return super()._reject(value)
        shown = ", ".join(map(repr, self.values[:MAX_SHOWN]))
        kind = f"{type(self).__name__}([{shown}, …])"
        return ValueError(f"{value!r} is not one of {len(self.values)} values, {kind}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.values)!r})"


def _natural_scale(items: Sequence[Any]) -> Literal["linear", "log"]:
    """Return the scale of ascending numbers: log if wide or with more even gaps."""
    if items[0] <= 0:
        return "linear"
    if items[-1] >= LOG_SPAN * items[0]:
        return "log"
    values = np.array(items, dtype=np.float64)
    gaps, log_gaps = np.diff(values), np.diff(np.log(values))
    if len(items) < 3 or np.any(log_gaps <= 0):
        return "linear"
    log = np.std(log_gaps) / np.mean(log_gaps) < np.std(gaps) / np.mean(gaps)
    return "log" if log else "linear"


def _scaled(items: Sequence[Any], scale: str) -> FloatArray:
    """Return the positions of ascending values, from 0 to 1."""
    if len(items) == 1:
        return np.zeros(1)
    if scale == "rank":
        return np.arange(len(items)) / (len(items) - 1.0)
    scaled = np.array(items, dtype=np.float64)
    if scale == "log":
        scaled = np.log(scaled)
    # Halve first, so that the difference of the largest doubles does not overflow.
    scaled = scaled / 2.0 - scaled[0] / 2.0
    return scaled / scaled[-1] if scaled[-1] > 0 else scaled


def _check_values(values: Any, kind: str) -> list[Any]:
    # The order of a set differs between processes.
    if isinstance(values, str | bytes | Mapping | Set) or not np.iterable(values):
        raise TypeError(
            f"{kind}: the values must be given as a list, got {values!r} of type "
            f"{type(values).__name__}."
        )
    items = list(map(native, values))
    if not items:
        raise ValueError(f"{kind}: at least one value is needed, got {values!r}.")
    return items


class Ordinal(_Listed):
    """List of values with a meaningful order.

    Parameters
    ----------
    values : sequence
        Values of the hyper-parameter. Numbers are sorted in ascending order; other
        values keep the given order. A repeated value counts once.
    scale : {"auto", "linear", "log", "rank"}, default="auto"
        Distances between the values:

        - "linear", "log": distances of the numbers, or of their logarithms. The values
          must be numbers.
        - "rank": equal distances.
        - "auto": "log" for positive numbers that span a factor of 100 or more, or
          whose ratios are more even than their differences (256, 512, 1024). It is
          "linear" for other numbers. It is "rank" for other values, and for numbers
          that are too close together to be distinguished by their distances.

    Examples
    --------
    >>> from skbayes.space import Ordinal
    >>> Ordinal([1, 10, 100]).grid
    array([0. , 0.5, 1. ])
    """

    def __init__(
        self,
        values: Sequence[Any],
        scale: Literal["auto", "linear", "log", "rank"] = "auto",
    ) -> None:
        items = _check_values(values, "Ordinal")
        numeric = all(map(is_finite_number, items))
        if numeric:
            items = sorted(items)
        if scale not in ("auto", "linear", "log", "rank"):
            raise ValueError(
                "Ordinal: scale must be 'auto', 'linear', 'log' or 'rank', "
                f"got {scale!r}."
            )
        if scale in ("linear", "log") and not numeric:
            raise ValueError(f"Ordinal: scale {scale!r} needs finite numbers.")
        if scale == "log" and items[0] <= 0:
            raise ValueError(
                f"Ordinal: a log scale needs values > 0, got {items[0]!r}."
            )
        super().__init__(items)
        self.scale: str = scale
        if scale == "auto":
            self.scale = _natural_scale(self.values) if numeric else "rank"
        self._positions = _scaled(self.values, self.scale)
        indices = np.arange(len(self.values))
        if np.array_equal(self.place(self._positions), indices):
            return
        if scale != "auto":
            raise ValueError(
                f"Ordinal: the values {list(self.values)!r} are too close to one "
                "another to be distinguished; scale='rank' puts them at equal "
                "distances."
            )
        self.scale, self._positions = "rank", _scaled(self.values, "rank")

    def _key(self, value: Any) -> Any:
        # Numbers of different types may be equal.
        return value if is_number(value) else super()._key(value)

    @property
    def key(self) -> tuple[Any, ...]:  # noqa: D102
        return ("Ordinal", self.scale, tuple(map(option_key, self.values)))


class Categorical(_Listed):
    """List of options without an order.

    Parameters
    ----------
    options : sequence
        Options of the hyper-parameter: strings, None, bools, tuples, functions,
        estimators, and so on. A repeated option counts once.

    Examples
    --------
    >>> from skbayes.space import Categorical
    >>> Categorical(["rbf", "linear", None]).decode([0.0, 1.0])
    ['rbf', None]
    """

    is_categorical = True

    def __init__(self, options: Sequence[Any]) -> None:
        super().__init__(_check_values(options, "Categorical"))
        self._positions = np.linspace(0.0, 1.0, len(self.values))

    @property
    def key(self) -> tuple[Any, ...]:  # noqa: D102
        return ("Categorical", tuple(map(option_key, self.values)))


class Constant(Dimension):
    """One value of a list, at its position in the list."""

    n_values = 1

    def __init__(self, listed: Dimension, position: float) -> None:
        self.listed, self.position = listed, position
        self.is_categorical = listed.is_categorical

    def encode(self, values: Sequence[Any]) -> FloatArray:  # noqa: D102
        positions = self.listed.encode(values)
        for value, position in zip(values, positions.tolist(), strict=True):
            if position != self.position:
                raise self._reject(value)
        return positions

    def decode(self, positions: ArrayLike) -> list[Any]:  # noqa: D102
        return self.listed.decode(self.snap(np.asarray(positions)))

    def snap(self, positions: FloatArray) -> FloatArray:  # noqa: D102
        return np.full(len(positions), self.position)

    def positions(self, places: NDArray[np.int_]) -> FloatArray:  # noqa: D102
        return np.full(len(places), self.position)

    def __repr__(self) -> str:
        (value,) = self.decode([self.position])
        return f"{type(self.listed).__name__}([{value!r}])"


def shared_lists(dicts: Sequence[Mapping[str, Any]]) -> dict[tuple[str, Any], Constant]:
    """Return the constants of the lists with one value, by parameter and list.

    The values of a parameter are combined to one list of numbers and one of options.
    """
    parts: dict[tuple[str, type], dict[Any, tuple[Any, Any]]] = {}
    for parsed in dicts:
        for name, dimension in parsed.items():
            kind = type(dimension)
            if kind in (Ordinal, Categorical) and dimension.n_values == 1:
                (value,) = dimension.values
                listed = parts.setdefault((name, kind), {})
                # Numbers such as 1 and 1.0 are equal; only the first one is combined.
                listed.setdefault(dimension._key(value), (value, dimension.key))
    constants = {}
    for (name, kind), listed in parts.items():
        combined = kind([value for value, _ in listed.values()])
        positions = combined.encode([value for value, _ in listed.values()])
        for (_, key), position in zip(listed.values(), positions, strict=True):
            constants[name, key] = Constant(combined, float(position))
    return constants
