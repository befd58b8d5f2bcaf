"""Monotonic Gaussian process without the signs that the scores contradict.

Symbols (D columns): the *Bayes factor* of a column's signs is the ratio of the
probabilities of the scores with and without the signs,

    p(scores | signs) / p(scores) = P(signs | scores) / P(signs).

Both probabilities of signs are computed by expectation propagation, with the
hyper-parameters learned from the scores only. The Bayes factor is 1 if the scores have
no information about the column.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.base import Surrogate, compress_low_tail
from skbayes.surrogates.gp.ep import propagate
from skbayes.surrogates.gp.gp import GaussianProcess
from skbayes.surrogates.gp.monotonic import NU, MonotonicGP

# Signs of a column are dropped if the scores are this many times less probable with
# them than without.
MAX_ODDS_AGAINST = 10.0

# One in this number of fits ignores all signs. Otherwise, the search would not evaluate
# configurations that may contradict them.
UNSIGNED_EVERY = 4


class RobustMonotonicGP(Surrogate):
    """Gaussian process with signs, without those that the scores contradict.

    Predictions come from a :class:`~skbayes.surrogates.MonotonicGP` with the signs of
    the columns whose Bayes factor is above 1/10. Without such a column, they come from
    a :class:`~skbayes.surrogates.GaussianProcess`. The same applies after every fourth
    observation, so that a search also evaluates configurations that are poor according
    to the signs. :class:`~skbayes.surrogates.MonotonicGP` describes the parameters.

    Attributes
    ----------
    log_bayes_factors_ : dict of int to float
        Logarithms of the Bayes factors of the columns with signs.
    columns_in_force_ : list of int
        Columns whose signs the scores do not contradict.
    looks_without_signs_ : bool
        Whether this fit ignored all signs.

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
        self.signs = np.asarray(signs, dtype=np.float64)
        options: dict[str, Any] = {"n_options": n_options, "random_state": random_state}
        self._plain = GaussianProcess(kernel, **options)
        # These two models are fitted to compressed scores.
        options["winsorize_scores"] = False
        self._signed = MonotonicGP(kernel, sign_points=sign_points, nu=nu, **options)
        self._evidence_model = GaussianProcess(kernel, n_samples=0, **options)

    def fit(
        self, X: FloatArray, y: FloatArray, noise: FloatArray | None = None
    ) -> RobustMonotonicGP:
        """Fit the process to scores, and drop the signs that they contradict."""
        self._plain.fit(X, y, noise)
        scores = compress_low_tail(np.asarray(y, dtype=np.float64))
        self._evidence_model.fit(X, scores, noise)
        columns = np.flatnonzero(np.any(self.signs != 0.0, axis=0))
        self.log_bayes_factors_ = {
            column: self._log_bayes_factor(column, X, scores, noise)
            for column in columns.tolist()
        }
        limit = -math.log(MAX_ODDS_AGAINST)
        self.columns_in_force_ = [
            column
            for column, factor in self.log_bayes_factors_.items()
            if factor > limit
        ]
        self.looks_without_signs_ = len(X) % UNSIGNED_EVERY == UNSIGNED_EVERY - 1
        self._model: GaussianProcess = self._plain
        if self.columns_in_force_ and not self.looks_without_signs_:
            self._model = self._fit_signed(
                self._signed, self.columns_in_force_, X, scores, noise
            )
        return self

    @property
    def floor_(self) -> float | None:
        """Score to which worse scores were raised; None if signs are used."""
        return self._model.floor_

    def _fit_signed(
        self,
        model: MonotonicGP,
        columns: list[int],
        X: FloatArray,
        y: FloatArray,
        noise: FloatArray | None,
    ) -> MonotonicGP:
        """Fit a model with the signs of some columns."""
        mask = np.isin(np.arange(self.signs.shape[1]), columns)
        model.signs = np.where(mask, self.signs, 0.0)
        with warnings.catch_warnings():
            # The result of the last sweep is accurate enough for proposals.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(X, y, noise)

    def _log_bayes_factor(
        self, column: int, X: FloatArray, y: FloatArray, noise: FloatArray | None
    ) -> float:
        model = MonotonicGP(
            self._plain.kernel,
            sign_points=self._signed.sign_points,
            nu=self._signed.nu,
            n_options=self._plain.n_options,
            winsorize_scores=False,
            hyperparameters=self._evidence_model.mode,
        )
        self._fit_signed(model, [column], X, y, noise)
        K, signs = model.prior_of_signs(), model.known_monotonicity
        prior = propagate(np.zeros(len(K)), K, signs.values, signs.nu)
        return float(model.log_evidence_[0] - prior.log_evidence)

    def condition(self, X: FloatArray) -> GaussianProcess:
        """Return a process conditioned on pending configurations `X`."""
        return self._model.condition(X)

    def predict(self, X: FloatArray, gradient: bool = False) -> tuple[FloatArray, ...]:
        """Predict the mean and standard deviation of the score, without noise."""
        return self._model.predict(X, gradient)

    def known_means(self, X: FloatArray) -> FloatArray:
        """Predict the mean of the score at observed configurations."""
        return self._model.known_means(X)

    def average(
        self, X: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Predict the mean and standard deviation of a weighted mean of scores."""
        return self._model.average(X, weights)
