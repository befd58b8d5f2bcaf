"""Rules about learning curves that `rounds_curves.py` compares with the package's own.

Races predict the score of a trial from a first part of its curve. All have as much of
the interface of `CurveRace` as the comparison needs: they are made from the curves and
scores of the complete trials, and `chance(first)` is the probability of a new best.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from skbayes.evaluation.learning_curves import CurveRace, choose_rounds, has_stalled

Array = np.ndarray
__all__ = ["CHOICES", "PATIENCE", "RACES", "fold_ends"]


def level(part: Array, share: float) -> float:
    """Mean of the last quarter of the points up to a share of a part."""
    end = max(1, int(share * len(part)))
    return float(np.mean(part[int(0.75 * end) : end]))


def shape(part: Array) -> tuple[float, float, float]:
    """Level, and the gains in the last doubling and in the one before."""
    end, half, quarter = (level(part, share) for share in (1, 1 / 2, 1 / 4))
    return end, end - half, half - quarter


class GainRace:
    """Least squares of the gain on what `row` gives of a first part."""

    def __init__(self, curves: list[Array], scores: list[float]) -> None:
        self.curves, self.scores = curves, np.array(scores)

    def row(self, part: Array) -> list[float]:
        """Give the predictors of the gain."""
        return [1.0]

    def start(self, part: Array) -> float:
        """Give the score to which the gain is added."""
        return float(part.max())

    def chance(self, first: Array) -> float:
        """Probability of a new best score, by Student's distribution."""
        parts = [curve[: len(first)] for curve in self.curves]
        X = np.array([self.row(part) for part in parts])
        gains = self.scores - np.array([self.start(part) for part in parts])
        n, p = X.shape
        inverse = np.linalg.pinv(X.T @ X)
        weights = inverse @ X.T @ gains
        df = max(1, n - p)
        variance = float(np.sum((gains - X @ weights) ** 2)) / df
        x = np.array(self.row(first))
        sd = math.sqrt(max(variance * (1.0 + x @ inverse @ x), 1e-24))
        lacking = self.scores.max() - self.start(first) - float(x @ weights)
        return float(stats.t.sf(lacking / sd, df))


class SlopeRace(GainRace):
    """The gain is linear in the slope."""

    def row(self, part: Array) -> list[float]:  # noqa: D102
        return [1.0, shape(part)[1]]


class ShapeRace(GainRace):
    """The gain is linear in score, slope and the slope before."""

    def row(self, part: Array) -> list[float]:  # noqa: D102
        return [1.0, *shape(part)]


class PowerRace(GainRace):
    """The score is the power law through the first part, plus a constant."""

    exponents = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
    # Many doublings further: the caps are 30 times the first part.
    further = 32.0

    def start(self, part: Array) -> float:  # noqa: D102
        rounds = np.arange(1.0, len(part) + 1.0)[len(part) // 4 :]
        fits = []
        for c in self.exponents:
            X = np.column_stack([np.ones(len(rounds)), -(rounds**-c)])
            weights, *_ = np.linalg.lstsq(X, part[len(part) // 4 :], rcond=None)
            error = np.sum((part[len(part) // 4 :] - X @ weights) ** 2)
            end = weights[0] - weights[1] * (self.further * len(part)) ** -c
            fits.append((float(error), float(end)))
        return max(min(fits)[1], float(part.max()))


class RatioRace(CurveRace):
    """The package's race without its care for curves that are still at their start."""

    def chance(self, first: Array) -> float:  # noqa: D102
        lacking = float(np.max(self._scores) - np.max(first))
        if lacking <= 0.0:
            return 1.0
        center, sd, noise = self._log_gain(first)
        return float(stats.t.sf((math.log(lacking + noise) - center) / sd, self._df))


RACES: dict[str, Any] = {
    "gain is constant": GainRace,
    "gain linear in slope": SlopeRace,
    "gain linear in score, slope, slope before": ShapeRace,
    "power law": PowerRace,
    "ratio, flat starts too": RatioRace,
    "CurveRace": CurveRace,
}


def smoothed(curve: Array, grid: Array, width: float) -> Array:
    """Average a curve over the rounds within a factor."""
    sums = np.concatenate([[0.0], np.cumsum(curve)])
    low = np.searchsorted(grid, grid * (1 - width))
    high = np.searchsorted(grid, grid * (1 + width), "right")
    return (sums[high] - sums[low]) / (high - low)


def within_error(folds: Array, share: float) -> int:
    """First point whose mean lacks less than a share of its standard error."""
    mean = folds.mean(axis=0)
    best = int(np.argmax(mean))
    error = (folds - folds[:, [best]]).std(axis=0, ddof=1) / len(folds) ** 0.5
    return int(np.argmax(mean >= mean[best] - share * error - 1e-15))


CHOICES: dict[str, Callable[[Array, Array], int]] = {
    "choose_rounds": lambda folds, grid: choose_rounds(folds),
    "best of the curve smoothed by 10 %": lambda folds, grid: int(
        np.argmax(smoothed(folds.mean(axis=0), grid, 0.1))
    ),
    "best of the curve smoothed by 25 %": lambda folds, grid: int(
        np.argmax(smoothed(folds.mean(axis=0), grid, 0.25))
    ),
    "within 1/4 standard error": lambda folds, grid: within_error(folds, 0.25),
    "within 1 standard error": lambda folds, grid: within_error(folds, 1.0),
    "median of the folds' own best": lambda folds, grid: int(
        np.median(np.argmax(folds, axis=1))
    ),
    "the cap": lambda folds, grid: folds.shape[1] - 1,
}


def waits(
    least: float, share: float, starts: bool = True
) -> Callable[[Array, Array], bool]:
    """Make a rule: stalled after `least` rounds, and a share of those of the best."""

    def stalled(curve: Array, grid: Array) -> bool:
        best = int(np.argmax(curve))
        changed = np.flatnonzero(curve != curve[0])
        if starts and not len(changed):
            return False
        if starts:
            best = max(best, int(changed[0]) - 1)
        waited = grid[len(curve) - 1] - grid[best]
        return bool(waited >= max(least, share * grid[best]))

    return stalled


PATIENCE: dict[str, Callable[[Array, Array], bool]] = {
    "has_stalled": has_stalled,
    "20 rounds": waits(20, 0),
    "50 rounds": waits(50, 0),
    "50 rounds, 1/4 of the best": waits(50, 0.25),
    "50 rounds, as many as the best": waits(50, 1.0),
    "100 rounds": waits(100, 0),
    "100 rounds, as many as the best": waits(100, 1.0),
    "50 rounds, flat starts too": waits(50, 0, starts=False),
    "the cap": lambda curve, grid: False,
}


def fold_ends(
    folds: Array, grid: Array, stalled: Callable[[Array, Array], bool]
) -> Array:
    """Points at which the fits of a trial stop: lengths of the curves of the folds."""
    ends = []
    for curve in folds:
        length = 1
        while length < len(curve) and not stalled(curve[:length], grid):
            length += 1
        ends.append(length)
    return np.array(ends)
