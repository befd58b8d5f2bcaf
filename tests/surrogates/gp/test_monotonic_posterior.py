import numpy as np
import pytest

from skbayes.surrogates.gp.derivative_kernels import JointCovariance
from skbayes.surrogates.gp.ep import Sites
from skbayes.surrogates.gp.hyperparameters import LogPosterior
from skbayes.surrogates.gp.kernels import KERNELS, Embedding
from skbayes.surrogates.gp.monotonic_posterior import (
    MonotonicLogPosterior,
    Signs,
    factorize,
)


def make_posterior(kernel, n_signs, extra=None, seed=0):
    rng = np.random.default_rng(seed)
    X, points = rng.random((12, 3)), rng.random((n_signs, 3))
    y = X[:, 0] - X[:, 1] ** 2 + 0.1 * rng.standard_normal(12)
    table = np.tile([1.0, -1.0, 0.0], (n_signs, 1))
    rows = Signs.of_table(points, table, 1e-6)
    embedding = Embedding([0, 0, 0])
    squares = embedding.squared_differences(X)
    y = (y - y.mean()) / y.std()
    joint = JointCovariance(embedding, X, rows.points, rows.columns, kernel)
    plain = LogPosterior(squares, y, KERNELS[kernel], extra)
    return MonotonicLogPosterior(plain, joint, rows), plain


def test_a_table_becomes_a_row_for_each_sign():
    points = np.array([[0.1, 0.2], [0.3, np.nan]])
    signs = Signs.of_table(points, np.array([[1.0, -1.0], [1.0, 0.0]]), [1.0, 2.0])
    assert signs.columns.tolist() == [0, 1, 0]
    assert signs.values.tolist() == [1, -1, 1]
    assert signs.nu.tolist() == [1, 2, 1]
    np.testing.assert_array_equal(signs.points, points[[0, 0, 1]])
    assert signs.equals(Signs(*map(np.copy, signs)))
    assert not signs.equals(signs._replace(values=-signs.values))


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_gradient_agrees_with_finite_differences(kernel):
    extra = np.random.default_rng(1).random(12)
    posterior, _ = make_posterior(kernel, 8, extra)
    rng = np.random.default_rng(2)
    for _ in range(4):
        theta = rng.uniform([-1.5] * 3 + [-1, -5], [1.0] * 3 + [1, -1])
        _, gradient = posterior(theta)
        for analytic, step in zip(gradient, 1e-5 * np.eye(5), strict=True):
            numeric = (posterior(theta + step)[0] - posterior(theta - step)[0]) / 2e-5
            np.testing.assert_allclose(analytic, numeric, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_without_signs_it_is_that_of_the_scores(kernel):
    posterior, plain = make_posterior(kernel, 0)
    theta = np.array([-0.5, 0.2, 0.4, 0.3, -3.0])
    for ours, expected in zip(posterior(theta), plain(theta), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-10)


def test_signs_that_hold_are_evidence_and_those_that_do_not_are_none():
    posterior, plain = make_posterior("rbf", 5)
    theta = np.array([0.3, 0.3, 0.3, 0.3, -3.0])
    truth = posterior(theta)[0] - plain(theta)[0]
    signs = posterior.signs
    posterior.signs = signs._replace(values=-signs.values)
    assert 0 < truth < 3 < posterior(theta)[0] - plain(theta)[0] - 10


def test_sites_act_as_observations_of_derivatives():
    """Conditioning on tau and shift is conditioning on shift / tau with noise."""
    posterior, _ = make_posterior("rbf", 3)
    K = posterior.joint.correlations(np.array([0.5, 0.7, 0.9]))
    K[np.arange(12), np.arange(12)] += 0.01
    k = len(posterior.signs.values)
    tau, shift = np.linspace(0.5, 20, k), np.linspace(-1, 3, k)
    factors = factorize(
        K, posterior.y, posterior.signs, Sites(tau, shift, 0.0, True, 1)
    )
    full = K.copy()
    full[np.arange(12, 12 + k), np.arange(12, 12 + k)] += 1 / tau
    observed = np.concatenate([posterior.y, shift / tau])
    np.testing.assert_allclose(
        factors.weights, np.linalg.solve(full, observed), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        factors.M.T @ factors.M, np.linalg.inv(full), rtol=1e-5, atol=1e-5
    )
