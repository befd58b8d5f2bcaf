import numpy as np
import pytest
from differences import assert_gradient
from scipy.special import logsumexp
from scipy.stats import norm

from skbayes.acquisition import (
    ExpectedImprovement,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
)
from skbayes.acquisition.observations import Observations, fit_surrogate
from skbayes.acquisition.proposers import ModelProposer, Proposer
from skbayes.space import Choice, Space
from skbayes.space.candidates import Candidates, sobol
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
    many = np.random.default_rng(1).random((2500, 3))
    scores = proposer.scores(many[[0, 1500, 2499]])
    np.testing.assert_allclose(proposer.scores(many)[[0, 1500, 2499]], scores)
    assert proposer.scores(many[:0]).shape == (0,)


@pytest.mark.parametrize(
    "kind", [ExpectedImprovement, ProbabilityOfImprovement, UpperConfidenceBound]
)
def test_gradients_and_improvements_agree_with_numerical_ones(kind):
    proposer, candidates = make(kind())
    scores, gradient = proposer.scores_and_gradient(candidates)
    np.testing.assert_allclose(scores, proposer.scores(candidates))
    assert_gradient(proposer.scores, candidates, gradient)
    # The improvement is an integral for every acquisition function.
    mean, sd = proposer.surrogate.predict(candidates)
    improvements = np.array([proposer.expected_improvement(x) for x in candidates])
    assert improvements.shape == (6,)
    # Integrate over the quantiles of each sample's normal distribution.
    share = (np.arange(20_000) + 0.5) / 20_000
    f = mean[..., None] + sd[..., None] * norm.ppf(share)
    expected = np.maximum(f - proposer.best_f[..., None], 0.0).mean(axis=(0, 2))
    np.testing.assert_allclose(improvements, expected, rtol=1e-2, atol=1e-6)


def test_the_best_is_what_the_model_makes_of_scores_and_of_what_is_pending():
    X = np.random.default_rng(0).random((9, 2))
    data = Observations(X[:6], np.arange(6.0), np.full(6, 0.5), X[6:])
    model = GaussianProcess(random_state=1)
    proposer = ModelProposer(model, UpperConfidenceBound(0.0)).fit(data)
    expected = GaussianProcess(random_state=1).fit(X[:6], data.y, data.noise)
    expected = expected.condition(X[6:]).predict(X)[0].max(axis=1, keepdims=True)
    np.testing.assert_allclose(proposer.best_f, expected, rtol=1e-12)
    # The same configurations have other values for another objective.
    means = proposer.surrogate.predict(X)[0]
    np.testing.assert_allclose(proposer.scores(X), means.mean(axis=0))
    other = fit_surrogate(model, data, -data.y).predict(X)[0].max(axis=1)
    assert other.max() < 1.0 < proposer.best_f.min()


def test_failures_count_as_the_lowest_score():
    X = np.arange(4.0)[:, None]
    data = Observations(X, np.array([1.0, np.nan, 3.0, -2.0]), np.zeros(4), X[:0])
    np.testing.assert_array_equal(data.y, [1.0, -2.0, 3.0, -2.0])
    np.testing.assert_array_equal(data.incumbents[:2], X[[2, 0]])
    failed = Observations(X[:2], np.full(2, np.nan), np.zeros(2), X[:0])
    assert failed.incumbents.shape == (0, 1)


class Peak(Proposer):
    """Smooth peak in ordered columns, with a bonus for one option per unordered one."""

    has_gradients = True

    def __init__(self, space, target):
        self.categorical = space.categorical
        self.target = target

    def fit(self, observations):
        return self

    def _evaluate(self, X, gradient):
        missing = np.isnan(X)
        delta = np.where(missing, 0.0, X - self.target)
        miss = np.where(missing, 0.3, np.square(delta))
        miss = np.where(self.categorical & ~missing, np.abs(delta) > 1e-9, miss)
        return -miss.sum(axis=1), np.where(self.categorical, 0.0, -2 * delta)


class Left(Candidates):
    """Candidates in the left half of the last column."""

    def filter_new(self, X):
        return X[:, -1] <= 0.5


def test_sobol_points_fill_each_interval_once():
    U = sobol(3, 5, np.random.default_rng(0))
    assert U.shape == (32, 3)
    for column in U.T:
        assert sorted(np.floor(column * 32)) == list(range(32))
    assert sobol(0, 2, np.random.default_rng(0)).shape == (4, 0)


