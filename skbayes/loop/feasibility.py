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
    complete = [one for one in trials if one.state == TrialState.COMPLETE]
    last = max((one.stage for one in complete), default=0)
    outcomes = [one.outcomes for one in complete if one.stage == last]
    sentences = []
    for bound in constraints.bounds:
        values = np.array([one.get(bound.name, math.nan) for one in outcomes])
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

    Parameters
    ----------
    constraints : Constraints
        The constraints.
    tell : callable, default=None
        Called with the message. None: the message is a warning, or is logged by the
        logger ``skbayes`` if warnings are errors.
    """

    def __init__(
        self, constraints: Constraints, tell: Callable[[str], None] | None = None
    ) -> None:
        self._constraints = constraints
        self._tell = tell
        self._told = False

    def __call__(self, trial: Trial, history: History) -> None:
        """Check the trials after each one."""
        n_complete = sum(one.state == TrialState.COMPLETE for one in history)
        if self._told or n_complete < N_FIRST:
            return
        self._told = True
        sentences = unreachable_bounds(self._constraints, history)
        if not sentences:
            return
        message = f"constraints: {' '.join(sentences)}"
        if self._tell is None:
            warn_or_log(message)
        else:
            self._tell(message)
