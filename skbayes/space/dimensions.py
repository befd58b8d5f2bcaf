"""Dimensions of search spaces: numbers between two bounds, and their base class.

Symbols used throughout the subpackage:

- ``position``: float in [0, 1], the input of the surrogate for a value. Distances of
  positions are meaningful for numbers. For unordered options, only equality is.
- ``uniform``: float in [0, 1) from a random or quasi-random stream. It is mapped to the
  position of a value drawn from the dimension's prior.

Every dimension satisfies ``decode(encode(v)) == v`` exactly for every value that it can
propose. For this purpose, continuous positions are kept on a lattice of ``LATTICE``
steps, which are wide enough to absorb the rounding errors of the transformations. The
value at a position is the number with the fewest digits that is nearer to this position
than to any other.
"""

from __future__ import annotations

import math
import numbers
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
Prior = Literal["uniform", "log-uniform"]

# Positions of continuous dimensions are multiples of 1 / LATTICE. Scores cannot resolve
# a millionth of a range. A double has 53 bits, of which 33 absorb the errors of log,
# exp and division.
LATTICE = 2.0**20

# A value is rounded to any number within this distance of its position. The distance is
# less than half a step, so that the rounded value is encoded as the same position.
HALF_CELL = 0.4 / LATTICE

# The steps of the lattice must be this many times wider than the distance of
# neighboring doubles, so that values can be rounded.
MIN_DOUBLES = 64.0

# An Integer's cells must stay far wider than the rounding error of a position. On a
# log scale the cells of the largest values are the narrowest.
MAX_INTEGERS = {"uniform": 2**48, "log-uniform": 2**44}


def native(value: Any) -> Any:
    """Convert NumPy scalars to the equivalent Python values."""
    if not isinstance(value, np.generic):
        return value
    plain = value.item()
    # Long doubles have no equivalent Python type: `item` returns them unchanged.
    if isinstance(plain, np.longdouble):
        return float(plain)
    return complex(plain) if isinstance(plain, np.clongdouble) else plain


def is_number(value: Any) -> bool:
    """Return whether a value is a real number, but neither a bool nor a duration."""
    # Check for floats and ints first, because the general check takes ten times as
    # long.
    if type(value) in (float, int):
        return True
    others = bool | np.bool_ | np.timedelta64
    return isinstance(value, numbers.Real) and not isinstance(value, others)


def is_finite_number(value: Any) -> bool:
    """Return whether a value is a finite number; ValueError if larger than a float."""
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:
        raise ValueError(
            "a number is larger than the largest float, about 1.8e308."
        ) from None


def on_lattice(position: ArrayLike) -> FloatArray:
    """Return the nearest points of the lattice in [0, 1]."""
    inside = np.minimum(np.maximum(position, 0.0), 1.0)
    return np.asarray(np.rint(inside * LATTICE) / LATTICE, dtype=np.float64)


def shortest(low: float, value: float, high: float) -> float:
    """Round to the fewest significant digits that stay between `low` and `high`."""
    if low <= 0.0 <= high:
        return 0.0
    if not low < high < math.inf:
        return value
    # Rounding to this number of digits also finds any number with fewer digits.
    fewest = math.floor(math.log10(abs(value))) - math.ceil(math.log10(high - low))
    for digits in range(max(1, fewest), 17):
        rounded = float(f"{value:.{digits}g}")
        if low <= rounded <= high:
            return rounded
    return value


def shortest_at(
    values_at: Callable[[FloatArray], FloatArray],
    positions: FloatArray,
    first: float = 0.0,
    last: float = 1.0,
) -> FloatArray:
    """Return the numbers with the fewest digits in the cells of positions (n,)."""
    edges = positions + HALF_CELL * np.array([[-1.0], [0.0], [1.0]])
    cells = values_at(np.clip(edges, first, last)).T.tolist()
    return np.array([shortest(*cell) for cell in cells])


