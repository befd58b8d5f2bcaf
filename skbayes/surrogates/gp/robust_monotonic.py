"""Monotonic Gaussian process without the signs that the scores contradict.

Symbols (D columns): the *Bayes factor* of a column's signs is by how much the scores
are more probable if the signs hold than if nothing is known of them,

    p(scores | signs) / p(scores) = P(signs | scores) / P(signs),

both probabilities by expectation propagation, under the hyper-parameters that the
scores alone suggest. It is 1 as long as the scores say nothing about the column.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.base import Surrogate
from skbayes.surrogates.gp.ep import propagate
from skbayes.surrogates.gp.gp import GaussianProcess
from skbayes.surrogates.gp.monotonic import MonotonicGP
from skbayes.surrogates.gp.monotonic_posterior import NU
from skbayes.surrogates.scaling import compress_low_tail

__all__ = ["RobustMonotonicGP"]

# Signs of a column are left out as soon as the scores are so many times less probable
# with them.
MAX_ODDS_AGAINST = 10.0

# One fit in so many leaves out all signs: what they keep the search from looking at
# would never speak against them.
LOOK_EVERY = 4


class RobustMonotonicGP(Surrogate):
    """Process on scores and signs that drops the signs which the scores contradict.

    It is :class:`~skbayes.surrogates.MonotonicGP` with the signs of those columns
    whose Bayes factor is above 1/10, and :class:`~skbayes.surrogates.GaussianProcess`
    if none is left. It is that after every fourth score in any case, so that a search
    also looks where the signs advise against.

    Parameters
    ----------
    kernel : {"matern52", "rbf"}, default="matern52"
        Correlation function.
    sign_points : ndarray of shape (N, D)
        Encoded configurations at which signs are assumed.
    signs : ndarray of shape (N, D)
        For each point and column +1, -1 or 0; see :class:`MonotonicGP`.
    nu : float or ndarray of shape (D,), default=1e-6
        Widths of the likelihoods, for all columns or for each.
    n_options : list of int, default=None
        For each column 0 if its positions are ordered, else the number of options.
    random_state : int, default=0
        Seed of the samples of hyper-parameters.

    Attributes
    ----------
    log_bayes_factors_ : dict of int to float
        By column that has signs.
    columns_in_force_ : list of int
        Columns whose signs the scores do not contradict.
    looks_without_signs_ : bool
        Whether this fit left out all signs to look beyond them.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.surrogates.gp.robust_monotonic import RobustMonotonicGP
    >>> at = np.linspace(0.0, 1.0, 5)[:, None]
    >>> X, y = np.linspace(0.0, 1.0, 6)[:, None], np.arange(6.0)
    >>> for sign in (1, -1):
    ...     model = RobustMonotonicGP(sign_points=at, signs=np.full((5, 1), sign))
    ...     print(sign, model.fit(X, y).columns_in_force_)
    1 [0]
    -1 []
    """

    takes_noise = True
    has_gradients = True

    def __init__(
        self,
        kernel: str = "matern52",
        *,
        sign_points: FloatArray,
        signs: FloatArray,
        nu: float | FloatArray = NU,
        n_options: list[int] | None = None,
        random_state: int = 0,
    ) -> None:
        self.sign_points = np.asarray(sign_points, dtype=np.float64)
        self.signs = np.asarray(signs, dtype=np.float64)
        self.nu = nu
        options = {"n_options": n_options, "random_state": random_state}
        self._plain = GaussianProcess(kernel, **options)  # type: ignore[arg-type]
        # Scores come to these two compressed.
        options["winsorize_scores"] = False
        self._signed = MonotonicGP(kernel, nu=nu, **options)  # type: ignore[arg-type]
        self._judge = GaussianProcess(kernel, n_samples=0, **options)  # type: ignore[arg-type]

    def fit(
        self, X: FloatArray, y: FloatArray, noise: FloatArray | None = None
    ) -> RobustMonotonicGP:
        """Learn from scores, and see which of the signs they contradict."""
        self._plain.fit(X, y, noise)
        scores = compress_low_tail(np.asarray(y, dtype=np.float64))
        self._judge.fit(X, scores, noise)
        columns = np.flatnonzero(np.any(self.signs != 0.0, axis=0))
        self.log_bayes_factors_ = {
            column: self._log_bayes_factor(column, X, scores, noise)
            for column in columns.tolist()
        }
        limit = -math.log(MAX_ODDS_AGAINST)
        self.columns_in_force_ = [
            column for column, one in self.log_bayes_factors_.items() if one > limit
        ]
        self.looks_without_signs_ = len(X) % LOOK_EVERY == LOOK_EVERY - 1
        self._model: GaussianProcess = self._plain
        if self.columns_in_force_ and not self.looks_without_signs_:
            self._model = self._signed
            self._signed.sign_points = self.sign_points
            self._signed.signs = self._only(self.columns_in_force_)
            with warnings.catch_warnings():
                # Its last sweep is good enough to propose by.
                warnings.simplefilter("ignore", ConvergenceWarning)
                self._signed.fit(X, scores, noise)
        return self

    @property
    def floor_(self) -> float | None:
        """The score that worse ones were taken for; None with signs in force."""
        return self._model.floor_

    def _only(self, columns: list[int]) -> FloatArray:
        """Signs of some columns, 0 in the others."""
        mask = np.isin(np.arange(self.signs.shape[1]), columns)
        return np.where(mask, self.signs, 0.0)

    def _log_bayes_factor(
        self, column: int, X: FloatArray, y: FloatArray, noise: FloatArray | None
    ) -> float:
        theta = self._judge.thetas_[0]
        model = MonotonicGP(
            self._plain.kernel,
            sign_points=self.sign_points,
            signs=self._only([column]),
            nu=self.nu,
            n_options=self._plain.n_options,
            winsorize_scores=False,
            hyperparameters={
                "length_scales": np.exp(theta[:-2]),
                "amplitude": np.exp(theta[-2]),
                "noise": np.exp(theta[-1]),
            },
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y, noise)
        K = model.prior_of_signs()
        signs = model.known_monotonicity
        prior = propagate(np.zeros(len(K)), K, signs.values, signs.nu)
        return float(model.log_evidence_[0] - prior.log_evidence)

    def condition(self, X: FloatArray) -> GaussianProcess:
        """Process that also knows that `X` will be observed."""
        return self._model.condition(X)

    def predict(self, X: FloatArray, gradient: bool = False) -> tuple[FloatArray, ...]:
        """Mean and standard deviation of the score itself, without noise."""
        return self._model.predict(X, gradient)

    def known_means(self, X: FloatArray) -> FloatArray:
        """Mean of the score at observed configurations."""
        return self._model.known_means(X)

    def average(
        self, X: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of a weighted mean of scores."""
        return self._model.average(X, weights)
