import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.model_selection import ParameterGrid
from sklearn.svm import SVC

from skbayes.space import Categorical, Choice, Integer, Real, Space
from skbayes.space.candidates import Configuration

KERNEL = Choice(
    {
        "rbf": {"gamma": (1e-3, 1e3, "log-uniform")},
        "poly": {"gamma": (1e-3, 1e3, "log-uniform"), "degree": (2, 5)},
        "linear": {},
    }
)


def leaf(name):
    return st.sampled_from(
        [
            [1, 2, 3],
            ["a", "b", None],
            (0.0, 1.0),
            (1, 30, "log-uniform"),
            (1e-3, 1e3, "log-uniform"),
            [(1, 2), (3,)],
        ]
    ).map(lambda notation: {name: notation})


def merged(dicts):
    return {name: value for one in dicts for name, value in one.items()}


@st.composite
def trees(draw, depth=2, prefix="p"):
    """Draw a nested dict with different names on each level."""
    count = draw(st.integers(1, 3))
    space = merged(draw(leaf(f"{prefix}{place}")) for place in range(count))
    if depth and draw(st.booleans()):
        options = draw(st.integers(1, 3))
        space[f"{prefix}choice"] = Choice(
            {
                f"option{place}": draw(trees(depth - 1, f"{prefix}c"))
                for place in range(options)
            }
        )
    return space


SPACES = st.one_of(trees(), st.lists(trees(depth=1), min_size=1, max_size=3)).map(
    Space.from_notation
)


@settings(max_examples=40)
@given(SPACES, st.integers(0, 2**31))
def test_encoding_and_decoding_are_exact_on_any_tree(space, seed):
    U = np.random.default_rng(seed).random((20, space.n_columns))
    X = space.from_uniform(U)
    params = space.decode(X)
    assert space.decode(space.encode(params)) == params
    assert all(one in space for one in params)
    np.testing.assert_array_equal(space.snap(X), X)
    np.testing.assert_array_equal(np.isnan(X), ~space.active(X))
    for one in params:
        assert list(one) == sorted(one)
        canonical = space.canonicalize(one)
        assert canonical == one and list(canonical) == list(one)
        assert list(map(type, canonical.values())) == list(map(type, one.values()))
    again = pickle.loads(pickle.dumps(space))
    np.testing.assert_array_equal(again.encode(params), X)


@settings(max_examples=40)
@given(SPACES)
def test_representatives_are_configurations_and_use_every_option(space):
    sample = space.covering_sample()
    assert all(params in space for params in sample)
    for column in space.columns:
        if column.name and column.dimension.is_categorical:
            used = [params[column.name] for params in sample if column.name in params]
            assert all(option in used for option in column.dimension.values)


def test_the_rows_of_several_different_configurations():
    space = Space.from_notation({"kernel": KERNEL, "C": [1, 10, 100]})
    params = [
        {"C": 1, "gamma": 1.0, "kernel": "rbf"},
        {"C": 10, "degree": 2, "gamma": 1e-3, "kernel": "poly"},
        {"C": 100, "kernel": "linear"},
    ]
    names = [column.name for column in space.columns]
    X = space.encode(params)
    assert names == ["C", "kernel", "gamma", "degree"]
    nan = math.nan
    expected = [[0, 0, 0.5, nan], [0.5, 0.5, 0, 0.125], [1, 1, nan, nan]]
    np.testing.assert_allclose(X, expected, atol=1e-15)
    assert space.decode(X) == params
    # Alternatives share the column of the same parameter.
    space = Space.from_notation(
        [
            {"kernel": ["rbf"], "C": (0.1, 10.0), "gamma": (0.1, 1.0)},
            {"kernel": ["linear"], "C": (0.1, 10.0)},
            {"kernel": ["poly"], "C": (0.1, 99.0)},
        ]
    )
    names = [column.name for column in space.columns]
    assert names.count("C") == 2
    assert names.count(None) == 1


GRIDS = [
    {},
    {"a": [1, 2], "b": ["x", "y", "z"]},
    [{"a": [1, 2], "b": ["x"]}, {"a": [1, 2, 3]}, {"c": [None, True]}],
]


