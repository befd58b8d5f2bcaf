"""Search over pipelines on documents whose fits share the n-gram counts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from skbayes.evaluation.options import parse_cache
from skbayes.evaluation.run import SearchRun
from skbayes.search.base import with_params
from skbayes.search.multi_stage import MultiStageSearchCV
from skbayes.space import Space
from skbayes.text.liblinear import LiblinearClassifier
from skbayes.text.ngrams import NGramVectorizer
from skbayes.text.shared_counts import counted_texts

__all__ = ["CountingSearch", "last_step"]


class CountingSearch(MultiStageSearchCV):
    """Search over pipelines on documents in which all fits share the n-gram counts."""

    n_refit: int | None = None
    n_own_points = 0  # points of the user; others can be left out

    _n_initial_points = "auto"
    _cache_limit = 4e9

    def _trial_data(self, run: SearchRun) -> Callable[[Any], Any] | None:
        rules, limit = parse_cache(self.cache, self._cache_limit)
        if not (rules and _has_vectorizer(run)):
            return None
        return partial(counted_texts, run.X, limit=limit)

    def _warn_of_untried(self, points: list[dict], space: Space, n_iter: int) -> None:
        super()._warn_of_untried(points[: self.n_own_points], space, n_iter)

    def _refit_rows(self, run: SearchRun) -> Any:
        return None if self.n_refit is None else np.arange(self.n_refit)

    def _unfitted(self, params: Mapping[str, Any]) -> Any:
        """Return a pipeline that solves the problems of the classes in parallel."""
        pipeline = with_params(self.estimator, params)
        learner = last_step(pipeline)
        if isinstance(learner, LiblinearClassifier) and learner.n_jobs is None:
            learner.set_params(n_jobs=self.n_jobs)
        return pipeline

    def _refit(self, run: SearchRun, rows: Any, *final: Any) -> None:
        super()._refit(run, rows, *final)
        # The final model does not start workers.
        own = getattr(last_step(self.estimator), "n_jobs", None)
        best = self.best_estimator_
        members = getattr(best, "estimators_", [best])
        unfitted = best.estimators if hasattr(best, "weights_") else []
        for member in [*members, *unfitted]:
            if isinstance(last_step(member), LiblinearClassifier):
                last_step(member).set_params(n_jobs=own)


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _has_vectorizer(run: SearchRun) -> bool:
    """Return whether some trials use a vectorizer that can share its counts."""
    params = [run.estimator.get_params(deep=True), *run.space.covering_sample()]
    values = itertools.chain.from_iterable(by_name.values() for by_name in params)
    return any(isinstance(value, NGramVectorizer) for value in values)
