"""Search loop: scheduling of trials, budgets, stopping rules and progress."""

from typing import NoReturn

from skbayes.loop.stopping import ExpectedImprovementBelow, NoImprovement, TargetScore

__all__ = ["ExpectedImprovementBelow", "NoImprovement", "TargetScore"]
__dir__ = __all__.copy


def __getattr__(name: str) -> NoReturn:
    from skbayes.utils.did_you_mean import missing_name

    raise missing_name(__name__, name)
