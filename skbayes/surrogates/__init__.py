"""Surrogates: models that predict the scores of configurations."""

from skbayes.surrogates.base import Surrogate
from skbayes.surrogates.gp.additive import AdditiveGaussianProcess
from skbayes.surrogates.gp.gp import GaussianProcess
from skbayes.surrogates.gp.monotonic import MonotonicGP
from skbayes.surrogates.gp.warped import WarpedGaussianProcess
from skbayes.surrogates.graph import GraphField
from skbayes.surrogates.parzen import ParzenEstimator
from skbayes.surrogates.trees import TreeEnsemble

__all__ = [
    "AdditiveGaussianProcess",
    "GaussianProcess",
    "GraphField",
    "ParzenEstimator",
    "MonotonicGP",
    "Surrogate",
    "TreeEnsemble",
    "WarpedGaussianProcess",
]
__dir__ = __all__.copy
