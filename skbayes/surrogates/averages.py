"""What a surrogate believes of the mean of many scores."""

from __future__ import annotations

from typing import Any

from skbayes.surrogates.gp.kernels import FloatArray

__all__ = ["posterior_of_mean"]


def posterior_of_mean(
    surrogate: Any, X: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of a weighted mean of scores.

    Parameters
    ----------
    surrogate : object
        Fitted. Our own have a method ``average``; of one that has none it is not known
        how its errors go together, and they are taken to go together fully: the
        standard deviation is then an upper bound, the weighted mean of all.
    X : ndarray of shape (m, D)
        Encoded configurations.
    weights : ndarray of shape (m,)
        Their weights, >= 0, which sum to 1.

    Returns
    -------
    mean, sd : ndarray of shape (S,)
        Prediction under each sample of the surrogate's hyper-parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.surrogates import GaussianProcess
    >>> from skbayes.surrogates.averages import posterior_of_mean
    >>> X = np.array([[0.0], [0.4], [1.0]])
    >>> model = GaussianProcess(n_samples=0).fit(X, np.array([0.0, 1.0, 0.5]))
    >>> mean, sd = posterior_of_mean(model, X, np.full(3, 1 / 3))
    >>> bool(sd[0] < model.predict(X)[1].mean())
    True
    """
    if hasattr(surrogate, "average"):
        return surrogate.average(X, weights)
    mean, sd = surrogate.predict(X)
    return mean @ weights, sd @ weights
