"""Bayesian search in stages with growing training sets: `MultiStageSearchCV`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, Literal

import numpy as np

from skbayes import compat
from skbayes.defaults.catalog import n_samples_of
from skbayes.optimizer.optimizer import Optimizer
from skbayes.results.frame import FrameAttribute
from skbayes.results.scores import stage_correlation
from skbayes.search.base import BaseBayesSearchCV
from skbayes.search.bayes import BayesSearchCV
from skbayes.search.parameters import (
    COUNT,
    AnySurrogate,
    Constraints,
    CrossValidation,
    Estimator,
    InitialPoints,
    Refit,
    Scoring,
    SearchSpaces,
    Stopper,
)
from skbayes.search.preparation import share_of_splits
from skbayes.search.running import Outcome
from skbayes.space import OptimumPrior, Space
from skbayes.stages.ladder import chosen_sizes
from skbayes.stages.optimizers import StageFactory, takes_fidelity
from skbayes.trial.plan import Ladder, Plan
from skbayes.trial.records import Fidelity, History
from skbayes.trial.settings import Settings
from skbayes.trial.subsets import check_train_size

# Trials among which the best one is chosen.
BEST_OF = {"last_stage", "all_stages"}

# Share of trials in all stages before the last one.
SHARE_BEFORE_LAST = 0.75


class MultiStageSearchCV(BayesSearchCV):
    r"""Bayesian search that evaluates most trials on a part of the training data.

    The search consists of stages with growing training sets. Each later stage starts
    with the best configurations of the previous stage, which are fitted and scored
    again on the larger training sets. The last stage uses all training rows. Most
    trials are therefore cheaper than in :class:`~skbayes.BayesSearchCV`, and the chosen
    configuration has been scored on the full training sets. With a single stage,
    ``stages=(1.0,)``, the trials are the same as for :class:`~skbayes.BayesSearchCV`.

    With a `timeout`, the search measures how long fits take, and chooses the stages for
    the available time (:ref:`minutes`).

    The parameters and attributes of :class:`~skbayes.BayesSearchCV` are available too.

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
    stages : "auto" or sequence of float or int, default="auto"
        Training size of each stage: a fraction in (0, 1] of each split's training set,
        or a number of rows. Sizes must not decrease, and the last one is usually 1.0.
        "auto" without `timeout` begins with 2500 to 12500 rows, and multiplies their
        number by 5 from stage to stage. With fewer than 12500 training rows, there is a
        single stage. "auto" with `timeout` first measures times. At least about half of
        the time is for trials with one fold, on the largest sample on which about 20
        trials take half of the time. The best configurations are then compared on all
        rows, with all folds if there is time. Otherwise, `best_score_` is the score on
        the first fold, and a warning is issued.

        The rows are drawn once, so all trials of a stage use the same rows. They are a
        subset of the rows of the next stage. Rows are stratified for classifiers, and
        whole groups are drawn with `groups`. All test rows are used in each stage.
    n_promoted : int, default=3
        Number of best configurations of a stage with which the next stage starts, best
        first. With a `timeout` and ``stages="auto"``, the last stage has twice as many.
    multi_fidelity : bool or "auto", default="auto"
        Whether the surrogate of a later stage is also fitted to the trials of earlier
        stages, with the fraction of the training rows as an additional input. With
        "auto", this is the case if the surrogate is a Gaussian process or "trees". True
        also enables it for a custom surrogate object, which must support an additional
        column. With False, each surrogate is fitted to the trials of its stage only, as
        published.
    best_of : {"last_stage", "all_stages"}, default="last_stage"
        Trials among which the best configuration is chosen, and which ``cv_results_``
        contains. "last_stage" is the last stage with a complete trial. "all_stages" is
        the rule of [1]_. It compares scores of different stages, although scores on
        larger training sets are usually higher.
    n_iter : int, sequence of int or None, default=50
        Maximum number of trials in all stages together, or a sequence with one number
        for each stage. The stages before the last one share three quarters of an int
        evenly. A configuration that is tried in two stages counts twice. None means no
        maximum; it requires `timeout` and ``stages="auto"``, or a single stage.
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

        No stage begins after the limit. Each stage gets a share of the time that
        remains when it begins, proportional to its number of trials times the size of
        its training sets. Time that it does not use is available to later stages.
        Except for its first trial, a stage does not start a trial that is expected to
        exceed its share. With ``stages="auto"``, these rules do not apply.
    stopper : callable, list of callable or None, default=None
        Stopping criteria. Each callable is called with the trials so far after every
        trial. The search ends when one of them returns True; running trials are
        completed. See :mod:`skbayes.loop` for predefined criteria.
        With several stages, the criterion receives the trials of the current stage, and
        ends this stage instead of the search.
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

        In a stage that also uses the trials of earlier stages, "gp" does not warp the
        inputs.
    initial_points : "default", int, list or None, default="default"
        Configurations with which the first stage starts, as for
        :class:`~skbayes.BayesSearchCV`. Their number is 3 unless an int is given. Later
        stages start with the promoted configurations instead.
    warm_start_from : search, dict, study, path or None, default=None
        Results of an earlier search on the same data, scored by the same metric: a
        fitted search, its ``cv_results_``, the path of a journal, or any other source
        that :class:`~skbayes.BayesSearchCV` accepts. The `n_promoted` best known
        configurations are tried first, or after `initial_points`. With several stages,
        their scores are not used, since scores on smaller training sets differ.
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
        Results with one row per trial of the stage in which the best trial is chosen,
        or of all stages with ``best_of="all_stages"``. It is the last stage in which
        the best configuration of the stage before was completed; after a stage with one
        fold, the estimator's own configuration must be, too. The columns are the same
        as for GridSearchCV, with `stage` and `train_fraction`. With a `timeout` and
        ``stages="auto"``, `n_folds` is the number of folds of a trial, over which its
        mean is computed.
    all_cv_results_ : dict of str to ndarray
        Results of all stages with one row per trial, in the order in which the trials
        were made. There are no columns of ranks: scores on fewer rows are lower.
    train_fractions_ : list of float
        Fraction of the training rows in each stage, averaged over the splits.
    stage_correlation_ : DataFrame or dict
        Agreement between consecutive stages, with one row for each pair of consecutive
        stages that have trials. Without pandas, a dict of arrays. Correlations are NaN
        if they are based on fewer than two trials, or if there is no model of the
        score. The columns are:

        - `stage`, `next_stage`: the two stages;
        - `train_fraction`, `next_train_fraction`: their fractions of the training rows;
        - `n_both`: number of configurations tried in both stages;
        - `rank_correlation`: Spearman correlation of the two scores of these
          configurations;
        - `n_next`: number of trials of the next stage;
        - `model_correlation`: Spearman correlation of the scores of these trials with
          the scores that the surrogate of the previous stage predicts.
    optimizer_ : Optimizer
        Optimizer of the last stage, with all of its observations.
    optimizers_ : list of Optimizer
        Optimizers of all stages that began.
    stop_reason_ : str
        Reason for the end of the last stage that began; the values are the same as for
        :class:`~skbayes.BayesSearchCV`: "n_iter", "timeout", "exhausted", "callback",
        "interrupted", or the reason of the stopper.
    best_estimator_ : estimator
        Estimator with the best configuration, fitted on all data. Available unless
        ``refit=False``.
    best_fidelity_ : Fidelity
        Amount of data to which ``best_score_`` belongs, as
        :class:`~skbayes.trial.Fidelity`.
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
    BayesSearchCV : Bayesian search with all trials on all training rows.
    sklearn.model_selection.HalvingRandomSearchCV : Successive halving of
        random configurations, which do not depend on earlier scores.

    Notes
    -----
    The method follows [1]_. Its experiments use two stages with 30% and 100% of
    the training data, and promote three configurations. Let
    :math:`T^1 \subseteq \dots \subseteq T^S` be the training sets of the stages and
    :math:`L(\lambda, T)` the cross-validated score of configuration :math:`\lambda`
    fitted on :math:`T`. Stage :math:`s` maximizes :math:`L(\lambda, T^s)` by Bayesian
    optimization, starting with

    .. math::

        \operatorname{top}_k \{ \lambda : \lambda \text{ tried in stage } s - 1 \}
        \text{ by } L(\lambda, T^{s-1}).

    The authors choose the best score of all stages. A score on a part of the data is
    biased, usually downwards, so the default here is the best score of the last stage.

    As in the next release of :class:`~sklearn.model_selection.HalvingGridSearchCV`,
    ``cv_results_`` contains the last stage only, so that the row ``best_index_`` has
    rank 1.

    If the best configuration depends on the amount of data (smaller samples need
    stronger regularization), promote more configurations or increase the first
    fraction. ``stage_correlation_`` shows whether this is the case.

    Subsets that are too small for the classes or groups raise an error before the first
    fit, which states the smallest possible size. Configurations that are valid only for
    larger training sets fail on smaller ones, and are then not promoted.

    Interrupts and the death of workers are handled as in
    :class:`~skbayes.BayesSearchCV`. If the search ends before the last stage has a
    complete trial, the best trial of the previous stage is chosen and refitted on all
    data.

    References
    ----------
    .. [1] L. Wang, M. Feng, B. Zhou, B. Xiang and S. Mahadevan, "Efficient
       hyper-parameter optimization for NLP applications", EMNLP 2015, Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from skbayes import MultiStageSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> search = MultiStageSearchCV(
    ...     SVC(),
    ...     {"C": (1e-2, 1e3, "log-uniform"), "gamma": (1e-5, 1e-1, "log-uniform")},
    ...     stages=(0.2, 1.0),
    ...     n_iter=12,
    ...     cv=3,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> print(f"{search.best_score_:.3f}")
    0.976

    Of the 12 trials, 9 are fitted on 20% of the training rows, and 3 on all of them:

    >>> len(search.all_cv_results_["stage"]), len(search.cv_results_["stage"])
    (12, 3)
    """

    # Own entries, which docs/door.py does not write:
    # n_iter timeout surrogate initial_points stopper warm_start_from cv_results_
    # optimizer_ stop_reason_

    # Parameter whose type differs in a subclass.
    stages: Any

    # Attributes that `fit` sets.
    all_cv_results_: dict[str, Any]
    optimizers_: list[Optimizer]
    train_fractions_: list[float]
    best_fidelity_: Fidelity

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BayesSearchCV._parameter_constraints,
        "stages": [list, tuple, np.ndarray, compat.StrOptions({"auto"})],
        "n_iter": [COUNT, list, tuple, np.ndarray, None],
        "n_promoted": [COUNT],
        "multi_fidelity": ["boolean", compat.StrOptions({"auto"})],
        "best_of": [compat.StrOptions(BEST_OF)],
    }

    _without_effect = BayesSearchCV._without_effect | {"best_of"}

    stage_correlation_ = FrameAttribute()

    _subset_parameter = "stages"
    _n_initial_points: int | str = 3

    def __init__(
        self,
        estimator: Estimator,
        search_spaces: SearchSpaces = "auto",
        *,
        stages: Sequence[float] | np.ndarray | Literal["auto"] = "auto",
        n_promoted: int = 3,
        multi_fidelity: bool | Literal["auto"] = "auto",
        best_of: Literal["last_stage", "all_stages"] = "last_stage",
        n_iter: int | Sequence[int] | None = 50,
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
        self.stages = stages
        self.n_iter = n_iter
        self.n_promoted = n_promoted
        self.multi_fidelity = multi_fidelity
        self.best_of = best_of

    # -- before the first fit -----------------------------------------------------

    def _resolve(
        self, settings: Settings, X: Any, y: Any, params: Mapping[str, Any]
    ) -> tuple[Settings, Any, Any]:
        if isinstance(settings.sizes, str):
            n_samples = n_samples_of(X, y) or 1
            n_rows = int(share_of_splits(self.cv, n_samples) * n_samples)
            arguments = n_rows, y, params.get("groups"), self.n_iter
            sizes = chosen_sizes(*arguments, self._chooses_by_time())
            settings = replace(settings, sizes=sizes)
        return settings, X, y

    def _chooses_by_time(self) -> bool:
        """Return whether the stages are chosen by measured times."""
        return isinstance(self.stages, str) and self.timeout is not None

    def _sizes(self, settings: Settings) -> list[float | int]:
        if len(settings.sizes) == 0:
            raise ValueError("stages must have at least one size, such as (0.3, 1.0).")
        return [check_train_size(size, "stages") for size in settings.sizes]

    def _n_trials(self, settings: Settings) -> list[float]:
        """Return the number of trials of each stage."""
        n_stages, n_iter = len(settings.sizes), settings.n_iter
        if self._chooses_by_time():
            if not (n_iter is None or isinstance(n_iter, Integral)):
                raise ValueError(
                    "n_iter must be an int or None with stages='auto' and a timeout, "
                    f"which choose the number of stages, got {n_iter!r}."
                )
            return [0] * (n_stages - 1) + [self._most_trials()]
        if n_iter is None and n_stages == 1:
            return [math.inf]
        if n_iter is None:
            raise ValueError(
                "n_iter=None requires stages='auto' and a timeout, or one stage."
            )
        if isinstance(n_iter, Integral):
            return list(_trials_by_stage(int(n_iter), n_stages))
        whole = all(
            isinstance(n, Integral) and not isinstance(n, bool) and int(n) >= 1
            for n in n_iter
        )
        if len(n_iter) != n_stages or not whole:
            raise ValueError(
                "n_iter must be an int, or have an int of at least 1 for each of "
                f"the {n_stages} stages, got {n_iter!r}."
            )
        return [int(n) for n in n_iter]

    def _make_optimizer(self, plan: Plan) -> Optimizer:
        n_trials = self._n_trials(plan.settings)
        return self._optimizer_for(plan, n_trials[0] or n_trials[-1])

    def _mixes_fidelities(self) -> bool:
        """Return whether surrogates use earlier stages."""
        # A class of the user is used only with multi_fidelity=True.
        is_auto = self.multi_fidelity == "auto"
        return bool(takes_fidelity(self) if is_auto else self.multi_fidelity)

    def _check_fidelities(self) -> None:
        """Raise ValueError if the surrogate cannot use earlier stages as requested."""
        if self._mixes_fidelities() and takes_fidelity(self) is False:
            raise ValueError(
                "multi_fidelity=True needs a surrogate that learns from the share of "
                "the training rows as one more input: a Gaussian process or 'trees', "
                f"got {self.surrogate!r}."
            )

    # -- the stages ---------------------------------------------------------------

    def _ladder(
        self, settings: Settings, space: Space, prior: OptimumPrior | None, y: Any
    ) -> Ladder:
        sizes, n_trials = self._sizes(settings), self._n_trials(settings)
        self._check_fidelities()
        factory = StageFactory(self, self.n_promoted, self._mixes_fidelities())
        by_time = self._chooses_by_time()
        if by_time and (ladder := factory.timed(sizes, settings, prior, y)):
            return ladder
        stages = list(map(factory.stage, sizes, n_trials))
        return Ladder(stages, isinstance(self.stages, str))

    # -- after the last trial -----------------------------------------------------

    def _describe(self, plan: Plan, outcome: Outcome) -> dict[str, Any]:
        history, optimizers = outcome.history, outcome.optimizers
        shares = {t.fidelity.stage: t.fidelity.train_fraction for t in history}
        fractions = list(shares.values())
        return {
            "train_fractions_": fractions,
            "optimizers_": optimizers,
            "stage_correlation_": stage_correlation(history, optimizers, fractions),
            "all_cv_results_": {
                key: column
                for key, column in self._table(plan, history).items()
                if not key.startswith("rank_test_")
            },
            "cv_results_": self._table(plan, self._ranked(history)),
        }

    def _extra_columns(self, plan: Plan, history: History) -> dict[str, list]:
        data = [trial.fidelity for trial in history]
        return {
            "stage": [fidelity.stage for fidelity in data],
            "train_fraction": [fidelity.train_fraction for fidelity in data],
            **super()._extra_columns(plan, history),
        }

    def _ranked(self, history: History) -> History:
        return history if self.best_of == "all_stages" else super()._ranked(history)

    def _select(self, plan: Plan, fitted: Mapping[str, Any]) -> dict[str, Any]:
        # Among all stages, trials with fewer rows or folds may be chosen.
        kind = BaseBayesSearchCV if self.best_of == "all_stages" else BayesSearchCV
        selected = kind._select(self, plan, fitted)
        if "best_index_" not in selected:
            return selected
        trial = self._ranked(fitted["trials_"])[selected["best_index_"]]
        return selected | {"best_fidelity_": trial.fidelity}


def _trials_by_stage(n_iter: int, n_stages: int) -> list[int]:
    if n_iter < n_stages:
        raise ValueError(
            f"n_iter must be at least the number of stages, {n_stages}, got {n_iter}."
        )
    if n_stages == 1:
        return [n_iter]
    n_earlier = n_stages - 1
    n_trials = min(max(round(SHARE_BEFORE_LAST * n_iter), n_earlier), n_iter - 1)
    each, left = divmod(n_trials, n_earlier)
    return [each + (stage < left) for stage in range(n_earlier)] + [n_iter - n_trials]
