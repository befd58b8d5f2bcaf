"""Prior knowledge of the best configuration: densities and first configurations.

Symbols (n configurations, D columns):

- ``X``: (n, D) encoded configurations, NaN where inactive.
- log density of a column: log density of the position of the best value, relative to
  the distribution from which the dimension's values are drawn. It is 0 everywhere if
  nothing is known. The mean of its exponential over random values is 1.
- path: index of the required option of some columns.
- portfolio: m configurations that were good on t other data sets.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skbayes.space.dimensions import Dimension, FloatArray, key_of, nearest
from skbayes.space.lists import option_key

if TYPE_CHECKING:
    from skbayes.space.branches import Column
    from skbayes.space.space import Space

# The logarithm of a data set's weight is the product of this factor, the agreement of
# its ranking with the ranking of the scores, and the square root of the number of
# scores - 1.
AGREEMENT_WEIGHT = 4.0

# Regrets with at least this difference count as fully different.
CLEAR_DIFFERENCE = 0.1

# Minimum number of quantiles of a dimension, used to normalize its density and to draw
# from it.
N_QUANTILES = 1024

# Required options of columns, by index.
Path = dict[int, int]

Density = Sequence[ArrayLike] | ArrayLike


def paths(tree: list[tuple[int, list]]) -> dict[int, list[Path]]:
    """Return the paths to each column of an outline: the options that activate it."""
    paths_to: dict[int, list[Path]] = {}

    def walk(outlined: list[tuple[int, list]], path: Path) -> None:
        for place, options in outlined:
            paths_to.setdefault(place, []).append(path)
            for option, opened in enumerate(options):
                walk(opened, {**path, place: option})

    walk(tree, {})
    return paths_to


class Portfolio:
    """Configurations and their regrets on other data sets.

    The next configuration is the one that reduces the mean regret of the best
    configuration so far the most. The weight of a data set in the mean increases if its
    ranking of the configurations agrees with the observed scores. The normalized
    `regrets` (t, m) are 0 for the best known configuration and 1 for a median one. A
    search starts with `n_first` of the configurations.
    """

    def __init__(
        self,
        space: Space,
        points: Sequence[Mapping[str, Any]],
        regrets: ArrayLike,
        n_first: int,
    ) -> None:
        self.rows = space.encode(points)
        self.regrets = np.asarray(regrets, dtype=np.float64)
        self.n_first = n_first
        self._places = {key_of(row): place for place, row in enumerate(self.rows)}

    def choose(
        self, X: FloatArray, scores: FloatArray, available: Sequence[int]
    ) -> int | None:
        """Return the index of the next configuration of the `available` ones, or None.

        `scores` (n,) of the known configurations `X` are -inf for failures and NaN for
        pending ones.
        """
        if not len(available):
            return None
        places = np.array([self._places.get(key_of(row), -1) for row in X], dtype=int)
        scored = (places >= 0) & ~np.isnan(scores)
        weights = self._weights(places[scored], scores[scored])
        tried = self.regrets[:, places[places >= 0]]
        so_far = tried.min(axis=1, keepdims=True, initial=np.inf)
        means = weights @ np.minimum(so_far, self.regrets[:, available])
        return int(available[int(np.argmin(means))])

    def _weights(self, places: np.ndarray, scores: FloatArray) -> FloatArray:
        """Return the weights (t,) of the data sets by agreement with known scores."""
        n = len(places)
        if n < 2:
            return np.full(len(self.regrets), 1.0 / len(self.regrets))
        scores = np.nan_to_num(scores, neginf=-1e300)
        better = np.sign(scores[:, None] - scores[None, :])
        regrets = self.regrets[:, places]
        worse = (regrets[:, None, :] - regrets[:, :, None]) / CLEAR_DIFFERENCE
        agreement = np.sum(np.clip(worse, -1.0, 1.0) * better, axis=(1, 2))
        agreement /= n * (n - 1)
        logs = AGREEMENT_WEIGHT * np.sqrt(n - 1) * agreement
        weights = np.exp(logs - logs.max())
        return weights / weights.sum()


class ModelStarts:
    """First configuration of each model of a choice.

    `points` are triples: the parameter that is a choice among models, the model, and a
    configuration. The next configuration is the first one whose model has no trial in
    this search or an earlier search on the same data. A search starts with at least
    `n_first` configurations.
    """

    def __init__(
        self,
        space: Space,
        points: Sequence[tuple[str, Any, Mapping[str, Any]]],
        n_first: int,
    ) -> None:
        self._space = space
        self._models = [(name, option_key(model)) for name, model, _ in points]
        self.rows = space.encode([params for *_, params in points])
        self.n_first = max(n_first, len(points))

    def choose(
        self, X: FloatArray, scores: FloatArray, available: Sequence[int]
    ) -> int | None:
        """Return the index of the next configuration, as :meth:`Portfolio.choose`."""
        tried = set()
        for name in {name for name, _ in self._models}:
            unnamed = np.ones(len(X), dtype=bool)
            for place, column in enumerate(self._space.columns):
                if column.name == name:
                    active = ~np.isnan(X[:, place])
                    models = column.dimension.decode(np.unique(X[active, place]))
                    tried |= {(name, option_key(model)) for model in models}
                    unnamed &= ~active
            if unnamed.any():
                tried.add((name, option_key(None)))
        return next((k for k in available if self._models[k] not in tried), None)


class OptimumPrior:
    """Prior density of the best configuration of a search space.

    Columns are independent. The density of a conditional parameter is conditional on
    the parameter being active.

    A choice without a density expresses no preference among its branches, but the
    density has a peak in each branch whose parameters have densities. For the
    acquisition function, the log density is therefore centered in each branch: its
    expectation under the prior, the Kullback-Leibler divergence of the prior from
    random values, is subtracted. If the best configuration of a branch is drawn from
    the prior, the expected value there is then 0, as in a branch without densities. The
    branches of a choice with a density are not centered, because it is a preference.

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
        portfolio: Portfolio | ModelStarts | None = None,
    ) -> None:
        self.space, self.portfolio = space, portfolio
        self._densities = _column_densities(space, densities)
        self._centers = _centers(paths(space.tree), self._densities)

    def __getstate__(self) -> dict[str, Any]:
        """Return a state of built-in types and spaces, for skops."""
        states = {place: vars(one) for place, one in self._densities.items()}
        return {**vars(self), "_densities": states}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._densities = {}
        for place, density in state["_densities"].items():
            self._densities[place] = _ColumnDensity.__new__(_ColumnDensity)
            vars(self._densities[place]).update(density)

    def log_density(self, X: FloatArray) -> FloatArray:
        """Compute the log density (n,) of encoded configurations (n, D).

        It is a sum over the active columns, 0 for those with a flat density. Further
        columns of `X` are ignored.
        """
        X = np.asarray(X, dtype=np.float64)
        total = np.zeros(len(X))
        for place, density in self._densities.items():
            active = ~np.isnan(X[:, place])
            total[active] += density.values(X[active, place])
        return total

    def centered_log_density(self, X: FloatArray) -> FloatArray:
        """Compute the log density relative to its expectation in each branch.

        The branches are options of choices without a density. The gradient is the
        gradient of the log density.
        """
        X = np.asarray(X, dtype=np.float64)
        total = self.log_density(X)
        for path, expectation in self._centers:
            mask = np.ones(len(X), dtype=bool)
            for place, option in path.items():
                inactive = np.isnan(X[:, place])
                dimension: Any = self.space.columns[place].dimension
                chosen = dimension.place(np.where(inactive, 0.0, X[:, place]))
                mask &= ~inactive & (chosen == option)
            total[mask] -= expectation
        return total

    def gradient(self, X: FloatArray) -> FloatArray:
        """Compute the derivatives (n, D) of the log density.

        They are 0 in unordered columns. At a knot, the derivative is taken on the side
        of greater positions.
        """
        X = np.asarray(X, dtype=np.float64)
        result = np.zeros(X.shape)
        for place, density in self._densities.items():
            active = ~np.isnan(X[:, place])
            result[active, place] = density.slopes(X[active, place])
        return result

    def sample(self, n: int, random_state: np.random.Generator) -> FloatArray:
        """Draw n encoded configurations; the constraint is not checked."""
        return self.from_uniform(random_state.random((n, self.space.n_columns)))

    def from_uniform(self, U: FloatArray) -> FloatArray:
        """Map numbers (n, D) in [0, 1) to configurations drawn from the density."""
        U = np.array(U, dtype=np.float64)
        for place, density in self._densities.items():
            U[:, place] = density.quantiles(U[:, place])
        return self.space.from_uniform(U)

    @property
    def center(self) -> FloatArray:
        """Encoded configuration of the medians and the most probable options, (D,).

        Columns with a flat density have their middle or their first option.
        """
        row = np.where(self.space.categorical, 0.0, 0.5)
        for place, density in self._densities.items():
            row[place] = density.center
        return self.space.snap(row[None, :])[0]

    def for_space(self, space: Space) -> OptimumPrior:
        """Return this prior for a space that starts with the same columns.

        Further columns have flat densities. ValueError if other columns differ.
        """
        columns, new_columns = (
            [(column.name, column.dimension.key) for column in other.columns]
            for other in (self.space, space)
        )
        if new_columns[: len(columns)] != columns:
            raise ValueError(
                f"the prior is for {self.space!r}, which is not the search space, "
                f"{space!r}."
            )
        prior = copy.copy(self)
        prior.space = space
        if len(new_columns) > len(columns):
            prior.portfolio = None  # its points have no values for further columns
        return prior

    def densities_only(self) -> OptimumPrior:
        """Return this prior without its portfolio."""
        prior = copy.copy(self)
        prior.portfolio = None
        return prior

    @property
    def is_flat(self) -> bool:
        """Whether all configurations have the same density."""
        return all(np.ptp(density.logs) == 0.0 for density in self._densities.values())

    def __repr__(self) -> str:
        named = sorted({str(self.space.columns[k].name) for k in self._densities})
        return f"OptimumPrior({', '.join(named)})"


