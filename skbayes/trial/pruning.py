"""Pruning: the probability that a trial becomes the best, given its first folds.

Symbols: K is the number of splits, m is the number of finished splits, and n is the
number of complete trials observed before.

- ``table``: (n, K) scores of the complete trials by split.
- ``best``: (K,) scores of the best complete trial; ``d``: (m,) differences from its
  ``first`` scores. These are the first m scores, or those that the trial had after m
  folds, if the score of a fold depends on the other folds.
- ``variance``: residual variance of a score after the means of its trial and of its
  split are subtracted. It is estimated from the best quarter of the trials by a two-way
  analysis of variance without replication, with (n - 1) (K - 1) degrees of freedom for
  n of these trials. Bad trials often have noisier scores, and a trial is not compared
  with them. Trials with equal scores in all splits are counted once. If fewer than
  three trials differ, the variance between the splits of a trial, which is at least as
  large, is included as an additional degree of freedom.

Scores are compared within splits, because splits differ more than good trials do, and
all trials use the same splits. With a flat prior on the true difference, the difference
of the complete means is distributed as mean(d) + sqrt(2 variance (1/m - 1/K)) t. Here,
t has Student's distribution with the same number of degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from skbayes.trial.aspect import Aspect, Complete, Evaluation
from skbayes.trial.fold import Job, Results
from skbayes.trial.learning_curves import with_chosen_rounds
from skbayes.trial.records import FoldResult, TrialState
from skbayes.utils.optional import warn_user

if TYPE_CHECKING:
    from skbayes.space.dimensions import FloatArray
    from skbayes.trial.objectives import Objective


# Number of complete trials that is required to estimate the variance.
MIN_TRIALS = 3
# Share of the complete trials from which the variance is estimated.
BEST_SHARE = 0.25


def first_scores(
    folds: Sequence[FoldResult], objective: Objective
) -> FloatArray | None:
    """Return the guiding scores of the first folds of a trial, without later folds.

    The result is None if one of them has no score.
    """
    if not all(fold.is_fitted and fold.fit_error is None for fold in folds):
        return None
    scores = _scores(folds, objective)
    return scores if np.all(np.isfinite(scores)) else None


def _scores(folds: Sequence[FoldResult], objective: Objective) -> FloatArray:
    chosen = with_chosen_rounds(folds, objective.guide)
    return np.array([objective(fold.test_scores) for fold in chosen])


def race_of(complete: Complete, first: Sequence[int], objective: Objective) -> Race:
    """Return the race of a trial whose folds `first` are the only finished ones.

    The scores of a fold may depend on the other folds, such as with `early_stopping`.
    The scores of the best trial are then computed again, without its other folds.
    """
    first = list(first)
    rows = [
        np.concatenate([scores[first], np.delete(scores, first)])
        for scores, _ in complete
    ]

    def first_of(best: int) -> FloatArray:
        folds = complete[best][1]
        return _scores([folds[i] for i in first], objective)

    return Race(rows, first_of)


class Race:
    """Comparison of the first folds of a trial with the best complete trial.

    `table` (n, K) are the scores of the complete trials by split; greater is better.
    `first_of`, if it is not None, is called with the row of the best trial, and returns
    the scores of its first folds before the other folds were finished.
    """

    def __init__(
        self,
        table: Sequence[FloatArray] | FloatArray,
        first_of: Callable[[int], FloatArray] | None = None,
    ) -> None:
        rows = np.array(table, dtype=np.float64)
        self.ready = len(rows) >= MIN_TRIALS and rows.shape[1] > 1
        if not self.ready:
            return
        self._K = rows.shape[1]
        best = int(np.argmax(rows.mean(axis=1)))
        self._best = rows[best]
        self._first = rows[best] if first_of is None else first_of(best)
        self._variance, self._df = _residual_variance(_best_rows(rows))

    def chance(self, scores: FloatArray | list[float]) -> float:
        """Return the probability to exceed the best mean; 1 if there are few trials."""
        if not self.ready:
            return 1.0
        difference = np.mean(np.asarray(scores) - self._first[: len(scores)])
        sd = math.sqrt(2.0 * self._noise(len(scores)))
        if sd == 0.0:
            return float(difference >= 0.0)
        return float(stats.t.cdf(difference / sd, self._df))

    def estimate(self, scores: FloatArray | list[float]) -> tuple[float, float | None]:
        """Return the predicted mean over all splits, and its variance."""
        if not self.ready:
            return float(np.mean(scores)), None
        differences = np.asarray(scores, dtype=np.float64) - self._first[: len(scores)]
        score = float(np.mean(self._best) + np.mean(differences))
        return score, 2.0 * self._noise(len(scores))

    def _noise(self, m: int) -> float:
        return self._variance * (1.0 / m - 1.0 / self._K)


def _best_rows(rows: FloatArray) -> FloatArray:
    """Return the rows that differ and have the greatest means."""
    distinct = np.unique(rows, axis=0)
    n = max(MIN_TRIALS, math.ceil(BEST_SHARE * len(rows)))
    return np.asarray(distinct[np.argsort(-distinct.mean(axis=1), kind="stable")[:n]])


def _residual_variance(rows: FloatArray) -> tuple[float, int]:
    """Return the residual variance of a score, and its degrees of freedom."""
    n, K = rows.shape
    residuals = rows - rows.mean(axis=0) - rows.mean(axis=1, keepdims=True)
    residuals += rows.mean()
    squares, df = float(np.sum(residuals**2)), (n - 1) * (K - 1)
    if n < MIN_TRIALS:
        squares, df = squares + float(np.mean(np.var(rows, axis=1, ddof=1))), df + 1
    return squares / df, df


class Pruning(Aspect):
    """Comparison of the first folds of a trial with the best complete trial."""

    name = "pruning"

    def check(self, job: Job, models: Sequence[Any]) -> None:
        """Warn if there is only one split, because no fold can then be skipped."""
        # The number that is the default for texts does no harm.
        if len(job.splits) == 1 and self.settings.pruning is True:
            warn_user(
                "pruning=True has no effect with one split, because no fold can be "
                "skipped. Use a cv with several splits, or pruning=False."
            )

    def begin(self, evaluation: Evaluation) -> None:
        """Run the folds one after the other; the first fold depends on the trial.

        Similar configurations have similar residuals, and would all be pruned if they
        were bad on the same first fold.
        """
        places = [index for group in evaluation.groups for index in group]
        first = evaluation.number % len(places)
        places = places[first:] + places[:first]
        evaluation.groups = [[index] for index in places]

    def verdict(self, evaluation: Evaluation, earlier: Results) -> TrialState | None:
        """Prune a trial whose probability to become the best is below the risk."""
        if not evaluation.complete:  # the metric may not be known yet
            return None
        objective, risk = self.objective, self.settings.pruning_risk
        scores = first_scores([*earlier.values()], objective)
        if scores is None:
            return None
        assert risk is not None
        race = race_of(evaluation.complete, [*earlier], objective)
        return TrialState.PRUNED if race.chance(scores) < risk else None
