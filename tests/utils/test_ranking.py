"""Order of results by violation and score."""

import math

import numpy as np
import pytest

from skbayes.utils.ranking import best_first, least_violating, total_violation

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    "scores, violations, expected",
    [
        ([], None, []),
        ([0.1, 0.3, 0.2], None, [1, 2, 0]),
        ([0.3, 0.1, 0.3], None, [0, 2, 1]),  # the first of ties
        ([NAN, 0.1, NAN, 0.2], None, [3, 1, 0, 2]),
        ([0.1, 0.3, 0.2], [0.0, 0.5, 0.0], [2, 0, 1]),
        ([0.1, 0.3, 0.2], [INF, INF, 2.0], [2, 1, 0]),
        # A result without a score is behind one that violates a constraint.
        ([NAN, 0.3], [0.0, INF], [1, 0]),
        ([[1, 2], [1, 3], [0, 9], [NAN, 9]], None, [1, 0, 2, 3]),
    ],
)
def test_the_best_come_first(scores, violations, expected):
    assert best_first(scores, violations).tolist() == expected


@pytest.mark.parametrize(
    "violations, usable, expected",
    [
        ([0.0, 0.0], [True, False], [True, True]),
        ([0.5, 0.2, 0.0], [True, True, False], [False, True, True]),
        ([0.5, INF], [False, False], [True, True]),
        ([INF, INF], [True, True], [True, True]),
        ([], [], []),
    ],
)
def test_the_least_violating_are_chosen(violations, usable, expected):
    assert least_violating(violations, usable).tolist() == expected


def test_violations_are_sums_of_positive_slacks():
    slacks = [[-1.0, 0.0], [0.5, 0.25], [0.5, -3.0], [-1.0, NAN], [INF, 0.0]]
    np.testing.assert_array_equal(total_violation(slacks), [0.0, 0.75, 0.5, INF, INF])
    assert total_violation([]) == 0.0
