"""Correlation functions, and inverse Cholesky factors of covariance matrices.

Symbols (n observations, p more, m candidates, S samples of hyper-parameters):

- ``r2``: squared scaled distance, r2(x, x') = sum_d delta_d(x, x')^2 / l_d^2, where
  delta_d is the difference of two positions in an ordered column and 1 for two
  different options in an unordered one. Unordered options are thus the corners of a
  regular simplex: they are exchangeable, and the kernel stays positive definite.
- ``l``: length scales, one per column.
- ``K``: (S, n, n) covariances of the observations; ``L``: their Cholesky factors.
- ``M``: (S, n, n) lower triangular, L^-1.
- ``B``: (S, n, p) covariances with p more observations; ``C``: (S, p, p) covariances of
  these p observations.

A column that is inactive in a configuration has a fixed position there: the middle of
an ordered column, or an additional option of an unordered one. The stored value has no
effect.

Let V = M B, and G the Cholesky factor of C - V^T V. The inverse factor of all n + p
observations is M above [-G^-1 V^T M, G^-1]. The rows of M therefore do not change
(Rasmussen & Williams 2006, appendix A.3). M is stored as blocks of rows without the
zeros to their right. Products then take half of the operations of a square matrix, and
appending copies no data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

__all__ = [
    "KERNELS",
    "Embedding",
    "InverseFactor",
    "check_kernel",
    "cholesky",
    "matern32",
    "matern52",
    "rbf",
]

FloatArray = NDArray[np.float64]
# Function of r2, and of whether to return derivatives by r2, which returns correlations
# and derivatives.
Correlation = Callable[..., tuple[FloatArray, Any]]

# Position of an inactive configuration in an ordered column.
INACTIVE = 0.5

# An unordered column with more options has coordinates only for the known ones, because
# there may be thousands, and predictions need no others.
MAX_CORNERS = 100

# Jitters tried in turn, relative to the mean of the diagonal.
JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)

# Rows of a block. Smaller blocks need fewer operations in smaller products.
BLOCK_ROWS = 128


def rbf(r2: FloatArray, slopes: bool = True) -> tuple[FloatArray, Any]:
    """Compute the squared exponential kernel, k = exp(-r2 / 2)."""
    k = np.exp(-0.5 * r2)
    return k, -0.5 * k if slopes else None


def matern52(r2: FloatArray, slopes: bool = True) -> tuple[FloatArray, Any]:
    """Compute Matérn-5/2, k = (1 + a + a^2 / 3) exp(-a), a = sqrt(5 r2)."""
    a = np.sqrt(5.0 * r2)
    e = np.exp(-a)
    a += 1.0
    k = (5.0 / 3.0) * r2
    k += a
    k *= e
    return k, (-5.0 / 6.0) * a * e if slopes else None


def matern32(r2: FloatArray, slopes: bool = True) -> tuple[FloatArray, Any]:
    """Compute Matérn-3/2, k = (1 + a) exp(-a), a = sqrt(3 r2)."""
    a = np.sqrt(3.0 * r2)
    e = np.exp(-a)
    a += 1.0
    a *= e
    return a, -1.5 * e if slopes else None


KERNELS: dict[str, Correlation] = {
    "rbf": rbf,
    "matern32": matern32,
    "matern52": matern52,
}


def check_kernel(kernel: str) -> None:
    """Raise ValueError unless this is the name of a kernel."""
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {sorted(KERNELS)}, got {kernel!r}.")


class Embedding:
    """Embedding of encoded configurations in a Euclidean space with the distances r2.

    In a column with very many options, all options that are not in `known` share one
    position. Distances are exact if one of the two configurations is known.

    Parameters
    ----------
    n_options : sequence of int
        Number of options of each column, 0 for an ordered column.
    known : ndarray of shape (n, D), default=None
        Known encoded configurations. By default, there are none.

    Attributes
    ----------
    n_columns : int
        Number of columns of encoded configurations.
    ordered : ndarray of int
        Indices of the ordered columns; their coordinates come first.
    coordinates : list of ndarray of int
        Indices of the coordinates of each column.
    """

    def __init__(self, n_options: list[int], known: FloatArray | None = None) -> None:
        self.n_columns = len(n_options)
        self._n_options = np.asarray(n_options, dtype=int)
        self.ordered = np.flatnonzero(self._n_options == 0)
        self._unordered = np.flatnonzero(self._n_options)
        self._corners = [
            self._corners_of(int(column), known) for column in self._unordered
        ]
        widths = list(map(len, self._corners))
        # Column of each coordinate, whose length scale it is divided by.
        self._column_of = np.concatenate(
            [self.ordered, np.repeat(self._unordered, widths)]
        ).astype(int)
        self.coordinates = [
            np.flatnonzero(self._column_of == d) for d in range(self.n_columns)
        ]

    def place(self, X: FloatArray) -> FloatArray:
        """Return coordinates before scaling."""
        ordered = X[:, self.ordered]
        missing = np.isnan(ordered)
        if np.any(missing):
            ordered = np.where(missing, INACTIVE, ordered)
        parts = [ordered]
        for column, corners in zip(self._unordered, self._corners, strict=True):
            levels = self._levels(X[:, column], self._n_options[column])
            if corners[-1] < 0:  # for unknown options
                levels = np.where(np.isin(levels, corners), levels, corners[-1])
            parts.append(np.sqrt(0.5) * (levels[:, None] == corners))
        return np.hstack(parts)

    def covering(self, known: FloatArray) -> Embedding:
        """Return an embedding of the same columns for other known configurations."""
        return Embedding(self._n_options.tolist(), known)

    def _corners_of(self, column: int, known: FloatArray | None) -> NDArray[np.int_]:
        """Return the levels that have a coordinate, with -1 for all others."""
        options = int(self._n_options[column])
        if options <= MAX_CORNERS:
            return np.arange(options + 1)  # one more: inactive
        positions = np.empty(0) if known is None else known[:, column]
        return np.append(np.unique(self._levels(positions, options)).astype(int), -1)

    @staticmethod
    def _levels(positions: FloatArray, options: int) -> NDArray[np.float64]:
        levels = np.rint(positions * max(options - 1, 1))
        return np.where(np.isnan(positions), options, levels)

    def scale(self, Z: FloatArray, length_scales: FloatArray) -> FloatArray:
        """Divide coordinates by length scales, shape (..., n_columns)."""
        return Z / length_scales[..., None, self._column_of]

    def squared_differences(self, X: FloatArray) -> FloatArray:
        """Return delta_d^2 between all pairs of rows."""
        result = np.empty((self.n_columns, len(X), len(X)))
        for j, options in enumerate(self._n_options):
            if options:
                levels = self._levels(X[:, j], options)
                result[j] = levels[:, None] != levels
            else:
                positions = np.where(np.isnan(X[:, j]), INACTIVE, X[:, j])
                result[j] = np.square(positions[:, None] - positions)
        return result


def squared_distances(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return r2 between scaled coordinates."""
    r2 = np.matmul(A, np.swapaxes(B, -1, -2))
    r2 *= -2.0
    r2 += np.sum(np.square(A), axis=-1)[..., :, None]
    r2 += np.sum(np.square(B), axis=-1)[..., None, :]
    return np.maximum(r2, 0.0, out=r2)


