"""Prior over the best configuration as a factor of the acquisition function.

Hvarfner et al. (2022), "πBO: Augmenting acquisition functions with user beliefs for
Bayesian optimization", multiply the acquisition function by density^(beta / n), with n
the number of observations. It is added to the logarithm here, and left out while the
scores contradict it.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import rankdata, t

from skbayes.acquisition.base import Observations
from skbayes.acquisition.terms import LogTerm
from skbayes.space.dimensions import FloatArray
from skbayes.space.optimum_prior import OptimumPrior

__all__ = ["PriorTerm", "is_contradicted", "prior_terms"]

# The logarithm of the density counts this many times with one observation.
BETA = 5.0

# Scores contradict a prior if a rank correlation as negative as theirs has at most this
# probability where density and score are independent.
LEVEL = 0.05

# With fewer observations no rank correlation is significant.
MIN_OBSERVATIONS = 4

# Candidates drawn from the prior for each proposal.
N_DRAWN = 128


class PriorTerm(LogTerm):
    """Multiple of the logarithm of the density of the best configuration.

    Parameters
    ----------
    prior : OptimumPrior
        The density.
    weight : float
        The multiple, > 0.
    """

    def __init__(self, prior: OptimumPrior, weight: float) -> None:
        self.prior = prior
        self.weight = weight

    def value(self, X: FloatArray) -> FloatArray:  # noqa: D102
        return self.weight * self.prior.log_density(X)

    def gradient(self, X: FloatArray) -> FloatArray:  # noqa: D102
        return self.weight * self.prior.gradient(X)

    def draw(self, random_state: np.random.Generator) -> FloatArray:  # noqa: D102
        return self.prior.sample(N_DRAWN, random_state)


def prior_terms(
    prior: OptimumPrior | None, observations: Observations
) -> list[LogTerm]:
    """Return the term of a prior, or none if nothing or the contrary is to be believed.

    The weight of the logarithm is 5 / n after n observations.
    """
    if prior is None or prior.is_flat or is_contradicted(prior, observations):
        return []
    return [PriorTerm(prior, BETA / max(len(observations.X), 1))]


def is_contradicted(prior: OptimumPrior, observations: Observations) -> bool:
    """Whether the scores are significantly better where the density is lower.

    By Spearman's rank correlation of density and score, and a one-sided test with
    Student's t distribution; of several objectives the mean rank is the score.
    """
    n = len(observations.X)
    if n < MIN_OBSERVATIONS:
        return False
    y = observations.y.reshape(n, -1)
    ranks = rankdata(np.mean(rankdata(y, axis=0), axis=1))
    densities = rankdata(prior.log_density(observations.X))
    if np.ptp(ranks) == 0.0 or np.ptp(densities) == 0.0:
        return False
    r = float(np.corrcoef(ranks, densities)[0, 1])
    if r >= 0.0:
        return False
    statistic = r * math.sqrt((n - 2) / max(1.0 - r * r, 1e-12))
    return bool(t.cdf(statistic, n - 2) <= LEVEL)
