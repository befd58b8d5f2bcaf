"""Axes, colors and docstrings of displays."""

import inspect
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb

from skbayes import inspection
from skbayes.inspection import drawing

DISPLAYS = [
    getattr(inspection, name) for name in inspection.__all__ if "Display" in name
]


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "skbayes\[plot\]"'):
        drawing.get_axes()


def test_axes_are_made_or_taken():
    assert [len(drawing.get_many_axes(None, n, 3)) for n in (1, 3, 5)] == [1, 3, 5]
    axes = plt.subplots(2, 2)[1]
    assert drawing.get_many_axes(axes, 4, 3).tolist() == axes.ravel().tolist()
    with pytest.raises(ValueError, match="ax must have 3 axes"):
        drawing.get_many_axes(axes, 3, 3)
    with pytest.raises(TypeError, match="ax must be matplotlib axes"):
        drawing.get_many_axes([1, 2], 2, 3)
    # The place of one plot is divided.
    other = plt.subplots(1, 2)[1][1]
    parts = drawing.get_many_axes(other, 4, 2)
    assert all(part.figure is other.figure for part in parts)
    other.figure.canvas.draw()
    left = other.get_position().x0
    assert min(part.get_position().x0 for part in parts) >= left - 1e-9


def test_docstrings_are_complete_at_run_time():
    for display in DISPLAYS:
        for thing in (display, display.from_search, display.from_history, display.plot):
            assert "%(" not in inspect.getdoc(thing)
        text = inspect.getdoc(display.from_search)
        for name in inspect.signature(display.from_search).parameters:
            assert f"{name} : " in text, display
    with pytest.raises(ValueError, match=r"%\(serch\)s is not one of .*, search, "):
        type("Misspelled", (drawing._Display,), {"__doc__": "Display.\n\n%(serch)s"})
    # As with python -OO.
    plot = {"plot": lambda self, ax=None: self}
    assert type("Bare", (drawing._Display,), plot).plot.__doc__ is None


def lightness(colors):
    """Return the luminance of colors, without the correction of screens."""
    return np.array([to_rgb(color) for color in colors]) @ [0.2126, 0.7152, 0.0722]


def test_series_differ_without_colors():
    assert len({str(one.linestyle) for one in drawing.SERIES}) == len(drawing.SERIES)
    assert len({one.marker for one in drawing.SERIES}) == len(drawing.SERIES)
    assert np.ptp(lightness([one.color for one in drawing.SERIES[:3]])) > 0.2


@pytest.mark.parametrize("dark", [False, True])
def test_better_scores_have_more_contrast_in_gray(dark):
    shades = lightness(drawing.score_colors(dark)(np.linspace(0, 1, 50)))
    assert np.all(np.diff(shades if dark else -shades) > 0)


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_ink_is_dark_on_white_and_light_on_black(style):
    is_dark = style != "default"
    with plt.style.context(style):
        tones = drawing.tones(plt.subplots()[1])
    ends = (tones.background, tones.foreground)
    assert ends == (((0, 0, 0), (1, 1, 1)) if is_dark else ((1, 1, 1), (0, 0, 0)))
    assert tones.dark == is_dark
    if is_dark:
        assert lightness(tones.series(k).color for k in range(6)).min() > 0.2
        return
    assert to_hex(tones.gray) == "#6e6e6e" and to_hex(tones.faint) == "#c8c8c8"
    for k in range(2 * len(drawing.SERIES)):
        same = drawing.SERIES[k % len(drawing.SERIES)]
        assert to_rgb(tones.series(k).color) == to_rgb(same.color)
        assert tones.series(k).marker == same.marker


def test_the_color_of_texts_is_used_where_it_can_be_read():
    with plt.rc_context({"text.color": "navy", "figure.facecolor": "0.1"}):
        figure, (light, dark) = plt.subplots(1, 2)
        dark.set_facecolor("0.2")
        assert drawing.tones(light).foreground == to_rgb("navy")
        assert drawing.tones(dark).foreground == (1, 1, 1)
        assert drawing.tones(figure).background == to_rgb("0.1")
        # Axes and parts of a figure are transparent.
        light.set_facecolor("none")
        assert drawing.tones(light) == drawing.tones(figure)
        part = figure.subfigures().subplots()
        part.set_facecolor((1, 1, 1, 0.5))
        assert drawing.tones(part).background == pytest.approx((0.55,) * 3)
    # Behind a transparent figure, texts can be read.
    clear = {"figure.facecolor": "none", "axes.facecolor": "none"}
    for texts, behind in (("white", "black"), ("black", "white")):
        with plt.rc_context({**clear, "text.color": texts}):
            tones = drawing.tones(plt.subplots()[1])
        assert tones.foreground == to_rgb(texts)
        assert tones.background == to_rgb(behind)


@pytest.mark.parametrize("sign", [1, -1])
def test_outliers_are_shown_at_the_edge(sign):
    ax = plt.subplots()[1]
    scores = sign * np.array([0.9, 0.91, 0.92, 0.93, -50.0, np.nan])
    ax.scatter(np.arange(6), scores, gid=drawing.TRIALS)
    drawing.set_robust_ylim(ax, sign)
    low, high = ax.get_ylim()
    seen = (low <= scores) & (scores <= high)
    assert seen.tolist() == [True] * 4 + [False] * 2
    (edge,) = [one for one in ax.collections if one.get_gid() == drawing.EDGE]
    assert edge.get_offsets()[:, 0].tolist() == [4]
    # With another search that is as bad, it is no longer an outlier.
    ax.scatter(np.arange(8), sign * np.full(8, -50.0), gid=drawing.TRIALS)
    drawing.set_robust_ylim(ax, sign)
    low, high = ax.get_ylim()
    assert low <= sign * -50 <= high
    assert not [one for one in ax.collections if one.get_gid() == drawing.EDGE]


def test_y_limits_include_equal_scores():
    ax = plt.subplots()[1]
    before = ax.get_ylim()
    drawing.set_robust_ylim(ax, 1)
    assert ax.get_ylim() == before
    ax.scatter([1, 2], [0.5, 0.5], gid=drawing.TRIALS)
    drawing.set_robust_ylim(ax, 1)
    low, high = ax.get_ylim()
    assert low < 0.5 < high
