"""What one hyper-parameter may be, and where its values lie on the unit interval.

Symbols used throughout the room:

- ``position``: float in [0, 1], where the surrogate sees a value. For numbers the
  distance of two positions is meaningful; for categories only their identity is.
- ``uniform``: float in [0, 1) from a random or quasi-random stream, to be turned
  into the position of a value that is drawn as the dimension's prior says.

For every dimension ``decode(encode(v)) == v`` holds for every value that it can
propose, exactly: continuous positions are kept on a lattice of ``LATTICE`` steps,
wide enough for the rounding errors of the transformations to vanish in it.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skbayes.space.equality import OptionKey, hash_of, same

__all__ = [
    "Dimension",
    "Real",
    "Integer",
    "Ordinal",
    "Categorical",
    "Choice",
]

FloatArray = NDArray[np.float64]
Prior = Literal["uniform", "log-uniform"]

# Positions of continuous dimensions are multiples of 1 / LATTICE. A double has 53
# bits, so 23 of them are left to absorb the errors of log, exp and division.
LATTICE = 2.0**30

# An Integer's cells must stay far wider than the rounding error of a position. On a
# log scale the cells of the largest values are the narrowest.
MAX_INTEGERS = {"uniform": 2**48, "log-uniform": 2**44}

# A list of positive numbers that spans at least this factor is put on a log scale.
LOG_SPAN = 100.0


def native(value: Any) -> Any:
    """Turn NumPy scalars into the Python value they stand for."""
    return value.item() if isinstance(value, np.generic) else value


def is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def is_finite(value: Any) -> bool:
    """Whether a number is finite; ValueError for an int larger than any float."""
    try:
        return math.isfinite(value)
    except OverflowError:
        raise ValueError(
            "a number is larger than the largest float, about 1.8e308."
        ) from None


def on_lattice(position: ArrayLike) -> FloatArray:
    steps = np.rint(np.clip(position, 0.0, 1.0) * LATTICE)
    return np.asarray(steps / LATTICE, dtype=np.float64)


def _check_range(low: Any, high: Any, prior: Any, kind: str) -> None:
    for name, end in (("low", low), ("high", high)):
        if not is_number(end):
            raise TypeError(f"{kind}: {name} must be a number, got {end!r}.")
        try:
            finite = is_finite(end)
        except ValueError as error:
            raise ValueError(f"{kind}: {name} must be finite; {error}") from None
        if not finite:
            raise ValueError(f"{kind}: {name} must be finite, got {end!r}.")
    if not low < high:
        remedy = (
            f"A single value is written as a list, [{low!r}]."
            if low == high
            else f"Exchange them: ({high!r}, {low!r})."
        )
        raise ValueError(
            f"{kind}: low must be smaller than high, got low={low!r}, high={high!r}. "
            f"{remedy}"
        )
    if prior not in ("uniform", "log-uniform"):
        raise ValueError(
            f"{kind}: prior must be 'uniform' or 'log-uniform', got {prior!r}."
        )
    if prior == "log-uniform" and low <= 0:
        raise ValueError(
            f"{kind}: a log-uniform prior needs low > 0, got low={low!r}, "
            f"high={high!r}. Zero has no logarithm: begin with the smallest number "
            "that makes a difference."
        )


class Dimension(ABC):
    """The values of one hyper-parameter and their positions in [0, 1].

    Attributes
    ----------
    n_values : int or float
        Number of values, ``math.inf`` for a continuous or unbounded dimension.
    is_categorical : bool
        Whether the values have no order, so that all positions are equally far
        from one another.
    """

    n_values: float = math.inf
    is_categorical: bool = False

    @abstractmethod
    def encode(self, values: Sequence[Any]) -> FloatArray:
        """Positions of `values`; ValueError for a value outside the dimension."""

    @abstractmethod
    def decode(self, positions: FloatArray) -> list[Any]:
        """Plain Python values at `positions`."""

    @abstractmethod
    def snap(self, positions: FloatArray) -> FloatArray:
        """Nearest positions that belong to a value."""

    def from_uniform(self, uniform: FloatArray) -> FloatArray:
        """Positions of values drawn from the prior by the stream `uniform`."""
        return self.snap(uniform)

    @property
    def grid(self) -> FloatArray:
        """Positions of all values, ascending; only for a finite dimension."""
        raise TypeError(f"{self!r} has infinitely many values.")

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes two dimensions the same one."""
        return (type(self).__name__, repr(self))

    def contains(self, value: Any) -> bool:
        """Whether `value` is one of the dimension's values."""
        try:
            self.encode([value])
        except ValueError:
            return False
        return True

    def _reject(self, value: Any) -> ValueError:
        return ValueError(f"{value!r} is not a value of {self!r}")


