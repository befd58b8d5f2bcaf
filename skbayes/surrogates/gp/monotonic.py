"""Gaussian process on scores and on the signs of their derivatives.

Symbols (n observations, k signs, R = n + k rows, m candidates, D columns, S samples of
hyper-parameters):

- a row is an observed score or a sign, which is a derivative by one column at a point;
  ``_scaled``, ``_alpha`` and ``_factor`` of the plain process have R rows here.
- ``kx``: (S, m, R) covariances of candidates with scores and derivatives.
- ``u``: (S, m, k), (x - x_p) / l_p^2 in the column of each sign.

Riihimaki & Vehtari (2010), "Gaussian processes with monotonicity information"; Joy,
Rana, Gupta & Venkatesh (2019) for its use in hyper-parameter search.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.gp.derivative_kernels import SMOOTH_KERNELS, JointCovariance
from skbayes.surrogates.gp.ep import Sites
from skbayes.surrogates.gp.factor import InverseFactor
from skbayes.surrogates.gp.gp import GaussianProcess
from skbayes.surrogates.gp.hyperparameters import LogPosterior
from skbayes.surrogates.gp.kernels import INACTIVE, squared_distances
from skbayes.surrogates.gp.monotonic_posterior import (
    NU,
    MonotonicLogPosterior,
    Signs,
    factorize,
)

__all__ = ["MonotonicGP"]


@dataclass(eq=False, repr=False)
class MonotonicGP(GaussianProcess):
    """Gaussian process on scores and on the signs of derivatives.

    Without signs it is :class:`GaussianProcess`. The signs are taken in by expectation
    propagation, which approximates the posterior by a normal one; where many signs say
    the same it is a little too sure.

    Parameters
    ----------
    kernel : {"rbf", "matern52"}, default="rbf"
        Correlation function, twice differentiable.
    n_options, n_samples, hyperparameters, random_state, winsorize_scores : optional
        As for :class:`GaussianProcess`; the hyper-parameters are learned from scores
        and signs.
    sign_points : ndarray of shape (N, D), default=None
        Encoded configurations at which signs are known. None: there are none.
    signs : ndarray of shape (N, D), default=None
        For each point and column +1 if the score grows with the column there, -1 if it
        falls, 0 if nothing is known. Unordered columns, and columns that are inactive
        at the point, have 0.
    nu : float or ndarray of shape (D,), default=1e-6
        Width of the likelihood Phi(sign * derivative / nu), for all columns or for
        each, in standard deviations of the scores over the width of the space; > 0.
        The wider, the less the signs say.

    Attributes
    ----------
    thetas_ : ndarray of shape (S, D + 2)
        Logarithms of length scales, amplitude and noise.
    converged_ : bool
        Whether expectation propagation converged, for all samples; if not, `fit` warns.
    n_sweeps_ : int
        The most sweeps that it took.
    log_evidence_ : ndarray of shape (S,)
        Logarithm of the probability of all signs, given the scores.

    Raises
    ------
    ValueError
        If the kernel is not twice differentiable, or `nu` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.surrogates import MonotonicGP
    >>> X, y = np.array([[0.0], [0.5], [1.0]]), np.array([0.0, 1.0, 0.9])
    >>> at = np.linspace(0.0, 1.0, 9)[:, None]
    >>> model = MonotonicGP(sign_points=at, signs=np.ones((9, 1)), n_samples=0)
    >>> mean, _ = model.fit(X, y).predict(np.linspace(0.0, 1.0, 50)[:, None])
    >>> bool(np.all(np.diff(mean[0]) > 0)), model.converged_
    (True, True)
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
        """Learn from scores, and from the signs.

        Parameters
        ----------
        X : ndarray of shape (n, D)
            Encoded configurations, NaN where inactive. n >= 1.
        y : ndarray of shape (n,)
            Their scores, finite.
        noise : ndarray of shape (n,), default=None
            Known variances of the scores, in squared units of `y`. None: there are
            none.

        Returns
        -------
        self : MonotonicGP
            The fitted process.

        Raises
        ------
        ValueError
            As :meth:`GaussianProcess.fit`, or if the signs do not have the shape of
            their points, are none of +1, -1 and 0, or belong to an unordered or
            inactive column.
        """
        signs = self._known_signs(np.shape(X)[-1])
        if not signs.equals(self._signs):
            self._training_key = None
        self._signs = signs
        self._sites: list[Sites] | None = None
        super().fit(X, y, noise)
        if not self.converged_:
            warnings.warn(
                f"Expectation propagation did not converge in {self.n_sweeps_} sweeps; "
                "predictions are those of its last sweep.",
                ConvergenceWarning,
                stacklevel=2,
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
                "signs must be 0 in columns that are unordered, or inactive at their "
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
        for s, one in enumerate(self._target):
            K = self._amplitude[s] * joint.correlations(self._length_scales[s])
            noise = self._noise[s] if extra is None else self._noise[s] + extra
            K[np.arange(n), np.arange(n)] += noise
            sites = None if self._sites is None else self._sites[s]
            factors.append(factorize(K, one, self._signs, sites))
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
        """The signs of the last fit, one by one."""
        return self._signs

    def prior_of_signs(self) -> FloatArray:
        """Covariance of the derivatives before any score is known.

        Returns
        -------
        K : ndarray of shape (k, k)
            Under the first sample of the hyper-parameters, for standardized scores.
        """
        joint = self._joint(self._X[:0])
        return self._amplitude[0] * joint.correlations(self._length_scales[0])

    # -- predicting ---------------------------------------------------------------

    def _covariances(self, X: FloatArray, slopes: bool) -> tuple[FloatArray, Any]:
        """Covariances with scores and derivatives, and what slopes are made of."""
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
        # In this order of rounding, which seeded searches rely on.
        return self._unit * through / -sd

    def _own_places(self) -> FloatArray:
        """Position of each sign's point in its own column, shape (k,)."""
        signs = self._signs
        return signs.points[np.arange(len(signs.columns)), signs.columns]

    def known_means(self, X: FloatArray) -> FloatArray:  # noqa: D102
        return self.predict(X)[0]
