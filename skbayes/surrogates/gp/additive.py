"""Gaussian process for grids: half of its kernel is a sum over pairs of columns.

On a grid with a few values per column, single columns and pairs of columns have most of
the effects. Two configurations that are equal in a pair of columns are then correlated
at any distance in the other columns. A product over all columns cannot represent this
correlation.

Symbols (D columns, n observations, m candidates, S samples of hyper-parameters):

- ``k_d``: correlation of two positions in column d alone, with its own length scale.
- ``p``: share of the pairs; 0 if there is only one column.

    k = (1 - p) prod_d k_d + p / (D (D - 1)) sum_{d != e} k_d k_e

The kernel consists of the terms of orders D and 2 of Duvenaud, Nickisch & Rasmussen
(2011), "Additive Gaussian processes", section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.gp.gp import GaussianProcess
from skbayes.surrogates.gp.kernels import (
    KERNELS,
    LENGTH_SCALE_FACTOR,
    LogPosterior,
    squared_distances,
)


class _Column(NamedTuple):
    """Correlations in one column, and a function for their derivatives."""

    k: FloatArray
    slope: Callable[[], FloatArray]  # by the squared scaled difference


def _combine(
    columns: list[_Column], pair_share: float, shape: tuple[int, ...]
) -> FloatArray:
    """Return correlations of configurations from those in each column."""
    if not columns:
        return np.ones(shape)
    first, *remaining = (column.k for column in columns)
    product, total, squares = first.copy(), first.copy(), np.square(first)
    for k in remaining:
        product *= k
        total += k
        squares += np.square(k)
    D = len(columns)
    if D == 1:
        return product
    pairs = (np.square(total) - squares) / (D * (D - 1))
    return (1.0 - pair_share) * product + pair_share * pairs


def _slope(columns: list[_Column], pair_share: float, d: int) -> FloatArray:
    """Differentiate the correlations by the squared difference in column d."""
    column, others = columns[d], [*columns[:d], *columns[d + 1 :]]
    D = len(columns)
    if D == 1:
        return column.slope()
    product, total = others[0].k.copy(), others[0].k.copy()
    for other in others[1:]:
        product *= other.k
        total += other.k
    pairs = 2.0 * total / (D * (D - 1))
    return ((1.0 - pair_share) * product + pair_share * pairs) * column.slope()


@dataclass
class _AdditivePosterior(LogPosterior):
    """Posterior of theta for the additive kernel."""

    pair_share: float = 0.5

    def _correlations(self, inverse_squares: FloatArray) -> tuple[FloatArray, Any]:
        columns = []
        for inverse, squares in zip(inverse_squares, self.differences, strict=True):
            k, dk = self.correlation(inverse * squares)
            columns.append(_Column(k, partial(np.asarray, dk)))
        shape = self.differences.shape[1:]
        return _combine(columns, self.pair_share, shape), columns

    def _by_inverse_square(self, weights: FloatArray, slopes: Any) -> FloatArray:
        return np.array(
            [
                np.vdot(weights * _slope(slopes, self.pair_share, d), squares)
                for d, squares in enumerate(self.differences)
            ]
        )


@dataclass(eq=False, repr=False)
class AdditiveGaussianProcess(GaussianProcess):
    """Gaussian process for grids, with a kernel of all columns and of pairs of columns.

    The kernel is a weighted mean of two terms. The first one is the product of the
    kernels of all columns. The second one is the product of the kernels of two columns,
    averaged over all pairs (orders D and 2 of Duvenaud et al. 2011). It is intended for
    grids. On other spaces with D columns, it takes about D times as long as
    :class:`GaussianProcess`.

    Parameters
    ----------
    kernel : {"matern32", "matern52", "rbf"}, default="matern32"
        Correlation function of each column.
    n_options, n_samples, hyperparameters, random_state, winsorize_scores : optional
        As for :class:`GaussianProcess`.
    pair_share : float, default=0.5
        Weight of the pairs in the kernel, from 0 to 1.
    length_scale : float, default=0.2
        Prior median of the length scales of ordered columns, divided by the square root
        of the number of columns; > 0. For unordered columns, it is 0.5.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    References
    ----------
    Duvenaud, Nickisch & Rasmussen (2011), "Additive Gaussian processes".

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.surrogates import AdditiveGaussianProcess
    >>> X = np.array([[0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 1.0]])
    >>> y = np.array([0.0, 1.0, 0.0, 0.5, 1.5])
    >>> model = AdditiveGaussianProcess(n_samples=0).fit(X, y)
    >>> mean, sd = model.predict(np.array([[1.0, 1.0]]))
    >>> mean.round(2), sd.round(2)
    (array([[0.63]]), array([[0.58]]))
    """

    kernel: str = "matern32"
    _: KW_ONLY
    pair_share: float = 0.5
    length_scale: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        share, scale = self.pair_share, self.length_scale
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"pair_share must be from 0 to 1, got {share!r}.")
        if not 0.0 < scale < np.inf:
            raise ValueError(f"length_scale must be positive, got {scale!r}.")

    def _log_posterior(
        self, X: FloatArray, target: FloatArray, extra: FloatArray | None
    ) -> LogPosterior:
        squares = self._embedding.squared_differences(X)
        # The distance of unordered options is 1, for any number of options.
        factors = np.full(X.shape[1], LENGTH_SCALE_FACTOR)
        factors[self._embedding.ordered] = self.length_scale
        return _AdditivePosterior(
            squares, target, KERNELS[self.kernel], extra, factors, self.pair_share
        )

    def _correlations(
        self, scaled: FloatArray, others: FloatArray, slopes: bool = False
    ) -> tuple[FloatArray, Any]:
        columns = [
            self._column(scaled[..., axes], others[..., axes], slopes)
            for axes in self._embedding.coordinates
        ]
        shape = (*scaled.shape[:-1], others.shape[-2])
        return _combine(columns, self.pair_share, shape), columns

    def _column(self, scaled: FloatArray, others: FloatArray, slopes: bool) -> _Column:
        """Return correlations (S, m, n) in the coordinates of one column."""
        # On a grid, most positions occur several times, and are computed once.
        _, first, place = np.unique(
            scaled[0] @ np.arange(1.0, scaled.shape[-1] + 1.0),
            return_index=True,
            return_inverse=True,
        )
        k, dk = KERNELS[self.kernel](
            squared_distances(scaled[:, first], others), slopes
        )
        return _Column(k[:, place], lambda: dk[:, place])

    def _by_position(
        self, by_k: FloatArray, slopes: Any, scaled: FloatArray
    ) -> FloatArray:
        result = np.zeros((*scaled.shape[:2], self._embedding.n_columns))
        for place, d in enumerate(self._embedding.ordered.tolist()):
            weights = by_k * _slope(slopes, self.pair_share, d)
            total = np.sum(weights, axis=-1) * scaled[..., place]
            total -= np.matmul(weights, self._scaled[..., place, None])[..., 0]
            result[..., d] = 2.0 * total / self._length_scales[:, d, None]
        return result
