"""Limits of a single fit: its time, its memory, and the remaining search time."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from skbayes.evaluation.trial import TrialState
from skbayes.space.dimensions import is_number
from skbayes.utils.process_tree import require_psutil
from skbayes.utils.texts import one_line

__all__ = [
    "AbortReason",
    "FitLimits",
    "SearchTimeout",
    "limits_text",
    "memory_text",
    "parse_size",
    "parse_time",
    "parse_trial_limits",
    "unfinished_text",
]

_UNITS = {
    "B": 1,
    **{f"{name}B": 1000**k for k, name in enumerate("kMGT", 1)},
    **{f"{name}iB": 1024**k for k, name in enumerate("KMGT", 1)},
}
_FACTORS = {name.lower(): factor for name, factor in _UNITS.items()}
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")

# Maximum length of a configuration in a message.
MAX_TEXT = 300

# Seconds of the units of time, by their names.
_SECONDS = {
    name: seconds
    for names, seconds in [
        ("s sec secs second seconds", 1),
        ("m min mins minute minutes", 60),
        ("h hr hrs hour hours", 3600),
        ("d day days", 86400),
    ]
    for name in names.split()
}


def parse_trial_limits(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the limits of a trial that are given, in seconds and bytes.

    An ImportError is raised if psutil, which measures the memory, is not installed.

    Examples
    --------
    >>> from skbayes.evaluation.limits import parse_trial_limits
    >>> parse_trial_limits({"time": "5 min", "memory": None})
    {'time': 300}
    """
    found: dict[str, Any] = {}
    for name, value in (given or {}).items():
        if name not in ("time", "memory"):
            raise ValueError(
                f"trial_limits: {name!r} is not the name of a limit; write "
                "trial_limits={'time': '5 min', 'memory': '2 GB'}, or one of both."
            )
        if value is not None and name == "time":
            found[name] = parse_time("trial_limits['time']", value)
        elif value is not None:
            require_psutil()
            found[name] = parse_size("trial_limits['memory']", value)
    return found


def parse_time(name: str, given: Any) -> float | None:
    """Convert the time limit `name` to seconds; strings such as "5 min" are accepted.

    Examples
    --------
    >>> from skbayes.evaluation.limits import parse_time
    >>> parse_time("timeout", "5 min"), parse_time("timeout", "1h30m")
    (300, 5400)
    """
    if given is None or (is_number(given) and given > 0):
        seconds: float | None = given
        return seconds
    text = given if isinstance(given, str) else ""
    parts = _AMOUNT.findall(text)
    values = [float(n) * _SECONDS.get(unit.lower(), math.nan) for n, unit in parts]
    total = math.fsum(values)
    if _AMOUNT.sub("", text) or not total > 0.0:
        raise ValueError(
            f"{name} must be a positive number of seconds, or a string with the units "
            f"s, min, h or d, such as '90 s', '5 min' or '1h30m', got {given!r}."
        )
    # The journal then contains the same limit as for a number of seconds.
    return int(total) if total.is_integer() else total


def parse_size(name: str, given: Any) -> int:
    """Convert the size `name` to bytes; strings such as "2 GB" are accepted.

    Examples
    --------
    >>> from skbayes.evaluation.limits import parse_size
    >>> parse_size("cache", "2 GB"), parse_size("cache", "1.5GiB")
    (2000000000, 1610612736)
    """
    if is_number(given) and given >= 1 and given == int(given):
        return int(given)
    found = _AMOUNT.fullmatch(given) if isinstance(given, str) else None
    factor = _FACTORS.get(found[2].lower()) if found else None
    if found is None or factor is None or float(found[1]) <= 0.0:
        raise ValueError(
            f"{name} must be a positive number of bytes, or a string with one of the "
            f"units {', '.join(_UNITS)}, such as '2 GB', got {given!r}."
        )
    return math.ceil(float(found[1]) * factor)


def memory_text(size: float) -> str:
    """Format a size for messages.

    Examples
    --------
    >>> from skbayes.evaluation.limits import memory_text
    >>> memory_text(312_400_000), memory_text(2_000_000_000)
    ('312 MB', '2 GB')
    """
    unit, factor = ("GB", 1e9) if size >= 1e9 else ("MB", 1e6)
    return f"{float(f'{size / factor:.3g}'):g} {unit}"


def limits_text(options: Any) -> str:
    """Format the limits of a trial for messages, given the options of a search."""
    given = {
        "trial_limits['time']": options.trial_timeout,
        "trial_limits['memory']": options.trial_memory,
        "timeout": options.timeout,
    }
    return " and ".join(f"{k}={v}" for k, v in given.items() if v is not None)


def unfinished_text(run: Any, unfinished: dict[int, dict[str, Any]]) -> str:
    """Format the message for a search whose timeout aborted its first trials."""
    number, params = next(iter(unfinished.items()))
    others = f" (one of {len(unfinished)})" if len(unfinished) > 1 else ""
    shown = one_line(repr(params))[:MAX_TEXT]
    return (
        f"No trial was finished within timeout={run.options.timeout:g} s. Trial "
        f"{number}{others} was running, with {len(run.splits)} fits of {shown}. "
        "Increase timeout, reduce cv or the number of rows, or abort slow trials by "
        "trial_limits={'time': ...}."
    )


class SearchTimeout(Exception):
    """A fit was aborted at the time limit of the search."""


@dataclass(frozen=True)
class AbortReason:
    """Reason why a fit was aborted; if `of_search`, the trial is dropped."""

    state: TrialState
    text: str
    of_search: bool = False


@dataclass(frozen=True)
class FitLimits:
    """Limits of one fit of a trial, whose earlier fits took `spent` seconds.

    The `deadline` of the search is on the clock `time.monotonic`; `left` are the
    seconds until then for machines with other clocks.
    """

    trial_timeout: float | None = None
    trial_memory: int | None = None
    timeout: float | None = None
    deadline: float | None = None
    spent: float = 0.0
    left: float | None = None

    def after(self, spent: float, same_clock: bool) -> FitLimits:
        """Return the limits of a fit after earlier fits of the trial took `spent`."""
        if same_clock or self.deadline is None:
            return replace(self, spent=spent)
        left = self.deadline - time.monotonic()
        return replace(self, spent=spent, deadline=None, left=left)

    @property
    def of_trials(self) -> bool:
        """Whether there is a limit other than that of the search."""
        return self.trial_timeout is not None or self.trial_memory is not None

    def received(self) -> FitLimits:
        """Return the limits with a deadline by the clock of this machine."""
        if self.left is None:
            return self
        return replace(self, deadline=time.monotonic() + self.left, left=None)

    def seconds_left(self, seconds: float) -> float:
        """Return the remaining time of a fit that has run for some seconds."""
        left = [math.inf]
        if self.trial_timeout is not None:
            left.append(self.trial_timeout - self.spent - seconds)
        if self.deadline is not None:
            left.append(self.deadline - time.monotonic())
        return min(left)

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
