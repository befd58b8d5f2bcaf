"""Rules for the choice of the best row: comparison with the estimator's own values.

Symbols: ``s`` of shape (n_rows, n_folds) are the scores of one metric on the folds of
the search, and on the folds of further draws.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel

from skbayes.evaluation.backend import make_backend
from skbayes.evaluation.evaluator import fold_task
from skbayes.evaluation.fold import Fold
from skbayes.evaluation.refit_choice import refit_choice
from skbayes.evaluation.rounds.trial_rounds import params_with_rounds
from skbayes.evaluation.run import SearchRun
from skbayes.evaluation.trial import TrialState
from skbayes.optimizer.random_streams import Stream, make_generator
from skbayes.results.frame import fold_scores
from skbayes.search._selection import allowed_rows
from skbayes.space.dimensions import FloatArray, is_number

__all__ = ["Comparison", "check_rule", "compare", "gain_of", "repeated_choice"]

# Options of the rule "repeated": trials that are compared with the own values, further
# draws of the folds, and the least gain in standard errors (benchmarks/truth.py).
N_CONTENDERS, N_DRAWS, MARGIN = 3, 1, 0.75


@dataclass(frozen=True)
class Comparison:
    """Rows of `cv_results_` that can be compared with the best one.

    Parameters
    ----------
    rows : ndarray of int
        Complete rows with the training sets of the best row, which violate the
        constraints as little as any.
    scores : ndarray of shape (n_rows, n_splits)
        Scores of all rows of `cv_results_`.
    own : int or None
        Row of the estimator's own values; None if it is not among `rows`.
    """

    rows: np.ndarray
    scores: FloatArray
    own: int | None


def compare(
    search: Any, run: SearchRun, results: Mapping[str, Any], metric: str
) -> Comparison:
    """Compare the rows of a search with the row of the estimator's own values."""
    scores = fold_scores(results, metric, search.n_splits_)
    usable = allowed_rows(run) & np.isfinite(scores).all(axis=1)
    best = run.ranked[search.best_index_]
    usable &= [
        trial.state == TrialState.COMPLETE
        and (trial.stage, trial.train_fraction) == (best.stage, best.train_fraction)
        for trial in run.ranked
    ]
    rows = np.flatnonzero(usable)
    selection = run.space.selection(search._own_values())
    own = None
    if selection is not None:
        wanted = run.space.encode([selection])[0].tobytes()
        params = [run.ranked[int(row)].params for row in rows]
        keys = [
            run.space.encode([p])[0].tobytes() if p in run.space else b""
            for p in params
        ]
        own = next(
            (int(r) for r, k in zip(rows, keys, strict=True) if k == wanted), None
        )
    return Comparison(rows, scores, own)


def gain_of(scores: FloatArray, own: FloatArray, n_splits: int) -> tuple[float, float]:
    """Return the mean difference from the own values, and its standard error.

    The training sets of the splits overlap. The variance of the mean is therefore that
    of Nadeau and Bengio (2003): the variance of the differences on one fold times
    1 / n_folds + 1 / (n_splits - 1).
    """
    difference = scores - own
    if n_splits < 2:
        return float(difference.mean()), math.nan
    factor = 1.0 / len(difference) + 1.0 / (n_splits - 1)
    return float(difference.mean()), math.sqrt(factor * np.var(difference, ddof=1))


def check_rule(search: Any) -> None:
    """Raise ValueError for options or splits with which the rule cannot choose."""
    if isinstance(search.refit, Mapping) and "rule" not in search.refit:
        return  # a point on the front of several objectives
    choice = refit_choice(search.refit, search.scoring)
    rule, options = choice.rule, choice.options
    if rule not in ("corrected", "repeated"):
        return
    if "best_score_corrected_" in getattr(search, "_omitted", ()):
        raise ValueError(
            f"refit={rule!r} needs a search with one objective; "
            f"{type(search).__name__} has several."
        )
    for name in ("contenders", "draws"):
        value = options.get(name, 1)
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(f"refit: {name!r} must be an int >= 1, got {value!r}.")
    margin = options.get("margin", MARGIN)
    if not is_number(margin) or not 0 <= margin < math.inf:
        raise ValueError(f"refit: 'margin' must be a number >= 0, got {margin!r}.")
    cv = search.cv
    if rule == "repeated" and not (
        cv is None
        or isinstance(cv, Integral)
        or (hasattr(cv, "random_state") and getattr(cv, "shuffle", True))
    ):
        raise ValueError(
            "refit='repeated' draws the splits again. cv must be a number, or a "
            f"splitter that shuffles, got {cv!r}."
        )


