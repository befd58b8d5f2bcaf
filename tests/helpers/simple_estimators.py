"""Estimators whose score is a parameter.

Workers import this module, so it imports neither the searches nor other estimators.
"""

import os
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.tree import DecisionTreeClassifier


class Unknown(TransformerMixin, BaseEstimator):
    """Step of which no space is known, with a parameter."""

    def __init__(self, strength=1.0):
        self.strength = strength

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


class Sometimes(ClassifierMixin, BaseEstimator):
    """Classifier that predicts the first class, and may fail to fit.

    `bad` is None, "fit", "some" (fails on every second training set) or "params" (is
    rejected by `set_params`). Subclasses leave files in `folder`.
    """

    def __init__(self, quality=0.5, bad=None, folder=None):
        self.quality = quality
        self.bad = bad
        self.folder = folder

    def set_params(self, **params):
        if params.get("bad") == "params" and params.get("quality", 0) > 1:
            raise ValueError("quality and bad do not go together")
        return super().set_params(**params)

    def fit(self, X, y, sample_weight=None):
        if self.bad == "fit":
            raise RuntimeError("cannot be fitted")
        if self.bad == "some" and X[0][0] % 2:
            raise RuntimeError("cannot be fitted on this")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y, sample_weight=None):
        return float(self.quality)


class AnyNames(Sometimes):
    """Classifier with parameters of any name; its score is `quality`, if it has one."""

    def __init__(self, **params):
        self.params = params

    bad = None
    quality = property(lambda self: self.params.get("quality", 0.5))
    _get_param_names = classmethod(lambda cls: [])

    def get_params(self, deep=True):
        return dict(self.params)

    def set_params(self, **params):
        self.params.update(params)
        return self


class Noting(Sometimes):
    """Classifier that sleeps on a subset of the rows, and records begin and end.

    It sleeps for ten minutes if the folder contains a file called "slowly".
    """

    def fit(self, X, y):
        if len(X) < 150:
            mark = Path(self.folder) / f"{os.getpid()}-{time.monotonic_ns()}"
            mark.with_suffix(".begun").touch()
            if (Path(self.folder) / "slowly").exists():
                mark.with_suffix(".slow").touch()
                time.sleep(600)
            time.sleep(0.05)
            mark.with_suffix(".ended").touch()
        return super().fit(X, y)


class Slow(Sometimes):
    """Classifier that sleeps on a subset of the rows, but not on all 150."""

    def fit(self, X, y):
        if len(X) < 150:
            time.sleep(0.04)
        return super().fit(X, y)


def n_leaves(tree):
    """Return the number of leaves of a decision tree; importable by workers."""
    return tree.get_n_leaves()


class Sized(Sometimes):
    """Estimator that scores its number of training rows plus 0.4 × quality."""

    def fit(self, X, y):
        self.n_rows_ = len(X)
        return super().fit(X, y)

    def score(self, X, y, sample_weight=None):
        return self.n_rows_ + 0.4 * self.quality


class Growing(Sized):
    """Estimator whose best quality is the share of 100 rows in its training set."""

    def __init__(self, quality=0.5, bad=None, other=0.5):
        super().__init__(quality, bad)
        self.other = other

    def score(self, X, y, sample_weight=None):
        off = self.quality - self.n_rows_ / 120 - 0.01 * float(np.mean(X[:, 0]))
        return 1.0 - off**2 - 0.01 * self.other**2


class Whole(DecisionTreeClassifier):
    """Tree whose parameters are checked by an engine, without Python's checks."""

    def __init__(
        self, max_depth=None, share=1.0, kernel="a", min_samples_leaf=1, splitter="best"
    ):
        super().__init__(
            max_depth=max_depth, min_samples_leaf=min_samples_leaf, splitter=splitter
        )
        self.share = share
        self.kernel = kernel

    def fit(self, X, y, check_input=True):
        if isinstance(self.max_depth, float):
            raise RuntimeError(f"max_depth: expected an int, got {self.max_depth}")
        if self.share > 1.0:
            raise RuntimeError(f"share {self.share} exceeds 1")
        if self.kernel in "wxyz":
            raise RuntimeError(f"unknown kernel {self.kernel!r}")
        return super().fit(X, y)


class Unpicklable(DecisionTreeClassifier):
    """Tree whose fits cannot be pickled."""

    def fit(self, X, y, sample_weight=None, check_input=True):
        self.function_ = (row for row in X)
        return super().fit(X, y, sample_weight)


class Ballast(DecisionTreeClassifier):
    """Tree of any size, which sees all columns or only one."""

    def __init__(self, n_bytes=0, column=None, max_depth=None):
        super().__init__(max_depth=max_depth, random_state=0)
        self.n_bytes = n_bytes
        self.column = column

    def fit(self, X, y, check_input=True):
        self.ballast_ = np.zeros(self.n_bytes, dtype=np.uint8)
        return super().fit(self._seen(X), y)

    def predict_proba(self, X, check_input=True):
        return super().predict_proba(self._seen(X))

    def predict(self, X, check_input=True):
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def _seen(self, X):
        return X if self.column is None else X[:, [self.column]]


def both(estimator, X, y):
    """Score by two metrics."""
    return {"a": estimator.score(X, y), "b": 1.0}
