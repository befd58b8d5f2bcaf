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
from simple_estimators import Whole
from sklearn.base import ClassifierMixin
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
    MultiStageSearchCV,
    TextRepresentationSearchCV,
    TradeoffSearchCV,
)
from skbayes.space import Choice

X, y = load_iris(return_X_y=True)
ROWS = np.arange(150.0)[:, None]


def search_of(estimator, space, kind=BayesSearchCV, **more):
    return kind(estimator, space, **{"cv": 2, "random_state": 0, **more})


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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("error_score", [100.0, np.nan])
def test_a_failed_trial_has_no_score_for_the_model(error_score):
    more = {"n_iter": 2, "refit": False, "error_score": error_score}
    search = search_of(Sometimes(), {"bad": ["fit", "none"]}, **more).fit(X, y)
    told = {trial.params["bad"]: trial.score for trial in search.trials_}
    assert math.isnan(told["fit"]) and told["none"] == 0.5
    row = search.cv_results_["params"].index({"bad": "fit"})
    np.testing.assert_equal(search.cv_results_["mean_test_score"][row], error_score)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_errors_of_the_refit_are_raised_and_the_results_kept(error):
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


def test_a_constraint_that_raises_later_ends_the_search():
    def late(params):
        if params["quality"] > 0.9:
            raise ZeroDivisionError
        return True

    search = search_of(Sometimes(), {"quality": (0.0, 1.0)}, constraints=late)
    with pytest.raises(ValueError, match="The constraint raised ZeroDivisionError"):
        search.fit(X, y)


def both(estimator, X, y):
    return {"a": estimator.quality, "b": 1.0}


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
def test_what_set_params_refuses_for_one_proposal_costs_that_trial(
    scoring, monkeypatch
):
    # Every single value is valid, and the configurations that check the names are, too.
    allowed = [{"quality": 0.5, "bad": None}]
    monkeypatch.setattr("skbayes.space.Space.covering_sample", lambda self: allowed)
    space = {"quality": [0.5, 2.0], "bad": [None, "params"]}
    refit = scoring is None or "accuracy"
    more = {"return_train_score": True, "scoring": scoring, "refit": refit}
    more["error_score"] = np.nan if scoring is None else -1.0
    search = search_of(Sometimes(), space, n_iter=4, **more)
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
        np.testing.assert_equal(score, more["error_score"])
    search.set_params(error_score="raise")
    with pytest.raises(ValueError, match="do not go together"):
        search.fit(X, y)


def test_a_scorer_that_returns_no_number_raises():
    scoring = {"scoring": lambda estimator, X, y: "high"}
    with pytest.raises(ValueError, match="must return a number"):
        search_of(SVC(), {"C": [1, 2]}, n_iter=2, **scoring).fit(X, y)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_infinite_scores_are_failures_to_the_model():
    def scoring(estimator, X, y):
        return math.inf if estimator.quality < 0.5 else estimator.quality

    space = {"quality": [0.2, 0.8]}
    search = search_of(Sometimes(), space, n_iter=2, scoring=scoring)
    with pytest.warns(UserWarning, match="non-finite"):
        search.fit(X, y)
    assert [trial.state for trial in search.trials_] == ["failed", "complete"]


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


class Unlearnable(ClassifierMixin):
    """Estimator that always fails in the same way, with a number in the message."""

    n_fits = 0

    def fit(self, X, y):
        type(self).n_fits += 1
        raise LookupError(f"cannot learn from {X.shape[0]} rows\nsecond line")


class UnlearnableTree(Unlearnable, DecisionTreeClassifier):
    # Before 1.7 scikit-learn looks for `check_input` in the signature.
    def fit(self, X, y, check_input=True):
        return super().fit(X, y)


class UnlearnableTexts(Unlearnable, LogisticRegression):
    pass


class CountedSVC(SVC):
    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).n_fits += 1
        return super().fit(X, y)


class SmallTree(DecisionTreeClassifier):
    """Tree that accepts a number of rows within limits."""

    limits = (0, math.inf)

    def fit(self, X, y, check_input=True):
        low, high = self.limits
        if not low <= len(X) <= high:
            raise LookupError("unsuitable number of rows")
        return super().fit(X, y)


@pytest.fixture(autouse=True)
def counts():
    for cls in (UnlearnableTree, UnlearnableTexts, CountedSVC):
        cls.n_fits = 0


@pytest.mark.parametrize("more", [{}, {"timeout": 600}])
@pytest.mark.parametrize("kind", SEARCHES)
def test_every_search_stops_when_nothing_can_be_fitted(kind, more, fits_here):
    text = kind is TextRepresentationSearchCV
    estimator = UnlearnableTexts() if text else UnlearnableTree()
    search = make(kind, estimator=estimator, n_iter=40, **more)
    with pytest.raises(LookupError, match="^cannot learn from ") as raised:
        search.fit(*data(kind))
    assert any(re.search(AS_IT_IS, note) for note in raised.value.__notes__)
    assert type(estimator).n_fits == 3 * 2 + 2
    assert not hasattr(search, "cv_results_")


