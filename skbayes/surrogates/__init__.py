"""What is believed about the score of a configuration that was not tried."""

from skbayes.surrogates.additive import AdditiveGaussianProcess
from skbayes.surrogates.gaussian_process import GaussianProcess
from skbayes.surrogates.graph_field import GraphField
from skbayes.surrogates.parzen import ParzenEstimator
from skbayes.surrogates.sign_process import SignProcess
from skbayes.surrogates.trees import TreeEnsemble

__all__ = [
    "AdditiveGaussianProcess",
    "GaussianProcess",
    "GraphField",
    "ParzenEstimator",
    "SignProcess",
    "TreeEnsemble",
]


def __dir__() -> list[str]:
    return sorted(__all__)
