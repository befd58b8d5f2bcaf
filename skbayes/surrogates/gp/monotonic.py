"""Gaussian process of scores and of the signs of their derivatives.

Symbols (n observations, k signs, R = n + k rows, m candidates, D columns, S samples of
hyper-parameters):

- a row is an observed score or a sign. A sign is that of the derivative in one column
  at a point. The arrays ``_scaled``, ``_alpha`` and ``_factor`` of the base class have
  R rows here.
- ``kx``: (S, m, R) covariances of candidates with scores and derivatives.
- ``u``: (S, m, k), (x - x_p) / l_p^2 in the column of each sign.

Riihimaki & Vehtari (2010), "Gaussian processes with monotonicity information"; Joy,
Rana, Gupta & Venkatesh (2019) for its use in hyper-parameter search.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.gp.derivative_kernels import SMOOTH_KERNELS, JointCovariance
from skbayes.surrogates.gp.ep import Sites
from skbayes.surrogates.gp.gp import GaussianProcess
from skbayes.surrogates.gp.hyperparameters import LogPosterior
from skbayes.surrogates.gp.kernels import INACTIVE, InverseFactor, squared_distances
from skbayes.surrogates.gp.monotonic_posterior import (
    NU,
    MonotonicLogPosterior,
    Signs,
    factorize,
)
from skbayes.utils.optional import warn_user

__all__ = ["MonotonicGP"]


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
    nu : float or ndarray of shape (D,), default=1e-6
        Width of the likelihood Phi(sign * derivative / nu), for all columns or for
        each, > 0. The unit is the standard deviation of the scores over the width of
        the space. Greater values give the signs less influence.

    Attributes
    ----------
    thetas_ : ndarray of shape (S, D + 2)
        Logarithms of length scales, amplitude and noise.
    converged_ : bool
        Whether expectation propagation converged for all samples. If not, `fit` issues
        a warning.
    n_sweeps_ : int
        Maximum number of sweeps of expectation propagation.
    log_evidence_ : ndarray of shape (S,)
        Logarithm of the joint probability of the signs, given the scores.

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
    nu: float | FloatArray = NU

    def __post_init__(self) -> None:
        if self.kernel not in SMOOTH_KERNELS:
            raise ValueError(
                f"kernel must be one of {sorted(SMOOTH_KERNELS)}, which are twice "
                f"differentiable, got {self.kernel!r}."
            )
        if not np.all(np.asarray(self.nu) > 0.0):
            raise ValueError(f"nu must be > 0, got {self.nu!r}.")
        super().__post_init__()
        self._signs = Signs.of_table(np.empty((0, 0)), np.empty((0, 0)), NU)

    # -- learning -----------------------------------------------------------------

    def fit(
        self, X: FloatArray, y: FloatArray, noise: FloatArray | None = None
    ) -> MonotonicGP:
        """Fit the process to observations and signs.

        Parameters
        ----------
        X : ndarray of shape (n, D)
            Encoded configurations, NaN where inactive. n >= 1.
        y : ndarray of shape (n,)
            Scores of the configurations, finite.
        noise : ndarray of shape (n,), default=None
            Known variances of the scores, in squared units of `y`. None means 0.

        Returns
        -------
        self : MonotonicGP
            The fitted process.

        Raises
        ------
        ValueError
            For a reason given in :meth:`GaussianProcess.fit`. If the signs do not have
            the shape of their points, or are not +1, -1 or 0. If a sign is not 0 in an
            unordered or inactive column.
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
        points, columns, *_ = self._signs
        return JointCovariance(self._embedding, X, points, columns, self.kernel)

    def _log_posterior(
        self, X: FloatArray, target: FloatArray, extra: FloatArray | None
    ) -> LogPosterior:
        plain = super()._log_posterior(X, target, extra)
        if not len(self._signs.values):
            return plain
        return MonotonicLogPosterior(plain, self._joint(X), self._signs)

    def _known_rows(self) -> FloatArray:
        return np.vstack([self._X, self._signs.points])

    def _factorize(self, known: InverseFactor | None) -> None:
        n, extra = len(self._X), self._extra
        self._scaled = self._place(self._known_rows())
        joint = self._joint(self._X)
        factors = []
        for s, target in enumerate(self._target):
            K = self._amplitude[s] * joint.correlations(self._length_scales[s])
            noise = self._noise[s] if extra is None else self._noise[s] + extra
            K[np.arange(n), np.arange(n)] += noise
            sites = None if self._sites is None else self._sites[s]
            factors.append(factorize(K, target, self._signs, sites))
        self._factor = InverseFactor.of_inverse(
            np.array([factor.M for factor in factors])
        )
        self._alpha = np.array([factor.weights for factor in factors])
        self._sites = [factor.sites for factor in factors]
        self.converged_ = all(sites.converged for sites in self._sites)
        self.n_sweeps_ = max(sites.n_sweeps for sites in self._sites)
        self.log_evidence_ = np.array([sites.log_evidence for sites in self._sites])

    @property
    def known_monotonicity(self) -> Signs:
        """Signs of the last fit, with one entry for each sign."""
        return self._signs

    def prior_of_signs(self) -> FloatArray:
        """Compute the prior covariance of the derivatives.

        Returns
        -------
        K : ndarray of shape (k, k)
            Covariance for standardized scores and the first sample of the
            hyper-parameters.
        """
        joint = self._joint(self._X[:0])
        return self._amplitude[0] * joint.correlations(self._length_scales[0])

    # -- predicting ---------------------------------------------------------------

    def _covariances(self, X: FloatArray, slopes: bool) -> tuple[FloatArray, Any]:
        """Return covariances with scores and derivatives, and data for slopes."""
        scaled = self._place(X)
        r2 = squared_distances(scaled, self._scaled)
        k, dk, ddk, _ = SMOOTH_KERNELS[self.kernel](r2)
        n, columns = self._target.shape[1], self._signs.columns
        inverse_squares = self._length_scales[:, None, columns] ** -2.0
        places = np.where(np.isnan(X), INACTIVE, X)[:, columns]
        u = (places - self._own_places()) * inverse_squares
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

    def _slope_of_sd(self, through: FloatArray, sd: FloatArray) -> FloatArray:
        # The order of operations must not change, because seeded searches depend on
        # its rounding.
        return self._unit * through / -sd

    def _own_places(self) -> FloatArray:
        """Return the position of each sign's point in the sign's column, (k,)."""
        signs = self._signs
        return signs.points[np.arange(len(signs.columns)), signs.columns]

    def known_means(self, X: FloatArray) -> FloatArray:  # noqa: D102
        return self.predict(X)[0]