def nearest(grid: FloatArray, positions: FloatArray) -> NDArray[np.int_]:
    """Return the indices of the values of an ascending grid nearest to `positions`."""
    middles = (grid[1:] + grid[:-1]) / 2.0
    return np.searchsorted(middles, positions, side="right")


def key_of(row: FloatArray) -> str:
    """Return a hashable identity of an encoded configuration, shape (D,).

    It is a string because skops cannot store dicts with bytes as keys.
    """
    return np.where(np.isnan(row), -1.0, row + 0.0).tobytes().decode("latin-1")


def keys_of(X: FloatArray) -> list[str]:
    """Return the identities of encoded configurations, shape (n, D)."""
    joined, width = key_of(X), X.itemsize * X.shape[1]
    return [joined[i * width : (i + 1) * width] for i in range(len(X))]


def rows_of(keys: Sequence[str], n_columns: int) -> FloatArray:
    """Return the encoded configurations with these identities, shape (n, D)."""
    X = np.frombuffer("".join(keys).encode("latin-1")).reshape(len(keys), n_columns)
    return np.where(X < 0.0, np.nan, X)


class Dimension(ABC):
    """Base class of the dimensions of a search space.

    A dimension defines the values of one hyper-parameter, and their positions in
    [0, 1].

    Attributes
    ----------
    n_values : int or float
        Number of values, ``math.inf`` for a continuous or unbounded dimension.
    is_categorical : bool
        Whether the values have no order. All different positions then have the same
        distance.
    """

    n_values: float = math.inf
    is_categorical: bool = False

    @abstractmethod
    def encode(self, values: Sequence[Any]) -> FloatArray:
        """Return the positions (n,) of values; ValueError for a value from outside."""

    @abstractmethod
    def decode(self, positions: FloatArray) -> list[Any]:
        """Return the values nearest to positions (n,), as plain Python objects."""

    @abstractmethod
    def snap(self, positions: FloatArray) -> FloatArray:
        """Return the nearest positions (n,) that :meth:`encode` can return."""

    def from_uniform(self, uniform: FloatArray) -> FloatArray:
        """Return the positions (n,) of values drawn from the prior.

        `uniform` are n random or quasi-random numbers in [0, 1).
        """
        return self.snap(uniform)

    @property
    def grid(self) -> FloatArray:
        """Positions of all values of a finite dimension, in ascending order."""
        if math.isinf(self.n_values):
            raise TypeError(f"{self!r} has infinitely many values.")
        return self.positions(np.arange(int(self.n_values)))

    def positions(self, places: NDArray[np.int_]) -> FloatArray:
        """Return the positions (n,) at indices of :attr:`grid`.

        A finite dimension defines this method or the grid.
        """
        return self.grid[places]

    @property
    def key(self) -> tuple[Any, ...]:
        """Hashable identity of the dimension; equal dimensions have equal keys."""
        return (type(self).__name__, repr(self))

    @property
    def is_log(self) -> bool:
        """Whether the values are numbers on a logarithmic scale.

        The value in the middle is then nearer to the geometric mean of the ends than to
        the arithmetic mean.
        """
        ends_and_middle = self.decode(np.array([0.02, 0.5, 0.98]))
        if self.is_categorical or not all(map(is_number, ends_and_middle)):
            return False
        low, middle, high = map(float, ends_and_middle)
        if low <= 0.0 or low == high:
            return False
        return abs(middle - math.sqrt(low * high)) < abs(middle - 0.5 * (low + high))

    def contains(self, value: Any) -> bool:
        """Return whether :meth:`encode` accepts a value."""
        try:
            self.encode([value])
        except ValueError:
            return False
        return True

    def _reject(self, value: Any) -> ValueError:
        return ValueError(f"{value!r} is not a value of {self!r}")


