"""Surrogate that uses scores at other fidelities."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.registry import capability
from skbayes.surrogates.surrogate import (
    Surrogate,
    known_means,
    posterior_of_mean,
    predict,
)


class MultiFidelity(Surrogate):
    """Surrogate with the fidelity of a score as an additional input.

    Each fit also uses the scores `y` (m,) of the configurations `X` (m, D) at other
    `fidelities` (m,) in [0, 1], for example on smaller training sets. Scores are
    observed and predicted at the target `fidelity`. The surrogate's hyper-parameters of
    the fidelity, such as its length scale, determine the influence of scores at other
    fidelities. The surrogate is copied. Its attribute `n_options` must describe the D
    columns, or be None.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.surrogates import GaussianProcess
    >>> from skbayes.stages.fidelity import MultiFidelity
    >>> X = np.linspace(0, 1, 9)[:, None]
    >>> cheap = np.sin(6 * X[:, 0])
    >>> model = MultiFidelity(GaussianProcess(n_samples=0), X, cheap, np.full(9, 0.5))
    >>> known = np.linspace(0, 1, 4)[:, None]
    >>> model = model.fit(known, np.sin(6 * known[:, 0]) + 0.1)
    >>> mean, sd = model.predict(X)
    >>> (mean - cheap).round(1)
    array([[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]])
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
        """Fit the surrogate to scores, together with those at other fidelities."""
        options = {}
        if noise is not None:
            options["noise"] = np.concatenate([noise, np.zeros(len(self._y))])
        # Scores at the target fidelity come first: with many scores, a Gaussian process
        # learns its hyper-parameters from the first ones.
        self.surrogate = self.surrogate.fit(
            np.vstack([self._widened(X), self._earlier]),
            np.concatenate([y, self._y]),
            **options,
        )
        return self

    def condition(self, X: FloatArray) -> MultiFidelity:
        """Return a surrogate conditioned on pending configurations `X`."""
        model = copy.copy(self)
        model.surrogate = self.surrogate.condition(self._widened(X))
        return model

    def predict(self, X: FloatArray, gradient: bool = False) -> tuple[FloatArray, ...]:
        """Predict the mean and standard deviation at the target fidelity."""
        mean, sd, *derivatives = predict(self.surrogate, self._widened(X), gradient)
        return mean, sd, *(derivative[..., :-1] for derivative in derivatives)

    def known_means(self, X: FloatArray) -> FloatArray:
        """Predict the mean at known configurations of the target fidelity."""
        return known_means(self.surrogate, self._widened(X))

    def average(
        self, X: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Predict the mean and standard deviation of a weighted mean of scores."""
        return posterior_of_mean(self.surrogate, self._widened(X), weights)

    def _widened(self, X: FloatArray) -> FloatArray:
        return np.column_stack([X, np.full(len(X), self.fidelity)])
