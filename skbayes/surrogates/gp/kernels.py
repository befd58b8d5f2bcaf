"""Kernels: correlations, factors of covariances, posterior of their hyper-parameters.

Symbols (n observations, p appended observations, m candidates, D columns, S samples of
hyper-parameters):

- ``r2``: squared scaled distance, r2(x, x') = sum_d delta_d(x, x')^2 / l_d^2, where
  delta_d is the difference of two positions in an ordered column and 1 for two
  different options in an unordered one. Unordered options are thus the corners of a
  regular simplex: they are exchangeable, and the kernel stays positive definite.
- ``l``: length scales, one per column.
- ``theta``: (D + 2,), the logarithms of the D length scales, of the amplitude (signal
  variance) and of the noise variance, for outputs with mean 0 and variance 1.
- ``extra``: (n,), known variances of the outputs, in addition to the learned noise.
- ``K``: (S, n, n) covariances of the observations, amplitude * k(r2) + noise * I
  + diag(extra); ``L``: their Cholesky factors.
- ``alpha``: (n,), K^-1 y.
- ``M``: (S, n, n) lower triangular, L^-1.
- ``B``: (S, n, p) covariances with the p appended observations; ``C``: (S, p, p) their
  covariances with one another.

A column that is inactive in a configuration has a fixed position there: the middle of
an ordered column, or an additional option of an unordered one. The stored value has no
effect.

Let V = M B, and G the Cholesky factor of C - V^T V. The inverse factor of all n + p
observations is M above [-G^-1 V^T M, G^-1]. The rows of M therefore do not change
(Rasmussen & Williams 2006, appendix A.3). M is stored as blocks of rows without the
zeros to their right. Products then take half of the operations of a square matrix, and
appending copies no data.

Maximum likelihood overfits with a dozen observations, so priors are required. Length
scales are log-normal around 0.5 sqrt(D). With many columns, a single column
therefore rarely dominates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from scipy.linalg import lapack

from skbayes.space.dimensions import FloatArray

# Function of r2, and of whether to return derivatives by r2, which returns correlations
# and derivatives.
Correlation = Callable[..., tuple[FloatArray, Any]]

# Position of an inactive configuration in an ordered column.
INACTIVE = 0.5

# An unordered column with more options has coordinates only for the observed options,
# because there may be thousands, and predictions need no others.
MAX_CORNERS = 100

# Jitters tried in turn, relative to the mean of the diagonal.
JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)

# Rows of a block. Smaller blocks need fewer operations in smaller products.
BLOCK_ROWS = 128

# Prior of log theta: normal with these means and standard deviations.
LENGTH_SCALE_FACTOR, LENGTH_SCALE_SD = 0.5, 1.0
AMPLITUDE_MEAN, AMPLITUDE_SD = 0.0, 1.0
NOISE_MEAN, NOISE_SD = -5.0, 1.5

# Bounds of log theta. The minimum noise and the maximum amplitude keep the condition
# number of K below 1e11 for 500 observations.
LENGTH_SCALE_BOUNDS = (-4.0, 5.0)
AMPLITUDE_BOUNDS = (-5.0, 4.0)
NOISE_BOUNDS = (-14.0, 1.0)

MAX_ITERATIONS = 40
FINITE_DIFFERENCE = 1e-4

# -- correlations ---------------------------------------------------------------------


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


def _smooth_rbf(r2: FloatArray) -> tuple[FloatArray, ...]:
    k, dk = rbf(r2)
    return k, dk, 0.25 * k, -0.125 * k


def _smooth_matern52(r2: FloatArray) -> tuple[FloatArray, ...]:
    # The third derivative is infinite at 0. It only occurs in products that vanish
    # there, so that it is replaced by 0.
    k, dk = matern52(r2)
    a = np.sqrt(5.0 * r2)
    e = np.exp(-a)
    third = np.where(a > 0.0, (-125.0 / 24.0) * e / np.where(a > 0.0, a, 1.0), 0.0)
    return k, dk, (25.0 / 12.0) * e, third


# Kernels that are twice differentiable, with three derivatives with respect to r2.
SMOOTH_KERNELS: dict[str, Callable[[FloatArray], tuple[FloatArray, ...]]] = {
    "rbf": _smooth_rbf,
    "matern52": _smooth_matern52,
}


def check_kernel(kernel: str) -> None:
    """Raise ValueError unless this is the name of a kernel."""
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {sorted(KERNELS)}, got {kernel!r}.")


class Embedding:
    """Embedding of encoded configurations in a Euclidean space with the distances r2.

    `n_options` is the number of options of each column, 0 for an ordered one. In a
    column with very many options, all options that are not in `exact`, (n, D), share
    one position. Distances are exact if one of the two configurations is in it. The
    coordinates of the `ordered` columns come first; `coordinates` has the indices of
    the coordinates of each column.
    """

    def __init__(self, n_options: list[int], exact: FloatArray | None = None) -> None:
        self.n_columns = len(n_options)
        self._n_options = np.asarray(n_options, dtype=int)
        self.ordered = np.flatnonzero(self._n_options == 0)
        self._unordered = np.flatnonzero(self._n_options)
        self._corners = [
            self._corners_of(int(column), exact) for column in self._unordered
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

    def covering(self, exact: FloatArray) -> Embedding:
        """Return an embedding of the same columns, `exact` for other configurations."""
        return Embedding(self._n_options.tolist(), exact)

    def _corners_of(self, column: int, exact: FloatArray | None) -> NDArray[np.int_]:
        """Return the levels that have a coordinate, with -1 for all others."""
        options = int(self._n_options[column])
        if options <= MAX_CORNERS:
            return np.arange(options + 1)  # one more: inactive
        positions = np.empty(0) if exact is None else exact[:, column]
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


# -- factors of covariances -----------------------------------------------------------


def cholesky(K: FloatArray) -> FloatArray:
    """Return the lower Cholesky factor, with the smallest jitter that succeeds."""
    return _jittered_cholesky(K, float(np.mean(np.diagonal(K))))[0]


def _jittered_cholesky(K: FloatArray, scale: float) -> tuple[FloatArray, float]:
    """Return the lower Cholesky factor, and the jitter added to the diagonal.

    The jitter is relative to `scale`, the mean of a diagonal.
    """
    for jitter in JITTERS:
        shifted = K if jitter == 0.0 else K + jitter * scale * np.eye(len(K))
        L, info = lapack.dpotrf(shifted, lower=1, clean=1)
        if info == 0:
            return L, jitter * scale
    raise np.linalg.LinAlgError(
        f"A covariance of {len(K)} points is not positive definite, not even with a "
        f"jitter of {JITTERS[-1]:g} of its diagonal."
    )


def _inverses(K: FloatArray, scales: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the inverse factors of covariances (S, n, n), and their jitters (S, n)."""
    inverses, jitter = [], np.empty(K.shape[:2])
    for s, scale in enumerate(scales):
        L, jitter[s] = _jittered_cholesky(K[s], float(scale))
        inverses.append(lapack.dtrtri(L, lower=1, overwrite_c=1)[0])
    # A single matrix is not copied.
    return inverses[0][None] if len(K) == 1 else np.array(inverses), jitter


