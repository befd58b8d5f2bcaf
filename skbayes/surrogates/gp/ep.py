"""Expectation propagation for the signs of jointly normal quantities.

Symbols (k quantities g, here the derivatives of a Gaussian process):

- ``mean``, ``covariance``: (k,) and (k, k), prior mean and covariance of g.
- ``signs``: (k,), m_i = +1 or -1, with the likelihoods Phi(m_i g_i / nu).
- ``tau``, ``shift``: (k,), the sites. Each likelihood is replaced by one proportional
  to exp(shift_i g_i - tau_i g_i^2 / 2).
- ``B``: I + T^1/2 covariance T^1/2 with T = diag(tau).

Minka (2001), "Expectation propagation for approximate Bayesian inference"; Riihimaki &
Vehtari (2010), "Gaussian processes with monotonicity information"; the numerics follow
Rasmussen & Williams (2006), section 3.6. All sites are updated in parallel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.special import log_ndtr

from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.gp.kernels import cholesky

# Step size of the sites toward their new values. It is multiplied by SLOWER each time
# the changes grow, down to MIN_DAMPING.
DAMPING, SLOWER, MIN_DAMPING = 0.7, 0.7, 0.05

# Maximum number of sweeps over all sites, and maximum change of the marginals at
# convergence, in units of their standard deviations.
MAX_SWEEPS, TOLERANCE = 200, 1e-6

# Below this z, 1 - r (z + r) is computed by its asymptotic series.
Z_SERIES = -30.0


class Sites(NamedTuple):
    """Result of expectation propagation: normal sites that replace the signs."""

    tau: FloatArray  # (k,), precisions of the sites, >= 0
    shift: FloatArray  # (k,), linear terms of the sites
    log_evidence: float  # logarithm of the joint probability of the signs
    converged: bool  # whether the changes of the last sweep were below the tolerance
    n_sweeps: int


# Sites without signs.
NO_SITES = Sites(np.empty(0), np.empty(0), 0.0, True, 0)


def propagate(
    mean: FloatArray, covariance: FloatArray, signs: FloatArray, nu: float
) -> Sites:
    """Compute the sites by expectation propagation.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.surrogates.gp.ep import propagate
    >>> sites = propagate(np.zeros(1), np.eye(1), np.ones(1), 1e-6)
    >>> print(f"{np.exp(sites.log_evidence):.2f}")
    0.50
    >>> sites.converged
    True
    """
    k = len(mean)
    if k == 0:
        return NO_SITES
    problem = _Problem(mean, covariance, signs, nu)
    tau, shift = np.zeros(k), np.zeros(k)
    center, variance = mean, np.diagonal(covariance).copy()
    damping, last_change = DAMPING, np.inf
    converged, sweep = False, 0
    while not converged and sweep < MAX_SWEEPS:
        sweep += 1
        new_tau, new_shift = problem.update(*_cavity(center, variance, tau, shift))
        # A site with an improper cavity is not updated in this sweep.
        usable = np.isfinite(new_tau) & np.isfinite(new_shift)
        step = np.where(usable, damping, 0.0)
        tau = tau + step * (np.where(usable, new_tau, tau) - tau)
        shift = shift + step * (np.where(usable, new_shift, shift) - shift)
        new_center, new_variance = problem.marginals(tau, shift)
        moved = np.max(np.abs(new_center - center) / np.sqrt(variance))
        change = max(moved, np.max(np.abs(np.log(new_variance / variance))))
        center, variance = new_center, new_variance
        converged = bool(change < TOLERANCE and np.all(usable))
        if change > last_change:
            damping = max(SLOWER * damping, MIN_DAMPING)
        last_change = change
    log_evidence = problem.log_evidence(center, variance, tau, shift)
    return Sites(tau, shift, log_evidence, converged, sweep)


def _cavity(
    center: FloatArray, variance: FloatArray, tau: FloatArray, shift: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of each cavity distribution; NaN if improper."""
    precision = 1.0 / variance - tau
    precision = np.where(precision > 1e-10 / variance, precision, np.nan)
    return (center / variance - shift) / precision, 1.0 / precision


class _Problem(NamedTuple):
    """Prior, signs and width, with the updates of the sites."""

    mean: FloatArray
    covariance: FloatArray
    signs: FloatArray
    nu: float

    def update(self, mu: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sites that match the moments of the tilted distributions."""
        s2 = self.nu**2 + v
        s = np.sqrt(s2)
        z = self.signs * mu / s
        r = np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - log_ndtr(z))
        inverse = np.minimum(z, Z_SERIES) ** -2.0
        series = inverse * (1.0 - inverse * (6.0 - inverse * (50.0 - 518.0 * inverse)))
        # Variance of g given its sign, in units of v, for nu = 0.
        remaining = np.where(z < Z_SERIES, series, 1.0 - r * (z + r))
        new_tau = (1.0 - remaining) / (s2 - v * (1.0 - remaining))
        return new_tau, mu * new_tau + self.signs * r / s * (1.0 + v * new_tau)

    def _project(
        self, tau: FloatArray, shift: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the factor L of B, residual, its projection, and L^-1 T^1/2 of it."""
        root = np.sqrt(tau)
        scaled = root[:, None] * self.covariance
        L = cholesky(np.eye(len(tau)) + scaled * root)
        residual = shift - tau * self.mean
        projected = self.covariance @ residual
        half, _ = lapack.dtrtrs(L, root * projected, lower=1)
        return L, residual, projected, half

    def marginals(
        self, tau: FloatArray, shift: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return means and variances given the sites."""
        L, _, projected, half = self._project(tau, shift)
        V, _ = lapack.dtrtrs(L, np.sqrt(tau)[:, None] * self.covariance, lower=1)
        prior = np.diagonal(self.covariance)
        variance = np.maximum(prior - np.einsum("ij,ij->j", V, V), 1e-14 * prior)
        # (covariance^-1 + T)^-1 (covariance^-1 mean + shift)
        return self.mean + projected - V.T @ half, variance

    def log_evidence(
        self,
        center: FloatArray,
        variance: FloatArray,
        tau: FloatArray,
        shift: FloatArray,
    ) -> float:
        """Return the log evidence for a prior with any mean.

        Rasmussen & Williams (2006), equation 3.65.
        """
        mu, v = _cavity(center, variance, tau, shift)
        # A cavity is only improper if expectation propagation did not converge.
        mu, v = np.where(np.isnan(v), center, mu), np.where(np.isnan(v), variance, v)
        tilted = np.sum(log_ndtr(self.signs * mu / np.sqrt(self.nu**2 + v)))
        single = mu * shift - 0.5 * tau * mu**2 - 0.5 * np.log1p(tau * v)
        single += 0.5 * np.square(shift - tau * mu) * v / (1.0 + tau * v)
        L, residual, projected, half = self._project(tau, shift)
        joint = self.mean @ shift - 0.5 * tau @ self.mean**2
        joint -= np.sum(np.log(np.diagonal(L)))
        joint += 0.5 * (residual @ projected - half @ half)
        return float(tilted - np.sum(single) + joint)