class _Range(Dimension):
    """Numbers between two bounds, uniform on a linear or a logarithmic scale."""

    # Number of items of the tuple, if the range was written as a tuple.
    n_items = 0

    def __init__(self, low: Any, high: Any, prior: Prior) -> None:
        kind = type(self).__name__
        for name, end in (("low", low), ("high", high)):
            if not is_number(end):
                raise TypeError(f"{kind}: {name} must be a number, got {end!r}.")
            if not abs(end) <= sys.float_info.max:
                raise ValueError(
                    f"{kind}: {name} must be finite and at most 1.8e308, got {end!r}."
                )
        if not low < high:
            remedy = (
                f"A single value is written as a list, [{low!r}]."
                if low == high
                else f"Did you mean ({high!r}, {low!r})?"
            )
            raise ValueError(
                f"{kind}: low must be smaller than high, got low={low!r}, "
                f"high={high!r}. {remedy}"
            )
        if prior not in ("uniform", "log-uniform"):
            raise ValueError(
                f"{kind}: prior must be 'uniform' or 'log-uniform', got {prior!r}."
            )
        if prior == "log-uniform" and low <= 0:
            raise ValueError(
                f"{kind}: a log-uniform prior needs low > 0, got low={low!r}, "
                f"high={high!r}. Zero has no logarithm; set low to the smallest value "
                "to try."
            )
        self.low, self.high, self.prior = low, high, prior

    @property
    def is_log(self) -> bool:  # noqa: D102
        return self.prior == "log-uniform"

    def _check_inside(self, values: Sequence[Any]) -> None:
        for value in values:
            if not is_number(value) or not self.low <= value <= self.high:
                raise self._reject(value)

    def __repr__(self) -> str:
        tail = f", {self.prior!r}" if self.is_log else ""
        return f"{type(self).__name__}({self.low!r}, {self.high!r}{tail})"


class Real(_Range):
    """Range of floats between two bounds.

    Parameters
    ----------
    low, high : float
        Bounds, both included. ``low < high``, both finite, and so far apart that
        millions of floats are between them.
    prior : {"uniform", "log-uniform"}, default="uniform"
        Scale on which values are drawn and compared: linear or logarithmic.
        "log-uniform" requires ``low > 0``.

    Examples
    --------
    >>> from skbayes.space import Real
    >>> Real(0.0, 10.0).decode([0.0, 0.25, 1.0])
    [0.0, 2.5, 10.0]
    >>> Real(0.01, 100, "log-uniform").encode([0.01, 1.0, 100])
    array([0. , 0.5, 1. ])
    """

    def __init__(self, low: float, high: float, prior: Prior = "uniform") -> None:
        super().__init__(low, high, prior)
        self.low, self.high = float(low), float(high)
        # Differences of logarithms lose digits in a narrow range far from 0.
        self._narrow = self.high / 2.0 <= self.low
        if not self.is_log:
            self._width = self.high - self.low
        elif self._narrow:
            self._width = math.log1p((self.high - self.low) / self.low)
        else:
            self._width = math.log(self.high) - math.log(self.low)
        if not math.isfinite(self._width):
            raise ValueError(f"Real: the range from {low!r} to {high!r} is too wide.")
        # The largest distance of neighboring doubles, on the scale.
        largest = max(abs(self.low), abs(self.high))
        step = math.ulp(self.low) / self.low if self.is_log else math.ulp(largest)
        if self._width <= MIN_DOUBLES * LATTICE * step:
            raise ValueError(
                f"Real: there are too few floats between {low!r} and {high!r}. Write "
                f"the values as a list, such as [{self.low!r}, {self.high!r}]."
            )

    def encode(self, values: Sequence[Any]) -> FloatArray:  # noqa: D102
        self._check_inside(values)
        numbers_ = np.asarray(values, dtype=np.float64)
        if not self.is_log:
            scaled = numbers_ - self.low
        elif self._narrow:
            scaled = np.log1p((numbers_ - self.low) / self.low)
        else:
            scaled = np.log(numbers_) - math.log(self.low)
        return on_lattice(scaled / self._width)

    def decode(self, positions: ArrayLike) -> list[float]:  # noqa: D102
        lattice = on_lattice(np.asarray(positions, dtype=np.float64))
        values = shortest_at(self._at, lattice)
        # Rounding errors may move values across a bound.
        values = np.where(lattice == 0.0, self.low, values)
        values = np.where(lattice == 1.0, self.high, values)
        return np.clip(values, self.low, self.high).tolist()

    def _at(self, positions: FloatArray) -> FloatArray:
        """Return the numbers at positions with all digits."""
        scaled = positions * self._width
        if not self.is_log:
            return self.low + scaled
        if self._narrow:
            return self.low + self.low * np.expm1(scaled)
        with np.errstate(over="ignore"):  # at the largest float
            return np.exp(math.log(self.low) + scaled)

    def snap(self, positions: FloatArray) -> FloatArray:  # noqa: D102
        return on_lattice(positions)


