from itertools import combinations, permutations

import numpy as np
import pytest

from skbayes.benchmark import (
    LookupTable,
    Run,
    benchmark,
    curves,
    expected_of_random,
    load_nmt,
    measure,
    summarize,
)
from skbayes.benchmark import metrics as module
from skbayes.benchmark.metrics import place_of_first


def make_table(y, z=None, **options):
    params = [{"a": i} for i in range(len(y))]
    objectives = {"y": y} if z is None else {"y": y, "z": z}
    return LookupTable(params, objectives, dict.fromkeys(objectives, "max"), **options)


# The front: rows 1, 3 and 4.
OF_TWO = [1, 5, 2, 4, 3, 0], [1, 1, 2, 3, 4, 0]


def make_run(rows, seed=0, n_objectives=1, finished=True):
    return Run("table", "", "m", n_objectives, seed, list(rows), finished)


# Scores by row; rows 1 and 4 tie for best, rows 1, 4 and 6 are within 0.5 of it.
SCORES = [1.0, 9.0, 3.0, 5.0, 9.0, 2.0, 8.5, 0.0]


def test_measures_of_one_objective():
    table = make_table(SCORES, tolerance=0.5)
    measures = measure(make_run([0, 2, 3, 6, 5, 4, 7, 1]), table)
    assert {name: m.value for name, m in measures.items()} == {
        "ftb": 8,  # row 1 is the first of the equal rows in the file
        "ftb_any": 6,
        "ftc": 4,
        "fb": 0.0,
    }
    assert not any(m.censored for m in measures.values())
    # No run takes fewer than its first rows.
    measures = measure(make_run([1, 0, 2]), table)
    assert [measures[name].value for name in ("ftb", "ftb_any", "ftc")] == [3, 3, 3]
    assert np.isnan(summarize([make_run([1, 0, 2])], table)["ftb"].sd)


def test_fb_is_measured_after_a_fixed_budget(monkeypatch):
    monkeypatch.setattr(module, "N_BUDGET", 4)
    table = make_table(SCORES)
    assert measure(make_run([0, 2, 3, 5, 6, 1]), table)["fb"] == (4.0, False)
    assert measure(make_run([0, 2, 3]), table)["fb"] == (4.0, True)


def test_measures_of_several_objectives():
    table = make_table(*OF_TWO, front_budget=4)
    assert table.front.tolist() == [1, 3, 4]
    measures = measure(make_run([0, 2, 5, 4, 1, 3], n_objectives=2), table)
    assert measures == {"fto": (4, False), "fta": (6, False), "fbp": (1, False)}
    cut = measure(make_run([1, 3, 0], n_objectives=2, finished=False), table)
    assert cut == {"fto": (3, False), "fta": (3, True), "fbp": (2, True)}


def test_censored_runs_count_to_their_cap_and_are_marked():
    table = make_table(SCORES, tolerance=0.5)
    runs = [make_run([0, 2, 3, 5, 7], 0, finished=False), make_run([0, 1, 2, 3], 1)]
    summary = summarize(runs, table)
    assert summary["ftb"][:1] + summary["ftb"][2:] == ((5 + 3) / 2, 2, 1)
    assert summary["ftb"].sd == pytest.approx(np.std([5, 3], ddof=1))
    assert summary["ftb"].se == pytest.approx(summary["ftb"].sd / np.sqrt(2))


def test_curves_go_on_where_a_run_ended():
    table = make_table(SCORES)
    actual = curves([make_run([0, 3, 2, 1]), make_run([2, 6])], table, 5)
    np.testing.assert_array_equal(actual, [[8, 4, 4, 0, 0], [6, 0.5, 0.5, 0.5, 0.5]])
    run = make_run([0, 1, 4, 3], n_objectives=2)
    actual = curves([run], make_table(*OF_TWO), 4)
    np.testing.assert_array_equal(actual, [[0, 1, 2, 3]])


@pytest.mark.parametrize("n, k", [(1, 1), (5, 1), (6, 2), (7, 7), (9, 4)])
def test_place_of_first_by_counting(n, k):
    places = [min(chosen) for chosen in combinations(range(n), k)]
    counted = np.bincount(places, minlength=n) / len(places)
    np.testing.assert_allclose(place_of_first(n, k), counted, atol=1e-14)


@pytest.mark.parametrize("cap", [None, 4, 3])
@pytest.mark.parametrize("several", [False, True])
def test_expectations_by_all_orders(monkeypatch, several, cap):
    monkeypatch.setattr(module, "N_BUDGET", 4)
    z = [3, 0, 2, 1, 0, 5] if several else None
    table = make_table([5, 4.6, 3, 5, 1, 0], z, tolerance=0.5, front_budget=3)
    orders = [order[: cap or 6] for order in permutations(range(6))]
    all_runs = [make_run(order, n_objectives=1 + several) for order in orders]
    expected = expected_of_random(table, cap)
    counted = summarize(all_runs, table)
    assert list(expected) == list(counted)
    for name, value in expected.items():
        assert value.mean == pytest.approx(counted[name].mean, abs=1e-10)
        values = [measure(run, table)[name].value for run in all_runs]
        assert value.sd == pytest.approx(np.std(values), abs=1e-10)


@pytest.mark.parametrize("pair", ["zh-en", "so-en"])
def test_expectations_in_closed_form(pair):
    table = load_nmt(pair)
    n, J = len(table), len(table.front)
    one, several = expected_of_random(table.first(1)), expected_of_random(table)
    # Beyond (n + 1) / 2, the places 1 and 2 count as 3.
    assert one["ftb"].mean == pytest.approx((n + 1) / 2 + 3 / n)
    assert several["fta"].mean == pytest.approx(J * (n + 1) / (J + 1), rel=1e-6)
    assert several["fto"].mean == pytest.approx((n + 1) / (J + 1), abs=0.2)
    assert several["fbp"].mean == pytest.approx(J * table.front_budget / n)


@pytest.mark.parametrize("n_objectives", [1, 2])
def test_harness_gives_random_search_what_is_expected(n_objectives):
    """Deviations of up to four standard errors are allowed."""
    table = load_nmt("zh-en").first(n_objectives)
    summary = summarize(benchmark(["random"], [table], 225, cap=90), table)
    for name, expected in expected_of_random(table, 90).items():
        error = expected.sd / 15
        assert abs(summary[name].mean - expected.mean) < 4 * error
        assert summary[name].sd == pytest.approx(expected.sd, rel=0.25)
