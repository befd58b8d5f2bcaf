"""What ranks configurations by a score and a cost.

Symbols: those of :mod:`skbayes.acquisition.tradeoff`; m candidates, D columns, S
samples of the surrogates' hyper-parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skbayes.acquisition.base import BLOCK, N_INCUMBENTS, Known, Proposer
from skbayes.acquisition.improvement import FloatArray, Utility
from skbayes.acquisition.strategy import ModelStrategy, learn
from skbayes.acquisition.tradeoff import (
    CostScale,
    ImprovementOfTradeoff,
    LogCost,
    RawCost,
    ScoreLessExcess,
    TradeoffAcquisition,
    TradeoffUtility,
)
from skbayes.surrogates import GaussianProcess

__all__ = [
    "RULES",
    "KnownWithCosts",
    "TradeoffProposer",
    "TradeoffStrategy",
    "relative_costs",
    "typical_cost",
]

#: Acquisitions by name.
RULES: dict[str, type[TradeoffAcquisition]] = {
    "ei-tradeoff": ImprovementOfTradeoff,
    "paper": ScoreLessExcess,
}

# With fewer costs than this nothing can be said of the scale that suits them.
MIN_COSTS = 5


def typical_cost(costs: FloatArray, fractions: FloatArray) -> float:
    """Return the cost that counts as 1.

    Parameters
    ----------
    costs : ndarray of shape (n,)
        Costs of trials, >= 0, NaN where unknown.
    fractions : ndarray of shape (n,)
        The sizes of their training sets, relative to the largest on offer.

    Returns
    -------
    cost : float
        The median of the trials of relative size 1, whom no single slow fit can move
        far. Before there is one: the median of the largest trials there are, divided by
        their relative size. NaN if no cost is known; 1 if it would be 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.acquisition.tradeoff_proposer import typical_cost
    >>> typical_cost(np.array([9.0, 3.0, 1.0, 0.2]), np.array([1.0, 1.0, 1.0, 0.2]))
    3.0
    >>> typical_cost(np.array([1.0, 0.2]), np.array([0.5, 0.2]))
    2.0
    """
    known = np.isfinite(costs)
    if not np.any(known):
        return np.nan
    largest = np.max(fractions[known])
    cost = float(np.median(costs[known & (fractions == largest)]) / largest)
    return cost if cost > 0.0 else 1.0


def relative_costs(costs: FloatArray, fractions: FloatArray) -> FloatArray:
    """Bring costs to the range from 0 to 1.

    Parameters
    ----------
    costs : ndarray of shape (n,)
        Costs of trials, >= 0, NaN where unknown.
    fractions : ndarray of shape (n,)
        The sizes of their training sets, relative to the largest on offer.

    Returns
    -------
    sigma : ndarray of shape (n,)
        The costs divided by :func:`typical_cost`, at most 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.acquisition.tradeoff_proposer import relative_costs
    >>> relative_costs(np.array([4.0, 2.0, 0.5]), np.array([1.0, 1.0, 0.2])).round(2)
    array([1.  , 0.67, 0.17])
    """
    return np.minimum(1.0, costs / typical_cost(costs, fractions))


@dataclass(frozen=True)
class KnownWithCosts(Known):
    """What is known of scores and of costs.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Configurations learnt from earlier searches, then those told, in order.
    scores : ndarray of shape (n, 2)
        Their scores and their negated costs, NaN where there is none.
    noise : ndarray of shape (n, 2)
        Known variances of both; only that of the scores counts.
    pending : ndarray of shape (p, D)
        Configurations asked for and not told yet.
    fractions : ndarray of shape (n,)
        The sizes of the training sets, relative to the largest on offer.
    alpha : float
        The tradeoff that the next proposal is for.
    """

    fractions: FloatArray
    alpha: float

    @property
    def of_scores(self) -> Known:
        """What is known of the scores alone."""
        return Known(self.X, self.scores[:, 0], self.noise[:, 0], self.pending)

    @property
    def costs(self) -> FloatArray:
        """The costs, of shape (n,), NaN where unknown."""
        return -self.scores[:, 1]

    @property
    def incumbents(self) -> FloatArray:
        """The configurations with the best tradeoff, best first."""
        if self.alpha == 0.0 or not np.any(np.isfinite(self.costs)):
            return self.of_scores.incumbents
        if np.all(np.isnan(self.scores[:, 0])):
            return self.X[:0]
        sigma = relative_costs(self.costs, self.fractions)
        sigma = np.where(np.isnan(sigma), np.nanmax(sigma), sigma)
        tradeoff = self.of_scores.y - self.alpha * sigma
        return self.X[np.argsort(-tradeoff, kind="stable")[:N_INCUMBENTS]]


class TradeoffProposer(Proposer):
    """Scores candidates by what is believed of their scores and costs.

    Parameters
    ----------
    surrogate : object
        Fitted to scores; ``predict(X, gradient)`` gives means and standard deviations
        of shape (S, m).
    cost_model : object
        The same of costs.
    acquisition : TradeoffAcquisition
        What is made of both.
    best : ndarray of shape (S, 1)
        What is to be improved on.
    least : float
        The smallest cost so far.
    """

    def __init__(
        self,
        surrogate: Any,
        cost_model: Any,
        acquisition: TradeoffAcquisition,
        best: FloatArray,
        least: float,
    ) -> None:
        self.surrogate = surrogate
        self.cost_model = cost_model
        self.acquisition = acquisition
        self.best = best
        self.least = least
        self.has_gradients = getattr(surrogate, "has_gradients", True)

    def _utility(
        self, mean: FloatArray, sd: FloatArray, cost_mean: FloatArray, cost_sd: Any
    ) -> tuple[TradeoffUtility, FloatArray, FloatArray]:
        """Utilities under each sample, their average, and their shares in it."""
        utility = self.acquisition(mean, sd, cost_mean, cost_sd, self.best, self.least)
        parts = Utility(utility.value, utility.by_mean, utility.by_sd)
        return utility, *self.acquisition.averages_by.average(parts)

    def scores(self, X: FloatArray) -> FloatArray:
        """Acquisition of candidates.

        Parameters
        ----------
        X : ndarray of shape (m, D)
            Candidates.

        Returns
        -------
        scores : ndarray of shape (m,)
            Averaged over samples of the surrogate's hyper-parameters.
        """
        blocks = [X[i : i + BLOCK] for i in range(0, max(len(X), 1), BLOCK)]
        return np.concatenate([self._block_scores(block) for block in blocks])

    def _block_scores(self, X: FloatArray) -> FloatArray:
        beliefs = (*self.surrogate.predict(X), *self.cost_model.predict(X))
        return self._utility(*np.broadcast_arrays(*beliefs))[1]

    def scores_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Acquisition of candidates and its derivatives.

        Parameters
        ----------
        X : ndarray of shape (m, D)
            Candidates.

        Returns
        -------
        scores : ndarray of shape (m,)
            As :meth:`scores`.
        gradient : ndarray of shape (m, D)
            Derivatives by the positions, 0 in unordered columns.
        """
        mean, sd, *slopes = self.surrogate.predict(X, gradient=True)
        cost_mean, cost_sd, *cost_slopes = self.cost_model.predict(X, gradient=True)
        beliefs = np.broadcast_arrays(mean, sd, cost_mean, cost_sd)
        utility, value, shares = self._utility(*beliefs)
        by_position = sum(
            by_belief[..., None] * slope
            for by_belief, slope in zip(
                utility[1:], [*slopes, *cost_slopes], strict=True
            )
        )
        return value, np.einsum("sm,smd->md", shares, by_position)

    def expected_improvement(self, row: FloatArray) -> float | None:
        """How much better one candidate's tradeoff is expected to be.

        Parameters
        ----------
        row : ndarray of shape (D,)
            The candidate.

        Returns
        -------
        improvement : float or None
            Of L - alpha sigma over the best so far, in units of the score, >= 0; None
            if the acquisition does not know it.
        """
        if not isinstance(self.acquisition, ImprovementOfTradeoff):
            return None
        return float(np.exp(self.scores(row[None, :])[0]))


