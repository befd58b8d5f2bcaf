"""Display of the best score so far."""

import dataclasses

import drawn_searches as drawn
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from skbayes.inspection import ConvergenceDisplay, read_record
from skbayes.inspection.drawing import SERIES
from skbayes.trial.records import History


def test_the_line_is_the_best_score_so_far():
    display = ConvergenceDisplay.from_history(drawn.history(None, 0.3, 0.2, None, 0.5))
    np.testing.assert_array_equal(display.x, [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(display.best, [np.nan, 0.3, 0.3, 0.3, 0.5])
    np.testing.assert_array_equal(display.line_.get_ydata(), display.best)
    assert display.points_.get_offsets().tolist() == [[1, 0.3], [2, 0.2], [4, 0.5]]
    assert display.failed_points_.get_offsets()[:, 0].tolist() == [0, 3]


def test_the_points_of_each_model_have_a_color_and_a_marker():
    models = [SVC(C=1.0), GaussianNB(), SVC(C=2.0)]
    trials = [
        drawn.trial(k, 0.5 + k / 10, {"model": one}) for k, one in enumerate(models)
    ]
    display = ConvergenceDisplay.from_history(History(trials))
    first, second, third = display.points_.get_facecolors()
    assert np.array_equal(first, third) and not np.array_equal(first, second)
    sizes = [len(path.vertices) for path in display.points_.get_paths()]
    assert sizes[0] == sizes[2] != sizes[1]
    assert drawn.legend(display)[1:] == ["SVC", "GaussianNB"]
    # The points of a further search are the points of the search.
    others = [ConvergenceDisplay.from_history(History(trials), ax=display.ax_)]
    for subset in (trials[:1], [*trials, drawn.trial(3, 0.4)]):
        others.append(ConvergenceDisplay.from_history(History(subset)))
    for other in others:
        assert len(np.unique(other.points_.get_facecolors(), axis=0)) == 1


def test_the_points_of_each_stage_have_a_color_and_a_marker():
    shares = [0.2, 0.2, 1.0, 1.0]
    trials = [
        drawn.trial(k, 0.5, stage=k // 2, train_fraction=one)
        for k, one in enumerate(shares)
    ]
    display = ConvergenceDisplay.from_history(History(trials))
    stages = ["stage 1: 20% of the rows", "stage 2: 100% of the rows"]
    assert drawn.legend(display)[1:3] == stages
    earlier = np.unique(display.other_points_.get_edgecolors(), axis=0)
    later = np.unique(display.points_.get_edgecolors(), axis=0)
    assert len(earlier) == len(later) == 1 and not np.array_equal(earlier, later)
    assert len(display.other_points_.get_facecolors()) == 0


def test_losses_are_positive_and_a_dashed_line_marks_the_current_values():
    search = drawn.search("metrics")
    display = ConvergenceDisplay.from_search(search)
    losses = -search.cv_results_["mean_test_neg_log_loss"]
    np.testing.assert_allclose(display.record.shown, losses)
    np.testing.assert_allclose(display.best, np.minimum.accumulate(losses))
    assert display.ax_.get_ylabel() == "log loss (lower is better)"
    loss = losses[search.own_index_]
    assert loss > losses.min()
    assert display.own_line_.get_ydata() == [loss, loss]
    assert display.own_line_.is_dashed()
    # Another search of the same estimator has the same own values.
    ConvergenceDisplay.from_search(search, ax=display.ax_)
    own = f"estimator's own values: {loss:.4g}"
    assert drawn.legend(display).count(own) == 1
    # The trials are ordered by their ends, for any metric.
    other = ConvergenceDisplay.from_search(search, metric="accuracy", by="seconds")
    accuracy = search.cv_results_["mean_test_accuracy"]
    np.testing.assert_allclose(other.best, np.maximum.accumulate(accuracy))
    assert other.own_line_.get_ydata()[0] == accuracy[search.own_index_]
    for unknown in (search.trials_, drawn.search("pareto")):
        assert ConvergenceDisplay.from_search(unknown).own_line_ is None


@pytest.mark.parametrize("score", [0.1, 0.93, 0.99, None])
def test_the_line_of_the_current_values_is_in_the_plot(score):
    history = drawn.history(score, *np.linspace(0.9, 0.95, 9))
    record = dataclasses.replace(read_record(history), own_index=0)
    display = ConvergenceDisplay(record).plot()
    low, high = display.ax_.get_ylim()
    assert low < 0.9 and high > 0.95
    # The score of a failed trial is unknown.
    assert display.own_line_ is None if score is None else low < score < high


def test_seconds_are_those_at_which_trials_finished():
    # Two trials are in flight, and the second one ends first.
    rows = (0.5, 10.0, 3.0), (0.4, 11.0, 1.0), (0.6, 12.5, 1.0)
    history = History(
        drawn.trial(k, score, started=started, duration=duration)
        for k, (score, started, duration) in enumerate(rows)
    )
    display = ConvergenceDisplay.from_history(history, by="seconds")
    assert display.x.tolist() == [2.0, 3.0, 3.5]
    assert display.record.shown.tolist() == [0.4, 0.5, 0.6]
    assert display.best.tolist() == [0.4, 0.5, 0.6]
    assert "seconds" in display.ax_.get_xlabel()


def test_only_comparable_trials_count():
    search = drawn.search("stages")
    display = ConvergenceDisplay.from_search(search)
    small = np.array([t.fidelity.stage == 0 for t in search.trials_])
    assert np.isnan(display.best[small]).all()
    assert display.best[-1] == search.best_score_
    assert len(display.other_points_.get_offsets()) == small.sum()
    history = History([drawn.trial(0, 0.5), drawn.trial(1, 0.9, state="pruned")])
    assert ConvergenceDisplay.from_history(history).best.tolist() == [0.5, 0.5]


def test_several_searches_share_axes_and_a_legend():
    grid = GridSearchCV(SVC(), {"C": [0.01, 1.0]}, cv=3).fit(drawn.X, drawn.y)
    one = ConvergenceDisplay.from_search(drawn.search("bayes"), name="mine")
    two = ConvergenceDisplay.from_search(grid, ax=one.ax_)
    three = ConvergenceDisplay.from_history(drawn.history(0.9, 0.95), ax=one.ax_)
    assert one.ax_ is two.ax_ is three.ax_
    for display, style in zip((one, two, three), SERIES, strict=False):
        assert to_rgb(display.line_.get_color()) == to_rgb(style.color)
    assert drawn.legend(one) == ["mine", "GridSearchCV", "search", "trial"]


def test_names_and_keywords_apply_to_lines_and_points():
    display = ConvergenceDisplay.from_history(drawn.history(0.5), name="_run $1$")
    assert drawn.legend(display)[0].strip() == r"_run \$1\$"
    assert drawn.legend(display.plot(name="other"))[0] == "other"
    display.plot(line_kw={"c": "red", "lw": 5, "label": "mine"}, point_kw={"s": 99})
    line = display.line_
    attributes = line.get_color(), line.get_linewidth(), line.get_label()
    assert attributes == ("red", 5, "mine")
    assert display.points_.get_sizes().tolist() == [99]
