"""Estimator whose parameters are arbitrary texts, and which fails for some of them."""

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

#: Text that would break a page without escapes.
SCRIPT = "<script>window.pwned = 1</script>"
IMAGE = "\"><img src=x onerror='window.pwned = 2'>"


class Odd(ClassifierMixin, BaseEstimator):
    def __init__(self, text="plain", smoothing=1e-9):
        self.text = text
        self.smoothing = smoothing

    def fit(self, X, y):
        if self.text == IMAGE:
            raise ValueError(f"no fit for {self.text} & <b>bold</b>")
        self.model_ = GaussianNB(var_smoothing=self.smoothing).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)
