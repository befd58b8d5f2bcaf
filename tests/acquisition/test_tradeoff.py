"""Scores minus costs: closed forms compared with integrals, and derivatives."""

import numpy as np
import pytest
from differences import assert_gradient, by_differences
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.stats import norm

from skbayes import Optimizer
from skbayes.acquisition import ExpectedImprovement
from skbayes.acquisition.proposers import ModelProposer
from skbayes.results.trial_costs import typical_cost
from skbayes.surrogates import GaussianProcess
from skbayes.tradeoff.acquisition import (
    RULES,
    Beliefs,
    ImprovementOfTradeoff,
    LogCost,
    RawCost,
    ScoreLessExcess,
    TradeoffObservations,
    TradeoffProposer,
    envelope,
    relative_costs,
)
from skbayes.tradeoff.optimizer import TradeoffOptimizer

BELIEFS = [(-1.0, 0.5), (-3.0, 0.05), (0.2, 0.3), (-0.5, 2.0), (1.5, 0.4), (-6.0, 1.0)]
SCALES = {"raw": RawCost(), "log": LogCost()}
SIGMA = {"raw": lambda n: n, "log": lambda n: np.minimum(1.0, np.exp(n))}


def _expectation(function, mean, sd, breaks):
    """Integrate over a normal variable, piecewise between the breaks."""
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


def test_a_wide_belief_stays_finite_where_the_cost_is_cut():
    mean, sd = np.array([0.0, -500.0, 500.0]), np.array([60.0, 40.0, 40.0])
    excess = LogCost().excess(mean, sd, 0.1)
    moments = LogCost().moments(mean, sd)
    for utility in (excess, *moments):
        assert all(np.all(np.isfinite(part)) for part in utility)
    assert np.all((excess.value >= 0) & (excess.value <= 0.9 + 1e-12))


@pytest.mark.parametrize("rule", [ScoreLessExcess, ImprovementOfTradeoff])
@pytest.mark.parametrize("name", SCALES)
@settings(max_examples=15)
@given(
    point=st.tuples(
        st.floats(0.3, 1.0), st.floats(0.01, 0.3), st.floats(-2, 1), st.floats(0.1, 1)
    ),
    alpha=st.floats(0.05, 2.0),
)
def test_derivatives_of_acquisitions_agree_with_differences(rule, name, point, alpha):
    acquisition = rule(alpha, SCALES[name])
    point = [np.array([x]) for x in point]
    utility = acquisition(Beliefs(*point), 0.6, 0.1)
    for place, slope in enumerate(utility[1:]):
        expected = by_differences(
            lambda *x: acquisition(Beliefs(*x), 0.6, 0.1).value, point, place, 1e-5
        )
        # Logarithms reach -6000 without a possible gain, so that differences lose
        # digits.
        lost = 1e-6 * abs(float(utility.value[0]))
        np.testing.assert_allclose(slope, expected, rtol=2e-4, atol=1e-5 + lost)


def test_improvement_of_the_tradeoff_is_that_of_samples():
    rng = np.random.default_rng(0)
    score = 0.7 + 0.1 * rng.standard_normal(100_000)
    cost = -1.0 + 0.1 * rng.standard_normal(100_000)
    tradeoff = score - 0.5 * np.minimum(1.0, np.exp(cost))
    expected = np.mean(np.maximum(tradeoff - 0.6, 0.0))
    beliefs = (np.array([x]) for x in (0.7, 0.1, -1.0, 0.1))
    value = ImprovementOfTradeoff(0.5, LogCost())(Beliefs(*beliefs), 0.6, 0.1).value
    assert np.exp(value[0]) == pytest.approx(expected, rel=0.02)
    # The published rule is the gain minus the excess.
    mean, sd, m, s = (np.array([x]) for x in (0.7, 0.1, -1.0, 0.4))
    gain = _expectation(lambda f: max(f - 0.75, 0.0), 0.7, 0.1, [0.75])
    excess = LogCost().excess(m, s, 0.2).value
    value = ScoreLessExcess(0.3, LogCost())(Beliefs(mean, sd, m, s), 0.75, 0.2).value
    assert value == pytest.approx(gain - 0.3 * excess, rel=1e-6)
    mean, m, s = np.array([0.7, 0.9]), np.array([-2.0, 0.5]), np.array([0.1, 0.1])
    beliefs = Beliefs(mean, s, m, s)
    means = ScoreLessExcess(1.0, LogCost()).believed(beliefs)
    np.testing.assert_array_equal(means, mean)
    assert ImprovementOfTradeoff(1.0, LogCost()).believed(beliefs).argmax() == 0


