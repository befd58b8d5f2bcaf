"""Inverse Cholesky factors to which rows can be appended, and products with them.

Symbols (n observations, p more, m candidates, S samples of hyper-parameters):

- ``K``: (S, n, n) covariances of the observations; ``L``: their Cholesky factors.
- ``M``: (S, n, n) lower triangular, L^-1.
- ``B``: (S, n, p) covariances with p more observations; ``C``: (S, p, p) covariances of
  these p observations.

Let V = M B, and l the Cholesky factor of C - V^T V. The inverse factor of all n + p
observations is M above [-l^-1 V^T M, l^-1]. The rows of M therefore do not change
(Rasmussen & Williams 2006, appendix A.3). M is stored as blocks of rows without the
zeros to their right. Products then take half of the operations of a square matrix, and
appending copies no data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from skbayes.surrogates.gp.kernels import FloatArray

__all__ = ["InverseFactor", "cholesky"]

# Jitters tried in turn, relative to the mean of the diagonal.
JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)

# Rows of a block. Smaller blocks need fewer operations in smaller products.
BLOCK_ROWS = 128


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
