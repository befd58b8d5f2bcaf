"""Search over pipelines on documents whose fits share the n-gram counts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import VotingClassifier
from sklearn.pipeline import Pipeline

from skbayes.evaluation.aspects.shared_steps import parse_cache
from skbayes.evaluation.run import SearchRun
from skbayes.evaluation.trial import History
from skbayes.search.base import with_params
from skbayes.search.multi_stage import MultiStageSearchCV
from skbayes.space import Space
from skbayes.text.liblinear import LiblinearClassifier
from skbayes.text.ngrams import NGramVectorizer
from skbayes.text.shared_counts import counted_texts
from skbayes.utils.optional import warn_user

__all__ = ["CountingSearch", "last_step"]


class CountingSearch(MultiStageSearchCV):
    """Search over pipelines on documents in which all fits share the n-gram counts."""

    n_refit: int | None = None
    n_members = 1
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

    def _unfitted_best(self) -> Any:
        best = self._parallel(self.best_params_)
        if self.n_members == 1:
            return best
        members = [best, *map(self._parallel, self._runners_up())]
        members = [model for model in members if hasattr(model, "predict_proba")]
        if len(members) < self.n_members:
            warn_user(
                f"ensemble={self.n_members}: only {len(members)} configurations were "
                "scored completely and have predict_proba.",
            )
        named = [(f"member{number}", model) for number, model in enumerate(members)]
        return VotingClassifier(named, voting="soft") if members else best

    def _runners_up(self) -> list[dict[str, Any]]:
        """Return the next best configurations of the stage of the best trial."""
        stage = self.cv_results_["stage"][self.best_index_]
        of_stage = History([trial for trial in self.trials_ if trial.stage == stage])
        chosen: list[dict[str, Any]] = [self.best_params_]
        for trial in of_stage.best_first():
            if trial.feasible and trial.params not in chosen:
                chosen.append(trial.params)
        return chosen[1 : self.n_members]

    def _parallel(self, params: Mapping[str, Any]) -> Any:
        """Return a pipeline that solves the problems of the classes in parallel."""
        pipeline = with_params(self.estimator, params)
        learner = last_step(pipeline)
        if isinstance(learner, LiblinearClassifier) and learner.n_jobs is None:
            learner.set_params(n_jobs=self.n_jobs)
        return pipeline

    def _refit(self, run: SearchRun, rows: Any, tasks: Any = None) -> None:
        super()._refit(run, rows, tasks)
        # The final model does not start workers.
        own = getattr(last_step(self.estimator), "n_jobs", None)
        for member in getattr(self.best_estimator_, "estimators_", []) or [
            self.best_estimator_
        ]:
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
