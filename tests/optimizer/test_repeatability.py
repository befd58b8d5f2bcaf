"""Proposals are a function of the trials so far and of those in flight."""

import math
import pickle

import numpy as np
import pytest

from skbayes import Optimizer
from skbayes.space import Choice, OptimumPrior, Space
from skbayes.space.optimum_prior import Portfolio
from skbayes.surrogates import GaussianProcess

SPACE = Space.from_notation(
    {
        "x": (0.0, 1.0),
        "model": Choice({"a": {"y": (1e-3, 1.0, "log-uniform")}, "b": {"n": (1, 50)}}),
    }
)
POINTS = SPACE.decode(SPACE.from_uniform(np.random.default_rng(0).random((6, 4))))
REGRETS = np.random.default_rng(1).random((9, 6))
DENSITIES = {"x": ([0.2, 0.3, 0.4], [-4.0, 0.0, -4.0])}
CASES = {
    "costs": {"acquisition": "ei-per-second"},
    "objectives": {"n_objectives": 2, "surrogate": "gp-rbf"},
    "prior": {"prior": OptimumPrior(SPACE, DENSITIES)},
    "portfolio": {
        "prior": OptimumPrior(SPACE, {}, Portfolio(SPACE, POINTS, REGRETS, 4))
    },
    **{name: {"surrogate": name} for name in ("gp-rbf", "tpe", "random", "trees")},
}


def told(number, params, n_objectives):
    """Return the score of a trial, and the other arguments of `tell`."""
    is_aborted = number % 11 == 0
    score = -((params["x"] - 0.3) ** 2) - 0.1 * params.get("y", 0.5)
    constraints = [score - 0.1, number % 3 - 1.5]
    kwargs = {"cost": 1.0 + number % 7, "censored": is_aborted, "aborted": is_aborted}
    noise = 0.01 if number % 2 and n_objectives == 1 else None
    kwargs |= {"constraints": constraints, "noise": noise}
    if number % 13 in (0, 5):  # the first one, too
        return math.nan, kwargs
    return score if n_objectives == 1 else [score, -params["x"]], kwargs


def make(options, observed=(), pending=()):
    """Return an optimizer with these trials, and what was learned before them."""
    optimizer = Optimizer(SPACE, random_state=3, **options)
    n_objectives = options.get("n_objectives", 1)
    for number, params in enumerate(observed):
        score, kwargs = told(number, params, n_objectives)
        optimizer.tell(params, score, **kwargs)
    for number, params in enumerate(POINTS[:2]):
        optimizer.learn(params, told(number + 1, params, n_objectives)[0])
    for params in pending:
        optimizer.pend(params)
    return optimizer


def renewed(optimizer, options, observed, pending):
    """Return a copy of the optimizer, or a new one with its trials, at some numbers."""
    match len(observed) % 5:
        case 1:
            return pickle.loads(pickle.dumps(optimizer))
        case 3:
            return make(options, observed, pending)
    return optimizer


def proposed(options, n_trials, n_in_flight, renew=lambda optimizer, *_: optimizer):
    """Return proposals, one at a time at first; `renew` may make a new optimizer."""
    optimizer, proposals, n_observed = make(options), [], 0
    expected = []
    for number in range(n_trials):
        params_asked = [params for params, *_ in proposals]
        observed, pending = params_asked[:n_observed], params_asked[n_observed:]
        optimizer = renew(optimizer, options, observed, pending)
        params = optimizer.ask()
        expected = optimizer.last_expected_improvement, optimizer.expected_cost(params)
        proposals.append((params, *expected))
        if number < 4 or len(proposals) - n_observed == n_in_flight:
            params = proposals[n_observed][0]
            score, kwargs = told(n_observed, params, options.get("n_objectives", 1))
            optimizer.tell(params, score, **kwargs)
            n_observed += 1
    return proposals


@pytest.mark.parametrize("case", CASES)
def test_a_copy_and_a_new_optimizer_with_the_same_trials_go_on_alike(case):
    expected = proposed(CASES[case], 9, 3)
    assert len({str(params) for params, *_ in expected}) == 9
    assert proposed(CASES[case], 9, 3, renewed) == expected


def test_proposals_from_a_part_of_many_trials_are_repeatable(monkeypatch):
    monkeypatch.setattr("skbayes.acquisition.observations.N_LATEST", 4)
    monkeypatch.setattr("skbayes.optimizer.cost_models.MAX_TRIALS", 7)
    monkeypatch.setattr("skbayes.surrogates.gp.gp.MANY_PENDING", 3)
    actual = proposed(CASES["costs"], 16, 5)
    monkeypatch.setattr(GaussianProcess, "max_observations", 8)
    expected = proposed(CASES["costs"], 16, 5)
    # The first trials do not exceed the limits.
    n_equal = np.argmin([a == b for a, b in zip(actual, expected, strict=True)])
    assert 6 <= n_equal < 15
    assert proposed(CASES["costs"], 16, 5, renewed) == expected
