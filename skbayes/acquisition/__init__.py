"""Acquisition functions, their maximization, and proposers of configurations."""

from skbayes.acquisition.improvement import (
    Acquisition,
    ExpectedImprovement,
    ExpectedImprovementPerSecond,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
    Utility,
)
from skbayes.acquisition.influence import ExpectedInfluence
from skbayes.acquisition.pareto import ExpectedHypervolumeImprovement

__all__ = [
    "Acquisition",
    "ExpectedHypervolumeImprovement",
    "ExpectedImprovement",
    "ExpectedImprovementPerSecond",
    "ExpectedInfluence",
    "ProbabilityOfImprovement",
    "UpperConfidenceBound",
    "Utility",
]
__dir__ = __all__.copy
