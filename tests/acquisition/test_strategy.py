import numpy as np
import pytest

from skbayes import BayesSearchCV, Optimizer
from skbayes.acquisition import ExpectedInfluence, UpperConfidenceBound
from skbayes.acquisition.base import Known
from skbayes.acquisition.strategy import ModelStrategy, learn
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
        ("graph", "eif"),
        (GraphField("matern52"), ExpectedInfluence("best")),
        ("graph", "ucb"),
        ("tpe", "ei"),
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
    class NeverFitted:
        def get_params(self, deep=True):
            return {"a": 1}

        def set_params(self, **params):
            return self

        def fit(self, X, y):
            raise AssertionError("a fit was paid for")

        def score(self, X, y):
            return 0.0

    X, y = np.zeros((20, 1)), np.tile([0, 1], 10)
    for spaces, arguments, message in (
        ({"a": (0.0, 1.0)}, {"surrogate": "graph"}, "infinitely many"),
        ({"a": [1, 2, 3]}, {"acquisition": "eif"}, "needs surrogate='graph'"),
        (
            {"a": [1, 2, 3, 4]},
            {"surrogate": "graph", "racing": True, "n_iter": 2},
            "noise must be 0 or None with the surrogate 'graph'",
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


def test_the_best_is_what_the_model_makes_of_scores_and_of_what_is_pending():
    X = np.random.default_rng(0).random((9, 2))
    known = Known(X[:6], np.arange(6.0), np.full(6, 0.5), X[6:])
    model = GaussianProcess(random_state=1)
    surrogate, best_f = learn(model, known)
    expected = GaussianProcess(random_state=1).fit(X[:6], known.y, known.noise)
    expected = expected.condition(X[6:]).predict(X)[0].max(axis=1, keepdims=True)
    np.testing.assert_array_equal(best_f, expected)
    # Another objective, by the same configurations.
    _, other = learn(model, known, -known.y)
    assert other.max() < 1.0 < best_f.min()
    proposer = ModelStrategy(model, UpperConfidenceBound(0.0)).proposer(known)
    np.testing.assert_allclose(proposer.scores(X), surrogate.predict(X)[0].mean(axis=0))


def test_what_is_known_of_failures():
    X = np.arange(4.0)[:, None]
    known = Known(X, np.array([1.0, np.nan, 3.0, -2.0]), np.zeros(4), X[:0])
    np.testing.assert_array_equal(known.y, [1.0, -2.0, 3.0, -2.0])
    np.testing.assert_array_equal(known.incumbents[:2], X[[2, 0]])
    nothing = Known(X[:2], np.full(2, np.nan), np.zeros(2), X[:0])
    assert nothing.incumbents.shape == (0, 1)
