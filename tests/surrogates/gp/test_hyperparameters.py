import math

import numpy as np
import pytest
from scipy import stats

from skbayes.surrogates.gp.hyperparameters import (
    LogPosterior,
    find_mode,
    sample_posterior,
)
from skbayes.surrogates.gp.kernels import KERNELS, Embedding


def make_posterior(n=15, D=3, kernel="matern52", seed=0, extra=None):
    rng = np.random.default_rng(seed)
    X = rng.random((n, D))
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(n)
    y = (y - y.mean()) / y.std()
    differences = Embedding([0] * D).squared_differences(X)
    return X, LogPosterior(differences, y, KERNELS[kernel], extra)


# Known variances of 15 outputs: none, some, more than all else.
EXTRA = np.repeat([0.0, 0.01, 0.5, 2.0, 1e4], 3)


@pytest.mark.parametrize("extra", [None, EXTRA], ids=["plain", "extra"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_gradient_agrees_with_finite_differences(kernel, extra):
    _, posterior = make_posterior(kernel=kernel, extra=extra)
    rng = np.random.default_rng(1)
    for _ in range(5):
        theta = posterior.prior_mean + posterior.prior_sd * rng.standard_normal(5)
        theta[-1] = max(theta[-1], -8.0)
        h = 1e-5
        numeric = [
            (posterior(theta + step)[0] - posterior(theta - step)[0]) / (2 * h)
            for step in h * np.eye(5)
        ]
        np.testing.assert_allclose(posterior(theta)[1], numeric, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("extra", [None, EXTRA[:8]], ids=["plain", "extra"])
def test_the_density_is_likelihood_times_prior(extra):
    X, posterior = make_posterior(n=8, extra=extra)

    def log_density(theta):
        scaled = X / np.exp(theta[:3])
        r2 = np.square(scaled[:, None] - scaled).sum(axis=2)
        K = math.exp(theta[3]) * KERNELS["matern52"](r2)[0]
        K += math.exp(theta[4]) * np.eye(8)
        K += np.diag(np.zeros(8) if extra is None else extra)
        likelihood = stats.multivariate_normal(np.zeros(8), K).logpdf(posterior.y)
        prior = stats.norm(math.log(0.5 * math.sqrt(3)), 1.0).logpdf(theta[:3]).sum()
        prior += stats.norm(0, 1).logpdf(theta[3]) + stats.norm(-5, 1.5).logpdf(
            theta[4]
        )
        return likelihood + prior

    a, b = np.array([-0.5, 0.3, 0.0, 0.2, -3.0]), np.array([0.1, -1, 0.5, -0.4, -5.0])
    ours = posterior(b)[0] - posterior(a)[0]
    assert ours == pytest.approx(log_density(a) - log_density(b), abs=1e-9)


def test_the_mode_is_better_than_everything_near_it():
    _, posterior = make_posterior()
    mode = find_mode(posterior)
    value = posterior(mode)[0]
    rng = np.random.default_rng(0)
    for _ in range(50):
        near = mode + 0.3 * rng.standard_normal(5)
        assert posterior(near)[0] > value - 1e-3


def test_samples_have_the_spread_of_a_nearly_normal_posterior():
    _, posterior = make_posterior(n=60, D=1)
    mode = find_mode(posterior)
    thetas = sample_posterior(posterior, mode, 4000, np.random.default_rng(0))
    # Self-normalized importance weights correct the sample; moments may move little.
    log_weights = np.array([-posterior(theta)[0] for theta in thetas[:400]])
    precision = np.linalg.inv(np.cov(thetas.T))
    centered = thetas[:400] - mode
    log_weights += 0.5 * np.einsum("ij,jk,ik->i", centered, precision, centered)
    weights = np.exp(log_weights - log_weights.max())
    mean = weights @ thetas[:400] / weights.sum()
    sd = np.sqrt(weights @ np.square(thetas[:400] - mean) / weights.sum())
    np.testing.assert_allclose(mean, mode, atol=0.6)
    np.testing.assert_allclose(sd, thetas.std(axis=0), rtol=0.5)


def test_samples_come_in_pairs_and_respect_the_bounds():
    _, posterior = make_posterior(n=3)
    mode = find_mode(posterior)
    thetas = sample_posterior(posterior, mode, 7, np.random.default_rng(0))
    low, high = posterior.bounds.T
    assert thetas.shape == (7, 5)
    assert np.all((thetas >= low) & (thetas <= high))
    inside = np.all((thetas > low) & (thetas < high), axis=1)
    pairs = [
        (place, place + 4) for place in range(3) if all(inside[[place, place + 4]])
    ]
    assert pairs
    for one, other in pairs:
        np.testing.assert_allclose((thetas[one] + thetas[other]) / 2, mode)
