"""Plots without a screen and without changes of settings."""

import matplotlib
import pytest

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def same_settings():
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before
