import drawn_searches as drawn
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from skbayes import TradeoffSearchCV
from skbayes.inspection import TradeoffDisplay

SPACES = {"max_depth": (1, 6), "min_samples_leaf": (1, 30)}


@pytest.fixture(scope="module")
def search():
    tree = DecisionTreeClassifier(random_state=0)
    options = {"tradeoff": 0.05, "cost": "model_size", "n_iter": 10, "cv": 2}
    options |= {"random_state": 1, "journal": f"{drawn.FOLDER.name}/of sizes"}
    return TradeoffSearchCV(tree, SPACES, **options).fit(drawn.X, drawn.y)


def test_the_curve_is_that_of_the_search(search):
    display = TradeoffDisplay.from_search(search)
    curve = search.tradeoff_curve_
    np.testing.assert_array_equal(display.rows, curve["trial"])
    np.testing.assert_allclose(display.begins, curve["tradeoff_from"])
    np.testing.assert_allclose(display.cost, search.cv_results_["cost"])
    np.testing.assert_allclose(
        display.relative_cost, search.cv_results_["relative_cost"]
    )
    assert (display.tradeoff, display.chosen) == (0.05, search.best_index_)
    journal = TradeoffDisplay.from_history(search.journal)
    np.testing.assert_array_equal(journal.rows, display.rows)
    assert journal.tradeoff == 0.05


@pytest.mark.parametrize("tradeoff", [0.0, 0.02, 5.0])
def test_choice_is_the_best_by_definition(search, tradeoff):
    display = TradeoffDisplay.from_search(search, tradeoff=tradeoff)
    utility = display.score - tradeoff * display.relative_cost
    assert utility[display.choice(tradeoff)] == pytest.approx(np.nanmax(utility))
    assert display.chosen == display.choice(tradeoff)


def test_on_the_line_utility_is_that_of_the_chosen_trial(search):
    display = TradeoffDisplay.from_search(search)
    cost, score = display.utility_.get_xydata().T
    full = display.cost[display.fraction == 1.0]
    sigma = np.minimum(1.0, cost / np.median(full))
    chosen = display.chosen
    expected = display.score[chosen] - 0.05 * display.relative_cost[chosen]
    np.testing.assert_allclose(score - 0.05 * sigma, expected)
    # No trial is above it; the line has a kink between two of its points.
    best = np.interp(display.cost, cost, score)
    assert np.all(display.score <= best + np.diff(score).max())


def test_artists_hold_the_numbers(search):
    display = TradeoffDisplay.from_search(search)
    offsets = np.asarray(display.points_.get_offsets())
    np.testing.assert_allclose(offsets[:, 0], display.cost)
    np.testing.assert_allclose(offsets[:, 1], display.score)
    score, cost = display.score[display.rows], display.relative_cost[display.rows]
    np.testing.assert_allclose(display.envelope_.get_ydata(), score)
    np.testing.assert_allclose(display.curve_.get_ydata()[:-1], score)
    np.testing.assert_allclose(display.cost_curve_.get_ydata()[:-1], cost)


def test_any_search_can_be_drawn_by_its_fit_time():
    loss = drawn.search("metrics")
    display = TradeoffDisplay.from_search(loss, cost="fit_time")
    assert display.utility_ is None and display.chosen == loss.best_index_
    assert display.score[display.rows[0]] == loss.best_score_
    np.testing.assert_allclose(display.cost, loss.cv_results_["mean_fit_time"])
    assert display.score_range == (np.min(display.score), np.max(display.score))
    # A loss is drawn as a positive error.
    errors = np.asarray(display.points_.get_offsets())[:, 1]
    np.testing.assert_allclose(errors, -display.score)
    assert "lower is better" in display.ax_.get_ylabel()
    options = {"metric": "neg_log_loss", "tradeoff": 0.5}
    weighed = TradeoffDisplay.from_history(loss.trials_, **options)
    assert weighed.utility_ is not None


def test_one_trial_is_drawn_and_no_trial_is_reported():
    one = TradeoffDisplay.from_history(drawn.history(0.5, None), tradeoff=0.1)
    assert one.chosen == 0
    none = TradeoffDisplay.from_history(drawn.history(None), cost="fit_time")
    assert none.chosen is None and len(none.ax_.texts) == 1
    with pytest.raises(ValueError, match="No trial has both a score and a cost"):
        none.choice(0.0)
