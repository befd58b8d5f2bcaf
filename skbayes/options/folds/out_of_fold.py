"""Fold estimators of the best configuration, and their out-of-fold predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from skbayes import compat
from skbayes.options.folds.aspect import FoldEstimators
from skbayes.trial.fold import configured
from skbayes.trial.plan import Plan
from skbayes.trial.records import History, Trial, TrialState
from skbayes.trial.subsets import Sample

# Methods whose outputs have columns of classes, and their values for a missing class.
MISSING_CLASS = {
    "predict_proba": 0.0,
    "predict_log_proba": -np.inf,
    "decision_function": -np.inf,
}


def fits_of_trial(plan: Plan, trial: Trial) -> list[Any]:
    """Fit a trial again on all splits, with the parameters by which it was scored."""
    job, X, y = plan.job, plan.X, plan.y
    sample = Sample(trial.fidelity.train_fraction, trial.fidelity.subset)
    fitted = []
    for split in range(len(job.splits)):
        extras = trial.folds[split].extras
        params = trial.params | extras.get("fitted_params", trial.fitted_params)
        model = configured(plan.estimator, params)
        train, _ = job.split(split, sample)
        X_train, y_train = compat.safe_split(model, X, y, train)
        fit_params = compat.check_fit_params(X, job.fit_params, train)
        data = (X_train,) if y is None else (X_train, y_train)
        fitted.append(model.fit(*data, **fit_params))
    return fitted


def winner_fits(plan: Plan, ranked: History, best: int) -> dict[str, Any]:
    """Return `fold_estimators_` and `oof_predictions_`, if they are requested."""
    requested, aspect = plan.settings.return_folds, plan.aspect(FoldEstimators)

    def results(trial: Trial) -> dict[str, Any]:
        fits = aspect.by_trial.get(trial.number)
        if fits is None:
            # The trial was fitted in an earlier run, whose journal contains no
            # estimators, or with more rounds.
            fits = fits_of_trial(plan, trial)
        attributes: dict[str, Any] = {}
        if requested.estimators:
            attributes["fold_estimators_"] = fits
        if (method := requested.method) is not None:
            values = out_of_fold(fits, plan.X, plan.splits, method)
            attributes["oof_predictions_"] = values
        return attributes

    if not requested.of_all:
        return results(ranked[best])
    rows = [
        results(trial)
        if trial.state == TrialState.COMPLETE
        and trial.error is None
        and (trial.fitted.all() or place == best)
        else {}
        for place, trial in enumerate(ranked)
    ]
    everything = {f"all_{name}": [row.get(name) for row in rows] for name in rows[best]}
    return rows[best] | everything


def out_of_fold(
    estimators: Sequence[Any], X: Any, splits: Sequence[tuple[Any, Any]], method: str
) -> Any:
    """Predict each sample by the estimator that was fitted without it.

    A class that is missing in a training set has probability 0. Its log-probability and
    decision value are minus infinity. With several labels, there is one column for the
    positive class of each label.
    """
    classes = _all_classes(estimators, method)
    parts = []
    for estimator, (train, test) in zip(estimators, splits, strict=True):
        X_test, _ = compat.safe_split(estimator, X, None, test, train)
        output = getattr(estimator, method)(X_test)
        if isinstance(output, list) and classes is not None:
            labels = zip(output, estimator.classes_, strict=True)
            columns = [_aligned(*label, classes, method)[:, -1] for label in labels]
            output = np.column_stack(columns)
        elif not sparse.issparse(output):
            output = np.asarray(output)
            if classes is not None and isinstance(estimator.classes_, np.ndarray):
                output = _aligned(output, estimator.classes_, classes, method)
        parts.append(output)
    order = np.argsort(np.concatenate([np.asarray(test) for _, test in splits]))
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")[order]
    return np.concatenate(parts)[order]


def _all_classes(estimators: Sequence[Any], method: str) -> np.ndarray | None:
    """Return the classes of all estimators; None if the output has no class columns."""
    if method not in MISSING_CLASS:
        return None
    classes: list[Any] = [getattr(e, "classes_", None) for e in estimators]
    if all(isinstance(labels, list) for labels in classes):
        classes = sum(classes, [])
    if any(not isinstance(c, np.ndarray) or c.ndim != 1 for c in classes):
        return None
    return np.unique(np.concatenate(classes))


def _aligned(
    output: np.ndarray, fitted_classes: np.ndarray, classes: np.ndarray, method: str
) -> np.ndarray:
    """Return an output with columns for all classes."""
    if output.ndim == 1 and len(classes) > 2:
        # The training set has only two of the classes.
        output = np.column_stack([-output, output])
    if output.shape[1:] != fitted_classes.shape or len(fitted_classes) == len(classes):
        return output
    aligned = np.full((len(output), len(classes)), MISSING_CLASS[method])
    aligned[:, np.searchsorted(classes, fitted_classes)] = output
    return aligned
