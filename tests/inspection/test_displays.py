"""What holds for every picture of a search."""

import dataclasses
import inspect
import pickle

import drawn
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import RandomizedSearchCV
from sklearn.svm import SVC

from skbayes import BayesSearchCV, load_history
from skbayes.inspection import (
    ConvergenceDisplay,
    ImportanceDisplay,
    ParallelCoordinatesDisplay,
    PartialDependenceDisplay,
    SliceDisplay,
    StagesDisplay,
    TimelineDisplay,
    TradeoffDisplay,
    read_record,
)
from skbayes.trials import History

DISPLAYS = [
    ConvergenceDisplay,
    ImportanceDisplay,
    ParallelCoordinatesDisplay,
    PartialDependenceDisplay,
    SliceDisplay,
    StagesDisplay,
    TimelineDisplay,
    TradeoffDisplay,
]

each_display = pytest.mark.parametrize("display", DISPLAYS)


def arrays(display):
    """What is drawn: everything that the constructor takes."""
    names = inspect.signature(type(display).__init__).parameters
    return {name: getattr(display, name) for name in names if name != "self"}


def taken_apart(stored):
    """The same without objects that are equal to themselves alone."""
    parts = stored.pop("dependences", [])
    return stored | {f"panel {k}": vars(part) for k, part in enumerate(parts)}


def assert_drawn(made):
    """It is a picture, and nothing in it is written in a way that cannot be drawn."""
    assert made.ax_.figure is made.figure_
    made.figure_.canvas.draw()


@each_display
@pytest.mark.parametrize("kind", drawn.KINDS)
def test_every_search_can_be_drawn(display, kind):
    assert_drawn(display.from_search(drawn.search(kind)))


@each_display
def test_a_search_from_a_pickle_gives_the_same_picture(display):
    search = drawn.search("stages")
    one = arrays(display.from_search(search))
    other = arrays(display.from_search(pickle.loads(pickle.dumps(search))))
    np.testing.assert_equal(taken_apart(one), taken_apart(other))


@each_display
def test_a_picture_can_be_drawn_again_from_what_it_stores(display):
    made = display.from_search(drawn.search("bayes"))
    again = display(**arrays(made))
    assert not hasattr(again, "ax_")
    assert again.plot() is again
    assert again.figure_ is not made.figure_
    assert_drawn(again)


@each_display
@pytest.mark.parametrize("n_done", [0, 1, 4])
def test_a_search_that_runs_can_be_drawn(display, n_done, tmp_path):
    path = tmp_path / "journal"
    drawn.running_journal(path, n_done=n_done, n_running=2)
    one = display.from_history(path)
    assert_drawn(one)
    np.testing.assert_equal(
        arrays(one).keys(), arrays(display.from_history(load_history(path))).keys()
    )


@each_display
@pytest.mark.parametrize("scores", [(0.5,), (None, None), (None, 0.5), (0.5, 0.5)])
def test_few_trials_or_failed_ones_can_be_drawn(display, scores):
    assert_drawn(display.from_history(drawn.history(*scores)))


@each_display
def test_no_trials_can_be_drawn(display):
    assert_drawn(display.from_history(History()))


@each_display
def test_a_metric_may_be_called_anything(display):
    record = read_record(drawn.search("bayes"))
    odd = dataclasses.replace(record, metric=r"$\nonsense{$", name=r"_$\nonsense{$")
    assert_drawn(display.from_history(odd))


@each_display
def test_a_record_can_be_drawn(display):
    assert_drawn(display.from_history(read_record(drawn.search("bayes"))))


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


@each_display
def test_an_unknown_metric_is_refused(display):
    if "metric" in inspect.signature(display.from_search).parameters:
        with pytest.raises(ValueError, match="metric must be one of"):
            display.from_search(drawn.search("bayes"), metric="f1")


@each_display
def test_a_search_of_scikit_learn(display):
    other = RandomizedSearchCV(SVC(), {"C": [0.1, 1.0, 10.0]}, n_iter=3, cv=2)
    other.fit(drawn.X, drawn.y)
    if display is TimelineDisplay:
        with pytest.raises(ValueError, match="not known when the trials"):
            display.from_search(other)
    else:
        assert_drawn(display.from_search(other))


@each_display
def test_the_first_ten_of_many_parameters_have_room(display):
    names = [f"step_number_{k}__parameter" for k in range(10)]
    trials = History(
        [
            drawn.trial(k, 0.1 * k, {n: k + i for i, n in enumerate(names)}, started=k)
            for k in range(5)
        ]
    )
    made = display.from_history(trials)
    assert_drawn(made)
    width, height = made.figure_.get_size_inches()
    assert width <= 14 and height <= 11
