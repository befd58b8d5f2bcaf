"""Dimensions that are lists of values, ordered or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skbayes.space.dimensions import (
    Dimension,
    FloatArray,
    is_finite,
    is_number,
    native,
    nearest,
)
from skbayes.space.equality import ItemKey, OptionKey, same

__all__ = ["Categorical", "Ordinal", "Progression"]

# A list of positive numbers that spans at least this factor is put on a log scale.
LOG_SPAN = 100.0

# Doubles hold all whole numbers up to the first, and tell apart the positions of so
# many values, on a log scale too, as the second.
MAX_EXACT, MAX_STEPS = 2**53, 2**44

# Of these an option has no copies that are not equal to it.
_COMPARED_BY_VALUE = (str, bytes, int, float, type(None))

# Messages show no more values of a list than this.
MAX_SHOWN = 8


class _Listed(Dimension):
    """Values in a list, each of which counts once; `repeated` are the items dropped."""

    _positions: FloatArray

    def __init__(self, items: Sequence[Any]) -> None:
        self.values, self.repeated = self._tabulate(items)
        self.n_values = len(self.values)

    def _tabulate(self, items: Sequence[Any]) -> tuple[tuple, tuple]:
        """Return distinct items and repeated ones; keep the places of the former."""
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
        # Hashes of strings and of functions differ between processes. They are taken
        # when they are needed, since options may not be unpickled yet.
        return {**self.__dict__, "_places": {}, "_places_by_id": {}}

    def index(self, value: Any) -> int:
        """Place of `value` in the list of values; ValueError if it is not there."""
        places = self._known_places()
        value = native(value)
        # Identity first: comparing estimators takes long, and an option that was
        # changed since has another hash.
        place = self._places_by_id.get(id(value))
        if place is None:
            place = places.get(self._key(value))
        if place is None and not isinstance(value, _COMPARED_BY_VALUE):
            # A copy of an option, such as a worker returns.
            copies = (k for k, own in enumerate(self.values) if same(own, value))
            place = next(copies, None)
        if place is None:
            raise self._reject(value)
        return place

    def _known_places(self) -> dict[Any, int]:
        if not self._places:
            self._tabulate(self.values)
        return self._places

    def _key(self, value: Any) -> Any:
        """Return what is equal and hashes alike for the same value."""
        return ItemKey(value)

    def place(self, positions: FloatArray) -> NDArray[np.int_]:
        """Places in the list of values that are nearest to `positions`."""
        return nearest(self._positions, positions)

    def encode(self, values: Sequence[Any]) -> FloatArray:  # noqa: D102
        return self._positions[[self.index(value) for value in values]]

    def decode(self, positions: ArrayLike) -> list[Any]:  # noqa: D102
        places = self.place(np.asarray(positions, dtype=np.float64))
        return [self.values[place] for place in places]

    def snap(self, positions: FloatArray) -> FloatArray:  # noqa: D102
        return self._positions[self.place(positions)]

    def from_uniform(self, uniform: FloatArray) -> FloatArray:
        """Positions of values of which each is equally likely."""
        count = len(self.values)
        places = np.minimum((np.asarray(uniform) * count).astype(int), count - 1)
        return self._positions[places]

    @property
    def grid(self) -> FloatArray:  # noqa: D102
        return self._positions

    def is_disjoint(self, other: _Listed) -> bool:
        """Whether no value belongs to another list, too."""
        by_value = all(isinstance(value, _COMPARED_BY_VALUE) for value in self.values)
        if by_value and type(self) is type(other):
            return self._known_places().keys().isdisjoint(other._known_places())
        return not any(self.contains(value) for value in other.values)

    def _reject(self, value: Any) -> ValueError:
        if len(self.values) <= MAX_SHOWN:
            return super()._reject(value)
        shown = ", ".join(map(repr, self.values[:MAX_SHOWN]))
        kind = f"{type(self).__name__}([{shown}, …])"
        return ValueError(f"{value!r} is not one of {len(self.values)} values, {kind}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.values)!r})"


def _natural_scale(items: Sequence[Any]) -> Literal["linear", "log"]:
    """Scale of ascending numbers: log over a wide span or where gaps are more even."""
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
    """Positions of ascending values, from 0 to 1."""
    if len(items) == 1:
        return np.zeros(1)
    if scale == "rank":
        return np.arange(len(items)) / (len(items) - 1.0)
    scaled = np.array(items, dtype=np.float64)
    if scale == "log":
        scaled = np.log(scaled)
    # Halved, so that not even the range of the widest doubles overflows.
    scaled = scaled / 2.0 - scaled[0] / 2.0
    return scaled / scaled[-1] if scaled[-1] > 0 else scaled


def _check_values(values: Any, kind: str) -> list[Any]:
    # The order of a set changes from one process to the next.
    listed = not isinstance(values, str | bytes | Mapping | Set)
    try:
        items = [native(value) for value in values] if listed else None
    except TypeError:
        items = None
    if items is None:
        raise TypeError(
            f"{kind}: the values must be given as a list, got {values!r} of type "
            f"{type(values).__name__}."
        )
    if not items:
        raise ValueError(f"{kind}: at least one value is needed, got {values!r}.")
    return items


class Ordinal(_Listed):
    """One of a list of values whose order means something.

    Parameters
    ----------
    values : sequence
        The values. Numbers are put into ascending order; others keep the order in
        which they are given. A repeated value counts once.
    scale : {"auto", "linear", "log", "rank"}, default="auto"
        Where the values lie. "linear" and "log" (numbers only) keep their
        distances, "rank" puts them at equal distances. "auto" is "log" for
        positive numbers that span a factor of 100 or more or whose ratios are more
        even than their differences (256, 512, 1024), "linear" for other numbers,
        and "rank" for anything else and for numbers too close to one another to be
        told apart by their distances.

    Raises
    ------
    TypeError
        If `values` is not a list.
    ValueError
        If there are no values, or the scale does not suit them.

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
        try:
            numeric = all(is_number(item) and is_finite(item) for item in items)
        except ValueError as error:
            raise ValueError(f"Ordinal: {error}") from None
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
        told_apart = np.array_equal(
            nearest(self._positions, self._positions), np.arange(len(self.values))
        )
        if not told_apart and scale != "auto":
            raise ValueError(
                f"Ordinal: the values {list(self.values)!r} are too close to one "
                "another to be told apart; scale='rank' puts them at equal distances."
            )
        if not told_apart:
            self.scale = "rank"
            self._positions = _scaled(self.values, self.scale)

    def _key(self, value: Any) -> Any:
        # Numbers of different types may be equal.
        return value if is_number(value) else super()._key(value)

    @property
    def key(self) -> tuple[Any, ...]:  # noqa: D102
        return ("Ordinal", self.scale, tuple(map(OptionKey, self.values)))


