"""An estimator that reads all of its input and keeps one number."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, RegressorMixin

__all__ = ["Adder"]


class Adder(RegressorMixin, BaseEstimator):
    """Adds up the training set; its score is that of `x` alone."""

    def __init__(self, x: float = 0.0) -> None:
        self.x = x

    def fit(self, X: Any, y: Any = None) -> Adder:
        """Add up."""
        self.sum_ = float(X.sum())
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Best at x = 0.3."""
        return -((self.x - 0.3) ** 2)
