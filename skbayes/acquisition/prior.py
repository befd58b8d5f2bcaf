"""Prior over the best configuration as a factor of the acquisition function.

Hvarfner et al. (2022), "πBO: Augmenting acquisition functions with user beliefs for
Bayesian optimization", multiply the acquisition function by density^(beta / n), with n
the number of observations. Here, the logarithm of this factor is added to the logarithm
of the acquisition function. Its weight decreases if the scores contradict the prior.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import rankdata, t

from skbayes.acquisition.base import Observations
from skbayes.acquisition.terms import LogTerm
from skbayes.space.dimensions import FloatArray
from skbayes.space.optimum_prior import OptimumPrior

__all__ = ["PriorTerm", "agreement", "prior_terms"]

# Weight of the logarithm of the density with one observation.
BETA = 5.0

# Minimum number of observations for a rank correlation.
MIN_OBSERVATIONS = 3

# Number of candidates drawn from the prior for each proposal.
N_DRAWN = 128


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


def prior_terms(
    prior: OptimumPrior | None, observations: Observations
) -> list[LogTerm]:
    """Return the term of a prior, or an empty list if its weight is 0.

    After n observations, the weight of the logarithm is 5 / n times the `agreement` of
    the prior with the scores.
    """
    if prior is None or prior.is_flat:
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
