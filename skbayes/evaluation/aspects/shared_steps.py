"""Shared steps of pipelines."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from skbayes.evaluation.aspect import Aspect, FoldAspect
from skbayes.evaluation.fold import FoldCall, FoldOutcome
from skbayes.evaluation.prefix import PrefixCache, SharedFit


class _FoldSteps(FoldAspect):
    """Fits of pipelines whose first steps are fitted once for equal parameters."""

    affects_errors = False

    def __init__(self, cache: PrefixCache) -> None:
        self.cache = cache

    @contextlib.contextmanager
    def around(self, call: FoldCall) -> Iterator[None]:
        """Share steps, unless a fitted step was lost in the first attempt."""
        fold, inside = call.fold, call.looks_inside
        needs_rows = inside or call.options["return_train_score"]
        test_rows = (lambda: call.test_set()[0]) if needs_rows else None
        identity = (fold.index, fold.fidelity)
        shared = SharedFit(self.cache, fold.params, identity, test_rows, inside)
        call.state[self.name] = shared
        if call.attempt > 0:
            yield
            return
        with shared.sharing(call.estimator):
            yield
        call.repeats = shared.is_lost

    def measure(self, call: FoldCall, outcome: FoldOutcome) -> None:
        """Add the time of shared steps, so that the times of all trials include it."""
        shared, fold = call.state[self.name], outcome.result
        assert fold is not None
        call.result["fit_time"] += shared.fit_seconds - shared.waited
        call.result["score_time"] += shared.score_seconds
        call.cpu_seconds += shared.cpu_seconds
        fold.fit_time = call.result["fit_time"]
        fold.score_time = call.result["score_time"]
        fold.extras["shared_time"] = shared.fit_seconds + shared.score_seconds


class SharedSteps(Aspect):
    """First steps of pipelines that are fitted once for equal parameters."""

    name = "shared_steps"
    condition = "cache"

    def fold_aspect(self) -> FoldAspect:
        """Return the part that shares the steps of a fit."""
        assert self.run.cache is not None
        return _FoldSteps(self.run.cache)
