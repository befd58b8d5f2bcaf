"""Aspects of trials: interfaces of the options that change how a trial is evaluated.

An aspect has two parts. The :class:`Aspect` remains in the process of the search, and
observes the trials of one stage. Its :class:`FoldAspect` is sent to the workers, and
surrounds each fit. An aspect that is off is not in the list of a search.

The hooks are called in this order:

1. ``Aspect.begin(plan)``, before the first fold of a trial, in the main thread;
2. ``Aspect.for_fold(plan, index, earlier)``, before each fold;
3. ``FoldAspect.around(call)``, a context of the fit, and
   ``FoldAspect.measure(call, outcome)`` after it, in the worker;
4. ``Aspect.is_over(plan, earlier)`` after some folds;
5. ``Aspect.settle(folds)`` before the scores of folds are used;
6. ``Aspect.conclude(plan, folds, state)``, which returns extras of the trial;
7. ``Aspect.observation(trial)``, which returns arguments of `Optimizer.tell`;
8. ``Aspect.learn(trial)``, in the order of the trials;
9. ``Aspect.columns(history)``, which returns columns of ``cv_results_``.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar

from skbayes.evaluation.trial import FoldResult, History, Trial, TrialState

if TYPE_CHECKING:
    from skbayes.evaluation.evaluator import Evaluation
    from skbayes.evaluation.fold import FoldCall, FoldOutcome
    from skbayes.evaluation.racing import FoldScores
    from skbayes.evaluation.run import SearchRun

__all__ = ["Aspect", "FoldAspect"]


class FoldAspect:
    """Part of an aspect that is sent to the workers; all hooks have no effect.

    One object serves all fits of a process, also in parallel threads. The state of a
    fit is stored in ``call.state``.

    Attributes
    ----------
    name : str
        Name of the aspect. ``call.fold.parts[name]`` is the return value of
        `Aspect.for_fold`.
    needs_estimator : bool
        Whether `measure` uses the fitted estimator.
    """

    name: ClassVar[str]
    needs_estimator: bool = False

    def looks_inside(self, call: FoldCall) -> bool:
        """Return whether fitted steps are accessed other than by the pipeline."""
        return self.needs_estimator

    def around(self, call: FoldCall) -> AbstractContextManager[Any]:
        """Return a context of the fit and of scoring; it may change `call`."""
        return contextlib.nullcontext()

    def measure(self, call: FoldCall, outcome: FoldOutcome) -> None:
        """Add measurements to the outcome of a fit."""


class Aspect:
    """Part of an aspect in the process of the search; all hooks have no effect.

    Attributes
    ----------
    name : str
        Name of the aspect.
    one_fold_at_a_time : bool
        Whether the folds of a trial run one after the other.
    uses_earlier_folds : bool
        Whether a fold depends on earlier folds of its trial, if folds run one after
        the other anyway.
    """

    name: ClassVar[str]
    one_fold_at_a_time: bool = False
    uses_earlier_folds: bool = False

    def __init__(self, run: SearchRun) -> None:
        self.run = run

    def fold_aspect(self) -> FoldAspect | None:
        """Return the part that is sent to the workers, if any."""
        return None

    def begin(self, plan: Evaluation) -> None:
        """Prepare a trial; `plan.notes` may store its state."""

    def for_fold(
        self, plan: Evaluation, index: int, earlier: Sequence[FoldOutcome]
    ) -> Any:
        """Return what the fold aspect of one fold receives; None for nothing."""
        return None

    def is_over(self, plan: Evaluation, earlier: Sequence[FoldOutcome]) -> bool:
        """Return whether to skip the folds of a trial that have not started."""
        return False

    def settle(self, folds: Sequence[FoldResult], missing: Any = math.nan) -> None:
        """Set scores of folds that depend on other folds.

        NaN is replaced by `missing` if this is a number.
        """

    def comparable(self, trial: Trial, scores: FoldScores) -> FoldScores:
        """Return the scores of a trial for comparisons with later trials.

        It is called for complete trials without errors that satisfy the constraints, in
        the order of the trials.
        """
        return scores

    def stopped(
        self, plan: Evaluation, outcomes: Sequence[FoldOutcome]
    ) -> tuple[FoldResult, float, float | None] | None:
        """Return the result of a trial that was stopped during its first fit, if any.

        It consists of the fold, the predicted score, and its variance.
        """
        return None

    def conclude(
        self, plan: Evaluation, folds: Sequence[FoldResult], state: TrialState
    ) -> dict[str, Any]:
        """Return extras of the trial."""
        return {}

    def observation(self, trial: Trial) -> dict[str, Any]:
        """Return arguments of `Optimizer.tell` for a trial."""
        return {}

    def learn(self, trial: Trial) -> None:
        """Observe a finished trial, in the order of the trials."""

    def columns(self, history: History) -> dict[str, list[Any]]:
        """Return columns of ``cv_results_``."""
        return {}