def _column_densities(
    space: Space, densities: Mapping[Any, Density]
) -> dict[int, _ColumnDensity]:
    """Return the densities of the columns that have one, by index."""
    if not isinstance(densities, Mapping):
        raise TypeError(f"densities must be a dict, got {densities!r}.")
    for key in densities:
        if key not in space.parameter_names and key not in range(space.n_columns):
            raise ValueError(
                f"densities: {key!r} is not a parameter of the space; its parameters "
                f"are {space.parameter_names}."
            )
    by_column = {}
    for place, column in enumerate(space.columns):
        density = densities.get(place, densities.get(column.name))
        if density is not None:
            by_column[place] = _ColumnDensity(column, density)
    return by_column


def _centers(
    places: dict[int, list[Path]], densities: Mapping[int, _ColumnDensity]
) -> list[tuple[Path, float]]:
    """Return the expectation of the log density in each branch, under the prior.

    Options of choices without a density are the path of a branch. The expectation of a
    density is weighted with the probability of the options of other choices that it
    requires.
    """
    sums: dict[tuple[tuple[int, int], ...], float] = {}
    for place, density in densities.items():
        for path in places[place]:
            expectation, branch = density.expectation, []
            for choice, option in sorted(path.items()):
                if choice in densities:
                    expectation *= densities[choice].probabilities[option]
                else:
                    branch.append((choice, option))
            if branch:
                key = tuple(branch)
                sums[key] = sums.get(key, 0.0) + expectation
    return [(dict(key), total) for key, total in sums.items() if total != 0.0]


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
        weights = masses / np.sum(masses)
        self._cumulated = np.concatenate([[0.0], np.cumsum(masses) / np.sum(masses)])
        # Expectation of the log density, and probabilities of the options of a table.
        self.expectation = float(weights @ self.values(positions))
        self.probabilities = np.exp(self.logs) / np.sum(np.exp(self.logs))
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
        positions = np.interp(u, self._cumulated, np.arange(n + 1) / n)
        return np.minimum(positions, np.nextafter(1.0, 0.0))


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
