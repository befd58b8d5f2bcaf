import numpy as np
import pytest

from skbayes.surrogates.gp.derivative_kernels import SMOOTH_KERNELS, JointCovariance
from skbayes.surrogates.gp.kernels import KERNELS, Embedding

LENGTH_SCALES = np.array([0.4, 0.9, 0.6])
# Two signs at the same point, two of the same column at points near each other.
COLUMNS = np.array([0, 1, 0, 0, 1])


def make_points(seed=0):
    rng = np.random.default_rng(seed)
    X, points = rng.random((4, 3)), rng.random((5, 3))
    points[1], points[3] = points[0], points[2] + 0.01
    X[:, 2], points[:, 2] = [0, 0.5, 1, 0.5], [0, 0, 0.5, 1, 0.5]
    return X, points


def joint(kernel, X, points):
    return JointCovariance(Embedding([0, 0, 3]), X, points, COLUMNS, kernel)


def covariance(kernel, A, B):
    embedding = Embedding([0, 0, 3])
    squares = embedding.squared_differences(np.vstack([A, B]))[:, : len(A), len(A) :]
    return KERNELS[kernel](np.tensordot(LENGTH_SCALES**-2.0, squares, 1))[0]


@pytest.mark.parametrize("kernel", SMOOTH_KERNELS)
def test_derivatives_by_r2_agree_with_finite_differences(kernel):
    r2, h = np.array([0.01, 0.3, 2.0, 9.0]), 1e-5
    ahead, at, behind = (SMOOTH_KERNELS[kernel](r2 + e) for e in (h, 0.0, -h))
    for order in range(3):
        numeric = (ahead[order] - behind[order]) / (2 * h)
        np.testing.assert_allclose(at[order + 1], numeric, rtol=1e-4)


@pytest.mark.parametrize("kernel", SMOOTH_KERNELS)
def test_covariances_are_derivatives_of_the_kernel(kernel):
    X, points = make_points()
    K = joint(kernel, X, points).correlations(LENGTH_SCALES)
    steps = 1e-3 * np.eye(3)[COLUMNS]
    np.testing.assert_allclose(K[:4, :4], covariance(kernel, X, X), atol=1e-12)
    ahead, behind = points + steps, points - steps
    cross = covariance(kernel, X, ahead) - covariance(kernel, X, behind)
    np.testing.assert_allclose(K[:4, 4:], cross / 2e-3, atol=1e-4)
    both = sum(
        one * other * covariance(kernel, points + one * steps, points + other * steps)
        for one in (1, -1)
        for other in (1, -1)
    )
    np.testing.assert_allclose(K[4:, 4:], both / 4e-6, rtol=1e-2, atol=2e-2)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-10


@pytest.mark.parametrize("kernel", SMOOTH_KERNELS)
def test_derivatives_by_length_scales_agree_with_finite_differences(kernel):
    X, points = make_points(1)
    model = joint(kernel, X, points)
    W = np.random.default_rng(0).standard_normal((9, 9))
    W = W + W.T
    K, by_scale = model.contract(LENGTH_SCALES, W)
    np.testing.assert_array_equal(K, model.correlations(LENGTH_SCALES))
    for column, analytic in enumerate(by_scale):
        step = np.exp(1e-5 * np.eye(3)[column])
        ahead = model.correlations(LENGTH_SCALES * step)
        behind = model.correlations(LENGTH_SCALES / step)
        numeric = np.sum(W * (ahead - behind)) / 2e-5
        np.testing.assert_allclose(analytic, numeric, rtol=1e-6)
