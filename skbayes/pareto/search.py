"""Bayesian search for the Pareto front of several objectives: `ParetoSearchCV`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbayes import compat
from skbayes.optimizer.optimizer import Optimizer
from skbayes.pareto.hypervolume import choose_point, hypervolumes, is_nondominated
from skbayes.pareto.objective import Objectives
from skbayes.results.frame import FrameAttribute
from skbayes.search.base import BaseBayesSearchCV
from skbayes.search.choice import (
    allowed_rows,
    best_attributes,
    check_complete,
    is_unfinished,
    rank,
)
from skbayes.search.outside import known_trials
from skbayes.search.parameters import (
    AnySurrogate,
    Constraints,
    CrossValidation,
    Estimator,
    InitialPoints,
    Refit,
    SearchSpaces,
    Stopper,
)
from skbayes.search.running import Outcome
from skbayes.space import Space
from skbayes.space.dimensions import is_number
from skbayes.trial.plan import Plan
from skbayes.trial.records import KnownTrial
from skbayes.trial.settings import RefitChoice, Settings, refit_choice
from skbayes.utils.optuna_study import study_of


class ParetoSearchCV(BaseBayesSearchCV):
    """Bayesian search for the Pareto front of several objectives.

    With several objectives, such as accuracy and prediction time, there is usually no
    single best configuration. The search looks for the Pareto front: the configurations
    for which no other one is at least as good in all objectives and better in one. Each
    objective is modeled by a separate surrogate. Trials are chosen by the expected
    hypervolume improvement, the volume that they are expected to add to the region
    dominated by the front.

    Specify the objectives as a dict, such as
    ``{"accuracy": "max", "fit_time": "min"}``. After `fit`, ``pareto_front_`` contains
    the best tradeoffs. By default, the knee of the front is refitted; :meth:`select`
    refits another point. All other parameters have defaults.

    Parameters
    ----------
    estimator : estimator object
        Estimator to tune. The `objectives` score it.
    search_spaces : "auto", dict, list of dict, Space or None, default="auto"
        Search space. A dict maps the name of each hyper-parameter to its possible
        values: a list or array of values, a scipy distribution, a tuple ``(low, high)``
        or ``(low, high, "log-uniform")``, or a dimension of :mod:`skbayes.space`. A
        :class:`~skbayes.space.Choice` contains hyper-parameters that exist only for one
        of its options. A list of dicts is searched as a single space, with one
        surrogate and one budget.

        "auto" and None use the space that :func:`skbayes.defaults.default_space`
        returns for the estimator. ``{"auto": True, "svc__C": ...}`` replaces entries of
        this space.
    objectives : dict of str to str or tuple
        Two or more objectives by name, each with its direction, "max" or "min". A name
        refers to a scorer, such as "accuracy" (at least one, always with "max"), or to
        a cost that is measured for each fit:

        - "fit_time", "score_time": seconds of fitting, and of scoring by all scorers;
        - "cpu_time": seconds of processor time of fitting, in all threads of the
          process; it hardly depends on the load of the machine;
        - "predict_time": seconds that `predict` takes for one row;
        - "model_size": size of the pickled estimator in bytes;
        - "n_features": number of features that the fitted estimator uses, see
          :func:`skbayes.trial.n_features`.

        An objective with any other name needs a tuple ``(direction, measure)`` instead
        of the direction. The second element is one of the names above, a callable
        ``scorer(estimator, X, y)``, or a callable ``measure(estimator)`` that returns a
        number for a fitted estimator.
    n_iter : int or None, default=50
        Maximum number of configurations to try. If the search space has at most
        `n_iter` configurations, each is tried once and the search ends. They are then
        tried in the order of GridSearchCV, unless `timeout` or `stopper` is set.

        With None, `timeout` or `stopper` ends the search.
    timeout : float, str or None, default=None
        Time limit of `fit`: a number of seconds, or a string such as "90 s", "5 min" or
        "1h30m". The expected time of the refit is reserved. It is the time of the best
        trial's longest fit, in proportion to the rows. The duration of each trial is
        predicted by a model. A trial that is expected to exceed the rest of the limit
        is not started. The search then looks for a trial that is expected to finish in
        time, and ends if there is none. Fits that are still running when the refit has
        to begin are aborted, and their trials are dropped. If no trial was finished,
        the current parameters of the estimator are the result, without a score, and a
        warning is issued. The refit itself is not aborted; if it is expected to exceed
        the limit, a warning is issued.

        Each worker runs its fits in a separate process, even if there is only one
        worker. Running fits cannot be aborted on Windows, on a cluster, with callbacks
        in the process of the search, or if they cannot be pickled (see :ref:`timeout`).
    stopper : callable, list of callable or None, default=None
        Stopping criteria. Each callable is called with the trials so far after every
        trial. The search ends when one of them returns True; running trials are
        completed. See :mod:`skbayes.loop` for predefined criteria.
        The score of a trial is its first objective, negated if it is minimized. Its
        expected improvement is an improvement of the hypervolume, as a fraction of the
        box of ``hypervolume_``.
    cv : int, splitter, iterable or None, default=None
        Cross-validation splits, as for GridSearchCV. They are drawn once and shared by
        all trials, even if the splitter shuffles without a seed.
    refit : str, dict, callable or bool, default="knee"
        Point of the front that is fitted on all data and described by the ``best_*``
        attributes:

        - the name of an objective: the best point in this objective;
        - "knee" or True: the compromise that is closest to the best values of all
          objectives;
        - a dict of weights by objective: the point with the largest weighted sum;
        - a callable: receives ``cv_results_`` and returns the index of a row, which can
          be outside the front;
        - False: no refit; see :meth:`select`.

        The method `score` uses the scorer that is named, or else the first one.
    constraints : callable, dict, list or None, default=None
        Rule of the configurations, bounds on outcomes of the fits, or a list of both.

        A callable ``constraints(params) -> bool`` is a rule. Configurations for which
        it returns False are never tried. If it raises an exception, the search ends
        with a ValueError.

        A dict contains bounds on outcomes of the fits, such as
        ``{"model_size": "<= 1e6", "recall": ">= 0.9"}``. The search looks for the best
        configuration that satisfies all bounds, and refits it. A bound applies to the
        mean of an outcome over the splits. The name of an outcome is an objective, a
        scorer of scikit-learn (which is then evaluated in addition to the objectives),
        or one of the following:

        - "fit_time", "score_time": seconds of fitting and of scoring;
        - "cpu_time": seconds of processor time of fitting;
        - "predict_time": seconds that `predict` takes per row;
        - "model_size": size of the pickled estimator in bytes;
        - "n_features": number of features that the fitted estimator uses.

        An outcome with any other name needs a tuple ``(outcome, bound)``. Its first
        element is one of the names above, a callable ``scorer(estimator, X, y)``, which
        may request metadata, or a callable ``measure(estimator)`` that returns a number
        for a fitted estimator. Instead of a single bound, a list of two bounds is
        accepted, such as ``[">= 10", "<= 20"]``.

        Each outcome is modeled by a Gaussian process. The acquisition function is
        multiplied by the probability that the bounds are satisfied. If no trial
        satisfies all bounds, the trial that violates them least is chosen, with a
        warning. None means no constraints.
    early_stopping : int, "auto" or None, default=None
        Maximum number of boosting iterations of the estimator, or of the last step of a
        pipeline: gradient boosting of scikit-learn, LightGBM, XGBoost or CatBoost. Each
        fit is scored on its test rows after each of the first 20 rounds, then in steps
        of 10%. The number of rounds of a trial is the one with the best mean score over
        the splits. Each split is scored at the number that is best for the other
        splits. A fit stops early if its score has not improved for many rounds. The
        number of rounds is not a dimension of the search space; an entry for it is
        removed from ``search_spaces_``. The rows of ``cv_results_`` contain the chosen
        number as a parameter. Costs refer to the complete fits. It cannot be combined
        with `return_train_score`, or with bounds on metrics in `constraints`.

        "auto" uses the largest value of that entry, or 1000 if there is none. With
        None, the number of rounds is treated like any other parameter. See
        :ref:`early-stopping`.
    surrogate : str or surrogate object, default="gp"
        Model of each objective, as for :class:`~skbayes.BayesSearchCV`. "gp" is a
        Gaussian process. "tpe" supports only a single objective. Trials are chosen by
        the expected hypervolume improvement.
    initial_points : "default", int, list or None, default="default"
        Configurations with which the search starts, before the surrogate is used:

        - "default": the current parameters of the estimator, or the nearest values of
          the search space, unless `warm_start_from` has results on the same data. For
          ``max_features="sqrt"``, a range begins with this number of features. For some
          classes of estimators, a few configurations that scored well on other data
          sets are added, and values that scored well there are proposed more often. In
          a choice among models, each model is tried once. Further configurations are
          spread over the space until there are 3 to 8 of them in total, depending on
          the number of ranges and options in the space, or 8 for "tpe"; see
          :class:`~skbayes.Optimizer`.
        - int: as "default", with this number of configurations in total. It does not
          limit the configurations of "default".
        - a list of dicts, each with a value for every hyper-parameter that it needs. An
          int at the end of the list is the total number, as in ``[{"C": 1.0}, 5]``.
        - None: only configurations that are spread over the space.
    warm_start_from : search, dict, path or None, default=None
        Results of an earlier search for the same objectives: the fitted search, its
        ``cv_results_``, or the path of its journal. The known front is tried first.
    journal : path or None, default=None
        File in which every finished trial is recorded. If a search is run again with
        the same journal, after a crash or with a larger `n_iter`, it continues after
        the recorded trials. The journal of a different search (estimator, space, data,
        splits, scoring, options) is rejected. See :func:`skbayes.load_history`.
    n_jobs : int or None, default=None
        Number of fits that run at the same time. None means 1 unless in a
        :obj:`joblib.parallel_config` context, which also selects the backend
        (processes, threads, or a cluster). -1 means using all processors. If
        `pre_dispatch` is an int, the trials are the same for every `n_jobs`.
        If fits share a processor, measured times are longer and less comparable.
    pre_dispatch : int or str, default="2*n_jobs"
        Number of trials that are in progress at the same time. Trial k is proposed from
        the results of the trials up to k - ``n_points_``, so the trials depend on this
        number and, without a `timeout`, not on timing. The number that was used is
        stored as ``n_points_``.

        A string is the number of fits that are dispatched in advance, as for
        GridSearchCV. The number of trials is then 1 with one worker. With more workers,
        it is ``ceil(1.5 * n_workers / n_splits_) + 1``, which keeps them busy.
    trial_limits : dict or None, default=None
        Limits of a trial, such as ``{"time": "5 min", "memory": "2 GB"}``, or one
        of them. None means no limits. With limits, each worker runs its fits in
        a separate process, even if there is only one worker (see :ref:`limits`).

        - "time": limit for the fits of a trial, as a number of seconds or a string. The
          time that a fit waits for a worker or for the start of a process does not
          count. The fits of a trial run in groups of as many as there are workers. A
          group takes as long as its longest fit. A fit that is still running at this
          limit is aborted, and no further fit of the trial is started. The state of the
          trial is then "timed_out". The surrogate uses the score that is predicted from
          the completed fits; the trial cannot be chosen as the best. The proposals then
          depend on measured times.
        - "memory": limit for a fit, in bytes or as a string such as "500 MiB". The
          limit applies to the resident memory of the process that runs the fit and of
          its child processes, including Python and its libraries (about 150 MB). Data
          that all workers map into memory do not count. A fit that exceeds the limit is
          aborted, and the state of its trial is "out_of_memory". Otherwise, such a
          trial is treated like a trial that exceeds its time. Requires psutil, which
          the extra `limits` installs. It is refused on Windows and on a cluster.
    random_state : int, RandomState instance or None, default=None
        Seed for the choice of configurations. Pass an int for the same trials in every
        call of `fit`. With another number of workers, the trials are the same only if
        `pre_dispatch` is an int.
        See Notes for measured times.
    verbose : int or "progress", default=0
        Verbosity level. With 1 or more, one line is printed per trial: its score, the
        best score so far, the elapsed time and the estimated remaining time. With 2 or
        more, the configuration and the messages of GridSearchCV for each fit are
        printed too. With "progress", a progress bar is shown instead, which is a widget
        in notebooks; this requires tqdm. Regardless of `verbose`, each trial is logged
        by the logger ``skbayes``.
        The score of a trial is its first objective, negated if it is minimized.
    error_score : "raise" or number, default=np.nan
        Score of a fit that fails. With "raise", the exception is raised. A trial counts
        as failed if its mean score is NaN, or if all of its fits fail. The search
        raises an exception only if every fit fails.
        A trial with a failed fit has no costs and is never on the front. An exception
        of the callable of a cost is raised with "raise"; otherwise, it becomes a
        warning.
    return_train_score : bool, default=False
        Whether ``cv_results_`` includes scores on the training sets.

    Attributes
    ----------
    pareto_front_ : pandas.DataFrame or dict of str to ndarray
        Trials that are not dominated by another trial, sorted by the first objective
        with the best one first. The columns are `trial` (row of ``cv_results_``), one
        for each objective (mean over the splits), and ``param_<name>`` for each
        hyper-parameter. Without pandas, a dict of arrays.
    pareto_params_ : list of dict
        Configurations of the front, in the same order.
    hypervolume_ : ndarray of shape (n_trials,)
        Volume that is dominated by the front after each trial, as a fraction of the box
        between ``reference_point_`` and the best value of each objective.
    reference_point_ : ndarray of shape (n_objectives,)
        Reference point of the hypervolume, in the units of the objectives. It exceeds
        the worst value of each objective on the final front by a fifth of the front's
        range. Points beyond it do not count.
    cv_results_ : dict of str to ndarray
        Results with one row per trial and the columns of GridSearchCV. For each
        objective, these are ``split<k>_test_<name>``, ``mean_test_<name>``,
        ``std_test_<name>`` and ``rank_test_<name>``. Rank 1 is the best, which is the
        smallest value of a minimized objective.
    best_index_ : int
        Row of the chosen point of the front in ``cv_results_``. Like the other
        ``best_*`` attributes, it is available unless ``refit=False``; see
        :meth:`select`.
    best_params_ : dict
        Configuration of the chosen point.
    best_score_ : float
        Mean score of the chosen point, by the objective that :meth:`score` uses.
    target_metric_ : str
        First objective.
    best_estimator_ : estimator
        Estimator with the best configuration, fitted on all data. Available unless
        ``refit=False``.
    scorer_ : callable or dict of str to callable
        Scorer of the fits; a dict with several metrics.
    n_splits_ : int
        Number of cross-validation splits.
    ensemble_ : EnsembleResult
        Members, weights and scores of the ensemble, with ``refit="ensemble"``; see
        :ref:`ensembles`.
    refit_time_ : float
        Seconds used for the refit. Available unless ``refit=False``.
    total_time_ : float
        Wall time of `fit` in seconds, including the refit. If the search was continued
        from its journal, this is the time of the last call of `fit`.
    multimetric_ : bool
        Whether there are several metrics.
    classes_ : ndarray of shape (n_classes,)
        Class labels, if the best estimator has them.
    n_features_in_ : int
        Number of features seen during `fit`, if the best estimator has this attribute.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if the best estimator has them.
    search_spaces_ : dict, list of dict, or Space
        Search space. With "auto", it is a dict whose representation is Python code that
        you can edit.
    untuned_ : list of str
        With "auto", the parts of the estimator that keep their parameters because their
        class is not known. Otherwise empty.
    initial_points_ : list of dict
        Configurations to try first: `initial_points`, or the current parameters of the
        estimator.
    trials_ : History
        All trials in the order in which they were proposed, as
        :class:`~skbayes.trial.Trial`.
    optimizer_ : Optimizer
        Optimizer that contains all observations of the search.
    stop_reason_ : str
        Reason for the end of the search: "n_iter", "timeout", "exhausted", "callback"
        (a callback returned True) or "interrupted" (Ctrl-C after at least one trial).
        The reason "exhausted" means that every configuration was tried, or that no
        other one that the constraints allow was found. If a stopper ended the search,
        it is the attribute `reason` of the stopper, or "stopper".
    n_points_ : int
        Number of trials that were in progress at the same time.
    learning_curves_ : DataFrame or dict
        Scores on the test rows after each round, if `early_stopping` is set. The
        columns are `trial`, `split`, `rounds` and ``test_<metric>``. Without pandas, a
        dict of arrays.

    See Also
    --------
    skbayes.BayesSearchCV : Bayesian search for the best configuration by one objective.
    skbayes.TradeoffSearchCV : Bayesian search for the best score minus weighted cost.

    Notes
    -----
    Measured times differ from run to run. With a time among the objectives, the same
    `random_state` therefore does not give the same trials. A journal contains the
    times, so a continued search makes the same proposals as an uninterrupted one.

    For the surrogates and the hypervolume, the logarithm is used for costs, for all
    other minimized objectives that are never negative, and for scores that are never
    positive, such as "neg_log_loss". Halving the time of a slow model thus counts as
    much as halving the time of a fast one.

    The knee is the point of the front with the smallest Euclidean distance from the
    best values of all objectives. For this purpose, each objective is scaled to the
    range from 0 to 1 over the front, without logarithms. A dict of weights applies to
    the same scaled objectives.

    References
    ----------
    Emmerich, Deutz & Klinkenberg (2011), "Hypervolume-based expected improvement:
    monotonicity properties and exact computation".

    Yang, Emmerich, Deutz & Bäck (2019), "Efficient computation of expected hypervolume
    improvement using box decomposition algorithms".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skbayes import ParetoSearchCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = ParetoSearchCV(
    ...     DecisionTreeClassifier(random_state=0),
    ...     {"max_depth": (1, 10), "min_samples_leaf": (1, 20)},
    ...     objectives={"accuracy": "max", "n_features": "min"},
    ...     n_iter=20,
    ...     random_state=1,
    ... ).fit(X, y)
    >>> columns = ["accuracy", "n_features", "param_max_depth"]
    >>> search.pareto_front_[columns].head(4).round(3)
       accuracy  n_features  param_max_depth
    0     0.935         4.4                3
    1     0.933         3.0                2
    2     0.930         2.8                2
    3     0.900         1.0                1

    The knee of the front is refitted. :meth:`select` refits another point instead:

    >>> search.best_params_
    {'max_depth': 2, 'min_samples_leaf': 11}
    >>> search.select("accuracy", X, y).best_params_
    {'max_depth': 3, 'min_samples_leaf': 9}
    """

    # Own entries, which docs/door.py does not write:
    # estimator n_iter constraints surrogate n_jobs refit verbose random_state
    # error_score stopper trial_limits warm_start_from cv_results_ best_index_
    # best_params_ best_score_ target_metric_

    _corrects_best_score = False

    # Attributes that `fit` sets.
    hypervolume_: np.ndarray
    pareto_params_: list[dict[str, Any]]
    reference_point_: np.ndarray

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseBayesSearchCV._parameter_constraints,
        "objectives": "no_validation",
        "refit": ["boolean", str, Mapping, callable],
    }
    del _parameter_constraints["scoring"]
    del _parameter_constraints["return_folds"]
    del _parameter_constraints["pruning"]
    # These assume a single objective or a single best trial.

    pareto_front_ = FrameAttribute(with_params=True)

    def __init__(
        self,
        estimator: Estimator,
        search_spaces: SearchSpaces = "auto",
        objectives: Mapping[str, Any] | None = None,
        *,
        n_iter: int | None = 50,
        timeout: float | str | None = None,
        stopper: Stopper = None,
        cv: CrossValidation = None,
        refit: Refit = "knee",
        constraints: Constraints = None,
        early_stopping: int | Literal["auto"] | None = None,
        surrogate: AnySurrogate = "gp",
        initial_points: InitialPoints = "default",
        warm_start_from: Any = None,
        journal: str | PathLike[str] | None = None,
        n_jobs: int | None = None,
        pre_dispatch: int | str = "2*n_jobs",
        trial_limits: Mapping[str, float | str | None] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int | Literal["progress"] = 0,
        error_score: float | Literal["raise"] = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator,
            search_spaces,
            n_iter=n_iter,
            timeout=timeout,
            stopper=stopper,
            cv=cv,
            refit=refit,
            constraints=constraints,
            early_stopping=early_stopping,
            surrogate=surrogate,
            initial_points=initial_points,
            warm_start_from=warm_start_from,
            journal=journal,
            n_jobs=n_jobs,
            pre_dispatch=pre_dispatch,
            trial_limits=trial_limits,
            random_state=random_state,
            verbose=verbose,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.objectives = objectives

    # -- scores -------------------------------------------------------------------

    @property
    def scoring(self) -> Any:
        """Multi-metric scorer of all objectives that are scorers."""
        return Objectives(self.objectives).multi_scorer(
            self.estimator, raise_exc=self.error_score == "raise"
        )

    @scoring.setter
    def scoring(self, scoring: Any) -> None:
        # The constructor of the base class sets its parameter to None.
        if scoring is not None:
            raise AttributeError("ParetoSearchCV has no scoring; set its objectives.")

    def _check_refit(self, settings: Settings) -> None:
        choice, names = settings.refit, Objectives(self.objectives).names
        _check_choice(choice.rule or choice.plain, names, "refit")

    def _directions(self) -> dict[str, int]:
        """Return 1 for the objectives that are maximized, and -1 for the others."""
        objectives = Objectives(self.objectives)
        return dict(zip(objectives.names, map(int, objectives.signs), strict=True))

    def _make_objective(self, settings: Settings, scorers: Any) -> Objectives:
        return Objectives(self.objectives)

    def _make_optimizer(self, plan: Plan) -> Optimizer:
        n = len(Objectives(self.objectives).names)
        return Optimizer(plan.space, **self._optimizer_options(plan, n_objectives=n))

    def _known_results(
        self, notation: Any, space: Space, objective: Objectives
    ) -> list[KnownTrial]:
        source, objectives = self.warm_start_from, objective
        if study_of(source) is not None:
            raise ValueError(
                "warm_start_from: a study of Optuna does not name its objectives; pass "
                "a search with the same objectives, its cv_results_ or its journal"
            )
        # Trials contain the scores of all objectives in any order.
        source = getattr(source, "trials_", source)
        rows: list[KnownTrial] = []
        scores: list[dict[int, float]] = []
        for name, sign in zip(objectives.names, objectives.signs, strict=True):
            with warnings.catch_warnings():
                if scores:
                    # The warnings are the same for each objective.
                    warnings.simplefilter("ignore")
                rows = known_trials(source, space, name)
            scores.append({row.trial.number: float(sign * row.score) for row in rows})
        return [
            row._replace(score=[column[number] for column in scores], noise=None)
            for row in rows
            for number in [row.trial.number]
            if all(number in column for column in scores)
        ]

    # -- after the last trial -----------------------------------------------------

    def _describe(self, plan: Plan, outcome: Outcome) -> dict[str, Any]:
        attributes = super()._describe(plan, outcome)
        results = attributes["cv_results_"]
        objectives = plan.objective
        for name, sign in zip(objectives.names, objectives.signs, strict=True):
            results[f"rank_test_{name}"] = rank(sign * results[f"mean_test_{name}"])
        # Costs have no values on the training set.
        for name in objectives.measures:
            for key in [k for k in results if k.endswith(f"_train_{name}")]:
                del results[key]
        return attributes

    def _select(self, plan: Plan, fitted: Mapping[str, Any]) -> dict[str, Any]:
        results, trials = fitted["cv_results_"], fitted["trials_"]
        objectives = plan.objective
        if is_unfinished(trials):
            return self._without_front(plan, results)
        Y = objectives.of_results(results, trials)
        Y[~allowed_rows(plan, trials, np.all(np.isfinite(Y), axis=1))] = np.nan
        if not np.any(np.all(np.isfinite(Y), axis=1)):
            limits = f" within {plan.settings.limits}" * plan.settings.limits.is_set
            raise ValueError(
                f"No trial has a value for every objective{limits}; see cv_results_."
            )
        volumes, reference = hypervolumes(Y)
        rows = np.flatnonzero(is_nondominated(Y))
        rows = rows[np.lexsort((rows, *-Y[rows].T[::-1]))]
        means = {n: results[f"mean_test_{n}"][rows] for n in objectives.names}
        attributes = {
            "hypervolume_": volumes,
            "reference_point_": objectives.signs * reference,
            "pareto_params_": [dict(results["params"][row]) for row in rows],
            "pareto_front_": {"trial": rows, **means},
        }
        choice = plan.refit.plain
        if choice is not False:
            attributes |= self._chosen(choice, "refit", rows, fitted)
        return attributes

    def _without_front(self, plan: Plan, results: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes of a search without a finished trial."""
        names, choice = plan.objective.names, plan.refit.plain
        attributes = {
            "hypervolume_": np.zeros(len(results["params"])),
            "reference_point_": np.full(len(names), np.nan),
            "pareto_params_": [],
            "pareto_front_": {
                "trial": np.array([], int),
                **{name: np.array([]) for name in names},
            },
        }
        if choice is False:
            return attributes
        return attributes | best_attributes(results, 0, self._scored_by(choice))

    def _chosen(
        self, choice: Any, parameter: str, rows: np.ndarray, fitted: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the ``best_*`` attributes of one of the trials on the front."""
        objectives, results = Objectives(self.objectives), fitted["cv_results_"]
        _check_choice(choice, objectives.names, parameter)
        if callable(choice):
            index = compat.select_best_index(choice, None, results)
            check_complete(parameter, index, fitted["trials_"][index])
        elif isinstance(choice, Integral) and not isinstance(choice, bool):
            if choice not in rows:
                raise ValueError(
                    f"{parameter}={choice!r} is not on the front; trials "
                    f"{rows.tolist()} are."
                )
            index = int(choice)
        else:
            Y = objectives.of_results(results, fitted["trials_"])[rows]
            index = int(rows[choose_point(Y, choice, objectives.names)])
        return best_attributes(results, index, self._scored_by(choice))

    def _scored_by(self, choice: Any) -> str:
        """Return the scorer that `choice` names, or else the first one."""
        scorers = list(Objectives(self.objectives).scorers)
        return choice if choice in scorers else scorers[0]

    def select(self, choice: Any, X: Any, y: Any = None, **params: Any) -> Self:
        """Choose another point of the front, and fit it on all data.

        The point is chosen from the existing trials. The ``best_*`` attributes are
        replaced, and methods such as `predict` use the new ``best_estimator_``.

        Parameters
        ----------
        choice : str, dict, callable or int
            Point to choose: an objective, "knee", a dict of weights or a callable, as
            for `refit`, or the number of a trial, as in the column `trial` of
            ``pareto_front_``.
        X : array-like of shape (n_samples, n_features)
            Training data, as for `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets.
        **params : dict of str to object
            Metadata, as for `fit`.

        Returns
        -------
        self : object
            Search with the new choice.

        Raises
        ------
        TypeError, ValueError
            If there is no such point, or the lengths of the data differ.
        sklearn.exceptions.NotFittedError
            If the search was not fitted.
        """
        check_is_fitted(self, "pareto_params_")
        if isinstance(choice, float) and choice.is_integer():
            choice = int(choice)  # the row of a data frame may hold floats only
        rows = vars(self)["pareto_front_"]["trial"]
        if not len(rows):
            raise ValueError("pareto_front_ is empty: no trial was finished in time.")
        chosen = self._chosen(choice, "choice", rows, vars(self))
        self._refit_again(X, y, params, chosen)
        return self

    def _refit_choice(self) -> RefitChoice:
        choice = refit_choice(self.refit, self.objectives)
        if choice.plain is False:
            return choice
        return replace(choice, scored_by=self._scored_by(choice.plain))


def _check_choice(choice: Any, names: list[str], parameter: str) -> None:
    """Raise ValueError if a value does not choose a point of the front."""
    is_bool = isinstance(choice, bool | np.bool_)
    is_row = isinstance(choice, Integral) and not is_bool
    if callable(choice) or (is_bool if parameter == "refit" else is_row):
        return
    if isinstance(choice, str) and (choice == "knee" or choice in names):
        return
    if isinstance(choice, Mapping) and choice and set(choice) <= set(names):
        weights = list(choice.values())
        if all(map(is_number, weights)) and min(weights) >= 0.0 < sum(weights) < np.inf:
            return
    number = ", the number of a trial on the front" if parameter == "choice" else ""
    raise ValueError(
        f"{parameter} must be one of the objectives {names}, 'knee', a dict of weights "
        f">= 0 by objective{number}, or a callable, got {choice!r}."
    )
