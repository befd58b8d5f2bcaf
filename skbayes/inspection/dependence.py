"""Partial dependence of the score on one or two hyper-parameters: computation.

Symbols: D columns of the encoded space; S samples of the surrogate's hyper-parameters;
a cell is a combination of positions of the columns that are not averaged over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skbayes.inspection.scales import option_places, scale_of
from skbayes.inspection.score_model import ScoreModel, column_labels
from skbayes.space import Dimension, Distribution, Space
from skbayes.space.candidates import Candidates, sobol
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.base import posterior_of_mean
from skbayes.utils.blas import one_blas_thread

# Maximum number of values of a single hyper-parameter, and of each hyper-parameter of a
# pair.
RESOLUTION, PAIR_RESOLUTION = 50, 20

# Number of hyper-parameters shown by default: those whose mean varies most.
N_SHOWN = 12

# Binary logarithm of the maximum number of configurations drawn to find those with an
# active hyper-parameter.
LOG2_MOST_DRAWN = 16

# Tails of a distribution without bounds that are not shown, as shares of its mass.
HIDDEN_TAIL = 0.01


@dataclass(frozen=True, eq=False)
class Dependence:
    """Partial dependence of the predicted score on one or two hyper-parameters."""

    names: tuple[str, ...]
    # For each hyper-parameter, the evaluated values and the type of its axis.
    values: tuple[list[Any], ...]
    scales: tuple[str, ...]
    # Averages over the other hyper-parameters: shape (n_values,) or (n_values_1,
    # n_values_2).
    mean: FloatArray
    sd: FloatArray
    # Numbers or positions of options of the trials, shape (n_trials, n_parameters), and
    # the row of the best trial, if it is among them.
    tried: FloatArray
    best: int | None

    def coordinates(self, axis: int) -> FloatArray:
        """Return the positions of the values of one hyper-parameter on its axis."""
        values = self.values[axis]
        if self.scales[axis] == "options":
            return option_places(list(values))
        return np.array(values, dtype=float)


def dependences(
    model: ScoreModel,
    params: Sequence[str | tuple[str, str]] | None = None,
    *,
    resolution: int | None = None,
    n_averaged: int = 128,
    random_state: int = 0,
) -> list[Dependence]:
    """Compute partial dependences of single hyper-parameters and of pairs."""
    _check_count(n_averaged, "n_averaged", 1)
    if resolution is not None:
        _check_count(resolution, "resolution", 2)
    others = BackgroundSample(model.space, int(n_averaged), random_state)
    found = []
    with one_blas_thread():
        for columns in _columns_of(model, params):
            most = resolution or (RESOLUTION if len(columns) == 1 else PAIR_RESOLUTION)
            found.append(_dependence(model, others, columns, int(most)))
    if params is None and len(found) > N_SHOWN:
        spans = [np.nanmax(d.mean) - np.nanmin(d.mean) for d in found]
        widest = sorted(np.argsort(spans)[-N_SHOWN:])
        found = [found[i] for i in widest]
    return found


def _check_count(number: Any, name: str, least: int) -> None:
    if not isinstance(number, int | np.integer) or isinstance(number, bool):
        raise TypeError(f"{name} must be an integer, got {number!r}.")
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number!r}.")


def _columns_of(model: ScoreModel, params: Any) -> list[tuple[int, ...]]:
    columns = model.space.columns
    if params is None:
        return [
            (j,) for j, c in enumerate(columns) if c.name and c.dimension.n_values > 1
        ]
    if isinstance(params, str) or not isinstance(params, Iterable):
        raise TypeError(f"params must be a list of names or pairs, got {params!r}.")
    labels = column_labels(model.space)
    panels: list[tuple[int, ...]] = []
    for panel in params:
        names = panel if isinstance(panel, tuple | list) else (panel,)
        if len(names) not in (1, 2) or not all(isinstance(n, str) for n in names):
            raise TypeError(
                f"params must be names, or pairs of names in tuples, got {panel!r}."
            )
        known = [
            [j for j, c in enumerate(columns) if name in (c.name, labels[j])]
            for name in names
        ]
        for name, places in zip(names, known, strict=True):
            if not places:
                raise ValueError(
                    f"params: {name!r} is not one of {model.space.parameter_names}."
                )
        if len(names) == 2 and known[0] == known[1]:
            raise ValueError(
                f"params: a pair needs two different names, got {panel!r}."
            )
        panels += _together(model, known)
    return panels


def _together(model: ScoreModel, known: list[list[int]]) -> list[tuple[int, ...]]:
    """Return the combinations of columns that occur together."""
    if len(known) == 1:
        return [(j,) for j in known[0]]
    drawn = model.space.from_uniform(
        np.random.default_rng(0).random((4096, model.space.n_columns))
    )
    active = ~np.isnan(drawn)
    pairs = [(i, j) for i in known[0] for j in known[1]]
    found = [pair for pair in pairs if np.any(np.all(active[:, pair], axis=1))]
    if not found:
        names = [model.space.columns[places[0]].name for places in known]
        raise ValueError(f"params: {names[0]!r} and {names[1]!r} never occur together.")
    return list(found)


def _dependence(
    model: ScoreModel,
    others: BackgroundSample,
    columns: tuple[int, ...],
    resolution: int,
) -> Dependence:
    dimensions = [model.space.columns[j].dimension for j in columns]
    positions = [positions_of(dimension, resolution) for dimension in dimensions]
    mean, sd = marginal(model.surrogate, others, columns, positions)
    scales = tuple(map(scale_of, dimensions))
    X = model.space.encode(model.params)[:, list(columns)]
    active = np.all(~np.isnan(X), axis=1)
    tried = np.empty((int(active.sum()), len(columns)))
    for axis, (dimension, scale) in enumerate(zip(dimensions, scales, strict=True)):
        encoded = X[active, axis]
        if scale == "options":
            places = option_places(list(dimension.decode(positions[axis])))
            tried[:, axis] = places[dimension.place(encoded)]  # type: ignore[attr-defined]
        else:
            tried[:, axis] = dimension.decode(encoded)
    best = np.flatnonzero(model.rows[active] == model.record.best)
    labels, shown = column_labels(model.space), zip(dimensions, positions, strict=True)
    return Dependence(
        names=tuple(labels[j] for j in columns),
        values=tuple(dimension.decode(grid) for dimension, grid in shown),
        scales=scales,
        mean=model.unit * mean + model.offset,
        sd=abs(model.unit) * sd,
        tried=tried,
        best=int(best[0]) if len(best) else None,
    )


# -- averages over the other hyper-parameters ------------------------------------------


@dataclass(eq=False)
class BackgroundSample:
    """Sample of configurations for averaging over all columns except some.

    Each configuration has its probability in random search: equal for options, uniform
    on the scale of a range, and conditional hyper-parameters as often as their option
    is drawn. Up to `n_averaged` configurations are all listed, with their probabilities
    as weights. Otherwise they are points of a Sobol sequence, the same for all cells.
    """

    space: Space
    n_averaged: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        self._listed = self._list_all()
        self._drawn: dict[int, FloatArray] = {}

    def _list_all(self) -> tuple[FloatArray, FloatArray] | None:
        """Return all allowed configurations and their probabilities, if feasible."""
        dimensions = [column.dimension for column in self.space.columns]
        # Equal probabilities are only certain for values of lists.
        if self.space.overlaps or not all(hasattr(d, "values") for d in dimensions):
            return None
        X = Candidates(self.space).rows
        if X is None:
            return None
        counts = np.array([dimension.n_values for dimension in dimensions])
        return X, np.prod(np.where(np.isnan(X), 1.0, 1.0 / counts), axis=1)

    def of(
        self, columns: Sequence[int], positions: Sequence[float]
    ) -> tuple[FloatArray, FloatArray]:
        """Return configurations (m, D) with given positions, and their weights (m,)."""
        if self._listed is not None:
            X, weights = self._listed
            alike = np.all(X[:, list(columns)] == positions, axis=1)
            if np.sum(alike) <= self.n_averaged:
                weights = weights[alike]
                return X[alike], weights / (np.sum(weights) or 1.0)
        X = self._draw(list(columns), positions)
        return X, np.full(len(X), 1.0 / max(len(X), 1))

    def _draw(self, columns: list[int], positions: Sequence[float]) -> FloatArray:
        log2_n = max(math.ceil(math.log2(self.n_averaged)), 3)
        while True:
            P = self._points(log2_n).copy()
            P[:, columns] = positions
            rows = np.flatnonzero(np.all(self.space.active(P)[:, columns], axis=1))
            if self.space.constraint is None:
                rows = rows[: self.n_averaged]
            X = self.space.snap(P[rows])
            # The first dict of a list also represents later ones that overlap with it.
            X = X[np.all(X[:, columns] == positions, axis=1)]
            if self.space.constraint is not None:
                params = self.space.decode(X)
                X = X[[self.space.allows(configuration) for configuration in params]]
            if len(X) >= self.n_averaged or log2_n >= LOG2_MOST_DRAWN:
                return X[: self.n_averaged]
            log2_n += 3

    def _points(self, log2_n: int) -> FloatArray:
        """Return positions in all columns, active or inactive."""
        if log2_n not in self._drawn:
            U = sobol(self.space.n_columns, log2_n, np.random.default_rng(self.seed))
            P = np.empty_like(U)
            for j, column in enumerate(self.space.columns):
                P[:, j] = column.dimension.from_uniform(U[:, j])
            self._drawn[log2_n] = P
        return self._drawn[log2_n]


def positions_of(dimension: Dimension, resolution: int) -> FloatArray:
    """Choose positions at which a dimension is shown, in order; all of options."""
    if dimension.is_categorical or dimension.n_values <= resolution:
        return dimension.grid
    low, high = 0.0, 1.0
    if isinstance(dimension, Distribution) and math.isinf(dimension.n_values):
        ends = dimension.distribution.support()
        low = HIDDEN_TAIL if math.isinf(ends[0]) else low
        high = 1.0 - HIDDEN_TAIL if math.isinf(ends[1]) else high
    return np.unique(dimension.snap(np.linspace(low, high, resolution)))


def marginal(
    surrogate: Any,
    others: BackgroundSample,
    columns: Sequence[int],
    positions: Sequence[FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """Return means and standard deviations of the mean score at each cell, or NaN."""
    shape = tuple(len(grid) for grid in positions)
    mean, sd = np.full(shape, np.nan), np.full(shape, np.nan)
    for cell in np.ndindex(*shape):
        at = [float(grid[i]) for grid, i in zip(positions, cell, strict=True)]
        X, weights = others.of(columns, at)
        if len(X):
            means, sds = posterior_of_mean(surrogate, X, weights)
            mean[cell] = np.mean(means)
            sd[cell] = np.sqrt(np.mean(sds**2) + np.var(means))
    return mean, sd