class Real(Dimension):
    """A float between two bounds.

    Parameters
    ----------
    low, high : float
        Bounds, both included. ``low < high``, both finite.
    prior : {"uniform", "log-uniform"}, default="uniform"
        Scale on which values are drawn and compared. "log-uniform" needs
        ``low > 0``.

    Raises
    ------
    TypeError
        If a bound is not a number.
    ValueError
        If the bounds are not finite or not ascending, or the prior is unknown or
        cannot be used with these bounds.

    Examples
    --------
    >>> from skbayes.space import Real
    >>> Real(0.0, 10.0).decode([0.0, 0.25, 1.0])
    [0.0, 2.5, 10.0]
    >>> Real(0.01, 100, "log-uniform").encode([0.01, 1.0, 100])
    array([0. , 0.5, 1. ])
    """

    def __init__(self, low: float, high: float, prior: Prior = "uniform") -> None:
        _check_range(low, high, prior, "Real")
        self.low, self.high, self.prior = float(low), float(high), prior
        if not self.low < self.high:
            raise ValueError(
                f"Real: low and high must differ as floats, got low={low!r}, "
                f"high={high!r}."
            )
        # Differences of logarithms lose the digits of a narrow range far from 0.
        self._narrow = self.high / 2.0 <= self.low
        if prior == "uniform":
            self._width = self.high - self.low
        elif self._narrow:
            self._width = math.log1p((self.high - self.low) / self.low)
        else:
            self._width = math.log(self.high) - math.log(self.low)
        if not math.isfinite(self._width):
            raise ValueError(f"Real: the range from {low!r} to {high!r} is too wide.")

    def encode(self, values: Sequence[Any]) -> FloatArray:  # noqa: D102
        for value in values:
            if not is_number(value) or not self.low <= value <= self.high:
                raise self._reject(value)
        numbers_ = np.asarray(values, dtype=np.float64)
        if self.prior == "uniform":
            scaled = numbers_ - self.low
        elif self._narrow:
            scaled = np.log1p((numbers_ - self.low) / self.low)
        else:
            scaled = np.log(numbers_) - math.log(self.low)
        return on_lattice(scaled / self._width)

    def decode(self, positions: ArrayLike) -> list[float]:  # noqa: D102
        lattice = self.snap(np.asarray(positions, dtype=np.float64))
        scaled = lattice * self._width
        if self.prior == "uniform":
            values = self.low + scaled
        elif self._narrow:
            values = self.low + self.low * np.expm1(scaled)
        else:
            values = np.exp(math.log(self.low) + scaled)
        # The bounds may be missed by a rounding error.
        values = np.where(lattice == 0.0, self.low, values)
        values = np.where(lattice == 1.0, self.high, values)
        return np.clip(values, self.low, self.high).tolist()

    def snap(self, positions: FloatArray) -> FloatArray:  # noqa: D102
        return on_lattice(positions)

    def __repr__(self) -> str:
        tail = "" if self.prior == "uniform" else f", {self.prior!r}"
        return f"Real({self.low!r}, {self.high!r}{tail})"


