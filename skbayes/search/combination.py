"""Greedy selection of an ensemble from out-of-fold predictions, without any fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.utils import get_tags

from skbayes import compat
from skbayes.evaluation.fast_metrics import fast_metric
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

# Defaults: numbers of distinct members, of the best members to begin with, and of
# members with repetition. With few candidates, a quarter of them begins.
MAX_MEMBERS, N_START, N_ROUNDS = 10, 5, 15

# Differences between a fast formula and a scorer that are rounding errors.
MARGIN = 1e-9

Weights = Mapping[int, float]


@dataclass(frozen=True)
class EnsembleResult:
    """Ensemble that a search selected greedily.

    It is the ensemble selection of [1]_.

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
    optimistic, and `score_cv` is not. If each trial has no finite score or a failed
    fit, the best configuration is the only member, and the scores are NaN.

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
        self.classes_ = target.classes_of_columns

    def _average(self, X: Any) -> np.ndarray:
        if _n_rows(X) != len(self._values):
            raise ValueError("the metric predicts other rows than those of a test set")
        return self._values

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return no parameters; scorers and `repr` may ask for them."""
        return {}

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
    """Scores of weighted averages of predictions on the test sets of the splits."""

    run: SearchRun
    responses: Mapping[int, Sequence[Response]]  # predictions by trial and split
    scorer: Any
    metric: str | None = None  # metric to choose if the scorer has several
    score_params: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None  # name of the metric in scikit-learn, if it has one
    _known: dict[Any, float] = field(default_factory=dict, init=False)
    _data: dict[int, tuple[Any, Any, dict]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        estimator = self.run.estimator
        self.target = Target.of(estimator, self.run.y)
        self._tags = get_tags(estimator)
        classifies = self._tags.estimator_type == "classifier"
        self._kind = _StoredClassifier if classifies else _StoredRegressor

    def __call__(self, fold: int, weights: Weights) -> float:
        """Return the score on one split; minus infinity if it is not finite."""
        shares = _shares(weights)
        key = fold, frozenset(shares.items())
        if key not in self._known:
            parts = [self.responses[k][fold] for k in weights]
            mean = mean_response([part.values for part in parts], shares.values())
            score = self.of(fold, self.stand_in(mean, parts[0].method))
            self._known[key] = score if math.isfinite(score) else -math.inf
        return self._known[key]

    def mean(self, weights: Weights, folds: Sequence[int]) -> float:
        """Return the mean score over some splits."""
        return float(np.mean([self(fold, weights) for fold in folds]))

    def best(
        self, options: Sequence[Weights], folds: Sequence[int]
    ) -> tuple[Weights, float]:
        """Return the first option with the greatest mean score, and the score.

        The scorer is called only for options that are not clearly worse than others by
        a fast formula of the metric.
        """
        fast = self._fast_scores(options, folds)
        if fast is not None and np.isfinite(fast).all():
            least = np.max(fast) - MARGIN * max(1.0, np.max(np.abs(fast)))
            near = zip(options, fast, strict=True)
            options = [option for option, score in near if score >= least]
        scores = [self.mean(option, folds) for option in options]
        best = int(np.argmax(scores))
        return options[best], scores[best]

    def _fast_scores(
        self, options: Sequence[Weights], folds: Sequence[int]
    ) -> FloatArray | None:
        """Return the mean scores by fast formulas; None if there is none."""
        method = self.responses[next(iter(options[0]))][0].method
        metric = fast_metric(self.name, method, self.target)
        if metric is None or self.score_params or len(options) < 2:
            return None
        scores = np.zeros((len(folds), len(options)))
        for row, fold in zip(scores, folds, strict=True):
            y = np.asarray(self._test_set(fold)[1])
            if self.target.classes is not None:
                if not np.array_equal(np.unique(y), self.target.classes):
                    return None
                y = np.searchsorted(self.target.classes, y)
            for place, mean in enumerate(self._averages(options, fold)):
                if method == "predict_proba":
                    mean = mean / mean.sum(axis=1, keepdims=True)
                row[place] = metric(y, mean)
        return scores.mean(axis=0)

    def _averages(self, options: Sequence[Weights], fold: int) -> Iterator[np.ndarray]:
        """Yield the averages of options, equal to those of `mean_response`."""
        last: list[tuple[int, float]] | None = None
        for option in options:
            *most, (added, share) = _shares(option).items()
            values = self.responses[added][fold].values
            # Most options add a member to the same ones.
            if most != last:
                partial, last = np.zeros(values.shape), most
                for k, weight in most:
                    partial += weight * self.responses[k][fold].values
            yield partial + share * values

    def stand_in(self, values: np.ndarray, method: str) -> Any:
        """Return a fitted estimator with these predictions."""
        return self._kind(values, self.target, method, self._tags)

    def of(self, fold: int, estimator: Any) -> float:
        """Return the score of an estimator on the test set of a split."""
        X, y, params = self._test_set(fold)
        try:
            with config_context(skip_parameter_validation=True):
                score = self.scorer(estimator, X, y, **params)
        except Exception as error:
            name = _missing_attribute(error, estimator)
            if name is not None:
                raise ValueError(
                    f"refit={self.run.settings['refit']!r}: the metric uses {name!r} "
                    "of the model, and averaged predictions have no such attribute. "
                    "The trials are in cv_results_. Use refit=True, or a metric of "
                    "predictions."
                ) from error
            score = self.run.options.missing_score
            if not math.isfinite(score):
                raise
        return float(score[self.metric] if isinstance(score, Mapping) else score)

    def _test_set(self, fold: int) -> tuple[Any, Any, dict]:
        """Return the test set, and the metadata of its rows for the scorer."""
        if fold not in self._data:
            run = self.run
            train, test = run.splits[fold]
            X, y = compat.safe_split(run.estimator, run.X, run.y, test, train)
            if type(self.scorer) in PREDICTING:
                X = np.empty((_n_rows(y), 0))
            params = compat.check_fit_params(run.X, dict(self.score_params), test)
            self._data[fold] = X, y, params
        return self._data[fold]


def _missing_attribute(error: Exception, estimator: Any) -> str | None:
    """Return the name of the attribute that a metric did not find, if that is all."""
    if not isinstance(error, AttributeError):
        return None
    if error.obj is estimator:
        return error.name
    # A method that depends on the predictions is only named in the message.
    words = str(error).split("'")
    return words[-2] if type(estimator).__name__ in words else None


def _n_rows(data: Any) -> int:
    return data.shape[0] if hasattr(data, "shape") else len(data)


def _shares(weights: Weights) -> dict[int, float]:
    """Return weights divided by their sum."""
    total = sum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


# -- selection ------------------------------------------------------------------------


def select_members(
    scorer: FoldScorer,
    folds: Sequence[int],
    candidates: Sequence[int],
    *,
    max_members: int = MAX_MEMBERS,
    min_gain: float = 0.0,
    n_rounds: int = N_ROUNDS,
    n_start: int = N_START,
    is_allowed: Callable[[Weights], bool] = lambda weights: True,
) -> dict[int, float]:
    """Select members on some splits greedily and with replacement.

    The selection begins with the average of the best candidates, and then adds the
    member that increases the score by most, and by more than `min_gain`. It begins with
    at most `n_start` candidates and a quarter of them, and with one if there is a
    `min_gain`. `candidates` begin with the best one. Single members are always allowed.
    Return the number of times that each member was selected.
    """
    n_start = min(n_start, max_members, n_rounds, len(candidates) // 4)
    chosen: Weights = {candidates[0]: 1}
    for size in range(1 if min_gain else n_start, 1, -1):
        start = dict.fromkeys(candidates[:size], 1)
        if is_allowed(start):
            chosen = start
            break
    value = scorer.mean(chosen, folds)
    while sum(chosen.values()) < n_rounds:
        added = [k for k in candidates if len(chosen) > 1 or k not in chosen]
        options = [{**chosen, k: chosen.get(k, 0) + 1} for k in added]
        options = [o for o in options if len(o) <= max_members and is_allowed(o)]
        best, score = scorer.best(options, folds) if options else (chosen, -math.inf)
        if not score > value + min_gain:
            break
        chosen, value = best, score
    return dict(chosen)


def select(
    scorer: FoldScorer,
    n_folds: int,
    candidates: Sequence[int],
    *,
    max_members: int = MAX_MEMBERS,
    is_allowed: Callable[[Weights], bool] = lambda weights: True,
    **options: Any,
) -> tuple[dict[int, float], float, float]:
    """Select an ensemble; return weights, its score, and a cross-validated score.

    Members are selected once for each split, without this split. Their weights are
    averaged, which is a kind of bagged selection. If the average is worse than the best
    candidate by more than a standard error over the splits, members are selected on all
    of them, beginning with the best candidate alone.
    """
    options |= {"max_members": max_members, "is_allowed": is_allowed}

    def best_first(folds: Sequence[int]) -> list[int]:
        return sorted(candidates, key=lambda k: (-scorer.mean({k: 1}, folds), k))

    def selected(folds: Sequence[int], **more: Any) -> dict[int, float]:
        ordered = best_first(folds)
        return _shares(select_members(scorer, folds, ordered, **options, **more))

    everything = range(n_folds)
    left_out, weights = math.nan, dict[int, float]()
    if n_folds > 1:
        bags = [selected([f for f in everything if f != fold]) for fold in everything]
        left_out = float(np.mean([scorer(fold, bags[fold]) for fold in everything]))
        for bag in bags:
            for k, weight in bag.items():
                weights[k] = weights.get(k, 0.0) + weight / n_folds
        weights = _largest(weights, max_members)
    best = {best_first(everything)[0]: 1}
    fits = bool(weights) and is_allowed(weights)
    if not fits or _is_worse(scorer, weights, best, everything):
        weights = _largest(selected(everything, n_start=1), max_members)
    return weights, scorer.mean(weights, everything), left_out


def _is_worse(
    scorer: FoldScorer, weights: Weights, others: Weights, folds: Sequence[int]
) -> bool:
    """Return whether an average is worse than another by more than a standard error."""
    pairs = np.array([[scorer(fold, w) for w in (others, weights)] for fold in folds])
    if not np.isfinite(pairs).all():
        return True
    lead = pairs[:, 0] - pairs[:, 1]
    return bool(lead.mean() > lead.std(ddof=1) / math.sqrt(len(lead)))


def _largest(weights: Weights, n: int) -> dict[int, float]:
    """Return the n greatest weights, which sum to 1, in descending order."""
    return _shares(
        {k: weights[k] for k in sorted(weights, key=lambda k: (-weights[k], k))[:n]}
    )
