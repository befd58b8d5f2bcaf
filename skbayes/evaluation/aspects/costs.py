"""Costs that are measured for each fit, such as its time or the size of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skbayes.evaluation.aspect import Aspect, FoldAspect
from skbayes.evaluation.fold import FoldCall, FoldOutcome
from skbayes.evaluation.measure import Measure, measured, needs_fit

# Classes that this process has fitted before. The first fit of a class takes longest,
# because it imports libraries and fills caches.
_FITTED_BEFORE: set[type] = set()


class _FoldCosts(FoldAspect):
    """Measurement of the costs of a fit.

    If they `are_separate`, they are stored as `costs`, not as test scores. The flag
    `warm_up` then marks the first fit of its kind in the process.
    """

    def __init__(self, measures: Mapping[str, Measure], are_separate: bool) -> None:
        self.measures, self.are_separate = measures, are_separate
        self.needs_estimator = needs_fit(measures)

    def measure(self, call: FoldCall, outcome: FoldOutcome) -> None:
        """Measure the costs."""
        fold = outcome.result
        assert fold is not None
        costs = measured(self.measures, call.timed_result, "", call.raises)
        if self.are_separate:
            fold.extras |= {"costs": costs, "warm_up": _is_first(call.estimator)}
            return
        fold.test_scores = {**fold.test_scores, **costs}
        if fold.train_scores is not None:
            fold.train_scores = {**fold.train_scores, **costs}


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
    condition = "costs"
    extras = {"costs": dict, "warm_up": bool}

    def fold_aspect(self) -> FoldAspect:
        """Return the part that measures the costs of a fit."""
        objective = self.run.objective
        return _FoldCosts(objective.measures, objective.separate_costs)
