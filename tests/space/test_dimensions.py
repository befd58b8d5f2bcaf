import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from skbayes.space import (
    Categorical,
    Choice,
    Distribution,
    Integer,
    Ordinal,
    Real,
    Space,
)
from skbayes.space.dimensions import MAX_INTEGERS, keys_of, native, rows_of, shortest

PRIORS = st.sampled_from(["uniform", "log-uniform"])
POSITIONS = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20).map(np.array)
FINITE = {"allow_nan": False, "allow_infinity": False}


@st.composite
def reals(draw):
    prior = draw(PRIORS)
    most = draw(st.sampled_from([10.0, 1e12, 1e100]))
    ends = st.floats(1.0 / most if prior == "log-uniform" else -most, most)
    low, high = sorted([draw(ends), draw(ends)])
    assume(high - low > 1e-7 * max(abs(low), abs(high), 1e-290))
    return Real(low, high, prior)


@st.composite
def integers(draw):
    prior = draw(PRIORS)
    far = draw(st.sampled_from([10, 10**9, 2**53, 10**300]))
    low = draw(st.integers(1 if prior == "log-uniform" else -far, far))
    count = draw(st.sampled_from([20, 10**6, MAX_INTEGERS[prior]]))
    return Integer(low, low + draw(st.integers(1, count - 1)), prior)


NUMBERS = st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6, **FINITE))


@st.composite
def ordinals(draw):
    values = draw(st.lists(NUMBERS, min_size=1, max_size=12, unique=True))
    gap = np.diff(sorted(float(value) for value in values))
    assume(not len(gap) or np.min(gap) > 1e-9 * np.max(gap))
    return Ordinal(values, draw(st.sampled_from(["linear", "rank"])))


OPTIONS = st.one_of(st.none(), st.booleans(), st.text(max_size=3), st.tuples(NUMBERS))
CATEGORICALS = st.lists(OPTIONS, min_size=1, max_size=9, unique_by=repr).map(
    Categorical
)
DISTRIBUTIONS = st.sampled_from(
    [stats.norm(5, 2), stats.loguniform(1e-5, 1e5), stats.uniform(2, 3)]
    + [stats.poisson(4), stats.binom(30, 0.1), stats.skellam(3, 4)]
).map(Distribution)
ANY = st.one_of(reals(), integers(), ordinals(), CATEGORICALS, DISTRIBUTIONS)


@settings(max_examples=80)
@given(ANY, POSITIONS)
def test_proposed_values_are_encoded_exactly(dimension, positions):
    for proposed in (dimension.snap(positions), dimension.from_uniform(positions)):
        values = dimension.decode(proposed)
        np.testing.assert_array_equal(dimension.encode(values), proposed)
        assert dimension.decode(dimension.encode(values)) == values
        np.testing.assert_array_equal(dimension.snap(proposed), proposed)
        assert np.all((proposed >= 0) & (proposed <= 1))
        for value in values:
            assert not isinstance(value, np.generic)
            if isinstance(dimension, Real):
                assert type(value) is float
            if isinstance(dimension, Integer):
                assert type(value) is int
    snapped = dimension.snap(positions)
    assert dimension.decode(positions) == dimension.decode(snapped)


@settings(max_examples=50)
@given(reals(), POSITIONS)
def test_reals_have_few_digits_and_are_near_their_positions(dimension, positions):
    values = np.array(dimension.decode(positions))
    width, exact = (
        dimension.high - dimension.low,
        dimension.low + positions * (dimension.high - dimension.low),
    )
    if dimension.is_log:
        assume(dimension.high > 1.01 * dimension.low)
        width = math.log(dimension.high) - math.log(dimension.low)
        exact = np.exp(math.log(dimension.low) + positions * width)
        width *= exact
    assert np.all(np.abs(values - exact) <= 1e-6 * width)
    low, high = abs(dimension.low), abs(dimension.high)
    if min(low, high) <= 0.5 * max(low, high) or dimension.low < 0 < dimension.high:
        ends = (dimension.low, dimension.high)
        assert all(value in ends or value == float(f"{value:.8g}") for value in values)


def test_a_number_stays_if_no_shorter_one_is_between_the_bounds():
    value = 0.1 + 0.2  # of 17 digits
    assert shortest(value, value, math.nextafter(value, 1.0)) == value


