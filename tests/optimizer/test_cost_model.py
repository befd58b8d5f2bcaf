import pickle

import numpy as np
import pytest
from scipy import stats

from skbayes.optimizer.costs import MIN_COSTS, CostModel, truncated_mean


def make(X, costs, censored=None, n_options=None):
    model = CostModel(n_options or [0] * np.shape(X)[1])
    censored = np.zeros(len(X), bool) if censored is None else censored
    for row, cost, cut in zip(X, costs, censored, strict=True):
        model.add(row, float(cost), bool(cut))
    return model


def expected(model, X):
    return np.array([model.expected(row) for row in np.asarray(X, float)])


def make_data(n, D=2, seed=0):
    """Return costs that increase by a factor of 1,000 across the space."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, D))
    return X, 10 ** (3 * X[:, 0] - 2 + 0.03 * rng.standard_normal(n)), rng


def test_truncated_means_are_scipys():
    mean, sd = np.array([0.0, 1.0, -2.0, 5.0, 0.0]), np.array([1.0, 0.1, 3.0, 2.0, 1.0])
    bound = np.array([0.0, 1.2, -9.0, 4.0, 5.0])
    reference = stats.truncnorm((bound - mean) / sd, np.inf, mean, sd).mean()
    np.testing.assert_allclose(truncated_mean(mean, sd, bound), reference, rtol=1e-9)


def test_truncated_means_at_the_extremes():
    """A very low bound has no effect; a very high bound is close to the value."""
    bound = np.array([-1e200, -50.0, 50.0, 1e6, 1e200])
    values = truncated_mean(np.zeros(5), np.ones(5), bound)
    np.testing.assert_allclose(values, [0.0, 0.0, 50.02, 1e6, 1e200], rtol=1e-4)
    assert np.all(values >= bound)


def test_few_costs_are_as_good_as_their_median():
    model, rows = CostModel([0]), [np.array([x]) for x in (0.1, 0.5, 0.9)]
    assert model.expected(rows[0]) is None
    for row, cost, median in zip(rows, (3.0, 1.0, 500.0), (3.0, 2.0, 3.0), strict=True):
        model.add(row, cost, censored=cost == 500.0)
        assert model.expected(rows[2]) == median
    assert MIN_COSTS == 4


def test_costs_are_learned_where_they_differ():
    X, costs, rng = make_data(25)
    candidates = rng.random((50, 2))
    error = np.log10(expected(make(X, costs), candidates)) - (3 * candidates[:, 0] - 2)
    assert np.sqrt(np.mean(error**2)) < 0.15


def test_cheap_configurations_are_known_as_well_as_expensive_ones():
    """One option costs a thousandth, which is an outlier of scores but not of costs."""
    X = np.column_stack([np.linspace(0, 1, 12), np.arange(12) % 6 == 0])
    model = make(X, np.where(X[:, 1], 1e-3, 1.0), n_options=[0, 2])
    np.testing.assert_allclose(
        expected(model, [[0.45, 1.0], [0.45, 0.0]]), [1e-3, 1.0], rtol=0.3
    )


@pytest.mark.parametrize("cost", [1.0, 1e-6, 3.7, 1e-300, 1e300])
def test_constant_costs(cost):
    X = np.linspace(0, 1, 9)[:, None]
    np.testing.assert_allclose(expected(make(X, np.full(9, cost)), X), cost)
    # Without columns, and with nothing but bounds.
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


def test_ignorance_is_not_expensive():
    """Far from the observations, the expected cost is at most the largest cost."""
    X, costs, _ = make_data(12, D=1)
    model = make(0.1 * X, costs)
    assert costs.min() / 2 < model.expected(np.array([1.0])) < 2 * costs.max()


def test_a_bound_far_below_what_is_known_changes_nothing():
    X, costs, rng = make_data(20, D=1)
    candidates = rng.random((20, 1))
    known = expected(make(X, costs), candidates)
    at = 7
    costs[at] *= 1e-3
    cut = expected(make(X, costs, np.arange(20) == at), candidates)
    as_told = expected(make(X, costs), candidates)
    error, naive = (np.abs(np.log(one / known)).max() for one in (cut, as_told))
    assert error < 0.2 < 0.5 < naive


def test_censored_costs_are_worth_more_than_their_bounds_and_than_nothing():
    errors = {"censored": [], "bounds": [], "dropped": []}
    for seed in range(15):
        X, costs, rng = make_data(25, seed=seed)
        limit = np.quantile(costs, 0.7)
        cut = costs > limit
        told = np.minimum(costs, limit)
        candidates = rng.random((40, 2))
        models = {
            "censored": make(X, told, cut),
            "bounds": make(X, told),
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
def test_what_is_expected_does_not_depend_on_when_it_was_asked(share):
    X, costs, rng = make_data(40)
    censored = rng.random(40) < share
    asked = CostModel([0, 0])
    for n in range(40):
        asked.add(X[n], costs[n], bool(censored[n]))
        now = asked.expected(X[0])
        if n in (3, 18, 25, 39):
            fresh = make(X[: n + 1], costs[: n + 1], censored[: n + 1])
            assert now == fresh.expected(X[0])


def test_pickling():
    X, costs, _ = make_data(10)
    model = make(X, costs)
    for _ in range(2):
        again = pickle.loads(pickle.dumps(model))
        assert again.expected(X[0]) == model.expected(X[0])


def test_costs_of_an_earlier_search_count_by_their_ratio():
    model, alone = CostModel([0]), CostModel([0])
    assert model.expected(np.array([0.5])) is None
    for x in (0.0, 0.25, 0.5, 0.75, 1.0):
        model.learn(np.array([x]), 10.0 ** (3 * x))
    early = model.expected(np.array([0.5]))
    assert 20 < early < 45
    # This machine is ten times slower.
    for one in (model, alone):
        one.add(np.array([0.0]), 10.0 * model._earlier.expected(np.array([0.0])))
    assert model.expected(np.array([0.5])) == pytest.approx(10.0 * early)
    for x in np.linspace(0.1, 1.0, MIN_COSTS):
        for one in (model, alone):
            one.add(np.array([x]), 7.0)
    assert model.expected(np.array([0.5])) == alone.expected(np.array([0.5]))
