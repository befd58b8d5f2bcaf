"""Costs that are measured for each fit, such as its time or the size of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skbayes.trial.aspect import Aspect
from skbayes.trial.fold import FoldAspect, FoldCall
from skbayes.trial.measure import Measure, measured, needs_fit
from skbayes.trial.records import FoldResult

# Classes that this process has fitted before. The first fit of a class takes longest,
# because it imports libraries and fills caches.
_FITTED_BEFORE: set[type] = set()


class _FoldCosts(FoldAspect):
    """Measurement of the costs of a fit.

    With `are_separate`, the costs are stored as `costs` instead of test scores, and
    `warm_up` marks the first fit of a class in the process.
    """

    def __init__(self, measures: Mapping[str, Measure], are_separate: bool) -> None:
        self.measures, self.are_separate = measures, are_separate
        self.needs_estimator = needs_fit(measures)

    def measure(self, call: FoldCall, result: FoldResult) -> FoldResult:
        """Measure the costs."""
        costs = measured(self.measures, call.measured(result), "", call.raises)
        if self.are_separate:
            return result.with_extras(costs=costs, warm_up=_is_first(call.estimator))
        train_scores = result.train_scores
        if train_scores is not None:
            train_scores = train_scores | costs
        return replace(
            result, test_scores=result.test_scores | costs, train_scores=train_scores
        )


def _is_first(estimator: Any) -> bool:
    """Return whether this process has not fitted this class of estimator before."""
    parts = [estimator, *estimator.get_params(deep=True).values()]
    kinds = {type(part) for part in parts if hasattr(part, "fit")}
    first = not kinds <= _FITTED_BEFORE
    _FITTED_BEFORE.update(kinds)
    return first


class Costs(Aspect):
    """Costs that the objective of the search uses."""

    name = "costs"

    def fold_aspect(self) -> FoldAspect:
        """Return the part that measures the costs of a fit."""
        return _FoldCosts(self.objective.measures, self.objective.separate_costs)
