"""Boosting iterations, trees of forests and epochs, whose scores one fit provides."""

from skbayes.evaluation.rounds.watched_fit import RoundLimits

__all__ = ["RoundLimits"]


def __dir__() -> list[str]:
    return sorted(__all__)
