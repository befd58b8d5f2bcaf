"""Constraints on outcomes of fits: their bounds, and how outcomes are measured.

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
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from sklearn.metrics import get_scorer_names

from skbayes import compat
from skbayes.trial.fold import scored
from skbayes.trial.measure import (
    COSTS,
    Measure,
    measured,
    needs_fit,
    parse_measurement,
    warn_of_failure,
)
from skbayes.trial.records import (
    FoldResult,
    History,
    Trial,
    TrialState,
    mean_outcomes,
)
from skbayes.utils.did_you_mean import did_you_mean
from skbayes.utils.ranking import total_violation

# Lower limit of outcome / bound, because the logarithm of 0 is undefined. Its inverse
# is the upper limit.
MIN_RATIO = 1e-3

_BOUND = re.compile(r"\s*(<=|>=)\s*(\S+)\s*")


@dataclass(frozen=True)
class Bound:
    """Upper or lower bound of an outcome; if `is_log`, its slack is logarithmic."""

    name: str
    is_upper: bool
    limit: float
    is_log: bool = False

    def slack(self, value: float) -> float:
        """Return the slack of an outcome; NaN for NaN."""
        if math.isnan(value):
            return math.nan
        if self.is_log:
            ratio = min(max(value / self.limit, MIN_RATIO), 1.0 / MIN_RATIO)
            slack = math.log(ratio)
        else:
            slack = (value - self.limit) / max(1.0, abs(self.limit))
        return slack if self.is_upper else -slack

    @property
    def text(self) -> str:
        """Bound without the name, such as "<= 3"."""
        return f"{'<=' if self.is_upper else '>='} {self.limit:g}"

    def __str__(self) -> str:
        return f"{self.name} {self.text}"


@dataclass(frozen=True)
class Constraints:
    """Bounds on the outcomes of trials, each a lower or an upper one.

    An outcome is the result of one of the `scorers` or `measures`, or a metric of the
    search, whose key is in `metrics`. The scorers receive `params`.
    """

    bounds: tuple[Bound, ...] = ()
    scorers: dict[str, Any] = field(default_factory=dict)
    measures: dict[str, Measure] = field(default_factory=dict)
    metrics: dict[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Names of the outcomes, without duplicates."""
        return list(dict.fromkeys(bound.name for bound in self.bounds))

    @property
    def needs_fit(self) -> bool:
        """Whether the measurement requires the fitted estimator."""
        return bool(self.scorers) or needs_fit(self.measures)

    def measure(
        self,
        result: Mapping[str, Any],
        test_set: Callable[[], tuple[Any, Any, Mapping[str, Any]]],
        raises: bool,
    ) -> dict[str, float]:
        """Return outcomes by name from scikit-learn's `result`, NaN for failures.

        `test_set` returns rows, targets, and keyword arguments of the scorers.
        """
        names = (*self.scorers, *self.measures, *self.metrics)
        if result["fit_error"] is not None:
            return dict.fromkeys(names, math.nan)
        measures = dict(self.measures)
        for name, metric in self.metrics.items():
            measures[name] = Measure(partial(_metric, metric), "result")
        subject = " of constraints"
        outcomes = measured(measures, result, subject, raises)
        if self.scorers:
            model = result["estimator"]
            scores = scored(self.scorer(model, raises), model, *test_set())
            for name, score in scores.items():
                if isinstance(score, str):
                    warn_of_failure(name, subject, score)
                    score = math.nan
                outcomes[name] = np.asarray(score).astype(np.float64).item()
        return {name: outcomes[name] for name in names}

    def scorer(self, estimator: Any, raises: bool) -> Any:
        """Return a scorer of all outcomes, so that they share the predictions."""
        return compat.joint_scorer(estimator, self.scorers, raises)

    def slacks(self, folds: Sequence[FoldResult]) -> list[float]:
        """Return the slack of each constraint, NaN if it is unknown."""
        means = mean_outcomes(folds)
        return [b.slack(means.get(b.name, math.nan)) for b in self.bounds]

    def broken(self, trial: Trial) -> list[str]:
        """Return texts of the bounds that a trial violates."""
        values = {name: trial.outcomes.get(name, math.nan) for name in self.names}
        return [
            f"{bound.name} is {values[bound.name]:.4g} (must be {bound.text})"
            for bound in self.bounds
            if not bound.slack(values[bound.name]) <= 0.0
        ]

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
        """Return whether the probability that a bound is satisfied is below `risk`.

        The uncertainty of the mean over all splits is estimated from the variance
        between the first folds (Student's distribution). One fold is not sufficient.
        """
        return any(_probability(bound, folds, n_splits) < risk for bound in self.bounds)

    def unreachable(self, trials: History) -> list[str]:
        """Return a sentence for each bound that no complete trial satisfies.

        Only trials of the last stage count.
        """
        complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
        last = max((trial.fidelity.stage for trial in complete), default=0)
        outcomes = [t.outcomes for t in complete if t.fidelity.stage == last]
        sentences = []
        for bound in self.bounds:
            values = [float(means.get(bound.name, math.nan)) for means in outcomes]
            values = [value for value in values if math.isfinite(value)]
            if values and not any(bound.slack(value) <= 0.0 for value in values):
                extreme_name = "smallest" if bound.is_upper else "largest"
                extreme = min(values) if bound.is_upper else max(values)
                sentences.append(
                    f"{bound}: no trial satisfies it so far, the {extreme_name} of "
                    f"{len(values)} values is {extreme:.4g}."
                )
        return sentences


