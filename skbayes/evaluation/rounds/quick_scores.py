"""Log loss and accuracy after each round, without scikit-learn's checks of each call.

The checks of labels and probabilities take a millisecond, as long as several rounds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import xlogy
from sklearn.metrics import accuracy_score, log_loss

from skbayes import compat

__all__ = ["quick_score"]

# Computes a metric from the methods of a classifier.
Metric = Callable[[Any], float]
# Logarithms of the probabilities, shape (n, k), where `is_class` is true, else 0.
Logarithm = Callable[[np.ndarray, np.ndarray], np.ndarray]


def quick_score(scorer: Any, y: Any, stage: Any, known: Any) -> Metric | None:
    """Return a function that scores stages like a scorer without arguments.

    Parameters
    ----------
    scorer : callable
        Scorer of scikit-learn, or any other.
    y : array-like
        True labels.
    stage : StagedEstimator
        A first stage.
    known : float
        What the scorer returns for this stage. None is returned if the function does
        not return exactly this.
    """
    function, sign = compat.metric_of_scorer(scorer)
    if function not in _METRICS or y is None:
        return None
    try:
        metric = _METRICS[function](np.asarray(y))

        def score(one: Any) -> float:
            return sign * metric(one.outputs)

        return score if score(stage) == known else None
    except Exception:  # labels or outputs of another kind
        return None


def _accuracy(y: np.ndarray) -> Metric:
    """Return the share of labels that are predicted."""
    return lambda outputs: float(np.average(y == outputs["predict"]()))


def _log_loss(y: np.ndarray) -> Metric:
    """Return the mean of -log(p) of the true class."""
    is_class = y[:, np.newaxis] == np.unique(y)

    def loss(outputs: Any) -> float:
        proba = outputs["predict_proba"]()
        logarithm = _exact_logarithm(proba.dtype.name)
        return _loss(logarithm, is_class, proba) if logarithm else np.nan

    return loss


def _loss(logarithm: Logarithm, is_class: np.ndarray, proba: np.ndarray) -> float:
    if proba.shape[1] == 2:
        # Scorers keep the probability of the second class only.
        proba = np.column_stack([1 - proba[:, 1], proba[:, 1]])
    eps = np.finfo(proba.dtype).eps
    clipped = np.clip(proba, eps, 1 - eps)
    return float(np.average(-logarithm(is_class, clipped).sum(axis=1)))


def _special_logarithm(is_class: np.ndarray, proba: np.ndarray) -> np.ndarray:
    return xlogy(is_class.astype(np.int64), proba)


def _numpy_logarithm(is_class: np.ndarray, proba: np.ndarray) -> np.ndarray:
    return np.where(is_class, np.log(proba), proba.dtype.type(0))


@functools.cache
def _exact_logarithm(dtype: str) -> Logarithm | None:
    """Return the logarithm with which log losses are those of this scikit-learn.

    NumPy's and SciPy's differ by roundings, and releases of scikit-learn use either.
    """
    rng = np.random.default_rng(0)
    cases = []
    for _ in range(20):
        proba = rng.dirichlet(np.full(3, 0.5), 100).astype(dtype)
        y = np.r_[:3, rng.integers(3, size=97)]
        cases.append((y[:, np.newaxis] == np.arange(3), proba, log_loss(y, proba)))
    for logarithm in (_special_logarithm, _numpy_logarithm):
        if all(_loss(logarithm, is_class, p) == loss for is_class, p, loss in cases):
            return logarithm
    return None


_METRICS: dict[Any, Callable[[np.ndarray], Metric]] = {
    log_loss: _log_loss,
    accuracy_score: _accuracy,
}
