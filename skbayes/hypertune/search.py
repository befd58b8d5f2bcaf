"""Bayesian search that uses small samples of the data: `HyperTuneSearchCV`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from os import PathLike
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.multiclass import type_of_target

from skbayes import compat
from skbayes.acquisition.improvement import Acquisition
from skbayes.hypertune.monotonic_gp import MonotonicGP
from skbayes.hypertune.monotonicity import (
    RoundRobinOptimizer,
    SignPlan,
    check_monotonicity,
    derive_signs,
)
from skbayes.optimizer.optimizer import Optimizer
from skbayes.results.scores import metrics_of
from skbayes.search.base import BaseBayesSearchCV
from skbayes.search.bayes import BayesSearchCV
from skbayes.search.choice import is_unfinished, rank
from skbayes.search.outside import teach
from skbayes.search.parameters import (
    COUNT,
    Constraints,
    CrossValidation,
    Estimator,
    InitialPoints,
    Refit,
    Scoring,
    SearchSpaces,
    SignedSurrogate,
    Stopper,
    with_acquisition,
)
from skbayes.search.running import Outcome
from skbayes.space import OptimumPrior, Space
from skbayes.space.dimensions import FloatArray
from skbayes.trial.evaluator import check_candidates
from skbayes.trial.fold import configured
from skbayes.trial.plan import Ladder, Plan, Stage
from skbayes.trial.records import History
from skbayes.trial.settings import Settings
from skbayes.trial.subsets import Sample
from skbayes.utils.optional import warn_or_log, warn_user
from skbayes.utils.random_streams import make_seeds

# Number of trials on each small sample, and maximum share of these of all trials.
N_SMALL_ITER, SMALL_SHARE = 15, 0.75

# n_iter=None means as many trials on small samples as with this n_iter.
N_ITER = 100

# Number of initial configurations on each small sample, and then on all data.
N_INITIAL_POINTS = 3

# Minimum number of rows per class in a small sample, up to half of the training set.
MIN_ROWS = 10

# Kernels of the models with signs by the name of the surrogate.
SIGNED = {"gp": "matern52", "gp-matern52": "matern52", "gp-rbf": "rbf"}


class AllData:
    """Maker of the optimizer of the trials on all data.

    The signs of some parameters are `derived` from the trials on small samples.
    """

    derived: SignPlan | None = None

    def __init__(self, search: HyperTuneSearchCV, signs: Mapping[str, int]) -> None:
        self._search, self._signs = search, signs

    def __call__(self, plan: Plan, history: History) -> Optimizer:
        """Derive the signs, and make the optimizer."""
        self.derived = derive_signs(plan.space, self._signs, history, plan.seed)
        return self._search._on_all_data(plan, history, self.derived)


def _min_rows(model: Any, y: Any) -> int:
    """Return the minimum number of rows of a small sample."""
    if is_classifier(model) and type_of_target(y) in ("binary", "multiclass"):
        return MIN_ROWS * len(np.unique(y))
    return MIN_ROWS


class HyperTuneSearchCV(BayesSearchCV):
    """Bayesian search that uses small samples to guide the search on all data.

    The best model for a small sample is usually simpler than the best model for all
    data. The score on all data therefore increases from the simple end of each range up
    to the best configuration of the small samples. HyperTuneSearchCV first searches
    several small samples. The Gaussian process of the search on all data then uses
    these directions in addition to the scores, so the search avoids models that are too
    simple.

    The parameters and attributes of :class:`~skbayes.BayesSearchCV` are available too.
    For common estimators, the hyper-parameters that increase the complexity of the
    model are known. Specify them by `complexity` for other estimators.

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
    complexity : {"auto"}, dict or None, default="auto"
        Direction in which the best value of each hyper-parameter moves as the amount of
        data grows. For most hyper-parameters, it is the direction that makes the model
        more complex. It is given as a dict of signs, +1 or -1, by name, such as
        ``{"svc__C": +1, "svc__gamma": +1}``. Hyper-parameters that are missing or 0
        have no sign.

        "auto" uses the signs that
        :func:`skbayes.hypertune.monotonicity.known_monotonicity` returns for the
        estimator and its parts. To change some of them, modify this dict. With None,
        there are no signs. Without signs, the search is the same as
        :class:`~skbayes.BayesSearchCV`.
    subset_fraction : float, default=0.1
        Size of a small sample as a fraction of each training set, in (0, 1). A sample
        has at least 10 rows per class (10 rows in total for other targets), but this
        minimum never exceeds half of the training set.
    n_subsets : int, default=5
        Number of small samples. Each is searched independently.
    n_small_iter : int or "auto", default="auto"
        Number of trials on each small sample. "auto" is 15, or fewer if all trials on
        small samples would exceed three quarters of `n_iter`.
    n_iter : int or None, default=100
        Maximum number of trials, including the trials on small samples.

        With None, `timeout` or `stopper` ends the search. The number of trials on small
        samples is the same as for 100, and they take at most a quarter of the
        `timeout`.
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

        Each part of the search gets the share of the time that its trials would need if
        durations were proportional to the number of rows.
    stopper : callable, list of callable or None, default=None
        Stopping criteria. Each callable is called with the trials so far after every
        trial. The search ends when one of them returns True; running trials are
        completed. See :mod:`skbayes.loop` for predefined criteria.
        The trials passed to it belong to the current part of the search, on small
        samples or on all data, and only this part ends.
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
    surrogate : {"gp", "gp-matern52", "gp-rbf"} or tuple, default="gp"
        Model of the scores: a Gaussian process with a twice differentiable kernel,
        which is Matérn-5/2 ("gp", "gp-matern52") or the squared exponential of the
        paper ("gp-rbf"). If there are no signs, as on the small samples, it is the
        surrogate of :class:`~skbayes.BayesSearchCV` with the same name. A tuple
        consists of the model and the acquisition function "ei", "pi", "ucb" or an
        acquisition object.
    initial_points : "default", int, list or None, default="default"
        Configurations with which the search on all data starts, as for
        :class:`~skbayes.BayesSearchCV`. Their number on each small sample, and on all
        data after small samples, is 3 unless an int is given. With "default" or an int,
        the first one on all data is ``small_optimum_``.
    warm_start_from : search, dict, study, path or None, default=None
        Results of an earlier search on the same data, scored by the same metric:

        - a fitted search (also a GridSearchCV), or its ``cv_results_``;
        - the path of a journal;
        - an Optuna study with one objective, whose values are negated if it minimizes.

        Failed trials of a study are used, too, and costs if they are known. The search
        spaces can differ; configurations outside the new space are ignored, with a
        warning. The best known configuration is tried first, or after the
        `initial_points` if they are given. The results of earlier searches are used on
        all data.
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
        On small samples, it is at least `n_subsets`, one trial per sample, if `n_jobs`
        provides workers for them.
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
        Results with one row per trial and the columns of GridSearchCV. Trials on small
        samples share the last rank. The additional columns are:

        - `stage`: 0 on small samples, 1 on all data;
        - `train_fraction`: fraction of the training rows;
        - `subset`: number of the small sample, -1 for all data.
    best_params_ : dict
        Best configuration among the trials on all data. Available unless
        ``refit=False`` with several metrics.
    signs_ : dict of str to int
        Signs from `complexity`.
    small_optimum_ : dict or None
        Center of the best configurations on the small samples: the median in the
        encoded space, or the most frequent option. None if no small samples were
        searched.
    small_optima_ : list of dict
        Best configuration on each small sample.
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
    BayesSearchCV : Bayesian search without small samples.
    skbayes.hypertune.monotonicity.known_monotonicity : Known signs of an estimator.

    Notes
    -----
    A trial is one configuration, fitted and scored on every split. On a small sample,
    it is fitted on some of the training rows and scored on all test rows.

    With a wrong sign, the search on all data is less likely to try the best
    configurations. Leave the hyper-parameter out of `complexity` if its sign is not
    certain.

    If the space has at most `n_iter` configurations, or if `n_iter` is too small for
    two trials on each small sample, all trials are made on all data without signs.

    References
    ----------
    Joy, Rana, Gupta & Venkatesh (2019), "Fast hyperparameter tuning using Bayesian
    optimization with directional derivatives"; Riihimaki & Vehtari (2010), "Gaussian
    processes with monotonicity information".

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from skbayes import HyperTuneSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> search = HyperTuneSearchCV(
    ...     SVC(),
    ...     {"C": (1e-3, 1e3, "log-uniform"), "gamma": (1e-6, 1e0, "log-uniform")},
    ...     subset_fraction=0.2,
    ...     n_subsets=3,
    ...     n_iter=24,
    ...     cv=2,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> print(f"{search.best_score_:.3f}")
    0.964

    Larger values of both hyper-parameters make the model more complex. 18 of the 24
    trials are made on small samples (stage 0), and 6 on all data (stage 1):

    >>> search.signs_
    {'C': 1, 'gamma': 1}
    >>> [int(sum(search.cv_results_["stage"] == stage)) for stage in (0, 1)]
    [18, 6]
    """

    # Own entries, which docs/door.py does not write:
    # n_iter timeout surrogate initial_points pre_dispatch stopper warm_start_from
    # cv_results_ best_params_

    # Attributes that `fit` sets.
    signs_: dict[str, int]
    small_optima_: list[dict[str, Any]]
    small_optimum_: dict[str, Any] | None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BayesSearchCV._parameter_constraints,
        "complexity": [compat.StrOptions({"auto"}), dict, None],
        "subset_fraction": [compat.Interval(Real, 0, 1, closed="neither")],
        "n_iter": [COUNT, None],
        "n_subsets": [COUNT],
        "n_small_iter": [COUNT, compat.StrOptions({"auto"})],
        "surrogate": with_acquisition(
            [compat.StrOptions(set(SIGNED))], {"ei", "pi", "ucb"}, (Acquisition,)
        ),
    }

    _subset_parameter = "subset_fraction"

    def __init__(
        self,
        estimator: Estimator,
        search_spaces: SearchSpaces = "auto",
        *,
        complexity: Literal["auto"] | dict[str, int] | None = "auto",
        subset_fraction: float = 0.1,
        n_subsets: int = 5,
        n_small_iter: int | Literal["auto"] = "auto",
        n_iter: int | None = 100,
        timeout: float | str | None = None,
        stopper: Stopper = None,
        scoring: Scoring = None,
        cv: CrossValidation = None,
        refit: Refit = True,
        constraints: Constraints = None,
        pruning: bool | float = False,
        early_stopping: int | Literal["auto"] | None = None,
        surrogate: SignedSurrogate = "gp",
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
        self.complexity = complexity
        self.subset_fraction = subset_fraction
        self.n_subsets = n_subsets
        self.n_small_iter = n_small_iter

    # -- the two parts of the search ----------------------------------------------

    def _on_small_samples(self, plan: Plan, history: History) -> Any:
        Optimizer(plan.space, **self._optimizer_options(plan))  # detects errors early
        start = {"n_initial_points": self._n_initial(plan), "initial_points": None}
        return RoundRobinOptimizer(
            [
                Optimizer(
                    plan.space,
                    **self._optimizer_options(
                        plan, prior=None, random_state=int(seed), **start
                    ),
                )
                for seed in make_seeds(plan.seed, self.n_subsets)
            ]
        )

    def _n_initial(self, plan: Plan) -> int:
        """Return the number of initial configurations, with small samples."""
        n_initial = self._initial_count(plan)
        return N_INITIAL_POINTS if isinstance(n_initial, str) else n_initial

    def _n_small(self, space: Space) -> int:
        """Return the number of trials on each small sample, if they are searched."""
        n_iter = N_ITER if self.n_iter is None else int(self.n_iter)
        if space.n_configurations <= n_iter:
            return 0
        most = int(SMALL_SHARE * n_iter) // self.n_subsets
        if self.n_small_iter == "auto":
            return min(N_SMALL_ITER, most) if most > 1 else 0
        n_small = int(self.n_small_iter)
        if n_small * self.n_subsets >= self._most_trials():
            raise ValueError(
                f"n_iter={self.n_iter} leaves no trial on all data after n_small_iter="
                f"{n_small} on each of n_subsets={self.n_subsets} samples. Increase "
                "n_iter."
            )
        return n_small

    def _ladder(
        self, settings: Settings, space: Space, prior: OptimumPrior | None, y: Any
    ) -> Ladder:
        sample = space.covering_sample()
        check_candidates(settings.estimator, sample)
        signs = check_monotonicity(self.complexity, settings.estimator, space)
        if self.complexity == "auto" and not signs:
            warn_user(
                "complexity='auto' finds no sign for any parameter in search_spaces. "
                "No small samples are searched, and all trials use all data, as in "
                "BayesSearchCV. Set complexity to a dict of signs by name."
            )
        n_small = self._n_small(space) * self.n_subsets if signs else 0
        if n_small == 0:
            return BaseBayesSearchCV._ladder(self, settings, space, prior, y)
        size = float(self.subset_fraction)
        min_rows = _min_rows(configured(settings.estimator, sample[0]), y)
        samples = [
            Sample(train_size=size, subset=subset, min_rows=min_rows)
            for subset in range(self.n_subsets)
        ]
        small = Stage(
            self._on_small_samples,
            n_small,
            lambda k, params: (params, samples[k % self.n_subsets]),
            samples,
            weight=self.subset_fraction,
            n_points=self.n_subsets,
        )
        n_whole = self._most_trials() - n_small
        return Ladder([small, Stage(AllData(self, signs), n_whole)])

    def _on_all_data(
        self, plan: Plan, history: History, derived: SignPlan | None
    ) -> Optimizer:
        if derived is None:
            warn_user(
                "No trial on a small sample has a score; the search on all data "
                "continues without signs."
            )
        changes = {} if derived is None else self._with_signs(plan, derived)
        optimizer = Optimizer(plan.space, **self._optimizer_options(plan, **changes))
        teach(optimizer, plan)
        return optimizer

    def _with_signs(self, plan: Plan, derived: SignPlan) -> dict[str, Any]:
        """Return the arguments of the optimizer that depend on the small samples."""
        points, space = list(plan.initial_points), plan.space
        (center,) = space.decode(derived.center[None, :])
        if space.allows(center):
            is_default = plan.settings.initial_points is None
            points.insert(0 if is_default else len(points), center)
        return {
            "surrogate": MonotonicGP(
                SIGNED[self._model()[0]],
                sign_points=derived.points,
                signs=derived.signs,
                n_options=space.n_options,
                random_state=plan.seed,
            ),
            "n_initial_points": self._n_initial(plan),
            "initial_points": points,
        }

    # -- after the last trial -----------------------------------------------------

    def _describe(self, plan: Plan, outcome: Outcome) -> dict[str, Any]:
        history, space = outcome.history, plan.space
        attributes = super()._describe(plan, outcome)
        last, decode = plan.ladder.stages[-1].make_optimizer, space.decode
        derived = last.derived if isinstance(last, AllData) else None
        attributes |= {
            "signs_": check_monotonicity(self.complexity, plan.estimator, space),
            "small_optimum_": derived and decode(derived.center[None])[0],
            "small_optima_": decode(derived.optima) if derived else [],
        }
        results = attributes["cv_results_"]
        rows = self._compared(plan, results)
        if results["stage"][rows].min() == 0 and not is_unfinished(history):
            warn_or_log(
                "No trial on all data has a score; the best one is on a small sample."
            )
        for metric in metrics_of(results):
            ranks = np.full(len(rows), np.sum(rows) + 1, dtype=np.int32)
            ranks[rows] = rank(results[f"mean_test_{metric}"][rows])
            results[f"rank_test_{metric}"] = ranks
        return attributes

    def _compared(self, plan: Plan, results: Mapping[str, Any]) -> np.ndarray:
        """Return the rows on all data, or all rows if none of these has a score."""
        whole = np.asarray(results["stage"]) > 0
        scores = results[f"mean_test_{plan.objective.name or 'score'}"]
        return whole if np.isfinite(scores[whole]).any() else np.full_like(whole, True)

    def _ranked(self, history: History) -> History:
        return history  # also the trials on small samples

    def _extra_columns(self, plan: Plan, history: History) -> dict[str, list]:
        # 0 on small samples, and 1 on all data.
        data = [trial.fidelity for trial in history]
        stages = [int(fidelity.train_fraction == 1.0) for fidelity in data]
        subsets = [-1 if s else f.subset for s, f in zip(stages, data, strict=True)]
        return super()._extra_columns(plan, history) | {
            "stage": stages,
            "train_fraction": [fidelity.train_fraction for fidelity in data],
            "subset": subsets,
        }

    def _selection_scores(
        self, plan: Plan, results: Mapping[str, Any]
    ) -> FloatArray | None:
        if plan.constraints is None:
            return None
        scores = results[f"mean_test_{plan.objective.name or 'score'}"]
        return np.where(self._compared(plan, results), scores, np.nan)[:, None]

    def _select(self, plan: Plan, fitted: Mapping[str, Any]) -> dict[str, Any]:
        attributes = BaseBayesSearchCV._select(self, plan, fitted)
        chosen, rows = attributes.get("best_index_"), fitted["cv_results_"]
        if callable(plan.refit.plain) and not self._compared(plan, rows)[chosen]:
            raise ValueError(
                f"refit chose row {chosen}, a trial on a small sample. Trials on all "
                "data have 1 in cv_results_['stage']."
            )
        return attributes