def cholesky(K: FloatArray, scale: float | None = None) -> FloatArray:
    """Return the lower Cholesky factor, with the smallest jitter that succeeds.

    Jitters are relative to `scale`, by default the mean of the diagonal.
    """
    return _jittered_cholesky(K, scale)[0]


def _jittered_cholesky(
    K: FloatArray, scale: float | None = None
) -> tuple[FloatArray, float]:
    """Return the lower Cholesky factor, and the jitter added to the diagonal."""
    if scale is None:
        scale = float(np.mean(np.diagonal(K)))
    for jitter in JITTERS:
        shifted = K if jitter == 0.0 else K + jitter * scale * np.eye(len(K))
        L, info = lapack.dpotrf(shifted, lower=1, clean=1)
        if info == 0:
            return L, jitter * scale
    raise np.linalg.LinAlgError(
        f"A covariance of {len(K)} points is not positive definite, not even with a "
        f"jitter of {JITTERS[-1]:g} of its diagonal."
    )


def _invert(K: FloatArray, scale: float | None = None) -> tuple[FloatArray, float]:
    """Return the inverse of the lower Cholesky factor, and the jitter."""
    L, jitter = _jittered_cholesky(K, scale)
    M, _ = lapack.dtrtri(L, lower=1, overwrite_c=1)
    return M, jitter


