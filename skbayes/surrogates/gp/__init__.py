"""Gaussian processes: basic, warped, additive, and monotonic."""

from skbayes.surrogates.gp.additive import AdditiveGaussianProcess
from skbayes.surrogates.gp.gp import GaussianProcess
from skbayes.surrogates.gp.monotonic import MonotonicGP
from skbayes.surrogates.gp.warped import WarpedGaussianProcess

__all__ = [
    "AdditiveGaussianProcess",
    "GaussianProcess",
    "MonotonicGP",
    "WarpedGaussianProcess",
]
__dir__ = __all__.copy
