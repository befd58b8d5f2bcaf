from itertools import combinations, product

import drawn_searches as drawn
import numpy as np
import pytest
from scipy import stats
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

from skbayes.benchmark import LookupTable, load_nmt
from skbayes.inspection import Importance, ImportanceDisplay, importance
from skbayes.inspection.importance import _domains, tree_variances
from skbayes.space import Space
from skbayes.trial.records import History


def parts_by_definition(f):
    """Return the variances of a function on a grid and of its parts, by columns."""
    parts = {(): f.mean(keepdims=True)}
    for size in range(1, f.ndim + 1):
        for U in combinations(range(f.ndim), size):
            others = tuple({*range(f.ndim)} - {*U})
            smaller = sum(part for V, part in parts.items() if {*V} < {*U})
            parts[U] = f.mean(axis=others, keepdims=True) - smaller
    return f.var(), {U: np.mean(part**2) for U, part in parts.items() if U}


@pytest.mark.parametrize("floor", [-np.inf, 0.3])
@pytest.mark.parametrize("depth", [2, None])
def test_finite_columns_by_brute_force(depth, floor):
    space = Space.from_notation({"a": [1, 2, 4], "b": ["x", "y"], "c": [1, 3, 5, 9]})
    rng = np.random.default_rng(0)
    rows = rng.choice(24, 15, replace=False)
    tree = DecisionTreeRegressor(max_depth=depth, random_state=0)
    tree.fit(space.enumerate(rows), rng.normal(size=15))
    cells = [*product(*(column.dimension.grid for column in space.columns))]
    f = np.maximum(tree.predict(cells), floor).reshape(3, 2, 4)
    expected_total, expected = parts_by_definition(f)
    total, single, pairs = tree_variances(tree.tree_, _domains(space), floor)
    assert total == pytest.approx(expected_total)
    shares = {(d,): part for d, part in enumerate(single)}
    shares |= {U: pairs[U] for U in combinations(range(3), 2)}
    # With the share of all three, the shares add up to the variance.
    assert shares == pytest.approx({U: expected[U] for U in shares}, abs=1e-12)
    assert sum(expected.values()) == pytest.approx(total)


def test_continuous_columns_by_a_fine_grid():
    space = Space.from_notation({"a": (0.0, 1.0), "b": (0.0, 1.0), "c": [1, 2]})
    X = space.from_uniform(np.random.default_rng(1).random((40, 3)))
    y = np.sin(5 * X[:, 0]) + X[:, 1] * X[:, 2]
    tree = DecisionTreeRegressor(max_leaf_nodes=12, random_state=0).fit(X, y)
    fine = (np.arange(400) + 0.5) / 400
    f = tree.predict([*product(fine, fine, [0.0, 1.0])]).reshape(400, 400, 2)
    variance, expected = parts_by_definition(f)
    total, single, pairs = tree_variances(tree.tree_, _domains(space))
    sets = [(0,), (1,), (2,), (0, 1), (1, 2)]
    actual = dict(zip(sets, [*single, pairs[0, 1], pairs[1, 2]], strict=True))
    # The edges of the boxes differ from the edges of the fine grid.
    tolerance = 0.01 * variance
    assert actual == pytest.approx({U: expected[U] for U in sets}, abs=tolerance)
    assert total == pytest.approx(variance, abs=tolerance)


def test_importances_equal_those_of_an_analytic_function():
    """The parts are a, 3 b, and b c."""
    levels = [-1.0, 1.0]
    params = [dict(zip("abcd", x, strict=True)) for x in product(levels, repeat=4)]
    y = [p["a"] + 3 * p["b"] + 2 * p["b"] * p["c"] for p in params]
    table = LookupTable(params, {"y": y}, {"y": "max"})
    result = importance(table)
    assert list(result.single)[:2] == ["b", "a"]
    assert next(iter(result.pairs)) == ("b", "c")
    assert result.single["b"] == pytest.approx(9 / 14, abs=0.1)
    shares = [*result.single.values(), *result.pairs.values()]
    assert all(0 <= part <= 1 for part in shares)
    assert len(result.pairs) == 6  # all


