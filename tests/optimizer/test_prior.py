"""Optimizers with a prior over the best configuration."""

import numpy as np
import pytest

from skbayes import Optimizer
from skbayes.acquisition import UpperConfidenceBound
from skbayes.space import Choice, Integer, OptimumPrior, Space
from skbayes.surrogates.registry import registry
from skbayes.tradeoff.optimizer import TradeoffOptimizer

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
    configurations = []
    for _ in range(n):
        configurations.append(optimizer.ask())
        optimizer.tell(configurations[-1], function(configurations[-1]))
    return configurations


def density(configurations):
    return np.exp(PRIOR.log_density(SPACE.encode(configurations)))


@pytest.mark.parametrize(
    "options",
    [
        *({"surrogate": name} for name in ("gp", "trees", "tpe")),
        *({"acquisition": a} for a in ("pi", "ucb", UpperConfidenceBound(1.0))),
        {"n_objectives": 2},
    ],
)
def test_proposals_follow_a_prior_that_holds(options):
    def several(params):
        return [score(params), -params["y"]]

    function = several if "n_objectives" in options else score
    with_prior, without = (
        trials(Optimizer(SPACE, prior=p, random_state=3, **options), 8, function)
        for p in (PRIOR, None)
    )
    assert np.mean(density(with_prior)) > 1.2 * np.mean(density(without))
    assert max(map(score, with_prior)) >= max(map(score, without)) - 0.05


# "gp" stands for its variants: they share one proposer.
@pytest.mark.parametrize(
    ("surrogate", "acquisition"),
    [*((name, "ei") for name in registry if name[:3] != "gp-"), ("graph", "eif")],
)
def test_a_finite_space_is_exhausted_with_a_prior(surrogate, acquisition):
    prior = OptimumPrior(FINITE, {"n": ([0.0, 1.0], [0.0, 3.0])})
    options = {"surrogate": surrogate, "acquisition": acquisition, "random_state": 0}
    optimizer = Optimizer(FINITE, prior=prior, **options)
    configurations = trials(optimizer, 30, lambda one: -abs(one["n"] - 25))
    assert len({tuple(one.values()) for one in configurations}) == 30
    if surrogate not in ("random", "sobol"):  # they do not learn from scores
        assert np.mean([one["n"] for one in configurations[:12]]) > 17


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


def test_a_tradeoff_has_a_column_more_than_the_prior():
    space = SPACE.extended("train_size", Integer(1, 3))
    optimizer = TradeoffOptimizer(
        space, 0.1, ("train_size", 3), prior=PRIOR, random_state=0
    )
    configurations = trials(optimizer, 6, lambda one: [score(one), -one["train_size"]])
    assert len(configurations) == 6
