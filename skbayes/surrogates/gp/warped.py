"""Gaussian process that learns how fast the score changes along each range.

A range may be written on a linear scale where a logarithmic one would suit, and near an
end a score often changes faster than elsewhere. Each ordered column is therefore mapped
onto itself by the distribution function of Kumaraswamy, whose two exponents are learned
with the other hyper-parameters.

Symbols (n observations, m candidates, q ordered columns):

- ``u``: position in an ordered column, in [0, 1], drawn in a little at both ends, so
  that the slope of the warping is bounded.
- ``a``, ``b``: exponents of the warping w(u) = 1 - (1 - u^a)^b; both 1: as it was.
- ``theta``: (D + 2 + 2q,), that of the plain process, then log a and log b.

Snoek, Swersky, Zemel & Adams (2014), "Input warping for Bayesian optimization of
non-stationary functions"; Cowen-Rivers et al. (2022), "HEBO: Pushing the limits of
sample-efficient hyper-parameter optimisation", section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skbayes.surrogates.gp.gp import GaussianProcess
from skbayes.surrogates.gp.hyperparameters import LogPosterior, find_mode
from skbayes.surrogates.gp.kernels import INACTIVE, FloatArray

__all__ = ["WarpedGaussianProcess", "Warping"]

MARGIN = 1e-3

# Prior of log a and log b: normal with mean 0 and this standard deviation.
EXPONENT_SD = 0.5
EXPONENT_BOUNDS = (-2.0, 2.0)


class _Warped(NamedTuple):
    """Warped positions (n, q) and their derivatives by u, log a and log b."""

    w: FloatArray
    by_u: FloatArray
    by_log_a: FloatArray
    by_log_b: FloatArray


class Warping(NamedTuple):
    """Kumaraswamy's distribution function for each of q columns.

    Parameters
    ----------
    a, b : ndarray of shape (q,)
        The exponents, > 0.
    """

    a: FloatArray
    b: FloatArray

    def __call__(self, positions: FloatArray) -> _Warped:
        """Warp positions (n, q), NaN where inactive."""
        scale = 1.0 - 2.0 * MARGIN
        positions = np.where(np.isnan(positions), INACTIVE, positions)
        u = MARGIN + scale * positions
        power = u**self.a
        rest = 1.0 - power
        tail = rest**self.b
        # d tail / d power = -b rest^(b - 1).
        by_power = self.b * rest ** (self.b - 1.0) / scale
        return _Warped(
            (1.0 - tail - MARGIN) / scale,
            by_power * self.a * u ** (self.a - 1.0) * scale,
            by_power * power * np.log(u) * self.a,
            -tail * np.log(rest) * self.b / scale,
        )


class _WarpedPosterior(LogPosterior):
    """Negative log posterior density of theta with the exponents, and its gradient.

    Parameters
    ----------
    plain : LogPosterior
        That of theta without the exponents, at positions as they are.
    positions : ndarray of shape (n, q)
        Positions in the ordered columns.
    ordered : ndarray of int of shape (q,)
        The ordered columns.
    """

    def __init__(
        self, plain: LogPosterior, positions: FloatArray, ordered: FloatArray
    ) -> None:
        super().__init__(plain.differences, plain.y, plain.correlation, plain.extra)
        self._positions, self._ordered = positions, ordered
        q = len(ordered)
        self.prior_mean = np.append(self.prior_mean, np.zeros(2 * q))
        self.prior_sd = np.append(self.prior_sd, np.full(2 * q, EXPONENT_SD))
        self.bounds = np.vstack([self.bounds, np.tile(EXPONENT_BOUNDS, (2 * q, 1))])
        self.starts = [self.prior_mean]

    def warping_at(self, theta: FloatArray) -> Warping:
        """Warping with the exponents of theta."""
        q = len(self._ordered)
        return Warping(*np.exp(theta[len(theta) - 2 * q :]).reshape(2, q))

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient at `theta`, shape (D + 2 + 2q,)."""
        warped, columns = self.warping_at(theta)(self._positions), self._ordered
        apart = warped.w.T[:, :, None] - warped.w.T[:, None, :]
        self.differences[columns] = np.square(apart)
        value, gradient, by_k, slopes = self._likelihood(theta)
        # d r2_ij / d w_i = 2 (w_i - w_j) / l^2, once in row i and once in column i.
        weights = by_k * slopes
        through = np.sum(weights, axis=1)[:, None] * warped.w - weights @ warped.w
        by_w = 4.0 * np.exp(-2.0 * theta[columns]) * through
        by_exponents = [
            np.sum(by_w * one, axis=0) for one in (warped.by_log_a, warped.by_log_b)
        ]
        return self._with_prior(theta, value, np.concatenate([gradient, *by_exponents]))


