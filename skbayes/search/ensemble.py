"""Ensembles that average the predictions of their members with weights."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from skbayes import compat
from skbayes.trial.responses import (
    Array,
    Averages,
    ClassifierAverages,
    RegressorAverages,
    Target,
    check_averaging,
    mean_response,
    respond,
    respond_and_vote,
    votes_of,
)
from skbayes.utils.autologging import without_autologging

# Number of rows on which `predict` of the members is compared with their other outputs.
N_CHECKED = 1000


class _WeightedEnsemble(MetaEstimatorMixin, Averages):
    """Average of the predictions of several estimators."""

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "estimators": [list],
        "weights": ["array-like", None],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimators: Sequence[Any],
        weights: Any = None,
        *,
        cv: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.cv = cv
        self.n_jobs = n_jobs

    @compat.fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit all members.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        **params : dict of str to object
            Metadata such as `sample_weight`, passed on to the `fit` of all members.
            `groups` is passed to the splitter.

        Returns
        -------
        self : object
            Fitted ensemble.

        Raises
        ------
        ValueError
            If there are no members, or if the weights are not numbers of at least 0.
        """
        self._checked_weights()  # detects errors early
        X, y = indexable(X, y)
        if params and get_config().get("enable_metadata_routing"):
            members = process_routing(self, "fit", **params)
            by_member = [members[f"member{k}"].fit for k in range(len(self.estimators))]
            split_params = dict(members.get("splitter", {}).get("split", {}))
        else:
            split_params = {"groups": params.pop("groups", None)}
            by_member = [params] * len(self.estimators)
        splits: list[tuple[Any, Any]] = [(None, None)]
        if self.cv is not None:
            splitter = check_cv(self.cv, y, classifier=is_classifier(self))
            splits = list(splitter.split(X, y, **split_params))
        jobs = [
            delayed(_fit_member)(model, X, y, train, its_params)
            for (train, _), model, its_params in zip(
                itertools.cycle(splits), self.estimators, by_member, strict=False
            )
        ]
        with without_autologging():
            return self._set_members(Parallel(n_jobs=self.n_jobs)(jobs), X, y)

    def _checked_weights(self) -> np.ndarray:
        """Return the weights of the members; ValueError if they cannot be used."""
        if not self.estimators:
            raise ValueError("estimators must not be empty.")
        if self.weights is None:
            return np.ones(len(self.estimators))
        weights = np.asarray(self.weights, dtype=float)
        if weights.shape != (len(self.estimators),):
            raise ValueError(
                f"weights must have one number for each of {len(self.estimators)} "
                f"estimators, got shape {weights.shape}."
            )
        if not (np.all(weights >= 0.0) and 0.0 < weights.sum() < np.inf):
            raise ValueError(
                f"weights must be at least 0 and not all 0, got {self.weights!r}."
            )
        return weights

    def _set_members(self, fitted: Sequence[Any], X: Any, y: Any) -> Self:
        """Set the fitted members."""
        check_averaging(self, y, type(self).__name__)
        weights = self._checked_weights()
        self.weights_ = weights / weights.sum()
        self.estimators_ = list(fitted)
        self.target_ = Target.of(self, y)
        if is_classifier(self):
            self.classes_ = self.target_.classes_of_columns
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted[0], name):
                setattr(self, name, getattr(fitted[0], name))
        every = np.arange(X.shape[0] if hasattr(X, "shape") else len(X))
        some = np.unique(np.linspace(0, every[-1], N_CHECKED, dtype=int))
        rows, _ = compat.safe_split(self, X, None, some, every)
        responses = [respond_and_vote(model, rows, self.target_) for model in fitted]
        methods = {response.method for response in responses}
        if len(methods) > 1:
            raise ValueError(
                "estimators must all have the same one of the methods predict_proba, "
                f"decision_function and predict; got {', '.join(sorted(methods))}."
            )
        self.response_method_ = responses[0].method
        self.votes_ = any(response.votes is not None for response in responses)
        if self.target_.n_outputs and self.response_method_ == "predict_proba":
            one, _ = compat.safe_split(self, X, None, some[:1], every)
            probabilities = [model.predict_proba(one) for model in fitted]
            self.lists_labels_ = all(isinstance(p, list) for p in probabilities)
        return self

    def _of_members(self, function: Callable[..., Any], X: Any) -> tuple[list, Array]:
        """Return what a function returns for the members, and their weights."""
        check_is_fitted(self)
        kept = np.flatnonzero(self.weights_ > 0.0)
        parallel = Parallel(n_jobs=self.n_jobs, require="sharedmem")
        found = parallel(
            delayed(function)(self.estimators_[k], X, self.target_) for k in kept
        )
        return list(found), self.weights_[kept]

    def _average(self, X: Any) -> Array:
        responses, weights = self._of_members(respond, X)
        return mean_response(responses, weights, self.target_)

    def _vote(self, X: Any) -> Array | None:
        check_is_fitted(self)
        if not self.votes_:
            return None
        votes, weights = self._of_members(votes_of, X)
        return np.tensordot(weights, np.asarray(votes, dtype=float), axes=1)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata routing.

        Returns
        -------
        routing : MetadataRouter
            Routing with a key ``member0``, ``member1``, ... for each estimator.
        """
        router = MetadataRouter(owner=type(self).__name__)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for k, model in enumerate(self.estimators):
            router.add(**{f"member{k}": model}, method_mapping=mapping)
        if hasattr(self.cv, "get_metadata_routing"):
            mapping = MethodMapping().add(caller="fit", callee="split")
            router.add(splitter=get_routing_for_object(self.cv), method_mapping=mapping)
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimators:
            every = [get_tags(model) for model in self.estimators]
            for name in ("sparse", "allow_nan", "string", "categorical"):
                has = all(getattr(its.input_tags, name) for its in every)
                setattr(tags.input_tags, name, has)
            # All members predict from the columns that one of them requires.
            tags.input_tags.pairwise = any(its.input_tags.pairwise for its in every)
            several = all(its.target_tags.multi_output for its in every)
            tags.target_tags.multi_output = several
        return tags


def _fit_member(model: Any, X: Any, y: Any, train: Any, params: dict) -> Any:
    model = clone(model)
    if train is None:
        return model.fit(X, y, **params)
    cut = compat.check_fit_params(X, params, train)
    return model.fit(*compat.safe_split(model, X, y, train), **cut)


class WeightedEnsembleClassifier(ClassifierAverages, _WeightedEnsemble):
    """Classifier that averages the predictions of its members with weights.

    It is the ``best_estimator_`` of a search with ``refit="ensemble"``. Members are
    different configurations, or models of different classes.

    Probabilities are averaged if all members have `predict_proba`. Otherwise, decision
    values or votes are averaged, and the ensemble has no `predict_proba`. If `predict`
    of a member does not choose the class with the greatest of these outputs, such as
    with a decision threshold, `predict` of the ensemble is a vote of the members.

    Parameters
    ----------
    estimators : list of estimators
        Members, all with the same methods for predictions.
    weights : array-like of shape (n_estimators,), default=None
        Weights of the members, 0 or more. None for equal weights.
    cv : int, splitter, iterable or None, default=None
        With None, all members are fitted on all rows. Otherwise, each member is fitted
        on the training set of one split, in their order. After the last split, the
        first one is used again.
    n_jobs : int or None, default=None
        Number of members that are fitted at the same time, and number of threads for
        predictions.

    Attributes
    ----------
    estimators_ : list of estimators
        Fitted members.
    weights_ : ndarray of shape (n_estimators,)
        Weights of the members, whose sum is 1.
    classes_ : ndarray of shape (n_classes,) or list of ndarray
        Classes, or the classes of each label.
    response_method_ : str
        Method of the members whose outputs are averaged.
    votes_ : bool
        Whether `predict` is a vote of the members.
    lists_labels_ : bool
        Whether `predict_proba` returns a list with an array per label, as it does for
        the members, such as trees.
    target_ : object
        Form of the target.
    n_features_in_ : int
        Number of features, if the members have this attribute.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if the members have them.

    See Also
    --------
    WeightedEnsembleRegressor : The same for regression.
    sklearn.ensemble.VotingClassifier : Ensemble of named estimators.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skbayes.search import WeightedEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [GaussianNB(), KNeighborsClassifier()]
    >>> ensemble = WeightedEnsembleClassifier(members, weights=[1, 3]).fit(X, y)
    >>> ensemble.weights_
    array([0.25, 0.75])
    >>> ensemble.predict_proba(X[:1]).round(3)
    array([[1., 0., 0.]])
    """


class WeightedEnsembleRegressor(RegressorAverages, _WeightedEnsemble):
    """Regressor that averages the predictions of its members with weights.

    It is the ``best_estimator_`` of a search with ``refit="ensemble"``.

    Parameters
    ----------
    estimators : list of estimators
        Members.
    weights : array-like of shape (n_estimators,), default=None
        Weights of the members, 0 or more. None for equal weights.
    cv : int, splitter, iterable or None, default=None
        With None, all members are fitted on all rows. Otherwise, each member is fitted
        on the training set of one split, in their order. After the last split, the
        first one is used again.
    n_jobs : int or None, default=None
        Number of members that are fitted at the same time, and number of threads for
        predictions.

    Attributes
    ----------
    estimators_ : list of estimators
        Fitted members.
    weights_ : ndarray of shape (n_estimators,)
        Weights of the members, whose sum is 1.
    response_method_ : str
        Method of the members whose outputs are averaged, "predict".
    target_ : object
        Form of the target.
    n_features_in_ : int
        Number of features, if the members have this attribute.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if the members have them.

    See Also
    --------
    WeightedEnsembleClassifier : The same for classification.
    sklearn.ensemble.VotingRegressor : Ensemble of named estimators.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from skbayes.search import WeightedEnsembleRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> members = [LinearRegression(), KNeighborsRegressor()]
    >>> ensemble = WeightedEnsembleRegressor(members, weights=[3, 1]).fit(X, y)
    >>> ensemble.predict(X[:2]).shape
    (2,)
    """
