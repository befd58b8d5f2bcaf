"""Studies of Optuna, read without importing Optuna."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["results_of_study", "study_of"]


def study_of(source: Any) -> Any:
    """Return the study that `source` is, or that an OptunaSearchCV made; else None."""
    study = getattr(source, "study_", source)
    known = hasattr(study, "trials") and hasattr(study, "directions")
    return study if known and not isinstance(study, type) else None


def results_of_study(
    study: Any,
) -> list[tuple[dict[str, Any], float, None, float | None, bool]]:
    """Return what is known of the finished trials of a study.

    Their parameters, value, noise (None), seconds, and whether they failed. Greater
    values are better: those of a study that minimizes are negated, and those of failed
    and pruned trials are NaN. ValueError if there are several objectives.
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
    """Return how long a trial took, if that is known and all of it was run."""
    duration = getattr(trial, "duration", None)
    if duration is None or trial.state.name == "PRUNED":
        return None
    seconds = float(duration.total_seconds())
    return seconds if seconds > 0.0 else None