class Integer(Dimension):
    """An int between two bounds.

    Each integer owns a cell of [0, 1], of equal width under the uniform prior, of
    the width of ``[value - 1/2, value + 1/2]`` on the log scale otherwise. Its
    position is the value's own place within the cell.

    Parameters
    ----------
    low, high : int
        Bounds, both included. ``low < high``.
    prior : {"uniform", "log-uniform"}, default="uniform"
        Scale on which values are drawn and compared. "log-uniform" needs
        ``low >= 1``.

    Raises
    ------
    TypeError
        If a bound is not a whole number.
    ValueError
        If the bounds are not ascending or more than 2**48 apart (2**44 under the
        log-uniform prior), or the prior is unknown or cannot be used with these
        bounds.

    Examples
    --------
    >>> from skbayes.space import Integer
    >>> Integer(1, 4).decode([0.0, 0.3, 1.0])
    [1, 2, 4]
    """

    def __init__(self, low: int, high: int, prior: Prior = "uniform") -> None:
        _check_range(low, high, prior, "Integer")
        for name, end in (("low", low), ("high", high)):
            if end != int(end):
                raise TypeError(f"Integer: {name} must be a whole number, got {end!r}.")
        self.low, self.high, self.prior = int(low), int(high), prior
        self.n_values = self.high - self.low + 1
        most = MAX_INTEGERS[prior]
        if self.n_values > most:
            raise ValueError(
                f"Integer: at most 2**{most.bit_length() - 1} values with the prior "
                f"{prior!r}, got the range from {low!r} to {high!r}; use Real."
            )
        # The cell of the lowest value begins here; lengths on the log scale are
        # taken relative to it, which stays exact for narrow ranges far from 0.
        self._start = self.low - 0.5
        log = prior == "log-uniform"
        count = float(self.n_values)
        self._width = math.log1p(count / self._start) if log else count

    def encode(self, values: Sequence[Any]) -> FloatArray:  # noqa: D102
        for value in values:
            if not is_number(value) or not self.low <= value <= self.high:
                raise self._reject(value)
            if value != int(value):
                raise self._reject(value)
        return self._position(np.array([int(v) - self.low for v in values], dtype=int))

    def _position(self, offset: NDArray[np.int_]) -> FloatArray:
        scaled: FloatArray = np.asarray(offset + 0.5, dtype=np.float64)
        if self.prior == "log-uniform":
            scaled = np.log1p(scaled / self._start)
        return scaled / self._width

    def _offset(self, positions: FloatArray) -> NDArray[np.int_]:
        scaled = np.clip(positions, 0.0, 1.0) * self._width
        if self.prior == "log-uniform":
            scaled = self._start * np.expm1(scaled)
        return np.clip(np.floor(scaled), 0, self.high - self.low).astype(int)

    def decode(self, positions: ArrayLike) -> list[int]:  # noqa: D102
        offset = self._offset(np.asarray(positions, dtype=np.float64))
        return [self.low + step for step in offset.tolist()]

    def snap(self, positions: FloatArray) -> FloatArray:  # noqa: D102
        return self._position(self._offset(positions))

    @property
    def grid(self) -> FloatArray:  # noqa: D102
        return self._position(np.arange(int(self.n_values)))

    def __repr__(self) -> str:
        tail = "" if self.prior == "uniform" else f", {self.prior!r}"
        return f"Integer({self.low}, {self.high}{tail})"


def nearest(own: FloatArray, positions: FloatArray) -> NDArray[np.int_]:
    """Places among the ascending positions `own` that are nearest to `positions`."""
    middles = (own[1:] + own[:-1]) / 2.0
    return np.searchsorted(middles, positions, side="right")


class _Listed(Dimension):
    """A dimension given by the list of its values, each of which counts once.

    `repeated` holds the items of the list that were dropped: they equal an item before
    them.
    """

    _positions: FloatArray

    def __init__(self, items: Sequence[Any]) -> None:
        self._buckets, repeated = self._sort_into_buckets(items)
        kept = sorted(place for bucket in self._buckets.values() for place in bucket)
        self.values = tuple(items[place] for place in kept)
        self.repeated = tuple(items[place] for place in repeated)
        self.n_values = len(self.values)
        if repeated:
            self._buckets, _ = self._sort_into_buckets(self.values)

    def _sort_into_buckets(
        self, items: Sequence[Any]
    ) -> tuple[dict[int, list[int]], list[int]]:
        """Return the places of distinct items by their hashes, and those of repeats."""
        buckets: dict[int, list[int]] = {}
        repeated = []
        for place, item in enumerate(items):
            bucket = buckets.setdefault(self._hash(item), [])
            if any(self._equal(item, items[other]) for other in bucket):
                repeated.append(place)
            else:
                bucket.append(place)
        return buckets, repeated

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_buckets"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Hashes of strings and of functions are others in each process. They are
        # taken when they are needed: what the options hold may not be there yet.
        self.__dict__.update(state)
        self._buckets = {}

    def index(self, value: Any) -> int:
        """Place of `value` in the list of values; ValueError if it is not there."""
        if not self._buckets:
            self._buckets, _ = self._sort_into_buckets(self.values)
        value = native(value)
        bucket = self._buckets.get(self._hash(value), [])
        # Identity first: comparing estimators takes long.
        for place in bucket:
            if self.values[place] is value:
                return place
        for place in bucket:
            if self._equal(self.values[place], value):
                return place
        # A list that was changed since is in the bucket of what it was.
        for place, own in enumerate(self.values):
            if own is value:
                return place
        raise self._reject(value)

    def _equal(self, own: Any, value: Any) -> bool:
        return same(own, value)

    def _hash(self, value: Any) -> int:
        return hash_of(value)

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

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.values)!r})"


