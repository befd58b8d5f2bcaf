"""Time limits that are checked between folds; the backend aborts running fits."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from skbayes.trial.aspect import Aspect
from skbayes.trial.fold import Results, has_status
from skbayes.trial.limits import FitLimits, SearchTimeout
from skbayes.trial.records import FoldStatus, TrialState

if TYPE_CHECKING:
    from skbayes.trial.aspect import Evaluation
    from skbayes.trial.plan import Plan


class Limits(Aspect):
    """Limits of the time of a trial and of the search."""

    name = "limits"

    @classmethod
    def is_on(cls, plan: Plan) -> bool:
        """Return whether a trial or the search has a limit."""
        return plan.limits != FitLimits()

    def begin(self, evaluation: Evaluation) -> None:
        """Let the time be checked between the folds, unless they are aborted."""
        backend = evaluation.backend
        if self.plan.limits.of_trials or backend.n_workers == 1 or not backend.aborts:
            evaluation.limit_groups(backend.n_workers)

    def for_fold(self, evaluation: Evaluation, index: int, earlier: Results) -> None:
        """Raise SearchTimeout if the timeout of the search is over.

        While no trial has finished, the first fits show how long the refit takes. Fits
        on a small sample, whose times are only measured, do not.
        """
        backend = evaluation.backend
        if backend.end is None:
            return
        is_measured = self.plan.ladder.rungs[0].role == "time"
        no_refit = is_measured or self.plan.refit.plain is False
        if not (backend.reserved or no_refit):
            fraction = evaluation.fidelity.train_fraction
            seconds = self.plan.seconds_on_all_rows(earlier.values(), fraction)
            backend.reserved = seconds
        if time.monotonic() > backend.end:
            raise SearchTimeout

    def verdict(self, evaluation: Evaluation, earlier: Results) -> TrialState | None:
        """Abort a trial whose fits took too long, or one of whose fits was aborted."""
        timeout = self.plan.limits.trial_timeout
        over = timeout is not None and evaluation.seconds(earlier) > timeout
        if over or has_status(earlier.values(), FoldStatus.ABORTED):
            return TrialState.TIMED_OUT
        return None
