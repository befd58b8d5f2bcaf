"""Constraints on outcomes of fits: their bounds, and the measurement of outcomes.

Symbols:

- ``outcome``: number that is measured for each fit, such as its model size or its
  recall. The outcome of a trial is the mean over its splits.
- ``slack``: value of a constraint, <= 0 if its bound is satisfied. For outcomes in
  seconds, bytes or counts, it is the logarithm of outcome / bound. For scores, it is
  (outcome - bound) / max(1, abs(bound)). Both are negated for lower bounds.
- ``violation``: sum of the positive slacks of a trial.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from sklearn.metrics import check_scoring

from skbayes.evaluation.measure import (
    Measure,
    measured,
    needs_fit,
    needs_rows,
    warn_of_failure,
)
from skbayes.evaluation.trial import FoldResult, Trial, TrialState, mean_outcomes
from skbayes.utils.ranking import total_violation

__all__ = ["Bound", "Constraints", "OutcomeMeasures", "parse_bound"]

# Lower limit of outcome / bound, because the logarithm of 0 is undefined. Its inverse
# is the upper limit.
LEAST_SHARE = 1e-3

_BOUND = re.compile(r"\s*(<=|>=)\s*(\S+)\s*")


@dataclass(frozen=True)
class Bound:
    """Upper or lower bound of an outcome; if `is_log`, its slack is logarithmic."""

    name: str
    is_upper: bool
    limit: float
    is_log: bool = False

    def slack(self, value: float) -> float:
        """Return the slack of an outcome; NaN for NaN.

        Examples
        --------
        >>> from skbayes.evaluation.constraints import Bound
        >>> Bound("recall", False, 0.5).slack(0.75), Bound("size", True, 2).slack(3)
        (-0.25, 0.5)
        """
        if math.isnan(value):
            return math.nan
        if self.is_log:
            share = min(max(value / self.limit, LEAST_SHARE), 1.0 / LEAST_SHARE)
            slack = math.log(share)
        else:
            slack = (value - self.limit) / max(1.0, abs(self.limit))
        return slack if self.is_upper else -slack

    def __str__(self) -> str:
        return f"{self.name} {'<=' if self.is_upper else '>='} {self.limit:g}"


def rule_and_bounds(
    constraints: Any,
) -> tuple[Callable[[dict[str, Any]], bool] | None, Mapping[str, Any]]:
    """Return the rule of the configurations, and the bounds on outcomes."""
    given = constraints if isinstance(constraints, list | tuple) else [constraints]
    given = [part for part in given if part is not None]
    rules = [part for part in given if callable(part)]
    bounds = [part for part in given if isinstance(part, Mapping)]
    if len(rules) + len(bounds) < len(given):
        raise TypeError(
            "constraints must be a function of the configuration, a dict of bounds on "
            f"outcomes, or a list of both, got {constraints!r}."
        )
    if len(rules) > 1 or len(bounds) > 1:
        raise ValueError(
            f"constraints has {len(rules)} functions and {len(bounds)} dicts; combine "
            "them into one function and one dict."
        )
    return (rules[0] if rules else None), (bounds[0] if bounds else {})


def parse_bound(name: str, text: Any, is_measure: bool) -> Bound:
    """Parse a bound such as "<= 1e6"; `is_measure` is False if it is on a score."""
    match = _BOUND.fullmatch(text) if isinstance(text, str) else None
    try:
        limit = float(match[2]) if match else math.nan
    except ValueError:
        limit = math.nan
    if match is None or not math.isfinite(limit):
        raise ValueError(
            f"constraints[{name!r}] must be a bound such as '<= 1e6' or '>= 0.9', a "
            f"list of bounds, or a tuple of an outcome and its bound, got {text!r}."
        )
    return Bound(name, match[1] == "<=", limit, is_measure and limit > 0.0)


# -- measurement of fits --------------------------------------------------------------


@dataclass(frozen=True)
class OutcomeMeasures:
    """Measures of the outcomes of a fit, which are sent to the workers with each fold.

    There are `scorers` for the test set, ``measure(estimator, result)`` of the fitted
    estimator, and names of metrics of the search.
    """

    scorers: dict[str, Any] = field(default_factory=dict)
    measures: dict[str, Measure] = field(default_factory=dict)
    metrics: dict[str, str] = field(default_factory=dict)

    @property
    def needs_data(self) -> bool:
        """Whether the test set is required."""
        return bool(self.scorers) or needs_rows(self.measures)

    @property
    def needs_fit(self) -> bool:
        """Whether the fitted estimator is required."""
        return bool(self.scorers) or needs_fit(self.measures)

    @property
    def names(self) -> list[str]:
        """Names of the outcomes."""
        parts = (self.scorers, self.measures, self.metrics)
        return [name for part in parts for name in part]

    def __call__(
        self,
        result: Mapping[str, Any],
        X: Any,
        y: Any,
        score_params: Mapping[str, Any],
        raises: bool,
    ) -> dict[str, float]:
        """Return outcomes by name from scikit-learn's `result`; NaN if one fails."""
        if result["fit_error"] is not None:
            return dict.fromkeys(self.names, math.nan)
        estimator, scores = result["estimator"], result["test_scores"]
        calls: dict[str, Measure] = dict(self.measures)
        for name, metric in self.metrics.items():
            calls[name] = partial(_metric, scores, metric)
        result = {**result, "X_test": X}
        outcomes = measured(calls, result, " of constraints", raises)
        if self.scorers:
            outcomes |= self._scores(estimator, X, y, score_params, raises)
        return {name: outcomes[name] for name in self.names}

    def from_scores(self, scores: Mapping[str, float]) -> dict[str, float]:
        """Return the outcomes that are metrics, from the test scores of a fold."""
        known = self.metrics.items()
        return {name: float(scores[key]) for name, key in known if key in scores}

    def scorer(self, estimator: Any, raises: bool) -> Any:
        """Return a scorer of all outcomes, so that they share the predictions."""
        return check_scoring(estimator, self.scorers, raise_exc=raises)

    def _scores(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        score_params: Mapping[str, Any],
        raises: bool,
    ) -> dict[str, float]:
        args = (estimator, X) if y is None else (estimator, X, y)
        scores = self.scorer(estimator, raises)(*args, **score_params)
        found = {}
        for name, score in scores.items():
            failed = isinstance(score, str)
            if failed:
                warn_of_failure(name, " of constraints", score)
            found[name] = math.nan if failed else float(np.asarray(score).item())
        return found


