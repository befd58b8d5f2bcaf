"""Incomplete trials: `pruning` and `trial_limits`."""

import threading

import joblib
import numpy as np
import pytest
from every_search import small_search
from fake_clock import TakesTime
from grid_comparison import assert_same_tables
from scripted_estimators import Restless
from simple_estimators import Sometimes
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from skbayes import BayesSearchCV
from skbayes.search import running
from skbayes.trial.evaluator import can_end_fits

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:200], y[:200]
SMOOTH = {"C": (1e-4, 1e3, "log-uniform"), "gamma": (1e-9, 1e2, "log-uniform")}
FLOWERS, KINDS = load_iris(return_X_y=True)


def pruning(**kwargs):
    arguments = {"pruning": True, "n_iter": 14, "cv": 5, "random_state": 0}
    arguments |= {"initial_points": None, **kwargs}
    return BayesSearchCV(SVC(), SMOOTH, **arguments)


@pytest.fixture(scope="module")
def search():
    return pruning(return_train_score=True).fit(X, y)


def test_trials_without_a_chance_are_pruned(search):
    results = search.cv_results_
    assert set(results["state"]) == {"complete", "pruned"}
    given_up = results["state"] == "pruned"
    assert results["state"].shape == (14,)
    for column in ("mean_test_score", "std_test_score", "mean_train_score"):
        np.testing.assert_array_equal(np.isnan(results[column]), given_up)
    splits = np.array([results[f"split{i}_test_score"] for i in range(5)])
    # Each trial begins with another fold, and the last one of pruned trials has no
    # score.
    numbers = np.arange(14)
    assert np.isfinite(splits[numbers % 5, numbers]).all()
    last = splits[(numbers - 1) % 5, numbers]
    np.testing.assert_array_equal(np.isnan(last), given_up)
    assert results["rank_test_score"][given_up].min() > (~given_up).sum()
    assert results["state"][search.best_index_] == "complete"
    assert search.best_score_ == np.nanmax(results["mean_test_score"])
    for trial in search.trials_:
        assert (trial.noise is not None) == (trial.state == "pruned")
        assert np.isfinite(trial.score)
        unfitted = [not fold.is_fitted for fold in trial.folds]
        np.testing.assert_array_equal(np.isnan(trial.scores["score"]), unfitted)
        # The prediction from the first folds does not exceed the best.
        assert trial.score <= search.best_score_
    plain = small_search(SVC(), {"C": [1.0]}).fit(X, y)
    assert "state" not in plain.cv_results_


def test_no_pruned_trial_would_have_been_the_best(search):
    for trial in search.trials_:
        if trial.state == "pruned":
            grid = {name: [value] for name, value in trial.params.items()}
            whole = GridSearchCV(SVC(), grid, cv=5).fit(X, y)
            assert whole.best_score_ < search.best_score_


@pytest.mark.parametrize("n_points", [1, 4])
def test_pruned_trials_do_not_depend_on_n_jobs(n_points, search):
    params = {"pre_dispatch": n_points, "return_train_score": True}
    pair = pruning(**params, n_jobs=2).fit(X, y)
    alone = search if n_points == 1 else pruning(**params).fit(X, y)
    assert_same_tables(pair.cv_results_, alone.cv_results_)
    assert "pruned" in alone.cv_results_["state"]


def test_a_greater_risk_prunes_more():
    bold = pruning(pruning=0.3, surrogate="random").fit(X, y)
    assert sum(bold.cv_results_["state"] == "pruned") > 0
    never = pruning(pruning=1e-100, surrogate="random").fit(X, y)
    assert set(never.cv_results_["state"]) == {"complete"}


def test_several_metrics_race_by_the_one_that_guides():
    params = {"scoring": ["accuracy", "roc_auc"], "surrogate": "random"}
    search = pruning(**params, refit="roc_auc").fit(X, y)
    given_up = search.cv_results_["state"] == "pruned"
    assert given_up.any()
    for name in ("accuracy", "roc_auc"):
        missing = np.isnan(search.cv_results_[f"mean_test_{name}"])
        np.testing.assert_array_equal(missing, given_up)


def test_a_callable_cannot_choose_a_pruned_trial():
    first = lambda results: int(np.argmax(results["state"] == "pruned"))  # noqa: E731
    search = pruning(refit=first, surrogate="random")
    with pytest.raises(ValueError, match="refit chose row .* not complete"):
        search.fit(X, y)
    assert len(search.cv_results_["params"]) == 14


def test_other_scores_that_are_not_finite_raise_the_same_warnings():
    def scoring(estimator, X, y):
        return {"a": estimator.quality, "b": np.nan}

    def fit(cls, **params):
        params = {"scoring": scoring, "refit": "a", **params}
        with pytest.warns(UserWarning) as caught:
            cls(Sometimes(), {"quality": [1.0, 2.0]}, **params).fit(FLOWERS, KINDS)
        return [str(w.message) for w in caught if "non-finite" in str(w.message)]

    assert fit(BayesSearchCV, n_iter=2) == fit(GridSearchCV) != []


def stay_here(self):
    raise TypeError("stays here")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_trials_that_take_too_long_time_out(n_jobs, fake_clock, monkeypatch):
    params = {"cv": 5, "pre_dispatch": 1, "trial_limits": {"time": 1.0}, "n_iter": 3}
    search = small_search(TakesTime(), {"quality": [0.1, 0.3, 0.9]}, **params)
    monkeypatch.setattr(TakesTime, "together", threading.Barrier(n_jobs))
    monkeypatch.setattr(TakesTime, "__reduce__", stay_here)
    monkeypatch.setattr(running, "can_end_fits", can_end_fits)
    # Threads, which share the clock.
    threads = joblib.parallel_config("threading", n_jobs=n_jobs)
    with threads, pytest.warns(match="cannot be aborted.*TypeError: stays"):
        search.fit(FLOWERS, KINDS)
    slow, *fast = sorted(search.trials_, key=lambda trial: -trial.params["quality"])
    assert [trial.state for trial in fast] == ["complete"] * 2
    assert slow.state == "timed_out"
    n_fitted = sum(fold.is_fitted for fold in slow.folds)
    # A running fold is not interrupted; no further one is begun.
    assert n_fitted == n_jobs
    assert slow.duration == pytest.approx(1.2 * n_jobs)
    assert slow.score == pytest.approx(np.nanmean(slow.scores["score"]))
    assert search.best_params_ == {"quality": 0.3}
    assert np.isnan(search.cv_results_["mean_test_score"]).sum() == 1
    assert sorted(search.cv_results_["state"]) == ["complete", "complete", "timed_out"]


def test_if_all_are_too_slow_the_limit_is_named(fits_here):
    params = {"n_iter": 1, "trial_limits": {"time": 1e-9}}
    search = small_search(Restless(), {"quality": [1]}, **params)
    with pytest.warns(match=r"trial_limits\['time'\]=1e-09.* is refitted"):
        search.fit(FLOWERS, KINDS)
    assert search.predict(FLOWERS).shape == KINDS.shape
    assert [trial.state for trial in search.trials_] == ["timed_out"]
