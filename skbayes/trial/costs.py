"""Costs of trials, computed from the measurements of their fits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from skbayes.acquisition.tradeoff import typical_cost
from skbayes.space.dimensions import FloatArray
from skbayes.trial.measure import COSTS, Measure
from skbayes.trial.plan import Plan
from skbayes.trial.records import FoldResult, Trial, TrialState

# Costs that are larger for the first fit in a process.
TIMES = ("fit_time", "score_time", "cpu_time", "predict_time")


def parse_cost(cost: Any) -> tuple[str, Measure]:
    """Return name and measure of a cost: a name, or a callable of the estimator."""
    if isinstance(cost, str) and cost in COSTS:
        return cost, COSTS[cost]
    if callable(cost) and not isinstance(cost, type):
        return "cost", Measure(cost)
    kind = ValueError if isinstance(cost, str) else TypeError
    raise kind(
        f"cost must be one of {list(COSTS)} or a callable of the fitted estimator, "
        f"got {cost!r}."
    )


def trial_cost(trial: Trial, name: str, warm: bool = True) -> float:
    """Return the mean cost of the folds, or NaN; if `warm`, without first fits."""
    if trial.state == TrialState.FAILED:
        return math.nan
    warm = warm and name in TIMES
    extras = [fold.extras for fold in trial.folds]
    kept = [more for more in extras if not (warm and more.get("warm_up"))]
    costs = [more.get("costs", {}).get(name, math.nan) for more in kept]
    costs = [cost for cost in costs if math.isfinite(cost)]
    if any(cost < 0.0 for cost in costs):
        raise ValueError(f"cost must be 0 or more, got {min(costs)!r}.")
    return float(np.mean(costs)) if costs else math.nan


def seconds_on_all_rows(
    folds: Iterable[FoldResult], plan: Plan, fraction: float = 1.0
) -> float:
    """Return the expected seconds of a fit on all rows, 0 if they are not known.

    They are those of the longest fit of some folds with a fraction of their training
    rows, in proportion to the rows.
    """
    seconds = [fold.fit_time for fold in folds if fold.is_fitted]
    n_rows = fraction * np.mean([len(train) for train, _ in plan.splits])
    return float(np.nanmax([0.0, *seconds]) * plan.n_samples / n_rows)


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
    known = np.isfinite(costs)
    if not np.any(known):
        return cold  # there are too few fits to exclude any
    for i in np.flatnonzero(~known & np.isfinite(cold)):
        alike = costs[known & (fractions == fractions[i])]
        if len(alike):
            costs[i] = np.median(alike)
        else:
            costs[i] = typical_cost(costs[known], fractions[known]) * fractions[i]
    return costs
