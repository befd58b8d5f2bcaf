"""Learning curves: the choice of the number of rounds, and of trials to stop early.

Symbols: a curve has the scores (greater is better) at the first points of the grid of
rounds that ``round_grid`` returns; curves have different lengths, because fits stop
when they do not improve. ``s`` is the score of a first part, its best; ``slope`` and
``before`` are what the curve gained in its last doubling of the rounds, and in the one
before; ``gain`` is what a complete trial gained after its first part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from skbayes.space.dimensions import FloatArray

__all__ = ["CurveRace", "choose_rounds", "first_rounds", "has_stalled", "round_grid"]

IntArray = NDArray[np.int_]

# Rounds that are all on the grid; later steps are one part in so many.
EVERY_ROUND = 100
# Complete trials before gains are predicted.
MIN_TRIALS = 5
# Rounds without improvement after which a fit stops: at least, and as a share.
MIN_PATIENCE = 50
PATIENCE = 0.25


def round_grid(cap: int) -> IntArray:
    """Numbers of rounds at which curves have scores: all to 100, then steps of 1 %."""
    rounds = []
    current = 1
    while current < cap:
        rounds.append(current)
        current += max(1, current // EVERY_ROUND)
    return np.array([*rounds, cap])


def first_rounds(cap: int) -> int:
    """Rounds of the first part of a trial, after which it may be pruned."""
    return max(1, min(32, cap // 4))


def has_stalled(curve: FloatArray, rounds: IntArray) -> bool:
    """Whether a fit has not improved for so long that it can stop."""
    best = rounds[int(np.argmax(curve))]
    return bool(rounds[len(curve) - 1] - best >= max(MIN_PATIENCE, PATIENCE * best))


def choose_rounds(fold_curves: Sequence[FloatArray]) -> int:
    """Index of the best point of the mean curve, up to the end of the shortest one."""
    length = min(len(curve) for curve in fold_curves)
    return int(np.argmax(np.mean([curve[:length] for curve in fold_curves], axis=0)))


class CurveRace:
    """Predicts from the first part of a curve which score a trial will reach.

    Parameters
    ----------
    curves : sequence of array-like
        Curves of the complete trials, averaged over folds; greater is better.
    scores : sequence of float
        Scores of these trials at the chosen numbers of rounds.
    """

    def __init__(self, curves: Sequence[FloatArray], scores: Sequence[float]) -> None:
        self.ready = len(curves) >= MIN_TRIALS
        self._curves = [np.asarray(curve, dtype=np.float64) for curve in curves]
        self._scores = np.asarray(scores, dtype=np.float64)

    def chance(self, first: FloatArray) -> float:
        """Probability of the best score so far; 1 if few trials are known."""
        if not self.ready:
            return 1.0
        score, variance = self.estimate(first)
        if variance is None:
            return 1.0
        difference = score - float(np.max(self._scores))
        if variance == 0.0:
            return float(difference >= 0.0)
        degrees = max(1, len(self._scores) - 2)
        return float(stats.t.cdf(difference / math.sqrt(variance), degrees))

    def estimate(self, first: FloatArray) -> tuple[float, float | None]:
        """Predicted score, and the variance of the prediction if it is known."""
        first = np.asarray(first, dtype=np.float64)
        best = float(np.max(first))
        parts = [
            (curve[: len(first)], score)
            for curve, score in zip(self._curves, self._scores, strict=True)
            if len(curve) >= len(first)
        ]
        if not self.ready or len(parts) < MIN_TRIALS:
            return best, None
        gains = np.array([score - np.max(part) for part, score in parts])
        X = np.array([[1.0, _slope(part)] for part, _ in parts])
        weights, *_ = np.linalg.lstsq(X, gains, rcond=None)
        residuals = gains - X @ weights
        variance = float(np.sum(residuals**2)) / max(1, len(parts) - 2)
        x = np.array([1.0, _slope(first)])
        predicted = best + max(0.0, float(x @ weights))
        return predicted, variance * (1.0 + 1.0 / len(parts))


def _slope(part: FloatArray) -> float:
    """Gain in the second half of a part, taken to be one doubling of the rounds."""
    return float(np.max(part) - np.max(part[: (len(part) + 1) // 2]))
