"""Predictions in a form that can be averaged, and estimators that return averages."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    is_classifier,
    is_regressor,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target

from skbayes.trial.fast_metrics import Target as Target

Array = np.ndarray

# Methods of classifiers whose outputs are averaged, the preferred one first.
CLASSIFIER_METHODS = ("predict_proba", "decision_function", "predict")


def check_averaging(estimator: Any, y: Any, name: str) -> None:
    """Raise ValueError if predictions for such targets cannot be averaged."""
    kind = type(estimator).__name__
    if y is None or not (is_classifier(estimator) or is_regressor(estimator)):
        raise ValueError(
            f"{name} averages the predictions of classifiers and regressors; {kind} is "
            "neither, or there is no y. Use refit=True."
        )
    if is_classifier(estimator) and type_of_target(y) == "multiclass-multioutput":
        raise ValueError(
            f"{name} is not possible for several targets with more than two classes. "
            "Use refit=True."
        )
    if is_classifier(estimator) and type_of_target(y) == "multilabel-indicator":
        values = np.unique(y.data if hasattr(y, "toarray") else np.asarray(y))
        if not np.isin(values, (0, 1)).all():
            raise ValueError(
                f"{name} with several labels is possible if each is 0 or 1, got "
                f"{values.tolist()}. Use refit=True."
            )


@dataclass
class Response:
    """Outputs (n_rows, n_columns) of a method of an estimator, with their costs.

    There are columns for all classes. The labels that a classifier predicts have one
    column per class with ones and zeros. They are the `votes`, which are None if the
    outputs imply them. `seconds` and `size` are the time of the method, and the bytes
    of the estimator, NaN if it is not measured.
    """

    method: str
    values: Array
    votes: Array | None = None
    seconds: float = 0.0
    size: float = math.nan


def respond(estimator: Any, X: Any, target: Target) -> Response:
    """Return the predictions of a fitted estimator.

    A class that is missing in its training set has probability 0, and the smallest
    decision value of the row.
    """
    begin = time.perf_counter()
    if not is_classifier(estimator):
        values = np.asarray(estimator.predict(X))
        response = Response("predict", values.reshape(len(values), -1))
        response.seconds = time.perf_counter() - begin
        return response
    for method in CLASSIFIER_METHODS:
        if hasattr(estimator, method):
            output = getattr(estimator, method)(X)
            columns = _columns(estimator, method, output, target)
            if columns is not None:
                seconds = time.perf_counter() - begin
                return Response(method, columns, seconds=seconds)
    raise ValueError(f"{type(estimator).__name__} has no predictions to average.")


def respond_and_vote(estimator: Any, X: Any, target: Target) -> Response:
    """Return the predictions of a fitted estimator, with its votes if they differ."""
    response = respond(estimator, X, target)
    if is_classifier(estimator) and response.method != "predict":
        votes = votes_of(estimator, X, target)
        implied = implied_votes(response.values, response.method, target)
        response.votes = None if np.array_equal(votes, implied) else votes
    return response


def votes_of(estimator: Any, X: Any, target: Target) -> Array:
    """Return the labels that a classifier predicts, as ones and zeros."""
    votes = _columns(estimator, "predict", estimator.predict(X), target)
    assert votes is not None
    return votes


def implied_votes(values: Array, method: str, target: Target) -> Array:
    """Return the labels that the outputs of a method imply, as ones and zeros."""
    decided = decide(values, method, target)
    if target.classes is None:
        return np.asarray(decided)
    return decided[:, None] == target.classes


def decide(values: Array, method: str, target: Target) -> Array:
    """Return the classes with the greatest outputs of a method, or the labels."""
    limit = 0.0 if method == "decision_function" else 0.5
    classes = target.classes
    if classes is None:
        return (values > limit).astype(int)
    if values.shape[1] == 1 and len(classes) == 2:
        return classes[(values[:, 0] > limit).astype(int)]
    return classes[np.argmax(values, axis=1)]


def _columns(estimator: Any, method: str, output: Any, target: Target) -> Array | None:
    """Return the output of a classifier with one column per class or label."""
    if target.n_outputs:
        if isinstance(output, list):  # one array of probabilities per label
            parts = zip(output, estimator.classes_, strict=True)
            # A label is 0 or 1; one of them may be missing.
            return np.column_stack([p @ (np.asarray(k) == 1) for p, k in parts])
        if hasattr(output, "toarray"):
            output = output.toarray()
        return np.asarray(output)
    assert target.classes is not None
    values, classes = np.asarray(output), target.classes
    own = getattr(estimator, "classes_", classes)
    if method == "predict":
        return values.reshape(-1, 1) == classes
    if values.ndim == 1:
        # Decision values of two classes, of which the second is the positive one.
        if len(classes) <= 2:
            return values[:, None]
        values = np.column_stack([-values, values])
    is_decision = method == "decision_function"
    if values.shape[1] != len(own) or (is_decision and _is_one_vs_one(estimator)):
        return None
    if len(own) == len(classes):
        return values
    missing = 0.0 if method == "predict_proba" else values.min(axis=1, keepdims=True)
    aligned = np.full((len(values), len(classes)), missing, dtype=float)
    aligned[:, np.searchsorted(classes, own)] = values
    return aligned


def _is_one_vs_one(estimator: Any) -> bool:
    """Return whether there is a decision value for each pair of classes."""
    params = estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}
    shape = "decision_function_shape"
    return any(k.endswith(shape) and v == "ovo" for k, v in params.items())


def _has(*methods: str) -> Any:
    return available_if(lambda self: getattr(self, "response_method_", "") in methods)


class Averages(BaseEstimator):
    """Estimator that predicts averages of predictions.

    Subclasses define the methods, and set `target_` and `response_method_`. If
    `lists_labels_`, probabilities are a list with an array per label.
    """

    target_: Target
    response_method_: str
    lists_labels_ = False

    def _average(self, X: Any) -> Array:
        """Return the average of shape (n_rows, n_columns)."""
        raise NotImplementedError

    def _vote(self, X: Any) -> Array | None:
        """Return the average of the votes; None if the other average implies them."""
        raise NotImplementedError


class RegressorAverages(RegressorMixin, Averages):
    """Regressor that predicts averages."""

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


class ClassifierAverages(ClassifierMixin, Averages):
    """Classifier that predicts from averages."""

    def predict(self, X: Any) -> Array:
        """Predict classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Classes with the greatest average or most votes, or labels.
        """
        votes = self._vote(X)
        if votes is not None:
            return decide(votes, "predict", self.target_)
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


def mean_response(
    responses: Sequence[Response], weights: Iterable[float], target: Target
) -> Array:
    """Return the mean of responses with weights that sum to 1.

    That of several is of double precision. A single one is returned as it is.
    """
    if len(responses) == 1:
        return responses[0].values
    mean = np.zeros(responses[0].values.shape)
    for response, weight in zip(responses, weights, strict=True):
        mean += weight * response.values
    if responses[0].method == "predict_proba" and target.classes is not None:
        mean /= mean.sum(axis=1, keepdims=True)  # members may have single precision
    return mean


def mean_votes(
    responses: Sequence[Response], weights: Iterable[float], target: Target
) -> Array:
    """Return the mean of the votes of responses with weights that sum to 1."""
    mean = np.zeros(1)
    for response, weight in zip(responses, weights, strict=True):
        votes = response.votes
        if votes is None:
            votes = implied_votes(response.values, response.method, target)
        mean = mean + weight * votes
    return mean
