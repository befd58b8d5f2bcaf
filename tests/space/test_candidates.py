import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skbayes.space import Choice, Space, candidates
from skbayes.space.candidates import Candidates, DrawsExhausted, SpaceExhausted


def make(notation, constraint=None):
    return Candidates(Space.from_notation(notation, constraint))


def test_known_configurations_are_not_candidates():
    pool = make({"a": [1, 2, 3, 4]}, lambda params: params["a"] > 1)
    rows = pool.unseen()
    assert pool.n_configurations == len(rows) == 3
    pool.add(rows[1])
    np.testing.assert_array_equal(pool.unseen(), rows[[0, 2]])
    assert pool.is_known(rows[1]) and not pool.is_known(rows[0])
    assert pool.filter_new(rows).tolist() == [True, False, True]
    pool.discard(rows[1])
    np.testing.assert_array_equal(pool.unseen(), rows)
    for row in rows:
        pool.add(row)
    for look in (pool.unseen, lambda: pool.draw(np.random.default_rng(0))):
        with pytest.raises(SpaceExhausted, match="All 3"):
            look()


@pytest.mark.parametrize("share", [0.2, 1e-4])
def test_draws_are_new_and_allowed(share):
    pool = make(
        {"a": (0.0, 1.0), "b": (1, 100)},
        lambda p: p["a"] < (share if share > 0.1 else 100 * share * (p["b"] == 7)),
    )
    for seed in range(3):
        X = pool.draw(np.random.default_rng(seed))
        assert len(X) and np.all(pool.filter_new(X))
        assert all(map(pool.space.allows, pool.space.decode(X)))


def test_the_constraint_is_called_once_per_configuration():
    asked = []

    def constraint(params):
        asked.append(params["a"])
        return params["a"] < 0.5

    pool = make({"a": (0.0, 1.0)}, constraint)
    X = np.array([[0.25], [0.75], [0.25]])
    for _ in range(3):
        assert pool.filter_new(X).tolist() == [True, False, True]
    assert sorted(set(asked)) == [0.25, 0.75] and len(asked) <= 3


def test_the_constraint_is_called_for_few_of_many_candidates():
    asked = []

    def constraint(params):
        asked.append(params["a"])
        return params["a"] < 2900

    pool = make({"a": list(range(3000))}, constraint)
    assert pool.n_configurations == 3000 and not asked
    ranked = pool.allowed_first(pool.unseen()[::-1])
    assert constraint(pool.space.decode(ranked)[0]) and len(asked) < 50
    assert pool.n_configurations == len(pool.unseen()) == 3000 - (len(asked) - 2)
    pool.apply_constraint()
    assert pool.n_configurations == len(pool.rows) == 2900


def test_a_space_is_exhausted_if_the_constraint_is_called_late():
    pool = make({"a": list(range(3000))}, lambda params: params["a"] % 300 == 0)
    values = set()
    for _ in range(10):
        row = pool.allowed_first(pool.unseen())[0]
        pool.add(row)
        values.add(pool.space.decode(row[None])[0]["a"])
    assert values == set(range(0, 3000, 300))
    with pytest.raises(SpaceExhausted, match="All 10 configurations"):
        pool.allowed_first(pool.unseen())


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 34, 100])
def test_each_candidate_is_checked_once(n):
    order = list(candidates.order_to_check(n))
    assert sorted(order) == list(range(n))
    assert order[:32] == list(range(min(n, 32)))


@pytest.fixture
def few_draws(monkeypatch):
    monkeypatch.setattr(candidates, "N_DRAW_BATCHES", 2)
    monkeypatch.setattr(candidates, "N_LAST_BATCHES", 3)


@pytest.mark.parametrize(
    "notation", [{"a": (1, 400)}, [{"a": (1, 400)}, {"a": (1, 400)}]]
)
def test_a_large_space_is_scanned_to_its_end(few_draws, monkeypatch, notation):
    """Overlapping dicts have one row for each configuration."""
    monkeypatch.setattr(candidates, "MAX_LISTED", 150)
    pool, rng = make(notation, lambda p: p["a"] > 397), np.random.default_rng(0)
    drawn = []
    for _ in range(3):
        row = pool.draw(rng)[0]
        pool.add(row)
        drawn += pool.space.decode(row[None])
    assert sorted(params["a"] for params in drawn) == [398, 399, 400]
    with pytest.raises(SpaceExhausted):
        pool.draw(rng)


