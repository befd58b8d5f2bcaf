"""Predictions in a form that can be averaged."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.multiclass import type_of_target

from skbayes.trial.fast_metrics import Target
from skbayes.trial.measure import model_size
from skbayes.trial.outputs import Outputs

Array = np.ndarray


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

    There are columns for all classes, labels or targets. `implies_predict` says whether
    `predict` returns the output of `decide`. `seconds` is the time of the method, and
    `size` the bytes of the estimator, NaN if it cannot be pickled.
    """

    method: str
    values: Array
    implies_predict: bool
    seconds: float
    size: float


def method_of(estimator: Any, target: Target) -> str:
    """Return the method of an estimator whose outputs are averaged."""
    if not is_classifier(estimator):
        return "predict"
    if hasattr(estimator, "predict_proba"):
        return "predict_proba"
    is_binary = target.classes is None or len(target.classes) <= 2
    if hasattr(estimator, "decision_function"):
        if is_binary or not _is_one_vs_one(estimator):
            return "decision_function"
    return "predict"


def outputs_of(estimator: Any, X: Any, target: Target) -> Array:
    """Return the outputs of a fitted estimator, with columns for all classes.

    A class that is missing in the training set has probability 0, and the smallest
    decision value of the row. Predicted classes become ones and zeros.
    """
    method = method_of(estimator, target)
    output, classes = getattr(estimator, method)(X), target.classes
    if isinstance(output, list):  # one array of probabilities per label
        parts = zip(output, estimator.classes_, strict=True)
        # A label is 0 or 1; one of them may be missing.
        return np.column_stack([p @ (np.asarray(k) == 1) for p, k in parts])
    values = np.asarray(output.toarray() if hasattr(output, "toarray") else output)
    if classes is None:
        return values.reshape(len(values), -1)
    if method == "predict":
        return (values.reshape(-1, 1) == classes).astype(float)
    fitted_classes: Array = getattr(estimator, "classes_", classes)
    if values.ndim == 1 and len(classes) > 2:
        # Decision values of two classes, of which the second is the positive one.
        values = np.column_stack([-values, values])
    values = values.reshape(len(values), -1)
    if len(fitted_classes) == len(classes):
        return values
    is_proba = method == "predict_proba"
    missing = 0.0 if is_proba else values.min(axis=1, keepdims=True)
    aligned = np.full((len(values), len(classes)), missing, dtype=float)
    aligned[:, np.searchsorted(classes, fitted_classes)] = values
    return aligned


def mean_outputs(
    outputs: Sequence[Array], weights: Any, method: str, target: Target
) -> Array:
    """Return the weighted mean of outputs; a single output is returned unchanged."""
    if len(outputs) == 1:
        return outputs[0]
    mean = np.average(np.asarray(outputs, dtype=float), axis=0, weights=weights)
    if method == "predict_proba" and target.classes is not None:
        mean /= mean.sum(axis=1, keepdims=True)  # members may have single precision
    return mean


def measured_response(estimator: Any, X: Any, target: Target) -> Response:
    """Return the outputs of a fitted estimator, with their costs."""
    begin = time.perf_counter()
    values, method = outputs_of(estimator, X, target), method_of(estimator, target)
    seconds, size, implies_predict = time.perf_counter() - begin, math.nan, True
    if method != "predict":
        predicted = estimator.predict(X)
        if hasattr(predicted, "toarray"):
            predicted = predicted.toarray()
        decided = decide(values, method, target)
        implies_predict = np.array_equal(
            np.asarray(predicted).reshape(decided.shape), decided
        )
    with contextlib.suppress(Exception):  # it may be impossible to pickle
        size = float(model_size(estimator))
    return Response(method, values, implies_predict, seconds, size)


def methods_of(values: Array, method: str, target: Target, classifies: bool) -> Outputs:
    """Return the methods of an estimator with these outputs."""
    single = values[:, 0] if values.shape[1] == 1 and not target.n_outputs else values
    outputs = {method: lambda: single}
    if classifies:
        outputs["predict"] = lambda: decide(values, method, target)
    return outputs


def decide(values: Array, method: str, target: Target) -> Array:
    """Return the classes with the greatest outputs of a method, or the labels."""
    limit = 0.0 if method == "decision_function" else 0.5
    classes = target.classes
    if classes is None:
        return (values > limit).astype(int)
    if values.shape[1] == 1 and len(classes) == 2:
        return classes[(values[:, 0] > limit).astype(int)]
    return classes[np.argmax(values, axis=1)]


def _is_one_vs_one(estimator: Any) -> bool:
    """Return whether there is a decision value for each pair of classes."""
    params = estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}
    shape = "decision_function_shape"
    return any(k.endswith(shape) and v == "ovo" for k, v in params.items())
