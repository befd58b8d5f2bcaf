"""Searches on small samples of the data, and the signs that are derived from them.

Symbols (B samples, D columns, N sign points):

- ``optima``: (B, D), the encoded best configuration on each sample.
- ``center``: (D,), their robust center, the small optimum.
- simple end of a column: 0 if its sign is +1, 1 if it is -1.

Joy, Rana, Gupta & Venkatesh (2019): the best model of a small sample is simpler than
the best model of all data. The score on all data therefore increases from the simple
end of the range up to the small optimum.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skbayes.evaluation.trial import History, Trial
from skbayes.optimizer.random_streams import Stream, make_generator
from skbayes.space import Space
from skbayes.space.candidates import Configuration, sobol
from skbayes.space.dimensions import FloatArray, key_of
from skbayes.surrogates.gp.monotonic import NU

# Number of sign points.
N_SIGN_POINTS = 10

# Median distance of the optima from their center above which they strongly disagree
# about a column. For five random positions, it is 0.19 on average.
MAX_DISAGREEMENT = 0.15

# Width of the likelihood of signs about which the small samples disagree. Slopes below
# one standard deviation of the scores over the width of the range can have either sign.
WEAK_NU = 1.0

# Minimum distance between simple end and optimum for a sign.
LEAST_ROOM = 0.02

Params = dict[str, Any]


class RoundRobinOptimizer:
    """Optimizers that take turns: the (k mod B)-th proposes the k-th configuration.

    Each optimizer observes only its own trials. As long as at most B trials are in
    progress, the proposals do not depend on their number.
    """

    def __init__(self, optimizers: Sequence[Any]) -> None:
        self.optimizers = list(optimizers)
        self.last_expected_improvement: float | None = None
        self._n_asked = 0
        # Keys of configurations in progress and the optimizers that proposed them.
        self._pending: list[tuple[str, int]] = []

    @property
    def space(self) -> Space:
        """The search space."""
        return self.optimizers[0].space

    @property
    def n_configurations(self) -> float:
        """Number of configurations that all optimizers together can propose."""
        return len(self.optimizers) * self.optimizers[0].n_configurations

    def limit_costs(self, limit: float | None, budget: float | None) -> None:
        """Set limit and budget of the costs; the budget is divided equally."""
        share = None if budget is None else budget / len(self.optimizers)
        for optimizer in self.optimizers:
            optimizer.limit_costs(limit, share)

    def ask(self, n: int | None = None) -> Params | list[Params]:
        """Propose a configuration, or a list of `n`."""
        if n is None:
            return self.propose().params
        return [self.propose().params for _ in range(n)]

    def propose(self, max_cost: float | None = None) -> Configuration:
        """Propose one configuration, with its encoding."""
        whose = self.optimizers[self._n_asked % len(self.optimizers)]
        configuration = whose.propose(max_cost)
        self.last_expected_improvement = whose.last_expected_improvement
        self._take_turn(configuration)
        return configuration

    def pend(self, params: Mapping[str, Any] | Configuration) -> None:
        """Register a configuration as proposed."""
        configuration = Configuration.of(self.space, params)
        self.optimizers[self._n_asked % len(self.optimizers)].pend(configuration)
        self._take_turn(configuration)

    def _take_turn(self, configuration: Configuration) -> None:
        whose = self._n_asked % len(self.optimizers)
        self._pending.append((key_of(configuration.row), whose))
        self._n_asked += 1

    def _key(self, params: Mapping[str, Any] | Configuration) -> str:
        return key_of(Configuration.of(self.space, params).row)

    def tell(
        self, params: Mapping[str, Any] | Configuration, score: Any, **more: Any
    ) -> None:
        """Pass a score to the optimizer that proposed the configuration first."""
        key = self._key(params)
        place = [key for key, _ in self._pending].index(key)
        _, whose = self._pending.pop(place)
        self.optimizers[whose].tell(params, score, **more)

    def forget(self, params: Mapping[str, Any] | Configuration) -> None:
        """Forget a configuration; of equal ones, the one that was proposed last."""
        keys = [key for key, _ in self._pending]
        place = len(keys) - 1 - keys[::-1].index(self._key(params))
        _, whose = self._pending.pop(place)
        # The next proposal is in its place.
        self._n_asked -= 1
        self.optimizers[whose].forget(params)

    def expected_cost(self, params: Mapping[str, Any] | Configuration) -> float | None:
        """Return the expected cost of the configuration that was proposed last."""
        whose = self._pending[-1][1] if self._pending else 0
        return self.optimizers[whose].expected_cost(params)


@dataclass(frozen=True)
class SignPlan:
    """Signs for the search on all data, and the points at which they are assumed.

    `disagreement` is the median distance of the optima from the center for each
    parameter with a sign, as a fraction of its range.
    """

    optima: FloatArray  # (B, D), of the samples that have one
    center: FloatArray  # (D,)
    points: FloatArray  # (N, D), the sign points
    signs: FloatArray  # (N, D), +1, -1 or 0
    nu: FloatArray  # (D,), widths of the likelihoods of the signs
    disagreement: dict[str, float]

    @property
    def weakened(self) -> list[str]:
        """Parameters about which the samples strongly disagree."""
        return [
            name
            for name, disagreement in self.disagreement.items()
            if disagreement > MAX_DISAGREEMENT
        ]


def center_of(space: Space, optima: FloatArray) -> FloatArray:
    """Return the robust center of configurations.

    In an unordered column, it is the most frequent option, the first one of ties. In an
    ordered column, it is the median of the active values, or 0.5 if there are none.
    """
    center = np.where(space.categorical, 0.0, 0.5)
    for column, unordered in enumerate(space.categorical):
        values = optima[:, column][~np.isnan(optima[:, column])]
        if len(values) and unordered:
            options, counts = np.unique(values, return_counts=True)
            center[column] = options[np.argmax(counts)]
        elif len(values):
            center[column] = np.median(values)
    return space.snap(center[None, :])[0]


def derive_signs(
    space: Space, signs: Mapping[str, int], trials: Sequence[Trial], seed: int
) -> SignPlan | None:
    """Derive signs from the trials on small samples; None if no trial has a score."""
    best: dict[int, Trial] = {}
    for trial in History(trials).best_first():
        best.setdefault(trial.subset, trial)
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
    return SignPlan(optima, center, points, table, nu, disagreement)


def _spread(optima: FloatArray, center: FloatArray) -> FloatArray:
    """Return the median distance from the center per column; 0 for inactive columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns without values
        return np.nan_to_num(np.nanmedian(np.abs(optima - center), axis=0))


def _draw_points(
    space: Space, by_column: np.ndarray, center: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return points between the simple end and the center, and their signs."""
    U = sobol(space.n_columns, N_SIGN_POINTS.bit_length(), rng)[:N_SIGN_POINTS]
    points = space.from_uniform(U)
    # Signs hold in the branch of the center, so the points have its options.
    points[:, space.categorical] = center[space.categorical]
    end = np.where(by_column < 0, 1.0, 0.0)
    room = np.abs(np.where(np.isnan(center), end, center) - end)
    signed = (by_column != 0) & (room > LEAST_ROOM)
    between = end + U * (center - end)
    points[:, signed] = between[:, signed]
    points[:, np.isnan(center)] = np.nan
    table = np.where(signed & ~np.isnan(points), by_column.astype(float), 0.0)
    return points, table
