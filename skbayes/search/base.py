"""The journey every search makes in `fit`: GridSearchCV's, trial by trial."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state, indexable
from sklearn.utils.parallel import Parallel

from skbayes import compat
from skbayes.evaluation import CandidateEvaluator, check_candidates
from skbayes.scheduling import run_trials
from skbayes.space import Space
from skbayes.trials import History, Trial

__all__ = ["BaseBayesSearchCV"]


class BaseBayesSearchCV(compat.BaseSearchCV):
    """Base class of the searches that learn from their trials.

    Inherits everything but `fit` from scikit-learn's `BaseSearchCV`: delegation, tags,
    routing, scoring and display. A subclass supplies `_make_optimizer`.
    """

    _parameter_constraints: dict = {
        **compat.BaseSearchCV._parameter_constraints,
        "search_spaces": [Mapping, list, tuple, Space],
        "n_iter": [compat.Interval(Integral, 1, None, closed="left")],
        "timeout": [compat.Interval(Real, 0, None, closed="neither"), None],
        "constraint": [callable, None],
        "target_metric": [str, None],
        "random_state": ["random_state"],
    }

    @abstractmethod
    def __init__(
        self,
        estimator: Any,
        search_spaces: Any,
        *,
        n_iter: int = 50,
        timeout: float | None = None,
        constraint: Callable[[dict], bool] | None = None,
        target_metric: str | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.search_spaces = search_spaces
        self.n_iter = n_iter
        self.timeout = timeout
        self.constraint = constraint
        self.target_metric = target_metric
        self.random_state = random_state

    @abstractmethod
    def _make_optimizer(self, space: Space, seed: int) -> Any:
        """Return the optimiser that proposes and learns; it has `ask` and `tell`."""

    @compat.fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, **params: Any) -> BaseBayesSearchCV:
        """Search for the best parameters, and refit with them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Training data; square where the estimator takes a precomputed kernel or
            distances. Lists, sparse matrices, data frames and lists of documents pass
            through to the estimator as they are.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets; None for unsupervised learning.
        **params : dict of str to object
            Passed on to the `fit` of the estimator, to the scorer and to the splitter.
            What has one entry per sample is cut along with `X`; `groups` goes to the
            splitter alone.

        Returns
        -------
        self : object
            The fitted search.

        Raises
        ------
        TypeError, ValueError
            If an argument or the lengths of the data are wrong (before any fit, but for
            what only the scores of a callable `scoring` show), if `constraint` raises
            an exception, or if every fit failed.
        """
        scorers, refit_metric = compat.resolve_scorers(self)
        target = _TargetMetric(self, scorers)
        X, y = indexable(X, y)
        params = compat.check_fit_params(X, params)
        routed = compat.route_fit_params(self, params)
        space = Space.from_notation(self.search_spaces, constraint=self.constraint)
        for candidate in space.representatives():
            # Only to see that it can be called on each kind of configuration.
            space.allows(candidate)
        optimizer = self._make_optimizer(space, self._draw_seed())
        check_candidates(self.estimator, space.representatives())

        tasks = compat.TaskTree(self, X, y, params.get("sample_weight"))
        with tasks.fit():
            splits = self._draw_splits(X, y, routed.splitter.split)
            history, self.stop_reason_ = self._run(
                X, y, splits, scorers, routed, target, tasks, optimizer
            )
            results = self._results(history)
            # All of it before anything else can fail: a search may have taken days.
            self.cv_results_ = results
            self.trials_ = history
            self.optimizer_ = optimizer
            self.scorer_ = compat.public_scorers(scorers)
            first_scores = history[0].folds[0]["test_scores"]
            self.multimetric_ = isinstance(first_scores, dict)
            if callable(self.scoring) and self.multimetric_:
                compat.check_multimetric_refit(self, first_scores)
                refit_metric = self.refit
            self.target_metric_ = target.name or "score"
            self._select(results, refit_metric)
            if self.refit:
                self._refit(X, y, routed.estimator.fit, tasks)
        return self

    def _draw_seed(self) -> int:
        """Return `random_state` as one integer; draws it unless it is one."""
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        rng = check_random_state(self.random_state)
        return int(rng.randint(np.iinfo(np.int32).max))

    def _draw_splits(self, X: Any, y: Any, split_params: dict) -> list[tuple]:
        """Draw the splits, once for all trials."""
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        compat.check_input(self, X, y, split_params)
        self.n_splits_ = cv.get_n_splits(X, y, **split_params)
        splits = list(cv.split(X, y, **split_params))
        if not splits:
            raise ValueError(
                "No fits were performed. Was the CV iterator empty? Were there no "
                "candidates? The parameter cv must yield at least one split."
            )
        if len(splits) != self.n_splits_:
            # Tests match scikit-learn's words, which 1.9 changed by two letters.
            verb = "return" if compat.HAS_CALLBACKS else "returned"
            raise ValueError(
                f"cv.split and cv.get_n_splits {verb} inconsistent results. Expected "
                f"{self.n_splits_} splits, got {len(splits)}"
            )
        return splits

    def _run(
        self,
        X: Any,
        y: Any,
        splits: list[tuple],
        scorers: Any,
        routed: Any,
        target: _TargetMetric,
        tasks: compat.TaskTree,
        optimizer: Any,
    ) -> tuple[History, str]:
        """Make the trials."""
        n_planned = int(min(self.n_iter, optimizer.n_cells))
        n_fits = n_planned * len(splits)
        if self.verbose > 0:
            print(
                f"Fitting {len(splits)} folds for each of {n_planned} candidates, "
                f"totalling {n_fits} fits"
            )
        parallel = Parallel(n_jobs=self.n_jobs, pre_dispatch=self.pre_dispatch)
        with parallel, tasks.searching(n_fits):
            evaluate = CandidateEvaluator(
                self.estimator,
                X,
                y,
                splits=splits,
                parallel=parallel,
                contain_errors=effective_n_jobs(self.n_jobs) > 1,
                tasks=tasks,
                n_candidates=n_planned,
                target=target,
                scorer=scorers,
                error_score=self.error_score,
                return_train_score=self.return_train_score,
                fit_params=routed.estimator.fit,
                score_params=routed.scorer.score,
                verbose=self.verbose,
            )
            return run_trials(
                optimizer,
                evaluate,
                n_iter=self.n_iter,
                timeout=self.timeout,
                n_cells=optimizer.n_cells,
                report=_Reporter(n_planned) if self.verbose > 0 else None,
            )

    def _results(self, history: History) -> dict[str, Any]:
        """Build `cv_results_`; warn about failed fits, or raise if all of them did."""
        if not history:
            raise ValueError(
                "No fits were performed. Were there no candidates? The constraint "
                "rejects every configuration of search_spaces."
            )
        compat.report_failures(history.folds, self.error_score)
        if callable(self.scoring):
            compat.insert_error_scores(history.folds, self.error_score)
        return compat.format_results(
            self, history.params, self.n_splits_, history.folds
        )

    def _select(self, results: dict[str, Any], refit_metric: Any) -> None:
        """Set the `best_*` attributes where they mean something."""
        if not self.refit and self.multimetric_:
            return
        self.best_index_ = compat.select_best_index(self.refit, refit_metric, results)
        if not callable(self.refit):
            self.best_score_ = results[f"mean_test_{refit_metric}"][self.best_index_]
        self.best_params_ = results["params"][self.best_index_]

    def _refit(self, X: Any, y: Any, fit_params: dict, tasks: compat.TaskTree) -> None:
        """Fit the best candidate on all data."""
        # The values are cloned too: an estimator among them must stay unfitted.
        best = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
        self.best_estimator_ = best
        with tasks.refitting(best):
            begin = time.time()
            if y is None:
                best.fit(X, **fit_params)
            else:
                best.fit(X, y, **fit_params)
            self.refit_time_ = time.time() - begin
            if hasattr(best, "feature_names_in_"):
                self.feature_names_in_ = best.feature_names_in_


class _TargetMetric:
    """The metric that guides the search, read off the scores of one fold.

    With a callable `scoring` the names are known only after the first fit, so that they
    are checked then.
    """

    def __init__(self, search: BaseBayesSearchCV, scorers: Any) -> None:
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
            # A failed fit has the error score, whatever the metrics are.
            if not _equal(scores, self._search.error_score):
                self._check_single()
            return float(scores)
        if self.name is None:
            compat.check_multimetric_refit(self._search, scores)
            self._resolve(scores)
        assert self.name is not None
        return float(scores[self.name])

    def _check_single(self) -> None:
        """Refuse a name for the one metric there is, unless it is its own."""
        wanted, scoring = self._search.target_metric, self._search.scoring
        names = {"score", scoring} if isinstance(scoring, str) else {"score"}
        if wanted is not None and (callable(scoring) or wanted not in names):
            raise ValueError(
                f"target_metric={wanted!r}, but there is one metric only, that of "
                f"scoring={scoring!r}; leave target_metric=None"
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
                "leave target_metric=None, or make refit a callable or False"
            )
        self.name = by_refit or wanted or names[0]


def _equal(score: Any, error_score: Any) -> bool:
    return bool(score == error_score or (score != score and error_score != error_score))


class _Reporter:
    """Prints one line per trial."""

    def __init__(self, n_planned: int) -> None:
        self._n_planned = n_planned
        self._begin = time.perf_counter()

    def __call__(self, trial: Trial, history: History) -> None:
        """Print number, score, best so far and time elapsed."""
        score = "failed" if trial.state == "failed" else f"score {trial.score:.6g}"
        best = history.best
        so_far = (
            "none yet"
            if best is None
            else f"{best.score:.6g} (trial {best.number + 1})"
        )
        elapsed = time.perf_counter() - self._begin
        print(
            f"[trial {trial.number + 1}/{self._n_planned}] {score}, best so far "
            f"{so_far}, elapsed {elapsed:.1f}s"
        )