def _mean_diagonals(K: FloatArray) -> FloatArray:
    return np.mean(np.diagonal(K, axis1=1, axis2=2), axis=1)


@dataclass(frozen=True)
class InverseFactor:
    """Inverse Cholesky factor M of covariances, for each sample of hyper-parameters.

    `blocks` are consecutive rows of M, (S, rows, n_so_far), without the columns of
    zeros to their right. `jitter` (S, n) was added to the diagonal of the covariances.
    """

    blocks: Sequence[FloatArray]
    jitter: FloatArray

    @classmethod
    def of_covariances(cls, K: FloatArray) -> InverseFactor:
        """Factorize covariances (S, n, n)."""
        return cls.of_inverse(*_inverses(K, _mean_diagonals(K)))

    @classmethod
    def of_inverse(cls, M: FloatArray, jitter: FloatArray) -> InverseFactor:
        """Store a lower triangular matrix (S, n, n)."""
        n = M.shape[1]
        ends = [*range(BLOCK_ROWS, n, BLOCK_ROWS), n]
        starts = [0, *ends[:-1]]
        return cls([M[:, a:b, :b] for a, b in zip(starts, ends, strict=True)], jitter)

    def __len__(self) -> int:
        return self.jitter.shape[1]

    def extend(self, B: FloatArray, C: FloatArray) -> InverseFactor:
        """Append p rows with covariances B (S, n, p) and C (S, p, p)."""
        Vt = self.whiten(np.swapaxes(B, 1, 2))
        schur = C - np.matmul(Vt, np.swapaxes(Vt, 1, 2))
        corner, jitter = _inverses(schur, _mean_diagonals(C))
        rows = np.concatenate([-np.matmul(corner, self.unwhiten(Vt)), corner], axis=-1)
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


# -- posterior of hyper-parameters -----------------------------------------------------


