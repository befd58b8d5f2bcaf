"""Base class of the searches: the steps of `fit`, and the hooks of the subclasses."""

from __future__ import annotations

import copy
import math
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from sklearn.utils import indexable
from sklearn.utils.metadata_routing import MethodMapping

from skbayes import compat
from skbayes.search import _validation as validate
from skbayes.search import choice, outside
from skbayes.search._configurations import check_configurations, warn_of_empty
from skbayes.search.display import ResultDisplay
from skbayes.search.parameters import SearchParameters
from skbayes.search.preparation import (
    draw_seed,
    draw_splits,
    fit_options,
    parse_initial_points,
    points_to_begin_with,
    with_distinct_ones,
    with_subsets,
)
from skbayes.search.running import Outcome, RunningSearch
from skbayes.space import OptimumPrior, Space
from skbayes.space.dimensions import FloatArray
from skbayes.trial.aspect import Aspect
from skbayes.trial.evaluator import check_clone
from skbayes.trial.fold import Job, configured
from skbayes.trial.learning_curves import curve_table
from skbayes.trial.objectives import GuidingMetric, Objective
from skbayes.trial.option_table import aspects_of
from skbayes.trial.plan import Header, Ladder, Plan, ResolvedSpace, Stage
from skbayes.trial.records import History, KnownTrial
from skbayes.trial.settings import (
    RefitChoice,
    Rule,
    Settings,
    parse_limits,
    parse_return_folds,
    refit_choice,
)
from skbayes.utils.autologging import without_autologging
from skbayes.utils.did_you_mean import naming
from skbayes.utils.optional import warn_user


