"""Gaussian process of the costs of trials, some of which were cut short.

Symbols (n observed costs, D columns):

- ``X``: (n, D) their encoded configurations.
- ``y``: (n,) logarithms of the costs. Costs are positive, spread over decades, and
  products of factors such as folds, rows and trees. Their logarithms are therefore
  nearly normal and nearly additive.
- ``b``: logarithm of the cost at which a censored trial was cut short. Only y >= b is
  known of this trial.

Hutter, Hoos & Leyton-Brown (2013), "Bayesian optimization with censored response
data".
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfcx

from skbayes.optimizer.bounded_process import fit_bounded
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates import GaussianProcess

__all__ = ["CostModel", "truncated_mean"]

# With fewer costs, the prediction is their median.
MIN_COSTS = 4


def truncated_mean(mean: FloatArray, sd: FloatArray, bound: FloatArray) -> FloatArray:
    """Compute the mean of a normal variable that is at least `bound`.

    E[y | y >= b] = mean + sd phi(z) / (1 - Phi(z)) with z = (b - mean) / sd. The
    quotient is sqrt(2 / pi) / erfcx(z / sqrt(2)), which neither overflows nor cancels.
    """
    z = (bound - mean) / sd
    hazard = math.sqrt(2.0 / math.pi) / erfcx(z / math.sqrt(2.0))
    return np.maximum(mean + sd * hazard, bound)


class CostModel:
    """Gaussian process of the logarithms of trial costs.

    The hyper-parameters are learned with each censored cost replaced by its mean
    (:func:`truncated_mean`), given the bound and the prediction from the uncensored
    costs. If there are too few uncensored costs, the bound itself is used. The final
    fit treats censored costs as bounds, by expectation propagation
    (:func:`fit_bounded`). Predictions depend only on the costs that were added.

    Parameters
    ----------
    n_options : list of int
        For each column 0 if its positions are ordered, else the number of options.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.optimizer.cost_model import CostModel
    >>> model = CostModel([0])
    >>> for x in (0.0, 0.2, 0.5, 0.8, 1.0):
    ...     model.add(np.array([x]), 10.0 ** (3 * x))
    >>> print(f"{model.expected(np.array([0.5])):.1f}")
    31.6
    """

    def __init__(self, n_options: list[int]) -> None:
        self.n_options = n_options
        self._rows: list[FloatArray] = []
        self._costs: list[float] = []
        self._censored: list[bool] = []
        self._learner = self._process()
        self._fitted: GaussianProcess | None = None
        self._earlier: CostModel | None = None

    def learn(self, row: FloatArray, cost: float) -> None:
        """Add a cost of an earlier search, used until there are enough new costs."""
        if self._earlier is None:
            self._earlier = CostModel(self.n_options)
        self._earlier.add(row, cost)

    def add(self, row: FloatArray, cost: float, censored: bool = False) -> None:
        """Add the cost of a trial."""
        self._rows.append(row)
        self._costs.append(cost)
        self._censored.append(censored)
        self._fitted = None

    @property
    def total(self) -> float:
        """Sum of the costs, without those of an earlier search."""
        return math.fsum(self._costs)

    def expected(self, row: FloatArray) -> float | None:
        """Return the predicted median cost; None if no cost is known."""
        if self._earlier is not None and len(self._costs) < MIN_COSTS:
            return self._by_earlier(self._earlier, row)
        if not self._costs:
            return None
        process = self.process()
        if process is None:
            return float(np.median(self._costs))
        return math.exp(float(process.predict(row[None, :])[0][0, 0]))

    def process(self) -> GaussianProcess | None:
        """Return the model of the logarithms of costs; None if there are too few."""
        if len(self._costs) < MIN_COSTS:
            return None
        if self._fitted is None:
            self._fitted = self._fit()
        return self._fitted

    def _by_earlier(self, earlier: CostModel, row: FloatArray) -> float:
        """Return the cost predicted by an earlier search, up to a common factor."""
        expected = [
            earlier.expected(configuration) for configuration in [*self._rows, row]
        ]
        costs = np.array(expected, dtype=np.float64)
        ratios = np.array(self._costs) / costs[:-1]
        return float(costs[-1] * (np.median(ratios) if len(ratios) else 1.0))

    def _fit(self) -> GaussianProcess:
        X, bounds = np.array(self._rows), np.log(self._costs)
        censored = np.array(self._censored)
        if not np.any(censored):
            return self._learner.fit(X, bounds)
        learner = self._process().fit(X, self._imputed(X, bounds, censored))
        return fit_bounded(learner, X, bounds, censored.astype(np.float64))

    def _imputed(
        self, X: FloatArray, bounds: FloatArray, censored: np.ndarray
    ) -> FloatArray:
        """Return log costs, with censored ones predicted from the uncensored ones."""
        y = bounds.copy()
        if np.sum(~censored) >= MIN_COSTS:
            mean, sd = self._learner.fit(X[~censored], y[~censored]).predict(
                X[censored]
            )
            y[censored] = truncated_mean(mean[0], sd[0], bounds[censored])
        return y

    def _process(self) -> GaussianProcess:
        return GaussianProcess(
            n_options=self.n_options,
            n_samples=0,
            # Low costs must be predicted as accurately as high costs.
            winsorize_scores=False,
        )
