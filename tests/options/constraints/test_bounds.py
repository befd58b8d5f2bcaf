"""Bounds, outcomes and violations."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import make_scorer, recall_score
from sklearn.tree import DecisionTreeClassifier

from skbayes.options.constraints.aspect import N_FIRST, unreachable_text
from skbayes.options.constraints.bounds import (
    Bound,
    Constraints,
    parse_bound,
    parse_constraints,
)
from skbayes.trial.measure import COSTS, Measure, predict_time
from skbayes.trial.records import FoldResult, History, Trial, mean_outcomes

# NumPy 1.25 moved it.
ComplexWarning = getattr(np, "exceptions", np).ComplexWarning

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize(
    "text, is_upper, limit",
    [("<= 1e6", True, 1e6), (">=.9", False, 0.9), (" <=  -2 ", True, -2.0)],
)
def test_slacks_are_positive_exactly_where_a_bound_is_broken(
    text, is_upper, limit, is_log
):
    bound = parse_bound("a", text, is_log)
    # The slack of a negative bound has no logarithm.
    assert bound.is_log == (is_log and limit > 0.0)
    values = np.sort([0.0, 1e-9, limit / 2, limit, 1.0001 * limit, 3.0 * limit, 1e9])
    slacks = np.array([bound.slack(value) for value in values])
    broken = values > limit if is_upper else values < limit
    np.testing.assert_array_equal(slacks > 0.0, broken)
    assert np.all(np.isfinite(slacks))
    assert np.all(np.diff(slacks if is_upper else -slacks) >= 0.0)
    assert math.isnan(bound.slack(math.nan))


@pytest.mark.parametrize(
    "text", ["< 3", "3", "<= three", "<= nan", ">= inf", "", 3, None, "<= 1 MB"]
)
def test_texts_that_are_not_bounds_are_refused(text):
    with pytest.raises(ValueError, match=r"constraints\['a'\] must be a bound"):
        parse_bound("a", text, False)


def test_only_measures_have_logarithmic_slacks():
    notation = {"cost": "<= 3", "recall": ">= 3", "model_size": "<= 3", "f1": ">= 0.5"}
    metrics = {"cost": "cost", "recall": "recall"}
    parsed = parse_constraints(notation, metrics, ["cost"], False)
    assert [bound.is_log for bound in parsed.bounds] == [True, False, True, False]
    assert parsed.metrics == metrics and parsed.scorers == {"f1": "f1"}
    assert parsed.measures == {"model_size": COSTS["model_size"]}


def folds(*outcomes):
    return [FoldResult({"score": 0.5}, extras={"outcomes": one}) for one in outcomes]


BOTH = Constraints(
    (Bound("a", True, 1.0), Bound("a", False, 0.2), Bound("b", True, 4.0, True))
)


def test_outcomes_are_means_over_the_fitted_folds():
    results = [
        *folds({"a": 1.0, "b": 8.0}, {"a": 2.0, "b": 8.0}),
        FoldResult(status="skipped"),
    ]
    assert mean_outcomes(results) == {"a": 1.5, "b": 8.0}
    assert BOTH.names == ["a", "b"]
    np.testing.assert_allclose(BOTH.slacks(results), [0.5, -1.3, math.log(2.0)])
    assert BOTH.violation(results) == pytest.approx(0.5 + math.log(2.0))
    assert BOTH.violation(folds({"a": 0.5, "b": 1.0})) == 0.0
    assert BOTH.violation(folds({"a": 0.5})) == math.inf
    failed = Trial(0, {}, folds({"a": 0.5, "b": 1.0}), math.nan, state="failed")
    assert np.all(np.isnan(BOTH.of_trial(failed)))


def test_a_bound_is_surely_broken_only_if_the_folds_agree():
    def broken(*values, n=5):
        return BOTH.surely_broken(folds(*({"a": v, "b": 1.0} for v in values)), n, 0.01)

    assert not broken(5.0)
    assert broken(5.0, 5.0) and broken(1.5, 1.5)
    assert broken(5.0, 5.01, 4.99)
    assert not broken(0.9, 1.2, 1.3)
    assert not broken(0.5, 0.5)
    assert not BOTH.surely_broken(folds({"a": 5.0}, {}), 5, 0.01)


LIMITS = Constraints((Bound("size", True, 100.0, True), Bound("recall", False, 0.5)))


def history(sizes, recall=0.9):
    outcomes = [{"size": size, "recall": recall} for size in sizes]
    return History([Trial(k, {}, folds(one), 0.5) for k, one in enumerate(outcomes)])


def test_figures_say_how_far_a_bound_is():
    (sentence,) = LIMITS.unreachable(history([300.0, 250.0, 400.0]))
    assert "size <= 100" in sentence
    assert "smallest of 3 values is 250." in sentence
    (sentence,) = LIMITS.unreachable(history([50.0, 70.0], recall=0.25))
    assert "largest of 2 values is 0.25." in sentence
    assert not LIMITS.unreachable(history([300.0, 50.0]))
    assert not LIMITS.unreachable(History())
    # They are reported once, after the first trials, of which none failed.
    for size in (50.0, 300.0):
        trials = history([size] * (N_FIRST + 3))
        texts = [unreachable_text(LIMITS, trials[: n + 1]) for n in range(len(trials))]
        reported = [n for n, text in enumerate(texts, 1) if text is not None]
        assert reported == ([N_FIRST] if size == 300.0 else [])
    failed = Trial(99, {}, [], math.nan, state="failed")
    assert unreachable_text(LIMITS, History([*trials[:N_FIRST], failed])) is None


def held_out():
    return X, y, {}


def fitted_result(**fields):
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    result = {"fit_error": None, "estimator": tree, "test_scores": {"score": 0.7}}
    return {**result, "test_rows": lambda: X, **fields}


def test_measures_are_those_of_the_fit():
    scorer = make_scorer(recall_score, average="macro")
    constraints = Constraints(
        scorers={"recall": scorer, "accuracy": "accuracy"},
        measures={
            "leaves": Measure(DecisionTreeClassifier.get_n_leaves),
            "time": COSTS["predict_time"],
        },
        metrics={"own": "score"},
    )
    result = fitted_result()
    measures = constraints.measure(result, held_out, raises=True)
    predicted = result["estimator"].predict(X)
    assert list(measures) == ["recall", "accuracy", "leaves", "time", "own"]
    assert measures["recall"] == recall_score(y, predicted, average="macro")
    assert measures["accuracy"] == np.mean(predicted == y)
    assert measures["leaves"] == result["estimator"].get_n_leaves()
    assert measures["own"] == 0.7
    assert measures["time"] > 0.0
    failed = constraints.measure(fitted_result(fit_error="no"), None, True)
    assert np.all(np.isnan(list(failed.values())))
    # The imaginary part of an outcome is dropped with a warning.
    constraints = Constraints(
        scorers={"scorer": lambda estimator, X, y: 1 + 9j},
        measures={"measure": Measure(lambda estimator: 2 + 9j)},
        metrics={"metric": "score"},
    )
    result = fitted_result(test_scores={"score": 3 + 9j})
    with pytest.warns(ComplexWarning):
        measures = constraints.measure(result, held_out, raises=False)
    assert measures == {"scorer": 1.0, "measure": 2.0, "metric": 3.0}


def bad(estimator, X, y):
    raise RuntimeError("no outcome")


@pytest.mark.parametrize(
    "measures",
    [
        {"scorers": {"a": bad}},
        {"measures": {"a": Measure(lambda estimator: 1 / 0)}},
        {"measures": {"a": Measure(lambda estimator: [1, 2])}},
        {"metrics": {"a": "a"}},
    ],
)
def test_an_outcome_that_fails_is_unknown(measures):
    constraints = Constraints(**measures)
    result = fitted_result(test_scores={"other": 1.0})
    with pytest.warns(UserWarning, match="Measuring 'a' of constraints failed"):
        assert math.isnan(constraints.measure(result, held_out, raises=False)["a"])
    with pytest.raises((RuntimeError, ZeroDivisionError, ValueError, TypeError)):
        constraints.measure(result, held_out, raises=True)


def test_the_time_of_predict_is_that_of_one_row():
    class Recorder:
        rows: list = []  # noqa: RUF012

        def predict(self, X):
            self.rows.append(len(X))

    assert predict_time(Recorder(), X) >= 0.0
    assert set(Recorder.rows) == {1}
