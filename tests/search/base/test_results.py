"""`cv_results_`, the choice of a candidate, and log messages.

What `test_sklearn_suite` covers is not repeated here.
"""

import io
import logging
import re
from contextlib import redirect_stdout

import numpy as np
import pytest
from every_search import small_search
from grid_comparison import ENOUGH, assert_same_results, fit_both, searches
from scipy.stats import loguniform
from simple_estimators import Sometimes
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes.results.scores import OneStandardError, corrected_best_score
from skbayes.space import candidates

X, y = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier(random_state=0)
LISTS = [
    {"kernel": ["rbf"], "C": [1, 10], "gamma": [0.1, 1]},
    {"kernel": ["poly"], "degree": [1, 2]},
]


def several(estimator, X, y):
    predicted = estimator.predict(X)
    return {
        "accuracy": accuracy_score(y, predicted),
        "f1": f1_score(y, predicted, average="macro"),
    }


# Arguments, and the metric that guides the search.
SCORINGS = {
    "own": (None, True, "score"),
    "name": ("f1_macro", True, "score"),
    "callable": (lambda e, X, y: -float(e.C * (e.kernel == "rbf")), True, "score"),
    "list": (["accuracy", "f1_macro"], "f1_macro", "f1_macro"),
    "tuple": (("accuracy", "f1_macro"), "accuracy", "accuracy"),
    "dict": ({"a": "accuracy", "b": "f1_macro"}, "b", "b"),
    "callable-several": (several, "f1", "f1"),
    "score-by-name": (lambda e, X, y: {"score": e.score(X, y)}, "score", "score"),
    "list-unrefitted": (["f1_macro", "accuracy"], False, "f1_macro"),
    "dict-callable-refit": ({"a": "accuracy", "b": "f1_macro"}, lambda r: 2, "a"),
    "callable-several-unrefitted": (several, False, "accuracy"),
    "own-callable-refit": (None, lambda r: len(r["params"]) - 1, "score"),
    "own-unrefitted": (None, False, "score"),
}


@pytest.mark.parametrize("place", range(len(SCORINGS)), ids=list(SCORINGS))
def test_same_results_as_grid_search(place):
    scoring, refit, target = [*SCORINGS.values()][place]
    params = {"scoring": scoring, "refit": refit, "return_train_score": place % 2 == 0}
    ours, theirs = fit_both(SVC(), LISTS, X, y, cv=2, **params)
    assert_same_results(ours, theirs)
    assert (type(ours.scorer_) is dict) == (type(theirs.scorer_) is dict)
    for name in ("refit_time_", "best_estimator_"):
        assert hasattr(ours, name) == bool(refit)
    assert ours.stop_reason_ == "exhausted"
    assert ours.target_metric_ == target
    scores = [trial.score for trial in ours.trials_]
    np.testing.assert_allclose(scores, ours.cv_results_[f"mean_test_{target}"])


def test_the_metric_of_a_rule_guides_the_search():
    def search(scoring, metric):
        params = {"scoring": scoring, "refit": OneStandardError(metric=metric)}
        return small_search(SVC(), {"C": [0.1, 1.0]}, **params).fit(X, y)

    for scoring, metric in ((["f1_macro", "accuracy"], "f1"), ("accuracy", "f1_macro")):
        with pytest.raises(ValueError, match=f"refit=.*{metric}.*not among"):
            search(scoring, metric)
    fitted = search(["f1_macro", "accuracy"], "accuracy")
    assert fitted.target_metric_ == "accuracy"
    assert not hasattr(fitted, "best_score_")
    assert fitted.best_params_ in ({"C": 0.1}, {"C": 1.0})


def test_ranks_share_the_lowest_and_put_failures_last():
    grid = {"quality": [0.5, 0.7, 0.2], "bad": [None]}
    pairs = [grid, {"bad": ["fit"], "quality": [0.9]}, {"bad": ["none"]}]
    ours, theirs = searches(Sometimes(quality=0.7), pairs, cv=2)
    for search in (ours, theirs):
        with pytest.warns() as caught:
            search.fit(X, y)
        assert {w.category for w in caught} == {FitFailedWarning, UserWarning}
    assert_same_results(ours, theirs)
    ranks = ours.cv_results_["rank_test_score"]
    assert ranks.dtype == np.int32
    assert ranks.tolist() == [3, 1, 4, 5, 1]
    assert ours.best_index_ == 1