@pytest.mark.parametrize("grid", GRIDS)
def test_the_cells_of_a_finite_space_are_those_of_a_grid(grid):
    tree = {"a": [1, 2], "k": Choice({"x": {"b": [1, 2], "c": ["u", "v"]}, "y": {}})}
    same = [{"a": [1, 2], "k": ["x"], "b": [1, 2], "c": ["u", "v"]}]
    same += [{"a": [1, 2], "k": ["y"]}]
    for notation, expected in ((grid, grid), (tree, same)):
        space = Space.from_notation(notation)
        cells = space.decode(space.enumerate(np.arange(space.n_configurations)))
        expected = [dict(sorted(one.items())) for one in ParameterGrid(expected)]
        assert space.n_configurations == len(expected)
        assert sorted(map(repr, cells)) == sorted(map(repr, expected))


@pytest.mark.parametrize(
    "notation",
    [
        {"C": [1], "k": Choice({"a": {"C": [1, 2]}})},
        {"k": Choice({"a": {"C": [1]}}), "m": Choice({"b": {"C": [1]}})},
    ],
)
def test_a_parameter_declared_twice_at_once_is_refused(notation):
    with pytest.raises(ValueError, match="'C' is declared twice"):
        Space.from_notation(notation)
    space = Space.from_notation(
        {"k": Choice({"a": {"C": (0.0, 1.0)}, "b": {"C": [5, 6]}})}
    )
    assert {"k": "b", "C": 5} in space
    assert {"k": "a", "C": 5} not in space


@pytest.mark.parametrize(
    ("notation", "kept", "repeated"),
    [
        ({"p": np.array([1, 2, 1]), "k": [1]}, {"p": [1, 2], "k": [1]}, "1"),
        ({"n": [1, 2], "p": ["a", "b", "a"]}, {"n": [1, 2], "p": ["a", "b"]}, "'a'"),
        ({"p": Categorical([2, 1, 2])}, {"p": Categorical([2, 1])}, "2"),
        ([{"p": [0] * 8}, {"k": [1]}], [{"p": [0]}, {"k": [1]}], "0, 0, 0, 0, 0, …"),
        (
            {"k": Choice({"a": {"p": [1, 1.0, 2]}, "b": {}})},
            {"k": Choice({"a": {"p": [1, 2]}, "b": {}})},
            "1.0",
        ),
    ],
)
def test_repeated_values_are_dropped_with_a_warning(notation, kept, repeated):
    with pytest.warns(UserWarning) as caught:
        space = Space.from_notation(notation)
    message = f"Parameter 'p': repeated values are dropped: {repeated}."
    assert [str(warning.message) for warning in caught] == [message]
    expected = Space.from_notation(kept)
    cells = np.arange(expected.n_configurations)
    assert space.n_configurations == expected.n_configurations
    assert space.decode(space.enumerate(cells)) == expected.decode(
        expected.enumerate(cells)
    )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 1}, "'kernel' is missing"),
        ({"c": 1}, "'c' is not in the space. Did you mean 'C'"),
        ({"C": 1, "kernel": "rbf"}, "'gamma' is missing"),
        ({"C": 1, "kernel": "linear", "gamma": 1.0}, "'gamma' does not exist"),
        ({"C": 2, "kernel": "linear"}, "'C': 2 is not a value of"),
        ({"C": 1, "kernel": "sigmoid"}, "'kernel': 'sigmoid' is not a value"),
        ([("C", 1)], "must be a dict"),
    ],
)
def test_dicts_that_are_no_configuration_are_refused_by_name(params, message):
    space = Space.from_notation({"kernel": KERNEL, "C": [1, 10, 100]})
    with pytest.raises(ValueError, match=message):
        space.encode([params])
    assert params not in space


def test_a_configuration_is_found_among_overlapping_alternatives():
    space = Space.from_notation([{"a": [1, 2]}, {"a": [2, 3], "b": [0]}, {"b": [0]}])
    for params in ({"a": 2}, {"a": 2, "b": 0}, {"b": 0}):
        assert space.decode(space.encode([params])) == [params]
    # An integer of one dict is not rounded by a range of another.
    space = Space.from_notation([{"a": (1e-3, 1e3, "log-uniform")}, {"a": [1, 2, 3]}])
    assert repr(space.decode(space.encode([{"a": 3}]))) == "[{'a': 3}]"


