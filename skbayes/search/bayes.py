"""Bayesian search over hyper-parameters: `BayesSearchCV`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.model_selection import ParameterGrid

from skbayes.acquisition.improvement import Acquisition
from skbayes.optimizer.checks import check_takes_noise
from skbayes.optimizer.optimizer import Optimizer
from skbayes.optimizer.optional_parts import ACQUISITIONS
from skbayes.results.scores import compared
from skbayes.search import outside
from skbayes.search.base import BaseBayesSearchCV
from skbayes.search.parameters import (
    ANY_SURROGATE,
    AnySurrogate,
    Constraints,
    CrossValidation,
    Estimator,
    InitialPoints,
    Refit,
    Scoring,
    SearchSpaces,
    Stopper,
    with_acquisition,
)
from skbayes.space import OptimumPrior, Space
from skbayes.space.dimensions import key_of
from skbayes.surrogates.surrogate import Surrogate
from skbayes.trial.plan import Ladder, Plan
from skbayes.trial.records import History
from skbayes.trial.settings import Settings
from skbayes.utils.optional import warn_user


class BayesSearchCV(BaseBayesSearchCV):
    """Bayesian search over hyper-parameters with cross-validation.

    BayesSearchCV is a drop-in replacement for
    :class:`~sklearn.model_selection.GridSearchCV` and
    :class:`~sklearn.model_selection.RandomizedSearchCV`. It has the same methods and
    attributes, and accepts their grids and distributions as `search_spaces`. A
    surrogate, by default a Gaussian process, is fitted to the scores of all trials so
    far and selects the next configuration.

    Only `estimator` is required. After
    ``BayesSearchCV(estimator, search_spaces).fit(X, y)``, ``best_params_`` and
    ``best_score_`` describe the best of 50 configurations, and the search predicts with
    the refitted estimator. `n_iter` and `timeout` set the budget. `random_state` makes
    the search reproducible, also with another number of workers if `pre_dispatch` is an
    int. `scoring`, `cv` and `n_jobs` have the same meaning as for GridSearchCV.

    Parameters
    ----------
    estimator : estimator object
        Estimator to tune. It needs a `score` method unless `scoring` is given.
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
    n_iter : int or None, default=50
        Maximum number of configurations to try. If the search space has at most
        `n_iter` configurations, each is tried once and the search ends. They are then
        tried in the order of GridSearchCV, unless `timeout` or `stopper` is set.

        With None, `timeout` or `stopper` ends the search. With `timeout`, the default
        acquisition function of Gaussian processes is then "ei-per-second", and the
        default number of initial configurations is 3. If half of the time does not
        suffice for 80 configurations with all folds, most configurations have one fold
        or a fifth, and the best ones are compared on all (:ref:`details <one-fold>`).
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
    scoring : str, callable, list, tuple, dict or None, default=None
        Metrics, as for GridSearchCV: one metric, several metrics, or a callable that
        returns either. None uses the `score` method of the estimator.
    cv : int, splitter, iterable or None, default=None
        Cross-validation splits, as for GridSearchCV. They are drawn once and shared by
        all trials, even if the splitter shuffles without a seed.
    refit : bool, str, dict or callable, default=True
        Whether to refit the best configuration on all data. With several metrics, pass
        the name of the metric that determines the best configuration, or False. A
        callable receives ``cv_results_`` and returns the index of the row to choose.
        The search is guided by the metric that is named, or else by the first one.

        "corrected" chooses the current parameters of the estimator, unless the best
        mean score is still better after the correction of its optimism
        (``best_score_corrected_``; see :ref:`choice`). With several metrics, pass
        ``{"rule": "corrected", "metric": "f1"}``.

        "ensemble" averages the predictions of fits of the splits (Caruana et al. 2004)
        if the mean score of the averages is better by more than its standard error.
        Otherwise, it refits the best configuration. Members are selected from the
        out-of-fold predictions of the best complete trials by the metric of the search.
        A dict such as ``{"rule": "ensemble", "metric": "roc_auc", "max_members": 3}``
        has the options "metric", if there are several, and "max_members", the maximum
        number of fits, by default 10.
    constraints : callable, dict, list or None, default=None
        Rule of the configurations, bounds on outcomes of the fits, or a list of both.

        A callable ``constraints(params) -> bool`` is a rule. Configurations for which
        it returns False are never tried. If it raises an exception, the search ends
        with a ValueError.

        A dict contains bounds on outcomes of the fits, such as
        ``{"model_size": "<= 1e6", "recall": ">= 0.9"}``. The search looks for the best
        configuration that satisfies all bounds, and refits it. A bound applies to the
        mean of an outcome over the splits. The name of an outcome is a metric of
        `scoring`, a scorer of scikit-learn (which is then evaluated in addition to
        `scoring`), or one of the following:

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
    pruning : bool or float, default=False
        Whether to prune trials. A trial is pruned if, after its first folds, its chance
        to become the best is less than 20%, or less than the number given, which is
        below 0.5. Its other folds are not fitted, and it cannot be chosen as the best.
        Each trial begins with another fold. In 151 recorded searches with five folds,
        the default threshold needs 56% of the fits and keeps the best trial in 89% of
        the searches (:ref:`pruning`). The fits of a trial run one after the other, so
        more trials are in progress by default, at most 16.
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
    surrogate : str, surrogate object or tuple, default="gp"
        Model of the scores, given by name or as an instance of a class of
        :mod:`skbayes.surrogates`, or a tuple of the model and the acquisition function,
        such as ``("gp", "ucb")``. The models are:

        - "gp": Gaussian process; "gp-additive" in small finite spaces, "gp-warped"
          otherwise;
        - "gp-additive", "gp-warped", "gp-matern52", "gp-matern32", "gp-rbf": Gaussian
          process with a specific kernel or with warped inputs;
        - "graph": Gaussian field on the graph of all configurations of a finite space;
        - "trees": ensemble of trees, requires LightGBM;
        - "tpe": tree-structured Parzen estimator;
        - "random", "sobol": random or quasi-random search without a model.

        The acquisition function ranks the configurations to try next. It is a name or
        an instance of a class of :mod:`skbayes.acquisition`:

        - "ei": expected improvement, the default;
        - "ei-per-second": expected improvement divided by the expected time;
        - "pi": probability of improvement;
        - "ucb": upper confidence bound;
        - "eif": expected influence, only with "graph".
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
    warm_start_from : search, dict, study, path or None, default=None
        Results of an earlier search on the same data, scored by the same metric:

        - a fitted search (also a GridSearchCV), or its ``cv_results_``;
        - the path of a journal;
        - an Optuna study with one objective, whose values are negated if it minimizes.

        Failed trials of a study are used, too, and costs if they are known. The search
        spaces can differ; configurations outside the new space are ignored, with a
        warning. The best known configuration is tried first, or after the
        `initial_points` if they are given.
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
          count. The fits of a trial run in groups of as many as there are workers, or
          one after the other with `pruning`. A group takes as long as its longest fit.
          A fit that is still running at this limit is aborted, and no further fit of
          the trial is started. The state of the trial is then "timed_out". The
          surrogate uses the score that is predicted from the completed fits; the trial
          cannot be chosen as the best. The proposals then depend on measured times.
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
    verbose : int or "progress", default=0
        Verbosity level. With 1 or more, one line is printed per trial: its score, the
        best score so far, the elapsed time and the estimated remaining time. With 2 or
        more, the configuration and the messages of GridSearchCV for each fit are
        printed too. With "progress", a progress bar is shown instead, which is a widget
        in notebooks; this requires tqdm. Regardless of `verbose`, each trial is logged
        by the logger ``skbayes``.
    error_score : "raise" or number, default=np.nan
        Score of a fit that fails. With "raise", the exception is raised. A trial counts
        as failed if its mean score is NaN, or if all of its fits fail. The search
        raises an exception only if every fit fails.
    return_train_score : bool, default=False
        Whether ``cv_results_`` includes scores on the training sets.
    return_folds : False, str or list of str, default=False
        Results of the fits on the splits with the best configuration. If `refit` is a
        callable, the estimators of all trials are kept until the search ends.

        - "estimators" stores the fitted estimators as ``fold_estimators_``.
        - The name of a method, such as "predict" or "predict_proba", stores its outputs
          as ``oof_predictions_``. For each sample, the method is called on the
          estimator that was fitted without this sample. Requires a `cv` that tests each
          sample exactly once.
        - A list contains "estimators", a method, or both. With "all" in the list, the
          results of all complete trials are also stored. The estimators of all trials
          are then in memory at the same time.

    Attributes
    ----------
    cv_results_ : dict of str to ndarray
        Results with one row per trial and the columns of GridSearchCV. It can be
        converted to a pandas DataFrame. With `pruning` or `trial_limits`,
        the column `state` shows which trials were pruned or aborted; their mean scores
        are NaN. With `timeout` and ``n_iter=None``, the rows are the trials that are
        compared, those with all folds (:ref:`details <one-fold>`).
    best_estimator_ : estimator
        Estimator with the best configuration, fitted on all data. Available unless
        ``refit=False``.
    best_score_ : float
        Mean cross-validated score of the best configuration. Available unless `refit`
        is callable, or ``refit=False`` with several metrics.
    best_score_corrected_ : float
        ``best_score_``, corrected for the optimism that results from choosing the best
        of many trials. It is estimated from the scores of the folds; see
        :func:`skbayes.results.corrected_best_score`. Available whenever
        ``best_score_`` is.
    best_gain_ : float
        ``best_score_corrected_`` minus the score of the current parameters of the
        estimator on the same folds; 0 if these are chosen. NaN if they were not tried
        on the same training rows, or with one split. Available whenever
        ``best_score_`` is.
    best_gain_std_ : float
        Standard error of ``best_gain_``. It includes the overlap of the training sets
        (Nadeau and Bengio, 2003) and the correction for the selection.
    own_index_ : int or None
        Row of the current parameters of the estimator in ``cv_results_``, if they were
        tried.
    best_params_ : dict
        Best configuration. Available unless ``refit=False`` with several metrics.
    best_index_ : int
        Row of the best configuration in ``cv_results_``; the first one if several tie.
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
    target_metric_ : str
        Metric that guided the search; "score" if there is a single metric.
    learning_curves_ : DataFrame or dict
        Scores on the test rows after each round, if `early_stopping` is set. The
        columns are `trial`, `split`, `rounds` and ``test_<metric>``. Without pandas, a
        dict of arrays.
    fold_estimators_ : list of estimators
        Estimators fitted on the splits with the best configuration, if `return_folds`
        contains "estimators".
    oof_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_columns)
        Out-of-fold predictions in the order of the samples, if `return_folds` contains
        a method. Probabilities of several labels have one column for each label.
    all_fold_estimators_ : list of (list of estimators or None)
        Estimators fitted on the splits for each row of ``cv_results_``, if
        `return_folds` contains "all" and "estimators". None for a trial that was not
        complete.
    all_oof_predictions_ : list of (ndarray or None)
        Out-of-fold predictions for each row of ``cv_results_``, if `return_folds`
        contains "all" and a method.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : Exhaustive search over a grid.
    sklearn.model_selection.RandomizedSearchCV : Search over random configurations.
    MultiStageSearchCV : Search with most trials on a part of the training data.
    skbayes.Optimizer : Bayesian optimization of any Python function.

    Notes
    -----
    A trial is one configuration, fitted and scored on every split. It is evaluated by
    the same function as in GridSearchCV. Scores, failures, sample weights, metadata
    routing and callbacks therefore have the same meaning.

    If the search is interrupted by Ctrl-C, it starts no new fits, and ends with the
    trials that have finished. Running fits are aborted, except on a cluster, and in
    threads without a limit, where they are completed. The best configuration is
    refitted as usual. A second Ctrl-C raises KeyboardInterrupt, as does a first one
    before the first trial has finished or during the refit. If the refit ends with an
    error or an interrupt, ``cv_results_``, ``best_params_`` and the other attributes
    are kept. Only ``best_estimator_`` is then not fitted.

    If a worker process dies, for example because it runs out of memory, the trials that
    were running are repeated, one at a time. A trial is marked as failed if its worker
    dies twice while the trial runs alone.

    References
    ----------
    Snoek, Larochelle & Adams (2012), "Practical Bayesian optimization of machine
    learning algorithms".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skbayes import BayesSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = BayesSearchCV(
    ...     SVC(),
    ...     {"C": (0.01, 100.0, "log-uniform"), "gamma": (1e-4, 1.0, "log-uniform")},
    ...     n_iter=20,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> search.best_params_
    {'C': 56.9294, 'gamma': 0.0114013}
    >>> print(f"{search.best_score_:.3f}")
    0.980
    >>> search.predict(X[:3])
    array([0, 0, 0])

    Ranges, scipy distributions and lists can be combined:

    >>> from scipy.stats import loguniform
    >>> search = BayesSearchCV(
    ...     SVC(),
    ...     {"C": loguniform(1e-2, 1e3), "kernel": ["linear", "rbf"]},
    ...     n_iter=10,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> search.best_params_
    {'C': 0.658263, 'kernel': 'linear'}
    >>> len(search.trials_), search.stop_reason_
    (10, 'n_iter')
    """

    # Attributes that `fit` sets.
    best_gain_: float
    best_gain_std_: float
    best_score_corrected_: float
    own_index_: int | None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseBayesSearchCV._parameter_constraints,
        "surrogate": with_acquisition(
            [*ANY_SURROGATE, Surrogate],
            ACQUISITIONS,
            (Acquisition,),
        ),
    }

    # Number of initial configurations with a limit of time and no number of trials: 3
    # instead of 8 gain 9% (choose) and 13% (judge) of the attainable gain after 60 s
    # (benchmarks/first_seconds.py).
    _n_timed_points: int | str = 3

    def __init__(
        self,
        estimator: Estimator,
        search_spaces: SearchSpaces = "auto",
        *,
        n_iter: int | None = 50,
        timeout: float | str | None = None,
        stopper: Stopper = None,
        scoring: Scoring = None,
        cv: CrossValidation = None,
        refit: Refit = True,
        constraints: Constraints = None,
        pruning: bool | float = False,
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
        return_folds: Literal[False] | str | Sequence[str] = False,
    ) -> None:
        super().__init__(
            estimator,
            search_spaces,
            n_iter=n_iter,
            timeout=timeout,
            stopper=stopper,
            scoring=scoring,
            cv=cv,
            refit=refit,
            constraints=constraints,
            pruning=pruning,
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
            return_folds=return_folds,
        )

    def _has_only_timeout(self) -> bool:
        """Return whether the time limits the search, and no number of trials."""
        return self.n_iter is None and self.timeout is not None

    def _model(self) -> tuple[Any, Any]:
        model = self.surrogate
        is_process = isinstance(model, str) and model.startswith("gp")
        if is_process and self._has_only_timeout():
            return model, "ei-per-second"
        return super()._model()

    def _initial_count(self, plan: Plan) -> int | str:
        n_initial = super()._initial_count(plan)
        # A surrogate that is given with an acquisition function is a pair itself.
        is_timed = self._model() == (self.surrogate, "ei-per-second")
        return self._n_timed_points if n_initial == "auto" and is_timed else n_initial

    def _ladder(
        self, settings: Settings, space: Space, prior: OptimumPrior | None, y: Any
    ) -> Ladder:
        ladder = None
        if self._has_only_timeout():
            ladder = outside.stages_before_all_folds(self, settings, prior, y)
        return ladder or super()._ladder(settings, space, prior, y)

    def _make_optimizer(self, plan: Plan) -> Optimizer:
        return self._optimizer_for(plan, self._most_trials())

    def _optimizer_for(self, plan: Plan, n_iter: float) -> Optimizer:
        """Make the optimizer of a search with `n_iter` trials."""
        points, space = list(plan.initial_points), plan.space
        # If all configurations are tried, their order is the same as in GridSearchCV,
        # so that ties have the same result. Known configurations are not tried again.
        is_open_ended = (
            self.timeout is not None or self.stopper is not None or plan.known_trials
        )
        everything = not is_open_ended and space.n_configurations <= n_iter
        remaining = _all_points(plan.notation, space) if everything else []
        if everything and plan.settings.initial_points is None:
            points = []  # included in the rest
        if plan.skips_folds:
            # Scores of unfinished trials are noisier than others.
            rule = "pruning must be False and trial_limits None"
            check_takes_noise(self._model()[0], rule)
        options = self._optimizer_options(plan, initial_points=points + remaining)
        optimizer = Optimizer(space, **options)
        self._warn_of_untried(points, space, n_iter)
        return optimizer

    def _warn_of_untried(self, points: list[dict], space: Space, n_iter: float) -> None:
        """Warn of initial points that exceed the number of trials."""
        if not points:
            return
        n_different = len({row.tobytes() for row in space.encode(points)})
        if n_different > n_iter:
            warn_user(
                f"initial_points has {n_different} different configurations, of which "
                f"only the first {n_iter} are tried with n_iter={self.n_iter}."
            )

    # -- after the last trial -----------------------------------------------------

    def _ranked(self, history: History) -> History:
        """Return the trials of the stage in which the best one is chosen."""
        if not history:
            return history
        best, *_ = [*compared(history), history[-1]]
        stage = best.fidelity.stage
        return History([trial for trial in history if trial.fidelity.stage == stage])

    def _extra_columns(self, plan: Plan, history: History) -> dict[str, list]:
        columns = super()._extra_columns(plan, history)
        if any(stage.n_folds is not None for stage in plan.ladder.stages):
            columns["n_folds"] = [trial.n_folds for trial in history]
        return columns

    def _select(self, plan: Plan, fitted: Mapping[str, Any]) -> dict[str, Any]:
        selected = super()._select(plan, fitted)
        if "best_index_" not in selected:
            return selected
        trial = self._ranked(fitted["trials_"])[selected["best_index_"]]
        share, n_folds = trial.fidelity.train_fraction, trial.n_folds
        is_last = (share, n_folds) >= plan.ladder.stages[-1].amount(plan)
        if not (is_last or trial.state.is_partial):
            warn_user(
                f"best_score_ is the score on {n_folds} of {len(plan.splits)} folds, "
                f"with {share:.0%} of the training rows. The search ended before the "
                "best configurations were compared on all of them; increase timeout "
                "or n_iter."
            )
        return selected


def _all_points(search_spaces: Any, space: Space) -> list[dict]:
    """Return all configurations of a finite space in GridSearchCV's order."""
    points = _grid_points(search_spaces, space)
    if points is None:
        points = space.decode(space.enumerate(np.arange(int(space.n_configurations))))
    return [point for point in points if space.allows(point)]


def _grid_points(search_spaces: Any, space: Space) -> list[dict] | None:
    """Return the points of a grid that GridSearchCV accepts; None for other spaces."""
    try:
        grid = list(ParameterGrid(search_spaces))
        # Encoding and decoding converts the values to plain Python.
        X = space.encode(grid)
        if not space.overlaps:
            # Repeated values of a list count once.
            _, first = np.unique([key_of(row) for row in X], return_index=True)
            X = X[np.sort(first)]
        points = space.decode(X)
    except (TypeError, ValueError):
        return None
    return points if len(points) == space.n_configurations else None
