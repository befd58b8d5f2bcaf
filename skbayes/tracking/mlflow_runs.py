"""MLflow runs: a parent run for the search, and child runs for its trials.

Under ``mlflow.sklearn.autolog()``, a search is one parent run without runs of its fits.
"""

from __future__ import annotations

import contextlib
import csv
import io
import math
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from skbayes.compat import BaseSearchCV
from skbayes.results.read import read_record
from skbayes.results.record import SearchRecord
from skbayes.trial.records import Trial, TrialState
from skbayes.utils.autologging import active_autologging, without_autologging
from skbayes.utils.optional import import_optional, warn_user

# Limits of all servers: characters of a value, and parameters of one call.
LONGEST_VALUE = 500
MOST_PARAMS = 100

# Number of rows from which the signature of a model is inferred, as in MLflow.
N_SIGNATURE_ROWS = 5

# Tags that the children copy from their parent.
_ORIGIN = ("mlflow.user", "mlflow.source.name", "mlflow.source.type")


def log_to_mlflow(
    source: Any, *, search_spaces: Any = None, refresh: float | None = None
) -> str:
    """Log a finished search, or the journal of a running search, to MLflow.

    The search is logged as the active run, or as a new run if there is none. Each trial
    is logged as a child run with its configuration, mean scores, times and state.

    Trials that are already in the run are not logged again. You can therefore log a
    journal repeatedly: ``with mlflow.start_run(run_id=...): log_to_mlflow(path)``.

    Parameters
    ----------
    source : estimator, History, str or path-like
        Fitted search of skbayes or scikit-learn, its ``trials_``, or the path of its
        journal (the search can still be running).
    search_spaces : dict, list of dicts, Space or None, default=None
        Search space of a journal. With it, values that the journal stores only as text
        are logged as the values themselves.
    refresh : float or None, default=None
        Interval in seconds between two reads of the journal of a running search. The
        function returns when the search ends. By default, the journal is read once.

    Returns
    -------
    run_id : str
        Identifier of the run of the search.

    Raises
    ------
    ImportError
        If MLflow is not installed.
    OSError
        If the journal cannot be read.
    TypeError, ValueError
        If an argument is invalid, or the active run has different parameter values.

    See Also
    --------
    export_to_optuna : Export a search to an Optuna study.

    Notes
    -----
    Under ``mlflow.sklearn.autolog()``, searches are logged without this function.

    Examples
    --------
    >>> from skbayes.tracking import log_to_mlflow
    >>> log_to_mlflow("search.journal", refresh=30)  # doctest: +SKIP
    """
    refreshes: Iterable[bool] = [False]
    if refresh is not None:
        from skbayes.options.journal.reader import while_running

        refreshes = while_running(source, refresh)
    mlflow = import_optional("mlflow", extra="tracking", purpose="log_to_mlflow")
    # Errors are raised before a run is created.
    read_record(source, search_spaces=search_spaces)
    with contextlib.ExitStack() as stack:
        run = mlflow.active_run()
        if run is None:
            run = stack.enter_context(mlflow.start_run())
        logged = _logged(mlflow, run)
        for _ in refreshes:
            logged |= log_search(mlflow, source, search_spaces, logged=logged)
        return run.info.run_id


def log_search(
    mlflow: Any,
    source: Any,
    search_spaces: Any = None,
    *,
    max_trials: int | None = None,
    logged: Set[int] = frozenset(),
) -> set[int]:
    """Log the best `max_trials`, except `logged`, as child runs, and return these."""
    record = read_record(source, search_spaces=search_spaces)
    run = mlflow.active_run()
    _log_parent(mlflow, run, source, record)
    numbers = record.number.tolist()
    # The chosen trial and the best ones first.
    chosen = [] if record.best is None else [record.best]
    order = dict.fromkeys(chosen + record.order.tolist())
    new = {numbers[place] for place in list(order)[:max_trials]} - logged
    tags = {name: run.data.tags[name] for name in _ORIGIN if name in run.data.tags}
    fixed: dict[str, Any] = {}
    estimator = getattr(source, "estimator", None)
    if estimator is not None:
        tags |= _tags_of(estimator)
        fixed = estimator.get_params(deep=True)
    ranks = _ranks(source, numbers)
    for place, trial in enumerate(record.trials):
        number = trial.number
        if number not in new:
            continue
        metrics = _trial_metrics(trial)
        metrics |= {f"cost_{n}": costs[place] for n, costs in record.costs.items()}
        metrics |= ranks.get(number, {})
        params = fixed | record.params[place]
        _log_trial(mlflow, run, trial, tags, metrics, params)
    return new


