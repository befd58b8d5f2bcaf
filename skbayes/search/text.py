"""Search over text representations and classifiers: `TextRepresentationSearchCV`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import (
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import type_of_target

from skbayes import compat
from skbayes.evaluation.aspect import Parameter
from skbayes.evaluation.options import oof_method
from skbayes.evaluation.run import SearchRun
from skbayes.search._parameters import share_parameters
from skbayes.search._preparation import parse_initial_points
from skbayes.search.bayes import BayesSearchCV
from skbayes.search.multi_stage import MultiStageSearchCV
from skbayes.space import Space
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
from skbayes.text.shared_counts import counted_texts
from skbayes.text.tokens import check_labeled_texts

# Steps of the default pipeline.
VECTORIZER, CLASSIFIER = "vectorizer", "classifier"

# Number of documents from which one split and a first stage on a sample are used.
MANY_TEXTS = 10_000

# Minimum size of this sample, and its minimum share of all documents.
SAMPLE, SAMPLE_SHARE = 3_000, 0.05

TEST_SHARE = 0.2

# Maximum number of trials on all documents after this stage.
N_FULL = 4

N_FOLDS, N_REPEATS = 5, 2

# LIBLINEAR's default for the dual problem. Predictions equal those of the solution.
TOL = 0.1

# With 0.01, LIBLINEAR's default for the primal problem, 10% to 25% of the predictions
# differ from those of the solution if C is large.
TOL_OF_PRIMAL = 1e-4


@share_parameters
class TextRepresentationSearchCV(MultiStageSearchCV):
    """Bayesian search over text representations and classifiers.

    The input of `fit` is a list of raw documents. The choice of n-grams, their
    weighting and the regularization of the classifier depend on each other and are
    tuned together. The n-grams of the documents are counted only once: trials, folds
    and workers share the counts, so a trial takes little more time than fitting its
    classifier. Its scores are those of the plain pipeline on the documents. The
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
        :func:`skbayes.spaces.default_space` returns for the pipeline.
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
    dev : tuple (texts, labels), dict or None, default=None
        Development set on which all trials are scored. If `cv` is given too, the score
        is the mean over both. Pass ``(texts, None)`` if there are no labels. The final
        fit includes the development set, except with
        ``{"texts": texts, "labels": labels, "refit": False}``.
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
        determines the number of stages.
    n_iter : int or sequence of int, default=30
        Maximum number of trials in all stages together, or of each stage.
    initial_points : "default", int, list or None, default="default"
        Configurations with which the search starts, as for
        :class:`~skbayes.BayesSearchCV`. In the extended space without a custom
        `estimator`, the initial configurations of this space are always added. In all
        other cases, "default" is the current configuration of the pipeline, if the
        space contains it, and None adds no initial configurations.
    {scoring}
        Without labels, a callable ``scoring(estimator, X)``.
    cv : int, splitter, iterable or None, default=None
        Cross-validation splits, as for GridSearchCV. None selects the splits of a
        classifier as follows:

        - with `dev`, only `dev` is used;
        - for 10,000 documents or more, a single split with 20% of the documents for
          testing;
        - otherwise, 5-fold stratified cross-validation, repeated twice. Most trials are
          evaluated on the first folds only (see `racing`).
    {parameters}

    Attributes
    ----------
    best_estimator_ : Pipeline or WeightedEnsembleClassifier
        Best pipeline, or an ensemble of pipelines, which predicts from raw documents.
        Available unless ``refit=False``. Loading its pickle requires skbayes, and
        snowballstemmer if a stemmer was chosen, but neither liblinear-official nor
        stop-words. Another version of skbayes issues a warning. The pickle contains no
        documents, trials or counts.
    {all_cv_results_}
    cv_results_ : dict of str to ndarray
        Results with one row per trial of the last stage and the columns of
        GridSearchCV.
    n_splits_ : int
        Number of splits; 1 with `dev` and without `cv`.
    {attributes}

    See Also
    --------
    BayesSearchCV : Bayesian search on other data; describes most parameters in detail.
    MultiStageSearchCV : Bayesian search in stages; describes the stages in detail.
    skbayes.text.NGramVectorizer : First step of the pipeline.

    Notes
    -----
    The counts are stored in files. The memory contains only the data of one trial: its
    matrix (12 bytes per entry) and the data structures of its classifier. Counting
    needs about 300 MB in addition to the documents.

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

    _parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("estimator", "no_validation"),
        Parameter(
            "search_spaces",
            [Mapping, list, tuple, Space, compat.StrOptions({"auto"}), None],
        ),
        # Trials depend on these by the documents, the splits and the search space.
        Parameter(
            "space", [compat.StrOptions(set(SPACES)), None], changes_trials=False
        ),
        Parameter(
            "dev", [tuple, list, Mapping, None], changes_trials=False, is_sent=False
        ),
        Parameter("language", [str, None], changes_trials=False),
        Parameter("stages", [list, tuple, np.ndarray, compat.StrOptions({"auto"})]),
    )
    # LIBLINEAR has no rounds. The best trial is one of the last stage.
    _omitted: ClassVar[tuple[str, ...]] = ("rounds", "best_of")
    best_of = "last_stage"

    _n_initial_points = "auto"
    _cache_limit = 4e9

    # Of a search over pipelines: the number of configurations of the user, without
    # warnings of others that are not tried, and the number of documents for the refit.
    _n_own: int | None = None
    _n_refit: int | None = None

    def __init__(
        self,
        estimator: Any = None,
        search_spaces: Any = None,
        *,
        space: str | None = "extended",
        dev: Any = None,
        language: str | None = "english",
        stages: Sequence[float | int] | str = "auto",
        n_iter: int | Sequence[int] = 30,
        racing: bool | float = 0.01,
        **shared: Any,
    ) -> None:
        self._store(locals())

    if not TYPE_CHECKING:  # otherwise, type checkers would accept any attribute

        def __getattr__(self, name: str) -> Any:
            # Before the fit, methods such as `predict` exist if the estimator has them.
            own = vars(self)
            if own.get("estimator", self) is None and "best_estimator_" not in own:
                if hasattr(type(self), name):
                    search = copy.copy(self)
                    search.estimator = self._pipeline()
                    return getattr(search, name)
            return super().__getattr__(name)

    # -- hooks --------------------------------------------------------------------

    def _strategy(self, X: Any, y: Any, params: dict) -> tuple[Any, Any, Any]:
        """Return a search over pipelines, and the documents with those of `dev`."""
        classifies = is_classifier(self._pipeline())
        texts = check_labeled_texts(X, y, classifies, "X", "y")
        n_texts, cv, n_refit = len(texts), self._splitter(y, len(texts)), None
        if self.dev is not None:
            dev_texts, dev_labels, is_refitted = self._checked_dev(params, y)
            cv = [(np.arange(n_texts), np.arange(n_texts, n_texts + len(dev_texts)))]
            if self.cv is not None:
                folds = check_cv(self.cv, y, classifier=classifies)
                cv += list(folds.split(texts, y))
            texts = texts + dev_texts
            if y is not None:
                y = np.concatenate([np.asarray(y), np.asarray(dev_labels)])
            n_refit = None if is_refitted else n_texts
        strategy = self._over_pipelines(cv, n_texts, sum(map(len, texts)))
        strategy._n_refit = n_refit
        return strategy, texts, y

    def _over_pipelines(
        self, cv: Any, n_texts: int | None = None, n_characters: int | None = None
    ) -> Self:
        """Return a copy of this search with the parameters of MultiStageSearchCV."""
        strategy, pipeline = copy.copy(self), self._pipeline()
        space = self._full_space(pipeline, n_characters)
        strategy._set(
            {
                "estimator": pipeline,
                "search_spaces": space,
                "cv": cv,
                "initial_points": self._points(space),
                "_n_own": len(parse_initial_points(self.initial_points)[0] or []),
                **self._stage_arguments(n_texts or 0),
            }
        )
        return strategy

    def _trial_data(self, run: SearchRun) -> Callable[[Any], Any] | None:
        if not _has_vectorizer(run):
            return None
        return partial(counted_texts, run.X, limit=self._cache_limit)

    def _warn_of_untried(self, points: list[dict], space: Space, n_iter: float) -> None:
        super()._warn_of_untried(points[: self._n_own], space, n_iter)

    def _refit_rows(self, run: SearchRun, found: Mapping[str, Any]) -> Any:
        return None if self._n_refit is None else np.arange(self._n_refit)

    def _unfitted(self, params: Mapping[str, Any]) -> Any:
        """Return a pipeline that solves the problems of the classes in parallel."""
        pipeline = super()._unfitted(params)
        learner = _last_step(pipeline)
        if isinstance(learner, LiblinearClassifier) and learner.n_jobs is None:
            learner.set_params(n_jobs=self.n_jobs)
        return pipeline

    def _refitted(self, model: Any) -> Any:
        """Return the final model, which does not start workers."""
        own = getattr(_last_step(self.estimator), "n_jobs", None)
        members = getattr(model, "estimators_", [model])
        unfitted = model.estimators if hasattr(model, "weights_") else []
        for member in [*members, *unfitted]:
            if isinstance(_last_step(member), LiblinearClassifier):
                _last_step(member).set_params(n_jobs=own)
        return model

    # -- before the search --------------------------------------------------------

    def _splitter(self, labels: Any, n_texts: int) -> Any:
        if self.cv is not None or not is_classifier(self._pipeline()):
            return self.cv
        stratified = type_of_target(labels) in ("binary", "multiclass")
        if oof_method(self.return_folds) is not None:  # each document is tested once
            splitter = StratifiedKFold if stratified else KFold
            return splitter(N_FOLDS, shuffle=True, random_state=0)
        if n_texts >= MANY_TEXTS:
            splitter = ShuffleSplit
            if stratified and _can_be_stratified(labels):
                splitter = StratifiedShuffleSplit
            return splitter(1, test_size=TEST_SHARE, random_state=0)
        splitter = RepeatedStratifiedKFold if stratified else RepeatedKFold
        return splitter(n_splits=N_FOLDS, n_repeats=N_REPEATS, random_state=0)

    def _stage_arguments(self, n_texts: int) -> dict[str, Any]:
        """Return the sizes and numbers of trials of the stages, if they are "auto"."""
        if not isinstance(self.stages, str):
            return {}
        trials = self.n_iter
        if isinstance(trials, Integral):
            n_full = min(N_FULL, -(-int(trials) // 4)) if n_texts >= MANY_TEXTS else 0
            trials = (int(trials) - n_full, n_full)
            if 0 in trials:
                return {"stages": (1.0,)}
        if len(trials) == 1:
            return {"stages": (1.0,)}
        n_train = n_texts
        if self.cv is None and self.dev is None:
            n_train = round((1 - TEST_SHARE) * n_texts)
        share = max(SAMPLE / max(n_train, 1), SAMPLE_SHARE)
        return {"stages": (min(share, 0.5), 1.0), "n_iter": trials}

    def _pipeline(self) -> Any:
        if isinstance(self.estimator, Pipeline):
            return self.estimator
        learner = self.estimator
        if learner is None:
            # Random numbers affect only the order of the steps.
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

    def _full_space(self, pipeline: Any, n_characters: int | None) -> Any:
        """Combine the predefined space with `search_spaces`."""
        own = self.search_spaces
        if isinstance(own, str):  # "auto"
            own = own if self.space is None else None
        if self.space is None:
            if own is None:
                raise ValueError("search_spaces must be given if space is None.")
            return with_steps(own, pipeline) if isinstance(own, Mapping) else own
        if own is not None and not isinstance(own, Mapping):
            raise TypeError(
                "search_spaces must be a dict if space is not None, got "
                f"{type(own).__name__}. Use space=None to search only search_spaces."
            )
        steps = [k for k, step in pipeline.steps if isinstance(step, NGramVectorizer)]
        if not steps:
            raise ValueError(
                f"space={self.space!r} requires an NGramVectorizer as a step of the "
                "pipeline. Use space=None to search only search_spaces."
            )
        return text_space(
            self.space,
            language=self.language,
            n_characters=n_characters,
            changes=with_steps(without_auto(own or {}), pipeline),
            vectorizer=steps[0],
            classifier=CLASSIFIER if self.estimator is None else None,
        )

    def _points(self, space: Any) -> Any:
        """Return the initial configurations: the user's, then those of the space."""
        own, number = parse_initial_points(self.initial_points)
        points = own or []
        if self.space == "extended" and self.estimator is None:
            whole = Space.from_notation(space, constraint=self._rule())
            known = self._pipeline().get_params(deep=True)
            for first in first_points(self.language):
                # Hyper-parameters added by the user keep the value of the pipeline.
                point = whole.selection({**known, **first})
                if point is not None and point in whole:
                    points.append(point)
        if not points:
            return self.initial_points
        return points if number is None else [*points, number]

    def _checked_dev(
        self, params: Mapping[str, Any], y: Any
    ) -> tuple[list[str], Any, bool]:
        """Return the texts and labels of `dev`, and whether the final fit has them."""
        dev, is_refitted = self.dev, True
        if isinstance(dev, Mapping):
            if not {"texts"} <= set(dev) <= {"texts", "labels", "refit"}:
                raise ValueError(
                    "dev must have the keys 'texts', 'labels' and 'refit', got "
                    f"{list(dev)}."
                )
            is_refitted = bool(dev.get("refit", True))
            dev = (dev["texts"], dev.get("labels"))
        if len(dev) != 2:
            raise ValueError(
                f"dev must be a pair (texts, labels), got {len(dev)} items."
            )
        if params:
            raise ValueError(
                f"fit parameters ({', '.join(params)}) cannot be combined with dev, "
                "since they have no entries for its texts; use cv without dev."
            )
        texts, labels = dev
        if (labels is None) != (y is None):
            raise ValueError("dev must have labels if and only if y is given.")
        checked = check_labeled_texts(texts, labels, False, "dev[0]", "dev[1]")
        known = set(np.ravel(y).tolist())
        is_new = known.isdisjoint(np.ravel(labels).tolist())
        if is_new and is_classifier(self._pipeline()):
            raise ValueError("dev[1]: none of its labels is in y.")
        return checked, labels, is_refitted

    def get_metadata_routing(self) -> Any:
        """Return the metadata routing, as for GridSearchCV."""
        strategy = self if self._n_own is not None else self._over_pipelines(self.cv)
        return super(TextRepresentationSearchCV, strategy).get_metadata_routing()

    def __sklearn_tags__(self) -> Any:
        tags = clone(BayesSearchCV(self._pipeline(), {})).__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _can_be_stratified(labels: Any) -> bool:
    """Return whether both parts of a split can contain all classes."""
    counts = np.unique(labels, return_counts=True)[1]
    return counts.min() > 1 and len(counts) <= TEST_SHARE * len(labels)


def _last_step(estimator: Any) -> Any:
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _has_vectorizer(run: SearchRun) -> bool:
    """Return whether some trials use a vectorizer that can share its counts."""
    params = [run.estimator.get_params(deep=True), *run.space.covering_sample()]
    values = (value for by_name in params for value in by_name.values())
    return any(isinstance(value, NGramVectorizer) for value in values)
