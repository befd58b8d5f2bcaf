"""Greedy selection of an ensemble, and choice of a decision threshold.

Both use out-of-fold predictions of the trials, and do not fit models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.metrics import check_scoring, get_scorer
from sklearn.utils import get_tags

from skbayes import compat
from skbayes.evaluation.fold import PREDICTING
from skbayes.evaluation.responses import (
    ClassifierAverages,
    RegressorAverages,
    Response,
    Target,
    mean_response,
)
from skbayes.evaluation.run import SearchRun
from skbayes.space.dimensions import FloatArray

__all__ = ["EnsembleResult", "FoldScorer", "best_threshold", "select", "select_members"]

# Defaults: numbers of distinct members, of the best members to begin with, and of
# members with repetition.
MAX_MEMBERS, N_START, N_ROUNDS = 10, 5, 25

# Number of thresholds that are compared.
N_THRESHOLDS = 100

Weights = Mapping[int, float]
Score = Callable[[int, Weights], float]


@dataclass(frozen=True)
class EnsembleResult:
    """Ensemble that a search selected greedily [1]_.

    Parameters
    ----------
    weights : dict of int to float
        Weight of each member by the number of its trial, the greatest first.
    members : {"folds", "refit"}
        Whether the fits of the splits are averaged, or fits on all rows.
    score : float
        Mean score over the splits. It is optimistic, since the members were selected on
        the same predictions.
    score_cv : float
        Mean score on the splits, each of which was left out of the selection of the
        members. NaN with one split.
    best_score : float
        Mean score of the best configuration alone.
    predict_cost : float
        Time for predictions, as a multiple of that of the best configuration alone.

    Notes
    -----
    The best configuration is itself selected on the splits, so `best_score` is
    optimistic, and `score_cv` is not.

    References
    ----------
    .. [1] R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes, "Ensemble selection
       from libraries of models", ICML 2004. https://doi.org/10.1145/1015330.1015432

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skbayes import BayesSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = BayesSearchCV(
    ...     DecisionTreeClassifier(random_state=0),
    ...     {"max_depth": (1, 8), "min_samples_leaf": (1, 20)},
    ...     scoring="neg_log_loss",
    ...     refit="ensemble",
    ...     n_iter=8,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> search.ensemble_.members
    'folds'
    >>> search.ensemble_.score > search.ensemble_.best_score
    True
    """

    weights: dict[int, float]
    members: str
    score: float
    score_cv: float
    best_score: float
    predict_cost: float


class _Stored:
    """Average that is returned for the rows of a test set."""

    def __init__(
        self, values: np.ndarray, target: Target, method: str, tags: Any
    ) -> None:
        self._values, self.target_, self.response_method_ = values, target, method
        self._tags = tags
        n_labels = target.n_outputs
        self.classes_ = np.arange(n_labels) if n_labels else target.classes

    def _average(self, X: Any) -> np.ndarray:
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if n_rows != len(self._values):
            raise ValueError("the metric predicts other rows than those of a test set")
        return self._values

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        return self._tags


class _StoredClassifier(_Stored, ClassifierAverages):
    pass


class _StoredRegressor(_Stored, RegressorAverages):
    pass


@dataclass
class FoldScorer:
    """Scores of averaged predictions on the test set of a split.

    Parameters
    ----------
    run : SearchRun
        Run of the search.
    responses : dict of int to list of Response
        Predictions by trial.
    scorer : callable
        Scorer, for one metric or several.
    metric : str or None
        Metric to choose if there are several.
    """

    run: SearchRun
    responses: Mapping[int, Sequence[Response]]
    scorer: Any
    metric: str | None = None
    score_params: Mapping[str, Any] = field(default_factory=dict)
    _known: dict[Any, float] = field(default_factory=dict, init=False)
    _data: dict[int, tuple[Any, Any, dict]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        estimator = self.run.estimator
        self.target = Target.of(estimator, self.run.y)
        self._tags = get_tags(estimator)
        classifies = self._tags.estimator_type == "classifier"
        self._kind = _StoredClassifier if classifies else _StoredRegressor

    def __call__(self, fold: int, weights: Weights) -> float:
        """Return the score; minus infinity if it is not finite."""
        total = sum(weights.values())
        key = fold, frozenset((k, w / total) for k, w in weights.items())
        if key not in self._known:
            parts = [self.responses[k][fold] for k in weights]
            values = [part.values for part in parts]
            mean = mean_response(values, [w / total for w in weights.values()])
            score = self.of(fold, self.stand_in(mean, parts[0].method))
            self._known[key] = score if math.isfinite(score) else -math.inf
        return self._known[key]

    def stand_in(self, values: np.ndarray, method: str) -> Any:
        """Return a fitted estimator with these predictions."""
        return self._kind(values, self.target, method, self._tags)

    def of(self, fold: int, estimator: Any) -> float:
        """Return the score of an estimator on the test set of a split."""
        X, y, params = self._test_set(fold)
        with config_context(skip_parameter_validation=True):
            score = self.scorer(estimator, X, y, **params)
        return float(score[self.metric] if isinstance(score, Mapping) else score)

    def _test_set(self, fold: int) -> tuple[Any, Any, dict]:
        if fold not in self._data:
            run = self.run
            train, test = run.splits[fold]
            X, y = compat.safe_split(run.estimator, run.X, run.y, test, train)
            if type(self.scorer) in PREDICTING:
                X = np.empty((len(y) if not hasattr(y, "shape") else y.shape[0], 0))
            params = compat.check_fit_params(run.X, dict(self.score_params), test)
            self._data[fold] = X, y, params
        return self._data[fold]


def select_members(
    score: Callable[[Weights], float],
    candidates: Sequence[int],
    *,
    max_members: int = MAX_MEMBERS,
    min_gain: float = 0.0,
    n_rounds: int = N_ROUNDS,
    is_allowed: Callable[[Weights], bool] = lambda weights: True,
) -> dict[int, float]:
    """Select members greedily and with replacement [1]_.

    The selection begins with the average of the best candidates that has the greatest
    score, and then adds the member that increases the score most, until none does.

    Parameters
    ----------
    score : callable
        ``score(weights)`` returns the score of the average with these weights.
    candidates : sequence of int
        Candidates, the best one first.
    max_members : int, default=10
        Maximum number of distinct members.
    min_gain : float, default=0
        Increase of the score that another member must exceed.
    n_rounds : int, default=25
        Maximum number of members with repetition.
    is_allowed : callable, optional
        Whether members are permitted together; single ones always are.

    Returns
    -------
    weights : dict of int to float
        Number of times that each member was selected.

    References
    ----------
    .. [1] R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes, "Ensemble selection
       from libraries of models", ICML 2004. https://doi.org/10.1145/1015330.1015432
    """
    chosen: dict[int, float] = {candidates[0]: 1}
    value = score(chosen)
    for size in range(2, 1 + min(N_START, max_members, n_rounds, len(candidates))):
        start: dict[int, float] = dict.fromkeys(candidates[:size], 1)
        if is_allowed(start) and score(start) > value + min_gain:
            chosen, value = start, score(start)
    while sum(chosen.values()) < n_rounds:
        options = [
            {**chosen, k: chosen.get(k, 0) + 1}
            for k in candidates
            if len(chosen) > 1 or k not in chosen
        ]
        options = [
            option
            for option in options
            if len(option) <= max(max_members, 1) and is_allowed(option)
        ]
        if not options:
            break
        scores = [score(option) for option in options]
        best = int(np.argmax(scores))
        if not scores[best] > value + min_gain:
            break
        chosen, value = options[best], scores[best]
    return chosen


def select(
    score: Score,
    n_folds: int,
    candidates: Sequence[int],
    *,
    max_members: int = MAX_MEMBERS,
    **options: Any,
) -> tuple[dict[int, float], float, float]:
    """Select an ensemble; return weights, its score, and a cross-validated score.

    Members are selected once for each split, without this split. Their weights are
    averaged, which is a kind of bagged selection. The average is not worse than the
    best candidate on all splits; otherwise, members are selected on all of them.
    """

    def mean_score(weights: Weights, folds: Sequence[int]) -> float:
        return float(np.mean([score(fold, weights) for fold in folds]))

    def selected(folds: Sequence[int]) -> dict[int, float]:
        chosen = select_members(
            lambda weights: mean_score(weights, folds),
            sorted(candidates, key=lambda k: (-mean_score({k: 1}, folds), k)),
            max_members=max_members,
            **options,
        )
        return {k: count / sum(chosen.values()) for k, count in chosen.items()}

    everything = range(n_folds)
    left_out, weights = math.nan, dict[int, float]()
    if n_folds > 1:
        parts = [[f for f in everything if f != fold] for fold in everything]
        bags = [selected(part) for part in parts]
        left_out = float(np.mean([score(fold, bags[fold]) for fold in everything]))
        for bag in bags:
            for k, weight in bag.items():
                weights[k] = weights.get(k, 0.0) + weight / n_folds
        weights = _largest(weights, max_members)
    best = max(mean_score({k: 1}, everything) for k in candidates)
    is_allowed = options.get("is_allowed")
    too_costly = is_allowed is not None and not is_allowed(weights)
    if not weights or too_costly or mean_score(weights, everything) < best:
        weights = _largest(selected(everything), max_members)
    return weights, mean_score(weights, everything), left_out


def _largest(weights: Weights, n: int) -> dict[int, float]:
    """Return the n greatest weights, which sum to 1, in descending order."""
    kept = sorted(weights, key=lambda k: (-weights[k], k))[:n]
    total = sum(weights[k] for k in kept)
    return {k: weights[k] / total for k in kept}


# -- decision threshold ---------------------------------------------------------------


def threshold_scorer(
    run: SearchRun, scoring: Any, metric: str | None, scorers: Any
) -> Any:
    """Return the scorer for the threshold; ValueError if it uses no classes."""
    wanted = run.refit.threshold
    if wanted is not True:
        scorer = get_scorer(wanted) if isinstance(wanted, str) else wanted
    else:
        scorer = scorers[metric] if isinstance(scorers, Mapping) else scorers
        if scoring is None:
            scorer = check_scoring(run.estimator, scoring="accuracy")
        methods = compat.response_methods(scorer)
        if methods and methods != ("predict",):
            scorer = get_scorer("balanced_accuracy")
    methods = compat.response_methods(scorer)
    if methods and methods != ("predict",):
        raise ValueError(
            f"refit: threshold={wanted!r}: the metric does not depend on the decision "
            "threshold; use a metric of predicted classes, such as 'f1'."
        )
    return scorer


def best_threshold(
    scorer: FoldScorer, averages: Sequence[np.ndarray], method: str
) -> float:
    """Return the threshold with the greatest mean score over the splits.

    Candidates are quantiles of the decision values of all splits. Of thresholds with
    equal scores, the one in the middle is chosen.
    """
    values = [part[:, -1] for part in averages]
    pooled = np.unique(np.concatenate(values))
    between = (pooled[1:] + pooled[:-1]) / 2
    usual = 0.0 if method == "decision_function" else 0.5
    if len(between) > N_THRESHOLDS:
        places = np.linspace(0, len(between) - 1, N_THRESHOLDS).round().astype(int)
        between = between[places]
    thresholds = np.unique([*between, usual])
    scores = [
        np.mean(
            [
                scorer.of(fold, scorer.stand_in(_decided(part, threshold), "predict"))
                for fold, part in enumerate(values)
            ]
        )
        for threshold in thresholds
    ]
    tied = np.flatnonzero(np.array(scores) >= np.max(scores) - 1e-12)
    return float(thresholds[tied[len(tied) // 2]])


def _decided(values: FloatArray, threshold: float) -> FloatArray:
    positive = (values >= threshold).astype(float)
    return np.column_stack([1.0 - positive, positive])
