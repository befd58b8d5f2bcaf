"""Results of Optuna studies, read without importing Optuna."""

from __future__ import annotations

from typing import Any

import numpy as np


def study_of(source: Any) -> Any:
    """Return the study of an Optuna object: a study or OptunaSearchCV; else None."""
    study = getattr(source, "study_", source)
    known = hasattr(study, "trials") and hasattr(study, "directions")
    return study if known and not isinstance(study, type) else None


def results_of_study(
    study: Any,
) -> list[tuple[dict[str, Any], float, None, float | None, bool]]:
    """Return the results of the finished trials of a study.

    Each result consists of parameters, value, noise (None), seconds, and whether the
    trial failed. Greater values are better: values of a study that minimizes are
    negated. Values of failed and pruned trials are NaN. A ValueError is raised if there
    are several objectives.
    """
    if len(study.directions) != 1:
        raise ValueError(
            f"warm_start_from: the study has {len(study.directions)} objectives; only "
            "a study with one can be used"
        )
    sign = -1.0 if study.directions[0].name == "MINIMIZE" else 1.0
    return [
        (
            dict(trial.params),
            sign * trial.value if trial.state.name == "COMPLETE" else np.nan,
            None,
            _seconds(trial),
            trial.state.name == "FAIL",
        )
        for trial in study.trials
        if trial.state.name not in ("RUNNING", "WAITING")
    ]


def _seconds(trial: Any) -> float | None:
    """Return the duration of a trial, if it is known and the trial is complete."""
    duration = getattr(trial, "duration", None)
    if duration is None or trial.state.name == "PRUNED":
        return None
    seconds = float(duration.total_seconds())
    return seconds if seconds > 0.0 else None
