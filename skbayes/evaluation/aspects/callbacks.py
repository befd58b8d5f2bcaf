"""Callbacks of scikit-learn, to which the tasks of a search are reported."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from skbayes import compat
from skbayes.evaluation.aspect import Aspect, FoldAspect
from skbayes.evaluation.fold import FoldCall, FoldOutcome, Outcomes

if TYPE_CHECKING:
    from skbayes.evaluation.evaluator import Evaluation


class _FoldCallbacks(FoldAspect):
    """Report of a fit to the callbacks."""

    affects_errors = False

    def around(self, call: FoldCall) -> contextlib.AbstractContextManager[None]:
        """Pass the task to scikit-learn."""
        task = call.fold.parts[self.name]
        call.options |= {"caller": task.search, "callback_ctx": task}
        return contextlib.nullcontext()

    def measure(self, call: FoldCall, outcome: FoldOutcome) -> None:
        """Record a request to stop the search."""
        outcome.stop_requested = call.fold.parts[self.name].stop_requested


class Callbacks(Aspect):
    """Tasks of the fits in the callback tree."""

    name = "callbacks"
    condition = "is_observed"

    def fold_aspect(self) -> FoldAspect:
        """Return the part that reports a fit."""
        return _FoldCallbacks()

    def begin(self, plan: Evaluation) -> None:
        """Create all tasks of a trial before any of them is sent.

        Creating a task while another one is being pickled would modify a dict during
        the iteration.
        """
        tasks = self.run.tasks.begin_trial(plan.number, plan.n_folds)
        plan.notes[self.name] = tasks

    def for_fold(
        self, plan: Evaluation, index: int, earlier: Outcomes
    ) -> compat.EvaluationTask | None:
        """Return the task of a fit."""
        return plan.notes[self.name][index]
