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
from skbayes.space.dimensions import FloatArray
from skbayes.trial.fast_metrics import fast_metric
from skbayes.trial.fold import PREDICTING
from skbayes.trial.plan import Plan
from skbayes.trial.responses import (
    Array,
    ClassifierAverages,
    RegressorAverages,
    Response,
    Target,
    mean_response,
    mean_votes,
)

# Numbers of the best members to begin with, and of members with repetition. With few
# candidates, a quarter of them begins.
N_START, N_ROUNDS = 5, 15

# Maximum number of groups of splits that are left out, one after the other.
N_GROUPS = 10

# A member is dropped if its share of the gain is less than this part of its share of
# the bytes.
LEAST_WORTH = 0.1

# Maximum difference between a fast formula and a scorer that is a rounding error.
MARGIN = 1e-9

Weights = Mapping[int, float]


@dataclass(frozen=True)
class EnsembleResult:
    """Ensemble that a search selected greedily, or the best configuration alone.

    It is the ensemble selection of [1]_. The best configuration alone is the final
    model if an ensemble is not better by more than its standard error.

    Parameters
    ----------
    weights : dict of int to float
        Weight of each configuration by the number of its trial, the greatest first.
    members : {"folds", "refit"}
        Whether the members are fits of the splits, or fits on all rows.
    score : float
        Mean score over the splits. It is optimistic, since the members were selected on
        the same predictions.
    score_cv : float
        Mean score on splits that were left out of the selection of the members.
    best_score : float
        Mean score of the best configuration alone, as ``best_score_``.
    gain_std : float
        Standard error of ``score - best_score`` over the splits.
    predict_cost, size_cost : float
        Time for predictions and size in bytes, as multiples of the values of the best
        configuration alone.
    reason : str
        Why the best configuration alone is the final model; empty for an ensemble.

    Notes
    -----
    The search has chosen its trials with the scores of all splits. Both `best_score`
    and `score_cv` are therefore optimistic, `score_cv` less so. If no ensemble was
    selected, because the predictions of the best trial could not be used, `score_cv`
    and `gain_std` are NaN.

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
    gain_std: float
    predict_cost: float
    size_cost: float
    reason: str = ""


class _Stored:
    """Average that is returned for the rows of a test set."""

    def __init__(
        self, values: Array, votes: Array | None, target: Target, method: str, tags: Any
    ) -> None:
        self._values, self._votes, self._tags = values, votes, tags
        self.target_, self.response_method_ = target, method
        self.classes_ = target.classes_of_columns

    def _average(self, X: Any) -> Array:
        if _n_rows(X) != len(self._values):
            raise ValueError("the metric predicts other rows than those of a test set")
        return self._values

    def _vote(self, X: Any) -> Array | None:
        self._average(X)  # checks the rows
        return self._votes

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

    plan: Plan
    responses: Mapping[int, Sequence[Response]]  # predictions by trial and split
    scorer: Any
    metric: str | None = None  # metric to choose if the scorer has several
    score_params: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None  # name of the metric in scikit-learn, if it has one
    _known: dict[Any, float] = field(default_factory=dict, init=False)
    _data: dict[int, tuple[Any, Any, dict]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        estimator = self.plan.model
        self.target = Target.of(estimator, self.plan.y)
        self._tags = get_tags(estimator)
        classifies = self._tags.estimator_type == "classifier"
        self._kind = _StoredClassifier if classifies else _StoredRegressor

    def __call__(self, fold: int, weights: Weights) -> float:
        """Return the score on one split; minus infinity if it is not finite."""
        score = self.exact(fold, weights)
        return score if math.isfinite(score) else -math.inf

    def exact(self, fold: int, weights: Weights) -> float:
        """Return the score on one split."""
        shares = _shares(weights)
        key = fold, frozenset(shares.items())
        if key not in self._known:
            self._known[key] = self._of(fold, self._stand_in(fold, shares))
        return self._known[key]

    def votes(self, weights: Weights) -> bool:
        """Return whether the members vote, as an ensemble of their fits does."""
        return any(
            part.votes is not None for k in weights for part in self.responses[k]
        )

    def _stand_in(self, fold: int, shares: Weights) -> Any:
        """Return a fitted estimator with the average predictions."""
        parts, weights = [self.responses[k][fold] for k in shares], shares.values()
        mean, votes = mean_response(parts, weights, self.target), None
        if self.votes(shares):
            votes = mean_votes(parts, weights, self.target)
        return self._kind(mean, votes, self.target, parts[0].method, self._tags)

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
        if any(map(self.votes, options)):
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
        """Yield the averages of options, equal to the results of `mean_response`."""
        last: list[tuple[int, float]] | None = None
        for option in options:
            *most, (added, share) = _shares(option).items()
            values = self.responses[added][fold].values
            # Most options add a member to the same members.
            if most != last:
                partial, last = np.zeros(values.shape), most
                for k, weight in most:
                    partial += weight * self.responses[k][fold].values
            yield partial + share * values

    def _of(self, fold: int, estimator: Any) -> float:
        """Return the score of an estimator on the test set of a split."""
        X, y, params = self._test_set(fold)
        try:
            with config_context(skip_parameter_validation=True):
                score = self.scorer(estimator, X, y, **params)
        except Exception:
            score = self.plan.missing_score
            if not math.isfinite(score):
                raise
        return float(score[self.metric] if isinstance(score, Mapping) else score)

    def _test_set(self, fold: int) -> tuple[Any, Any, dict]:
        """Return the test set, and the metadata of its rows for the scorer."""
        if fold not in self._data:
            plan = self.plan
            train, test = plan.splits[fold]
            X, y = compat.safe_split(plan.model, plan.X, plan.y, test, train)
            if type(self.scorer) in PREDICTING:
                X = np.empty((_n_rows(y), 0))
            params = compat.check_fit_params(plan.X, dict(self.score_params), test)
            self._data[fold] = X, y, params
        return self._data[fold]


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
    n_rounds: int = N_ROUNDS,
    n_start: int = N_START,
    is_allowed: Callable[[Weights], bool] = lambda weights: True,
) -> dict[int, int]:
    """Select members on some splits greedily and with replacement.

    The selection begins with the average of the best candidates, and then adds the
    member that increases the score by most. It begins with at most `n_start` candidates
    and a quarter of them. `candidates` begin with the best one. Single members are
    always allowed. Return the number of times that each member was selected.
    """
    n_start = min(n_start, n_rounds, len(candidates) // 4)
    chosen = {candidates[0]: 1}
    for size in range(n_start, 1, -1):
        start = dict.fromkeys(candidates[:size], 1)
        if is_allowed(start):
            chosen = start
            break
    value = scorer.mean(chosen, folds)
    while sum(chosen.values()) < n_rounds:
        added = [k for k in candidates if len(chosen) > 1 or k not in chosen]
        options = [{**chosen, k: chosen.get(k, 0) + 1} for k in added]
        options = list(filter(is_allowed, options))
        best, score = scorer.best(options, folds) if options else (chosen, -math.inf)
        if not score > value:
            break
        chosen, value = {k: int(count) for k, count in best.items()}, score
    return dict(chosen)


def select(
    scorer: FoldScorer,
    n_folds: int,
    candidates: Sequence[int],
    n_members: int,
    *,
    may_fit: Callable[[Weights], bool] = lambda weights: True,
    is_allowed: Callable[[Weights], bool] = lambda counts: True,
) -> tuple[dict[int, int], FloatArray]:
    """Select up to `n_members` members; return how often each is one, and scores.

    Members are selected once for each split, without this split; many splits are left
    out in groups. The scores of these ensembles are computed on the splits that were
    left out. The averages of their weights, which are a kind of bagged selection, are
    rounded to as many members as are allowed. If none are, or if they are worse than
    the best candidate by more than a standard error over the splits, members are
    selected on all of them, beginning with the best candidate alone. If fewer than
    `n_members` are allowed, the better one of both is returned.
    """

    def selected(folds: Sequence[int], **more: Any) -> dict[int, int]:
        ordered = sorted(candidates, key=lambda k: (-scorer.mean({k: 1}, folds), k))
        return select_members(scorer, folds, ordered, **more)

    everything, left_out = range(n_folds), np.zeros(n_folds)
    weights, groups = dict[int, float](), min(n_folds, N_GROUPS)
    for group in np.array_split(everything, groups):
        others = [fold for fold in everything if fold not in group]
        bag = _shares(selected(others, is_allowed=may_fit))
        left_out[group] = [scorer(fold, bag) for fold in group.tolist()]
        for k, weight in bag.items():
            weights[k] = weights.get(k, 0.0) + weight / groups
    best = {max(candidates, key=lambda k: (scorer.mean({k: 1}, everything), -k)): 1}
    sizes = range(n_members, 1, -1)
    rounded = filter(is_allowed, (seats(weights, n) for n in sizes))
    counts = next(rounded, {})
    is_worse = not counts or _is_worse(scorer, counts, best, everything)
    if is_worse or sum(counts.values()) < n_members:
        more = {"n_rounds": n_members, "n_start": 1, "is_allowed": is_allowed}
        again = selected(everything, **more)
        if is_worse or scorer.mean(again, everything) > scorer.mean(counts, everything):
            counts = again
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))), left_out


def seats(weights: Weights, n: int) -> dict[int, int]:
    """Return weights rounded to n members: how often each is one.

    The largest remainders are rounded up.
    """
    counts = {k: math.floor(n * weight + 1e-9) for k, weight in weights.items()}
    rest = sorted(weights, key=lambda k: (counts[k] - n * weights[k], k))
    for k in rest[: n - sum(counts.values())]:
        counts[k] += 1
    return {k: count for k, count in counts.items() if count}


def without_useless(
    scorer: FoldScorer,
    counts: Mapping[int, int],
    best: int,
    folds: Sequence[int],
    sizes: Mapping[int, float],
    is_allowed: Callable[[Weights], bool],
) -> dict[int, int]:
    """Drop members that add less to the score than they cost, the largest ones first.

    `sizes` are the bytes by member.
    """
    for k in sorted(counts, key=lambda k: (-sizes[k], k)):
        rest = {m: count for m, count in counts.items() if m != k}
        if not rest:
            break
        score = scorer.mean(counts, folds)
        gain = score - scorer.mean({best: 1}, folds)
        share = counts[k] * sizes[k] / sum(counts[m] * sizes[m] for m in counts)
        loss = score - scorer.mean(rest, folds)
        if loss < LEAST_WORTH * share * gain and is_allowed(rest):
            counts = rest
    return dict(counts)


def _is_worse(
    scorer: FoldScorer, weights: Weights, others: Weights, folds: Sequence[int]
) -> bool:
    """Return whether an average is worse than another by more than a standard error."""
    pairs = np.array([[scorer(fold, w) for w in (others, weights)] for fold in folds])
    if not np.isfinite(pairs).all():
        return True
    lead = pairs[:, 0] - pairs[:, 1]
    return bool(lead.mean() > lead.std(ddof=1) / math.sqrt(len(lead)))
