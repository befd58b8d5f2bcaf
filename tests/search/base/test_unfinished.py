"""Searches whose time was over before the first trial ended."""

import pickle
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from every_search import SEARCHES, SPACE, data, make
from simple_estimators import both
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import skbayes
from skbayes import BayesSearchCV, HyperTuneSearchCV, ParetoSearchCV, TradeoffSearchCV
from skbayes.defaults import models

pytestmark = pytest.mark.usefixtures("fits_here")

X, y = load_iris(return_X_y=True)
OWN_VALUES = {"max_depth": 2, "min_samples_leaf": 1}
TREE = DecisionTreeClassifier(max_depth=2, random_state=0)


def first_row(results):
    """Choose a row, as a callable `refit`."""
    return 0


def leaves(tree, X, y):
    """Score a tree by a number."""
    return tree.get_n_leaves()


def fitted(search, *arguments):
    with pytest.warns(
        UserWarning, match=r"^No trial was finished within .*timeout=1e-09"
    ):
        return search.fit(*(arguments or (X, y)))


def check_usable(search, X):
    """Check that a search without scores can be used as any other."""
    assert search.stop_reason_ == "timeout"
    assert all(trial.state == "timed_out" for trial in search.trials_)
    assert not np.isfinite(search.trials_[0].score)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = pickle.loads(pickle.dumps(search))
        assert repr(clone(search)) == repr(clone(again))
        assert len(search.results_frame()) == 1
        assert search._repr_html_()
    if hasattr(search, "best_estimator_"):
        assert len(again.predict(X)) == len(X)


@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("kind", SEARCHES)
def test_without_scores_the_first_configuration_is_refitted(kind, refit, tmp_path):
    chosen = {} if refit else {"refit": False}
    arguments = data(kind)
    search = fitted(make(kind, timeout=1e-9, **chosen), *arguments)
    check_usable(search, arguments[0])
    assert hasattr(search, "best_estimator_") == refit
    if hasattr(search, "best_params_"):
        assert search.best_index_ == 0
        assert search.best_params_ == search.cv_results_["params"][0]
        assert np.isnan(search.best_score_)
    if refit:
        best = search.best_estimator_.get_params()
        assert {name: best[name] for name in search.best_params_} == search.best_params_
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert search.report(tmp_path / "report.html").stat().st_size > 0
            search.plot()
        plt.close("all")


@pytest.mark.parametrize(
    "params, expected",
    [
        ({"refit": "ensemble"}, OWN_VALUES),
        ({"refit": "corrected"}, OWN_VALUES),
        ({"refit": first_row}, OWN_VALUES),
        ({"scoring": ["accuracy", "f1_macro"], "refit": "f1_macro"}, OWN_VALUES),
        ({"scoring": ["accuracy", "f1_macro"], "refit": False}, None),
        ({"scoring": both, "refit": "a"}, OWN_VALUES),
        ({"constraints": {"recall_macro": ">= 0.5"}}, OWN_VALUES),
        ({"return_folds": "predict_proba", "return_train_score": True}, OWN_VALUES),
        ({"return_folds": ["all", "estimators"]}, OWN_VALUES),
        ({"pruning": True, "n_jobs": 2}, OWN_VALUES),
        ({"trial_limits": {"time": 100}}, OWN_VALUES),
    ],
)
def test_a_search_without_a_finished_trial_is_usable(params, expected):
    search = BayesSearchCV(TREE, SPACE, timeout=1e-9, cv=3, random_state=0, **params)
    check_usable(fitted(search), X)
    assert vars(search).get("best_params_") == expected


def allows(params):
    """Allow some configurations."""
    return params["max_depth"] == 3


def test_the_nearest_configuration_of_the_space():
    space = {"C": (0.1, 10.0), "kernel": ["poly", "linear"], "degree": (2, 5)}
    search = BayesSearchCV(SVC(C=99, degree=1), space, timeout=1e-9, random_state=0)
    assert fitted(search).best_params_ == {"C": 10.0, "degree": 2, "kernel": "poly"}
    search = BayesSearchCV(TREE, SPACE, constraints=allows, timeout=1e-9)
    assert fitted(search).best_params_["max_depth"] == 3
    check_usable(fitted(BayesSearchCV(*models(X, y), timeout=1e-9)), X)


def test_results_that_need_a_finished_trial_are_named():
    search = BayesSearchCV(TREE, SPACE, timeout=1e-9, refit="ensemble")
    with pytest.warns(UserWarning, match="refit='ensemble' was not possible"):
        search.fit(X, y == 1)
    search.set_params(constraints={"recall": ">= 0.5"}, refit=True)
    with pytest.warns(UserWarning, match="satisfies the constraints is not known"):
        search.fit(X, y == 1)
    pareto = fitted(make(ParetoSearchCV, timeout=1e-9))
    with pytest.raises(ValueError, match="pareto_front_ is empty: no trial"):
        pareto.select("knee", X, y)
    bounds = {"constraints": {"recall_macro": ">= 0.5"}, "scoring": leaves}
    assert np.isnan(fitted(make(HyperTuneSearchCV, timeout=1e-9, **bounds)).best_score_)
    tradeoff = fitted(make(TradeoffSearchCV, timeout=1e-9)).select(0.2, X, y)
    assert tradeoff.best_train_fraction_ == 1.0


def test_a_journal_continues_with_the_aborted_trials(tmp_path):
    journal = tmp_path / "journal.jsonl"
    params = {"n_iter": 4, "cv": 2, "random_state": 0}
    search = BayesSearchCV(TREE, SPACE, journal=journal, timeout=1e-9, **params)
    for _ in range(2):
        assert len(fitted(search).trials_) == 1
        assert list(skbayes.load_history(journal)["state"]) == ["unfinished"]
    search.set_params(timeout=None).fit(X, y)
    plain = BayesSearchCV(TREE, SPACE, **params).fit(X, y)
    assert search.trials_.params == plain.trials_.params
    assert search.best_score_ == plain.best_score_


def test_results_without_scores_are_no_knowledge():
    unfinished = fitted(BayesSearchCV(TREE, SPACE, timeout=1e-9))
    search = BayesSearchCV(TREE, SPACE, n_iter=2, cv=2, warm_start_from=unfinished)
    with pytest.warns(UserWarning, match="1 without a comparable score"):
        assert search.fit(X, y).best_score_ > 0
