"""Dimensions that are lists of values."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from sklearn.svm import SVC

from skbayes.space import Categorical, Ordinal

CLOSE = [0, 1 - 2**-52, 1 - 2**-53, 1.0]


@pytest.mark.parametrize("values", [CLOSE, [2**60, 2**60 + 1], [0.0, 5e-324]])
def test_numbers_that_are_too_close_are_ranked(values):
    dimension = Ordinal(values)
    assert dimension.scale == "rank"
    assert dimension.decode(dimension.grid) == values
    with pytest.raises(ValueError, match="too close"):
        Ordinal(values, "linear")


class Counted:
    """Object that counts how often it is compared."""

    comparisons = 0

    def __eq__(self, other):
        Counted.comparisons += 1
        return super().__eq__(other)

    def __hash__(self):
        return super().__hash__()


class CountedFloat(Counted, float):
    pass


class CountedStr(Counted, str):
    pass


@pytest.mark.parametrize(
    ("kind", "make"),
    [(Ordinal, CountedFloat), (Ordinal, CountedStr), (Categorical, CountedStr)],
)
def test_long_lists_are_not_compared_in_pairs(kind, make):
    options = [make(number) for number in range(1000)]
    Counted.comparisons = 0
    dimension = kind(options)
    assert dimension.encode([make(number) for number in range(1000)]).shape == (1000,)
    assert Counted.comparisons <= 10 * len(options)
    # Tuples are distinguished by their elements.
    options = [(CountedStr(number), (number, math.nan)) for number in range(300)]
    Counted.comparisons = 0
    dimension = Categorical(options)
    again = [(CountedStr(number), (number, math.nan)) for number in range(300)]
    assert [dimension.index(option) for option in again] == list(range(300))
    assert Counted.comparisons <= 10 * len(options)


def test_numbers_of_an_ordinal_are_found_whatever_their_type():
    dimension = Ordinal([1, 2.0, Fraction(5, 2), 3])
    values = [1.0, np.int64(2), 2.5, np.float32(3)]
    assert [dimension.index(value) for value in values] == [0, 1, 2, 3]
    assert not dimension.contains(True)
    assert Ordinal([3, 1, 2]).values == (1, 2, 3)
    assert Ordinal(["low", "mid", "high"]).values == ("low", "mid", "high")
    values = Ordinal([1, 2.5, np.int64(3), np.float64(4.5)]).values
    assert [type(value) for value in values] == [int, float, int, float]


class Salted(str):
    """String whose hash changes between processes, as those of all strings do."""

    salt = 0

    def __eq__(self, other):
        return str(self) == str(other)

    def __hash__(self):
        return hash((self.salt, str(self)))


def test_options_are_found_in_a_process_with_other_hashes(monkeypatch):
    options = [Salted("a"), (Salted("b"), max), None, SVC(), len, 1.5]
    data = pickle.dumps((Categorical(options), copy.deepcopy(options)))
    monkeypatch.setattr(Salted, "salt", 1)
    dimension, again = pickle.loads(data)
    assert [dimension.index(option) for option in again] == list(range(6))


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([1, 2, 3, 4], "linear"),
        ([0.001, 0.01, 0.1], "log"),
        ([0, 10, 1000], "linear"),
        ([1, 100], "log"),
        ([1, 99], "linear"),
        ([256, 512, 1024], "log"),
        ([10_000, 30_000, 50_000], "linear"),
        (["low", "mid", "high"], "rank"),
    ],
)
def test_the_values_of_a_list_determine_its_scale(values, scale):
    assert Ordinal(values).scale == scale


def test_arrays_and_estimators_may_be_options():
    svc = SVC(C=2)
    array = np.array([1.0, 2.0])
    dimension = Categorical([array, svc, SVC(), float("nan")])
    assert dimension.index(np.array([1.0, 2.0])) == 0
    assert dimension.index(pickle.loads(pickle.dumps(svc))) == 1
    assert dimension.index(float("nan")) == 3
    # Options are distinguished by type, and a modified option is still known.
    changed = [1]
    dimension = Categorical([1, 1.0, True, "1", None, (1,), changed])
    assert [dimension.index(value) for value in dimension.values] == list(range(7))
    changed.append(5)
    assert dimension.index(changed) == 6


@pytest.mark.parametrize(
    ("kind", "items", "values", "repeated"),
    [
        (Ordinal, [2, 1, 3, 1.0, 2], [1, 2, 3], (1.0, 2)),
        (Ordinal, [1, 1000, 1, 10**6], [1, 1000, 10**6], (1,)),
        (Ordinal, ["lo", "hi", "lo"], ["lo", "hi"], ("lo",)),
        (Categorical, ["b", "a", "b", "c"], ["b", "a", "c"], ("b",)),
        (Categorical, [1, True, "1", 1], [1, True, "1"], (1,)),
        (Categorical, [SVC(C=2), None, SVC(C=2)], [SVC(C=2), None], (SVC(C=2),)),
    ],
)
def test_repeated_values_count_once(kind, items, values, repeated):
    dimension, alike = kind(items), kind(values)
    assert repr(dimension) == repr(alike)
    assert repr(dimension.repeated) == repr(repeated) and alike.repeated == ()
    assert dimension.key == alike.key
    assert dimension.n_values == len(alike.values)
    np.testing.assert_array_equal(dimension.grid, alike.grid)
    for one in (dimension, pickle.loads(pickle.dumps(dimension))):
        assert repr(one.decode(one.encode(alike.values))) == repr(list(alike.values))


def test_a_value_that_is_not_in_a_long_list_is_named_without_the_list():
    with pytest.raises(
        ValueError, match="'x' is not one of 99 values, Categorical"
    ) as e:
        Categorical([str(i) for i in range(99)]).encode(["x"])
    assert len(str(e.value)) < 200
