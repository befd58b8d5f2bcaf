import functools
import itertools

import drawn_searches as drawn
import numpy as np
import pytest
from matplotlib.cbook import pts_to_poststep
from matplotlib.colors import to_rgb
from sklearn.tree import DecisionTreeClassifier

from skbayes import ParetoSearchCV
from skbayes.inspection import ParetoDisplay
from skbayes.inspection.drawing import select_trials

SPACES = {"max_depth": (1, 6), "min_samples_leaf": (1, 30)}
OBJECTIVES = {"accuracy": "max", "model_size": "min", "neg_log_loss": "max"}


@functools.cache
def search(n_objectives):
    tree = DecisionTreeClassifier(random_state=0)
    objectives = dict(list(OBJECTIVES.items())[:n_objectives])
    options = {"n_iter": 10, "cv": 2, "random_state": 0}
    options["journal"] = f"{drawn.FOLDER.name}/{n_objectives} objectives"
    return ParetoSearchCV(tree, SPACES, objectives, **options).fit(drawn.X, drawn.y)


@pytest.mark.parametrize("n_objectives", [2, 3])
def test_front_and_hypervolume_are_those_of_the_search(n_objectives):
    made = search(n_objectives)
    display = ParetoDisplay.from_search(made)
    np.testing.assert_array_equal(display.front, made.pareto_front_["trial"])
    np.testing.assert_allclose(display.hypervolume, made.hypervolume_)
    assert display.chosen == made.best_index_
    pairs = [*itertools.combinations(display.values[display.chosen], 2)]
    stars = [line for ax in display.axes_ for line in ax.lines]
    stars = [line for line in stars if "chosen" in line.get_label()]
    assert [(*line.get_xydata()[0],) for line in stars] == pairs
    by_journal = ParetoDisplay.from_history(made.journal)
    np.testing.assert_array_equal(by_journal.front, display.front)
    np.testing.assert_allclose(by_journal.values, display.values)
    by_history = ParetoDisplay.from_history(made.trials_, objectives=made.objectives)
    np.testing.assert_array_equal(by_history.front, display.front)


def test_line_runs_along_what_is_dominated():
    display = ParetoDisplay.from_search(search(2))
    assert len(display.points_[0].get_xdata()) + len(display.front) == 10
    line = display.fronts_[0][0]
    assert line.get_drawstyle() == "steps-post" and line.get_marker() == "o"
    path = pts_to_poststep(*line.get_data()).T
    at = display.values[display.front]
    np.testing.assert_allclose(path[::2], at)
    # A corner combines the worse value of both neighbors in each objective.
    np.testing.assert_allclose(path[1::2, 0], np.minimum(at[1:, 0], at[:-1, 0]))
    np.testing.assert_allclose(path[1::2, 1], np.maximum(at[1:, 1], at[:-1, 1]))


def test_evolution_shows_fronts_and_the_hypervolume():
    display = ParetoDisplay.from_search(search(2), kind="evolution")
    np.testing.assert_allclose(display.line_.get_ydata(), search(2).hypervolume_)
    np.testing.assert_array_equal(display.line_.get_xdata(), np.arange(10))
    assert len(display.axes_) == 2
    early, *_, last = display.fronts_[0]
    record = select_trials(display.record, np.arange(2))
    first = ParetoDisplay(record)
    np.testing.assert_allclose(early.get_xydata(), first.values[first.front])
    np.testing.assert_allclose(last.get_xydata(), display.values[display.front])
    # Later fronts are darker.
    light, dark = (np.mean(to_rgb(line.get_color())) for line in (early, last))
    assert light > dark


def test_three_objectives_are_pairs():
    display = ParetoDisplay.from_search(search(3), kind="evolution")
    assert len(display.axes_) == 4
    np.testing.assert_allclose(
        display.fronts_[1][-1].get_xydata(), display.values[display.front][:, [0, 2]]
    )
    assert "neg log loss (higher" in display.axes_[1].get_ylabel()


def test_any_search_can_be_drawn_with_named_objectives():
    goals = {"accuracy": "max", "fit_time": "min"}
    display = ParetoDisplay.from_search(drawn.search("metrics"), objectives=goals)
    assert display.objectives == goals
    results = drawn.search("metrics").cv_results_
    expected = results["mean_test_accuracy"], results["mean_fit_time"]
    np.testing.assert_allclose(display.values, np.transpose(expected))
    with pytest.raises(ValueError, match="kind must be"):
        display.plot(kind="fronts")


def test_failed_trials_are_not_on_the_front():
    objectives = {"score": "max", "fit_time": "min"}
    display = ParetoDisplay.from_history(
        drawn.history(None, 0.5), objectives=objectives
    )
    assert (list(display.front), display.chosen) == ([1], 1)
    empty = ParetoDisplay.from_history(drawn.history(None), objectives=objectives)
    assert empty.plot(kind="evolution").chosen is None