@pytest.mark.parametrize("n_iter", [None, 60])
@pytest.mark.parametrize("n_points", [1, 2])
def test_stages_of_one_trial_and_one_fold_count_together(n_iter, n_points, fits_here):
    many, labels = np.zeros((6000, 1)), np.arange(6000) % 2
    search = MultiStageSearchCV(
        UnlearnableTree(), {"max_depth": (1, 9)}, timeout=600, n_iter=n_iter, cv=3
    ).set_params(pre_dispatch=n_points)
    with pytest.raises(LookupError, match="cannot learn from .* rows"):
        search.fit(many, labels)
    # Trials in flight may have begun.
    assert UnlearnableTree.n_fits <= 4 * 3 + 2


@pytest.mark.parametrize("limits", [(0, 60), (60, 150)])
def test_a_stage_that_cannot_be_fitted_ends_the_search(limits):
    class Tree(SmallTree):
        pass

    Tree.limits = limits
    more = {"kind": MultiStageSearchCV, "stages": (0.5, 1.0), "n_iter": (6, 6)}
    search = search_of(Tree(), {"max_depth": (1, 9)}, **more)
    with pytest.raises(LookupError, match="number of rows") as raised:
        search.fit(X, y)
    (note,) = raised.value.__notes__
    is_small = limits[0] > 0
    assert ("with 50.0% of the training rows" in note) == is_small
    assert ("If these are too few rows, change stages." in note) == is_small


PLACEHOLDER_SPACE = {
    "clf": [CountedSVC(), CountedSVC(kernel="linear")],
    "clf__C": (0.1, 10.0),
}


