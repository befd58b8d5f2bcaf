"""Metric that guides a search with one or several metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skbayes import compat
from skbayes.evaluation.learning_curves import Guide
from skbayes.evaluation.trial import Trial
from skbayes.utils.ranking import best_first

__all__ = ["GuidingMetric"]


class GuidingMetric:
    """Metric that guides the search, read from the scores of one fold.

    With a callable `scoring`, the names of the metrics are checked after the first fit,
    since they are not available earlier.

    Parameters
    ----------
    search : BaseBayesSearchCV
        Search with the parameters `scoring`, `refit`, `target_metric` and
        `error_score`.
    scorers : callable
        Scorer of the fits.

    Attributes
    ----------
    name : str or None
        Name of the metric; "score" if there is only one, None while it is not known.
    metrics : list of str
        Names of all metrics; empty while they are not known.

    Raises
    ------
    ValueError
        If `target_metric` names none of the metrics, or contradicts `refit`.
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
        wanted, scoring = self._search.target_metric, self._search.scoring
        self._metric_of_rule(["score"])
        names = {"score", scoring} if isinstance(scoring, str) else {"score"}
        if wanted is not None and wanted not in names:
            raise ValueError(
                f"target_metric={wanted!r}, but there is only one metric, that of "
                f"scoring={scoring!r}; use target_metric=None."
            )
        self.name = "score"
        self.metrics = ["score"]

    def _resolve(self, names: Any) -> None:
        names = list(names)
        refit, wanted = self._search.refit, self._search.target_metric
        if wanted is not None and wanted not in names:
            raise ValueError(
                f"target_metric={wanted!r} is not among the metrics of scoring: {names}"
            )
        by_refit = refit if isinstance(refit, str) and refit in names else None
        if wanted is not None and by_refit is not None and wanted != by_refit:
            raise ValueError(
                f"target_metric={wanted!r} and refit={refit!r} name different metrics; "
                "use target_metric=None, or set refit to a callable or False"
            )
        self.name = by_refit or wanted or self._metric_of_rule(names) or names[0]
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
