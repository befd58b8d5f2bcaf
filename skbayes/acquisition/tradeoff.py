"""Worth of a configuration when its score is weighed against its cost.

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

from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr

from skbayes.acquisition.improvement import (
    Acquisition,
    ExpectedImprovement,
    FloatArray,
    Utility,
)

__all__ = [
    "CostScale",
    "ImprovementOfTradeoff",
    "LogCost",
    "RawCost",
    "ScoreLessExcess",
    "TradeoffAcquisition",
    "TradeoffUtility",
]

_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)


def _density(z: FloatArray) -> FloatArray:
    return np.exp(-0.5 * z * z - _LOG_SQRT_2PI)


# -- what is believed of a cost -------------------------------------------------------


class CostScale:
    """What follows from a normal belief about a cost."""

    def excess(self, mean: FloatArray, sd: FloatArray, least: float) -> Utility:
        """Compute by how much a cost is expected to exceed another one.

        Parameters
        ----------
        mean, sd : ndarray of one shape
            The belief, ``sd > 0``.
        least : float
            The other one, > 0.

        Returns
        -------
        excess : Utility
            E max(sigma - least, 0) and its derivatives.
        """
        raise NotImplementedError

    def moments(self, mean: FloatArray, sd: FloatArray) -> tuple[Utility, Utility]:
        """Compute mean and variance of a cost.

        Parameters
        ----------
        mean, sd : ndarray of one shape
            The belief, ``sd > 0``.

        Returns
        -------
        mean, variance : Utility
            Of sigma, and their derivatives.
        """
        raise NotImplementedError


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

    def __init__(self, cut: bool = True) -> None:
        self.cut = cut

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


# -- acquisitions ---------------------------------------------------------------------


class TradeoffUtility(NamedTuple):
    """Values of an acquisition and its derivatives, all of one shape.

    Parameters
    ----------
    value : ndarray
        Values, greater is better.
    by_mean, by_sd : ndarray
        Derivatives by what is predicted of the score.
    by_cost_mean, by_cost_sd : ndarray
        Derivatives by what is predicted of the cost.
    """

    value: FloatArray
    by_mean: FloatArray
    by_sd: FloatArray
    by_cost_mean: FloatArray
    by_cost_sd: FloatArray


class TradeoffAcquisition:
    """Base of the acquisitions that weigh a score against a cost.

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
    """

    averages_by: ClassVar[Acquisition]

    def __init__(self, alpha: float, scale: CostScale) -> None:
        self.alpha = alpha
        self.scale = scale

    def __call__(
        self,
        mean: FloatArray,
        sd: FloatArray,
        cost_mean: FloatArray,
        cost_sd: FloatArray,
        best: FloatArray | float,
        least: float,
    ) -> TradeoffUtility:
        """Evaluate at predictions.

        Parameters
        ----------
        mean, sd : ndarray of one shape
            Predicted scores, ``sd > 0``.
        cost_mean, cost_sd : ndarray of the same shape
            Predicted costs, ``cost_sd > 0``.
        best : float or ndarray
            What is to be improved on: the best score, or the best T.
        least : float
            The smallest cost so far, > 0.

        Returns
        -------
        utility : TradeoffUtility
            Values and derivatives.
        """
        raise NotImplementedError

    def believed(
        self, mean: FloatArray, cost_mean: FloatArray, cost_sd: FloatArray
    ) -> FloatArray:
        """Say what is to be improved on at configurations that are known.

        Parameters
        ----------
        mean : ndarray
            What is believed of their scores.
        cost_mean, cost_sd : ndarray of the same shape
            What is believed of their costs.

        Returns
        -------
        values : ndarray of the same shape
            Of which the largest is to be improved on.
        """
        raise NotImplementedError


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
    >>> from skbayes.acquisition.tradeoff import RawCost, ScoreLessExcess
    >>> acquisition = ScoreLessExcess(0.5, RawCost())
    >>> acquisition([0.8], [0.1], [0.5], [0.1], 0.8, 0.5).value.round(4)
    array([0.0199])
    """

    averages_by = _Mean()

    def __call__(  # noqa: D102
        self,
        mean: FloatArray,
        sd: FloatArray,
        cost_mean: FloatArray,
        cost_sd: FloatArray,
        best: FloatArray | float,
        least: float,
    ) -> TradeoffUtility:
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

    def believed(  # noqa: D102
        self, mean: FloatArray, cost_mean: FloatArray, cost_sd: FloatArray
    ) -> FloatArray:
        return mean


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
    >>> from skbayes.acquisition.tradeoff import ImprovementOfTradeoff, RawCost
    >>> acquisition = ImprovementOfTradeoff(0.5, RawCost())
    >>> acquisition([0.8], [0.1], [0.4], [0.1], 0.6, 0.2).value.round(4)
    array([-3.11])
    """

    averages_by = ExpectedImprovement()

    def __call__(  # noqa: D102
        self,
        mean: FloatArray,
        sd: FloatArray,
        cost_mean: FloatArray,
        cost_sd: FloatArray,
        best: FloatArray | float,
        least: float,
    ) -> TradeoffUtility:
        sd = np.asarray(sd, dtype=np.float64)
        cost, variance = self.scale.moments(cost_mean, cost_sd)
        sd_of_t = np.sqrt(sd**2 + self.alpha**2 * variance.value)
        mean_of_t = np.asarray(mean) - self.alpha * cost.value
        gain = ExpectedImprovement()(mean_of_t, sd_of_t, best)
        by_variance = 0.5 * self.alpha**2 * gain.by_sd / sd_of_t
        return TradeoffUtility(
            gain.value,
            gain.by_mean,
            gain.by_sd * sd / sd_of_t,
            by_variance * variance.by_mean - self.alpha * gain.by_mean * cost.by_mean,
            by_variance * variance.by_sd - self.alpha * gain.by_mean * cost.by_sd,
        )

    def believed(  # noqa: D102
        self, mean: FloatArray, cost_mean: FloatArray, cost_sd: FloatArray
    ) -> FloatArray:
        return mean - self.alpha * self.scale.moments(cost_mean, cost_sd)[0].value
