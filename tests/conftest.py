"""Threads, profile of hypothesis and open figures, for all tests."""

import os
import sys

import pytest
from hypothesis import settings

# Before NumPy is imported. The matrices of the tests are small, and threads that wait
# for one another on a busy machine take several times as long as one alone.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same examples on each run, however slow the machine is.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def close_figures():
    """Close figures, because examples leave more open than matplotlib allows."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
