import pickle

import numpy as np
import pytest

from skbayes import Optimizer
from skbayes.optimizer.costs import (
    MIN_PROBABILITY,
    AbortedTrials,
    CostModel,
    LimitTerms,
)
from skbayes.space.candidates import SpaceExhausted


def run(n, surrogate="gp", limit=1.0, never=("c",), told="cost", score=np.nan):
    """Search where some options never end; return how often these were tried.

    Ended trials optionally have the score of their finished folds.
    """
    space = {"kind": ["a", "b", "c"], "x": (0.0, 1.0)}
    optimizer = Optimizer(space, surrogate=surrogate, random_state=0)
    optimizer.cost_limit = limit
    tried = []
    for _ in range(n):
        params = optimizer.ask()
        tried.append(params["kind"])
        if params["kind"] not in never:
            optimizer.tell(params, -((params["x"] - 0.8) ** 2), cost=0.1)
        elif told == "cost":
            optimizer.tell(params, score, cost=1.0, censored=True)
        else:
            optimizer.tell(params, score, cost=0.05, censored=True, ended=True)
    return optimizer, tried


@pytest.mark.parametrize(
    "surrogate, told", [("gp", "cost"), ("tpe", "cost"), ("gp", "memory")]
)
def test_what_never_ends_is_hardly_tried_however_good_it_seems(surrogate, told):
    limit = 1.0 if told == "cost" else None
    optimizer, tried = run(24, surrogate, told=told, limit=limit, score=1.0)
    _, without = run(24, surrogate, limit=None, score=1.0)
    assert 1 <= tried.count("c") < 0.5 * without.count("c")
    assert pickle.loads(pickle.dumps(optimizer)).ask() == optimizer.ask()


def test_random_search_stays_random():
    _, tried = run(40, "random")
    assert tried.count("c") > 5


def test_the_probability_follows_the_costs():
    costs, ended = CostModel([0]), AbortedTrials([0])
    limits = LimitTerms(costs, ended)
    limits.limit = 10.0
    assert limits.terms(per_cost=True) == [] and limits.filter() is None
    for x in np.linspace(0.0, 1.0, 9):
        row = np.array([x])
        costs.add(row, min(10.0 ** (4 * x - 2), 10.0), censored=bool(x > 0.75))
    (term,) = limits.terms(per_cost=False)
    X = np.linspace(0.0, 1.0, 21)[:, None]
    probability = np.exp(term.value(X))
    assert np.all(probability[X[:, 0] < 0.6] > 0.9)
    assert np.all(probability[X[:, 0] > 0.9] < 0.1)
    kept = limits.filter()(X)
    np.testing.assert_array_equal(kept, X[probability >= MIN_PROBABILITY])


def test_costs_are_cooled_by_the_share_of_the_budget_that_is_left():
    costs = CostModel([0])
    limits = LimitTerms(costs, AbortedTrials([0]))
    for x in range(5):
        costs.add(np.array([x / 4]), 2.0)
    assert limits.terms(True)[0].alpha == 1.0
    limits.budget = 40.0
    assert limits.terms(True)[0].alpha == pytest.approx(0.75)
    limits.budget = 5.0
    assert limits.terms(True) == []
    assert limits.terms(False) == []


def test_a_finite_space_in_which_all_others_would_be_ended_is_exhausted():
    space = {"kind": ["a", "b"], "n": list(range(12))}
    optimizer = Optimizer(space, random_state=0)
    optimizer.cost_limit = 1.0
    tried = {"a": 0, "b": 0}
    with pytest.raises(SpaceExhausted, match="remaining configurations has"):
        while True:
            params = optimizer.ask()
            slow = params["kind"] == "b"
            tried[params["kind"]] += 1
            score = np.nan if slow else params["n"]
            optimizer.tell(params, score, cost=1.0 if slow else 0.01, censored=slow)
    assert tried["a"] == 12
    assert 1 <= tried["b"] <= 8
    optimizer.cost_limit = None
    assert optimizer.ask()["kind"] == "b"


def test_where_nothing_ever_ends_a_continuous_space_still_has_proposals():
    optimizer, tried = run(14, never=("a", "b", "c"))
    assert len(tried) == 14
    assert optimizer.n_told == 14


def slow_and_fast(acquisition, budget=None, seed=1):
    """Return the mean cost of trials with a score that hardly depends on the cost."""
    optimizer = Optimizer(
        {"x": (0.0, 1.0), "y": (0.0, 1.0)}, acquisition=acquisition, random_state=seed
    )
    optimizer.cost_budget = budget
    costs = []
    for _ in range(16):
        params = optimizer.ask()
        costs.append(10.0 ** (2 * params["y"]))
        score = -((params["x"] - 0.3) ** 2) + 0.02 * params["y"]
        optimizer.tell(params, score, cost=costs[-1])
    return np.mean(np.log10(costs[6:]))


def test_improvement_per_second_prefers_what_is_cheap():
    plain, per_second = (
        [slow_and_fast(name, seed=seed) for seed in range(3)]
        for name in ("ei", "ei-per-second")
    )
    assert np.mean(per_second) < np.mean(plain) - 0.1
    # A budget that is spent leaves the improvement alone.
    assert slow_and_fast("ei-per-second", budget=1e-3, seed=0) == plain[0]


@pytest.mark.parametrize("name", ["cost_limit", "cost_budget"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan, "2", [1.0]])
def test_wrong_limits_are_refused(name, value):
    optimizer = Optimizer({"x": (0.0, 1.0)})
    with pytest.raises((TypeError, ValueError), match=name):
        setattr(optimizer, name, value)
    assert getattr(optimizer, name) is None
    setattr(optimizer, name, 3)
    assert getattr(optimizer, name) == 3.0
