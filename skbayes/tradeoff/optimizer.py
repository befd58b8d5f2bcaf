"""Optimizer that weighs scores against costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from skbayes.acquisition.observations import Observations
from skbayes.optimizer.cost_models import make_process
from skbayes.optimizer.observed_trials import Observation
from skbayes.optimizer.optimizer import Optimizer
from skbayes.surrogates.registry import capability
from skbayes.tradeoff.acquisition import RULES, TradeoffObservations, TradeoffProposer
from skbayes.utils.random_streams import Stream, make_generator

# Range of tradeoffs that are drawn for each proposal, uniformly on a logarithmic scale.
# Scores of different training sizes often differ by about 0.01. Above 0.1, the smallest
# size is nearly always the best.
SMALLEST_DRAWN, LARGEST_DRAWN = 1e-3, 1.0


class TradeoffOptimizer(Optimizer):
    """Optimizer of a score minus a multiple of a cost.

    Each observation has two numbers: the score, and the negated cost, NaN if the cost
    is unknown. The unit of the cost has no effect. `tradeoff` is the factor of the
    relative cost; None draws it for each proposal, from 0.001 to 1, uniformly on a
    logarithmic scale. `size` is a pair: the name of the parameter for the size of the
    training set, and its largest value. With None, all trials have the same size.
    :class:`skbayes.Optimizer` describes the `options`.
    """

    def __init__(
        self,
        search_spaces: Any,
        tradeoff: float | None,
        size: tuple[str, float] | None,
        *,
        acquisition: str = "ei-tradeoff",
        cost_scale: str = "auto",
        **options: Any,
    ) -> None:
        self.tradeoff = tradeoff
        self._size, self._rule, self._cost_scale = size, acquisition, cost_scale
        super().__init__(search_spaces, n_objectives=2, **options)

    def _checked(
        self, params: Any, score: Any, noise: Any, constraints: Any
    ) -> Observation:
        if noise is not None and np.ndim(noise) == 0:
            noise = [noise, 0.0]  # only the score has noise
        return super()._checked(params, score, noise, constraints)

    def _set_n_objectives(self, n: int) -> None:
        if capability(self.surrogate, "predicts_scores"):
            cost_model = make_process(self.space.n_options)
            self._proposer = TradeoffProposer(
                self._proposer, cost_model, RULES[self._rule], self._cost_scale
            )
        elif self._proposer.needs_scores:
            raise ValueError(
                f"surrogate={self.surrogate!r} does not predict scores, which a "
                "tradeoff requires; use a surrogate that does, such as 'gp', or "
                "'random'."
            )
        self._n_objectives = n

    def _has_scores(self, observations: Observations) -> bool:
        scores = observations.scores[:, 0]
        return not self._proposer.needs_scores or bool(np.any(np.isfinite(scores)))

    def _observations(self) -> TradeoffObservations:
        observations = super()._observations()
        fractions = np.ones(len(observations.X))
        if self._size is not None:
            name, largest = self._size
            sizes = [params[name] for params in self.space.decode(observations.X)]
            fractions = np.array(sizes, dtype=np.float64) / largest
        arrays, n_known = vars(observations), len(observations.configurations)
        alpha = self._alpha(n_known)
        return TradeoffObservations(**arrays, fractions=fractions, alpha=alpha)

    def _alpha(self, n_configurations: int) -> float:
        if self.tradeoff is not None:
            return float(self.tradeoff)
        share = make_generator(self._seed, Stream.TRADEOFF, n_configurations).random()
        return float(SMALLEST_DRAWN * (LARGEST_DRAWN / SMALLEST_DRAWN) ** share)