def repeated_choice(
    search: Any,
    run: SearchRun,
    found: Comparison,
    options: Mapping[str, Any],
    metric: str,
) -> tuple[int, dict[int, FloatArray]]:
    """Choose among the best rows by further draws of the folds.

    Returns the row, and the scores of the compared rows on the new folds, of shape
    (n_draws, n_splits).
    """
    means = found.scores[found.rows].mean(axis=1)
    order = found.rows[np.argsort(-means, kind="stable")]
    contenders = [int(row) for row in order if row != found.own]
    contenders = contenders[: int(options.get("contenders", N_CONTENDERS))]
    rows = contenders if found.own is None else [found.own, *contenders]
    n_draws = _affordable(run, rows, int(options.get("draws", N_DRAWS)))
    if len(rows) < 2 or n_draws == 0:
        return search.best_index_, {}
    further = _further_scores(search, run, rows, n_draws, metric)
    scores = {
        row: np.concatenate([found.scores[row], new.ravel()])
        for row, new in further.items()
        if np.isfinite(new).all()
    }
    if not scores:
        return search.best_index_, further
    best = max(scores, key=lambda row: float(scores[row].mean()))
    if found.own in scores and best != found.own:
        gain, std = gain_of(scores[best], scores[found.own], search.n_splits_)
        if not gain > float(options.get("margin", MARGIN)) * std:
            best = found.own
    return best, further


def _affordable(run: SearchRun, rows: Sequence[int], n_draws: int) -> int:
    """Return the number of draws that end before the timeout, as far as known."""
    if run.options.timeout is None or not rows:
        return n_draws
    trials = [run.ranked[row] for row in rows]
    fits = sum(float(np.nansum(t.fit_times + t.score_times)) for t in trials)
    left = run.options.timeout - (time.perf_counter() - run.begin)
    each = fits / run.context.n_workers
    return max(0, min(n_draws, int(left / each))) if each > 0 else n_draws


def _further_scores(
    search: Any, run: SearchRun, rows: Sequence[int], n_draws: int, metric: str
) -> dict[int, FloatArray]:
    """Fit and score rows on further draws of the splits."""
    run = replace(
        run,
        splits=[split for k in range(n_draws) for split in _drawn(search, run, k)],
        subsets=None,
        settings={},
        constraints=None,
        tasks=SimpleNamespace(is_observed=False),
        options=replace(run.options, rounds=None, return_train_score=False),
    )
    folds = [
        Fold(split, params_with_rounds(run.estimator, dict(trial.params), trial.rounds))
        for trial in (run.ranked[row] for row in rows)
        for split in range(len(run.splits))
    ]
    with (
        make_backend(run, fold_task(run, run.X)) as backend,
        run.context.bounded_blas(),
    ):
        if run.options.timeout is not None:
            left = run.options.timeout - (time.perf_counter() - run.begin)
            backend.end_after(max(left, 0.0))
        parallel = Parallel(n_jobs=search.n_jobs, pre_dispatch=search.pre_dispatch)
        outcomes = backend.run(parallel, folds)
    scores = []
    for outcome in outcomes:
        if outcome.exception is not None:
            raise outcome.exception
        found = {} if outcome.result is None else outcome.result.test_scores
        scores.append(found.get(metric, math.nan))
    table = np.reshape(np.array(scores, float), (len(rows), n_draws, -1))
    return dict(zip(rows, table, strict=True))


def _drawn(search: Any, run: SearchRun, number: int) -> list[tuple[Any, Any]]:
    """Draw the splits again with another seed."""
    cv = check_cv(search.cv, run.y, classifier=is_classifier(search.estimator))
    cv = copy.copy(cv)
    if hasattr(cv, "shuffle"):
        cv.shuffle = True
    seed = make_generator(run.seed, Stream.FURTHER_SPLITS, number).integers(2**31)
    cv.random_state = int(seed)
    return list(cv.split(run.X, run.y, **run.split_params))
