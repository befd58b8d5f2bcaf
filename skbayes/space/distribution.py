"""Frozen scipy distributions as dimensions, for users of RandomizedSearchCV."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skbayes.space.dimensions import (
    LATTICE,
    Dimension,
    FloatArray,
    is_finite_number,
    nearest,
    on_lattice,
    shortest_at,
)
from skbayes.space.lists import option_key

# Probability mass that is cut off at each end. A continuous distribution is cut where
# its support is unbounded. A discrete one is always cut, because the positions of its
# rare values could not be distinguished.
TAIL = 2.0**-20

# Values of a discrete distribution with a lower probability are always left out.
RARE = 2.0**-40

# Maximum number of values of a discrete distribution.
MAX_ATOMS = 2**20

# Half the width of the first window that is searched for values.
FIRST_REACH = 64


class Distribution(Dimension):
    """Dimension of the values of a frozen scipy distribution.

    Positions are values of the cumulative distribution function (cdf), and values are
    its quantiles (ppf). The position of a value of a discrete distribution is the
    middle of its step of the cdf.

    Parameters
    ----------
    distribution : frozen scipy.stats distribution
        Object with ``cdf``, ``ppf`` and ``support``, or with ``pmf`` and ``support`` if
        it is discrete. The values of a continuous distribution are floats. An end that
        is infinite or 0 is cut off where 2**-20 of the probability mass is left; the
        value 0 is accepted, but not proposed. The values of a discrete distribution are
        ints. Rare values are omitted: at each end, values with less than 2**-20 of the
        mass together, and elsewhere values with less than 2**-40. At most 2**20 values
        may remain. A ValueError is raised if the values are not whole numbers, or if
        neighboring floats are 2**-20 of the mass apart.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from skbayes.space import Distribution
    >>> Distribution(norm(5, 2)).decode([0.5])
    [5.0]
    """

    def __init__(self, distribution: Any) -> None:
        self.distribution = distribution
        self._discrete = hasattr(distribution, "pmf")
        try:
            # Densities and quantiles may be infinite.
            with np.errstate(all="ignore"):
                low, high = (float(end) for end in distribution.support())
                if math.isnan(low) or math.isnan(high):
                    raise ValueError(f"{self!r} has no values.")
                self._low, self._high = low, high
                if self._discrete:
                    self._list_atoms()
                else:
                    self._check_quantiles()
        except (OverflowError, RuntimeError) as error:
            raise ValueError(f"{self!r} cannot be evaluated: {error}") from error

    # -- construction -------------------------------------------------------------

    def _check_quantiles(self) -> None:
        self._lowest = TAIL if self._low == -math.inf else 0.0
        # No draw is 0, and many hyper-parameters must be positive.
        self._first = TAIL if self._low == 0.0 else self._lowest
        self._highest = 1.0 - TAIL if self._high == math.inf else 1.0
        if not np.all(np.isfinite(self._quantile([self._lowest, self._highest]))):
            raise ValueError(f"{self!r} has values that are too large for a float.")
        # Doubles that are too coarse are so near an end or everywhere.
        near = 2.0 ** -np.arange(2, math.log2(LATTICE) + 1)
        probes = np.r_[np.linspace(0.0, 1.0, 257), near, 1.0 - near]
        inside = np.clip(probes, self._lowest, self._highest)
        if not np.array_equal(self._position(self._quantile(inside)), inside):
            raise ValueError(
                f"{self!r} has quantiles that floats cannot distinguish; write a "
                "range, (low, high) or (low, high, 'log-uniform')."
            )

    def _list_atoms(self) -> None:
        """Tabulate the values of a discrete distribution and their mass."""
        values, masses = self._find_atoms()
        total = masses.sum()
        up_to = np.cumsum(masses)
        from_on = np.cumsum(masses[::-1])[::-1]
        is_likely = np.minimum(up_to, from_on) >= TAIL * total
        is_likely &= masses >= RARE * total
        self._atoms = values[is_likely]
        ends = np.cumsum(masses[is_likely])
        self._ends = ends / ends[-1]
        self._positions = (self._ends + np.r_[0.0, self._ends[:-1]]) / 2.0
        self.n_values = len(self._atoms)

    def _find_atoms(self) -> tuple[np.ndarray, FloatArray]:
        """Return the whole numbers that have nearly all of the mass, and their masses.

        Quantiles are not used, because they need gigabytes or fail for some
        distributions.
        """
        anchor = self._low if math.isfinite(self._low) else self._high
        if not math.isfinite(anchor):
            anchor = float(self.distribution.ppf(0.5))
        reach = FIRST_REACH
        while anchor.is_integer() and reach <= MAX_ATOMS:
            first = int(max(self._low, anchor - reach))
            last = int(min(self._high, anchor + reach))
            values = np.arange(first, last + 1)
            masses = np.asarray(self.distribution.pmf(values), dtype=np.float64)
            whole = first == self._low and last + 1 > self._high
            if whole or masses.sum() >= 1.0 - TAIL:
                break
            reach *= 2
        else:
            if anchor.is_integer():
                raise ValueError(
                    f"{self!r} has over {MAX_ATOMS} values; write it as (low, high)."
                )
            masses = np.zeros(1)
        if not masses.sum() > 0.999:
            raise ValueError(
                f"{self!r} is discrete, but has values that are not whole numbers."
            )
        return values, masses

    # -- values and positions -----------------------------------------------------

    def encode(self, values: Sequence[Any]) -> FloatArray:  # noqa: D102
        for value in values:
            if not (is_finite_number(value) and self._low <= value <= self._high):
                raise self._reject(value)
        numbers = np.asarray(values, dtype=np.float64)
        if not self._discrete:
            return self._position(numbers)
        places = np.searchsorted(self._atoms, numbers)
        places = np.minimum(places, len(self._atoms) - 1)
        for value, atom in zip(values, self._atoms[places], strict=True):
            if value != atom:
                reason = ", its probability is too low" * (value == int(value))
                raise ValueError(f"{self._reject(value)}{reason}")
        return self._positions[places]

    def decode(self, positions: ArrayLike) -> list[Any]:  # noqa: D102
        positions = np.asarray(positions, dtype=np.float64)
        if self._discrete:
            return self._atoms[nearest(self._positions, positions)].tolist()
        snapped = self._inside(positions)
        values = shortest_at(self._quantile, snapped, self._lowest, self._highest)
        # Quantiles may be less accurate than the lattice.
        stays = self._position(values) == snapped
        values = np.where(stays, values, self._quantile(snapped))
        values = np.where(snapped == 0.0, self._low, values)
        return np.where(snapped == 1.0, self._high, values).tolist()

    def _quantile(self, positions: ArrayLike) -> FloatArray:
        values = np.atleast_1d(self.distribution.ppf(positions))
        return np.clip(values, self._low, self._high)

    def _position(self, values: FloatArray) -> FloatArray:
        return self._inside(self.distribution.cdf(values))

    def _inside(self, positions: ArrayLike) -> FloatArray:
        return np.clip(on_lattice(positions), self._lowest, self._highest)

    def snap(self, positions: FloatArray) -> FloatArray:  # noqa: D102
        if self._discrete:
            return self._positions[nearest(self._positions, positions)]
        return self._inside(np.maximum(positions, self._first))

    def from_uniform(self, uniform: FloatArray) -> FloatArray:
        """Return the positions (n,) of values drawn from the distribution."""
        if not self._discrete:
            return self.snap(uniform)
        places = np.searchsorted(self._ends, uniform, side="right")
        return self._positions[np.minimum(places, len(self._ends) - 1)]

    @property
    def grid(self) -> FloatArray:  # noqa: D102
        return self._positions if self._discrete else super().grid

    @property
    def key(self) -> tuple[Any, ...]:  # noqa: D102
        return (*super().key, option_key(self.distribution))

    def __repr__(self) -> str:
        frozen = self.distribution
        name = getattr(getattr(frozen, "dist", None), "name", type(frozen).__name__)
        args = [repr(arg) for arg in getattr(frozen, "args", ())]
        args += [f"{k}={v!r}" for k, v in sorted(getattr(frozen, "kwds", {}).items())]
        return f"{name}({', '.join(args)})"
