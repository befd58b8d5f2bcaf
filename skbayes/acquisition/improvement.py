"""Expected improvement and other acquisition functions of one score.

Symbols:

- ``mean``, ``sd``: predictions of the score, any shape, usually (S, m) for S samples
  of the surrogate's hyper-parameters and m candidates.
- ``best_f``: the score to improve on, broadcast against them.
- ``z``: (mean - best_f) / sd.

EI and PI underflow to 0 over most of a space once `best_f` is good, so that their
logarithms are computed and maximized (Ament et al. 2023, "Unexpected improvements to
expected improvement for Bayesian optimization").
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from skbayes.space.dimensions import FloatArray

__all__ = [
    "Acquisition",
    "ExpectedImprovement",
    "ExpectedImprovementPerSecond",
    "ProbabilityOfImprovement",
    "UpperConfidenceBound",
    "Utility",
]

_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
_SQRT_HALF_PI = np.sqrt(0.5 * np.pi)

# Above this z, phi + z Phi is computed as it stands; below, from the Mills ratio.
_Z_DIRECT = -1.0

# Below this z, 1 + z m(z) has lost 12 digits to cancellation and its asymptotic
# series in 1 / z^2, cut after four terms, is exact to 13.
_Z_SERIES = -100.0


class Utility(NamedTuple):
    """Values of an acquisition function and its derivatives, all of one shape.

    Parameters
    ----------
    value : ndarray
        Values, greater is better.
    by_mean : ndarray
        Derivatives by the predicted means.
    by_sd : ndarray
        Derivatives by the predicted standard deviations.
    """

    value: FloatArray
    by_mean: FloatArray
    by_sd: FloatArray


def _log_h(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log of h(z) = phi(z) + z Phi(z), and its derivative Phi(z) / h(z)."""
    z = np.asarray(z, dtype=np.float64)
    log_h, slope = np.empty_like(z), np.empty_like(z)
    direct = z > _Z_DIRECT
    zd = z[direct]
    h = np.exp(-0.5 * zd * zd - _LOG_SQRT_2PI) + zd * ndtr(zd)
    log_h[direct], slope[direct] = np.log(h), ndtr(zd) / h
    zt = z[~direct]
    mills = _SQRT_HALF_PI * erfcx(-zt / np.sqrt(2.0))  # Phi / phi
    with np.errstate(over="ignore", divide="ignore"):
        inverse = 1.0 / (zt * zt)
    series = inverse * (1.0 - inverse * (3.0 - inverse * (15.0 - 105.0 * inverse)))
    ratio = np.where(zt > _Z_SERIES, 1.0 + zt * mills, series)  # h / phi
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_h[~direct] = np.log(ratio) - 0.5 * zt * zt - _LOG_SQRT_2PI
        slope[~direct] = mills / ratio
    return log_h, slope


class Acquisition:
    """Base of the acquisition functions.

    Attributes
    ----------
    is_log : bool
        Whether values are logarithms, so that averaging over samples of the
        surrogate's hyper-parameters means averaging their exponentials.
    is_improvement : bool
        Whether it is the expected improvement, which has a meaning for several
        objectives and for samplers, too.
    needs_graph : bool
        Whether it is defined on a graph of all configurations only.
    per_cost : bool
        Whether the utility is divided by the expected cost of a trial.
    """

    is_log: ClassVar[bool] = True
    is_improvement: ClassVar[bool] = False
    needs_graph: ClassVar[bool] = False
    per_cost: ClassVar[bool] = False

    def __call__(
        self, mean: FloatArray, sd: FloatArray, best_f: FloatArray | float
    ) -> Utility:
        """Evaluate at predictions.

        Parameters
        ----------
        mean, sd : ndarray of one shape
            Predicted scores, ``sd > 0``.
        best_f : float or ndarray
            Score to improve on.

        Returns
        -------
        utility : Utility
            Values and derivatives by `mean` and `sd`.
        """
        raise NotImplementedError

    def average(self, utility: Utility) -> tuple[FloatArray, FloatArray]:
        """Average over the leading axis of samples."""
        count = len(utility.value)
        if not self.is_log:
            shares = np.full(utility.value.shape, 1.0 / count)
            return utility.value.mean(axis=0), shares
        # Shifted by the largest, so that the sum of exponentials cannot underflow.
        largest = np.max(utility.value, axis=0)
        shares = np.exp(utility.value - largest)
        total = np.sum(shares, axis=0)
        return largest + np.log(total / count), shares / total


