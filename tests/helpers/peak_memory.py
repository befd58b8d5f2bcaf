"""Aspect of the contributing guide: the parameter `peak_memory`."""

import contextlib
import threading
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np

from skbayes.trial.aspect import Aspect
from skbayes.trial.fold import FoldAspect, FoldCall
from skbayes.trial.records import FoldResult, History

_TRACING = threading.Lock()


class _FoldPeak(FoldAspect):
    """Peak memory of Python and NumPy in a fit; fits in threads run in turn."""

    @contextlib.contextmanager
    def around(self, call: FoldCall) -> Iterator[None]:
        """Trace the allocations of the fit."""
        with _TRACING, contextlib.ExitStack() as stack:
            tracemalloc.start()
            stack.callback(tracemalloc.stop)
            yield
            call.state[self.name] = tracemalloc.get_traced_memory()[1]

    def measure(self, call: FoldCall, result: FoldResult) -> FoldResult:
        """Store the peak in bytes with the result of the fold."""
        return result.with_extras(peak_memory=call.state[self.name])


class PeakMemory(Aspect):
    """Peak memory of the fits."""

    name = "peak_memory"

    def fold_aspect(self) -> FoldAspect:
        """Return the part that measures a fit."""
        return _FoldPeak()

    def columns(self, history: History) -> dict[str, list[Any]]:
        """Return the mean peak in bytes; NaN without a fit."""
        peaks = [
            [fold.extras[self.name] for fold in trial.folds if self.name in fold.extras]
            for trial in history
        ]
        return {"mean_peak_memory": [np.mean(row or [np.nan]) for row in peaks]}
