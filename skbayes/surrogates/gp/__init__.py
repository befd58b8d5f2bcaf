"""Gaussian processes: plain, additive, and monotonic."""

from skbayes.surrogates.gp.additive import AdditiveGaussianProcess
from skbayes.surrogates.gp.gp import GaussianProcess
from skbayes.surrogates.gp.monotonic import MonotonicGP

__all__ = ["AdditiveGaussianProcess", "GaussianProcess", "MonotonicGP"]


def __dir__() -> list[str]:
    return sorted(__all__)
