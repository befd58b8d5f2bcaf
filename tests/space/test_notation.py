from collections import OrderedDict
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC

from skbayes.space import (
    Categorical,
    Choice,
    Distribution,
    Integer,
    Ordinal,
    Real,
    Space,
)
from skbayes.space.notation import (
    pairs_of,
    parse_dict,
    parse_dimension,
    parse_spaces,
    with_sub_spaces,
)

# Substitutes for the classes of scikit-optimize and Optuna.
ForeignReal, ForeignInteger, FloatDistribution, IntDistribution = (
    type(name, (SimpleNamespace,), {})
    for name in ("Real", "Integer", "FloatDistribution", "IntDistribution")
)


LOG = "log-uniform"


@pytest.mark.parametrize(
    ("notation", "expected"),
    [
        # GridSearchCV
        ([1, 2, 3], Ordinal([1, 2, 3])),
        (np.logspace(-2, 2, 5), Ordinal(np.logspace(-2, 2, 5).tolist())),
        (np.array([3, 1, 2]), Ordinal([1, 2, 3])),
        (range(1, 4), Ordinal([1, 2, 3])),
        (pd.Series([1, 2]), Ordinal([1, 2])),
        ((1, 2, 3), Ordinal([1, 2, 3])),
        (["rbf", "linear"], Categorical(["rbf", "linear"])),
        (("l1", "l2"), Categorical(["l1", "l2"])),
        ([True, False], Categorical([True, False])),
        (np.array([True, False]), Categorical([True, False])),
        ([None, 3, 5], Categorical([None, 3, 5])),
        ([1, float("inf")], Categorical([1, float("inf")])),
        ([(50,), (50, 50)], Categorical([(50,), (50, 50)])),
        (np.array(["a", "b"]), Categorical(["a", "b"])),
        ([7], Ordinal([7])),
        # ranges
        ((0.0, 1), Real(0, 1)),
        ((0, 9), Integer(0, 9)),
        ((np.int64(0), np.int64(9)), Integer(0, 9)),
        ((1e-6, 1e6, LOG), Real(1e-6, 1e6, LOG)),
        ((1, 100, LOG), Integer(1, 100, LOG)),
        ((1, 100.0, "uniform"), Real(1, 100)),
        ([0.1, 10.0, "log-uniform"], Real(0.1, 10, "log-uniform")),
        ([1, 10, "uniform"], Integer(1, 10)),
        (["uniform", "distance"], Categorical(["uniform", "distance"])),
        ([1, 2, "auto"], Categorical([1, 2, "auto"])),
        ([1, "auto"], Categorical([1, "auto"])),
        # RandomizedSearchCV
        (stats.randint(2, 10), Integer(2, 9)),
        (stats.randint(5, 6), Distribution(stats.randint(5, 6))),
        (stats.uniform(1, 2), Distribution(stats.uniform(1, 2))),
        # scikit-optimize
        (ForeignReal(low=0.1, high=10, prior="log-uniform"), Real(0.1, 10, LOG)),
        (ForeignInteger(low=1, high=10, prior="uniform"), Integer(1, 10)),
        (SimpleNamespace(categories=("a", "b")), Categorical(["a", "b"])),
        # Optuna
        (FloatDistribution(low=0.1, high=1.0, log=True, step=None), Real(0.1, 1, LOG)),
        (FloatDistribution(low=0.0, high=0.2, step=0.1), Ordinal([0.0, 0.1, 0.2])),
        (IntDistribution(low=1, high=9, log=False, step=1), Integer(1, 9)),
        (IntDistribution(low=1, high=9, log=True, step=1), Integer(1, 9, LOG)),
        (IntDistribution(low=16, high=64, step=16), Ordinal([16, 32, 48, 64])),
        (FloatDistribution(low=2.0, high=2.0, log=False, step=None), Ordinal([2.0])),
        (SimpleNamespace(choices=("a", None)), Categorical(["a", None])),
        # our own
        (Real(0, 1), Real(0, 1)),
    ],
    ids=lambda value: repr(value).split(" object at ")[0],
)
def test_notations_become_dimensions(notation, expected):
    dimension = parse_dimension(notation, "p")
    assert type(dimension) is type(expected)
    assert repr(dimension) == repr(expected)


