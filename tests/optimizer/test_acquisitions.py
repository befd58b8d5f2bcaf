import numpy as np
import pytest
from sklearn.base import BaseEstimator

from skbayes import BayesSearchCV, Optimizer
from skbayes.acquisition import ExpectedInfluence, UpperConfidenceBound
from skbayes.surrogates import GaussianProcess, GraphField, ParzenEstimator

GRID = {"a": [1, 2, 3], "b": [1, 2, 3, 4]}


@pytest.mark.parametrize(
    ("surrogate", "acquisition"),
    [
        ("gp", "eif"),
        ("trees", ExpectedInfluence()),
        ("random", "eif"),
        (GaussianProcess(), "eif"),
        (ParzenEstimator(), "eif"),
        ("tpe", "ucb"),
        (ParzenEstimator(), "pi"),
        ("random", UpperConfidenceBound()),
        ("sobol", "pi"),
    ],
)
def test_what_does_not_go_together(surrogate, acquisition):
    reason = "needs surrogate='graph'|does not predict scores"
    with pytest.raises(ValueError, match=f"acquisition .*({reason})"):
        Optimizer(GRID, surrogate=surrogate, acquisition=acquisition)


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


def test_a_search_refuses_before_any_fit():
    class NeverFitted(BaseEstimator):
        def __init__(self, a=1):
            self.a = a

        def fit(self, X, y):
            raise AssertionError("a fit was paid for")

        def score(self, X, y):
            return 0.0

    X, y = np.zeros((20, 1)), np.tile([0, 1], 10)
    for spaces, arguments, message in (
        ({"a": (0.0, 1.0)}, {"surrogate": "graph"}, "infinitely many"),
        ({"a": [1, 2, 3]}, {"surrogate": ("gp", "eif")}, "needs surrogate='graph'"),
        (
            {"a": [1, 2, 3, 4]},
            {"surrogate": "graph", "pruning": True, "n_iter": 2},
            "pruning must be False and trial_limits None with the surrogate 'graph'",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            BayesSearchCV(NeverFitted(), spaces, **arguments).fit(X, y)


@pytest.mark.parametrize("surrogate", ["graph", GraphField()])
def test_a_graph_takes_no_noise(surrogate):
    optimizer = Optimizer(GRID, surrogate=surrogate)
    with pytest.raises(ValueError, match="noise must be 0 or None"):
        optimizer.tell({"a": 1, "b": 1}, 1.0, noise=0.1)


@pytest.mark.parametrize("surrogate", ["tpe", ParzenEstimator(), "random", "sobol"])
def test_what_does_not_predict_scores_does_not_mind_noise(surrogate):
    proposals = []
    for noise in (None, 0.1):
        optimizer = Optimizer(
            GRID, surrogate=surrogate, n_initial_points=0, random_state=0
        )
        optimizer.tell({"a": 1, "b": 1}, 1.0, noise=noise)
        proposals.append(optimizer.ask(3))
    assert proposals[0] == proposals[1]
