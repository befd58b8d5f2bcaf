"""Score weighed against cost: acquisition functions of both, and their proposer.

Symbols, beside those of :mod:`skbayes.acquisition.improvement`:

- ``alpha``: the tradeoff, >= 0: a cost of 1 outweighs a score of `alpha`.
- ``sigma``: the cost of a configuration, relative to a typical one on all of the data
  and at most 1, so that T = L - alpha sigma for a score L is to be maximized.
- ``mean``, ``sd`` of a cost: those of sigma itself (raw scale), or those of the
  logarithm of the relative cost before it is cut at 1 (log scale), which is normal.

Wang et al., "Efficient hyper-parameter optimization for NLP applications" (EMNLP 2015),
and their later work on accuracy and efficiency, whose a_T is :class:`ScoreLessExcess`.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr

from skbayes.acquisition.base import (
    N_INCUMBENTS,
    ModelProposer,
    Observations,
    Proposer,
    fit_surrogate,
    predict,
)
from skbayes.acquisition.improvement import Acquisition, ExpectedImprovement, Utility
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates import GaussianProcess

__all__ = [
    "RULES",
    "Beliefs",
    "CostScale",
    "ImprovementOfTradeoff",
    "LogCost",
    "RawCost",
    "ScoreLessExcess",
    "TradeoffAcquisition",
    "TradeoffObservations",
    "TradeoffProposer",
    "TradeoffUtility",
    "relative_costs",
    "typical_cost",
]

_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)

# With fewer costs than this nothing can be said of the scale that suits them.
MIN_COSTS = 5


def _density(z: FloatArray) -> FloatArray:
    return np.exp(-0.5 * z * z - _LOG_SQRT_2PI)


# -- relative costs -------------------------------------------------------------------


def typical_cost(costs: FloatArray, fractions: FloatArray) -> float:
    """Return the cost that counts as 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.acquisition.tradeoff import typical_cost
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

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.acquisition.tradeoff import relative_costs
    >>> relative_costs(np.array([4.0, 2.0, 0.5]), np.array([1.0, 1.0, 0.2])).round(2)
    array([1.  , 0.67, 0.17])
    """
    return np.minimum(1.0, costs / typical_cost(costs, fractions))


# -- beliefs about a cost -------------------------------------------------------------


class CostScale(ABC):
    """Scale on which a cost is normal, with `mean` and `sd` > 0 of one shape."""

    @abstractmethod
    def excess(self, mean: FloatArray, sd: FloatArray, least: float) -> Utility:
        """Return E max(sigma - least, 0) for `least` > 0, and its derivatives."""

    @abstractmethod
    def moments(self, mean: FloatArray, sd: FloatArray) -> tuple[Utility, Utility]:
        """Return mean and variance of sigma, and their derivatives."""


class RawCost(CostScale):
    """Sigma is normal.

    Examples
    --------
    >>> from skbayes.acquisition.tradeoff import RawCost
    >>> RawCost().excess([0.5], [0.1], 0.5).value.round(4)
    array([0.0399])
    """

    def excess(  # noqa: D102
        self, mean: FloatArray, sd: FloatArray, least: float
    ) -> Utility:
        sd = np.asarray(sd, dtype=np.float64)
        z = (np.asarray(mean) - least) / sd
        value = np.exp(ExpectedImprovement()(mean, sd, least).value)
        return Utility(value, ndtr(z), _density(z))

    def moments(  # noqa: D102
        self, mean: FloatArray, sd: FloatArray
    ) -> tuple[Utility, Utility]:
        mean, sd = np.asarray(mean, float), np.asarray(sd, float)
        zero, one = np.zeros_like(mean), np.ones_like(mean)
        return Utility(mean, one, zero), Utility(sd**2, zero, 2.0 * sd)


@dataclass(eq=False, repr=False)
class LogCost(CostScale):
    """Sigma is min(1, exp(N)) for a normal N: lognormal up to where it is cut.

    Parameters
    ----------
    cut : bool, default=True
        Whether sigma is cut at 1. If not, :meth:`excess` is the formula for a lognormal
        cost; a wide belief then makes it exceed all bounds.

    Examples
    --------
    >>> from skbayes.acquisition.tradeoff import LogCost
    >>> LogCost().excess([-1.0], [0.5], 0.2).value.round(4)
    array([0.2162])
    """

    cut: bool = True

    def excess(  # noqa: D102
        self, mean: FloatArray, sd: FloatArray, least: float
    ) -> Utility:
        # max(sigma - least, 0) = sigma - min(sigma, least), the latter being
        # least times a relative cost that is cut at 1.
        mean, sd = np.asarray(mean, float), np.asarray(sd, float)
        whole = _cut_moment(mean, sd, 1) if self.cut else _whole_mean(mean, sd)
        lower = _cut_moment(mean - np.log(least), sd, 1)
        parts = [a - least * b for a, b in zip(whole, lower, strict=True)]
        # What is left of equal terms by rounding may be below 0.
        return Utility(np.maximum(parts[0], 0.0), parts[1], parts[2])

    def moments(  # noqa: D102
        self, mean: FloatArray, sd: FloatArray
    ) -> tuple[Utility, Utility]:
        mean, sd = np.asarray(mean, float), np.asarray(sd, float)
        if self.cut:
            first, second = _cut_moment(mean, sd, 1), _cut_moment(mean, sd, 2)
        else:
            first, second = _whole_mean(mean, sd), _whole_mean(2 * mean, 2 * sd)
            second = Utility(second.value, 2 * second.by_mean, 2 * second.by_sd)
        variance = Utility(
            np.maximum(second.value - first.value**2, 0.0),
            second.by_mean - 2.0 * first.value * first.by_mean,
            second.by_sd - 2.0 * first.value * first.by_sd,
        )
        return first, variance


def _cut_moment(mean: FloatArray, sd: FloatArray, power: int) -> Utility:
    """E min(1, exp(N))^p for N ~ N(mean, sd^2).

    With N = mean + sd Z, z = mean / sd and I = E[exp(p N); N < 0]
    = exp(p mean + p^2 sd^2 / 2) Phi(-z - p sd), it is I + Phi(z). The derivative of
    min(1, exp(N))^p by `mean` is p exp(p N) below the cut and 0 above, hence p I; that
    by `sd` has a factor Z more: p (p sd I - phi(z)).
    """
    z = mean / sd
    exponent = power * mean + 0.5 * (power * sd) ** 2
    # The product of a huge and a tiny number, by their logarithms.
    inside = np.exp(exponent + log_ndtr(-z - power * sd))
    by_sd = power * (power * sd * inside - _density(z))
    return Utility(inside + ndtr(z), power * inside, by_sd)


def _whole_mean(mean: FloatArray, sd: FloatArray) -> Utility:
    """E exp(N) for N ~ N(mean, sd^2)."""
    value = np.exp(mean + 0.5 * sd**2)
    return Utility(value, value, sd * value)


# -- acquisition functions ------------------------------------------------------------


class Beliefs(NamedTuple):
    """Predictions of a score and of a cost, of one shape, with ``sd > 0``."""

    mean: FloatArray
    sd: FloatArray
    cost_mean: FloatArray
    cost_sd: FloatArray


class TradeoffUtility(NamedTuple):
    """Values of an acquisition function and its derivatives, all of one shape."""

    value: FloatArray
    by_mean: FloatArray
    by_sd: FloatArray
    by_cost_mean: FloatArray
    by_cost_sd: FloatArray


@dataclass(eq=False, repr=False)
class TradeoffAcquisition(ABC):
    """Base of the acquisition functions that weigh a score against a cost.

    Parameters
    ----------
    alpha : float
        The tradeoff, > 0.
    scale : CostScale
        What is believed of the cost.

    Attributes
    ----------
    averages_by : Acquisition
        Whose way it is to average over samples of hyper-parameters.
    is_improvement : bool
        Whether its exponential is the expected improvement of T.
    """

    alpha: float
    scale: CostScale
    averages_by: ClassVar[Acquisition]
    is_improvement: ClassVar[bool] = False

    @abstractmethod
    def __call__(
        self, beliefs: Beliefs, best: FloatArray | float, least: float
    ) -> TradeoffUtility:
        """Evaluate at predictions of one shape.

        `best` is what is to be improved on, and `least` > 0 the smallest cost so far.
        """

    @abstractmethod
    def believed(self, beliefs: Beliefs) -> FloatArray:
        """Return the values of known configurations, whose largest is the `best`."""


class _Mean(Acquisition):
    is_log = False


class ScoreLessExcess(TradeoffAcquisition):
    """a_T = E max(L - L*, 0) - alpha E max(sigma - sigma*, 0).

    The published one: L* is the best score, sigma* the smallest cost. Once little is to
    be gained from any configuration, the cheapest one is the best.

    Parameters
    ----------
    alpha : float
        The tradeoff, > 0.
    scale : CostScale
        What is believed of the cost.

    Examples
    --------
    >>> from skbayes.acquisition.tradeoff import Beliefs, RawCost, ScoreLessExcess
    >>> acquisition = ScoreLessExcess(0.5, RawCost())
    >>> acquisition(Beliefs([0.8], [0.1], [0.5], [0.1]), 0.8, 0.5).value.round(4)
    array([0.0199])
    """

    averages_by = _Mean()

    def __call__(  # noqa: D102
        self, beliefs: Beliefs, best: FloatArray | float, least: float
    ) -> TradeoffUtility:
        mean, sd, cost_mean, cost_sd = beliefs
        log_gain = ExpectedImprovement()(mean, sd, best)
        gain = np.exp(log_gain.value)
        excess = self.scale.excess(cost_mean, cost_sd, least)
        return TradeoffUtility(
            gain - self.alpha * excess.value,
            gain * log_gain.by_mean,
            gain * log_gain.by_sd,
            -self.alpha * excess.by_mean,
            -self.alpha * excess.by_sd,
        )

    def believed(self, beliefs: Beliefs) -> FloatArray:  # noqa: D102
        return beliefs.mean


class ImprovementOfTradeoff(TradeoffAcquisition):
    """Logarithm of E max(T - T*, 0) for T = L - alpha sigma, T* the largest so far.

    T is taken for normal, with the means and variances of both parts.

    Parameters
    ----------
    alpha : float
        The tradeoff, > 0.
    scale : CostScale
        What is believed of the cost.

    Examples
    --------
    >>> from skbayes.acquisition.tradeoff import Beliefs, ImprovementOfTradeoff, RawCost
    >>> acquisition = ImprovementOfTradeoff(0.5, RawCost())
    >>> acquisition(Beliefs([0.8], [0.1], [0.4], [0.1]), 0.6, 0.2).value.round(4)
    array([-3.11])
    """

    averages_by = ExpectedImprovement()
    is_improvement = True

    def __call__(  # noqa: D102
        self, beliefs: Beliefs, best: FloatArray | float, least: float
    ) -> TradeoffUtility:
        mean, sd = np.asarray(beliefs.mean), np.asarray(beliefs.sd, dtype=np.float64)
        cost, variance = self.scale.moments(beliefs.cost_mean, beliefs.cost_sd)
        sd_of_t = np.sqrt(sd**2 + self.alpha**2 * variance.value)
        mean_of_t = mean - self.alpha * cost.value
        gain = ExpectedImprovement()(mean_of_t, sd_of_t, best)
        by_variance = 0.5 * self.alpha**2 * gain.by_sd / sd_of_t
        return TradeoffUtility(
            gain.value,
            gain.by_mean,
            gain.by_sd * sd / sd_of_t,
            by_variance * variance.by_mean - self.alpha * gain.by_mean * cost.by_mean,
            by_variance * variance.by_sd - self.alpha * gain.by_mean * cost.by_sd,
        )

    def believed(self, beliefs: Beliefs) -> FloatArray:  # noqa: D102
        cost, _ = self.scale.moments(beliefs.cost_mean, beliefs.cost_sd)
        return beliefs.mean - self.alpha * cost.value


#: Acquisition functions by the names that users write.
RULES: dict[str, type[TradeoffAcquisition]] = {
    "ei-tradeoff": ImprovementOfTradeoff,
    "paper": ScoreLessExcess,
}


# -- proposals ------------------------------------------------------------------------


@dataclass(frozen=True)
class TradeoffObservations(Observations):
    """Observations of scores and of negated costs, the two columns of `scores`.

    Parameters
    ----------
    fractions : ndarray of shape (n,)
        The sizes of the training sets, relative to the largest on offer.
    alpha : float
        The tradeoff that the next proposal is for.
    """

    fractions: FloatArray
    alpha: float

    @property
    def of_scores(self) -> Observations:
        """Observations of the scores alone."""
        return Observations(
            self.X,
            self.scores[:, 0],
            self.noise[:, 0],
            self.pending,
            slacks=self.slacks,
            pending_kept=self.pending_kept,
        )

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
        order = self.kept_first(np.argsort(-tradeoff, kind="stable"))
        return self.X[order[:N_INCUMBENTS]]


@dataclass(eq=False, repr=False)
class TradeoffProposer(Proposer):
    """Scores candidates by what is believed of their scores and costs.

    Without a tradeoff, or before a cost is known, it fits to the proposer for the
    scores alone.

    Parameters
    ----------
    of_scores : ModelProposer
        The proposer for scores.
    cost_model : GaussianProcess
        Learns costs; of one sample of its hyper-parameters.
    rule : type
        The acquisition function.
    cost_scale : {"auto", "log", "raw"}
        The scale that costs are normal on; "auto" takes the one on which the model
        predicts the known costs better, each from the others.

    Attributes
    ----------
    acquisition : TradeoffAcquisition
        What is made of scores and costs.
    best : ndarray of shape (S, 1)
        What is to be improved on.
    least : float
        The smallest cost so far.
    """

    of_scores: ModelProposer
    cost_model: GaussianProcess
    rule: type[TradeoffAcquisition]
    cost_scale: str = "auto"
    acquisition: TradeoffAcquisition = field(init=False)
    best: FloatArray = field(init=False)
    least: float = field(init=False)

    n_initial_points = 3

    def __post_init__(self) -> None:
        self.has_gradients = self.of_scores.has_gradients

    def fit(self, observations: TradeoffObservations) -> Proposer:  # noqa: D102
        has_cost = np.isfinite(observations.costs)
        if observations.alpha == 0.0 or not np.any(has_cost):
            return self.of_scores.fit(observations.of_scores)
        X, pending = observations.X, observations.pending
        fitted = copy.copy(self)
        fitted.surrogate = fit_surrogate(self.of_scores.model, observations.of_scores)
        typical = typical_cost(observations.costs, observations.fractions)
        sigma = (observations.costs / typical)[has_cost]
        costs = Observations(X[has_cost], sigma, np.zeros(len(sigma)), pending)
        scale, learned = self._scale(costs)
        fitted.cost_model = fit_surrogate(self.cost_model, costs, learned)
        fitted.acquisition = self.rule(observations.alpha, scale)
        known = observations.known[observations.is_rival]
        parts = *fitted.surrogate.predict(known), *fitted.cost_model.predict(known)
        believed = fitted.acquisition.believed(Beliefs(*np.broadcast_arrays(*parts)))
        fitted.best = np.max(believed, axis=1, keepdims=True)
        fitted.least = float(np.min(np.minimum(sigma, 1.0)))
        if not self.rule.averages_by.is_log:
            fitted.term_unit = float(np.std(observations.of_scores.y)) or 1.0
        return fitted

    def _scale(self, costs: Observations) -> tuple[CostScale, FloatArray]:
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

    def _fit_quality(self, costs: Observations, values: FloatArray) -> float:
        """Logarithm of the density of each value given the others."""
        mean, sd = self.cost_model.fit(costs.X, values).leave_one_out()
        z = (values - mean) / sd
        return float(np.sum(-0.5 * z * z - np.log(sd)))

    def _evaluate(self, X: FloatArray, gradient: bool) -> tuple[FloatArray, Any]:
        mean, sd, *slopes = predict(self.surrogate, X, gradient)
        cost_mean, cost_sd, *cost_slopes = predict(self.cost_model, X, gradient)
        beliefs = Beliefs(*np.broadcast_arrays(mean, sd, cost_mean, cost_sd))
        utility = self.acquisition(beliefs, self.best, self.least)
        value, shares = self.acquisition.averages_by.average(Utility(*utility[:3]))
        if not gradient:
            return value, None
        by_position = sum(
            by_belief[..., None] * slope
            for by_belief, slope in zip(
                utility[1:], [*slopes, *cost_slopes], strict=True
            )
        )
        return value, np.einsum("sm,smd->md", shares, by_position)

    def expected_improvement(self, row: FloatArray) -> float | None:
        """Return the expected improvement of L - alpha sigma on the best so far."""
        if not self.acquisition.is_improvement:
            return None
        return float(np.exp(self._evaluate(row[None, :], False)[0][0]))
