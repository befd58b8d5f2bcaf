"""Surrogate that also learns from trials at lower fidelities.

Symbols: n scores at the fidelity in question, m earlier ones at other fidelities, D
columns.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.base import Surrogate, known_means, posterior_of_mean
from skbayes.surrogates.registry import capability

__all__ = ["MultiFidelity"]


class MultiFidelity(Surrogate):
    """A surrogate with the fidelity of a score as one more input.

    What was seen at other fidelities (on smaller training sets) is kept, and each fit
    learns from all of it: the model's hyper-parameters of the fidelity, such as its
    length scale, determine how much scores at other fidelities count.

    Parameters
    ----------
    surrogate : object
        Any surrogate whose inputs are columns of numbers, such as
        :class:`~skbayes.surrogates.GaussianProcess`; it is copied. If it has
        `n_options`, they are those of the D columns, or None.
    X : ndarray of shape (m, D)
        Configurations seen at other fidelities, encoded.
    y : ndarray of shape (m,)
        Their scores, finite.
    fidelities : ndarray of shape (m,)
        Those of the scores, in [0, 1].
    fidelity : float, default=1.0
        That of the scores which are learned and predicted, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.surrogates import GaussianProcess
    >>> from skbayes.surrogates.multi_fidelity import MultiFidelity
    >>> X = np.linspace(0, 1, 9)[:, None]
    >>> cheap = np.sin(6 * X[:, 0])
    >>> model = MultiFidelity(GaussianProcess(n_samples=0), X, cheap, np.full(9, 0.5))
    >>> known = np.linspace(0, 1, 4)[:, None]
    >>> model = model.fit(known, np.sin(6 * known[:, 0]) + 0.1)
    >>> mean, sd = model.predict(X)
    >>> bool(np.max(np.abs(mean - cheap - 0.1)) < 0.05)
    True
    """

    def __init__(
        self,
        surrogate: Any,
        X: FloatArray,
        y: FloatArray,
        fidelities: FloatArray,
        fidelity: float = 1.0,
    ) -> None:
        self.surrogate = copy.deepcopy(surrogate)
        self._earlier = np.column_stack([X, fidelities])
        self._y = np.asarray(y, dtype=np.float64)
        self.fidelity = fidelity
        if getattr(self.surrogate, "n_options", None) is not None:
            self.surrogate.n_options = [*self.surrogate.n_options, 0]
        self.has_gradients = capability(self.surrogate, "has_gradients")
        self.takes_noise = capability(self.surrogate, "takes_noise")

    def fit(
        self, X: FloatArray, y: FloatArray, noise: FloatArray | None = None
    ) -> MultiFidelity:
        """Learn from scores, and from those at other fidelities."""
        more = {}
        if noise is not None:
            more["noise"] = np.concatenate([noise, np.zeros(len(self._y))])
        # Those of this fidelity first: of many scores a Gaussian process learns its
        # hyper-parameters from the first ones.
        self.surrogate = self.surrogate.fit(
            np.vstack([self._widened(X), self._earlier]),
            np.concatenate([y, self._y]),
            **more,
        )
        return self

    def condition(self, X: FloatArray) -> MultiFidelity:
        """Model that also knows that `X` will be observed."""
        model = copy.copy(self)
        model.surrogate = self.surrogate.condition(self._widened(X))
        return model

    def predict(self, X: FloatArray, gradient: bool = False) -> tuple[FloatArray, ...]:
        """Mean and standard deviation at the fidelity in question."""
        mean, sd, *derivatives = self.surrogate.predict(
            self._widened(X), **({"gradient": True} if gradient else {})
        )
        return mean, sd, *(one[..., :-1] for one in derivatives)

    def known_means(self, X: FloatArray) -> FloatArray:
        """Mean at configurations of the fidelity in question that it has learned."""
        return known_means(self.surrogate, self._widened(X))

    def average(
        self, X: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of a weighted mean of scores."""
        return posterior_of_mean(self.surrogate, self._widened(X), weights)

    def _widened(self, X: FloatArray) -> FloatArray:
        return np.column_stack([X, np.full(len(X), self.fidelity)])
