"""Common properties of all displays."""

import dataclasses
import inspect
import pickle

import drawn_searches as drawn
import matplotlib.pyplot as plt
import numpy as np
import pytest
from contrast import contrast
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgba, to_rgba_array
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import RandomizedSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from skbayes import BayesSearchCV, inspection
from skbayes.inspection import (
    ConvergenceDisplay,
    ImportanceDisplay,
    ParallelCoordinatesDisplay,
    ParetoDisplay,
    PartialDependenceDisplay,
    TradeoffDisplay,
    read_record,
)
from skbayes.trial.records import History

DISPLAYS = [
    ConvergenceDisplay,
    ImportanceDisplay,
    ParallelCoordinatesDisplay,
    PartialDependenceDisplay,
]

# Displays that reject searches without the data to display.
SPECIAL = [ParetoDisplay, TradeoffDisplay]

each_display = pytest.mark.parametrize("display", DISPLAYS)


# Each display with three kinds of searches, and the displays of one kind with it.
CASES = [
    (display, kind)
    for i, display in enumerate(DISPLAYS)
    for j, kind in enumerate(drawn.KINDS)
    if (i + j) % 3 == 0
]
CASES += [(ConvergenceDisplay, "stages"), (ConvergenceDisplay, "hypertune")]
CASES += [(TradeoffDisplay, "tradeoff")]
CASES = sorted(set(CASES), key=str)


def test_all_displays_are_listed():
    names = {name for name in inspection.__all__ if name.endswith("Display")}
    assert {display.__name__ for display in DISPLAYS + SPECIAL} == names


def arguments(display):
    """Return the arguments of the constructor, which are attributes."""
    names = inspect.signature(type(display).__init__).parameters
    return {name: getattr(display, name) for name in names if name != "self"}


def drawn_data(figure):
    """Return the data of all lines, points, areas and texts."""
    data = []
    for ax in figure.axes:
        data += [line.get_xydata() for line in ax.lines]
        for collection in ax.collections:
            data.append(np.asarray(collection.get_offsets()))
            data += [path.vertices for path in collection.get_paths()]
        data += [np.array(patch.get_bbox()) for patch in ax.patches]
        data.append([text.get_text() for text in ax.findobj(Text)])
    return data


@each_display
def test_a_pickled_search_or_the_stored_data_give_the_same_picture(display):
    search = drawn.search("stages")
    made = display.from_search(search)
    again = display(**arguments(made))
    assert not hasattr(again, "ax_")
    assert again.plot() is again
    unpickled = display.from_search(pickle.loads(pickle.dumps(search)))
    for other in (again, unpickled):
        assert other.figure_ is not made.figure_
        pairs = zip(drawn_data(made.figure_), drawn_data(other.figure_), strict=True)
        for one, two in pairs:
            np.testing.assert_array_equal(one, two)


def shown(artist):
    """Return the colors of an artist, without intentionally faint areas."""
    if isinstance(artist, Text):
        return [artist.get_color()] if artist.get_text().strip() else []
    if isinstance(artist, Line2D):
        line = artist.get_linestyle() not in ("None", "none", " ", "")
        marked = artist.get_marker() not in ("None", "none", " ", "", None)
        colors = [artist.get_color()] if line else []
        colors += [artist.get_markeredgecolor()] if marked else []
        alpha = artist.get_alpha()
        return [to_rgba(c, alpha) for c in colors] if len(artist.get_xdata()) else []
    if isinstance(artist, PathCollection):
        faces, edges = artist.get_facecolors(), artist.get_edgecolors()
        drawn = len(artist.get_offsets())
        colors = (faces if len(faces) else edges) if drawn else []
        # Trials without a score are not drawn.
        return [color for color in colors if color[3] > 0.0]
    if isinstance(artist, LineCollection):
        return artist.get_colors() if artist.get_segments() else []
    if isinstance(artist, Rectangle):
        hollow = artist.get_hatch() and artist.get_facecolor()[:3] == (0.0, 0.0, 0.0)
        return [artist.get_edgecolor() if hollow else artist.get_facecolor()]
    return []


def hardly_seen(figure):
    """Return the elements with too little contrast to their background."""
    figure.set_layout_engine("none")
    figure.draw_without_rendering()
    faint = []
    for ax in figure.axes:
        own = [*ax.texts, *ax.lines, *ax.collections, *ax.patches]
        for axis in (ax.xaxis, ax.yaxis):
            own += [axis.label, *axis.get_ticklabels()]
        if ax.get_legend():
            own += [*ax.get_legend().get_texts(), *ax.get_legend().get_lines()]
        for artist in own:
            colors = shown(artist) if artist.get_visible() else []
            least = 4.5 if isinstance(artist, Text) else 2.0
            # The background is black.
            rgba = to_rgba_array(colors)
            contrasts = contrast(rgba[:, 3:] * rgba[:, :3], [0.0, 0.0, 0.0])
            if contrasts.min(initial=np.inf) < least:
                faint.append((artist, colors))
    return faint


