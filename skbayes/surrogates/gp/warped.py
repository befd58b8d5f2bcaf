"""Gaussian process with learned warping of its inputs.

A range may have a linear scale although a logarithmic one would be better. Scores often
change faster near an end of a range than elsewhere. The positions in each ordered
column are therefore transformed by Kumaraswamy's distribution function. Its two
exponents are learned together with the other hyper-parameters.

Symbols (n observations, m candidates, q ordered columns):

- ``u``: position in an ordered column, rescaled to ``[MARGIN, 1 - MARGIN]``, so that
  the slope of the warping is bounded.
- ``a``, ``b``: exponents of the warping w(u) = 1 - (1 - u^a)^b; w(u) = u if both are 1.
- ``theta``: (D + 2 + 2q,), theta of the plain process, followed by log a and log b.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.gp.gp import GaussianProcess
from skbayes.surrogates.gp.kernels import INACTIVE, LogPosterior, find_mode

MARGIN = 1e-3
SCALE = 1.0 - 2.0 * MARGIN

# Prior of log a and log b: normal with mean 0 and this standard deviation.
EXPONENT_SD = 0.5
EXPONENT_BOUNDS = (-2.0, 2.0)


class Warping(NamedTuple):
    """Kumaraswamy's distribution function for each of q columns, with a, b > 0.

    It is increasing. Exponents other than 1 may move the ends of the range slightly
    inward.
    """

    a: FloatArray
    b: FloatArray

    def __call__(self, positions: FloatArray) -> FloatArray:
        """Warp positions (n, q), NaN where inactive."""
        power = _rescaled(positions) ** self.a
        return (1.0 - (1.0 - power) ** self.b - MARGIN) / SCALE

    def slopes(self, positions: FloatArray) -> FloatArray:
        """Return derivatives (n, q) with respect to the positions."""
        u = _rescaled(positions)
        rest = 1.0 - u**self.a
        return self.a * self.b * rest ** (self.b - 1.0) * u ** (self.a - 1.0)

    def by_log_exponents(self, positions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives (n, q) with respect to log a and log b."""
        u = _rescaled(positions)
        power = u**self.a
        rest = 1.0 - power
        by_power = self.b * rest ** (self.b - 1.0)
        return (
            by_power * power * np.log(u) * self.a / SCALE,
            -(rest**self.b) * np.log(rest) * self.b / SCALE,
        )


def _rescaled(positions: FloatArray) -> FloatArray:
    positions = np.where(np.isnan(positions), INACTIVE, positions)
    return MARGIN + SCALE * np.clip(positions, 0.0, 1.0)


class _WarpedPosterior(LogPosterior):
    """Negative log posterior density of theta with the exponents, and its gradient.

    `plain` is the posterior without the exponents. Its differences are overwritten.
    `positions` (n, q) are the positions in the `ordered` columns.
    """

    def __init__(
        self, plain: LogPosterior, positions: FloatArray, ordered: np.ndarray
    ) -> None:
        super().__init__(plain.differences, plain.y, plain.correlation, plain.extra)
        self._positions, self._ordered = positions, ordered
        q = len(ordered)
        self.prior_mean = np.append(self.prior_mean, np.zeros(2 * q))
        self.prior_sd = np.append(self.prior_sd, np.full(2 * q, EXPONENT_SD))
        self.bounds = np.vstack([self.bounds, np.tile(EXPONENT_BOUNDS, (2 * q, 1))])
        self.starts = [self.prior_mean]

    def warping_at(self, theta: FloatArray) -> Warping:
        """Return the warping with the exponents of theta."""
        q = len(self._ordered)
        return Warping(*np.exp(theta[len(theta) - 2 * q :]).reshape(2, q))

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient at `theta`, shape (D + 2 + 2q,)."""
        warping, columns = self.warping_at(theta), self._ordered
        w = warping(self._positions)
        squares = np.square(w.T[:, :, None] - w.T[:, None, :])
        self._flat[columns] = squares.reshape(len(columns), self._flat.shape[1])
        value, gradient, by_k, slopes = self._likelihood(theta)
        # d r2_ij / d w_i = 2 (w_i - w_j) / l^2, once in row i and once in column i.
        weights = by_k * slopes
        through = np.sum(weights, axis=1)[:, None] * w - weights @ w
        by_w = 4.0 * np.exp(-2.0 * theta[columns]) * through
        by_exponents = [
            np.sum(by_w * derivative, axis=0)
            for derivative in warping.by_log_exponents(self._positions)
        ]
        return self._with_prior(theta, value, np.concatenate([gradient, *by_exponents]))


class WarpedGaussianProcess(GaussianProcess):
    """Gaussian process with learned warping of its inputs.

    The positions u in each ordered column are transformed by Kumaraswamy's distribution
    function, ``1 - (1 - u ** a) ** b``. The exponents a and b are learned together with
    the other hyper-parameters. Their priors are log-normal with median 1 (no warping)
    and standard deviation 0.5 of the logarithm, bounded by exp(-2) and exp(2). The
    exponents are fixed at the joint mode, and the samples of the other hyper-parameters
    are drawn around it. If `hyperparameters` are given, no column is warped.

    Parameters
    ----------
    kernel, n_options, n_samples, hyperparameters, random_state, winsorize_scores : \
