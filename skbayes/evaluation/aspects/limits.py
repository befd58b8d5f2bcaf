"""Time limits that are checked between folds; the backend aborts running fits."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from skbayes.evaluation.aspect import Aspect
from skbayes.evaluation.fold import Outcomes, has_status
from skbayes.evaluation.limits import SearchTimeout
from skbayes.evaluation.trial import FoldStatus, TrialState

if TYPE_CHECKING:
    from skbayes.evaluation.evaluator import Evaluation


class Limits(Aspect):
    """Limits of the time of a trial and of the search."""

    name = "limits"
    parameters = {"trial_limits": [Mapping, None]}
    condition = "has_limits"

    def folds_at_a_time(self, n_workers: int) -> float:
        """Return the number of workers, if the time is checked between folds."""
        is_checked = self.run.options.limits.of_trials or n_workers == 1
        return n_workers if is_checked else math.inf

    def for_fold(self, plan: Evaluation, index: int, earlier: Outcomes) -> None:
        """Raise SearchTimeout if the timeout of the search is over."""
        deadline = plan.backend.deadline
        if deadline is not None and time.monotonic() > deadline:
            raise SearchTimeout

    def verdict(self, plan: Evaluation, earlier: Outcomes) -> TrialState | None:
        """Abort a trial whose fits took too long, or one of whose fits was aborted."""
        timeout = self.run.options.limits.trial_timeout
        over = timeout is not None and plan.seconds > timeout
        if over or has_status(earlier, FoldStatus.ABORTED):
            return TrialState.TIMED_OUT
        return None
