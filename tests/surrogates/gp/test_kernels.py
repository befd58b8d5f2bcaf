import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from skbayes.surrogates.gp.kernels import KERNELS, Embedding, squared_distances

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


@pytest.mark.parametrize("name", KERNELS)
def test_derivatives_agree_with_finite_differences(name):
    r2, h = np.linspace(0.01, 20, 60), 1e-6
    assert np.isfinite(KERNELS[name](np.zeros(1))[1]).all()
    _, dk = KERNELS[name](r2)
    numeric = (KERNELS[name](r2 + h)[0] - KERNELS[name](r2 - h)[0]) / (2 * h)
    np.testing.assert_allclose(dk, numeric, atol=1e-8)


def mixed_rows(n, rng):
    """Return two ordered columns, one of 3 options, and one that may be inactive."""
    X = np.column_stack(
        [rng.random(n), rng.random(n), rng.integers(0, 3, n) / 2, rng.random(n)]
    )
    X[rng.random(n) < 0.4, 3] = np.nan
    return X, Embedding([0, 0, 3, 0])


def test_distances_are_what_they_are_said_to_be():
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


def test_of_very_many_options_only_known_ones_have_coordinates():
    """Distances to known options are those with one coordinate per option."""
    K, rng = 5000, np.random.default_rng(0)
    known, X = (
        np.column_stack([rng.random(n), rng.integers(0, 9, n) / (K - 1)])
        for n in (7, 40)
    )
    known[0, 1] = X[1, 1] = np.nan
    X[0, 1] = 1.0
    embedding = Embedding([0, K], known)
    assert embedding.place(X).shape[1] <= 9
    r2 = squared_distances(embedding.place(X), embedding.place(known))
    both = Embedding([0, K]).squared_differences(np.vstack([X, known]))
    np.testing.assert_allclose(r2, both.sum(axis=0)[:40, 40:], atol=1e-12)
    everything = embedding.covering(X).place(X)
    np.testing.assert_allclose(
        squared_distances(everything, everything),
        both.sum(axis=0)[:40, :40],
        atol=1e-12,
    )
