import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from skbayes.acquisition import (
    ExpectedImprovement,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
    Utility,
)

ALL = [ExpectedImprovement(), ProbabilityOfImprovement(), UpperConfidenceBound(1.5)]
Z = [-1e4, -1e3, -150, -100.001, -99.999, -60, -40, -38, -20, -5, -1.001, -0.999, -0.1]
Z += [0.0, 0.5, 3.0, 10.0, 40.0]


def reference_log_ei(z):
    with mpmath.workdps(60):
        z = mpmath.mpf(z)
        # ncdf(z) = erfc(-z / sqrt 2) / 2 keeps its digits in the far tail.
        phi = mpmath.exp(-z * z / 2) / mpmath.sqrt(2 * mpmath.pi)
        cdf = mpmath.erfc(-z / mpmath.sqrt(2)) / 2
        h = phi + z * cdf
        return float(mpmath.log(h)), float(cdf / h)


@pytest.mark.parametrize("z", Z)
def test_log_ei_and_its_slope_against_many_digits(z):
    with mpmath.workdps(60 if z > -1e3 else 120):
        log_h, slope = reference_log_ei(z)
    utility = ExpectedImprovement()(np.array([z]), np.array([1.0]), 0.0)
    assert utility.value[0] == pytest.approx(log_h, rel=1e-11, abs=1e-13)
    assert utility.by_mean[0] == pytest.approx(slope, rel=1e-9)


@settings(max_examples=30)
@given(st.floats(-3, 3), st.floats(0.01, 5), st.floats(-3, 3))
def test_ei_is_the_integral_of_the_improvement(mean, sd, best_f):
    value = ExpectedImprovement()(np.array([mean]), np.array([sd]), best_f).value[0]
    expected, error = integrate.quad(
        lambda f: (f - best_f) * stats.norm.pdf(f, mean, sd),
        best_f,
        max(best_f, mean) + 12 * sd,
        points=[max(best_f, mean)],
    )
    assert math.exp(value) == pytest.approx(expected, rel=1e-6, abs=10 * error)


def test_pi_is_the_tail_probability():
    value = ProbabilityOfImprovement()(np.array([1.0, 0.0]), np.array([2.0, 1.0]), 0.5)
    expected = stats.norm([1.0, 0.0], [2.0, 1.0]).logsf(0.5)
    np.testing.assert_allclose(value.value, expected)
    utility = ProbabilityOfImprovement()(np.array([-40.0]), np.array([1.0]), 0.0)
    assert utility.value[0] == pytest.approx(stats.norm.logcdf(-40.0), rel=1e-12)
    assert np.isfinite(utility.by_mean[0])


def test_ucb_is_mean_plus_kappa_deviations():
    np.testing.assert_allclose(
        UpperConfidenceBound(3.0)([1.0, 2.0], [0.5, 0.1], 9.9).value, [2.5, 2.3]
    )
    for kappa in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="kappa must be >= 0"):
            UpperConfidenceBound(kappa)


@pytest.mark.parametrize("acquisition", ALL, ids=lambda a: type(a).__name__)
def test_averages_over_samples_and_their_shares(acquisition):
    rng = np.random.default_rng(1)
    mean, sd = rng.standard_normal((4, 6)), rng.random((4, 6)) + 0.1
    utility = acquisition(mean, sd, 0.3)
    value, shares = acquisition.average(utility)
    if acquisition.is_log:
        np.testing.assert_allclose(np.exp(value), np.exp(utility.value).mean(axis=0))
    else:
        np.testing.assert_allclose(value, utility.value.mean(axis=0))
    h = 1e-6
    for s in range(4):
        step = h * (np.arange(4) == s)[:, None]
        ahead = acquisition.average(Utility(utility.value + step, *utility[1:]))[0]
        np.testing.assert_allclose((ahead - value) / h, shares[s], atol=1e-5)
    if acquisition.is_log:  # averages of tiny improvements do not underflow
        tiny = acquisition(np.full((3, 1), -50.0), np.ones((3, 1)), 0.0)
        value, shares = acquisition.average(tiny)
        np.testing.assert_allclose(value, tiny.value[0])
        np.testing.assert_allclose(shares, 1 / 3)
