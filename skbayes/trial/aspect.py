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

import contextlib
import inspect
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, Self

from skbayes.trial.records import FoldResult, History, Trial, TrialState

if TYPE_CHECKING:
    from skbayes.trial.evaluator import Evaluation
    from skbayes.trial.fold import FoldCall, Results
    from skbayes.trial.objectives import Objective
    from skbayes.trial.plan import Plan


def is_given(value: Any) -> bool:
    """Return whether the value of a parameter is neither None nor False."""
    return value is not None and value is not False


def _check_hooks(kind: type, base: type) -> None:
    """Raise TypeError for a public method that is no hook, and is never called."""

    def methods(owner: type) -> dict[str, list[str]]:
        functions = {n: getattr(f, "__func__", f) for n, f in vars(owner).items()}
        return {
            name: [*inspect.signature(function).parameters]
            for name, function in functions.items()
            if inspect.isfunction(function) and not name.startswith("_")
        }

    hooks = methods(base)
    for name, parameters in methods(kind).items():
        if parameters != hooks.get(name):
            known = ", ".join(f"{n}({', '.join(hooks[n])})" for n in hooks)
            raise TypeError(
                f"{kind.__name__}.{name}({', '.join(parameters)}) is no hook of "
                f"{base.__name__}. Its hooks are {known}; the names of other methods "
                "begin with an underscore."
            )


class FoldAspect:
    """Part of an aspect that is sent to the workers; all hooks have no effect.

    One object serves all fits of a process, also in parallel threads. The state of a
    fit is ``call.state[name]``, and ``call.fold.parts[name]`` is the return value of
    `Aspect.for_fold`. The evaluator sets `name` to the name of the aspect.
    """

    name: str = ""
    needs_estimator: bool = False
    """Whether `measure` uses the fitted estimator."""
    affects_errors: bool = True
    """Whether it also applies to fits that are repeated for their errors."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _check_hooks(cls, FoldAspect)

    def around(self, call: FoldCall) -> AbstractContextManager[Any]:
        """Return a context of the fit and of scoring; it may change `call`."""
        return contextlib.nullcontext()

    def measure(self, call: FoldCall, result: FoldResult) -> FoldResult:
        """Return the result of a fit with measurements, such as in its extras."""
        return result


class Aspect:
    """Part of an aspect in the process of the search; all hooks have no effect."""

    name: ClassVar[str]

    plan: Plan

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _check_hooks(cls, Aspect)

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
