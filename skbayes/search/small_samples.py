"""Searches on small samples of the data, and the signs that follow from them.

Symbols (B samples, D columns, N sign points):

- ``optima``: (B, D), the encoded best configuration on each sample.
- ``center``: (D,), their robust center, the small optimum.
- simple end of a column: 0 where its sign is +1, 1 where it is -1.

Joy, Rana, Gupta & Venkatesh (2019): the best model of a small sample is simpler than
that of all data, so that from the simple end of the range up to the small optimum the
score on all data rises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skbayes.evaluation.trial import Trial, TrialState
from skbayes.optimizer.random_streams import Stream, make_generator
from skbayes.space import Space
from skbayes.space.candidates import key_of
from skbayes.space.configuration import Configuration
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.gp.monotonic_posterior import NU
from skbayes.surrogates.random_search import sobol

__all__ = ["RoundRobinOptimizer", "MonotonicityPlan", "center_of", "plan_monotonicity"]

# Points that carry signs.
N_SIGN_POINTS = 10

# The median distance of the optima from their center beyond which they disagree
# strongly about a column; that of five random positions is 0.19, on average.
MAX_DISAGREEMENT = 0.15

# Width of the likelihood of signs on which the small samples disagree: slopes that are
# less steep than one standard deviation of the scores over the width of the range may
# have either sign.
WEAK_NU = 1.0

# Signs are not put where there is next to no room between simple end and optimum.
LEAST_ROOM = 0.02

Params = dict[str, Any]


class RoundRobinOptimizer:
    """Optimizers that take turns: the k-th configuration is asked of the (k mod B)-th.

    Each of them knows its own trials only. As long as no more than B are under way,
    what is proposed does not depend on how many are.

    Parameters
    ----------
    optimizers : sequence of Optimizer
        B of them, on the same space.

    Attributes
    ----------
    last_expected_improvement : float or None
        That of the optimizer that was asked last.
    """

    def __init__(self, optimizers: Sequence[Any]) -> None:
        self.optimizers = list(optimizers)
        self.last_expected_improvement: float | None = None
        self._n_asked = 0
        # Keys of configurations under way, and whose they are, in the order asked.
        self._pending: list[tuple[bytes, int]] = []

    @property
    def space(self) -> Space:
        """The search space."""
        return self.optimizers[0].space

    @property
    def n_configurations(self) -> float:
        """Number of configurations that can be proposed by all of them together."""
        return len(self.optimizers) * self.optimizers[0].n_configurations

    def limit_costs(self, limit: float | None, budget: float | None) -> None:
        """Set limit and budget of the costs; each has its share of the budget."""
        share = None if budget is None else budget / len(self.optimizers)
        for optimizer in self.optimizers:
            optimizer.limit_costs(limit, share)

    def ask(self, n: int | None = None) -> Params | list[Params]:
        """Ask whose turn it is for a configuration, or for a list of `n`."""
        if n is None:
            return self.propose().params
        return [self.propose().params for _ in range(n)]

    def propose(self, max_cost: float | None = None) -> Configuration:
        """Ask whose turn it is for one configuration, with its encoding."""
        whose = self.optimizers[self._n_asked % len(self.optimizers)]
        configuration = whose.propose(max_cost)
        self.last_expected_improvement = whose.last_expected_improvement
        self._take_turn(configuration)
        return configuration

    def pend(self, params: Mapping[str, Any] | Configuration) -> None:
        """Take a configuration as asked for."""
        configuration = Configuration.of(self.space, params)
        self.optimizers[self._n_asked % len(self.optimizers)].pend(configuration)
        self._take_turn(configuration)

    def _take_turn(self, configuration: Configuration) -> None:
        whose = self._n_asked % len(self.optimizers)
        self._pending.append((key_of(configuration.row), whose))
        self._n_asked += 1

    def _key(self, params: Mapping[str, Any] | Configuration) -> bytes:
        return key_of(Configuration.of(self.space, params).row)

    def tell(
        self, params: Mapping[str, Any] | Configuration, score: Any, **more: Any
    ) -> None:
        """Tell the one that proposed it; of equal ones the one that was asked first."""
        key = self._key(params)
        place = [key for key, _ in self._pending].index(key)
        _, whose = self._pending.pop(place)
        self.optimizers[whose].tell(params, score, **more)

    def forget(self, params: Mapping[str, Any] | Configuration) -> None:
        """Forget a configuration; of equal ones the one that was asked for last."""
        keys = [key for key, _ in self._pending]
        place = len(keys) - 1 - keys[::-1].index(self._key(params))
        _, whose = self._pending.pop(place)
        self.optimizers[whose].forget(params)

    def expected_cost(self, params: Mapping[str, Any] | Configuration) -> float | None:
        """Cost that is to be expected of the configuration that was asked for last."""
        whose = self._pending[-1][1] if self._pending else 0
        return self.optimizers[whose].expected_cost(params)


@dataclass(frozen=True)
class MonotonicityPlan:
    """Where which signs are assumed on all data.

    Parameters
    ----------
    optima : ndarray of shape (B, D)
        Best configurations on the samples that have one.
    center : ndarray of shape (D,)
        Their robust center.
    points : ndarray of shape (N, D)
        Where there are signs.
    signs : ndarray of shape (N, D)
        +1, -1 or 0.
    nu : ndarray of shape (D,)
        Widths of their likelihoods.
    disagreement : dict of str to float
        For each parameter with a sign, the median distance of the optima from the
        center, as a share of its range.
    """

    optima: FloatArray
    center: FloatArray
    points: FloatArray
    signs: FloatArray
    nu: FloatArray
    disagreement: dict[str, float]

    @property
    def weakened(self) -> list[str]:
        """Parameters on which the samples disagree strongly."""
        return [
            name for name, one in self.disagreement.items() if one > MAX_DISAGREEMENT
        ]


def center_of(space: Space, optima: FloatArray) -> FloatArray:
    """Find the robust center of configurations.

    In each unordered column the option that most have, the first of them on a tie; in
    each ordered one the median of those that are active; 0.5 where none is.
    """
    center = np.full(space.n_columns, 0.5)
    for column, unordered in enumerate(space.categorical):
        values = optima[:, column][~np.isnan(optima[:, column])]
        if len(values) and unordered:
            options, counts = np.unique(values, return_counts=True)
            center[column] = options[np.argmax(counts)]
        elif len(values):
            center[column] = np.median(values)
        elif unordered:
            center[column] = 0.0
    return space.snap(center[None, :])[0]


def plan_monotonicity(
    space: Space, signs: Mapping[str, int], trials: Sequence[Trial], seed: int
) -> MonotonicityPlan | None:
    """Derive signs from the trials on small samples; None if none has a score."""
    best: dict[int, Trial] = {}
    for trial in trials:
        if trial.state == TrialState.COMPLETE and not np.isnan(trial.score):
            rival = best.get(trial.subset)
            if rival is None or _worth(trial) > _worth(rival):
                best[trial.subset] = trial
    if not best:
        return None
    optima = space.encode([best[subset].params for subset in sorted(best)])
    center = center_of(space, optima)
    by_column = np.array([signs.get(c.name or "", 0) for c in space.columns])
    by_column[space.categorical] = 0
    spread = _spread(optima, center)
    nu = np.where(spread > MAX_DISAGREEMENT, WEAK_NU, NU)
    disagreement = {
        str(space.columns[column].name): float(spread[column])
        for column in np.flatnonzero(by_column)
    }
    rng = make_generator(seed, Stream.MONOTONICITY)
    points, table = _draw_points(space, by_column, center, rng)
    return MonotonicityPlan(optima, center, points, table, nu, disagreement)


def _worth(trial: Trial) -> tuple[float, float]:
    """Return what the best trial has most of: it violates constraints least."""
    return -(trial.violation or 0.0), trial.score


def _spread(optima: FloatArray, center: FloatArray) -> FloatArray:
    """Median distance from the center, column by column; 0 where none is active."""
    distances = np.abs(optima - center)
    active = ~np.isnan(distances)
    return np.array(
        [
            np.median(distances[active[:, column], column])
            if np.any(active[:, column])
            else 0.0
            for column in range(optima.shape[1])
        ]
    )


def _draw_points(
    space: Space, by_column: np.ndarray, center: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Points between the simple end and the center, and their signs."""
    U = sobol(space.n_columns, N_SIGN_POINTS.bit_length(), rng)[:N_SIGN_POINTS]
    points = space.from_uniform(U)
    # Where the center has an option, so have the points: signs are about its branch.
    points[:, space.categorical] = center[space.categorical]
    end = np.where(by_column < 0, 1.0, 0.0)
    room = np.abs(np.where(np.isnan(center), end, center) - end)
    signed = (by_column != 0) & (room > LEAST_ROOM)
    between = end + U * (center - end)
    points[:, signed] = between[:, signed]
    points[:, np.isnan(center)] = np.nan
    table = np.where(signed & ~np.isnan(points), by_column.astype(float), 0.0)
    return points, table
