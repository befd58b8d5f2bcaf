"""Aspects of trials: interfaces of the options that change how a trial is evaluated.

An aspect has two parts. The :class:`Aspect` remains in the process of the search, and
observes the trials. Its :class:`FoldAspect` is sent to the workers, and surrounds each
fit. The table of the options names the modules of the aspects, and when they are on.
They are made once for each search. The hooks are called in this order:

1. ``Aspect.prepare(spaces, routed)``, before the search space is made;
2. ``Aspect.check(job, models)``, when the splits are drawn;
3. ``Aspect.begin_search(space, store)`` and ``Aspect.fold_aspect()``, before the first
   trial;
4. ``Aspect.begin_stage(role)``, before the first trial of a stage;
5. ``Aspect.begin(evaluation)``, before the first fold of a trial;
6. ``Aspect.for_fold(evaluation, index, earlier)``, before each fold;
7. ``FoldAspect.around(call)``, a context of the fit, and
   ``FoldAspect.measure(call, result)`` after it, in the worker;
8. ``Aspect.verdict(evaluation, earlier)`` after some folds;
9. ``Aspect.close(evaluation, trial)``, once, when the folds are there;
10. ``Aspect.observe(trial)``, in the order of the trials without a timeout, which
    returns arguments of `Optimizer.tell`;
11. ``Aspect.columns(history)``, which returns columns of ``cv_results_``.

Hooks 6 and 8 can be called in the thread of a trial, all other hooks of `Aspect` in the
main thread. For trials from a journal, only hooks 10 and 11 are called. A trial that is
dropped at the timeout of the search is not closed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from skbayes.trial.fold import FoldAspect, Job, Results, check_hooks
from skbayes.trial.records import Fidelity, FoldResult, History, Trial, TrialState
from skbayes.trial.subsets import ALL_ROWS, Sample

if TYPE_CHECKING:
    from skbayes.space import Space
    from skbayes.trial.objectives import Objective
    from skbayes.trial.settings import Settings
    from skbayes.trial.shared_store import PrefixStore


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


class Tasks:
    """Tasks of a search, which are reported to nobody."""

    is_observed = False

    def fit(self) -> AbstractContextManager[None]:
        """Report the whole fit."""
        return nullcontext()

    def searching(self, max_fits: float) -> AbstractContextManager[None]:
        """Report the search."""
        return nullcontext()

    def refitting(self, estimator: Any) -> AbstractContextManager[None]:
        """Report the refit."""
        return nullcontext()


class Bounds(Protocol):
    """Bounds on the outcomes of trials."""

    @property
    def names(self) -> list[str]:
        """Names of the outcomes."""

    @property
    def bounds(self) -> Sequence[Any]:
        """Bounds, each with the name of its outcome and a method `slack`."""

    @property
    def scorers(self) -> Mapping[str, Any]:
        """Scorers of outcomes, by name."""

    @property
    def measures(self) -> Mapping[str, Any]:
        """Measures of outcomes, by name."""

    @property
    def metrics(self) -> Mapping[str, str]:
        """Metrics of the search that are outcomes, by name."""

    @property
    def params(self) -> Mapping[str, Any]:
        """Arguments of the scorers."""

    def scorer(self, estimator: Any, raises: bool) -> Any:
        """Return a scorer of all outcomes."""

    def of_trial(self, trial: Trial) -> list[float]:
        """Return the slack of each bound for a trial; not positive if it holds."""

    def broken(self, trial: Trial) -> list[str]:
        """Return texts of the bounds that a trial violates."""


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
    job: Job
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
        return sum(max(results[i].seconds for i in group) for group in groups)


class Aspect:
    """Part of an aspect in the process of the search; all hooks have no effect."""

    name: ClassVar[str]

    # Whether trials share results in a store.
    needs_store: ClassVar[bool] = False

    # Bounds on outcomes that it sets, if any.
    bounds: Bounds | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_hooks(cls, Aspect)

    def __init__(self, settings: Settings, objective: Objective, tasks: Tasks) -> None:
        self.settings, self.objective, self.tasks = settings, objective, tasks

    def prepare(self, spaces: Any, routed: Any) -> Any:
        """Check the parameters, and the parameters that they exclude, before any fit.

        The metadata are `routed` to the estimator, scorer and splitter. Return the
        search space, in the notation of `search_spaces`.
        """
        return spaces

    def check(self, job: Job, models: Sequence[Any]) -> None:
        """Raise ValueError if the data, splits or estimators do not suit.

        The `models` are estimators with configurations that cover the search space.
        """

    def begin_search(self, space: Space, store: PrefixStore | None) -> None:
        """Begin the search, with a store for shared results on this machine only."""

    def fold_aspect(self) -> FoldAspect | None:
        """Return the part that is sent to the workers, if any."""
        return None

    def begin_stage(self, role: str) -> None:
        """Begin a stage of the search, with the `role` of `Stage`."""

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

    def seconds_after(self, history: History) -> float:
        """Return the expected seconds of fits after the trials, without the refit."""
        return 0.0

    def columns(self, history: History) -> dict[str, list[Any]]:
        """Return columns of ``cv_results_``."""
        return {}
