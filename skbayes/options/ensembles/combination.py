"""Greedy selection of an ensemble from out-of-fold predictions, without any fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import is_classifier

from skbayes import compat
from skbayes.options.ensembles.responses import Array, methods_of
from skbayes.trial.fast_metrics import Target, fast_metric
from skbayes.trial.fold import PREDICTING, n_rows
from skbayes.trial.outputs import StagedClassifier, StagedEstimator, StagedRegressor
from skbayes.trial.plan import Plan

Members = list[int]  # numbers of trials, with repetition


@dataclass(frozen=True)
class EnsembleResult:
    """Ensemble that a search selected greedily, or the best configuration alone.

    It is the ensemble selection of [1]_. The best configuration alone is the final
    model if an ensemble is not better by more than its standard error.

    Parameters
    ----------
    weights : dict of int to float
        Weight of each configuration by the number of its trial, the greatest first.
    score : float
        Mean score over the splits. It is optimistic, since the members were selected on
        the same predictions.
    best_score : float
        Mean score of the best configuration alone, as ``best_score_``.
    gain_std : float
        Standard error of ``score - best_score`` over the splits. NaN if the predictions
        of the best trial could not be used.
    predict_cost, size_cost : float
        Time for predictions and size in bytes, as multiples of the values of the best
        configuration alone. The size is NaN if the members cannot be pickled.
    reason : str
        Why the best configuration alone is the final model; empty for an ensemble.

    References
    ----------
    .. [1] R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes, "Ensemble selection
       from libraries of models", ICML 2004. https://doi.org/10.1145/1015330.1015432

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skbayes import BayesSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> search = BayesSearchCV(
    ...     DecisionTreeClassifier(random_state=0),
    ...     {"max_features": (0.05, 1.0), "min_samples_leaf": (1, 20)},
    ...     refit="ensemble",
    ...     n_iter=8,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> search.ensemble_.score > search.ensemble_.best_score
    True
    """

    weights: dict[int, float]
    score: float
    best_score: float
    gain_std: float = math.nan
    predict_cost: float = 1.0
    size_cost: float = 1.0
    reason: str = ""


@dataclass
class FoldScorer:
    """Scores of average outputs of a method on the test sets of the splits."""

    plan: Plan
    method: str
    scorer: Any
    metric: str | None = None  # metric to choose if the scorer has several
    score_params: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None  # name of the metric in scikit-learn, if it has one

    def __post_init__(self) -> None:
        self.target = Target.of(self.plan.model, self.plan.y)
        metric = fast_metric(self.name, self.method, self.target)
        self._formula = None if self.score_params else metric
        self._test_sets = [self._test_set(k) for k in range(len(self.plan.splits))]

    def __call__(self, fold: int, values: Array) -> float:
        """Return the score of average outputs on one split."""
        X, y, _, params = self._test_sets[fold]
        classifies, target = is_classifier(self.plan.model), self.target
        methods = methods_of(values, self.method, target, classifies)
        estimator: StagedEstimator = StagedRegressor(X, methods)
        if classifies:
            estimator = StagedClassifier(X, methods, target.classes_of_columns)
        try:
            with config_context(skip_parameter_validation=True):
                score = self.scorer(estimator, X, y, **params)
        except Exception:
            score = self.plan.settings.missing_score
            if not math.isfinite(score):
                raise
        return float(score[self.metric] if isinstance(score, Mapping) else score)

    def fast_score(self, fold: int, values: Array) -> float:
        """Return the score, by a fast formula for common metrics; NaN is the worst."""
        codes = self._test_sets[fold][2]
        if self._formula is None or codes is None:
            score = self(fold, values)
        else:
            score = self._formula(codes, values)
        return score if math.isfinite(score) else -math.inf

    def _test_set(self, fold: int) -> tuple[Any, Any, Any, dict]:
        """Return rows, targets, numbers of their classes, and metadata of the rows."""
        plan, (train, test) = self.plan, self.plan.splits[fold]
        X, y = compat.safe_split(plan.model, plan.X, plan.y, test, train)
        if type(self.scorer) in PREDICTING:
            X = np.empty((n_rows(y), 0))
        codes, classes = None, self.target.classes
        if self._formula is not None:
            codes = np.asarray(y)
            if classes is not None:
                has_all = np.array_equal(np.unique(codes), classes)
                codes = np.searchsorted(classes, codes) if has_all else None
        params = compat.check_fit_params(plan.X, dict(self.score_params), test)
        return X, y, codes, params


def select(
    score: Callable[[Members], float],
    candidates: Sequence[int],
    n_members: int,
    is_allowed: Callable[[Members], bool],
) -> Members:
    """Select members greedily and with replacement, beginning with the first candidate.

    Members are added even if the score decreases. The result is the smallest ensemble
    with the greatest score.
    """
    ensembles = [[candidates[0]]]
    while len(ensembles) < n_members:
        extended = [[*ensembles[-1], number] for number in candidates]
        best_first = sorted(extended, key=score, reverse=True)
        members = next(filter(is_allowed, best_first), None)
        if members is None:
            break
        ensembles.append(members)
    return max(ensembles, key=score)
