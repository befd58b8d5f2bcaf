"""Scores weighed against costs: closed forms beside integrals, and derivatives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.stats import norm

from skbayes.acquisition import ExpectedImprovement
from skbayes.acquisition.tradeoff import (
    ImprovementOfTradeoff,
    LogCost,
    RawCost,
    ScoreLessExcess,
)

BELIEFS = [(-1.0, 0.5), (-3.0, 0.05), (0.2, 0.3), (-0.5, 2.0), (1.5, 0.4), (-6.0, 1.0)]
SCALES = {"raw": RawCost(), "log": LogCost(), "uncut": LogCost(cut=False)}
SIGMA = {
    "raw": lambda n: n,
    "log": lambda n: np.minimum(1.0, np.exp(n)),
    "uncut": np.exp,
}


def _expectation(function, mean, sd, breaks):
    """Integrate over a normal variable, piece by piece between the breaks."""
    ends = [mean - 12 * sd, *sorted(breaks), mean + 12 * sd]
    ends = np.clip(ends, mean - 12 * sd, mean + 12 * sd)
    return sum(
        integrate.quad(lambda n: function(n) * norm.pdf(n, mean, sd), a, b)[0]
        for a, b in zip(ends[:-1], ends[1:], strict=True)
        if b > a
    )


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("mean, sd", BELIEFS)
@pytest.mark.parametrize("least", [0.05, 0.4, 0.99])
def test_excess_is_the_integral(name, mean, sd, least):
    sigma = SIGMA[name]
    breaks = [mean, least] if name == "raw" else [mean, np.log(least), 0.0]
    expected = _expectation(lambda n: max(sigma(n) - least, 0.0), mean, sd, breaks)
    value = SCALES[name].excess(np.array([mean]), np.array([sd]), least).value[0]
    assert value == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("mean, sd", BELIEFS)
def test_moments_are_the_integrals(name, mean, sd):
    sigma = SIGMA[name]
    breaks = [mean, 0.0]
    first = _expectation(sigma, mean, sd, breaks)
    around = _expectation(lambda n: (sigma(n) - first) ** 2, mean, sd, breaks)
    cost, variance = SCALES[name].moments(np.array([mean]), np.array([sd]))
    assert cost.value[0] == pytest.approx(first, rel=1e-6)
    assert variance.value[0] == pytest.approx(around, rel=1e-5, abs=1e-13)


def test_uncut_excess_is_the_formula_of_the_lognormal():
    mean, sd, least = -0.7, 0.6, 0.3
    d2 = (mean - np.log(least)) / sd
    expected = np.exp(mean + sd**2 / 2) * norm.cdf(d2 + sd) - least * norm.cdf(d2)
    value = LogCost(cut=False).excess(np.array([mean]), np.array([sd]), least).value
    assert value[0] == pytest.approx(expected, rel=1e-12)


def test_a_wide_belief_stays_finite_where_the_cost_is_cut():
    mean, sd = np.array([0.0, -500.0, 500.0]), np.array([60.0, 40.0, 40.0])
    excess = LogCost().excess(mean, sd, 0.1)
    moments = LogCost().moments(mean, sd)
    for utility in (excess, *moments):
        assert all(np.all(np.isfinite(part)) for part in utility)
    assert np.all((excess.value >= 0) & (excess.value <= 0.9 + 1e-12))


def _by_differences(function, point, place, step):
    up, down = list(point), list(point)
    up[place], down[place] = point[place] + step, point[place] - step
    return (function(*up) - function(*down)) / (2 * step)


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("mean, sd", BELIEFS)
def test_derivatives_of_costs(name, mean, sd):
    scale, point = SCALES[name], [np.array([mean]), np.array([sd])]
    functions = [
        lambda m, s: scale.excess(m, s, 0.3),
        lambda m, s: scale.moments(m, s)[0],
        lambda m, s: scale.moments(m, s)[1],
    ]
    for function in functions:
        utility = function(*point)
        for place, slope in enumerate((utility.by_mean, utility.by_sd)):
            expected = _by_differences(
                lambda m, s, f=function: f(m, s).value, point, place, 1e-6
            )
            np.testing.assert_allclose(slope, expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("rule", [ScoreLessExcess, ImprovementOfTradeoff])
@pytest.mark.parametrize("name", SCALES)
@settings(max_examples=25)
@given(
    point=st.tuples(
        st.floats(0.3, 1.0), st.floats(0.01, 0.3), st.floats(-2, 1), st.floats(0.1, 1)
    ),
    alpha=st.floats(0.05, 2.0),
)
def test_derivatives_of_acquisitions(rule, name, point, alpha):
    acquisition = rule(alpha, SCALES[name])
    point = [np.array([x]) for x in point]
    utility = acquisition(*point, 0.6, 0.1)
    for place, slope in enumerate(utility[1:]):
        expected = _by_differences(
            lambda *x: acquisition(*x, 0.6, 0.1).value, point, place, 1e-5
        )
        # Logarithms reach -6000 where nothing is to be gained: differences lose digits.
        lost = 1e-6 * abs(float(utility.value[0]))
        np.testing.assert_allclose(slope, expected, rtol=2e-4, atol=1e-5 + lost)


def test_published_rule_is_gain_less_excess():
    mean, sd, m, s = (np.array([x]) for x in (0.7, 0.1, -1.0, 0.4))
    gain = _expectation(lambda f: max(f - 0.75, 0.0), 0.7, 0.1, [0.75])
    excess = _expectation(
        lambda n: max(min(1, np.exp(n)) - 0.2, 0.0), -1.0, 0.4, [0.0, np.log(0.2)]
    )
    value = ScoreLessExcess(0.3, LogCost())(mean, sd, m, s, 0.75, 0.2).value
    assert value[0] == pytest.approx(gain - 0.3 * excess, rel=1e-6)


def test_improvement_of_the_tradeoff_is_that_of_samples():
    rng = np.random.default_rng(0)
    score = 0.7 + 0.1 * rng.standard_normal(400_000)
    cost = -1.0 + 0.1 * rng.standard_normal(400_000)
    tradeoff = score - 0.5 * np.minimum(1.0, np.exp(cost))
    expected = np.mean(np.maximum(tradeoff - 0.6, 0.0))
    beliefs = (np.array([x]) for x in (0.7, 0.1, -1.0, 0.1))
    value = ImprovementOfTradeoff(0.5, LogCost())(*beliefs, 0.6, 0.1).value
    assert np.exp(value[0]) == pytest.approx(expected, rel=0.02)


def test_a_vanishing_tradeoff_leaves_the_expected_improvement():
    beliefs = [np.array([x]) for x in (0.7, 0.1, -1.0, 0.1)]
    expected = ExpectedImprovement()(*beliefs[:2], 0.8).value
    improvement = ImprovementOfTradeoff(1e-12, LogCost())(*beliefs, 0.8, 0.1).value
    less = ScoreLessExcess(1e-12, LogCost())(*beliefs, 0.8, 0.1).value
    np.testing.assert_allclose(improvement, expected, rtol=1e-9)
    np.testing.assert_allclose(np.log(less), expected, rtol=1e-6)


def test_what_is_to_be_improved_on():
    mean, m, s = np.array([0.7, 0.9]), np.array([-2.0, 0.5]), np.array([0.1, 0.1])
    np.testing.assert_array_equal(
        ScoreLessExcess(1.0, LogCost()).believed(mean, m, s), mean
    )
    believed = ImprovementOfTradeoff(1.0, LogCost()).believed(mean, m, s)
    assert believed.argmax() == 0
