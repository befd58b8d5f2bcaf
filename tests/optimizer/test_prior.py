"""Optimizers with a prior over the best configuration."""

import pickle

import numpy as np
import pytest

from skbayes import Optimizer
from skbayes.acquisition import UpperConfidenceBound
from skbayes.optimizer.tradeoff_optimizer import TradeoffOptimizer
from skbayes.space import Choice, Integer, OptimumPrior, Space
from skbayes.space.optimum_prior import Portfolio
from skbayes.surrogates.registry import registry

SPACE = Space.from_notation(
    {
        "x": (0.0, 1.0),
        "y": (0.0, 1.0),
        "kind": Choice({"a": {}, "b": {"z": (0.0, 1.0)}}),
    }
)
DENSITIES = {
    "x": ([0.2, 0.3, 0.4], [-4.0, 0.0, -4.0]),
    "kind": [0.0, 2.0],
    "z": ([0.0, 1.0], [2.0, -2.0]),
}
PRIOR = OptimumPrior(SPACE, DENSITIES)
FINITE = Space.from_notation({"n": list(range(1, 31)), "kind": ["a", "b", "c"]})


def score(params):
    return -((params["x"] - 0.3) ** 2) - (params["y"] - 0.6) ** 2


def trials(optimizer, n, function=score):
    found = []
    for _ in range(n):
        found.append(optimizer.ask())
        optimizer.tell(found[-1], function(found[-1]))
    return found


def density(found):
    return np.exp(PRIOR.log_density(SPACE.encode(found)))


@pytest.mark.parametrize("surrogate", ["gp", "trees", "tpe"])
def test_proposals_follow_a_prior_that_holds(surrogate):
    with_prior, without = (
        trials(Optimizer(SPACE, surrogate=surrogate, prior=prior, random_state=3), 10)
        for prior in (PRIOR, None)
    )
    assert np.mean(density(with_prior)) > 1.3 * np.mean(density(without))
    assert max(map(score, with_prior)) >= max(map(score, without)) - 0.05


# "gp" stands for its variants: they share one proposer.
@pytest.mark.parametrize("surrogate", [name for name in registry if name[:3] != "gp-"])
def test_a_finite_space_is_exhausted_with_a_prior(surrogate):
    prior = OptimumPrior(FINITE, {"n": ([0.0, 1.0], [0.0, 3.0])})
    optimizer = Optimizer(FINITE, surrogate=surrogate, prior=prior, random_state=0)
    found = trials(optimizer, 30, lambda one: -abs(one["n"] - 25))
    assert len({tuple(one.values()) for one in found}) == 30
    if surrogate not in ("random", "sobol"):  # they do not learn from scores
        assert np.mean([one["n"] for one in found[:12]]) > 17


@pytest.mark.parametrize("acquisition", ["ei", "pi", "ucb", UpperConfidenceBound(1.0)])
def test_every_acquisition_can_be_used(acquisition):
    options = {"acquisition": acquisition, "n_initial_points": 4, "random_state": 0}
    found = trials(Optimizer(SPACE, prior=PRIOR, **options), 7)
    plain = trials(Optimizer(SPACE, **options), 7)
    assert np.mean(density(found[4:])) > np.mean(density(plain[4:]))


@pytest.mark.parametrize("surrogate", ["random", "sobol"])
def test_what_learns_nothing_ignores_the_prior(surrogate):
    points = [{"x": x, "y": 0.5, "kind": "a"} for x in (0.25, 0.5)]
    portfolio = Portfolio(SPACE, points, [[0.0, 1.0]], 2)
    one, other = (
        Optimizer(SPACE, surrogate=surrogate, prior=prior, random_state=1).ask(5)
        for prior in (OptimumPrior(SPACE, DENSITIES, portfolio), None)
    )
    assert one == other


def test_a_flat_prior_changes_no_proposal_of_the_model():
    options = {"n_initial_points": 1, "random_state": 2}
    flat = OptimumPrior(SPACE, {"x": ([0.5], [3.0])})
    points = [{"x": 0.5, "y": 0.5, "kind": "a"}]
    one, other = (
        trials(Optimizer(SPACE, prior=p, initial_points=points, **options), 5)
        for p in (flat, None)
    )
    assert one == other


def test_the_design_begins_at_the_center_of_the_prior():
    first = Optimizer(SPACE, prior=PRIOR, random_state=0).ask()
    assert first["kind"] == "b" and first["z"] < 0.3
    assert first["x"] == pytest.approx(0.3, abs=0.01)
    assert first["y"] == pytest.approx(0.5, abs=2e-3)


def test_configurations_in_flight_differ():
    optimizer = Optimizer(SPACE, prior=PRIOR, random_state=0)
    found = trials(optimizer, 7)
    again = Optimizer(SPACE, prior=PRIOR, random_state=0)
    for params in found:
        again.tell(params, score(params))
    copied = pickle.loads(pickle.dumps(optimizer))
    pending = optimizer.ask()
    again.pend(pending)
    assert again.ask(2) == copied.ask(3)[1:]
    X = np.nan_to_num(SPACE.encode(optimizer.ask(4)), nan=2.0)
    distances = np.abs(X[:, None] - X[None]).sum(axis=-1)
    assert np.min(distances[np.triu_indices(4, 1)]) > 1e-3


def test_several_objectives():
    optimizer = Optimizer(SPACE, prior=PRIOR, n_objectives=2, random_state=0)
    found = trials(optimizer, 7, lambda one: [score(one), -one["y"]])
    plain = Optimizer(SPACE, n_objectives=2, random_state=0)
    others = trials(plain, 7, lambda one: [score(one), -one["y"]])
    assert np.mean(density(found)) > np.mean(density(others))


def test_a_tradeoff_has_a_column_more_than_the_prior():
    space = SPACE.extended("train_size", Integer(1, 3))
    optimizer = TradeoffOptimizer(
        space,
        0.1,
        ("train_size", 3),
        prior=PRIOR,
        random_state=0,
    )
    found = trials(optimizer, 6, lambda one: [score(one), -one["train_size"]])
    assert len(found) == 6


def test_a_wrong_prior_is_refused():
    with pytest.raises(TypeError, match="prior must be an OptimumPrior"):
        Optimizer(SPACE, prior={"x": [0.0]})
    with pytest.raises(ValueError, match="prior: the prior is for"):
        Optimizer({"x": (0.0, 2.0)}, prior=PRIOR)
