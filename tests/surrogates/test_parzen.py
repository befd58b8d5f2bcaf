import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from skbayes import Optimizer
from skbayes.acquisition.observations import Observations
from skbayes.acquisition.proposers import SamplingProposer
from skbayes.space import Choice, Space
from skbayes.space.candidates import Candidates
from skbayes.surrogates import ParzenEstimator
from skbayes.surrogates.parzen import (
    CategoricalDensity,
    ContinuousDensity,
    GridDensity,
    bandwidths,
    truncated_normal,
)
from skbayes.surrogates.registry import make_surrogate

POSITIONS = st.lists(st.floats(0, 1), min_size=1, max_size=12).map(np.array)


def test_bandwidths_are_distances_to_the_neighbors():
    # Neighbors of 0.2: 0 and 0.5; of 0.5: 0.2 and 0.6; of 0.6: 0.5 and 1.
    sd = bandwidths(np.array([0.5, 0.2, 0.6]))
    np.testing.assert_allclose(sd, [0.3, 0.3, 0.4])
    # Two trials at one position count as one: their neighbors are 0 and 0.9.
    np.testing.assert_allclose(bandwidths(np.array([0.3, 0.3, 0.9])), [0.6, 0.6, 0.6])
    close = np.linspace(0, 1, 1001)
    np.testing.assert_array_equal(bandwidths(close), 0.01)


@settings(deadline=None)
@given(st.floats(0, 1), st.floats(0.01, 1), st.floats(0, 1))
def test_the_truncated_normal_agrees_with_scipy(mean, sd, x):
    expected = stats.truncnorm.pdf(x, -mean / sd, (1 - mean) / sd, mean, sd)
    actual = truncated_normal(np.array([x]), np.array([mean]), np.array([sd]))
    np.testing.assert_allclose(actual[0, 0], expected, rtol=1e-9, atol=1e-300)


@settings(deadline=None, max_examples=30)
@given(POSITIONS, st.floats(0.1, 5))
def test_a_continuous_density_integrates_to_one(x, prior_weight):
    density = ContinuousDensity(x, prior_weight)
    grid = np.linspace(0, 1, 20_001)
    total = integrate.simpson(np.exp(density.log_density(grid)), x=grid)
    assert total == pytest.approx(1.0, abs=1e-6)


def test_a_continuous_density_by_hand():
    x, at = np.array([0.2, 0.5]), 0.3
    kernels = [
        stats.truncnorm.pdf(at, -m / s, (1 - m) / s, m, s)
        for m, s in ((0.2, 1 / 3), (0.5, 0.5))
    ]
    density = ContinuousDensity(x, prior_weight=2.0)
    expected = np.log((2.0 + sum(kernels)) / 4.0)
    assert density.log_density(np.array([at]))[0] == pytest.approx(expected)


def test_draws_follow_their_density():
    rng = np.random.default_rng(0)
    density = ContinuousDensity(np.array([0.1, 0.15, 0.9, 1.0]))
    drawn = density.sample(5000, rng)
    grid = np.linspace(0, 1, 5001)
    cdf = integrate.cumulative_trapezoid(
        np.exp(density.log_density(grid)), x=grid, initial=0
    )
    assert stats.kstest(drawn, lambda t: np.interp(t, grid, cdf)).pvalue > 1e-3
    for discrete in (
        CategoricalDensity(np.array([0.0, 0.5, 0.5]), np.array([0.0, 0.5, 1.0])),
        GridDensity(np.array([0.0, 0.5]), np.linspace(0, 1, 3), np.full(3, 1 / 3)),
    ):
        drawn = discrete.sample(3000, rng)
        counts = np.array([np.sum(drawn == value) for value in discrete.grid])
        assert stats.chisquare(counts, 3000 * discrete.p).pvalue > 1e-3


