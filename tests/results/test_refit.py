"""Rules for the choice of the candidate to refit."""

import copy
import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
)

from skbayes import BayesSearchCV
from skbayes.results.scores import FastestWithin, OneStandardError

RULES = [
    OneStandardError(),
    OneStandardError("C", largest=True, metric="accuracy"),
    OneStandardError(len),
    FastestWithin(0.1),
    FastestWithin(0.1, relative=True, time="mean_score_time", metric="accuracy"),
]


def results(scores, metric="score", fit_time=None, score_time=None, params=None):
    """Return `cv_results_` of candidates with these scores on each split."""
    scores = np.array(scores, dtype=float)
    n = len(scores)
    folds = {f"split{k}_test_{metric}": column for k, column in enumerate(scores.T)}
    return {
        "params": params or [{"size": i} for i in range(n)],
        "mean_fit_time": np.array(fit_time or range(n), dtype=float),
        "mean_score_time": np.array(score_time or range(n), dtype=float),
        **folds,
        f"mean_test_{metric}": scores.mean(axis=1),
    }


# The last one is the best: mean 3, deviation 1, standard error 1 / sqrt(3) = 0.577.
STEPS = [[2, 2, 2], [2.4, 2.4, 2.4], [2.5, 2.5, 2.5], [2.9, 2.9, 2.9], [2, 3, 4]]


def test_the_fastest_within_one_standard_error():
    assert OneStandardError()(results(STEPS)) == 2
    assert OneStandardError()(results(STEPS, fit_time=[0, 1, 4, 3, 2])) == 4


@pytest.mark.parametrize(
    "rule, chosen",
    [
        (OneStandardError("size"), 2),
        (OneStandardError("size", largest=True), 4),
        (OneStandardError(lambda params: abs(params["size"] - 3)), 3),
        (OneStandardError(lambda params: params["size"] == 4), 3),
    ],
)
def test_rules_choose_the_simplest_candidate(rule, chosen):
    assert rule(results(STEPS)) == chosen


def test_the_deviation_has_one_degree_of_freedom_less():
    # Without weights, the error would be 0.5 / sqrt(2), and 0.4 below the best too far.
    for score, chosen in ((0.6, 0), (0.4, 1)):
        assert OneStandardError()(results([[score, score], [0.5, 1.5]])) == chosen


def test_equally_simple_candidates_are_ranked_by_score_then_order():
    params = [{"size": 1}] * 5
    assert OneStandardError("size")(results(STEPS, params=params)) == 4
    tied = results([[1, 2], [1, 2], [1, 2]], params=[{"size": 1}] * 3)
    assert OneStandardError("size")(tied) == 0


@pytest.mark.parametrize("largest", [False, True])
def test_without_the_parameter_a_candidate_is_the_least_simple(largest):
    params = [{}, {"size": 9}, {"size": None}, {"size": 7}, {}]
    rule = OneStandardError("size", largest=largest)
    assert rule(results(STEPS, params=params)) == 3
    params[3] = {}
    # None that is eligible has the parameter: the best.
    assert rule(results(STEPS, params=params)) == 4


def test_fastest_within_epsilon():
    steps = results([[0.80], [0.88], [0.9]], score_time=[1, 3, 2])
    assert FastestWithin(0.05)(steps) == 1
    assert FastestWithin(0.2)(steps) == 0
    assert FastestWithin(0)(steps) == 2
    assert FastestWithin(0.05, time="mean_score_time")(steps) == 2
    table = {**results(STEPS), **results(STEPS[::-1], metric="f1")}
    assert OneStandardError(metric="f1")(table) == 0
    assert FastestWithin(0.2, metric="score")(table) == 3


def test_relative_to_the_best_whatever_its_sign():
    losses = results([[-110.0], [-104.0], [-100.0]])
    assert FastestWithin(0.05, relative=True)(losses) == 1
    assert FastestWithin(0.05)(losses) == 2
    gains = results([[90.0], [96.0], [100.0]])
    assert FastestWithin(0.05, relative=True)(gains) == 1


@pytest.mark.parametrize("rule", [OneStandardError(), FastestWithin(100.0)])
def test_a_candidate_without_a_score_is_never_chosen(rule):
    table = results([[math.nan, 3], [-math.inf, 3], [math.inf, 3], [2.9, 3.1]])
    assert rule(table) == 3
    # An unknown time comes last, and candidates that halving dropped are not chosen.
    table = results([[2.5, 3.5], [2.6, 3.3]], fit_time=[math.nan, 1.0])
    assert rule(table) == 1
    table = {**results(STEPS), "n_resources": np.array([10, 10, 10, 20, 20])}
    assert rule(table) in (3, 4)
    table["mean_test_score"][3:] = math.nan
    assert rule(table) < 3


