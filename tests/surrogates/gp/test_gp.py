import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from skbayes.surrogates import GaussianProcess
from skbayes.surrogates.gp.gp import n_learning_points
from skbayes.surrogates.surrogate import branch_weights, winsorize_low

LENGTH_SCALES = np.array([0.3, 0.5, 1.0, 2.0])
FIXED = {"length_scales": LENGTH_SCALES, "amplitude": 1.3, "noise": 1e-3}
KERNELS = {
    "rbf": RBF(LENGTH_SCALES),
    "matern32": Matern(LENGTH_SCALES, nu=1.5),
    "matern52": Matern(LENGTH_SCALES, nu=2.5),
}


def make_data(n=30, D=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, D))
    return X, np.sin(5 * X[:, 0]) + X[:, -1] + 0.1 * rng.standard_normal(n), rng


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_predictions_equal_scikit_learns_at_the_same_hyper_parameters(kernel, noisy):
    """Known variances are scikit-learn's alpha; pending rows have their prediction."""
    X, y, rng = make_data()
    noise = rng.exponential(0.5, len(y)) * noisy
    noise[:5] = 0.0
    model = GaussianProcess(kernel, hyperparameters=FIXED)
    model.fit(X, y, noise=noise if noisy else None)
    winsorized = winsorize_low(y)
    offset, unit = winsorized.mean(), winsorized.std()
    pending, candidates = rng.random((3, 4)), np.vstack([rng.random((40, 4)), X[:9]])
    X_all = np.vstack([X, pending])
    predicted = model.predict(pending)[0][0]
    y_all = (np.append(winsorized, predicted) - offset) / unit
    alpha = 1e-3 + np.append(noise, np.zeros(3)) / unit**2
    for n, ours in ((30, model), (33, model.condition(pending))):
        reference = GaussianProcessRegressor(
            ConstantKernel(1.3) * KERNELS[kernel], alpha=alpha[:n], optimizer=None
        ).fit(X_all[:n], y_all[:n])
        mean, sd = ours.predict(candidates)
        expected_mean, expected_sd = reference.predict(candidates, return_std=True)
        np.testing.assert_allclose(mean[0], offset + unit * expected_mean, atol=1e-8)
        np.testing.assert_allclose(sd[0], unit * expected_sd, atol=1e-8)


def test_known_variances_explain_what_would_be_learned_as_noise():
    X, y, rng = make_data(60)
    noise = np.where(np.arange(60) % 2, 4.0, 0.0)
    noisy = y + np.sqrt(noise) * rng.standard_normal(60)
    model = GaussianProcess(n_samples=0)
    learned = []
    for variances in (None, noise):
        # The same model: hyper-parameters learned with one noise are not reused for
        # another.
        model.fit(X, noisy, noise=variances)
        learned.append(np.exp(model.thetas_[0, -1]) * noisy.var())
    assert learned[1] < 0.2 < 1.0 < learned[0]
    clean = np.arange(60) % 2 == 0
    error = model.predict(X)[0][0] - y
    assert np.sqrt(np.mean(error[clean] ** 2)) < 0.2


@pytest.mark.parametrize(("scale", "variance"), [(1.0, 1e8), (1e-140, 1e200)])
def test_a_score_that_is_nothing_but_noise_is_ignored(scale, variance):
    """The variance may be infinite in units of the spread of the scores."""
    X, y, rng = make_data(15)
    candidates = rng.random((5, 4))
    mean, sd = GaussianProcess(n_samples=0).fit(X, scale * y).predict(candidates)
    # Its score is the mean of the others, so that only its variance has an effect.
    with_it = GaussianProcess(n_samples=0).fit(
        np.vstack([X, candidates[:1]]),
        scale * np.append(y, winsorize_low(y).mean()),
        noise=np.append(np.zeros(15), variance),
    )
    new_mean, new_sd = with_it.predict(candidates)
    np.testing.assert_allclose(new_mean / scale, mean / scale, atol=0.1)
    np.testing.assert_allclose(new_sd, sd, rtol=0.1)


def test_predictions_have_a_row_for_each_sample():
    X, y, rng = make_data(12)
    candidates = rng.random((7, 4))
    for n_samples, S in ((0, 1), (5, 5), (None, 8)):
        model = GaussianProcess(n_samples=n_samples).fit(X, y)
        shapes = [part.shape for part in model.predict(candidates, gradient=True)]
        assert shapes == [(S, 7), (S, 7), (S, 7, 4), (S, 7, 4)]
        assert model.thetas_.shape == (S, 6)


def test_the_fewer_observations_the_more_samples():
    counts = []
    for n in (5, 80, 400):
        X, y, _ = make_data(n)
        counts.append(len(GaussianProcess().fit(X, y).thetas_))
    assert counts[0] == 8 > counts[1] > counts[2] == 1