def test_one_and_the_fraction_of_one_differ_in_a_space_with_ones():
    spaces = [{"n": (1, 4), "m": [1, 2]}, {"n": [0.5, 1.0], "m": [1, 2]}]
    plain, ones = Space.from_notation(spaces[0]), {("n", "int"), ("n", "float")}
    assert {"n": 1.0, "m": 1.0} in plain
    assert {"n": 1.0, "m": 1.0} not in plain.with_distinct_ones(ones)
    assert {"n": 2.0, "m": 2.0} in plain.with_distinct_ones(ones)
    both = Space.from_notation(spaces).with_distinct_ones(ones)
    both = pickle.loads(pickle.dumps(both))
    for number in (1, 1.0):
        again = [*both.decode(both.encode([{"n": number, "m": 1.0}]))]
        again += [both.selection({"n": number, "m": 1, "other": 1})]
        assert [repr(params) for params in again] == [f"{{'m': 1, 'n': {number}}}"] * 2


def test_repr_names_parameters_and_values():
    space = Space.from_notation({"C": (0.0, 1.0), "k": ["a", "b"]})
    assert repr(space) == "Space({C: Real(0.0, 1.0), k: Categorical(['a', 'b'])})"
    assert space.parameter_names == ["C", "k"]
    assert space.categorical.tolist() == [False, True]
    assert space.n_configurations == math.inf
    finite = Space.from_notation({"a": (0, 10**6), "b": [1, 2]})
    assert finite.n_configurations == 2 * (10**6 + 1)
    dimensions = {"a": Real(0, 1), "b": Integer(1, 5), "c": Categorical([1, 2])}
    space = Space.from_notation(dimensions)
    assert [column.dimension for column in space.columns] == list(dimensions.values())


def test_an_inactive_position_counts_for_nothing():
    space = Space.from_notation({"kernel": KERNEL})
    rows = np.array([[1.0, 0.2, 0.9], [1.0, 0.7, 0.1]])  # "linear", whatever else
    np.testing.assert_array_equal(space.snap(rows)[0], space.snap(rows)[1])


def test_users_values_take_the_form_of_the_dimension():
    svc = SVC()
    space = Space.from_notation(
        {
            "depth": (1, 9),
            "rate": (1e-3, 1.0, "log-uniform"),
            "share": stats.uniform(0, 1),
            "n": stats.poisson(4),
            "size": [1, 2, 4],
            "ratio": [0.5, 1.0],
            "model": [svc, None],
        }
    )
    params = {
        "depth": 3.0,
        "rate": 0.1234567890123456789,
        "share": np.float64(0.1),
        "n": 2.0,
        "size": np.float64(4),
        "ratio": 1,
        "model": SVC(),
    }
    canonical = space.canonicalize(params)
    assert canonical == {**params, "model": svc}
    assert list(canonical) == sorted(params)
    assert canonical["model"] is svc
    for name in params.keys() - {"model"}:
        expected = int if name in ("depth", "n", "size") else float
        assert type(canonical[name]) is expected
    one = Configuration.of(space, params)
    assert one.params == canonical and Configuration.of(space, one) is one
    np.testing.assert_array_equal(one.row, space.encode([params])[0])
    assert type(space.canonicalize({**params, "rate": 1})["rate"]) is float
    with pytest.raises(ValueError, match="'depth'"):
        space.canonicalize({**params, "depth": 2.5})


def test_with_constraint_adds_a_constraint():
    space = Space.from_notation({"a": [1, 2]})
    other = Space.from_notation(space, lambda params: params["a"] > 1)
    assert [other.allows({"a": a}) for a in (1, 2)] == [False, True]
    assert space.constraint is None and space.allows({"a": 1})
    assert Space.from_notation(space) is space
    params = {"a": 1}
    popping = Space.from_notation(space, lambda params: params.pop("a") > 0)
    assert popping.allows(params) and params == {"a": 1}
    with pytest.raises(ValueError, match="constraint: .*already has a constraint"):
        Space.from_notation(other, lambda params: True)
    for notation, wrong in ((space, 3), ({"a": [1]}, "a > 1")):
        with pytest.raises(TypeError, match="constraint must be a callable"):
            Space.from_notation(notation, wrong)