def test_a_vanishing_tradeoff_leaves_the_expected_improvement():
    beliefs = [np.array([x]) for x in (0.7, 0.1, -1.0, 0.1)]
    expected = ExpectedImprovement()(*beliefs[:2], 0.8).value
    improvement = ImprovementOfTradeoff(1e-12, LogCost())(
        Beliefs(*beliefs), 0.8, 0.1
    ).value
    less = ScoreLessExcess(1e-12, LogCost())(Beliefs(*beliefs), 0.8, 0.1).value
    np.testing.assert_allclose(improvement, expected, rtol=1e-9)
    np.testing.assert_allclose(np.log(less), expected, rtol=1e-6)


D = 3


def _observations(cost_of, alpha=0.3, n=14, seed=0, pending=1):
    rng = np.random.default_rng(seed)
    X = rng.random((n, D))
    X[:, 2] = rng.choice([0.2, 0.6, 1.0], n)
    scores = 0.9 - (X[:, 0] - 0.4) ** 2 - 0.05 / X[:, 2]
    costs = cost_of(X, rng)
    return TradeoffObservations(
        X=X,
        scores=np.column_stack([scores, -costs]),
        noise=np.zeros((n, 2)),
        pending=rng.random((pending, D)),
        fractions=X[:, 2],
        alpha=alpha,
    )


def _lognormal(X, rng):
    return X[:, 2] * np.exp(3 * X[:, 1] + 0.05 * rng.standard_normal(len(X)))


def _plain(X, rng):
    return 1.0 + 3.0 * (X[:, 1] - 0.5) ** 3 + 0.3 * X[:, 0]


def _unfitted(rule="ei-tradeoff", cost_scale="auto"):
    return TradeoffProposer(
        ModelProposer(GaussianProcess(), ExpectedImprovement()),
        GaussianProcess(n_samples=0, winsorize_scores=False),
        RULES[rule],
        cost_scale,
    )


@pytest.mark.parametrize(
    "costs, fractions, expected",
    [
        ([9.0, 3.0, 1.0, 0.2], [1.0, 1.0, 1.0, 0.2], 3.0),
        ([100.0, 3.0, 1.0], [1.0, 1.0, 1.0], 3.0),  # a slow fit moves it little
        ([0.2, 0.6], [0.2, 0.6], 1.0),  # before there is a trial on all rows
        ([np.nan, 0.3, 0.2], [1.0, 0.6, 0.4], 0.5),
        ([0.0, 0.0], [1.0, 1.0], 1.0),
        ([np.nan], [1.0], np.nan),
    ],
)
def test_typical_cost_is_a_median_of_scaled_costs(costs, fractions, expected):
    cost = typical_cost(np.array(costs), np.array(fractions))
    np.testing.assert_allclose(cost, expected)


def test_relative_costs_are_from_0_to_1():
    costs = np.array([8.0, 2.0, 1.0, np.nan])
    sigma = relative_costs(costs, np.array([1.0, 1.0, 0.2, 0.2]))
    np.testing.assert_allclose(sigma, [1.0, 0.4, 0.2, np.nan])


def test_incumbents_are_those_with_the_best_tradeoff():
    data = _observations(_lognormal, alpha=0.5)
    sigma = relative_costs(data.costs, data.fractions)
    best = np.argmax(data.scores[:, 0] - 0.5 * sigma)
    np.testing.assert_array_equal(data.incumbents[0], data.X[best])
    without = _observations(_lognormal, alpha=0.0)
    best = np.argmax(without.scores[:, 0])
    np.testing.assert_array_equal(without.incumbents[0], without.X[best])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("cost_scale", ["log", "raw"])
def test_gradients_agree_with_finite_differences_on_both_scales(rule, cost_scale):
    proposer = _unfitted(rule, cost_scale).fit(_observations(_lognormal))
    X = np.random.default_rng(1).random((5, D))
    values, gradient = proposer.scores_and_gradient(X)
    np.testing.assert_allclose(values, proposer.scores(X), rtol=1e-9)
    assert_gradient(proposer.scores, X, gradient, rtol=2e-3, atol=1e-4)


