"""Gaussian process of scores and of the signs of their derivatives.

Symbols (n observations, k signs, R = n + k rows, m candidates, D columns, S samples of
hyper-parameters):

- a row is an observed score or a sign. A sign is a point, the column p of a derivative,
  and +1 or -1. Its row contains the point, so several rows may be equal. The arrays
  ``_scaled``, ``_alpha`` and ``_factor`` of the base class have R rows here.
- ``g``: (k,) derivatives of the score.
- ``r2``: (R, R), squared scaled distances; k', k'', k''' are derivatives with respect
  to r2.
- ``delta``: (R, k), delta_rp = x_r - x_p in the column of pair p.
- ``l_p``: length scale of this column.
- ``kx``: (S, m, R) covariances of candidates with scores and derivatives.
- ``u``: (S, m, k), (x - x_p) / l_p^2 in the column of each sign.
- ``Sigma``: (k, k) covariance of g given the scores; ``mu``: mean of g given the
  scores.
- ``sites``: pseudo-observations by which expectation propagation replaces the signs,
  shift / tau of g with variance 1 / tau.
- ``M``: (R, R), lower triangular, with M^T M the inverse of the joint covariance of the
  observations and the pseudo-observations. Its first n rows equal the rows of L^-1.

With u_rp = delta_rp / l_p^2 and amplitude 1 (Solak et al. 2003, "Derivative
observations in Gaussian process models of dynamic systems"):

- cov(f_r, f_s) = k(r2)
- cov(f_r, g_p) = -2 k' u_rp
- cov(g_q, g_p) = 4 k'' u_pq u_qp - 2 k' / l_p^2 [columns of q and p are the same]

The process is first conditioned on the scores, which is exact. Expectation propagation
then includes only the derivatives.

Riihimaki & Vehtari (2010), "Gaussian processes with monotonicity information"; Joy,
Rana, Gupta & Venkatesh (2019) for its use in hyper-parameter search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.exceptions import ConvergenceWarning

from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.gp.ep import NO_SITES, Sites, propagate
from skbayes.surrogates.gp.gp import GaussianProcess
from skbayes.surrogates.gp.kernels import (
    INACTIVE,
    SMOOTH_KERNELS,
    Embedding,
    InverseFactor,
    LogPosterior,
    cholesky,
    squared_distances,
)
from skbayes.utils.optional import warn_user

# Derivatives within this distance of 0, in standard deviations of the score over the
# width of the space, may have either sign.
NU = 1e-6

# Logarithm of the noise at the second starting point of the search for the mode.
NOISY_START = -1.5


class Signs(NamedTuple):
    """Known signs of derivatives, with one row or entry for each sign."""

    points: FloatArray  # (k, D)
    columns: np.ndarray  # (k,), of the derivatives
    values: FloatArray  # (k,), +1 if the score increases with the column, or -1
    nu: float  # width of the likelihoods

    @classmethod
    def of_table(cls, points: FloatArray, table: FloatArray, nu: float) -> Signs:
        """Return the nonzero signs of a table."""
        rows, columns = np.nonzero(table)
        return cls(points[rows], columns, table[rows, columns], nu)

    def equals(self, other: Signs) -> bool:
        """Return whether another object has the same signs."""
        pairs = zip(self[:3], other[:3], strict=True)
        arrays_equal = all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)
        return arrays_equal and self.nu == other.nu


# -- covariances ----------------------------------------------------------------------


class JointCovariance:
    """Covariance of the values at X (n, D) and k derivatives, and its derivatives."""

    def __init__(
        self, embedding: Embedding, X: FloatArray, signs: Signs, kernel: str
    ) -> None:
        self._kernel = SMOOTH_KERNELS[kernel]
        self.n, self._columns = len(X), signs.columns
        columns, rows = signs.columns, np.vstack([X, signs.points])
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


# -- posterior ------------------------------------------------------------------------


class Factors(NamedTuple):
    """Result of conditioning on scores and sites.

    `weights` (R,) are the coefficients of the covariances with each row in the mean of
    a prediction.
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

    The evidence is the product of two factors: the evidence of the scores, and the
    evidence of the signs by expectation propagation. Its gradient treats the sites as
    fixed, which is exact if they have converged (Rasmussen & Williams 2006, section
    5.5.2).
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


