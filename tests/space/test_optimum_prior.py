import pickle

import numpy as np
import pytest
from scipy import stats

from skbayes.space import Choice, Space
from skbayes.space.optimum_prior import OptimumPrior

SPACE = Space.from_notation(
    {
        "x": (1e-3, 1e3, "log-uniform"),
        "depth": (1, 12),
        "size": [1, 2, 4, 8],
        "law": stats.norm(3, 2),
        "kernel": Choice(
            {"rbf": {"gamma": (1e-4, 1.0, "log-uniform")}, "poly": {"degree": (2, 5)}}
        ),
    }
)
DENSITIES = {
    "x": ([0.1, 0.5, 0.8], [-3.0, 1.0, -0.5]),
    "depth": ([0.0, 1.0], [2.0, -1.0]),
    "size": [0.0, 1.0, 2.0, 0.0],
    "law": ([0.3, 0.6], [0.0, 3.0]),
    "kernel": [7.0, 6.0],
    "gamma": ([0.0, 0.5, 1.0], [100.0, 102.0, 100.0]),
}


def random_rows(n, seed=0):
    return SPACE.from_uniform(np.random.default_rng(seed).random((n, SPACE.n_columns)))


def place_of(name, space=SPACE):
    return [column.name for column in space.columns].index(name)


def test_a_density_is_relative_to_random_configurations():
    X = random_rows(50_000)
    for name, density in DENSITIES.items():
        place = place_of(name)
        rows = X[~np.isnan(X[:, place])]
        ratio = np.exp(OptimumPrior(SPACE, {name: density}).log_density(rows))
        assert abs(np.mean(ratio) - 1.0) < 5.0 * stats.sem(ratio, ddof=0) + 2e-3


def test_log_densities_add_up_over_active_columns():
    X = random_rows(500)
    total = np.zeros(len(X))
    for name, density in DENSITIES.items():
        one = OptimumPrior(SPACE, {name: density}).log_density(X)
        inactive = np.isnan(X[:, place_of(name)])
        assert np.all(one[inactive] == 0.0)
        total += one
    both = OptimumPrior(SPACE, DENSITIES)
    np.testing.assert_allclose(both.log_density(X), total, atol=1e-12)
    # An additional column, such as the size of a training set, is ignored.
    wider = np.hstack([X, np.ones((len(X), 1))])
    np.testing.assert_array_equal(both.log_density(wider), both.log_density(X))


def test_values_are_linear_between_knots_and_constant_beyond():
    prior = OptimumPrior(SPACE, {"x": DENSITIES["x"]})
    X = np.full((5, SPACE.n_columns), np.nan)
    X[:, place_of("x")] = [0.0, 0.1, 0.3, 0.8, 1.0]
    difference = prior.log_density(X) - prior.log_density(X)[0]
    np.testing.assert_allclose(difference, [0.0, 0.0, 2.0, 2.5, 2.5])


def test_gradients_are_those_of_finite_differences():
    prior = OptimumPrior(SPACE, DENSITIES)
    X = random_rows(50, seed=1)
    gradient, h = prior.gradient(X), 1e-7
    assert gradient.shape == X.shape
    for column in np.flatnonzero(~SPACE.categorical):
        ahead, behind = X.copy(), X.copy()
        ahead[:, column] += h
        behind[:, column] -= h
        slope = (prior.log_density(ahead) - prior.log_density(behind)) / (2 * h)
        at_knot = np.isin(X[:, column], [0.0, 0.1, 0.3, 0.5, 0.6, 0.8, 1.0])
        at_knot |= np.isin(X[:, column], SPACE.columns[place_of("size")].dimension.grid)
        np.testing.assert_allclose(
            gradient[~at_knot, column], slope[~at_knot], atol=1e-5
        )
    assert np.all(gradient[:, SPACE.categorical] == 0.0)


def test_draws_follow_the_density():
    prior = OptimumPrior(SPACE, DENSITIES)
    n = 30_000
    drawn = prior.sample(n, np.random.default_rng(2))
    again = pickle.loads(pickle.dumps(prior)).sample(n, np.random.default_rng(2))
    np.testing.assert_array_equal(again, drawn)
    weights = np.exp(prior.log_density(random_rows(n, seed=3)))
    X = random_rows(n, seed=3)
    for name in ("x", "depth", "size", "law", "kernel", "gamma"):
        one, other = drawn[:, place_of(name)], X[:, place_of(name)]
        active = ~np.isnan(other)
        expected = np.average(other[active], weights=weights[active])
        assert abs(np.nanmean(one) - expected) < 0.02
    assert np.all(SPACE.active(drawn) == ~np.isnan(drawn))


def test_a_prior_without_densities_has_density_one():
    prior = OptimumPrior(SPACE, {})
    assert prior.is_flat and OptimumPrior(SPACE, {"kernel": [3.0, 3.0]}).is_flat
    assert not OptimumPrior(SPACE, DENSITIES).is_flat
    assert np.all(prior.log_density(random_rows(3)) == 0.0)
    U = np.random.default_rng(0).random((9, SPACE.n_columns))
    rows = prior.sample(9, np.random.default_rng(0))
    np.testing.assert_array_equal(rows, SPACE.from_uniform(U))


