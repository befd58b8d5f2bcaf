"""What is kept of the winner's fits: its fold estimators and their predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from skbayes import compat

__all__ = ["check_partition", "fit_folds", "out_of_fold"]


def check_partition(splits: Sequence[tuple[Any, Any]], n_samples: int) -> None:
    """Check that every sample is in exactly one test set.

    Parameters
    ----------
    splits : list of (train, test)
        Index arrays.
    n_samples : int
        Number of samples.

    Raises
    ------
    ValueError
        If some is in none, or in several.
    """
    tested = np.concatenate([np.asarray(test) for _, test in splits])
    if not np.array_equal(np.sort(tested), np.arange(n_samples)):
        raise ValueError(
            "return_oof needs a cv whose test sets hold every sample exactly once, as "
            "those of KFold do."
        )


def fit_folds(
    estimator: Any,
    params: dict[str, Any],
    X: Any,
    y: Any,
    splits: Sequence[tuple[Any, Any]],
    fit_params: dict[str, Any],
) -> list[Any]:
    """Fit an estimator on each training set.

    Parameters
    ----------
    estimator : estimator
        It is cloned.
    params : dict
        Set on the clones.
    X, y : array-like
        The data.
    splits : list of (train, test)
        Index arrays.
    fit_params : dict
        Passed to `fit`; cut along with the samples.

    Returns
    -------
    estimators : list
        One per split.
    """
    fitted = []
    for train, _ in splits:
        one = clone(estimator).set_params(**clone(params, safe=False))
        X_train, y_train = compat.safe_split(one, X, y, train)
        cut = compat.check_fit_params(X, fit_params, train)
        fitted.append(
            one.fit(X_train, **cut) if y is None else one.fit(X_train, y_train, **cut)
        )
    return fitted


def out_of_fold(
    estimators: Sequence[Any],
    X: Any,
    splits: Sequence[tuple[Any, Any]],
    method: str,
) -> np.ndarray:
    """Predict each sample by the estimator that did not see it.

    Parameters
    ----------
    estimators : list
        Fitted, one per split.
    X : array-like
        The data.
    splits : list of (train, test)
        Their test sets hold each sample once.
    method : str
        Name of the method that predicts.

    Returns
    -------
    predictions : ndarray of shape (n_samples,) or (n_samples, n_columns)
        In the order of the samples. A class that is missing from a training set has
        probability 0, log-probability and decision value minus infinity.

    Raises
    ------
    ValueError
        If the method's output is no array.
    """
    labels = _all_labels(estimators, method)
    parts = []
    for estimator, (train, test) in zip(estimators, splits, strict=True):
        X_test, _ = compat.safe_split(estimator, X, None, test, train)
        predictions = getattr(estimator, method)(X_test)
        if isinstance(predictions, list):
            raise ValueError(
                f"return_oof={method!r} is not possible with several outputs; the "
                "estimator returns a list."
            )
        predictions = np.asarray(predictions)
        if labels is not None and predictions.ndim == 1 and len(labels) > 2:
            # The decision between the only two classes this estimator knows.
            predictions = np.column_stack([-predictions, predictions])
        if labels is not None and predictions.ndim == 2:
            predictions = _align(predictions, estimator.classes_, labels, method)
        parts.append(predictions)
    order = np.argsort(np.concatenate([np.asarray(test) for _, test in splits]))
    return np.concatenate(parts)[order]


def _all_labels(estimators: Sequence[Any], method: str) -> np.ndarray | None:
    """Return the classes that any estimator knows; None if there are no columns."""
    if method == "predict" or not all(hasattr(e, "classes_") for e in estimators):
        return None
    classes = [e.classes_ for e in estimators]
    if any(not isinstance(c, np.ndarray) or c.ndim != 1 for c in classes):
        return None
    return np.unique(np.concatenate(classes))


def _align(
    predictions: np.ndarray, classes: np.ndarray, labels: np.ndarray, method: str
) -> np.ndarray:
    if predictions.shape[1] != len(classes) or len(classes) == len(labels):
        return predictions
    missing = 0.0 if method == "predict_proba" else -np.inf
    aligned = np.full((len(predictions), len(labels)), missing)
    aligned[:, np.searchsorted(labels, classes)] = predictions
    return aligned