# -- surrogate ------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class MonotonicGP(GaussianProcess):
    """Gaussian process with known signs of derivatives (monotonicity).

    Use it if the score is known to increase or decrease with a hyper-parameter. Without
    signs, it equals a :class:`GaussianProcess` with the same kernel. The posterior
    given the signs is approximated by a normal distribution, using expectation
    propagation. With many redundant signs, its standard deviations are slightly too
    small.

    Parameters
    ----------
    kernel : {"rbf", "matern52"}, default="rbf"
        Correlation function, twice differentiable.
    n_options, n_samples, hyperparameters, random_state, winsorize_scores : optional
        As for :class:`GaussianProcess`. The hyper-parameters are learned from scores
        and signs.
    sign_points : ndarray of shape (N, D), default=None
        Encoded configurations at which signs are known. None means none.
    signs : ndarray of shape (N, D), default=None
        Sign of the derivative for each point and column: +1 if the score increases with
        the column, -1 if it decreases, 0 if the sign is unknown. It must be 0 for
        unordered columns, and for columns that are inactive at the point.
    nu : float, default=1e-6
        Width of the likelihood Phi(sign * derivative / nu), > 0. The unit is the
        standard deviation of the scores over the width of the space. Greater values
        give the signs less influence.

    Attributes
    ----------
    thetas_ : ndarray of shape (S, D + 2)
        Logarithms of length scales, amplitude and noise.
    converged_ : bool
        Whether expectation propagation converged for all samples. If not, `fit` issues
        a warning.
    n_sweeps_ : int
        Maximum number of sweeps of expectation propagation.

    Raises
    ------
    ValueError
        If the kernel is not twice differentiable, or `nu` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.surrogates import MonotonicGP
    >>> X, y = np.array([[0.0], [0.5], [1.0]]), np.array([0.8, 1.0, 0.9])
    >>> at = np.linspace(0.0, 1.0, 9)[:, None]
    >>> model = MonotonicGP(sign_points=at, signs=np.ones((9, 1)), n_samples=0)
    >>> mean, _ = model.fit(X, y).predict(np.linspace(0.0, 1.0, 5)[:, None])
    >>> mean.round(2)
    array([[0.86, 0.88, 0.9 , 0.92, 0.94]])
    """

    kernel: str = "rbf"
    _: KW_ONLY
    sign_points: FloatArray | None = None
    signs: FloatArray | None = None
    nu: float = NU

    def __post_init__(self) -> None:
        if self.kernel not in SMOOTH_KERNELS:
            raise ValueError(
                f"kernel must be one of {sorted(SMOOTH_KERNELS)}, which are twice "
                f"differentiable, got {self.kernel!r}."
            )
        if not self.nu > 0.0:
            raise ValueError(f"nu must be > 0, got {self.nu!r}.")
        super().__post_init__()
        self._signs = Signs.of_table(np.empty((0, 0)), np.empty((0, 0)), NU)

    # -- learning -----------------------------------------------------------------

    def fit(
        self, X: FloatArray, y: FloatArray, noise: FloatArray | None = None
    ) -> Self:
        """Fit the process, as :meth:`GaussianProcess.fit`, to observations and signs.

        A ValueError is raised if the signs do not have the shape of their points, are
        not +1, -1 or 0, or are not 0 in an unordered or inactive column.
        """
        signs = self._known_signs(np.shape(X)[-1])
        if not signs.equals(self._signs):
            self._training_key = None
        self._signs = signs
        self._sites: list[Sites] | None = None
        super().fit(X, y, noise)
        if not self.converged_:
            warn_user(
                f"Expectation propagation did not converge in {self.n_sweeps_} sweeps; "
                "predictions use the result of its last sweep.",
                ConvergenceWarning,
            )
        return self

    def _known_signs(self, D: int) -> Signs:
        if self.sign_points is None or self.signs is None:
            return Signs.of_table(np.empty((0, D)), np.empty((0, D)), NU)
        points = np.asarray(self.sign_points, dtype=np.float64)
        table = np.asarray(self.signs, dtype=np.float64)
        if points.shape != table.shape or points.shape[1:] != (D,):
            raise ValueError(
                f"sign_points and signs must have shape (N, {D}), got {points.shape} "
                f"and {table.shape}."
            )
        if not np.all(np.isin(table, [-1.0, 0.0, 1.0])):
            raise ValueError("signs must be +1, -1 or 0.")
        fixed = np.isnan(points) | (np.asarray(self.n_options or [0] * D) > 0)
        if np.any(table[np.broadcast_to(fixed, table.shape)]):
            raise ValueError(
                "signs must be 0 in columns that are unordered, or inactive at the "
                "point."
            )
        return Signs.of_table(points, table, self.nu)

    def _joint(self, X: FloatArray) -> JointCovariance:
        return JointCovariance(self._embedding, X, self._signs, self.kernel)

    def _log_posterior(
        self, X: FloatArray, target: FloatArray, extra: FloatArray | None
    ) -> LogPosterior:
        plain = super()._log_posterior(X, target, extra)
        if not len(self._signs.values):
            return plain
        return MonotonicLogPosterior(plain, self._joint(X), self._signs)

    def _known_rows(self) -> FloatArray:
        return np.vstack([self._X, self._signs.points])

    def _factorize(self, first_factor: InverseFactor | None) -> None:
        diagonal, joint = np.arange(len(self._X)), self._joint(self._X)
        factors = []
        samples = zip(self._target, self._diagonal(), strict=True)
        for s, (target, noise) in enumerate(samples):
            K = self._amplitude[s] * joint.correlations(self._length_scales[s])
            K[diagonal, diagonal] += noise
            sites = None if self._sites is None else self._sites[s]
            factors.append(factorize(K, target, self._signs, sites))
        M = np.array([factor.M for factor in factors])
        self._factor = InverseFactor.of_inverse(M, np.zeros(M.shape[:2]))
        self._alpha = np.array([factor.weights for factor in factors])
        self._sites = [factor.sites for factor in factors]
        self.converged_ = all(sites.converged for sites in self._sites)
        self.n_sweeps_ = max(sites.n_sweeps for sites in self._sites)

    # -- predicting ---------------------------------------------------------------

    def _covariances(self, X: FloatArray, slopes: bool) -> tuple[FloatArray, Any]:
        scaled = self._place(X)
        r2 = squared_distances(scaled, self._scaled)
        k, dk, ddk, _ = SMOOTH_KERNELS[self.kernel](r2)
        n, columns = self._target.shape[1], self._signs.columns
        inverse_squares = self._length_scales[:, None, columns] ** -2.0
        places = np.where(np.isnan(X), INACTIVE, X)[:, columns]
        u = (places - self._signs.points[:, columns].diagonal()) * inverse_squares
        amplitude = self._amplitude[:, None, None]
        kx, through = amplitude * k, amplitude * dk
        kx[..., n:] = -2.0 * amplitude * dk[..., n:] * u
        through[..., n:] = -2.0 * amplitude * ddk[..., n:] * u
        direct = -2.0 * amplitude * dk[..., n:] * inverse_squares
        return kx, (through, scaled, direct)

    def _slope(self, weights: FloatArray, context: Any) -> FloatArray:
        through, scaled, direct = context
        weights = np.broadcast_to(weights, through.shape)
        slope = self._by_position(weights, through, scaled)
        to_columns = np.eye(self._X.shape[1])[self._signs.columns]
        return slope + (direct * weights[..., self._target.shape[1] :]) @ to_columns

    def known_means(self, X: FloatArray) -> FloatArray:  # noqa: D102
        return self.predict(X)[0]
