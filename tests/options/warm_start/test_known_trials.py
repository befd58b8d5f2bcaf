"""Known trials: the reader's view for warm starts."""

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
from skbayes.options.warm_start.known_trials import known_results, known_trials
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
    frame = pd.DataFrame(coarse.cv_results_)
    with pytest.raises(TypeError, match=r"got DataFrame. Pass frame.to_dict\('list'\)"):
        known_results(frame, fine)
    for source in (coarse, coarse.cv_results_, frame.to_dict("list")):
        results = known_results(source, fine)
        assert [params for params, _, _ in results] == [
            pytest.approx(params) for params in coarse.cv_results_["params"]
        ]
        scores = [score for _, score, _ in results]
        np.testing.assert_array_equal(scores, coarse.cv_results_["mean_test_score"])
        assert {noise for *_, noise in results} == {None}


def test_a_narrower_range_drops_the_rest_with_one_warning(coarse):
    fine = space(C=(0.5, 20.0, "log-uniform"), gamma=(0.05, 1.0))
    with pytest.warns(UserWarning) as caught:
        results = known_results(coarse, fine)
    assert [params["C"] for params, _, _ in results] == pytest.approx([1, 10])
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
    # Lists and the ends of a range forgive rounding.
    ((params, _, _),) = one(0.1 + 0.2, space(x=[0.1, 0.2, 0.3]))
    assert params["x"] == 0.3
    for value in (9.999999999999999e-06, 1.0000000000000002):
        ((params, _, _),) = one(value, space(x=(1e-5, 1.0, "log-uniform")))
        assert params["x"] in (1e-5, 1.0)
    # The constraint is not asked.
    fine = Space.from_notation({"x": (0.0, 1.0)}, lambda params: False)
    assert one(0.5, fine) == [({"x": 0.5}, 1.0, None)]


VALUES = [9.9e-6, 1.001, None, "scale", math.nan, math.inf, True, [0.1], {"text": "x"}]


@pytest.mark.parametrize(
    "params", [*({"x": v} for v in VALUES), {}, {"y": 1}, {"x": 0.5, "y": 1}]
)
def test_configurations_outside_of_the_space_are_ignored(params):
    for values in ((1e-5, 1.0, "log-uniform"), ["a", "x"], [SVC()], Choice({"a": {}})):
        with pytest.warns(UserWarning, match=r"1 of 1 .* \(1 outside search_spaces"):
            assert known_results(rows_of([1.0], [params]), space(x=values)) == []


def test_conditional_parameters_are_matched_by_branch():
    grid = [{"kernel": ["linear"]}, {"kernel": ["rbf"], "gamma": [0.1, 1.0]}]
    earlier = GridSearchCV(SVC(), grid, cv=2).fit(X, y)
    choice = Choice({"linear": {}, "rbf": {"gamma": (0.01, 0.5)}})
    with pytest.warns(UserWarning, match="1 of 3 known configurations"):
        results = known_results(earlier, space(kernel=choice))
    assert [params for params, _, _ in results] == [
        {"kernel": "linear"},
        {"kernel": "rbf", "gamma": 0.1},
    ]


def test_a_halving_search_knows_its_last_round():
    grid = {"C": [0.1, 1.0, 10.0]}
    earlier = HalvingGridSearchCV(SVC(), grid, cv=2, random_state=0).fit(X, y)
    rounds = earlier.cv_results_["iter"]
    last = np.flatnonzero(rounds == rounds.max())
    with pytest.warns(UserWarning, match="without a comparable score"):
        results = known_results(earlier, space(C=(0.1, 10.0)))
    params = earlier.cv_results_["params"]
    assert [p for p, _, _ in results] == [params[row] for row in last]


@pytest.mark.parametrize("scoring", [None, ["accuracy", "f1_macro"]])
def test_all_sources_of_a_search_give_the_same_trials(scoring, tmp_path):
    params = {"scoring": scoring, "refit": "accuracy" if scoring else True}
    params["journal"] = tmp_path / "search.journal"
    earlier = small_search(SVC(), {"C": (0.1, 10.0)}, n_iter=4, **params).fit(X, y)
    fine, metrics = space(C=(0.1, 10.0)), scoring or ["score"]
    sources = (earlier.cv_results_, earlier.trials_, params["journal"])
    for metric in metrics:
        results = known_results(earlier, fine, metric)
        scores = [score for _, score, _ in results]
        np.testing.assert_allclose(scores, earlier.cv_results_[f"mean_test_{metric}"])
        for source in sources:
            other = known_results(source, fine, metric)
            assert [p for p, _, _ in other] == [p for p, _, _ in results]
            assert [score for _, score, _ in other] == pytest.approx(scores)
    for source in (earlier, *sources):
        with pytest.raises(ValueError, match="source.*recall'") as error:
            known_results(source, fine, "recall")
        assert str(metrics) in str(error.value)


def trial(number, score, state="complete", folds=(), **fields):
    return Trial(number, {"x": number}, list(folds), score=score, state=state, **fields)


