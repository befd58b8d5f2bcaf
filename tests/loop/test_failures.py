"""Fits that fail."""

import math
import re
import warnings

import joblib
import numpy as np
import pytest
from every_search import SEARCHES, data, make
from grid_comparison import Sometimes, assert_same_results, searches
from scripted_estimators import scores_nan, scores_nothing
from simple_estimators import Whole, both
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import skbayes
from skbayes import (
    BayesSearchCV,
    HyperTuneSearchCV,
    MultiStageSearchCV,
    TextRepresentationSearchCV,
    TradeoffSearchCV,
)
from skbayes.space import Choice

X, y = load_iris(return_X_y=True)
ROWS = np.arange(150.0)[:, None]


def search_of(estimator, space, kind=BayesSearchCV, **params):
    return kind(estimator, space, **{"cv": 2, "random_state": 0, **params})


@pytest.mark.parametrize("error_score", [np.nan, -3])
def test_failed_folds_have_the_error_score(error_score):
    grid = {"quality": [0.5, 0.7], "bad": [None, "some"]}
    # Two splits: the training rows begin with an odd and with an even number.
    splits = [(np.arange(1, 80), np.arange(80, 150)), (np.arange(80), np.arange(9))]
    ours, theirs = searches(Sometimes(), grid, cv=splits, error_score=error_score)
    for search in (ours, theirs):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search.fit(ROWS, y)
        failed = [w for w in caught if issubclass(w.category, FitFailedWarning)]
        assert len(failed) == 1
        assert "2 fits failed out of a total of 8" in str(failed[0].message)
    assert_same_results(ours, theirs)


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_a_configuration_that_cannot_be_fitted_costs_one_trial():
    space = {"quality": (0.0, 1.0), "bad": [None, "fit"]}
    search = search_of(Sometimes(), space, n_iter=12)
    with pytest.warns(FitFailedWarning):
        search.fit(X, y)
    failed = [trial for trial in search.trials_ if trial.params["bad"] == "fit"]
    worked = [trial for trial in search.trials_ if trial.params["bad"] is None]
    assert failed and worked and len(search.trials_) == 12
    for trial in failed:
        assert trial.state == "failed" and math.isnan(trial.score)
        assert "cannot be fitted" in trial.error
    assert all(trial.state == "complete" and trial.error is None for trial in worked)
    assert search.best_params_["bad"] is None
    # The model observes the failures and avoids their region.
    assert len(worked) > len(failed)


def infinite(model, X, y):
    return math.inf if model.quality < 0.5 else model.quality


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "space, params, cell",
    [
        ({"bad": ["fit", "none"]}, {"error_score": 100.0}, 100.0),
        ({"bad": ["fit", "none"]}, {"error_score": np.nan}, np.nan),
        ({"quality": [0.2, 0.5]}, {"scoring": infinite}, np.inf),
    ],
)
def test_a_failed_trial_has_no_score_for_the_model(space, params, cell):
    search = search_of(Sometimes(), space, n_iter=2, refit=False, **params).fit(X, y)
    failed, worked = search.trials_
    assert (failed.state, worked.state) == ("failed", "complete")
    assert math.isnan(failed.score) and worked.score == 0.5
    assert search.cv_results_["params"][0] == failed.params
    np.testing.assert_equal(search.cv_results_["mean_test_score"][0], cell)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_the_results_remain_if_the_refit_fails(error):
    class FailsOnAll(Sometimes):
        def fit(self, X, y):
            if len(X) == 150:
                raise error("too many rows")
            return super().fit(X, y)

    search = search_of(FailsOnAll(), {"quality": [1, 2]}, n_iter=2)
    with pytest.raises(error, match="too many rows"):
        search.fit(X, y)
    assert search.best_params_ == {"quality": 2}
    assert search.best_score_ == search.cv_results_["mean_test_score"][1] == 2
    assert len(search.trials_) == search.optimizer_.n_told == 2
    assert search.stop_reason_ == "exhausted"
    assert search.target_metric_ == "score" and callable(search.scorer_)
    assert not hasattr(search.best_estimator_, "classes_")
    # So are those of a callable refit.
    with pytest.raises(ZeroDivisionError):
        search.set_params(refit=lambda results: 1 // 0).fit(X, y)
    assert len(search.trials_) == len(search.cv_results_["params"]) == 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "scoring, refit", [(both, "a"), (["accuracy", "recall_macro"], "accuracy")]
)
def test_the_first_trial_has_none_of_several_metrics(scoring, refit):
    grid = [{"bad": ["fit"]}, {"quality": [0.1, 0.3]}]
    ours, theirs = searches(Sometimes(), grid, cv=2, scoring=scoring, refit=refit)
    assert_same_results(ours.fit(X, y), theirs.fit(X, y))
    names = {"a", "b"} if scoring is both else {*scoring}
    assert ours.trials_[0].scores.keys() == names
    for name in names:
        assert np.isnan(ours.cv_results_[f"mean_test_{name}"][0])


