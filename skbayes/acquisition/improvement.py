"""Expected improvement and other acquisition functions of one score.

Symbols:

- ``mean``, ``sd``: predictions of the score, any shape, usually (S, m) for S samples
  of the surrogate's hyper-parameters and m candidates.
- ``best_f``: the score to improve on, broadcast to the shape of the predictions.
- ``z``: (mean - best_f) / sd.

EI and PI underflow to 0 in most of a space if `best_f` is good. Their logarithms are
therefore computed and maximized (Ament et al. 2023, "Unexpected improvements to
expected improvement for Bayesian optimization").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from skbayes.acquisition.terms import LOG_SQRT_2PI
from skbayes.space.dimensions import FloatArray

_SQRT_HALF_PI = np.sqrt(0.5 * np.pi)

# Above this z, phi + z Phi is computed directly; below it, from the Mills ratio.
_Z_DIRECT = -1.0

# Below this z, 1 + z m(z) has lost 12 digits to cancellation, and its asymptotic series
# in 1 / z^2 with four terms is exact to 13 digits.
_Z_SERIES = -100.0


class Utility(NamedTuple):
    """Values of an acquisition function and its derivatives, all of the same shape.

    Parameters
    ----------
    value : ndarray
        Values, greater is better.
    by_mean, by_sd : ndarray
        Derivatives with respect to the predicted means and standard deviations.
    """

    value: FloatArray
    by_mean: FloatArray
    by_sd: FloatArray


def _log_h(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log h(z) for h(z) = phi(z) + z Phi(z), and its derivative Phi / h."""
    z = np.asarray(z, dtype=np.float64)
    log_h, slope = np.empty_like(z), np.empty_like(z)
    direct = z > _Z_DIRECT
    zd = z[direct]
    h = np.exp(-0.5 * zd * zd - LOG_SQRT_2PI) + zd * ndtr(zd)
    log_h[direct], slope[direct] = np.log(h), ndtr(zd) / h
    zt = z[~direct]
    mills = _SQRT_HALF_PI * erfcx(-zt / np.sqrt(2.0))  # Phi / phi
    with np.errstate(over="ignore", divide="ignore"):
        inverse = 1.0 / (zt * zt)
    series = inverse * (1.0 - inverse * (3.0 - inverse * (15.0 - 105.0 * inverse)))
    ratio = np.where(zt > _Z_SERIES, 1.0 + zt * mills, series)  # h / phi
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_h[~direct] = np.log(ratio) - 0.5 * zt * zt - LOG_SQRT_2PI
        slope[~direct] = mills / ratio
    return log_h, slope


class Acquisition:
    """Base class of the acquisition functions.

    Attributes
    ----------
    is_log : bool
        Whether values are logarithms. Their exponentials are then averaged over samples
        of the surrogate's hyper-parameters.
    is_improvement : bool
        Whether it is the expected improvement, which is also defined for several
        objectives and accepted with samplers.
    needs_graph : bool
        Whether it is only defined on a graph of all configurations.
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
        """Evaluate the acquisition function at predictions.

        Parameters
        ----------
        mean, sd : ndarray of the same shape
            Means and standard deviations of the predicted scores, ``sd > 0``.
        best_f : float or ndarray
            Score to improve on.

        Returns
        -------
        utility : Utility
            Values, and derivatives with respect to `mean` and `sd`.
        """
        raise NotImplementedError

    def average(self, utility: Utility) -> tuple[FloatArray, FloatArray]:
        """Average values (S, m) over samples of the hyper-parameters, the first axis.

        Return the averages (m,), and their derivatives (S, m) by the values.
        """
        return average(utility.value, self.is_log)


def average(value: FloatArray, is_log: bool) -> tuple[FloatArray, FloatArray]:
    """Average values (S, m), or the exponentials of logarithms, over the first axis."""
    if not is_log:
        return value.mean(axis=0), np.full(value.shape, 1.0 / len(value))
    # Shifted by the maximum, so that the sum of exponentials cannot underflow.
    largest = np.max(value, axis=0)
    shares = np.exp(value - largest)
    total = np.sum(shares, axis=0)
    return largest + np.log(total / len(value)), shares / total


def slope_of_average(
    shares: FloatArray,
    by_prediction: Sequence[FloatArray],
    slopes: Sequence[FloatArray],
) -> FloatArray:
    """Return the derivatives (m, D) of an average by the positions (chain rule).

    The derivatives of a utility by predictions have the shape (S, m), and the
    derivatives of predictions by the positions (S, m, D).
    """
    pairs = zip(by_prediction, slopes, strict=True)
    by_position = sum(by_one[..., None] * slope for by_one, slope in pairs)
    return np.einsum("sm,smd->md", shares, by_position)


class ExpectedImprovement(Acquisition):
    """Expected improvement.

    Its value is the logarithm of E max(f - best_f, 0) = sd (phi(z) + z Phi(z)), with
    z = (mean - best_f) / sd (Jones, Schonlau & Welch 1998, equation 15). The
    computation is stable for any z. It uses the formula for z above -1, the scaled
    complementary error function down to -100, and an asymptotic series below.

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
    """Expected improvement divided by a power of the expected cost.

    The divisor is cost^alpha. A Gaussian process of the observed costs, such as the
    durations of trials, predicts the cost. The exponent alpha is the share of the
    optimizer's `cost_budget` that is left. The influence of the cost therefore
    decreases during a search (Lee et al. 2020, "Cost-aware Bayesian optimization").
    Without a budget, alpha is 1 (Snoek, Larochelle & Adams 2012, "Practical Bayesian
    optimization of machine learning algorithms").

    Examples
    --------
    >>> from skbayes import Optimizer
    >>> optimizer = Optimizer(
    ...     {"x": (0.0, 1.0)}, acquisition="ei-per-second", random_state=0
    ... )
    >>> for _ in range(8):
    ...     params = optimizer.ask()
    ...     optimizer.tell(params, params["x"], cost=10 ** (2 * params["x"]))
    >>> optimizer.best_params
    {'x': 1.0}
    """

    per_cost = True


class ProbabilityOfImprovement(Acquisition):
    """Probability of improvement.

    Its value is the logarithm of P(f > best_f) = Phi(z), with
    z = (mean - best_f) / sd (Kushner 1964).

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
        slope = np.exp(-0.5 * z * z - LOG_SQRT_2PI - log_probability)
        return Utility(log_probability, slope / sd, -z * slope / sd)


class UpperConfidenceBound(Acquisition):
    """Upper confidence bound.

    Its value is mean + kappa * sd (Srinivas et al. 2010, equation 6).

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
