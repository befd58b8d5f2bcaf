"""Rounds of boosting, trees of forests, and epochs: one fit gives the whole curve."""

from skbayes.evaluation.rounds.watched_fit import RoundLimits

__all__ = ["RoundLimits"]


def __dir__() -> list[str]:
    return sorted(__all__)