def test_learning_points_follow_closely():
    marks = [n_learning_points(n) for n in range(1, 600)]
    assert marks[:21] == [*range(1, 21), 20]
    assert all(mark <= n < 1.2 * mark for n, mark in enumerate(marks, 1))
    assert marks == sorted(marks)
    assert len(set(marks[100:])) < 25


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([0.0, 1e-12, 1e-9, 1e-6]))
def test_duplicates_and_near_duplicates_are_harmless(seed, gap):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.random((4, 3)), 8, axis=0)
    X = np.clip(X + gap * rng.standard_normal(X.shape), 0, 1)
    y = np.repeat(rng.random(4), 8) + gap * rng.standard_normal(32)
    mean, sd = GaussianProcess().fit(X, y).predict(X)
    assert np.all(np.isfinite(mean)) and np.all(np.isfinite(sd)) and np.all(sd > 0)


@pytest.mark.parametrize("value", [0.0, 0.9, 1e9, -3.3e-7, 1e300])
def test_constant_targets_are_predicted_exactly(value):
    X, _, rng = make_data(10)
    mean, sd = GaussianProcess().fit(X, np.full(10, value)).predict(rng.random((5, 4)))
    np.testing.assert_allclose(mean, value, rtol=1e-9, atol=1e-9)
    assert np.all(np.isfinite(sd)) and np.all(sd > 0)


def test_uncertainty_grows_away_from_a_single_observation():
    mean, sd = GaussianProcess().fit(np.array([[0.5]]), [0.3]).predict([[0.5], [1.0]])
    np.testing.assert_allclose(mean, 0.3)
    assert np.all(sd[:, 0] < sd[:, 1])