class BaseBayesSearchCV(ResultDisplay, SearchParameters):
    """Base class of all searches with cross-validation.

    Scikit-learn's `BaseSearchCV` provides delegation, tags, routing and scoring.
    Subclasses define `_make_optimizer` and override other hooks if necessary.

    :class:`~skbayes.BayesSearchCV` describes the parameters.

    Notes
    -----
    `fit` calls these hooks in this order. They receive the plan of the search, or its
    finished parts, and return values; only `fit` sets attributes. ``fitted`` are the
    attributes so far.

    1. ``_tuned()``: the estimator to tune.
    2. ``_refit_choice()``: the meaning of `refit`.
    3. ``_resolve(settings, X, y, params)``: the settings for these data, and the data
       of the trials.
    4. ``_check_refit(settings)``: errors for wrong values of `refit`.
    5. ``_make_objective(settings, scorers)``: the objective of the trials.
    6. ``_make_space(notation, rule)``: the search space.
    7. ``_current_values(estimator)``: the current values of the parameters.
    8. ``_known_results(notation, space, objective)``: observations of an earlier
       search.
    9. ``_ladder(settings, space, prior, y)``: the stages, each with its trials, samples
       and optimizer.
    10. ``_make_optimizer(plan)``: the optimizer of the only stage.
    11. ``_trial_data(plan)``: data of the trials in place of `X`.
    12. ``_ranked(history)``: the trials in the rows of ``cv_results_``.
    13. ``_describe(plan, outcome)``: the attributes that describe the trials, such as
        ``cv_results_``.
    14. ``_extra_columns(plan, history)``: columns of ``cv_results_`` in addition to
        those of GridSearchCV.
    15. ``_select(plan, fitted)``: the ``best_*`` attributes.
    16. ``_selection_scores(plan, results)``: the scores by which the best row is
        chosen.
    17. ``_refit_rows(plan, fitted)``: the rows for the refit.
    18. ``_unfitted(plan, params)``: the estimator for the refit.
    19. ``_refitted(plan, model)``: the final model after the refit.
    """

    # Number of initial configurations, unless `initial_points` sets it.
    _n_initial_points: int | str = "auto"

    # Acquisition function, unless `surrogate` sets it.
    _acquisition = "ei"

    # Names of attributes that a subclass sets before it calls `fit`.
    _set_before_fit: tuple[str, ...] = ()

    # -- hooks --------------------------------------------------------------------

    def _tuned(self) -> Any:
        """Return the estimator to tune."""
        return self.estimator

    def _refit_choice(self) -> RefitChoice:
        return refit_choice(self.refit, self.scoring)

    def _resolve(
        self, settings: Settings, X: Any, y: Any, params: Mapping[str, Any]
    ) -> tuple[Settings, Any, Any]:
        """Return the settings with their values for the data, and the data."""
        return settings, X, y

    def _check_refit(self, settings: Settings) -> None:
        """Raise ValueError for a value of `refit` that is not possible."""
        validate.check_refit(settings)

    def _make_objective(self, settings: Settings, scorers: Any) -> Objective:
        """Return the objective of the trials."""
        return GuidingMetric(settings, scorers)

    def _make_space(self, notation: Any, rule: Rule | None) -> Space:
        return Space.from_notation(notation, constraint=rule)

    def _current_values(self, estimator: Any) -> dict[str, Any]:
        """Return the current values of the parameters of an estimator."""
        return outside.current_values(estimator)

    def _model(self) -> tuple[Any, Any]:
        model = self.surrogate
        return model if isinstance(model, tuple) else (model, self._acquisition)

    def _initial_count(self, plan: Plan) -> int | str:
        """Return the number of initial configurations for the optimizer."""
        n_initial = plan.settings.n_initial
        return self._n_initial_points if n_initial is None else n_initial

    def _known_results(
        self, notation: Any, space: Space, objective: Any
    ) -> list[KnownTrial]:
        """Return the trials of an earlier search, with scores for the optimizer."""
        metric = objective.name or "score"
        return outside.known_trials(self.warm_start_from, space, metric)

    def _ladder(
        self, settings: Settings, space: Space, prior: OptimumPrior | None, y: Any
    ) -> Ladder:
        """Return the stages of the search; the last one provides the best trial."""
        return Ladder([Stage(self._first_optimizer, self._most_trials())])

    def _most_trials(self) -> float:
        """Return the maximum number of trials, ``math.inf`` without one."""
        return math.inf if self.n_iter is None else int(self.n_iter)

    @abstractmethod
    def _make_optimizer(self, plan: Plan) -> Any:
        """Return the optimizer that proposes configurations."""

    def _optimizer_options(self, plan: Plan, **changes: Any) -> dict[str, Any]:
        """Return the arguments of an optimizer, with some changes."""
        surrogate, acquisition = self._model()
        return {
            "surrogate": surrogate,
            "acquisition": acquisition,
            "n_initial_points": self._initial_count(plan),
            "initial_points": plan.initial_points,
            "prior": plan.prior,
            "random_state": plan.seed,
            **changes,
        }

    def _trial_data(self, plan: Plan) -> Callable[[Any], Any] | None:
        """Return a function that makes the data of the trials, or None for `X`.

        It is called with the store of shared results, or None. It returns a context
        manager that yields the data in place of `X`, such as documents with counts.
        """
        return None

    def _ranked(self, history: History) -> History:
        """Return the trials in the rows of `cv_results_`."""
        return history

    def _describe(self, plan: Plan, outcome: Outcome) -> dict[str, Any]:
        """Return the attributes that describe the trials, such as `cv_results_`."""
        return {"cv_results_": self._table(plan, self._ranked(outcome.history))}

    def _extra_columns(self, plan: Plan, history: History) -> dict[str, list]:
        """Return the columns of `cv_results_` that GridSearchCV does not have."""
        columns: dict[str, list] = {}
        for aspect in plan.aspects:
            columns |= aspect.columns(history)
        if plan.skips_folds:
            columns["state"] = [trial.state for trial in history]
        return columns

    def _select(self, plan: Plan, fitted: Mapping[str, Any]) -> dict[str, Any]:
        """Return the ``best_*`` attributes, as far as they are defined."""
        metric, results = self._metric_of_refit(plan, fitted), fitted["cv_results_"]
        ranked = self._ranked(fitted["trials_"])
        scores = self._selection_scores(plan, results)
        row = choice.best_row(plan, ranked, fitted, metric, scores)
        if row is None:
            return {}
        if callable(plan.refit.plain):
            return choice.best_attributes(results, row)
        row, described = choice.choose_by_rule(plan, ranked, results, metric, row)
        return described | choice.best_attributes(results, row, metric)

    def _metric_of_refit(self, plan: Plan, fitted: Mapping[str, Any]) -> Any:
        """Return the metric that `refit` names, or "score" if there is only one."""
        if not fitted["multimetric_"]:
            return "score"
        refit = plan.refit.plain
        if callable(plan.settings.scoring):
            scores = fitted["trials_"][0].folds[0].test_scores
            compat.check_multimetric_refit(SimpleNamespace(refit=refit), scores)
        return refit

    def _selection_scores(
        self, plan: Plan, results: Mapping[str, Any]
    ) -> FloatArray | None:
        """Return scores of shape (n_rows, n_keys) whose greatest row is the best.

        Later columns break ties, and NaN comes last. None selects by the rank of the
        metric, as in GridSearchCV.
        """
        return None

    def _refit_rows(self, plan: Plan, fitted: Mapping[str, Any]) -> Any:
        """Return the rows for the refit; None for all."""
        return None

    def _unfitted(self, plan: Plan, params: Mapping[str, Any]) -> Any:
        """Return the estimator with a configuration for the refit."""
        return configured(plan.estimator, params)

    def _refitted(self, plan: Plan, model: Any) -> Any:
        """Return the final model after the refit."""
        return model

    # -- fit ----------------------------------------------------------------------

    @compat.fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Search for the best configuration, and refit it on all data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Training data. It is square for estimators that use a precomputed kernel or
            distances. Lists, sparse matrices, data frames and lists of documents are
            passed to the estimator unchanged.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets. None for unsupervised learning.
        **params : dict of str to object
            Metadata, passed on to the `fit` method of the estimator, to the scorer and
            to the splitter. Arrays with one entry per sample are split together with
            `X`. `groups` is passed only to the splitter.

        Returns
        -------
        self : object
            Fitted search.

        Raises
        ------
        TypeError, ValueError
            If an argument or the lengths of the data are wrong, if `constraints` raises
            an exception, if every fit failed, or if the first three trials fail because
            of the values in `search_spaces`. Arguments are checked before the first
            fit, except for those that depend on the scores of a callable `scoring`.
        Exception
            If the first three trials of the search or of a stage fail in the same way,
            and the estimator with its current parameters fails too. This exception was
            raised by the fit or by the scorer.
        """
        begin = time.perf_counter()
        plan = self._plan(X, y, params)
        with RunningSearch.opened(self, plan, params, begin) as running:
            plan = running.plan
            self._forget_fit()
            self._set(
                {
                    "search_spaces_": plan.notation,
                    "untuned_": plan.untuned,
                    "initial_points_": plan.initial_points,
                    "n_splits_": len(plan.splits),
                    "n_points_": running.n_points,
                }
            )
            outcome = running.run(self._trial_data(plan))
            outcome.history = plan.filled_history(outcome.history)
            # The results are kept if a later step fails.
            fitted = self._set(self._results(plan, outcome))
            fitted |= self._set(self._select(plan, fitted))
            if plan.refit.plain:
                running.warn_of_long_refit(outcome.refit_seconds)
            ranked = self._ranked(outcome.history)
            if choice.is_unfinished(ranked):
                warn_user(choice.unfinished_text(plan, fitted.get("best_params_")))
            elif self.return_folds:
                self._set(outside.winner_fits(plan, ranked, fitted["best_index_"]))
            if plan.refit.plain:
                self._refit(plan, fitted)
        self.total_time_ = time.perf_counter() - begin
        if plan.verbose > 0 and (sentences := outside.advice(self)):
            print(f"Advice: {' '.join(sentences)}")
        return self

    def get_metadata_routing(self) -> Any:
        """Return the metadata routing, as for GridSearchCV.

        Returns
        -------
        routing : MetadataRouter
            Metadata routing. Scorers in `constraints` have the key ``constraints``.
        """
        plain = self._plain()
        parent: Any = super(BaseBayesSearchCV, plain)
        router = parent.get_metadata_routing()
        if self.constraints is None:
            return router

        def parsed() -> tuple[Settings, Objective]:
            settings, scorers = self._settings(), compat.resolve_scorers(plain)[0]
            return settings, self._make_objective(settings, scorers)

        scorer = outside.outcome_scorer(parsed)
        if scorer is not None:
            mapping = MethodMapping().add(caller="fit", callee="score")
            router.add(method_mapping=mapping, constraints=scorer)
        return router

    def score(self, X: Any, y: Any = None, **params: Any) -> float:
        """Score the best estimator by the metric of the search, as for GridSearchCV.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Test data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets.
        **params : dict of str to object
            Metadata, passed on to the scorer.

        Returns
        -------
        score : float
            Score of the best estimator.
        """
        plain = self._plain()
        if callable(plain.refit) and vars(self).get("multimetric_"):
            plain.refit = self.target_metric_
        parent: Any = super(BaseBayesSearchCV, plain)
        return parent.score(X, y, **params)

    def _plain(self) -> Any:
        """Return a copy with parameter values that scikit-learn's methods know.

        A rule of `refit` is replaced by its metric, or True for a single metric.
        """
        plain = copy.copy(self)
        plain.estimator, plain.refit = self._tuned(), self._refit_choice().scored_by
        return plain

    def _settings(self) -> Settings:
        """Return the parameters, parsed; TypeError or ValueError if they are wrong."""
        rule, bounds = outside.rule_and_bounds(self.constraints)
        points, n_initial = parse_initial_points(self.initial_points)
        return Settings(
            params=self._values(),
            estimator=self._tuned(),
            search_spaces=self.search_spaces,
            cv=self.cv,
            scoring=self.scoring,
            refit=self._refit_choice(),
            n_iter=self.n_iter,
            sizes=getattr(self, self._subset_parameter, 1.0),
            initial_points=points,
            n_initial=n_initial,
            limits=parse_limits(self.trial_limits, self.timeout),
            stoppers=validate.check_stoppers(self.stopper),
            rule=rule,
            bounds=bounds,
            early_stopping=self.early_stopping,
            pruning=self.pruning,
            return_folds=parse_return_folds(self.return_folds),
            verbose=self.verbose,
            error_score=self.error_score,
            return_train_score=self.return_train_score,
            warm_start_from=self.warm_start_from,
        )

    # -- before the first fit -----------------------------------------------------

    def _plan(self, X: Any, y: Any, params: Mapping[str, Any]) -> Plan:
        """Check the arguments and the data, and decide what precedes the first fit."""
        self._check_source(self.warm_start_from)
        settings = self._settings()
        validate.check_arguments(self, settings)
        settings, X, y = self._resolve(settings, X, y, params)
        check_clone(settings.estimator)  # before the space is checked
        self._check_refit(settings)
        with naming("scoring"):
            scorers, _ = compat.resolve_scorers(self._plain())
        objective = self._make_objective(settings, scorers)

        X, y = validate.check_data(settings.scoring, X, y)
        validate.check_fit_names(settings.estimator, params)
        validate.check_lengths(X, params)
        params = compat.check_fit_params(X, params)
        routed = compat.route_fit_params(self._plain(), params)
        options = fit_options(settings, scorers, routed)
        tasks = outside.tasks_of(self, X, y, params.get("sample_weight"))
        aspects = aspects_of(settings, objective, tasks)
        resolved = self._resolve_space(settings, X, y, objective, aspects, routed)
        space, seed = resolved.space, draw_seed(self.random_state)
        ladder = self._ladder(settings, space, resolved.prior, y)
        assign = ladder.stages[0].assign
        models = check_configurations(settings, space, options, assign)
        validate.check_target(models, settings.scoring, y)

        split_params = routed.splitter.split
        compat.check_input(self, X, y, dict(split_params))
        splits = draw_splits(settings, X, y, split_params)
        job = Job(settings.estimator, X, y, splits, options)
        header = Header(seed, splits)
        if self.journal is not None:
            header = outside.header_of(self, settings, space, job, params, seed)
            job = replace(job, splits=header.splits)
        groups, sizes = split_params.get("groups"), self._subset_parameter
        ladder, job = with_subsets(ladder, header, job, models[0], groups, sizes)
        for aspect in aspects:
            aspect.check(job, models)
        plan = Plan(
            *(job, objective, settings, split_params, tasks, aspects),
            model=models[0],
            ladder=ladder,
            header=header,
            **resolved._asdict(),
        )
        if plan.refit.rule == "ensemble":
            outside.check_final_model(plan, models)
        return plan

    def _resolve_space(
        self,
        settings: Settings,
        X: Any,
        y: Any,
        objective: Objective,
        aspects: Sequence[Aspect],
        routed: Any,
    ) -> ResolvedSpace:
        """Return the search space for the data, and what is known about it."""
        notation, untuned, facts = outside.resolved_spaces(settings, X, y)
        for aspect in aspects:
            notation = aspect.prepare(notation, routed)
        warn_of_empty(notation)
        space = self._make_space(notation, settings.rule)
        space = with_distinct_ones(settings.estimator, space)
        current_values = self._current_values(settings.estimator)
        numbers = outside.numbers_meant(settings, space, current_values, facts)
        initial_points = points_to_begin_with(settings, space, current_values | numbers)
        prior = outside.prior_of(settings, space, current_values, facts)
        # A copy, without cached results of the constraint.
        space = space.with_constraint(space.constraint)
        validate.check_constraint(space)
        known_trials: list[KnownTrial] = []
        if self.warm_start_from is not None:
            with naming("warm_start_from"):
                known_trials = self._known_results(notation, space, objective)
        return ResolvedSpace(
            *(notation, untuned, space, current_values),
            *(initial_points, prior, known_trials),
        )

    def _first_optimizer(self, plan: Plan, history: History) -> Any:
        optimizer = self._make_optimizer(plan)
        outside.teach(optimizer, plan)
        # An earlier run with a timeout may have had stages.
        for trial in history.best_first()[:1]:
            optimizer.enqueue(trial.params)
        return optimizer

    # -- after the last trial -----------------------------------------------------

    def _forget_fit(self) -> None:
        """Remove the results of the last fit.

        Attributes that a subclass sets before it calls `fit` are kept.
        """
        names = {name for name in vars(self) if name.endswith("_")}
        if "search_spaces_" not in names:
            self._set_before_fit = tuple(sorted(names))
        for name in names.difference(self._set_before_fit):
            del self.__dict__[name]  # delattr calls the descriptor of a frame

    def _set(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Set attributes of the fitted search, and return them."""
        for name, value in attributes.items():
            setattr(self, name, value)
        return attributes

    def _results(self, plan: Plan, outcome: Outcome) -> dict[str, Any]:
        """Return the attributes that describe the trials and the search."""
        history, ranked = outcome.history, self._ranked(outcome.history)
        fitted = [fold.as_dict() for fold in history.folds if fold.is_fitted]
        compat.report_failures(fitted, self.error_score)
        metrics = plan.objective.metrics or ["score"]
        attributes = {
            **self._describe(plan, outcome),
            "trials_": history,
            "_ranked_numbers": [trial.number for trial in ranked],
            "optimizer_": outcome.optimizers[-1],
            "stop_reason_": outcome.stop_reason,
            "scorer_": compat.public_scorers(plan.scorers),
            "multimetric_": metrics != ["score"]
            or any(fold.extras.get("multimetric") for fold in history.folds),
            "target_metric_": plan.objective.name or "score",
        }
        if plan.settings.scores_rounds:
            attributes["learning_curves_"] = curve_table(history)
        return attributes

    def _table(self, plan: Plan, history: History) -> dict[str, Any]:
        """Return `cv_results_` of some trials."""
        if not history:
            raise ValueError(
                f"The hook _ranked of {type(self).__name__} returned no trial; "
                "cv_results_ needs at least one row. The trials may have no scores."
            )
        extra, n_splits = self._extra_columns(plan, history), len(plan.splits)
        params = [trial.params | trial.fitted_params for trial in history]
        folds = [fold.as_dict() for fold in history.folds]
        rows = [
            scores[: trial.n_folds]
            for trial in history
            if not trial.state.is_partial
            for table in (trial.scores, trial.train_scores)
            for scores in table.values()
        ]
        with warnings.catch_warnings():
            if all(np.isfinite(row).all() for row in rows):
                # Unfinished trials have no mean score by design.
                warnings.filterwarnings("ignore", "One or more of the t.* non-finite")
            results = compat.format_results(self, params, n_splits, folds, extra)
        return choice.with_means(results, history)

    def _refit(self, plan: Plan, fitted: Mapping[str, Any]) -> None:
        """Fit the best configuration, or the final model; set the attributes."""
        model = self._unfitted(plan, fitted["best_params_"])
        members: list[int] = []
        if plan.refit.rule == "ensemble":
            ranked = self._ranked(fitted["trials_"])
            if not choice.is_unfinished(ranked):
                result, members = outside.select_ensemble(plan, ranked, fitted)
                self._set({"ensemble_": result})
        if members:
            table = fitted["cv_results_"]["params"]
            models = [self._unfitted(plan, table[row]) for row in members]
            model = outside.unfitted_ensemble(plan, models)
        X, y, fit_params = plan.X, plan.y, plan.fit_params
        rows = self._refit_rows(plan, fitted)
        if rows is not None:
            X, y = compat.safe_split(model, X, y, rows)
            fit_params = compat.check_fit_params(plan.X, fit_params, rows)
        self.best_estimator_ = model  # even if its fit fails
        with plan.tasks.refitting(model):
            begin = time.time()
            model.fit(X, *([] if y is None else [y]), **fit_params)
            self.refit_time_ = time.time() - begin
        if members:
            model.set_params(cv=outside.cv_of(plan))  # without the rows of the splits
        self.best_estimator_ = self._refitted(plan, model)
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_

    def _refit_again(
        self,
        X: Any,
        y: Any,
        params: Mapping[str, Any],
        chosen: dict[str, Any],
        seed: int = 0,
    ) -> None:
        """Fit another configuration of the trials on the given data."""
        X, y = indexable(X, y)
        params = compat.check_fit_params(X, params)
        routed = compat.route_fit_params(self._plain(), params)
        plan = Plan(
            Job(self.estimator, X, y, (), {"fit_params": routed.estimator.fit}),
            None,
            model=configured(self.estimator, chosen["best_params_"]),
            split_params=routed.splitter.split,
            tasks=outside.tasks_of(self, X, y, None),
            header=Header(seed),
        )
        for name in ("fold_estimators_", "oof_predictions_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        self._set(chosen)
        with without_autologging():
            self._refit(plan, vars(self))
