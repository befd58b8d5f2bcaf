"""Optimizer that weighs scores against costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from skbayes.acquisition.base import Observations
from skbayes.acquisition.tradeoff import RULES, TradeoffObservations, TradeoffProposer
from skbayes.optimizer.optimizer import Optimizer
from skbayes.optimizer.random_streams import Stream, make_generator
from skbayes.space.configuration import Configuration
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates import GaussianProcess
from skbayes.surrogates.registry import capability

__all__ = ["TradeoffOptimizer"]

# Between these a tradeoff is drawn where it is drawn anew for each proposal, evenly on
# a logarithmic scale: scores of different training sizes often differ by a hundredth,
# and above a tenth the smallest size is nearly always the best.
SMALLEST_DRAWN, LARGEST_DRAWN = 1e-3, 1.0


class TradeoffOptimizer(Optimizer):
    """Propose configurations for a score less a multiple of a cost.

    It is told two numbers for each: the score, and the negated cost, NaN where that is
    not known. What the cost is measured in does not matter.

    Parameters
    ----------
    search_spaces : dict, list of dicts, or Space
        What may be chosen.
    tradeoff : float or None
        The multiple, for a cost relative to a typical one on all of the data; >= 0.
        None: it is drawn anew for each proposal, from 0.001 to 1, evenly on a
        logarithmic scale.
    relative_sizes : callable
        Given parameters of configurations, returns the sizes of their training sets
        relative to the largest.
    acquisition : {"ei-tradeoff", "paper"}, default="ei-tradeoff"
        What a proposal maximizes.
    cost_scale : {"auto", "log", "raw"}, default="auto"
        The scale on which costs are normal.
    **options : dict
        `surrogate`, `n_initial_points`, `initial_points` and `random_state` of
        :class:`skbayes.Optimizer`.

    Raises
    ------
    TypeError, ValueError
        As for :class:`skbayes.Optimizer`, or if the surrogate predicts no scores.
    """

    def __init__(
        self,
        search_spaces: Any,
        tradeoff: float | None,
        relative_sizes: Callable[[Sequence[Mapping[str, Any]]], FloatArray],
        *,
        acquisition: str = "ei-tradeoff",
        cost_scale: str = "auto",
        **options: Any,
    ) -> None:
        self.tradeoff = tradeoff
        self._relative_sizes = relative_sizes
        self._rule, self._cost_scale = RULES[acquisition], cost_scale
        super().__init__(search_spaces, n_objectives=2, **options)

    def tell(
        self, params: Mapping[str, Any] | Configuration, score: Any, **more: Any
    ) -> None:
        """Learn score and cost of a configuration."""
        if isinstance(more.get("noise"), float):
            more["noise"] = [more["noise"], 0.0]
        super().tell(params, score, **more)

    def learn(
        self,
        params: Mapping[str, Any],
        score: Any,
        noise: Any = None,
        cost: Any = None,
        constraints: Any = None,
    ) -> None:
        """Take knowledge from an earlier search."""
        noise = None if noise is None else [noise, 0.0]
        super().learn(params, score, noise, cost, constraints)

    def _set_n_objectives(self, n: int) -> None:
        if capability(self.surrogate, "predicts_scores"):
            cost_model = GaussianProcess(
                n_options=self.space.n_options,
                n_samples=0,
                # What is cheap must be known as well as what is expensive.
                winsorize_scores=False,
            )
            self._proposer = TradeoffProposer(
                self._proposer, cost_model, self._rule, self._cost_scale
            )
        elif self._proposer.needs_scores:
            raise ValueError(
                f"surrogate={self.surrogate!r} has no model of the score, which a "
                "tradeoff needs; take one that has, such as 'gp', or 'random'."
            )
        self._n_objectives = n

    def _can_decide(self, observations: Observations) -> bool:
        scores = observations.scores[:, 0]
        return not self._proposer.needs_scores or bool(np.any(np.isfinite(scores)))

    def _observations(self) -> TradeoffObservations:
        known = super()._observations()
        fractions = np.empty(0)
        if len(known.X):
            fractions = self._relative_sizes(self.space.decode(known.X))
        alpha = self._alpha(len(known.X) + len(known.pending))
        return TradeoffObservations(**vars(known), fractions=fractions, alpha=alpha)

    def _alpha(self, n_known: int) -> float:
        """Return the tradeoff of the next proposal."""
        if self.tradeoff is not None:
            return float(self.tradeoff)
        share = make_generator(self._seed, Stream.TRADEOFF, n_known).random()
        return float(SMALLEST_DRAWN * (LARGEST_DRAWN / SMALLEST_DRAWN) ** share)