class TradeoffStrategy:
    """One surrogate for scores, one for costs, and an acquisition of both.

    Without a tradeoff, or before a cost is known, it is the strategy for the scores
    alone.

    Parameters
    ----------
    of_scores : ModelStrategy
        The strategy for scores.
    cost_model : GaussianProcess
        Learns costs; of one sample of its hyper-parameters.
    rule : type
        The acquisition.
    cost_scale : {"auto", "log", "raw"}
        The scale that costs are normal on; "auto" takes the one on which the model
        predicts the known costs better, each from the others.
    """

    n_initial_points = 3
    needs_scores = True

    def __init__(
        self,
        of_scores: ModelStrategy,
        cost_model: GaussianProcess,
        rule: type[TradeoffAcquisition],
        cost_scale: str = "auto",
    ) -> None:
        self.of_scores = of_scores
        self.cost_model = cost_model
        self.rule = rule
        self.cost_scale = cost_scale

    def proposer(self, known: Known) -> Proposer:
        """Learn from what is known.

        Parameters
        ----------
        known : KnownWithCosts
            What is known; one score at least.

        Returns
        -------
        proposer : Proposer
            What ranks candidates.
        """
        assert isinstance(known, KnownWithCosts)
        has_cost = np.isfinite(known.costs)
        if known.alpha == 0.0 or not np.any(has_cost):
            return self.of_scores.proposer(known.of_scores)
        surrogate, _ = learn(self.of_scores.surrogate, known.of_scores)
        sigma = known.costs / typical_cost(known.costs, known.fractions)
        costs = Known(
            known.X[has_cost], sigma[has_cost], np.zeros(has_cost.sum()), known.pending
        )
        scale, learnt = self._scale(costs)
        cost_model, _ = learn(self.cost_model, costs, learnt)
        acquisition = self.rule(known.alpha, scale)
        X = np.vstack([known.X, known.pending])
        believed = acquisition.believed(
            *np.broadcast_arrays(surrogate.predict(X)[0], *cost_model.predict(X))
        )
        best = np.max(believed, axis=1, keepdims=True)
        least = float(np.min(np.minimum(costs.scores, 1.0)))
        return TradeoffProposer(surrogate, cost_model, acquisition, best, least)

    def _scale(self, costs: Known) -> tuple[CostScale, FloatArray]:
        """Choose a scale; also the costs on it."""
        raw = np.minimum(costs.scores, 1.0)
        if self.cost_scale == "raw" or np.min(costs.scores) <= 0.0:
            return RawCost(), raw
        logs = np.log(costs.scores)
        if self.cost_scale == "log" or len(raw) < MIN_COSTS:
            return LogCost(), logs
        # Densities of the same variable: that of a cost is that of its logarithm
        # divided by the cost. Costs above 1 are compared as they are.
        on_raw = self._fit_quality(costs, costs.scores)
        on_log = self._fit_quality(costs, logs) - float(np.sum(logs))
        return (LogCost(), logs) if on_log >= on_raw else (RawCost(), raw)

    def _fit_quality(self, costs: Known, values: FloatArray) -> float:
        """Logarithm of the density of each value given the others."""
        model = self.cost_model.fit(costs.X, values)
        mean, sd = model.leave_one_out()
        z = (values - mean) / sd
        return float(np.sum(-0.5 * z * z - np.log(sd)))