def _metric(name: str, result: Mapping[str, Any]) -> float:
    """Return a metric of the search from the result of a fit."""
    scores: Mapping[str, float] = result["test_scores"]
    if name not in scores:
        raise ValueError(
            f"constraints[{name!r}]: {name!r} is neither a metric of scoring "
            f"({list(scores)}), nor a measure, nor the name of a scorer."
        )
    return scores[name]


def _probability(bound: Bound, folds: Sequence[FoldResult], n_splits: int) -> float:
    """Return the probability that the mean over all splits satisfies a bound."""
    outcomes = [fold.extras.get("outcomes", {}) for fold in folds]
    slacks = [bound.slack(by_name.get(bound.name, math.nan)) for by_name in outcomes]
    m = len(slacks)
    if m < 2 or not np.all(np.isfinite(slacks)):
        return 1.0
    mean = float(np.mean(slacks))
    variance = float(np.var(slacks, ddof=1)) * (1.0 / m - 1.0 / n_splits)
    if variance <= 0.0:
        return float(mean <= 0.0)
    return float(stats.t.cdf(-mean / math.sqrt(variance), m - 1))


# -- the parameter `constraints` -------------------------------------------------------


def rule_and_bounds(
    constraints: Any,
) -> tuple[Callable[[dict[str, Any]], bool] | None, Mapping[str, Any]]:
    """Return the rule of the configurations, and the bounds on outcomes."""
    parts = [] if constraints is None else constraints
    parts = parts if isinstance(parts, list | tuple) else [parts]
    rules = [part for part in parts if callable(part)]
    bounds = [part for part in parts if isinstance(part, Mapping)]
    if len(rules) + len(bounds) < len(parts):
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


def parse_constraints(
    texts: Mapping[str, Any],
    metrics: Mapping[str, str],
    measured_metrics: Collection[str],
    any_metric: bool,
) -> Constraints:
    """Parse bounds by name of the outcome; TypeError or ValueError if one is wrong.

    `metrics` are the keys of the metrics of the search, some of which are measures.
    With `any_metric`, any other name may be a metric, too.
    """
    constraints = Constraints()
    bounds: list[Bound] = []
    for name, value in texts.items():
        if not isinstance(name, str) or not name:
            raise TypeError(f"constraints: names must be strings, got {name!r}.")
        quantity: Any = name
        if isinstance(value, tuple):
            if len(value) != 2:
                raise ValueError(
                    f"constraints[{name!r}] must be a bound, a list of bounds, or a "
                    f"tuple of an outcome and its bound, got {value!r}."
                )
            quantity, value = value
        parsed = parse_measurement(quantity, metrics)
        if parsed is None and isinstance(quantity, str) and any_metric:
            parsed = "metric", quantity
        if parsed is None:
            raise _unknown(name, quantity, metrics)
        kind, measurement = parsed
        getattr(constraints, f"{kind}s")[name] = measurement
        is_measured_metric = kind == "metric" and quantity in measured_metrics
        bounds += _bounds_of(name, value, kind == "measure" or is_measured_metric)
    return replace(constraints, bounds=tuple(bounds))


def _unknown(name: str, quantity: Any, metrics: Mapping[str, str]) -> Exception:
    """Return the error for an outcome that cannot be measured."""
    if isinstance(quantity, str):
        names = [*metrics, *COSTS]
        guess = did_you_mean(quantity, [*names, *get_scorer_names()])
        return ValueError(
            f"constraints[{name!r}]: {quantity!r} is not measured: it is none of "
            f"{names}, and not the name of a scorer.{guess} Give a scorer or a "
            f"callable of the fitted estimator as {{{name!r}: (callable, bound)}}."
        )
    return TypeError(
        f"constraints[{name!r}]: the outcome must be the name of a measure or "
        "scorer, a scorer (a callable of estimator, X and y), or a callable of the "
        f"fitted estimator, got {quantity!r}."
    )


def _bounds_of(name: str, texts: Any, is_measure: bool) -> list[Bound]:
    """Return the bounds of an outcome, which must not exclude each other."""
    texts = texts if isinstance(texts, list) else [texts]
    if not texts:
        raise ValueError(f"constraints[{name!r}]: the list of bounds is empty.")
    bounds = [parse_bound(name, text, is_measure) for text in texts]
    lower = max((b.limit for b in bounds if not b.is_upper), default=-math.inf)
    upper = min((b.limit for b in bounds if b.is_upper), default=math.inf)
    if lower > upper:
        raise ValueError(
            f"constraints[{name!r}]: the bounds contradict each other: no value is "
            f"both {' and '.join(bound.text for bound in bounds)}."
        )
    if is_measure and name in COSTS and upper < 0.0:
        raise ValueError(
            f"constraints[{name!r}]: '<= {upper:g}' cannot be satisfied, since {name} "
            "is never negative."
        )
    return bounds


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
