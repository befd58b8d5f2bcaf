"""Tradeoff of score and cost: acquisition functions of both, and their proposer.

Symbols, in addition to those of :mod:`skbayes.acquisition.improvement`:

- ``alpha``: the tradeoff, >= 0. A cost of 1 is equivalent to a score of `alpha`.
- ``sigma``: the cost of a configuration, relative to a typical one on all of the data,
  and at most 1. For a score L, T = L - alpha sigma is maximized.
- ``mean``, ``sd`` of a cost: mean and standard deviation of a normal variable, which is
  sigma (raw scale), or the logarithm of the relative cost before it is cut at 1 (log
  scale).

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

from skbayes.acquisition.improvement import (
    ExpectedImprovement,
    Utility,
    average,
    slope_of_average,
)
from skbayes.acquisition.observations import Observations, fit_surrogate
from skbayes.acquisition.proposers import ModelProposer, Proposer
from skbayes.acquisition.terms import LOG_SQRT_2PI
from skbayes.results.trial_costs import typical_cost
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.gp.gp import GaussianProcess
from skbayes.surrogates.surrogate import predict

# Minimum number of costs to choose between the scales.
MIN_COSTS = 5


def _density(z: FloatArray) -> FloatArray:
    return np.exp(-0.5 * z * z - LOG_SQRT_2PI)


# -- relative costs -------------------------------------------------------------------


def relative_costs(costs: FloatArray, fractions: FloatArray) -> FloatArray:
    """Return costs relative to the typical cost, at most 1."""
    return np.minimum(1.0, costs / typical_cost(costs, fractions))


def envelope(scores: FloatArray, costs: FloatArray) -> tuple[np.ndarray, FloatArray]:
    """Compute the upper envelope of the lines score - alpha cost.

    Return the rows of the highest lines, and the alpha from which each is the highest.
    Among equal lines, the one with the lowest cost is used. Without lines, both arrays
    are empty.
    """
    usable = np.flatnonzero(np.isfinite(scores) & np.isfinite(costs))
    order = usable[np.lexsort((usable, costs[usable], -scores[usable]))]
    if not len(order):
        return order, np.array([])
    rows, begins = [order[0]], [0.0]
    while True:
        current = rows[-1]
        cheaper = usable[costs[usable] < costs[current]]
        if not len(cheaper):
            return np.array(rows), np.array(begins)
        # Intersections with the current line.
        meets = (scores[current] - scores[cheaper]) / (costs[current] - costs[cheaper])
        first = np.lexsort((cheaper, costs[cheaper], meets))[0]
        rows.append(cheaper[first])
        begins.append(float(meets[first]))


# -- distributions of a cost ----------------------------------------------------------


class RawCost:
    """Raw scale: sigma is normal, with `mean` and `sd` > 0 of the same shape.

    Examples
    --------
    >>> from skbayes.tradeoff.acquisition import RawCost
    >>> RawCost().excess([0.5], [0.1], 0.5).value.round(4)
    array([0.0399])
    """

    def excess(self, mean: FloatArray, sd: FloatArray, least: float) -> Utility:
        """Return E max(sigma - least, 0) for `least` > 0, and its derivatives."""
        sd = np.asarray(sd, dtype=np.float64)
        z = (np.asarray(mean) - least) / sd
        value = np.exp(ExpectedImprovement()(mean, sd, least).value)
        return Utility(value, ndtr(z), _density(z))

    def moments(self, mean: FloatArray, sd: FloatArray) -> tuple[Utility, Utility]:
        """Return mean and variance of sigma, each with its derivatives."""
        mean, sd = np.asarray(mean, float), np.asarray(sd, float)
        zeros, ones = np.zeros_like(mean), np.ones_like(mean)
        return Utility(mean, ones, zeros), Utility(sd**2, zeros, 2.0 * sd)


class LogCost:
    """Log scale: sigma is min(1, exp(N)) for a normal N, which is lognormal below 1.

    Examples
    --------
    >>> from skbayes.tradeoff.acquisition import LogCost
    >>> LogCost().excess([-1.0], [0.5], 0.2).value.round(4)
    array([0.2162])
    """

    def excess(self, mean: FloatArray, sd: FloatArray, least: float) -> Utility:
        """Return E max(sigma - least, 0) for `least` > 0, and its derivatives.

        max(sigma - least, 0) = sigma - min(sigma, least). The second term is least
        times a relative cost that is cut at 1.
        """
        mean, sd = np.asarray(mean, float), np.asarray(sd, float)
        whole = _truncated_moment(mean, sd, 1)
        lower = _truncated_moment(mean - np.log(least), sd, 1)
        parts = [a - least * b for a, b in zip(whole, lower, strict=True)]
        # The difference of nearly equal terms may be negative by rounding.
        return Utility(np.maximum(parts[0], 0.0), parts[1], parts[2])

    def moments(self, mean: FloatArray, sd: FloatArray) -> tuple[Utility, Utility]:
        """Return mean and variance of sigma, each with its derivatives."""
        mean, sd = np.asarray(mean, float), np.asarray(sd, float)
        first, second = (_truncated_moment(mean, sd, power) for power in (1, 2))
        variance = Utility(
            np.maximum(second.value - first.value**2, 0.0),
            second.by_mean - 2.0 * first.value * first.by_mean,
            second.by_sd - 2.0 * first.value * first.by_sd,
        )
        return first, variance


CostScale = RawCost | LogCost


def _truncated_moment(mean: FloatArray, sd: FloatArray, power: int) -> Utility:
    """Return E min(1, exp(N))^p for N ~ N(mean, sd^2).

    Let N = mean + sd Z, z = mean / sd and I = E[exp(p N); N < 0]
    = exp(p mean + p^2 sd^2 / 2) Phi(-z - p sd). The result is I + Phi(z). The
    derivative of min(1, exp(N))^p with respect to `mean` is p exp(p N) below the cut
    and 0 above, hence p I. The derivative with respect to `sd` has an additional factor
    Z: p (p sd I - phi(z)).
    """
    z = mean / sd
    exponent = power * mean + 0.5 * (power * sd) ** 2
    # Compute the product of a huge and a tiny number by their logarithms.
    inside = np.exp(exponent + log_ndtr(-z - power * sd))
    by_sd = power * (power * sd * inside - _density(z))
    return Utility(inside + ndtr(z), power * inside, by_sd)


# -- acquisition functions ------------------------------------------------------------


class Beliefs(NamedTuple):
    """Predictions of a score and of a cost, of the same shape, with ``sd > 0``."""

    mean: FloatArray
    sd: FloatArray
    cost_mean: FloatArray
    cost_sd: FloatArray


class TradeoffUtility(NamedTuple):
    """Values of an acquisition function and its derivatives, all of the same shape."""

    value: FloatArray
    by_mean: FloatArray
    by_sd: FloatArray
    by_cost_mean: FloatArray
    by_cost_sd: FloatArray


@dataclass(eq=False, repr=False)
class TradeoffAcquisition(ABC):
    """Base class of the acquisition functions of a score and a cost.

    `alpha` > 0 is the tradeoff, and `scale` is the distribution of the cost. If
    `is_log`, the exponential of a value is the expected improvement of T.
    """

    alpha: float
    scale: CostScale
    is_log: ClassVar[bool]

    @abstractmethod
    def __call__(
        self, beliefs: Beliefs, best: FloatArray | float, least: float
    ) -> TradeoffUtility:
        """Evaluate the acquisition function at predictions of the same shape.

        `best` is the value to improve on, and `least` > 0 is the smallest cost so far.
        """

    @abstractmethod
    def believed(self, beliefs: Beliefs) -> FloatArray:
        """Return the values of earlier configurations; the largest is the `best`."""


class ScoreLessExcess(TradeoffAcquisition):
    """Published function: a_T = E max(L - L*, 0) - alpha E max(sigma - sigma*, 0).

    L* is the best score, and sigma* is the smallest cost. If the expected gains of all
    configurations are small, it is maximal for the cheapest configuration.

    Examples
    --------
    >>> from skbayes.tradeoff.acquisition import Beliefs, RawCost, ScoreLessExcess
    >>> acquisition = ScoreLessExcess(0.5, RawCost())
    >>> acquisition(Beliefs([0.8], [0.1], [0.5], [0.1]), 0.8, 0.5).value.round(4)
    array([0.0199])
    """

    is_log = False

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

    T is assumed to be normal, with the means and variances of both parts.

    Examples
    --------
    >>> from skbayes.tradeoff.acquisition import Beliefs, ImprovementOfTradeoff, RawCost
    >>> acquisition = ImprovementOfTradeoff(0.5, RawCost())
    >>> acquisition(Beliefs([0.8], [0.1], [0.4], [0.1]), 0.6, 0.2).value.round(4)
    array([-3.11])
    """

    is_log = True

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


