"""Learning curves: the choice of the number of rounds, and the pruning of trials.

A curve has the scores (greater is better) at the first points of ``round_grid``. Curves
have different lengths, because fits stop when they have not improved for long.

Symbols (r the last round of a first part of the curve of the first fold, n complete
trials told before, K folds):

- ``level(r)``: mean of a curve over the points of the grid in (3r/4, r].
- ``slope``: level(r) - level(r/2), the gain in the last doubling of the rounds;
  ``before``: level(r/2) - level(r/4), the gain in the doubling before it.
- ``gain``: score of the first fold, at the rounds that its trial chose, minus the best
  of the first part. It counts as 0 if it is negative, as it can be because the rounds
  are chosen for all folds.
- ``noise``: the small change that a slope or a gain cannot be told from; it is added to
  all of them.

Learning rates, and so the rounds that are needed, differ by factors of a hundred: a
trial with a low score may be a slow one that becomes the best. Therefore the score
itself does not count, but how many times its last gain a fold still gains. With

    log(gain / slope) = a + b log(slope / before) + error

slow curves have slope / before near 2, as they are still linear, and saturated ones
nearly 0. The coefficients are least squares over the complete trials, and the error has
Student's distribution. Its variance is that of n - 2 degrees of freedom and of a prior,
because few trials that happen to agree would otherwise make sure of too much.

The score of the first fold and the gain then give the chance of the trial: the
probability that the mean over K folds exceeds the best, given the score of the first
fold (``racing.Race``), is averaged over the quantiles (i - 1/2)/64 of the gain.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from skbayes.evaluation.racing import Race
from skbayes.space.dimensions import FloatArray

__all__ = [
    "FoldCurveRace",
    "GainModel",
    "check_rounds",
    "choose_rounds",
    "has_stalled",
    "round_grid",
]

IntArray = NDArray[np.int_]

# A step of the grid is one part in so many of the rounds before it.
EVERY_ROUND = 10
# Rounds without improvement after which a fit stops: at least so many, but no more than
# this share of the cap, and this share of the rounds of the best score.
MIN_PATIENCE = 50
PATIENCE_OF_CAP = 1 / 3
PATIENCE_OF_BEST = 1 / 2
# The first check: this share of the cap, and rounds that have a curvature.
FIRST_SHARE = 1 / 32
MIN_FIRST = 16
# Complete trials before gains are predicted.
MIN_TRIALS = 5
# Standard deviation of log(gain / slope) that is expected before any trial, how many
# trials it counts as, and the share of the deviation of scores that counts as noise.
PRIOR_ERROR = 0.3
PRIOR_DF = 4
NOISE_SHARE = 0.01
# Quantiles of the gain over which the chance of a trial is averaged.
QUANTILES = (np.arange(64) + 0.5) / 64
# Far extrapolations do not overflow.
MAX_LOG = 100.0


@functools.lru_cache(maxsize=64)
def round_grid(cap: int) -> IntArray:
    """Numbers of rounds at which curves have scores: all to 20, then steps of 10 %.

    Grids of two caps agree up to the smaller cap, which is the last point of its grid.

    Examples
    --------
    >>> from skbayes.evaluation.learning_curves import round_grid
    >>> round_grid(5)
    array([1, 2, 3, 4, 5])
    >>> round_grid(1000)[-3:]
    array([ 884,  972, 1000])
    """
    rounds = []
    current = 1
    while current < cap:
        rounds.append(current)
        current += max(1, current // EVERY_ROUND)
    grid = np.array([*rounds, cap])
    grid.flags.writeable = False  # shared by all callers
    return grid


# The grid without a cap, long enough for any learner.
_ROUNDS = round_grid(10**8)


def check_rounds(cap: int) -> IntArray:
    """List the rounds of a fold after which its trial may be pruned: doublings."""
    grid = round_grid(cap)
    wanted = []
    current = max(MIN_FIRST, int(FIRST_SHARE * cap))
    while current <= cap // 2:
        wanted.append(current)
        current *= 2
    return grid[np.searchsorted(grid, wanted)]


def has_stalled(curve: FloatArray, rounds: IntArray) -> bool:
    """Whether a fit has not improved for so many rounds that it can stop.

    Accuracy stays at that of the most frequent class until enough trees have added up:
    a curve that has not left its first score has not stalled.

    Parameters
    ----------
    curve : ndarray
        Scores so far, at the first points of the grid.
    rounds : ndarray of int
        The whole grid, whose last point is the cap.
    """
    curve = np.asarray(curve, dtype=np.float64)
    changed = np.flatnonzero(curve != curve[0])
    if not len(changed):
        return False
    best = rounds[max(int(np.argmax(curve)), int(changed[0]) - 1)]
    least = min(MIN_PATIENCE, PATIENCE_OF_CAP * rounds[-1])
    waited = rounds[len(curve) - 1] - best
    return bool(waited >= max(least, PATIENCE_OF_BEST * best))


def choose_rounds(fold_curves: Sequence[FloatArray]) -> int:
    """Index of the best point of the mean curve, up to the end of the shortest one."""
    length = min(len(curve) for curve in fold_curves)
    return int(np.argmax(np.mean([curve[:length] for curve in fold_curves], axis=0)))


class GainModel:
    """Predicts how much the score of a curve still gains after its first part.

    Parameters
    ----------
    curves : sequence of array-like
        Curves of the complete trials; greater is better.
    scores : sequence of float
        Scores of these curves at the chosen numbers of rounds.
    """

    def __init__(self, curves: Sequence[FloatArray], scores: Sequence[float]) -> None:
        self.ready = len(curves) >= MIN_TRIALS
        self._ends = np.cumsum([len(curve) for curve in curves])
        # One array, as it is sent to the workers.
        self._points = np.concatenate([*curves, []])
        self._scores = np.asarray(scores, dtype=np.float64)

    def log_gain(self, first: FloatArray) -> tuple[float, float, float]:
        """Center and scale of the logarithm of gain plus noise, and the noise."""
        curves = np.split(self._points, self._ends[:-1])
        parts = [curve[: len(first)] for curve in curves]
        noise = self._noise([*parts, first])
        gains = self._scores - np.array([np.max(part) for part in parts])
        slopes, curvatures = np.transpose([_shape(part, noise) for part in parts])
        ratios = np.log(np.maximum(gains, 0.0) + noise) - slopes
        slope, curvature = _shape(first, noise)
        ratio, sd = _predict(curvatures, ratios, curvature)
        return slope + ratio, sd, noise

    def gains(self, first: FloatArray, shares: FloatArray) -> FloatArray:
        """Quantiles of the gain."""
        center, sd, noise = self.log_gain(first)
        logs = center + sd * stats.t.ppf(shares, self.df)
        return np.maximum(np.exp(np.minimum(logs, MAX_LOG)) - noise, 0.0)

    @property
    def df(self) -> int:
        """Degrees of freedom of the error."""
        return len(self._scores) - 2 + PRIOR_DF

    def _noise(self, parts: list[FloatArray]) -> float:
        rough = math.sqrt(float(np.mean([_roughness(part) for part in parts])))
        return max(rough + NOISE_SHARE * float(np.std(self._scores)), 1e-12)


class FoldCurveRace:
    """Compares what a trial can still become with the best, within its first fold.

    Parameters
    ----------
    curves : sequence of array-like
        Curves of the first folds of the complete trials; greater is better.
    scores : sequence of float
        Scores of these folds at the chosen numbers of rounds.
    race : Race
        Compares the scores of the first folds with those of the best trial.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.evaluation.learning_curves import FoldCurveRace
    >>> from skbayes.evaluation.racing import Race
    >>> rounds = np.arange(1, 21)
    >>> rates = [0.1, 0.2, 0.3, 0.4, 0.6, 0.8]
    >>> curves = [0.9 - rate / 10 - np.exp(-rate * rounds) for rate in rates]
    >>> scores = [curve.max() for curve in curves]
    >>> table = [[score, score + 0.01, score - 0.01] for score in scores]
    >>> race = FoldCurveRace(curves, scores, Race(table))
    >>> slow, bad = 0.9 - np.exp(-0.1 * rounds), 0.6 - np.exp(-0.8 * rounds)
    >>> race.chance(bad[:16]) < 0.01 < race.chance(slow[:16])
    True
    """

    def __init__(
        self, curves: Sequence[FloatArray], scores: Sequence[float], race: Race
    ) -> None:
        self._model = GainModel(curves, scores)
        self._race = race
        self.ready = self._model.ready and race.ready

    def chance(self, first: FloatArray) -> float:
        """Probability that the mean over all folds will exceed the best.

        1 if few trials are known, or while the curve has not left its first score.
        """
        first = np.asarray(first, dtype=np.float64)
        if not self.ready or not _has_started(first):
            return 1.0
        scores = np.max(first) + self._model.gains(first, QUANTILES)
        return float(np.mean(self._race.chances(scores[:, np.newaxis])))

    def estimate(self, first: FloatArray) -> tuple[float, float | None]:
        """Median of the predicted mean over all folds, and its variance if it is known.

        The gain is skewed, and has no variance of its own: its standard deviation is
        half of its 95 % interval above the median. That of the other folds is added,
        and that of a uniform distribution from the estimate to the best: a pruned
        trial is one of which the gain seems small, and such gains are often larger.
        """
        first = np.asarray(first, dtype=np.float64)
        if not self.ready or not _has_started(first):
            return self._race.estimate([float(np.max(first))])
        gain, high = self._model.gains(first, np.array([0.5, 0.975]))
        score, variance = self._race.estimate([float(np.max(first) + gain)])
        assert variance is not None
        lacking = max(self._race.best - score, 0.0)
        return score, variance + float((high - gain) / 2.0) ** 2 + lacking**2 / 12.0


def _has_started(first: FloatArray) -> bool:
    """Whether a curve has left its first score in the first half of its points."""
    half = first[: max(1, len(first) // 2)]
    return bool(np.any(half != half[0]))


def _level(part: FloatArray, last: float) -> float:
    """Mean of a curve over the last quarter of the rounds up to `last`."""
    begin, end = np.searchsorted(_ROUNDS, [0.75 * last, last], "right")
    end = max(1, end)
    return float(np.mean(part[min(begin, end - 1) : end]))


def _shape(part: FloatArray, noise: float) -> tuple[float, float]:
    """Logarithms of the slope of a first part, and of its ratio to the one before."""
    last = _ROUNDS[len(part) - 1]
    end, half, quarter = (_level(part, last / k) for k in (1, 2, 4))
    slope = math.log(max(end - half, 0.0) + noise)
    return slope, slope - math.log(max(half - quarter, 0.0) + noise)


def _roughness(part: FloatArray) -> float:
    """Variance of the noise of a curve, from the second differences of its second half.

    The second difference of independent noise has six times its variance.
    """
    bends = np.diff(part[len(part) // 2 :], 2)
    return float(np.mean(bends**2)) / 6.0 if len(bends) else 0.0


def _predict(x: FloatArray, y: FloatArray, new: float) -> tuple[float, float]:
    """Value at `new` of the line through x and y, and the scale of its error."""
    center = float(np.mean(x))
    spread = float(np.sum((x - center) ** 2))
    b = float(np.sum((x - center) * y)) / spread if spread > 0.0 else 0.0
    a = float(np.mean(y))
    residuals = y - a - b * (x - center)
    distance = (new - center) ** 2 / spread if spread > 0.0 else 0.0
    squares = float(np.sum(residuals**2)) + PRIOR_DF * PRIOR_ERROR**2
    variance = squares / (len(y) - 2 + PRIOR_DF)
    value = a + b * (new - center)
    return value, math.sqrt(variance * (1.0 + 1.0 / len(y) + distance))