@dataclass
class LogPosterior:
    """Negative log posterior density of theta, up to a constant, and its gradient.

    `differences` (D, n, n) are the squared differences in each column, and `y` (n,) the
    standardized outputs. `length_scale_factor` is the prior median of the length scales
    divided by sqrt(D), for all columns or for each.
    """

    differences: FloatArray
    y: FloatArray
    correlation: Correlation
    extra: FloatArray | None = None
    length_scale_factor: float | FloatArray = LENGTH_SCALE_FACTOR

    def __post_init__(self) -> None:
        D, n, _ = self.differences.shape
        self._flat = self.differences.reshape(D, n * n)
        factors = np.broadcast_to(self.length_scale_factor, (D,))
        centers = np.log(factors * math.sqrt(max(D, 1)))
        self.prior_mean = np.append(centers, [AMPLITUDE_MEAN, NOISE_MEAN])
        self.prior_sd = np.array([LENGTH_SCALE_SD] * D + [AMPLITUDE_SD, NOISE_SD])
        self.bounds = np.array(
            [LENGTH_SCALE_BOUNDS] * D + [AMPLITUDE_BOUNDS, NOISE_BOUNDS]
        )
        # Starting points of the search for the mode.
        self.starts = [self.prior_mean]

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient at `theta`, shape (D + 2,)."""
        value, gradient, *_ = self._likelihood(theta)
        return self._with_prior(theta, value, gradient)

    def _likelihood(self, theta: FloatArray) -> tuple[float, FloatArray, Any, Any]:
        """Return value and gradient without the prior.

        Also return the derivatives (n, n) of the value by the correlations, and the
        derivatives of the correlations as :meth:`_correlations` returns them.
        """
        D, n, _ = self.differences.shape
        inverse_squares = np.exp(-2.0 * theta[:D])
        amplitude, noise = np.exp(theta[D : D + 2])
        k, slopes = self._correlations(inverse_squares)
        K = amplitude * k
        K.flat[:: n + 1] += noise if self.extra is None else noise + self.extra
        L = cholesky(K)
        inverse, _ = lapack.dpotri(L, lower=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        alpha = inverse @ self.y
        value = 0.5 * float(self.y @ alpha) + float(np.sum(np.log(np.diagonal(L))))
        # d value = tr(W dK) with W = (K^-1 - alpha alpha^T) / 2.
        W = 0.5 * (inverse - np.outer(alpha, alpha))
        gradient = np.empty(D + 2)
        by_k = amplitude * W
        by_square = self._by_inverse_square(by_k, slopes)
        gradient[:D] = -2.0 * inverse_squares * by_square
        gradient[D] = amplitude * float(np.vdot(W, k))
        gradient[D + 1] = noise * float(np.trace(W))
        return value, gradient, by_k, slopes

    def _with_prior(
        self, theta: FloatArray, value: float, gradient: FloatArray
    ) -> tuple[float, FloatArray]:
        z = (theta - self.prior_mean) / self.prior_sd
        return value + 0.5 * float(z @ z), gradient + z / self.prior_sd

    def _correlations(self, inverse_squares: FloatArray) -> tuple[FloatArray, Any]:
        """Return correlations (n, n), and data for their derivatives."""
        n = len(self.y)
        return self.correlation((inverse_squares @ self._flat).reshape(n, n))

    def _by_inverse_square(self, weights: FloatArray, slopes: Any) -> FloatArray:
        """Return sum_ij weights_ij d k_ij / d l_d^-2 for each column, shape (D,)."""
        return self._flat @ (weights * slopes).ravel()


def find_mode(posterior: LogPosterior) -> FloatArray:
    """Return the most probable theta, by L-BFGS-B from the posterior's starts."""
    results = [
        optimize.minimize(
            posterior,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=posterior.bounds,
            options={"maxiter": MAX_ITERATIONS, "ftol": 1e-6, "gtol": 1e-3},
        )
        for start in posterior.starts
    ]
    best = min(results, key=lambda result: result.fun)
    return np.asarray(best.x, dtype=np.float64)


def sample_posterior(
    posterior: LogPosterior,
    mode: FloatArray,
    n_samples: int,
    random_state: np.random.Generator,
) -> FloatArray:
    """Draw theta from the Laplace approximation at its mode."""
    rows = []
    for step in FINITE_DIFFERENCE * np.eye(len(mode)):
        ahead, behind = posterior(mode + step)[1], posterior(mode - step)[1]
        rows.append((ahead - behind) / (2.0 * FINITE_DIFFERENCE))
    hessian = np.array(rows)
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    # Away from the exact mode, the curvature may be negative in a direction; its lower
    # bound is half of the prior's.
    least = 0.5 * float(np.min(posterior.prior_sd**-2))
    spread = vectors / np.sqrt(np.maximum(values, least))
    half = random_state.standard_normal(((n_samples + 1) // 2, len(mode)))
    normal = np.vstack([half, -half])[:n_samples]
    thetas = mode + normal @ spread.T
    low, high = posterior.bounds.T
    return np.clip(thetas, low, high)
