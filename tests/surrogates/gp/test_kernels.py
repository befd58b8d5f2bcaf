import math

import numpy as np
import pytest
from differences import assert_slopes
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, Matern

from skbayes.surrogates import GaussianProcess, WarpedGaussianProcess
from skbayes.surrogates.gp import kernels
from skbayes.surrogates.gp.gp import MAX_APPENDED, n_learning_points
from skbayes.surrogates.gp.kernels import (
    BLOCK_ROWS,
    KERNELS,
    Embedding,
    InverseFactor,
    LogPosterior,
    cholesky,
    find_mode,
    sample_posterior,
    squared_distances,
)

REFERENCES = {
    "rbf": RBF(1.0),
    "matern32": Matern(1.0, nu=1.5),
    "matern52": Matern(1.0, nu=2.5),
}


@pytest.mark.parametrize("name", KERNELS)
def test_correlations_are_those_of_scikit_learn(name):
    X = np.linspace(0, 5, 40)[:, None]
    k, _ = KERNELS[name](np.square(X - X.T))
    np.testing.assert_allclose(k, REFERENCES[name](X), atol=1e-14)


def mixed_rows(n, rng):
    """Return two ordered columns, one of 3 options, and one that may be inactive."""
    X = np.column_stack(
        [rng.random(n), rng.random(n), rng.integers(0, 3, n) / 2, rng.random(n)]
    )
    X[rng.random(n) < 0.4, 3] = np.nan
    return X, Embedding([0, 0, 3, 0])


def test_distances_follow_their_definition():
    rng = np.random.default_rng(0)
    X, embedding = mixed_rows(12, rng)
    scales = np.array([0.3, 0.7, 1.5, 0.4])
    scaled = embedding.scale(embedding.place(X), scales)
    filled = np.where(np.isnan(X), 0.5, X)
    expected = np.zeros((12, 12))
    for a in range(12):
        for b in range(12):
            for d in range(4):
                delta = filled[a, d] - filled[b, d]
                if d == 2:
                    delta = float(X[a, d] != X[b, d])
                expected[a, b] += (delta / scales[d]) ** 2
    np.testing.assert_allclose(squared_distances(scaled, scaled), expected, atol=1e-12)
    by_column = embedding.squared_differences(X)
    np.testing.assert_allclose(
        np.tensordot(scales**-2.0, by_column, 1), expected, atol=1e-12
    )


@pytest.mark.parametrize("K, last", [(3, 0.5), (2, np.nan)])
def test_options_are_exchangeable_and_an_inactive_one_is_one_more(K, last):
    r2 = Embedding([K]).squared_differences(np.array([[0.0], [1.0], [last]]))[0]
    np.testing.assert_array_equal(r2, 1.0 - np.eye(3))


def test_kernels_on_mixed_rows_are_positive_definite():
    rng = np.random.default_rng(1)
    X, embedding = mixed_rows(60, rng)
    scaled = embedding.scale(embedding.place(X), np.array([0.2, 1.0, 0.8, 0.5]))
    for kernel in KERNELS.values():
        k, _ = kernel(squared_distances(scaled, scaled))
        assert np.linalg.eigvalsh(k)[0] > -1e-10


def test_distances_broadcast_over_samples_of_length_scales():
    rng = np.random.default_rng(2)
    X, embedding = mixed_rows(5, rng)
    scales = rng.random((3, 4)) + 0.1
    together = embedding.scale(embedding.place(X), scales)
    for s in range(3):
        np.testing.assert_allclose(
            together[s], embedding.scale(embedding.place(X), scales[s])
        )
    assert squared_distances(together, together[:, :2]).shape == (3, 5, 2)


