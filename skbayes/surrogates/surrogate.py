"""Base class of the surrogates with its capabilities, and the scaling of scores."""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skbayes.space.dimensions import FloatArray

if TYPE_CHECKING:
    from skbayes.space.candidates import Candidates

# Scores further below the median than TAIL_FACTOR times their scale are raised to that
# level. The scale is at least SPREAD_SHARE times the spread of the scores.
TAIL_FACTOR, SPREAD_SHARE = 2.0, 0.2

# Maximum known variance, relative to the variance of the scores. Greater variances are
# clipped to it, so that computations do not overflow; such scores have no weight.
MAX_NOISE = 1e10


class Surrogate(ABC):
    """Base class of the surrogates, the models of the scores of configurations.

    Derive from this class to write a custom surrogate. A subclass declares its
    capabilities by the attributes below. The optimizer sets an attribute `n_options`
    that is None to the options of the search space. In the descriptions of shapes, n is
    the number of observations, m the number of configurations, D the number of columns,
    and S the number of samples of the surrogate's hyper-parameters.

    Attributes
    ----------
    predicts_scores : bool, default=True
        Whether :meth:`predict` returns means and standard deviations of the score.
    takes_noise : bool, default=False
        Whether :meth:`fit` accepts known variances of the scores.
    has_gradients : bool, default=False
        Whether :meth:`predict` can return derivatives.
    takes_fidelity : bool, default=False
        Whether the fidelity of a score can be an additional column of the inputs.
    has_graph : bool, default=False
        Whether it has an attribute ``graph``, a neighborhood graph of all
        configurations.
    needs_finite_space : bool, default=False
        Whether it is limited to spaces of few configurations.
    needs_scores : bool, default=True
        Whether it requires at least one score to propose configurations.
    n_initial_points : int or None, default=None
        Number of observations before it makes proposals. By default, it depends on the
        space.
    max_observations : int or None, default=None
        Maximum number of observations and pending configurations that it is fitted to,
        apart from up to 249 of the latest observations. At least half of them are
        observations: the best ones, and as many that are drawn at random. None means no
        limit.

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
    max_observations: int | None = None

    _offset: float = 0.0
    _unit: float = 1.0

    @abstractmethod
    def fit(self, X: FloatArray, y: FloatArray) -> Self:
        """Fit the surrogate to observations.

        With `takes_noise`, there is a third argument `noise` of shape (n,), None by
        default. It holds known variances of the scores, finite and >= 0.

        Parameters
        ----------
        X : ndarray of shape (n, D)
            Encoded configurations, NaN where inactive. n >= 1.
        y : ndarray of shape (n,)
            Scores of the configurations, finite.

        Returns
        -------
        self : Surrogate
            The fitted surrogate.
        """

    @abstractmethod
    def condition(self, X: FloatArray) -> Any:
        """Return a surrogate conditioned on pending configurations.

        Parameters
        ----------
        X : ndarray of shape (m, D)
            Encoded pending configurations.

        Returns
        -------
        surrogate : Surrogate
            New surrogate that treats the predicted scores of `X` as observed. This
            surrogate is unchanged.
        """

    @abstractmethod
    def predict(self, X: FloatArray) -> tuple[FloatArray, ...]:
        """Predict the mean and standard deviation of the score, without noise.

        With `has_gradients`, there is a second argument `gradient`, False by default.
        If it is True, derivatives are also returned.

        Parameters
        ----------
        X : ndarray of shape (m, D)
            Encoded configurations.

        Returns
        -------
        mean, sd : ndarray of shape (S, m)
            Prediction for each sample of the hyper-parameters; `sd` is finite and > 0.
        d_mean, d_sd : ndarray of shape (S, m, D)
            Derivatives with respect to the positions, 0 in unordered columns. Only with
            `gradient`.
        """

    def known_means(self, X: FloatArray) -> FloatArray:
        """Predict the mean of the score at observed and pending configurations.

        Parameters
        ----------
        X : ndarray of shape (n, D)
            Configurations passed to :meth:`fit`, followed by those passed to
            :meth:`condition`.

        Returns
        -------
        mean : ndarray of shape (S, n)
            Means as from :meth:`predict`, which may be slower.
        """
        return self.predict(X)[0]

    def average(
        self, X: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Predict the mean and standard deviation of a weighted mean of scores.

        Parameters
        ----------
        X : ndarray of shape (m, D)
            Encoded configurations.
        weights : ndarray of shape (m,)
            Weights of the configurations, >= 0, with sum 1.

        Returns
        -------
        mean, sd : ndarray of shape (S,)
            Prediction for each sample of the hyper-parameters. If the surrogate does
            not model the correlations of its errors, `sd` is an upper bound, the
            weighted mean of all standard deviations.
        """
        mean, sd = self.predict(X)
        return mean @ weights, sd @ weights

    def prepare(self, candidates: Candidates) -> None:  # noqa: B027
        """Set parameters that depend on the space and were not given.

        Parameters
        ----------
        candidates : Candidates
            Configurations that can be proposed.

        Raises
        ------
        ValueError
            If the surrogate does not support this space.
        """

    def _to_scores(
        self, mean: FloatArray, sd: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Convert predictions of standardized scores to units of the score."""
        return self._offset + self._unit * mean, self._unit * sd


# Assumptions about objects that do not derive from Surrogate.
UNDECLARED = {"has_gradients": True, "takes_fidelity": None}


def best_and_random(y: FloatArray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return `size` rows in order: the best half, and a random part of the others.

    All rows are returned if there are at most `size`.
    """
    if len(y) <= size:
        return np.arange(len(y))
    best, rest = np.split(np.argsort(-y, kind="stable"), [size // 2])
    return np.sort(np.append(best, rng.choice(rest, size - len(best), replace=False)))


def capability_of(surrogate: Any, name: str) -> Any:
    """Return a capability of an object or a class.

    If it does not derive from :class:`Surrogate`, the capability is inferred, or None
    if this is impossible.
    """
    if hasattr(surrogate, name):
        return getattr(surrogate, name)
    if name == "predicts_scores":
        return hasattr(surrogate, "predict")
    if name == "takes_noise":
        parameters = inspect.signature(surrogate.fit).parameters
        return "noise" in parameters or any(
            parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
        )
    return UNDECLARED.get(name, getattr(Surrogate, name))


class Sampler(Surrogate):
    """Base class of samplers, which draw configurations and do not predict scores."""

    predicts_scores = False
    # Accepted and ignored.
    takes_noise = True

    @abstractmethod
    def draw(
        self, candidates: Candidates, random_state: np.random.Generator
    ) -> FloatArray:
        """Draw new and allowed configurations (m, D), m >= 0, best first."""

    def fit(
        self, X: FloatArray, y: FloatArray, noise: FloatArray | None = None
    ) -> Self:
        """Fit the sampler to scores, NaN for failures; by default do nothing."""
        return self

    def condition(self, X: FloatArray) -> Any:
        """Return a sampler conditioned on pending configurations; by default itself."""
        return self

    def predict(self, X: FloatArray) -> tuple[FloatArray, ...]:
        """Raise ValueError, because samplers do not predict scores."""
        raise ValueError(f"surrogate: {self!r} does not predict scores.")


def predict(surrogate: Any, X: FloatArray, gradient: bool) -> tuple[FloatArray, ...]:
    """Predict with or without derivatives; some surrogates have no such argument."""
    return surrogate.predict(X, gradient=True) if gradient else surrogate.predict(X)


def posterior_of_mean(
    surrogate: Any, X: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Call :meth:`Surrogate.average`, or its default for objects without it."""
    if hasattr(surrogate, "average"):
        return surrogate.average(X, weights)
    return Surrogate.average(surrogate, X, weights)


def known_means(surrogate: Any, X: FloatArray) -> FloatArray:
    """Call :meth:`Surrogate.known_means`, or its default for objects without it."""
    if hasattr(surrogate, "known_means"):
        return surrogate.known_means(X)
    return Surrogate.known_means(surrogate, X)


def branch_weights(X: FloatArray) -> FloatArray | None:
    """Return weights (n,) with equal sums for the branches of a conditional space.

    Rows (n, D) with the same inactive columns belong to the same branch. None if all
    weights are equal.
    """
    _, branches, counts = np.unique(
        np.isnan(X), axis=0, return_inverse=True, return_counts=True
    )
    return 1.0 / counts[branches.ravel()] if np.ptp(counts) else None


def _quantiles(y: FloatArray, q: list[float], weights: FloatArray | None) -> FloatArray:
    """Return weighted quantiles; with equal weights, as numpy.quantile."""
    if weights is None:
        return np.quantile(y, q)
    order = np.argsort(y, kind="stable")
    ordered = weights[order]
    middles = np.cumsum(ordered) - 0.5 * ordered
    return np.interp(q, (middles - middles[0]) / np.ptp(middles), y[order])


def winsorize_low(y: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Raise very bad scores, whose long tail would dominate the length scales.

    Scores (n,) below ``median - 2 * scale`` are raised to that level. The scale is the
    distance from the median to the upper quartile, which is small if many scores are
    nearly equal. It is therefore at least a fifth of the mean distance from the median
    of the 90% of the scores that are nearest to it. `weights` (n,) are the weights of
    the scores in the median and the quartile.
    """
    median, upper = _quantiles(y, [0.5, 0.75], weights)
    distances = np.sort(np.abs(y - median))[: len(y) - math.ceil(0.1 * len(y))]
    spread = float(np.mean(distances)) if len(distances) else 0.0
    scale = max(float(upper - median), SPREAD_SHARE * spread)
    if scale == 0.0:
        return y
    return np.maximum(y, median - TAIL_FACTOR * scale)


def standardize(
    y: FloatArray, winsorize: bool = False, weights: FloatArray | None = None
) -> tuple[FloatArray, float, float]:
    """Scale scores (n,) to mean 0 and variance 1; also return offset and unit.

    `weights` are passed to :func:`winsorize_low`.
    """
    peak = float(np.max(np.abs(y)))
    if peak == 0.0:
        return np.zeros_like(y), 0.0, 1.0
    # In units of the largest score, squares and differences do not overflow.
    relative = winsorize_low(y / peak, weights) if winsorize else y / peak
    offset, unit = float(np.mean(relative)), float(np.std(relative))
    # Rounding leaves a tiny deviation on constant scores.
    if unit <= 1e-12:
        return np.zeros_like(y), offset * peak, peak
    return (relative - offset) / unit, offset * peak, unit * peak


def relative_noise(noise: FloatArray | None, unit: float) -> FloatArray | None:
    """Return variances (n,) of scores that were divided by `unit`."""
    if noise is None:
        return None
    # Take roots first: the square of a tiny unit is 0, and the square of a huge one
    # infinite.
    with np.errstate(over="ignore"):
        return np.minimum(np.square(np.sqrt(noise) / unit), MAX_NOISE)