def test_a_categorical_density_by_hand():
    grid = np.linspace(0, 1, 4)
    density = CategoricalDensity(grid[[1, 1, 3]], grid)
    np.testing.assert_allclose(density.p, np.array([1, 3, 1, 2]) / 7)
    np.testing.assert_allclose(
        density.log_density(grid[[3, 0]]), np.log([2 / 7, 1 / 7])
    )
    np.testing.assert_allclose(CategoricalDensity(grid[:0], grid).p, 0.25)


def test_a_density_on_a_grid_by_hand():
    grid = np.array([0.0, 0.2, 1.0])
    prior = np.array([0.5, 0.25, 0.25])
    density = GridDensity(np.array([0.2, 1.0]), grid, prior, prior_weight=3.0)
    # Cells end halfway to the next value, and extend equally far beyond the last ones.
    edges = [-0.1, 0.1, 0.6, 1.4]
    weights = 3.0 * prior
    for x, sd in ((0.2, 0.8), (1.0, 0.8)):
        masses = np.diff(stats.norm.cdf(edges, x, sd))
        weights = weights + masses / masses.sum()
    np.testing.assert_allclose(density.p, weights / 5.0)
    np.testing.assert_allclose(GridDensity(grid[:0], grid, prior).p, prior)
    assert GridDensity(np.zeros(2), np.zeros(1), np.ones(1)).p == 1.0


TREE = Space.from_notation(
    {
        "kind": Choice({"a": {"x": (0.0, 1.0)}, "b": {"y": [1, 2, 3]}, "c": {}}),
        "flag": [True, False],
    }
)


def trials(n, seed=0):
    X = TREE.from_uniform(np.random.default_rng(seed).random((n, TREE.n_columns)))
    return X, np.random.default_rng(seed + 1).random(n)


@pytest.mark.parametrize(
    ("n", "expected"), [(1, 1), (2, 2), (13, 2), (14, 3), (20, 3), (21, 4)]
)
def test_the_best_trials_are_good(n, expected):
    """Their number is the larger of 2 and ceil(0.15 n)."""
    space = Space.from_notation({"x": (0.0, 1.0)})
    X = np.random.default_rng(0).random((n, 1))
    estimator = ParzenEstimator(space=space).fit(X, X[:, 0])
    good = np.sort(X[:, 0])[::-1][:expected]
    np.testing.assert_array_equal(estimator.good_[0].mean, good)
    assert len(estimator.bad_[0].mean) == n - expected


def test_failures_are_never_good():
    space = Space.from_notation({"x": (0.0, 1.0)})
    X = np.linspace(0, 1, 5)[:, None]
    y = np.array([np.nan, np.nan, 1.0, np.nan, np.nan])
    estimator = ParzenEstimator(space=space).fit(X, y)
    np.testing.assert_array_equal(estimator.good_[0].mean, [0.5])


def test_only_active_columns_multiply():
    X, y = trials(40)
    estimator = ParzenEstimator(space=TREE).fit(X, y)
    order = np.argsort(-y)
    parts = {"good": X[order[:6]], "bad": X[order[6:]]}
    names = [column.name for column in TREE.columns]
    for row in X[:10]:
        expected = 0.0
        for j, name in enumerate(names):
            if np.isnan(row[j]):
                continue
            logs = []
            for part in parts.values():
                x = part[~np.isnan(part[:, j]), j]
                if name == "x":
                    density = ContinuousDensity(x)
                elif name == "y":
                    grid = TREE.columns[j].dimension.grid
                    density = GridDensity(x, grid, np.full(3, 1 / 3))
                else:
                    density = CategoricalDensity(x, TREE.columns[j].dimension.grid)
                logs.append(density.log_density(row[[j]])[0])
            expected += logs[0] - logs[1]
        assert estimator.scores(row[None])[0] == pytest.approx(expected, abs=1e-9)
    assert {"kind", "x", "y", "flag"} == set(names)


