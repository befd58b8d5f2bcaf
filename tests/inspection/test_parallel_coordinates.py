"""Display of trials as lines."""

import drawn_searches as drawn
import numpy as np
import pytest

from skbayes.inspection import ParallelCoordinatesDisplay as Display
from skbayes.inspection.parallel_coordinates import UNUSED_HEIGHT
from skbayes.trial.records import History


def heights_of(lines):
    return np.array([path.vertices[:, 1] for path in lines.get_paths()])


def test_lines_cross_the_axes_at_their_values_and_the_best_one_stands_out():
    search = drawn.search("bayes")
    display = Display.from_search(search, params=["C", "gamma"], top=1.0)
    order = np.argsort([trial.score for trial in search.trials_], kind="stable")
    heights = heights_of(display.lines_)
    drawn_lines = [line.get_xydata().tolist() for line in display.ax_.lines]
    assert all([[at, 0.0], [at, 1.0]] in drawn_lines for at in (0.0, 1.0))
    C = np.log10([search.trials_[k].params["C"] for k in order])
    np.testing.assert_allclose(heights[:, 0], (C + 2) / 5)
    has_gamma = ["gamma" in search.trials_[k].params for k in order]
    np.testing.assert_array_equal(heights[:, 1] != UNUSED_HEIGHT, has_gamma)
    # Better lines are higher, and the best line is drawn last.
    assert np.all(np.diff(heights[:, 2]) >= 0)
    assert display.lines_.get_array()[-1] == search.best_score_
    assert search.trials_[display.record.best].params == search.best_params_
    assert display.best_line_.get_linewidth() > 1.5 * display.lines_.get_linewidth()[0]
    u = (np.log10(search.best_params_["C"]) + 2) / 5
    assert display.best_line_.get_ydata()[0] == pytest.approx(u)


@pytest.mark.parametrize(("top", "n"), [(0.2, 3), (0.5, 6), (1.0, 12)])
def test_the_best_fifth_stands_out(top, n):
    search = drawn.search("bayes")
    options = {} if top == 0.2 else {"top": top}  # the default
    display = Display.from_search(search, **options)
    best = np.sort(display.record.score)
    assert display.lines_.get_array().tolist() == best[-n:].tolist()
    faint = heights_of(display.faint_lines_) if n < 12 else []
    assert len(faint) == 12 - n
    # A few trials also have a best fifth.
    assert len(Display.from_history(drawn.history(0.5, 0.6)).lines_.get_paths()) == 1


def test_lower_errors_are_darker():
    display = Display.from_search(drawn.search("metrics"), top=1.0)
    # The lines are drawn from the worst to the best, with a map from lowest to highest.
    errors = display.lines_.get_array()
    assert np.all(np.diff(errors) <= 0)
    shades = display.lines_.to_rgba(errors)[:, :3].sum(axis=1)
    assert shades[-1] < shades[0]


def test_lines_of_an_option_are_spread_within_its_interval():
    display = Display.from_search(drawn.search("bayes"), params=["kernel"], top=1)
    heights = heights_of(display.lines_)[:, 0]
    option = np.floor(heights * 3).astype(int)
    scores = np.argsort(display.record.score, kind="stable")
    assert option.tolist() == display.values[0][scores].astype(int).tolist()
    assert len(np.unique(heights)) == len(heights)


def test_failed_trials_end_below_the_scores():
    display = Display.from_history(drawn.history(None, 0.5, 0.7))
    failed = heights_of(display.failed_lines_)
    assert len(failed) == 1 and failed[0, -1] == UNUSED_HEIGHT
    assert len(display.lines_.get_paths()) == len(display.faint_lines_.get_paths()) == 1
    texts = [text.get_text() for text in display.ax_.texts]
    assert "failed" in texts and "not used" not in texts


@pytest.mark.parametrize("beyond", [[], [-80.0]])
def test_scores_beyond_the_axis_are_said_to_be(beyond):
    scores = [0.90, 0.91, 0.92, 0.93, 0.94, 0.95, *beyond]
    display = Display.from_history(drawn.history(*scores), top=1)
    texts = [text.get_text() for text in display.ax_.texts]
    assert any(text.startswith("≤") for text in texts) == bool(beyond)
    if beyond:
        heights = heights_of(display.lines_)[:, -1]
        assert heights[0] == 0.0 and heights[1] > 0.0


def test_keywords_apply_to_lines_and_trials_are_optional():
    display = Display.from_history(drawn.history(0.5), line_kw={"linewidths": 7})
    assert display.lines_.get_linewidth().tolist() == [7]
    display = Display.from_history(History())
    assert display.best_line_ is None
    assert "no trial has a score" in [text.get_text() for text in display.ax_.texts]