class ExpectedImprovement(Acquisition):
    """Logarithm of E max(f - best_f, 0) = sd (phi(z) + z Phi(z)).

    Jones, Schonlau & Welch (1998), equation 15. Stable for any z: above -1 by the
    formula, down to -100 by the scaled complementary error function, below by an
    asymptotic series.

    Examples
    --------
    >>> from skbayes.acquisition import ExpectedImprovement
    >>> ExpectedImprovement()([0.0], [1.0], 0.0).value.round(4)
    array([-0.9189])
    """

    is_improvement = True

    def __call__(  # noqa: D102
        self, mean: FloatArray, sd: FloatArray, best_f: FloatArray | float
    ) -> Utility:
        sd = np.asarray(sd, dtype=np.float64)
        z = (mean - np.asarray(best_f)) / sd
        log_h, slope = _log_h(z)
        return Utility(np.log(sd) + log_h, slope / sd, (1.0 - z * slope) / sd)


class ExpectedImprovementPerSecond(ExpectedImprovement):
    """Expected improvement divided by cost^alpha.

    A Gaussian process of the costs told to the optimizer, such as the seconds of
    trials, predicts the cost. alpha is the share of the optimizer's `cost_budget` that
    is left, so that the price of a trial matters less and less (Lee et al. 2020,
    "Cost-aware Bayesian optimization"). Without a budget alpha is 1 (Snoek, Larochelle
    & Adams 2012, "Practical Bayesian optimization of machine learning algorithms").

    Examples
    --------
    >>> from skbayes import Optimizer
    >>> optimizer = Optimizer(
    ...     {"x": (0.0, 1.0)}, acquisition="ei-per-second", random_state=0
    ... )
    >>> for _ in range(8):
    ...     params = optimizer.ask()
    ...     optimizer.tell(params, params["x"], cost=10 ** (2 * params["x"]))
    >>> optimizer.best_params["x"] > 0.5
    True
    """

    per_cost = True


class ProbabilityOfImprovement(Acquisition):
    """Logarithm of P(f > best_f) = Phi(z), Kushner (1964).

    Examples
    --------
    >>> from skbayes.acquisition import ProbabilityOfImprovement
    >>> ProbabilityOfImprovement()([0.0], [1.0], 0.0).value.round(4)
    array([-0.6931])
    """

    def __call__(  # noqa: D102
        self, mean: FloatArray, sd: FloatArray, best_f: FloatArray | float
    ) -> Utility:
        sd = np.asarray(sd, dtype=np.float64)
        z = (mean - np.asarray(best_f)) / sd
        log_probability = log_ndtr(z)
        slope = np.exp(-0.5 * z * z - _LOG_SQRT_2PI - log_probability)
        return Utility(log_probability, slope / sd, -z * slope / sd)


class UpperConfidenceBound(Acquisition):
    """mean + kappa * sd, Srinivas et al. (2010), equation 6.

    Parameters
    ----------
    kappa : float, default=2.0
        Weight of the standard deviation, >= 0.

    Raises
    ------
    ValueError
        If `kappa` is negative.

    Examples
    --------
    >>> from skbayes.acquisition import UpperConfidenceBound
    >>> UpperConfidenceBound(kappa=1.0)([0.5], [0.25], 0.0).value
    array([0.75])
    """

    is_log = False

    def __init__(self, kappa: float = 2.0) -> None:
        if not kappa >= 0.0:
            raise ValueError(f"kappa must be >= 0, got {kappa!r}.")
        self.kappa = kappa

    def __call__(  # noqa: D102
        self, mean: FloatArray, sd: FloatArray, best_f: FloatArray | float
    ) -> Utility:
        mean, sd = np.asarray(mean, float), np.asarray(sd, float)
        return Utility(
            mean + self.kappa * sd, np.ones_like(sd), np.full_like(sd, self.kappa)
        )
