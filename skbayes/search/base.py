"""Base class of the searches: the steps of `fit`, and the hooks of the subclasses."""

from __future__ import annotations

import contextlib
import copy
import math
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

from sklearn.base import clone
from sklearn.utils import indexable
from sklearn.utils.metadata_routing import MethodMapping

from skbayes import compat
from skbayes.defaults.parts import own_values
from skbayes.evaluation.aspects import registry as aspects
from skbayes.evaluation.constraints import rule_and_bounds
from skbayes.evaluation.fold import configured
from skbayes.evaluation.options import RefitChoice, refit_choice
from skbayes.evaluation.run import SearchRun
from skbayes.evaluation.trial import History
from skbayes.loop.failures import naming_strings
from skbayes.loop.stages import Outcome, Stage, run_stages
from skbayes.results import warm_start as knowledge
from skbayes.search import _preparation as prepare
from skbayes.search import _validation as validate
from skbayes.search import choice
from skbayes.search._expected import check_order, plain_words
from skbayes.search.final_model import FinalModel, check_final_model
from skbayes.search.html_repr import ResultDisplay
from skbayes.search.out_of_fold import winner_fits
from skbayes.search.parameters import SearchParameters
from skbayes.space import Space
from skbayes.space.dimensions import FloatArray
from skbayes.utils.optional import warn_user