def test_a_scan_is_bounded(few_draws, monkeypatch):
    monkeypatch.setattr(candidates, "MAX_SCANNED", 6_000)
    pool = make({"a": (1, 2**20), "b": (1, 2**20)}, lambda params: False)
    with pytest.raises(SpaceExhausted, match="none of the 7,280 conf"):
        pool.draw(np.random.default_rng(0))


def test_candidates_of_very_large_spaces_are_drawn():
    pool = make({f"p{place}": (0, 2**30) for place in range(40)} | {"x": (0.0, 1.0)})
    assert pool.n_configurations == math.inf
    assert len(pool.draw(np.random.default_rng(0)))
    finite = make({f"p{place}": (0, 2**30) for place in range(40)})
    assert finite.n_configurations == (2**30 + 1) ** 40
    assert len(finite.draw(np.random.default_rng(0)))


class Box:
    """Constraint that allows a box, and counts the configurations it receives."""

    def __init__(self, center, width):
        self.center, self.width, self.n_asked = center, width, 0

    def __call__(self, params):
        self.n_asked += 1
        return all(abs(params[k] - c) <= self.width for k, c in self.center.items())


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(*[st.floats(0.1, 0.9)] * 2, st.sampled_from([1e-2, 1e-4, 3e-6]))
def test_candidates_are_drawn_near_an_allowed_one(few_draws, a, b, width):
    pool = make({"a": (0.0, 1.0), "b": (0.0, 1.0)}, Box({"a": a, "b": b}, width))
    allowed = pool.space.encode([{"a": a, "b": b}])
    far = pool.space.encode([{"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 1.0}])
    others = [*far, *allowed]
    drawn = []
    for order in (others, others[::-1]):
        pool = Candidates(pool.space)
        for row in order:
            pool.add(row)
        drawn.append(pool.draw(np.random.default_rng(0)))
        assert np.all(pool.filter_new(drawn[-1]))
    # The order in which they became known has no effect.
    np.testing.assert_array_equal(*drawn)


def test_the_error_says_why_no_candidate_remains(few_draws):
    box = Box({"a": 0.5}, 0.0)
    pool = make({"a": (0.0, 1.0), "b": (0.0, 1e-9)}, box)
    with pytest.raises(DrawsExhausted, match="none of the 1,280 conf.*initial_points"):
        pool.draw(np.random.default_rng(0))
    assert box.n_asked == 1280
    pool = make({"a": (0.0, 1.0)}, box)
    pool.add(pool.space.encode([{"a": 0.5}])[0])
    with pytest.raises(DrawsExhausted, match="no new configuration among the 17,664"):
        pool.draw(np.random.default_rng(0))
    space = Space.from_notation({"a": [1, 2]})
    space.n_configurations = math.inf
    pool = Candidates(space)
    with pytest.raises(DrawsExhausted, match="512 configurations were drawn"):
        for _ in range(3):
            pool.add(pool.draw(np.random.default_rng(0))[0])


def test_a_constraint_that_allows_nothing_exhausts_the_space(few_draws, monkeypatch):
    monkeypatch.setattr(candidates, "MAX_LISTED", 300)
    pool = make({"a": list(range(30)), "b": list(range(20))}, lambda params: False)
    with pytest.raises(SpaceExhausted, match="rejected by the constraint"):
        pool.draw(np.random.default_rng(0))


@settings(max_examples=20)
@given(st.integers(2, 40), st.sampled_from([0.1, 0.02, 1e-6]), st.integers(0, 99))
def test_a_perturbed_row_changes(n, sd, seed):
    opened = Choice({"x": {}, "y": {"d": (1, 3)}})
    space = Space.from_notation({"a": (0, n - 1), "b": [1, 5, 30], "c": opened})
    rng = np.random.default_rng(seed)
    X = space.from_uniform(rng.random((50, 4)))
    moved = candidates.perturb(space, X, [sd], rng)
    np.testing.assert_array_equal(space.snap(moved), moved)
    changed = ~((moved == X) | (np.isnan(moved) & np.isnan(X)))
    assert np.all(np.any(changed, axis=1))
    if sd < 1e-3:
        # One step to an adjacent value, unless another option was drawn.
        ordered = changed[~changed[:, 2]]
        assert np.all(ordered.sum(axis=1) == 1)
        steps = (moved - X)[~changed[:, 2], 0]
        assert np.all(np.abs(steps) < 1.01 / n)
