"""Fit and scores of one fold of a trial, possibly in another process."""

from __future__ import annotations

import contextlib
import functools
import math
import pickle
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.metrics import check_scoring, get_scorer

from skbayes import compat
from skbayes.evaluation.data_transfer import DataHandle, Inputs
from skbayes.evaluation.subsets import FULL_DATA, Fidelity
from skbayes.evaluation.trial import FoldResult, SavedTime

# Each worker process imports this module. Modules that only some searches need are
# imported late.
if TYPE_CHECKING:
    from skbayes.evaluation.constraints import OutcomeMeasures
    from skbayes.evaluation.learning_curves import FoldCurveRace
    from skbayes.evaluation.limits import Ended
    from skbayes.evaluation.prefix import PrefixCache
    from skbayes.evaluation.rounds.watched_fit import (
        RoundLimits,
        ScoredRows,
        WatchedFit,
    )

__all__ = ["Fold", "FoldOutcome", "FoldTask", "portable_error", "run_fold"]

# Scorers that only call methods of the whole estimator, such as `predict`.
_PREDICTING = {type(get_scorer("accuracy")), type(check_scoring(DummyClassifier()))}

# Called with a fitted estimator and the result of its fit.
Measure = Callable[[Any, dict[str, Any]], float]

# Classes that this process has fitted before. The first fit of a class takes longest,
# because it imports libraries and fills caches.
_FITTED_BEFORE: set[type] = set()


@dataclass
class FoldOutcome:
    """Outcome of running one fold.

    Parameters
    ----------
    result : FoldResult or None
        Scores and times; None if the fold was not fitted.
    estimator : estimator or None
        Fitted estimator, if it is kept.
    stop_requested : bool
        Whether a callback requested the end of the search.
    exception : BaseException or None
        Exception that was raised, with its traceback as text.
    too_late : bool
        Whether the fold was not started because of the time limit of the trial.
    ended : Ended or None
        Reason for which the fit was aborted, if any.
    waited : float
        Seconds until the process of the fit was ready.
    interrupted : bool
        Whether the fit was interrupted by Ctrl-C.
    seconds : float
        Time of the fit and of scoring, by `time.perf_counter` in the worker.
    is_hopeless : bool
        Whether the fit was stopped because the trial cannot become the best one.
    """

    result: FoldResult | None = None
    estimator: Any = None
    stop_requested: bool = False
    exception: BaseException | None = None
    traceback_text: str = ""
    too_late: bool = False
    ended: Ended | None = None
    waited: float = 0.0
    interrupted: bool = False
    seconds: float = 0.0
    is_hopeless: bool = False


@dataclass(frozen=True)
class FoldTask:
    """Inputs that all folds of a search share, sent to the workers with each fold.

    Parameters
    ----------
    estimator : estimator
        Estimator that is cloned for each fit.
    options : dict
        Keyword arguments of scikit-learn's fit-and-score function.
    catch_errors : bool
        Whether exceptions are returned instead of raised. An exception in a worker
        would end the pool, and thereby the folds of other trials.
    measures : dict of str to callable
        Costs by name; ``measure(estimator, result)`` returns the cost of a fit.
    separate_costs : bool
        Whether costs are stored separately from the test scores, as `costs`. The flag
        `warm_up` then marks the first fit of its kind in the process.
    outcomes : OutcomeMeasures or None
        Measures of constrained outcomes.
    cache : PrefixCache or None
        Cache of the first steps of pipelines; None if no steps are shared.
    rounds : RoundLimits or None
        Limits of the number of rounds; None if rounds are not tracked.
    """

    estimator: Any
    options: dict[str, Any]
    catch_errors: bool = False
    measures: Mapping[str, Measure] = field(default_factory=dict)
    separate_costs: bool = False
    outcomes: OutcomeMeasures | None = None
    cache: PrefixCache | None = None
    rounds: RoundLimits | None = None

    @property
    def keeps_estimator(self) -> bool:
        """Whether the fitted estimator is measured or returned."""
        measured = bool(self.measures) or self.outcomes is not None
        return measured or bool(self.options["return_estimator"])

    @property
    def looks_inside(self) -> bool:
        """Whether the fitted steps are accessed other than by the pipeline."""
        scorers = compat.public_scorers(self.options["scorer"])
        several = scorers.values() if isinstance(scorers, dict) else [scorers]
        return self.keeps_estimator or any(
            type(scorer) not in _PREDICTING for scorer in several
        )


@dataclass(frozen=True)
class Fold:
    """One fold of one trial.

    Parameters
    ----------
    index : int
        Number of the split.
    params : dict
        Configuration of the trial.
    callback_task : EvaluationTask or None
        Task of the evaluation in the callback tree.
    candidate_progress : (int, int)
        Number of the trial, and number of planned trials, for scikit-learn's messages.
    fidelity : Fidelity
        Training rows of the fit.
    max_rounds : int or None
        Maximum number of rounds, if it is below the limit of the search.
    race : FoldCurveRace or None
        Compares the learning curve with those of complete trials.
    risk : float
        Probability to become the best below which the fit is stopped.
    """

    index: int
    params: dict[str, Any]
    callback_task: compat.EvaluationTask | None
    candidate_progress: tuple[int, int]
    fidelity: Fidelity = FULL_DATA
    max_rounds: int | None = None
    race: FoldCurveRace | None = None
    risk: float = 0.0