def test_scores_that_are_not_finite_give_one_warning():
    search = small_search(Sometimes(), {"quality": [0.1, 0.5, 0.9]}, n_iter=3)
    search.set_params(scoring=lambda estimator, X, y: np.nan, refit=False)
    with pytest.warns(UserWarning, match="non-finite"):
        search.fit(X, y)
    assert {trial.state for trial in search.trials_} == {"failed"}
    space = {"quality": (0.0, 1.0), "bad": [None, "fit"]}
    with pytest.warns() as caught:
        small_search(Sometimes(), space, n_iter=6).fit(X, y)
    assert sum("non-finite" in str(w.message) for w in caught) == 1
    assert sum(issubclass(w.category, FitFailedWarning) for w in caught) == 1


def test_means_are_unweighted_over_splits_of_unequal_size():
    third, rest = np.arange(0, 150, 3), np.arange(140)
    splits = [(rest, np.arange(140, 150)), (third, np.arange(150))]
    space = {"C": (0.1, 9.0)}
    search = small_search(SVC(), space, n_iter=3, cv=splits)
    table = search.fit(X, y).cv_results_
    columns = np.stack([table["split0_test_score"], table["split1_test_score"]])
    np.testing.assert_allclose(table["mean_test_score"], columns.mean(axis=0))
    np.testing.assert_allclose(table["std_test_score"], columns.std(axis=0))
    assert [t.score for t in search.trials_] == table["mean_test_score"].tolist()
    for what in ("fit", "score"):
        times = [getattr(trial, f"{what}_times") for trial in search.trials_]
        np.testing.assert_allclose(table[f"mean_{what}_time"], np.mean(times, axis=1))
        np.testing.assert_allclose(table[f"std_{what}_time"], np.std(times, axis=1))
    assert all(trial.duration > 0 for trial in search.trials_)


def test_best_attributes_describe_the_chosen_row():
    points = [{"C": 3.0}, {"C": 0.5}]
    params = {"n_iter": 4, "cv": 3, "initial_points": points}
    search = small_search(SVC(), {"C": loguniform(0.01, 10)}, **params).fit(X, y)
    table = search.cv_results_
    np.testing.assert_allclose(table["param_C"][:2].astype(float), [3.0, 0.5])
    assert search.best_index_ == np.argmax(table["mean_test_score"])
    assert search.best_params_ == table["params"][search.best_index_]
    assert search.best_score_ == table["mean_test_score"][search.best_index_]
    assert search.best_estimator_.C == search.best_params_["C"]
    assert 0 < search.refit_time_ < search.total_time_
    assert search.optimizer_.n_told == len(search.trials_) == 4
    assert search.optimizer_.best_params == search.best_params_
    assert [t.number for t in search.trials_] == list(range(4))


@pytest.mark.parametrize("error_score", [np.nan, 0.25])
def test_a_callable_that_fails_in_some_folds_has_the_error_score(error_score):
    def both(estimator, X, y):
        if len(X) > 75:
            raise RuntimeError("too many rows")
        return {"a": estimator.C, "b": 1.0}

    splits = [(np.arange(50, 150), np.arange(100)), (np.arange(80), np.arange(80, 150))]
    params = {"scoring": both, "refit": False, "error_score": error_score}
    search = small_search(SVC(), {"C": [1.0, 2.0]}, cv=splits, **params)
    with pytest.warns(UserWarning):
        search.fit(X, y)
    assert search.target_metric_ == "a"
    for name in ("a", "b"):
        failed = search.cv_results_[f"split0_test_{name}"]
        np.testing.assert_array_equal(failed, error_score)
    np.testing.assert_array_equal(search.cv_results_["split1_test_b"], 1.0)
    for fold in search.trials_.folds:
        assert fold.test_scores.keys() == {"a", "b"}


def test_finite_space_is_visited_once_and_picks_what_grid_search_picks(fits_here):
    grid = {"max_depth": [3, 1, 2], "criterion": ["gini", "entropy"]}
    expected = list(ParameterGrid(grid))
    theirs = GridSearchCV(TREE, grid, cv=2).fit(X, y)
    for n_iter in (6, ENOUGH):
        ours = small_search(TREE, grid, n_iter=n_iter).fit(X, y)
        assert ours.cv_results_["params"] == expected
        assert ours.best_params_ == theirs.best_params_
        assert ours.stop_reason_ == "exhausted"
    # With a timeout or fewer trials, the model orders the same set.
    for n_trials, params in ((6, {"timeout": 1e6, "n_iter": 50}), (5, {"n_iter": 5})):
        search = small_search(TREE, grid, **params).fit(X, y)
        points = search.cv_results_["params"]
        assert len(points) == len({repr(params) for params in points}) == n_trials
        assert all(params in expected for params in points)
        assert search.stop_reason_ == ("exhausted" if n_trials == 6 else "n_iter")
    with pytest.warns(match="search_spaces is empty"):
        assert_same_results(*fit_both(SVC(C=3), {}, X, y, cv=3))


