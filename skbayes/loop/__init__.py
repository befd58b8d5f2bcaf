"""Search loop: scheduling of trials, budgets, stopping rules and progress."""

from skbayes.loop.stopping import ExpectedImprovementBelow, NoImprovement, TargetScore

__all__ = ["ExpectedImprovementBelow", "NoImprovement", "TargetScore"]
__dir__ = __all__.copy
