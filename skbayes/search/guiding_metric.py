"""Metric that guides a search with one or several metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skbayes import compat
from skbayes.evaluation.trial import Trial

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
        if compat.is_multimetric_scorer(scorers):
            self._resolve(compat.public_scorers(scorers))
        elif not callable(search.scoring):
            self._check_single()
            self.name = "score"

    def __call__(self, scores: Any) -> float:
        """Return the guiding score among the test scores of a fold."""
        if not isinstance(scores, dict):
            # A failed fit has the error score for all metrics.
            if not _equal(scores, self._search.error_score):
                self._check_single()
            return float(scores)
        if self.name is None:
            compat.check_multimetric_refit(self._search, scores)
            self._resolve(scores)
        assert self.name is not None
        return float(scores[self.name])

    def of_trial(self, trial: Trial) -> Any:
        """Return the observation of a trial for the optimizer."""
        return trial.score

    def best_known(self, known: Sequence[tuple]) -> list[dict[str, Any]]:
        """Return the best of some observations: parameters, scores, noise."""
        return [max(known, key=lambda one: one[1])[0]] if known else []

    def _check_single(self) -> None:
        """Raise ValueError if `target_metric` is not the name of the single metric."""
        wanted, scoring = self._search.target_metric, self._search.scoring
        self._metric_of_rule(["score"])
        names = {"score", scoring} if isinstance(scoring, str) else {"score"}
        if wanted is not None and (callable(scoring) or wanted not in names):
            raise ValueError(
                f"target_metric={wanted!r}, but there is only one metric, that of "
                f"scoring={scoring!r}; use target_metric=None."
            )

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

    def _metric_of_rule(self, names: list[str]) -> str | None:
        """Return the metric by which a rule of :mod:`skbayes.results` chooses."""
        metric = getattr(self._search.refit, "metric", None)
        if isinstance(metric, str) and metric not in names:
            raise ValueError(
                f"refit={self._search.refit!r} chooses by the metric {metric!r}, which "
                f"is not among those of scoring: {names}"
            )
        return metric


def _equal(score: Any, error_score: Any) -> bool:
    return bool(score == error_score or (score != score and error_score != error_score))
