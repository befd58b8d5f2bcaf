"""Costs of trials, computed from the measurements of their fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from skbayes.acquisition.tradeoff import typical_cost
from skbayes.evaluation.measure import COSTS, Measure
from skbayes.evaluation.trial import Trial, TrialState
from skbayes.space.dimensions import FloatArray

__all__ = ["TrialCosts"]

# Costs that are larger for the first fit in a process.
TIMES = ("fit_time", "score_time", "cpu_time", "predict_time")


class TrialCosts:
    """Costs of trials, computed from the `measures` that each fit records.

    `cost` is the name of a measure, or a callable of the fitted estimator that returns
    a nonnegative number.

    Examples
    --------
    >>> from skbayes.evaluation.costs import TrialCosts
    >>> from skbayes.evaluation import FoldResult, Trial
    >>> from skbayes.evaluation.trial import TrialState
    >>> folds = [
    ...     FoldResult(extras={"costs": {"fit_time": t}, "warm_up": t == 9.0})
    ...     for t in (9.0, 2.0)
    ... ]
    >>> TrialCosts("fit_time").of_trial(Trial(0, {}, folds, score=0.5))
    2.0
    """

    def __init__(self, cost: str | Callable[[Any], float]) -> None:
        if isinstance(cost, str) and cost in COSTS:
            self.name, measure = cost, COSTS[cost]
        elif callable(cost) and not isinstance(cost, type):
            self.name, measure = "cost", Measure(cost)
        else:
            kind = ValueError if isinstance(cost, str) else TypeError
            raise kind(
                f"cost must be one of {list(COSTS)} or a callable of the fitted "
                f"estimator, got {cost!r}."
            )
        self.measures = {self.name: measure}

    def of_trial(self, trial: Trial, warm: bool = True) -> float:
        """Return the mean cost of the folds, if `warm` without first fits, or NaN."""
        if trial.state == TrialState.FAILED:
            return math.nan
        warm = warm and self.name in TIMES
        extras = [fold.extras for fold in trial.folds]
        kept = [more for more in extras if not (warm and more.get("warm_up"))]
        costs = [more.get("costs", {}).get(self.name, math.nan) for more in kept]
        costs = [cost for cost in costs if math.isfinite(cost)]
        if any(cost < 0.0 for cost in costs):
            raise ValueError(f"cost must be 0 or more, got {min(costs)!r}.")
        return float(np.mean(costs)) if costs else math.nan

    def of_all(self, trials: Sequence[Trial], fractions: FloatArray) -> FloatArray:
        """Return the costs of all trials.

        The cost of a trial is unknown if all of its fits were the first ones in their
        processes. It is then estimated by the median of the trials on the same number
        of rows, or else by a typical cost on all rows times the fraction of rows.
        """
        costs = np.array([self.of_trial(trial) for trial in trials], dtype=float)
        if not np.any(np.isfinite(costs)):
            # There are too few fits to exclude any.
            return np.array([self.of_trial(trial, warm=False) for trial in trials])
        known = np.isfinite(costs)
        for i, trial in enumerate(trials):
            if known[i] or math.isnan(self.of_trial(trial, warm=False)):
                continue
            alike = costs[known & (fractions == fractions[i])]
            if len(alike):
                costs[i] = np.median(alike)
            else:
                costs[i] = typical_cost(costs[known], fractions[known]) * fractions[i]
        return costs
