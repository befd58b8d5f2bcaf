"""Readers of searches, histories, journals and `cv_results_` as records."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbayes.journal.journal import Content
from skbayes.journal.json_space import adapt_record, readable
from skbayes.results.record import SearchRecord, make_record
from skbayes.results.warm_start import fitted_params_of, own_params
from skbayes.space import Space
from skbayes.space.dimensions import native
from skbayes.trial.objectives import Objectives
from skbayes.trial.records import (
    Fidelity,
    FoldResult,
    FoldStatus,
    History,
    Trial,
    TrialState,
)

# Arguments of `make_record`: trials, and the source's information about their search.
Arguments = dict[str, Any]

# Parameters and results of a search that its plots use.
_SETTINGS = ("tradeoff", "cost", "score_range", "train_fractions_")

_TEST = re.compile(r"split(\d+)_test_(.*)")


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
    source : estimator, History, dict, DataFrame, str or os.PathLike
        Fitted search of skbayes or scikit-learn, its ``trials_`` or ``cv_results_``,
        the path of its journal (the search can still be running), or the output of
        :func:`skbayes.load_history`. A :class:`SearchRecord` is returned as is, with
        `name` if it is given.
    metric : str or None, default=None
        Name of the metric. By default, the metric that guided the search.
    search_spaces : dict, list of dict, Space or None, default=None
        Search space, in any notation. By default, the space of a fitted search; a
        journal and a history have none.
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
    found = _arguments_of(source, space)
    if space is not None:
        found["trials"] = [_of_space(space, trial) for trial in found["trials"]]
        found["space"] = space
    if name is not None:
        found["name"] = name
    return make_record(metric=metric, **found)


def _arguments_of(source: Any, space: Space | None) -> Arguments:
    """Read the trials of any source, and its information about their search."""
    if isinstance(source, str | os.PathLike):
        return _from_journal(source, space)
    if isinstance(source, History):
        return {"trials": list(source)}
    if isinstance(source, Mapping) and "params" in source:
        return {"trials": _trials_of_results(source, None)}
    if isinstance(getattr(source, "attrs", None), Mapping):
        return _from_frame(source)
    if hasattr(source, "cv_results_") or hasattr(source, "get_params"):
        return _from_search(source)
    raise TypeError(
        "source must be a fitted search, its trials_ or cv_results_, the path of "
        f"its journal or the output of load_history, got {type(source).__name__}."
    )


def _of_space(space: Space, trial: Trial) -> Trial:
    """Return a trial with the parameters of a space; ValueError if it is outside."""
    try:
        if trial.fitted_params:
            params = own_params(space, trial.params, trial.fitted_params)
            trial = dataclasses.replace(trial, params=params)
        space.encode([trial.params])
    except ValueError as error:
        raise ValueError(
            f"search_spaces does not have the values of trial {trial.number}: {error}"
        ) from error
    return trial


# -- fitted searches ------------------------------------------------------------------


def _from_search(search: Any) -> Arguments:
    check_is_fitted(search, "cv_results_")
    scoring = getattr(search, "scoring", None)
    directions = {}
    best = getattr(search, "best_index_", None)
    own = getattr(search, "own_index_", None)
    if hasattr(search, "trials_"):
        guide = getattr(search, "target_metric_", None)
        trials = list(search.trials_)
        best, own = (
            None if row is None else search._ranked_numbers[row] for row in (best, own)
        )
        if hasattr(search, "objectives"):
            objectives = Objectives(search.objectives)
            signs = map(int, objectives.signs)
            directions = dict(zip(objectives.names, signs, strict=True))
    else:
        guide = search.refit if isinstance(search.refit, str) else None
        trials = _trials_of_results(search.cv_results_, guide)
    return {
        "trials": trials,
        "guide": guide,
        "best": best,
        "own": own,
        "directions": directions,
        "space": _space_of(search, trials),
        "scoring": scoring if isinstance(scoring, str) else None,
        "name": type(search).__name__,
        "method": type(search).__name__,
        "n_points": getattr(search, "n_points_", None),
        "settings": {n: getattr(search, n) for n in _SETTINGS if hasattr(search, n)},
    }


def _space_of(search: Any, trials: Sequence[Trial]) -> Space | None:
    """Return the space of a search, from its optimizer or from its parameter."""
    written = ("search_spaces_", "search_spaces", "param_grid", "param_distributions")
    spaces = [getattr(search, name, None) for name in written]
    for space in [getattr(getattr(search, "optimizer_", None), "space", None), *spaces]:
        try:
            found = Space.from_notation(space)
            found.encode([trial.params for trial in trials])
        except (TypeError, ValueError):
            continue
        return found
    return None


def _trials_of_results(results: Mapping[str, Any], metric: str | None) -> list[Trial]:
    columns = {name: list(results[name]) for name in results if name != "params"}
    sizes = results.get("n_resources", results.get("train_fraction", [1.0]))
    shares = np.asarray(sizes, dtype=float) / np.max(sizes, initial=0.0)
    trials = []
    for number, params in enumerate(results["params"]):
        row = {name: column[number] for name, column in columns.items()}
        folds = _folds_of_row(row)
        names = folds[0].test_scores if folds else {}
        own = metric if metric in names else next(iter(names), "score")
        score = float(row.get(f"mean_test_{own}", math.nan))
        fitted = fitted_params_of(row.get("fitted_params"))
        trial = Trial(
            number,
            {k: v for k, v in params.items() if k not in fitted},
            folds,
            score,
            state=TrialState.COMPLETE if math.isfinite(score) else TrialState.FAILED,
            extras=_extras_of_row(row),
            fidelity=Fidelity(
                int(row.get("iter", 0)), float(shares[number % len(shares)])
            ),
        )
        trials.append(trial)
    return trials


def _extras_of_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rounds, their parameters, and the violation, 0 or infinity."""
    kept, extras = row.get("feasible"), dict[str, Any]()
    if fitted := fitted_params_of(row.get("fitted_params")):
        extras = {"rounds": int(row["rounds"]), "fitted_params": dict(fitted)}
    if kept is not None and kept == kept:
        extras["violation"] = 0.0 if kept else math.inf
    return extras


