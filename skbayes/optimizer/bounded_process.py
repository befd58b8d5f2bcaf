"""Gaussian process of values, some of which are only known by a bound.

Symbols (n values, k of them bounds, D columns):

- ``y``: (n,) values, or their bounds.
- ``sides``: (n,) 0 for a value, +1 for a lower bound y, -1 for an upper bound y.
- ``g``: (k,) f - y at the bounds, with f the process. A bound means that g plus noise
  has the sign of its side. Its likelihood is Phi(side g / nu), where nu is the standard
  deviation of the noise (Tobit model).

Expectation propagation replaces each of these likelihoods by an observation with its
own variance. Groot & Lucas (2012), "Gaussian process regression with censored data
using expectation propagation".
"""

from __future__ import annotations

import numpy as np

from skbayes.space.dimensions import FloatArray
from skbayes.surrogates import GaussianProcess
from skbayes.surrogates.gp.ep import propagate

__all__ = ["fit_bounded", "noise_variance"]

# Minimum noise, and minimum precision of an observation that replaces a bound, both
# for standardized values.
MIN_NU, MIN_TAU = 1e-3, 1e-6

# Variance of an observation without information.
NO_INFORMATION = 1e9


def noise_variance(process: GaussianProcess) -> float:
    """Return the noise variance of single values, in squared units of the values."""
    unit = process.units[1]
    return float(np.exp(process.thetas_[0, -1])) * unit**2


def fit_bounded(
    learner: GaussianProcess, X: FloatArray, y: FloatArray, sides: FloatArray
) -> GaussianProcess:
    """Fit values and bounds with the hyper-parameters and units of a fitted process.

    Parameters
    ----------
    learner : GaussianProcess
        The fitted process, with one sample of hyper-parameters.
    X : ndarray of shape (n, D)
        Encoded configurations.
    y : ndarray of shape (n,)
        Values and bounds.
    sides : ndarray of shape (n,)
        0 for a value, +1 for a lower bound, -1 for an upper bound.

    Returns
    -------
    process : GaussianProcess
        Process fitted to the values and to the observations that replace the bounds.
    """
    offset, unit = learner.units
    *length_scales, amplitude, noise = np.exp(learner.thetas_[0])
    process = GaussianProcess(
        learner.kernel,
        n_options=learner.n_options,
        winsorize_scores=False,
        hyperparameters={
            "length_scales": length_scales,
            "amplitude": amplitude,
            "noise": noise,
            "offset": offset,
            "unit": unit,
        },
    )
    bound = sides != 0.0
    known = ~bound
    if np.any(known):
        process.fit(X[known], y[known])
    else:
        process.fit(X[:1], np.array([offset]), np.array([NO_INFORMATION * unit**2]))
    mean, covariance = process.joint(X[bound])
    nu = np.full(np.sum(bound), max(np.sqrt(noise), MIN_NU))
    sites = propagate(
        (mean[0] - y[bound]) / unit, covariance[0] / unit**2, sides[bound], nu
    )
    informative = sites.tau > MIN_TAU
    tau = np.where(informative, sites.tau, MIN_TAU)
    values, extra = y.copy(), np.zeros(len(y))
    values[bound] += unit * np.where(informative, sites.shift / tau, 0.0)
    # The process adds the noise that all values share.
    extra[bound] = unit**2 * np.maximum(1.0 / tau - noise, 0.0)
    return process.fit(X, values, extra)
