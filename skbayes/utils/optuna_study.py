"""Results of Optuna studies, read without importing Optuna."""

from __future__ import annotations

import math
from typing import Any

# Names of the states of finished trials.
_STATES = {"COMPLETE": "complete", "FAIL": "failed", "PRUNED": "pruned"}


def study_of(source: Any) -> Any:
    """Return the study of an Optuna object: a study or OptunaSearchCV; else None."""
    study = getattr(source, "study_", source)
    is_study = isinstance(getattr(study, "directions", None), list)
    return study if is_study and hasattr(study, "trials") else None


def results_of_study(
    study: Any,
) -> tuple[int, list[tuple[dict[str, Any], float, float, str]]]:
    """Return the sign of the values of a study, and the results of finished trials.

    Each result consists of parameters, value, seconds (0 if unknown), and state.
    Greater values are better: values of a study that minimizes are negated. Values of
    failed and pruned trials are NaN. A ValueError is raised if there are several
    objectives.
    """
    if len(study.directions) != 1:
        raise ValueError(
            f"the study has {len(study.directions)} objectives; only a study with one "
            "can be used"
        )
    sign = -1 if study.directions[0].name == "MINIMIZE" else 1
    return sign, [
        (
            dict(trial.params),
            sign * trial.value if trial.state.name == "COMPLETE" else math.nan,
            _seconds(trial),
            _STATES[trial.state.name],
        )
        for trial in study.trials
        if trial.state.name in _STATES
    ]


def _seconds(trial: Any) -> float:
    duration = getattr(trial, "duration", None)
    return 0.0 if duration is None else float(duration.total_seconds())
