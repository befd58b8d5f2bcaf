"""Tree-structured Parzen estimator (TPE): densities of good and bad configurations.

Symbols (n trials, m candidates, D columns, K values of a column):

- ``good``, ``bad``: the best ceil(0.15 n) trials, at least 2, and the others. Their
  densities p_good and p_bad are products of one density per column.
- ``x``: positions of the trials in one column, without trials where it is inactive.
- ``p``: (K,), probabilities of the values of a finite column.

Only the active columns of a configuration have a factor in its density. Inactive
columns are NaN, so the rows represent the tree of the space.

Bergstra, Bardenet, Bengio & Kegl (2011), "Algorithms for hyper-parameter optimization",
section 4.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

from skbayes.space.candidates import MAX_GRID
from skbayes.space.dimensions import Dimension, FloatArray
from skbayes.space.space import Space
from skbayes.surrogates.surrogate import Sampler

if TYPE_CHECKING:
    from skbayes.space.candidates import Candidates

# Minimum number of good trials.
MIN_GOOD = 2

# A bandwidth is at least the range divided by the number of trials + 1, and at least
# this share of the range.
MIN_BANDWIDTH = 0.01

# Maximum number of draws of candidates to find a new one.
N_DRAWS = 10

# Number of quantiles per value of a column for estimating the prior's masses.
QUANTILES_PER_VALUE = 16


def bandwidths(x: FloatArray) -> FloatArray:
    """Return the standard deviation of the Gaussian around each trial."""
    places = np.unique(np.concatenate([[0.0], x, [1.0]]))
    ranks = np.searchsorted(places, x)
    below = x - places[np.maximum(ranks - 1, 0)]
    above = places[np.minimum(ranks + 1, len(places) - 1)] - x
    least = max(1.0 / (len(x) + 1.0), MIN_BANDWIDTH)
    return np.maximum(np.maximum(below, above), least)


def truncated_normal(x: FloatArray, mean: FloatArray, sd: FloatArray) -> FloatArray:
    """Return the densities of normal distributions truncated to [0, 1]."""
    z = (x[:, None] - mean) / sd
    mass = ndtr((1.0 - mean) / sd) - ndtr(-mean / sd)
    return np.exp(-0.5 * z * z) / (math.sqrt(2.0 * math.pi) * sd * mass)


class ContinuousDensity:
    """Mixture of the uniform prior and a truncated Gaussian around each trial.

    Each trial has weight 1.
    """

    def __init__(self, x: FloatArray, prior_weight: float = 1.0) -> None:
        self.mean = x
        self.sd = bandwidths(x)
        self.prior_weight = prior_weight

    def log_density(self, x: FloatArray) -> FloatArray:
        """Return log densities."""
        kernels = np.sum(truncated_normal(x, self.mean, self.sd), axis=1)
        total = self.prior_weight + len(self.mean)
        return np.log((self.prior_weight + kernels) / total)

    def sample(self, n: int, random_state: np.random.Generator) -> FloatArray:
        """Draw positions."""
        uniform = random_state.random(n)
        weights = np.append(np.ones(len(self.mean)), self.prior_weight)
        component = random_state.choice(
            len(weights), size=n, p=weights / np.sum(weights)
        )
        # The last component is the prior.
        kernel = np.flatnonzero(component < len(self.mean))
        mean, sd = self.mean[component[kernel]], self.sd[component[kernel]]
        low, high = ndtr(-mean / sd), ndtr((1.0 - mean) / sd)
        x = uniform.copy()
        x[kernel] = mean + sd * ndtri(low + uniform[kernel] * (high - low))
        return np.clip(x, 0.0, 1.0)


class CategoricalDensity:
    """Probabilities of unordered values, proportional to prior weight + count.

    The positions of the values, `grid` (K,), are ascending.
    """

    def __init__(
        self, x: FloatArray, grid: FloatArray, prior_weight: float = 1.0
    ) -> None:
        self.grid = grid
        counts = np.bincount(_places(grid, x), minlength=len(grid))
        self.p = self._normalized(prior_weight + counts)

    @staticmethod
    def _normalized(weights: Any) -> FloatArray:
        return np.asarray(weights / np.sum(weights), dtype=np.float64)

    def log_density(self, x: FloatArray) -> FloatArray:
        """Return log probabilities."""
        return np.log(self.p)[_places(self.grid, x)]

    def sample(self, n: int, random_state: np.random.Generator) -> FloatArray:
        """Draw positions."""
        return random_state.choice(self.grid, size=n, p=self.p)


class GridDensity(CategoricalDensity):
    """Mixture of the prior (K,) and a Gaussian around each trial, on ordered values.

    The mass of a Gaussian at a value is its mass on the positions nearest to the value.
    The cells of the first and last value extend equally far on both sides.
    """

    def __init__(
        self,
        x: FloatArray,
        grid: FloatArray,
        prior: FloatArray,
        prior_weight: float = 1.0,
    ) -> None:
        self.grid = grid
        weights = prior_weight * prior
        if len(x) and len(grid) > 1:
            inner = 0.5 * (grid[1:] + grid[:-1])
            first, last = 2.0 * grid[0] - inner[0], 2.0 * grid[-1] - inner[-1]
            edges = np.concatenate([[first], inner, [last]])
            up_to = ndtr((edges - x[:, None]) / bandwidths(x)[:, None])
            masses = np.diff(up_to, axis=1)
            weights = weights + np.sum(masses / np.sum(masses, axis=1)[:, None], axis=0)
        self.p = self._normalized(weights)


def _places(grid: FloatArray, x: FloatArray) -> np.ndarray:
    """Return the indices of the nearest positions of an ascending grid."""
    return np.searchsorted(0.5 * (grid[1:] + grid[:-1]), x)


def _prior(dimension: Dimension) -> FloatArray:
    """Return the prior probabilities of a dimension's values."""
    n = QUANTILES_PER_VALUE * len(dimension.grid)
    drawn = dimension.from_uniform((np.arange(n) + 0.5) / n)
    counts = np.bincount(_places(dimension.grid, drawn), minlength=len(dimension.grid))
    # Values that are too rare to occur in the sample still have some probability.
    return np.maximum(counts, 0.5) / np.sum(np.maximum(counts, 0.5))


