"""Common properties of all displays."""

import dataclasses
import inspect
import pickle

import drawn_searches as drawn
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb, to_rgba_array
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

# Fewer values and parameters than by default.
FAST = {PartialDependenceDisplay: {"resolution": 4}}
SMALL = {PartialDependenceDisplay: {"params": ["C", "kernel"], "resolution": 4}}

each_display = pytest.mark.parametrize("display", DISPLAYS)


def test_all_displays_are_listed():
    names = {name for name in inspection.__all__ if name.endswith("Display")}
    assert {display.__name__ for display in DISPLAYS + SPECIAL} == names


def pixels(display):
    display.figure_.set_layout_engine("none")  # it moves axes with each call
    display.figure_.canvas.draw()
    return np.asarray(display.figure_.canvas.buffer_rgba())


@each_display
def test_a_pickled_search_or_the_stored_data_give_the_same_picture(display):
    search = drawn.search("stages")
    original = display.from_search(search, **SMALL.get(display, {}))
    stored = {
        name: getattr(original, name) for name in inspect.signature(display).parameters
    }
    again = display(**stored)
    assert not hasattr(again, "ax_")
    assert again.plot() is again
    again_search = pickle.loads(pickle.dumps(search))
    unpickled = display.from_search(again_search, **SMALL.get(display, {}))
    expected = pixels(original)
    for other in (again, unpickled):
        assert other.figure_ is not original.figure_
        np.testing.assert_array_equal(pixels(other), expected)


def assert_texts_are_light(display):
    assert display.ax_.figure is display.figure_
    display.figure_.draw_without_rendering()
    texts = [one for one in display.figure_.findobj(Text) if one.get_text().strip()]
    assert texts and all(np.mean(to_rgb(one.get_color())) > 0.4 for one in texts)


@pytest.mark.parametrize(
    "display, kind, options",
    [
        (TradeoffDisplay, "tradeoff", {}),
        (ParetoDisplay, "pareto", {"kind": "front"}),
        (ParetoDisplay, "pareto", {"kind": "evolution"}),
    ],
)
def test_a_search_is_drawn_on_a_dark_background(display, kind, options):
    """The pages of reports show searches of all kinds on white."""
    with plt.style.context("dark_background"):
        assert_texts_are_light(display.from_search(drawn.search(kind), **options))


def sources(folder):
    """Yield sources of all kinds, with running and missing trials, and any text."""
    other = RandomizedSearchCV(GaussianNB(), {"var_smoothing": [1e-3, 1]}, n_iter=2)
    yield from (drawn.search("stages"), other.fit(drawn.X, drawn.y))
    for scores in ((None, None), (None, 0.5), (), (1, 1)):
        yield drawn.history(*scores)
    for n_done in (0, 4):
        drawn.running_journal(folder / str(n_done), n_done=n_done, n_running=2)
        yield folder / str(n_done)
    names = [r"$x_$", r"\frac{", "\x1b[31m<b>"]
    values = [(k, "$y_$", f"\n{k % 2}") for k in range(10)]
    params = [dict(zip(names, row, strict=True)) for row in values]
    history = History(drawn.trial(k, k / 9, one) for k, one in enumerate(params))
    record = read_record(history, name=r"_$\nonsense{$")
    yield dataclasses.replace(record, metric=r"$\nonsense{$")


@each_display
def test_any_source_is_drawn_on_a_dark_background(display, tmp_path):
    with plt.style.context("dark_background"):
        for source in sources(tmp_path):
            options = FAST.get(display, {})
            assert_texts_are_light(display.from_history(source, **options))


def colors(ax):
    ax.figure.draw_without_rendering()
    areas = [*ax.collections, *ax.patches]
    each = [line.get_color() for line in ax.lines]
    each += [area.get_facecolor() for area in areas]
    each += [area.get_edgecolor() for area in areas]
    return [*map(to_rgba_array, each)]


@each_display
def test_axes_of_the_user_are_drawn_on_as_they_are(display):
    with plt.style.context("dark_background"):
        (left, right), other = plt.subplots(1, 2)[1], plt.subplots()[1]
        options = {"ax": right, **SMALL.get(display, {})}
        drawn_display = display.from_search(drawn.search("bayes"), **options)
        right.figure.draw_without_rendering()
    assert drawn_display.figure_ is right.figure
    assert len(left.get_children()) == len(plt.subplots()[1].get_children())
    assert drawn_display.plot(other) is drawn_display
    for before, after in zip(*map(colors, (right, other)), strict=True):
        np.testing.assert_allclose(before, after)


@each_display
def test_wrong_sources_and_axes_are_refused(display):
    with pytest.raises(NotFittedError):
        display.from_search(BayesSearchCV(SVC(), {"C": [1]}))
    with pytest.raises(TypeError, match="source: expected a fitted search"):
        display.from_history([1, 2, 3])
    with pytest.raises(TypeError, match="ax must be matplotlib axes"):
        display.from_history(drawn.history(0.5), ax="right")


LINES, EFFECTS = ParallelCoordinatesDisplay, PartialDependenceDisplay
PAIRS = "params must be a list of names, or of pairs of different names, among"
NOT_PAIRS = [("a", "a")], [("a", "b", "c")], [()]
GOALS = [None, ["accuracy"], {"accuracy": "max"}, {"accuracy": "max", "size": "min"}]
GOALS += [{"accuracy": one, "fit_time": "min"} for one in ("up", ["max"])]
UNTIMED = History([drawn.trial(0, 0.5, {"a": 1})])
# Display, argument, wrong values, and the error.
WRONG = [
    *((display, "metric", ["f1"], "metric must be one of") for display in DISPLAYS),
    (ConvergenceDisplay, "by", ["minutes"], "by must be 'trials' or 'seconds'"),
    (ConvergenceDisplay, "by", ["seconds"], "by='seconds': the times"),
    (LINES, "top", [2], r"top must be in \(0, 1\], got 2"),
    (LINES, "params", [["z"], [], "a", [1], 3], "params must be a list of names among"),
    (EFFECTS, "params", [["z"], "a", 3, [3], *NOT_PAIRS], PAIRS),
    (EFFECTS, "resolution", [1, 2.5], "resolution must be an integer >= 2"),
    (EFFECTS, "surrogate", ["tpe"], "does not predict scores"),
    (EFFECTS, "surrogate", ["gpp"], "surrogate must be one of"),
    (ParetoDisplay, "objectives", GOALS, "objectives must be a dict .*'fit_time'"),
    (TradeoffDisplay, "cost", [None], "cost or tradeoff must be given"),
    (TradeoffDisplay, "cost", ["size"], "cost must be one of"),
    (TradeoffDisplay, "tradeoff", [-1], "tradeoff must be a number >= 0"),
]


@pytest.mark.parametrize("display, name, values, match", WRONG)
def test_wrong_arguments_are_refused_before_drawing(display, name, values, match):
    source = drawn.search("metrics") if display in SPECIAL else UNTIMED
    for value in values:
        with pytest.raises(ValueError, match=match):
            display.from_search(source, **{name: value})
    assert not plt.get_fignums()


@pytest.mark.parametrize("display", DISPLAYS[1:])
def test_the_first_ten_of_many_parameters_have_room(display):
    names = [f"step_number_{k}__parameter" for k in range(10)]
    params = [{name: k + i for i, name in enumerate(names)} for k in range(5)]
    trials = [drawn.trial(k, 0.1 * k, params[k], started=k) for k in range(5)]
    figure = display.from_history(History(trials)).figure_
    figure.canvas.draw()
    width, height = figure.get_size_inches()
    assert width <= 14 and height <= 11