@pytest.mark.filterwarnings("ignore:One or more of the")
@pytest.mark.parametrize("scoring", [None, ["accuracy", "f1_macro"]])
def test_parameters_that_are_refused_cost_one_trial(scoring, monkeypatch):
    # Every single value is valid, and the configurations that check the names are, too.
    allowed = [{"quality": 0.5, "bad": None}]
    monkeypatch.setattr("skbayes.space.Space.covering_sample", lambda self: allowed)
    space = {"quality": [0.5, 2.0], "bad": [None, "params"]}
    refit = scoring is None or "accuracy"
    params = {"return_train_score": True, "scoring": scoring, "refit": refit}
    params["error_score"] = np.nan if scoring is None else -1.0
    search = search_of(Sometimes(), space, n_iter=4, **params)
    with pytest.warns(FitFailedWarning, match="2 fits failed out of a total of 8"):
        search.fit(X, y)
    (refused,) = [t for t in search.trials_ if t.state == "failed"]
    assert refused.params == {"quality": 2.0, "bad": "params"}
    assert "do not go together" in refused.error
    assert refused.started is None and not refused.fit_times.any()
    assert refused.scores.keys() == {"score"} if scoring is None else {*scoring}
    row = search.cv_results_["params"].index(refused.params)
    for name in refused.scores:
        score = search.cv_results_[f"mean_test_{name}"][row]
        np.testing.assert_equal(score, params["error_score"])
    search.set_params(error_score="raise")
    with pytest.raises(ValueError, match="do not go together"):
        search.fit(X, y)


def test_a_scorer_that_returns_no_number_raises():
    scoring = {"scoring": lambda estimator, X, y: "high"}
    with pytest.raises(ValueError, match="must return a number"):
        search_of(SVC(), {"C": [1, 2]}, n_iter=2, **scoring).fit(X, y)


# -- failures of the first trials ------------------------------------------------------

WITH_GAPS = X.copy()
WITH_GAPS[::2, 1] = np.nan
WITH_WORDS = X.astype(object)
WITH_WORDS[:, 1] = [f"word {i}" for i in range(150)]
# It is in the test rows of the first split, whose fit works.
WITH_A_WORD = X.astype(object)
WITH_A_WORD[3, 1] = "word"
SVC_SPACE = {"C": (0.1, 10.0), "kernel": ["rbf", "linear"]}
AS_IT_IS = r"The first 3 trials.* failed in this way, and so did a fit"


class Unlearnable(LogisticRegression):
    """Classifier that always fails in the same way, with a number in the message."""

    n_fits, is_broken = 0, True

    def fit(self, X, y):
        type(self).n_fits += 1
        if self.is_broken:
            raise LookupError(f"cannot learn from {X.shape[0]} rows\nsecond line")
        return super().fit(X, y)


@pytest.fixture(autouse=True)
def counts(monkeypatch):
    monkeypatch.setattr(Unlearnable, "n_fits", 0)


def unlearnable(kind=BayesSearchCV, **params):
    """Return a search of a kind that cannot be fitted."""
    if kind is not TextRepresentationSearchCV:
        params["search_spaces"] = {"C": (0.1, 10.0)}
    if kind is HyperTuneSearchCV:
        params["complexity"] = {"C": 1}
    return make(kind, estimator=Unlearnable(), n_iter=40, **params)


@pytest.mark.parametrize("params", [{}, {"timeout": 600}])
@pytest.mark.parametrize("kind", SEARCHES)
def test_every_search_stops_when_nothing_can_be_fitted(kind, params, fits_here):
    search = unlearnable(kind, **params)
    with pytest.raises(LookupError, match="^cannot learn from ") as raised:
        search.fit(*data(kind))
    assert any(re.search(AS_IT_IS, note) for note in raised.value.__notes__)
    assert Unlearnable.n_fits == 3 * 2 + 2
    assert not hasattr(search, "cv_results_")


