"""Display of the configurations promoted from stage to stage."""

from dataclasses import replace

import drawn_searches as drawn
import numpy as np
import pytest
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingGridSearchCV
from sklearn.svm import SVC

from skbayes.inspection import ConvergenceDisplay, StagesDisplay
from skbayes.trial.records import History, TrialState


def test_it_is_the_correlation_that_the_search_says():
    search = drawn.search("stages")
    display = StagesDisplay.from_search(search)
    table = search.stage_correlation_
    assert len(display.carried) == table["n_both"][0] == 3
    np.testing.assert_allclose(display.rank_correlation, table["rank_correlation"])
    np.testing.assert_allclose(display.train_fraction, search.train_fractions_)
    for earlier, later in display.carried:
        assert search.trials_[earlier].params == search.trials_[later].params
        assert search.trials_[earlier].stage + 1 == search.trials_[later].stage
    # The space is not needed for that.
    by_history = StagesDisplay.from_history(search.trials_)
    assert by_history.carried == display.carried


def stages(first, second):
    """Return two stages in which the same configurations have these scores."""
    trials = [
        drawn.trial(k, score, {"a": k}, stage=0, train_fraction=0.5)
        for k, score in enumerate(first)
    ]
    trials += [
        drawn.trial(len(first) + k, score, {"a": k}, stage=1)
        for k, score in enumerate(second)
    ]
    return StagesDisplay.from_history(History(trials))


@pytest.mark.parametrize(
    "first, second, expected, text",
    [
        ([1, 2, 3], [4, 5, 6], 1.0, "rank correlation\n1.00 (3 tried in both)"),
        ([1, 2, 3], [6, 5, 4], -1.0, "rank correlation\n-1.00 (3 tried in both)"),
        ([1, None, 3], [6, 5, 4], -1.0, "rank correlation\n-1.00 (2 tried in both)"),
        ([1, 2], [3], np.nan, "1 tried in both"),
        ([1, 2], [None], np.nan, "none tried in both"),
    ],
)
def test_rank_correlation_of_what_was_tried_in_both(first, second, expected, text):
    display = stages(first, second)
    np.testing.assert_allclose(display.rank_correlation, [expected])
    assert [one.get_text() for one in display.texts_] == [text]


def test_lines_join_points():
    display = stages([0.1, 0.2], [0.3, 0.4])
    places = [np.asarray(p.get_offsets()) for p in display.points_]
    for k, path in enumerate(display.lines_.get_paths()):
        np.testing.assert_allclose(path.vertices, [places[0][k], places[1][k]])
    assert display.best_point_.get_offsets().tolist() == [places[1][1].tolist()]


def test_trials_of_a_stage_stand_beside_one_another():
    display = StagesDisplay.from_search(drawn.search("hypertune"))
    x = np.concatenate([points.get_offsets()[:, 0] for points in display.points_])
    assert len(np.unique(x)) == len(x)
    np.testing.assert_array_equal(np.rint(x), np.sort(display.record.stage))
    # Trials of one sample are neighbors.
    own = display.record.stage == 0
    first = np.asarray(display.points_[0].get_offsets())[:, 0]
    sample = display.record.subset[own][np.argsort(first)]
    assert np.all(np.diff(sample) >= 0)


def test_successive_halving():
    halving = HalvingGridSearchCV(
        SVC(), {"C": [0.01, 0.1, 1, 10]}, cv=3, random_state=0, factor=2
    ).fit(drawn.X, drawn.y)
    display = StagesDisplay.from_search(halving)
    assert len(display.train_fraction) == halving.n_iterations_
    carried = sum(halving.n_candidates_[1:])
    assert len(display.carried) == carried


def test_a_search_without_stages_is_refused():
    with pytest.raises(ValueError, match="has no stages: all its trials use all"):
        StagesDisplay.from_search(drawn.search("metrics"))


def test_labels_name_the_states():
    trials = [
        drawn.trial(k, 0.5, {"a": k}, stage=k // 3, train_fraction=0.5 + k // 3 / 2)
        for k in range(6)
    ]
    for k, state in ((1, "pruned"), (2, "timed_out")):
        trials[k] = replace(trials[k], state=TrialState(state))
    display = StagesDisplay.from_history(History(trials))
    labels = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert labels[0].endswith("3 trials, 1 pruned, 1 timed out")
    assert labels[1].endswith("3 trials")
    (legend,) = {
        text.get_text()
        for text in ConvergenceDisplay.from_history(History(trials))
        .ax_.get_legend()
        .get_texts()
        if "rows" in text.get_text()
    }
    assert legend == "on fewer rows, pruned, timed out"
