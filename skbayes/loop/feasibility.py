"""Messages about constraints on outcomes that no trial satisfies."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from skbayes.evaluation.constraints import Bound, Constraints
from skbayes.evaluation.trial import History, Trial, TrialState
from skbayes.utils.optional import warn_or_log

__all__ = ["FeasibilityMessages", "unreachable_bounds"]

# Number of complete trials after which unsatisfied constraints are reported.
N_FIRST = 10


def unreachable_bounds(constraints: Constraints, trials: History) -> list[str]:
    """Return a sentence for each bound that no complete trial satisfies, with values.

    Only trials of the last stage count.
    """
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    last = max((trial.stage for trial in complete), default=0)
    by_trial = [trial.outcomes for trial in complete if trial.stage == last]
    sentences = []
    for bound in constraints.bounds:
        values = np.array([outcomes.get(bound.name, math.nan) for outcomes in by_trial])
        values = values[np.isfinite(values)]
        if len(values) and not any(bound.slack(float(v)) <= 0.0 for v in values):
            sentences.append(_sentence(bound, values))
    return sentences


def _sentence(bound: Bound, values: np.ndarray) -> str:
    which = "smallest" if bound.is_upper else "largest"
    extreme = np.min(values) if bound.is_upper else np.max(values)
    return (
        f"{bound}: no trial satisfies it so far, the {which} of {len(values)} values "
        f"is {extreme:.4g}."
    )


class FeasibilityMessages:
    """Callback that warns once, after the first trials of a stage, of unmet bounds.

    `tell` is called with the message, which is a warning by default.
    """

    def __init__(
        self, constraints: Constraints, tell: Callable[[str], None] | None = None
    ) -> None:
        self._constraints = constraints
        self._tell = tell
        self._has_warned = False

    def __call__(self, trial: Trial, history: History) -> None:
        """Check the trials after each one."""
        n_complete = sum(t.state == TrialState.COMPLETE for t in history)
        if self._has_warned or n_complete < N_FIRST:
            return
        self._has_warned = True
        sentences = unreachable_bounds(self._constraints, history)
        if not sentences:
            return
        message = f"constraints: {' '.join(sentences)}"
        if self._tell is None:
            warn_or_log(message)
        else:
            self._tell(message)