def test_all_of_a_finite_number_of_candidates_are_ranked():
    space = Space.from_notation({"a": [1, 2, 3], "b": ["x", "y"]})
    X = space.enumerate(np.arange(6))
    peak = Peak(space, X[4])
    ranked = peak.rank(Candidates(space), X[:0], np.random.default_rng(0))
    assert len(ranked) == 6
    np.testing.assert_array_equal(ranked[0], X[4])
    assert np.all(np.diff(peak.scores(ranked)) <= 0)


MIXED = {
    "x": (0.0, 1.0),
    "y": (1e-3, 1e3, "log-uniform"),
    "n": (1, 1000),
    "m": [1, 2, 3, 4, 5],
    "c": list("abcdefgh"),
    "d": [True, False],
}


@pytest.mark.parametrize("seed", range(3))
def test_the_peak_of_a_mixed_space_is_found(seed):
    rng = np.random.default_rng(seed)
    space = Space.from_notation(MIXED)
    target = space.from_uniform(rng.random((1, space.n_columns)))
    peak = Peak(space, target)
    incumbents = space.from_uniform(rng.random((3, space.n_columns)))
    ranked = peak.rank(Candidates(space), incumbents, rng)
    assert peak.scores(ranked)[0] > -1e-5
    np.testing.assert_array_equal(space.snap(ranked), ranked)
    assert np.all(np.diff(peak.scores(ranked)) <= 0)


def test_steps_open_and_close_branches():
    space = Space.from_notation(
        {"k": Choice({"a": {}, "b": {"x": (0.0, 1.0)}}), "z": (0.0, 1.0)}
    )
    target = space.encode([{"k": "b", "x": 0.8, "z": 0.1}])
    start = space.encode([{"k": "a", "z": 0.9}])
    peak, rng = Peak(space, target), np.random.default_rng(0)
    ranked = peak.rank(Candidates(space), start, rng)
    np.testing.assert_allclose(ranked[0], target[0], atol=1e-3)


def test_only_admitted_configurations_are_proposed():
    space = Space.from_notation({"x": (0.0, 1.0), "n": (1, 50)})
    target = space.encode([{"x": 0.9, "n": 40}])  # columns: n, x
    candidates, rng = Left(space), np.random.default_rng(0)
    ranked = Peak(space, target).rank(candidates, target, rng)
    assert len(ranked) and np.all(candidates.filter_new(ranked))
    assert ranked[0, 1] == pytest.approx(0.5, abs=0.02)


class Mean(GaussianProcess):
    """Process that is fitted to at most 42 configurations, and records them."""

    max_observations = 42
    fitted = ()

    def fit(self, X, y, noise=None):
        type(self).fitted = (X, y, noise)
        return super().fit(X, y, noise)


def test_a_surrogate_is_fitted_to_the_best_and_to_others_if_there_are_many(monkeypatch):
    monkeypatch.setattr("skbayes.acquisition.observations.N_LATEST", 20)
    rng = np.random.default_rng(0)
    X, y = rng.random((117, 2)), rng.normal(size=117)
    noise, pending = rng.random(117), rng.random((2, 2))
    y[5] = np.nan
    model = Mean(n_samples=0)
    rows = {}
    for n in (40, 59, 60, 110, 117):
        proposer = ModelProposer(model, ExpectedImprovement())
        proposer.fit(Observations(X[:n], y[:n], noise[:n], pending))
        fitted, scores, noises = Mean.fitted
        rows[n] = [int(np.flatnonzero((X == row).all(axis=1))[0]) for row in fitted]
        assert rows[n] == sorted(rows[n])
        np.testing.assert_array_equal(noises, noise[rows[n]])
        assert np.isfinite(scores).all()
    assert rows[40] == list(range(40)) and rows[59] == list(range(59))
    assert len(rows[60]) == 40
    best = set(np.argsort(-np.nan_to_num(y[:100], nan=-np.inf))[:20])
    assert best <= set(rows[110])
    # New observations are added until the next selection.
    assert rows[117] == [*rows[110], *range(110, 117)]
    assert len(rows[110]) == 50
    # The selection is made only once, for any limit.
    monkeypatch.setattr(Mean, "max_observations", 32)
    observations = Observations(X[10:69], y[10:69], noise[10:69], pending)
    ModelProposer(model, ExpectedImprovement()).fit(observations)
    assert len(Mean.fitted[1]) == 30 + 19
    # Many pending configurations leave half of the limit to observations.
    for n, n_pending, expected in ((20, 12, 20), (60, 12, 20), (60, 400, 16)):
        data = Observations(X[:n], y[:n], noise[:n], rng.random((n_pending, 2)))
        fit_surrogate(model, data)
        assert len(Mean.fitted[1]) == expected
