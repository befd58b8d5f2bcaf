"""Objective of TradeoffSearchCV: the score, and the cost of a trial."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skbayes.acquisition.tradeoff import typical_cost
from skbayes.space.dimensions import FloatArray, is_number
from skbayes.trial.measure import COSTS, Measure
from skbayes.trial.objectives import GuidingMetric
from skbayes.trial.records import Trial, TrialState

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


class ScoreAndCost(GuidingMetric):
    """Score on the unit scale, and the negated cost of a trial."""

    separate_costs = True

    def __init__(self, settings: Mapping[str, Any], scorers: Any) -> None:
        self.cost, measure = parse_cost(settings["cost"])
        self.measures = {self.cost: measure}
        self._is_unit = settings["score_range"] is None
        self._low, self._high = _bounds(settings["score_range"])
        super().__init__(settings, scorers)
        error_score = settings["error_score"]
        if not (isinstance(error_score, str) or np.isnan(error_score)):
            try:
                self.on_unit_scale(float(error_score))
            except ValueError as error:
                raise ValueError(f"error_score: {error}") from None

    def of_trial(self, trial: Trial) -> list[float]:
        """Return the observation of a trial for the optimizer."""
        return [self.on_unit_scale(trial.score), -trial_cost(trial, self.cost)]

    def on_unit_scale(self, score: float) -> float:
        """Return a score relative to `score_range`; ValueError if it is required."""
        if self._is_unit and not np.isnan(score) and not 0 <= score <= 1:
            raise ValueError(
                f"A score of {score:.4g} is not between 0 and 1, so it cannot be "
                "compared with costs. Set score_range=(low, high), the scores that "
                "correspond to 0 and 1."
            )
        return (score - self._low) / (self._high - self._low)


def _bounds(score_range: Any) -> tuple[float, float]:
    """Return the scores that correspond to 0 and 1."""
    if score_range is None:
        return 0.0, 1.0
    bounds = list(score_range)
    if len(bounds) != 2 or not all(is_number(b) and np.isfinite(b) for b in bounds):
        raise ValueError(f"score_range must be a pair of numbers, got {score_range!r}.")
    if not bounds[0] < bounds[1]:
        raise ValueError(
            f"score_range must be (low, high) with low < high, got {score_range!r}."
        )
    return float(bounds[0]), float(bounds[1])
