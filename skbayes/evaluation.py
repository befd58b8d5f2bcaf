"""One configuration becomes one trial: its fits on all splits, and what they gave."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from skbayes import compat
from skbayes.trials import Trial

__all__ = ["CandidateEvaluator", "check_candidates"]


@dataclass
class _FoldOutcome:
    """What comes back from where a fold ran."""

    result: dict[str, Any] | None
    stop_requested: bool
    exception: Exception | None = None
    traceback_text: str = ""


def _run_fold(
    estimator: Any,
    X: Any,
    y: Any,
    task: compat.EvaluationTask | None,
    contain: bool,
    kwargs: dict[str, Any],
) -> _FoldOutcome:
    """Run one fold, possibly in a worker.

    With `contain`, an exception is returned instead of raised: one that leaves a worker
    makes joblib tear down the pool.
    """
    if task is not None:
        kwargs = {**kwargs, "caller": task.search, "callback_ctx": task}
    try:
        result = compat.fit_and_score(estimator, X, y, **kwargs)
    except Exception as error:
        if not contain:
            raise
        return _FoldOutcome(None, False, error, traceback.format_exc())
    return _FoldOutcome(result, task is not None and task.stop_requested)


def check_candidates(estimator: Any, candidates: Sequence[Mapping[str, Any]]) -> None:
    """Set each of `candidates` on a clone, to find wrong names before any fit.

    Parameters
    ----------
    estimator : estimator
        The estimator that is searched; it is not changed.
    candidates : sequence of dict
        Parameters to try.

    Raises
    ------
    TypeError
        If the estimator cannot be cloned.
    ValueError
        If the estimator refuses them; the message names the parameter.
    """
    clone(estimator)  # a wrong estimator is no mistake of the candidates
    for params in candidates:
        error = _refusal(estimator, params)
        if error is None:
            continue
        culprits = [
            name
            for name, value in params.items()
            if _refusal(estimator, {name: value}) is not None
        ]
        names = ", ".join(repr(name) for name in culprits or params)
        raise ValueError(
            f"search_spaces names {names}, which the estimator refuses: {error}"
        ) from error


def _refusal(estimator: Any, params: Mapping[str, Any]) -> Exception | None:
    """Return what setting `params` on a clone raises, if anything."""
    try:
        clone(estimator).set_params(**clone(dict(params), safe=False))
    except Exception as error:
        return error
    return None


class CandidateEvaluator:
    """Fits and scores configurations, all of them on the same splits.

    One call is one parallel call of scikit-learn's own fit-and-score function over the
    splits, so that scores, failures, weights, routing and callbacks mean what they mean
    in GridSearchCV.

    Parameters
    ----------
    estimator : estimator
        Cloned for each fit.
    X, y : array-like
        The data; `y` may be None.
    splits : list of (train, test)
        Index arrays.
    parallel : joblib.Parallel
        Where the fits run.
    contain_errors : bool
        Whether exceptions are carried home from workers before they are raised.
    tasks : compat.TaskTree
        Makes the callback task of each fit.
    n_candidates : int
        How many trials are planned, for scikit-learn's progress messages.
    target : callable
        Given the test scores of one fold, returns the number that guides the search.
    scorer : callable
        Scores the fits, one metric or several.
    error_score : "raise" or number
        As for GridSearchCV.
    return_train_score : bool
        As for GridSearchCV.
    **kwargs : dict
        Further arguments of the fit-and-score function.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        splits: Sequence[tuple],
        parallel: Parallel,
        contain_errors: bool,
        tasks: compat.TaskTree,
        n_candidates: int,
        target: Callable[[Any], float],
        scorer: Any,
        error_score: float | str,
        return_train_score: bool,
        **kwargs: Any,
    ) -> None:
        self._estimator = estimator
        self._X, self._y = X, y
        self._splits = list(splits)
        self._parallel = parallel
        self._contain_errors = contain_errors
        self._tasks = tasks
        self._n_candidates = n_candidates
        self._target = target
        self._scorer = scorer
        self._error_score = error_score
        self._return_train_score = return_train_score
        self._fixed = {
            "scorer": scorer,
            "error_score": error_score,
            "return_train_score": return_train_score,
            "return_n_test_samples": True,
            "return_times": True,
            "return_parameters": False,
            **kwargs,
        }

    def __call__(self, number: int, params: dict[str, Any]) -> Trial:
        """Evaluate one configuration.

        Parameters
        ----------
        number : int
            The trial's number, from 0.
        params : dict of str to object
            Parameters to set.

        Returns
        -------
        trial : Trial
            Failed if no fit succeeded or the mean score is not finite.

        Raises
        ------
        Exception
            What a fit raises with `error_score="raise"`, or what a scorer raises that
            returns something other than numbers.
        """
        begin = time.perf_counter()
        refusal = _refusal(self._estimator, params)
        if refusal is not None:
            if self._error_score == "raise":
                raise refusal
            folds, stop = self._failed_folds(refusal), False
        else:
            folds, stop = self._run(number, params)
        duration = time.perf_counter() - begin
        return self._trial(number, params, folds, stop, duration)

    def _run(self, number: int, params: dict[str, Any]) -> tuple[list[dict], bool]:
        n_splits = len(self._splits)
        # The tasks are made before any of them is sent off: making one while another
        # is being pickled changes a dict under the pickler's feet.
        tasks = [self._tasks.evaluation(number * n_splits + i) for i in range(n_splits)]
        outcomes = self._parallel(
            delayed(_run_fold)(
                clone(self._estimator),
                self._X,
                self._y,
                task,
                self._contain_errors,
                {
                    "train": train,
                    "test": test,
                    "parameters": params,
                    "split_progress": (i, n_splits),
                    "candidate_progress": (number, self._n_candidates),
                    **self._fixed,
                },
            )
            for i, ((train, test), task) in enumerate(
                zip(self._splits, tasks, strict=True)
            )
        )
        for outcome in outcomes:
            if outcome.exception is not None:
                raise _with_origin(outcome)
        folds = [outcome.result for outcome in outcomes]
        return folds, any(outcome.stop_requested for outcome in outcomes)

    def _failed_folds(self, error: Exception) -> list[dict[str, Any]]:
        """Return the results of a trial that the estimator refused to begin."""
        text = "".join(traceback.format_exception(error))
        scores: Any = self._error_score
        scorers = compat.public_scorers(self._scorer)
        if isinstance(scorers, dict):
            scores = dict.fromkeys(scorers, self._error_score)
        fold = {"fit_error": text, "test_scores": scores, "n_test_samples": 0}
        fold |= {"fit_time": 0.0, "score_time": 0.0}
        if self._return_train_score:
            fold["train_scores"] = scores
        return [dict(fold) for _ in self._splits]

    def _trial(
        self,
        number: int,
        params: dict[str, Any],
        folds: list[dict[str, Any]],
        stop: bool,
        duration: float,
    ) -> Trial:
        errors = [f["fit_error"] for f in folds if f["fit_error"] is not None]
        score = math.nan
        # With a numeric error_score a wholly failed trial would look like a score.
        if len(errors) < len(folds):
            score = float(np.mean([self._target(f["test_scores"]) for f in folds]))
        if not math.isfinite(score):
            score = math.nan
        return Trial(
            number=number,
            params=params,
            folds=folds,
            score=score,
            duration=duration,
            state="failed" if math.isnan(score) else "complete",
            error=errors[0] if errors else None,
            stop_requested=stop,
        )


def _with_origin(outcome: _FoldOutcome) -> Exception:
    """Return the exception; one from another process tells where it came from."""
    error = outcome.exception
    assert error is not None
    if error.__traceback__ is None:
        error.add_note(f"\nRaised in a worker:\n{outcome.traceback_text}")
    return error