def test_many_candidates_are_scored_in_parts():
    proposer = _unfitted().fit(_observations(_lognormal))
    X = np.random.default_rng(1).random((2050, D))
    np.testing.assert_allclose(
        proposer.scores(X)[1020:1030], proposer.scores(X[1020:1030]), rtol=1e-9
    )


@pytest.mark.parametrize("rule", RULES)
def test_the_cheaper_of_two_equal_scores_is_preferred(rule):
    data = _observations(lambda X, rng: 0.2 + X[:, 1], n=20)
    proposer = _unfitted(rule).fit(data)
    cheap, dear = np.array([[0.4, 0.05, 1.0]]), np.array([[0.4, 0.95, 1.0]])
    assert proposer.scores(cheap) > proposer.scores(dear)


def test_without_tradeoff_or_costs_scores_alone_count():
    X = np.random.default_rng(1).random((9, D))
    for data in (
        _observations(_lognormal, alpha=0.0),
        _observations(lambda X, rng: np.full(len(X), np.nan)),
    ):
        plain = _unfitted().of_scores.fit(data.of_scores)
        proposer = _unfitted().fit(data)
        assert not isinstance(proposer, TradeoffProposer)
        np.testing.assert_array_equal(proposer.scores(X), plain.scores(X))


def test_unknown_costs_are_left_to_the_model():
    data = _observations(_lognormal)
    data.scores[0, 1] = np.nan
    proposer = _unfitted().fit(data)
    assert np.all(np.isfinite(proposer.scores(data.X)))


@pytest.mark.parametrize("cost_of, scale", [(_lognormal, LogCost), (_plain, RawCost)])
def test_the_scale_is_the_one_that_fits_better(cost_of, scale):
    chosen = [
        type(_unfitted().fit(_observations(cost_of, n=25, seed=s)).acquisition.scale)
        for s in range(5)
    ]
    assert chosen.count(scale) >= 4


def test_costs_of_0_have_no_logarithm():
    data = _observations(lambda X, rng: np.where(X[:, 1] > 0.5, 0.0, 1.0))
    proposer = _unfitted(cost_scale="log").fit(data)
    assert isinstance(proposer.acquisition.scale, RawCost)
    assert np.all(np.isfinite(proposer.scores(data.X)))


def test_expected_improvement_is_that_of_the_tradeoff():
    data = _observations(_lognormal)
    row = data.X[0]
    proposer = _unfitted().fit(data)
    expected = np.exp(proposer.scores(row[None, :])[0])
    assert proposer.expected_improvement(row) == pytest.approx(expected)
    assert _unfitted("paper").fit(data).expected_improvement(row) is None


def test_the_optimizer_takes_a_score_and_a_negated_cost():
    optimizer = TradeoffOptimizer({"x": (0.0, 1.0)}, 0.5, None, random_state=0)
    for _ in range(12):
        params = optimizer.ask()
        x = params["x"]
        # The best score is at 0.8; less half of the cost (which counts as 1 at its
        # median), cheaper ones are better.
        optimizer.tell(params, [0.9 - (x - 0.8) ** 2, -x])
    tail = [trial.configuration.params["x"] for trial in optimizer._observed[-5:]]
    assert np.median(tail) < 0.8
    optimizer.tell({"x": 0.11}, [0.5, np.nan], noise=0.01)
    assert 0.0 <= optimizer.ask()["x"] <= 1.0


def test_without_known_costs_the_optimizer_is_that_of_the_scores():
    ours = TradeoffOptimizer({"x": (0.0, 1.0)}, 0.5, None, random_state=0)
    plain = Optimizer({"x": (0.0, 1.0)}, random_state=0)
    for _ in range(6):
        params = ours.ask()
        assert params == plain.ask()
        plain.tell(params, params["x"])
        ours.tell(params, [params["x"], np.nan])


def test_the_envelope_is_that_of_lines():
    rng = np.random.default_rng(0)
    scores, costs = rng.random(30), rng.random(30)
    scores[3], costs[7] = np.nan, np.nan
    rows, begins = envelope(scores, costs)
    assert begins[0] == 0.0 and np.all(np.diff(begins) > 0)
    for alpha in np.linspace(0.0, 3.0, 50):
        row = rows[np.searchsorted(begins, alpha, side="right") - 1]
        assert scores[row] - alpha * costs[row] == np.nanmax(scores - alpha * costs)
