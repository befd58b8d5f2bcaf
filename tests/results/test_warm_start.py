"""Warm starts from results of earlier searches."""

import enum
import math
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from every_search import small_search
from simple_estimators import Sometimes
from sklearn.datasets import load_iris
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV
from sklearn.svm import SVC

from skbayes import BayesSearchCV
from skbayes.results.frame import results_frame
from skbayes.results.warm_start import KnownTrial, known_results, known_trials
from skbayes.space import Choice, Space
from skbayes.trial.records import FoldResult, History, Trial

X, y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def coarse():
    """Return a fitted search on a coarse grid."""
    grid = {"C": np.logspace(-1, 2, 4), "gamma": [0.01, 0.1]}
    return GridSearchCV(SVC(), grid, cv=2).fit(X, y)


def space(**dimensions):
    return Space.from_notation(dimensions)


def rows_of(scores, params):
    return {"params": params, "mean_test_score": np.array(scores, dtype=float)}


def one(value, fine):
    """Return the observation of a row with this value of x."""
    return known_results(rows_of([1.0], [{"x": value}]), fine)


def test_a_grid_informs_a_search_over_ranges(coarse):
    fine = space(C=(0.1, 100.0, "log-uniform"), gamma=(1e-3, 1.0, "log-uniform"))
    known = known_results(coarse, fine)
    assert [params for params, _, _ in known] == [
        pytest.approx(params) for params in coarse.cv_results_["params"]
    ]
    np.testing.assert_array_equal(
        [score for _, score, _ in known], coarse.cv_results_["mean_test_score"]
    )
    assert {noise for *_, noise in known} == {None}


def test_a_narrower_range_drops_the_rest_with_one_warning(coarse):
    fine = space(C=(0.5, 20.0, "log-uniform"), gamma=(0.05, 1.0))
    with pytest.warns(UserWarning) as caught:
        known = known_results(coarse, fine)
    assert [params["C"] for params, _, _ in known] == pytest.approx([1, 10])
    (warning,) = caught
    text = str(warning.message)
    assert "warm_start_from: 6 of 8 known configurations are ignored" in text
    assert "6 outside search_spaces" in text
    assert warning.filename == __file__


@pytest.mark.parametrize("values, kind", [((0.0, 5.0), float), ((0, 5), int)])
def test_values_become_those_of_the_space(values, kind):
    for value in (2, 2.0, np.float64(2), np.float32(2), np.uint8(2)):
        ((params, _, _),) = one(value, space(x=values))
        assert params == {"x": 2} and type(params["x"]) is kind
    for value in ("a", 2, True, None):
        ((params, _, _),) = one(np.array([value])[0], space(x=["a", 2, True, None]))
        assert type(params["x"]) is type(value)
    ((params, _, _),) = one(0.1 + 0.2, space(x=[0.1, 0.2, 0.3]))
    assert params["x"] == 0.3  # forgives rounding
    # The constraint is not asked.
    fine = Space.from_notation({"x": (0.0, 1.0)}, lambda params: False)
    assert one(0.5, fine) == [({"x": 0.5}, 1.0, None)]


@pytest.mark.parametrize("value", [9.999999999999999e-06, 1.0000000000000002])
def test_the_ends_of_a_range_forgive_rounding(value):
    ((params, _, _),) = one(value, space(x=(1e-5, 1.0, "log-uniform")))
    assert params["x"] in (1e-5, 1.0)


VALUES = [9.9e-6, 1.001, None, "scale", math.nan, math.inf, True, [0.1]]


@pytest.mark.parametrize(
    "params", [*({"x": v} for v in VALUES), {}, {"y": 1}, {"x": 0.5, "y": 1}]
)
def test_what_is_outside(params):
    fine = space(x=(1e-5, 1.0, "log-uniform"))
    with pytest.warns(UserWarning, match=r"1 of 1 .* \(1 outside search_spaces"):
        assert known_results(rows_of([1.0], [params]), fine) == []


