import numpy as np
import pytest
from scipy import stats

from skbayes.space import Distribution

DISCRETE = [
    stats.poisson(4),
    stats.geom(0.3),
    stats.binom(10, 0.4),
    stats.binom(30, 0.1),
    stats.binom(100, 0.5),
    stats.binom(2**22, 1e-6),
    stats.boltzmann(1.4, 50),
    stats.hypergeom(200, 70, 120),
    stats.logser(0.9),
    stats.skellam(3, 4),
    stats.randint(3, 9),
    stats.randint(0, 66),
    stats.randint(5, 6),
    stats.rv_discrete(values=([1, 5, 7], [0.2, 0.5, 0.3]))(),
]
FROZEN = [
    stats.uniform(2, 3),
    stats.loguniform(1e-5, 1e5),
    stats.norm(5, 2),
    stats.expon(scale=10),
    stats.halfcauchy(),
    stats.beta(0.5, 0.5),
    stats.truncnorm(-1, 2),
    stats.lognorm(1.0),
    stats.t(3),
    *DISCRETE,
]
# Some of their values are not whole numbers.
HALVES = [
    stats.rv_discrete(values=(values, [0.2, 0.5, 0.3]))()
    for values in ([1, 1.5, 2], [1, 1.2, 1.5])
]
# Their quantiles are dense where doubles are coarse.
COARSE = [
    stats.beta(0.01, 0.01),
    stats.beta(1.0, 0.2),
    stats.norm(1e9, 1e-5),
    stats.gamma(0.01),
]


@pytest.mark.parametrize("frozen", FROZEN, ids=lambda frozen: frozen.dist.name)
def test_values_follow_the_distribution_and_are_encoded_exactly(frozen):
    dimension, n = Distribution(frozen), 4000
    positions = dimension.from_uniform(np.r_[0.0, (np.arange(n) + 0.5) / n, 1.0])
    values = dimension.decode(positions)
    np.testing.assert_array_equal(dimension.encode(values), positions)
    np.testing.assert_array_equal(dimension.snap(positions), positions)
    whole = hasattr(frozen, "pmf")
    assert {type(value) for value in values} == {int if whole else float}
    assert np.all(np.isfinite(values))
    if not whole:
        assert np.mean([value == float(f"{value:.8g}") for value in values]) > 0.99
    drawn = np.array(values[1:-1])
    for quantile in (0.1, 0.5, 0.9):
        level = frozen.ppf(quantile)
        share = np.mean(drawn <= level)
        assert share == pytest.approx(frozen.cdf(level), abs=2e-3)


@pytest.mark.parametrize(
    "frozen",
    [stats.uniform(0, 4), stats.expon(scale=100), stats.beta(0.5, 0.5), stats.chi2(1)],
    ids=lambda frozen: frozen.dist.name,
)
def test_an_end_at_zero_is_accepted_and_not_proposed(frozen):
    dimension = Distribution(frozen)
    corner = np.array([0.0, 1e-9, 1e-6])
    for positions in (dimension.snap(corner), dimension.from_uniform(corner)):
        values = dimension.decode(positions)
        assert values[0] == values[1] == values[2] > 0.0
        assert frozen.cdf(values[0]) == pytest.approx(2.0**-20, rel=0.5)
    # It may be the estimator's own value.
    assert dimension.decode(dimension.encode([0.0])) == [0.0]


@pytest.mark.parametrize("frozen", DISCRETE, ids=lambda frozen: frozen.dist.name)
def test_a_discrete_distribution_has_a_position_for_each_likely_value(frozen):
    dimension = Distribution(frozen)
    grid = dimension.grid
    assert np.all(np.diff(grid) > 0) and len(grid) == dimension.n_values
    assert 0.0 < grid[0] and grid[-1] < 1.0
    atoms = dimension.decode(grid)
    np.testing.assert_array_equal(dimension.encode(atoms), grid)
    # Reference: the probabilities of all whole numbers near the values.
    numbers = np.arange(atoms[0] - 50, atoms[-1] + 51)
    masses = frozen.pmf(numbers)
    is_atom = np.isin(numbers, atoms)
    assert set(atoms) <= set(numbers[masses > 0].tolist())
    assert masses[~is_atom].sum() < 2.5 * 2.0**-20
    # Only numbers without probability are left out between two values.
    inner = (numbers > atoms[0]) & (numbers < atoms[-1])
    assert np.all(masses[inner & ~is_atom] == 0.0)


def test_values_of_negligible_probability_do_not_belong_to_the_dimension():
    dimension = Distribution(stats.binom(30, 0.1))
    assert dimension.contains(13) and not dimension.contains(30)
    with pytest.raises(ValueError, match="30 is not .* its probability is too low"):
        dimension.encode([30])
    frozen = stats.rv_discrete(values=([1, 2, 3], [0.5, 1e-20, 0.5]))()
    dimension = Distribution(frozen)
    assert dimension.decode(dimension.grid) == [1, 3]
    assert dimension.decode(dimension.encode([3.0])) == [3]
    with pytest.raises(TypeError, match="infinitely many"):
        _ = Distribution(stats.norm()).grid


def test_a_tail_too_long_to_list_is_refused_without_asking_for_its_quantiles():
    frozen = stats.zipf(1.5)

    def quantile(level):
        raise AssertionError("this would take gigabytes")

    frozen.ppf = quantile
    with pytest.raises(ValueError, match=r"zipf\(1.5\) has over 1048576 values"):
        Distribution(frozen)


@pytest.mark.parametrize(
    ("frozen", "message"),
    [
        (stats.uniform(0, -1), "has no values"),
        (stats.randint(5, 5), "has no values"),
        (stats.randint(0, 2**30), "write it as"),
        (stats.pareto(0.01), "too large for a float"),
        (stats.binom(10, 0.5, loc=0.5), "not whole numbers"),
        (stats.skellam(3, 4, loc=0.5), "not whole numbers"),
        *((halves, "not whole numbers") for halves in HALVES),
        *((coarse, "floats cannot distinguish") for coarse in COARSE),
    ],
    ids=lambda case: case if isinstance(case, str) else case.dist.name,
)
def test_impossible_parameters_are_refused(frozen, message):
    with pytest.raises(ValueError, match=message):
        Distribution(frozen)


def test_similar_distributions_have_different_keys():
    one, other, copy = (
        Distribution(stats.rv_histogram(np.histogram(data)))
        for data in ([1, 2, 3], [1, 2, 9], [1, 2, 3])
    )
    assert repr(one) == repr(other)
    assert one.key != other.key
    assert one.key == copy.key and hash(one.key) == hash(copy.key)
