"""Pictures are drawn without a screen, and leave nothing behind."""

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

import matplotlib.pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def no_traces():
    before = dict(matplotlib.rcParams)
    yield
    plt.close("all")
    assert dict(matplotlib.rcParams) == before
