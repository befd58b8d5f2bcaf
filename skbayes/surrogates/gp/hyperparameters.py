"""Posterior of a Gaussian process's hyper-parameters: its mode and samples.

Symbols (D columns, n observations, S samples):

- ``theta``: (D + 2,), the logarithms of the D length scales, of the amplitude (signal
  variance) and of the noise variance, for outputs with mean 0 and variance 1.
- ``K``: (n, n), amplitude * k(r2) + noise * I + diag(extra).
- ``extra``: (n,), known variances of the outputs, in addition to the learned noise.
- ``alpha``: (n,), K^-1 y.

Maximum likelihood overfits with a dozen observations, so priors are required. Length
scales are log-normal around 0.5 sqrt(D). With many columns, a single column
therefore rarely dominates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize
from scipy.linalg import lapack

from skbayes.surrogates.gp.kernels import Correlation, FloatArray, cholesky

__all__ = ["LogPosterior", "find_mode", "sample_posterior"]

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


@dataclass
class LogPosterior:
    """Negative log posterior density of theta, up to a constant, and its gradient.

    Parameters
    ----------
    differences : ndarray of shape (D, n, n)
        Squared differences in each column.
    y : ndarray of shape (n,)
        Standardized outputs.
    correlation : callable
        Kernel: function from r2 to correlations and their derivatives.
    extra : ndarray of shape (n,), default=None
        Known variances of the outputs, in addition to the noise. By default, all are 0.
    length_scale_factor : float or ndarray of shape (D,), default=0.5
        Prior median of the length scales divided by sqrt(D), for all columns or for
        each.
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

        Also return the derivatives (n, n) of the value by the correlations, and those
        of the correlations as returned by :meth:`_correlations`.
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
    precision = _hessian(posterior, mode)
    values, vectors = np.linalg.eigh(precision)
    # Away from the exact mode, the curvature may be negative in a direction; its lower
    # bound is half of the prior's.
    least = 0.5 * float(np.min(posterior.prior_sd**-2))
    spread = vectors / np.sqrt(np.maximum(values, least))
    half = random_state.standard_normal(((n_samples + 1) // 2, len(mode)))
    normal = np.vstack([half, -half])[:n_samples]
    thetas = mode + normal @ spread.T
    low, high = posterior.bounds.T
    return np.clip(thetas, low, high)


def _hessian(posterior: LogPosterior, theta: FloatArray) -> FloatArray:
    """Return second derivatives, by central differences of the gradient."""
    rows = []
    for step in FINITE_DIFFERENCE * np.eye(len(theta)):
        ahead, behind = posterior(theta + step)[1], posterior(theta - step)[1]
        rows.append((ahead - behind) / (2.0 * FINITE_DIFFERENCE))
    hessian = np.array(rows)
    return 0.5 * (hessian + hessian.T)
