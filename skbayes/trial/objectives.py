"""Objective of a search, computed from the scores of the folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Protocol

from sklearn.metrics import get_scorer_names

from skbayes import compat
from skbayes.trial.learning_curves import Guide
from skbayes.trial.measure import Measure
from skbayes.trial.records import Trial
from skbayes.trial.settings import Settings
from skbayes.utils.ranking import best_first


class Objective(Protocol):
    """Objective that guides a search, computed from the scores of the folds.

    With a callable `scoring`, its metrics are known after the first fit.
    """

    @property
    def measures(self) -> Mapping[str, Measure]:
        """Costs that are measured for each fit, by name."""

    @property
    def separate_costs(self) -> bool:
        """Whether the costs are not test scores."""

    @property
    def name(self) -> str | None:
        """Name of the metric that guides the search, as soon as it is known."""

    @property
    def metrics(self) -> list[str]:
        """Names of the test scores, as soon as they are known."""

    @property
    def guide(self) -> Guide:
        """Metric that chooses the number of rounds."""

    def learn(self, scores: Mapping[str, float]) -> None:
        """Learn the metrics from the scores of a fold."""

    def __call__(self, scores: Mapping[str, float]) -> float:
        """Return the guiding score from the scores of a fold; greater is better."""

    def of_trial(self, trial: Trial) -> Any:
        """Return the observation of a trial for the optimizer."""

    def best_known(self, observations: Sequence[tuple]) -> list[dict[str, Any]]:
        """Return the best configurations of (params, scores, noise) tuples."""


class GuidingMetric:
    """Metric that guides the search, read from the scores of one fold.

    With a callable `scoring`, the names of the metrics are checked after the first fit,
    since they are not available earlier.

    `name` is "score" for a single metric, and None until it is known. `metrics` are the
    names of all metrics. A ValueError is raised if a rule of `refit` chooses by a
    metric that is not among them.
    """

    measures: Mapping[str, Any] = {}
    separate_costs = False

    def __init__(self, settings: Settings, scorers: Any) -> None:
        self._refit = settings.refit.plain
        self._error_score = settings.error_score
        self.name: str | None = None
        self.metrics: list[str] = []
        if compat.is_multimetric_scorer(scorers):
            self._resolve(list(compat.public_scorers(scorers)))
        elif not callable(settings.scoring):
            self._resolve(["score"])

    def learn(self, scores: Mapping[str, float]) -> None:
        """Learn the metrics of a callable `scoring` from the scores of a fold."""
        if self.metrics or not scores:
            return
        refit = self._refit
        if list(scores) != ["score"]:
            compat.check_multimetric_refit(SimpleNamespace(refit=refit), scores)
        elif isinstance(refit, str) and refit not in ("score", *get_scorer_names()):
            raise ValueError(
                f"refit must be True, False, 'ensemble', 'corrected' or a callable if "
                f"scoring returns a single number, got {refit!r}."
            )
        self._resolve(list(scores))

    def __call__(self, scores: Mapping[str, float]) -> float:
        """Return the guiding score from the test scores of a fold."""
        if not scores:
            return float(self._error_score)
        assert self.name is not None
        return float(scores[self.name])

    @property
    def guide(self) -> Guide:
        """Metric that chooses the number of rounds."""
        return Guide(self.name)

    def of_trial(self, trial: Trial) -> Any:
        """Return the observation of a trial for the optimizer."""
        return trial.score

    def best_known(self, observations: Sequence[tuple]) -> list[dict[str, Any]]:
        """Return the best of some observations: parameters, scores, noise."""
        order = best_first([score for _, score, *_ in observations])
        return [observations[place][0] for place in order[:1]]

    def _resolve(self, names: list[str]) -> None:
        refit = self._refit
        # The metric by which a rule of :mod:`skbayes.results` chooses.
        metric = getattr(refit, "metric", None)
        if isinstance(metric, str) and metric not in names:
            raise ValueError(
                f"refit={refit!r} chooses by the metric {metric!r}, which is not among "
                f"those of scoring: {names}"
            )
        by_refit = refit if isinstance(refit, str) and refit in names else None
        self.name = by_refit or metric or names[0]
        self.metrics = names
