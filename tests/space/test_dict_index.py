"""Tests of the index of the dicts of a list: results, and numbers of comparisons."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from skbayes.space import Categorical, Choice, Space, branches
from skbayes.space.candidates import Candidates
from skbayes.space.dimensions import Dimension
from skbayes.space.lists import _Listed
from skbayes.space.notation import parse_dict

MODELS = [Ridge(), SVC(), np.arange(3), (1, 2), "auto", None, True]

numbers = st.sampled_from([1, 2, 3.0, 1.0, 0.5, 2**53, 2**53 + 1])
listed = st.lists(numbers | st.sampled_from(MODELS), min_size=1, max_size=3)
ranges = st.sampled_from([(1, 3), (1.0, 2.5), (2.0, 9.0), range(0, 3000, 2)])
values = listed.map(Categorical) | ranges | st.lists(numbers, min_size=1, max_size=3)
plain = st.dictionaries(st.sampled_from("abc"), values, max_size=3)
choices = st.builds(
    lambda rest, opened: {**rest, "a": Choice({"x": opened, "y": {}})},
    plain.map(lambda d: {k: v for k, v in d.items() if k != "a"}),
    st.just({}) | st.just({"d": [1, 2]}),
)
dicts = st.lists(plain | choices, min_size=2, max_size=6)

pytestmark = pytest.mark.filterwarnings("ignore:.*repeated values")


def _all_dicts(self, params):
    return np.arange(len(self.options))


@settings(max_examples=50)
@given(dicts, st.integers(0, 2**32 - 1))
def test_rows_equal_those_of_a_comparison_with_all_dicts(notation, seed):
    space = Space.from_notation(notation)
    parsed = list(map(parse_dict, notation))
    shadowed = [
        any(branches._may_overlap(parsed[j], parsed[k]) for j in range(k))
        for k in range(len(parsed))
    ]
    assert space._root[0].shadowed == shadowed
    assert space.overlaps == any(shadowed)
    U = np.random.default_rng(seed).random((6, space.n_columns))
    X = space.from_uniform(U)
    drawn = space.decode(X)
    wrong = [{"a": 1}, {"b": np.nan, "z": 0}, {"a": 10**400}, {}]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(branches.TreeEntry, "dicts_with", _all_dicts)
        np.testing.assert_array_equal(space.from_uniform(U), X)
        np.testing.assert_array_equal(space.encode(drawn), X)
        expected = [_outcome(space, params) for params in wrong + drawn]
    for same in (space, pickle.loads(pickle.dumps(space))):
        np.testing.assert_array_equal(same.encode(drawn), X)
        assert [_outcome(same, params) for params in wrong + drawn] == expected


def _outcome(space, params):
    try:
        return space.encode([params]).tobytes()
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(
    "dict_of",
    [
        lambda k: {"C": [k + 1.0], "gamma": [1 / (k + 1)]},
        lambda k: {"C": [k % 7], "kernel": ["rbf"], "gamma": [k + 1]},
        lambda k: {"C": [k, k + 0.5], "kernel": ["rbf", "linear"]},
        lambda k: {"C": (k, k + 0.5), "kernel": ["rbf"]},
        lambda k: {"C": [1.0], "gamma": [1.0]},
        lambda k: {"weights": [np.full(3, k)]},
        lambda k: {"model": [Ridge(alpha=k)]},
        lambda k: {"kernel": Choice({f"k{k}": {"C": [1, 2]}, f"m{k}": {}})},
    ],
    ids="numbers grid lists ranges equal arrays estimators choices".split(),
)
def test_comparisons_per_dict_do_not_grow_with_the_list(dict_of, monkeypatch):
    calls = []
    for kind in {Dimension, *Dimension.__subclasses__(), _Listed, *_kinds(Dimension)}:
        for method in ("contains", "encode"):
            if method in vars(kind):
                original = vars(kind)[method]
                monkeypatch.setattr(kind, method, _counted(original, calls))
    per_dict = []
    for n in (40, 160):
        calls.clear()
        space = Space.from_notation([dict_of(k) for k in range(n)])
        space.encode(space.covering_sample())
        per_dict.append(len(calls) / n)
    assert per_dict[1] <= 1.5 * per_dict[0] + 1


def _kinds(kind):
    return {one for sub in kind.__subclasses__() for one in (sub, *_kinds(sub))}


def _counted(original, calls):
    def method(self, *args):
        calls.append(type(self))
        return original(self, *args)

    return method


def test_constants_of_a_long_list_share_a_column(monkeypatch):
    monkeypatch.setattr(branches, "MANY_DICTS", 60)
    n = 90
    spaces = [{"C": [k + 1.0], "kernel": [f"k{k % 9}"]} for k in range(n)]
    space = Space.from_notation([*spaces, {"C": (0.5, 2.0)}, {"C": [1]}])
    assert len(space.columns) <= 5
    sample = space.covering_sample()
    assert {(p["C"], p.get("kernel")) for p in sample} >= {
        (k + 1.0, f"k{k % 9}") for k in range(n)
    }
    X = space.encode(sample)
    assert space.decode(X) == sample
    U = np.random.default_rng(0).random((50, space.n_columns))
    for row in space.decode(space.from_uniform(U)) + space.decode(space.snap(U)):
        assert row in sample or "kernel" not in row
    assert {"C": 3.0, "kernel": "k1"} not in space
    rows = Candidates(Space.from_notation(spaces)).rows
    assert len(rows) == n
    assert Space.from_notation(spaces).decode(rows) == [
        {name: value for name, (value,) in one.items()} for one in spaces
    ]
    copied = pickle.loads(pickle.dumps(space))
    np.testing.assert_array_equal(copied.from_uniform(U), space.from_uniform(U))
    np.testing.assert_array_equal(copied.encode(sample), X)