def _logged(mlflow: Any, run: Any) -> set[int]:
    children = mlflow.search_runs(
        experiment_ids=[run.info.experiment_id],
        filter_string=f"tags.`mlflow.parentRunId` = '{run.info.run_id}'",
        output_format="list",
    )
    tags = [child.data.tags for child in children]
    return {int(tag["skbayes.trial"]) for tag in tags if "skbayes.trial" in tag}


# -- autologging ---------------------------------------------------------------------


@contextlib.contextmanager
def autologged(search: BaseSearchCV, X: Any, y: Any, weights: Any) -> Iterator[None]:
    """Log the search that is fitted here if ``mlflow.sklearn.autolog()`` is on."""
    autologging = active_autologging()
    if autologging is None:
        yield
        return
    mlflow: Any = sys.modules["mlflow"]

    def option(name: str, default: Any) -> Any:
        return autologging.get_autologging_config("sklearn", name, default)

    active = mlflow.active_run()
    with contextlib.ExitStack() as stack:
        if active is None:
            tags = {"mlflow.autologging": "sklearn"} | (
                option("extra_tags", None) or {}
            )
            stack.enter_context(mlflow.start_run(tags=tags))
        stack.enter_context(without_autologging())
        yield
        if active is not None and option("exclusive", False):
            return
        try:
            log_search(mlflow, search, max_trials=option("max_tuning_runs", 5))
            # Training metrics, the confusion matrix and the diagram of the search.
            client = autologging.MlflowAutologgingQueueingClient()
            mlflow.sklearn.utils._log_estimator_content(
                client,
                search,
                mlflow.active_run().info.run_id,
                "training_",
                *(X, y, weights),
                pos_label=option("pos_label", None),
            )
            client.flush()
            if option("log_models", True):
                _log_models(mlflow, search, X, option)
        except Exception as error:
            # A logging error must not affect the search.
            message = f"The search was not logged completely to MLflow: {error!r}"
            warn_user(message)


def _log_models(mlflow: Any, search: BaseSearchCV, X: Any, option: Any) -> None:
    """Log the search and its best estimator under the names used for GridSearchCV."""
    best = vars(search).get("best_estimator_")
    if best is None:
        return
    options = {"serialization_format": option("serialization_format", "cloudpickle")}
    if option("log_model_signatures", True):
        options["signature"] = _signature(mlflow, search, X)
    if option("log_input_examples", False):
        options["input_example"] = X[:N_SIGNATURE_ROWS]
    registered = {"registered_model_name": option("registered_model_name", None)}
    log_model = mlflow.sklearn.log_model
    log_model(search, name="model", **options, **registered)
    log_model(best, name="best_estimator", **options)


def _signature(mlflow: Any, search: BaseSearchCV, X: Any) -> Any:
    """Infer the signature of the search; None for types unsupported by MLflow."""
    try:
        rows = X[:N_SIGNATURE_ROWS]
        return mlflow.models.infer_signature(rows, search.predict(rows))
    except Exception:
        return None


# -- the run of the search -------------------------------------------------------------


def _log_parent(mlflow: Any, run: Any, source: Any, record: SearchRecord) -> None:
    tags = {"skbayes.search": record.method or record.name}
    params: dict[str, Any] = {}
    best = {} if record.best is None else record.params[record.best]
    best = {f"best_{name}": value for name, value in best.items()}
    if hasattr(source, "get_params"):
        params = {**source.get_params(deep=False), **best}
        tags |= _tags_of(source)
    else:
        # Parameters of a run cannot be changed, and a better trial may follow.
        tags |= {name: _as_text(value) for name, value in best.items()}
    _log_batch(mlflow, run.info.run_id, {}, params, tags)
    now = int(time.time() * 1000)
    metric = mlflow.entities.Metric
    steps = [metric("best_cv_score", score, now, n) for n, score in _incumbents(record)]
    for part in _parts(steps, 1000):
        mlflow.MlflowClient().log_batch(run.info.run_id, metrics=part)
    if hasattr(source, "cv_results_"):
        mlflow.log_text(_as_csv(source.cv_results_), "cv_results.csv")


