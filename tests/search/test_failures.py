"""Rules E1 … E4: fits that fail."""

import math
import warnings

import numpy as np
import pytest
from side_by_side import Sometimes, assert_same_results, searches
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.svm import SVC

from skbayes import BayesSearchCV

X, y = load_iris(return_X_y=True)
ROWS = np.arange(150.0)[:, None]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_e1_raise_passes_the_exception_on(n_jobs):
    search = BayesSearchCV(
        Sometimes(bad="fit"),
        {"quality": [1, 2]},
        error_score="raise",
        n_jobs=n_jobs,
        random_state=0,
    )
    with pytest.raises(RuntimeError, match="cannot be fitted"):
        search.fit(X, y)


@pytest.mark.parametrize("error_score", [0.25, np.nan, -3])
def test_e1_a_number_goes_into_the_failed_folds(error_score):
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


def test_e2_a_trial_whose_every_fold_fails_costs_that_trial_only():
    space = {"quality": (0.0, 1.0), "bad": [None, "fit"]}
    search = BayesSearchCV(Sometimes(), space, n_iter=12, cv=3, random_state=0)
    with pytest.warns() as caught:
        search.fit(X, y)
    assert any(issubclass(w.category, FitFailedWarning) for w in caught)
    failed = [trial for trial in search.trials_ if trial.params["bad"] == "fit"]
    worked = [trial for trial in search.trials_ if trial.params["bad"] is None]
    assert failed and worked and len(search.trials_) == 12
    for trial in failed:
        assert trial.state == "failed"
        assert math.isnan(trial.score)
        assert "cannot be fitted" in trial.error
    assert all(trial.state == "complete" and trial.error is None for trial in worked)
    assert search.best_params_["bad"] is None
    # The model is told of the failures, and steers away from them.
    assert len(worked) > len(failed)


