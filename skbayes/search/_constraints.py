"""Bounds on outcomes: the parameter `constraints`, and columns of its outcomes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from os import PathLike
from typing import Any

from sklearn.metrics import check_scoring, get_scorer_names

from skbayes import compat
from skbayes.evaluation.constraints import (
    Bound,
    Constraints,
    OutcomeMeasures,
    parse_bound,
    rule_and_bounds,
)
from skbayes.evaluation.measure import COSTS, Measurement
from skbayes.evaluation.run import SearchRun
from skbayes.evaluation.trial import Trial
from skbayes.search._preparation import journal_trials
from skbayes.search._validation import check_metrics_suit
from skbayes.space.candidates import key_of
from skbayes.utils.did_you_mean import did_you_mean

__all__ = [
    "KnownSlacks",
    "constraint_scorer",
    "resolve_constraints",
]


def resolve_constraints(
    search: Any, objective: Any, y: Any = None
) -> Constraints | None:
    """Return the constraints of a search; TypeError or ValueError if they are wrong.

    If the target `y` is given, named scorers are checked on it.
    """
    bounds = rule_and_bounds(search.constraints)[1]
    if not bounds:
        return None
    metrics = {name: name for name in objective.metrics}
    if isinstance(search.scoring, str):
        metrics[search.scoring] = "score"
    measured = {name for name in objective.measures if name in metrics}
    found = _Resolver(metrics, measured | COSTS.keys(), callable(search.scoring))
    for name, given in bounds.items():
        found.add(name, given)
    measures = found.measures()
    if y is not None:
        scored = measures.scorers.items()
        labels = {f"constraints[{k!r}]": v for k, v in scored if isinstance(v, str)}
        check_metrics_suit(search.estimator, labels, y)
    return Constraints(tuple(found.bounds), measures)


def constraint_scorer(search: Any) -> Any:
    """Return the scorer of outcomes that are not metrics of the search, or None.

    Errors in the constraints are reported by `fit`, not here.
    """
    if not search.constraints:
        return None
    scorers, _ = compat.resolve_scorers(search)
    objective = search._make_objective(scorers)
    try:
        constraints = resolve_constraints(search, objective)
    except (TypeError, ValueError):
        return None
    if constraints is None or not constraints.measures.scorers:
        return None
    return check_scoring(search.estimator, constraints.measures.scorers)


class _Resolver:
    """Groups the outcomes of constraints by the way they are measured."""

    def __init__(
        self, metrics: Mapping[str, str], measured: Set[str], open_ended: bool
    ) -> None:
        self._known, self._measured = metrics, measured
        # The metrics of a callable are not known before the first fit.
        self._open_ended = open_ended
        self.bounds: list[Bound] = []
        self._scorers: dict[str, Any] = {}
        self._measures: dict[str, Any] = {}
        self._metrics: dict[str, str] = {}

    def measures(self) -> OutcomeMeasures:
        """Return the measurements of the outcomes."""
        return OutcomeMeasures(self._scorers, self._measures, self._metrics)

    def add(self, name: Any, given: Any) -> None:
        """Add the constraints on one outcome."""
        if not isinstance(name, str) or not name:
            raise TypeError(f"constraints: names must be strings, got {name!r}.")
        what: Any = name
        if isinstance(given, tuple):
            if len(given) != 2:
                raise ValueError(
                    f"constraints[{name!r}] must be a bound, a list of bounds, or a "
                    f"tuple of an outcome and its bound, got {given!r}."
                )
            what, given = given
        is_measure = self._sort(name, what)
        texts = given if isinstance(given, list) else [given]
        if not texts:
            raise ValueError(f"constraints[{name!r}]: the list of bounds is empty.")
        bounds = [parse_bound(name, text, is_measure) for text in texts]
        _check_compatible(name, bounds, is_measure)
        self.bounds += bounds

    def _sort(self, name: str, what: Any) -> bool:
        """Determine how an outcome is measured; return whether it is by a measure."""
        found = Measurement.parse(what, self._known)
        if found is None and isinstance(what, str) and self._open_ended:
            found = Measurement(metric=what)
        if found is None:
            raise self._error(name, what)
        if found.metric is not None:
            self._metrics[name] = found.metric
            return what in self._measured
        if found.measure is not None:
            self._measures[name] = found.measure
            return True
        self._scorers[name] = found.scorer
        return False

    def _error(self, name: str, what: Any) -> Exception:
        """Return the error for an outcome that cannot be measured."""
        if isinstance(what, str):
            known = [*self._known, *COSTS]
            guess = did_you_mean(what, [*known, *get_scorer_names()])
            return ValueError(
                f"constraints[{name!r}]: {what!r} is not measured: it is none of "
                f"{known}, and not the name of a scorer.{guess} Give a scorer or a "
                f"callable of the fitted estimator as {{{name!r}: (callable, bound)}}."
            )
        return TypeError(
            f"constraints[{name!r}]: the outcome must be the name of a measure or "
            "scorer, a scorer (a callable of estimator, X and y), or a callable of the "
            f"fitted estimator, got {what!r}."
        )


def _check_compatible(name: str, bounds: Sequence[Bound], is_measure: bool) -> None:
    """Raise ValueError if the bounds of an outcome exclude each other."""
    lower = max((b.limit for b in bounds if not b.is_upper), default=-math.inf)
    upper = min((b.limit for b in bounds if b.is_upper), default=math.inf)
    texts = [f"{'<=' if b.is_upper else '>='} {b.limit:g}" for b in bounds]
    if lower > upper:
        raise ValueError(
            f"constraints[{name!r}]: the bounds contradict each other: no value is "
            f"both {' and '.join(texts)}."
        )
    if is_measure and name in COSTS and upper < 0.0:
        raise ValueError(
            f"constraints[{name!r}]: '<= {upper:g}' cannot be satisfied, since {name} "
            "is never negative."
        )


class KnownSlacks:
    """Values of the constraints for the trials of an earlier search.

    Parameters
    ----------
    run : SearchRun
        The new search.
    source : object
        The parameter `warm_start_from`. Results without outcomes have no values.
    """

    def __init__(self, run: SearchRun, source: Any) -> None:
        self._space = run.space
        self._known: dict[bytes, list[float]] = {}
        if run.constraints is None:
            return
        if isinstance(source, str | PathLike):
            source, _ = journal_trials(source, run.space)
        trials = getattr(source, "trials_", source)
        for trial in trials if isinstance(trials, Sequence) else []:
            if isinstance(trial, Trial) and trial.outcomes:
                self._add(trial, run.constraints.of_trial(trial))

    def _add(self, trial: Trial, slacks: list[float]) -> None:
        try:
            params = self._space.canonicalize(trial.params)
        except ValueError:
            return
        self._known[self._key(params)] = slacks

    def _key(self, params: dict[str, Any]) -> bytes:
        return key_of(self._space.encode([params])[0])

    def of(self, params: dict[str, Any]) -> list[float] | None:
        """Return the values for a configuration; None if they are unknown."""
        return self._known.get(self._key(params)) if self._known else None

    def kept_by(self, known: list[tuple]) -> list[tuple]:
        """Return the observations that satisfy the constraints; all if none does."""
        kept = [
            observation
            for observation in known
            if all(slack <= 0.0 for slack in self.of(observation[0]) or [math.nan])
        ]
        return kept or known
