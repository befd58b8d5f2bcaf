"""Limits of a single fit: its time, its memory, and the remaining search time."""

from __future__ import annotations

import time
from dataclasses import dataclass

from skbayes.trial.records import TrialState


def memory_text(size: float) -> str:
    """Format a size for messages."""
    unit, factor = ("GB", 1e9) if size >= 1e9 else ("MB", 1e6)
    return f"{float(f'{size / factor:.3g}'):g} {unit}"


class SearchTimeout(Exception):
    """A fit was aborted at the time limit of the search."""


@dataclass(frozen=True)
class AbortReason:
    """Reason why a fit was aborted; with `of_search`, the trial is dropped."""

    state: TrialState
    text: str
    of_search: bool = False


@dataclass(frozen=True)
class FitLimits:
    """Limits of one fit of a trial, whose earlier fits took `spent` seconds.

    The `deadline` of the search is on the clock `time.monotonic`.
    """

    trial_timeout: float | None = None
    trial_memory: int | None = None
    timeout: float | None = None
    deadline: float | None = None
    spent: float = 0.0

    def __str__(self) -> str:
        limits = {
            "trial_limits['time']": self.trial_timeout,
            "trial_limits['memory']": self.trial_memory,
            "timeout": self.timeout,
        }
        return " and ".join(f"{k}={v}" for k, v in limits.items() if v is not None)

    @property
    def of_trials(self) -> bool:
        """Whether `trial_limits` is given."""
        return self.trial_timeout is not None or self.trial_memory is not None

    @property
    def is_set(self) -> bool:
        """Whether there is any limit."""
        return self.of_trials or self.timeout is not None

    def overrun(self, seconds: float) -> AbortReason | None:
        """Return the reason to abort a fit that has run for some seconds, if any."""
        used = self.spent + seconds
        if self.trial_timeout is None or used <= self.trial_timeout:
            return self.overrun_search(seconds)
        before = ""
        if self.spent > 0.0:
            before = f", and the folds before it took {self.spent:.3g} s"
        text = f"trial_limits['time'] is {self.trial_timeout:g} s{before}"
        return self._too_long(seconds, text)

    def overrun_search(self, seconds: float = 0.0) -> AbortReason | None:
        """Return the reason to abort a fit if the search has timed out."""
        if self.deadline is None or time.monotonic() <= self.deadline:
            return None
        text = f"the timeout of {self.timeout:g} s was over"
        return self._too_long(seconds, text, of_search=True)

    @staticmethod
    def _too_long(seconds: float, reason: str, of_search: bool = False) -> AbortReason:
        text = f"The fit was aborted after {seconds:.3g} s: {reason}."
        return AbortReason(TrialState.TIMED_OUT, text, of_search)

    def oversize(self, size: int | None) -> AbortReason | None:
        """Return the reason to abort a fit with too large a process, if any."""
        if size is None:
            return None
        text = f"The fit was aborted with {memory_text(size)} in memory"
        return AbortReason(TrialState.OUT_OF_MEMORY, self._of_memory(text))

    def unallocated(self, error: str | None) -> AbortReason | None:
        """Return the reason if a fit failed with a MemoryError at the limit."""
        last = (error or "").rstrip().rpartition("\n")[2].partition(":")[0]
        if self.trial_memory is None or not last.endswith("MemoryError"):
            return None
        text = self._of_memory("The fit could not allocate memory")
        return AbortReason(TrialState.OUT_OF_MEMORY, f"{text}\n{error}")

    def _of_memory(self, text: str) -> str:
        limit = memory_text(self.trial_memory or 0)
        return f"{text}: trial_limits['memory'] is {limit}."
