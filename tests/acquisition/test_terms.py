import numpy as np
import pytest

from skbayes import Optimizer
from skbayes.acquisition import ExpectedImprovement, UpperConfidenceBound
from skbayes.acquisition.base import ModelProposer, Observations
from skbayes.acquisition.terms import LogTerm, sum_gradients, sum_values
from skbayes.surrogates import GaussianProcess


class Bump(LogTerm):
    """Logarithm of a normal density in the first column."""

    def __init__(self, center, sd=0.02):
        self.center, self.sd = center, sd

    def value(self, X):
        return -0.5 * ((X[:, 0] - self.center) / self.sd) ** 2

    def gradient(self, X):
        result = np.zeros(X.shape)
        result[:, 0] = -(X[:, 0] - self.center) / self.sd**2
        return result


class DrawnBump(Bump):
    """Bump without gradients whose center is drawn at random."""

    has_gradients = False

    def draw(self, random_state):
        return np.full((1, 2), self.center)


def test_terms_are_summed():
    X = np.random.default_rng(0).random((4, 2))
    terms = [Bump(0.2), Bump(0.5)]
    expected = terms[0].value(X) + terms[1].value(X)
    np.testing.assert_allclose(sum_values(terms, X), expected)
    assert sum_values([], X).shape == (4,)
    assert sum_gradients([], X).shape == (4, 2)


@pytest.mark.parametrize("acquisition", [ExpectedImprovement(), UpperConfidenceBound()])
def test_gradients_agree_with_finite_differences(acquisition):
    rng = np.random.default_rng(0)
    X = rng.random((9, 2))
    known = Observations(X, 3.0 * X[:, 1], np.zeros(9), X[:0])
    plain = ModelProposer(GaussianProcess(n_samples=0), acquisition).fit(known)
    assert plain.with_terms([]) is plain
    proposer = plain.with_terms([Bump(0.4, sd=0.5)])
    candidates = rng.random((5, 2))
    scores, gradient = proposer.scores_and_gradient(candidates)
    np.testing.assert_allclose(scores, proposer.scores(candidates))
    unit = 1.0 if acquisition.is_log else np.std(known.y)
    added = scores - plain.scores(candidates)
    np.testing.assert_allclose(added, unit * Bump(0.4, sd=0.5).value(candidates))
    for column, step in enumerate(1e-6 * np.eye(2)):
        ahead, behind = (proposer.scores(candidates + s * step) for s in (1, -1))
        numeric = (ahead - behind) / 2e-6
        np.testing.assert_allclose(gradient[:, column], numeric, rtol=1e-4, atol=1e-5)
    # The improvement that is expected is that of the score alone.
    row = candidates[0]
    assert proposer.expected_improvement(row) == plain.expected_improvement(row)


CASES = {
    "gp": ({"surrogate": "gp"}, 1),
    "trees": ({"surrogate": "trees"}, 1),
    "random": ({"surrogate": "random"}, 1),
    "sobol": ({"surrogate": "sobol"}, 1),
    "tpe": ({"surrogate": "tpe"}, 1),
    "objectives": ({"surrogate": "gp"}, 2),
}


@pytest.mark.parametrize("term", [Bump(0.3), DrawnBump(0.3)], ids=["smooth", "drawn"])
@pytest.mark.parametrize("name", CASES)
def test_every_proposer_adds_terms(monkeypatch, name, term):
    options, n_objectives = CASES[name]

    def propose(terms):
        monkeypatch.setattr(Optimizer, "_terms", lambda *_: terms)
        space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
        optimizer = Optimizer(space, **options, random_state=0)
        for x in np.linspace(0.1, 0.9, 11):
            scores = [x, 1.0 - x][:n_objectives]
            told = scores if n_objectives > 1 else x
            optimizer.tell({"x": x, "y": x}, told)
        return optimizer.ask()["x"]

    near = abs(propose([term]) - 0.3)
    assert near < abs(propose([]) - 0.3)
    # TPE scores few candidates, all where good trials are.
    assert name == "tpe" or near < 0.1


def test_influence_takes_terms(monkeypatch):
    monkeypatch.setattr(Optimizer, "_terms", lambda *_: [Bump(0.4, sd=0.01)])
    optimizer = Optimizer(
        {"x": list(range(11)), "y": [0, 1]}, surrogate="graph", acquisition="eif"
    )
    for x in (0, 5, 10):
        optimizer.tell({"x": x, "y": 0}, float(x))
    assert optimizer.ask()["x"] == 4
