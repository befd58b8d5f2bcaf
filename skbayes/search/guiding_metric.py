"""Metric that guides a search, and the score with a separate cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skbayes import compat
from skbayes.evaluation.costs import parse_cost, trial_cost
from skbayes.evaluation.learning_curves import Guide
from skbayes.evaluation.trial import Trial
from skbayes.space.dimensions import is_number
from skbayes.utils.ranking import best_first

__all__ = ["GuidingMetric", "ScoreAndCost"]


class GuidingMetric:
    """Metric that guides the search, read from the scores of one fold.

    With a callable `scoring`, the names of the metrics are checked after the first fit,
    since they are not available earlier.

    `name` is "score" if there is only one, and None while it is not known. `metrics`
    are the names of all metrics. A ValueError is raised if a rule of `refit` chooses by
    another metric.
    """

    measures: Mapping[str, Any] = {}
    separate_costs = False

    def __init__(self, search: Any, scorers: Any) -> None:
        self._search = search
        self.name: str | None = None
        self.metrics: list[str] = []
        if compat.is_multimetric_scorer(scorers):
            self._resolve(compat.public_scorers(scorers))
        elif not callable(search.scoring):
            self._resolve_single()

    def learn(self, scores: Mapping[str, float]) -> None:
        """Learn the metrics of a callable `scoring` from the scores of a fold."""
        if self.metrics or not scores:
            return
        if list(scores) == ["score"]:
            self._resolve_single()
        else:
            compat.check_multimetric_refit(self._search, scores)
            self._resolve(scores)

    def __call__(self, scores: Mapping[str, float]) -> float:
        """Return the guiding score from the test scores of a fold."""
        if not scores:
            return float(self._search.error_score)
        assert self.name is not None
        return float(scores[self.name])

    @property
    def guide(self) -> Guide:
        """Metric that chooses the number of rounds."""
        return Guide(self.name)

    def of_trial(self, trial: Trial) -> Any:
        """Return the observation of a trial for the optimizer."""
        return trial.score

    def best_known(self, known: Sequence[tuple]) -> list[dict[str, Any]]:
        """Return the best of some observations: parameters, scores, noise."""
        order = best_first([score for _, score, *_ in known])
        return [known[place][0] for place in order[:1]]

    def _resolve_single(self) -> None:
        self._metric_of_rule(["score"])
        self.name = "score"
        self.metrics = ["score"]

    def _resolve(self, names: Any) -> None:
        names = list(names)
        refit = self._search.refit
        by_refit = refit if isinstance(refit, str) and refit in names else None
        self.name = by_refit or self._metric_of_rule(names) or names[0]
        self.metrics = names

    def _metric_of_rule(self, names: list[str]) -> str | None:
        """Return the metric by which a rule of :mod:`skbayes.results` chooses."""
        metric = getattr(self._search.refit, "metric", None)
        if isinstance(metric, str) and metric not in names:
            raise ValueError(
                f"refit={self._search.refit!r} chooses by the metric {metric!r}, which "
                f"is not among those of scoring: {names}"
            )
        return metric


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