optional
        As for :class:`GaussianProcess`.

    Attributes
    ----------
    thetas_ : ndarray of shape (S, D + 2)
        Logarithms of length scales (of warped positions), amplitude and noise.
    warping_ : Warping
        Exponents `a` and `b`, of shape (q,) each, for the q ordered columns.
    floor_ : float or None
        As for :class:`GaussianProcess`.

    References
    ----------
    Snoek, Swersky, Zemel & Adams (2014), "Input warping for Bayesian optimization of
    non-stationary functions" (with the beta distribution). Cowen-Rivers et al. (2022),
    "HEBO: Pushing the limits of sample-efficient hyper-parameter optimisation" (with
    Kumaraswamy's).

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.surrogates import WarpedGaussianProcess
    >>> X = np.linspace(0, 1, 12)[:, None]
    >>> model = WarpedGaussianProcess(n_samples=0).fit(X, np.sin(12 * X[:, 0] ** 0.4))
    >>> model.warping_.a.round(2)
    array([0.56])
    """

    def fit(
        self, X: FloatArray, y: FloatArray, noise: FloatArray | None = None
    ) -> Self:
        """Fit the process, as :meth:`GaussianProcess.fit`, to positions in [0, 1]."""
        X = np.asarray(X, dtype=np.float64)
        if np.any((X < 0.0) | (X > 1.0)):
            raise ValueError("X must be in [0, 1], or NaN where inactive.")
        return super().fit(X, y, noise)

    def _log_posterior(
        self, X: FloatArray, target: FloatArray, extra: FloatArray | None
    ) -> LogPosterior:
        """Learn the exponents, and return the posterior of the other parameters."""
        plain = super()._log_posterior(X, target, extra)
        ordered = self._embedding.ordered
        joint = _WarpedPosterior(plain, X[:, ordered], ordered)
        mode = find_mode(joint)
        self.warping_ = joint.warping_at(mode)
        posterior = super()._log_posterior(self._warp(X), target, extra)
        posterior.starts = [mode[: X.shape[1] + 2]]
        return posterior

    def _learn(
        self, X: FloatArray, target: FloatArray, extra: FloatArray | None
    ) -> FloatArray:
        if self.hyperparameters is not None:
            ones = np.ones(len(self._embedding.ordered))
            self.warping_ = Warping(ones, ones)
        return super()._learn(X, target, extra)

    def _learned(self) -> list[FloatArray]:
        return [*super()._learned(), *self.warping_]

    def _warp(self, X: FloatArray) -> FloatArray:
        ordered = self._embedding.ordered
        warped = X.copy()
        warped[:, ordered] = self.warping_(X[:, ordered])
        return warped

    def _place(self, X: FloatArray) -> FloatArray:
        return super()._place(self._warp(X))

    def predict(  # noqa: D102
        self, X: FloatArray, gradient: bool = False
    ) -> tuple[FloatArray, ...]:
        X = np.asarray(X, dtype=np.float64)
        mean, sd, *derivatives = super().predict(X, gradient)
        ordered = self._embedding.ordered
        for derivative in derivatives:
            derivative[..., ordered] *= self.warping_.slopes(X[:, ordered])
        return mean, sd, *derivatives
