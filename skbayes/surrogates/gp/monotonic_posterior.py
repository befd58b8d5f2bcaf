"""Posterior of a Gaussian process and its hyper-parameters given scores and signs.

Symbols (n scores, k signs, R = n + k rows, D columns):

- ``g``: (k,) derivatives of the score; a sign is a point, a column and +1 or -1.
- ``Sigma``: (k, k) covariance of g given the scores; ``mu``: mean of g given the
  scores.
- ``sites``: pseudo-observations by which expectation propagation replaces the signs,
  shift / tau of g with variance 1 / tau.
- ``M``: (R, R), lower triangular, with M^T M the inverse of the joint covariance of the
  observations and the pseudo-observations. Its first n rows are those of L^-1.

Conditioning on the scores comes first, and is exact. Expectation propagation then only
includes the derivatives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from skbayes.surrogates.gp.derivative_kernels import JointCovariance
from skbayes.surrogates.gp.ep import NO_SITES, Sites, propagate
from skbayes.surrogates.gp.hyperparameters import LogPosterior
from skbayes.surrogates.gp.kernels import FloatArray, cholesky

__all__ = ["NU", "Factors", "MonotonicLogPosterior", "Signs", "factorize"]

# Derivatives nearer to 0, in standard deviations of the score over the width of the
# space, may have either sign.
NU = 1e-6

# Logarithm of the noise at the second starting point of the search for the mode.
NOISY_START = -1.5


class Signs(NamedTuple):
    """Known signs of derivatives, with one row or entry for each sign.

    Parameters
    ----------
    points : ndarray of shape (k, D)
        Encoded configurations.
    columns : ndarray of int, shape (k,)
        Columns of the derivatives.
    values : ndarray of shape (k,)
        +1.0 if the score increases with the column, -1.0 if it decreases.
    nu : ndarray of shape (k,)
        Widths of the likelihoods.
    """

    points: FloatArray
    columns: np.ndarray
    values: FloatArray
    nu: FloatArray

    @classmethod
    def of_table(
        cls, points: FloatArray, table: FloatArray, nu: FloatArray | float
    ) -> Signs:
        """Return the nonzero signs of a table."""
        rows, columns = np.nonzero(table)
        widths = np.broadcast_to(np.asarray(nu, float), (points.shape[1],))
        return cls(points[rows], columns, table[rows, columns], widths[columns])

    def equals(self, other: Signs) -> bool:
        """Return whether all signs are equal to those of another object."""
        pairs = zip(self, other, strict=True)
        return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)


class Factors(NamedTuple):
    """Result of conditioning on scores and sites.

    Parameters
    ----------
    M : ndarray of shape (R, R)
        Lower triangular root of the joint precision.
    weights : ndarray of shape (R,)
        Weights of the covariances with each row in the mean of a prediction.
    sites : Sites
        Sites that replace the signs.
    """

    M: FloatArray
    weights: FloatArray
    sites: Sites


def factorize(
    K: FloatArray, target: FloatArray, signs: Signs, sites: Sites | None
) -> Factors:
    """Condition on `target`, then on the signs."""
    n, R = len(target), len(K)
    M = np.zeros((R, R))
    L_inverse = solve_triangular(
        cholesky(K[:n, :n]), np.eye(n), lower=True, check_finite=False
    )
    M[:n, :n] = L_inverse
    half = L_inverse @ target
    weights = np.zeros(R)
    weights[:n] = L_inverse.T @ half
    if n == R:
        return Factors(M, weights, sites or NO_SITES)
    V = L_inverse @ K[:n, n:]
    mu, Sigma = V.T @ half, K[n:, n:] - V.T @ V
    # The jitter prevents negative variances by rounding.
    Sigma.flat[:: R - n + 1] += 1e-10 * np.diagonal(K)[n:]
    if sites is None:
        sites = propagate(mu, Sigma, signs.values, signs.nu)
    root = np.sqrt(sites.tau)
    L = cholesky(np.eye(R - n) + root[:, None] * Sigma * root)
    lower = solve_triangular(L, np.diag(root), lower=True, check_finite=False)
    M[n:, n:] = lower
    M[n:, :n] = -lower @ (V.T @ L_inverse)
    # (Sigma + T^-1)^-1 (T^-1 shift - mu), without computing T^-1.
    by_sites = sites.shift - lower.T @ (lower @ (Sigma @ sites.shift + mu))
    weights[n:] = by_sites
    weights[:n] -= L_inverse.T @ (V @ by_sites)
    return Factors(M, weights, sites)


class MonotonicLogPosterior(LogPosterior):
    """Negative log posterior density of theta given scores and signs.

    The evidence is the product of the evidence of the scores and that of the signs by
    expectation propagation. Its gradient treats the sites as fixed, which is exact if
    they have converged (Rasmussen & Williams 2006, section 5.5.2).
    """

    def __init__(
        self, plain: LogPosterior, joint: JointCovariance, signs: Signs
    ) -> None:
        super().__init__(plain.differences, plain.y, plain.correlation, plain.extra)
        self.joint, self.signs = joint, signs
        # There may be two modes if scores contradict the signs: one with large noise,
        # and one with length scales so short that scores and signs are uncorrelated.
        noisy = self.prior_mean.copy()
        noisy[-1] = NOISY_START
        self.starts = [self.prior_mean, noisy]

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient at `theta`, shape (D + 2,)."""
        n, D = len(self.y), len(theta) - 2
        length_scales = np.exp(theta[:D])
        amplitude, noise = np.exp(theta[D:])
        K = amplitude * self.joint.correlations(length_scales)
        diagonal = noise if self.extra is None else noise + self.extra
        K[np.arange(n), np.arange(n)] += diagonal
        M, weights, sites = factorize(K, self.y, self.signs, None)
        half = M[:n, :n] @ self.y
        value = 0.5 * float(half @ half) - float(np.sum(np.log(np.diagonal(M)[:n])))
        value -= sites.log_evidence
        # d value = tr(W dK) with W = (M^T M - weights weights^T) / 2.
        W = 0.5 * (M.T @ M - np.outer(weights, weights))
        correlations, by_scale = self.joint.contract(length_scales, amplitude * W)
        gradient = np.empty(D + 2)
        gradient[:D] = by_scale
        gradient[D] = amplitude * float(np.vdot(W, correlations))
        gradient[D + 1] = noise * float(np.trace(W[:n, :n]))
        return self._with_prior(theta, value, gradient)
