"""Fitted estimators after some of their rounds, for scorers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier

__all__ = ["StagedEstimator", "classifier_outputs", "stage_of"]

# Prediction methods of an estimator, each as a function without arguments.
Outputs = Mapping[str, Callable[[], Any]]


class StagedEstimator(BaseEstimator):
    """Fitted estimator with known predictions on the rows `X`, by method name."""

    def __init__(self, X: Any, outputs: Outputs, classes: Any = None) -> None:
        self.X, self.outputs, self.classes = X, outputs, classes
        if classes is not None:
            self.classes_ = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        outputs = self.__dict__.get("outputs", {})
        if name not in outputs:
            raise AttributeError(
                f"rounds: scorers can only use predictions, not {name!r}."
            )

        def method(X: Any, *args: Any, **kwargs: Any) -> Any:
            if X is not self.X:
                raise ValueError(
                    "rounds: scorers can only predict the rows that they receive."
                )
            return outputs[name]()

        method.__name__ = name  # scorers cache predictions by name
        return method


class _StagedClassifier(ClassifierMixin, StagedEstimator):
    """Classifier after some of its rounds."""


class _StagedRegressor(RegressorMixin, StagedEstimator):
    """Regressor after some of its rounds."""


def stage_of(model: Any, X: Any, outputs: Outputs, classes: Any) -> StagedEstimator:
    """Return an estimator with known predictions; `classes` is None for a regressor."""
    kind = _StagedClassifier if is_classifier(model) else _StagedRegressor
    return kind(X, outputs, classes)


def classifier_outputs(
    classes: np.ndarray, proba: np.ndarray, raw: np.ndarray | None = None
) -> Outputs:
    """Return the outputs of a classifier with probabilities of shape (n, n_classes)."""
    outputs: dict[str, Callable[[], Any]] = {
        "predict_proba": lambda: proba,
        "predict": lambda: classes.take(np.argmax(proba, axis=1)),
        "predict_log_proba": lambda: _log(proba),
    }
    if raw is not None:
        outputs["decision_function"] = lambda: raw
    return outputs


def _log(proba: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(proba)


def probabilities(raw: np.ndarray, factor: float = 1.0) -> np.ndarray:
    """Convert raw scores to probabilities: logistic for (n,), softmax for (n, k)."""
    if raw.ndim == 2:
        return softmax(raw, axis=1)
    positive = expit(factor * raw)
    return np.column_stack([1.0 - positive, positive])
