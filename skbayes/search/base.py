"""Base class of the searches: the steps of `fit`, and the hooks of the subclasses."""

from __future__ import annotations

import contextlib
import inspect
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
from sklearn.utils import check_random_state, indexable
from sklearn.utils.validation import check_is_fitted

from skbayes import compat
from skbayes.evaluation.data_transfer import transfer_data
from skbayes.evaluation.evaluator import CandidateEvaluator, check_candidates
from skbayes.evaluation.run import FitOptions, SearchRun
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
from skbayes.space.dimensions import FloatArray
from skbayes.utils.name_hints import NameHints

__all__ = ["BaseBayesSearchCV"]

# With racing=True, the chance to become the best below which a trial is pruned.
RACING_RISK = 0.01

# More trials in flight than this leave little to learn from, and none to race against.
MAX_RACED_IN_FLIGHT = 16

# What a fold may hold that has no column of its own in `cv_results_`.
_SEPARATE = frozenset({"costs", "warm_up"})


class BaseBayesSearchCV(NameHints, ResultDisplay, compat.BaseSearchCV):
    """Base class of the searches that learn from their trials.

    Inherits everything but `fit` from scikit-learn's `BaseSearchCV`: delegation, tags,
    routing, scoring and display. A subclass supplies `_make_optimizer`, and overrides
    what else differs.

    Parameters
    ----------
    estimator : estimator object
        The estimator to tune; it provides `score`, or `scoring` is given.
    search_spaces : dict, list of dict, or Space
        For each parameter name what it may be: a list or array of values, a scipy
        distribution, a tuple ``(low, high)`` or ``(low, high, "log-uniform")``, a
        dimension of :mod:`skbayes.space`, or a :class:`~skbayes.space.Choice` for
        parameters that exist only under an option. A list of dicts is one space: one
        model and one budget serve all of them.
    n_iter : int, default=50
        The most configurations to try. If the space has no more than that, each is
        tried once, and the search ends; the order is GridSearchCV's unless `timeout`,
        `stopper` or `journal` is set.
    timeout : float or None, default=None
        Seconds the search may take, without the refit. Times are modeled like scores,
        and no trial is started that is expected to overrun; the search ends there,
        cheaper trials are not looked for. The first trial always runs, and those that
        are running when the time is up are finished and count.
    constraint : callable or None, default=None
        ``constraint(params) -> bool``; combinations for which it is False are never
        tried. If it raises an exception, the search ends with a ValueError.
    target_metric : str or None, default=None
        With several metrics, the one that guides the search when `refit` does not name
        one. None stands for the first metric. With one metric None is all there is to
        say; its name in `scoring` is accepted too.
    scoring : str, callable, list, tuple, dict or None, default=None
        As for GridSearchCV: one metric, several, or a callable that returns either.
        None takes the estimator's own `score`.
    n_jobs : int or None, default=None
        How many fits run at the same time. None means 1 unless in a
        :obj:`joblib.parallel_config` context, which also says where (processes,
        threads, a Dask cluster); -1 means all processors. The trials are the same for
        every `n_jobs` if `n_points` is given.
    refit : bool, str or callable, default=True
        Whether to fit the best configuration on all data. With several metrics the
        name of the one to choose by, or False. A callable receives `cv_results_` and
        returns the row to choose.
    cv : int, splitter, iterable or None, default=None
        As for GridSearchCV. The splits are drawn once and shared by all trials, also
        those of a splitter that shuffles without a seed.
    verbose : int, default=0
        From 1 on, one line is printed per trial: its score, the best so far, the time
        elapsed and the time that is probably left. From 2 on, also its parameters, and
        GridSearchCV's lines per fit. Nothing is printed otherwise; the logger
        ``skbayes`` tells of each trial.
    pre_dispatch : int or str, default="2*n_jobs"
        How many fits are handed to the workers ahead of time, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Makes the choice of configurations repeatable. Give an int for the same trials
        from every call of `fit`.
    error_score : "raise" or number, default=np.nan
        Score of a fit that fails. "raise" passes its error on. A trial whose fits all
        fail is told to the model as failed; only if every fit of the search fails is
        that an error.
    return_train_score : bool, default=False
        Whether `cv_results_` holds scores on the training sets too.
    n_points : int or "auto", default="auto"
        Number of trials in flight. "auto" is 1 with one worker; with more workers it is
        the number that keeps them busy, ``ceil(1.5 * n_workers / n_splits_) + 1``, or
        with `trial_timeout` the number whose fits need not wait for a worker. The
        number used is `n_points_`. Trial k is proposed from the results of the trials
        up to k - `n_points_`, so that what is tried depends on that number and not on
        timing.
    stopper : callable, list of callable or None, default=None
        Called with `trials_` so far after each trial; the search ends when one returns
        True, and the trials under way are finished. Ready-made ones are in
        :mod:`skbayes.loop.stopping`.
    trial_timeout : float or None, default=None
        Seconds after which no further fit of a trial is begun, counted from when it was
        handed to the workers. Running fits are not cut short. What the finished ones
        promise is told to the model; the trial cannot be chosen. With it, what is tried
        depends on timing.
    racing : bool or float, default=False
        Whether a trial is given up when its first folds leave it practically no chance
        to become the best: a chance below 1 %, or below the number given. Its other
        folds are not fitted, and it cannot be chosen. The fits of a trial then run one
        after the other, so "auto" gives a larger `n_points_`, at most 16.
    warm_start_from : search, dict, data frame, study, path or None, default=None
        What is known already: a fitted search (also a GridSearchCV), its `cv_results_`,
        a data frame of these, the path of a journal, or a study of Optuna with one
        objective (negated if it minimizes), scored by the same metric. The space may be
        another one; what lies outside is ignored, with a warning. The best setting that
        is known is tried first, or after `initial_points`.
    journal : path or None, default=None
        A file in which every trial is recorded when it is finished. A search that is
        run again with the same journal, after a crash or with a larger `n_iter`, goes
        on where it was. The file of another search (estimator, space, data, splits,
        scoring, settings) is refused. See :func:`skbayes.load_history`.
    progress_bar : bool, default=False
        Whether a bar shows the progress, in notebooks a widget; needs tqdm.
    return_fold_estimators : bool, default=False
        Whether the estimators that were fitted on the splits with the best parameters
        are kept, as `fold_estimators_`. With a callable `refit` those of all trials are
        kept until the search ends.
    return_oof : str or None, default=None
        The name of a method such as "predict" or "predict_proba": what it gives for
        each sample, by the best parameters fitted on a split without it, becomes
        `oof_predictions_`. Needs a `cv` that tests each sample once.

    Attributes
    ----------
    best_estimator_ : estimator
        The estimator fitted on all data with the best parameters. Not there with
        ``refit=False``.
    best_score_ : float
        Mean score of the best trial over the splits. Not there if `refit` is callable,
        or with several metrics and ``refit=False``.
    best_score_corrected_ : float
        `best_score_` less what it owes to having been chosen as the best, estimated by
        the method of Tibshirani & Tibshirani (2009); see
        :func:`skbayes.results.frame.corrected_best_score`. There whenever `best_score_`
        is.
    best_params_ : dict
        The best parameters. Not there with several metrics and ``refit=False``.
    best_index_ : int
        Their row in `cv_results_`; the first one if several tie.
    scorer_ : callable or dict of str to callable
        What scored the fits; a dict with several metrics.
    n_splits_ : int
        Number of splits.
    refit_time_ : float
        Seconds taken by the refit. Not there with ``refit=False``.
    multimetric_ : bool
        Whether there are several metrics.
    classes_ : ndarray of shape (n_classes,)
        Class labels, if the best estimator has them.
    n_features_in_ : int
        Number of features seen during `fit`, if the best estimator has it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if the best estimator has them.
    trials_ : History
        The trials in the order they were made, as
        :class:`~skbayes.evaluation.trial.Trial`.
    optimizer_ : Optimizer
        The optimizer with everything it was told.
    stop_reason_ : str
        Why the search ended: "n_iter", "timeout", "exhausted" (every configuration
        was tried), "callback" (a callback returned True), "interrupted" (Ctrl-C
        after at least one trial), or what the stopper has for its `reason`, "stopper"
        if it has none.
    n_points_ : int
        Number of trials in flight.
    fold_estimators_ : list of estimators
        With `return_fold_estimators`, one for each split.
    oof_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_columns)
        With `return_oof`, in the order of the samples.
    target_metric_ : str
        The metric that guided the search; "score" if there is one only.

    Notes
    -----
    `fit` calls these hooks in this order:

    1. ``_make_objective(scorers)``: what trials are judged by.
    2. ``_make_space()``: the search space.
    3. ``_known_results(run)``: observations of an earlier search.
    4. ``_stages(run)``: the stages, each with its trials, fidelities and optimizer.
    5. ``_make_optimizer(space, seed)``: the optimizer of the only stage.
    6. ``_tabulate(run, outcome)``: `cv_results_`, and the attributes that describe the
       trials.
    7. ``_extra_columns(run, history)``: columns of `cv_results_` beside
       GridSearchCV's.
    8. ``_select(run, results, refit_metric)``: the `best_*` attributes.
    9. ``_selection_scores(results, metric)``: scores by which the best row is chosen.
    10. ``_refit_rows(run)``: rows that the best configuration is fitted on.
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

    # Parameter that says how large training subsets are, for messages.
    _subset_parameter = "train_size"

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
        self._store(locals())

    def _store(self, arguments: Mapping[str, Any]) -> None:
        """Set the arguments of a constructor as attributes of the same names.

        Parameters of the base class that a search has not are at their defaults.
        """
        defaults = inspect.signature(BaseBayesSearchCV.__init__).parameters
        for name, parameter in defaults.items():
            if name not in arguments and parameter.default is not parameter.empty:
                setattr(self, name, parameter.default)
        for name, value in arguments.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    # -- hooks --------------------------------------------------------------------

    def _make_objective(self, scorers: Any) -> Any:
        """Return what trials are judged by."""
        return GuidingMetric(self, scorers)

    def _make_space(self) -> Space:
        """Return the search space."""
        return Space.from_notation(self.search_spaces, constraint=self.constraint)

    def _known_results(self, run: SearchRun) -> list[tuple]:
        """Return observations of an earlier search: parameters, scores, noise."""
        source = self._knowledge(run.space)
        if source is None:
            return []
        return known_results(source, run.space, run.objective.name or "score")

    def _stages(self, run: SearchRun) -> list[Stage]:
        """Return the stages of the search, the last one being what counts."""
        return [Stage(self._first_optimizer(run), int(self.n_iter))]

    @abstractmethod
    def _make_optimizer(self, space: Space, seed: int) -> Any:
        """Return the optimizer that proposes and learns."""

    def _tabulate(self, run: SearchRun, outcome: Outcome) -> dict[str, Any]:
        """Return `cv_results_`; set the attributes that describe the trials."""
        return self._table(run, outcome.history)

    def _extra_columns(self, run: SearchRun, history: History) -> dict[str, list]:
        """Return the columns of `cv_results_` that GridSearchCV has not."""
        options = run.options
        if options.trial_timeout is None and options.pruning_risk is None:
            return {}
        return {"state": [trial.state for trial in history]}

    def _select(
        self, run: SearchRun, results: dict[str, Any], refit_metric: Any
    ) -> None:
        """Set the `best_*` attributes where they mean something."""
        if callable(self.scoring) and self.multimetric_:
            compat.check_multimetric_refit(
                self, self.trials_[0].folds[0]["test_scores"]
            )
            refit_metric = self.refit
        if not self.refit and self.multimetric_:
            return
        self.best_index_ = self._best_index(results, refit_metric)
        best = run.ranked[self.best_index_]
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

    def _selection_scores(
        self, results: dict[str, Any], metric: Any
    ) -> FloatArray | None:
        """Return scores of the rows, of which the greatest is the best.

        Of shape (n_rows,), or (n_rows, n_keys) where later columns break ties; NaN for
        rows that are not chosen. None: by the rank of `metric`, as in GridSearchCV.
        """
        return None

    def _refit_rows(self, run: SearchRun) -> Any:
        """Return the rows that the best configuration is fitted on; None for all."""
        return None

    # -- fit ----------------------------------------------------------------------

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
        stoppers = check_stoppers(self.stopper)
        run, refit_metric = self._make_run(X, y, params)
        with run.tasks.fit(), contextlib.ExitStack() as stack:
            run.splits = self._draw_splits(run)
            stages = self._stages(run)
            optimizer = stages[0].make_optimizer(run.seed, History())
            self._check_configurations(run, stages[0])
            if self._open_journal(run, stack):
                optimizer = stages[0].make_optimizer(run.seed, History())
            run.subsets = self._draw_subsets(run, stages)
            plan = self._planned(run, stages, optimizer)
            with self._workers(run, stages, plan) as (evaluator, executor, report):
                n_planned = sum(stage.n_trials for stage in plan)
                stoppers = [self._failing_start(run, stages[0]), *stoppers]
                budget = Budget(n_planned, self.timeout, stoppers=stoppers)
                outcome = run_stages(
                    run, stages, optimizer, evaluator, executor, budget, report
                )
            self._set_results(run, outcome)
            self._select(run, self.cv_results_, refit_metric)
            self._keep_winner_fits(run, outcome.kept)
            if self.refit:
                self._refit(run, self._refit_rows(run), run.tasks)
        return self

    # -- before the first fit -----------------------------------------------------

    def _make_run(self, X: Any, y: Any, params: dict) -> tuple[SearchRun, Any]:
        """Check the arguments; return the run, and the metric that `refit` names."""
        check_arguments(self)
        check_candidates(self.estimator, [])
        scorers, refit_metric = compat.resolve_scorers(self)
        objective = self._make_objective(scorers)
        self._check_keeping()
        X, y = check_data(self, X, y)
        params = compat.check_fit_params(X, params)
        routed = compat.route_fit_params(self, params)
        run = SearchRun(
            estimator=self.estimator,
            objective=objective,
            scorers=scorers,
            X=X,
            y=y,
            params=params,
            fit_params=routed.estimator.fit,
            score_params=routed.scorer.score,
            split_params=routed.splitter.split,
            tasks=compat.TaskTree(self, X, y, params.get("sample_weight")),
            space=self._make_space(),
            options=self._fit_options(),
            seed=self._draw_seed(),
        )
        for candidate in run.space.covering_sample():
            # Only to see that it can be called on each kind of configuration.
            run.space.allows(candidate)
        run.known = self._known_results(run)
        return run, refit_metric

    def _fit_options(self) -> FitOptions:
        racing, keep_fits = self.racing, None
        if isinstance(racing, bool | np.bool_):
            risk = RACING_RISK if racing else None
        else:
            risk = float(racing)
        if self.return_fold_estimators or self.return_oof:
            # A callable may choose any trial.
            keep_fits = "all" if callable(self.refit) else "best"
        return FitOptions(
            self.error_score,
            self.return_train_score,
            self.verbose,
            self.trial_timeout,
            risk,
            keep_fits,
        )

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

    def _first_optimizer(self, run: SearchRun) -> Callable[[int, History], Any]:
        """Return what makes the optimizer of the first stage."""

        def make(seed: int, history: History) -> Any:
            optimizer = self._make_optimizer(run.space, seed)
            self._warm_start(optimizer, run)
            return optimizer

        return make

    def _warm_start(self, optimizer: Any, run: SearchRun) -> None:
        """Tell an optimizer what is known from an earlier search."""
        for params, score, noise in run.known:
            optimizer.learn(params, score, noise)
        # So that the search ends with nothing worse than what was known.
        allowed = [one for one in run.known if run.space.allows(one[0])]
        for params in run.objective.best_known(allowed):
            optimizer.enqueue(params)

    def _check_configurations(self, run: SearchRun, stage: Stage) -> None:
        """Check names and values of the parameters on an estimator."""

        def assigned(params: dict[str, Any]) -> dict[str, Any]:
            return stage.assign(0, params)[0]

        for candidate in run.space.covering_sample():
            check_candidates(self.estimator, [assigned(candidate)])
        check_values(self.estimator, run.space, assigned)

    def _open_journal(self, run: SearchRun, stack: contextlib.ExitStack) -> bool:
        """Open the journal, if there is one; return whether it has another seed."""
        run.context = ExecutionContext(self.n_jobs, self.pre_dispatch)
        run.n_points = self._trials_in_flight(run)
        journal: Any = contextlib.nullcontext(NullJournal())
        if self.journal is not None:
            journal = Journal.open(
                self.journal,
                space=run.space,
                identity=describe_search(self, run.space, run.X, run.y, run.params),
                seed=run.seed if isinstance(self.random_state, Integral) else None,
                drawn_seed=run.seed,
                n_points=None if self.n_points == "auto" else int(self.n_points),
                default_n_points=run.n_points,
                splits=run.splits,
                reproducible_splits=splits_are_reproducible(self.cv),
            )
        run.journal = stack.enter_context(journal)
        drawn = run.seed
        if run.journal.seed is not None:
            run.seed, run.splits = run.journal.seed, run.journal.splits
            run.n_points = run.journal.n_points
        self.n_points_ = run.n_points
        return run.seed != drawn

    def _trials_in_flight(self, run: SearchRun) -> int:
        """Return `n_points`, or for "auto" what keeps the workers busy."""
        if self.n_points != "auto":
            return int(self.n_points)
        if self.trial_timeout is not None:
            # The time of a trial includes the time its fits wait for a worker.
            return max(1, run.context.n_workers // self.n_splits_)
        if run.options.pruning_risk is None:
            return run.context.trials_in_flight(self.n_splits_)
        # A raced trial has one fit at a time.
        return min(run.context.trials_in_flight(1), MAX_RACED_IN_FLIGHT)

    def _draw_seed(self) -> int:
        """Return `random_state` as one integer; draws it unless it is one."""
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        rng = check_random_state(self.random_state)
        return int(rng.randint(np.iinfo(np.int32).max))

    def _draw_splits(self, run: SearchRun) -> list[tuple]:
        """Draw the splits, once for all trials."""
        X, y, split_params = run.X, run.y, run.split_params
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

    def _draw_subsets(self, run: SearchRun, stages: Sequence[Stage]) -> Subsets | None:
        """Draw the training subsets that trials may ask for, once for all of them."""
        fidelities = [one for stage in stages for one in stage.fidelities]
        if all(fidelity.is_whole for fidelity in fidelities):
            return None
        return Subsets.draw(
            run.splits,
            fidelities,
            n_samples=run.n_samples,
            labels=run.y if is_classifier(self.estimator) else None,
            groups=run.split_params.get("groups"),
            seed=run.seed,
            parameter=self._subset_parameter,
        )

    # -- the trials ---------------------------------------------------------------

    def _planned(
        self, run: SearchRun, stages: Sequence[Stage], optimizer: Any
    ) -> list[PlannedStage]:
        overlap = run.context.can_overlap
        return [
            PlannedStage(
                int(min(stage.n_trials, optimizer.n_configurations)),
                stage.weight_in(run),
                max(run.n_points, stage.n_points) if overlap else 1,
            )
            for stage in stages
        ]

    @contextlib.contextmanager
    def _workers(
        self, run: SearchRun, stages: Sequence[Stage], plan: Sequence[PlannedStage]
    ) -> Iterator[tuple[CandidateEvaluator, TrialExecutor, Callable | None]]:
        """Yield what evaluates trials, what runs them, and what reports them."""
        context, n_splits = run.context, len(run.splits)
        if self.return_oof:
            check_partition(run.splits, run.n_samples)
        n_planned = sum(stage.n_trials for stage in plan)
        n_points = max(run.n_points, *(stage.n_points for stage in stages))
        transfer = transfer_data(
            run.inputs,
            context.transport,
            n_slots=context.n_workers,
            client=getattr(context.backend, "client", None),
            temp_folder=context.temp_folder,
            max_nbytes=context.max_nbytes,
        )
        with (
            transfer,
            context.bounded_blas(),
            run.tasks.searching(n_planned * n_splits),
            TrialExecutor(context, n_points, n_splits) as executor,
            self._reporting(
                plan, n_splits, context.n_workers, dict(run.journal.results)
            ) as report,
        ):
            catch_errors = not executor.in_this_thread
            evaluator = CandidateEvaluator(run, transfer, catch_errors, n_planned)
            yield evaluator, executor, report

    def _failing_start(self, run: SearchRun, stage: Stage) -> FailingStart:
        """Return the stopper that tells mistakes in the data from failing trials."""
        inputs = run.inputs

        def fit(params: dict[str, Any], split: int) -> None:
            splits = [inputs.split(split)]
            fit_folds(
                self.estimator, params, inputs.X, inputs.y, splits, inputs.fit_params
            )

        return FailingStart(run.space, lambda one: stage.assign(0, one)[0], fit)

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

    def _set_results(self, run: SearchRun, outcome: Outcome) -> None:
        """Set what the search found, before anything else can fail."""
        history = outcome.history
        if not history:
            raise ValueError(
                "No fits were performed. Were there no candidates? The constraint "
                "rejects every configuration of search_spaces."
            )
        fitted = [fold for fold in history.folds if "skipped" not in fold]
        compat.report_failures(fitted, self.error_score)
        if callable(self.scoring):
            compat.insert_error_scores(history.folds, self.error_score)
        self.cv_results_ = self._tabulate(run, outcome)
        self.trials_ = history
        self.optimizer_ = outcome.optimizers[-1]
        self.stop_reason_ = outcome.stop_reason
        self.scorer_ = compat.public_scorers(run.scorers)
        self.multimetric_ = isinstance(history[0].folds[0]["test_scores"], dict)
        self.target_metric_ = run.objective.name or "score"

    def _table(self, run: SearchRun, history: History) -> dict[str, Any]:
        """Return `cv_results_` of some trials."""
        run.ranked = history
        more = self._extra_columns(run, history)
        with warnings.catch_warnings():
            if all(_is_partial(t) or _has_finite_scores(t) for t in history):
                # Trials that were not finished have no mean score, as they should.
                warnings.filterwarnings("ignore", "One or more of the t.* non-finite")
            folds = [
                {key: value for key, value in fold.items() if key not in _SEPARATE}
                for fold in history.folds
            ]
            return compat.format_results(
                self, history.params, self.n_splits_, folds, more
            )

    def _best_index(self, results: dict[str, Any], refit_metric: Any) -> int:
        """Return the row that `refit` chooses."""
        if not callable(self.refit):
            scores = self._selection_scores(results, refit_metric)
            if scores is not None:
                return best_row(scores)
        return compat.select_best_index(self.refit, refit_metric, results)

    def _keep_winner_fits(self, run: SearchRun, kept: dict[int, list]) -> None:
        """Set `fold_estimators_` and `oof_predictions_`, if they are wanted."""
        if run.options.keep_fits is None:
            return
        best, inputs = run.ranked[self.best_index_], run.inputs
        fits = kept.get(best.number)
        if fits is None:
            # The winner was fitted by an earlier run; a journal keeps no estimators.
            fidelity = Fidelity(best.stage, best.train_fraction, best.subset)
            fits = fit_folds(
                self.estimator,
                self.best_params_,
                inputs.X,
                inputs.y,
                [inputs.split(i, fidelity) for i in range(len(inputs.splits))],
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

    def _run_of_refit(self, X: Any, y: Any, params: dict[str, Any]) -> SearchRun:
        """Return a run that fits another configuration on data given anew."""
        X, y = indexable(X, y)
        params = compat.check_fit_params(X, params)
        routed = compat.route_fit_params(self, params)
        return SearchRun(
            self.estimator,
            None,
            None,
            X,
            y,
            fit_params=routed.estimator.fit,
            split_params=routed.splitter.split,
        )

    def _refit(self, run: SearchRun, rows: Any, tasks: Any = None) -> None:
        """Fit the best configuration on some rows, or all; report to callbacks."""
        X, y, fit_params = run.X, run.y, run.fit_params
        if rows is not None:
            X, y = compat.safe_split(self.estimator, X, y, rows)
            fit_params = compat.check_fit_params(run.X, fit_params, rows)
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


def best_row(scores: FloatArray) -> int:
    """Return the row of the greatest score; later columns break ties, NaN is last."""
    return int(np.lexsort(np.atleast_2d(-scores.T)[::-1])[0])


def _is_partial(trial: Trial) -> bool:
    """Whether some of its folds were spared, or came too late."""
    return trial.state in {"censored", "raced"}


def _has_finite_scores(trial: Trial) -> bool:
    tables = [trial.scores, trial.train_scores]
    return all(np.isfinite(row).all() for t in tables for row in t.values())
