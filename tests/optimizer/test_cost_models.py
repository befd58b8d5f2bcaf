import pickle

import numpy as np
import pytest
from scipy import integrate, stats

from skbayes import Optimizer
from skbayes.optimizer.cost_models import (
    MIN_COSTS,
    MIN_PROBABILITY,
    AbortedTrials,
    CostModel,
    LimitTerms,
    fit_bounded,
    noise_variance,
    truncated_mean,
)
from skbayes.space.candidates import SpaceExhausted
from skbayes.surrogates import GaussianProcess


def fitted(n=10, D=1, seed=0, noise=0.05):
    """Return known values, and a process with given hyper-parameters."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, D))
    y = 10.0 + 3.0 * np.sin(4 * X[:, 0])
    theta = {"length_scales": [0.4] * D, "amplitude": 1.5, "noise": noise}
    return X, y, GaussianProcess(hyperparameters=theta).fit(X, y)


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("distance", [-6.0, -0.5, 0.0, 1.0, 5.0])
def test_one_bound_makes_the_moments_that_integration_does(side, distance):
    X, y, learner = fitted()
    at = np.array([[1.4]])
    nu = np.sqrt(noise_variance(learner))
    assert nu == pytest.approx(np.sqrt(0.05) * np.std(y))
    plain = fit_bounded(learner, X, y, np.zeros(10))
    mean, sd = (part[0, 0] for part in plain.predict(at))
    np.testing.assert_allclose([mean, sd], np.ravel(learner.predict(at)))
    bound = mean + side * distance * sd

    def density(f):
        return stats.norm.pdf(f, mean, sd) * stats.norm.cdf(side * (f - bound) / nu)

    ends = mean - 12 * sd, mean + 12 * sd
    moments = [
        integrate.quad(lambda f, k=k: f**k * density(f), *ends, limit=200)[0]
        for k in range(3)
    ]
    expected = moments[1] / moments[0]
    variance = moments[2] / moments[0] - expected**2
    model = fit_bounded(
        learner, np.vstack([X, at]), np.append(y, bound), np.append(np.zeros(10), side)
    )
    new_mean, new_sd = (part[0, 0] for part in model.predict(at))
    assert new_mean == pytest.approx(expected, abs=1e-4 * sd)
    assert new_sd == pytest.approx(np.sqrt(variance), rel=1e-3)


def test_many_bounds_make_the_mean_that_sampling_does():
    X, y, learner = fitted(n=4, D=2)
    rng = np.random.default_rng(1)
    at = rng.random((5, 2))
    mean, covariance = (part[0] for part in learner.joint(at))
    f = rng.multivariate_normal(mean, covariance, size=200_000)
    bounds = mean + 0.1
    sides = np.where(f[0] > bounds, 1.0, -1.0)
    nu = np.sqrt(noise_variance(learner))
    weights = np.prod(stats.norm.cdf(sides * (f - bounds) / nu), axis=1)
    expected = weights @ f / np.sum(weights)
    model = fit_bounded(
        learner, np.vstack([X, at]), np.append(y, bounds), np.append(np.zeros(4), sides)
    )
    np.testing.assert_allclose(model.predict(at)[0][0], expected, atol=0.03)


def test_predictions_from_bounds_alone_exceed_them():
    X, y, learner = fitted()
    model = fit_bounded(learner, X, np.full(10, 12.0), np.ones(10))
    assert np.all(model.predict(X)[0] > 12.0)


def test_the_joint_distribution_agrees_with_predictions():
    X, _, learner = fitted(D=2)
    at = np.random.default_rng(2).random((6, 2))
    mean, covariance = learner.joint(at)
    expected = learner.predict(at)
    np.testing.assert_allclose(mean, expected[0])
    variances = np.diagonal(covariance[0])
    np.testing.assert_allclose(np.sqrt(variances), expected[1][0], rtol=1e-6)
    weights = np.full(6, 1 / 6)
    _, sd = learner.average(at, weights)
    assert sd[0] == pytest.approx(np.sqrt(weights @ covariance[0] @ weights))


def make(X, costs, censored=None, n_options=None):
    model = CostModel(n_options or [0] * np.shape(X)[1])
    censored = np.zeros(len(X), bool) if censored is None else censored
    for row, cost, cut in zip(X, costs, censored, strict=True):
        model.trials.append((row, float(cost), bool(cut)))
    return model


def expected(model, X):
    return np.array([model.expected(row) for row in np.asarray(X, float)])


def make_data(n, D=2, seed=0):
    """Return costs that increase by a factor of 1,000 across the space."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, D))
    return X, 10 ** (3 * X[:, 0] - 2 + 0.03 * rng.standard_normal(n)), rng


