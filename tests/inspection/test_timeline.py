"""Timeline of trials."""

import drawn_searches as drawn
import numpy as np
import pytest

from skbayes.evaluation.trial import History
from skbayes.inspection import TimelineDisplay


def timeline(*intervals, states=None):
    states = states or ["complete"] * len(intervals)
    return TimelineDisplay.from_history(
        History(
            [
                drawn.trial(k, 0.5, started=begin, duration=end - begin, state=state)
                for k, ((begin, end), state) in enumerate(
                    zip(intervals, states, strict=True)
                )
            ]
        )
    )


def test_lanes_are_filled_from_below():
    display = timeline((0, 4), (0, 1), (1, 3), (2, 3), (4, 5))
    assert display.lane.tolist() == [0, 1, 1, 2, 0]


def test_no_two_trials_of_a_lane_overlap():
    rng = np.random.default_rng(0)
    begin = rng.uniform(0, 20, 60)
    ends = begin + rng.exponential(2.0, 60)
    display = timeline(*zip(begin, ends, strict=True))
    for lane in range(display.lane.max() + 1):
        own = display.lane == lane
        assert np.all(display.started[own][1:] >= display.finished[own][:-1] - 2e-3)
    # There are no more lanes than there were trials at a time.
    most = max(np.sum((begin <= time) & (time < ends)) for time in begin)
    assert display.lane.max() + 1 <= most


def test_bars_are_the_trials():
    states = ["complete", "pruned", "timed_out"]
    display = timeline((5, 6), (7, 9), (9, 10), states=states)
    assert set(display.bars_) == set(states)
    (bar,) = display.bars_["pruned"]
    assert (bar.get_x(), bar.get_width()) == (2.0, 2.0)
    hatches = {bars[0].get_hatch() for bars in display.bars_.values()}
    assert len(hatches) == 3
    assert [text.get_text() for text in display.ax_.texts] == ["0", "1", "2"]


def test_time_in_which_nothing_ran():
    assert timeline((0, 1), (3, 4)).idle == pytest.approx(0.5)
    assert timeline((0, 4), (1, 2), (4, 5)).idle == 0.0
    assert (
        "no trial ran for 50% of the time" in timeline((0, 1), (3, 4)).ax_.get_xlabel()
    )
    assert np.isnan(TimelineDisplay.from_history(History()).idle)
    with pytest.raises(ValueError, match="times of the trials"):
        TimelineDisplay.from_history(History([drawn.trial(0, 0.5)]))


def test_trials_that_run(tmp_path):
    drawn.running_journal(tmp_path / "journal", n_done=2, n_running=3)
    display = TimelineDisplay.from_history(tmp_path / "journal")
    running = display.state == "running"
    assert display.number[running].tolist() == [2, 3, 4]
    assert np.all(display.finished[running] > display.started[running])
    assert len(display.bars_["running"]) == 3


def test_a_search_in_this_process():
    search = drawn.search("bayes")
    display = TimelineDisplay.from_search(search)
    assert display.lane.tolist() == [0] * 12
    durations = [trial.duration for trial in search.trials_]
    np.testing.assert_allclose(display.finished - display.started, durations)
    assert 0.0 < display.idle < 1.0
