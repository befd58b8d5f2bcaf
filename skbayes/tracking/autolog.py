"""Autologging to MLflow: one run for each search, and none for its fits."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Iterator
from typing import Any

from skbayes.tracking.mlflow_runs import log_search
from skbayes.utils.optional import warn_user

# Number of rows from which the signature of a model is inferred, as in MLflow.
N_SIGNATURE_ROWS = 5


@contextlib.contextmanager
def autologged(search: Any, X: Any) -> Iterator[None]:
    """Log the search that is fitted here if ``mlflow.sklearn.autolog()`` is on."""
    autologging = sys.modules.get("mlflow.utils.autologging_utils")
    if autologging is None or not _is_on(autologging):
        yield
        return
    mlflow: Any = sys.modules["mlflow"]

    def option(name: str, default: Any) -> Any:
        return autologging.get_autologging_config("sklearn", name, default)

    active = mlflow.active_run()
    with contextlib.ExitStack() as stack:
        if active is None:
            tags = {
                "mlflow.autologging": "sklearn",
                **(option("extra_tags", None) or {}),
            }
            stack.enter_context(mlflow.start_run(tags=tags))
        # For all threads, and for processes forked from this one. Fits in other
        # processes are not logged, because MLflow is not imported there.
        stack.enter_context(autologging.disable_autologging())
        yield
        if active is not None and option("exclusive", False):
            return
        try:
            log_search(mlflow, search, max_trials=option("max_tuning_runs", 5))
            if option("log_models", True):
                _log_models(mlflow, search, X, option)
        except Exception as error:
            # A logging error must not affect the search.
            message = f"The search was not logged completely to MLflow: {error!r}"
            warn_user(message)


def _is_on(autologging: Any) -> bool:
    # `disable_autologging` cannot be nested: the inner block ends the outer one.
    # Nothing is logged inside the fit of an object that MLflow logs, such as a
    # pipeline.
    off = getattr(autologging, "_AUTOLOGGING_GLOBALLY_DISABLED", False)
    within = getattr(autologging, "_has_active_training_session", bool)()
    return not (off or within or autologging.autologging_is_disabled("sklearn"))


def _log_models(mlflow: Any, search: Any, X: Any, option: Any) -> None:
    """Log the search and its best estimator under the names used for GridSearchCV."""
    if not hasattr(search, "best_estimator_"):
        return
    log_model = mlflow.sklearn.log_model
    known = inspect.signature(log_model).parameters
    # The name of the argument in MLflow 2 is `artifact_path`.
    name = "name" if "name" in known else "artifact_path"
    more = {"serialization_format": option("serialization_format", "cloudpickle")}
    if option("log_model_signatures", True):
        more["signature"] = _signature(mlflow, search, X)
    if option("log_input_examples", False):
        more["input_example"] = X[:N_SIGNATURE_ROWS]
    registered = {"registered_model_name": option("registered_model_name", None)}
    log_model(search, **{name: "model"}, **more, **registered)
    log_model(search.best_estimator_, **{name: "best_estimator"}, **more)


def _signature(mlflow: Any, search: Any, X: Any) -> Any:
    """Infer the signature of the search; None for types unsupported by MLflow."""
    try:
        rows = X[:N_SIGNATURE_ROWS]
        return mlflow.models.infer_signature(rows, search.predict(rows))
    except Exception:
        return None
