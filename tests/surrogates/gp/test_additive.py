import itertools

import numpy as np
import pytest
from differences import assert_slopes

from skbayes.surrogates import AdditiveGaussianProcess, GaussianProcess
from skbayes.surrogates.gp.additive import _AdditivePosterior
from skbayes.surrogates.gp.kernels import KERNELS, Embedding

LENGTH_SCALES = np.array([0.3, 0.5, 1.0, 2.0])
FIXED = {"length_scales": LENGTH_SCALES, "amplitude": 1.3, "noise": 1e-3}


def make_data(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    return X, np.sin(5 * X[:, 0]) * X[:, 1] + X[:, -1], rng


def written_out(kernel, p, A, B):
    """Return the kernel by its equation, pair by pair."""
    correlation = KERNELS[kernel]
    squares = np.square(A[:, None] - B) / np.square(LENGTH_SCALES)
    k_d = [correlation(squares[..., d])[0] for d in range(4)]
    pairs = [k_d[d] * k_d[e] for d, e in itertools.combinations(range(4), 2)]
    whole = np.prod(k_d, axis=0)
    return (1 - p) * whole + p * np.mean(pairs, axis=0)


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_predictions_follow_from_the_kernel_written_out(kernel, p):
    X, y, rng = make_data()
    model = AdditiveGaussianProcess(
        kernel, pair_share=p, hyperparameters=FIXED, winsorize_scores=False
    ).fit(X, y)
    candidates = rng.random((9, 4))
    K = 1.3 * written_out(kernel, p, X, X) + 1e-3 * np.eye(30)
    k = 1.3 * written_out(kernel, p, candidates, X)
    target = (y - y.mean()) / y.std()
    mean, sd = model.predict(candidates)
    expected = y.mean() + y.std() * k @ np.linalg.solve(K, target)
    np.testing.assert_allclose(mean[0], expected, atol=1e-8)
    variance = 1.3 - np.sum(k * np.linalg.solve(K, k.T).T, axis=1)
    np.testing.assert_allclose(sd[0], y.std() * np.sqrt(variance), atol=1e-8)


@pytest.mark.parametrize("extra", [None, np.repeat([0.0, 0.5, 2.0], 10)])
@pytest.mark.parametrize("n_options", [[0, 0, 0, 0], [0, 3, 0, 2]])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_gradient_of_the_posterior_agrees_with_finite_differences(
    kernel, n_options, extra
):
    X, y, _ = make_data()
    for column, options in enumerate(n_options):
        if options:
            X[:, column] = np.rint(X[:, column] * (options - 1)) / (options - 1)
    differences = Embedding(n_options).squared_differences(X)
    posterior = _AdditivePosterior(
        differences, (y - y.mean()) / y.std(), KERNELS[kernel], extra
    )
    rng = np.random.default_rng(1)
    for _ in range(3):
        theta = posterior.prior_mean + posterior.prior_sd * rng.standard_normal(6)
        theta[-1] = max(theta[-1], -8.0)
        assert_slopes(posterior, theta)


def test_with_one_column_there_are_no_pairs():
    X, y, rng = make_data()
    fixed = FIXED | {"length_scales": [0.2]}
    candidates = rng.random((9, 1))
    for gradient in (False, True):
        results = [
            cls("rbf", hyperparameters=fixed)
            .fit(X[:, :1], y)
            .predict(candidates, gradient)
            for cls in (GaussianProcess, AdditiveGaussianProcess)
        ]
        for ours, plain in zip(*results, strict=True):
            np.testing.assert_allclose(ours, plain, atol=1e-9)


def test_pairs_that_were_seen_tell_of_combinations_that_were_not():
    grid = np.array(list(itertools.product([0.0, 0.5, 1.0], repeat=4)))
    levels = np.rint(2 * grid).astype(int)
    rng = np.random.default_rng(3)
    tables = rng.standard_normal((3, 3, 3))
    y = sum(tables[d][levels[:, d], levels[:, d + 1]] for d in range(3))
    rows = rng.permutation(len(grid))[:40]
    unseen = np.setdiff1d(np.arange(len(grid)), rows)
    errors = {}
    for cls in (GaussianProcess, AdditiveGaussianProcess):
        model = cls(n_samples=0, winsorize_scores=False).fit(grid[rows], y[rows])
        mean = model.predict(grid[unseen])[0][0]
        errors[cls] = np.mean(np.square(mean - y[unseen]))
    assert errors[AdditiveGaussianProcess] < 0.7 * errors[GaussianProcess]


def test_the_prior_median_of_a_length_scale_is_the_parameter():
    """With almost no data, the mode is the median of the prior."""
    X, y, _ = make_data(1)
    for length_scale in (0.1, 0.7):
        model = AdditiveGaussianProcess(
            length_scale=length_scale, n_options=[0, 3, 0, 0], n_samples=0
        )
        medians = np.exp(model.fit(np.rint(X), y).thetas_[0, :4])
        expected = 2 * np.array([length_scale, 0.5, length_scale, length_scale])
        np.testing.assert_allclose(medians, expected, rtol=0.01)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"pair_share": -0.1}, "pair_share"),
        ({"pair_share": 1.1}, "pair_share"),
        ({"length_scale": 0.0}, "length_scale"),
        ({"length_scale": np.nan}, "length_scale"),
    ],
)
def test_positions_out_of_range_are_refused(options, name):
    with pytest.raises(ValueError, match=name):
        AdditiveGaussianProcess(**options)