@dataclass(eq=False, repr=False, kw_only=True)
class ParzenEstimator(Sampler):
    """Tree-structured Parzen estimator (TPE).

    TPE does not predict scores. It estimates the densities p_good of the good trials
    and p_bad of the others, and ranks configurations by p_good / p_bad. This is also
    their order by expected improvement. TPE is fast with any number of trials, and it
    suits conditional hyper-parameters and options without an order. It does not model
    interactions between hyper-parameters.

    Parameters
    ----------
    good_share : float, default=0.15
        Share of the trials that count as good, between 0 and 1. At least two trials
        count as good.
    n_candidates : int, default=100
        Number of candidates that are drawn from p_good for each proposal. If a space is
        small enough to be enumerated, all new configurations are ranked instead.
    prior_weight : float, default=1.0
        Weight of the prior, in number of trials.
    space : Space, default=None
        Search space of the configurations. None means the space of the
        optimizer.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Bergstra, Bardenet, Bengio & Kegl (2011), "Algorithms for hyper-parameter
    optimization".

    Examples
    --------
    >>> from skbayes import Optimizer
    >>> from skbayes.surrogates import ParzenEstimator
    >>> optimizer = Optimizer(
    ...     {"x": (0.0, 1.0), "kind": ["a", "b"]},
    ...     surrogate=ParzenEstimator(n_candidates=50),
    ...     random_state=0,
    ... )
    >>> for _ in range(30):
    ...     params = optimizer.ask()
    ...     optimizer.tell(params, (params["kind"] == "b") - abs(params["x"] - 0.3))
    >>> optimizer.best_params["kind"]
    'b'
    """

    good_share: float = 0.15
    n_candidates: int = 100
    prior_weight: float = 1.0
    space: Space | None = None

    n_initial_points = 8

    def __post_init__(self) -> None:
        share, weight = self.good_share, self.prior_weight
        if not 0.0 < share < 1.0:
            raise ValueError(f"good_share must be between 0 and 1, got {share!r}.")
        if self.n_candidates < 1:
            raise ValueError(f"n_candidates must be >= 1, got {self.n_candidates!r}.")
        if not 0.0 < weight < math.inf:
            raise ValueError(f"prior_weight must be > 0, got {weight!r}.")

    def prepare(self, candidates: Candidates) -> None:
        """Use the space of the candidates, unless `space` was given."""
        self.space = self.space or candidates.space

    def fit(
        self, X: FloatArray, y: FloatArray, noise: FloatArray | None = None
    ) -> ParzenEstimator:
        """Estimate the densities of good and bad trials.

        Trials whose score is NaN never count as good. `noise` is ignored.
        """
        self._X, self._y = X, y
        # argsort puts NaN last; equal scores keep their order.
        order = np.argsort(-y, kind="stable")
        n_good = max(math.ceil(self.good_share * len(y)), MIN_GOOD)
        n_good = min(n_good, int(np.sum(~np.isnan(y))))
        self.good_ = self._densities(X[order[:n_good]])
        self.bad_ = self._densities(X[order[n_good:]])
        return self

    def condition(self, X: FloatArray) -> ParzenEstimator:
        """Return an estimator in which pending configurations `X` are bad trials."""
        y = np.append(self._y, np.full(len(X), np.nan))
        return copy.copy(self).fit(np.vstack([self._X, X]), y)

    def _densities(self, X: FloatArray) -> list[ContinuousDensity | CategoricalDensity]:
        if self.space is None:
            raise ValueError(
                "space must be given to use a ParzenEstimator without an optimizer."
            )
        return [
            self._density(column.dimension, x[~np.isnan(x)])
            for column, x in zip(self.space.columns, X.T, strict=True)
        ]

    def _density(self, dimension: Dimension, x: FloatArray) -> Any:
        if dimension.is_categorical:
            return CategoricalDensity(x, dimension.grid, self.prior_weight)
        if dimension.n_values > MAX_GRID:
            return ContinuousDensity(x, self.prior_weight)
        return GridDensity(x, dimension.grid, _prior(dimension), self.prior_weight)

    def scores(self, X: FloatArray) -> FloatArray:
        """Compute the scores (m,): log p_good - log p_bad, over the active columns."""
        scores = np.zeros(len(X))
        for x, good, bad in zip(X.T, self.good_, self.bad_, strict=True):
            active = np.flatnonzero(~np.isnan(x))
            ratio = good.log_density(x[active]) - bad.log_density(x[active])
            scores[active] += ratio
        return scores

    def sample(self, n: int, random_state: np.random.Generator) -> FloatArray:
        """Draw n configurations from p_good."""
        assert self.space is not None
        X = np.empty((n, self.space.n_columns))
        for j, density in enumerate(self.good_):
            X[:, j] = density.sample(n, random_state)
        # Sets the columns that are inactive with the drawn options to NaN.
        return self.space.snap(X)

    def draw(
        self, candidates: Candidates, random_state: np.random.Generator
    ) -> FloatArray:
        """Draw new candidates from p_good, and rank them by p_good / p_bad.

        In an enumerated space, all new configurations are ranked.
        """
        if candidates.is_enumerated:
            return candidates.allowed_first(self._ranked(candidates.unseen()))
        for _ in range(N_DRAWS):
            X = self._ranked(self.sample(self.n_candidates, random_state))
            X = candidates.first_new(X)
            if len(X):
                break
        return X

    def _ranked(self, X: FloatArray) -> FloatArray:
        return X[np.argsort(-self.scores(X), kind="stable")]
