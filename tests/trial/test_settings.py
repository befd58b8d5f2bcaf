"""Meaning of the values of `refit`, of limits, and of sizes."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from skbayes.results import OneStandardError
from skbayes.trial.limits import FitLimits, memory_text
from skbayes.trial.settings import (
    RefitChoice,
    parse_limits,
    parse_size,
    parse_time,
    refit_choice,
)

BY_F1, INF = OneStandardError(metric="f1"), float("inf")


@pytest.mark.parametrize(
    ("refit", "scoring", "expected"),
    [
        (True, None, RefitChoice(True)),
        (False, ["f1"], RefitChoice(False)),
        ("f1", ["f1", "recall"], RefitChoice("f1", metric="f1")),
        ("ensemble", ["f1"], RefitChoice("f1", "ensemble")),
        ("ensemble", {"ensemble": 0}, RefitChoice("ensemble", metric="ensemble")),
        ("ensemble", None, RefitChoice(True, "ensemble")),
        ("ensemble", max, RefitChoice(True, "ensemble")),
        (BY_F1, None, RefitChoice(BY_F1, metric="f1")),
        (
            {"rule": "ensemble", "metric": "f1", "max_members": 3},
            None,
            RefitChoice("f1", "ensemble", "f1", {"max_members": 3}),
        ),
        ({"f1": 1, "fit_time": 2}, None, RefitChoice({"f1": 1, "fit_time": 2})),
    ],
)
def test_refit_determines_the_choice(refit, scoring, expected):
    assert refit_choice(refit, scoring) == expected


parse_seconds = partial(parse_time, "timeout")
parse_bytes = partial(parse_size, "memory")


SIZES = {1: 1, 1e9: 10**9, "1 B": 1, "2kB": 2000, " 1.5 GB ": 1_500_000_000}
SIZES |= {"3 mib": 3 << 20, "1 TiB": 1 << 40, "0.3 B": 1, "1 GB 500 MB": 1_500_000_000}
TIMES = {None: None, 2.5: 2.5, "90 s": 90, "5 min": 300, " 1h30m ": 5400, "1 H": 3600}
TIMES |= {"2 days 1 hour": 176_400, "0.5s": 0.5, Fraction(3, 4): 0.75}
TIMES |= {np.float16(0.25): 0.25}  # a sum with it would have 16 bits, too


@pytest.mark.parametrize(
    "read, value, expected",
    [
        *((parse_bytes, *case) for case in SIZES.items()),
        *((parse_seconds, *case) for case in TIMES.items()),
    ],
)
def test_memory_and_time_as_text_or_number(read, value, expected):
    assert (type(read(value)), read(value)) == (type(expected), expected)


@pytest.mark.parametrize("value", [0, 1.5, INF, "1", "1 G", "-1 B", "0 B", "1e3 B", []])
def test_invalid_sizes_are_refused(value):
    with pytest.raises(ValueError, match="memory must be .* such as '2 GB', got"):
        parse_size("memory", value)


@pytest.mark.parametrize("size", [1e6, 3.21e8, 9.99e8, 1e9, 1.5e10])
def test_the_text_of_a_memory_is_read_as_that_memory(size):
    assert parse_size("memory", memory_text(size)) == size
    assert memory_text(312_400_000) == "312 MB"


def test_limits_of_trials_are_read_and_checked():
    limits = {"time": "5 min", "memory": None}
    assert parse_limits(limits, "1 h") == FitLimits(300, timeout=3600)
    assert parse_limits(None, None) == parse_limits({"time": None}, None) == FitLimits()
    with pytest.raises(ValueError, match="'seconds' is not the name of a limit"):
        parse_limits({"seconds": 3}, None)
    with pytest.raises(ValueError, match=r"trial_limits\['time'\] must be a positive"):
        parse_limits({"time": INF}, None)
