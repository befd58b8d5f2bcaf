"""Objective of TradeoffSearchCV: the score, and the cost of a trial."""

from __future__ import annotations

from typing import Any

import numpy as np

from skbayes.results.trial_costs import trial_cost
from skbayes.space.dimensions import is_number
from skbayes.trial.measure import COSTS, Measure
from skbayes.trial.objectives import GuidingMetric
from skbayes.trial.option_table import require
from skbayes.trial.records import Trial
from skbayes.trial.settings import Settings
from skbayes.utils.did_you_mean import naming


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


class ScoreAndCost(GuidingMetric):
    """Score on the unit scale, and the negated cost of a trial."""

    separate_costs = True

    def __init__(
        self, settings: Settings, scorers: Any, cost: Any, score_range: Any
    ) -> None:
        self.cost, measure = parse_cost(cost)
        self.measures = {self.cost: measure}
        require("costs")
        self._is_unit = score_range is None
        self._low, self._high = _bounds(score_range)
        super().__init__(settings, scorers)
        with naming("error_score"):
            self.on_unit_scale(settings.missing_score)

    def of_trial(self, trial: Trial) -> list[float]:
        """Return the observation of a trial for the optimizer."""
        # A trial without a cost cannot be chosen, as if it had failed.
        is_known = np.isfinite(trial_cost(trial, self.cost, warm=False))
        score = self.on_unit_scale(trial.score) if is_known else np.nan
        return [score, -trial_cost(trial, self.cost)]

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
