"""Acquisition functions, their maximization, and proposers of configurations."""

from typing import TYPE_CHECKING

from skbayes.utils.late import attributes_of

if TYPE_CHECKING:
    from skbayes.acquisition.improvement import (
        Acquisition,
        ExpectedImprovement,
        ExpectedImprovementPerSecond,
        ProbabilityOfImprovement,
        UpperConfidenceBound,
        Utility,
    )
    from skbayes.acquisition.influence import ExpectedInfluence
    from skbayes.pareto.acquisition import ExpectedHypervolumeImprovement

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

if not TYPE_CHECKING:  # otherwise, type checkers would accept any name
    __getattr__ = attributes_of(
        __name__,
        dict.fromkeys(__all__, "skbayes.acquisition.improvement")
        | {
            "ExpectedHypervolumeImprovement": "skbayes.pareto.acquisition",
            "ExpectedInfluence": "skbayes.acquisition.influence",
        },
    )