@pytest.mark.parametrize("n_iter, n_points", [(None, 1), (60, 2)])
def test_stages_of_one_trial_and_one_fold_count_together(n_iter, n_points, fits_here):
    params = {"stages": "auto", "timeout": 600, "cv": 3, "pre_dispatch": n_points}
    search = unlearnable(MultiStageSearchCV, **params).set_params(n_iter=n_iter)
    with pytest.raises(LookupError, match="cannot learn from .* rows"):
        search.fit(np.zeros((6000, 1)), np.arange(6000) % 2)
    # Trials in flight may have begun.
    assert Unlearnable.n_fits <= 5 * 3 + 2


@pytest.mark.parametrize("low, high", [(0, 60), (60, 150)])
def test_a_stage_that_cannot_be_fitted_ends_the_search(low, high):
    class Tree(DecisionTreeClassifier):
        def fit(self, X, y, check_input=True):
            if not low <= len(X) <= high:
                raise LookupError("unsuitable number of rows")
            return super().fit(X, y)

    params = {"kind": MultiStageSearchCV, "stages": (0.5, 1.0), "n_iter": (6, 6)}
    with pytest.raises(LookupError, match="number of rows") as raised:
        search_of(Tree(), {"max_depth": (1, 9)}, **params).fit(X, y)
    (note,) = raised.value.__notes__
    for text in ("50.0% of the training rows", "are too few rows, change stages."):
        assert (text in note) == (low > 0)


def of_placeholder(placeholder):
    """Return a search whose estimator has another one in its place."""
    space = {"clf": [SVC(), SVC(kernel="linear")], "clf__C": (0.1, 10.0)}
    pipeline = Pipeline([("clf", placeholder)])
    return {"estimator": pipeline, "space": space, "scoring": "accuracy"}


TIMED = {"cv": 3, "n_iter": None, "timeout": 600}
LIMITED = {"trial_limits": {"time": 600}}
TWO_SCORES = {"scoring": {"a": scores_nothing, "b": "accuracy"}, "refit": "a"}
NAN_AT_LAST = {"scoring": lambda model, X, y: math.nan if X[-1, 3] == 1.8 else 0.5}
ALWAYS_INF = {"scoring": lambda model, X, y: math.inf}


