"""Time limits that are checked between folds; the backend aborts running fits."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from skbayes.evaluation.aspect import Aspect, Parameter
from skbayes.evaluation.fold import Outcomes, has_status
from skbayes.evaluation.limits import SearchTimeout
from skbayes.evaluation.trial import FoldStatus, TrialState

if TYPE_CHECKING:
    from skbayes.evaluation.evaluator import Evaluation


class Limits(Aspect):
    """Limits of the time of a trial and of the search.

    Parameters
    ----------
    trial_limits : dict or None, default=None
        Limits of a trial, such as ``{"time": "5 min", "memory": "2 GB", "gpu": 1}``,
        or some of them. None means no limits. With limits, each worker runs its fits in
        a separate process, even if there is only one worker (see :ref:`limits`).

        - "time": limit for the fits of a trial, as a number of seconds or a string. The
          time that a fit waits for a worker or for the start of a process does not
          count. The fits of a trial run in groups of as many as there are workers, or
          one after the other with `racing`. A group takes as long as its longest fit. A
          fit that is still running at this limit is aborted, and no further fit of the
          trial is started. The state of the trial is then "timed_out". The surrogate
          uses the score that is predicted from the completed fits; the trial cannot be
          chosen as the best. The proposals then depend on measured times.
        - "memory": limit for a fit, in bytes or as a string such as "500 MiB". The
          limit applies to the resident memory of the process that runs the fit and of
          its child processes, including Python and its libraries (about 150 MB). Data
          that all workers map into memory do not count. A fit that exceeds the limit is
          aborted, and the state of its trial is "out_of_memory". Otherwise, such a
          trial is treated like a trial that exceeds its time. Requires psutil, which
          the extra `limits` installs.
        - "gpu": number of GPUs that a fit uses. With 0.5, two fits share a GPU. As many
          fits run at the same time as there are GPUs for them, and
          ``CUDA_VISIBLE_DEVICES`` contains only those of the fit (see :ref:`gpus`). It
          has no effect on the trials, except through the number of workers.
    """

    name = "limits"
    parameters = (Parameter("trial_limits", [Mapping, None], default=None),)
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
