"""Limits on a single fit."""

import math
import time

import pytest

from skbayes.trial.limits import FitLimits


def test_time_that_earlier_fits_took_counts():
    limits = FitLimits()
    assert limits.seconds_left(1e9) == math.inf
    assert limits.overrun(1e9) is limits.overrun_search() is None
    assert limits.unallocated("MemoryError") is None
    limits = FitLimits(trial_timeout=5.0).after(3.0, same_clock=True)
    assert limits.seconds_left(0.5) == 1.5
    assert limits.overrun(2.0) is None
    assert limits.overrun(2.5).text == (
        "The fit was aborted after 2.5 s: trial_limits['time'] is 5 s, and the folds "
        "before it took 3 s."
    )


@pytest.mark.parametrize("same_clock", [True, False])
def test_the_deadline_of_the_search_holds_on_other_clocks(same_clock, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    limits = FitLimits(timeout=60.0, deadline=1020.0).after(1.0, same_clock)
    if not same_clock:
        now[0] = 5.0  # the clock of another machine
    limits = limits.received()
    assert limits.seconds_left(0.0) == 20.0
    now[0] += 20.5
    assert "the timeout of 60 s was over" in limits.overrun(20.5).text


@pytest.mark.parametrize(
    "error, state",
    [
        ("Traceback\n  a\nMemoryError\n", "out_of_memory"),
        ("Traceback\nnumpy.core._ArrayMemoryError: Unable to", "out_of_memory"),
        ("Traceback\nValueError: MemoryError", None),
        (None, None),
    ],
)
def test_a_memory_error_at_the_limit_is_its_end(error, state):
    ended = FitLimits(trial_memory=10**9).unallocated(error)
    assert (ended and ended.state) == state