def _natural_scale(items: list[Any]) -> Literal["linear", "log"]:
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


def _scaled(items: list[Any], scale: str) -> FloatArray:
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


def _is_iterable(values: Any) -> bool:
    try:
        iter(values)
    except TypeError:
        return False
    return True


def _check_values(values: Any, kind: str) -> list[Any]:
    # The order of a set changes from one process to the next.
    if isinstance(values, str | bytes | Mapping | Set) or not _is_iterable(values):
        raise TypeError(
            f"{kind}: the values must be given as a list, got {values!r} of type "
            f"{type(values).__name__}."
        )
    items = [native(value) for value in values]
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
        items = list(self.values)
        chosen = scale
        if chosen == "auto":
            chosen = _natural_scale(items) if numeric else "rank"
        self._positions = _scaled(items, chosen)
        told_apart = np.array_equal(
            nearest(self._positions, self._positions), np.arange(len(items))
        )
        if not told_apart and scale != "auto":
            raise ValueError(
                f"Ordinal: the values {items!r} are too close to one another to be "
                "told apart; scale='rank' puts them at equal distances."
            )
        if not told_apart:
            chosen = "rank"
            self._positions = _scaled(items, chosen)
        self.scale = chosen

    def _equal(self, own: Any, value: Any) -> bool:
        if is_number(own) and is_number(value):
            return bool(own == value)
        return super()._equal(own, value)

    def _hash(self, value: Any) -> int:
        # Python's own hash of a number is that of its equals of other types.
        return hash(value) if is_number(value) else super()._hash(value)

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


class Choice:
    """A categorical hyper-parameter whose options open parameters of their own.

    Parameters
    ----------
    options : dict or list of (option, sub-space) pairs
        For each option the search space of the parameters that exist only under
        it, in any notation, with their full names; ``{}`` or None for none. Pairs
        serve for options that cannot be keys of a dict.

    Raises
    ------
    TypeError
        If `options` is neither a dict nor a list of pairs.
    ValueError
        If there are no options, or one occurs twice.

    Examples
    --------
    >>> from skbayes.space import Choice, Space
    >>> kernel = Choice({"rbf": {"gamma": (1e-3, 1e3, "log-uniform")}, "linear": {}})
    >>> space = Space.from_notation({"kernel": kernel, "C": [1, 10]})
    >>> {"C": 1, "kernel": "linear"} in space
    True
    >>> {"C": 1, "kernel": "linear", "gamma": 1.0} in space
    False
    """

    def __init__(self, options: Mapping[Any, Any] | Sequence[tuple[Any, Any]]) -> None:
        self.options = options
        pairs = list(options.items()) if isinstance(options, Mapping) else options
        if not isinstance(pairs, Sequence) or isinstance(pairs, str):
            raise TypeError(
                f"Choice: options must be a dict or a list of pairs, got {options!r}."
            )
        for pair in pairs:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise TypeError(
                    f"Choice: each option must be a pair (option, sub-space), "
                    f"got {pair!r}."
                )
        self.dimension = Categorical([option for option, _ in pairs])
        if self.dimension.repeated:
            # Which of its sub-spaces is meant is not clear.
            raise ValueError(
                f"Choice: the option {self.dimension.repeated[0]!r} occurs twice."
            )
        self.sub_spaces = [{} if sub is None else sub for _, sub in pairs]

    def __repr__(self) -> str:
        return f"Choice({self.options!r})"