def test_only_observed_options_of_many_have_coordinates():
    """Distances to known options are the same with one coordinate per option."""
    K, rng = 5000, np.random.default_rng(0)
    data, X = (
        np.column_stack([rng.random(n), rng.integers(0, 9, n) / (K - 1)])
        for n in (7, 40)
    )
    data[0, 1] = X[1, 1] = np.nan
    X[0, 1] = 1.0
    embedding = Embedding([0, K], data)
    assert embedding.place(X).shape[1] <= 9
    r2 = squared_distances(embedding.place(X), embedding.place(data))
    both = Embedding([0, K]).squared_differences(np.vstack([X, data]))
    np.testing.assert_allclose(r2, both.sum(axis=0)[:40, 40:], atol=1e-12)
    placed = embedding.covering(X).place(X)
    np.testing.assert_allclose(
        squared_distances(placed, placed), both.sum(axis=0)[:40, :40], atol=1e-12
    )


def test_the_jitter_is_as_small_as_possible_and_bounded():
    A = np.random.default_rng(0).random((6, 6))
    K = A @ A.T + np.eye(6)
    np.testing.assert_allclose(cholesky(K), np.linalg.cholesky(K), atol=1e-12)
    K = np.ones((20, 20))
    L = cholesky(K)
    assert 0 < np.abs(L @ L.T - K).max() <= 1e-8
    np.testing.assert_array_equal(L, np.tril(L))
    K = np.eye(3)
    K[2, 2] = -1e-5
    L = cholesky(K)
    largest = kernels.JITTERS[-1]
    assert np.abs(L @ L.T - K).max() <= largest * np.mean(np.diagonal(K)) * (1 + 1e-6)
    with pytest.raises(np.linalg.LinAlgError, match="3 points"):
        cholesky(np.diag([1.0, 1.0, -1.0]))


def covariances(n, S=2, seed=0):
    A = np.random.default_rng(seed).standard_normal((S, n, n))
    return A @ np.swapaxes(A, 1, 2) / n + 0.1 * np.eye(n)


def of_parts(K, *sizes):
    """Factorize the first rows, then append the others."""
    n = sizes[0]
    result = InverseFactor.of_covariances(K[:, :n, :n])
    for size in sizes[1:]:
        end = n + size
        result = result.extend(K[:, :n, n:end], K[:, n:end, n:end])
        n = end
    return result


@pytest.mark.parametrize(
    "sizes", [(7,), (6, 1), (1, 1, 5), (BLOCK_ROWS + 3,), (2 * BLOCK_ROWS, 40, 5)]
)
def test_products_are_those_of_the_inverse(sizes):
    n = sum(sizes)
    K = covariances(n)
    inverse = np.linalg.inv(K)
    M = np.linalg.inv(np.linalg.cholesky(K))
    result = of_parts(K, *sizes)
    assert len(result) == n
    assert not np.any(result.jitter)
    kx = np.random.default_rng(1).standard_normal((2, 4, n))
    v = result.whiten(kx)
    np.testing.assert_allclose(v, kx @ np.swapaxes(M, 1, 2), atol=1e-9)
    np.testing.assert_allclose(result.unwhiten(v), kx @ inverse, atol=1e-8)
    np.testing.assert_allclose(
        result.solve(kx[:, 0]), np.einsum("snm,sm->sn", inverse, kx[:, 0]), atol=1e-8
    )
    diagonals = np.diagonal(inverse, axis1=1, axis2=2)
    np.testing.assert_allclose(result.precision(), diagonals, rtol=1e-8)


def test_appending_leaves_the_factor_as_it_was():
    K = covariances(9)
    first = of_parts(K, 5)
    before = [block.copy() for block in first.blocks]
    for _ in range(2):
        first.extend(K[:, :5, 5:], K[:, 5:, 5:])
    np.testing.assert_array_equal(first.blocks, before)


def test_appended_duplicates_need_a_small_jitter_only():
    K = np.ones((1, 5, 5)) + np.diag([1e-3, 1e-3, 1e-3, 0.0, 0.0])
    result = of_parts(K, 3, 2)
    assert not np.any(result.jitter[:, :3])
    assert np.all(result.jitter[:, 3:] <= kernels.JITTERS[2])
    assert np.all(np.isfinite(result.solve(np.ones((1, 5)))))
    # It is the inverse of the covariances with the jitter.
    shifted = K[0] + np.diag(result.jitter[0])
    solved = result.solve(np.arange(5.0)[None])[0]
    np.testing.assert_allclose(shifted @ solved, np.arange(5.0), atol=1e-3)


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    X[rng.random(n) < 0.3, 2] = np.nan
    return X, np.sin(5 * X[:, 0]) + 0.01 * rng.standard_normal(n)