@pytest.fixture
def dark():
    with plt.style.context("dark_background"):
        yield


@pytest.mark.parametrize("display, kind", CASES)
def test_every_search_can_be_drawn(display, kind, dark):
    """All texts can be drawn, and everything is seen on a dark background."""
    made = display.from_search(drawn.search(kind))
    assert made.ax_.figure is made.figure_
    assert hardly_seen(made.figure_) == []


@pytest.mark.parametrize("kind", ["front", "evolution"])
def test_fronts_and_many_searches_are_seen_on_a_dark_background(kind, dark):
    made = ParetoDisplay.from_search(drawn.search("pareto"), kind=kind)
    assert hardly_seen(made.figure_) == []
    ax = None
    for k in range(8):
        history = drawn.history(0.5 + 0.01 * k, None, 0.6)
        ax = ConvergenceDisplay.from_history(history, ax=ax, name=f"{k}").ax_
    assert hardly_seen(ax.figure) == []


@each_display
def test_running_and_missing_trials_are_seen_on_a_dark_background(
    display, tmp_path, dark
):
    scores = ((None, None), (None, 0.5), (), (1, 1))
    sources = [drawn.history(*some) for some in scores]
    for n_done in (0, 4):
        sources.append(tmp_path / f"journal{n_done}")
        drawn.running_journal(sources[-1], n_done=n_done, n_running=2)
    for source in sources:
        made = display.from_history(source)
        assert made.ax_.figure is made.figure_
        assert hardly_seen(made.figure_) == []
        plt.close(made.figure_)


@each_display
def test_axes_of_another_style_are_drawn_on_as_they_are(display):
    with plt.style.context("dark_background"):
        figure, ax = plt.subplots()
        made = display.from_search(drawn.search("bayes"), ax=ax)
        figure.draw_without_rendering()
        before = [shown(one) for one in (*ax.lines, *ax.collections, *ax.patches)]
    with plt.style.context("dark_background"):
        figure, ax = plt.subplots()
    assert made.plot(ax) is made
    figure.draw_without_rendering()
    after = [shown(one) for one in (*ax.lines, *ax.collections, *ax.patches)]
    assert len(before) == len(after)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(to_rgba_array(one), to_rgba_array(other))


@each_display
def test_a_metric_may_be_called_anything(display):
    record = read_record(drawn.search("bayes"))
    odd = dataclasses.replace(record, metric=r"$\nonsense{$", name=r"_$\nonsense{$")
    made = display.from_history(odd)
    made.figure_.canvas.draw()
    assert made.ax_.get_figure() is made.figure_


@each_display
def test_it_is_drawn_where_the_user_says(display):
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    made = display.from_history(drawn.history(0.5, 0.6), ax=right)
    assert made.figure_ is figure
    assert len(left.get_children()) == len(plt.subplots()[1].get_children())
    with pytest.raises(TypeError, match="ax must be matplotlib axes"):
        display.from_history(drawn.history(0.5), ax="right")


@each_display
def test_what_cannot_be_drawn(display):
    with pytest.raises(NotFittedError):
        display.from_search(BayesSearchCV(SVC(), {"C": [1]}))
    with pytest.raises(TypeError, match="source must be"):
        display.from_history([1, 2, 3])
    if "metric" in inspect.signature(display.from_search).parameters:
        with pytest.raises(ValueError, match="metric must be one of"):
            display.from_search(drawn.search("bayes"), metric="f1")


def test_a_search_of_scikit_learn():
    other = RandomizedSearchCV(GaussianNB(), {"var_smoothing": [1e-3, 1]}, n_iter=2)
    other.fit(drawn.X, drawn.y)
    for display in DISPLAYS:
        assert display.from_search(other).ax_.get_figure()


@pytest.mark.parametrize(
    "display",
    [ImportanceDisplay, ParallelCoordinatesDisplay, PartialDependenceDisplay],
)
def test_the_first_ten_of_many_parameters_have_room(display):
    names = [f"step_number_{k}__parameter" for k in range(10)]
    trials = History(
        [
            drawn.trial(k, 0.1 * k, {n: k + i for i, n in enumerate(names)}, started=k)
            for k in range(5)
        ]
    )
    figure = display.from_history(trials).figure_
    figure.canvas.draw()
    width, height = figure.get_size_inches()
    assert width <= 14 and height <= 11