@pytest.mark.parametrize(
    "X, y, error, params",
    [
        (WITH_WORDS, y, "ValueError: could not convert string to float: 'word ", {}),
        (WITH_A_WORD, y, "ValueError: could not convert string to .*'", {"cv": 3}),
        (WITH_A_WORD, y, "ValueError: could not convert string to .*'", TIMED),
        (X, np.zeros(150, int), "ValueError: The number of classes has to be", {}),
        *(
            (WITH_GAPS, y, "ValueError: Input X contains NaN.", params)
            for params in [
                {"error_score": 0.0},
                {"pre_dispatch": 4},
                {"kind": TradeoffSearchCV},
                {"space": [SVC_SPACE, {"C": (0.1, 10.0)}]},
                of_placeholder(DummyClassifier()),
                of_placeholder(None),
            ]
        ),
        (X, y, "KeyError: 'a scorer'", {"scoring": scores_nothing}),
        (X, y, "KeyError: 'a scorer'", {**TWO_SCORES, "error_score": 0.0}),
        (X, y, "ValueError: .*the score on spl", {"scoring": scores_nan, **LIMITED}),
        (X, y, "ValueError: .*split 1 is nan", NAN_AT_LAST),
        (X, y, "ValueError: .*split 0 is inf", ALWAYS_INF),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_causes_outside_of_the_space_cost_three_trials(
    X, y, error, params, svc_fits, fits_here
):
    search = search_of(**{"estimator": SVC(), "space": SVC_SPACE, **params})
    with pytest.raises((ValueError, KeyError)) as raised:
        search.fit(X, y)
    assert re.match(error, f"{type(raised.value).__name__}: {raised.value}")
    n_timed = 2 * (params is TIMED)  # on one fold, where only the score is missing
    assert len(svc_fits) == n_timed + 3 * search.cv + 2
    assert any("The first 3 trials failed" in note for note in raised.value.__notes__)


@pytest.mark.filterwarnings("ignore")
def test_a_configuration_that_fails_on_one_fold_and_on_all_counts_once():
    class Rare(Sometimes):
        def fit(self, X, y):
            return Sometimes(bad="fit" * (self.quality < 0.5)).fit(X, y)

    params = {**TIMED, "initial_points": [{"quality": q} for q in (0.1, 0.2, 0.5)]}
    space = {"quality": [0.1, 0.2, 0.3, 0.4, 0.5]}
    assert search_of(Rare(), space, **params).fit(X, y).best_score_ == 0.5


def test_the_first_three_trials_in_flight_end():
    with joblib.parallel_config("threading", n_jobs=2):
        with pytest.raises(LookupError, match=AS_IT_IS):
            unlearnable(pre_dispatch=4).fit(X, y)


def test_a_journal_of_failed_trials_continues_when_fits_work(tmp_path, monkeypatch):
    search = unlearnable(journal=tmp_path / "a.journal").set_params(n_iter=4)
    for _ in range(2):  # the second one recalls the trials
        with pytest.raises(LookupError, match=AS_IT_IS):
            search.fit(X, y)
        assert skbayes.load_history(search.journal)["state"].tolist() == ["failed"] * 3
    monkeypatch.setattr(Unlearnable, "is_broken", False)
    with pytest.warns():  # of the fits that failed
        search.fit(X, y)
    states = [trial.state for trial in search.trials_]
    assert states == ["failed"] * 3 + ["complete"]


STEPS = Pipeline([("scale", SimpleImputer()), ("tree", Whole())])
OTHERS = {"min_samples_leaf": (1, 5), "splitter": ["best", "random"]}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    "estimator, space, words, params",
    [
        (Whole(), {"max_depth": (3.0, 10.0)}, "expected an int, got", {}),
        (Whole(), {"share": (2.0, 3.0)}, "share .* exceeds 1", {"n_jobs": 2}),
        (Whole(), {"share": (1.5, 3.0)}, "share .* exceeds 1", {"timeout": 600}),
        (Whole(), {"kernel": ["x", "y"], "max_depth": (1, 9)}, "unknown kernel",
         {"error_score": -1.0}),
        (Whole(), {"kernel": Choice({"a": {"share": (1.5, 3.0)}})}, "exceeds 1", {}),
        (STEPS, {"tree": Choice({Whole(): {"tree__share": (1.5, 3.0)}})}, "1.5|2", {}),
        # From scikit-learn 1.8 on, `penalty` is deprecated.
        (LogisticRegression(solver="lbfgs"), {"penalty": ["l1"], "C": (0.1, 10.0)},
         "Solver lbfgs supports only", {}),
    ],
)  # fmt: skip
def test_values_that_always_fail_end_the_search(
    estimator, space, words, params, fits_here
):
    others = OTHERS if isinstance(estimator, Whole) else {}
    search = search_of(estimator, {**space, **others}, n_iter=30, **params)
    text = f"search_spaces: The first 3 trials failed in the same way.*{words}"
    with pytest.raises(ValueError, match=text) as raised:
        search.fit(X, y)
    assert all(repr(name) in str(raised.value) for name in space)
    assert type(raised.value.__cause__).__name__ in str(raised.value)


def scores_sometimes(model, X, y):
    if model.quality < 0.9:
        raise KeyError("a scorer")
    return model.quality


QUALITY = {"quality": (0.0, 1.0), "bad": [None, "fit"]}
LISTED = {"quality": [0.1, 0.2, 0.3, 0.9]}
FILLED = Pipeline([("fill", "passthrough"), ("svc", SVC())])
FILLS = {"fill": ["passthrough", SimpleImputer()], "svc__C": (0.1, 10.0)}
BAD = [{"quality": q, "bad": "fit"} for q in (0.1, 0.2, 0.3)]
UNFILLED = [{"fill": "passthrough", "svc__C": C} for C in (1.0, 2.0, 3.0)]
RISING = [{"quality": q} for q in LISTED["quality"]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator, space, X, params",
    [
        (Sometimes(), QUALITY, X, {"initial_points": BAD}),
        (FILLED, FILLS, WITH_GAPS, {"initial_points": UNFILLED}),
        # All configurations are tried, as by GridSearchCV.
        (Whole(kernel="b"), {"kernel": list("wxyza")}, X, {}),
        (Whole(), {"share": [1.5, 2.0, 3.0, 0.5]}, X, {}),
        *(
            (Sometimes(), LISTED, X, {"initial_points": RISING, "error_score": value})
            for value in (0.0, math.nan)
        ),
    ],
)
def test_first_trials_that_fail_by_chance_do_not_end_the_search(
    estimator, space, X, params
):
    scoring = scores_sometimes if space is LISTED else None
    search = search_of(estimator, space, scoring=scoring, n_iter=8, **params).fit(X, y)
    # A finite error_score hides failures of the scorer.
    expected = {"failed"} if params.get("error_score") != 0.0 else {"complete"}
    assert {trial.state for trial in search.trials_[:3]} == expected
    assert any(trial.state == "complete" for trial in search.trials_[3:])
    assert search.best_score_ > 0.3
