import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm, truncnorm

from skbayes.surrogates.gp.ep import propagate


def posterior(mean, covariance, sites):
    """Return mean and covariance given the sites, by definition."""
    prior = np.linalg.inv(covariance)
    S = np.linalg.inv(prior + np.diag(sites.tau))
    return S @ (prior @ mean + sites.shift), S


@given(st.floats(-40, 40), st.floats(0.01, 100), st.sampled_from([-1.0, 1.0]))
@settings(max_examples=30, deadline=None)
def test_one_sign_gives_the_moments_of_the_truncated_normal(mean, variance, sign):
    """With one sign, expectation propagation is exact."""
    sd = np.sqrt(variance)
    mean = mean * sd
    sites = propagate(np.array([mean]), np.array([[variance]]), np.array([sign]), 1e-9)
    assert sites.converged
    np.testing.assert_allclose(
        sites.log_evidence, norm.logcdf(sign * mean / sd), rtol=1e-6, atol=1e-9
    )
    center, S = posterior(np.array([mean]), np.array([[variance]]), sites)
    if abs(mean) <= 8 * sd:  # as far as SciPy's moments are exact
        exact = truncnorm(-sign * mean / sd, np.inf, sign * mean, sd)
        first, second = exact.stats("mv")
        np.testing.assert_allclose(sign * center[0], first, rtol=1e-4)
        np.testing.assert_allclose(S[0, 0], second, rtol=1e-3)
    assert sign * center[0] > 0


def test_independent_signs_have_independent_effects():
    mean, variance = np.array([1.0, -2.0, 0.3]), np.array([1.0, 4.0, 0.5])
    signs, nu = np.array([1.0, 1.0, -1.0]), 0.5
    sites = propagate(mean, np.diag(variance), signs, nu)
    expected = norm.logcdf(signs * mean / np.sqrt(variance + nu**2)).sum()
    np.testing.assert_allclose(sites.log_evidence, expected, rtol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_evidence_is_the_probability_of_the_orthant(seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((3, 3))
    mean, covariance = rng.standard_normal(3), root @ root.T + 0.5 * np.eye(3)
    signs = rng.choice([-1.0, 1.0], 3)
    sites = propagate(mean, covariance, signs, 1e-6)
    flipped = signs[:, None] * covariance * signs
    exact = multivariate_normal(np.zeros(3), flipped).cdf(signs * mean)
    assert sites.converged
    np.testing.assert_allclose(np.exp(sites.log_evidence), exact, rtol=0.02)


def test_wide_likelihoods_leave_the_prior_unchanged():
    mean, covariance = np.array([1.0, -1.0]), np.array([[2.0, 0.5], [0.5, 1.0]])
    sites = propagate(mean, covariance, np.ones(2), 1e6)
    center, S = posterior(mean, covariance, sites)
    np.testing.assert_allclose(center, mean, atol=1e-4)
    np.testing.assert_allclose(S, covariance, atol=1e-4)
    np.testing.assert_allclose(sites.log_evidence, 2 * np.log(0.5), atol=1e-4)


def test_no_signs_have_no_evidence():
    sites = propagate(np.empty(0), np.empty((0, 0)), np.empty(0), 1e-6)
    assert sites.converged and sites.log_evidence == 0.0


@pytest.mark.parametrize("mean", [3.0, 0.0, -6.0])
def test_many_signs_of_nearly_the_same_converge(mean):
    x = np.linspace(0, 1, 60)
    covariance = np.exp(-2 * (x[:, None] - x) ** 2)
    sites = propagate(np.full(60, mean), covariance, np.ones(60), 1e-6)
    assert sites.converged and np.all(sites.tau >= 0)


def test_sites_say_whether_propagation_converged(monkeypatch):
    monkeypatch.setattr("skbayes.surrogates.gp.ep.MAX_SWEEPS", 2)
    sites = propagate(np.zeros(1), np.eye(1), np.ones(1), 1e-6)
    assert not sites.converged and sites.n_sweeps == 2
