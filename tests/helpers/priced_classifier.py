"""Importable classifier whose score and cost are functions of its parameters."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Priced(ClassifierMixin, BaseEstimator):
    """Classifier that is best at x = 0.6 with many rows; it costs rows × (0.1 + x)."""

    def __init__(self, x=0.5, fails_above=np.inf):
        self.x = x
        self.fails_above = fails_above

    def fit(self, X, y, sample_weight=None):
        if self.x > self.fails_above:
            raise ValueError("too much")
        self.classes_ = np.unique(y)
        self.rows_ = np.asarray(X)[:, 0].astype(int)
        self.weight_ = sample_weight
        self.cost_ = len(self.rows_) * (0.1 + self.x)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y, sample_weight=None):
        return 0.95 - (self.x - 0.6) ** 2 - 2.0 / len(self.rows_)


def price(estimator):
    return estimator.cost_