def test_truncated_means_agree_with_scipy():
    mean, sd = np.array([0.0, 1.0, -2.0, 5.0, 0.0]), np.array([1.0, 0.1, 3.0, 2.0, 1.0])
    bound = np.array([0.0, 1.2, -9.0, 4.0, 5.0])
    reference = stats.truncnorm((bound - mean) / sd, np.inf, mean, sd).mean()
    np.testing.assert_allclose(truncated_mean(mean, sd, bound), reference, rtol=1e-9)
    # A very low bound has no effect; a very high bound is close to the value.
    bound = np.array([-1e200, -50.0, 50.0, 1e6, 1e200])
    values = truncated_mean(np.zeros(5), np.ones(5), bound)
    np.testing.assert_allclose(values, [0.0, 0.0, 50.02, 1e6, 1e200], rtol=1e-4)
    assert np.all(values >= bound)


def test_few_costs_are_as_good_as_their_median():
    model, rows = CostModel([0]), [np.array([x]) for x in (0.1, 0.5, 0.9)]
    assert model.expected(rows[0]) is None
    for row, cost, median in zip(rows, (3.0, 1.0, 500.0), (3.0, 2.0, 3.0), strict=True):
        model.trials.append((row, cost, cost == 500.0))
        assert model.expected(rows[2]) == median
    assert MIN_COSTS == 4


def test_costs_are_learned_where_they_differ():
    X, costs, rng = make_data(25)
    candidates = rng.random((50, 2))
    error = np.log10(expected(make(X, costs), candidates)) - (3 * candidates[:, 0] - 2)
    assert np.sqrt(np.mean(error**2)) < 0.15


def test_costs_of_cheap_and_expensive_configurations_are_predicted_equally_well():
    """One option costs a thousandth, which is an outlier of scores but not of costs."""
    X = np.column_stack([np.linspace(0, 1, 12), np.arange(12) % 6 == 0])
    model = make(X, np.where(X[:, 1], 1e-3, 1.0), n_options=[0, 2])
    np.testing.assert_allclose(
        expected(model, [[0.45, 1.0], [0.45, 0.0]]), [1e-3, 1.0], rtol=0.3
    )


@pytest.mark.parametrize("cost", [1.0, 1e-6, 3.7, 1e-300, 1e300])
def test_constant_costs_are_predicted_exactly(cost):
    X = np.linspace(0, 1, 9)[:, None]
    np.testing.assert_allclose(expected(make(X, np.full(9, cost)), X), cost)
    # Without columns, and with bounds only.
    model = make(np.empty((5, 0)), [1.0, 2.0, 4.0, 8.0, 16.0])
    assert model.expected(np.empty(0)) == pytest.approx(4.0)
    costs = expected(make(X, np.full(9, 10.0), np.ones(9, bool)), X)
    assert np.all((costs > 10.0 * (1 + 1e-6)) & (costs < 1e4))


@pytest.mark.parametrize("unit", [1e-6, 1e3, 1e12])
def test_the_unit_of_costs_does_not_matter(unit):
    X, costs, rng = make_data(15)
    candidates = rng.random((10, 2))
    np.testing.assert_allclose(
        expected(make(X, unit * costs), candidates),
        unit * expected(make(X, costs), candidates),
        rtol=0.01,
    )


@pytest.mark.parametrize("D", [1, 2, 4])
def test_a_slow_first_trial_does_not_make_the_others_expensive(D):
    """Imports and caches make the first of equal trials ten times as long."""
    rng = np.random.default_rng(1)
    X = np.vstack([np.full((1, D), 0.5), rng.random((9, D))])
    costs = 0.1 * np.exp(0.1 * rng.standard_normal(10))
    costs[0] *= 10
    others = expected(make(X, costs), rng.random((20, D)))
    assert np.median(others) < 0.15 and np.all(others < 0.5)


def test_expected_costs_far_away_stay_within_observed_ones():
    """Far from the observations, the expected cost is at most the largest cost."""
    X, costs, _ = make_data(12, D=1)
    model = make(0.1 * X, costs)
    assert costs.min() / 2 < model.expected(np.array([1.0])) < 2 * costs.max()


def test_a_bound_far_below_the_predicted_cost_changes_nothing():
    X, costs, rng = make_data(20, D=1)
    candidates = rng.random((20, 1))
    uncut = expected(make(X, costs), candidates)
    at = 7
    costs[at] *= 1e-3
    cut = expected(make(X, costs, np.arange(20) == at), candidates)
    as_told = expected(make(X, costs), candidates)
    error, naive = (np.abs(np.log(one / uncut)).max() for one in (cut, as_told))
    assert error < 0.2 < 0.5 < naive


