"""Surrogates: models that predict the scores of configurations."""

from typing import TYPE_CHECKING

from skbayes.utils.late import attributes_of

if TYPE_CHECKING:
    from skbayes.hypertune.monotonic_gp import MonotonicGP
    from skbayes.surrogates.gp.additive import AdditiveGaussianProcess
    from skbayes.surrogates.gp.gp import GaussianProcess
    from skbayes.surrogates.gp.warped import WarpedGaussianProcess
    from skbayes.surrogates.graph import GraphField
    from skbayes.surrogates.parzen import ParzenEstimator
    from skbayes.surrogates.surrogate import Surrogate
    from skbayes.surrogates.trees import TreeEnsemble

__all__ = [
    "AdditiveGaussianProcess",
    "GaussianProcess",
    "GraphField",
    "MonotonicGP",
    "ParzenEstimator",
    "Surrogate",
    "TreeEnsemble",
    "WarpedGaussianProcess",
]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # otherwise, type checkers would accept any name
    __getattr__ = attributes_of(
        __name__,
        {
            "AdditiveGaussianProcess": "skbayes.surrogates.gp.additive",
            "GaussianProcess": "skbayes.surrogates.gp.gp",
            "GraphField": "skbayes.surrogates.graph",
            "MonotonicGP": "skbayes.hypertune.monotonic_gp",
            "ParzenEstimator": "skbayes.surrogates.parzen",
            "Surrogate": "skbayes.surrogates.surrogate",
            "TreeEnsemble": "skbayes.surrogates.trees",
            "WarpedGaussianProcess": "skbayes.surrogates.gp.warped",
        },
    )
