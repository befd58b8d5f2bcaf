"""Objective with two values: the score on the unit scale, and the negated cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from skbayes.evaluation.costs import parse_cost, trial_cost
from skbayes.evaluation.trial import Trial
from skbayes.search.guiding_metric import GuidingMetric
from skbayes.space.dimensions import is_number

__all__ = ["ScoreAndCost"]


class ScoreAndCost(GuidingMetric):
    """Score on the unit scale, and the negated cost of a trial."""

    separate_costs = True

    def __init__(self, search: Any, scorers: Any) -> None:
        self.cost, measure = parse_cost(search.cost)
        self.measures = {self.cost: measure}
        self._low, self._high = _bounds(search.score_range)
        super().__init__(search, scorers)

    def of_trial(self, trial: Trial) -> list[float]:
        """Return the observation of a trial for the optimizer."""
        return [self.on_unit_scale(trial.score), -trial_cost(trial, self.cost)]

    def on_unit_scale(self, score: float) -> float:
        """Return a score relative to `score_range`; ValueError if it is required."""
        given = self._search.score_range is not None
        if not given and not np.isnan(score) and not 0 <= score <= 1:
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