class BaseBayesSearchCV(ResultDisplay, SearchParameters):
    """Base class of all searches with cross-validation.

    Delegation, tags, routing and scoring are those of scikit-learn's `BaseSearchCV`.
    Subclasses define `_make_optimizer` and override other hooks if necessary.

    The parameters are those of :class:`~skbayes.BayesSearchCV`.

    Notes
    -----
    `fit` calls these hooks in this order. They receive the run of the search and return
    values; only `fit` sets attributes. ``found`` are the attributes so far.

    1. ``_strategy(X, y, params)``: the search whose hooks are called, and the data.
    2. ``_make_objective(scorers)``: the objective of the trials.
    3. ``_make_space(notation)``: the search space.
    4. ``_known_results(run)``: observations of an earlier search.
    5. ``_stages(run)``: the stages, each with its trials, fidelities and optimizer.
    6. ``_make_optimizer(run)``: the optimizer of the only stage.
    7. ``_trial_data(run)``: data of the trials in place of `X`.
    8. ``_ranked(history)``: the trials in the rows of ``cv_results_``.
    9. ``_describe(run, outcome)``: the attributes that describe the trials, such as
       ``cv_results_``.
    10. ``_extra_columns(run, history)``: columns of ``cv_results_`` in addition to
        those of GridSearchCV.
    11. ``_select(run, found)``: the ``best_*`` attributes.
    12. ``_selection_scores(run, results)``: the scores by which the best row is chosen.
    13. ``_refit_rows(run, found)``: the rows for the refit.
    14. ``_unfitted(params)``: the estimator for the refit.
    15. ``_refitted(model)``: the final model after the refit.
    """

    # Number of initial configurations, unless `initial_points` sets it.
    _n_initial_points: int | str = "auto"

    # Acquisition function, unless `surrogate` sets it.
    _acquisition = "ei"

    # Maximum size in bytes of the temporary files that trials share.
    _cache_limit = 1e9

    # Class of the objective.
    _kind_of_metric = choice.GuidingMetric

    # Whether there is a corrected score of the best trial.
    _corrects_best_score = True

    # Whether `refit` can be "ensemble".
    _has_ensembles = True

    # Names of attributes that a subclass sets before it calls `fit`.
    _not_of_fit: tuple[str, ...] = ()

    # Name of the parameter with the sizes of training subsets, for messages.
    _subset_parameter = "train_size"

    # -- hooks --------------------------------------------------------------------

    def _strategy(self, X: Any, y: Any, params: dict) -> tuple[Any, Any, Any]:
        """Return the search whose hooks `fit` calls, and the data of the trials.

        It is a copy of this search if other values of parameters depend on the data.
        """
        return self, X, y

    def _check_refit(self) -> None:
        """Raise ValueError for a value of `refit` that is not possible."""
        validate.check_refit(self)

    def _make_objective(self, scorers: Any) -> Any:
        """Return the objective of the trials, with the interface of `GuidingMetric`."""
        return self._kind_of_metric(self._with_plain_refit(), scorers)

    def _make_space(self, notation: Any) -> Space:
        return Space.from_notation(notation, constraint=self._rule())

    def _rule(self) -> Callable[[dict[str, Any]], bool] | None:
        given = self.constraints
        return None if given is None else rule_and_bounds(given)[0]

    def _model(self) -> tuple[Any, Any]:
        given = self.surrogate
        return given if isinstance(given, tuple) else (given, self._acquisition)

    def _n_spread(self) -> int | str:
        """Return the number of initial configurations for the optimizer."""
        n_points = prepare.parse_initial_points(self.initial_points)[1]
        return self._n_initial_points if n_points is None else n_points

    def _known_results(self, run: SearchRun) -> list[knowledge.KnownTrial]:
        """Return the trials of an earlier search, with scores for the optimizer."""
        metric = run.objective.name or "score"
        return knowledge.known_trials(self.warm_start_from, run.space, metric)

    def _stages(self, run: SearchRun) -> list[Stage]:
        """Return the stages of the search; the best trial is that of the last one."""
        return [Stage(self._first_optimizer, self._most_trials())]

    def _most_trials(self) -> float:
        """Return the maximum number of trials, ``math.inf`` without one."""
        return math.inf if self.n_iter is None else int(self.n_iter)

    @abstractmethod
    def _make_optimizer(self, run: SearchRun) -> Any:
        """Return the optimizer that proposes configurations."""

    def _settings(self, run: SearchRun, **changes: Any) -> dict[str, Any]:
        """Return the arguments of an optimizer, with some changes."""
        surrogate, acquisition = self._model()
        return {
            "surrogate": surrogate,
            "acquisition": acquisition,
            "n_initial_points": self._n_spread(),
            "initial_points": run.initial_points,
            "prior": run.prior,
            "random_state": run.seed,
            **changes,
        }

    def _trial_data(self, run: SearchRun) -> Callable[[Any], Any] | None:
        """Return a function that makes the data of the trials, or None for `X`.

        It is called with the store of shared results, or None. It returns a context
        manager that yields the data in place of `X`, such as documents with counts.
        """
        return None

    def _ranked(self, history: History) -> History:
        """Return the trials in the rows of `cv_results_`."""
        return history

    def _describe(self, run: SearchRun, outcome: Outcome) -> dict[str, Any]:
        """Return the attributes that describe the trials, such as `cv_results_`."""
        return {"cv_results_": choice.results_table(self, run, run.ranked)}

    def _extra_columns(self, run: SearchRun, history: History) -> dict[str, list]:
        """Return the columns of `cv_results_` that GridSearchCV does not have."""
        columns: dict[str, list] = {}
        for aspect in aspects.aspects_of(run):
            columns |= aspect.columns(history)
        if run.cuts_trials:
            columns["state"] = [trial.state for trial in history]
        return columns

    def _select(self, run: SearchRun, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return the ``best_*`` attributes, as far as they are defined."""
        metric, results = self._metric_of_refit(run, found), found["cv_results_"]
        row = choice.best_row(self, run, found, metric)
        if row is None:
            return {}
        if callable(run.refit.plain):
            return choice.best_attributes(results, row)
        row, described = choice.choose_by_rule(self, run, results, metric, row)
        return described | choice.best_attributes(results, row, metric)

    def _metric_of_refit(self, run: SearchRun, found: Mapping[str, Any]) -> Any:
        """Return the metric that `refit` names, if a callable returns several."""
        if not (callable(self.scoring) and found["multimetric_"]):
            return run.refit_metric
        plain = self._with_plain_refit()
        scores = found["trials_"][0].folds[0].test_scores
        compat.check_multimetric_refit(plain, scores)
        return plain.refit

    def _selection_scores(
        self, run: SearchRun, results: Mapping[str, Any]
    ) -> FloatArray | None:
        """Return scores of shape (n_rows, n_keys) whose greatest row is the best.

        Later columns break ties, and NaN comes last. None selects by the rank of the
        metric, as in GridSearchCV.
        """
        return None

    def _refit_rows(self, run: SearchRun, found: Mapping[str, Any]) -> Any:
        """Return the rows for the refit; None for all."""
        return None

    def _unfitted(self, params: Mapping[str, Any]) -> Any:
        """Return the estimator with a configuration for the refit."""
        return configured(self.estimator, params)

    def _refitted(self, model: Any) -> Any:
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
            an exception, or if every fit failed. Arguments are checked before the first
            fit, except for those that depend on the scores of a callable `scoring`.
        Exception
            If all fits of the first three trials fail in the same way, or none of them
            has a score, and the estimator with its current parameters fails too. The
            exception is that of the fits or of the scorer.
        """
        begin = time.perf_counter()
        strategy, X, y = self._strategy(X, y, params)
        stoppers = validate.check_stoppers(self.stopper)
        run = strategy._make_run(X, y, params)
        weights = run.params.get("sample_weight")
        run = replace(run, tasks=compat.TaskTree(self, run.X, run.y, weights))
        stages = strategy._stages(run)
        optimizer = stages[0].make_optimizer(run, History())
        validate.check_configurations(run, stages[0])
        logged = prepare.logged(self, run.X)
        noted = naming_strings(run.X)
        with noted, logged, run.tasks.fit(), contextlib.ExitStack() as stack:
            run = replace(run, splits=prepare.draw_splits(strategy, run))
            drawn, run = run, prepare.open_journal(strategy, run, stack)
            if run.seed != drawn.seed:
                optimizer = stages[0].make_optimizer(run, History())
            run = replace(run, subsets=prepare.draw_subsets(strategy, run, stages))
            self._forget_fit()
            self._set(prepare.described(run))
            plan = prepare.plan_stages(run, stages, optimizer)
            with prepare.trial_workers(strategy, run, stages, plan) as workers:
                evaluator, executor, report = workers
                stage = stages[0]
                budget = prepare.begin_budget(run, stage, stoppers, evaluator, begin)
                outcome = run_stages(
                    run, stages, optimizer, evaluator, executor, budget, report
                )
                if not outcome.history:
                    untried = choice.untried(strategy, run, stage, evaluator)
                    outcome.history.append(untried)
            run = replace(run, ranked=strategy._ranked(outcome.history))
            # The results are kept if a later step fails.
            found = self._set(strategy._results(run, outcome))
            found |= self._set(strategy._select(run, found))
            if run.is_unfinished:
                warn_user(choice.unfinished_text(run, found.get("best_params_")))
            elif strategy.return_folds:
                self._set(winner_fits(run, found["best_index_"]))
            if run.refit.plain:
                self._refit(strategy, run, found)
        self.total_time_ = time.perf_counter() - begin
        if run.options.verbose > 0:
            prepare.print_advice(self)
        return self

    def get_metadata_routing(self) -> Any:
        """Return the metadata routing, as for GridSearchCV.

        Returns
        -------
        routing : MetadataRouter
            Metadata routing. Scorers in `constraints` have the key ``constraints``.
        """
        plain: Any = super(BaseBayesSearchCV, self._with_plain_refit())
        router = plain.get_metadata_routing()
        for aspect in aspects.requested(self._values()):
            if (scorer := aspect.scorer(self)) is not None:
                mapping = MethodMapping().add(caller="fit", callee="score")
                router.add(method_mapping=mapping, **{aspect.name: scorer})
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
        plain: Any = self._with_plain_refit()
        if callable(plain.refit) and vars(self).get("multimetric_"):
            plain = copy.copy(plain)
            plain.refit = self.target_metric_
        plain = super(BaseBayesSearchCV, plain)
        score: float = plain.score(X, y, **params)
        return score

    def _with_plain_refit(self) -> Any:
        """Return the search with a value of `refit` that GridSearchCV accepts.

        A rule is replaced by the metric that it uses, or True for a single metric.
        """
        refit = self._refit_choice().plain
        if refit is self.refit:
            return self
        plain = copy.copy(self)
        plain.refit = refit
        return plain

    def _refit_choice(self) -> RefitChoice:
        return refit_choice(self.refit, self.scoring)

    def _validate_params(self) -> None:
        check_order(self)
        with plain_words(self):
            super()._validate_params()  # type: ignore[misc]

    # -- before the first fit -----------------------------------------------------

    def _make_run(self, X: Any, y: Any, params: dict) -> SearchRun:
        """Check the arguments, and return the run."""
        settings = self._values()
        with plain_words(self):
            compat.check_parameters(self, self._accepted_values(), settings)
        validate.check_arguments(self)
        clone(self.estimator)  # detects a wrong estimator before the space is checked
        self._check_refit()
        scorers, refit_metric = compat.resolve_scorers(self._with_plain_refit())
        objective = self._make_objective(scorers)
        X, y = validate.check_data(self, X, y)
        validate.check_fit_names(self, params)
        validate.check_weights(X, params)
        params = compat.check_fit_params(X, params)
        routed = compat.route_fit_params(self._with_plain_refit(), params)
        notation, untuned, facts = prepare.resolved_spaces(self, X, y)
        notes = {}
        for aspect in aspects.requested(self._values()):
            notation, note = aspect.prepare(
                self, notation, objective, y, routed.estimator.fit
            )
            if note is not None:
                notes[aspect.name] = note
        space = prepare.with_ones(self.estimator, self._make_space(notation))
        run = SearchRun(
            estimator=self.estimator,
            objective=objective,
            scorers=scorers,
            X=X,
            y=y,
            settings=settings,
            params=params,
            fit_params=routed.estimator.fit,
            score_params=routed.scorer.score,
            split_params=routed.splitter.split,
            # A copy, without cached results of the constraint.
            space=space.with_constraint(space.constraint),
            search_spaces=notation,
            untuned=untuned,
            initial_points=prepare.points_to_begin_with(self, space),
            prior=prepare.prior_of(self, space, facts),
            refit_metric=refit_metric,
            options=prepare.fit_options(self),
            seed=prepare.draw_seed(self.random_state),
            outcome_params=prepare.routed_outcome_params(routed),
            notes=notes,
        )
        validate.check_constraint(run.space)
        if run.refit.rule == "ensemble":
            check_final_model(self, run)
        if self.warm_start_from is None:
            return run
        return replace(run, known=self._known_results(run))

    def _own_values(self) -> dict[str, Any]:
        """Return the current parameters of the estimator."""
        return own_values(self.estimator)

    def _first_optimizer(self, run: SearchRun, history: History) -> Any:
        optimizer = self._make_optimizer(run)
        self._warm_start(optimizer, run)
        return optimizer

    def _warm_start(self, optimizer: Any, run: SearchRun) -> None:
        """Pass the observations of earlier searches to an optimizer."""
        if not run.known:
            return
        slacks = knowledge.known_slacks(run)
        for known, own in zip(run.known, slacks, strict=True):
            optimizer.learn(*known[:4], constraints=own)
        # The best known configuration is tried again, so the result is not worse.
        for params in run.objective.best_known(knowledge.promising(run, slacks)):
            optimizer.enqueue(params)

    # -- after the last trial -----------------------------------------------------

    def _forget_fit(self) -> None:
        """Remove the results of the last fit.

        Attributes that a subclass sets before it calls `fit` are kept.
        """
        found = {name for name in vars(self) if name.endswith("_")}
        if "search_spaces_" not in found:
            self._not_of_fit = tuple(sorted(found))
        for name in found.difference(self._not_of_fit):
            del self.__dict__[name]  # delattr calls the descriptor of a frame

    def _set(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Set attributes of the fitted search, and return them."""
        for name, value in attributes.items():
            setattr(self, name, value)
        return attributes

    def _results(self, run: SearchRun, outcome: Outcome) -> dict[str, Any]:
        history = outcome.history
        fitted = [fold.as_dict() for fold in history.folds if fold.is_fitted]
        compat.report_failures(fitted, self.error_score)
        # Before the first valid score, the metrics of a callable are not known.
        metrics = run.objective.metrics or ["score"]
        run.fill_scores(history.folds, metrics)
        attributes = {
            **self._describe(run, outcome),
            "trials_": history,
            "_ranked_numbers": [trial.number for trial in run.ranked],
            "optimizer_": outcome.optimizers[-1],
            "stop_reason_": outcome.stop_reason,
            "scorer_": compat.public_scorers(run.scorers),
            "multimetric_": metrics != ["score"]
            or any(fold.extras.get("multimetric") for fold in history.folds),
            "target_metric_": run.objective.name or "score",
        }
        for aspect in aspects.aspects_of(run):
            attributes |= aspect.attributes(history)
        return attributes

    def _run_of_refit(self, X: Any, y: Any, params: dict[str, Any]) -> SearchRun:
        """Return a run that fits another configuration on the given data."""
        X, y = indexable(X, y)
        params = compat.check_fit_params(X, params)
        routed = compat.route_fit_params(self._with_plain_refit(), params)
        return SearchRun(
            *(self.estimator, None, None, X, y),
            fit_params=routed.estimator.fit,
            split_params=routed.splitter.split,
            tasks=compat.TaskTree(self, X, y, None),
        )

    def _refit(self, strategy: Any, run: SearchRun, found: Mapping[str, Any]) -> None:
        """Fit the best configuration, or the final model; set the attributes."""
        final = None
        if run.refit.rule == "ensemble" and not run.is_unfinished:
            final = FinalModel(strategy, run, found)
        model = final.model if final else strategy._unfitted(found["best_params_"])
        X, y, fit_params = run.X, run.y, run.fit_params
        rows = strategy._refit_rows(run, found)
        if rows is not None:
            X, y = compat.safe_split(run.estimator, X, y, rows)
            fit_params = compat.check_fit_params(run.X, fit_params, rows)
        self.best_estimator_ = model  # also if its fit fails
        with run.tasks.refitting(model):
            begin = time.time()
            if final is None or not final.is_fitted:
                model.fit(X, *([] if y is None else [y]), **fit_params)
            self.refit_time_ = time.time() - begin
        self.best_estimator_ = strategy._refitted(model)
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        if final is not None:
            self._set(final.attributes(self.best_estimator_))
