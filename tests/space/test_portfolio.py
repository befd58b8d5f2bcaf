import numpy as np
import pytest

from skbayes.space import Space
from skbayes.space.optimum_prior import ModelStarts, Portfolio

SPACE = Space.from_notation({"x": [0, 1, 2, 3, 4]})
POINTS = [{"x": x} for x in range(5)]
NO_TRIALS = np.empty((0, 1)), np.empty(0)


def rows(*values):
    return SPACE.encode([{"x": x} for x in values])


def test_begins_with_the_least_mean_regret():
    regrets = np.random.default_rng(0).random((7, 5))
    portfolio = Portfolio(SPACE, POINTS, regrets, 5)
    assert portfolio.choose(*NO_TRIALS, range(5)) == np.argmin(regrets.mean(axis=0))
    assert portfolio.choose(rows(*range(5)), np.zeros(5), []) is None


def test_pending_points_count_as_tried():
    regrets = [[0.0, 0.1, 0.9, 0.9, 0.9], [0.9, 0.8, 0.9, 0.0, 0.9]]
    portfolio = Portfolio(SPACE, POINTS, regrets, 5)
    assert portfolio.choose(rows(0), np.array([np.nan]), [1, 2, 3, 4]) == 3


@pytest.mark.parametrize("table", range(4))
def test_scores_that_rank_as_one_data_set_does_lead_to_its_best_point(table):
    # Four data sets, each with another order of the first four points.
    orders = np.array([[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]]) / 3
    # The last columns are 0.2 better than anything else on one data set.
    space = Space.from_notation({"x": list(range(8))})
    best = np.where(np.eye(4) > 0, -0.2, 1.0)
    regrets = np.hstack([orders, best])
    portfolio = Portfolio(space, [{"x": x} for x in range(8)], regrets, 8)
    X = space.encode([{"x": x} for x in range(4)])
    assert portfolio.choose(X, -orders[table], [4, 5, 6, 7]) == 4 + table


def test_a_failure_is_worse_than_any_score():
    regrets = [[0.4, 0.9, 0.5, 0.2, 0.9], [0.9, 0.4, 0.5, 0.9, 0.2]]
    portfolio = Portfolio(SPACE, POINTS, regrets, 5)
    scores = np.array([-np.inf, -1e6])
    assert portfolio.choose(rows(0, 1), scores, [3, 4]) == 4
    assert portfolio.choose(rows(0, 1), scores[::-1], [3, 4]) == 3


KINDS = Space.from_notation({"kind": ["a", "b", "c"], "x": [0, 1, 2, 3]})
STARTS = [("kind", kind, {"kind": kind, "x": x}) for x, kind in enumerate("abc")]


def chosen(portfolio, tried=(), left_out=()):
    """Return the kinds that are chosen, with those that were tried."""
    configurations = list(tried)
    while len(configurations) < 9:
        X = KINDS.encode(configurations) if configurations else np.empty((0, 2))
        free = [k for k in range(len(portfolio.rows)) if k not in left_out]
        place = portfolio.choose(X, np.zeros(len(X)), free)
        if place is None:
            break
        configurations += KINDS.decode(portfolio.rows[[place]])
    return [one["kind"] for one in configurations]


def test_each_model_is_tried_once():
    starts = ModelStarts(KINDS, STARTS, 2)
    assert chosen(starts) == ["a", "b", "c"]
    assert starts.n_first == 3
    assert ModelStarts(KINDS, STARTS, 5).n_first == 5
    # The trial may have other values, and the configuration may be excluded.
    assert chosen(starts, [{"kind": "b", "x": 3}]) == ["b", "a", "c"]
    assert chosen(starts, left_out=[1]) == ["a", "c"]
