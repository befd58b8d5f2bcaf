"""Aspects of trials: interfaces of the options that change how a trial is evaluated.

An aspect has two parts. The :class:`Aspect` remains in the process of the search, and
observes the trials of one stage. Its :class:`FoldAspect` is sent to the workers, and
surrounds each fit. An aspect that is off is not in the list of a search.
The table of the options names the modules of the aspects.

``Aspect.prepare(settings, spaces, objective, routed)``, a method of the class, is
called for the parameters that a search sets, before the space is made, and
``Aspect.check(plan, models)`` after it. The other hooks are called in this order:

1. ``Aspect.is_on(plan)``, before an aspect is created;
2. ``Aspect.fold_aspect()``, before the first trial;
3. ``Aspect.begin(evaluation)``, before the first fold of a trial;
4. ``Aspect.for_fold(evaluation, index, earlier)``, before each fold;
5. ``FoldAspect.around(call)``, a context of the fit, and
   ``FoldAspect.measure(call, result)`` after it, in the worker;
6. ``Aspect.verdict(evaluation, earlier)`` after some folds;
7. ``Aspect.close(evaluation, trial)``, once, when the folds are there;
8. ``Aspect.observe(trial)``, in the order of the trials without a timeout, which
   returns arguments of `Optimizer.tell`;
9. ``Aspect.columns(history)``, which returns columns of ``cv_results_``.

Hooks 4 and 6 can be called in the thread of a trial, all other hooks of `Aspect` in the
main thread. For trials from a journal, only hooks 8 and 9 are called. A trial that is
dropped at the timeout of the search is not closed. Hook 9 is called on a new object,
which has not observed the trials.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from skbayes.trial.fold import FoldAspect, Results, check_hooks
from skbayes.trial.records import Fidelity, FoldResult, History, Trial, TrialState
from skbayes.trial.subsets import ALL_ROWS, Sample

if TYPE_CHECKING:
    from skbayes.trial.objectives import Objective
    from skbayes.trial.plan import Plan


class FitBackend(Protocol):
    """Backend of the fits, as far as aspects use it.

    `end` is the time at which fits are aborted, and `reserved` the seconds of the
    refit.
    """

    reserved: float

    @property
    def n_workers(self) -> int:
        """Number of fits that run at the same time."""

    @property
    def aborts(self) -> bool:
        """Whether running fits are aborted at a limit."""

    @property
    def end(self) -> float | None:
        """Time of `time.monotonic` at which fits are aborted, or None."""


# Complete trials to compare with: the scores and the results of their folds.
Complete = Sequence[tuple[NDArray[np.float64], Sequence[FoldResult]]]


@dataclass
class Evaluation:
    """Prepared trial, which any thread can run.

    The trials to compare it with were finished when it was prepared. Nothing runs if
    the estimator refused the parameters, with the exception `refusal`. The `groups` are
    the folds that run at the same time, in the order of their fits.
    """

    backend: FitBackend
    number: int
    params: dict[str, Any]
    fidelity: Fidelity = Fidelity()
    sample: Sample = ALL_ROWS
    complete: Complete = ()
    refusal: Exception | None = None
    groups: list[list[int]] = field(default_factory=list)

    @property
    def n_folds(self) -> int:
        """Number of folds of the trial; 0 if the parameters are refused."""
        return 0 if self.refusal is not None else sum(map(len, self.groups))

    def limit_groups(self, size: int) -> None:
        """Let at most `size` folds run at the same time."""
        places = [index for group in self.groups for index in group]
        size = min(size, *map(len, self.groups))
        self.groups = [places[i : i + size] for i in range(0, len(places), size)]

    def seconds(self, results: Results) -> float:
        """Return the time of the folds so far; a group takes as long as its longest."""
        groups = (group for group in self.groups if group[0] in results)
        return sum(
            max(results[i].kept.get("seconds", 0.0) for i in group) for group in groups
        )


class Aspect:
    """Part of an aspect in the process of the search; all hooks have no effect."""

    name: ClassVar[str]

    plan: Plan

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_hooks(cls, Aspect)

    def __new__(cls, plan: Plan) -> Self:
        """Set the plan, also if a constructor of a subclass does not."""
        aspect = super().__new__(cls)
        aspect.plan = plan
        return aspect

    def __init__(self, plan: Plan) -> None:
        """Create an aspect of a search."""

    @classmethod
    def is_on(cls, plan: Plan) -> bool:
        """Return whether a search that requests the aspect uses it."""
        return True

    @classmethod
    def prepare(
        cls,
        settings: Mapping[str, Any],
        spaces: Any,
        objective: Objective,
        routed: Any,
    ) -> tuple[Any, Any]:
        """Check the parameters, and the parameters that they exclude, before any fit.

        The metadata are `routed` to the estimator, scorer and splitter. Return the
        search space, in the notation of `search_spaces`, and the note of the aspect in
        `plan.notes`, if any.
        """
        return spaces, None

    @classmethod
    def check(cls, plan: Plan, models: Sequence[Any]) -> None:
        """Raise ValueError if an estimator does not suit the parameters.

        The `models` are estimators with configurations that cover the search space.
        """

    def fold_aspect(self) -> FoldAspect | None:
        """Return the part that is sent to the workers, if any."""
        return None

    def begin(self, evaluation: Evaluation) -> None:
        """Prepare a trial.

        ``evaluation.groups`` are the folds that run at the same time, and may be
        changed.
        """

    def for_fold(self, evaluation: Evaluation, index: int, earlier: Results) -> Any:
        """Return the input of the fold aspect for one fold, if any."""
        return None

    def verdict(self, evaluation: Evaluation, earlier: Results) -> TrialState | None:
        """Return the state of a trial whose other folds are skipped; None to go on.

        It is called after each group of folds, as long as folds are left.
        """
        return None

    def close(self, evaluation: Evaluation, trial: Trial) -> Trial:
        """Return the trial with the results that depend on all of its folds.

        If the returned trial has other folds, its score is computed again.
        """
        return trial

    def observe(self, trial: Trial) -> dict[str, Any]:
        """Observe a trial, and return arguments of `Optimizer.tell` for it."""
        return {}

    def columns(self, history: History) -> dict[str, list[Any]]:
        """Return columns of ``cv_results_``."""
        return {}
