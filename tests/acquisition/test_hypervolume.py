import itertools

import numpy as np
import pytest
from fronts import shaped_front
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import integrate, stats

from skbayes.acquisition import ExpectedHypervolumeImprovement, ExpectedImprovement
from skbayes.pareto.hypervolume import (
    choose_point,
    crowded_order_keys,
    hypervolume,
    hypervolume_improvement,
    is_nondominated,
    nondominated_boxes,
    nondominated_ranks,
    on_log_scale,
    reference_point,
)
from skbayes.utils.ranking import best_first

# The numbers have few distinct values, so that points tie.
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


@settings(max_examples=40)
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


@settings(max_examples=40)
@given(POINTS)
def test_the_reference_is_below_the_front_and_follows_its_units(Y):
    reference = reference_point(Y)
    front = Y[is_nondominated(Y)]
    assert np.all(reference < front)
    # The origin and the unit of an objective have no effect if scores differ.
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
    # A single point has no range.
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


@settings(max_examples=40)
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
    negated = np.array([[-1.0], [-1.0], [-1e-300]])
    assert np.ptp(on_log_scale(negated, negated**2)[0]) == pytest.approx(np.log(1e6))


def test_points_are_chosen_by_objective_weights_or_distance():
    Y = np.array([[0.0, 10.0], [0.7, 9.0], [1.0, 0.0]])
    names = ["a", "b"]
    assert choose_point(Y, "a", names) == 2
    assert choose_point(Y, "b", names) == 0
    assert choose_point(Y, "knee", names) == 1
    assert choose_point(Y, {"a": 1.0, "b": 0.01}, names) == 2
    assert choose_point(Y, {"b": 1.0}, names) == 0


@pytest.mark.parametrize("shape", ["concave", "linear", "convex"])
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_improvement_by_boxes_is_the_difference_of_two_volumes(shape, d):
    front = shaped_front(shape, 10, d)
    reference = np.full(d, 0.05)
    lower, upper = nondominated_boxes(front, reference)
    rng = np.random.default_rng(2)
    Y = np.vstack([1.3 * rng.random((30, d)), front, front + 0.1, front - 0.1])
    before = hypervolume(front, reference)
    expected = [hypervolume(np.vstack([front, y]), reference) - before for y in Y]
    improvement = hypervolume_improvement(Y, lower, upper)
    np.testing.assert_allclose(improvement, expected, atol=1e-12)


@settings(max_examples=40)
@given(POINTS)
def test_boxes_are_disjoint_and_leave_nothing_out(Y):
    d = Y.shape[1]
    reference = np.zeros(d)
    lower, upper = nondominated_boxes(Y, reference)
    # Centers of the cells of a grid on which all points lie.
    cells = np.array(list(itertools.product(np.arange(0.5, 6.0), repeat=d)))
    inside = np.all((cells[:, None] > lower) & (cells[:, None] < upper), axis=2)
    dominated = np.any(np.all(cells[:, None] < Y, axis=2), axis=1)
    np.testing.assert_array_equal(inside.sum(axis=1), np.where(dominated, 0, 1))


def test_two_objectives_have_one_strip_more_than_the_front_has_points():
    front = shaped_front("concave", 9, 2)
    assert len(nondominated_boxes(front, np.zeros(2))[0]) == 10
    assert len(nondominated_boxes(front[:0], np.zeros(2))[0]) == 1


def cases(d, n=6, m=8, seed=3):
    rng = np.random.default_rng(seed)
    front = shaped_front("concave", n, d)
    return front, np.full(d, -0.1), 1.2 * rng.random((m, d)), 0.05 + rng.random((m, d))


def test_two_objectives_by_adaptive_integration():
    front, reference = np.array([[1.0, 2.0], [2.0, 1.0]]), np.zeros(2)
    mean, sd = np.array([1.5, 1.5]), np.array([0.5, 0.8])
    strips = zip([0.0, 1.0, 2.0], [1.0, 2.0, np.inf], [2.0, 1.0, 0.0], strict=True)

    def expected_part(low, high, j):
        top = min(high, mean[j] + 12 * sd[j])
        return integrate.quad(lambda t: stats.norm.sf(t, mean[j], sd[j]), low, top)[0]

    expected = sum(
        expected_part(left, right, 0) * expected_part(height, np.inf, 1)
        for left, right, height in strips
    )
    acquisition = ExpectedHypervolumeImprovement(front, reference)
    value = acquisition(mean[None], sd[None]).value[0]
    assert np.exp(value) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_any_number_of_objectives_by_monte_carlo(d):
    front, reference, mean, sd = cases(d)
    values = ExpectedHypervolumeImprovement(front, reference)(mean, sd).value
    lower, upper = nondominated_boxes(front, reference)
    drawn = np.random.default_rng(4).standard_normal((8_000, d))
    for value, center, scale in zip(values, mean, sd, strict=True):
        gains = hypervolume_improvement(center + scale * drawn, lower, upper)
        error = np.std(gains) / np.sqrt(len(gains))
        assert np.exp(value) == pytest.approx(np.mean(gains), abs=4 * error)
    # Certain predictions are improvements.
    certain = ExpectedHypervolumeImprovement(front, reference)(
        mean, np.full_like(mean, 1e-9)
    )
    expected = hypervolume_improvement(mean, lower, upper)
    np.testing.assert_allclose(np.exp(certain.value), expected, atol=1e-7)
    assert np.any(expected > 0) and (d == 4 or np.any(expected == 0))


def test_one_objective_is_the_expected_improvement():
    rng = np.random.default_rng(5)
    mean, sd = rng.standard_normal((2, 10, 1))
    sd = np.abs(sd) + 0.1
    utility = ExpectedHypervolumeImprovement([[0.3], [0.1]], [-2.0])(mean, sd)
    expected = ExpectedImprovement()(mean, sd, 0.3)
    np.testing.assert_allclose(utility.value, expected.value[:, 0])
    np.testing.assert_allclose(utility.by_mean, expected.by_mean)
    np.testing.assert_allclose(utility.by_sd, expected.by_sd)
    # Before the first score, it is a product of the objectives' improvements.
    mean, sd = np.array([[0.2, -1.0]]), np.array([[1.0, 0.5]])
    utility = ExpectedHypervolumeImprovement(np.empty((0, 2)), [0.0, 0.5])(mean, sd)
    parts = ExpectedImprovement()(mean[0], sd[0], np.array([0.0, 0.5]))
    np.testing.assert_allclose(utility.value, np.sum(parts.value))


def test_tiny_improvements_neither_underflow_nor_lose_their_order():
    front, reference, *_ = cases(2)
    mean = np.full((4, 2), -1.0) - np.arange(4)[:, None]
    utility = ExpectedHypervolumeImprovement(front, reference)(
        mean, np.full((4, 2), 0.02)
    )
    assert np.all(utility.value < -1000)
    assert np.all(np.diff(utility.value) < 0)
    assert np.all(np.isfinite(utility.by_mean)) and np.all(utility.by_mean > 0)


def test_units_of_the_objectives_do_not_change_the_order():
    front, reference, mean, sd = cases(2)
    scale = np.array([1e6, 1e-3])
    one = ExpectedHypervolumeImprovement(front, reference)(mean, sd).value
    other = ExpectedHypervolumeImprovement(front * scale, reference * scale)(
        mean * scale, sd * scale
    ).value
    np.testing.assert_allclose(other - one, np.log(1e3))
