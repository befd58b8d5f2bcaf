"""Choice of the best row of `cv_results_`, and of the final configuration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import rankdata

from skbayes import compat
from skbayes.results.scores import corrected_best_score, fold_scores
from skbayes.space.dimensions import FloatArray, key_of
from skbayes.trial.plan import Plan
from skbayes.trial.records import History, Trial, TrialState
from skbayes.utils.optional import warn_user
from skbayes.utils.ranking import best_first, least_violating
from skbayes.utils.texts import one_line

# Maximum length of a configuration in a message.
MAX_TEXT = 300


def rank(scores: FloatArray) -> np.ndarray:
    """Rank scores from 1, the greatest; rows without a score share the last rank.

    Infinite scores are ranked as in GridSearchCV.
    """
    order = np.nan_to_num(-scores, nan=np.inf)  # infinite ones become finite
    return rankdata(order, method="min").astype(np.int32)


def with_means(results: dict[str, Any], history: History) -> dict[str, Any]:
    """Return a table with the means of complete trials with fewer folds, and ranks."""
    rows = [
        row
        for row, trial in enumerate(history)
        if trial.n_folds < len(trial.folds) and trial.state == TrialState.COMPLETE
    ]
    for row in rows:
        trial = history[row]
        columns = {"fit_time": trial.fit_times, "score_time": trial.score_times}
        columns |= {f"test_{name}": scores for name, scores in trial.scores.items()}
        columns |= {f"train_{name}": s for name, s in trial.train_scores.items()}
        for name, values in columns.items():
            results[f"mean_{name}"][row] = np.mean(values[: trial.n_folds])
            results[f"std_{name}"][row] = np.std(values[: trial.n_folds])
    for name in results if rows else []:
        if name.startswith("rank_test_"):
            results[name] = rank(results[name.replace("rank_", "mean_", 1)])
    return results


# -- no finished trial ----------------------------------------------------------------


def is_unfinished(ranked: History) -> bool:
    """Return whether time limits aborted all trials, so that none can be the best."""
    return {trial.state for trial in ranked} == {TrialState.TIMED_OUT}


def unfinished_text(plan: Plan, params: Mapping[str, Any] | None) -> str:
    """Format the warning of a search in which no trial was finished."""
    chosen = ""
    if params is not None:
        shown = one_line(repr(dict(params)))[:MAX_TEXT]
        chosen = " is refitted" if plan.refit.plain else " is best_params_"
        chosen = f" The configuration {shown}{chosen}, without a score."
        if plan.constraints is not None:
            chosen += " Whether it satisfies the constraints is not known."
    if plan.refit.rule == "ensemble":
        chosen += f" refit={plan.refit.value!r} was not possible."
    return (
        f"No trial was finished within {plan.settings.limits}.{chosen} Increase the "
        "limit, or reduce cv or the number of rows."
    )


# -- choice ---------------------------------------------------------------------------


def check_complete(parameter: str, row: int, trial: Trial) -> None:
    """Raise a ValueError if a callable chose a trial that is not complete."""
    if trial.state.is_partial:
        raise ValueError(
            f"{parameter} chose row {row}, whose trial is not complete: its state is "
            f"{trial.state!s}. Choose a row with the state 'complete'."
        )


def best_row(
    plan: Plan,
    ranked: History,
    fitted: Mapping[str, Any],
    metric: Any,
    scores: FloatArray | None,
) -> int | None:
    """Return the best row by `refit` without its rule, or None if it selects none.

    Rows are compared by `scores`, or if these are None, by the rank of the metric.
    """
    refit, results = plan.refit.plain, fitted["cv_results_"]
    if not refit and fitted["multimetric_"]:
        return None
    if is_unfinished(ranked):
        return 0  # by default, the current parameters of the estimator
    if callable(refit):
        scores = None
    elif scores is None and plan.constraints is not None:
        scores = results[f"mean_test_{metric}"]
    if scores is None:
        row: int = compat.select_best_index(refit, metric, results)
    else:
        row = _best_allowed_row(plan, ranked, scores)
    best = ranked[row]
    if callable(refit):
        check_complete("refit", row, best)
    if best.state.is_partial and (scores is None or np.isnan(scores[row]).any()):
        raise ValueError(
            f"No trial was finished within {plan.settings.limits}. Increase the limit, "
            "or remove values of search_spaces that need much time or memory."
        )
    metrics = (plan.objective.metrics or ["score"]) if callable(refit) else [metric]
    means = [results[f"mean_test_{name}"] for name in metrics]
    has_score = callable(refit) or not np.isnan(means[0][row])
    if refit and not (has_score and np.isfinite(means).any()):
        warn_user(
            "No trial has a finite score, so the model is not tuned: as in "
            f"GridSearchCV, best_params_ is a configuration without a score (row {row} "
            "of cv_results_). The warnings above name what failed; otherwise, use "
            "another `scoring` or larger test sets."
        )
    return row


def best_attributes(
    results: Mapping[str, Any], row: int, metric: str | None = None
) -> dict[str, Any]:
    """Return `best_index_`, `best_params_`, and the score if there is a metric."""
    attributes = {"best_index_": row, "best_params_": results["params"][row]}
    if metric is not None:
        attributes["best_score_"] = results[f"mean_test_{metric}"][row]
    return attributes


def choose_by_rule(
    plan: Plan,
    ranked: History,
    results: Mapping[str, Any],
    metric: str,
    best: int,
) -> tuple[int, dict[str, Any]]:
    """Return the row that the rule of `refit` chooses, and attributes that describe it.

    The rule "corrected" chooses the current values unless the score of the best row
    is still better after the correction of its optimism.
    """
    if is_unfinished(ranked):
        return best, unknown_gain()
    # Trials on small samples may satisfy bounds that trials on all rows violate.
    complete = [
        trial.state == TrialState.COMPLETE
        and trial.fidelity.stage == ranked[best].fidelity.stage
        for trial in ranked
    ]
    allowed = least_violating(ranked.violations, complete)
    before, n_folds = int(np.sum(allowed[:best])), ranked[best].n_folds
    table = {
        name: column[allowed]
        for name, column in results.items()
        if isinstance(column, np.ndarray)
    }
    corrected = corrected_best_score(table, before, n_folds, metric)
    scores = fold_scores(results, metric, n_folds)
    current_row = _current_row(
        plan, ranked, allowed & np.isfinite(scores).all(axis=1), best
    )
    row = best
    if plan.refit.rule == "corrected" and n_folds < 2:
        warn_user(
            f"refit={plan.refit.value!r}: the optimism of the best score cannot "
            "be estimated from 1 fold. The best configuration is chosen without a "
            "correction."
        )
    elif plan.refit.rule == "corrected" and current_row is not None:
        if corrected <= scores[current_row].mean():
            row = current_row
    score = float(results[f"mean_test_{metric}"][row])
    gain = std = math.nan
    if row == current_row:
        gain = std = 0.0
    elif current_row is not None:
        optimism = score - corrected
        gain, std = gain_of(scores[row], scores[current_row], n_folds, optimism)
    return row, {
        # The correction is for the selection of the greatest mean.
        "best_score_corrected_": corrected if row == best else score,
        "best_gain_": gain,
        "best_gain_std_": std,
        "own_index_": current_row,
    }


def unknown_gain() -> dict[str, Any]:
    """Return the attributes that describe a score, without scores on all folds."""
    unknown = ("best_score_corrected_", "best_gain_", "best_gain_std_")
    return {**dict.fromkeys(unknown, math.nan), "own_index_": None}


def _current_row(
    plan: Plan, ranked: History, usable: np.ndarray, best: int
) -> int | None:
    """Return the usable row of the current values on the training sets of `best`."""
    selection = plan.space.selection(plan.current_values)
    if selection is None:
        return None
    chosen = ranked[best]
    rows = [
        row
        for row, trial in enumerate(ranked)
        if usable[row]
        and trial.state == TrialState.COMPLETE
        and trial.fidelity == chosen.fidelity
        and trial.params in plan.space
    ]
    current, *keys = map(
        key_of, plan.space.encode([selection, *(ranked[r].params for r in rows)])
    )
    return next((r for r, key in zip(rows, keys, strict=True) if key == current), None)


def gain_of(
    scores: FloatArray, current_scores: FloatArray, n_folds: int, optimism: float
) -> tuple[float, float]:
    """Return the corrected gain over the current values, and its standard error.

    The training sets of the splits overlap. The variance of the mean therefore follows
    Nadeau and Bengio (2003): the variance of the differences on one fold times 1 /
    n_folds + 1 / (n_splits - 1). The correction adds its square, because a pair of
    which one was chosen as the best of many differs more by chance than a fixed pair.
    """
    if n_folds < 2:
        return math.nan, math.nan
    difference = scores - current_scores
    factor = 1.0 / len(difference) + 1.0 / (n_folds - 1)
    variance = factor * np.var(difference, ddof=1)
    gain = float(difference.mean() - optimism)
    return gain, math.hypot(math.sqrt(variance), optimism)


def allowed_rows(plan: Plan, ranked: History, usable: np.ndarray) -> np.ndarray:
    """Return which rows violate the constraints least; warn if none satisfies them."""
    allowed = least_violating(ranked.violations, usable)
    chosen = np.flatnonzero(allowed & usable)
    if len(chosen) and not ranked[chosen[0]].feasible:
        _warn_of_violation(plan, ranked, int(chosen[0]))
    return allowed


def _best_allowed_row(plan: Plan, ranked: History, scores: FloatArray) -> int:
    """Return the best of the rows that violate constraints least; warn if they do."""
    chosen = int(best_first(scores, ranked.violations)[0])
    has_score = not np.isnan(np.ravel(scores[chosen])[0])
    if has_score and not ranked[chosen].feasible:
        _warn_of_violation(plan, ranked, chosen)
    return chosen


def _warn_of_violation(plan: Plan, ranked: History, chosen: int) -> None:
    assert plan.constraints is not None
    trial = ranked[chosen]
    broken = plan.constraints.broken(trial)
    warn_user(
        f"constraints: none of {len(ranked)} trials satisfies all of them; trial "
        f"{trial.number}, which violates them least, is chosen: {', '.join(broken)}."
    )