@pytest.mark.parametrize("kind", [tuple, list])
def test_the_base_of_a_range_has_no_effect(kind):
    with pytest.warns(UserWarning, match=r"10 is ignored. Write \(0.1, 9.0, 'log-un"):
        dimension = parse_dimension(kind([0.1, 9.0, "log-uniform", 10]), "p")
    assert repr(dimension) == repr(Real(0.1, 9.0, "log-uniform"))


def test_numbers_of_trials_of_dicts_have_no_effect():
    one, other = {"a": [1]}, {"b": [2]}
    with pytest.warns(UserWarning, match=r"search_spaces=\[space\] and n_iter=3"):
        assert parse_spaces([(one, 3)]) == [one]
    with pytest.warns(UserWarning, match=r"\[space, ...\] and n_iter=7"):
        assert parse_spaces([(one, 3), (other, 4)]) == [one, other]
    with pytest.warns(UserWarning, match="n_iter=25"):
        space = Space.from_notation([({"a": [1, 2]}, 20), ({"b": [3]}, 5)])
    assert space.n_configurations == 3
    assert Space.from_notation(OrderedDict(a=[1, 2])).n_configurations == 2


def test_a_scale_that_was_asked_for_by_a_step_is_kept():
    dimension = parse_dimension(IntDistribution(low=1, high=901, step=300), "p")
    assert dimension.scale == "linear"


def test_estimators_with_the_attributes_of_a_dimension_are_options():
    for estimator in (OneHotEncoder(), SVC()):
        options = parse_dimension([estimator, "passthrough"], "p").values
        assert options[0] is estimator
    notation = {"C": [3, 1, 2], "clf": Choice({"a": {"b": [1, 2]}})}
    before = repr(notation)
    Space.from_notation(notation)
    assert repr(notation) == before


@pytest.mark.parametrize(
    ("notation", "error", "message"),
    [
        (1.0, TypeError, "'p' needs .*got 1.0 .of type float.*list with one element"),
        ("abc", TypeError, "'p' needs to be a list or a numpy array"),
        (None, TypeError, "'p'"),
        ({"a": 1}, TypeError, "'p'"),
        ([], ValueError, "'p' need to be a non-empty sequence"),
        ((), ValueError, "'p' need to be a non-empty sequence"),
        (np.ones((2, 2)), ValueError, "'p': .*one-dimensional"),
        ((2, 1), ValueError, "'p': .*low must be smaller"),
        ((1, float("nan")), ValueError, "'p': .*high must be finite"),
        ((0, 1, "log-uniform"), ValueError, "'p': .*low > 0"),
        ((0, 1, "loguniform"), ValueError, "'p': .*prior must be"),
        (stats.randint(5, 5), ValueError, "'p': .*has no values"),
        (ForeignReal(low="a", high="b"), TypeError, "'p': .*must be numbers"),
        ([10, 1, "log-uniform"], ValueError, "'p': .*low must be smaller"),
        (("1", 10, "log-uniform"), ValueError, "'p': .*is neither a range"),
        (["1", "10", "log-uniform"], ValueError, "'p': .*is neither a range"),
        ((1, "10", "log-uniform"), TypeError, "'p': .*high must be a number"),
        ([1, "10", "log-uniform"], ValueError, "'p': .*is neither a range"),
        ((1, "log-uniform"), ValueError, "'p': .*is neither a range"),
        ((0.1, "10"), ValueError, "'p': .*without quotes"),
        (("0.1", "10"), ValueError, "'p': .*without quotes"),
        (Real, TypeError, r"'p': got the class Real; write Real\("),
        (stats.loguniform, TypeError, r"'p': .*freeze it: loguniform\(low, high\)"),
        (stats.beta, TypeError, r"'p': .*freeze it: beta\(a, b\)"),
        (np.array(3), TypeError, "'p' needs to be a list"),
        (np.float64(3), TypeError, "'p' needs to be a list"),
        ([Real(0.1, 1.0)], TypeError, "'p': .*cannot contain a dimension"),
        ([1, stats.loguniform(1, 2)], TypeError, "'p': .*cannot contain a dimension"),
        ([IntDistribution(low=1, high=9)], TypeError, "'p': .*cannot contain a dim"),
        ([Choice({"a": {}})], TypeError, "'p': .*cannot contain a dimension"),
        ((0, 10**400), ValueError, "'p': .*high must be finite"),
        ((0.5, 10**400), ValueError, "'p': .*high must be finite"),
        ([1, 10**400], ValueError, "'p': .*larger than the largest float"),
        (SimpleNamespace(rvs=max), TypeError, "'p': .*no quantiles .ppf.; write a l"),
        (stats.dirichlet([1, 2]), TypeError, "'p': .*write a list of values"),
        (range(10**9), ValueError, "'p': .*100000 values, got 1000000000; write numb"),
        (np.zeros(100_001), ValueError, "'p': .*as a range, .low, high."),
        (IntDistribution(low=0, high=10**400, step=2), ValueError, "is too large"),
        (FloatDistribution(low=0, high=1, step=0), ValueError, "'p': step must be"),
        (FloatDistribution(low=0, high=1, step=1e-9), ValueError, "'p': at most"),
    ],
)
def test_mistakes_name_the_parameter(notation, error, message):
    with pytest.raises(error, match=message):
        parse_dimension(notation, "p")


