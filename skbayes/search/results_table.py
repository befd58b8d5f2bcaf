"""Table of the trials, `cv_results_`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.stats import rankdata

from skbayes import compat
from skbayes.evaluation.aspects.registry import aspects_of
from skbayes.evaluation.run import SearchRun
from skbayes.evaluation.trial import History, Trial
from skbayes.space.dimensions import FloatArray

__all__ = ["rank", "results_table"]


def results_table(search: Any, run: SearchRun, history: History) -> dict[str, Any]:
    """Return `cv_results_` of some trials."""
    more = search._extra_columns(run, history)
    with warnings.catch_warnings():
        if all(t.state.is_partial or _has_finite_scores(t) for t in history):
            # Unfinished trials have no mean score by design.
            warnings.filterwarnings("ignore", "One or more of the t.* non-finite")
        folds = [fold.as_dict() for fold in history.folds]
        params = _params_of_rows(run, history)
        return compat.format_results(search, params, search.n_splits_, folds, more)


def _params_of_rows(run: SearchRun, history: History) -> list[dict[str, Any]]:
    """Return the configurations, and what the aspects of the trials set in addition."""
    rows = [dict(trial.params) for trial in history]
    for aspect in aspects_of(run):
        for row, trial in zip(rows, history, strict=True):
            row |= aspect.row_params(trial)
    return rows


def rank(scores: FloatArray) -> np.ndarray:
    """Rank scores from 1, the greatest; rows without a score share the last rank."""
    order = np.where(np.isfinite(scores), -scores, np.inf)
    return rankdata(order, method="min").astype(np.int32)


def _has_finite_scores(trial: Trial) -> bool:
    tables = [trial.scores, trial.train_scores]
    return all(np.isfinite(row).all() for t in tables for row in t.values())
