"""Ensembles that average the predictions of their members with weights."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
    is_classifier,
)
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skbayes import compat
from skbayes.options.ensembles.responses import (
    Array,
    check_averaging,
    decide,
    mean_outputs,
    method_of,
    outputs_of,
)
from skbayes.trial.fast_metrics import Target
from skbayes.utils.autologging import without_autologging


def _has(method: str) -> Any:
    return available_if(lambda self: getattr(self, "response_method_", "") == method)


class _WeightedEnsemble(MetaEstimatorMixin, BaseEstimator):
    """Average of the predictions of several estimators."""

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "estimators": [list],
        "weights": ["array-like", None],
        "cv": ["cv_object"],
    }

    def __init__(
        self, estimators: Sequence[Any], weights: Any = None, *, cv: Any = None
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.cv = cv

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
            Arguments of the `fit` of all members, such as `sample_weight`. `groups` is
            passed to the splitter.

        Returns
        -------
        self : object
            Fitted ensemble.

        Raises
        ------
        ValueError
            If there are no members, if the weights are not numbers of at least 0, or
            if the predictions for such targets cannot be averaged.
        """
        n = len(self.estimators)
        weights = np.ones(n) if self.weights is None else np.asarray(self.weights)
        is_valid = n > 0 and weights.shape == (n,) and bool(np.all(weights >= 0.0))
        if not is_valid or not 0.0 < weights.sum() < np.inf:
            raise ValueError(
                "estimators must not be empty, and weights must be None or a number "
                f">= 0 for each of {n} estimators, not all 0, got {self.weights!r}."
            )
        X, y = indexable(X, y)
        groups = params.pop("groups", None)
        rows: list[Any] = [None]
        if self.cv is not None:
            splitter = check_cv(self.cv, y, classifier=is_classifier(self))
            rows = [train for train, _ in splitter.split(X, y, groups)]
        with without_autologging():
            self.estimators_ = [
                _fitted(model, X, y, train, params)
                for model, train in zip(
                    self.estimators, itertools.cycle(rows), strict=False
                )
            ]
        check_averaging(self, y, type(self).__name__)
        self.weights_, self.target_ = weights / weights.sum(), Target.of(self, y)
        if is_classifier(self):
            self.classes_ = self.target_.classes_of_columns
        first = self.estimators_[0]
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
        methods = {method_of(model, self.target_) for model in self.estimators_}
        if len(methods) > 1:
            raise ValueError(
                "estimators must all have the same one of the methods predict_proba, "
                f"decision_function and predict, got {', '.join(sorted(methods))}."
            )
        (self.response_method_,) = methods
        self.lists_labels_ = False
        if self.target_.n_outputs and self.response_method_ == "predict_proba":
            row, _ = compat.safe_split(self, X, None, [0])
            self.lists_labels_ = isinstance(first.predict_proba(row), list)
        return self

    def _average(self, X: Any) -> Array:
        check_is_fitted(self)
        outputs = [outputs_of(model, X, self.target_) for model in self.estimators_]
        return mean_outputs(outputs, self.weights_, self.response_method_, self.target_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimators:
            members = list(map(get_tags, self.estimators))
            for name in ("sparse", "allow_nan", "string", "categorical"):
                accepts = all(getattr(member.input_tags, name) for member in members)
                setattr(tags.input_tags, name, accepts)
            several = all(member.target_tags.multi_output for member in members)
            tags.target_tags.multi_output = several
        return tags


def _fitted(model: Any, X: Any, y: Any, train: Any, params: dict) -> Any:
    """Return a fitted clone, on the rows of a training set if there is one."""
    model = clone(model)
    if train is None:
        return model.fit(X, y, **params)
    params_of_rows = compat.check_fit_params(X, params, train)
    return model.fit(*compat.safe_split(model, X, y, train), **params_of_rows)


class WeightedEnsembleClassifier(ClassifierMixin, _WeightedEnsemble):
    """Classifier that averages the predictions of its members with weights.

    It is the ``best_estimator_`` of a search with ``refit="ensemble"``. Members are
    different configurations, or models of different classes.

    Probabilities are averaged if all members have `predict_proba`. Otherwise, decision
    values are averaged, or the predicted classes as ones and zeros, and the ensemble
    has no `predict_proba`. Its `predict` chooses the class with the greatest average.

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

    def predict(self, X: Any) -> Array:
        """Predict classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Classes with the greatest average, or labels.
        """
        return decide(self._average(X), self.response_method_, self.target_)

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> Array | list[Array]:
        """Return average probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes), or list of ndarray
            Probabilities of the classes, or of each label. A list of arrays of shape
            (n_samples, 2), one per label, if the members return such lists.
        """
        average = self._average(X)
        if self.lists_labels_:
            return [np.column_stack([1.0 - p, p]) for p in average.T]
        return average

    @_has("predict_proba")
    def predict_log_proba(self, X: Any) -> Array | list[Array]:
        """Return logarithms of average probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes), or list of ndarray
            Log-probabilities.
        """
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return list(map(np.log, proba)) if self.lists_labels_ else np.log(proba)

    @_has("decision_function")
    def decision_function(self, X: Any) -> Array:
        """Return average decision values, if the members have no probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Decision values.
        """
        values = self._average(X)
        return values[:, 0] if values.shape[1] == 1 else values


class WeightedEnsembleRegressor(RegressorMixin, _WeightedEnsemble):
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

    def predict(self, X: Any) -> Array:
        """Predict targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Average predictions.
        """
        values = self._average(X)
        return values if self.target_.n_outputs else values[:, 0]
