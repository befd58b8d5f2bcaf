"""Bayesian search for the best tradeoff of score and cost: `TradeoffSearchCV`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbayes import compat
from skbayes.results.frame import FrameAttribute
from skbayes.results.read import read_trials
from skbayes.results.record import Source
from skbayes.results.trial_costs import trial_cost, trial_costs
from skbayes.search._validation import check_call
from skbayes.search.base import BaseBayesSearchCV
from skbayes.search.choice import best_attributes, best_row, is_unfinished, rank
from skbayes.search.outside import comparable_trials, known_trials
from skbayes.search.parameters import (
    ANY_SURROGATE,
    Constraints,
    CrossValidation,
    Estimator,
    InitialPoints,
    Refit,
    Scoring,
    SearchSpaces,
    Stopper,
    TradeoffSurrogate,
    with_acquisition,
)
from skbayes.search.preparation import drawn_subsets
from skbayes.search.running import Outcome
from skbayes.space import OptimumPrior, Ordinal, Space
from skbayes.space.dimensions import FloatArray, is_number
from skbayes.space.notation import parse_spaces
from skbayes.tradeoff.acquisition import RULES, envelope, relative_costs
from skbayes.tradeoff.objective import ScoreAndCost
from skbayes.tradeoff.optimizer import TradeoffOptimizer
from skbayes.trial.plan import Ladder, Plan, Stage
from skbayes.trial.records import Fidelity, History, KnownTrial, Trial, TrialState
from skbayes.trial.settings import Rule, Settings
from skbayes.trial.subsets import Sample, check_train_size
from skbayes.utils.ranking import best_first, least_violating

# Name of the training size among the proposed parameters.
SIZE = "train_size"


class TradeoffSearchCV(BaseBayesSearchCV):
    r"""Bayesian search for the best score minus a multiple of the cost.

    The size of the training set is tuned together with the hyper-parameters. With a
    fifth of the rows, many models are nearly as good and are fitted in a fifth of the
    time. Each trial has a score and a cost, which is the fit time by default. The
    search maximizes the score minus `tradeoff` times the relative cost. The chosen
    configuration is then fitted on the chosen fraction of the data.
    ``tradeoff_curve_`` lists the best configuration for every other value of
    `tradeoff`, and :meth:`select` fits it.

    Most parameters and attributes are the same as for :class:`~skbayes.BayesSearchCV`.
    Set `tradeoff` to the additional score that justifies the cost of a typical fit on
    all data. `cost` selects the type of cost.

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
    tradeoff : float, default=0.5
        Weight of the relative cost, 0 or more. A typical fit on all of the data has a
        relative cost of 1. For example, with 0.1 a configuration of cost 0 is preferred
        to a configuration of cost 1 unless the score of the latter is higher by more
        than 0.1. With 0, costs are ignored.
    train_sizes : sequence of float or int, default=(0.2, 0.4, 0.6, 0.8, 1.0)
        Training sizes to choose from: either fractions in (0, 1] of each split's
        training set, or numbers of rows. The rows are drawn once: all trials of a size
        use the same rows, and larger sizes include the rows of smaller ones. Rows are
        stratified for classifiers, and `groups` are kept together. All test rows are
        used.
    cost : str or callable, default="fit_time"
        Cost that is measured for each fit and averaged over the splits:

        - "fit_time", "score_time": seconds of fitting and of scoring;
        - "cpu_time": seconds of processor time of fitting, in all threads of the
          process; it hardly depends on the load of the machine;
        - "predict_time": seconds that `predict` takes for one row;
        - "model_size": size of the pickled estimator in bytes;
        - "n_features": number of features that the fitted estimator uses, see
          :func:`skbayes.trial.n_features`;
        - a callable ``cost(estimator)`` that returns a number, 0 or more, for a fitted
          estimator.
    score_range : tuple of (float, float), default=None
        Scores that correspond to 0 and 1, such as ``(-1.0, 0.0)`` for a negated loss
        that is never above 1. With None, all scores must be between 0 and 1.
    cost_scale : {"auto", "log", "raw"}, default="auto"
        Scale on which the model of the cost assumes a normal distribution: the
        logarithm ("log") or the cost itself ("raw"). "auto" uses the scale that
        predicts the known costs better.
    all_tradeoffs : bool, default=False
        Whether to choose trials for all tradeoffs. Each trial is then chosen for a
        random tradeoff, drawn from 0.001 to 1 uniformly on a logarithmic scale.
        `tradeoff` determines only the configuration that is chosen at the end.
    n_iter : int or None, default=20
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
        They use only the scores.
    scoring : str, callable, list, tuple, dict or None, default=None
        Metrics, as for GridSearchCV: one metric, several metrics, or a callable that
        returns either. None uses the `score` method of the estimator.
    cv : int, splitter, iterable or None, default=None
        Cross-validation splits, as for GridSearchCV. They are drawn once and shared by
        all trials, even if the splitter shuffles without a seed.
    refit : bool, str, dict or callable, default=True
        Whether to fit the chosen configuration on the chosen fraction of all data. With
        several metrics, it is the name of the metric that determines the best
        configuration, or False. A callable receives ``cv_results_`` and returns the
        index of the row to choose.
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
        The dict that a rule receives includes "train_size".
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
        Model of the scores, as for :class:`~skbayes.BayesSearchCV`. "tpe" is not
        supported, since it does not predict scores. Costs are modeled by a separate
        Gaussian process. A tuple consists of the model and the acquisition function:

        - "ei-tradeoff": expected improvement of the score minus the weighted cost over
          the best trial so far, the default;
        - "paper": expected improvement of the score minus `tradeoff` times the expected
          excess of the cost over the smallest one, as published. It selects the
          cheapest fits once no large improvement is expected.
    initial_points : "default", int, list or None, default="default"
        Configurations with which the search starts, as for
        :class:`~skbayes.BayesSearchCV`. Their number is 3 unless an int is given.
    warm_start_from : search, dict, study, path or None, default=None
        Results of an earlier search, scored by the same metric: a fitted search, its
        ``cv_results_``, the path of a journal, or an Optuna study with one objective.
        The values of a study that minimizes are negated.

        Trials of a TradeoffSearchCV keep their training sizes. They also keep their
        costs if the `cost` was the same; in a journal, only costs with a name are kept.
        Trials of other searches are used as trials on the largest size with unknown
        cost. The configuration with the best score is tried first.
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
        The costs must be the same, too, which is not the case for measured times.
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
        Results with one row per trial and the columns of GridSearchCV. The additional
        columns are:

        - `train_fraction`: fraction of the training rows;
        - `cost`: cost in its own unit;
        - `relative_cost`: relative cost, from 0 to 1;
        - `tradeoff_score`: score, scaled to the range from 0 to 1, minus `tradeoff`
          times the relative cost;
        - `rank_tradeoff_score`: rank of the tradeoff score, 1 for the best.
    tradeoff_curve_ : DataFrame or dict of str to ndarray
        Trials that are the best for some tradeoff, in the order of the tradeoff from 0
        upwards. `tradeoff_from` and `tradeoff_to` are the limits between which the
        trial is the best. The other columns are `trial` (row of ``cv_results_``),
        `score`, `cost`, `relative_cost`, `train_fraction`, and ``param_<name>`` for
        each hyper-parameter. Without pandas, a dict of arrays.
    best_train_fraction_ : float
        Fraction of the rows of the chosen trial, which is also used for the refit.
    best_cost_ : float
        Cost of the chosen trial.
    best_estimator_ : estimator
        Estimator with the chosen configuration, fitted on this fraction of all data.
        Available unless ``refit=False``.
    train_fractions_ : list of float
        Fraction of the training rows for each size in ascending order, averaged over
        the splits.
    best_score_ : float
        Mean cross-validated score of the best configuration. Available unless `refit`
        is callable, or ``refit=False`` with several metrics.
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
    BayesSearchCV : Bayesian search for the best score, regardless of the cost.
    ParetoSearchCV : Bayesian search for the Pareto front of two or more objectives.
    MultiStageSearchCV : Bayesian search that is faster, with a final model on all data.

    Notes
    -----
    The method follows Wang et al. Let :math:`L` be the score and :math:`\sigma` the
    relative cost,

    .. math::

        \sigma = \min(1, \text{cost} / \text{median cost of the trials on the
        largest training sets}).

    It is computed again before each trial. If there is no trial on the largest training
    sets yet, the median cost on the largest available size is divided by this relative
    size. The search maximizes :math:`L - \alpha \sigma`, where :math:`\alpha` is
    `tradeoff`. With :math:`\alpha = 0`, the trials are the same as for
    :class:`~skbayes.BayesSearchCV` on a space with the training size as an additional
    dimension.

    Times are taken from ``cv_results_`` with one exception: the first fit of a class in
    a process also loads libraries and fills caches, and is excluded from the mean of
    its trial. If no fit of a trial remains, the surrogate has no cost of the trial, and
    the final choice uses the median cost of the trials with the same number of rows.
    The model of the cost estimates all other noise. Fits that share processors take
    longer than others, so compare only times of trials that ran under the same
    conditions.

    "cpu_time" divides the processor time of a fold between fitting and scoring in
    proportion to their wall times. If fits run in threads of one process at the same
    time, it includes all of them; use processes in this case.

    References
    ----------
    L. Wang, M. Feng, B. Zhou, B. Xiang and S. Mahadevan, "Efficient hyper-parameter
    optimization for NLP applications", EMNLP 2015.
    L. Wang, F. Dernoncourt and T. Bui, "Bayesian optimization for selecting efficient
    machine learning models", 2020, arXiv:2008.00386.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skbayes import TradeoffSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> search = TradeoffSearchCV(
    ...     KNeighborsClassifier(),
    ...     {"n_neighbors": (1, 20), "weights": ["uniform", "distance"]},
    ...     tradeoff=0.1,
    ...     cost="model_size",
    ...     n_iter=10,
    ...     cv=3,
    ...     random_state=2,
    ... ).fit(X, y)
    >>> search.best_params_
    {'n_neighbors': 4, 'weights': 'distance'}
    >>> print(f"{search.best_score_:.3f}, {search.best_train_fraction_:.0%} of rows")
    0.963, 60% of rows

    The best trials for other tradeoffs are also available. With a tradeoff of 0, the
    cost is ignored:

    >>> columns = ["tradeoff_from", "score", "train_fraction", "param_n_neighbors"]
    >>> search.tradeoff_curve_[columns].round(3)
       tradeoff_from  score  train_fraction  param_n_neighbors
    0          0.000  0.964             0.8                  4
    1          0.006  0.963             0.6                  4
    2          0.106  0.942             0.4                  7
    3          0.240  0.894             0.2                 11
    >>> search = search.select(0.0, X, y)
    >>> print(f"{search.best_score_:.3f}, {search.best_train_fraction_:.0%} of rows")
    0.964, 80% of rows
    """

    # Own entries, which docs/door.py does not write:
    # n_iter surrogate initial_points constraints refit random_state stopper
    # trial_limits warm_start_from cv_results_ best_estimator_

    _corrects_best_score = False

    # Attributes that `fit` sets.
    best_cost_: float
    best_train_fraction_: float
    train_fractions_: list[float]
    _subset_seed: int

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseBayesSearchCV._parameter_constraints,
        "tradeoff": [compat.Interval(Real, 0, None, closed="left")],
        "train_sizes": [list, tuple, np.ndarray],
        "cost": [str, callable],
        "score_range": [tuple, list, None],
        "surrogate": with_acquisition(ANY_SURROGATE, RULES),
        "cost_scale": [compat.StrOptions({"auto", "log", "raw"})],
        "all_tradeoffs": ["boolean"],
    }
    del _parameter_constraints["pruning"]
    # A trial with a low score can have the best tradeoff. Pruning would have to compare
    # the tradeoffs instead.

    tradeoff_curve_ = FrameAttribute(with_params=True)

    _subset_parameter = "train_sizes"
    _refits_samples = True
    _n_initial_points = 3
    _acquisition = "ei-tradeoff"

    def __init__(
        self,
        estimator: Estimator,
        search_spaces: SearchSpaces = "auto",
        *,
        tradeoff: float = 0.5,
        train_sizes: Sequence[float] | np.ndarray = (0.2, 0.4, 0.6, 0.8, 1.0),
        cost: str | Callable[[Any], float] = "fit_time",
        score_range: Sequence[float] | None = None,
        cost_scale: Literal["auto", "log", "raw"] = "auto",
        all_tradeoffs: bool = False,
        n_iter: int | None = 20,
        timeout: float | str | None = None,
        stopper: Stopper = None,
        scoring: Scoring = None,
        cv: CrossValidation = None,
        refit: Refit = True,
        constraints: Constraints = None,
        early_stopping: int | Literal["auto"] | None = None,
        surrogate: TradeoffSurrogate = "gp",
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
        self.tradeoff = tradeoff
        self.train_sizes = train_sizes
        self.cost = cost
        self.score_range = score_range
        self.cost_scale = cost_scale
        self.all_tradeoffs = all_tradeoffs

    def _check_refit(self, settings: Settings) -> None:
        super()._check_refit(settings)
        if (rule := settings.refit.rule) is not None:
            raise ValueError(
                f"refit={self.refit!r}: TradeoffSearchCV chooses by score and "
                f"cost. Use another search, such as BayesSearchCV, for {rule!r}."
            )

    def _make_objective(self, settings: Settings, scorers: Any) -> ScoreAndCost:
        if callable(self.cost):
            check_call("cost", self.cost, "a fitted estimator")
        return ScoreAndCost(settings, scorers, self.cost, self.score_range)

    # -- search space -------------------------------------------------------------

    def _sizes(self) -> list[Any]:
        """Return the training sizes in ascending order."""
        sizes = [check_train_size(size, "train_sizes") for size in self.train_sizes]
        if len(set(map(type, sizes))) != 1:
            raise ValueError(
                "train_sizes must contain either fractions or numbers of rows, at "
                f"least one, got {self.train_sizes!r}."
            )
        if len(set(sizes)) < len(sizes):
            raise ValueError(f"train_sizes has duplicates: {sizes}. Remove them.")
        return sorted(sizes)

    def _make_space(self, notation: Any, rule: Rule | None) -> Space:
        space, sizes = super()._make_space(notation, rule), Ordinal(self._sizes())
        if SIZE in space.parameter_names:
            raise ValueError(
                f"search_spaces must not contain {SIZE!r}, which is the name of the "
                "training size that train_sizes defines. A parameter of the estimator "
                "with the same name cannot be tuned."
            )
        if isinstance(notation, Space):
            return space.extended(SIZE, sizes)
        # Add the training size to each space.
        spaces = parse_spaces(notation)
        return Space([{**by_name, SIZE: sizes} for by_name in spaces], rule)

    def _current_values(self, estimator: Any) -> dict[str, Any]:
        return {**super()._current_values(estimator), SIZE: self._sizes()[-1]}

    def _ladder(
        self, settings: Settings, space: Space, prior: OptimumPrior | None, y: Any
    ) -> Ladder:
        sizes = [Sample(train_size=size) for size in self._sizes()]
        first, most = self._first_optimizer, self._most_trials()
        return Ladder([Stage(first, most, _split_size, sizes, weight=1.0)])

    def _make_optimizer(self, plan: Plan) -> TradeoffOptimizer:
        largest = self._sizes()[-1]
        points = [{SIZE: largest, **point} for point in plan.initial_points]
        return TradeoffOptimizer(
            plan.space,
            None if self.all_tradeoffs else float(self.tradeoff),
            (SIZE, largest),
            cost_scale=self.cost_scale,
            **self._optimizer_options(plan, initial_points=points),
        )

    # -- warm starts --------------------------------------------------------------

    def _known_results(
        self, notation: Any, space: Space, objective: ScoreAndCost
    ) -> list[KnownTrial]:
        source, metric = self.warm_start_from, objective.name or "score"
        trials, same_cost = self._trials_with_sizes(source, space)
        if not trials:
            # Results of other searches have the largest size and an unknown cost.
            largest = self._sizes()[-1]
            whole_space = Space.from_notation(notation).with_distinct_ones(space.ones)
            return [
                earlier._replace(
                    params={**earlier.params, SIZE: largest},
                    score=[objective.on_unit_scale(earlier.score), np.nan],
                    cost=None,
                )
                for earlier in known_trials(source, whole_space, metric)
            ]
        # The scores on all sizes are used.
        whole = [dataclasses.replace(trial, fidelity=Fidelity()) for trial in trials]
        rows = []
        for earlier in comparable_trials(Source(whole), space, metric):
            cost = trial_cost(earlier.trial, objective.cost) if same_cost else np.nan
            score = [objective.on_unit_scale(earlier.score), -cost]
            rows.append(earlier._replace(score=score))
        return rows

    def _trials_with_sizes(
        self, source: Any, space: Space
    ) -> tuple[Sequence[Trial], bool]:
        """Return trials with training sizes, and whether they have the same cost."""
        if isinstance(source, str | PathLike):
            trials = read_trials(source, space).trials
            sized = [trial for trial in trials if SIZE in trial.params]
            # The journal does not identify a callable cost.
            return sized, isinstance(self.cost, str)
        if not isinstance(source, TradeoffSearchCV):
            return [], False
        check_is_fitted(source, "trials_")
        sizes = dict(zip(source.train_fractions_, source._sizes(), strict=True))
        trials = []
        for trial in source.trials_:
            size = sizes[trial.fidelity.train_fraction]
            params = {**trial.params, SIZE: size}
            trials.append(dataclasses.replace(trial, params=params))
        return trials, source.cost == self.cost

    # -- after the last trial -----------------------------------------------------

    def _describe(self, plan: Plan, outcome: Outcome) -> dict[str, Any]:
        described = super()._describe(plan, outcome)
        return described | {"train_fractions_": self._fractions(plan)}

    def _fractions(self, plan: Plan) -> list[float]:
        """Return the training sizes as shares of the training rows."""
        return [plan.train_fraction(Sample(train_size=size)) for size in self._sizes()]

    def _extra_columns(self, plan: Plan, history: History) -> dict[str, list]:
        fractions = np.array([trial.fidelity.train_fraction for trial in history])
        relative = fractions / self._fractions(plan)[-1]
        costs = trial_costs(history, plan.objective.cost, relative)
        sigma = relative_costs(costs, relative)
        complete = [trial.state == TrialState.COMPLETE for trial in history]
        scores = np.where(complete, [trial.score for trial in history], np.nan)
        unit_scores = np.array(list(map(plan.objective.on_unit_scale, scores)))
        tradeoff = unit_scores - self.tradeoff * sigma
        return {
            **super()._extra_columns(plan, history),
            "train_fraction": list(fractions),
            "cost": list(costs),
            "relative_cost": list(sigma),
            "tradeoff_score": list(tradeoff),
            "rank_tradeoff_score": list(rank(tradeoff)),
        }

    def _select(self, plan: Plan, fitted: Mapping[str, Any]) -> dict[str, Any]:
        results, trials = fitted["cv_results_"], fitted["trials_"]
        unit_scores = self._unit_scores(results, trials)
        if not np.any(np.isfinite(unit_scores)) and not is_unfinished(trials):
            limits = f" within {plan.settings.limits}" * plan.settings.limits.is_set
            raise ValueError(
                f"No trial has both a score and a cost{limits}; see cv_results_."
            )
        attributes = {
            "_subset_seed": plan.seed,
            "tradeoff_curve_": _curve(results, unit_scores, fitted["target_metric_"]),
        }
        metric = self._metric_of_refit(plan, fitted)
        scores = self._selection_scores(plan, results)
        if (row := best_row(plan, trials, fitted, metric, scores)) is not None:
            metric = None if callable(plan.refit.plain) else metric
            attributes |= _best(results, row, metric)
        return attributes

    def _selection_scores(self, plan: Plan, results: Mapping[str, Any]) -> FloatArray:
        # Of equally good trials, the cheapest one is chosen, as in `tradeoff_curve_`.
        return _by_cost(results["tradeoff_score"], results["relative_cost"])

    def _unit_scores(self, results: Mapping[str, Any], trials: History) -> FloatArray:
        """Return scores from 0 to 1, NaN for trials that cannot be chosen."""
        scores = results["tradeoff_score"] + self.tradeoff * results["relative_cost"]
        allowed = least_violating(trials.violations, np.isfinite(scores))
        return np.where(allowed, scores, np.nan)

    def _refit_rows(self, plan: Plan, fitted: Mapping[str, Any]) -> Any:
        place = fitted["train_fractions_"].index(fitted["best_train_fraction_"])
        sample = Sample(train_size=self._sizes()[place])
        everything = np.arange(plan.job.n_samples)
        split = everything, everything[:0]
        job = dataclasses.replace(plan.job, splits=[split])
        groups = plan.split_params.get("groups")
        subsets = drawn_subsets(job, [sample], plan.model, groups, plan.seed)
        subsets.check(sample, self._subset_parameter)
        rows = subsets.rows(0, everything, sample)
        return None if rows is everything else rows

    def select(self, tradeoff: float, X: Any, y: Any = None, **params: Any) -> Self:
        """Choose the best trial for another tradeoff, and refit it.

        The trial is chosen from the existing ones, and fitted on its fraction of the
        data. The ``best_*`` attributes are replaced, and methods such as `predict` use
        the new ``best_estimator_``. ``fold_estimators_`` and ``oof_predictions_`` are
        removed. ``tradeoff_curve_`` lists the chosen trial for each tradeoff.

        Parameters
        ----------
        tradeoff : float
            Weight of the relative cost, 0 or more.
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
            If `tradeoff` is not a number, or is negative.
        sklearn.exceptions.NotFittedError
            If the search was not fitted.
        """
        check_is_fitted(self, "tradeoff_curve_")
        if not is_number(tradeoff):
            raise TypeError(f"tradeoff must be a number, got {tradeoff!r}.")
        if not 0.0 <= tradeoff < np.inf:
            raise ValueError(f"tradeoff must be 0 or more, got {tradeoff!r}.")
        results, metric = self.cv_results_, self.target_metric_
        costs = results["relative_cost"]
        scores = self._unit_scores(results, self.trials_) - tradeoff * costs
        row = int(best_first(_by_cost(scores, costs))[0])
        chosen = _best(results, row, metric)
        self._refit_again(X, y, params, chosen, self._subset_seed)
        return self


def _best(results: Mapping[str, Any], row: int, metric: Any) -> dict[str, Any]:
    return best_attributes(results, row, metric) | {
        "best_train_fraction_": float(results["train_fraction"][row]),
        "best_cost_": float(results["cost"][row]),
    }


def _by_cost(values: FloatArray, costs: FloatArray) -> FloatArray:
    """Return keys whose maximum has the greatest value, and then the lowest cost."""
    return np.column_stack([values, -costs])


def _split_size(k: int, params: dict[str, Any]) -> tuple[dict[str, Any], Sample]:
    rest = {name: value for name, value in params.items() if name != SIZE}
    return rest, Sample(train_size=params[SIZE])


def _curve(
    results: Mapping[str, Any], scores: FloatArray, metric: str
) -> dict[str, np.ndarray]:
    """Describe the trials that are the best for some tradeoff."""
    rows, begins = envelope(scores, results["relative_cost"])
    table = {
        "tradeoff_from": begins,
        "tradeoff_to": np.append(begins, np.inf)[1:],
        "trial": rows,
        "score": results[f"mean_test_{metric}"][rows],
    }
    columns = ("cost", "relative_cost", "train_fraction")
    return table | {name: np.asarray(results[name])[rows] for name in columns}
