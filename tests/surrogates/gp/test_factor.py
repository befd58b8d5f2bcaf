import numpy as np
import pytest

from skbayes.surrogates import GaussianProcess
from skbayes.surrogates.gp import kernels
from skbayes.surrogates.gp.gp import MAX_APPENDED, n_learning_points
from skbayes.surrogates.gp.kernels import BLOCK_ROWS, InverseFactor, cholesky


def test_cholesky_adds_no_jitter_where_none_is_needed():
    A = np.random.default_rng(0).random((6, 6))
    K = A @ A.T + np.eye(6)
    np.testing.assert_allclose(cholesky(K), np.linalg.cholesky(K), atol=1e-12)


def test_cholesky_of_duplicates_needs_a_small_jitter_only():
    K = np.ones((20, 20))
    L = cholesky(K)
    error = np.abs(L @ L.T - K).max()
    assert 0 < error <= 1e-8
    np.testing.assert_array_equal(L, np.tril(L))


def test_the_jitter_is_bounded():
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
    # Its inverse is that of the covariances with the jitter.
    shifted = K[0] + np.diag(result.jitter[0])
    solved = result.solve(np.arange(5.0)[None])[0]
    np.testing.assert_allclose(shifted @ solved, np.arange(5.0), atol=1e-3)


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    X[rng.random(n) < 0.3, 2] = np.nan
    return X, np.sin(5 * X[:, 0]) + 0.01 * rng.standard_normal(n)


@pytest.mark.parametrize("n", [20, 63])
def test_predictions_do_not_depend_on_what_was_fitted_before(n):
    X, y = data(n)
    at, _ = data(8, seed=1)
    grown = GaussianProcess(n_options=[0, 0, 0]).fit(*data(70))
    for size in range(n_learning_points(n) - 3, n + 1):
        grown.fit(X[:size], y[:size]).condition(at[:1])
    fresh = GaussianProcess(n_options=[0, 0, 0]).fit(X, y)
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