def _folds_of_row(row: Mapping[str, Any]) -> list[FoldResult]:
    fit_time = float(row.get("mean_fit_time", math.nan))
    score_time = float(row.get("mean_score_time", math.nan))
    scores: dict[int, dict[str, float]] = {}
    for name in sorted(row):
        if found := _TEST.fullmatch(name):
            scores.setdefault(int(found[1]), {})[found[2]] = float(row[name])
    folds = []
    for _, own in sorted(scores.items()):
        # A data frame of a journal has the state of a trial.
        lacks = row.get("state", "failed") != "failed" and all(
            map(math.isnan, own.values())
        )
        status = FoldStatus.SKIPPED if lacks else FoldStatus.FITTED
        folds.append(FoldResult(own, fit_time, score_time, status=status))
    return folds


# -- journals and their data frames ---------------------------------------------------


def _from_journal(path: str | os.PathLike[str], space: Space | None) -> Arguments:
    content = Content.read(path)
    metadata = content.metadata
    trials, running = [], []
    name = os.path.splitext(os.path.basename(path))[0]
    for proposal in content.proposals:
        number, record = proposal.number, proposal.params
        params = None if space is None else adapt_record(space, record)
        if params is None:
            params = {name: readable(entry) for name, entry in record.items()}
        params = _without_size(params, metadata)
        if number in content.results:
            trials.append(content.results[number].trial_of(params))
        else:
            running.append((number, params, proposal.asked))
    return _arguments_of_journal(metadata, trials, running) | {"name": name}


def _arguments_of_journal(
    metadata: Mapping[str, Any], trials: list[Trial], running: list
) -> Arguments:
    """Return the trials of a journal, and the metadata that it contains."""
    objectives = metadata.get("objectives", {})
    return {
        "trials": trials,
        "running": running,
        "guide": metadata.get("target_metric"),
        "scoring": metadata.get("scoring"),
        "method": metadata.get("search", ""),
        "n_points": metadata.get("n_points"),
        "directions": {n: 1 if d == "max" else -1 for n, d in objectives.items()},
        "settings": metadata.get("settings", {}),
    }


def _without_size(
    params: dict[str, Any], metadata: Mapping[str, Any]
) -> dict[str, Any]:
    """Omit the size of a training set, which is no parameter of the estimator."""
    if not metadata.get("chooses_train_size"):
        return params
    return {name: value for name, value in params.items() if name != "train_size"}


def _from_frame(frame: Any) -> Arguments:
    missing = [name for name in ("number", "state", "started") if name not in frame]
    if missing or "identity" not in frame.attrs:
        raise TypeError(
            "source: a data frame must be the output of load_history; "
            f"{'it has no ' + repr(missing[0]) if missing else 'its attrs are lost'}."
        )
    trials, running = [], []
    for row in frame.to_dict("records"):
        params = {
            name.removeprefix("param_"): native(value)
            for name, value in row.items()
            if name.startswith("param_") and value == value
        }
        params = _without_size(params, frame.attrs)
        started = row["started"].timestamp()
        if row["state"] == "unfinished":
            running.append((int(row["number"]), params, started))
        else:
            trials.append(_trial_of_row(row, params, started))
    return _arguments_of_journal(frame.attrs, trials, running)


def _trial_of_row(row: Mapping[str, Any], params: dict, started: float) -> Trial:
    folds = _folds_of_row(row)
    n_folds = int(row.get("n_folds", len(folds)))
    if isinstance(row["error"], str):
        # The fold that raised the error is not known.
        first, *others = folds or [FoldResult()]
        folds = [dataclasses.replace(first, fit_error=row["error"]), *others]
    return Trial(
        int(row["number"]),
        params,
        folds,
        float(row["score"]),
        duration=float(row["duration"]),
        state=row["state"],
        fidelity=Fidelity(
            int(row.get("stage", 0)),
            float(row.get("train_fraction", 1.0)),
            int(row.get("subset", 0)),
            n_folds if n_folds < len(folds) else None,
        ),
        started=started,
        extras=_extras_of_row(row),
    )
