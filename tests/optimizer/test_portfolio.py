import copy
import math

import numpy as np
import pytest

from skbayes import Optimizer
from skbayes.space import OptimumPrior, Space
from skbayes.space.optimum_prior import Portfolio

SPACE = Space.from_notation({"x": (0.0, 1.0), "kind": ["a", "b"]})
POINTS = [{"x": x, "kind": kind} for x in (0.125, 0.5, 0.875) for kind in "ab"]
REGRETS = np.random.default_rng(0).random((9, 6))


def prior(n_first=4, regrets=REGRETS):
    return OptimumPrior(SPACE, {}, Portfolio(SPACE, POINTS, regrets, n_first))


def score(params):
    return -((params["x"] - 0.3) ** 2) - (params["kind"] == "a")


def trials(optimizer, n):
    proposals = []
    for _ in range(n):
        proposals.append(optimizer.ask())
        optimizer.tell(proposals[-1], score(proposals[-1]))
    return proposals


def test_proposes_the_portfolio_and_then_the_models_choice():
    assert prior().densities_only().portfolio is None
    in_flight = Optimizer(SPACE, prior=prior(), random_state=0).ask(4)
    assert all(params in POINTS for params in in_flight)
    assert len({tuple(params.values()) for params in in_flight}) == 4
    proposals = trials(Optimizer(SPACE, prior=prior(), random_state=0), 6)
    assert all(params in POINTS for params in proposals[:4])
    assert len({tuple(params.values()) for params in proposals}) == 6
    assert not any(params in POINTS for params in proposals[4:])


def test_initial_points_come_first_and_count():
    points = [{"x": 0.25, "kind": "a"}]
    optimizer = Optimizer(SPACE, prior=prior(), initial_points=points, random_state=0)
    proposals = trials(optimizer, 5)
    assert proposals[0] == points[0]
    assert all(params in POINTS for params in proposals[1:4])
    assert proposals[4] not in POINTS


def test_scores_choose_among_the_portfolio():
    # Data sets that prefer "a" have their best at the end, the others in the middle.
    regrets = [[0.5, 0.9, 0.6, 0.8, 0.0, 1.0], [0.9, 0.5, 0.8, 0.0, 1.0, 0.6]]
    proposals = []
    for sign in (1.0, -1.0):
        optimizer = Optimizer(
            SPACE, prior=prior(3, regrets), initial_points=POINTS[:2], random_state=0
        )
        for params in POINTS[:2]:
            assert optimizer.ask() == params
            optimizer.tell(params, sign * (params["kind"] == "a"))
        proposals.append(optimizer.ask())
    assert proposals == [POINTS[4], POINTS[3]]


def test_the_portfolio_is_used_with_failures_and_objectives():
    optimizer = Optimizer(SPACE, prior=prior(), random_state=0)
    for scores in (math.nan, 1.0, math.nan):
        params = optimizer.ask()
        assert params in POINTS
        optimizer.tell(params, scores)
    optimizer = Optimizer(SPACE, prior=prior(), n_objectives=2, random_state=0)
    for scores in ([0.0, 1.0], [1.0, 0.0], [math.nan, 0.5]):
        params = optimizer.ask()
        assert params in POINTS
        optimizer.tell(params, scores)


@pytest.mark.parametrize("surrogate", ["random", "sobol"])
def test_random_search_has_neither_portfolio_nor_densities(surrogate):
    portfolio = prior().portfolio
    both = OptimumPrior(SPACE, {"x": ([0.2, 0.3, 0.4], [-4.0, 0.0, -4.0])}, portfolio)
    with_one, without = (
        Optimizer(SPACE, surrogate=surrogate, prior=one, random_state=0)
        for one in (both, None)
    )
    assert trials(with_one, 4) == trials(without, 4)


def test_initial_points_precede_the_surrogate():
    optimizer = Optimizer(SPACE, prior=prior(2), n_initial_points=5, random_state=0)
    trials(optimizer, 4)
    assert optimizer.last_expected_improvement is None
    trials(optimizer, 2)
    assert optimizer.last_expected_improvement is not None


def test_configurations_that_would_be_aborted_are_not_proposed():
    points = [{"x": k / 8, "kind": "a"} for k in range(9)]
    # On the other data sets, greater values of every second one are better.
    regrets = np.tile([1.0, 0.6, 1.0, 0.4, 1.0, 0.2, 1.0, 0.0, 1.0], (3, 1))
    prior = OptimumPrior(SPACE, {}, Portfolio(SPACE, points, regrets, 9))
    optimizer = Optimizer(SPACE, prior=prior, random_state=0)
    for params in points[::2]:
        optimizer.tell(params, 0.0, cost=math.exp(6.0 * params["x"]))
    assert copy.deepcopy(optimizer).ask() == points[7]
    proposed = optimizer.propose(max_cost=math.exp(3.0)).params
    assert proposed == points[3]


def test_queued_configurations_that_cost_too_much_wait():
    queue = [{"x": 0.9}, {"x": 0.2}]
    optimizer = Optimizer({"x": (0.0, 1.0)}, random_state=0)
    for x in (0.1, 0.3, 0.6, 0.8, 1.0):
        optimizer.tell({"x": x}, -x, cost=100.0 * x)
    for params in queue:
        optimizer.enqueue(params)
    assert optimizer.propose(max_cost=40.0).params == queue[1]
    assert optimizer.propose().params == queue[0]