def test_winsorizing_changes_low_scores_only():
    y = np.array([-1e6, 0.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(winsorize_low(y), [-1.0, 0.0, 1.0, 2.0, 3.0])
    only_one_differs = np.array([0.0, *np.ones(9)])
    np.testing.assert_array_equal(winsorize_low(only_one_differs), only_one_differs)


def test_many_pending_configurations_count_as_few_do(monkeypatch):
    X, y, rng = make_data(90)
    candidates = rng.random((20, 4))
    predictions = []
    for limit in (19, 20):
        monkeypatch.setattr("skbayes.surrogates.gp.gp.MANY_PENDING", limit)
        model = GaussianProcess(hyperparameters=FIXED).fit(X[:60], y[:60])
        predictions.append(model.condition(X[60:80]).predict(candidates))
    np.testing.assert_allclose(*predictions, rtol=1e-7)


def test_branches_have_the_same_weight_in_the_level_of_bad_scores():
    # Two branches: twelve good scores, and five worse ones, which differ.
    X = np.full((17, 3), np.nan)
    X[:12, 0], X[:12, 1] = 0.0, np.linspace(0.0, 1.0, 12)
    X[12:, 0], X[12:, 2] = 1.0, np.linspace(0.0, 1.0, 5)
    y = np.append(-0.1 * X[:12, 1] ** 2, -0.2 - 0.4 * (X[12:, 2] - 0.5) ** 2)
    assert len(np.unique(winsorize_low(y)[12:])) == 1
    model = GaussianProcess(n_options=[2, 0, 0]).fit(X, y)
    mean = model.predict(X[12:])[0].mean(axis=0)
    assert mean[2] > max(mean[0], mean[4]) + 0.04


def test_equal_counts_of_branches_do_not_change_the_level():
    y = np.append(np.random.default_rng(0).normal(size=12), [-9.0, -8.0])
    np.testing.assert_allclose(winsorize_low(y, np.full(14, 0.3)), winsorize_low(y))
    X = np.where(np.arange(14)[:, None] % 2 == [0, 1], np.nan, 0.5)
    assert branch_weights(X) is None and branch_weights(X[::2]) is None
    np.testing.assert_allclose(branch_weights(X[:3]), [0.5, 1.0, 0.5])


def plateau_and_outlier():
    x = np.append(np.linspace(0, 1, 21), 0.52)
    return x[:, None], np.append(np.minimum(np.sin(5 * x[:21]), 0), -1e9)


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
def test_the_floor_is_what_bad_scores_are_raised_to(scale):
    X = np.linspace(0.0, 1.0, 8)[:, None]
    y = scale * np.array([0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.2, 0.1])
    model = GaussianProcess(n_samples=0).fit(X, y)
    assert model.floor_ == pytest.approx(np.min(winsorize_low(y)))
    assert model.condition(X[:1] + 0.05).floor_ == model.floor_
    assert GaussianProcess(n_samples=0).fit(X[:6], y[:6]).floor_ is None
    assert GaussianProcess(n_samples=0).fit(X[:3], np.full(3, scale)).floor_ is None
    assert GaussianProcess(n_samples=0, winsorize_scores=False).fit(X, y).floor_ is None


def test_winsorizing_is_continuous_where_scores_nearly_tie():
    _, y = plateau_and_outlier()
    noise = 1e-9 * np.random.default_rng(0).standard_normal(len(y))
    np.testing.assert_allclose(winsorize_low(y + noise), winsorize_low(y), atol=1e-8)


def test_an_outlier_beside_a_plateau_leaves_what_is_bad_distinct():
    X, y = plateau_and_outlier()
    mean = GaussianProcess().fit(X, y).predict(np.array([[0.2], [0.9]]))[0].mean(axis=0)
    assert mean[0] == pytest.approx(0.0, abs=0.05)
    assert -2.0 < mean[1] < -0.05


@pytest.mark.parametrize("scale", [1e-140, 1e-13, 1e13, 1e140, 1e-300, 1e290])
def test_the_scale_of_the_scores_and_their_variances_does_not_matter(scale):
    X, y, rng = make_data(15)
    candidates = rng.random((5, 4))
    noise = np.linspace(0, 1, 15) if 1e-150 < scale < 1e150 else None
    mean, sd = GaussianProcess().fit(X, y, noise).predict(candidates)
    noise = None if noise is None else scale**2 * noise
    scaled_mean, scaled_sd = (
        GaussianProcess().fit(X, scale * y, noise).predict(candidates)
    )
    np.testing.assert_allclose(scaled_mean / scale, mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(scaled_sd / scale, sd, rtol=1e-4)


def test_a_column_that_does_not_matter_gets_a_long_length_scale():
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    length_scales = GaussianProcess(n_samples=0).fit(X, np.sin(8 * X[:, 0])).thetas_[0]
    assert length_scales[1] > length_scales[0] + 1.0


def test_inactive_columns_have_no_effect():
    """Inactive values have one position, regardless of other rows in that column."""
    X, y, _ = make_data()
    X[::2, 1] = np.nan
    model = GaussianProcess(hyperparameters=FIXED).fit(X, y)
    far = dict(FIXED, length_scales=np.array([0.3, 1e6, 1.0, 2.0]))
    inactive = X[::2]
    alone = GaussianProcess(hyperparameters=FIXED).fit(inactive, y[::2])
    without = GaussianProcess(hyperparameters=far).fit(inactive, y[::2])
    for one, other in zip(
        alone.predict(inactive), without.predict(inactive), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-9)
    assert np.all(np.isfinite(model.predict(X)[0]))


def test_leaving_one_out_is_predicting_from_the_others():
    X, y, rng = make_data()
    noise = rng.exponential(0.1, len(y))
    model = GaussianProcess(hyperparameters=FIXED, winsorize_scores=False)
    mean, sd = model.fit(X, y, noise).leave_one_out()
    assert mean.shape == sd.shape == (1, 30)
    offset, unit = y.mean(), y.std()
    alpha = 1e-3 + noise / unit**2
    for place in (0, 7, 29):
        others = np.arange(30) != place
        reference = GaussianProcessRegressor(
            ConstantKernel(1.3) * KERNELS["matern52"],
            alpha=alpha[others],
            optimizer=None,
        ).fit(X[others], (y[others] - offset) / unit)
        expected_mean, expected_sd = reference.predict(X[[place]], return_std=True)
        expected_sd = np.sqrt(expected_sd**2 + alpha[place])
        np.testing.assert_allclose(mean[0, place], offset + unit * expected_mean[0])
        np.testing.assert_allclose(sd[0, place], unit * expected_sd[0])


def test_without_winsorizing_bad_scores_are_taken_as_they_are():
    X, y, _ = make_data()
    y[3] = -100.0
    means = [
        GaussianProcess(hyperparameters=FIXED, winsorize_scores=winsorized)
        .fit(X, y)
        .predict(X[[3]])[0][0, 0]
        for winsorized in (True, False)
    ]
    assert means[0] == pytest.approx(winsorize_low(y)[3], abs=0.5)
    assert means[1] == pytest.approx(-100.0, abs=5.0)


def test_many_observations_are_learned_from_a_part_of_them():
    X, y, rng = make_data(300)
    model = GaussianProcess().fit(X, y)
    error = model.predict(X)[0].mean(axis=0) - y
    assert np.sqrt(np.mean(error**2)) < 0.3 * np.std(y)


@pytest.mark.parametrize(
    ("X", "y", "noise", "message"),
    [
        (np.zeros((2, 1)), [0, 0], [0, 0, 0], r"noise .* shape \(2,\), got \(3,\)"),
        (np.zeros((2, 1)), [0, 0], 0.1, r"noise must have shape \(2,\)"),
        (np.zeros((2, 1)), [0, 0], [0.1, -0.1], "noise must be finite and >= 0"),
        (np.zeros((2, 1)), [0, 0], [0.1, np.nan], "noise must be finite and >= 0"),
        (np.zeros((2, 1)), [0, 0], [np.inf, 0.1], "noise must be finite and >= 0"),
        (np.zeros((2, 1)), [0, 0, 0], None, r"\(2, 1\) and \(3,\)"),
        (np.zeros((0, 1)), [], None, "n >= 1"),
        (np.zeros(3), [0, 0, 0], None, "X must have shape"),
        (np.zeros((2, 1)), [0.0, np.nan], None, "y must be finite"),
    ],
)
def test_wrong_data_and_kernels_are_refused(X, y, noise, message):
    with pytest.raises(ValueError, match=message):
        GaussianProcess().fit(X, np.array(y, dtype=float), noise=noise)
    with pytest.raises(ValueError, match="kernel must be one of.*'cubic'"):
        GaussianProcess("cubic")
