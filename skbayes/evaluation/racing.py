"""Racing: the chance of a trial to become the best, from its first folds.

Symbols (K splits, m of them finished, n complete trials told before):

- ``table``: (n, K) scores of the complete trials, split by split.
- ``best``: (K,) the row of the best of them; ``d``: (m,) differences to it.
- ``variance``: of what is left of a score once the means of its trial and of its split
  are taken away, from the two-way analysis of variance without replication of
  ``table``, with (n - 1) (K - 1) degrees of freedom. As one more degree counts the
  variance between the splits of a trial, which is at least as large: a few trials that
  happen to agree would otherwise make sure of far too much.

Splits differ more than good trials do, and each trial sees the same ones: so scores
are compared within splits. With a flat prior on the true difference, the difference of
the complete means is then distributed as mean(d) + sqrt(2 variance (1/m - 1/K)) t, with
t of Student's distribution with as many degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from skbayes.space.dimensions import FloatArray

__all__ = ["Race"]

# Complete trials before the variance of differences is trusted.
MIN_TRIALS = 3


class Race:
    """Compares the first folds of a trial with the best complete one so far.

    Parameters
    ----------
    table : array-like of shape (n, K)
        Scores of the complete trials, split by split; greater is better.

    Examples
    --------
    >>> from skbayes.evaluation.racing import Race
    >>> race = Race([[0.90, 0.80, 0.85], [0.88, 0.79, 0.84], [0.70, 0.62, 0.66]])
    >>> bool(race.chance([0.3]) < 0.01 < race.chance([0.89]))
    True
    """

    def __init__(self, table: Sequence[FloatArray] | FloatArray) -> None:
        rows = np.array(table, dtype=np.float64)
        self.ready = len(rows) >= MIN_TRIALS and rows.shape[1] > 1
        if not self.ready:
            return
        n, self._K = rows.shape
        self._best = rows[np.argmax(rows.mean(axis=1))]
        residuals = rows - rows.mean(axis=0) - rows.mean(axis=1, keepdims=True)
        residuals += rows.mean()
        between = float(np.mean(np.var(rows, axis=1, ddof=1)))
        self._df = (n - 1) * (self._K - 1) + 1
        self._variance = (float(np.sum(residuals**2)) + between) / self._df

    @property
    def best(self) -> float:
        """Mean of the best trial over all splits."""
        return float(np.mean(self._best))

    def chance(self, scores: FloatArray | list[float]) -> float:
        """Probability that the mean will exceed the best; 1 if few trials are known."""
        return float(self.chances(np.asarray(scores)[np.newaxis])[0])

    def chances(self, rows: FloatArray) -> FloatArray:
        """Probabilities for rows of scores of the first folds, one row for each."""
        if not self.ready:
            return np.ones(len(rows))
        m = rows.shape[1]
        differences = np.mean(rows - self._best[:m], axis=1)
        sd = math.sqrt(2.0 * self._noise(m))
        if sd == 0.0:
            return (differences >= 0.0).astype(np.float64)
        return np.asarray(stats.t.cdf(differences / sd, self._df))

    def estimate(self, scores: FloatArray | list[float]) -> tuple[float, float | None]:
        """Mean over all splits that the first ones predict, and its variance."""
        if not self.ready:
            return float(np.mean(scores)), None
        differences = np.asarray(scores, dtype=np.float64) - self._best[: len(scores)]
        score = float(np.mean(self._best) + np.mean(differences))
        return score, 2.0 * self._noise(len(scores))

    def _noise(self, m: int) -> float:
        return self._variance * (1.0 / m - 1.0 / self._K)
