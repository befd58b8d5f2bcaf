"""Choice of the best row of `cv_results_` that satisfies the constraints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from skbayes.evaluation.run import SearchRun
from skbayes.evaluation.trial import TrialState
from skbayes.space.dimensions import FloatArray
from skbayes.utils.optional import warn_user
from skbayes.utils.ranking import best_first, least_violating

__all__ = ["allowed_rows", "best_allowed_row", "restricted", "warned_rows"]


def allowed_rows(run: SearchRun) -> np.ndarray:
    """Return a boolean array of the trials that violate the constraints least.

    These are the trials that satisfy all constraints, if a complete trial does. Without
    constraints, these are all trials.
    """
    complete = [trial.state == TrialState.COMPLETE for trial in run.ranked]
    return least_violating(run.ranked.violations, complete)


def warned_rows(run: SearchRun, usable: np.ndarray) -> np.ndarray:
    """Return which rows violate the constraints least; warn if none satisfies them."""
    allowed = least_violating(run.ranked.violations, usable)
    chosen = np.flatnonzero(allowed & usable)
    if len(chosen) and not run.ranked[chosen[0]].feasible:
        _warn(run, int(chosen[0]))
    return allowed


def best_allowed_row(run: SearchRun, scores: FloatArray) -> int:
    """Return the row of the greatest score among those that violate constraints least.

    Scores have shape (n_rows,) or (n_rows, n_keys). Later columns break ties, and rows
    whose first score is NaN are not chosen. Warns if no row satisfies all constraints.
    """
    chosen = int(best_first(scores, run.ranked.violations)[0])
    has_score = not np.isnan(np.ravel(scores[chosen])[0])
    if has_score and not run.ranked[chosen].feasible:
        _warn(run, chosen)
    return chosen


def _warn(run: SearchRun, chosen: int) -> None:
    assert run.constraints is not None
    trial = run.ranked[chosen]
    found = trial.outcomes
    broken = [
        f"{bound.name} is {found.get(bound.name, np.nan):.4g} (must be {text})"
        for bound in run.constraints.bounds
        if not bound.slack(found.get(bound.name, np.nan)) <= 0.0
        for text in [str(bound).removeprefix(f"{bound.name} ")]
    ]
    warn_user(
        f"constraints: none of {len(run.ranked)} trials satisfies all of them; trial "
        f"{trial.number}, which violates them least, is chosen: {', '.join(broken)}.",
    )


def restricted(results: Mapping[str, Any], rows: np.ndarray) -> dict[str, Any]:
    """Return the rows of `cv_results_` that a boolean array selects."""
    if np.all(rows):
        return dict(results)
    places = np.flatnonzero(rows)
    return {
        name: [column[i] for i in places] if name == "params" else column[places]
        for name, column in results.items()
    }