@pytest.mark.parametrize(
    "X, y, message, more",
    [
        (WITH_WORDS, y, "could not convert string to float: 'word ", {}),
        (WITH_A_WORD, y, "could not convert string to float: 'word'", {"cv": 3}),
        (X, np.zeros(150, int), "The number of classes has to be greater", {}),
        *(
            (WITH_GAPS, y, "Input X contains NaN.", more)
            for more in [
                {"error_score": 0.0},
                {"pre_dispatch": 4},
                {"kind": TradeoffSearchCV},
                {"space": [SVC_SPACE, {"C": (0.1, 10.0)}]},
                # The estimator of the search is a placeholder.
                *(
                    {
                        "estimator": Pipeline([("clf", placeholder)]),
                        "space": PLACEHOLDER_SPACE,
                        "scoring": "accuracy",
                    }
                    for placeholder in (DummyClassifier(), None)
                ),
            ]
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:Scoring failed")
def test_mistakes_in_the_data_cost_three_trials(X, y, message, more):
    search = search_of(**{"estimator": CountedSVC(), "space": SVC_SPACE, **more})
    with pytest.raises(ValueError, match=f"^{message}") as raised:
        search.fit(X, y)
    assert CountedSVC.n_fits == 3 * search.cv + 2
    assert any("The first 3 trials failed" in note for note in raised.value.__notes__)


def test_the_first_three_trials_in_flight_end():
    search = search_of(UnlearnableTree(), {"max_depth": (1, 100)}, pre_dispatch=4)
    with joblib.parallel_config("threading", n_jobs=2):
        with pytest.raises(LookupError, match=AS_IT_IS):
            search.fit(X, y)


@pytest.mark.parametrize("n_iter", [1, 2])
def test_fewer_trials_end_as_grid_search_does(n_iter):
    search = make(SEARCHES[0], estimator=UnlearnableTree(), n_iter=n_iter)
    with pytest.raises(ValueError, match=f"All the {2 * n_iter} fits failed"):
        search.fit(X, y)


def test_a_journal_stays_readable_and_goes_on_when_fits_work(tmp_path):
    path = tmp_path / "a.journal"

    class Mended(UnlearnableTree):
        broken = True

        def fit(self, X, y, check_input=True):
            work = DecisionTreeClassifier.fit
            return super().fit(X, y) if self.broken else work(self, X, y)

    search = make(SEARCHES[0], estimator=Mended(random_state=0), journal=path)
    for _ in range(2):  # the second one recalls the trials
        with pytest.raises(LookupError, match=AS_IT_IS):
            search.fit(X, y)
        assert skbayes.load_history(path)["state"].tolist() == ["failed"] * 3
    Mended.broken = False
    with pytest.warns():  # of the fits that failed
        search.fit(X, y)
    states = [trial.state for trial in search.trials_[:4]]
    assert states == ["failed"] * 3 + ["complete"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "scoring, more, error",
    [
        (scores_nothing, {}, (KeyError, "'a scorer'")),
        (scores_nan, {"trial_limits": {"time": 600}}, (ValueError, "the score of eac")),
        (lambda model, X, y: math.inf, {}, (ValueError, "each fit is inf")),
        (
            {"a": scores_nothing, "b": "accuracy"},
            {"refit": "a", "error_score": 0.0},
            (KeyError, "'a scorer'"),
        ),
    ],
)
def test_scoring_that_always_fails_ends_the_search(scoring, more, error, fits_here):
    space = {"quality": (0.0, 1.0)}
    search = search_of(Sometimes(), space, scoring=scoring, **more)
    with pytest.raises(error[0], match=error[1]) as caught:
        search.fit(X, y)
    assert "The first 3 trials failed in this way" in caught.value.__notes__[-1]


STEPS = Pipeline([("scale", SimpleImputer()), ("tree", Whole())])
OTHERS = {"min_samples_leaf": (1, 5), "splitter": ["best", "random"]}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    "estimator, space, words, more",
    [
        (Whole(), {"max_depth": (3.0, 10.0)}, "expected an int, got", {}),
        (Whole(), {"share": (2.0, 3.0)}, "share .* exceeds 1", {"n_jobs": 2}),
        (Whole(), {"share": (1.5, 3.0)}, "share .* exceeds 1", {"timeout": 600}),
        (
            Whole(),
            {"kernel": ["x", "y"], "max_depth": (1, 9)},
            "unknown kernel",
            {"error_score": -1.0},
        ),
        (Whole(), {"kernel": Choice({"a": {"share": (1.5, 3.0)}})}, "exceeds 1", {}),
        (STEPS, {"tree": Choice({Whole(): {"tree__share": (1.5, 3.0)}})}, "1.5|2", {}),
        # From scikit-learn 1.8 on, `penalty` is deprecated.
        (
            LogisticRegression(solver="lbfgs"),
            {"penalty": ["l1"], "C": (0.1, 10.0)},
            "Solver lbfgs supports only",
            {},
        ),
    ],
)
def test_values_that_always_fail_end_the_search(
    estimator, space, words, more, fits_here
):
    others = OTHERS if isinstance(estimator, Whole) else {}
    search = search_of(estimator, {**space, **others}, n_iter=30, **more)
    text = f"search_spaces: The first 3 trials failed in the same way.*{words}"
    with pytest.raises(ValueError, match=text) as raised:
        search.fit(X, y)
    assert all(repr(name) in str(raised.value) for name in space)
    assert type(raised.value.__cause__).__name__ in str(raised.value)


@pytest.mark.parametrize("kind", SEARCHES)
def test_values_that_always_fail_end_each_search(kind):
    if kind is TextRepresentationSearchCV:
        return
    more = {"estimator": Whole(), "search_spaces": {"share": (1.5, 3.0), **OTHERS}}
    if "complexity" in make(kind).get_params():
        more["complexity"] = {"min_samples_leaf": 1}
    with pytest.raises(ValueError, match="search_spaces: .*'share'.* exceeds 1"):
        make(kind, **more).fit(X, y)


def scores_sometimes(model, X, y):
    if model.quality < 0.9:
        raise KeyError("a scorer")
    return model.quality


def begins_with(points, **more):
    return {"initial_points": points, "n_iter": 8, **more}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator, space, X, more",
    [
        (
            Sometimes(),
            {"quality": (0.0, 1.0), "bad": [None, "fit"]},
            X,
            begins_with([{"quality": q, "bad": "fit"} for q in (0.1, 0.2, 0.3)]),
        ),
        (
            Pipeline([("fill", "passthrough"), ("svc", SVC())]),
            {"fill": ["passthrough", SimpleImputer()], "svc__C": (0.1, 10.0)},
            WITH_GAPS,
            begins_with(
                [{"fill": "passthrough", "svc__C": C} for C in (1.0, 2.0, 3.0)]
            ),
        ),
        # All configurations are tried, as by GridSearchCV.
        (Whole(kernel="b"), {"kernel": list("wxyza")}, X, {"n_iter": 5}),
        (Whole(), {"share": [1.5, 2.0, 3.0, 0.5]}, X, {"n_iter": 5}),
        *(
            (
                Sometimes(),
                {"quality": [0.1, 0.2, 0.3, 0.9]},
                X,
                begins_with(
                    [{"quality": q} for q in (0.1, 0.2, 0.3, 0.9)],
                    scoring=scores_sometimes,
                    error_score=error_score,
                ),
            )
            for error_score in (0.0, math.nan)
        ),
    ],
)
def test_first_trials_that_fail_by_chance_do_not_end_the_search(
    estimator, space, X, more
):
    search = search_of(estimator, space, **more).fit(X, y)
    # A finite error_score hides failures of the scorer.
    expected = {"failed"} if more.get("error_score") != 0.0 else {"complete"}
    assert {trial.state for trial in search.trials_[:3]} == expected
    assert any(trial.state == "complete" for trial in search.trials_[3:])
    assert search.best_score_ > 0.3
