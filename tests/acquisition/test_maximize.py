import numpy as np
import pytest

from skbayes.acquisition.maximize import maximize_over, maximize_search
from skbayes.space import Choice, Space
from skbayes.space.candidates import sobol


class Peak:
    """Smooth peak in ordered columns, with a bonus for one option per unordered one."""

    has_gradients = True

    def __init__(self, space, target):
        self.categorical = space.categorical
        self.target = target

    def parts(self, X):
        missing = np.isnan(X)
        delta = np.where(missing, 0.0, X - self.target)
        miss = np.where(missing, 0.3, np.square(delta))
        return delta, np.where(self.categorical & ~missing, np.abs(delta) > 1e-9, miss)

    def scores(self, X):
        return -self.parts(X)[1].sum(axis=1)

    def scores_and_gradient(self, X):
        gradient = np.where(self.categorical, 0.0, -2 * self.parts(X)[0])
        return self.scores(X), gradient


def everything(X):
    return np.ones(len(X), dtype=bool)


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
    ranked = maximize_over(peak, X)
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
    ranked = maximize_search(peak, space, incumbents, everything, rng)
    assert peak.scores(ranked)[0] > -1e-5
    np.testing.assert_array_equal(space.snap(ranked), ranked)
    assert np.all(np.diff(peak.scores(ranked)) <= 0)


def test_steps_open_and_close_branches():
    space = Space.from_notation(
        {"k": Choice({"a": {}, "b": {"x": (0.0, 1.0)}}), "z": (0.0, 1.0)}
    )
    rng = np.random.default_rng(0)
    target = space.encode([{"k": "b", "x": 0.8, "z": 0.1}])
    start = space.encode([{"k": "a", "z": 0.9}])
    peak = Peak(space, target)
    ranked = maximize_search(peak, space, start, everything, rng)
    np.testing.assert_allclose(ranked[0], target[0], atol=1e-3)


def test_nothing_is_proposed_that_is_not_admitted():
    space = Space.from_notation({"x": (0.0, 1.0), "n": (1, 50)})
    rng = np.random.default_rng(0)
    target = space.encode([{"x": 0.9, "n": 40}])

    def admit(X):
        return X[:, space.categorical.size - 1] <= 0.5  # columns: n, x

    ranked = maximize_search(Peak(space, target), space, target, admit, rng)
    assert len(ranked) and np.all(admit(ranked))
    assert ranked[0, 1] == pytest.approx(0.5, abs=0.02)
