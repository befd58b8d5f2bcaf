"""Axes of displays, and their docstrings."""

import inspect
import sys

import matplotlib.pyplot as plt
import pytest

from skbayes import inspection
from skbayes.inspection import base

DISPLAYS = [
    getattr(inspection, name) for name in inspection.__all__ if "Display" in name
]


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "skbayes\[plot\]"'):
        base.get_axes()


def test_axes():
    ax = plt.subplots()[1]
    assert base.get_axes(ax) is ax
    assert base.get_axes().figure is not ax.figure
    with pytest.raises(TypeError, match="ax must be matplotlib axes"):
        base.get_axes("ax")
    assert [len(base.get_many_axes(None, n, 3)) for n in (1, 3, 5)] == [1, 3, 5]
    given = plt.subplots(2, 2)[1]
    assert base.get_many_axes(given, 4, 3).tolist() == given.ravel().tolist()
    with pytest.raises(ValueError, match="ax must have 3 axes"):
        base.get_many_axes(given, 3, 3)
    with pytest.raises(TypeError, match="ax must be matplotlib axes"):
        base.get_many_axes([1, 2], 2, 3)
    # The place of one is divided.
    one, other = plt.subplots(1, 2)[1]
    parts = base.get_many_axes(other, 4, 2)
    assert all(part.figure is other.figure for part in parts)
    other.figure.canvas.draw()
    left = other.get_position().x0
    assert min(part.get_position().x0 for part in parts) >= left - 1e-9


def test_docstrings_are_complete_at_run_time():
    for display in DISPLAYS:
        for thing in (display, display.from_search, display.from_history, display.plot):
            text = inspect.getdoc(thing)
            assert "%(" not in text
        text = inspect.getdoc(display.from_search)
        for name in inspect.signature(display.from_search).parameters:
            assert f"{name} : " in text, display

    class Bare(base._Display):  # as with python -OO
        def plot(self, ax=None):
            return self

    assert Bare.plot.__doc__ is None
