"""Entries of docstrings that the searches share."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import TypeVar

__all__ = ["share_parameters"]

_Class = TypeVar("_Class", bound=type)

# An entry of a numpydoc section: a line "name : type" and the indented lines below it.
_ENTRY = re.compile(r"^(\w+) : .*(?:\n+ {4}.*)*", re.MULTILINE)


class SharedEntries:
    """Source of the docstring entries that replace names in braces.

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

        "auto" and None use the space that :func:`skbayes.spaces.default_space` returns
        for the estimator. ``{"auto": True, "svc__C": ...}`` replaces entries of this
        space.
    n_iter : int, default=50
        Maximum number of configurations to try. If the search space has at most
        `n_iter` configurations, each is tried once and the search ends. They are then
        tried in the order of GridSearchCV, unless `timeout` or `stopper` is set.
    initial_points : "default", list of dict or None, default="default"
        Configurations to try first, each with a value for every hyper-parameter that it
        needs. With "default", the search starts with the current parameters of the
        estimator, if they are in the search space and `warm_start_from` has no results
        on the same data. For some classes of estimators, it also tries a few
        configurations that scored well on other data sets. It then proposes values that
        scored well on other data sets more often. In a choice among models, it tries
        each model once. None means no initial configurations.
    timeout : float, str or None, default=None
        Time limit of the search, without the refit: a number of seconds, or a string
        such as "90 s", "5 min" or "1h30m". The duration of each trial is predicted by a
        model. A trial that is expected to exceed the limit is not started. The search
        then looks for a trial that is expected to finish in time, and ends if there is
        none. Fits that are still running at the limit are stopped, and their trials are
        dropped. If no trial was finished, a ValueError is raised.

        Each worker runs its fits in a separate process, even if there is only one
        worker. Running fits cannot be stopped on a cluster, with callbacks in the
        process of the search, or if they cannot be pickled (see :ref:`timeout`).
    constraint : callable or None, default=None
        Function ``constraint(params) -> bool``. Configurations for which it returns
        False are never tried. If it raises an exception, the search ends with a
        ValueError.
    constraints : dict or None, default=None
        Bounds on outcomes of the fits, such as
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
        warning. None means no bounds.
    target_metric : str or None, default=None
        Metric that guides the search if there are several metrics and `refit` does not
        name one of them. None selects the first metric. If there is a single metric,
        use None or its name in `scoring`.
    scoring : str, callable, list, tuple, dict or None, default=None
        Metrics, as for GridSearchCV: one metric, several metrics, or a callable that
        returns either. None uses the `score` method of the estimator.
    n_jobs : int or None, default=None
        Number of fits that run at the same time. None means 1 unless in a
        :obj:`joblib.parallel_config` context, which also selects the backend
        (processes, threads, or a Dask cluster). -1 means using all processors. If
        `n_points` is given, the trials are the same for every `n_jobs`.
    refit : bool, str or callable, default=True
        Whether to refit the best configuration on all data. With several metrics, pass
        the name of the metric that determines the best configuration, or False. A
        callable receives ``cv_results_`` and returns the index of the row to choose.
    cv : int, splitter, iterable or None, default=None
        Cross-validation splits, as for GridSearchCV. They are drawn once and shared by
        all trials, even if the splitter shuffles without a seed.
    verbose : int, default=0
        Verbosity level. With 1 or more, one line is printed per trial: its score, the
        best score so far, the elapsed time and the estimated remaining time. With 2 or
        more, the configuration and the messages of GridSearchCV for each fit are
        printed too. Regardless of `verbose`, each trial is logged by the logger
        ``skbayes``.
    pre_dispatch : int or str, default="2*n_jobs"
        Number of fits that are dispatched to the workers in advance, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Seed for the choice of configurations. Pass an int for the same trials in every
        call of `fit`. With another number of workers, the trials are the same only if
        `n_points` is given.
    error_score : "raise" or number, default=np.nan
        Score of a fit that fails. With "raise", the exception is raised. The surrogate
        treats a trial as failed if all of its fits fail. The search raises an exception
        only if every fit fails.
    return_train_score : bool, default=False
        Whether ``cv_results_`` includes scores on the training sets.
    n_points : int or "auto", default="auto"
        Number of trials that are in progress at the same time. Trial k is proposed from
        the results of the trials up to k - ``n_points_``, so the trials depend on this
        number and not on timing. "auto" is 1 with one worker. With more workers, it is
        ``ceil(1.5 * n_workers / n_splits_) + 1``, which keeps them busy. The number
        that was used is stored as ``n_points_``.
    stopper : callable, list of callable or None, default=None
        Stopping criteria. Each callable is called with ``trials_`` after every trial.
        The search ends when one of them returns True; running trials are completed. See
        :mod:`skbayes.loop` for predefined criteria.
    trial_timeout : float, str or None, default=None
        Time limit for the fits of a trial, as a number of seconds or a string such as
        "5 min". The time that a fit waits for a worker or for the start of a process
        does not count. The fits of a trial run in groups of as many as there are
        workers, or one after the other with `racing`. A group takes as long as its
        longest fit. A fit that is still running at this limit is stopped, and no
        further fit of the trial is started. The state of the trial is then "timed_out".
        The surrogate uses the score that is predicted from the completed fits; the
        trial cannot be chosen as the best.

        Each worker runs its fits in a separate process, even if there is only one
        worker (see :ref:`limits`). With `trial_timeout`, the proposals depend on
        measured times. None means no limit.
    trial_memory : int, str or None, default=None
        Memory limit for a fit, in bytes or as a string such as "2 GB" or "500 MiB". The
        limit applies to the resident memory of the process that runs the fit and of its
        child processes, including Python and its libraries (about 150 MB). Data that
        all workers map into memory do not count. A fit that exceeds the limit is
        stopped, and the state of its trial is "out_of_memory". Otherwise, such a trial
        is treated like a trial that exceeds `trial_timeout`. Requires psutil, which the
        extra `limits` installs. None means no limit.
    racing : bool or float, default=False
        Whether to prune trials. A trial is pruned if, after its first folds, its chance
        to become the best is less than 1%, or less than the number given. Its other
        folds are not fitted, and it cannot be chosen as the best. In simulated searches
        with the default threshold, the best trial was pruned in 0 to 1% of the searches
        if the noise was equal for all trials and folds. Otherwise, it was pruned in up
        to 9% (:ref:`racing`). With `rounds`, a trial can also be pruned within its
        first fold, after some of the rounds. The fits of a trial run one after the
        other, so ``n_points="auto"`` uses a larger number, at most 16.
    rounds : int, "auto" or None, default=None
        Maximum number of rounds of the estimator, or of the last step of a pipeline:
        boosting iterations, trees of a forest, or epochs. Each fit is scored on its
        test rows after each of the first 20 rounds, then in steps of 10%. The number
        of rounds of a trial is the one with the best mean score over the splits. Each
        split is scored at the number that is best for the other splits. A fit stops
        early if its score has not improved for many rounds. The number of rounds is not
        a dimension of the search space; an entry for it is removed from
        ``search_spaces_``.

        "auto" uses the largest value of that entry. If there is none, it uses 1000 for
        gradient boosting, 300 for forests, 200 for AdaBoost, and `max_iter` of the
        estimator for epochs. With None, the number of rounds is treated like any other
        parameter. See :ref:`rounds`.
    warm_start_from : search, dict, data frame, study, path, list or None, default=None
        Results of an earlier search on the same data, scored by the same metric:

        - a fitted search (also a GridSearchCV), its ``cv_results_``, or a data frame of
          these;
        - the path of a journal;
        - an Optuna study with one objective, whose values are negated if it minimizes;
        - a result of scikit-optimize, whose values are negated.

        Failed trials of a study or of scikit-optimize are used too, and so are costs if
        they are known. The search spaces can differ; configurations outside the new
        space are ignored, with a warning. The best known configuration is tried first,
        or after the `initial_points` if they are given.

        A list contains searches on other data. Up to three of their best configurations
        are tried first. The surrogate of each search is weighted by the agreement
        between its ranking and the trials so far (Feurer et al. 2018).
    journal : path or None, default=None
        File in which every finished trial is recorded. If a search is run again with
        the same journal, after a crash or with a larger `n_iter`, it continues after
        the recorded trials. The journal of a different search (estimator, space, data,
        splits, scoring, options) is rejected. See :func:`skbayes.load_history`.
    progress_bar : bool, default=False
        Whether to show a progress bar, which is a widget in notebooks. Requires tqdm.
    return_fold_estimators : bool, default=False
        Whether to keep the estimators that were fitted on the splits with the best
        configuration, as ``fold_estimators_``. If `refit` is a callable, the estimators
        of all trials are kept until the search ends.
    return_oof : str or None, default=None
        Name of a method such as "predict" or "predict_proba". For each sample, it is
        called on the estimator with the best configuration that was fitted without this
        sample. The outputs are stored as ``oof_predictions_``. Requires a `cv` that
        tests each sample exactly once.
    cache : "auto" or bool, default="auto"
        Whether trials share the first steps of a pipeline. A shared transformer is
        fitted once per fold and setting. Later trials load its output from temporary
        files, and the fitted transformer if a scorer uses it. The transformer and the
        steps before it may have at most 32 different settings in the search space.

        - "auto" shares the transformers of scikit-learn, but not their subclasses.
          Their parameters may contain no functions except those of scikit-learn and the
          ufuncs of NumPy. Fits below one millisecond are not shared.
        - True also shares other transformers. They must be deterministic.
        - False shares none.

        A transformer that draws from the global random generators is fitted in each
        trial. Steps are not shared on Dask and other distributed backends.
    cache_limit : float, default=1e9
        Maximum size of the temporary files in bytes, > 0. The least recently used files
        are removed first. A warning is issued if results had to be computed again
        because of this limit.

    Attributes
    ----------
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
    best_params_ : dict
        Best configuration. Available unless ``refit=False`` with several metrics.
    best_index_ : int
        Row of the best configuration in ``cv_results_``; the first one if several tie.
    scorer_ : callable or dict of str to callable
        Scorer of the fits; a dict with several metrics.
    n_splits_ : int
        Number of cross-validation splits.
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
        :class:`~skbayes.evaluation.Trial`.
    optimizer_ : Optimizer
        Optimizer that contains all observations of the search.
    stop_reason_ : str
        Reason for the end of the search: "n_iter", "timeout", "exhausted", "callback"
        (a callback returned True) or "interrupted" (Ctrl-C after at least one trial).
        The reason "exhausted" means that every configuration was tried, or that no
        other one that the constraint allows was found. If a stopper ended the search,
        it is the attribute `reason` of the stopper, or "stopper".
    n_points_ : int
        Number of trials that were in progress at the same time.
    learning_curves_ : DataFrame or dict
        Scores after each round, if `rounds` is set. The columns are `trial`, `split`,
        `rounds`, ``test_<metric>`` and, with `return_train_score`, ``train_<metric>``.
        Without pandas, a dict of arrays.
    fold_estimators_ : list of estimators
        Estimators fitted on the splits with the best configuration, if
        `return_fold_estimators` is set.
    oof_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_columns)
        Out-of-fold predictions in the order of the samples, if `return_oof` is set.
    target_metric_ : str
        Metric that guided the search; "score" if there is a single metric.
    """


def share_parameters(cls: _Class) -> _Class:
    """Replace each line ``{name}`` of a docstring by the entry of that name.

    The entry is taken from the nearest base class that has it, or else from
    `SharedEntries`.
    """
    entries: dict[str, str] = {}
    for base in (SharedEntries, *reversed(cls.__mro__[1:])):
        doc = inspect.cleandoc(base.__doc__ or "")
        entries |= {match[1]: match[0] for match in _ENTRY.finditer(doc)}

    def entry(match: re.Match[str]) -> str:
        return textwrap.indent(entries[match["name"]], match["indent"])

    placeholder = r"^(?P<indent> *)\{(?P<name>\w+)\}$"
    # Under `python -OO` there are no docstrings.
    cls.__doc__ = re.sub(placeholder, entry, cls.__doc__ or "", flags=re.MULTILINE)
    return cls