def test_censored_costs_are_worth_more_than_their_bounds_and_than_nothing():
    errors = {"censored": [], "bounds": [], "dropped": []}
    for seed in range(9):
        X, costs, rng = make_data(25, seed=seed)
        limit = np.quantile(costs, 0.7)
        cut = costs > limit
        observed = np.minimum(costs, limit)
        candidates = rng.random((40, 2))
        models = {
            "censored": make(X, observed, cut),
            "bounds": make(X, observed),
            "dropped": make(X[~cut], costs[~cut]),
        }
        for name, model in models.items():
            error = np.log10(expected(model, candidates)) - (3 * candidates[:, 0] - 2)
            errors[name].append(np.sqrt(np.mean(error**2)))
    mean = {name: np.mean(values) for name, values in errors.items()}
    assert mean["censored"] < mean["dropped"]
    assert mean["censored"] < 0.8 * mean["bounds"]


def test_censored_costs_raise_one_another():
    """Two censored costs near each other, at the smaller and at the larger limit."""
    X, costs, _ = make_data(16, D=1)
    low, high = 0.98, 1.0
    X = np.vstack([X, [[low], [high]]])
    costs = np.append(costs, [1.0, 100.0])
    at_low = [
        make(X[:n], costs[:n], np.arange(n) >= 16).expected(np.array([low]))
        for n in (17, 18)
    ]
    assert at_low[1] > 2 * at_low[0]


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_expected_costs_do_not_depend_on_earlier_calls(share):
    X, costs, rng = make_data(40)
    censored = rng.random(40) < share
    model = CostModel([0, 0])
    for n in range(40):
        model.trials.append((X[n], costs[n], bool(censored[n])))
        now = model.expected(X[0])
        if n in (3, 18, 25, 39):
            fresh = make(X[: n + 1], costs[: n + 1], censored[: n + 1])
            assert now == fresh.expected(X[0])


