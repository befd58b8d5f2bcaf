"""Limits on a single fit."""

import math
import time
from functools import partial

import pytest

from skbayes.evaluation.limits import FitLimits
from skbayes.evaluation.options import memory_text, parse_size, parse_time

parse_seconds = partial(parse_time, "timeout")
parse_bytes = partial(parse_size, "cache")


@pytest.mark.parametrize(
    "read, given, expected",
    [
        (parse_bytes, 1, 1),
        (parse_bytes, 1e9, 10**9),
        (parse_bytes, "1 B", 1),
        (parse_bytes, "2kB", 2000),
        (parse_bytes, " 1.5 GB ", 1_500_000_000),
        (parse_bytes, "3 mib", 3 << 20),
        (parse_bytes, "1 TiB", 1 << 40),
        (parse_bytes, "0.3 B", 1),
        (parse_seconds, None, None),
        (parse_seconds, 2.5, 2.5),
        (parse_seconds, "90 s", 90),
        (parse_seconds, "5 min", 300),
        (parse_seconds, " 1h30m ", 5400),
        (parse_seconds, "1 H", 3600),
        (parse_seconds, "2 days 1 hour", 176_400),
        (parse_seconds, "0.5s", 0.5),
    ],
)
def test_memory_and_time_as_text(read, given, expected):
    assert read(given) == expected


@pytest.mark.parametrize("given", [0, -1, 1.5, "1", "1 G", "-1 B", "0 B", "1e3 B", []])
def test_no_memory(given):
    with pytest.raises(ValueError, match="cache must be .* such as '2 GB', got"):
        parse_size("cache", given)


@pytest.mark.parametrize("size", [1e6, 3.21e8, 9.99e8, 1e9, 1.5e10])
def test_the_text_of_a_memory_is_read_as_that_memory(size):
    assert parse_size("cache", memory_text(size)) == size


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
