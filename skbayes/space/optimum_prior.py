"""Prior density of the best configuration of a space.

Symbols (n configurations, D columns):

- ``X``: (n, D) encoded configurations, NaN where inactive.
- log density of a column: log density of the position of the best value, relative to
  the distribution from which the dimension's values are drawn. It is 0 everywhere if
  nothing is known. The mean of its exponential over random values is 1.
- conditions: index of the required option of some columns; None requires that the
  column is inactive.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skbayes.space.dimensions import Dimension, FloatArray, nearest
from skbayes.space.portfolio import BranchPortfolio, Portfolio

if TYPE_CHECKING:
    from skbayes.space.space import Space
    from skbayes.space.trees import Column

# Minimum number of quantiles of a dimension, used to normalize its density and to draw
# from it.
N_QUANTILES = 1024

# Required options of columns, by index; None requires that the column is inactive.
Path = dict[int, int | None]

Density = Sequence[ArrayLike] | ArrayLike
Conditions = Mapping[int, int | None]
Paths = Mapping[int, list[Path]]


def paths(tree: list[tuple[int, list]]) -> dict[int, list[Path]]:
    """Return the paths to each column of an outline: the options that activate it."""
    found: dict[int, list[Path]] = {}

    def walk(outlined: list[tuple[int, list]], path: Path) -> None:
        for place, options in outlined:
            found.setdefault(place, []).append(path)
            for option, opened in enumerate(options):
                walk(opened, {**path, place: option})

    walk(tree, {})
    return found


def compatible(
    places: Mapping[int, list[Path]], place: int, conditions: Mapping[int, int | None]
) -> list[Path]:
    """Return the paths to a column that satisfy conditions, with the conditions."""
    found = places[place]
    for other, option in conditions.items():
        joined: list[Path] = []
        for path in found:
            if option is None:
                active = any(
                    other_path.items() <= path.items() for other_path in places[other]
                )
                joined += [] if active else [{**path, other: None}]
            elif path.get(other, option) == option:
                joined += [
                    {**other_path, **path, other: option}
                    for other_path in places[other]
                    if all(path.get(k, v) == v for k, v in other_path.items())
                ]
        found = joined
    return found


class OptimumPrior:
    """Prior density of the best configuration of a search space.

    Columns are independent. The density of a conditional parameter is conditional on
    the parameter being active.

    A choice without a density expresses no preference among its branches, but the
    density has a peak in each branch with conditional densities. For the acquisition
    function, the log density is therefore centered in each branch: its expectation
    under the prior, the Kullback-Leibler divergence of the prior from random values, is
    subtracted. If the best configuration of a branch is drawn from the prior, the
    expected value there is then 0, as in a branch without densities. The branches of a
    choice with a density are not centered, because it is a preference.

    Parameters
    ----------
    space : Space
        The search space.
    densities : dict
        Log densities of the best value of parameters, by name. Each is one of:

        - A pair ``(knots, log_density)`` of two arrays of the same length, with
          ascending positions in [0, 1] and the natural logarithms of the density there.
          The logarithm is interpolated linearly between knots, and constant beyond
          them.
        - An array with one logarithm for each value of a finite dimension, in the order
          of its ``grid``. For a list without an order, this is the order of the
          options.

        The densities need not be normalized. A name applies to all columns of this
        name. An int is the index of a column; it applies to this column only, and takes
        precedence over a name. Parameters that are not named have a flat density.
    portfolio : Portfolio or None, default=None
        Configurations that an optimizer proposes first.
    conditional : sequence of (conditions, densities), default=()
        Further densities that apply only to some configurations. `conditions` is a dict
        from indices of columns to the index of the required option, or to None if the
        column must be inactive. Two densities of a column must not apply to the same
        configuration.

    Examples
    --------
    >>> from skbayes.space import OptimumPrior, Space
    >>> space = Space.from_notation({"x": (0.0, 1.0), "kind": ["a", "b"]})
    >>> prior = OptimumPrior(space, {"x": ([0, 1], [0.0, -2.0]), "kind": [1.0, 0.0]})
    >>> X = space.encode([{"x": 0.0, "kind": "a"}, {"x": 1.0, "kind": "a"}])
    >>> prior.log_density(X).round(2)
    array([ 1.22, -0.78])
    """

    def __init__(
        self,
        space: Space,
        densities: Mapping[Any, Density],
        portfolio: Portfolio | BranchPortfolio | None = None,
        conditional: Sequence[tuple[Conditions, Mapping[Any, Density]]] = (),
    ) -> None:
        self.space, self.portfolio = space, portfolio
        places = paths(space.tree)
        self._terms: list[_Term] = []
        for conditions, named in (({}, densities), *conditional):
            self._terms += _terms(space, places, named, conditions)
        # Columns that others are conditional on come first.
        _check_disjoint(places, self._terms)
        self._terms.sort(key=lambda term: (bool(term.conditions), term.place))
        self._centers = _centers(places, self._terms)

    def log_density(self, X: FloatArray) -> FloatArray:
        """Compute the log density (n,) of encoded configurations (n, D).

        It is a sum over the active columns, 0 for those with a flat density. Further
        columns of `X` are ignored.
        """
        X = np.asarray(X, dtype=np.float64)
        total = np.zeros(len(X))
        for term in self._terms:
            active = term.applies(self.space, X)
            total[active] += term.density.values(X[active, term.place])
        return total

    def centered_log_density(self, X: FloatArray) -> FloatArray:
        """Compute the log density relative to its expectation in each branch.

        The branches are those of choices without a density. The gradient is that of the
        log density.
        """
        X = np.asarray(X, dtype=np.float64)
        total = self.log_density(X)
        for conditions, expectation in self._centers:
            total[_satisfies(self.space, X, conditions)] -= expectation
        return total

    def gradient(self, X: FloatArray) -> FloatArray:
        """Compute the derivatives (n, D) of the log density.

        They are 0 in unordered columns. At a knot, the derivative is that on the side
        of greater positions.
        """
        X = np.asarray(X, dtype=np.float64)
        result = np.zeros(X.shape)
        for term in self._terms:
            active = term.applies(self.space, X)
            result[active, term.place] += term.density.slopes(X[active, term.place])
        return result

    def sample(self, n: int, random_state: np.random.Generator) -> FloatArray:
        """Draw n encoded configurations; the constraint is not checked."""
        return self.from_uniform(random_state.random((n, self.space.n_columns)))

    def from_uniform(self, U: FloatArray) -> FloatArray:
        """Map numbers (n, D) in [0, 1) to configurations drawn from the density."""
        U = np.array(U, dtype=np.float64)
        required = {place for term in self._terms for place in term.conditions}
        X = None
        for term in self._terms:
            rows: Any = slice(None)
            if term.conditions:
                X = self.space.from_uniform(U) if X is None else X
                rows = _satisfies(self.space, X, term.conditions)
            U[rows, term.place] = term.density.quantiles(U[rows, term.place])
            # A new option may satisfy or violate the conditions of later terms.
            X = None if term.place in required else X
        return self.space.from_uniform(U)

    @property
    def center(self) -> FloatArray:
        """Encoded configuration of the medians and the most probable options, (D,).

        Columns with a flat density have their middle or their first option.
        """
        row = np.where(self.space.categorical, 0.0, 0.5)
        for term in self._terms:
            snapped = self.space.snap(row[None, :])
            if _satisfies(self.space, snapped, term.conditions)[0]:
                row[term.place] = term.density.center
        return self.space.snap(row[None, :])[0]

    def on(self, space: Space) -> OptimumPrior:
        """Return this prior for a space that starts with the same columns.

        Further columns have flat densities. ValueError if other columns differ.
        """
        known, given = (
            [(column.name, column.dimension.key) for column in other.columns]
            for other in (self.space, space)
        )
        if given[: len(known)] != known:
            raise ValueError(
                f"the prior is for {self.space!r}, which is not the search space, "
                f"{space!r}."
            )
        moved = copy.copy(self)
        moved.space = space
        if len(given) > len(known):
            moved.portfolio = None  # its points have no values for further columns
        return moved

    def densities_only(self) -> OptimumPrior:
        """Return this prior without its portfolio."""
        other = copy.copy(self)
        other.portfolio = None
        return other

    @property
    def is_flat(self) -> bool:
        """Whether all configurations have the same density."""
        return all(np.ptp(term.density.logs) == 0.0 for term in self._terms)

    def __repr__(self) -> str:
        columns = self.space.columns
        named = sorted({str(columns[term.place].name) for term in self._terms})
        return f"OptimumPrior({', '.join(named)})"


@dataclass(frozen=True)
class _Term:
    """Density of a column for the configurations that satisfy conditions."""

    place: int
    name: str | None
    density: _ColumnDensity
    conditions: Conditions

    def applies(self, space: Space, X: FloatArray) -> np.ndarray:
        """Return the mask of the rows to which the density applies."""
        active = ~np.isnan(X[:, self.place])
        return active & _satisfies(space, X, self.conditions)


def _terms(
    space: Space,
    places: Paths,
    densities: Mapping[Any, Density],
    conditions: Conditions,
) -> list[_Term]:
    """Return the terms of densities that can apply to a configuration."""
    if not isinstance(densities, Mapping):
        raise TypeError(f"densities must be a dict, got {densities!r}.")
    for key in densities:
        if key not in space.parameter_names and key not in range(space.n_columns):
            raise ValueError(
                f"densities: {key!r} is not a parameter of the space; its parameters "
                f"are {space.parameter_names}."
            )
    found = []
    for place, column in enumerate(space.columns):
        density = densities.get(place, densities.get(column.name))
        if density is not None and compatible(places, place, conditions):
            column_density = _ColumnDensity(column, density)
            found.append(_Term(place, column.name, column_density, conditions))
    return found


def _check_disjoint(places: Paths, terms: Sequence[_Term]) -> None:
    """Raise ValueError if two densities of a column apply to the same configuration."""
    for first, second in itertools.combinations(terms, 2):
        merged = {**first.conditions, **second.conditions}
        if (
            first.place == second.place
            and all(merged[k] == option for k, option in first.conditions.items())
            and compatible(places, first.place, merged)
        ):
            raise ValueError(
                f"conditional: two densities of {first.name!r} apply to the same "
                "configurations, and their product is not normalized. Pass "
                "densities with conditions that exclude each other."
            )


def _centers(places: Paths, terms: Sequence[_Term]) -> list[tuple[Conditions, float]]:
    """Return the expectation of the log density in each branch, under the prior.

    Options of choices without a density are the conditions of a branch. The expectation
    of a term is weighted with the probability of the options of other choices that it
    requires.
    """
    by_place: dict[int, list[_Term]] = {}
    for term in terms:
        by_place.setdefault(term.place, []).append(term)
    sums: dict[tuple[tuple[int, int | None], ...], float] = {}
    for term in terms:
        for path in compatible(places, term.place, term.conditions):
            expectation, branch = term.density.expectation, []
            for place, option in sorted(path.items()):
                stated = [
                    other.density
                    for other in by_place.get(place, ())
                    if other.conditions.items() <= path.items()
                ]
                if stated and option is not None:
                    expectation *= stated[0].shares[option]
                else:
                    branch.append((place, option))
            if branch:
                key = tuple(branch)
                sums[key] = sums.get(key, 0.0) + expectation
    return [(dict(key), total) for key, total in sums.items() if total != 0.0]


def _satisfies(space: Space, X: FloatArray, conditions: Conditions) -> np.ndarray:
    """Return the mask of the rows that satisfy conditions."""
    mask = np.ones(len(X), dtype=bool)
    for place, option in conditions.items():
        inactive = np.isnan(X[:, place])
        if option is None:
            mask &= inactive
        else:
            dimension: Any = space.columns[place].dimension
            chosen = dimension.place(np.where(inactive, 0.0, X[:, place]))
            mask &= ~inactive & (chosen == option)
    return mask


class _ColumnDensity:
    """Normalized log density of one column: linear between knots, or a table."""

    def __init__(self, column: Column, density: Any) -> None:
        dimension = column.dimension
        self.is_table = dimension.is_categorical
        try:
            self.knots, logs = _parsed(dimension, density)
        except (TypeError, ValueError) as error:
            raise ValueError(f"densities[{column.name!r}]: {error}") from error
        self.logs = logs - np.max(logs)  # so that the exponentials do not overflow
        n = N_QUANTILES
        if self.is_table:
            n = len(self.knots) * -(-n // len(self.knots))
        positions = dimension.from_uniform((np.arange(n) + 0.5) / n)
        masses = np.exp(self.values(positions))
        self.logs = self.logs - np.log(np.mean(masses))
        shares = masses / np.sum(masses)
        self._cumulated = np.concatenate([[0.0], np.cumsum(masses) / np.sum(masses)])
        # Expectation of the log density, and probabilities of the options of a table.
        self.expectation = float(shares @ self.values(positions))
        self.shares = np.exp(self.logs) / np.sum(np.exp(self.logs))
        place = int(np.searchsorted(self._cumulated, 0.5)) - 1
        if self.is_table:
            place = int(np.argmax(masses))
        self.center = float(positions[place])

    def values(self, x: FloatArray) -> FloatArray:
        """Return the log densities at positions."""
        if self.is_table:
            return self.logs[nearest(self.knots, x)]
        return np.interp(x, self.knots, self.logs)

    def slopes(self, x: FloatArray) -> FloatArray:
        """Return the slopes of the log density at positions."""
        if self.is_table or len(self.knots) == 1:
            return np.zeros(len(x))
        inner = np.diff(self.logs) / np.diff(self.knots)
        slopes = np.concatenate([[0.0], inner, [0.0]])
        return slopes[np.searchsorted(self.knots, x, side="right")]

    def quantiles(self, u: FloatArray) -> FloatArray:
        """Map a uniform stream to one that draws values from the density."""
        n = len(self._cumulated) - 1
        found = np.interp(u, self._cumulated, np.arange(n + 1) / n)
        return np.minimum(found, np.nextafter(1.0, 0.0))


def _parsed(dimension: Dimension, density: Any) -> tuple[FloatArray, FloatArray]:
    """Return ascending positions, and the log densities there."""
    if len(density) == 2 and np.ndim(density[0]) == 1:
        knots, logs = (np.asarray(part, dtype=np.float64) for part in density)
        if dimension.is_categorical:
            raise ValueError(
                "a list without an order has no positions. Pass an array with one log "
                "density for each option."
            )
    else:
        logs = np.asarray(density, dtype=np.float64)
        if logs.shape != (dimension.n_values,):
            raise ValueError(
                "it must be a pair (knots, log_density) or an array with one log "
                f"density for each of {dimension.n_values} values, got shape "
                f"{logs.shape}."
            )
        knots = dimension.grid
    if knots.ndim != 1 or knots.shape != logs.shape or not len(knots):
        raise ValueError(
            "knots and log_density must be arrays of the same length >= 1, got shapes "
            f"{knots.shape} and {logs.shape}."
        )
    if not (np.all(np.diff(knots) > 0.0) and knots[0] >= 0.0 and knots[-1] <= 1.0):
        raise ValueError("knots must be in [0, 1] and ascending.")
    if not np.all(np.isfinite(logs)):
        raise ValueError("log_density must be finite.")
    return knots, logs
