import warnings

import numpy as np
import pytest
from differences import assert_slopes
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from skbayes.hypertune.monotonic_gp import (
    JointCovariance,
    MonotonicLogPosterior,
    Signs,
    factorize,
)
from skbayes.surrogates import GaussianProcess, MonotonicGP
from skbayes.surrogates.gp.ep import Sites
from skbayes.surrogates.gp.kernels import (
    KERNELS,
    SMOOTH_KERNELS,
    Embedding,
    LogPosterior,
)

kernels = pytest.mark.parametrize("kernel", SMOOTH_KERNELS)


def make_data(n=20, D=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, D))
    return X, X.sum(axis=1) + 0.3 * rng.standard_normal(n), rng


def fixed(D, length_scale=0.5, noise=0.05):
    scales = np.full(D, length_scale)
    return {"length_scales": scales, "amplitude": 1.0, "noise": noise}


def grow(points):
    return {"sign_points": points, "signs": np.ones(points.shape)}


@kernels
@pytest.mark.parametrize("noise", [None, 0.2])
@pytest.mark.parametrize("signs", [{}, "none known"])
def test_without_signs_it_is_the_plain_process(kernel, noise, signs):
    X, y, rng = make_data(30, 3)
    X[::4, 1] = np.nan
    X[:, 2] = np.rint(X[:, 2] * 2) / 2
    noise = None if noise is None else np.full(30, noise)
    if signs:
        signs = {"sign_points": rng.random((4, 3)), "signs": np.zeros((4, 3))}
    options = {"n_options": [0, 0, 3], "random_state": 3}
    plain = GaussianProcess(kernel, **options).fit(X, y, noise)
    ours = MonotonicGP(kernel, **signs, **options).fit(X, y, noise)
    candidates = rng.random((25, 3))
    for theirs, mine in (
        (plain, ours),
        (plain.condition(candidates[:3]), ours.condition(candidates[:3])),
    ):
        expected = (*theirs.predict(candidates, gradient=True), *theirs.leave_one_out())
        actual = (*mine.predict(candidates, gradient=True), *mine.leave_one_out())
        for one, other in zip(actual, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-8)


