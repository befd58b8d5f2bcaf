"""Uncertainty of a mean of scores, compared with single predictions."""

import numpy as np
import pytest

from skbayes.stages.fidelity import MultiFidelity
from skbayes.surrogates import (
    AdditiveGaussianProcess,
    GaussianProcess,
    GraphField,
    MonotonicGP,
    TreeEnsemble,
)
from skbayes.surrogates.surrogate import posterior_of_mean

GRID = np.array([[a, b] for a in np.linspace(0, 1, 6) for b in np.linspace(0, 1, 5)])
TRAIN = np.array([0, 3, 7, 12, 18, 22, 29])
WEIGHTS = np.arange(1.0, 9.0) / 36.0
AT = GRID[[1, 4, 8, 11, 16, 20, 25, 28]]
FIXED = {"length_scales": [0.4, 0.7], "amplitude": 1.3, "noise": 0.05}


def scores(X):
    return np.sin(3 * X[:, 0]) + 0.5 * X[:, 1] ** 2


MODELS = {
    "gp": lambda: GaussianProcess(hyperparameters=FIXED),
    "gp-samples": lambda: GaussianProcess(n_samples=4),
    "additive": lambda: AdditiveGaussianProcess(hyperparameters=FIXED),
    "additive-samples": lambda: AdditiveGaussianProcess(n_samples=3),
    "graph": lambda: GraphField(nodes=GRID),
    "signs": lambda: MonotonicGP(
        sign_points=GRID[[2, 9]],
        signs=np.array([[1.0, 0.0], [1.0, 1.0]]),
        hyperparameters=FIXED,
    ),
    "multi-fidelity": lambda: MultiFidelity(
        GaussianProcess(n_samples=0),
        GRID[:9],
        scores(GRID[:9]) - 0.1,
        np.full(9, 0.3),
        1.0,
    ),
    "trees": TreeEnsemble,
}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]().fit(GRID[TRAIN], scores(GRID[TRAIN]))


def covariance(model):
    """Return the covariances between all of `AT`, from averages of two."""
    m = len(AT)
    pairs = np.array(
        [
            [model.average(AT[[i, j]], np.full(2, 0.5))[1] ** 2 for j in range(m)]
            for i in range(m)
        ]
    )
    single = np.array([pairs[i, i] for i in range(m)])
    return 2.0 * pairs - 0.5 * (single[:, None] + single)


def test_mean_and_variance_are_those_of_the_single_predictions(model):
    mean, sd = posterior_of_mean(model, AT, WEIGHTS)
    assert mean.shape == sd.shape == model.predict(AT)[0].shape[:1]
    np.testing.assert_allclose(mean, model.predict(AT)[0] @ WEIGHTS, rtol=1e-10)
    expected = np.einsum("i,ijs,j->s", WEIGHTS, covariance(model), WEIGHTS)
    np.testing.assert_allclose(sd**2, expected, rtol=1e-6)
    if isinstance(model, TreeEnsemble):
        # Trees disagree less on averages than on single scores.
        assert sd[0] < WEIGHTS @ model.predict(AT)[1][0]
        return
    for row in AT:
        one = posterior_of_mean(model, row[None], np.ones(1))
        many = posterior_of_mean(model, np.tile(row, (3, 1)), np.full(3, 1 / 3))
        expected = [part[:, 0] for part in model.predict(row[None])]
        np.testing.assert_allclose(one, expected, rtol=1e-7)
        np.testing.assert_allclose(many, expected, rtol=1e-7)


@pytest.mark.parametrize(
    "name, noise", [("gp", 0.05), ("additive", 0.05), ("graph", 0.0)]
)
def test_covariances_are_those_that_conditioning_uses(name, noise):
    """Observing j reduces the variance of i by c_ij^2 / (c_jj + noise)."""
    model = MODELS[name]().fit(GRID[TRAIN], scores(GRID[TRAIN]))
    C = covariance(model)[..., 0]
    unit = model._unit**2
    for j in range(len(AT)):
        _, sd = model.condition(AT[[j]]).predict(AT)
        expected = np.diag(C) - C[:, j] ** 2 / (C[j, j] + noise * unit)
        np.testing.assert_allclose(sd[0] ** 2, expected, atol=1e-8 * unit)


def test_without_covariances_the_bound_is_taken():
    class Plain:
        def predict(self, X):
            return X.T[:1], X.T[1:]

    mean, sd = posterior_of_mean(Plain(), AT, WEIGHTS)
    assert mean[0] == pytest.approx(WEIGHTS @ AT[:, 0])
    assert sd[0] == pytest.approx(WEIGHTS @ AT[:, 1])
