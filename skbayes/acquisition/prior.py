"""Prior over the best configuration as a factor of the acquisition function.

Hvarfner et al. (2022), "πBO: Augmenting acquisition functions with user beliefs for
Bayesian optimization", multiply the acquisition function by density^(beta / n), with n
the number of observations. Its logarithm is added to that of the acquisition function
here, with less weight the more the scores contradict the prior.
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

# The logarithm of the density counts this many times with one observation.
BETA = 5.0

# With fewer observations a rank correlation says nothing.
MIN_OBSERVATIONS = 3

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
    """Return the term of a prior, or none if nothing is to be believed.

    After n observations the weight of the logarithm is 5 / n times its `agreement` with
    the scores.
    """
    if prior is None or prior.is_flat:
        return []
    weight = BETA / max(len(observations.X), 1) * agreement(prior, observations)
    return [PriorTerm(prior, weight)] if weight > 0.0 else []


def agreement(prior: OptimumPrior, observations: Observations) -> float:
    """Return how far the scores let a prior be believed, from 0 to 1.

    That is 1 if the rank correlation (Spearman) of density and score is not negative,
    and else twice the probability of one as negative if they were independent, by
    Student's t distribution: below a tenth where a one-sided test at the level of 0.05
    says that scores are better where the density is lower. Of several objectives the
    mean rank is the score.
    """
    n = len(observations.X)
    if n < MIN_OBSERVATIONS:
        return 1.0
    y = observations.y.reshape(n, -1)
    ranks = rankdata(np.mean(rankdata(y, axis=0), axis=1))
    densities = rankdata(prior.log_density(observations.X))
    if np.ptp(ranks) == 0.0 or np.ptp(densities) == 0.0:
        return 1.0
    r = float(np.corrcoef(ranks, densities)[0, 1])
    statistic = r * math.sqrt((n - 2) / max(1.0 - r * r, 1e-12))
    return min(1.0, 2.0 * float(t.cdf(statistic, n - 2)))