def test_conditional_spaces():
    grid = [{"kernel": ["linear"]}, {"kernel": ["rbf"], "gamma": [0.1, 1.0]}]
    earlier = GridSearchCV(SVC(), grid, cv=2).fit(X, y)
    choice = Choice({"linear": {}, "rbf": {"gamma": (0.01, 0.5)}})
    with pytest.warns(UserWarning, match="1 of 3 known configurations"):
        known = known_results(earlier, space(kernel=choice))
    assert [params for params, _, _ in known] == [
        {"kernel": "linear"},
        {"kernel": "rbf", "gamma": 0.1},
    ]


def test_all_forms_of_the_results_say_the_same(coarse):
    fine = space(C=(0.01, 1000.0), gamma=(1e-3, 1.0))
    known = known_results(coarse, fine)
    for source in (
        coarse.cv_results_,
        pd.DataFrame(coarse.cv_results_),
        results_frame(coarse.cv_results_),
        results_frame(coarse.cv_results_, params=True),
        results_frame(coarse.cv_results_, "polars"),
        results_frame(coarse.cv_results_, "polars", params=True),
    ):
        assert known_results(source, fine) == known


def test_a_table_from_a_file_has_no_dicts(coarse, tmp_path):
    pd.DataFrame(coarse.cv_results_).to_csv(tmp_path / "results.csv")
    source = pd.read_csv(tmp_path / "results.csv")
    fine = space(C=(0.01, 1000.0), gamma=(1e-3, 1.0))
    known = known_results(source, fine)
    expected = known_results(coarse, fine)
    assert [k[0] for k in known] == [pytest.approx(k[0]) for k in expected]
    assert [k[1] for k in known] == pytest.approx([k[1] for k in expected])


def test_a_frame_without_params_keeps_none_and_knows_what_is_missing():
    grid = [{"kernel": ["rbf"], "class_weight": [None]}, {"kernel": ["linear"]}]
    earlier = GridSearchCV(SVC(), grid, cv=2).fit(X, y)
    fine = Space.from_notation(grid)
    known = known_results(results_frame(earlier.cv_results_), fine)
    assert [params for params, _, _ in known] == earlier.cv_results_["params"]


def test_a_halving_search_knows_its_last_round():
    earlier = HalvingGridSearchCV(
        SVC(), {"C": [0.1, 1.0, 10.0]}, cv=2, random_state=0
    ).fit(X, y)
    rounds = earlier.cv_results_["iter"]
    last = np.flatnonzero(rounds == rounds.max())
    with pytest.warns(UserWarning, match="without a comparable score"):
        known = known_results(earlier, space(C=(0.1, 10.0)))
    assert [p for p, _, _ in known] == [earlier.cv_results_["params"][r] for r in last]


@pytest.mark.parametrize("scoring", [None, ["accuracy", "f1_macro"]])
def test_our_search_its_results_and_its_trials_say_the_same(scoring):
    more = {"scoring": scoring, "refit": "accuracy" if scoring else True}
    earlier = small_search(SVC(), {"C": (0.1, 10.0)}, n_iter=4, **more).fit(X, y)
    fine, metrics = space(C=(0.1, 10.0)), scoring or ["score"]
    sources = (earlier.cv_results_, earlier.trials_, list(earlier.trials_))
    for metric in metrics:
        known = known_results(earlier, fine, metric)
        scores = [score for _, score, _ in known]
        np.testing.assert_allclose(scores, earlier.cv_results_[f"mean_test_{metric}"])
        for source in sources:
            other = known_results(source, fine, metric)
            assert [p for p, _, _ in other] == [p for p, _, _ in known]
            assert [score for _, score, _ in other] == pytest.approx(scores)
    for source in sources:
        with pytest.raises(ValueError, match="warm_start_from.*recall'") as error:
            known_results(source, fine, "recall")
        assert str(metrics) in str(error.value)


def trial(number, score, state="complete", folds=(), **more):
    return Trial(number, {"x": number}, list(folds), score=score, state=state, **more)


