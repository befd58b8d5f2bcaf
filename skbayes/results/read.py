"""Reader of the trials of a search, and their view as a record."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbayes.results.record import SearchRecord, Source, make_record
from skbayes.results.scores import metrics_of
from skbayes.space import Space
from skbayes.trial.option_table import JOURNAL_SOURCE
from skbayes.trial.records import Fidelity, FoldResult, History, Trial, TrialState
from skbayes.utils.did_you_mean import naming
from skbayes.utils.late import load
from skbayes.utils.optuna_study import results_of_study, study_of

# Parameters and results of a search that its plots use.
_SETTINGS = ("tradeoff", "cost", "score_range", "train_fractions_")

_TEST = re.compile(r"split(\d+)_test_(.*)")

# Number of digits by which numbers are compared: np.logspace(-5, 0, 6) begins with
# 9.999999999999999e-06 on some machines.
_DIGITS = 12


def read_record(
    source: Any,
    *,
    metric: str | None = None,
    search_spaces: Any = None,
    name: str | None = None,
) -> SearchRecord:
    """Read the trials of a search from any source.

    Parameters
    ----------
    source : estimator, History, dict, study, str or os.PathLike
        Fitted search of skbayes or scikit-learn, its ``trials_`` or ``cv_results_``,
        the path of its journal (the search can still be running), or an Optuna study
        with one objective. A :class:`SearchRecord` is returned as is, with `name` if it
        is given.
    metric : str or None, default=None
        Name of the metric. By default, the metric that guided the search.
    search_spaces : dict, list of dict, Space or None, default=None
        Search space, in any notation. By default, the space of a fitted search; other
        sources have none.
    name : str or None, default=None
        Name of the search. By default, the name of its class or of its journal.

    Returns
    -------
    record : SearchRecord
        Trials of the search as arrays.

    Raises
    ------
    TypeError
        If `source` has an unsupported type.
    ValueError
        If there is no such metric, or `search_spaces` is invalid.
    OSError
        If the journal cannot be read.
    sklearn.exceptions.NotFittedError
        If the search was not fitted.

    Examples
    --------
    >>> from skbayes.inspection import read_record
    >>> from skbayes.trial import FoldResult, History, Trial
    >>> folds = [FoldResult({"score": 0.7}, 0.1, 0.0)]
    >>> record = read_record(History([Trial(0, {"C": 1}, folds, score=0.7)]))
    >>> len(record), record.score, record.label
    (1, array([0.7]), 'score (higher is better)')
    """
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name must be a string or None, got {name!r}.")
    if isinstance(source, SearchRecord):
        if metric not in (None, source.metric):
            raise ValueError(
                f"metric={metric!r}, but the record contains {source.metric!r}."
            )
        return source if name is None else dataclasses.replace(source, name=name)
    space = None if search_spaces is None else Space.from_notation(search_spaces)
    with naming("source"):
        read = read_trials(source, space)
    if space is not None:
        trials = [_in_space(space, trial) for trial in read.trials]
        read = dataclasses.replace(read, trials=trials)
    if name is not None:
        read = dataclasses.replace(read, name=name)
    return make_record(read, metric)


def read_trials(
    source: Any, space: Space | None = None, metric: str | None = None
) -> Source:
    """Read the trials of any source, and the facts about their search.

    If `space` does not have a value of a journal, the value remains a dict with a text;
    without a space, all values are readable. `metric` selects a metric of
    ``cv_results_``.
    """
    if isinstance(source, str | os.PathLike):
        return load(JOURNAL_SOURCE)(source, space)
    if isinstance(source, History):
        return Source(list(source), space)
    study = study_of(source)
    if study is not None:
        return _read_study(study, space)
    if isinstance(source, Mapping) and "params" in source:
        return _read_results(source, space, metric)
    fits = hasattr(source, "cv_results_") or hasattr(source, "fit")
    if fits and not isinstance(source, type):
        return _read_search(source, space, metric)
    columns = getattr(source, "columns", ())
    hint = " Pass frame.to_dict('list')." if "params" in columns else ""
    raise TypeError(
        "expected a fitted search, its trials_ or cv_results_ (a dict), the path of "
        f"its journal, or an Optuna study, got {type(source).__name__}.{hint}"
    )


def params_of_space(
    space: Space, params: Any, fitted: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """Return a configuration of `space`, or raise a ValueError.

    It includes those `fitted` parameters that are dimensions of the space.
    """
    if fitted:
        names = space.parameter_names
        proposed = {k: v for k, v in params.items() if k in names or k not in fitted}
        params = proposed | {k: v for k, v in fitted.items() if k in names}
    try:
        return space.canonicalize(params)
    except ValueError:
        if not isinstance(params, Mapping):
            raise
    rounded = {
        name: float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value
        for name, value in params.items()
    }
    return space.canonicalize(rounded)


def _in_space(space: Space, trial: Trial) -> Trial:
    """Return a trial with the parameters of a space; ValueError if it is outside."""
    try:
        params = params_of_space(space, trial.params, trial.fitted_params)
    except ValueError as error:
        raise ValueError(
            f"search_spaces does not have the values of trial {trial.number}: {error}"
        ) from error
    return dataclasses.replace(trial, params=params)


# -- fitted searches ------------------------------------------------------------------


def _read_search(search: Any, space: Space | None, metric: str | None) -> Source:
    check_is_fitted(search, "cv_results_")
    scoring = getattr(search, "scoring", None)
    directions: dict[str, int] = {}
    best = getattr(search, "best_index_", None)
    own_index = getattr(search, "own_index_", None)
    if hasattr(search, "trials_"):
        guide = getattr(search, "target_metric_", None)
        trials = list(search.trials_)
        best, own_index = (
            None if row is None else search._ranked_numbers[row]
            for row in (best, own_index)
        )
        directions = getattr(search, "_directions", dict)()
    else:
        refit = getattr(search, "refit", None)
        guide = metric or (refit if isinstance(refit, str) else None)
        read = _read_results(search.cv_results_, space, guide)
        trials, guide = list(read.trials), read.metric
    return Source(
        trials,
        _space_of(search, trials) if space is None else space,
        guide,
        best=best,
        own_index=own_index,
        directions=directions,
        scoring=scoring if isinstance(scoring, str) else None,
        name=type(search).__name__,
        method=type(search).__name__,
        n_points=getattr(search, "n_points_", None),
        settings={n: getattr(search, n) for n in _SETTINGS if hasattr(search, n)},
    )


def _space_of(search: Any, trials: Sequence[Trial]) -> Space | None:
    """Return the space of a search, from its optimizer or from its parameter."""
    written = ("search_spaces_", "search_spaces", "param_grid", "param_distributions")
    notations = [getattr(search, name, None) for name in written]
    optimizer = getattr(search, "optimizer_", None)
    for notation in [getattr(optimizer, "space", None), *notations]:
        try:
            space = Space.from_notation(notation)
            space.encode([trial.params for trial in trials])
        except (TypeError, ValueError):
            continue
        return space
    return None


def _read_results(
    results: Mapping[str, Any], space: Space | None, metric: str | None
) -> Source:
    """Return the trials of `cv_results_` with scores of a metric, or the first one."""
    metrics = metrics_of(results)
    if metric is None:
        metric = next(iter(metrics), None)
    elif metric not in metrics:
        raise ValueError(f"there are no scores {metric!r}, only {metrics}.")
    columns = {name: list(results[name]) for name in results if name != "params"}
    sizes = results.get("n_resources", results.get("train_fraction", [1.0]))
    shares = np.asarray(sizes, dtype=float) / np.max(sizes, initial=0.0)
    trials = []
    for number, params in enumerate(results["params"]):
        row = {name: column[number] for name, column in columns.items()}
        score = float(row.get(f"mean_test_{metric}", math.nan))
        extras = _extras_of_row(row)
        fitted = extras.get("fitted_params", {})
        trial = Trial(
            number,
            {k: v for k, v in params.items() if k not in fitted},
            _folds_of_row(row),
            score,
            state=TrialState.COMPLETE if math.isfinite(score) else TrialState.FAILED,
            extras=extras,
            fidelity=Fidelity(
                int(row.get("iter", 0)), float(shares[number % len(shares)])
            ),
        )
        trials.append(trial)
    return Source(trials, space, metric)


def _extras_of_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rounds, their parameters, and the violation, 0 or infinity."""
    feasible, fitted = row.get("feasible"), row.get("fitted_params")
    extras: dict[str, Any] = {}
    if isinstance(fitted, Mapping) and fitted:
        extras = {"rounds": int(row["rounds"]), "fitted_params": dict(fitted)}
    if feasible is not None and feasible == feasible:
        extras["violation"] = 0.0 if feasible else math.inf
    return extras


def _folds_of_row(row: Mapping[str, Any]) -> list[FoldResult]:
    fit_time = float(row.get("mean_fit_time", math.nan))
    score_time = float(row.get("mean_score_time", math.nan))
    scores: dict[int, dict[str, float]] = {}
    for name in sorted(row):
        if match := _TEST.fullmatch(name):
            scores.setdefault(int(match[1]), {})[match[2]] = float(row[name])
    return [FoldResult(scores[i], fit_time, score_time) for i in sorted(scores)]


# -- studies and journals -------------------------------------------------------------


def _read_study(study: Any, space: Space | None) -> Source:
    sign, results = results_of_study(study)
    trials = [
        Trial(number, params, (), score, seconds, TrialState(state))
        for number, (params, score, seconds, state) in enumerate(results)
    ]
    return Source(trials, space, None, sign, name="study", is_study=True)
