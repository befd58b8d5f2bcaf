"""Learning curves: the choice of the number of rounds, and the pruning of trials.

A curve contains the scores (greater is better) at the first points of ``round_grid``.
The lengths of curves differ, because fits stop after a number of rounds without
improvement.

Symbols: r is the last round of the first part of a curve of the first fold, n is the
number of complete trials observed before, and K is the number of folds.

- ``level(r)``: mean of a curve over the points of the grid in (3r/4, r].
- ``slope``: level(r) - level(r/2), the gain in the last doubling of the rounds;
  ``before``: level(r/2) - level(r/4), the gain in the previous doubling.
- ``gain``: best score of the curve, minus the best score of the first part.
- ``noise``: smallest change that can be distinguished from 0. It is added to all slopes
  and gains.

Learning rates, and therefore the required numbers of rounds, differ by factors of a
hundred. A trial with a low score may learn slowly and become the best one. The model
therefore predicts the ratio of the remaining gain to the last gain, not the score:

    log(gain / slope) = a + b log(slope / before) + error

In slowly rising curves, slope / before is near 2, because they are still linear. In
saturated curves, it is almost 0. The coefficients are estimated by least squares from
the complete trials, and the error has Student's distribution. Its variance combines
n - 2 degrees of freedom with those of a prior. Without the prior, a few trials with
similar results by chance would give a variance that is too small.

The best score of the first fold determines the chance of the trial. This is the
probability that the mean over K folds exceeds the best mean, given the best score of
the first fold (``racing.Race``), averaged over the quantiles (i - 1/2)/64 of the gain.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from skbayes.evaluation.racing import FoldScores, Race

if TYPE_CHECKING:
    from skbayes.space.dimensions import FloatArray


IntArray = NDArray[np.int_]

# A step of the grid is 1 / EVERY_ROUND of the number of rounds before it.
EVERY_ROUND = 10
# A fit stops after a number of rounds without improvement. The minimum of this number
# is a constant, but at most a fraction of the cap, or a fraction of the best round.
MIN_PATIENCE = 50
PATIENCE_OF_CAP = 1 / 3
PATIENCE_OF_BEST = 1 / 2
# Rounds of the first check: a fraction of the cap, and a minimum for the curvature.
FIRST_SHARE = 1 / 32
MIN_FIRST = 16
# Number of complete trials that is required to predict gains.
MIN_TRIALS = 5
# Prior standard deviation of log(gain / slope), weight of the prior in trials, and
# fraction of the standard deviation of scores that counts as noise.
PRIOR_ERROR = 0.3
PRIOR_DF = 4
NOISE_SHARE = 0.01
# Quantiles of the gain over which the chance of a trial is averaged.
QUANTILES = (np.arange(64) + 0.5) / 64
# Limit of extrapolations, to prevent overflow.
MAX_LOG = 100.0


@dataclass(frozen=True)
class Guide:
    """Metric whose curves choose the number of rounds; None if there is only one."""

    metric: str | None = None
    sign: float = 1.0

    def curve(self, curves: Mapping[str, Sequence[float]] | None) -> FloatArray | None:
        """Return the curve of the metric, of which higher values are better."""
        if not curves:
            return None
        only = next(iter(curves)) if len(curves) == 1 else self.metric
        if only is None or only not in curves:
            return None
        return self.sign * np.array(curves[only], dtype=np.float64)


@functools.lru_cache(maxsize=64)
def round_grid(cap: int) -> IntArray:
    """Return the numbers of rounds at which curves have scores.

    These are all numbers up to 20, and then steps of 10%. The last point of a grid is
    its cap. Grids of two caps are equal below the smaller cap.
    """
    rounds = []
    current = 1
    while current < cap:
        rounds.append(current)
        current += max(1, current // EVERY_ROUND)
    grid = np.array([*rounds, cap])
    grid.flags.writeable = False  # shared by all callers
    return grid


# Grid without a cap, which is long enough for any estimator.
_ROUNDS = round_grid(10**8)


def check_rounds(cap: int) -> IntArray:
    """Return the rounds of a fold at which its trial may be pruned, by doubling."""
    grid = round_grid(cap)
    wanted = []
    current = max(MIN_FIRST, int(FIRST_SHARE * cap))
    while current <= cap // 2:
        wanted.append(current)
        current *= 2
    return grid[np.searchsorted(grid, wanted)]


def has_stalled(curve: FloatArray, rounds: IntArray) -> bool:
    """Return whether a fit can stop, because its score has not improved for long.

    Accuracy stays at that of the most frequent class until there are enough trees.
    Therefore, a curve that is still at its first score has not stalled. The last of the
    `rounds` is the cap.
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
    """Return the index of the best point of the mean curve within all curves."""
    length = min(len(curve) for curve in fold_curves)
    return int(np.argmax(np.mean([curve[:length] for curve in fold_curves], axis=0)))