def test_partial_trials_count_with_their_noise():
    trials = [
        trial(0, 0.5),
        trial(1, 0.25, "pruned", noise=0.125),
        trial(2, math.nan, "failed"),
        trial(3, math.nan, "timed_out"),
    ]
    for source in (trials, tuple(trials), History(trials), iter(trials)):
        with pytest.warns(UserWarning, match=r"2 of 4 .*2 without a comparable score"):
            known = known_results(source, space(x=(0, 9)))
        assert known == [({"x": 0}, 0.5, None), ({"x": 1}, 0.25, 0.125)]


def test_partial_trials_of_several_metrics_count_for_the_guiding_one():
    nan = math.nan
    folds = [FoldResult({"a": 1.0, "b": 2.0}), FoldResult({"a": nan})]
    folds[1].test_scores["b"] = nan
    source = BayesSearchCV(SVC(), {})
    source.trials_ = History([trial(0, 1.0, "pruned", folds, noise=0.5)])
    source.target_metric_ = "a"
    assert known_results(source, space(x=(0, 9)), "a") == [({"x": 0}, 1.0, 0.5)]
    with pytest.warns(UserWarning, match="1 without a comparable score"):
        assert known_results(source, space(x=(0, 9)), "b") == []


class Direction(enum.Enum):
    """Study direction of Optuna."""

    MINIMIZE = 1
    MAXIMIZE = 2


def study(*trials, direction=Direction.MAXIMIZE, **more):
    """Return a minimal Optuna study: state, params and value of each trial."""
    trials = [
        SimpleNamespace(state=SimpleNamespace(name=state), params=params, value=value)
        for state, params, value in trials
    ]
    return SimpleNamespace(trials=trials, directions=[direction], **more)


ENDED = [("COMPLETE", {"x": 3}, 0.25), ("COMPLETE", {"x": 1.5}, -0.5)]


@pytest.mark.parametrize("direction, sign", [("MAXIMIZE", 1), ("MINIMIZE", -1)])
def test_of_a_study_greater_is_better(direction, sign):
    source = study(*ENDED, direction=Direction[direction])
    expected = [({"x": 3.0}, sign * 0.25, None), ({"x": 1.5}, sign * -0.5, None)]
    # The value belongs to the metric that guides the search, under any name.
    for metric in ("score", "accuracy"):
        assert known_results(source, space(x=(0.0, 5.0)), metric) == expected


def test_a_fitted_search_of_optuna_has_a_study():
    frozen = [SimpleNamespace(number=0)]
    source = SimpleNamespace(study_=study(*ENDED), trials_=frozen, fit=None)
    assert len(known_results(source, space(x=(0.0, 5.0)))) == 2
    del source.study_
    with pytest.raises(ValueError, match="this SimpleNamespace is not fitted"):
        known_results(source, space(x=(0.0, 5.0)))


def test_trials_of_a_study_without_a_value():
    source = study(
        *ENDED,
        ("FAIL", {}, None),
        ("PRUNED", {"x": 2.0}, 0.75),
        ("RUNNING", {"x": 2.0}, None),
        ("WAITING", {}, None),
        ("COMPLETE", {"x": 7.0}, 0.5),
        ("COMPLETE", {"y": 1.0}, 0.5),
    )
    with pytest.warns(UserWarning, match=r"4 of 6 .*2 outside.*2 without a compar"):
        known = known_results(source, space(x=(0.0, 5.0)))
    assert [params["x"] for params, _, _ in known] == [3.0, 1.5]


