"""Classifier whose fits fail for small values of C; workers import it."""

from sklearn.svm import SVC


class Picky(SVC):
    """Classifier whose fits fail for small values of C."""

    def fit(self, X, y, sample_weight=None):
        if self.C < 0.5:
            raise ValueError("C is too small")
        return super().fit(X, y)
