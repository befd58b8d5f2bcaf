"""Boosting iterations, trees of forests and epochs, whose scores one fit provides."""

from skbayes.evaluation.rounds.watched_fit import RoundLimits

__all__ = ["RoundLimits"]
__dir__ = __all__.copy
