"""
A custom neural network
=======================

Every class with scikit-learn's interface can be tuned, such as the wrappers of skorch
and Keras, or a custom class. This example tunes a small network written in NumPy.
"""

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits

from skbayes import BayesSearchCV
from skbayes.inspection import ConvergenceDisplay

X, y = load_digits(return_X_y=True)
X, y = X[::2] / 4, y[::2]

# %%
# Define the network
# ------------------
#
# The network has one hidden layer, and is trained on batches of 25 rows.
# ``BaseEstimator`` provides ``get_params`` and ``set_params``.


class Network(ClassifierMixin, BaseEstimator):
    """One hidden layer of rectified linear units."""

    def __init__(self, n_hidden=16, rate=0.01, max_iter=40):
        self.n_hidden, self.rate, self.max_iter = n_hidden, rate, max_iter

    def fit(self, X, y):
        """Train for all epochs."""
        rng, self.classes_ = np.random.default_rng(0), np.unique(y)
        sizes = (X.shape[1], self.n_hidden), (self.n_hidden, len(self.classes_))
        self.weights_ = [rng.normal(0, size[0] ** -0.5, size) for size in sizes]
        first, second = self.weights_
        batches = np.array_split(np.arange(len(X)), len(X) // 25)
        for rows in batches * self.max_iter:
            hidden = np.maximum(X[rows] @ first, 0)
            error = self.predict_proba(X[rows]) - (y[rows, None] == self.classes_)
            gradient = X[rows].T @ ((error @ second.T) * (hidden > 0))
            second -= self.rate / len(rows) * hidden.T @ error
            first -= self.rate / len(rows) * gradient
        return self

    def predict_proba(self, X):
        """Return the probabilities of the classes."""
        output = np.maximum(X @ self.weights_[0], 0) @ self.weights_[1]
        return softmax(output, axis=1)

    def predict(self, X):
        """Return the most probable class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


# %%
# Tune the network
# ----------------
#
# The number of epochs is a dimension of the search space.
space = {"n_hidden": (4, 64), "rate": (1e-3, 0.3, "log-uniform"), "max_iter": (5, 40)}
common = {"scoring": "neg_log_loss", "cv": 3, "random_state": 0}
search = BayesSearchCV(Network(), space, n_iter=12, **common).fit(X, y)
print(f"log loss {-search.best_score_:.3f} with {search.best_params_}")

# %%
# Draw the convergence
# --------------------
ConvergenceDisplay.from_search(search).figure_.suptitle("Log loss of the network")