@settings(max_examples=50)
@given(st.one_of(reals(), integers()), POSITIONS)
def test_numbers_stay_within_their_bounds_and_in_order(dimension, positions):
    values = dimension.decode(np.sort(positions))
    assert dimension.low <= values[0] and values[-1] <= dimension.high
    assert values == sorted(values)
    assert dimension.decode(np.array([0.0, 1.0])) == [dimension.low, dimension.high]
    assert repr(eval(repr(dimension))) == repr(dimension)


@settings(max_examples=40)
@given(integers(), st.lists(st.integers(0, 2**48), max_size=20))
def test_all_integers_come_back_exactly(dimension, steps):
    last = dimension.high - dimension.low
    near = range(min(last + 1, 100))
    offsets = {step % (last + 1) for step in steps} | {*near} | {last - i for i in near}
    values = [dimension.low + offset for offset in sorted(offsets)]
    positions = dimension.encode(values)
    assert np.all(np.diff(positions) > 0)
    assert dimension.decode(positions) == values


FINITES = st.sampled_from(["uniform", "log-uniform"]).map(lambda p: Integer(3, 40, p))


@settings(max_examples=50)
@given(st.one_of(ordinals(), CATEGORICALS, FINITES))
def test_the_grid_lists_every_value_once(dimension):
    values = list(getattr(dimension, "values", range(3, 41)))
    assert dimension.decode(dimension.grid) == values
    assert len(dimension.grid) == dimension.n_values
    with pytest.raises(TypeError, match="infinitely many"):
        _ = Real(0, 1).grid


@pytest.mark.parametrize(
    "dimension",
    [Integer(0, 4), Ordinal([1, 10, 1000, 10_000, 60_000]), Categorical(list("abcde"))],
)
def test_listed_values_and_integers_are_equally_likely(dimension):
    positions = dimension.from_uniform((np.arange(500) + 0.5) / 500)
    values = dimension.decode(positions)
    counts = [values.count(value) for value in dimension.decode(dimension.grid)]
    assert counts == [100] * 5


@pytest.mark.parametrize(
    ("dimension", "position", "value"),
    [
        (Real(1e-3, 1e3, "log-uniform"), 0.5, 1.0),
        (Real(1e-2, 1e2, "log-uniform"), 0.75, 10.0),
        (Real(0.1, 0.7), 1 / 3, 0.3),
        (Real(-0.1, 0.2), 1 / 3, 0.0),
        (Real(1000, 1001), 1 / 3, 1000.333333),
        (Distribution(stats.loguniform(1e-3, 1e3)), 5 / 6, 100.0),
        (Distribution(stats.norm(5, 2)), 0.975, 8.91994),
        (Distribution(stats.uniform(0.1, 0.6)), 0.0, 0.1),
    ],
    ids=repr,
)
def test_values_are_round_numbers(dimension, position, value):
    assert dimension.decode(np.array([position])) == [value]


