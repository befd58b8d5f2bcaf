"""Search over text representations and classifiers: `TextRepresentationSearchCV`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import (
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import type_of_target

from skbayes import compat
from skbayes.multi_stage.search import MultiStageSearchCV
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
from skbayes.search.preparation import parse_initial_points
from skbayes.space import Space
from skbayes.stages.ladder import chosen_sizes
from skbayes.text.counts import counted_texts
from skbayes.text.liblinear import LiblinearClassifier
from skbayes.text.ngrams import NGramVectorizer
from skbayes.text.search_spaces import (
    SPACES,
    first_points,
    needs_primal,
    text_space,
    with_steps,
    without_auto,
)
from skbayes.text.tokens import check_labeled_texts
from skbayes.trial.plan import Plan
from skbayes.trial.settings import Settings

# Steps of the default pipeline.
VECTORIZER, CLASSIFIER = "vectorizer", "classifier"

# Minimum number of documents for a single split and a first stage on a sample.
MANY_TEXTS = 10_000

# Minimum size of the sample, and its minimum share of all documents.
SAMPLE, SAMPLE_SHARE = 3_000, 0.05

TEST_SHARE = 0.2

# Size in bytes of the counts that a process keeps if there is no folder for them.
MAX_BYTES_IN_MEMORY = 1e9

# With a timeout, a document counts as this number of rows of a table.
ROWS_PER_TEXT = 5

# Maximum number of trials on all documents after the stage on a sample.
N_FULL = 4

N_FOLDS, N_REPEATS = 5, 2

# LIBLINEAR's default for the dual problem. Predictions equal those of the exact
# solution.
TOL = 0.1

# With LIBLINEAR's default for the primal problem, 0.01, 10% to 25% of the predictions
# differ from those of the exact solution if C is large.
TOL_OF_PRIMAL = 1e-4


class TextRepresentationSearchCV(MultiStageSearchCV):
    """Bayesian search over text representations and classifiers.

    The input of `fit` is a list of raw documents. The choice of n-grams, their
    weighting and the regularization of the classifier depend on each other and are
    tuned together. The n-grams of the documents are counted only once: trials, folds
    and workers share the counts, so a trial takes little more time than fitting its
    classifier. Its scores equal the scores of the plain pipeline on the documents. The
    vocabulary and the document frequencies are computed from the training documents
    only.

    All parameters have defaults. After
    ``TextRepresentationSearchCV().fit(texts, labels)``, the search predicts the labels
    of other documents. `n_iter` is the number of trials, and `language` selects the
    stemmer.

    Parameters
    ----------
    estimator : estimator object or None, default=None
        Estimator that is fitted to the n-grams. It becomes the step "classifier" of a
        pipeline, after the step "vectorizer", which is an
        :class:`~skbayes.text.NGramVectorizer`. A pipeline that accepts raw documents is
        used unchanged.

        None means a linear one-vs-rest classifier without an intercept,
        :class:`~skbayes.text.LiblinearClassifier`. It solves the dual problem with
        ``tol=0.1``, or the primal problem with ``tol=1e-4`` for ``space="paper"`` and
        if the space contains the penalty.
    search_spaces : "auto", dict, list of dict, Space or None, default=None
        Possible values of the parameters of the pipeline, as for
        :class:`~skbayes.BayesSearchCV`. They replace the same entries of the space
        named by `space`, or are added to it. Names without a step, such as "C" or
        "ngram_range", refer to the classifier, or else to the vectorizer. For a custom
        `estimator`, pass its search space here. A list of dicts or a Space requires
        ``space=None``.

        "auto" is the space named by `space`. With ``space=None``, it is the space that
        :func:`skbayes.defaults.default_space` returns for the pipeline.
    space : {"extended", "paper"} or None, default="extended"
        Predefined search space; see :func:`skbayes.text.search_spaces.text_space`.

        - "extended": n-grams of words or characters, punctuation, stemming, weighting,
          length normalization of rows, log-count ratios as factors of the features, and
          the loss and regularization strength of the classifier. If the documents have
          more than 50,000,000 characters, n-grams of characters are left out. Without a
          custom `estimator`, the search begins with a few representations that perform
          well on many collections.
        - "paper": the space of [1]_, with word n-grams of order 1 to 3, three
          weightings, stop words or none, penalty, regularization strength and
          tolerance. Combine it with ``surrogate="tpe"`` to reproduce the paper.
        - None: only `search_spaces`.
    dev : tuple (texts, labels) or None, default=None
        Development set on which all trials are scored, instead of `cv`. Pass
        ``(texts, None)`` if there are no labels. The final fit includes the development
        set.
    language : str or None, default="english"
        Language of the stemmer in the extended space, and of the stop words in the
        space of the paper. The extended space includes stop words only if no stemmer is
        available for the language. Stemming, and stop words of languages other than
        English, require the extra ``text``. Options whose package is not installed are
        removed from the space, and a message is logged once. If no option of the
        language remains, an ImportError is raised. For your own stop words, pass
        ``search_spaces={"stop_words": [None, words]}``.
    stages : "auto" or sequence of float or int, default="auto"
        Training size of each stage, as a fraction of each split's training set (float)
        or as a number of documents (int), as for :class:`~skbayes.MultiStageSearchCV`.
        With "auto", there is one stage with all documents for fewer than 10,000
        documents. For 10,000 documents or more, a first stage uses a sample of 3,000
        documents or 5%, the larger of the two, and at most four configurations are
        fitted on all documents. If `n_iter` is a sequence, its length, 1 or 2,
        determines the number of stages. With a `timeout`, the sizes are chosen by
        measured times instead, as for :class:`~skbayes.MultiStageSearchCV`.
    n_promoted : int, default=3
        Number of best configurations of a stage with which the next stage starts, best
        first.
    multi_fidelity : bool or "auto", default="auto"
        Whether the surrogate of a later stage is also fitted to the trials of earlier
        stages, with the fraction of the training rows as an additional input. With
        "auto", this is the case if the surrogate is a Gaussian process or "trees". True
        also enables it for a custom surrogate object, which must support an additional
        column. With False, each surrogate is fitted to the trials of its stage only, as
        published.
    n_iter : int, sequence of int or None, default=30
        Maximum number of trials in all stages together, or of each stage. With None,
        `timeout` or `stopper` ends the search; without a `timeout`, it has a single
        stage. A `timeout` with ``stages="auto"`` requires an int or None.
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
        Without labels, a callable ``scoring(estimator, X)``.
    cv : int, splitter, iterable or None, default=None
        Cross-validation splits, as for GridSearchCV. None selects the splits of a
        classifier as follows:

        - with `dev`, only `dev` is used;
        - for 10,000 documents or more, a single split with 20% of the documents for
          testing;
        - otherwise, 5-fold stratified cross-validation, repeated twice. Most trials are
          evaluated on the first folds only (see `pruning`).
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
    pruning : bool or float, default=0.01
        Whether to prune trials. A trial is pruned if, after its first folds, its chance
        to become the best is less than 20%, or less than the number given, which is
        below 0.5. Its other folds are not fitted, and it cannot be chosen as the best.
        Each trial begins with another fold. In 151 recorded searches with five folds,
        the default threshold needs 56% of the fits and keeps the best trial in 89% of
        the searches (:ref:`pruning`). The fits of a trial run one after the other, so
        more trials are in progress by default, at most 16.
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
        Configurations with which the search starts, as for
        :class:`~skbayes.BayesSearchCV`. In the extended space without a custom
        `estimator`, the initial configurations of this space are always added. In all
        other cases, "default" is the current configuration of the pipeline, or the
        nearest one of the space. None adds no initial configurations.
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
    best_estimator_ : Pipeline or WeightedEnsembleClassifier
        Best pipeline, or an ensemble of pipelines, which predicts from raw documents.
        Available unless ``refit=False``. Loading its pickle requires skbayes, and
        snowballstemmer if a stemmer was chosen, but neither liblinear-official nor
        stop-words. Another version of skbayes issues a warning. The pickle contains no
        documents, trials or counts.
    all_cv_results_ : dict of str to ndarray
        Results of all stages with one row per trial, in the order in which the trials
        were made. There are no columns of ranks, because scores of different stages are
        not comparable.
    cv_results_ : dict of str to ndarray
        Results with one row per trial of the last stage and the columns of
        GridSearchCV.
    n_splits_ : int
        Number of splits; 1 with `dev`.
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
        Optimizer of the last stage, with all of its observations.
    stop_reason_ : str
        Reason for the end of the last stage that began; the values are the same as for
        :class:`~skbayes.BayesSearchCV`: "n_iter", "timeout", "exhausted", "callback",
        "interrupted", or the reason of the stopper.
    n_points_ : int
        Number of trials that were in progress at the same time.
    target_metric_ : str
        Metric that guided the search; "score" if there is a single metric.
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
    BayesSearchCV : Bayesian search on other data; describes most parameters in detail.
    MultiStageSearchCV : Bayesian search in stages; describes the stages in detail.
    skbayes.text.NGramVectorizer : First step of the pipeline.

    Notes
    -----
    The counts are stored in files. Only the data of one trial are in memory: its matrix
    (12 bytes per entry) and the data structures of its classifier. Counting needs about
    300 MB in addition to the documents.

    References
    ----------
    .. [1] D. Yogatama, L. Kong and N. A. Smith, "Bayesian optimization of text
       representations", EMNLP 2015.

    Examples
    --------
    >>> from skbayes import TextRepresentationSearchCV
    >>> good = ["a good film with good music", "really good acting, fine plot"]
    >>> bad = ["a bad film with bad music", "really bad acting, dull plot"]
    >>> texts = 3 * (good + bad)
    >>> labels = 3 * ["good", "good", "bad", "bad"]
    >>> search = TextRepresentationSearchCV(n_iter=10, cv=2, random_state=0)
    >>> search.fit(texts, labels).predict(["good film"])
    array(['good'], dtype='<U4')
    >>> search.best_params_["vectorizer__ngram_range"]
    (1, 2)
    >>> [name for name, _ in search.best_estimator_.steps]
    ['vectorizer', 'classifier']
    """

    # Own entries, which docs/door.py does not write:
    # estimator search_spaces n_iter initial_points scoring cv pruning
    # timeout surrogate stopper warm_start_from best_estimator_ cv_results_ n_splits_
    # optimizer_ stop_reason_

    dev: Any

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MultiStageSearchCV._parameter_constraints,
        "estimator": "no_validation",
        "search_spaces": [
            Mapping,
            list,
            tuple,
            Space,
            compat.StrOptions({"auto"}),
            None,
        ],
        "space": [compat.StrOptions(set(SPACES)), None],
        "dev": [tuple, None],
        "language": [str, None],
        "pruning": BayesSearchCV._parameter_constraints["pruning"],
        "n_iter": [COUNT, list, tuple, np.ndarray, None],
    }
    del _parameter_constraints["best_of"]
    del _parameter_constraints["early_stopping"]

    _without_effect = MultiStageSearchCV._without_effect | {"space", "dev", "language"}
    _not_sent = MultiStageSearchCV._not_sent | {"dev"}

    _n_initial_points = _n_timed_points = "auto"
    _cache_limit = 4e9

    def __init__(
        self,
        estimator: Estimator | None = None,
        search_spaces: SearchSpaces = None,
        *,
        space: Literal["extended", "paper"] | None = "extended",
        dev: tuple[Any, Any] | None = None,
        language: str | None = "english",
        stages: Sequence[float] | np.ndarray | Literal["auto"] = "auto",
        n_promoted: int = 3,
        multi_fidelity: bool | Literal["auto"] = "auto",
        n_iter: int | Sequence[int] | None = 30,
        timeout: float | str | None = None,
        stopper: Stopper = None,
        scoring: Scoring = None,
        cv: CrossValidation = None,
        refit: Refit = True,
        constraints: Constraints = None,
        pruning: bool | float = 0.01,
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
            estimator,  # type: ignore[arg-type]  # None is the default classifier
            search_spaces,
            n_promoted=n_promoted,
            multi_fidelity=multi_fidelity,
            n_iter=n_iter,
            timeout=timeout,
            stopper=stopper,
            scoring=scoring,
            cv=cv,
            refit=refit,
            constraints=constraints,
            pruning=pruning,
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
        self.space = space
        self.dev = dev
        self.language = language

    if not TYPE_CHECKING:  # otherwise, type checkers would accept any attribute

        def __getattr__(self, name: str) -> Any:
            # Before the fit, methods such as `predict` exist if the estimator has them.
            fitted = "best_estimator_" in vars(self)
            if vars(self).get("estimator", self) is None and not fitted:
                if hasattr(type(self), name):
                    return getattr(self._plain(), name)
            return super().__getattr__(name)

    # -- hooks --------------------------------------------------------------------

    def _resolve(
        self, settings: Settings, X: Any, y: Any, params: Mapping[str, Any]
    ) -> tuple[Settings, Any, Any]:
        """Return the settings of a search over pipelines, and the documents."""
        pipeline = settings.estimator
        classifies = is_classifier(pipeline)
        texts = check_labeled_texts(X, y, classifies, "X", "y")
        n_texts = len(texts)
        cv = self._splitter(settings, y, n_texts)
        if self.dev is not None:
            dev_texts, dev_labels = self._checked_dev(params, y)
            cv = [(np.arange(n_texts), np.arange(n_texts, n_texts + len(dev_texts)))]
            texts = texts + dev_texts
            if y is not None:
                y = np.concatenate([np.asarray(y), np.asarray(dev_labels)])
        space = self._full_space(pipeline, sum(map(len, texts)))
        sizes, n_iter = self._stages(n_texts, y)
        settings = replace(
            settings,
            search_spaces=space,
            cv=cv,
            initial_points=self._points(settings, space),
            sizes=sizes,
            n_iter=n_iter,
        )
        return settings, texts, y

    def _trial_data(self, plan: Plan) -> Callable[[Any], Any] | None:
        if not _has_vectorizer(plan):
            return None
        return partial(counted_texts, plan.X, limit=MAX_BYTES_IN_MEMORY)

    def _warn_of_untried(self, points: list[dict], space: Space, n_iter: float) -> None:
        # Initial points of the predefined space are not tried without a warning.
        n_points = len(parse_initial_points(self.initial_points)[0] or [])
        super()._warn_of_untried(points[:n_points], space, n_iter)

    def _unfitted(self, plan: Plan, params: Mapping[str, Any]) -> Any:
        """Return a pipeline that solves the problems of the classes in parallel."""
        pipeline = super()._unfitted(plan, params)
        learner = _last_step(pipeline)
        if isinstance(learner, LiblinearClassifier) and learner.n_jobs is None:
            learner.set_params(n_jobs=self.n_jobs)
        return pipeline

    def _refitted(self, plan: Plan, model: Any) -> Any:
        """Return the final model, which does not start workers."""
        n_jobs = getattr(_last_step(plan.estimator), "n_jobs", None)
        members = getattr(model, "estimators_", [model])
        unfitted = model.estimators if hasattr(model, "weights_") else []
        for member in [*members, *unfitted]:
            if isinstance(_last_step(member), LiblinearClassifier):
                _last_step(member).set_params(n_jobs=n_jobs)
        return model

    # -- before the search --------------------------------------------------------

    def _splitter(self, settings: Settings, labels: Any, n_texts: int) -> Any:
        if self.cv is not None or not is_classifier(settings.estimator):
            return self.cv
        stratified = type_of_target(labels) in ("binary", "multiclass")
        if settings.return_folds.method is not None:  # each document is tested once
            splitter = StratifiedKFold if stratified else KFold
            return splitter(N_FOLDS, shuffle=True, random_state=0)
        if n_texts >= MANY_TEXTS:
            splitter = ShuffleSplit
            if stratified and _can_be_stratified(labels):
                splitter = StratifiedShuffleSplit
            return splitter(1, test_size=TEST_SHARE, random_state=0)
        splitter = RepeatedStratifiedKFold if stratified else RepeatedKFold
        return splitter(n_splits=N_FOLDS, n_repeats=N_REPEATS, random_state=0)

    def _stages(self, n_texts: int, labels: Any) -> tuple[Any, Any]:
        """Return the sizes of the stages, and their number of trials."""
        if not isinstance(self.stages, str):
            return self.stages, self.n_iter
        n_train = n_texts
        if self.cv is None and self.dev is None:
            n_train = round((1 - TEST_SHARE) * n_texts)
        trials = self.n_iter
        if self._chooses_by_time():
            n_rows = ROWS_PER_TEXT * n_train
            return chosen_sizes(n_rows, labels, None, trials, True), trials
        if trials is None:
            return (1.0,), None
        if isinstance(trials, Integral):
            n_full = min(N_FULL, -(-int(trials) // 4)) if n_texts >= MANY_TEXTS else 0
            trials = (int(trials) - n_full, n_full)
            if 0 in trials:
                return (1.0,), self.n_iter
        if len(trials) == 1:
            return (1.0,), trials
        share = max(SAMPLE / max(n_train, 1), SAMPLE_SHARE)
        return (min(share, 0.5), 1.0), trials

    def _tuned(self) -> Any:
        """Return the pipeline of a vectorizer and a classifier."""
        if isinstance(self.estimator, Pipeline):
            return self.estimator
        learner = self.estimator
        if learner is None:
            # Random numbers only affect the order of the steps.
            primal = self.space == "paper" or needs_primal(self.search_spaces)
            learner = LiblinearClassifier(
                loss="logistic",
                dual=not primal,
                tol=TOL_OF_PRIMAL if primal else TOL,
                fit_intercept=False,
                random_state=0,
            )
        # Equal to scikit-learn's default pattern for the scripts that it supports.
        vectorizer = NGramVectorizer(
            token_pattern="unicode", sublinear_tf=self.space == "extended"
        )
        return Pipeline([(VECTORIZER, vectorizer), (CLASSIFIER, learner)])

    def _full_space(self, pipeline: Any, n_characters: int) -> Any:
        """Combine the predefined space with `search_spaces`."""
        spaces = self.search_spaces
        if isinstance(spaces, str):  # "auto"
            spaces = spaces if self.space is None else None
        if self.space is None:
            if spaces is None:
                raise ValueError("search_spaces must be given if space is None.")
            return (
                with_steps(spaces, pipeline) if isinstance(spaces, Mapping) else spaces
            )
        if spaces is not None and not isinstance(spaces, Mapping):
            raise TypeError(
                "search_spaces must be a dict if space is not None, got "
                f"{type(spaces).__name__}. Use space=None to search only search_spaces."
            )
        steps = [k for k, step in pipeline.steps if isinstance(step, NGramVectorizer)]
        if not steps:
            raise ValueError(
                f"space={self.space!r} requires an NGramVectorizer as a step of the "
                "pipeline. Use space=None to search only search_spaces."
            )
        changes = with_steps(without_auto(spaces or {}), pipeline)
        return text_space(
            self.space,
            language=self.language,
            n_characters=n_characters,
            changes=changes,
            vectorizer=steps[0],
            classifier=CLASSIFIER if self.estimator is None else None,
        )

    def _points(self, settings: Settings, space: Any) -> list[dict[str, Any]] | None:
        """Return the user's initial configurations, and then those of the space."""
        points = list(settings.initial_points or [])
        if self.space == "extended" and self.estimator is None:
            whole = Space.from_notation(space, constraint=settings.rule)
            params = settings.estimator.get_params(deep=True)
            for first in first_points(self.language):
                # Hyper-parameters added by the user keep the value of the pipeline.
                point = whole.selection({**params, **first})
                if point is not None and point in whole and whole.allows(point):
                    points.append(point)
        return points or settings.initial_points

    def _checked_dev(self, params: Mapping[str, Any], y: Any) -> tuple[list[str], Any]:
        """Return the texts and labels of `dev`."""
        if len(self.dev) != 2:
            raise ValueError(
                f"dev must be a pair (texts, labels), got {len(self.dev)} items."
            )
        if self.cv is not None:
            raise ValueError("dev replaces the splits of cv; use one of them.")
        if params:
            raise ValueError(
                f"fit parameters ({', '.join(params)}) cannot be combined with dev, "
                "since they have no entries for its texts; use cv without dev."
            )
        texts, labels = self.dev
        if (labels is None) != (y is None):
            raise ValueError("dev must have labels if and only if y is given.")
        checked = check_labeled_texts(texts, labels, False, "dev[0]", "dev[1]")
        labels_of_y = set(np.ravel(y).tolist())
        is_new = labels_of_y.isdisjoint(np.ravel(labels).tolist())
        if is_new and is_classifier(self._tuned()):
            raise ValueError("dev[1]: none of its labels is in y. Use the labels of y.")
        return checked, labels

    def __sklearn_tags__(self) -> Any:
        tags = clone(BayesSearchCV(self._tuned(), {})).__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _can_be_stratified(labels: Any) -> bool:
    """Return whether both parts of a split can contain all classes."""
    counts = np.unique(labels, return_counts=True)[1]
    return counts.min() > 1 and len(counts) <= TEST_SHARE * len(labels)


def _last_step(estimator: Any) -> Any:
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _has_vectorizer(plan: Plan) -> bool:
    """Return whether some trials use a vectorizer that can share its counts."""
    params = [plan.estimator.get_params(deep=True), *plan.space.covering_sample()]
    values = (value for by_name in params for value in by_name.values())
    return any(isinstance(value, NGramVectorizer) for value in values)