@dataclass(eq=False, repr=False)
class WarpedGaussianProcess(GaussianProcess):
    """Gaussian process on inputs whose scale it learns.

    Each ordered column is mapped onto itself by the distribution function of
    Kumaraswamy before distances are taken. Its two exponents are learned with the other
    hyper-parameters (their joint mode), with a prior that holds them near 1, where
    inputs stay as they are. Parameters are those of :class:`GaussianProcess`; with
    `hyperparameters`, inputs stay as they are.

    Parameters
    ----------
    kernel, n_options, n_samples, hyperparameters, random_state, winsorize_scores : \
optional
        As for :class:`GaussianProcess`.

    Attributes
    ----------
    thetas_ : ndarray of shape (S, D + 2)
        Logarithms of length scales, amplitude and noise.
    warping_ : Warping
        Exponents `a` and `b`, of shape (q,) each, for the q ordered columns.

    References
    ----------
    Snoek, Swersky, Zemel & Adams (2014), "Input warping for Bayesian optimization of
    non-stationary functions", with Kumaraswamy's distribution in place of the beta
    distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.surrogates import WarpedGaussianProcess
    >>> X = np.linspace(0, 1, 12)[:, None]
    >>> model = WarpedGaussianProcess(n_samples=0).fit(X, np.sin(12 * X[:, 0] ** 0.4))
    >>> bool(model.warping_.a[0] < 1)
    True
    """

    def _log_posterior(
        self, X: FloatArray, target: FloatArray, extra: FloatArray | None
    ) -> LogPosterior:
        plain = super()._log_posterior(X, target, extra)
        ordered = self._embedding.ordered
        joint = _WarpedPosterior(plain, X[:, ordered], ordered)
        mode = find_mode(joint)
        self.warping_ = joint.warping_at(mode)
        # The rest is that of the plain process at these exponents.
        posterior = super()._log_posterior(self._warp(X)[0], target, extra)
        posterior.starts = [mode[: X.shape[1] + 2]]
        return posterior

    def _learn(
        self, X: FloatArray, target: FloatArray, extra: FloatArray | None
    ) -> FloatArray:
        ones = np.ones(len(self._embedding.ordered))
        self.warping_ = Warping(ones, ones)
        return super()._learn(X, target, extra)

    def _warp(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Warped configurations (m, D), and the slopes (m, D) of the warping."""
        ordered = self._embedding.ordered
        warped, slopes = X.copy(), np.ones(X.shape)
        warped[:, ordered], slopes[:, ordered], *_ = self.warping_(X[:, ordered])
        return warped, slopes

    def _place(self, X: FloatArray) -> FloatArray:
        return super()._place(self._warp(np.asarray(X, dtype=np.float64))[0])

    def predict(  # noqa: D102
        self, X: FloatArray, gradient: bool = False
    ) -> tuple[FloatArray, ...]:
        mean, sd, *derivatives = super().predict(X, gradient)
        if not gradient:
            return mean, sd
        slopes = self._warp(np.asarray(X, dtype=np.float64))[1]
        return mean, sd, *(one * slopes for one in derivatives)