@pytest.mark.parametrize("n", [20, 63])
@pytest.mark.parametrize("kind", [GaussianProcess, WarpedGaussianProcess])
def test_predictions_do_not_depend_on_what_was_fitted_before(kind, n):
    X, y = data(n)
    at, _ = data(8, seed=1)
    grown = kind(n_options=[0, 0, 0]).fit(*data(70))
    for size in range(n_learning_points(n) - 3, n + 1):
        grown.fit(X[:size], y[:size]).condition(at[:1])
    fresh = kind(n_options=[0, 0, 0]).fit(X, y)
    for model, other in [(grown, fresh), (grown.condition(at), fresh.condition(at))]:
        for one, two in zip(
            model.predict(at, True), other.predict(at, True), strict=True
        ):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("noisy", [False, True])
def test_appended_observations_count_as_all_do(monkeypatch, noisy):
    n = 20 + MAX_APPENDED - 1
    X, y = data(n)
    noise = np.linspace(0.0, 0.1, n) if noisy else None
    theta = {"length_scales": [0.5, 0.5, 0.7], "amplitude": 1.2, "noise": 1e-3}
    at, _ = data(6, seed=1)
    predictions = []
    for learning_points in (lambda m: min(m, 20), lambda m: m):
        name = "skbayes.surrogates.gp.gp.n_learning_points"
        monkeypatch.setattr(name, learning_points)
        model = GaussianProcess(hyperparameters=theta).fit(X, y, noise)
        predictions.append(model.predict(at, True))
    for one, two in zip(*predictions, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("n_pending", [0, 3])
def test_known_means_are_the_predictions(noisy, n_pending):
    X, y = data(40)
    model = GaussianProcess().fit(X, y, np.full(40, 0.2) if noisy else None)
    if n_pending:
        pending, _ = data(n_pending, seed=2)
        model, X = model.condition(pending), np.vstack([X, pending])
    expected = model.predict(X)[0]
    np.testing.assert_allclose(model.known_means(X), expected, rtol=0, atol=1e-9)
    # Others are predicted.
    others, _ = data(5, seed=3)
    np.testing.assert_array_equal(model.known_means(others), model.predict(others)[0])


def test_known_means_of_duplicates_are_the_predictions():
    """Without noise, covariances of duplicates need a jitter."""
    X, y = data(5)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3) + 1e-3 * np.arange(15)
    theta = {"length_scales": [0.5, 0.5, 0.7], "amplitude": 1.2, "noise": 1e-20}
    model = GaussianProcess(hyperparameters=theta).fit(X, y)
    np.testing.assert_allclose(model.known_means(X), model.predict(X)[0], atol=1e-6)


def make_posterior(n=15, D=3, kernel="matern52", seed=0, extra=None):
    rng = np.random.default_rng(seed)
    X = rng.random((n, D))
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(n)
    y = (y - y.mean()) / y.std()
    differences = Embedding([0] * D).squared_differences(X)
    return X, LogPosterior(differences, y, KERNELS[kernel], extra)


# Known variances of 15 outputs: none, some, larger than all other variances.
EXTRA = np.repeat([0.0, 0.01, 0.5, 2.0, 1e4], 3)


@pytest.mark.parametrize("extra", [None, EXTRA], ids=["plain", "extra"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_gradient_agrees_with_finite_differences(kernel, extra):
    _, posterior = make_posterior(kernel=kernel, extra=extra)
    rng = np.random.default_rng(1)
    for _ in range(5):
        theta = posterior.prior_mean + posterior.prior_sd * rng.standard_normal(5)
        theta[-1] = max(theta[-1], -8.0)
        assert_slopes(posterior, theta)


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
