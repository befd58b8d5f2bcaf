"""Display of scores by parameter."""

import drawn_searches as drawn
import matplotlib.pyplot as plt
import numpy as np
import pytest

from skbayes.inspection import SliceDisplay


def test_every_trial_is_where_it_belongs():
    search = drawn.search("bayes")
    display = SliceDisplay.from_search(search)
    panels = dict(zip([one.name for one in display.scales], display.axes_, strict=True))
    assert len(panels) == 6
    assert len({ax.get_ylim() for ax in display.axes_}) == 1
    C = [trial.params["C"] for trial in search.trials_]
    scores = [trial.score for trial in search.trials_]
    points = display.points_[list(panels).index("C")]
    np.testing.assert_allclose(points.get_offsets(), np.column_stack([C, scores]))
    assert points.get_array().tolist() == list(range(12))
    assert panels["C"].get_xscale() == panels["gamma"].get_xscale() == "log"
    assert panels["coef0"].get_xscale() == "linear"
    # What does not exist in a trial is not there.
    n = sum("gamma" in trial.params for trial in search.trials_)
    points = display.points_[list(panels).index("gamma")]
    assert 0 < len(points.get_offsets()) == n < 12


def test_trials_of_an_option_are_spread_but_not_to_the_next():
    display = SliceDisplay.from_search(drawn.search("bayes"), params=["kernel"])
    x = np.asarray(display.points_[0].get_offsets())[:, 0]
    assert np.max(np.abs(x - display.values[0])) < 0.5
    assert len(np.unique(x)) == len(x)
    again = SliceDisplay.from_search(drawn.search("bayes"), params=["kernel"])
    np.testing.assert_array_equal(x, again.points_[0].get_offsets()[:, 0])
    labels = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert labels == ["rbf", "poly", "linear"]


def test_failed_trials_are_at_the_edge():
    search = drawn.search("failures")
    display = SliceDisplay.from_search(search)
    failed = [t.params["x"] for t in search.trials_ if t.state == "failed"]
    marks = display.failed_points_[0].get_offsets()
    assert sorted(marks[:, 0]) == sorted(failed)
    assert len(display.points_[0].get_offsets()) == 8 - len(failed)


def test_wrong_arguments():
    for n_cols in (0, 1.5, "2"):
        with pytest.raises(ValueError, match="n_cols must be an integer"):
            SliceDisplay.from_history(drawn.history(0.5), n_cols=n_cols)
    with pytest.raises(ValueError, match="params: 'gama' is unknown"):
        SliceDisplay.from_search(drawn.search("bayes"), params=["gama"])


def test_panels_are_those_of_the_user_and_end_with_the_space():
    given, trials = plt.subplots(1, 2)[1], drawn.search("bayes").trials_
    more = {"params": ["C", "kernel"], "search_spaces": drawn.SPACES, "ax": given}
    display = SliceDisplay.from_history(trials, **more)
    assert display.axes_.tolist() == given.tolist()
    C = display.scales[0]
    assert (C.kind, C.low, C.high) == ("log", 1e-2, 1e3)