@pytest.mark.parametrize(
    "dimension",
    [
        *(Real(0, 1), Integer(0, 9), Ordinal([1, 2.5]), Ordinal(["low", "high"])),
        *(Categorical([1, "a", None]), Distribution(stats.norm())),
        Distribution(stats.poisson(3)),
    ],
)
def test_numbers_beyond_every_float_are_in_no_dimension(dimension):
    for value in (10**400, -(10**400), Fraction(10**400, 3)):
        assert not dimension.contains(value)
        assert {"a": value} not in Space.from_notation({"a": dimension})


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Real(1, 1), ValueError, "low must be smaller than high"),
        (lambda: Real(2, 1), ValueError, "low=2, high=1"),
        (lambda: Real(math.nan, 1), ValueError, "low must be finite"),
        (lambda: Real(0, math.inf), ValueError, "high must be finite"),
        (lambda: Real("0", 1), TypeError, "low must be a number, got '0'"),
        (lambda: Real(True, 2), TypeError, "low must be a number"),
        (lambda: Real(-1e308, 1e308), ValueError, "too wide"),
        (lambda: Real(0, 1, "log-uniform"), ValueError, "needs low > 0"),
        (lambda: Real(1, 2, "log"), ValueError, "prior must be"),
        (lambda: Integer(1, 2.5), TypeError, "high must be a whole number"),
        (lambda: Integer(0, 5, "log-uniform"), ValueError, "needs low > 0"),
        (lambda: Integer(0, 2**60), ValueError, "use Real"),
        (lambda: Integer(1, 2**44 + 1, "log-uniform"), ValueError, "2..44 values"),
        (lambda: Real(0, 10**400), ValueError, "high must be finite"),
        (lambda: Integer(-(10**400), 0), ValueError, "low must be finite"),
        (lambda: Real(10**17, 10**17 + 1), ValueError, "too few floats"),
        (lambda: Real(1e9, 1e9 + 0.1), ValueError, r"list, such as \[1000000000.0, "),
        (lambda: Real(1.0, 1.0 + 1e-9, "log-uniform"), ValueError, "too few floats"),
        (lambda: Real(5e-324, 1e-320), ValueError, "too few floats"),
        (lambda: Ordinal([1, 10**400]), ValueError, "larger than the largest float"),
        (lambda: Ordinal([]), ValueError, "at least one value"),
        (lambda: Ordinal(["a", "b"], "log"), ValueError, "needs finite numbers"),
        (lambda: Ordinal([0, 1], "log"), ValueError, "values > 0"),
        (lambda: Ordinal([1, 2], "cubic"), ValueError, "scale must be"),
        (lambda: Ordinal([1e-300, 2e-300, 1e300], "linear"), ValueError, "too close"),
        (lambda: Ordinal(5), TypeError, "Ordinal: the values must be given as a list"),
        (lambda: Categorical(3), TypeError, "given as a list, got 3 of type int"),
        (lambda: Categorical("abc"), TypeError, "given as a list, got 'abc'"),
        (lambda: Categorical({"a", "b"}), TypeError, "given as a list.*of type set"),
        (lambda: Categorical(np.array(3)), TypeError, "given as a list"),
        (lambda: Categorical([]), ValueError, "at least one value"),
        (lambda: Choice({}), ValueError, "at least one value"),
        (lambda: Choice("abc"), TypeError, "dict or a list of pairs"),
        (lambda: Choice(["a", "b"]), TypeError, "pair"),
        (lambda: Choice([("a", {}), ("a", None)]), ValueError, "'a' occurs twice"),
    ],
)
def test_wrong_dimensions_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("dimension", "value"),
    [
        *((Real(0, 1), value) for value in (1.5, "0.5", math.nan)),
        *((Integer(0, 9), value) for value in (2.5, 10)),
        *((Ordinal([1, 2]), 3), (Categorical(["a"]), "b"), (Categorical([1]), True)),
        (Distribution(stats.uniform(0, 1)), 2.0),
        *((Distribution(stats.norm()), value) for value in (math.inf, math.nan, "1")),
        *((Distribution(stats.poisson(3)), value) for value in (2.5, -1, math.inf)),
    ],
)
def test_values_from_outside_are_refused(dimension, value):
    with pytest.raises(ValueError, match="is not a value of"):
        dimension.encode([value])


@pytest.mark.parametrize(
    ("dimension", "is_log"),
    [
        (Real(1, 1000), False),
        (Real(10, 11, "log-uniform"), True),
        (Integer(1, 2), False),
        (Integer(1, 2, "log-uniform"), True),
        (Ordinal([1, 10, 100]), True),
        (Ordinal([1, 2, 3]), False),
        (Ordinal(["low", "high"]), False),
        (Ordinal([5]), False),
        (Categorical([1, 10, 100]), False),
        (Distribution(stats.loguniform(1e-3, 1e3)), True),
        (Distribution(stats.uniform(1, 8)), False),
        (Distribution(stats.norm()), False),
    ],
)
def test_which_dimensions_are_logarithmic(dimension, is_log):
    assert dimension.is_log is is_log


def test_long_doubles_become_floats():
    for value, expected in ((np.longdouble(0.5), 0.5), (np.clongdouble(1j), 1j)):
        assert type(native(value)) is type(expected) and native(value) == expected
    assert type(Ordinal([np.longdouble(2), 3]).values[0]) is float


@pytest.mark.parametrize("n", [0, 1, 4])
def test_rows_are_those_of_their_keys(n):
    X = np.random.default_rng(0).random((n, 3))
    X[:1, 1] = np.nan
    np.testing.assert_array_equal(rows_of(keys_of(X), 3), X)
