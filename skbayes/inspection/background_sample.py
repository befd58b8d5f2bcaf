"""Averages of a surrogate over all hyper-parameters except one or two.

Symbols: D columns of the encoded space; S samples of the surrogate's hyper-parameters;
a cell is a combination of positions of the columns that are not averaged over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skbayes.space import Distribution, Space
from skbayes.space.candidates import Candidates, sobol
from skbayes.space.dimensions import Dimension, FloatArray
from skbayes.surrogates.base import posterior_of_mean

__all__ = ["BackgroundSample", "marginal", "positions_of"]

# Binary logarithm of the maximum number of configurations drawn to find those with an
# active hyper-parameter.
LOG2_MOST_DRAWN = 16

# Tails of a distribution without bounds that are not shown, as shares of its mass.
HIDDEN_TAIL = 0.01


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