def by_rejection(model, X, y, candidates, n_draws=300_000):
    """Return means and deviations of draws of the plain process with these signs."""
    D, n = X.shape[1], len(X)
    parameters = model.hyperparameters
    points = np.repeat(model.sign_points, D, axis=0)
    columns = np.tile(np.arange(D), len(model.sign_points))
    plain = GaussianProcess(
        model.kernel, hyperparameters=parameters, winsorize_scores=False
    ).fit(X, y)
    offset, unit = y.mean(), y.std()
    ones = np.ones(len(columns))
    signs, rows = Signs(points, columns, ones, 1.0), np.vstack([X, candidates])
    joint = JointCovariance(plain._embedding, rows, signs, model.kernel)
    K = joint.correlations(parameters["length_scales"])
    solved = np.linalg.solve(K[:n, :n] + parameters["noise"] * np.eye(n), K[:n, n:])
    mean, S = (y - offset) / unit @ solved, K[n:, n:] - K[n:, :n] @ solved
    root = np.linalg.cholesky(S + 1e-10 * np.eye(len(S))).T
    rng = np.random.default_rng(0)
    m, accepted = len(candidates), []
    for _ in range(n_draws // 50_000):
        draws = mean + rng.standard_normal((50_000, len(mean))) @ root
        accepted.append(draws[np.all(draws[:, m:] > 0, axis=1), :m])
    values = offset + unit * np.vstack(accepted)
    return values.mean(axis=0), values.std(axis=0), len(values)


@kernels
@pytest.mark.parametrize(
    ("D", "n", "n_points", "seed", "in_mean", "in_sd"),
    # In one dimension with one sign, only the sampling error remains.
    [(1, 6, 1, 3, None, None), (1, 5, 4, 1, 0.05, 0.05), (2, 6, 8, 1, 0.15, 0.25)],
)
def test_predictions_agree_with_rejection_sampling(
    kernel, D, n, n_points, seed, in_mean, in_sd
):
    X, y, rng = make_data(n, D, seed)
    model = MonotonicGP(
        kernel,
        **grow(rng.random((n_points, D))),
        hyperparameters=fixed(D),
        winsorize_scores=False,
    ).fit(X, y)
    candidates = rng.random((8, D))
    mean, sd = model.predict(candidates)
    expected_mean, expected_sd, accepted = by_rejection(model, X, y, candidates)
    assert accepted > 2000 and model.converged_
    error = 4 / np.sqrt(accepted)
    assert np.max(np.abs(mean[0] - expected_mean) / expected_sd) < (in_mean or error)
    assert np.max(np.abs(sd[0] / expected_sd - 1)) < (in_sd or error)


@kernels
@pytest.mark.parametrize("sign", [1, -1])
def test_noisy_monotone_data_stay_monotone_in_the_declared_range(kernel, sign):
    rng = np.random.default_rng(0)
    X = rng.random((12, 1))
    y = sign * np.tanh(3 * X[:, 0]) + 0.25 * rng.standard_normal(12)
    at = np.linspace(0, 1, 21)[:, None]
    grid = np.linspace(0, 1, 201)[:, None]
    model = MonotonicGP(kernel, sign_points=at, signs=np.full((21, 1), sign)).fit(X, y)
    means = model.predict(grid)[0]
    assert model.converged_
    assert np.all(sign * np.diff(means, axis=1) > -1e-3 * np.ptp(means))
    loose = GaussianProcess(kernel, hyperparameters=fixed(1, 0.1, 0.01)).fit(X, y)
    assert np.any(sign * np.diff(loose.predict(grid)[0]) < -1e-2)


def test_signs_of_a_column_apply_to_it_only():
    X, y, rng = make_data(8, 2)
    points = rng.random((10, 2))
    signs = np.tile([1.0, 0.0], (10, 1))
    options = {"hyperparameters": fixed(2, 0.3), "kernel": "rbf"}
    model = MonotonicGP(sign_points=points, signs=signs, **options).fit(X, y)
    slopes = model.predict(points, gradient=True)[2][0]
    plain = GaussianProcess(**options).fit(X, y).predict(points, gradient=True)[2][0]
    assert np.all(slopes[:, 0] > -1e-6)
    assert np.any(plain[:, 0] < -0.1) and np.any(slopes[:, 1] < -0.1)


@given(st.integers(0, 10_000), st.sampled_from(sorted(SMOOTH_KERNELS)))
@settings(max_examples=10, deadline=None)
def test_signs_never_make_it_less_certain(seed, kernel):
    X, y, rng = make_data(6, 2, seed)
    options = {"hyperparameters": fixed(2), "kernel": kernel}
    candidates = rng.random((20, 2))
    model = MonotonicGP(**grow(rng.random((4, 2))), **options).fit(X, y)
    plain = GaussianProcess(**options).fit(X, y)
    assert np.all(model.predict(candidates)[1] <= plain.predict(candidates)[1] + 1e-9)


def test_the_wider_the_likelihood_the_less_the_signs_say():
    X, y, rng = make_data(6, 2)
    points, candidates = rng.random((6, 2)), rng.random((20, 2))
    means = [
        MonotonicGP(**grow(points), nu=nu, hyperparameters=fixed(2)).fit(X, -y)
        for nu in (1e-6, 1.0, 1e6)
    ]
    hard, soft, none = (model.predict(candidates)[0][0] for model in means)
    plain = GaussianProcess("rbf", hyperparameters=fixed(2)).fit(X, -y)
    expected = plain.predict(candidates)[0][0]
    np.testing.assert_allclose(none, expected, atol=1e-4)
    assert np.ptp(soft - expected) < 0.7 * np.ptp(hard - expected)


def test_a_fit_warns_if_propagation_does_not_converge(monkeypatch):
    monkeypatch.setattr("skbayes.surrogates.gp.ep.MAX_SWEEPS", 2)
    X, y, rng = make_data(6, 1)
    model = MonotonicGP(**grow(rng.random((4, 1))), n_samples=0)
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 sweeps"):
        model.fit(X, y)
    assert not model.converged_
    monkeypatch.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MonotonicGP(**grow(model.sign_points), n_samples=0).fit(X, y)
    assert model.converged_ and model.n_sweeps_ > 2


@pytest.mark.parametrize(
    ("points", "signs", "message"),
    [
        ([[0.5, 0.5]], [[1.0]], "shape"),
        ([[0.5]], [[1.0]], "shape"),
        ([[0.5, 0.5]], [[0.5, 0.0]], r"\+1, -1 or 0"),
        ([[0.5, 0.5]], [[0.0, 1.0]], "unordered"),
        ([[np.nan, 0.5]], [[1.0, 0.0]], "inactive"),
    ],
)
def test_wrong_signs_and_other_mistakes_are_refused(points, signs, message):
    X, y, _ = make_data(5, 2)
    model = MonotonicGP(sign_points=points, signs=signs, n_options=[0, 2])
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(ValueError, match="kernel must be one of"):
        MonotonicGP("matern32")
    for nu in (0.0, -1.0):
        with pytest.raises(ValueError, match="nu must be > 0"):
            MonotonicGP(nu=nu)


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
    signs = Signs(points, COLUMNS, np.ones(5), 1.0)
    return JointCovariance(Embedding([0, 0, 3]), X, signs, kernel)


def covariance(kernel, A, B):
    embedding = Embedding([0, 0, 3])
    squares = embedding.squared_differences(np.vstack([A, B]))[:, : len(A), len(A) :]
    return KERNELS[kernel](np.tensordot(LENGTH_SCALES**-2.0, squares, 1))[0]


@kernels
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


def make_posterior(kernel, n_signs, extra=None, seed=0):
    rng = np.random.default_rng(seed)
    X, points = rng.random((12, 3)), rng.random((n_signs, 3))
    y = X[:, 0] - X[:, 1] ** 2 + 0.1 * rng.standard_normal(12)
    table = np.tile([1.0, -1.0, 0.0], (n_signs, 1))
    rows = Signs.of_table(points, table, 1e-6)
    embedding = Embedding([0, 0, 0])
    squares = embedding.squared_differences(X)
    y = (y - y.mean()) / y.std()
    joint = JointCovariance(embedding, X, rows, kernel)
    plain = LogPosterior(squares, y, KERNELS[kernel], extra)
    return MonotonicLogPosterior(plain, joint, rows), plain


def test_a_table_becomes_a_row_for_each_sign():
    points = np.array([[0.1, 0.2], [0.3, np.nan]])
    signs = Signs.of_table(points, np.array([[1.0, -1.0], [1.0, 0.0]]), 2.0)
    assert signs.columns.tolist() == [0, 1, 0]
    assert signs.values.tolist() == [1, -1, 1]
    assert signs.nu == 2.0
    np.testing.assert_array_equal(signs.points, points[[0, 0, 1]])
    assert signs.equals(Signs(*map(np.copy, signs)))
    assert not signs.equals(signs._replace(values=-signs.values))


@kernels
def test_the_posteriors_gradient_agrees_with_finite_differences(kernel):
    extra = np.random.default_rng(1).random(12)
    posterior, _ = make_posterior(kernel, 8, extra)
    rng = np.random.default_rng(2)
    for _ in range(4):
        theta = rng.uniform([-1.5] * 3 + [-1, -5], [1.0] * 3 + [1, -1])
        assert_slopes(posterior, theta, rtol=1e-4, atol=1e-4)


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
