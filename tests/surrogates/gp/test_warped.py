import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from skbayes.surrogates import GaussianProcess, WarpedGaussianProcess
from skbayes.surrogates.gp.kernels import KERNELS, Embedding, LogPosterior
from skbayes.surrogates.gp.warped import Warping, _WarpedPosterior

OPTIONS = [0, 3, 0, 0]
ORDERED = np.array([0, 2, 3])
EXPONENTS = Warping(np.array([0.4, 1.7, 1.0]), np.array([2.2, 0.6, 1.0]))


def make_data(n=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    X[:, 1] = np.rint(X[:, 1] * 2) / 2  # three options
    X[::4, 3] = np.nan
    y = np.sin(9 * X[:, 0] ** 0.3) + X[:, 1] * X[:, 2] + np.nan_to_num(X[:, 3])
    return X, y, rng


def posterior_of(X, y, extra=None):
    squares = Embedding(OPTIONS).squared_differences(X)
    plain = LogPosterior(squares, y, KERNELS["matern52"], extra)
    return _WarpedPosterior(plain, X[:, ORDERED], ORDERED)


@settings(max_examples=60, deadline=None)
@given(
    exponents=st.lists(st.floats(-2.0, 2.0), min_size=2, max_size=2),
    positions=st.lists(st.floats(0.0, 1.0), min_size=2, max_size=9),
)
def test_a_warping_maps_the_range_into_itself_and_keeps_the_order(exponents, positions):
    warping = Warping(*np.exp(exponents)[:, None])
    u = np.sort(np.array(positions))[:, None]
    w = warping(u)
    low, high = warping(np.array([[0.0], [1.0]]))
    assert np.all(np.diff(w[:, 0]) >= 0) and low < high
    assert np.all((w >= low) & (w <= high))
    assert -0.0011 <= low and high <= 1.0011
    assert np.all(np.isfinite(warping.slopes(u)) & (warping.slopes(u) >= 0))
    assert all(np.all(np.isfinite(one)) for one in warping.by_log_exponents(u))


def test_an_inactive_position_is_warped_as_the_middle():
    inactive, middle = np.full((1, 3), np.nan), np.full((1, 3), 0.5)
    np.testing.assert_array_equal(EXPONENTS(inactive), EXPONENTS(middle))


@pytest.mark.parametrize("extra", [None, np.repeat([0.0, 0.5], 10)])
def test_the_gradient_of_the_posterior_agrees_with_finite_differences(extra):
    X, y, rng = make_data()
    posterior = posterior_of(X, (y - y.mean()) / y.std(), extra)
    theta = posterior.prior_mean + 0.3 * rng.standard_normal(4 + 2 + 6)
    numeric = approx_fprime(theta, lambda t: posterior(t)[0], 1e-6)
    np.testing.assert_allclose(posterior(theta)[1], numeric, rtol=1e-3, atol=1e-3)


def test_the_posterior_is_that_of_a_plain_process_at_warped_positions():
    X, y, _ = make_data()
    y = (y - y.mean()) / y.std()
    warped = X.copy()
    warped[:, ORDERED] = EXPONENTS(X[:, ORDERED])
    posterior = posterior_of(X, y)
    plain = LogPosterior(
        Embedding(OPTIONS).squared_differences(warped), y, KERNELS["matern52"]
    )
    theta = plain.prior_mean + 0.1
    exponents = np.log(np.concatenate(EXPONENTS))
    value, gradient = posterior(np.append(theta, exponents))
    expected, slopes = plain(theta)
    of_exponents = 0.5 * np.sum(np.square(exponents / 0.5))
    assert value == pytest.approx(expected + of_exponents)
    np.testing.assert_allclose(gradient[:6], slopes, rtol=1e-9, atol=1e-9)


def test_predictions_are_those_of_a_plain_process_at_warped_inputs():
    X, y, rng = make_data()
    # Warped rows have no inactive columns, so they would not belong to branches.
    options = {"n_options": OPTIONS, "winsorize_scores": False}
    model = WarpedGaussianProcess(n_samples=0, **options).fit(X, y)
    lengths, (amplitude, noise) = np.split(np.exp(model.thetas_[0]), [4])
    fixed = {"length_scales": lengths, "amplitude": amplitude, "noise": noise}
    plain = GaussianProcess(hyperparameters=fixed, **options)

    def warp(rows):
        rows = rows.copy()
        rows[:, ORDERED] = model.warping_(rows[:, ORDERED])
        return rows

    candidates = np.vstack([rng.random((9, 4)), X[:3]])
    candidates[:9, 1] = 0.5
    plain.fit(warp(X), y)
    for ours, theirs in zip(
        model.predict(candidates), plain.predict(warp(candidates)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)
    weights = np.full(12, 1 / 12)
    for ours, theirs in zip(
        model.average(candidates, weights),
        plain.average(warp(candidates), weights),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_a_change_of_scale_is_learned():
    # The score oscillates evenly in u^0.4, so that it is smooth there only.
    X = np.linspace(0.0, 1.0, 18)[:, None] ** 2.5
    unseen = np.linspace(0.0, 1.0, 400)[:, None] ** 2.5
    error = {}
    for kind in (GaussianProcess, WarpedGaussianProcess):
        model = kind(n_samples=0).fit(X, np.sin(15 * X[:, 0] ** 0.4))
        mean = model.predict(unseen)[0][0]
        error[kind] = np.sqrt(np.mean((mean - np.sin(15 * unseen[:, 0] ** 0.4)) ** 2))
    assert error[WarpedGaussianProcess] < 0.5 * error[GaussianProcess]


def test_unordered_columns_alone_are_left_as_they_are():
    X = np.array([[0.0, 0.0], [0.5, 1.0], [1.0, 0.0], [0.0, 1.0]])
    y = np.array([0.0, 1.0, 0.5, 0.2])
    fits = [
        kind(n_options=[3, 2], n_samples=0).fit(X, y).predict(X)
        for kind in (GaussianProcess, WarpedGaussianProcess)
    ]
    np.testing.assert_allclose(*fits, atol=1e-4)


def test_given_hyperparameters_leave_the_inputs_as_they_are():
    X, y, _ = make_data()
    fixed = {"length_scales": np.ones(4), "amplitude": 1.0, "noise": 1e-2}
    fits = [
        kind(n_options=OPTIONS, hyperparameters=fixed).fit(X, y).predict(X)
        for kind in (GaussianProcess, WarpedGaussianProcess)
    ]
    np.testing.assert_allclose(*fits, atol=1e-10)


def test_positions_outside_the_unit_interval_are_refused():
    X, y, _ = make_data()
    for wrong in (-0.01, 1.01):
        X[3, 0] = wrong
        with pytest.raises(ValueError, match=r"X must be in \[0, 1\]"):
            WarpedGaussianProcess(n_options=OPTIONS).fit(X, y)