def _incumbents(record: SearchRecord) -> Iterator[tuple[int, float]]:
    """Yield the number and score of each trial that is better than all before it."""
    best = -math.inf
    if record.directions:
        return
    for number, score, usable in zip(
        record.number.tolist(), record.score.tolist(), record.eligible, strict=True
    ):
        if usable and score > best:
            best = score
            yield number, score


def _as_csv(results: Mapping[str, Any]) -> str:
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(results)
    rows.writerows(zip(*results.values(), strict=True))
    return file.getvalue()


# -- the runs of the trials ------------------------------------------------------------


def _log_trial(
    mlflow: Any,
    parent: Any,
    trial: Trial,
    origin: Mapping[str, str],
    metrics: Mapping[str, float],
    params: Mapping[str, Any],
) -> None:
    client = mlflow.MlflowClient()
    begin = time.time() if trial.started is None else trial.started
    end = begin + trial.duration
    child = client.create_run(
        parent.info.experiment_id,
        start_time=int(begin * 1000),
        run_name=f"trial {trial.number}",
        tags={**origin, "mlflow.parentRunId": parent.info.run_id},
    )
    tags = {"skbayes.trial": str(trial.number), "state": str(trial.state)}
    if trial.violation is not None:
        tags["feasible"] = str(trial.feasible)
    if trial.error is not None:
        tags["error"] = _as_text(trial.error.strip().rpartition("\n")[2])
    _log_batch(mlflow, child.info.run_id, metrics, params, tags)
    status = "FAILED" if trial.state == TrialState.FAILED else "FINISHED"
    client.set_terminated(child.info.run_id, status, int(end * 1000))


def _trial_metrics(trial: Trial) -> dict[str, float]:
    """Return means and standard deviations over the splits, as in `cv_results_`."""
    fitted = trial.fitted
    columns = {f"test_{name}": values for name, values in trial.scores.items()}
    columns |= {f"train_{name}": values for name, values in trial.train_scores.items()}
    columns |= {"fit_time": trial.fit_times, "score_time": trial.score_times}
    share = trial.fidelity.train_fraction
    metrics = {"duration": trial.duration, "train_fraction": share}
    for name, values in columns.items():
        if fitted.any():
            metrics[f"mean_{name}"] = float(np.mean(values[fitted]))
            metrics[f"std_{name}"] = float(np.std(values[fitted]))
    return metrics | {f"mean_constraint_{n}": v for n, v in trial.outcomes.items()}


def _ranks(source: Any, numbers: Sequence[int]) -> dict[int, dict[str, float]]:
    results = getattr(source, "cv_results_", {})
    numbers = getattr(source, "_ranked_numbers", numbers)
    columns = {n: v for n, v in results.items() if n.startswith("rank_test_")}
    return {
        number: {name: float(values[row]) for name, values in columns.items()}
        for row, number in enumerate(numbers)
    }


def _tags_of(estimator: Any) -> dict[str, str]:
    kind = type(estimator)
    return {
        "estimator_name": kind.__name__,
        "estimator_class": f"{kind.__module__}.{kind.__name__}",
    }


# -- limits of MLflow ------------------------------------------------------------------


def _log_batch(
    mlflow: Any,
    run_id: str,
    metrics: Mapping[str, float],
    params: Mapping[str, Any],
    tags: Mapping[str, str],
) -> None:
    """Log to a run, without values that are not finite."""
    client, entities = mlflow.MlflowClient(), mlflow.entities
    now = int(time.time() * 1000)
    listed = [
        entities.Metric(_name(name), float(value), now, 0)
        for name, value in metrics.items()
        if math.isfinite(value)
    ]
    pairs = [entities.Param(_name(name), _as_text(v)) for name, v in params.items()]
    for part in _parts(pairs, MOST_PARAMS):
        client.log_batch(run_id, params=part)
    # The tags are logged last: a trial counts as logged only if it is complete.
    marks = [entities.RunTag(name, value) for name, value in tags.items()]
    client.log_batch(run_id, metrics=listed, tags=marks)


def _parts(items: list, size: int) -> Iterator[list]:
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]


def _name(name: str) -> str:
    return re.sub(r"[^\w\-. /]", "_", name)


def _as_text(value: Any) -> str:
    """Return the text of a value, of limited length."""
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."
