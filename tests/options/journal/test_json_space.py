"""Configurations as JSON."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from skbayes.options.journal.json_space import (
    adapt_record,
    from_record,
    readable,
    to_record,
)
from skbayes.space import Choice, Dimension, Space
from skbayes.space.candidates import Configuration


def square(x):
    return x * x


MODELS = [SVC(C=2), LogisticRegression()]
OBJECTS = [*MODELS, square, np.log1p, lambda x: x, (1, 2), ("a",)]
LEAVES = [
    [1, 2, 3],
    [0.1, 1, 2.0],
    [True, False, None, "a", 1.5],
    ["text", "x" * 500, "\ud800", 10**400, math.inf, math.nan],
    OBJECTS,
    [(1, 1), (1, 2), [1]],
    (0.0, 1.0),
    (-1e300, 1e-300),
    (1e-3, 1e3, "log-uniform"),
    (1, 30),
    (2**40, 2**43, "log-uniform"),
    stats.loguniform(1e-3, 1e3),
    stats.norm(3, 2),
    stats.randint(1, 9),
    stats.poisson(3),
]


@st.composite
def trees(draw, depth=2, prefix="p"):
    """Draw a dict of notations with nested choices."""
    space = {
        f"{prefix}{place}": draw(st.sampled_from(LEAVES))
        for place in range(draw(st.integers(1, 3)))
    }
    if depth and draw(st.booleans()):
        options = draw(st.lists(st.sampled_from(range(len(OBJECTS))), unique=True))
        pairs = [(OBJECTS[i], draw(trees(depth - 1, f"{prefix}c"))) for i in options]
        space[f"{prefix}choice"] = Choice([("none", {}), *pairs])
    return space


NOTATIONS = st.one_of(trees(), st.lists(trees(depth=1), min_size=1, max_size=3))


def assert_same(one, other):
    """Check equality of values, types and order, and identity of the options."""
    assert list(one) == list(other)
    for name in one:
        assert type(one[name]) is type(other[name])
        assert one[name] is other[name] or one[name] == other[name]


def recorded(space, params):
    return to_record(Configuration.of(space, params))


def there_and_back(space, params, other_space=None):
    text = json.dumps(recorded(space, params), allow_nan=False)
    return from_record(other_space or space, *json.loads(text))


@settings(max_examples=25)
@given(NOTATIONS, st.integers(0, 2**31))
def test_proposed_configurations_are_restored_exactly(notation, seed):
    space = Space.from_notation(notation)
    U = np.random.default_rng(seed).random((10, space.n_columns))
    # A new but equal space, as in the process that resumes the search.
    again = Space.from_notation(notation)
    for params in space.decode(space.from_uniform(U)):
        assert_same(there_and_back(space, params, again), params)


class Letters(Dimension):
    """Custom dimension that is neither numeric nor a list."""

    n_values = 3
    is_categorical = True

    def encode(self, values):
        return np.array(["abc".index(value) / 2 for value in values])

    def decode(self, positions):
        return ["abc"[round(2 * p)] for p in positions]

    def snap(self, positions):
        return np.round(2 * positions) / 2


OVERLAPPING = [{"a": (0.0, 5.0)}, {"a": [1, 2]}]
ROUND_TRIPS = [
    (
        {"a": (0.0, 5.0), "b": (1, 9), "c": [1, 2]},
        {"a": np.int64(3), "b": np.float32(4), "c": 2.0},
        {"a": 3.0, "b": 4, "c": 2},
    ),
    *((OVERLAPPING, {"a": value}, {"a": value}) for value in (1, 2, 1.0, 1.5)),
    # Values of the user that no search proposes.
    *(({"a": (1e-3, 1e3, "log-uniform")}, {"a": v}, {"a": v}) for v in (math.pi, 1e-3)),
    *(({"a": stats.norm(0, 1e5)}, {"a": v}, {"a": v}) for v in (-1e6 / 3, 1e-30)),
    *(({"a": Letters()}, {"a": letter}, {"a": letter}) for letter in "abc"),
]


@pytest.mark.parametrize("notation, params, expected", ROUND_TRIPS)
def test_types_become_those_that_are_proposed(notation, params, expected):
    space = Space.from_notation(notation)
    assert_same(there_and_back(space, params), expected)
    assert recorded(space, params)[0] == expected


class Shy:
    def __repr__(self):
        raise RuntimeError


SHY, LONG = Shy(), "x" * 500
SHOWN = [
    *((value, value) for value in (0.5, "rbf", None, True)),
    *((square, "square"), (OBJECTS[0], "SVC(C=2)"), (SHY, "<Shy>")),
    (LONG, repr(LONG)[:119] + "…"),
]


@pytest.mark.parametrize("value, shown", SHOWN)
def test_a_record_can_be_read(value, shown):
    space = Space.from_notation({"p": [value, "other"]})
    record, row = recorded(space, {"p": value})
    assert readable(record["p"]) == shown
    assert from_record(space, record, row)["p"] is value


SPACE = Space.from_notation({"a": (0.0, 1.0), "b": ["x", "y"], "n": [1, 2]})
RECORD, ROW = recorded(SPACE, {"a": 0.5, "b": "y", "n": 1})


@pytest.mark.parametrize(
    "change, row",
    [
        ({"a": "0.5"}, ROW),
        ({"a": math.nan}, ROW),
        ({"a": True}, ROW),
        ({"a": {"text": "0.5"}}, ROW),
        ({"b": "z"}, ROW),
        ({"b": "x"}, ROW),
        ({"n": 1.0}, ROW),
        ({"c": 1.0}, ROW),
        ({}, ROW[:2]),
        ({}, [*ROW, 0.5]),
        ({}, [None, *ROW[1:]]),
    ],
)
def test_records_outside_of_the_space_are_refused(change, row):
    assert from_record(SPACE, RECORD, ROW) == {"a": 0.5, "b": "y", "n": 1}
    with pytest.raises(ValueError):
        from_record(SPACE, RECORD | change, row)
    with pytest.raises(ValueError, match="'a'"):
        recorded(SPACE, {"a": 3.0, "b": "x", "n": 1})
    with pytest.raises(ValueError, match="not a record"):
        from_record(SPACE, {"a": 0.5, "b": "y"}, ROW)


def test_a_record_is_decoded_in_another_space():
    old = Space.from_notation({"C": [0.1, 1, 10], "clf": [SVC(), LogisticRegression()]})
    new = Space.from_notation(
        {"C": (0.5, 20.0), "clf": [None, LogisticRegression(), SVC()]}
    )
    ten = adapt_record(new, recorded(old, {"C": 10, "clf": SVC()})[0])
    assert_same(ten, {"C": 10, "clf": new.columns[1].dimension.values[2]})
    # An option whose text fits several, none or a string is not found.
    space = Space.from_notation({"f": [lambda: 1, lambda: 2, (1,)]})
    first, second, third = space.columns[0].dimension.values
    unnamed, listed = (recorded(space, {"f": f})[0] for f in (first, third))
    assert adapt_record(space, unnamed) == unnamed
    assert adapt_record(space, listed) == {"f": (1,)}
    other = Space.from_notation({"f": [(2,), "(1,)"]})
    assert adapt_record(other, listed) == listed not in other
