"""Shared steps of pipelines: the parameter `cache`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from skbayes.evaluation.aspect import Aspect, FoldAspect
from skbayes.evaluation.fold import FoldCall, FoldOutcome
from skbayes.evaluation.prefix import PrefixCache, shared_steps
from skbayes.evaluation.trial import SavedTime

__all__ = ["SharedSteps"]


class _FoldSteps(FoldAspect):
    """Fits of pipelines whose first steps are fitted once for equal parameters."""

    name = "shared_steps"

    def __init__(self, cache: PrefixCache) -> None:
        self.cache = cache

    @contextlib.contextmanager
    def around(self, call: FoldCall) -> Iterator[None]:
        """Share steps, unless a fitted step was lost in the first attempt."""
        call.state[self.name] = SavedTime()
        if call.attempt > 0:
            yield
            return
        fold, inside = call.fold, call.looks_inside
        needs_rows = inside or call.options["return_train_score"]
        with shared_steps(
            call.estimator,
            self.cache,
            fold.params,
            (fold.index, fold.fidelity),
            (lambda: call.test_set()[0]) if needs_rows else None,
            inside,
        ) as saved:
            call.state[self.name] = saved
            yield
        call.repeats = saved.lost

    def measure(self, call: FoldCall, outcome: FoldOutcome) -> None:
        """Add the time of shared steps, so that the times of all trials include it."""
        saved, fold = call.state[self.name], outcome.result
        assert fold is not None
        call.result["fit_time"] += saved.fit
        call.result["score_time"] += saved.score
        call.cpu_seconds += saved.cpu
        fold.fit_time = call.result["fit_time"]
        fold.score_time = call.result["score_time"]
        fold.extras["shared_time"] = saved.total


class SharedSteps(Aspect):
    """First steps of pipelines that are fitted once for equal parameters."""

    name = "shared_steps"

    def fold_aspect(self) -> FoldAspect:
        """Return the part that shares the steps of a fit."""
        assert self.run.cache is not None
        return _FoldSteps(self.run.cache)
