import numpy as np
import pytest
from scipy import integrate, stats

from skbayes.optimizer.costs import fit_bounded, noise_variance
from skbayes.surrogates import GaussianProcess


def fitted(n=10, D=1, seed=0, noise=0.05):
    """Return known values, and a process with given hyper-parameters."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, D))
    y = 10.0 + 3.0 * np.sin(4 * X[:, 0])
    theta = {"length_scales": [0.4] * D, "amplitude": 1.5, "noise": noise}
    return X, y, GaussianProcess(hyperparameters=theta).fit(X, y)


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("distance", [-6.0, -0.5, 0.0, 1.0, 5.0])
def test_one_bound_makes_the_moments_that_integration_does(side, distance):
    X, y, learner = fitted()
    at = np.array([[1.4]])
    nu = np.sqrt(noise_variance(learner))
    assert nu == pytest.approx(np.sqrt(0.05) * np.std(y))
    plain = fit_bounded(learner, X, y, np.zeros(10))
    mean, sd = (part[0, 0] for part in plain.predict(at))
    np.testing.assert_allclose([mean, sd], np.ravel(learner.predict(at)))
    bound = mean + side * distance * sd

    def density(f):
        return stats.norm.pdf(f, mean, sd) * stats.norm.cdf(side * (f - bound) / nu)

    ends = mean - 12 * sd, mean + 12 * sd
    moments = [
        integrate.quad(lambda f, k=k: f**k * density(f), *ends, limit=200)[0]
        for k in range(3)
    ]
    expected = moments[1] / moments[0]
    variance = moments[2] / moments[0] - expected**2
    model = fit_bounded(
        learner, np.vstack([X, at]), np.append(y, bound), np.append(np.zeros(10), side)
    )
    new_mean, new_sd = (part[0, 0] for part in model.predict(at))
    assert new_mean == pytest.approx(expected, abs=1e-4 * sd)
    assert new_sd == pytest.approx(np.sqrt(variance), rel=1e-3)


def test_many_bounds_make_the_mean_that_sampling_does():
    X, y, learner = fitted(n=4, D=2)
    rng = np.random.default_rng(1)
    at = rng.random((5, 2))
    mean, covariance = (part[0] for part in learner.joint(at))
    f = rng.multivariate_normal(mean, covariance, size=200_000)
    bounds = mean + 0.1
    sides = np.where(f[0] > bounds, 1.0, -1.0)
    nu = np.sqrt(noise_variance(learner))
    weights = np.prod(stats.norm.cdf(sides * (f - bounds) / nu), axis=1)
    expected = weights @ f / np.sum(weights)
    model = fit_bounded(
        learner, np.vstack([X, at]), np.append(y, bounds), np.append(np.zeros(4), sides)
    )
    np.testing.assert_allclose(model.predict(at)[0][0], expected, atol=0.03)


def test_bounds_alone():
    X, y, learner = fitted()
    model = fit_bounded(learner, X, np.full(10, 12.0), np.ones(10))
    assert np.all(model.predict(X)[0] > 12.0)


def test_the_joint_distribution_agrees_with_predictions():
    X, _, learner = fitted(D=2)
    at = np.random.default_rng(2).random((6, 2))
    mean, covariance = learner.joint(at)
    expected = learner.predict(at)
    np.testing.assert_allclose(mean, expected[0])
    variances = np.diagonal(covariance[0])
    np.testing.assert_allclose(np.sqrt(variances), expected[1][0], rtol=1e-6)
    weights = np.full(6, 1 / 6)
    _, sd = learner.average(at, weights)
    assert sd[0] == pytest.approx(np.sqrt(weights @ covariance[0] @ weights))
