"""Covariances of a process and its derivatives.

Symbols (n values, k signs, R = n + k rows, D columns):

- a sign is a pair: a point, and the column of the derivative. Its row contains the
  point, so several rows may be equal.
- ``r2``: (R, R), squared scaled distances; k', k'', k''' are derivatives with respect
  to r2.
- ``delta``: (R, k), delta_rp = x_r - x_p in the column of pair p.
- ``l_p``: length scale of this column.

With u_rp = delta_rp / l_p^2 and amplitude 1:

- cov(f_r, f_s) = k(r2)
- cov(f_r, g_p) = -2 k' u_rp
- cov(g_q, g_p) = 4 k'' u_pq u_qp - 2 k' / l_p^2 [columns of q and p are the same]

Solak et al. (2003), "Derivative observations in Gaussian process models of dynamic
systems".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.gp.kernels import INACTIVE, Embedding, matern52, rbf

__all__ = ["SMOOTH_KERNELS", "JointCovariance"]

Smooth = Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray, FloatArray]]


def _rbf(r2: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return correlation and three derivatives with respect to r2."""
    k, dk = rbf(r2)
    return k, dk, 0.25 * k, -0.125 * k


def _matern52(r2: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return correlation and three derivatives by r2; the third is infinite at 0.

    The third derivative only occurs in products that vanish at 0, so the infinite value
    is replaced by 0.
    """
    k, dk = matern52(r2)
    a = np.sqrt(5.0 * r2)
    e = np.exp(-a)
    third = np.where(a > 0.0, (-125.0 / 24.0) * e / np.where(a > 0.0, a, 1.0), 0.0)
    return k, dk, (25.0 / 12.0) * e, third


# Kernels that are twice differentiable.
SMOOTH_KERNELS: dict[str, Smooth] = {"rbf": _rbf, "matern52": _matern52}


class JointCovariance:
    """Covariance of n values and k derivatives, with its derivatives by theta.

    Parameters
    ----------
    embedding : Embedding
        Embedding of configurations, which defines the ordered columns.
    X : ndarray of shape (n, D)
        Configurations of the values.
    points : ndarray of shape (k, D)
        Configurations of the derivatives.
    columns : ndarray of int, shape (k,)
        Ordered column of each derivative.
    kernel : str
        A key of `SMOOTH_KERNELS`.
    """

    def __init__(
        self,
        embedding: Embedding,
        X: FloatArray,
        points: FloatArray,
        columns: NDArray[np.int_],
        kernel: str,
    ) -> None:
        self._kernel = SMOOTH_KERNELS[kernel]
        self.n, self._columns = len(X), columns
        rows = np.vstack([X, points])
        self._squares = embedding.squared_differences(rows)
        places = np.where(np.isnan(rows), INACTIVE, rows)
        self._delta = places[:, columns] - places[self.n :, columns].diagonal()
        self._same = columns[:, None] == columns

    def _parts(self, length_scales: FloatArray) -> tuple[FloatArray, ...]:
        D, R, _ = self._squares.shape
        r2 = (length_scales**-2.0 @ self._squares.reshape(D, R * R)).reshape(R, R)
        u = self._delta / length_scales[self._columns] ** 2
        uu = u[self.n :].T * u[self.n :]
        diagonal = self._same / length_scales[self._columns] ** 2
        return (*self._kernel(r2), u, uu, diagonal)

    def correlations(self, length_scales: FloatArray) -> FloatArray:
        """Compute the covariance for amplitude 1."""
        k, dk, ddk, _, *geometry = self._parts(length_scales)
        return self._assemble((k, dk, ddk), geometry)

    def _assemble(
        self, kernel: Sequence[FloatArray], geometry: Sequence[FloatArray]
    ) -> FloatArray:
        """Assemble the covariance from a kernel and its derivatives by r2."""
        (k, dk, ddk), (u, uu, diagonal), n = kernel, geometry, self.n
        K = np.array(k)
        K[:n, n:] = -2.0 * dk[:n, n:] * u[:n]
        K[n:, :n] = K[:n, n:].T
        K[n:, n:] = 4.0 * ddk[n:, n:] * uu - 2.0 * dk[n:, n:] * diagonal
        return K

    def contract(
        self, length_scales: FloatArray, W: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the covariance for amplitude 1, and the sum of W times its gradient.

        The gradient is with respect to the logarithms of the length scales.
        """
        k, dk, ddk, dddk, *geometry = self._parts(length_scales)
        K = self._assemble((k, dk, ddk), geometry)
        # The derivative by r2 is the covariance of a process with the kernel k'.
        by_r2 = W * self._assemble((dk, ddk, dddk), geometry)
        D = len(length_scales)
        flat = self._squares.reshape(D, -1)
        by_scale = -2.0 * length_scales**-2.0 * (flat @ by_r2.ravel())
        # The factors 1 / l^2 outside of r2, one for each derivative.
        n, (_, uu, diagonal) = self.n, geometry
        outside = np.sum(W[:n, n:] * K[:n, n:], axis=0)
        pairs = 4.0 * ddk[n:, n:] * uu - dk[n:, n:] * diagonal
        outside = outside + np.sum(W[n:, n:] * pairs, axis=0)
        np.add.at(by_scale, self._columns, -4.0 * outside)
        return K, by_scale
