"""What ranks configurations by a score and a cost."""

import numpy as np
import pytest

from skbayes.acquisition.tradeoff import LogCost, RawCost
from skbayes.acquisition.tradeoff_proposer import (
    RULES,
    KnownWithCosts,
    TradeoffProposer,
    TradeoffStrategy,
    relative_costs,
    typical_cost,
)
from skbayes.optimizer.tradeoff_optimizer import TradeoffOptimizer
from skbayes.surrogates import GaussianProcess

D = 3


def _known(cost_of, alpha=0.3, n=14, seed=0, pending=1):
    rng = np.random.default_rng(seed)
    X = rng.random((n, D))
    X[:, 2] = rng.choice([0.2, 0.6, 1.0], n)
    scores = 0.9 - (X[:, 0] - 0.4) ** 2 - 0.05 / X[:, 2]
    costs = cost_of(X, rng)
    return KnownWithCosts(
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


def _strategy(rule="ei-tradeoff", cost_scale="auto"):
    from skbayes.acquisition.improvement import ExpectedImprovement
    from skbayes.acquisition.strategy import ModelStrategy

    return TradeoffStrategy(
        ModelStrategy(GaussianProcess(), ExpectedImprovement()),
        GaussianProcess(n_samples=0, tame_scores=False),
        RULES[rule],
        cost_scale,
    )


# -- relative costs ---------------------------------------------------------------


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
def test_typical_cost(costs, fractions, expected):
    found = typical_cost(np.array(costs), np.array(fractions))
    np.testing.assert_allclose(found, expected)


def test_relative_costs_are_from_0_to_1():
    costs = np.array([8.0, 2.0, 1.0, np.nan])
    sigma = relative_costs(costs, np.array([1.0, 1.0, 0.2, 0.2]))
    np.testing.assert_allclose(sigma, [1.0, 0.4, 0.2, np.nan])


def test_incumbents_are_those_with_the_best_tradeoff():
    known = _known(_lognormal, alpha=0.5)
    sigma = relative_costs(known.costs, known.fractions)
    best = np.argmax(known.scores[:, 0] - 0.5 * sigma)
    np.testing.assert_array_equal(known.incumbents[0], known.X[best])
    without = _known(_lognormal, alpha=0.0)
    best = np.argmax(without.scores[:, 0])
    np.testing.assert_array_equal(without.incumbents[0], without.X[best])


# -- proposers --------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("cost_scale", ["log", "raw"])
def test_gradient(rule, cost_scale):
    proposer = _strategy(rule, cost_scale).proposer(_known(_lognormal))
    X = np.random.default_rng(1).random((5, D))
    values, gradient = proposer.scores_and_gradient(X)
    np.testing.assert_allclose(values, proposer.scores(X), rtol=1e-9)
    step = 1e-6
    for j in range(D):
        shift = step * np.eye(D)[j]
        slope = (proposer.scores(X + shift) - proposer.scores(X - shift)) / (2 * step)
        np.testing.assert_allclose(gradient[:, j], slope, rtol=2e-3, atol=1e-4)


def test_many_candidates_are_scored_in_parts():
    proposer = _strategy().proposer(_known(_lognormal))
    X = np.random.default_rng(1).random((2050, D))
    np.testing.assert_allclose(
        proposer.scores(X)[1020:1030], proposer.scores(X[1020:1030]), rtol=1e-9
    )


@pytest.mark.parametrize("rule", RULES)
def test_of_two_with_the_same_score_the_cheaper_is_preferred(rule):
    known = _known(lambda X, rng: 0.2 + X[:, 1], n=20)
    proposer = _strategy(rule).proposer(known)
    cheap, dear = np.array([[0.4, 0.05, 1.0]]), np.array([[0.4, 0.95, 1.0]])
    assert proposer.scores(cheap) > proposer.scores(dear)


def test_without_tradeoff_or_costs_scores_alone_count():
    X = np.random.default_rng(1).random((9, D))
    for known in (
        _known(_lognormal, alpha=0.0),
        _known(lambda X, rng: np.full(len(X), np.nan)),
    ):
        plain = _strategy().of_scores.proposer(known.of_scores)
        proposer = _strategy().proposer(known)
        assert not isinstance(proposer, TradeoffProposer)
        np.testing.assert_array_equal(proposer.scores(X), plain.scores(X))


def test_unknown_costs_are_left_to_the_model():
    known = _known(_lognormal)
    known.scores[0, 1] = np.nan
    proposer = _strategy().proposer(known)
    assert len(proposer.cost_model._X) == len(known.X) - 1 + len(known.pending)
    assert np.all(np.isfinite(proposer.scores(known.X)))


@pytest.mark.parametrize("cost_of, scale", [(_lognormal, LogCost), (_plain, RawCost)])
def test_the_scale_is_the_one_that_fits_better(cost_of, scale):
    chosen = [
        type(_strategy().proposer(_known(cost_of, n=25, seed=s)).acquisition.scale)
        for s in range(5)
    ]
    assert chosen.count(scale) >= 4


def test_costs_of_0_have_no_logarithm():
    known = _known(lambda X, rng: np.where(X[:, 1] > 0.5, 0.0, 1.0))
    proposer = _strategy(cost_scale="log").proposer(known)
    assert isinstance(proposer.acquisition.scale, RawCost)
    assert np.all(np.isfinite(proposer.scores(known.X)))


def test_expected_improvement_is_that_of_the_tradeoff():
    known = _known(_lognormal)
    row = known.X[0]
    proposer = _strategy().proposer(known)
    expected = np.exp(proposer.scores(row[None, :])[0])
    assert proposer.expected_improvement(row) == pytest.approx(expected)
    assert _strategy("paper").proposer(known).expected_improvement(row) is None


def test_the_optimizer_takes_a_score_and_a_negated_cost():
    optimizer = TradeoffOptimizer(
        {"x": (0.0, 1.0)},
        0.5,
        lambda params: np.ones(len(params)),
        random_state=0,
    )
    for _ in range(12):
        (params,) = optimizer.ask()
        x = params["x"]
        # The best score is at 0.8; less half of the cost (which counts as 1 at its
        # median), cheaper ones are better.
        optimizer.tell(params, [0.9 - (x - 0.8) ** 2, -x])
    tail = [params["x"] for _, params in optimizer._eligible[-5:]]
    assert np.median(tail) < 0.8
    optimizer.tell({"x": 0.11}, [0.5, np.nan], noise=0.01)
    assert 0.0 <= optimizer.ask()[0]["x"] <= 1.0
