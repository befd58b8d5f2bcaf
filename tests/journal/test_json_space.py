"""Spaces as JSON."""

import json

import numpy as np
import pytest
from scipy import stats
from sklearn.svm import SVC

from skbayes.journal.json_space import from_outline, to_outline
from skbayes.space import Categorical, Choice, Integer, Ordinal, Real, Space

KERNEL = Choice(
    {
        "rbf": {"gamma": Real(1e-4, 10.0, "log-uniform")},
        "poly": [{"degree": [2, 3]}, {"coef0": Real(0.0, 1.0)}],
        "linear": {},
    }
)

SPACES = {
    "ranges": {"a": Real(0.0, 1.0), "b": Integer(1, 64, "log-uniform")},
    "lists": {"a": Ordinal([1, 2, 9], "rank"), "b": Categorical([None, "x", 1, True])},
    "conditions": {"kernel": KERNEL, "C": Real(0.1, 1.0)},
    "alternatives": [{"a": [1, 2]}, {"a": Real(0.0, 1.0), "b": ["x", "y"]}],
}


def there_and_back(space):
    return from_outline(json.loads(json.dumps(to_outline(space))))


@pytest.mark.parametrize("name", SPACES)
def test_plain_spaces_come_back(name):
    space = Space.from_notation(SPACES[name])
    again = there_and_back(space)
    assert repr(again) == repr(space)
    assert again.tree == space.tree
    assert again.n_configurations == space.n_configurations
    U = np.random.default_rng(0).random((50, space.n_columns))
    params = space.decode(space.from_uniform(U))
    np.testing.assert_array_equal(again.encode(params), space.encode(params))


def test_objects_become_texts():
    again = there_and_back(Space.from_notation({"model": [SVC(C=3), len, "text"]}))
    (column,) = again.columns
    assert column.dimension.values == ("SVC(C=3)", "len", "text")


@pytest.mark.parametrize(
    "distribution, expected",
    [
        (stats.uniform(1, 4), Real(1.0, 5.0)),
        (stats.loguniform(1e-3, 1e3), Real(1e-3, 1e3, "log-uniform")),
        (stats.randint(2, 10), Integer(2, 9)),
        (range(10**9), Integer(0, 10**9 - 1)),
        (range(1, 10**6, 3), Integer(1, 999_997, "log-uniform")),
        (range(0, 2**52, 2**10), Real(0, 2**52 - 2**10)),
    ],
)
def test_distributions_with_bounds_become_ranges(distribution, expected):
    again = there_and_back(Space.from_notation({"a": distribution}))
    dimension = again.columns[0].dimension
    assert type(dimension) is type(expected)
    assert dimension.prior == expected.prior
    np.testing.assert_allclose(
        [dimension.low, dimension.high], [expected.low, expected.high]
    )


def test_distributions_without_bounds_have_none():
    assert to_outline(Space.from_notation({"a": stats.norm()})) is None


@pytest.mark.parametrize(
    "outline",
    [
        None,
        3,
        [3],
        [{"kind": "Real"}],
        [{"name": "a", "kind": "Real", "low": 2, "high": 1, "prior": "uniform"}],
        [{"name": "a", "kind": "Categorical", "values": [{"text": "f"}] * 2}],
    ],
)
def test_what_is_no_outline(outline):
    with pytest.raises(ValueError):
        from_outline(outline)