def run_fold(handle: DataHandle, task: FoldTask, fold: Fold) -> FoldOutcome:
    """Fit and score one fold on the data of `handle`."""
    callback_task = fold.callback_task
    try:
        with handle.room():
            if handle.stopped():
                return FoldOutcome(interrupted=True)
            inputs = handle.load()
            train, test = inputs.split(fold.index, fold.fidelity)
            begin, begin_cpu = time.perf_counter(), time.process_time()
            result, saved, watched = _fit_and_score(inputs, task, fold, train, test)
            cpu_seconds = time.process_time() - begin_cpu
            seconds = time.perf_counter() - begin
            _add_saved(result, saved)
            cpu_seconds += saved.cpu
            fold_result = _fold_result(result, task, cpu_seconds)
            fold_result.shared_time = saved.total
            outcome = FoldOutcome(fold_result, seconds=seconds)
            if watched is not None:
                _set_curves(fold_result, watched)
                outcome.is_hopeless = watched.is_hopeless
            if task.outcomes is not None:
                result["cpu_time"] = _of_fit(result, cpu_seconds)
                result["test_scores"] = fold_result.test_scores
                fold_result.outcomes = _outcomes(task, inputs, train, test, result)
            if task.options["return_estimator"]:
                outcome.estimator = result["estimator"]
    except KeyboardInterrupt:
        # A terminal sends Ctrl-C to the workers, too.
        if not task.catch_errors:
            raise
        return FoldOutcome(interrupted=True)
    except BaseException as error:  # SystemExit would also make joblib end the pool
        if not task.catch_errors:
            raise
        text = traceback.format_exc()
        return FoldOutcome(exception=portable_error(error), traceback_text=text)
    if callback_task is not None:
        outcome.stop_requested = callback_task.stop_requested
    return outcome


def _fit_and_score(
    inputs: Inputs, task: FoldTask, fold: Fold, train: Any, test: Any
) -> tuple[dict[str, Any], SavedTime, WatchedFit | None]:
    """Fit and score with shared steps, or without them if a fitted step was lost."""
    options = dict(task.options)
    options["return_estimator"] = task.keeps_estimator
    if fold.callback_task is not None:
        options["caller"] = fold.callback_task.search
        options["callback_ctx"] = fold.callback_task
    looks_inside = _looks_inside(task, fold.callback_task)
    rows = None
    if looks_inside or options["return_train_score"]:
        rows = _test_rows(inputs, task, fold)
    for cache in (task.cache, None):
        estimator = clone(task.estimator)
        shared = _shared(estimator, cache, fold, rows, looks_inside)
        observed = _observed(estimator, inputs, task, fold, train, test)
        with shared as saved, observed as watched:
            if watched is not None:
                options["scorer"] = watched.scorer
            result = compat.fit_and_score(
                estimator,
                inputs.X,
                inputs.y,
                train=train,
                test=test,
                parameters=fold.params,
                fit_params=inputs.fit_params,
                score_params=inputs.score_params,
                split_progress=(fold.index, len(inputs.splits)),
                candidate_progress=fold.candidate_progress,
                **options,
            )
        if not saved.lost:
            break
    return result, saved, watched


def _shared(
    estimator: Any,
    cache: PrefixCache | None,
    fold: Fold,
    rows: Callable[[], Any] | None,
    looks_inside: bool,
) -> AbstractContextManager[SavedTime]:
    """Return a context in which the fit shares steps, if there is a cache."""
    if cache is None:
        return contextlib.nullcontext(SavedTime())
    from skbayes.evaluation.prefix import shared_steps

    key = (fold.index, fold.fidelity)
    return shared_steps(estimator, cache, fold.params, key, rows, looks_inside)


def _observed(
    estimator: Any, inputs: Inputs, task: FoldTask, fold: Fold, train: Any, test: Any
) -> AbstractContextManager[WatchedFit | None]:
    """Return a context in which the fit is scored by round, if rounds are tracked."""
    if task.rounds is None:
        return contextlib.nullcontext()
    from skbayes.evaluation.rounds.watched_fit import watched_fit

    return watched_fit(
        estimator,
        task.rounds,
        task.options["scorer"],
        functools.partial(_scored_rows, inputs, task, train, test),
        fold.max_rounds,
        fold.race,
        fold.risk,
    )


def _looks_inside(task: FoldTask, callback_task: compat.EvaluationTask | None) -> bool:
    """Return whether fitted steps are accessed other than by the pipeline."""
    if task.looks_inside or callback_task is None:
        return task.looks_inside
    # Callbacks can access the fitted estimator.
    return any(map(compat.has_callbacks, (callback_task.search, task.estimator)))


