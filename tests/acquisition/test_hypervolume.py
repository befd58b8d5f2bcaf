import itertools

import numpy as np
import pytest
from fronts import shaped_front
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import integrate, stats

from skbayes.acquisition import ExpectedHypervolumeImprovement, ExpectedImprovement
from skbayes.acquisition.hypervolume import (
    hypervolume,
    hypervolume_improvement,
    nondominated_boxes,
)

# Few distinct numbers, so that points tie.
POINTS = st.integers(1, 4).flatmap(
    lambda d: hnp.arrays(
        float, st.tuples(st.integers(1, 7), st.just(d)), elements=st.integers(-1, 4)
    )
)


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
    drawn = np.random.default_rng(4).standard_normal((20_000, d))
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
    # Of several, before anything is known, it is a product of improvements.
    mean, sd = np.array([[0.2, -1.0]]), np.array([[1.0, 0.5]])
    utility = ExpectedHypervolumeImprovement(np.empty((0, 2)), [0.0, 0.5])(mean, sd)
    parts = ExpectedImprovement()(mean[0], sd[0], np.array([0.0, 0.5]))
    np.testing.assert_allclose(utility.value, np.sum(parts.value))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_derivatives_agree_with_finite_differences(d):
    front, reference, mean, sd = cases(d)
    acquisition = ExpectedHypervolumeImprovement(front, reference)
    utility = acquisition(mean, sd)
    for j, step in enumerate(1e-6 * np.eye(d)):
        by_mean = (
            acquisition(mean + step, sd).value - acquisition(mean - step, sd).value
        )
        by_sd = acquisition(mean, sd + step).value - acquisition(mean, sd - step).value
        np.testing.assert_allclose(utility.by_mean[:, j], by_mean / 2e-6, rtol=1e-5)
        np.testing.assert_allclose(utility.by_sd[:, j], by_sd / 2e-6, rtol=1e-5)


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
