"""Posterior of a Gaussian process and its hyper-parameters given scores and signs.

Symbols (n scores, k signs, R = n + k rows, D columns):

- ``g``: (k,) derivatives of the score; a sign is a point, a column and +1 or -1.
- ``Sigma``: (k, k) covariance of g given the scores; ``mu``: its mean.
- ``sites``: what expectation propagation puts in place of the signs, as if
  shift / tau had been observed of g with variance 1 / tau.
- ``M``: (R, R), lower triangular, with M^T M the inverse of the joint covariance of
  what was observed and what the sites pretend; its first n rows are those of L^-1.

The scores are conditioned on first, exactly; propagation runs on the derivatives alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from skbayes.surrogates.gp.derivative_kernels import JointCovariance
from skbayes.surrogates.gp.ep import NO_SITES, Sites, propagate
from skbayes.surrogates.gp.factor import cholesky
from skbayes.surrogates.gp.hyperparameters import LogPosterior
from skbayes.surrogates.gp.kernels import FloatArray

__all__ = ["NU", "Factors", "MonotonicLogPosterior", "Signs", "factorize"]

# Derivatives nearer to 0 than this, in standard deviations of the score over the
# width of the space, may have either sign.
NU = 1e-6

# Logarithm of the noise from which the mode is looked for a second time.
NOISY_START = -1.5


class Signs(NamedTuple):
    """What is known of derivatives, one row or entry for each sign.

    Parameters
    ----------
    points : ndarray of shape (k, D)
        Encoded configurations.
    columns : ndarray of int, shape (k,)
        Columns by which the score is derived there.
    values : ndarray of shape (k,)
        +1.0 where the score grows with the column, -1.0 where it falls.
    nu : ndarray of shape (k,)
        Widths of their likelihoods.
    """

    points: FloatArray
    columns: np.ndarray
    values: FloatArray
    nu: FloatArray

    @classmethod
    def of_table(
        cls, points: FloatArray, table: FloatArray, nu: FloatArray | float
    ) -> Signs:
        """Take the signs that are not 0 out of a table."""
        rows, columns = np.nonzero(table)
        widths = np.broadcast_to(np.asarray(nu, float), (points.shape[1],))
        return cls(points[rows], columns, table[rows, columns], widths[columns])

    def equals(self, other: Signs) -> bool:
        """Compare with others."""
        pairs = zip(self, other, strict=True)
        return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)


class Factors(NamedTuple):
    """What conditioning on scores and sites comes to.

    Parameters
    ----------
    M : ndarray of shape (R, R)
        Lower triangular root of the joint precision.
    weights : ndarray of shape (R,)
        Of each row's covariance in the mean of a prediction.
    sites : Sites
        What stands for the signs.
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
    # Where the scores leave nothing open, rounding must not leave less.
    Sigma.flat[:: R - n + 1] += 1e-10 * np.diagonal(K)[n:]
    if sites is None:
        sites = propagate(mu, Sigma, signs.values, signs.nu)
    root = np.sqrt(sites.tau)
    L = cholesky(np.eye(R - n) + root[:, None] * Sigma * root)
    lower = solve_triangular(L, np.diag(root), lower=True, check_finite=False)
    M[n:, n:] = lower
    M[n:, :n] = -lower @ (V.T @ L_inverse)
    # (Sigma + T^-1)^-1 (T^-1 shift - mu), with T^-1 never formed.
    by_sites = sites.shift - lower.T @ (lower @ (Sigma @ sites.shift + mu))
    weights[n:] = by_sites
    weights[:n] -= L_inverse.T @ (V @ by_sites)
    return Factors(M, weights, sites)


class MonotonicLogPosterior(LogPosterior):
    """Negative log posterior density of theta given scores and signs.

    The evidence is that of the scores times the one that expectation propagation gives
    the signs; its gradient takes the sites for fixed, which is exact where they have
    converged (Rasmussen & Williams 2006, section 5.5.2).

    Parameters
    ----------
    plain : LogPosterior
        The density given the scores alone.
    joint : JointCovariance
        Covariance of scores and derivatives.
    signs : Signs
        The signs.
    """

    def __init__(
        self, plain: LogPosterior, joint: JointCovariance, signs: Signs
    ) -> None:
        super().__init__(plain.differences, plain.y, plain.correlation, plain.extra)
        self.joint, self.signs = joint, signs
        # Noise may explain what contradicts the signs, or length scales may shrink
        # until scores and signs have nothing to do with each other: a mode each.
        noisy = self.prior_mean.copy()
        noisy[-1] = NOISY_START
        self.starts = [self.prior_mean, noisy]

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient at `theta`, shape (D + 2,)."""
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