class Integer(_Range):
    """Range of integers between two bounds.

    Each integer has a cell of [0, 1]. With the uniform prior, all cells have the same
    width. With the log-uniform prior, a cell is ``[value - 1/2, value + 1/2]`` on the
    log scale. An integer is encoded as the position of its value inside the cell.

    Parameters
    ----------
    low, high : int
        Bounds, both included. ``low < high``, and at most 2**48 apart (2**44 with the
        log-uniform prior).
    prior : {"uniform", "log-uniform"}, default="uniform"
        Scale on which values are drawn and compared: linear or logarithmic.
        "log-uniform" requires ``low >= 1``.

    Examples
    --------
    >>> from skbayes.space import Integer
    >>> Integer(1, 4).decode([0.0, 0.3, 1.0])
    [1, 2, 4]
    """

    def __init__(self, low: int, high: int, prior: Prior = "uniform") -> None:
        super().__init__(low, high, prior)
        for name, end in (("low", low), ("high", high)):
            if end != int(end):
                raise TypeError(f"Integer: {name} must be a whole number, got {end!r}.")
        self.low, self.high = int(low), int(high)
        self.n_values = self.high - self.low + 1
        most = MAX_INTEGERS[prior]
        if self.n_values > most:
            raise ValueError(
                f"Integer: at most 2**{most.bit_length() - 1} values with the prior "
                f"{prior!r}, got the range from {low!r} to {high!r}; use Real."
            )
        # Start of the cell of the lowest value. Lengths on the log scale are relative
        # to it, which is exact for narrow ranges far from 0.
        self._start = self.low - 0.5
        count = float(self.n_values)
        self._width = math.log1p(count / self._start) if self.is_log else count

    def encode(self, values: Sequence[Any]) -> FloatArray:  # noqa: D102
        self._check_inside(values)
        for value in values:
            if value != int(value):
                raise self._reject(value)
        return self._position(np.array([int(v) - self.low for v in values], dtype=int))

    def _position(self, offset: NDArray[np.int_]) -> FloatArray:
        scaled: FloatArray = np.asarray(offset + 0.5, dtype=np.float64)
        if self.is_log:
            scaled = np.log1p(scaled / self._start)
        return scaled / self._width

    def _offset(self, positions: FloatArray) -> NDArray[np.int_]:
        scaled = np.clip(positions, 0.0, 1.0) * self._width
        if self.is_log:
            scaled = self._start * np.expm1(scaled)
        return np.clip(np.floor(scaled), 0, self.high - self.low).astype(int)

    def decode(self, positions: ArrayLike) -> list[int]:  # noqa: D102
        offset = self._offset(np.asarray(positions, dtype=np.float64))
        return [self.low + step for step in offset.tolist()]

    def snap(self, positions: FloatArray) -> FloatArray:  # noqa: D102
        return self._position(self._offset(positions))

    def positions(self, places: NDArray[np.int_]) -> FloatArray:  # noqa: D102
        return self._position(np.asarray(places))