def test_failures_and_times_of_a_study():
    source = study(
        ("COMPLETE", {"x": 4.0}, 0.5),
        ("COMPLETE", {"x": 3.0}, 0.25),
        ("FAIL", {"x": 2.0}, None),
        ("FAIL", {"x": 9.0}, None),
        ("PRUNED", {"x": 1.0}, 0.5),
    )
    for seconds, one in enumerate(source.trials):
        one.duration = timedelta(seconds=seconds)
    with pytest.warns(UserWarning, match=r"2 of 5 .*\(2 without a comparable score\)"):
        untimed, complete, failed = known_trials(source, space(x=(0.0, 5.0)))
    assert untimed.cost is None  # a duration of zero is not measured
    assert complete == KnownTrial({"x": 3.0}, 0.25, None, 1.0, place=1)
    assert failed.failed and failed.params == {"x": 2.0} and failed.cost == 2.0
    assert math.isnan(failed.score)
    with pytest.warns(UserWarning, match="3 of 5 .*3 without a comparable score"):
        assert len(known_results(source, space(x=(0.0, 5.0)))) == 2


def minimized(*calls, names=("x",), **more):
    """Return a minimal result of scikit-optimize: points and values."""
    points, values = zip(*calls, strict=True)
    dimensions = [SimpleNamespace(name=name) for name in names]
    return SimpleNamespace(
        x_iters=list(points),
        func_vals=np.array(values),
        space=SimpleNamespace(dimensions=dimensions),
        **more,
    )


def test_of_a_result_of_scikit_optimize_less_is_better():
    calls = ([np.int64(3)], 0.25), ([1.5], -0.5)
    found = known_results(minimized(*calls), space(x=(0.0, 5.0)), "accuracy")
    assert found == [({"x": 3.0}, -0.25, None), ({"x": 1.5}, 0.5, None)]
    with pytest.warns(UserWarning, match=r"1 of 2 .*\(1 outside search_spaces\)"):
        assert len(known_results(minimized(*calls), space(x=(0.0, 2.0)))) == 1
    source = minimized(([3.0], 0.25), ([1.5], math.inf), log_time=np.log([2.0, 4.0]))
    known = known_trials(source, space(x=(0.0, 5.0)))
    assert [one.failed for one in known] == [False, True]
    assert [one.cost for one in known] == pytest.approx([2.0, 4.0])


def test_failed_fits_are_counted_apart():
    table = rows_of([math.nan, 1.0, -math.inf, 2.0], [{"x": i} for i in range(4)])
    with pytest.warns(UserWarning) as caught:
        known = known_results(table, space(x=(0, 2)))
    assert known == [({"x": 1}, 1.0, None)]
    assert "3 of 4 known configurations are ignored (1 outside search_spaces, 2 " in (
        str(caught[0].message)
    )


@pytest.mark.parametrize(
    "source, error, match",
    [
        (GridSearchCV(SVC(), {}), ValueError, "this GridSearchCV is not fitted"),
        (BayesSearchCV(SVC(), {}), ValueError, "this BayesSearchCV is not fitted"),
        ({"params": [{}]}, ValueError, "'mean_test_score'"),
        ({"mean_test_score": [1.0]}, ValueError, "neither a column 'params'"),
        (rows_of([1.0, 2.0], [{"x": 1}]), ValueError, "1 configurations and 2 scores"),
        (Sometimes, TypeError, "must be a fitted search.*got"),
        (None, TypeError, "must be a fitted search.*NoneType"),
        (3, TypeError, "must be a fitted search.*int"),
        ("search.db", FileNotFoundError, "there is no journal 'search.db'"),
        ([{"x": 1}], TypeError, "must be a fitted search.*list"),
    ],
)
def test_errors_name_the_parameter(source, error, match):
    with pytest.raises(error, match=f"warm_start_from.*{match}"):
        known_results(source, space(x=(0, 1)))


def test_other_sources_that_are_refused_or_empty():
    assert known_results([], space(x=(0, 1))) == []
    assert known_results(rows_of([], []), space(x=(0, 1))) == []
    source = study(*ENDED)
    source.directions *= 2
    with pytest.raises(ValueError, match="warm_start_from: the study has 2 objectives"):
        known_results(source, space(x=(0.0, 5.0)))
    with pytest.raises(ValueError, match=r"has no name.*Real\(..., name='C'\)"):
        known_results(minimized(([3.0], 1.0), names=[None]), space(x=(0.0, 5.0)))
