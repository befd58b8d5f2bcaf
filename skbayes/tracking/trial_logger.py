"""Logger of trials for Weights & Biases, TensorBoard and Comet."""

from __future__ import annotations

import importlib
import math
import os
import time
from collections.abc import Callable
from typing import Any

from skbayes.evaluation.costs import trial_cost
from skbayes.evaluation.trial import Trial
from skbayes.tracking.mlflow_runs import as_text, error_text, trial_metrics
from skbayes.utils.optional import warn_or_log

Values = dict[str, Any]


class TrialLogger:
    """Callback that logs the trials of a search to Weights & Biases and others.

    Pass it to ``search.set_callbacks`` before ``fit`` (with scikit-learn 1.9 or later),
    or call `log` with the trials of a fitted search. Names are those of `cv_results_`,
    such as "param_C" and "mean_test_score". Values that are not finite are left out.

    Parameters
    ----------
    run : wandb.Run, SummaryWriter or comet_ml.CometExperiment
        Destination of the trials:

        - run of Weights & Biases: each trial is a row of its history;
        - ``SummaryWriter`` of ``torch.utils.tensorboard`` or ``tensorboardX``: each
          trial is a session of the HParams dashboard of TensorBoard;
        - experiment of Comet: each trial is a step, with numbers as metrics, and all
          values in a text.

    Raises
    ------
    TypeError
        If the type of `run` is unknown.

    See Also
    --------
    log_to_mlflow : Log a search to MLflow.

    Notes
    -----
    Trials are logged in the process of the search, as soon as they finish. Trials from
    the journal of an interrupted search are not logged again. If a trial cannot be
    logged, the search goes on with a warning. Pickles of the logger do not contain the
    run.

    Examples
    --------
    >>> import wandb  # doctest: +SKIP
    >>> from skbayes.tracking import TrialLogger
    >>> with wandb.init(project="iris") as run:  # doctest: +SKIP
    ...     search.set_callbacks(TrialLogger(run)).fit(X, y)
    """

    # Fits are therefore not reported to it, and run as without callbacks.
    observes_fits = False

    def __init__(self, run: Any) -> None:
        _writer(run)
        self.run = run

    def __getstate__(self) -> dict[str, Any]:
        return {"run": None}

    def log(self, trial: Trial) -> None:
        """Log a trial.

        Parameters
        ----------
        trial : Trial
            Finished trial, such as one of ``search.trials_``.
        """
        _writer(self.run)(self.run, trial.number, *_content(trial))

    def setup(self, estimator: Any, context: Any) -> None:
        """Warn if the run is missing.

        Parameters
        ----------
        estimator : estimator
            Search.
        context : sklearn.callback.CallbackContext
            Task of the whole fit.
        """
        if self.run is None:
            warn_or_log(
                "Trials are not logged, because the TrialLogger was pickled or copied, "
                "and its run is not available."
            )

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing.

        Parameters
        ----------
        estimator : estimator
            Search.
        context : sklearn.callback.CallbackContext
            Task.
        """

    teardown = on_fit_task_begin

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Log the trial that has finished.

        Parameters
        ----------
        estimator : estimator
            Search.
        context : sklearn.callback.CallbackContext
            Task. Tasks of trials have the attribute `trial`.
        """
        trial = getattr(context, "trial", None)
        if trial is None or self.run is None:
            return
        try:
            self.log(trial)
        except Exception as error:
            # A logging error must not affect the search.
            warn_or_log(f"Trial {trial.number} was not logged: {error!r}")


def _content(trial: Trial) -> tuple[Values, Values]:
    """Return the configuration with the state of a trial, and its metrics."""
    params = {f"param_{name}": _plain(value) for name, value in trial.params.items()}
    params["state"] = str(trial.state)
    if trial.error is not None:
        params["error"] = error_text(trial.error)
    metrics = trial_metrics(trial)
    costs = dict.fromkeys(n for f in trial.folds for n in f.extras.get("costs", {}))
    metrics |= {f"cost_{name}": trial_cost(trial, name, warm=False) for name in costs}
    return params, {n: v for n, v in metrics.items() if math.isfinite(v)}


def _plain(value: Any) -> Any:
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return value
    return as_text(value)


def _writer(run: Any) -> Callable[[Any, int, Values, Values], None]:
    """Return the function that logs a trial to a run, by the methods of the run."""
    for method, writer in _WRITERS.items():
        if hasattr(run, method):
            return writer
    raise TypeError(
        "run must be a run of wandb, a SummaryWriter of TensorBoard or an experiment "
        f"of comet_ml, got {run!r}."
    )


def _to_tensorboard(run: Any, number: int, params: Values, metrics: Values) -> None:
    # `add_hparams` declares the columns of all trials, those of one trial. TensorBoard
    # collects them from the trials if they are not declared.
    kind = next(kind for kind in type(run).__mro__ if "add_hparams" in vars(kind))
    package = kind.__module__.rpartition(".")[0]
    summary = importlib.import_module(f"{package}.summary")
    _, begin, end = summary.hparams({"trial": number, **params}, metrics)
    name = f"trial_{number}_{time.time()}"
    with kind(os.path.join(run.file_writer.get_logdir(), name)) as session:
        session.file_writer.add_summary(begin)
        for metric, value in metrics.items():
            session.add_scalar(metric, value)
        session.file_writer.add_summary(end)


def _to_comet(run: Any, number: int, params: Values, metrics: Values) -> None:
    numbers = {n: v for n, v in params.items() if type(v) in (int, float)}
    run.log_metrics(numbers | metrics, step=number)
    row = {"trial": number, **params, **metrics}
    text = ", ".join(f"{name}={value!r}" for name, value in row.items())
    run.log_text(text, step=number, metadata=row)


def _to_wandb(run: Any, number: int, params: Values, metrics: Values) -> None:
    run.log({"trial": number, **params, **metrics})


_WRITERS = {
    "add_hparams": _to_tensorboard,
    "log_parameters": _to_comet,
    "define_metric": _to_wandb,
}