def _metric(
    scores: Mapping[str, float], name: str, estimator: Any, result: Any
) -> float:
    """Return a metric of the search in the form of a measure."""
    if name not in scores:
        raise ValueError(
            f"constraints[{name!r}]: {name!r} is neither a metric of scoring "
            f"({list(scores)}), nor a measure, nor the name of a scorer."
        )
    return float(scores[name])


# -- constraints of a search ----------------------------------------------------------


@dataclass(frozen=True)
class Constraints:
    """Bounds on the outcomes of trials, each a lower or an upper one."""

    bounds: tuple[Bound, ...]
    measures: OutcomeMeasures

    @property
    def names(self) -> list[str]:
        """Names of the outcomes, without duplicates."""
        return list(dict.fromkeys(bound.name for bound in self.bounds))

    def slacks(self, folds: Sequence[FoldResult]) -> list[float]:
        """Return the slack of each constraint, NaN if it is unknown."""
        means = mean_outcomes(folds)
        return [b.slack(means.get(b.name, math.nan)) for b in self.bounds]

    def of_trial(self, trial: Trial) -> list[float]:
        """Return the slack of each constraint for a trial."""
        if trial.state == TrialState.FAILED:
            return [math.nan] * len(self.bounds)
        return self.slacks(trial.folds)

    def violation(self, folds: Sequence[FoldResult]) -> float:
        """Return the sum of the positive slacks; infinite if one is unknown."""
        return float(total_violation(self.slacks(folds)))

    def surely_broken(
        self, folds: Sequence[FoldResult], n_splits: int, risk: float
    ) -> bool:
        """Return whether a bound is satisfied with a probability below `risk`.

        The uncertainty of the mean over all splits is estimated from the variance
        between the first folds (Student's distribution). One fold is not sufficient.
        """
        return any(_chance(bound, folds, n_splits) < risk for bound in self.bounds)


def _outcome(fold: FoldResult, name: str) -> float:
    value: float = fold.extras.get("outcomes", {}).get(name, math.nan)
    return value


def _chance(bound: Bound, folds: Sequence[FoldResult], n_splits: int) -> float:
    """Return the probability that the mean over all splits satisfies a bound."""
    values = [_outcome(fold, bound.name) for fold in folds]
    slacks = np.array([bound.slack(value) for value in values])
    m = len(slacks)
    if m < 2 or not np.all(np.isfinite(slacks)):
        return 1.0
    mean = float(np.mean(slacks))
    variance = float(np.var(slacks, ddof=1)) * (1.0 / m - 1.0 / n_splits)
    if variance <= 0.0:
        return float(mean <= 0.0)
    return float(stats.t.cdf(-mean / math.sqrt(variance), m - 1))
