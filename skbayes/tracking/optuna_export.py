"""Export of the trials of a search to Optuna studies."""

from __future__ import annotations

import datetime
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from skbayes.results.read import read_record
from skbayes.results.record import SearchRecord, dimensions_by_name
from skbayes.space import Integer, Real
from skbayes.space.dimensions import Dimension, is_number
from skbayes.trial.records import Trial, TrialState
from skbayes.utils.optional import import_optional

# User attribute with the number of the trial in the search.
_NUMBER = "skbayes_trial"


def export_to_optuna(
    source: Any,
    *,
    study_name: str | None = None,
    storage: Any = None,
    search_spaces: Any = None,
) -> Any:
    """Export the trials of a search to an Optuna study.

    Use it to show a search with the plots of Optuna or with optuna-dashboard. Trials
    that are already in the study are not added again. You can therefore export the
    journal of a running search repeatedly, with its `search_spaces`.

    Parameters
    ----------
    source : estimator, History, str or path-like
        Fitted search of skbayes or scikit-learn, its ``trials_``, or the path of its
        journal (the search can still be running).
    study_name : str or None, default=None
        Name of a new or existing study. By default, a new study with a name from
        Optuna.
    storage : str, optuna.storages.BaseStorage or None, default=None
        Storage of the study, such as ``"sqlite:///studies.db"``. By default, in memory.
    search_spaces : dict, list of dicts, Space or None, default=None
        Search space. By default, the space of a fitted search; of a journal, the values
        of its trials.

    Returns
    -------
    study : optuna.study.Study
        Study with the scores as values, which are maximized, or with the objectives and
        their directions. Hyper-parameter values that Optuna cannot store, such as
        estimators and tuples, are exported as text.

    Raises
    ------
    ImportError
        If Optuna is not installed.
    OSError
        If the journal cannot be read.
    TypeError, ValueError
        If an argument is invalid, or the study has different directions.

    See Also
    --------
    log_to_mlflow : Log a search to MLflow.

    Examples
    --------
    >>> from skbayes.tracking import export_to_optuna
    >>> study = export_to_optuna(
    ...     "search.journal", study_name="search", storage="sqlite:///studies.db"
    ... )  # doctest: +SKIP

    The command ``optuna-dashboard sqlite:///studies.db`` shows the study.
    """
    optuna = import_optional(
        "optuna", extra="tracking", purpose="Export of a search to Optuna"
    )
    record = read_record(source, search_spaces=search_spaces)
    directions = [
        "maximize" if sign > 0 else "minimize" for sign in record.directions.values()
    ] or ["maximize"]
    study = optuna.create_study(
        study_name=study_name,
        storage=storage,
        directions=directions,
        load_if_exists=study_name is not None,
    )
    if [direction.name.lower() for direction in study.directions] != directions:
        raise ValueError(
            f"study_name: the directions of the study {study_name!r} differ from "
            "those of the search; choose another name."
        )
    with warnings.catch_warnings():
        # Optuna marks the names of metrics as experimental.
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.set_metric_names(list(record.directions) or [record.metric])
    study.set_user_attr("skbayes_search", record.method or record.name)
    exported = {trial.user_attrs.get(_NUMBER) for trial in study.trials}
    ranges = _distributions(optuna, record)
    for place, trial in enumerate(record.trials):
        if trial.number not in exported:
            frozen = _frozen(optuna, trial, record, place, ranges)
            try:
                study.add_trial(frozen)
            except ValueError as error:  # other options than those in the study
                raise ValueError(f"{error} Pass search_spaces.") from error
    return study


def _frozen(
    optuna: Any,
    trial: Trial,
    record: SearchRecord,
    place: int,
    ranges: Mapping[str, Any],
) -> Any:
    params = {name: _stored(v) for name, v in record.params[place].items()}
    values = [float(record.scores[name][place]) for name in record.directions]
    values = values or [float(record.score[place])]
    complete = trial.state == TrialState.COMPLETE and all(map(math.isfinite, values))
    state = "COMPLETE" if complete else "PRUNED" if trial.state.is_partial else "FAIL"
    begin = None
    if trial.started is not None:
        begin = datetime.datetime.fromtimestamp(trial.started)
    length = datetime.timedelta(seconds=trial.duration)
    now = datetime.datetime.now()
    attributes = {
        _NUMBER: trial.number,
        "state": str(trial.state),
        "train_fraction": trial.fidelity.train_fraction,
        "duration": trial.duration,
        **{name: float(scores[place]) for name, scores in record.scores.items()},
    }
    attributes |= {n: float(means[place]) for n, means in record.outcomes.items()}
    system_attributes: dict[str, Any] = {}
    if trial.violation is not None:
        attributes["feasible"] = trial.feasible
        # Key of the values of constraints in Optuna, <= 0 if satisfied.
        system_attributes["constraints"] = [float(trial.violation)]
    if trial.error is not None:
        attributes["error"] = trial.error.strip().rpartition("\n")[2]
    return optuna.trial.FrozenTrial(
        number=-1,  # set by the study
        trial_id=-1,
        state=optuna.trial.TrialState[state],
        value=None,
        values=values if complete else None,
        datetime_start=begin or now,
        datetime_complete=now if begin is None else begin + length,
        params=params,
        distributions={name: ranges[name] for name in params},
        user_attrs=attributes,
        system_attrs=system_attributes,
        intermediate_values={},
    )


# -- hyper-parameters ------------------------------------------------------------------


def _stored(value: Any) -> Any:
    """Return the value that Optuna stores for a value of a hyper-parameter."""
    plain = value is None or isinstance(value, bool | int | float | str)
    return value if plain and value == value else repr(value)


def _distributions(optuna: Any, record: SearchRecord) -> dict[str, Any]:
    values: dict[str, list[Any]] = {}
    for params in record.params:
        for name, value in params.items():
            values.setdefault(name, []).append(value)
    dimensions = dimensions_by_name(record.space)
    return {
        name: _distribution(optuna, dimensions.get(name, []), tried)
        for name, tried in values.items()
    }


def _distribution(
    optuna: Any, dimensions: Sequence[Dimension], tried: Sequence[Any]
) -> Any:
    """Return the range of the only dimension, or a list of all possible values."""
    kinds = optuna.distributions
    if len(dimensions) == 1 and isinstance(dimensions[0], Real | Integer):
        dimension = dimensions[0]
        kind = "Int" if isinstance(dimension, Integer) else "Float"
        low, high = dimension.low, dimension.high
        if all(is_number(value) and low <= value <= high for value in tried):
            make = getattr(kinds, f"{kind}Distribution")
            return make(low, high, log=dimension.is_log)
    if not dimensions and all(map(is_number, tried)):
        whole = all(isinstance(value, int) for value in tried)
        make = kinds.IntDistribution if whole else kinds.FloatDistribution
        return make(min(tried), max(tried))
    offered = [
        value for dimension in dimensions for value in getattr(dimension, "values", [])
    ]
    return kinds.CategoricalDistribution(
        list(dict.fromkeys(_stored(value) for value in [*offered, *tried]))
    )
