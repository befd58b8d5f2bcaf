"""Callbacks of scikit-learn, to which the tasks of a search are reported."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from skbayes.options.callbacks.tasks import EvaluationTask, TaskTree
from skbayes.trial.aspect import Aspect, Evaluation
from skbayes.trial.fold import FoldAspect, FoldCall, Results
from skbayes.trial.records import FoldResult, Trial


class _FoldCallbacks(FoldAspect):
    """Report of a fit to the callbacks."""

    affects_errors = False

    def around(self, call: FoldCall) -> contextlib.AbstractContextManager[None]:
        """Pass the task to scikit-learn."""
        task = call.fold.parts[self.name]
        call.options |= {"caller": task.search, "callback_ctx": task}
        return contextlib.nullcontext()

    def measure(self, call: FoldCall, result: FoldResult) -> FoldResult:
        """Record whether a callback requests to stop the search."""
        stop = call.fold.parts[self.name].stop_requested
        return result.with_transient(stop_requested=stop)


class Callbacks(Aspect):
    """Tasks of the fits in the callback tree."""

    name = "callbacks"

    def fold_aspect(self) -> FoldAspect:
        """Return the part that reports a fit."""
        return _FoldCallbacks()

    def begin(self, evaluation: Evaluation) -> None:
        """Create all tasks of a trial before any of them is sent.

        A new task changes a dict, over which the pickling of another task iterates.
        """
        self._tasks(evaluation)

    def for_fold(
        self, evaluation: Evaluation, index: int, earlier: Results
    ) -> EvaluationTask:
        """Return the task of a fit."""
        return self._tasks(evaluation)[index]

    def _tasks(self, evaluation: Evaluation) -> list[EvaluationTask]:
        assert isinstance(self.tasks, TaskTree)
        n_splits = len(evaluation.job.splits)
        return self.tasks.fits_of_trial(evaluation.number, n_splits)

    def close(self, evaluation: Evaluation, trial: Trial) -> Trial:
        """Record whether a callback requests to stop the search."""
        stop = any(fold.transient.get("stop_requested") for fold in trial.folds)
        extras = trial.extras | {"stop_requested": True}
        return replace(trial, extras=extras) if stop else trial
