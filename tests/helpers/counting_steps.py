"""Transformers that record the numbers of their fits and transforms."""

import contextlib
import os

import numpy as np
import pytest
from simple_estimators import Unknown
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

STEPS = "skbayes.options.shared_steps"


@contextlib.contextmanager
def sharing(shares=True, of_any_class=False):
    """Share steps, however fast, or none; this applies to the fits of this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{STEPS}.aspect.LEAST_SECONDS", 0.0)
        if of_any_class:
            patch.setattr(f"{STEPS}.steps._is_known", lambda value: True)
        if not shares:
            patch.setattr(f"{STEPS}.aspect.leading_steps", lambda *args: [])
        yield


class CountingScaler(StandardScaler):
    """Scaler that adds a letter to a file with each call."""

    def __init__(self, log=None, *, copy=True, with_mean=True, with_std=True):
        super().__init__(copy=copy, with_mean=with_mean, with_std=with_std)
        self.log = log

    def fit(self, X, y=None, sample_weight=None):
        note(self.log, "f")
        return super().fit(X, y, sample_weight)

    def transform(self, X, copy=None):
        note(self.log, "t")
        return super().transform(X, copy)


class WritingStep(Unknown):
    """Transformer that changes its input in place."""

    def transform(self, X):
        X += 1.0
        return X


def note(path, letter):
    """Append one letter; several processes may do it at once."""
    descriptor = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    try:
        os.write(descriptor, letter.encode())
    finally:
        os.close(descriptor)


def count(path, letter):
    """Count the letters in a file."""
    return path.read_text().count(letter) if path.exists() else 0


class Meters(np.ndarray):
    """Array with an attribute that its pickle does not contain."""

    def __array_finalize__(self, other):
        self.unit = getattr(other, "unit", None)


class MetersStep(Unknown):
    """Transformer that returns arrays with an attribute."""

    def transform(self, X):
        lengths = np.asarray(X).view(Meters)
        lengths.unit = "m"
        return lengths


class MetersModel(GaussianNB):
    """Classifier that needs the attribute."""

    def fit(self, X, y):
        assert X.unit == "m"
        return super().fit(X, y)


def arguments_of_selectors(estimator):
    """Return what transformers of scikit-learn without defaults need, by name."""
    names = ("RFE", "RFECV", "SelectFromModel", "SequentialFeatureSelector")
    return {**dict.fromkeys(names, [estimator]), "SparseCoder": [np.eye(4)]}