def _test_rows(inputs: Inputs, task: FoldTask, fold: Fold) -> Callable[[], Any]:
    """Return a function that selects the test rows in the same way as scikit-learn."""

    def cut() -> Any:
        train, test = inputs.split(fold.index, fold.fidelity)
        return compat.safe_split(task.estimator, inputs.X, None, test, train)[0]

    return cut


def _scored_rows(
    inputs: Inputs, task: FoldTask, train: Any, test: Any
) -> list[ScoredRows]:
    """Return the rows that the fit is scored on, selected as in scikit-learn."""
    from skbayes.evaluation.rounds.watched_fit import ScoredRows

    trained = task.options["return_train_score"]
    found = []
    for rows, others in [(test, train), (train, None)][: 1 + trained]:
        X, y = compat.safe_split(task.estimator, inputs.X, inputs.y, rows, others)
        params = compat.check_fit_params(inputs.X, inputs.score_params, rows)
        found.append(ScoredRows(X, y, params))
    return found


def _set_curves(fold: FoldResult, watched: WatchedFit) -> None:
    """Add the learning curves of a fit, and subtract their time from the fit time."""
    fold.fit_time = max(0.0, fold.fit_time - watched.seconds)
    fold.score_time += watched.seconds
    if watched.curves and fold.fit_error is None and not watched.has_failed:
        fold.curves = watched.curves[0]
        fold.train_curves = watched.curves[1] if len(watched.curves) > 1 else None
        fold.max_rounds = watched.max_rounds


def _add_saved(result: dict[str, Any], saved: SavedTime) -> None:
    """Add the time of shared steps, so that the times of all trials include it."""
    result["fit_time"] += saved.fit
    result["score_time"] += saved.score


def portable_error(error: BaseException) -> BaseException:
    """Return the exception, or one with its text if it cannot be unpickled.

    An exception that cannot be unpickled breaks the pool, like a dead worker.
    """
    try:
        pickle.loads(cloudpickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__qualname__}: {error}")
    return error


def _fold_result(result: dict[str, Any], task: FoldTask, seconds: float) -> FoldResult:
    """Return the result of a fit that took so many seconds of processor time."""
    fold = FoldResult(
        _as_floats(result["test_scores"]),
        result["fit_time"],
        result["score_time"],
        result["n_test_samples"],
        _as_floats(result.get("train_scores")),
        result["fit_error"],
    )
    if not task.measures:
        return fold
    cpu_time = _of_fit(result, seconds)
    raises = task.options["error_score"] == "raise"
    costs = _measured({**result, "cpu_time": cpu_time}, task.measures, raises)
    if task.separate_costs:
        fold.costs, fold.warm_up = costs, _is_first(result["estimator"])
        return fold
    fold.test_scores = {**fold.test_scores, **costs}
    if fold.train_scores is not None:
        fold.train_scores = {**fold.train_scores, **costs}
    return fold


def _outcomes(
    task: FoldTask, inputs: Inputs, train: Any, test: Any, result: dict[str, Any]
) -> dict[str, float]:
    """Measure the outcomes that have constraints."""
    assert task.outcomes is not None
    X = y = None
    params: dict[str, Any] = {}
    if task.outcomes.needs_data and result["fit_error"] is None:
        X, y = compat.safe_split(result["estimator"], inputs.X, inputs.y, test, train)
        params = compat.check_fit_params(inputs.X, inputs.outcome_params, test)
    raises = task.options["error_score"] == "raise"
    return task.outcomes(result, X, y, params, raises)


def _as_floats(scores: Any) -> Any:
    """Convert scores to floats as GridSearchCV does; None for None.

    A warning is issued if imaginary parts are discarded.
    """
    if isinstance(scores, dict):
        return {name: _as_floats(score) for name, score in scores.items()}
    if scores is None or isinstance(scores, int | float):
        return scores
    return float(np.array([scores]).astype(np.float64)[0])


def _of_fit(result: dict[str, Any], seconds: float) -> float:
    """Return the processor time of the fit, as a fraction of that of the fold."""
    # Both parts are assumed to use the processor equally.
    elapsed = result["fit_time"] + result["score_time"]
    return seconds * result["fit_time"] / elapsed if elapsed > 0.0 else seconds


def _is_first(estimator: Any) -> bool:
    """Return whether this process has not fitted this class of estimator before."""
    parts = [estimator, *estimator.get_params(deep=True).values()]
    kinds = {type(part) for part in parts if hasattr(part, "fit")}
    first = not kinds <= _FITTED_BEFORE
    _FITTED_BEFORE.update(kinds)
    return first


def _measured(
    result: dict[str, Any], measures: Mapping[str, Measure], raises: bool
) -> dict[str, float]:
    """Measure the costs of a fit; NaN if a measurement fails."""
    if result["fit_error"] is not None:
        return dict.fromkeys(measures, math.nan)
    measured = {}
    for name, measure in measures.items():
        try:
            measured[name] = float(_as_floats(measure(result["estimator"], result)))
        except Exception:
            if raises:
                raise
            warnings.warn(
                f"Measuring {name!r} failed. It is NaN for these parameters. Details:"
                f"\n{traceback.format_exc()}",
                UserWarning,
                stacklevel=2,
            )
            measured[name] = math.nan
    return measured
