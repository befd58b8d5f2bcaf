"""The journey every search makes in `fit`: GridSearchCV's, trial by trial."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skbayes import compat
from skbayes.evaluation.data_transfer import Inputs, ship
from skbayes.evaluation.evaluator import (
    CandidateEvaluator,
    check_candidates,
    on_full_data,
)
from skbayes.evaluation.subsets import Fidelity, Subsets
from skbayes.evaluation.trial import History, Trial
from skbayes.journal.fingerprint import describe_search, splits_are_reproducible
from skbayes.journal.journal import Journal
from skbayes.journal.reader import read_trials
from skbayes.loop.executor import ExecutionContext, TrialExecutor
from skbayes.loop.failures import FailingStart
from skbayes.loop.progress import Lines, PlannedStage, progress_bar
from skbayes.loop.scheduler import Budget, NullJournal
from skbayes.loop.stages import Outcome, Stage, run_stages
from skbayes.results.frame import corrected_best_score, results_frame
from skbayes.results.warm_start import known_results
from skbayes.search._validation import (
    check_arguments,
    check_data,
    check_stoppers,
    check_values,
)
from skbayes.search.guiding_metric import GuidingMetric
from skbayes.search.html_repr import ResultDisplay
from skbayes.search.out_of_fold import check_partition, fit_folds, out_of_fold
from skbayes.space import Space
from skbayes.utils.did_you_mean import NameHints

__all__ = ["BaseBayesSearchCV"]

# With racing=True, the chance to become the best below which a trial is given up.
RACING_RISK = 0.01

# More trials in flight than this leave little to learn from, and none to race against.
MAX_RACED_IN_FLIGHT = 16

# What a fold may hold that has no column of its own in `cv_results_`.
_APART = frozenset({"costs", "warm_up"})


class BaseBayesSearchCV(NameHints, ResultDisplay, compat.BaseSearchCV):
    """Base class of the searches that learn from their trials.

    Inherits everything but `fit` from scikit-learn's `BaseSearchCV`: delegation, tags,
    routing, scoring and display. A subclass supplies `_make_optimizer`.
    """

    _parameter_constraints: dict = {
        **compat.BaseSearchCV._parameter_constraints,
        # `fit` says more of what is wrong with these.
        "search_spaces": "no_validation",
        "stopper": "no_validation",
        "scoring": [str, callable, list, tuple, dict, None],
        "n_iter": [compat.Interval(Integral, 1, None, closed="left")],
        "timeout": [compat.Interval(Real, 0, None, closed="neither"), None],
        "constraint": [callable, None],
        "target_metric": [str, None],
        "random_state": ["random_state"],
        "n_points": [
            compat.Interval(Integral, 1, None, closed="left"),
            compat.StrOptions({"auto"}),
        ],
        "trial_timeout": [compat.Interval(Real, 0, None, closed="neither"), None],
        "racing": ["boolean", compat.Interval(Real, 0, 0.5, closed="neither")],
        "warm_start_from": "no_validation",
        "journal": [str, PathLike, None],
        "progress_bar": ["boolean"],
        "return_fold_estimators": ["boolean"],
        "return_oof": [str, None],
    }

    # Of no use to the fits: a stopper may hold locks, an earlier search much data, cv
    # index arrays or a generator, which cannot be pickled.
    _stays_at_home = ("stopper", "constraint", "warm_start_from", "cv")

    # What says how large training subsets are, for messages.
    _subset_parameter = "train_size"

    # Whether what is measured of each fit stands apart from its scores.
    _separate_costs = False

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
        n_points: int | str = "auto",
        stopper: Any = None,
        trial_timeout: float | None = None,
        racing: bool | float = False,
        warm_start_from: Any = None,
        journal: str | PathLike | None = None,
        progress_bar: bool = False,
        return_fold_estimators: bool = False,
        return_oof: str | None = None,
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
        self.n_points = n_points
        self.stopper = stopper
        self.trial_timeout = trial_timeout
        self.racing = racing
        self.warm_start_from = warm_start_from
        self.journal = journal
        self.progress_bar = progress_bar
        self.return_fold_estimators = return_fold_estimators
        self.return_oof = return_oof

    @abstractmethod
    def _make_optimizer(self, space: Space, seed: int) -> Any:
        """Return the optimizer that proposes and learns; it has `ask` and `tell`.

        In a search in stages it is that of the first one.
        """

    def _stages(self, space: Space) -> list[Stage]:
        """Return the stages of the search, the last one being what counts.

        The optimizer of the first is made by :meth:`_make_optimizer`.
        """
        return [
            Stage(
                lambda seed, history: self._make_optimizer(space, seed),
                int(self.n_iter),
                self._setting,
            )
        ]

    def _setting(
        self, number: int, params: dict[str, Any]
    ) -> tuple[dict[str, Any], Fidelity]:
        """Return a trial's parameters, and on which training rows it is made.

        `params` is what was proposed, `number` counts from 0 within the stage.
        """
        return on_full_data(number, params)

    def _settings(self) -> list[Fidelity]:
        """Return whatever `_setting` may return, so that all of it can be checked."""
        return []

    @compat.fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
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
        Exception
            What the fits raise, if all fits of the first three trials fail in the same
            way and the estimator with its own parameters does, too.
        """
        check_arguments(self)
        scorers, refit_metric = compat.resolve_scorers(self)
        target = self._make_target(scorers)
        stoppers = check_stoppers(self.stopper)
        self._check_keeping()
        X, y = check_data(self, X, y)
        params = compat.check_fit_params(X, params)
        routed = compat.route_fit_params(self, params)
        space = self._make_space()
        for candidate in space.covering_sample():
            # Only to see that it can be called on each kind of configuration.
            space.allows(candidate)
        seed = self._draw_seed()
        optimizer = self._make_optimizer(space, seed)
        for candidate in space.covering_sample():
            check_candidates(self.estimator, [self._setting(0, candidate)[0]])
        check_values(self.estimator, space, lambda c: self._setting(0, c)[0])
        known = self._known_results(space, target)

        tasks = compat.TaskTree(self, X, y, params.get("sample_weight"))
        with tasks.fit(), contextlib.ExitStack() as stack:
            splits = self._draw_splits(X, y, routed.splitter.split)
            environment = ExecutionContext(self.n_jobs, self.pre_dispatch)
            self.n_points_ = self._trials_in_flight(environment)
            log = stack.enter_context(self._open_log(space, X, y, params, splits, seed))
            if log.seed is not None:
                splits = log.splits
                if log.seed != seed:
                    optimizer = self._make_optimizer(space, log.seed)
                seed, self.n_points_ = log.seed, log.n_points
            subsets = self._draw_subsets(X, y, splits, routed.splitter.split, seed)
            self._inform(optimizer, known, space)
            inputs = Inputs(
                X, y, splits, routed.estimator.fit, routed.scorer.score, subsets
            )
            stages = self._stages(space)
            stoppers = [
                FailingStart(
                    space,
                    lambda one: self._setting(0, one)[0],
                    lambda params, split: self._fit_once(inputs, params, split),
                ),
                *stoppers,
            ]
            outcome = self._run(
                inputs,
                environment,
                scorers,
                target,
                stoppers,
                tasks,
                stages,
                optimizer,
                seed,
                log,
            )
            history = outcome.history
            results = self._results(history)
            # All of it before anything else can fail: a search may have taken days.
            self.cv_results_ = results
            self._keep(outcome)
            self.scorer_ = compat.public_scorers(scorers)
            first_scores = history[0].folds[0]["test_scores"]
            self.multimetric_ = isinstance(first_scores, dict)
            self.target_metric_ = target.name or "score"
            self._select(results, refit_metric)
            self._keep_winner_fits(inputs, outcome.kept)
            if self.refit:
                X, y, fit_params = self._refit_data(
                    X, y, routed.estimator.fit, routed.splitter.split, seed
                )
                self._refit(X, y, fit_params, tasks)
        return self

    # -- before the first fit -----------------------------------------------------

    def _make_space(self) -> Space:
        """Return what may be proposed."""
        return Space.from_notation(self.search_spaces, constraint=self.constraint)

    def _check_keeping(self) -> None:
        if not (self.return_fold_estimators or self.return_oof):
            return
        if self.refit is False:
            raise ValueError(
                "return_fold_estimators and return_oof are about the best trial, which "
                "refit chooses; refit must not be False."
            )
        if self.return_oof and not hasattr(self.estimator, self.return_oof):
            raise ValueError(
                f"return_oof={self.return_oof!r} is not a method of the estimator."
            )

    def _make_target(self, scorers: Any) -> Any:
        """Return what reads the score that guides the search off those of a fold."""
        return GuidingMetric(self, scorers)

    def _known_results(self, space: Space, target: Any) -> list[tuple]:
        """Return what is known already: parameters, what is to be learnt, noise."""
        source = self._knowledge(space)
        if source is None:
            return []
        return known_results(source, space, target.name or "score")

    def _knowledge(self, space: Space) -> Any:
        """Return what to start from; of a journal, the trials within the space."""
        source = self.warm_start_from
        if isinstance(source, str | PathLike):
            if not Path(source).exists():
                raise FileNotFoundError(
                    f"warm_start_from: there is no journal {os.fspath(source)!r}."
                )
            source, n_outside = read_trials(source, space)
            if n_outside:
                warnings.warn(
                    f"warm_start_from: {n_outside} of {n_outside + len(source)} known "
                    "settings are ignored (outside search_spaces).",
                    UserWarning,
                    stacklevel=4,
                )
        return source

    def _inform(self, optimizer: Any, known: list[tuple], space: Space) -> None:
        """Tell the optimizer of the first stage what is known."""
        for one, score, noise in known:
            optimizer.learn(one, score, noise)
        # So that the search ends with nothing worse than what was known.
        for one in self._best_known([k for k in known if space.allows(k[0])]):
            optimizer.enqueue(one)

    def _best_known(self, known: list[tuple]) -> list[dict[str, Any]]:
        """Return the best of what is known, which is tried first."""
        return [max(known, key=lambda one: one[1])[0]] if known else []

    def _open_log(
        self,
        space: Space,
        X: Any,
        y: Any,
        fit_params: dict[str, Any],
        splits: list[tuple],
        seed: int,
    ) -> contextlib.AbstractContextManager:
        """Open the journal, if there is one."""
        if self.journal is None:
            return contextlib.nullcontext(NullJournal())
        return Journal.open(
            self.journal,
            space=space,
            identity=describe_search(self, space, X, y, fit_params),
            seed=seed if isinstance(self.random_state, Integral) else None,
            drawn_seed=seed,
            n_points=None if self.n_points == "auto" else int(self.n_points),
            default_n_points=self.n_points_,
            splits=splits,
            reproducible_splits=splits_are_reproducible(self.cv),
        )

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
        try:
            splits = list(cv.split(X, y, **split_params))
        except ValueError as error:
            number = self.cv is None or isinstance(self.cv, Integral)
            name = f"cv={self.cv}" if number else "cv"
            raise ValueError(f"{name}: {error}") from error
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

    @staticmethod
    def _n_samples(X: Any) -> int:
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)

    def _draw_subsets(
        self, X: Any, y: Any, splits: list[tuple], split_params: dict, seed: int
    ) -> Subsets | None:
        """Draw the training subsets that trials may ask for, once for all of them."""
        settings = self._settings()
        if all(setting.is_whole for setting in settings):
            return None
        return Subsets.draw(
            splits,
            settings,
            n_samples=self._n_samples(X),
            labels=y if is_classifier(self.estimator) else None,
            groups=split_params.get("groups"),
            seed=seed,
            parameter=self._subset_parameter,
        )

    # -- the trials ---------------------------------------------------------------

    def _trials_in_flight(self, environment: ExecutionContext) -> int:
        """Return `n_points`, or for "auto" what keeps the workers busy."""
        if self.n_points != "auto":
            return int(self.n_points)
        if self.trial_timeout is not None:
            # The time of a trial includes the time its fits wait for a worker.
            return max(1, environment.n_workers // self.n_splits_)
        if self._risk() is None:
            return environment.trials_in_flight(self.n_splits_)
        # A raced trial has one fit at a time.
        return min(environment.trials_in_flight(1), MAX_RACED_IN_FLIGHT)

    def _run(
        self,
        inputs: Inputs,
        environment: ExecutionContext,
        scorers: Any,
        target: GuidingMetric,
        stoppers: list[Callable[[History], bool]],
        tasks: compat.TaskTree,
        stages: list[Stage],
        optimizer: Any,
        seed: int,
        log: Any,
    ) -> Outcome:
        """Make the trials; return them, and the fits kept of the best."""
        n_splits = len(inputs.splits)
        n_samples = self._n_samples(inputs.X)
        if self.return_oof:
            check_partition(inputs.splits, n_samples)
        plan = [
            PlannedStage(
                int(min(stage.n_trials, optimizer.n_configurations)),
                stage.weight,
                max(self.n_points_, stage.n_points) if environment.can_overlap else 1,
            )
            for stage in stages
        ]
        n_planned = sum(stage.n_trials for stage in plan)
        n_points = max(self.n_points_, *(stage.n_points for stage in stages))
        transfer = ship(
            inputs,
            environment.way,
            n_slots=environment.n_workers,
            client=getattr(environment.backend, "client", None),
            temp_folder=environment.temp_folder,
            max_nbytes=environment.max_nbytes,
        )
        with (
            transfer,
            environment.bounded_blas(),
            tasks.searching(n_planned * n_splits),
            TrialExecutor(environment, n_points, n_splits) as executor,
            self._reporting(
                plan, n_splits, environment.n_workers, dict(log.results)
            ) as report,
        ):
            evaluator = CandidateEvaluator(
                self.estimator,
                transfer,
                [len(np.arange(n_samples)[test]) for _, test in inputs.splits],
                catch_errors=not executor.in_this_thread,
                tasks=tasks,
                n_candidates=n_planned,
                target=target,
                scorer=scorers,
                error_score=self.error_score,
                return_train_score=self.return_train_score,
                verbose=self.verbose,
                limit=self.trial_timeout,
                risk=self._risk(),
                keep_fits=self._keep_fits(),
                measures=self._measures(),
                apart=self._separate_costs,
                subsets=inputs.subsets,
            )
            return run_stages(
                stages,
                optimizer,
                seed,
                evaluator,
                executor,
                Budget(n_planned, self.timeout, stoppers=stoppers),
                log=log,
                n_points=self.n_points_,
                report=report,
                score_of=self._score_of,
                on_interrupt=transfer.stop,
                on_death=transfer.renew,
            )

    def _fit_once(self, inputs: Inputs, params: dict[str, Any], split: int) -> None:
        """Fit the estimator on all training rows of one split."""
        splits = [inputs.split(split)]
        fit_folds(self.estimator, params, inputs.X, inputs.y, splits, inputs.fit_params)

    def _measures(self) -> Mapping[str, Callable[[Any, dict], float]]:
        """Return what is measured of each fit, by name."""
        return {}

    def _score_of(self, trial: Trial) -> Any:
        """Return what the optimizer is told of a trial."""
        return trial.score

    def _risk(self) -> float | None:
        if isinstance(self.racing, bool | np.bool_):
            return RACING_RISK if self.racing else None
        return float(self.racing)

    def _keep_fits(self) -> str | None:
        """Return of which trials the fold estimators must be kept."""
        if not (self.return_fold_estimators or self.return_oof):
            return None
        # A callable may choose any trial.
        return "all" if callable(self.refit) else "best"

    @contextlib.contextmanager
    def _reporting(
        self,
        plan: Sequence[PlannedStage],
        n_splits: int,
        n_workers: int,
        recalled: Mapping[int, Trial],
    ) -> Iterator[Callable | None]:
        """Yield what is called with each trial that was told."""
        n_planned = sum(stage.n_trials for stage in plan)
        with contextlib.ExitStack() as stack:
            reports = []
            if self.progress_bar:
                bar = progress_bar(n_planned, recalled)
                reports.append(stack.enter_context(bar))
            if self.verbose > 0:
                print(
                    f"Fitting {n_splits} folds for each of {n_planned} candidates, "
                    f"totalling {n_planned * n_splits} fits"
                )
                if self.n_points != "auto" and n_workers > self.n_points_ * n_splits:
                    print(
                        f"{n_workers} workers can do more than "
                        f"{self.n_points_ * n_splits} fits at a time: n_points='auto' "
                        "would keep them busy."
                    )
                with_params = self.verbose > 1
                reports.append(Lines(plan, self.timeout, recalled, with_params))

            def report(trial: Any, history: History) -> None:
                for one in reports:
                    one(trial, history)

            yield report if reports else None

    # -- after the last trial -----------------------------------------------------

    def _keep(self, outcome: Outcome) -> None:
        self.trials_ = outcome.history
        self.optimizer_ = outcome.optimizers[-1]
        self.stop_reason_ = outcome.stop_reason

    def _results(self, history: History) -> dict[str, Any]:
        """Build `cv_results_`; warn about failed fits, or raise if all of them did."""
        if not history:
            raise ValueError(
                "No fits were performed. Were there no candidates? The constraint "
                "rejects every configuration of search_spaces."
            )
        fitted = [fold for fold in history.folds if "skipped" not in fold]
        compat.report_failures(fitted, self.error_score)
        if callable(self.scoring):
            compat.insert_error_scores(history.folds, self.error_score)
        return self._table(history)

    def _table(self, history: History) -> dict[str, Any]:
        """Build `cv_results_` of some trials."""
        more = self._more_columns(history)
        with warnings.catch_warnings():
            if all(_is_partial(t) or _has_finite_scores(t) for t in history):
                # Trials that were not finished have no mean score, as they should.
                warnings.filterwarnings("ignore", "One or more of the t.* non-finite")
            folds = [
                {key: value for key, value in fold.items() if key not in _APART}
                for fold in history.folds
            ]
            return compat.format_results(
                self, history.params, self.n_splits_, folds, more
            )

    def _more_columns(self, history: History) -> dict[str, list]:
        """Return the columns of `cv_results_` that GridSearchCV has not."""
        if self.trial_timeout is None and self._risk() is None:
            return {}
        return {"state": [trial.state for trial in history]}

    def _ranked_trials(self) -> Sequence[Trial]:
        """Return the trials that the rows of `cv_results_` are of."""
        return self.trials_

    def _select(self, results: dict[str, Any], refit_metric: Any) -> None:
        """Set the `best_*` attributes where they mean something."""
        if callable(self.scoring) and self.multimetric_:
            compat.check_multimetric_refit(
                self, self.trials_[0].folds[0]["test_scores"]
            )
            refit_metric = self.refit
        if not self.refit and self.multimetric_:
            return
        self.best_index_ = compat.select_best_index(self.refit, refit_metric, results)
        best = self._ranked_trials()[self.best_index_]
        if _is_partial(best) and callable(self.refit):
            raise ValueError(
                f"refit chose row {self.best_index_}, a trial that was not finished: "
                f"cv_results_['state'] says it was {best.state}."
            )
        if _is_partial(best):
            raise ValueError(
                f"No trial was finished within trial_timeout={self.trial_timeout}; "
                "cv_results_ and trials_ hold what there is."
            )
        if not callable(self.refit):
            self.best_score_ = results[f"mean_test_{refit_metric}"][self.best_index_]
            self.best_score_corrected_ = corrected_best_score(
                results, self.best_index_, self.n_splits_, refit_metric
            )
        self.best_params_ = results["params"][self.best_index_]

    def _keep_winner_fits(self, inputs: Inputs, kept: dict[int, list]) -> None:
        """Set `fold_estimators_` and `oof_predictions_`, if they are wanted."""
        if self._keep_fits() is None:
            return
        best = self._ranked_trials()[self.best_index_]
        fits = kept.get(best.number)
        if fits is None:
            # The winner was fitted by an earlier run; a journal keeps no estimators.
            setting = Fidelity(best.stage, best.train_fraction, best.subset)
            fits = fit_folds(
                self.estimator,
                self.best_params_,
                inputs.X,
                inputs.y,
                [inputs.split(i, setting) for i in range(len(inputs.splits))],
                inputs.fit_params,
            )
        if self.return_fold_estimators:
            self.fold_estimators_ = fits
        if self.return_oof:
            self.oof_predictions_ = out_of_fold(
                fits, inputs.X, inputs.splits, self.return_oof
            )

    def results_frame(self, library: str = "pandas", **kwargs: Any) -> Any:
        """Return the results as a data frame, a row for each trial.

        Parameters
        ----------
        library : {"pandas", "polars"}, default="pandas"
            Whose data frame.
        **kwargs : dict
            Passed on to :func:`skbayes.results.frame.results_frame`.

        Returns
        -------
        frame : DataFrame
            `cv_results_` with the parameters in columns of their own types.

        Raises
        ------
        ImportError
            If the library is not installed.
        sklearn.exceptions.NotFittedError
            If the search was not fitted.
        """
        check_is_fitted(self, "cv_results_")
        return results_frame(self.cv_results_, library, **kwargs)

    def report(self, path: str | PathLike[str], *, title: str | None = None) -> Any:
        """Write what was found, what it cost, and pictures to one HTML page.

        The page is a single file that loads nothing from elsewhere: the best settings,
        what was spent, the essential pictures of :mod:`skbayes.inspection`, a table of
        all trials with the errors of those that failed, and the versions. Pictures need
        matplotlib; without it they are left out.

        Parameters
        ----------
        path : str or path-like
            The HTML file; one that is there is replaced, all at once.
        title : str or None, default=None
            Title of the page. None: the search and its estimator by name.

        Returns
        -------
        path : pathlib.Path
            The file.

        Raises
        ------
        OSError
            If the file cannot be written.
        TypeError
            If an argument is of the wrong type.
        sklearn.exceptions.NotFittedError
            If the search was not fitted.

        See Also
        --------
        skbayes.inspection.report_history : The same for a search that still runs.
        """
        check_is_fitted(self, "cv_results_")
        # Only here: what draws knows the searches.
        from skbayes.inspection.report import write_report

        return write_report(self, path, title=title)

    def _refit_data(
        self, X: Any, y: Any, fit_params: dict, split_params: dict, seed: int
    ) -> tuple[Any, Any, dict]:
        """Return the data that the best candidate is fitted on in the end."""
        return X, y, fit_params

    def _refit(self, X: Any, y: Any, fit_params: dict, tasks: Any = None) -> None:
        """Fit the best candidate on all data; `tasks` reports it to callbacks."""
        # The values are cloned too: an estimator among them must stay unfitted.
        best = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
        self.best_estimator_ = best
        with contextlib.nullcontext() if tasks is None else tasks.refitting(best):
            begin = time.time()
            if y is None:
                best.fit(X, **fit_params)
            else:
                best.fit(X, y, **fit_params)
            self.refit_time_ = time.time() - begin
            if hasattr(best, "feature_names_in_"):
                self.feature_names_in_ = best.feature_names_in_


def _is_partial(trial: Trial) -> bool:
    """Whether some of its folds were spared, or came too late."""
    return trial.state in {"censored", "raced"}


def _has_finite_scores(trial: Trial) -> bool:
    tables = [trial.scores, trial.train_scores]
    return all(np.isfinite(row).all() for t in tables for row in t.values())
