"""Trees of columns."""

import math

import numpy as np
import pytest

from skbayes.space import Categorical, Column, Integer, Real
from skbayes.space.tree import (
    TreeEntry,
    activate,
    cover,
    fill,
    match,
    n_slopes,
    names,
    outline,
    size,
)

# A kernel of which one option opens a degree, and a number beside it.
KERNEL = TreeEntry(0, Column("kernel", Categorical(["linear", "poly"])))
KERNEL.options = [[], [TreeEntry(1, Column("degree", Integer(2, 4)))]]
BRANCH = [KERNEL, TreeEntry(2, Column("n", Integer(0, 1)))]
# Positions of its eight configurations, the first entry varying slowest.
ROWS = [
    [0.0, math.nan, 0.25],
    [0.0, math.nan, 0.75],
    *([1.0, degree, n] for degree in (1 / 6, 1 / 2, 5 / 6) for n in (0.25, 0.75)),
]


def test_sizes():
    assert size(BRANCH) == 8
    assert size([]) == 1
    assert size([*BRANCH, TreeEntry(3, Column("C", Real(0, 1)))]) == math.inf
    assert n_slopes(BRANCH) == 3


def test_names_and_outline():
    assert names([BRANCH]) == {"kernel", "degree", "n"}
    assert outline(BRANCH) == [(0, [[], [(1, [])]]), (2, [])]


def test_configurations_are_numbered():
    X = np.full((8, 3), math.nan)
    fill(BRANCH, np.arange(8), np.arange(8), X)
    np.testing.assert_allclose(X, ROWS)


def test_columns_of_options_that_are_not_chosen_are_inactive():
    X = np.nan_to_num(ROWS, nan=0.3)
    mask = np.zeros(X.shape, dtype=bool)
    activate(BRANCH, X, np.ones(8, dtype=bool), mask)
    np.testing.assert_array_equal(mask, ~np.isnan(ROWS))


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"kernel": "poly", "degree": 3, "n": 1}, None),
        ({"kernel": "linear", "n": 1}, None),
        ({"kernel": "poly", "n": 1}, "'degree' is missing"),
        ({"kernel": "rbf", "n": 1}, "'kernel': 'rbf' is not a value"),
    ],
)
def test_parameters_fill_a_branch(params, problem):
    problems = []
    found = list(match(BRANCH, params, np.full(3, math.nan), frozenset(), problems))
    if problem is None:
        ((row, used),) = found
        assert used == params.keys()
        np.testing.assert_allclose(row, ROWS[5 if "degree" in params else 1])
    else:
        assert not found
        assert problem in problems[0]


def test_a_cover_uses_every_option():
    rows = cover(BRANCH, np.full(3, math.nan))
    np.testing.assert_array_equal(rows[:, 0], [0.0, 1.0])
    np.testing.assert_array_equal(np.isnan(rows[:, 1]), [True, False])