def test_errors_of_a_constraint_contain_the_configuration():
    def ambiguous(params):
        return np.array([True, False])

    for constraint in (lambda params: params["b"] > 1, ambiguous):
        space = Space.from_notation({"a": [1, 2]}, constraint)
        with pytest.raises(ValueError, match=r"constraint raised .* \{'a': 1\}") as e:
            space.allows({"a": 1})
        assert e.value.__cause__ is not None


@pytest.mark.parametrize(
    ("sub_space", "error", "message"),
    [
        (3, TypeError, "^Parameter 'k', option 'a': search_spaces must be a dict"),
        ([], ValueError, "^Parameter 'k', option 'a': search_spaces must have"),
        ({"g": (2, 1)}, ValueError, "^Parameter 'k', option 'a': Parameter 'g'"),
        ({"k": [1]}, ValueError, "^Parameter 'k', option 'a': .*declared twice"),
        (
            {"m": Choice({"x": {3: [1]}})},
            TypeError,
            "'k', option 'a': Parameter 'm', option 'x': .*must be strings",
        ),
    ],
)
def test_mistakes_in_sub_spaces_name_parameter_and_option(sub_space, error, message):
    with pytest.raises(error, match=message):
        Space.from_notation({"k": Choice({"z": {}, "a": sub_space})})


def test_answers_of_the_constraint_are_remembered_up_to_a_number(monkeypatch):
    asked = []
    notation = {"a": list(range(8))}
    space = Space.from_notation(notation, lambda p: asked.append(p["a"]) or p["a"] > 3)
    X = space.enumerate(np.arange(8))
    for _ in range(2):
        assert space.allowed(X).tolist() == [a > 3 for a in range(8)]
        assert space.allows({"a": 5})
    assert sorted(asked) == list(range(8))
    copy = space.with_constraint(space.constraint)
    assert copy.allows({"a": 5}) and len(asked) == 9
    monkeypatch.setattr("skbayes.space.space.MAX_REMEMBERED", 3)
    small = Space.from_notation(notation, space.constraint)
    assert small.allowed(X).tolist() == [a > 3 for a in range(8)]
    assert len(small._allowed_by_key) == 3


def test_overlapping_dicts_are_compared_with_earlier_ones_only():
    dicts = [{"a": list(range(k, k + 3))} for k in range(6)]
    space = Space.from_notation(dicts)
    cells = space.decode(space.enumerate(np.arange(18)))
    rows = space.encode(cells)
    np.testing.assert_array_equal(space.enumerate(np.arange(18)), rows)
    # A value is encoded with the first dict that contains it.
    first = [0, 0, 0, 1, 2, 3, 4, 5]
    places = space.columns[0].dimension.place(
        space.encode([{"a": a} for a in range(8)])[:, 0]
    )
    assert places.tolist() == first


def test_alternatives_of_two_parameters_are_independent():
    pair = {k: Choice({"only": [{k + k: [1]}, {k + k: [2]}]}) for k in ("a", "b")}
    space = Space.from_notation(pair)
    decoded = space.decode(space.enumerate(np.arange(4)))
    values = [(params["aa"], params["bb"]) for params in decoded]
    assert values == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_the_columns_of_options_are_numbered_and_inactive_without_them():
    kernel = Choice({"linear": {}, "poly": {"degree": (2, 4)}})
    space = Space.from_notation({"kernel": kernel, "n": (0, 1)})
    # The columns belong to the kernel, its degree, and n, which varies fastest.
    rows = [
        [0.0, math.nan, 0.25],
        [0.0, math.nan, 0.75],
        *([1.0, degree, n] for degree in (1 / 6, 1 / 2, 5 / 6) for n in (0.25, 0.75)),
    ]
    np.testing.assert_allclose(space.enumerate(np.arange(8)), rows)
    np.testing.assert_array_equal(
        space.active(np.nan_to_num(rows, nan=0.3)), ~np.isnan(rows)
    )
    assert space.tree == [(0, [[], [(1, [])]]), (2, [])]
    assert space.n_configurations == 8 and space.n_coefficients == 4
    assert space.extended("C", Real(0, 1)).n_configurations == math.inf
    cover = space.covering_sample()
    assert [params["kernel"] for params in cover] == ["linear", "poly"]
    assert "degree" in cover[1]
