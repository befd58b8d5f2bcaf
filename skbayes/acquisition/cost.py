"""Terms of the acquisition function from a model of the costs of trials.

Symbols (m candidates, D columns):

- ``c``: logarithm of the cost of a trial, normal with mean mu and standard deviation s,
  which includes the noise of single costs.
- ``limit``: logarithm of the cost at which a trial is aborted.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from skbayes.acquisition.terms import LogTerm
from skbayes.space.dimensions import FloatArray

__all__ = ["CostTerm", "LimitTerm"]

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


class CostTerm(LogTerm):
    """Logarithm of cost^-alpha: -alpha mu.

    Added to the logarithm of the expected improvement, it gives the expected
    improvement per unit of cost (Snoek, Larochelle & Adams 2012, section 3.2). With
    alpha < 1, costs are cooled (Lee et al. 2020, "Cost-aware Bayesian optimization",
    section 4).

    Parameters
    ----------
    model : GaussianProcess
        Fitted model of the logarithms of costs, with one sample of hyper-parameters.
    alpha : float
        Exponent of the cost, >= 0.
    """

    def __init__(self, model: Any, alpha: float) -> None:
        self.model = model
        self.alpha = alpha

    def value(self, X: FloatArray) -> FloatArray:  # noqa: D102
        return -self.alpha * self.model.predict(X)[0][0]

    def gradient(self, X: FloatArray) -> FloatArray:  # noqa: D102
        return -self.alpha * self.model.predict(X, True)[2][0]


class LimitTerm(LogTerm):
    """Logarithm of the probability that a trial is not aborted: P(c <= limit).

    Gardner et al. (2014), "Bayesian optimization with inequality constraints",
    equation 6.

    Parameters
    ----------
    model : GaussianProcess
        Fitted model of c, with one sample of hyper-parameters.
    noise : float
        Variance of single costs around the predicted mean.
    limit : float
        Logarithm of the cost limit.
    """

    def __init__(self, model: Any, noise: float, limit: float) -> None:
        self.model = model
        self.noise = noise
        self.limit = limit

    def value(self, X: FloatArray) -> FloatArray:  # noqa: D102
        mean, sd = self.model.predict(X)
        return log_ndtr((self.limit - mean[0]) / np.sqrt(sd[0] ** 2 + self.noise))

    def gradient(self, X: FloatArray) -> FloatArray:  # noqa: D102
        mean, sd, d_mean, d_sd = (part[0] for part in self.model.predict(X, True))
        s = np.sqrt(sd**2 + self.noise)
        z = (self.limit - mean) / s
        hazard = np.exp(-0.5 * z * z - _LOG_SQRT_2PI - log_ndtr(z))
        d_s = (sd / s)[:, None] * d_sd
        return -(hazard / s)[:, None] * (d_mean + z[:, None] * d_s)