#: Acquisition functions by their names in the API.
RULES: dict[str, type[TradeoffAcquisition]] = {
    "ei-tradeoff": ImprovementOfTradeoff,
    "paper": ScoreLessExcess,
}


# -- proposals ------------------------------------------------------------------------


@dataclass(frozen=True)
class TradeoffObservations(Observations):
    """Observations of scores and of negated costs, the two columns of `scores`.

    `fractions` (n,) are the sizes of the training sets, relative to the largest
    available one, and `alpha` is the tradeoff of the next proposal.
    """

    fractions: FloatArray
    alpha: float

    @property
    def of_scores(self) -> Observations:
        """Observations of the scores only."""
        return Observations(
            self.X,
            self.scores[:, 0],
            self.noise[:, 0],
            self.pending,
            slacks=self.slacks,
            pending_feasible=self.pending_feasible,
        )

    @property
    def costs(self) -> FloatArray:
        """Costs, of shape (n,), NaN if unknown."""
        return -self.scores[:, 1]

    @property
    def incumbents(self) -> FloatArray:
        """Configurations with the best tradeoff, best first."""
        if self.alpha == 0.0 or not np.any(np.isfinite(self.costs)):
            return self.of_scores.incumbents
        if np.all(np.isnan(self.scores[:, 0])):
            return self.X[:0]
        sigma = relative_costs(self.costs, self.fractions)
        sigma = np.where(np.isnan(sigma), np.nanmax(sigma), sigma)
        return self.best_rows(self.of_scores.y - self.alpha * sigma)


