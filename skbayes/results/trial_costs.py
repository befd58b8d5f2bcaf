"""Costs of trials, computed from the measurements of their fits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from skbayes.space.dimensions import FloatArray
from skbayes.trial.records import Trial, TrialState

# Costs that are larger for the first fit in a process.
TIMES = ("fit_time", "score_time", "cpu_time", "predict_time")


def typical_cost(costs: FloatArray, fractions: FloatArray) -> float:
    """Return the typical cost on all of the data, whose relative cost is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.results.trial_costs import typical_cost
    >>> typical_cost(np.array([9.0, 3.0, 1.0, 0.2]), np.array([1.0, 1.0, 1.0, 0.2]))
    3.0
    >>> typical_cost(np.array([1.0, 0.2]), np.array([0.5, 0.2]))
    2.0
    """
    measured = np.isfinite(costs)
    if not np.any(measured):
        return np.nan
    largest = np.max(fractions[measured])
    cost = float(np.median(costs[measured & (fractions == largest)]) / largest)
    return cost if cost > 0.0 else 1.0


def trial_cost(trial: Trial, name: str, warm: bool = True) -> float:
    """Return the mean cost of the folds, or NaN; `warm` omits first fits."""
    if trial.state == TrialState.FAILED:
        return math.nan
    warm = warm and name in TIMES
    extras = [fold.extras for fold in trial.folds]
    counted = [extra for extra in extras if not (warm and extra.get("warm_up"))]
    costs = [extra.get("costs", {}).get(name, math.nan) for extra in counted]
    costs = [cost for cost in costs if math.isfinite(cost)]
    if any(cost < 0.0 for cost in costs):
        raise ValueError(f"cost must be 0 or more, got {min(costs)!r}.")
    return float(np.mean(costs)) if costs else math.nan


def trial_costs(
    trials: Sequence[Trial], name: str, fractions: FloatArray
) -> FloatArray:
    """Return the costs of all trials.

    The cost of a trial is unknown if all of its fits were the first ones in their
    processes. It is then estimated by the median of the trials on the same number of
    rows, or else by a typical cost on all rows times the fraction of rows.
    """
    costs = np.array([trial_cost(trial, name) for trial in trials], dtype=float)
    cold = np.array([trial_cost(trial, name, warm=False) for trial in trials])
    measured = np.isfinite(costs)
    if not np.any(measured):
        return cold  # there are too few fits to exclude any
    for i in np.flatnonzero(~measured & np.isfinite(cold)):
        alike = costs[measured & (fractions == fractions[i])]
        if len(alike):
            costs[i] = np.median(alike)
        else:
            costs[i] = typical_cost(costs[measured], fractions[measured]) * fractions[i]
    return costs
