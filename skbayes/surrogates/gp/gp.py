"""Gaussian process over encoded configurations.

Symbols (n observations, m candidates, D columns, S samples of hyper-parameters):

- ``X``: (n, D) observed configurations; ``y``: (n,) their scores.
- ``M``: (S, n, n) inverse Cholesky factors of K = amplitude * k(X, X) + noise * I
  + diag(extra). With them, predictions are matrix products.
- ``extra``: (n,) known variances of the standardized scores, beyond the noise.
- ``alpha``: (S, n), K^-1 y for standardized y.
- ``kx``: (S, m, n) covariances of candidates with observations.

Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, algorithm 2.1.
"""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.gp.kernels import (
    KERNELS,
    Embedding,
    InverseFactor,
    LogPosterior,
    check_kernel,
    find_mode,
    sample_posterior,
    squared_distances,
)
from skbayes.surrogates.surrogate import (
    Surrogate,
    best_and_random,
    branch_weights,
    relative_noise,
    standardize,
)

# Hyper-parameters are learned again with each of the first observations, and then each
# time the number of observations has grown by 10%.
LEARN_ALWAYS, LEARN_GROWTH = 20, 1.1

# Maximum number of observations from which they are learned.
MAX_LEARNING_POINTS = 200

# Covariances are factorized again after this number of appended observations.
MAX_APPENDED = 16

# With more pending configurations, the factor of the covariances includes them.
MANY_PENDING = 100

# Approximate value of S * n: the number of samples of the hyper-parameters decreases as
# n grows and their posterior becomes narrower.
SAMPLE_POINTS = 200


def n_learning_points(n: int) -> int:
    """Return the number of observations from which the hyper-parameters are learned.

    Above 20, it is the greatest number up to `n` of a series that grows by 10%.
    """
    if n <= LEARN_ALWAYS:
        return n
    m = LEARN_ALWAYS
    while (following := int(m * LEARN_GROWTH)) <= n:
        m = following
    return m


def _key_of_arrays(*parts: FloatArray | None) -> tuple[bytes, ...]:
    return tuple(part.tobytes() for part in parts if part is not None)


