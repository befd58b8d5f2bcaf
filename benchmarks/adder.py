"""Estimator that reads all of its input and stores one number."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, RegressorMixin

__all__ = ["Adder"]


class Adder(RegressorMixin, BaseEstimator):
    """Estimator that adds up the training set; its score depends on `x` alone."""

    def __init__(self, x: float = 0.0) -> None:
        self.x = x

    def fit(self, X: Any, y: Any = None) -> Adder:
        """Store the sum of the training set."""
        self.sum_ = float(X.sum())
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Return a score with its maximum at x = 0.3."""
        return -((self.x - 0.3) ** 2)