def test_models_are_fitted_to_some_of_many_trials(monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.random((500, 1))
    costs = np.exp(2.0 * rows[:, 0] + 0.1 * rng.normal(size=500))
    is_cut = costs > np.exp(1.85)
    trials = list(zip(rows, np.minimum(costs, np.exp(1.85)), is_cut, strict=True))
    at = np.linspace(0.0, 0.8, 9)[:, None]
    whole = CostModel([0], trials).process().predict(at)[0][0]
    monkeypatch.setattr("skbayes.optimizer.cost_models.MAX_TRIALS", 120)
    process = CostModel([0], trials).process()
    np.testing.assert_allclose(process.predict(at)[0][0], whole, atol=0.1)
    aborted = AbortedTrials([0], list(zip(rows, is_cut.tolist(), strict=True)))
    term = aborted.term()
    assert term.value(np.array([[0.2]])) > -0.1 > -1.0 > term.value(np.array([[0.98]]))
    # All aborted trials are kept.
    cut = {row[0] for row in rows[is_cut]}
    for model in (process, term.model):
        assert len(model._X) == 120 and cut <= set(model._X[:, 0].tolist())


def test_costs_of_an_earlier_search_count_by_their_ratio():
    earlier = CostModel([0])
    model, alone = CostModel([0], earlier=earlier), CostModel([0])
    assert model.expected(np.array([0.5])) is None
    for x in (0.0, 0.25, 0.5, 0.75, 1.0):
        earlier.trials.append((np.array([x]), 10.0 ** (3 * x), False))
    early = model.expected(np.array([0.5]))
    assert 20 < early < 45
    # This machine is ten times slower.
    cost = earlier.expected(np.array([0.0]))
    for costs in (model, alone):
        costs.trials.append((np.array([0.0]), 10.0 * cost, False))
    assert model.expected(np.array([0.5])) == pytest.approx(10.0 * early)
    for x in np.linspace(0.1, 1.0, MIN_COSTS):
        for costs in (model, alone):
            costs.trials.append((np.array([x]), 7.0, False))
    assert model.expected(np.array([0.5])) == alone.expected(np.array([0.5]))


def run(n, surrogate="gp", limit=1.0, never=("c",), told="cost", score=np.nan):
    """Search where some options never end; return how often these were tried.

    Ended trials optionally have the score of their finished folds.
    """
    space = {"kind": ["a", "b", "c"], "x": (0.0, 1.0)}
    if surrogate == "gp":
        surrogate = GaussianProcess(n_samples=0)
    optimizer = Optimizer(space, surrogate=surrogate, random_state=0)
    optimizer.cost_limit = limit
    kinds = []
    for _ in range(n):
        params = optimizer.ask()
        kinds.append(params["kind"])
        if params["kind"] not in never:
            optimizer.tell(params, -((params["x"] - 0.8) ** 2), cost=0.1)
        elif told == "cost":
            optimizer.tell(params, score, cost=1.0, censored=True)
        else:
            optimizer.tell(params, score, cost=0.05, censored=True, aborted=True)
    return optimizer, kinds


@pytest.mark.parametrize(
    "surrogate, told", [("gp", "cost"), ("tpe", "cost"), ("gp", "memory")]
)
def test_configurations_that_never_end_are_hardly_tried(surrogate, told):
    limit = 1.0 if told == "cost" else None
    optimizer, kinds = run(16, surrogate, told=told, limit=limit, score=1.0)
    _, without = run(16, surrogate, limit=None, score=1.0)
    assert 1 <= kinds.count("c") < 0.5 * without.count("c")
    assert pickle.loads(pickle.dumps(optimizer)).ask() == optimizer.ask()


def test_random_search_ignores_costs():
    _, kinds = run(40, "random")
    assert kinds.count("c") > 5


def test_the_probability_follows_the_costs():
    costs = CostModel([0])
    limits = LimitTerms(costs, AbortedTrials([0]), limit=10.0)
    assert limits.terms(per_cost=True) == [] and np.all(limits.are_likely(np.eye(1)))
    for x in np.linspace(0.0, 1.0, 9):
        row = np.array([x])
        costs.trials.append((row, min(10.0 ** (4 * x - 2), 10.0), bool(x > 0.75)))
    (term,) = limits.terms(per_cost=False)
    X = np.linspace(0.0, 1.0, 21)[:, None]
    probability = np.exp(term.value(X))
    assert np.all(probability[X[:, 0] < 0.6] > 0.9)
    assert np.all(probability[X[:, 0] > 0.9] < 0.1)
    np.testing.assert_array_equal(limits.are_likely(X), probability >= MIN_PROBABILITY)


def test_costs_are_cooled_by_the_share_of_the_budget_that_is_left():
    models = CostModel([0]), AbortedTrials([0])
    limits = LimitTerms(*models)
    models[0].trials += [(np.array([x / 4]), 2.0, False) for x in range(5)]
    assert limits.terms(True)[0].alpha == 1.0
    limits = LimitTerms(*models, budget=40.0)
    assert limits.terms(True)[0].alpha == pytest.approx(0.75)
    limits = LimitTerms(*models, budget=5.0)
    assert limits.terms(True) == []
    assert limits.terms(False) == []


def test_a_finite_space_in_which_all_others_would_be_ended_is_exhausted():
    space = {"kind": ["a", "b"], "n": list(range(12))}
    optimizer = Optimizer(space, random_state=0)
    optimizer.cost_limit = 1.0
    counts = {"a": 0, "b": 0}
    with pytest.raises(SpaceExhausted, match="remaining configurations has"):
        while True:
            params = optimizer.ask()
            slow = params["kind"] == "b"
            counts[params["kind"]] += 1
            score = np.nan if slow else params["n"]
            optimizer.tell(params, score, cost=1.0 if slow else 0.01, censored=slow)
    assert counts["a"] == 12
    assert 1 <= counts["b"] <= 8
    optimizer.cost_limit = None
    assert optimizer.ask()["kind"] == "b"


def test_a_continuous_space_whose_trials_never_end_has_proposals():
    optimizer, kinds = run(14, never=("a", "b", "c"))
    assert len(kinds) == 14
    assert optimizer.n_told == 14


def slow_and_fast(acquisition, budget=None, seed=1):
    """Return the mean cost of trials with a score that hardly depends on the cost."""
    optimizer = Optimizer(
        {"x": (0.0, 1.0), "y": (0.0, 1.0)},
        surrogate=GaussianProcess(n_samples=0),
        acquisition=acquisition,
        random_state=seed,
    )
    optimizer.cost_budget = budget
    costs = []
    for _ in range(12):
        params = optimizer.ask()
        costs.append(10.0 ** (2 * params["y"]))
        score = -((params["x"] - 0.3) ** 2) + 0.02 * params["y"]
        optimizer.tell(params, score, cost=costs[-1])
    return np.mean(np.log10(costs[6:]))


def test_improvement_per_second_prefers_what_is_cheap():
    plain, per_second = (
        [slow_and_fast(name, seed=seed) for seed in range(2)]
        for name in ("ei", "ei-per-second")
    )
    assert np.mean(per_second) < np.mean(plain) - 0.1
    # A spent budget does not change the improvement.
    assert slow_and_fast("ei-per-second", budget=1e-3, seed=0) == plain[0]