def test_partial_trials_count_with_their_noise():
    trials = [
        trial(0, 0.5),
        trial(1, 0.25, "pruned", noise=0.125),
        trial(2, math.nan, "failed"),
        trial(3, math.nan, "timed_out"),
    ]
    with pytest.warns(UserWarning, match=r"2 of 4 .*2 without a comparable score"):
        results = known_results(History(trials), space(x=(0, 9)))
    assert results == [({"x": 0}, 0.5, None), ({"x": 1}, 0.25, 0.125)]
    assert known_results(History(), space(x=(0, 1))) == []
    # Scores of a table that are not finite are those of failures.
    table = rows_of([math.nan, 1.0, -math.inf, 2.0], [{"x": i} for i in range(4)])
    with pytest.warns(UserWarning, match=r"3 of 4 .*\(1 outside search_spaces, 2 "):
        assert known_results(table, space(x=(0, 2))) == [({"x": 1}, 1.0, None)]
    assert known_results(rows_of([], []), space(x=(0, 1))) == []
    # Of several metrics, the guiding one has a prediction.
    nan = math.nan
    folds = [FoldResult({"a": 1.0, "b": 2.0}), FoldResult({"a": nan, "b": nan})]
    source = BayesSearchCV(SVC(), {})
    source.trials_ = History([trial(0, 1.0, "pruned", folds, noise=0.5)])
    source.target_metric_, source.cv_results_ = "a", {}
    assert known_results(source, space(x=(0, 9)), "a") == [({"x": 0}, 1.0, 0.5)]
    with pytest.warns(UserWarning, match="1 without a comparable score"):
        assert known_results(source, space(x=(0, 9)), "b") == []


class Direction(enum.Enum):
    """Study direction of Optuna."""

    MINIMIZE = 1
    MAXIMIZE = 2


def study(*trials, direction=Direction.MAXIMIZE, **fields):
    """Return a minimal Optuna study: state, params, value and seconds of each trial."""
    trials = [
        SimpleNamespace(
            state=SimpleNamespace(name=state),
            params=params,
            value=value,
            duration=timedelta(seconds=sum(seconds)),
        )
        for state, params, value, *seconds in trials
    ]
    return SimpleNamespace(trials=trials, directions=[direction], **fields)


ENDED = [("COMPLETE", {"x": 3}, 0.25), ("COMPLETE", {"x": 1.5}, -0.5)]


@pytest.mark.parametrize("direction, sign", [("MAXIMIZE", 1), ("MINIMIZE", -1)])
def test_scores_of_a_study_are_maximized(direction, sign):
    source = study(*ENDED, direction=Direction[direction])
    expected = [({"x": 3.0}, sign * 0.25, None), ({"x": 1.5}, sign * -0.5, None)]
    # The value belongs to the metric that guides the search, under any name.
    for metric in ("score", "accuracy"):
        assert known_results(source, space(x=(0.0, 5.0)), metric) == expected
    search = SimpleNamespace(study_=source, trials_=[], fit=None)
    assert known_results(search, space(x=(0.0, 5.0))) == expected


def test_failures_and_times_of_a_study():
    source = study(
        ("COMPLETE", {"x": 4.0}, 0.5, 0),
        ("COMPLETE", {"x": 3.0}, 0.25, 1),
        ("FAIL", {"x": 2.0}, None, 2),
        ("FAIL", {"x": 9.0}, None, 3),
        ("FAIL", {}, None, 3),
        ("PRUNED", {"x": 1.0}, 0.5, 4),
        ("RUNNING", {"x": 2.0}, None),
        ("WAITING", {}, None),
        ("COMPLETE", {"x": 7.0}, 0.5),
        ("COMPLETE", {"y": 1.0}, 0.5),
    )
    fine = space(x=(0.0, 5.0))
    ignored = r"5 of 8 .*\(2 outside search_spaces, 3 without a comparable score\)"
    with pytest.warns(UserWarning, match=ignored):
        trials = known_trials(source, fine)
    assert [one.params["x"] for one in trials] == [4.0, 3.0, 2.0]
    # A duration of zero is not measured.
    assert [one.cost for one in trials] == [None, 1.0, 2.0]
    np.testing.assert_equal([one.score for one in trials], [0.5, 0.25, math.nan])
    with pytest.warns(UserWarning):
        assert len(known_results(source, fine)) == 2


TWO_OBJECTIVES = study(*ENDED)
TWO_OBJECTIVES.directions *= 2
SKOPT = SimpleNamespace(x_iters=[[3.0]], func_vals=np.ones(1), space=None)


@pytest.mark.parametrize(
    "source, error, match",
    [
        (GridSearchCV(SVC(), {}), ValueError, "this GridSearchCV .*not fitted"),
        (BayesSearchCV(SVC(), {}), ValueError, "this BayesSearchCV .*not fitted"),
        (Sometimes(), ValueError, "this Sometimes .*not fitted"),
        ({"params": [{}]}, ValueError, "no scores 'score', only"),
        (TWO_OBJECTIVES, ValueError, "the study has 2 objectives"),
        ({"mean_test_score": [1.0]}, TypeError, "expected a fitted search.*got dict"),
        (Sometimes, TypeError, "expected a fitted search.*got"),
        (None, TypeError, "expected a fitted search.*NoneType"),
        (3, TypeError, "expected a fitted search.*int"),
        (SKOPT, TypeError, "expected a fitted search.*as initial_points"),
        ("search.db", FileNotFoundError, "there is no file '.*search.db'"),
        ([{"x": 1}], TypeError, "expected a fitted search.*list"),
    ],
)
def test_errors_name_the_parameter(source, error, match):
    with pytest.raises(error, match=f"(?i)source: .*{match}"):
        known_results(source, space(x=(0, 1)))