def test_mean_over_the_trees_of_the_forest():
    table = load_nmt("zh-en")
    result = importance(table, n_estimators=5, random_state=3)
    forest = RandomForestRegressor(5, random_state=3)
    forest.fit(table.space.encode(table.params), table.scores[:, 0])
    domains = _domains(Space([table.dimensions]))
    parts = [tree_variances(t.tree_, domains) for t in forest.estimators_]
    names = [column.name for column in table.space.columns]
    singles = np.array([single / total for total, single, _ in parts])
    for name, mean in zip(names, singles.mean(0), strict=True):
        assert result.single[name] == pytest.approx(mean)
    assert list(result.single.values()) == sorted(result.single.values(), reverse=True)
    assert list(result.pairs.values()) == sorted(result.pairs.values(), reverse=True)
    assert len(result.pairs) == 8
    text, page = str(result), result._repr_html_()
    assert repr(result) == text
    assert len(text.splitlines()) == page.count("<tr") == 14
    first = next(iter(result.single))
    assert f"{result.single[first]:.1%}" in text
    assert f">{result.single[first]:.1%}</td>" in page


def test_top_restricts_importance_to_the_best_trials():
    """In the lower half everything depends on a, in the upper half on b."""
    params = [{"a": a, "b": b} for a in range(8) for b in range(8)]
    y = [p["b"] if p["a"] > 3 else 10 * p["a"] - 100 for p in params]
    table = LookupTable(params, {"y": y}, {"y": "max"})
    everything, best, whole = (
        importance(table, top=top, n_estimators=30).single for top in (None, 0.4, 1.0)
    )
    assert everything["a"] > 0.8
    assert best["b"] > everything["b"] + 0.2
    assert whole["a"] == pytest.approx(everything["a"], abs=0.05)


def test_constant_scores_depend_on_nothing():
    table = LookupTable([{"a": i} for i in range(9)], {"y": [0.1] * 9}, {"y": "max"})
    assert importance(table, n_estimators=9).single == {"a": 0.0}
    best = importance(load_nmt("zh-en"), top=1e-9, n_estimators=9)
    assert best.single["bpe"] < 0.1


GRID = {"C": [1e-6, 1e-3, 1.0, 100.0], "kernel": ["linear", "rbf"], "tol": [1e-3, 1e-2]}


def test_grid_search_and_its_results():
    scoring = ["accuracy", "balanced_accuracy"]
    options = {"cv": 3, "scoring": scoring, "refit": "accuracy"}
    search = GridSearchCV(SVC(), GRID, **options).fit(drawn.X, drawn.y)
    result = importance(search)
    assert next(iter(result.single)) == "C"
    assert result.single["tol"] < 0.05
    assert importance(search, metric="accuracy") == result
    for space in (None, GRID):
        results = importance(search.cv_results_, space=space, metric="accuracy")
        assert results == result
    search.refit = False
    with pytest.raises(ValueError, match="metric: the search has several"):
        importance(search)


def test_search_of_scikit_learn_with_distributions():
    space = {"C": stats.loguniform(1e-6, 1e2), "tol": stats.loguniform(1e-4, 1e-2)}
    search = RandomizedSearchCV(SVC(), space, n_iter=12, cv=3, random_state=0)
    result = importance(search.fit(drawn.X, drawn.y))
    assert result.single["C"] > 0.5 > result.single["tol"]


def test_parameter_that_exists_under_some_options_only():
    space = [
        {"kernel": ["linear"], "C": [1e-6, 1e-3, 1.0]},
        {"kernel": ["rbf"], "C": [1e-6, 1e-3, 1.0], "gamma": [1e-6, 1e-2, 1.0, 100.0]},
    ]
    search = GridSearchCV(SVC(), space, cv=3).fit(drawn.X, drawn.y)
    result = importance(search)
    assert {"C", "gamma"} <= set(result.single)
    assert sum(result.single.values()) + sum(result.pairs.values()) <= 1 + 1e-9
    with pytest.raises(ValueError, match="'gamma' is not in every"):
        importance(search.cv_results_)


