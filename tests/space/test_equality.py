"""Equality of options."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process.kernels import RBF
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skbayes.space import Categorical
from skbayes.space.lists import option_key, same


def columns(scaled):
    """Return ColumnTransformers whose repr omits their differences."""
    numeric = Pipeline([("impute", SimpleImputer()), ("scale", scaled)])
    lists = [(f"name{i}", StandardScaler(), [f"a_long_column_{i}"]) for i in range(9)]
    return ColumnTransformer([*lists, ("last", numeric, ["b"])])


class Plain:
    def __init__(self, **state):
        self.__dict__.update(state)


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x


DIFFERENT = [
    columns(StandardScaler()),
    columns(StandardScaler(with_mean=False)),
    KFold(3),
    KFold(4),
    KFold(3, shuffle=True, random_state=np.random.RandomState(0)),
    KFold(3, shuffle=True, random_state=np.random.RandomState(1)),
    partial(max, 1),
    partial(max, 2),
    Plain(a={"x": [np.array([1.0, np.nan])]}),
    Plain(a={"x": [np.array([1.0, 2.0])]}),
    Plain(a={"y": [np.array([1.0, 2.0])]}),
    Plain(a=np.array(["u", None], dtype=object)),
    *(Plain(a=np.array([1])), Plain(a=np.array([1.0])), Slotted(1), Slotted(2)),
    *({"a": SVC(C=3)}, {"a": SVC(C=4)}, RBF(1.0), RBF(2.0)),
    FrozenEstimator(SVC().fit([[0.0], [1.0]], [0, 1])),
    FrozenEstimator(SVC().fit([[0.0], [2.0]], [0, 1])),
    *(np.log, np.exp, max, min, SVC, KFold, stats.uniform(0, 1), stats.uniform(0, 2)),
]


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda options: pickle.loads(pickle.dumps(options))],
    ids=["deepcopy", "pickle"],
)
def test_options_equal_their_copies_and_nothing_else(copied):
    dimension = Categorical(DIFFERENT)
    places = [dimension.index(option) for option in copied(DIFFERENT)]
    assert places == list(range(len(DIFFERENT)))
    assert Categorical(copied(DIFFERENT)).key == dimension.key
    assert hash(Categorical(copied(DIFFERENT)).key) == hash(dimension.key)
    assert Categorical(DIFFERENT[::-1]).key != dimension.key
    for others in (DIFFERENT, copied(DIFFERENT)):
        equal = [[same(a, b) for b in others] for a in DIFFERENT]
        np.testing.assert_array_equal(equal, np.eye(len(DIFFERENT), dtype=bool))


def test_objects_that_cannot_be_compared_equal_only_themselves():
    one, other = Plain(), Plain()
    one.self, other.self = one, other
    dimension = Categorical([one, other])
    assert dimension.index(other) == 1
    with pytest.raises(ValueError, match="not a value"):
        dimension.index(copy.deepcopy(other))


def test_different_objects_of_one_class_are_different_options():
    options = [Plain(), Plain(), Plain(a=1), Slotted(2), Slotted(2), [Slotted(3)]]
    dimension = Categorical([*options, [options[3]], options[0], SVC(), SVC()])
    assert len(dimension.values) == 8 and len(dimension.repeated) == 2
    assert dimension.repeated[0] is options[0]
    assert [dimension.index(option) for option in options] == list(range(6))
    # A copy may represent either of two equal options.
    assert dimension.index(copy.deepcopy(options[4])) == 3
    again = pickle.loads(pickle.dumps(dimension))
    assert [again.index(value) for value in again.values] == list(range(8))


def test_dicts_with_the_same_keys_have_several_hashes():
    keys = [option_key({0: 1, 1: weight}) for weight in range(1000)]
    assert len(set(map(hash, keys))) > 900
    assert hash(option_key({0: 1, 1: [2]})) == hash(option_key({1: [2], 0: 1}))


def test_estimators_with_other_parameters_have_other_hashes():
    options = [SVC(C=c, kernel=k) for c in range(50) for k in ("rbf", "linear")]
    assert len({hash(option_key(option)) for option in options}) == 100
    for option in options:
        assert option_key(option) == option_key(clone(option))
    nested = [OneVsRestClassifier(option) for option in options]
    assert len({option_key(option) for option in nested}) == 100
    assert same(nested[3], clone(nested[3])) and not same(nested[3], nested[4])
