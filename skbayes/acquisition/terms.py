"""Factors of the acquisition function that do not depend on the surrogate of the score.

The acquisition function is multiplied by a prior of the optimum, by the probability
that limits are not exceeded, and by a power of the cost of a trial. The logarithms of
these factors are added to its logarithm.

Symbols (m candidates, D columns):

- ``c``: logarithm of the cost of a trial, normal with mean mu and standard deviation s,
  which includes the noise of single costs.
- ``limit``: logarithm of the cost at which a trial is aborted.

Hvarfner et al. (2022), "πBO: Augmenting acquisition functions with user beliefs for
Bayesian optimization", multiply the acquisition function by density^(beta / n), with n
the number of observations. Here, the weight also decreases if the scores contradict the
prior.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import rankdata, t

from skbayes.acquisition.observations import Observations
from skbayes.space.dimensions import FloatArray
from skbayes.space.optimum_prior import OptimumPrior

# Normalization of the logarithm of the standard normal density.
LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)

# Weight of the logarithm of the density with one observation.
BETA = 5.0

# Minimum number of observations for a rank correlation.
MIN_OBSERVATIONS = 3

# Number of candidates drawn from the prior for each proposal.
N_DRAWN = 128


class LogTerm(ABC):
    """Logarithm of a factor of the acquisition function.

    Attributes
    ----------
    has_gradients : bool
        Whether :meth:`gradient` can be called. If a term has no gradient, the
        acquisition function is maximized without gradients.
    is_feasibility : bool
        Whether the factor is the probability that constraints are satisfied, with which
        an expected improvement is multiplied.
    """

    has_gradients: bool = True
    is_feasibility: bool = False

    @abstractmethod
    def value(self, X: FloatArray) -> FloatArray:
        """Return the values (m,) at encoded configurations (m, D)."""

    def gradient(self, X: FloatArray) -> FloatArray:
        """Return the gradients (m, D); 0 in unordered columns."""
        raise NotImplementedError

    def draw(self, random_state: np.random.Generator) -> FloatArray | None:
        """Return additional encoded candidates (k, D), or None."""
        return None


def sum_values(terms: Sequence[LogTerm], X: FloatArray) -> FloatArray:
    """Return the sum (m,) of the values of all terms."""
    return sum((term.value(X) for term in terms), start=np.zeros(len(X)))


def sum_gradients(terms: Sequence[LogTerm], X: FloatArray) -> FloatArray:
    """Return the sum (m, D) of the derivatives of all terms."""
    return sum((term.gradient(X) for term in terms), start=np.zeros(X.shape))


def draw_candidates(
    terms: Sequence[LogTerm], n_columns: int, random_state: np.random.Generator
) -> FloatArray:
    """Return the candidates (k, D) that the terms draw."""
    drawn = [term.draw(random_state) for term in terms]
    rows = [candidates for candidates in drawn if candidates is not None]
    return np.vstack([np.empty((0, n_columns)), *rows])


class CostTerm(LogTerm):
    """Logarithm of cost^-alpha: -alpha mu.

    Added to the logarithm of the expected improvement, it gives the expected
    improvement per unit of cost (Snoek, Larochelle & Adams 2012, section 3.2). With
    alpha < 1, costs are cooled (Lee et al. 2020, "Cost-aware Bayesian optimization",
    section 4).
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

    Gardner et al. (2014), "Bayesian optimization with inequality constraints", equation
    6. The model of c has one sample of hyper-parameters; `noise` is the variance of
    single costs around its mean.
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
        hazard = np.exp(-0.5 * z * z - LOG_SQRT_2PI - log_ndtr(z))
        d_s = (sd / s)[:, None] * d_sd
        return -(hazard / s)[:, None] * (d_mean + z[:, None] * d_s)


class PriorTerm(LogTerm):
    """Multiple of the logarithm of the prior density of the best configuration."""

    def __init__(self, prior: OptimumPrior, weight: float) -> None:
        self.prior = prior
        self.weight = weight

    def value(self, X: FloatArray) -> FloatArray:  # noqa: D102
        return self.weight * self.prior.centered_log_density(X)

    def gradient(self, X: FloatArray) -> FloatArray:  # noqa: D102
        return self.weight * self.prior.gradient(X)

    def draw(self, random_state: np.random.Generator) -> FloatArray:  # noqa: D102
        return self.prior.sample(N_DRAWN, random_state)


def prior_terms(prior: OptimumPrior, observations: Observations) -> list[LogTerm]:
    """Return the term of a prior, or an empty list if its weight is 0.

    After n observations, the weight of the logarithm is 5 / n times the `agreement` of
    the prior with the scores.
    """
    if prior.is_flat:
        return []
    weight = BETA / max(len(observations.X), 1) * agreement(prior, observations)
    return [PriorTerm(prior, weight)] if weight > 0.0 else []


def agreement(prior: OptimumPrior, observations: Observations) -> float:
    """Return the agreement of a prior with the scores, from 0 to 1.

    The agreement is 1 if the rank correlation (Spearman) of density and score is not
    negative. Otherwise, it is twice the probability of a correlation at least as
    negative if both are independent, by Student's t distribution. It is below 0.1 if a
    one-sided test at the level of 0.05 finds that scores are better where the density
    is lower. With several objectives, the score is the mean rank.
    """
    n = len(observations.X)
    if n < MIN_OBSERVATIONS:
        return 1.0
    y = observations.y.reshape(n, -1)
    ranks = rankdata(np.mean(rankdata(y, axis=0), axis=1))
    densities = rankdata(prior.centered_log_density(observations.X))
    if np.ptp(ranks) == 0.0 or np.ptp(densities) == 0.0:
        return 1.0
    r = float(np.corrcoef(ranks, densities)[0, 1])
    statistic = r * math.sqrt((n - 2) / max(1.0 - r * r, 1e-12))
    return min(1.0, 2.0 * float(t.cdf(statistic, n - 2)))
