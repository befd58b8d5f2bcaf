"""Rules about learning curves that are compared in `rounds_curves.py`."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import stats

from skbayes.evaluation.learning_curves import GainModel, choose_rounds, has_stalled

Array = np.ndarray
__all__ = ["CHECKS", "CHOICES", "PATIENCE", "TwoPartRace", "fold_ends"]


class TwoPartRace(GainModel):
    """Predictions of the scores of trials from a first part of their mean curves."""

    def chance(self, first: Array) -> float:
        """Return the probability of a new best score, by Student's distribution."""
        lacking = float(np.max(self._scores) - np.max(first))
        if lacking <= 0.0 or np.all(first[: len(first) // 2] == first[0]):
            return 1.0
        center, sd, noise = self.log_gain(first)
        return float(stats.t.sf((math.log(lacking + noise) - center) / sd, self.df))


def checks_from(share: float, doublings: bool) -> Callable[[int], Array]:
    """Return a rule with checks at a share of the cap and at doublings of it."""

    def checks(cap: int) -> Array:
        first = max(16, int(share * cap))
        n = 1 + int(math.log2(max(1.0, cap / 2 / first))) if doublings else 1
        return first * 2 ** np.arange(n)

    return checks


# Checks, and the standard deviation of the error that is expected before any trial.
CHECKS: dict[str, tuple[Callable[[int], Array], float]] = {
    "1/16 only, 0.3": (checks_from(1 / 16, doublings=False), 0.3),
    **{
        f"1/{n}, {error}": (checks_from(1 / n, doublings=True), error)
        for n in (32, 16, 8)
        for error in (0.3, 0.5, 1.0)
    },
}


def smoothed(curve: Array, grid: Array, width: float) -> Array:
    """Return a moving average of a curve over rounds within a relative width."""
    sums = np.concatenate([[0.0], np.cumsum(curve)])
    low = np.searchsorted(grid, grid * (1 - width))
    high = np.searchsorted(grid, grid * (1 + width), "right")
    return (sums[high] - sums[low]) / (high - low)


def within_error(folds: Array, share: float) -> int:
    """Return the first point whose mean is within a share of its standard error."""
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
    """Return a rule that stops after `least` rounds without improvement.

    It also waits for at least a share of the rounds of the best point.
    """

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
    """Return the lengths of the curves of the folds at which their fits stop."""
    ends = []
    for curve in folds:
        length = 1
        while length < len(curve) and not stalled(curve[:length], grid):
            length += 1
        ends.append(length)
    return np.array(ends)