@dataclass(eq=False, repr=False)
class TradeoffProposer(Proposer):
    """Proposer with an acquisition function of predicted scores and costs.

    `of_scores` is the proposer for scores, `cost_model` a model of costs with one
    sample of hyper-parameters, and `rule` the class of the acquisition function. If the
    tradeoff is 0, or no cost is observed yet, :meth:`fit` returns the proposer for
    scores. The `cost_scale` on which costs are assumed to be normal is "log" or "raw";
    "auto" selects the one with the better leave-one-out predictions of observed costs.
    `best` (S, 1) is the value to improve on, and `least` is the smallest cost so far.
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
        X, pending, costs = observations.X, observations.pending, observations.costs
        if observations.alpha == 0.0 or not np.any(np.isfinite(costs)):
            return self.of_scores.fit(observations.of_scores)
        # Otherwise, the costs of trials like failed ones would remain uncertain.
        known = np.where(np.isnan(observations.scores[:, 0]), np.nanmax(costs), costs)
        has_cost = np.isfinite(known)
        fitted = copy.copy(self)
        fitted.surrogate = fit_surrogate(self.of_scores.model, observations.of_scores)
        sigma = (known / typical_cost(costs, observations.fractions))[has_cost]
        observed = Observations(X[has_cost], sigma, np.zeros(len(sigma)), pending)
        scale, learned = self._scale(observed)
        fitted.cost_model = fit_surrogate(self.cost_model, observed, learned)
        fitted.acquisition = self.rule(observations.alpha, scale)
        rivals = observations.configurations[observations.is_rival]
        parts = *fitted.surrogate.predict(rivals), *fitted.cost_model.predict(rivals)
        believed = fitted.acquisition.believed(Beliefs(*np.broadcast_arrays(*parts)))
        fitted.best = np.max(believed, axis=1, keepdims=True)
        fitted.least = float(np.min(np.minimum(sigma, 1.0)))
        if not self.rule.is_log:
            fitted.term_unit = float(np.std(observations.of_scores.y)) or 1.0
        return fitted

    def _scale(self, costs: Observations) -> tuple[CostScale, FloatArray]:
        """Return a scale, and the costs on it."""
        raw = np.minimum(costs.scores, 1.0)
        if self.cost_scale == "raw" or np.min(costs.scores) <= 0.0:
            return RawCost(), raw
        logs = np.log(costs.scores)
        if self.cost_scale == "log" or len(raw) < MIN_COSTS:
            return LogCost(), logs
        # Both densities must refer to the same variable. The density of a cost is the
        # density of its logarithm, divided by the cost. Costs above 1 are not cut here.
        on_raw = self._fit_quality(costs, costs.scores)
        on_log = self._fit_quality(costs, logs) - float(np.sum(logs))
        return (LogCost(), logs) if on_log >= on_raw else (RawCost(), raw)

    def _fit_quality(self, costs: Observations, values: FloatArray) -> float:
        """Return the sum of the leave-one-out log densities of the values."""
        mean, sd = self.cost_model.fit(costs.X, values).leave_one_out()
        z = (values - mean) / sd
        return float(np.sum(-0.5 * z * z - np.log(sd)))

    def _evaluate(self, X: FloatArray, gradient: bool) -> tuple[FloatArray, Any]:
        mean, sd, *slopes = predict(self.surrogate, X, gradient)
        cost_mean, cost_sd, *cost_slopes = predict(self.cost_model, X, gradient)
        beliefs = Beliefs(*np.broadcast_arrays(mean, sd, cost_mean, cost_sd))
        utility = self.acquisition(beliefs, self.best, self.least)
        value, shares = average(utility.value, self.acquisition.is_log)
        if not gradient:
            return value, None
        return value, slope_of_average(shares, utility[1:], [*slopes, *cost_slopes])

    def expected_improvement(self, row: FloatArray) -> float | None:
        """Return the expected improvement of L - alpha sigma over the best value."""
        if not self.acquisition.is_log:
            return None
        return float(np.exp(self._evaluate(row[None, :], False)[0][0]))
