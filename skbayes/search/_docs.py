"""Parameters and attributes that the searches share, documented once."""

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
    """Entries of docstrings that stand for their names in braces.

    Parameters
    ----------
    estimator : estimator object
        The estimator to tune; it provides `score`, or `scoring` is given.
    search_spaces : "auto", dict, list of dict, Space or None, default="auto"
        "auto" or None is the space that :func:`skbayes.spaces.default_space` returns
        for the estimator. ``{"auto": True, "svc__C": ...}`` replaces entries of this
        space. Otherwise, the possible values of each parameter by its name: a list or
        array of values, a scipy distribution, a tuple ``(low, high)`` or ``(low, high,
        "log-uniform")``, a dimension of :mod:`skbayes.space`, or a
        :class:`~skbayes.space.Choice` for parameters that exist only under an option. A
        list of dicts is one space: one model and one budget serve all of them.
    n_iter : int, default=50
        The most configurations to try. If the space has no more than that, each is
        tried once, and the search ends; the order is GridSearchCV's unless `timeout`,
        `stopper` or `journal` is set.
    initial_points : "default", list of dict or None, default="default"
        Configurations to try first, each with all parameters it needs. "default" is
        the estimator as it is given, if the space contains its values and
        `warm_start_from` has no results of these data. For known classes of estimators,
        a few configurations that were good on other data follow, and values that were
        good on other data are proposed more often. None: no such configurations.
    timeout : float or None, default=None
        Seconds the search may take, without the refit. Times are modeled like scores,
        and no trial is started that is expected to overrun. The search looks for
        another trial that is expected to end in time, and ends when there is none. The
        first trial always runs. Trials that are running when the time is up are
        finished and count; with `trial_timeout` or `trial_memory`, they are ended.
    constraint : callable or None, default=None
        ``constraint(params) -> bool``; combinations for which it is False are never
        tried. If it raises an exception, the search ends with a ValueError.
    constraints : dict or None, default=None
        Bounds on outcomes of the fits, such as ``{"model_size": "<= 1e6", "recall":
        ">= 0.9"}``. The search looks for the best configuration that satisfies all
        bounds, and chooses and refits it. A bound applies to the mean of an outcome
        over the splits. The name of an outcome is that of a metric of `scoring`, one of

        - "fit_time", "score_time": seconds of a fit, and of scoring it;
        - "cpu_time": seconds of processor time of a fit;
        - "predict_time": seconds that `predict` takes for one row;
        - "model_size": bytes of the pickled estimator;
        - "n_features": features that the fitted estimator uses;

        or that of a scorer of scikit-learn, which is then evaluated in addition to
        `scoring`. Any other name needs a tuple ``(outcome, bound)``, with one of these
        names, a scorer (a callable of estimator, X and y, also one that requests
        metadata) or a callable of the fitted estimator that returns a number. A list of
        two bounds is a range. A Gaussian process models each outcome; the acquisition
        function is multiplied by the probability that the bounds are satisfied. If no
        trial satisfies all of them, the one that violates them least is chosen, with a
        warning. None: no bounds.
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
        the number that keeps them busy, ``ceil(1.5 * n_workers / n_splits_) + 1``. The
        number used is `n_points_`. Trial k is proposed from the results of the trials
        up to k - `n_points_`, so that what is tried depends on that number and not on
        timing.
    stopper : callable, list of callable or None, default=None
        Called with `trials_` so far after each trial; the search ends when one returns
        True, and the trials under way are finished. Ready-made ones are in
        :mod:`skbayes.loop`.
    trial_timeout : float or None, default=None
        Seconds for the fits of a trial, without the time that a fit waits for a worker
        or for the start of a process. The fits run in groups of as many as there are
        workers (one after the other with `racing`), and a group takes as long as its
        longest fit. A fit that is running when the time is up is ended, and so is one
        that is running when `timeout` is over. No further fit of the trial is started,
        and its state is "timed_out". The model learns the score that the finished fits
        predict; the trial cannot be chosen. Each worker runs its fits in a separate
        process, also with one worker (:ref:`limits`). With `trial_timeout`, the
        proposals depend on measured times. None: no limit.
    trial_memory : int, str or None, default=None
        Memory for a fit, in bytes or as a text such as "2 GB" or "500 MiB": resident
        memory of the process that runs it, which includes Python and its libraries
        (about 150 MB), and of the processes that it starts. Data that all workers map
        into memory do not count. A fit that uses more is ended, and the state of its
        trial is "out_of_memory"; otherwise as for `trial_timeout`. Needs psutil, which
        the extra `limits` installs. None: no limit.
    racing : bool or float, default=False
        Whether a trial is pruned when its first folds leave it practically no chance
        to become the best: a chance below 1 %, or below the number given. Its other
        folds are not fitted, and it cannot be chosen. With `rounds`, a trial can also
        be pruned within its first fold, after some of the rounds. The fits of a trial
        then run one after the other, so "auto" gives a larger `n_points_`, at most 16.
    rounds : int, "auto" or None, default=None
        Largest number of rounds of the estimator, or of the last step of a pipeline:
        boosting iterations, trees of a forest, epochs. Each fit is scored on its test
        rows after each of the first 20 rounds, then in steps of 10 %, and the number of
        rounds of a trial is the one with the best mean score over the splits. A fit
        ends earlier if its score does not improve for long. The number of rounds is not
        a dimension of the search space; an entry for it is removed from
        `search_spaces_`.
        "auto": the largest value of that entry, or 1000 for gradient boosting, 300 for
        forests, 200 for AdaBoost, and `max_iter` of the estimator for epochs. None: the
        number of rounds is a parameter like any other. See :ref:`rounds`.
    warm_start_from : search, dict, data frame, study, path, list or None, default=None
        What is known already: a fitted search (also a GridSearchCV), its `cv_results_`,
        a data frame of these, the path of a journal, an Optuna study with one objective
        (negated if it minimizes), or a result of scikit-optimize (negated), scored by
        the same metric. Failed trials of a study or of scikit-optimize are used, too,
        and costs as far as they are known. The space may be another one; what lies
        outside is ignored, with a warning. The best of what is known is tried first, or
        after `initial_points`. A list of these contains searches on other data: up to
        three of their best configurations are tried first, and the weight of the model
        of each search depends on how well its ranking agrees with the trials so far
        (Feurer et al. 2018).
    journal : path or None, default=None
        A file in which every trial is recorded when it is finished. A search that is
        run again with the same journal, after a crash or with a larger `n_iter`, goes
        on where it was. The file of another search (estimator, space, data, splits,
        scoring, options) is refused. See :func:`skbayes.load_history`.
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
    cache : bool, default=True
        Whether trials share the first steps of a pipeline. A transformer with at most
        32 different settings in the search space, including those of the steps before
        it, is fitted once per fold and setting; later trials load its output, and the
        fitted transformer if a scorer uses it, from temporary files. Scores are
        identical to those without shared steps. A transformer with
        ``random_state=None`` is fitted in each trial. Steps are not shared on Dask and
        other distributed backends.
    cache_limit : float, default=1e9
        Maximum size of the temporary files in bytes, > 0. The least recently used files
        are removed first. A warning is issued if something was computed again
        because the files would have been larger.

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
        :func:`skbayes.results.corrected_best_score`. There whenever `best_score_`
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
    total_time_ : float
        Wall time of `fit` in seconds, including the refit. For a search that was
        continued from its journal, the time of the last `fit`.
    multimetric_ : bool
        Whether there are several metrics.
    classes_ : ndarray of shape (n_classes,)
        Class labels, if the best estimator has them.
    n_features_in_ : int
        Number of features seen during `fit`, if the best estimator has it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if the best estimator has them.
    search_spaces_ : dict, list of dict, or Space
        The search space; with "auto" a dict that prints as code.
    untuned_ : list of str
        With "auto", the parts of the estimator that keep their values because their
        class is not known; otherwise empty.
    initial_points_ : list of dict
        Configurations to try first: those of `initial_points`, or the estimator's own.
    trials_ : History
        The trials in the order they were made, as
        :class:`~skbayes.evaluation.Trial`.
    optimizer_ : Optimizer
        The optimizer with everything it was told.
    stop_reason_ : str
        Why the search ended: "n_iter", "timeout", "exhausted" (every configuration
        was tried), "callback" (a callback returned True), "interrupted" (Ctrl-C
        after at least one trial), or what the stopper has for its `reason`, "stopper"
        if it has none.
    n_points_ : int
        Number of trials in flight.
    learning_curves_ : DataFrame or dict
        Scores after each round, with `rounds` only: `trial`, `split`, `rounds`,
        ``test_<metric>`` and, with `return_train_score`, ``train_<metric>``. A dict of
        arrays without pandas.
    fold_estimators_ : list of estimators
        With `return_fold_estimators`, one for each split.
    oof_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_columns)
        With `return_oof`, in the order of the samples.
    target_metric_ : str
        The metric that guided the search; "score" if there is one only.
    """


def share_parameters(cls: _Class) -> _Class:
    """Replace each line ``{name}`` of a docstring by the entry of that name.

    The nearest base class that has the entry supplies it, else `SharedEntries`.
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
