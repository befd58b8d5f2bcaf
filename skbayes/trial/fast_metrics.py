"""Fast formulas of common metrics of scikit-learn, without checks of the arguments.

With few rows, the checks take most of the time of a scorer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import is_classifier
from sklearn.utils.multiclass import type_of_target

from skbayes.space.dimensions import FloatArray

Metric = Callable[[np.ndarray, FloatArray], float]

# Methods whose outputs a metric uses, by preference; `predict` for other metrics.
METHODS: dict[str, tuple[str, ...]] = {
    "neg_log_loss": ("predict_proba",),
    "roc_auc": ("decision_function", "predict_proba"),
}


@dataclass(frozen=True)
class Target:
    """Form of a target.

    The `classes` are None for regression and for several labels. `n_outputs` is the
    number of columns, 0 for a target of one dimension.
    """

    classes: np.ndarray | None
    n_outputs: int = 0

    @classmethod
    def of(cls, estimator: Any, y: Any) -> Target:
        """Return the form of the target of an estimator."""
        n_outputs = np.shape(y)[1] if np.ndim(y) > 1 else 0
        if not is_classifier(estimator):
            return cls(None, n_outputs)
        if type_of_target(y).startswith("multilabel"):
            return cls(None, np.shape(y)[1])
        return cls(np.unique(np.asarray(y)))

    @property
    def classes_of_columns(self) -> Any:
        """Classes in the form that scorers expect; an array for each of several labels.

        Scorers would mistake a single array of two labels for the classes of a target.
        """
        if self.classes is None:
            return [np.array([0, 1])] * self.n_outputs
        return self.classes


def name_of_metric(scoring: Any, metric: str | None, classifies: bool) -> str | None:
    """Return the name of a metric in scikit-learn, if it is given by its name.

    `metric` is the one to choose if there are several.
    """
    if scoring is None:
        return "accuracy" if classifies else "r2"  # the method `score` of averages
    if isinstance(scoring, Mapping):
        scoring = scoring.get(metric)
    elif isinstance(scoring, list | tuple | set):
        scoring = metric
    return scoring if isinstance(scoring, str) else None


def fast_score(
    name: str | None, y: Any, classes: np.ndarray | None
) -> Callable[[Mapping[str, Callable[[], Any]]], float] | None:
    """Return a function that scores the methods of an estimator for rows, or None.

    `y` are the targets of the rows. The methods have no arguments. The score is NaN if
    the method that the metric requires does not exist.
    """
    y, target, methods = np.asarray(y), Target(classes), METHODS.get(name or "")
    methods = methods or ("predict",)
    if y.ndim != 1 or all(fast_metric(name, m, target) is None for m in methods):
        return None
    if classes is not None:
        if not np.array_equal(np.unique(y), classes):
            return None
        y = np.searchsorted(classes, y)

    def score(outputs: Mapping[str, Callable[[], Any]]) -> float:
        method = next((m for m in methods if m in outputs), "predict")
        metric = fast_metric(name, method, target)
        if metric is None:
            return math.nan
        values = np.asarray(outputs[method]())
        values = values.reshape(len(y), -1)
        if method == "predict" and classes is not None:
            values = values == classes
        return metric(y, values)

    return score


def fast_metric(name: str | None, method: str, target: Target) -> Metric | None:
    """Return a function of classes or targets, and of the outputs of a method, or None.

    It equals the metric of scikit-learn with this name, except for rounding errors.
    Classes are numbers from 0, and all of them are present. The outputs have the form
    of a :class:`~skbayes.options.ensembles.responses.Response`.
    """
    if target.n_outputs:
        return None
    if target.classes is None:
        return _REGRESSION.get(name or "")
    is_binary = len(target.classes) == 2
    if method == "predict_proba":
        if name == "neg_log_loss":
            return _neg_log_loss
        if name == "roc_auc" and is_binary:
            return lambda y, p: _area(y, p[:, 1])
    elif method == "decision_function" and name == "roc_auc" and is_binary:
        return lambda y, values: _area(y, values[:, -1])
    names = ["accuracy", "balanced_accuracy"]
    if target.classes.tolist() == [0, 1]:
        names.append("f1")
    if name not in names:
        return None

    def of_predictions(y: np.ndarray, values: FloatArray) -> float:
        single = is_binary and values.shape[1] == 1  # decision values
        predicted = values[:, 0] > 0.0 if single else np.argmax(values, axis=1)
        hits = predicted == y
        if name == "accuracy":
            return float(np.mean(hits))
        if name == "f1":
            n_hits = 2.0 * np.sum(hits & (y == 1))
            return float(n_hits / max(np.sum(predicted) + np.sum(y), 1))
        return float(np.mean(np.bincount(y, hits) / np.bincount(y)))

    return of_predictions


def _neg_log_loss(y: np.ndarray, p: FloatArray) -> float:
    eps = np.finfo(p.dtype).eps
    likelihood = p[np.arange(len(y)), y].astype(np.float64)
    return float(np.mean(np.log(np.clip(likelihood, eps, 1.0 - eps))))


def _area(y: np.ndarray, values: FloatArray) -> float:
    """Return the area under the ROC curve, from the sum of the ranks of class 1."""
    n_positive = np.sum(y)
    above = np.sum(rankdata(values)[y == 1]) - n_positive * (n_positive + 1) / 2
    return float(above / (n_positive * (len(y) - n_positive)))


def _r2(y: np.ndarray, values: FloatArray) -> float:
    spread = np.sum((y - y.mean()) ** 2)
    if spread == 0.0:  # left to the scorer
        return math.nan
    return float(1.0 - np.sum((y - values[:, 0]) ** 2) / spread)


def _mean_square(y: np.ndarray, values: FloatArray) -> float:
    return float(np.mean((y - values[:, 0]) ** 2))


_REGRESSION: dict[str, Metric] = {
    "r2": _r2,
    "neg_mean_squared_error": lambda y, values: -_mean_square(y, values),
    "neg_root_mean_squared_error": lambda y, v: -math.sqrt(_mean_square(y, v)),
    "neg_mean_absolute_error": lambda y, v: -float(np.mean(np.abs(y - v[:, 0]))),
}