def test_the_place_of_a_column_goes_before_its_name():
    space = Space.from_notation([{"C": (0.0, 1.0)}, {"C": (0.0, 2.0), "k": [1, 2]}])
    places = [j for j, column in enumerate(space.columns) if column.name == "C"]
    density = ([0.0, 1.0], [0.0, 5.0])
    prior = OptimumPrior(space, {"C": [[0.5], [0.0]], places[1]: density})
    X = space.encode([{"C": 0.1}, {"C": 0.2, "k": 1}])
    values = prior.log_density(X)
    assert values[0] == 0.0 and values[1] < -1.0


@pytest.mark.parametrize(
    ("densities", "message"),
    [
        ({"x": 1.0}, r"densities\['x'\]"),
        ({"y": [0.0]}, "densities: 'y' is not a parameter of the space"),
        ({"kernel": [0.0]}, r"densities\['kernel'\].*each of 2 values"),
        ({"kernel": ([0.0, 1.0], [0.0, 1.0])}, r"\['kernel'\].*without an order"),
        ({"x": [0.0, 1.0, 2.0]}, r"\['x'\].*pair"),
        ({"x": ([0.5, 0.5], [0.0, 1.0])}, r"\['x'\].*ascend"),
        ({"x": ([0.5, 1.5], [0.0, 1.0])}, r"\['x'\].*in \[0, 1\]"),
        ({"x": ([0.5], [0.0, 1.0])}, r"\['x'\].*same length"),
        ({"size": [0.0, -np.inf, 0.0, 0.0]}, r"\['size'\].*finite"),
    ],
)
def test_a_wrong_density_is_refused(densities, message):
    with pytest.raises(ValueError, match=message):
        OptimumPrior(SPACE, densities)
    with pytest.raises(TypeError, match="densities must be a dict"):
        OptimumPrior(SPACE, [("x", [0.0])])


PEAK = ([0.0, 0.3, 0.4, 1.0], [0.0, 3.0, 3.0, -1.0])
TILT = ([0.0, 1.0], [0.0, 2.0])
INNER = Choice({"p": {"u": (0.0, 1.0)}, "q": {}})
BRANCHES = {
    "a": {"x": (0.0, 1.0), "y": (0.0, 1.0)},
    "b": {"z": (0.0, 1.0), "inner": INNER},
    "c": {"v": (0.0, 1.0)},
}
STATED = {"x": PEAK, "y": TILT, "z": TILT, "u": PEAK, "inner": [1.0, 0.0]}
UNSTATED = {"x": PEAK, "y": TILT, "z": TILT, "u": PEAK}


def branching(notation):
    if notation == "choice":
        return Space.from_notation({"kind": Choice(BRANCHES), "w": (0.0, 1.0)})
    return Space.from_notation(
        [{"kind": [kind], "w": (0.0, 1.0), **one} for kind, one in BRANCHES.items()]
    )


@pytest.mark.parametrize("densities", [STATED, UNSTATED])
@pytest.mark.parametrize("notation", ["choice", "list"])
def test_each_branch_has_the_expected_log_density_zero(notation, densities):
    space = branching(notation)
    prior = OptimumPrior(space, densities)
    X = prior.sample(8000, np.random.default_rng(0))
    logs = prior.centered_log_density(X)
    params = space.decode(X)
    kinds = np.array([one["kind"] for one in params])
    for kind in BRANCHES:
        of_kind = logs[kinds == kind]
        assert abs(np.mean(of_kind)) < 5.0 * stats.sem(of_kind, ddof=0) + 1e-12
    constants = prior.log_density(X) - logs
    assert np.ptp(constants[kinds == "a"]) < 1e-12
    assert np.all(constants[kinds == "a"] > 0.3)
    # A choice with a density is part of its branch; without, it has branches as well.
    inner = np.array([one.get("inner") for one in params])
    n_constants = len(np.unique(constants[kinds == "b"].round(9)))
    assert n_constants == (1 if "inner" in densities else 2)
    if "inner" not in densities:
        assert abs(np.mean(logs[inner == "p"])) < 0.05
    np.testing.assert_array_equal(prior.log_density(X)[kinds == "c"], 0.0)


def test_one_branch_and_a_choice_with_a_density_are_not_centered():
    X = random_rows(200)
    prior = OptimumPrior(SPACE, DENSITIES)
    np.testing.assert_array_equal(prior.centered_log_density(X), prior.log_density(X))
    without = {name: one for name, one in DENSITIES.items() if name != "kernel"}
    prior = OptimumPrior(SPACE, without)
    shift = prior.log_density(X) - prior.centered_log_density(X)
    rbf = ~np.isnan(X[:, place_of("gamma")])
    assert np.ptp(shift[rbf]) < 1e-12 and shift[rbf][0] > 0.1
    np.testing.assert_array_equal(shift[~rbf], 0.0)