def test_a_constraint_that_allows_one_configuration(monkeypatch):
    monkeypatch.setattr(candidates, "N_LAST_BATCHES", 1)
    search = small_search(
        TREE,
        {"ccp_alpha": (0.0, 1.0)},
        initial_points=[{"ccp_alpha": 0.1}],
        constraints=lambda params: params["ccp_alpha"] == 0.1,
    )
    message = r"ends after 1 trial\. The constraint allows no new .* 33,024"
    with pytest.warns(UserWarning, match=message):
        search.fit(X, y)
    assert search.stop_reason_ == "exhausted"


def make(**params):
    space = {"C": (1e-2, 1e2, "log-uniform"), "kernel": ["rbf", "linear"]}
    return small_search(SVC(), space, **{"n_iter": 4, "cv": 3, **params})


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_frame_has_the_results_and_can_be_sorted(library):
    search = make().fit(X, y)
    frame = search.results_frame(library)
    assert list(frame["param_C"]) == [p["C"] for p in search.cv_results_["params"]]
    scores = search.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(frame["mean_test_score"], scores)
    best_first = search.results_frame(library, sort_by="score")
    assert next(iter(best_first["mean_test_score"])) == search.best_score_
    with pytest.raises(NotFittedError):
        make().results_frame(library)


@pytest.mark.parametrize("metric", ["score", "f1_macro"])
def test_the_corrected_score_goes_with_the_best_score(metric):
    several = {"scoring": ["accuracy", metric], "refit": metric}
    search = make(**several if metric != "score" else {}).fit(X, y)
    results, best = search.cv_results_, search.best_index_
    expected = corrected_best_score(results, best, 3, metric)
    assert search.best_score_corrected_ == expected <= search.best_score_
    chosen = make(refit=lambda results: 0).fit(X, y)
    assert not hasattr(chosen, "best_score_corrected_")


def test_the_logger_tells_of_each_trial(caplog, capsys):
    with caplog.at_level(logging.DEBUG, logger="skbayes"):
        make().fit(X, y)
    messages = [record.getMessage() for record in caplog.records]
    for event in (" finished: complete", " started: "):
        events = [message[:8] for message in messages if event in message]
        assert events == [f"trial {number} " for number in range(4)]
    assert capsys.readouterr() == ("", "")


def test_limits_reach_the_optimizer(fits_here):
    optimizer = make(n_iter=1).fit(X, y).optimizer_
    assert optimizer.cost_limit is None and optimizer.cost_budget is None
    optimizer = make(n_iter=2, pre_dispatch=2, timeout=1e5).fit(X, y).optimizer_
    assert optimizer.cost_limit is None
    # Seconds of all that are in flight.
    assert optimizer.cost_budget == pytest.approx(2e5, rel=1e-3)


def printed(search):
    out = io.StringIO()
    with redirect_stdout(out):
        search.fit(X, y)
    return out.getvalue().splitlines()


def test_one_line_per_trial():
    assert printed(make(n_iter=6)) == []
    search = make(n_iter=6, verbose=1)
    first, *lines, advice = printed(search)
    assert advice.startswith("Advice: ")
    assert first == "Fitting 3 folds for each of 6 candidates, totalling 18 fits"
    assert len(lines) == 6
    best = -np.inf
    for number, (line, trial) in enumerate(zip(lines, search.trials_, strict=True)):
        match = re.fullmatch(
            r"\[(\d)/6\] trial (\d): score (\S+), best so far (\S+) \(trial (\d)\), "
            r"elapsed \d+\.\ds, left \d+\.\ds",
            line,
        )
        best = max(best, trial.score)
        assert (int(match[1]), int(match[2])) == (number + 1, number)
        assert float(match[3]) == pytest.approx(trial.score, rel=1e-5)
        assert float(match[4]) == pytest.approx(best, rel=1e-5)
        assert search.trials_[int(match[5])].score == best


@pytest.mark.parametrize("verbose", [2, 10])
def test_verbose_prints_the_lines_of_grid_search(verbose):
    both = searches(SVC(), {"C": [0.1, 1.0]}, cv=2, verbose=verbose)
    ours, theirs = map(printed, both)

    def timeless(lines):
        return [
            re.sub(r"\.*|\s*total time=.*", "", re.sub(r"\d+\.\ds$", "", line))
            for line in lines
            if "] trial " not in line and not line.startswith("Advice: ")
        ]

    assert timeless(ours) == timeless(theirs)
    lines = [line for line in ours if "] trial " in line]
    assert len(lines) == 4
    assert "score" in lines[0]
    assert lines[1] == "[1/2] trial 0: C=0.1"