def choose_by_others(fold_curves: Sequence[FloatArray]) -> list[int]:
    """Return the index of the best mean of the other curves, for each fold.

    The score of a fold at this index is not biased by the choice. If there is only one
    fold, the index of its best score is returned. Indices at which any fold has the
    score minus infinity are not chosen.
    """
    if len(fold_curves) == 1:
        return [choose_rounds(fold_curves)]
    length = min(len(curve) for curve in fold_curves)
    table = np.array([curve[:length] for curve in fold_curves])
    valid = np.all(table > -np.inf, axis=0)
    # Subtracting a curve from the sum of all curves would leave rounding errors.
    means = [np.mean(np.delete(table, i, axis=0), axis=0) for i in range(len(table))]
    return [int(np.argmax(np.where(valid, mean, -np.inf))) for mean in means]


@dataclass(frozen=True)
class CurveScores(FoldScores):
    """Guiding scores of a complete trial by split, with the curves of its folds."""

    curves: list[FloatArray]

    def of(self, places: Sequence[int]) -> FloatArray:
        """Return the scores of some folds, at the rounds that they choose."""
        curves = [self.curves[place] for place in places]
        chosen = choose_by_others(curves)
        return np.array([curve[k] for curve, k in zip(curves, chosen, strict=True)])


class FoldCurveRace:
    """Comparison of a trial with the best one during its first fold.

    Greater `curves` of the first folds of complete trials are better, and the `scores`
    are their best ones.
    """

    def __init__(
        self, curves: Sequence[FloatArray], scores: Sequence[float], race: Race
    ) -> None:
        self.ready = len(curves) >= MIN_TRIALS and race.ready
        self._race = race
        self._ends = np.cumsum([len(curve) for curve in curves])
        # Stored as one array, because it is sent to the workers.
        self._points = np.concatenate([*curves, []])
        self._scores = np.asarray(scores, dtype=np.float64)

    def chance(self, first: FloatArray) -> float:
        """Return the probability that the mean over all folds exceeds the best one."""
        first = np.asarray(first, dtype=np.float64)
        if not self.ready or not _has_started(first):
            return 1.0
        scores = np.max(first) + self._gains(first, QUANTILES)
        return float(np.mean(self._race.chances(scores[:, np.newaxis])))

    def estimate(self, first: FloatArray) -> tuple[float, float | None]:
        """Return the median of the predicted mean over all folds, and its variance.

        The distribution of the gain is skewed and has no finite variance. Instead, the
        standard deviation is half of the part of the 95% interval above the median.
        Two variances are added to its square: the variance due to the other folds, and
        the variance of a uniform distribution between the estimate and the best mean.
        The latter is added because the gains of pruned trials are often larger than
        predicted. The variance is None if few trials are complete.
        """
        first = np.asarray(first, dtype=np.float64)
        if not self.ready or not _has_started(first):
            return self._race.estimate([float(np.max(first))])
        gain, high = self._gains(first, np.array([0.5, 0.975]))
        score, variance = self._race.estimate([float(np.max(first) + gain)])
        assert variance is not None
        lacking = max(self._race.best - score, 0.0)
        return score, variance + float((high - gain) / 2.0) ** 2 + lacking**2 / 12.0

    def _gains(self, first: FloatArray, shares: FloatArray) -> FloatArray:
        """Return quantiles of the gain."""
        curves = np.split(self._points, self._ends[:-1])
        parts = [curve[: len(first)] for curve in curves]
        noise = self._noise([*parts, first])
        gains = self._scores - np.array([np.max(part) for part in parts])
        slopes, curvatures = np.transpose([_shape(part, noise) for part in parts])
        ratios = np.log(np.maximum(gains, 0.0) + noise) - slopes
        slope, curvature = _shape(first, noise)
        ratio, sd = _predict(curvatures, ratios, curvature)
        df = len(self._scores) - 2 + PRIOR_DF
        logs = slope + ratio + sd * stats.t.ppf(shares, df)
        return np.maximum(np.exp(np.minimum(logs, MAX_LOG)) - noise, 0.0)

    def _noise(self, parts: list[FloatArray]) -> float:
        rough = math.sqrt(float(np.mean([_roughness(part) for part in parts])))
        return max(rough + NOISE_SHARE * float(np.std(self._scores)), 1e-12)


def _has_started(first: FloatArray) -> bool:
    """Return whether a curve changes in the first half of its points."""
    half = first[: max(1, len(first) // 2)]
    return bool(np.any(half != half[0]))


def _level(part: FloatArray, last: float) -> float:
    """Return the mean of a curve over the last quarter of the rounds up to `last`."""
    begin, end = np.searchsorted(_ROUNDS, [0.75 * last, last], "right")
    end = max(1, end)
    return float(np.mean(part[min(begin, end - 1) : end]))


def _shape(part: FloatArray, noise: float) -> tuple[float, float]:
    """Return the log of the slope of a first part, and of its ratio to ``before``."""
    last = _ROUNDS[len(part) - 1]
    end, half, quarter = (_level(part, last / k) for k in (1, 2, 4))
    slope = math.log(max(end - half, 0.0) + noise)
    return slope, slope - math.log(max(half - quarter, 0.0) + noise)


def _roughness(part: FloatArray) -> float:
    """Return the noise variance of a curve; second differences have six times it."""
    bends = np.diff(part[len(part) // 2 :], 2)
    return float(np.mean(bends**2)) / 6.0 if len(bends) else 0.0


def _predict(x: FloatArray, y: FloatArray, new: float) -> tuple[float, float]:
    """Return the value at `new` of the line through x and y, and its standard error."""
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
