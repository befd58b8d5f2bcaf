"""Time limits that are checked between folds; the backend aborts running fits."""

from __future__ import annotations

import time

from skbayes.trial.aspect import Aspect, Evaluation
from skbayes.trial.fold import Results, has_status
from skbayes.trial.limits import SearchTimeout
from skbayes.trial.records import FoldStatus, TrialState


class Limits(Aspect):
    """Limits of the time of a trial and of the search."""

    name = "limits"

    # Whether the trials of the stage are only timed.
    _is_timed = False

    def begin_stage(self, role: str) -> None:
        """Record whether the trials are only timed."""
        self._is_timed = role == "time"

    def begin(self, evaluation: Evaluation) -> None:
        """Check the time between the folds, unless running fits can be aborted."""
        backend, of_trials = evaluation.backend, self.settings.limits.of_trials
        if of_trials or backend.n_workers == 1 or not backend.aborts:
            evaluation.limit_groups(backend.n_workers)

    def for_fold(self, evaluation: Evaluation, index: int, earlier: Results) -> None:
        """Raise SearchTimeout after the timeout of the search.

        Until a trial has finished, the refit's time is estimated from the first fits,
        but not from fits on small samples that are only timed.
        """
        backend = evaluation.backend
        if backend.end is None:
            return
        no_refit = self._is_timed or self.settings.refit.plain is False
        if not (backend.reserved or no_refit):
            fraction = evaluation.fidelity.train_fraction
            seconds = evaluation.job.seconds_on_all_rows(earlier.values(), fraction)
            backend.reserved = seconds
        if time.monotonic() > backend.end:
            raise SearchTimeout

    def verdict(self, evaluation: Evaluation, earlier: Results) -> TrialState | None:
        """Abort a trial whose fits took too long, or one of whose fits was aborted."""
        timeout = self.settings.limits.trial_timeout
        took_too_long = timeout is not None and evaluation.seconds(earlier) > timeout
        if took_too_long or has_status(earlier.values(), FoldStatus.ABORTED):
            return TrialState.TIMED_OUT
        return None
