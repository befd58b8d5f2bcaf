import pytest

from skbayes import Optimizer
from skbayes.acquisition import ExpectedInfluence
from skbayes.surrogates import GraphField, ParzenEstimator

GRID = {"a": [1, 2, 3], "b": [1, 2, 3, 4]}


@pytest.mark.parametrize(
    ("surrogate", "acquisition"),
    [
        (GraphField("matern52"), ExpectedInfluence("best")),
        ("graph", "ucb"),
        (ParzenEstimator(), "ei"),
    ],
)
def test_what_does(surrogate, acquisition):
    optimizer = Optimizer(
        GRID, surrogate=surrogate, acquisition=acquisition, random_state=0
    )
    for params in optimizer.ask(4):
        optimizer.tell(params, params["a"])
    assert optimizer.ask()


@pytest.mark.parametrize("surrogate", ["tpe", ParzenEstimator(), "random", "sobol"])
def test_samplers_ignore_noise(surrogate):
    proposals = []
    for noise in (None, 0.1):
        optimizer = Optimizer(
            GRID, surrogate=surrogate, n_initial_points=0, random_state=0
        )
        optimizer.tell({"a": 1, "b": 1}, 1.0, noise=noise)
        proposals.append(optimizer.ask(3))
    assert proposals[0] == proposals[1]
