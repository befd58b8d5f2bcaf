"""What is worth trying: acquisition functions and their maximisation."""

from skbayes.acquisition.hypervolume import ExpectedHypervolumeImprovement
from skbayes.acquisition.improvement import (
    Acquisition,
    ExpectedImprovement,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
    Utility,
)

__all__ = [
    "Acquisition",
    "ExpectedHypervolumeImprovement",
    "ExpectedImprovement",
    "ProbabilityOfImprovement",
    "UpperConfidenceBound",
    "Utility",
]
