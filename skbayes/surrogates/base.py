"""Base class of the surrogates and the capabilities that they declare."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Any, Self

import numpy as np

from skbayes.space.candidates import Candidates
from skbayes.space.dimensions import FloatArray

__all__ = ["Sampler", "Surrogate", "known_means", "posterior_of_mean"]


class Surrogate(ABC):
    """Model of the score of a configuration.

    Symbols: n observations, m configurations, D columns, S samples of the model's
    hyper-parameters. A subclass declares what it can do by the attributes below; the
    optimizer, the searches and the displays ask for these, never for a class. If it has
    an attribute `n_options` or `random_state`, the optimizer sets what was left at its
    default.

    Attributes
    ----------
    predicts_scores : bool, default=True
        Whether :meth:`predict` gives means and standard deviations of the score.
    takes_noise : bool, default=False
        Whether :meth:`fit` accepts known variances of the scores.
    has_gradients : bool, default=False
        Whether :meth:`predict` gives derivatives.
    takes_fidelity : bool, default=False
        Whether the fidelity of a score can be one more column of its inputs.
    has_graph : bool, default=False
        Whether it has a neighborhood graph of all configurations, as ``graph``.
    needs_finite_space : bool, default=False
        Whether it is limited to spaces of few configurations.
    needs_scores : bool, default=True
        Whether it can propose nothing before a score is known.
    n_initial_points : int or None, default=None
        Number of observations before it makes proposals. None: by the space.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes import Optimizer
    >>> from skbayes.surrogates import Surrogate
    >>> class Constant(Surrogate):
    ...     def fit(self, X, y):
    ...         self.mean_, self.sd_ = np.mean(y), np.std(y) + 1e-9
    ...         return self
    ...
    ...     def predict(self, X):
    ...         return np.full((1, len(X)), self.mean_), np.full((1, len(X)), self.sd_)
    ...
    ...     def condition(self, X):
    ...         return self
    >>> optimizer = Optimizer({"a": [1, 2, 3]}, surrogate=Constant(), random_state=0)
    >>> optimizer.ask()
    {'a': 2}
    """

    predicts_scores: bool = True
    takes_noise: bool = False
    has_gradients: bool = False
    takes_fidelity: bool = False
    has_graph: bool = False
    needs_finite_space: bool = False
    needs_scores: bool = True
    n_initial_points: int | None = None

    _offset: float = 0.0
    _unit: float = 1.0

    @abstractmethod
    def fit(self, X: FloatArray, y: FloatArray) -> Self:
        """Learn from scores.

        If it `takes_noise`, a third argument `noise` (n,), None by default, has
        known variances of the scores, finite and >= 0.

        Parameters
        ----------
        X : ndarray of shape (n, D)
            Encoded configurations, NaN where inactive. n >= 1.
        y : ndarray of shape (n,)
            Their scores, finite.

        Returns
        -------
        self : Surrogate
            The fitted model.
        """

    @abstractmethod
    def condition(self, X: FloatArray) -> Any:
        """Return a model that also knows that `X` will be observed.

        Parameters
        ----------
        X : ndarray of shape (m, D)
            Encoded pending configurations.

        Returns
        -------
        surrogate : Surrogate
            A new model, for which the scores of `X` are what this one predicts; this
            one is unchanged.
        """

    @abstractmethod
    def predict(self, X: FloatArray) -> tuple[FloatArray, ...]:
        """Predict mean and standard deviation of the score, without noise.

        If it `has_gradients`, a second argument `gradient`, False by default, says
        whether to return derivatives, too.

        Parameters
        ----------
        X : ndarray of shape (m, D)
            Encoded configurations.

        Returns
        -------
        mean, sd : ndarray of shape (S, m)
            Prediction under each sample of the hyper-parameters.
        d_mean, d_sd : ndarray of shape (S, m, D)
            Only with `gradient`: their derivatives; 0 in unordered columns.
        """

    def known_means(self, X: FloatArray) -> FloatArray:
        """Predict the mean of the score at configurations that it has learned.

        Parameters
        ----------
        X : ndarray of shape (n, D)
            Those given to :meth:`fit`, followed by those given to :meth:`condition`.

        Returns
        -------
        mean : ndarray of shape (S, n)
            As by :meth:`predict`, of which it may be a faster way.
        """
        return self.predict(X)[0]

    def average(
        self, X: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Predict mean and standard deviation of a weighted mean of scores.

        Parameters
        ----------
        X : ndarray of shape (m, D)
            Encoded configurations.
        weights : ndarray of shape (m,)
            Their weights, >= 0, which sum to 1.

        Returns
        -------
        mean, sd : ndarray of shape (S,)
            Prediction under each sample of the hyper-parameters. Of a model that does
            not say how its errors go together `sd` is an upper bound: the weighted
            mean of all.
        """
        return _bound_of_mean(self, X, weights)

    def prepare(self, candidates: Candidates) -> None:  # noqa: B027
        """Take from the space what was not given to the constructor.

        Parameters
        ----------
        candidates : Candidates
            The configurations that will be predicted.

        Raises
        ------
        ValueError
            If it cannot be used on this space.
        """

    def _to_scores(
        self, mean: FloatArray, sd: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return what is predicted of standardized scores in units of the score."""
        return self._offset + self._unit * mean, self._unit * sd


class Sampler(Surrogate):
    """Base of what draws configurations and predicts no scores."""

    predicts_scores = False
    # What does not predict scores cannot mistake them.
    takes_noise = True

    @abstractmethod
    def draw(
        self, candidates: Candidates, random_state: np.random.Generator
    ) -> FloatArray:
        """Draw new and allowed configurations (m, D), best first; maybe none."""

    def fit(
        self, X: FloatArray, y: FloatArray, noise: FloatArray | None = None
    ) -> Self:
        """Learn from scores, NaN for failures; by default nothing."""
        return self

    def condition(self, X: FloatArray) -> Any:
        """Return a sampler that knows of pending configurations; by default itself."""
        return self

    def predict(self, X: FloatArray) -> tuple[FloatArray, ...]:
        """Raise ValueError: there are no scores to predict."""
        raise ValueError(f"surrogate: {self!r} does not predict scores.")


def posterior_of_mean(
    surrogate: Any, X: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Call :meth:`Surrogate.average`, of any object with a method ``predict``."""
    return getattr(surrogate, "average", partial(_bound_of_mean, surrogate))(X, weights)


def known_means(surrogate: Any, X: FloatArray) -> FloatArray:
    """Call :meth:`Surrogate.known_means`, of any object with a method ``predict``."""
    if hasattr(surrogate, "known_means"):
        return surrogate.known_means(X)
    return surrogate.predict(X)[0]


def _bound_of_mean(
    surrogate: Any, X: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    mean, sd = surrogate.predict(X)
    return mean @ weights, sd @ weights