@pytest.mark.parametrize("error_score", [100.0, np.nan])
def test_e2_a_wholly_failed_trial_is_no_score_to_the_model(error_score):
    search = BayesSearchCV(
        Sometimes(),
        {"bad": ["fit", "none"]},
        n_iter=2,
        error_score=error_score,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.set_params(refit=False).fit(X, y)
    told = {trial.params["bad"]: trial.score for trial in search.trials_}
    assert math.isnan(told["fit"])
    assert told["none"] == 0.5
    row = search.cv_results_["params"].index({"bad": "fit"})
    np.testing.assert_equal(search.cv_results_["mean_test_score"][row], error_score)


@pytest.mark.parametrize("error_score", [0.0, np.nan])
def test_e2_all_failing_raises_with_the_traceback(error_score):
    search = BayesSearchCV(
        Sometimes(bad="fit"),
        {"quality": [1, 2]},
        cv=3,
        error_score=error_score,
        random_state=0,
    )
    with pytest.raises(ValueError, match="All the 6 fits failed") as raised:
        search.fit(X, y)
    assert "RuntimeError: cannot be fitted" in str(raised.value)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_e3_errors_of_the_refit_always_rise_and_lose_nothing(error):
    class FailsOnAll(Sometimes):
        def fit(self, X, y):
            if len(X) == 150:
                raise error("too many rows")
            return super().fit(X, y)

    search = BayesSearchCV(
        FailsOnAll(), {"quality": [1, 2]}, n_iter=2, cv=3, random_state=0
    )
    with pytest.raises(error, match="too many rows"):
        search.fit(X, y)
    assert search.best_params_ == {"quality": 2}
    assert search.best_score_ == search.cv_results_["mean_test_score"][1] == 2
    assert len(search.trials_) == search.optimizer_.n_told == 2
    assert search.stop_reason_ == "exhausted"
    assert search.target_metric_ == "score" and callable(search.scorer_)
    assert not hasattr(search.best_estimator_, "classes_")


def test_a_callable_refit_that_raises_loses_nothing():
    search = BayesSearchCV(
        Sometimes(),
        {"quality": [1, 2]},
        n_iter=2,
        refit=lambda results: 1 // 0,
        random_state=0,
    )
    with pytest.raises(ZeroDivisionError):
        search.fit(X, y)
    assert len(search.trials_) == len(search.cv_results_["params"]) == 2


def test_a_constraint_that_raises_later_ends_the_search():
    def late(params):
        if params["quality"] > 0.9:
            raise ZeroDivisionError
        return True

    search = BayesSearchCV(
        Sometimes(), {"quality": (0.0, 1.0)}, constraint=late, random_state=0
    )
    with pytest.raises(ValueError, match="constraint: raised ZeroDivisionError"):
        search.fit(X, y)


def test_e4_several_metrics_are_all_nan_for_a_failed_fit():
    grid = {"bad": [None, "fit"]}
    ours, theirs = searches(
        Sometimes(), grid, cv=2, scoring=["accuracy", "recall_macro"], refit="accuracy"
    )
    for search in (ours, theirs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(X, y)
    assert_same_results(ours, theirs)
    assert np.isnan(ours.cv_results_["mean_test_recall_macro"][1])


def test_e4_a_callable_whose_first_trial_fails():
    def both(estimator, X, y):
        return {"a": estimator.quality, "b": 1.0}

    grid = [{"bad": ["fit"]}, {"quality": [0.1, 0.3]}]
    ours, theirs = searches(Sometimes(), grid, cv=2, scoring=both, refit="a")
    for search in (ours, theirs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(X, y)
    assert_same_results(ours, theirs)
    assert ours.best_params_ == {"quality": 0.3}
    assert ours.trials_[0].scores.keys() == {"a", "b"}


def test_what_set_params_refuses_for_one_proposal_costs_that_trial():
    space = {"quality": [0.5, 2.0], "bad": [None, "params"]}
    # Every single value is fine, and so are the configurations that check the names.
    search = BayesSearchCV(
        Sometimes(), space, n_iter=4, cv=2, return_train_score=True, random_state=0
    )
    allowed = [{"quality": 0.5, "bad": None}]
    search.set_params(search_spaces=space)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skbayes.space.Space.representatives", lambda self: allowed)
        with pytest.warns() as caught:
            search.fit(X, y)
    assert any("2 fits failed out of a total of 8" in str(w.message) for w in caught)
    (refused,) = [t for t in search.trials_ if t.state == "failed"]
    assert refused.params == {"quality": 2.0, "bad": "params"}
    assert "do not go together" in refused.error
    assert search.best_params_ == {"quality": 2.0, "bad": None}
    search.set_params(error_score="raise")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skbayes.space.Space.representatives", lambda self: allowed)
        with pytest.raises(ValueError, match="do not go together"):
            search.fit(X, y)


def test_a_refused_proposal_with_several_metrics():
    space = {"quality": [0.5, 2.0], "bad": [None, "params"]}
    search = BayesSearchCV(
        Sometimes(),
        space,
        n_iter=4,
        cv=2,
        scoring=["accuracy"],
        refit="accuracy",
        random_state=0,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skbayes.space.Space.representatives", lambda self: [])
        with pytest.warns():
            search.fit(X, y)
    assert np.isnan(search.cv_results_["mean_test_accuracy"]).sum() == 1


def test_a_scorer_that_returns_no_number_raises():
    search = BayesSearchCV(
        SVC(),
        {"C": [1, 2]},
        n_iter=2,
        scoring=lambda estimator, X, y: "high",
        random_state=0,
    )
    with pytest.raises(ValueError, match="must return a number"):
        search.fit(X, y)


def test_infinite_scores_are_failures_to_the_model():
    def scoring(estimator, X, y):
        return math.inf if estimator.quality < 0.5 else estimator.quality

    search = BayesSearchCV(
        Sometimes(), {"quality": [0.2, 0.8]}, n_iter=2, scoring=scoring, random_state=0
    )
    with pytest.warns(UserWarning, match="non-finite"):
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        search.fit(X, y)
    assert [trial.state for trial in search.trials_] == ["failed", "complete"]


class Sealed:
    """Can be copied, but not unpickled."""

    def __deepcopy__(self, memo):
        return Sealed()

    def __reduce__(self):
        return int, ("sealed",)


def test_what_cannot_be_unpickled_in_a_worker_is_an_error():
    search = BayesSearchCV(
        Sometimes(bad=Sealed()),
        {"quality": (0.0, 1.0)},
        n_iter=3,
        cv=2,
        n_jobs=2,
        random_state=0,
    )
    with pytest.raises(RuntimeError, match="un-serialize"):
        search.fit(X, y)
