"""Scales of parameters on axes, and texts."""

import drawn_searches as drawn
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from skbayes.inspection import ParallelCoordinatesDisplay, read_record
from skbayes.inspection.scales import (
    label_of,
    name_label,
    parameter_scales,
    plain,
    shorten,
)
from skbayes.space import Categorical, Distribution, Ordinal, Real, Space
from skbayes.trial.records import History


def scales_of(params, spaces=None, **kwargs):
    history = History([drawn.trial(k, 0.5, one) for k, one in enumerate(params)])
    return parameter_scales(read_record(history, search_spaces=spaces), **kwargs)


def only(values, dimension=None):
    """Return the scale of one parameter with these values."""
    spaces = None if dimension is None else {"a": dimension}
    (scale,) = scales_of([{"a": value} for value in values], spaces)
    return scale


@pytest.mark.parametrize(
    "dimension, kind, ends",
    [
        ((0.01, 100.0, "log"), "log", (0.01, 100.0)),
        ((1, 10, "log-uniform"), "log", (1, 10)),
        ((0.0, 1.0), "linear", (0, 1)),
        ((1, 1000), "linear", (1, 1000)),
        (stats.loguniform(1e-3, 1e3), "log", (1e-3, 1e3)),
        (stats.uniform(1, 9), "linear", (1, 10)),
        (stats.norm(5, 1), "linear", (2.7, 7.3)),
        ([1, 2, 4, 8, 16], "log", (1, 16)),
        ([1, 2, 3, 4], "linear", (1, 4)),
        (["a", "b", 1], "options", (0, 2)),
        (Ordinal(["low", "middle", "high"]), "options", (0, 2)),
        (Categorical([1, 5, 3]), "options", (0, 2)),
    ],
)
def test_the_space_says_the_scale(dimension, kind, ends):
    space = Space.from_notation({"a": dimension})
    values = [one["a"] for one in space.decode(np.array([[0.4], [0.6]]))]
    scale = only(values, dimension)
    assert scale.kind == kind
    np.testing.assert_allclose((scale.low, scale.high), ends, rtol=0.2, atol=0.1)
    if not isinstance(space.columns[0].dimension, Distribution):
        np.testing.assert_allclose((scale.low, scale.high), ends)


@pytest.mark.parametrize(
    "values, kind",
    [
        ([1.0, 100.0], "log"),
        ([1.0, 99.0], "linear"),
        ([0.0, 1000.0], "linear"),
        ([-1, 5], "linear"),
        ([True, False], "options"),
        (["a", None, 3], "options"),
        ([7], "linear"),
    ],
)
def test_without_a_space_the_values_determine_the_scale(values, kind):
    scale = only(values)
    assert scale.kind == kind
    assert scale == only(values[::-1])


def test_positions_run_from_end_to_end():
    scale = only([0.01, 1.0, 100.0])
    v = scale.values([{"a": 0.01}, {"a": 1.0}, {"a": 100.0}, {}])
    np.testing.assert_allclose(scale.positions(v), [0.0, 0.5, 1.0, np.nan])
    options = only(["x", "y", "z"])
    v = options.values([{"a": "z"}, {"a": "x"}, {"b": "y"}])
    np.testing.assert_array_equal(v, [2, 0, np.nan])
    # Options are distinguished by type, and few of them keep their order.
    scale = only([1, True, "1", 1.0])
    assert sorted(map(str, scale.options)) == ["1", "1", "1.0", "True"]
    assert len(set(scale.values([{"a": one} for one in (1, True, "1", 1.0)]))) == 4
    scale = only(["b", 3, "a", 1], Categorical(["b", 3, "a", 1]))
    assert scale.options == ["b", 3, "a", 1]
    np.testing.assert_array_equal(scale.ticks()[0], [0, 1, 2, 3])
    v, labels = only([1, 16], [1, 2, 4, 8, 16]).ticks()
    assert v.tolist() == [1, 2, 4, 8, 16]
    assert labels == ["1", "2", "4", "8", "16"]
    # Powers of ten alone are enough for two decades.
    v, _ = only([1.0, 99.0], (1.0, 100.0, "log-uniform")).ticks()
    assert v.tolist() == [1.0, 10.0, 100.0]


NUMBERS = st.integers(-20, 20).map(lambda k: 10.0 ** (k / 2)) | st.floats(-1e9, 1e9)