def test_only_comparable_trials_of_the_metric_count():
    """The reader of sources selects them; see tests of records."""

    def trial(a, one, two, **kwargs):
        folds = [drawn.fold(0.0, test_scores={"one": one, "two": two})]
        return drawn.trial(a, one, {"a": a}, folds=folds, **kwargs)

    trials = [trial(i, 1.0, float(i)) for i in range(4)]
    unscored = [trial(9, None, np.nan), trial(8, 99.0, 99.0, state="timed_out")]
    for metric, share in ((None, 0), ("two", 1)):
        actual, complete = (
            importance(History(some), metric=metric, n_estimators=9)
            for some in (trials + unscored, trials)
        )
        assert actual == complete
        assert actual.single["a"] == pytest.approx(share)
    with pytest.raises(ValueError, match="fewer than two"):
        importance(History(trials[:1]))


def test_pruned_trials_count_by_the_share_of_their_folds():
    fitted, skipped = drawn.fold(0.5), drawn.fold(np.nan, status="skipped")
    scores = [0.1, 0.9, 0.4, 0.7, 0.2, 0.6]
    kinds = [
        {"folds": [fitted, fitted]},
        {"folds": [fitted, skipped], "state": "pruned"},
    ]
    history = History(
        drawn.trial(i, score, {"a": i / 5}, **kinds[i % 2])
        for i, score in enumerate(scores)
    )
    space = {"a": (0.0, 1.0)}
    result = importance(history, space=space, n_estimators=9)
    assert result.single == {"a": 1.0}
    forest = RandomForestRegressor(9, random_state=0)
    X, weights = np.arange(6.0)[:, None] / 5, [1.0, 0.5] * 3
    forest.fit(X, scores, sample_weight=weights)
    floor = float(np.quantile(forest.predict(X), 0.5))
    parts = [tree_variances(t.tree_, _domains(Space([space])), floor) for t in forest]
    expected = np.mean([parts[1][0] / parts[0] for parts in parts if parts[0] > 0])
    result = importance(history, space=space, n_estimators=9, top=0.5)
    assert result.single["a"] == pytest.approx(expected)
    assert ImportanceDisplay.from_search(history).importance.single == {"a": 1.0}


def test_seeds_decide_and_arguments_are_checked():
    table = load_nmt("zh-en")
    results = [importance(table, n_estimators=9, random_state=s) for s in (0, 0, 1)]
    assert results[0] == results[1] != results[2]
    assert load_nmt("zh-en").digest == table.digest
    for name, value in (("top", 0), ("top", 1.5), ("n_pairs", -1), ("n_pairs", 1.5)):
        with pytest.raises(ValueError, match=f"{name} must be"):
            importance(table, **{name: value})


def test_bars_are_the_numbers_in_order():
    shares = Importance({"a": 0.6, "b": 0.1}, {("a", "b"): 0.25})
    display = ImportanceDisplay(shares).plot()
    assert [bar.get_width() for bar in display.bars_] == [0.6, 0.1]
    assert [bar.get_width() for bar in display.pair_bars_] == [0.25]
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels == ["a", "b", "a × b"]


def test_all_sources_of_a_search_give_the_same_importance():
    search, spaces, options = drawn.search("bayes"), drawn.SPACES, {"n_pairs": 1}
    expected = ImportanceDisplay.from_search(search, **options).importance
    assert expected == importance(search, **options)
    assert expected == importance(search.trials_, space=spaces, **options)
    options |= {"search_spaces": spaces}
    for source in (search.trials_, search.journal):
        assert ImportanceDisplay.from_history(source, **options).importance == expected


def test_too_few_trials_or_hyper_parameters():
    display = ImportanceDisplay.from_history(drawn.history(1.0))
    assert display.importance.single == {} and len(display.ax_.texts) == 1
    display = ImportanceDisplay.from_history(drawn.history(0.0, 0.5))
    assert display.importance.single["C"] == pytest.approx(1.0)
    assert display.pair_bars_ is None
