import numpy as np
import pytest

from skbayes.space import Space
from skbayes.space.portfolio import BranchPortfolio, Portfolio

SPACE = Space.from_notation({"x": [0, 1, 2, 3, 4]})
POINTS = [{"x": x} for x in range(5)]
NOTHING = np.empty((0, 1)), np.empty(0)


def rows(*values):
    return SPACE.encode([{"x": x} for x in values])


def test_begins_with_the_least_mean_regret():
    regrets = np.random.default_rng(0).random((7, 5))
    portfolio = Portfolio(SPACE, POINTS, regrets, 5)
    assert portfolio.choose(*NOTHING, range(5)) == np.argmin(regrets.mean(axis=0))
    assert portfolio.choose(rows(*range(5)), np.zeros(5), []) is None


def test_pending_points_count_as_tried():
    regrets = [[0.0, 0.1, 0.9, 0.9, 0.9], [0.9, 0.8, 0.9, 0.0, 0.9]]
    portfolio = Portfolio(SPACE, POINTS, regrets, 5)
    assert portfolio.choose(rows(0), np.array([np.nan]), [1, 2, 3, 4]) == 3


@pytest.mark.parametrize("own", range(4))
def test_scores_that_rank_as_one_data_set_does_lead_to_its_best_point(own):
    # Four data sets, each with another order of the first four points.
    orders = np.array([[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]]) / 3
    # The last columns are 0.2 better than anything else on one data set.
    space = Space.from_notation({"x": list(range(8))})
    best = np.where(np.eye(4) > 0, -0.2, 1.0)
    regrets = np.hstack([orders, best])
    portfolio = Portfolio(space, [{"x": x} for x in range(8)], regrets, 8)
    X = space.encode([{"x": x} for x in range(4)])
    assert portfolio.choose(X, -orders[own], [4, 5, 6, 7]) == 4 + own


def test_a_failure_is_worse_than_any_score():
    regrets = [[0.4, 0.9, 0.5, 0.2, 0.9], [0.9, 0.4, 0.5, 0.9, 0.2]]
    portfolio = Portfolio(SPACE, POINTS, regrets, 5)
    scores = np.array([-np.inf, -1e6])
    assert portfolio.choose(rows(0, 1), scores, [3, 4]) == 4
    assert portfolio.choose(rows(0, 1), scores[::-1], [3, 4]) == 3


KINDS = Space.from_notation({"kind": ["a", "b", "c"], "x": [0, 1, 2, 3]})


def three_branches(n_first, sizes=(4, 1, 2)):
    """Return portfolios of three branches, each of which prefers its last point."""
    branches = []
    for option, (kind, size) in enumerate(zip("abc", sizes, strict=True)):
        points = [{"kind": kind, "x": x} for x in range(size)]
        regrets = [np.linspace(1.0, 0.0, size)]
        own = Portfolio(KINDS, points, regrets, size)
        branches.append(([{0: option / 2}], own))
    return BranchPortfolio(branches, n_first)


def chosen(portfolio, n, tried=()):
    made = list(tried)
    while len(made) < n:
        X = KINDS.encode(made) if made else np.empty((0, 2))
        keys = [tuple(row) for row in X]
        free = [k for k, row in enumerate(portfolio.rows) if tuple(row) not in keys]
        place = portfolio.choose(X, np.zeros(len(X)), free)
        if place is None:
            break
        made += KINDS.decode(portfolio.rows[[place]])
    return [(one["kind"], one["x"]) for one in made]


def test_each_branch_begins_with_its_best_point():
    assert chosen(three_branches(0), 9) == [("a", 3), ("b", 0), ("c", 1)]
    assert three_branches(0).n_first == 3


def test_further_points_are_from_the_branches_with_the_fewest_trials():
    found = chosen(three_branches(6), 9)
    # The branch with one point has no more of them.
    assert [kind for kind, _ in found] == ["a", "b", "c", "a", "c", "a"]
    assert len(set(found)) == 6


def test_branches_that_were_tried_are_not_tried_first():
    tried = [{"kind": "c", "x": 3}, {"kind": "a", "x": 0}]
    assert chosen(three_branches(0), 9, tried)[2:] == [("b", 0)]
    tried = [{"kind": "a", "x": x} for x in range(4)]
    assert chosen(three_branches(0), 9, tried)[4:] == [("b", 0), ("c", 1)]


def test_a_branch_without_a_free_point_is_skipped():
    portfolio = three_branches(0)
    free = [k for k in range(7) if k != 4]
    X = portfolio.rows[[0]]
    place = portfolio.choose(X, np.zeros(1), free)
    assert place == 6
    X = portfolio.rows[[0, 6]]
    assert portfolio.choose(X, np.zeros(2), []) is None
