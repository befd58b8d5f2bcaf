import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from skbayes.acquisition import ExpectedImprovement, UpperConfidenceBound
from skbayes.acquisition.base import ModelProposer, Observations, fit_surrogate
from skbayes.surrogates import GaussianProcess


def make(acquisition):
    rng = np.random.default_rng(0)
    X = rng.random((15, 3))
    X[::4, 2] = np.nan
    model = GaussianProcess(n_samples=4).fit(X, np.sin(5 * X[:, 0]) + X[:, 1])
    proposer = ModelProposer(model, acquisition)
    proposer.surrogate = model
    proposer.best_f = np.max(model.predict(X)[0], axis=1, keepdims=True)
    return proposer, rng.random((6, 3))


def test_scores_are_averages_over_samples():
    proposer, candidates = make(ExpectedImprovement())
    mean, sd = proposer.surrogate.predict(candidates)
    log_improvement = ExpectedImprovement()(mean, sd, proposer.best_f).value
    expected = logsumexp(log_improvement, axis=0) - np.log(4)
    np.testing.assert_allclose(proposer.scores(candidates), expected)


def test_gradients_agree_with_finite_differences():
    for acquisition in (ExpectedImprovement(), UpperConfidenceBound()):
        proposer, candidates = make(acquisition)
        scores, gradient = proposer.scores_and_gradient(candidates)
        np.testing.assert_allclose(scores, proposer.scores(candidates))
        for column, step in enumerate(1e-6 * np.eye(3)):
            ahead, behind = (
                proposer.scores(candidates + sign * step) for sign in (1, -1)
            )
            numeric = (ahead - behind) / 2e-6
            np.testing.assert_allclose(
                gradient[:, column], numeric, rtol=1e-4, atol=1e-5
            )


def test_many_candidates_are_scored_as_few_are():
    proposer, _ = make(ExpectedImprovement())
    many = np.random.default_rng(1).random((2500, 3))
    np.testing.assert_allclose(
        proposer.scores(many)[[0, 1500, 2499]], proposer.scores(many[[0, 1500, 2499]])
    )
    assert proposer.scores(many[:0]).shape == (0,)


def test_the_expected_improvement_is_an_integral_whatever_the_acquisition():
    for acquisition in (ExpectedImprovement(), UpperConfidenceBound()):
        proposer, candidates = make(acquisition)
        mean, sd = proposer.surrogate.predict(candidates)
        improvements = np.array([proposer.expected_improvement(x) for x in candidates])
        assert improvements.shape == (6,)
        # By the quantiles of each sample's normal distribution.
        share = (np.arange(20_000) + 0.5) / 20_000
        f = mean[..., None] + sd[..., None] * norm.ppf(share)
        expected = np.maximum(f - proposer.best_f[..., None], 0.0).mean(axis=(0, 2))
        np.testing.assert_allclose(improvements, expected, rtol=1e-2, atol=1e-6)


def test_the_best_is_what_the_model_makes_of_scores_and_of_what_is_pending():
    X = np.random.default_rng(0).random((9, 2))
    known = Observations(X[:6], np.arange(6.0), np.full(6, 0.5), X[6:])
    model = GaussianProcess(random_state=1)
    proposer = ModelProposer(model, UpperConfidenceBound(0.0)).fit(known)
    expected = GaussianProcess(random_state=1).fit(X[:6], known.y, known.noise)
    expected = expected.condition(X[6:]).predict(X)[0].max(axis=1, keepdims=True)
    np.testing.assert_allclose(proposer.best_f, expected, rtol=1e-12)
    # Another objective, by the same configurations.
    means = proposer.surrogate.predict(X)[0]
    np.testing.assert_allclose(proposer.scores(X), means.mean(axis=0))
    other = fit_surrogate(model, known, -known.y).predict(X)[0].max(axis=1)
    assert other.max() < 1.0 < proposer.best_f.min()


def test_what_is_known_of_failures():
    X = np.arange(4.0)[:, None]
    known = Observations(X, np.array([1.0, np.nan, 3.0, -2.0]), np.zeros(4), X[:0])
    np.testing.assert_array_equal(known.y, [1.0, -2.0, 3.0, -2.0])
    np.testing.assert_array_equal(known.incumbents[:2], X[[2, 0]])
    nothing = Observations(X[:2], np.full(2, np.nan), np.zeros(2), X[:0])
    assert nothing.incumbents.shape == (0, 1)
