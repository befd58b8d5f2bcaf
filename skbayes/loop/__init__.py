"""Search loop: scheduling of trials, budgets, stopping rules and progress."""

from typing import TYPE_CHECKING

from skbayes.utils.late import attributes_of

if TYPE_CHECKING:
    from skbayes.loop.stopping import (
        ExpectedImprovementBelow,
        NoImprovement,
        TargetScore,
    )

__all__ = ["ExpectedImprovementBelow", "NoImprovement", "TargetScore"]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # otherwise, type checkers would accept any name
    __getattr__ = attributes_of(
        __name__, dict.fromkeys(__all__, "skbayes.loop.stopping")
    )