def test_candidates_are_configurations():
    X, y = trials(40)
    drawn = ParzenEstimator(space=TREE).fit(X, y).sample(200, np.random.default_rng(0))
    np.testing.assert_array_equal(TREE.encode(TREE.decode(drawn)), drawn)
    assert len(np.unique(np.isnan(drawn), axis=0)) == 3


def test_the_prior_of_ordered_values_is_that_of_their_dimension():
    space = Space.from_notation({"n": (1, 64, "log-uniform"), "d": stats.binom(4, 0.3)})
    estimator = ParzenEstimator(space=space).fit(np.empty((0, 2)), np.empty(0))
    U = np.random.default_rng(0).random((100_000, 2))
    drawn = space.from_uniform(U)
    for j, density in enumerate(estimator.good_):
        shares = [np.mean(drawn[:, j] == g) for g in density.grid]
        np.testing.assert_allclose(density.p, shares, atol=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"good_share": 0.0}, "good_share must be between 0 and 1"),
        ({"n_candidates": 0}, "n_candidates must be >= 1"),
        ({"prior_weight": 0.0}, "prior_weight must be > 0"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ParzenEstimator(**arguments)


MIXED = Space.from_notation({"x": (0.0, 1.0), "k": ["a", "b"]})


def observations(n=20, pending=0, space=MIXED):
    rng = np.random.default_rng(0)
    X = space.from_uniform(rng.random((n + pending, space.n_columns)))
    return Observations(X[:n], -np.abs(X[:n, 0] - 0.3), np.zeros(n), X[n:])


def rank(candidates, data, estimator=None):
    model = make_surrogate(estimator or ParzenEstimator(), candidates, 0)
    proposer = SamplingProposer(model).fit(data)
    X = proposer.rank(candidates, data.incumbents, np.random.default_rng(0))
    return proposer.sampler, X


def test_candidates_are_drawn_and_ranked():
    fitted, X = rank(Candidates(MIXED), observations())
    assert X.shape == (100, 2)
    scores = fitted.scores(X)
    assert np.all(np.diff(scores) <= 0) and scores[0] > 0
    assert rank(Candidates(MIXED), observations(), ParzenEstimator(n_candidates=7))[
        1
    ].shape == (7, 2)


def test_in_a_space_that_is_listed_all_that_is_new_is_ranked():
    space = Space.from_notation({"x": list(range(30)), "k": ["a", "b"]})
    candidates = Candidates(space)
    data = observations(space=space)
    for row in data.X:
        candidates.add(row)
    fitted, X = rank(candidates, data)
    remaining = candidates.unseen()
    np.testing.assert_array_equal(np.unique(X, axis=0), np.unique(remaining, axis=0))
    assert fitted.scores(X)[0] == fitted.scores(remaining).max()


def test_only_new_and_allowed_candidates_are_proposed():
    space = Space.from_notation({"x": (1, 200), "y": (1, 200)}, lambda p: p["x"] > 190)
    candidates = Candidates(space)
    assert not candidates.is_enumerated
    _, X = rank(candidates, observations(space=space))
    assert len(X) and np.all(candidates.filter_new(X))
    empty = Space.from_notation({"x": (0.0, 1.0), "k": ["a", "b"]}, lambda p: False)
    assert rank(Candidates(empty), observations())[1].shape == (0, 2)


def test_pending_configurations_count_as_bad():
    one, _ = rank(Candidates(MIXED), observations(pending=0))
    data = observations(pending=4)
    other, _ = rank(Candidates(MIXED), data)
    assert np.all(other.scores(data.pending) < one.scores(data.pending))


def test_eight_trials_come_before_the_model():
    optimizer = Optimizer({"x": (0.0, 1.0)}, surrogate="tpe", random_state=0)
    design = Optimizer({"x": (0.0, 1.0)}, n_initial_points=8, random_state=0).ask(8)
    proposals = []
    for _ in range(9):
        proposals.append(optimizer.ask())
        optimizer.tell(proposals[-1], -proposals[-1]["x"])
    assert proposals[:8] == design