@pytest.mark.parametrize(
    "options",
    [{"a": {"x": [1]}, "b": None}, [(1, {"x": [1]}), (True, {})], [([1], {"x": [1]})]],
)
def test_sub_spaces_are_changed_under_their_options(options):
    choice = Choice(options)
    changed = with_sub_spaces(choice, lambda option, sub: {**sub, "own": [option]})
    expected = [(o, {**(s or {}), "own": [o]}) for o, s in pairs_of(choice)]
    assert pairs_of(changed) == expected
    assert [type(o) for o, _ in pairs_of(changed)] == [type(o) for o, _ in expected]
    assert with_sub_spaces([1, 2], None) == [1, 2]


def test_a_mistake_deep_in_a_tree_names_its_parameter():
    notation = {"k": Choice({"x": {"m": Choice({"y": {"gamma": (1, 0)}})}})}
    with pytest.raises(ValueError, match="'gamma'"):
        Space.from_notation(notation)
    for notation, error, message in (
        (3, TypeError, "must be a dict .* or a list"),
        ("C", TypeError, "must be a dict .* or a list"),
        ([], ValueError, "at least one dict"),
        ([{"C": [1]}, 3], TypeError, "must be a dict .* a list with 3"),
    ):
        with pytest.raises(error, match=message):
            parse_spaces(notation)
    with pytest.raises(TypeError, match="must be strings, got 3"):
        parse_dict({3: [1]})


class RaisingDistribution:
    """Distribution with one method that raises an exception."""

    def __init__(self, method, error, on=0.0):
        self.method, self.error, self.on = method, error, on

    def ppf(self, q):
        return self._answer("ppf", q)

    def cdf(self, x):
        return self._answer("cdf", x)

    def rvs(self, random_state=None):
        raise AssertionError("values are not drawn")

    def support(self):
        return self._answer("support", (0.0, 1.0))

    def _answer(self, method, value):
        if method == self.method and np.any(np.asarray(value) >= self.on):
            raise self.error
        return value


@pytest.mark.parametrize("method", ["ppf", "cdf", "support"])
@pytest.mark.parametrize(
    "error",
    [KeyError("own"), ValueError("own"), RuntimeError("own"), OverflowError("own")],
    ids=repr,
)
def test_errors_of_a_distribution_name_the_parameter(method, error):
    value = RaisingDistribution(method, error)
    with pytest.raises(ValueError, match="Parameter 'beta': .*own") as caught:
        parse_dimension(value, "beta")
    assert error in (caught.value.__cause__, caught.value.__cause__.__cause__)


def test_later_errors_of_a_distribution_name_the_parameter():
    value = RaisingDistribution("ppf", KeyError("own"), on=2.0)
    space = Space.from_notation({"alpha": [1], "beta": value})
    value.on = 0.0
    with pytest.raises(ValueError, match="Parameter 'beta': .*own"):
        space.decode(space.snap(np.array([[0.0, 0.5]])))
