"""Aspects of trials: interfaces of the options that change how a trial is evaluated.

An aspect has two parts. The :class:`Aspect` remains in the process of the search, and
observes the trials of one stage. Its :class:`FoldAspect` is sent to the workers, and
surrounds each fit. An aspect that is off is not in the list of a search.

``Aspect.prepare(settings, spaces, objective, y, fit_params)``, a method of the class,
is called for the parameters that a search sets, before the space is made. The other
hooks are called in this order:

1. ``Aspect.begin(plan)``, before the first fold of a trial, in the main thread;
2. ``Aspect.folds_at_a_time(n_workers)`` and ``Aspect.for_fold(plan, index, earlier)``,
   before each fold;
3. ``FoldAspect.around(call)``, a context of the fit,
   ``FoldAspect.after_round(call, estimator, X, y)`` after rounds of the fit that are
   scored, and ``FoldAspect.measure(call, outcome)`` after it, in the worker;
4. ``Aspect.verdict(plan, earlier)`` after some folds;
5. ``Aspect.set_scores(folds)`` before the scores of folds are used;
6. ``Aspect.conclude(plan, folds, state)``, which returns extras of the trial;
7. ``Aspect.observation(trial)``, which returns arguments of `Optimizer.tell`;
8. ``Aspect.learn(trial)`` and ``Aspect.message(trial, history)``, in the order of the
   trials;
9. ``Aspect.row_params(trial)``, ``Aspect.columns(history)`` and
   ``Aspect.attributes(history)``, which return parameters of a row, columns of
   ``cv_results_``, and attributes of the fitted search.

Hooks 2, 4 and 5 can be called in the thread of a trial, all other hooks of `Aspect` in
the main thread. For trials from a journal, only hooks 7 to 9 are called. A trial that
is dropped at the timeout of the search is not concluded. `message` and hook 9 are
called on new objects, which have not observed the trials.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar

from skbayes.evaluation.trial import FoldResult, History, Trial, TrialState

if TYPE_CHECKING:
    from skbayes.evaluation.evaluator import Evaluation
    from skbayes.evaluation.fold import FoldCall, FoldOutcome, Outcomes
    from skbayes.evaluation.objectives import Objective
    from skbayes.evaluation.run import SearchRun


def is_given(value: Any) -> bool:
    """Return whether the value of a parameter is neither None nor False."""
    return value is not None and value is not False


class FoldAspect:
    """Part of an aspect that is sent to the workers; all hooks have no effect.

    One object serves all fits of a process, also in parallel threads. The state of a
    fit is ``call.state[name]``, and ``call.fold.parts[name]`` is the return value of
    `Aspect.for_fold`. The evaluator sets the `name` to that of the aspect.
    """

    name: str = ""
    needs_estimator: bool = False
    """Whether `measure` uses the fitted estimator."""
    affects_errors: bool = True
    """Whether it also applies to fits that are repeated for their errors."""

    def around(self, call: FoldCall) -> AbstractContextManager[Any]:
        """Return a context of the fit and of scoring; it may change `call`."""
        return contextlib.nullcontext()

    def after_round(
        self, call: FoldCall, estimator: Any, X: Any, y: Any
    ) -> dict[str, Any]:
        """Return outcomes of an estimator after some of its rounds, on the test set.

        The estimator has only the methods for predictions, and only for `X`. Outcomes
        that are not numbers become NaN.
        """
        return {}

    def measure(self, call: FoldCall, outcome: FoldOutcome) -> None:
        """Add measurements to the outcome of a fit."""


class Aspect:
    """Part of an aspect in the process of the search; all hooks have no effect.

    `parameters` are the parameters of the searches that belong to the aspect, with the
    values that they accept, in the format of scikit-learn's parameter constraints.
    `condition` is an attribute of `SearchRun` that is true if the aspect is on. With
    None, it is on if one of its parameters is neither None nor False. `extras` are the
    types of JSON of those `extras` of folds and trials that are not numbers.
    """

    name: ClassVar[str]
    parameters: ClassVar[Mapping[str, list[Any]]] = {}
    condition: ClassVar[str | None] = None
    extras: ClassVar[Mapping[str, type]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, kind in cls.extras.items():
            if kind not in (bool, str, list, dict):
                raise TypeError(
                    f"{cls.__name__}.extras: {name!r} must have one of the types bool, "
                    f"str, list and dict, which a journal stores, got {kind!r}."
                )

    def __init__(self, run: SearchRun) -> None:
        self.run = run

    @classmethod
    def is_on(cls, run: SearchRun) -> bool:
        """Return whether a search uses the aspect."""
        if cls.condition is not None:
            return bool(getattr(run, cls.condition))
        return cls.is_requested(run.settings)

    @classmethod
    def is_requested(cls, settings: Mapping[str, Any]) -> bool:
        """Return whether one of the parameters is neither None nor False."""
        return any(is_given(settings.get(name)) for name in cls.parameters)

    @classmethod
    def prepare(
        cls,
        settings: Mapping[str, Any],
        spaces: Any,
        objective: Objective,
        y: Any,
        fit_params: Mapping[str, Any],
    ) -> tuple[Any, Any]:
        """Check the parameters, and those that they exclude, before any fit.

        Return the search space, in the notation of `search_spaces`, and the note of the
        aspect in `run.notes`, if any.
        """
        return spaces, None

    def fold_aspect(self) -> FoldAspect | None:
        """Return the part that is sent to the workers, if any."""
        return None

    def begin(self, plan: Evaluation) -> None:
        """Prepare a trial; `plan.notes` may store its state."""

    def folds_at_a_time(self, n_workers: int) -> float:
        """Return the maximum number of folds of a trial that run in parallel.

        `for_fold` and `verdict` are called for each group of so many folds.
        """
        return math.inf

    def for_fold(self, plan: Evaluation, index: int, earlier: Outcomes) -> Any:
        """Return what the fold aspect of one fold receives; None for nothing."""
        return None

    def verdict(self, plan: Evaluation, earlier: Outcomes) -> TrialState | None:
        """Return the state of a trial whose other folds are skipped; None to go on.

        It is called as long as folds are left.
        """
        return None

    def set_scores(
        self, folds: Sequence[FoldResult], missing: float = math.nan
    ) -> None:
        """Set scores and outcomes of folds that depend on other folds.

        Scores of NaN are replaced by `missing`. Dicts of the folds are replaced, not
        changed, because copies of the folds share them.
        """

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

    def message(self, trial: Trial, history: History) -> str | None:
        """Return a warning for the user after a finished trial, if any."""
        return None

    def row_params(self, trial: Trial, split: int | None = None) -> dict[str, Any]:
        """Return parameters of a row of ``cv_results_`` that were not proposed.

        With `split`, they are those to which the scores of one fold belong.
        """
        return {}

    def columns(self, history: History) -> dict[str, list[Any]]:
        """Return columns of ``cv_results_``."""
        return {}

    def attributes(self, history: History) -> dict[str, Any]:
        """Return attributes of the fitted search."""
        return {}
