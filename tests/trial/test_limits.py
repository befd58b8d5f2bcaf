"""Limits on a single fit."""

import time

import pytest

from skbayes.trial.limits import FitLimits


def test_time_that_earlier_fits_took_counts():
    limits = FitLimits()
    assert not limits.is_set
    assert FitLimits(timeout=5.0).is_set and FitLimits(trial_timeout=5.0).is_set
    assert limits.overrun(1e9) is limits.overrun_search() is None
    assert limits.unallocated("MemoryError") is None
    limits = FitLimits(trial_timeout=5.0, spent=3.0)
    assert limits.overrun(2.0) is None
    assert limits.overrun(2.5).text == (
        "The fit was aborted after 2.5 s: trial_limits['time'] is 5 s, and the folds "
        "before it took 3 s."
    )


def test_a_fit_ends_at_the_deadline_of_the_search(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    limits = FitLimits(timeout=60.0, deadline=1020.0)
    assert limits.overrun(20.0) is None
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
