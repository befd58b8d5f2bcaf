"""Outputs of estimators after a round, and estimators that pass them to scorers.

*Outputs* are the prediction methods of an estimator for some rows, as functions without
arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

Outputs = Mapping[str, Callable[[], Any]]
# Function that returns the outputs after a round.
RoundOutputs = Callable[[], Outputs]


def classifier_outputs(
    classes: np.ndarray, proba: np.ndarray, raw: np.ndarray | None = None
) -> Outputs:
    """Return the outputs of a classifier with probabilities of shape (n, n_classes)."""

    def log_proba() -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(proba)

    outputs: dict[str, Callable[[], Any]] = {
        "predict_proba": lambda: proba,
        "predict": lambda: classes.take(np.argmax(proba, axis=1)),
        "predict_log_proba": log_proba,
    }
    return outputs if raw is None else {**outputs, "decision_function": lambda: raw}


def probabilities(raw: np.ndarray) -> np.ndarray:
    """Convert raw scores to probabilities: logistic for (n,), softmax for (n, k)."""
    if raw.ndim == 2:
        return softmax(raw, axis=1)
    positive = expit(raw)
    return np.column_stack([1.0 - positive, positive])


class StagedEstimator(BaseEstimator):
    """Fitted estimator with known outputs for the rows `X`."""

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
                "scoring: with early_stopping or refit='ensemble', a scorer can only "
                f"use predictions, not {name!r}. Use another scorer."
            )

        def method(X: Any, *args: Any, **kwargs: Any) -> Any:
            if X is not self.X:
                raise ValueError(
                    "scoring: with early_stopping or refit='ensemble', a scorer can "
                    "only predict the rows that it receives. Use another scorer."
                )
            return outputs[name]()

        method.__name__ = name  # scorers cache predictions by name
        return method


class StagedClassifier(ClassifierMixin, StagedEstimator):
    """Classifier after some of its rounds."""


class StagedRegressor(RegressorMixin, StagedEstimator):
    """Regressor after some of its rounds."""