@dataclass(frozen=True)
class InverseFactor:
    """Inverse Cholesky factor M of covariances, for each sample of hyper-parameters.

    Parameters
    ----------
    blocks : sequence of ndarray of shape (S, rows, n_so_far)
        Consecutive rows of M, without the columns of zeros to their right.
    jitter : ndarray of shape (S, n)
        Jitter added to the diagonal of the covariances.
    """

    blocks: Sequence[FloatArray]
    jitter: FloatArray

    @classmethod
    def of_covariances(cls, K: FloatArray) -> InverseFactor:
        """Factorize covariances (S, n, n)."""
        parts = [_invert(matrix) for matrix in K]
        M = (
            parts[0][0][None]
            if len(K) == 1
            else np.array([inverse for inverse, _ in parts])
        )
        jitter = np.array([added for _, added in parts])
        return cls.of_inverse(M, np.repeat(jitter[:, None], K.shape[-1], axis=1))

    @classmethod
    def of_inverse(
        cls, M: FloatArray, jitter: FloatArray | None = None
    ) -> InverseFactor:
        """Store a lower triangular matrix (S, n, n)."""
        S, n, _ = M.shape
        ends = [*range(BLOCK_ROWS, n, BLOCK_ROWS), n]
        starts = [0, *ends[:-1]]
        blocks = [M[:, a:b, :b] for a, b in zip(starts, ends, strict=True)]
        return cls(blocks, np.zeros((S, n)) if jitter is None else jitter)

    def __len__(self) -> int:
        return self.jitter.shape[1]

    def extend(self, B: FloatArray, C: FloatArray) -> InverseFactor:
        """Append p rows with covariances B (S, n, p) and C (S, p, p)."""
        Vt = self.whiten(np.swapaxes(B, 1, 2))
        schur = C - np.matmul(Vt, np.swapaxes(Vt, 1, 2))
        parts = [
            _invert(complement, scale=float(np.mean(np.diagonal(corner))))
            for complement, corner in zip(schur, C, strict=True)
        ]
        corner = np.array([inverse for inverse, _ in parts])
        rows = np.concatenate([-np.matmul(corner, self.unwhiten(Vt)), corner], axis=-1)
        jitter = np.array([added for _, added in parts])[:, None]
        jitter = np.broadcast_to(jitter, C.shape[:2])
        return InverseFactor([*self.blocks, rows], np.hstack([self.jitter, jitter]))

    def whiten(self, kx: FloatArray) -> FloatArray:
        """Return kx M^T (S, m, n) of covariances with candidates (S, m, n)."""
        if len(self.blocks) == 1:
            return np.matmul(kx, np.swapaxes(self.blocks[0], 1, 2))
        result = np.empty(kx.shape)
        for block in self.blocks:
            end = block.shape[2]
            np.matmul(
                kx[..., :end],
                np.swapaxes(block, 1, 2),
                out=result[..., end - block.shape[1] : end],
            )
        return result

    def unwhiten(self, v: FloatArray) -> FloatArray:
        """Return v M (S, m, n), which for v = kx M^T is kx K^-1."""
        if len(self.blocks) == 1:
            return np.matmul(v, self.blocks[0])
        result = np.zeros(v.shape)
        for block in self.blocks:
            end = block.shape[2]
            result[..., :end] += np.matmul(v[..., end - block.shape[1] : end], block)
        return result

    def solve(self, y: FloatArray) -> FloatArray:
        """Return K^-1 y (S, n) of targets (S, n)."""
        return self.unwhiten(self.whiten(y[:, None, :]))[:, 0]

    def precision(self) -> FloatArray:
        """Return the diagonals (S, n) of K^-1."""
        result = np.zeros(self.jitter.shape)
        for block in self.blocks:
            result[:, : block.shape[2]] += np.sum(np.square(block), axis=1)
        return result