@pytest.mark.parametrize("rule", [OneStandardError, lambda **m: FastestWithin(1, **m)])
def test_results_that_a_rule_cannot_use_are_refused(rule):
    with pytest.raises(ValueError, match=r"'mean_test_f1'.*\['score'\]"):
        rule(metric="f1")(results(STEPS))
    with pytest.raises(ValueError, match="no candidate has a finite score"):
        rule()(results([[math.nan, 1]]))
    with pytest.raises(ValueError, match=r"by='depth'.*\['size'\]"):
        OneStandardError("depth")(results(STEPS))
    with pytest.raises(ValueError, match="by='size' must give numbers, got 'big'"):
        OneStandardError("size")(results(STEPS, params=[{"size": "big"}] * 5))


@pytest.mark.parametrize("scores", [[[1], [2]], [[1, math.nan], [2, math.nan]]])
def test_one_fold_has_no_standard_error(scores):
    table = {**results(scores), "mean_test_score": np.array([1.0, 2.0])}
    with pytest.warns(UserWarning, match="no standard error"):
        assert OneStandardError()(table) == 1


@pytest.mark.parametrize("rule", [OneStandardError(), FastestWithin(9)])
def test_candidates_with_the_most_rows_and_folds_are_compared(rule):
    amounts = {"train_fraction": [1, 1, 0.5, 1, 1], "n_folds": [1, 2, 2, 2, 1]}
    assert rule(results(STEPS) | amounts) in (1, 3)


@pytest.mark.parametrize(
    ("rule", "arguments", "error", "match"),
    [
        (OneStandardError, {"by": 3}, TypeError, "by must be"),
        (OneStandardError, {"largest": "C"}, TypeError, "largest must be"),
        (OneStandardError, {"metric": None}, TypeError, "metric must be"),
        (FastestWithin, {"epsilon": "1"}, TypeError, "epsilon must be a number"),
        (FastestWithin, {"epsilon": True}, TypeError, "epsilon must be a number"),
        (FastestWithin, {"epsilon": -0.1}, ValueError, "epsilon must be 0 or more"),
        (FastestWithin, {"epsilon": math.nan}, ValueError, "epsilon must be 0 or more"),
        (FastestWithin, {"relative": 0.1}, TypeError, "relative must be"),
        (FastestWithin, {"time": "fit"}, ValueError, "time must be"),
        (FastestWithin, {"metric": 1}, TypeError, "metric must be"),
    ],
)
def test_wrong_arguments_are_refused(rule, arguments, error, match):
    needed = {"epsilon": 1} if rule is FastestWithin else {}
    with pytest.raises(error, match=match):
        rule(**(needed | arguments))


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_rules_can_be_pickled_compared_and_cloned(rule):
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert copy.deepcopy(rule) == rule
    search = clone(GridSearchCV(LogisticRegression(), {"C": [1]}, refit=rule))
    assert search.refit == rule
    assert type(rule).__name__ in repr(search)
    assert getattr(rule, "by", None) is len or eval(repr(rule)) == rule


@pytest.mark.parametrize("metric", ["score", "r2"])
@pytest.mark.parametrize(
    ("kind", "params"),
    [
        (GridSearchCV, {}),
        (RandomizedSearchCV, {"n_iter": 3, "random_state": 0}),
        (BayesSearchCV, {"random_state": 0}),
    ],
)
def test_a_rule_chooses_the_row_of_its_definition_in_a_search(kind, params, metric):
    X, y = load_diabetes(return_X_y=True)
    rule = OneStandardError("alpha", largest=True, metric=metric)
    scoring = None if metric == "score" else [metric, "neg_mean_absolute_error"]
    options = {"scoring": scoring, "refit": rule, "cv": 5, **params}
    search = kind(Ridge(), {"alpha": [1e-3, 0.1, 10.0]}, **options).fit(X, y)
    # By hand, from the definition.
    table = search.cv_results_
    means = table[f"mean_test_{metric}"]
    best = [table[f"split{k}_test_{metric}"][np.argmax(means)] for k in range(5)]
    lowest = max(means) - np.std(best, ddof=1) / np.sqrt(5)
    alphas = np.array([params["alpha"] for params in table["params"]])
    assert search.best_params_["alpha"] == max(alphas[means >= lowest])
    assert search.best_estimator_.alpha == search.best_params_["alpha"]
    assert search.best_index_ == rule(table)
    assert not hasattr(search, "best_score_")


def test_halving_searches_take_a_rule_though_they_ignore_it():
    options = {"refit": FastestWithin(1.0), "random_state": 0, "cv": 3}
    grid, logistic = {"C": [0.01, 0.1, 1.0]}, LogisticRegression(max_iter=500)
    search = HalvingGridSearchCV(logistic, grid, **options)
    search.fit(*load_iris(return_X_y=True))
    last = search.cv_results_["iter"] == search.cv_results_["iter"].max()
    assert last[search.refit(search.cv_results_)]
    assert last[search.best_index_]