@given(st.lists(NUMBERS, min_size=1) | st.lists(st.integers(-99, 999), min_size=1))
@example(["a", "b"])
@example([0.12345, 0.12346])
def test_ticks_are_few_and_axes_show_all_values(values):
    scale = only(values)
    ticks, labels = scale.ticks()
    assert 1 <= len(ticks) == len(labels) <= max(10, len(set(values)))
    u = scale.positions(ticks)
    assert np.all((u >= -1e-9) & (u <= 1 + 1e-9))
    assert len(set(labels)) == len(labels)
    v = scale.values([{"a": value} for value in values])
    assert np.all((scale.low <= v) & (v <= scale.high))


def test_parameters_of_branches_have_one_scale_each():
    names = [one.name for one in parameter_scales(read_record(drawn.search("bayes")))]
    assert sorted(names) == ["C", "coef0", "degree", "gamma", "kernel", "shrinking"]
    spaces = [{"a": (0.1, 10.0)}, {"a": (5.0, 20.0), "b": [1, 2]}]
    scale, _ = scales_of([{"a": 0.5}, {"a": 6.0, "b": 1}], spaces)
    assert (scale.low, scale.high) == (0.1, 20.0)


def test_constant_hyper_parameters_are_left_out():
    params = [{"a": 1, "b": 2}, {"a": 2, "b": 2}]
    assert [one.name for one in scales_of(params)] == ["a"]
    assert [one.name for one in scales_of(params, names=["b"])] == ["b"]
    # Constants have a scale only if all values are constant.
    assert [one.name for one in scales_of(params[:1])] == ["a", "b"]


def test_training_size_is_a_parameter_where_it_is_chosen():
    record = read_record(drawn.search("tradeoff"))
    display = ParallelCoordinatesDisplay(record)
    assert display.record is record
    assert [one.name for one in display.scales] == ["C", "share of rows"]
    np.testing.assert_array_equal(display.values[1], record.train_fraction)
    assert len(ParallelCoordinatesDisplay(record, ["C"]).scales) == 1
    # A size that grows from stage to stage has no axis: stages cannot be compared.
    record = read_record(drawn.search("stages"))
    display = ParallelCoordinatesDisplay(record)
    drawn_record, last = display.record, record.stage == 1
    np.testing.assert_array_equal(drawn_record.number, record.number[last])
    assert drawn_record.params == [record.params[i] for i in np.flatnonzero(last)]
    for name, scores in record.scores.items():
        np.testing.assert_array_equal(drawn_record.scores[name], scores[last])
    assert "share of rows" not in [one.name for one in display.scales]
    assert len(display.values[0]) == last.sum()
    assert drawn_record.number[drawn_record.best] == record.number[record.best]


@pytest.mark.parametrize("n_words, n_numbers", [(2, 20), (1, 40), (6, 30), (0, 40)])
def test_labels_of_words_and_many_numbers_are_apart(n_words, n_numbers):
    words = ["scale", "auto", "none", "balanced", "sqrt", "log2"][:n_words]
    numbers = [round(1e-4 * 1.31**k, 7) for k in range(n_numbers)]
    tried = [*numbers[::-1], *words]
    scale = only(tried, Categorical([*words, *numbers]))
    v, labels = scale.ticks()
    assert set(words) <= set(labels) and f"{numbers[-1]:.4g}" in labels
    assert len(labels) <= n_words + 6
    # Numbers follow the words and increase.
    assert scale.options == [*words, *numbers]
    places = scale.values([{"a": one} for one in scale.options])
    assert places[-1] == scale.high and np.all(np.diff(places) >= 0.99 * scale.gap)
    # The ticks keep a line of text apart on an axis with room for 25.
    assert np.all(np.diff(np.sort(v)) >= scale.high / 25)


def test_long_texts_are_cut_at_the_end_or_in_the_middle():
    assert label_of(len) == "len"
    assert label_of("word") == "word"
    assert label_of(1e-5 / 3) == "3.3333…37e-06"
    assert label_of(Real(0, 10)) == "Real(0.0, 10.…"
    assert len(label_of("x" * 100)) == 14
    assert shorten("gamma", 5) == "gamma"
    assert shorten("gamma__rbf", 6) == "gamma…"
    name = "votingclassifier__svc__gamma"
    assert shorten(name, 20, middle=True) == "votingcla…vc__gamma"
    assert plain("a$b$\x00\ud800") == r"a\$b\$" + "\ufffd\ufffd"


@pytest.mark.parametrize("name", ["$\\no$", "x" * 12 + "$y_$" + "z" * 30, "$" * 60])
def test_names_are_cut_before_formulas_are_escaped(name):
    drawn = name_label(name, 20)
    assert drawn.count("$") == drawn.count(r"\$")
    figure, ax = plt.subplots()
    ax.set_title(drawn)
    figure.canvas.draw()