@dataclass(eq=False, repr=False)
class GaussianProcess(Surrogate):
    """Gaussian process with one length scale per column.

    Priors of the hyper-parameters limit overfitting with as few as a dozen
    observations. Outputs are standardized, and very bad outputs are raised. The noise
    is learned. Predictions are made for several samples of the hyper-parameters from
    their posterior, or for given hyper-parameters.

    With more than 20 observations, the hyper-parameters are learned from the first ones
    only. Their number grows in steps of about 10%, at which they are learned again. The
    result only depends on the data and `random_state`.

    Parameters
    ----------
    kernel : {"matern52", "matern32", "rbf"}, default="matern52"
        Correlation function.
    n_options : list of int, default=None
        Number of options of each column, 0 for an ordered column. None means that all
        columns are ordered.
    n_samples : int or None, default=None
        Number S of samples of the hyper-parameters. 0 means that only their mode is
        used. None means 8 or fewer, depending on the number of observations.
    hyperparameters : dict, default=None
        Fixed values of ``"length_scales"``, an array of shape (D,), ``"amplitude"`` and
        ``"noise"``. The latter two are variances of standardized outputs. The optional
        keys ``"offset"`` and ``"unit"`` replace the mean and the standard deviation for
        standardizing the outputs. None means that they are learned.
    random_state : int, default=0
        Seed of the samples.
    winsorize_scores : bool, default=True
        Whether very bad outputs are raised. Use False if low outputs matter as much as
        high ones. Branches of conditional spaces have equal weights in the level.

    Attributes
    ----------
    thetas_ : ndarray of shape (S, D + 2)
        Logarithms of length scales, amplitude and noise.
    floor_ : float or None
        Score to which worse scores were raised. None if no score was raised.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.surrogates import GaussianProcess
    >>> X = np.array([[0.0], [0.4], [1.0]])
    >>> model = GaussianProcess(n_samples=0).fit(X, np.array([0.0, 1.0, 0.5]))
    >>> mean, sd = model.predict(np.array([[0.4], [0.7]]))
    >>> mean.round(2)
    array([[1.  , 0.68]])
    >>> sd.round(2)
    array([[0.03, 0.38]])
    """

    kernel: str = "matern52"
    _: KW_ONLY
    n_options: list[int] | None = None
    n_samples: int | None = None
    hyperparameters: dict[str, Any] | None = None
    random_state: int = 0
    winsorize_scores: bool = True

    takes_noise = True
    has_gradients = True
    takes_fidelity = True
    # The time of a fit grows with the cube of the number.
    max_observations = 2000

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        self._training_key: tuple[bytes, ...] | None = None
        # Factors of the first rows, reused until the hyper-parameters change: with and
        # without pending configurations. Conditioned processes share them.
        self._bases: dict[bool, tuple[tuple[bytes, ...], InverseFactor]] = {}
        self._with_pending = False

    # -- learning -----------------------------------------------------------------

    def fit(
        self, X: FloatArray, y: FloatArray, noise: FloatArray | None = None
    ) -> Self:
        """Fit the process to observations.

        The known variances `noise` (n,) of the scores, finite and >= 0, are added to
        the learned noise, which all scores share. None means 0. A ValueError is raised
        if shapes differ, there are no observations, or a number is invalid.
        """
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if X.ndim != 2 or y.shape != (len(X),) or not len(X):
            raise ValueError(
                "X must have shape (n, D) and y shape (n,) with n >= 1, got "
                f"{X.shape} and {y.shape}."
            )
        if not np.all(np.isfinite(y)):
            raise ValueError("y must be finite.")
        if noise is not None:
            noise = np.asarray(noise, dtype=np.float64)
            if noise.shape != y.shape:
                raise ValueError(f"noise must have shape {y.shape}, got {noise.shape}.")
            if not np.all(np.isfinite(noise) & (noise >= 0.0)):
                raise ValueError("noise must be finite and >= 0.")
        self._embedding = Embedding(self.n_options or [0] * X.shape[1])
        m = n_learning_points(len(X))
        self._update_thetas(X[:m], y[:m], None if noise is None else noise[:m])
        target, self._offset, self._unit = self._standardized(X, y)
        least = self._offset + self._unit * float(np.min(target))
        # Up to rounding.
        raised = least - np.min(y) > 1e-9 * np.ptp(y)
        self.floor_ = least if raised else None
        self._observe(
            X,
            np.broadcast_to(target, (len(self.thetas_), len(X))),
            relative_noise(noise, self._unit),
        )
        return self

    def _standardized(
        self, X: FloatArray, y: FloatArray
    ) -> tuple[FloatArray, float, float]:
        fixed = self.hyperparameters or {}
        if "unit" not in fixed:
            # Without weights, many trials in one branch would raise all scores of a
            # branch with few trials to the same value.
            return standardize(y, self.winsorize_scores, branch_weights(X))
        offset, unit = fixed["offset"], fixed["unit"]
        return (y - offset) / unit, offset, unit

    def _update_thetas(
        self, X: FloatArray, y: FloatArray, noise: FloatArray | None
    ) -> None:
        """Learn the hyper-parameters, unless the data are unchanged."""
        training_key = _key_of_arrays(X, y, noise)
        if training_key != self._training_key:
            target, _, unit = self._standardized(X, y)
            self.thetas_ = self._learn(X, target, relative_noise(noise, unit))
            self._training_key = training_key

    def _learn(
        self, X: FloatArray, target: FloatArray, extra: FloatArray | None
    ) -> FloatArray:
        if self.hyperparameters is not None:
            fixed = self.hyperparameters
            tail = [fixed["amplitude"], fixed["noise"]]
            return np.log(np.concatenate([fixed["length_scales"], tail]))[None, :]
        rng = np.random.default_rng(self.random_state)
        rows = best_and_random(target, MAX_LEARNING_POINTS, rng)
        posterior = self._log_posterior(
            X[rows], target[rows], None if extra is None else extra[rows]
        )
        mode = find_mode(posterior)
        n_samples = self.n_samples
        if n_samples is None:
            n_samples = int(np.clip(SAMPLE_POINTS // len(X), 1, 8))
            n_samples = 0 if n_samples == 1 else n_samples
        if n_samples == 0:
            return mode[None, :]
        return sample_posterior(posterior, mode, n_samples, rng)

    def _log_posterior(
        self, X: FloatArray, target: FloatArray, extra: FloatArray | None
    ) -> LogPosterior:
        squares = self._embedding.squared_differences(X)
        return LogPosterior(squares, target, KERNELS[self.kernel], extra)

    def _observe(
        self,
        X: FloatArray,
        target: FloatArray,
        extra: FloatArray | None,
        first_factor: InverseFactor | None = None,
    ) -> None:
        """Condition on scores at X, with targets of shape (S, n).

        `first_factor` is the factor of the first scores, if available.
        """
        D = X.shape[1]
        self._X, self._target, self._extra = X, np.array(target), extra
        self._embedding = self._embedding.covering(self._known_rows())
        self._length_scales = np.exp(self.thetas_[:, :D])
        self._amplitude, self._noise = np.exp(self.thetas_[:, D:]).T
        self._scaled = self._place(self._known_rows())
        self._factorize(first_factor)

    def _known_rows(self) -> FloatArray:
        """Return the rows that all covariances refer to."""
        return self._X

    def _factorize(self, first_factor: InverseFactor | None) -> None:
        """Factorize the covariance of all observations for predictions."""
        factor = self._base_factor() if first_factor is None else first_factor
        n = len(factor)
        if n < len(self._X):
            B = self._covariance(slice(n), slice(n, None))
            C = self._covariance(slice(n, None), slice(n, None))
            factor = factor.extend(B, C)
        self._factor = factor
        self._alpha = factor.solve(self._target)

    def _base_factor(self) -> InverseFactor:
        """Return the factor of the first observations, which is cached.

        The number of first observations only depends on the total number. Predictions
        therefore do not depend on earlier fits.
        """
        n = len(self._X)
        # The scale of known variances changes with each score.
        if self._extra is None:
            n -= (n - n_learning_points(n)) % MAX_APPENDED
        key = _key_of_arrays(*self._learned(), self._X[:n], self._extra)
        cached_key, factor = self._bases.get(self._with_pending, (None, None))
        if factor is None or cached_key != key:
            K = self._covariance(slice(n), slice(n))
            factor = InverseFactor.of_covariances(K)
            self._bases[self._with_pending] = key, factor
        return factor

    def _learned(self) -> list[FloatArray]:
        """Return all learned arrays that determine covariances."""
        return [self.thetas_]

    def _covariance(self, rows: slice, columns: slice) -> FloatArray:
        """Return covariances of observations, with noise on the diagonal."""
        k, _ = self._correlations(self._scaled[:, rows], self._scaled[:, columns])
        K = np.multiply(self._amplitude[:, None, None], k, out=k)
        if rows == columns:
            diagonal = np.arange(K.shape[1])
            K[:, diagonal, diagonal] += self._diagonal()[:, rows]
        return K

    def _diagonal(self) -> FloatArray:
        """Return the noise variances (S, n) of the observations."""
        noise = np.repeat(self._noise[:, None], len(self._X), axis=1)
        return noise if self._extra is None else noise + self._extra

    def condition(self, X: FloatArray) -> Self:
        """Return a process conditioned on pending configurations `X`.

        Their predicted scores are treated as observed. Means do not change, and
        standard deviations decrease near `X` (Ginsbourger et al. 2010, "Kriging
        believer").
        """
        believed = (self.predict(X)[0] - self._offset) / self._unit
        extra = self._extra
        if extra is not None:
            extra = np.append(extra, np.zeros(len(X)))
        process = copy.copy(self)
        # Hundreds of pending configurations are observed in their order, so that the
        # factor of both remains valid.
        process._with_pending = len(X) > MANY_PENDING and extra is None
        process._observe(
            np.vstack([self._X, X]),
            np.hstack([self._target, believed]),
            extra,
            None if process._with_pending else self._factor,
        )
        return process

    # -- predicting ---------------------------------------------------------------

    def predict(  # noqa: D102
        self, X: FloatArray, gradient: bool = False
    ) -> tuple[FloatArray, ...]:
        kx, context = self._covariances(np.asarray(X, dtype=np.float64), gradient)
        mean = np.matmul(kx, self._alpha[..., None])[..., 0]
        v = self._factor.whiten(kx)
        # Rounding may make the variance negative at an observed point without noise.
        floor = 1e-12 * self._amplitude[:, None]
        variance = np.maximum(
            self._amplitude[:, None] - np.einsum("smn,smn->sm", v, v), floor
        )
        sd = np.sqrt(variance)
        if not gradient:
            return self._to_scores(mean, sd)
        d_mean = self._slope(self._alpha[:, None, :], context)
        through = self._slope(self._factor.unwhiten(v), context)  # by K^-1 kx
        d_sd = through / -sd[..., None]
        return *self._to_scores(mean, sd), self._unit * d_mean, self._unit * d_sd

    def known_means(self, X: FloatArray) -> FloatArray:
        """Predict the mean of the score at observed configurations.

        With the noise variances D, (K - D) K^-1 y = y - D alpha.
        """
        n = len(X)
        if not np.array_equal(X, self._X[:n], equal_nan=True):
            return self.predict(X)[0]
        noise = self._diagonal() + self._factor.jitter
        mean = (self._target - noise * self._alpha)[:, :n]
        return self._to_scores(mean, mean)[0]

    def average(
        self, X: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Predict the mean and standard deviation of a weighted mean of scores.

        With the weights w, it is normal with mean w' m and variance w' C w, where m and
        C are mean and covariance of the process at `X`. Errors that the predictions
        share do not average out; independent errors do.
        """
        X = np.asarray(X, dtype=np.float64)
        covariances = np.matmul(weights, self._covariances(X, False)[0])  # (S, n)
        mean = np.einsum("sn,sn->s", covariances, self._alpha)
        v = self._factor.whiten(covariances[:, None, :])[:, 0]
        k = self._prior_correlations(X)
        prior = self._amplitude * (np.matmul(weights, k) @ weights)
        variance = prior - np.einsum("sn,sn->s", v, v)
        sd = np.sqrt(np.maximum(variance, 1e-12 * self._amplitude))
        return self._to_scores(mean, sd)

    def _prior_correlations(self, X: FloatArray) -> FloatArray:
        """Return correlations (S, m, m) between configurations."""
        process = copy.copy(self)
        process._embedding = self._embedding.covering(X)
        scaled = process._place(X)
        return process._correlations(scaled, scaled)[0]

    @property
    def units(self) -> tuple[float, float]:
        """Offset and unit that standardize the outputs."""
        return self._offset, self._unit

    @property
    def mode(self) -> dict[str, Any]:
        """First sample of the hyper-parameters, in the form of `hyperparameters`."""
        *length_scales, amplitude, noise = np.exp(self.thetas_[0])
        return {"length_scales": length_scales, "amplitude": amplitude, "noise": noise}

    def joint(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Predict means (S, m) and covariances (S, m, m) of scores, without noise."""
        X = np.asarray(X, dtype=np.float64)
        kx, _ = self._covariances(X, False)
        mean = np.matmul(kx, self._alpha[..., None])[..., 0]
        v = self._factor.whiten(kx)
        k = self._prior_correlations(X)
        k *= self._amplitude[:, None, None]
        k -= np.matmul(v, np.swapaxes(v, 1, 2))
        return self._offset + self._unit * mean, self._unit**2 * k

    def leave_one_out(self) -> tuple[FloatArray, FloatArray]:
        """Predict each score (S, n), with noise, from the other scores.

        The predictions use the hyper-parameters learned from all scores (Rasmussen &
        Williams 2006, equation 5.12): mean y_i - alpha_i / (K^-1)_ii, variance
        1 / (K^-1)_ii. Information on derivatives is also learned from all scores.
        """
        n = len(self._X)
        precision = self._factor.precision()[:, :n]
        mean = self._target - self._alpha[:, :n] / precision
        return self._to_scores(mean, 1.0 / np.sqrt(precision))

    def _place(self, X: FloatArray) -> FloatArray:
        """Return scaled coordinates of configurations, (S, m, n_coordinates)."""
        return self._embedding.scale(self._embedding.place(X), self._length_scales)

    def _covariances(self, X: FloatArray, slopes: bool) -> tuple[FloatArray, Any]:
        """Return covariances (S, m, n) with the known rows, and data for slopes."""
        scaled = self._place(X)
        k, by_r2 = self._correlations(scaled, self._scaled, slopes)
        k *= self._amplitude[:, None, None]
        return k, (by_r2, scaled)

    def _slope(self, weights: FloatArray, context: Any) -> FloatArray:
        """Differentiate the sum over n of weights (S, m, n) times covariances."""
        by_k = self._amplitude[:, None, None] * weights
        return self._by_position(by_k, *context)

    def _correlations(
        self, scaled: FloatArray, others: FloatArray, slopes: bool = False
    ) -> tuple[FloatArray, Any]:
        """Return correlations (S, m, n) with others, and derivatives by r2."""
        return KERNELS[self.kernel](squared_distances(scaled, others), slopes)

    def _by_position(
        self, by_k: FloatArray, slopes: Any, scaled: FloatArray
    ) -> FloatArray:
        """Return sum_n by_k_mn d k_mn / d x_m, with d r2 / d x = 2 (x - x_n) / l^2."""
        weights = by_k * slopes
        ordered = self._embedding.ordered
        count = len(ordered)
        positions, fitted = scaled[..., :count], self._scaled[..., :count]
        total = np.sum(weights, axis=-1)[..., None] * positions - np.matmul(
            weights, fitted
        )
        result = np.zeros((*weights.shape[:2], self._embedding.n_columns))
        result[..., ordered] = 2.0 * total / self._length_scales[:, None, ordered]
        return result
