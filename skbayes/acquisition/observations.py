"""Observations on which proposals depend, and the surrogates that are fitted to them.

Symbols (n observations, also those of earlier searches, p pending configurations, D
columns): arrays of configurations are encoded, of shape (..., D), NaN where inactive.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.surrogate import best_and_random
from skbayes.utils.ranking import best_first, crowded_order_keys, total_violation

# Number of the best configurations near which more candidates are drawn.
N_INCUMBENTS = 5

# If there are more observations than a surrogate is fitted to, they are selected again
# after this number of new ones.
N_LATEST = 250


@dataclass(frozen=True)
class Observations:
    """Observations and pending configurations, on which a proposal depends."""

    # (n, D), configurations of earlier searches, then of this search, in order.
    X: FloatArray
    # (n,) or (n, d), scores, NaN for failures, with a column for each objective.
    scores: FloatArray
    # (n,) or (n, d), known variances of the scores.
    noise: FloatArray
    # (p, D), configurations that were proposed and not observed yet.
    pending: FloatArray
    # (n, c), values of the constraints on outcomes: <= 0 if satisfied, NaN if unknown.
    slacks: FloatArray | None = field(default=None, kw_only=True)
    # (p,), mask of the pending configurations that probably satisfy the constraints.
    pending_feasible: np.ndarray | None = field(default=None, kw_only=True)

    def part(self, rows: np.ndarray) -> Observations:
        """Return some of the observations, with the same pending configurations."""
        if len(rows) == len(self.X):
            return self
        return replace(self, **{name: array[rows] for name, array in self._arrays()})

    def followed_by(self, later: Observations) -> Observations:
        """Return the observations of both, with the pending configurations of self."""
        if not len(later.X):
            return self
        pairs = zip(self._arrays(), later._arrays(), strict=True)
        return replace(
            self, **{name: np.concatenate([a, b]) for (name, a), (_, b) in pairs}
        )

    def _arrays(self) -> list[tuple[str, FloatArray]]:
        """Return the arrays with one row for each observation, by their names."""
        arrays = {
            name: getattr(self, name) for name in ("X", "scores", "noise", "slacks")
        }
        return [(name, array) for name, array in arrays.items() if array is not None]

    @property
    def y(self) -> FloatArray:
        """Scores, with failures replaced by the worst; at least one must be finite."""
        worst = np.nanmin(self.scores, axis=0)
        return np.where(np.isnan(self.scores), worst, self.scores)

    @property
    def incumbents(self) -> FloatArray:
        """Configurations with the best scores, best first; empty without scores."""
        if np.any(np.all(np.isnan(self.scores), axis=0)):
            return self.X[:0]
        y = self.y
        return self.best_rows(y if y.ndim == 1 else crowded_order_keys(y))

    def best_rows(self, keys: FloatArray) -> FloatArray:
        """Return the configurations with the greatest keys, feasible ones first."""
        return self.X[best_first(keys, self.violation)[:N_INCUMBENTS]]

    @property
    def violation(self) -> FloatArray:
        """Violation of the constraints by each configuration, (n,): 0 if satisfied."""
        if self.slacks is None:
            return np.zeros(len(self.X))
        return total_violation(self.slacks)

    @property
    def feasible(self) -> np.ndarray:
        """Mask (n,) of the configurations that satisfy the constraints."""
        return self.violation == 0.0

    @property
    def configurations(self) -> FloatArray:
        """All observed and pending configurations, (n + p, D)."""
        return np.vstack([self.X, self.pending])

    @property
    def is_rival(self) -> np.ndarray:
        """Mask (n + p,) of the configurations to improve on, which are feasible."""
        pending = self.pending_feasible
        if pending is None:
            pending = np.ones(len(self.pending), dtype=bool)
        return np.concatenate([self.feasible, pending])


def selected_rows(limit: int | None, y: FloatArray, n_pending: int = 0) -> np.ndarray:
    """Return the rows of the observations that a surrogate is fitted to.

    The limit includes pending configurations, but at least half of it are observations.
    """
    if limit is None or len(y) + n_pending <= limit:
        return np.arange(len(y))
    # Most rows remain the same, so that their factorization is reused.
    n_selected = len(y) - len(y) % N_LATEST
    rng = np.random.default_rng(n_selected)
    size = max(limit - n_pending, limit // 2)
    rows = best_and_random(y[:n_selected], size, rng)
    return np.append(rows, np.arange(n_selected, len(y)))


def fit_surrogate(
    model: Any, observations: Observations, y: FloatArray | None = None
) -> Any:
    """Fit a surrogate to scores `y`, by default the observed ones.

    The surrogate that is returned is conditioned on pending configurations.
    """
    y = observations.y if y is None else y
    rows = rows_for(model, observations, y)
    return fit_to_all(model, observations.part(rows), y[rows])


def rows_for(model: Any, observations: Observations, y: FloatArray) -> np.ndarray:
    """Return the rows of the observations that a model is fitted to."""
    limit = getattr(model, "max_observations", None)
    return selected_rows(limit, y, len(observations.pending))


def fit_to_all(model: Any, observations: Observations, y: FloatArray) -> Any:
    """Fit a surrogate to all observations, with scores `y`."""
    # Surrogates without support for noise are accepted if there is none.
    noise = {"noise": observations.noise} if np.any(observations.noise) else {}
    surrogate = model.fit(observations.X, y, **noise)
    if len(observations.pending):
        surrogate = surrogate.condition(observations.pending)
    return surrogate
