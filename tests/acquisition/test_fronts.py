import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from skbayes.acquisition.fronts import (
    choose_point,
    crowded_order_keys,
    envelope,
    hypervolume,
    is_nondominated,
    nondominated_ranks,
    on_log_scale,
    reference_point,
)
from skbayes.utils.ranking import best_first

# Few distinct numbers, so that points tie.
POINTS = st.integers(1, 4).flatmap(
    lambda d: hnp.arrays(
        float, st.tuples(st.integers(1, 7), st.just(d)), elements=st.integers(-1, 4)
    )
)


def volume_by_cells(Y, reference):
    """Count the cells of the grid that the points' own coordinates span."""
    edges = [np.unique(np.append(Y[:, j], reference[j])) for j in range(len(reference))]
    total = 0.0
    for corner in itertools.product(*(range(len(e) - 1) for e in edges)):
        low = np.array([edges[j][i] for j, i in enumerate(corner)])
        high = np.array([edges[j][i + 1] for j, i in enumerate(corner)])
        if np.all(low >= reference) and np.any(np.all(Y >= high, axis=1)):
            total += np.prod(high - low)
    return total


@given(POINTS)
def test_front_and_ranks_by_definition(Y):
    dominates = [[bool(np.all(a >= b) and np.any(a > b)) for b in Y] for a in Y]
    front = ~np.any(dominates, axis=0)
    np.testing.assert_array_equal(is_nondominated(Y), front)
    # A rank is the length of the longest chain of points above a point.
    ranks = nondominated_ranks(Y)
    for i in range(len(Y)):
        above = [ranks[j] for j in range(len(Y)) if dominates[j][i]]
        assert ranks[i] == 1 + max(above, default=0)


def test_points_that_failed_are_on_no_front():
    Y = np.array([[1.0, np.nan], [0.0, 0.0], [np.nan, np.nan], [1.0, 1.0]])
    np.testing.assert_array_equal(is_nondominated(Y), [False, False, False, True])
    np.testing.assert_array_equal(nondominated_ranks(Y), [3, 2, 3, 1])
    assert nondominated_ranks(Y[:0]).shape == (0,)


@given(POINTS)
def test_the_reference_is_below_the_front_and_follows_its_units(Y):
    reference = reference_point(Y)
    front = Y[is_nondominated(Y)]
    assert np.all(reference < front)
    # Neither the origin nor the unit of an objective matters where scores differ.
    span = np.ptp(Y, axis=0)
    scaled = reference_point(8.0 * Y + 2.0)
    np.testing.assert_allclose(
        scaled[span > 0], 8.0 * reference[span > 0] + 2.0, atol=1e-12
    )


def test_the_reference_does_not_see_how_bad_the_bad_ones_are():
    front = np.array([[0.0, 5.0], [1.0, 4.0]])
    bad = np.array([[-1.0, -1.0], [-900.0, -900.0]])
    for k in range(3):
        reference = reference_point(np.vstack([front, bad[:k]]))
        np.testing.assert_allclose(reference, [-0.2, 3.8])
    # One point has no range of its own.
    np.testing.assert_allclose(reference_point(front[:1]), [-1.0, 4.0])
    np.testing.assert_allclose(
        reference_point(np.array([[1.0, 2.0], [0.0, 2.0]])), [0.8, 1.0]
    )


def test_the_best_come_first_and_those_in_a_crowd_last():
    front = [[0.0, 1.0], [0.5, 0.5], [0.55, 0.45], [0.6, 0.4], [1.0, 0.0]]
    Y = np.array([[0.1, 0.1], *front])
    order = best_first(crowded_order_keys(Y)).tolist()
    assert set(order[:2]) == {1, 5}
    assert order[2:] == [2, 4, 3, 0] or order[2:] == [4, 2, 3, 0]
    assert best_first(crowded_order_keys(np.ones((3, 2)))).tolist() == [0, 1, 2]


@given(POINTS)
def test_hypervolume_is_that_of_the_cells(Y):
    reference = np.zeros(Y.shape[1])
    assert hypervolume(Y, reference) == pytest.approx(volume_by_cells(Y, reference))
    below = np.array([[1.0, 0.0], [-1.0, 5.0], [np.nan, 3.0]])
    assert hypervolume(below, np.zeros(2)) == hypervolume(below[:0], np.zeros(2)) == 0.0


def test_only_what_is_never_positive_is_a_cost():
    Y = np.array([[-4.0, 0.5, 0.0, 0.0], [-0.5, -2.0, 0.0, -8.0], [-1.0, -1, 0, -4]])
    logs, noise = on_log_scale(Y, np.ones_like(Y))
    np.testing.assert_allclose(logs[:, 0], -np.log([4.0, 0.5, 1.0]))
    np.testing.assert_array_equal(logs[:, 1:3], Y[:, 1:3])
    np.testing.assert_allclose(logs[:, 3], -np.log([2.0, 8.0, 4.0]))
    np.testing.assert_allclose(noise[:, 0], [1 / 16, 4.0, 1.0])
    np.testing.assert_array_equal(noise[:, 1:3], 1.0)
    nothing = np.array([[-1.0], [-1.0], [-1e-300]])
    assert np.ptp(on_log_scale(nothing, nothing**2)[0]) == pytest.approx(np.log(1e6))


def test_points_are_chosen_by_objective_weights_or_distance():
    Y = np.array([[0.0, 10.0], [0.7, 9.0], [1.0, 0.0]])
    names = ["a", "b"]
    assert choose_point(Y, "a", names) == 2
    assert choose_point(Y, "b", names) == 0
    assert choose_point(Y, "knee", names) == 1
    assert choose_point(Y, {"a": 1.0, "b": 0.01}, names) == 2
    assert choose_point(Y, {"b": 1.0}, names) == 0


def test_the_envelope_is_that_of_lines():
    rng = np.random.default_rng(0)
    scores, costs = rng.random(30), rng.random(30)
    scores[3], costs[7] = np.nan, np.nan
    rows, begins = envelope(scores, costs)
    assert begins[0] == 0.0 and np.all(np.diff(begins) > 0)
    for alpha in np.linspace(0.0, 3.0, 50):
        row = rows[np.searchsorted(begins, alpha, side="right") - 1]
        assert scores[row] - alpha * costs[row] == np.nanmax(scores - alpha * costs)
