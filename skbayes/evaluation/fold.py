"""One fold of one trial, where it runs: perhaps in another process."""

from __future__ import annotations

import math
import pickle
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import cloudpickle
from sklearn.base import clone

from skbayes import compat
from skbayes.evaluation.data_transfer import DataHandle
from skbayes.evaluation.subsets import FULL_DATA, Fidelity

__all__ = ["Fold", "FoldOutcome", "run_fold"]

# Called with a fitted estimator and the result of its fit.
Measure = Callable[[Any, dict[str, Any]], float]

# Classes of which this process has fitted an estimator before: the first fit loads
# libraries and fills caches, and takes longer than it will ever again.
_FITTED_BEFORE: set[type] = set()


@dataclass
class FoldOutcome:
    """What comes back from where a fold ran.

    Parameters
    ----------
    result : dict or None
        Scores and times; None if it was not fitted.
    stop_requested : bool
        Whether a callback asked to end the search.
    exception : Exception or None
        What was raised.
    traceback_text : str
        Where.
    too_late : bool
        Whether it was not begun for the limit per trial.
    interrupted : bool
        Whether Ctrl-C kept it from being finished.
    """

    result: dict[str, Any] | None = None
    stop_requested: bool = False
    exception: Exception | None = None
    traceback_text: str = ""
    too_late: bool = False
    interrupted: bool = False


@dataclass(frozen=True)
class Fold:
    """One fold of one trial, on its way to where it runs.

    Parameters
    ----------
    index : int
        Number of the split.
    params : dict
        The trial's parameters.
    task : EvaluationTask or None
        Its place in the callback tree.
    deadline : float or None
        Time (seconds since the epoch) after which it is not begun, unless it is the
        first.
    candidate_progress : (int, int)
        Number of the trial, and how many are planned, for scikit-learn's messages.
    setting : Fidelity
        Which of the training rows it is fitted on.
    """

    index: int
    params: dict[str, Any]
    task: compat.EvaluationTask | None
    deadline: float | None
    candidate_progress: tuple[int, int]
    setting: Fidelity = FULL_DATA


def run_fold(
    handle: DataHandle,
    estimator: Any,
    contain: bool,
    fixed: dict[str, Any],
    fold: Fold,
    measures: Mapping[str, Measure] = MappingProxyType({}),
    apart: bool = False,
) -> FoldOutcome:
    """Run one fold, possibly in a worker.

    Parameters
    ----------
    handle : DataHandle
        Leads to the data.
    estimator : estimator
        Cloned before it is fitted.
    contain : bool
        Whether nothing is raised: what leaves a worker makes joblib tear down the pool,
        and with it the folds of other trials.
    fixed : dict
        Arguments of the fit-and-score function that all folds share.
    fold : Fold
        Which fold.
    measures : dict of str to callable, default={}
        ``measure(estimator, result)`` gives a number that is to stand among the test
        scores: called with the fitted estimator and what fitting and scoring it gave.
    apart : bool, default=False
        Whether the numbers stand apart from the test scores, under `costs`; `warm_up`
        then says whether it was the first fit of its kind in this process.

    Returns
    -------
    outcome : FoldOutcome
        What it gave.
    """
    try:
        with handle.room():
            if handle.stopped():
                return FoldOutcome(interrupted=True)
            # Some fold must be fitted, or nothing would be learnt of the trial.
            late = fold.deadline is not None and time.time() > fold.deadline
            if late and fold.index > 0:
                return FoldOutcome(too_late=True)
            result = _fit_fold(handle, clone(estimator), fixed, fold, measures, apart)
    except KeyboardInterrupt:
        # A terminal sends it to the workers too.
        if not contain:
            raise
        return FoldOutcome(interrupted=True)
    except Exception as error:
        if not contain:
            raise
        text = traceback.format_exc()
        return FoldOutcome(exception=_portable(error), traceback_text=text)
    return FoldOutcome(result, fold.task is not None and fold.task.stop_requested)


def _portable(error: Exception) -> Exception:
    """Return the exception, or what tells of it if it cannot leave this process.

    One that cannot be unpickled where it arrives breaks the pool, like a dead worker.
    """
    try:
        pickle.loads(cloudpickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__qualname__}: {error}")
    return error


def _fit_fold(
    handle: DataHandle,
    estimator: Any,
    fixed: dict[str, Any],
    fold: Fold,
    measures: Mapping[str, Measure],
    apart: bool,
) -> dict[str, Any]:
    inputs = handle.load()
    train, test = inputs.split(fold.index, fold.setting)
    kwargs = dict(fixed)
    kwargs["return_estimator"] |= bool(measures)
    if fold.task is not None:
        kwargs |= {"caller": fold.task.search, "callback_ctx": fold.task}
    begin = time.process_time()
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
        **kwargs,
    )
    if measures:
        raises = fixed["error_score"] == "raise"
        seconds = time.process_time() - begin
        measured = _measured(
            {**result, "cpu_time": _of_fit(result, seconds)}, measures, raises
        )
        if apart:
            result["costs"] = measured
            result["warm_up"] = _is_first(estimator)
        else:
            for key in {"test_scores", "train_scores"} & result.keys():
                result[key] = {**result[key], **measured}
        if not fixed["return_estimator"]:
            del result["estimator"]
    return result


def _of_fit(result: dict[str, Any], seconds: float) -> float:
    """Return the share of the fit in the processor time of a fold."""
    # Both parts are taken to keep the processor equally busy.
    elapsed = result["fit_time"] + result["score_time"]
    return seconds * result["fit_time"] / elapsed if elapsed > 0.0 else seconds


def _is_first(estimator: Any) -> bool:
    """Tell whether this process has fitted no such estimator before."""
    parts = [estimator, *estimator.get_params(deep=True).values()]
    kinds = {type(part) for part in parts if hasattr(part, "fit")}
    first = not kinds <= _FITTED_BEFORE
    _FITTED_BEFORE.update(kinds)
    return first


def _measured(
    result: dict[str, Any], measures: Mapping[str, Measure], raises: bool
) -> dict[str, float]:
    """Measure a fit; what is not to be had is NaN."""
    if result["fit_error"] is not None:
        return dict.fromkeys(measures, math.nan)
    measured = {}
    for name, measure in measures.items():
        try:
            measured[name] = float(measure(result["estimator"], result))
        except Exception:
            if raises:
                raise
            warnings.warn(
                f"Measuring {name!r} failed, and is NaN for these parameters. Details:"
                f"\n{traceback.format_exc()}",
                UserWarning,
                stacklevel=2,
            )
            measured[name] = math.nan
    return measured