class Categorical(_Listed):
    """One of a list of options without an order.

    Parameters
    ----------
    options : sequence
        The options: strings, None, bools, tuples, functions, estimators, and so on. A
        repeated option counts once.

    Raises
    ------
    TypeError
        If `options` is not a list.
    ValueError
        If there are no options.

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
        return ("Categorical", tuple(map(OptionKey, self.values)))


class Progression(Dimension):
    """The whole numbers of a range, at the positions of an `Ordinal` of them.

    No value is listed: it serves for ranges that are long.
    """

    def __init__(self, values: range) -> None:
        # Ascending, as numbers in a list are.
        self.steps = values if values.step > 0 else values[::-1]
        self.n_values = len(self.steps)
        first, last = self.steps[0], self.steps[-1]
        if self.n_values > MAX_STEPS or max(-first, last) > MAX_EXACT:
            raise ValueError(
                f"{values!r} has over 2**44 values or values over 2**53; write it as "
                "a range of floats, (low, high)."
            )
        self._is_log = first > 0 and last >= LOG_SPAN * first
        ends = np.array([first, last], dtype=np.float64)
        # The same steps as in `_scaled`, so that positions are the same.
        start, end = (np.log(ends) if self._is_log else ends) / 2.0
        self._start, self._width = start, end - start

    @property
    def is_log(self) -> bool:  # noqa: D102
        return self._is_log

    def index(self, value: Any) -> int:
        """Place of `value` among the values; ValueError if it is not there."""
        if is_number(value) and is_finite(value) and value == int(value):
            if int(value) in self.steps:
                return self.steps.index(int(value))
        raise self._reject(value)

    def positions(self, places: NDArray[np.int_]) -> FloatArray:  # noqa: D102
        values = self.steps.start + self.steps.step * np.asarray(places, dtype=np.int64)
        scaled = values.astype(np.float64)
        if self._is_log:
            scaled = np.log(scaled)
        return (scaled / 2.0 - self._start) / self._width

    def place(self, positions: FloatArray) -> NDArray[np.int_]:
        """Places of the values that are nearest to `positions`."""
        last = self.n_values - 1
        guess = positions * last
        if self._is_log:
            values = np.exp(2.0 * (positions * self._width + self._start))
            guess = (values - self.steps.start) / self.steps.step
        places = np.clip(np.rint(guess), 0, last).astype(np.int64)
        # Rounding may lead to a neighbor: the middles between positions decide.
        while True:
            here = self.positions(places)
            after = self.positions(np.minimum(places + 1, last))
            before = self.positions(np.maximum(places - 1, 0))
            up = (places < last) & ((here + after) / 2.0 <= positions)
            down = (places > 0) & ((here + before) / 2.0 > positions)
            if not np.any(up | down):
                return places
            places = places + up - down

    def encode(self, values: Sequence[Any]) -> FloatArray:  # noqa: D102
        return self.positions(np.array(list(map(self.index, values)), dtype=np.int64))

    def decode(self, positions: ArrayLike) -> list[int]:  # noqa: D102
        places = self.place(np.asarray(positions, dtype=np.float64))
        return [self.steps[place] for place in places]

    def snap(self, positions: FloatArray) -> FloatArray:  # noqa: D102
        return self.positions(self.place(positions))

    def from_uniform(self, uniform: FloatArray) -> FloatArray:
        """Positions of values of which each is equally likely."""
        places = (np.asarray(uniform) * self.n_values).astype(np.int64)
        return self.positions(np.minimum(places, self.n_values - 1))

    @property
    def grid(self) -> FloatArray:  # noqa: D102
        return self.positions(np.arange(len(self.steps)))

    def __repr__(self) -> str:
        return repr(self.steps)
