"""Rules R1 … R9: `cv_results_`, and the choice of a candidate.

What `test_sklearn_suite` covers is not repeated here.
"""

import warnings

import numpy as np
import pytest
from grid_comparison import ENOUGH, Sometimes, assert_same_results, fit_both, searches
from scipy.stats import loguniform, randint
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV
from skbayes.space import candidates

X, y = load_iris(return_X_y=True)
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


SCORINGS = {
    "own": (None, True),
    "name": ("f1_macro", True),
    "callable": (lambda e, X, y: -float(e.C if e.kernel == "rbf" else e.degree), True),
    "list": (["accuracy", "f1_macro"], "f1_macro"),
    "tuple": (("accuracy", "f1_macro"), "accuracy"),
    "dict": ({"a": "accuracy", "b": "f1_macro"}, "b"),
    "callable-several": (several, "f1"),
    "callable-score-by-name": (lambda e, X, y: {"score": e.score(X, y)}, "score"),
    "list-unrefitted": (["accuracy", "f1_macro"], False),
    "dict-callable-refit": ({"a": "accuracy", "b": "f1_macro"}, lambda r: 2),
    "callable-several-unrefitted": (several, False),
    "own-callable-refit": (None, lambda results: len(results["params"]) - 1),
    "own-unrefitted": (None, False),
}


@pytest.mark.parametrize("place", range(len(SCORINGS)), ids=list(SCORINGS))
def test_r1_to_r6_r9_same_results_as_grid_search(place):
    scoring, refit = [*SCORINGS.values()][place]
    more = {"scoring": scoring, "refit": refit, "return_train_score": place % 2 == 0}
    ours, theirs = fit_both(SVC(), LISTS, X, y, cv=3, **more)
    assert_same_results(ours, theirs)
    assert (type(ours.scorer_) is dict) == (type(theirs.scorer_) is dict)
    assert hasattr(ours, "refit_time_") == bool(refit)
    assert ours.stop_reason_ == "exhausted"


def test_r3_ranks_share_the_lowest_and_put_failures_last():
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


def test_r3_r5_all_nan_scores_rank_one_with_one_warning():
    scoring = {"scoring": lambda estimator, X, y: np.nan, "refit": False}
    search = BayesSearchCV(SVC(), {"C": [1, 2, 3]}, n_iter=3, cv=2, **scoring)
    with pytest.warns(UserWarning, match="non-finite"):
        search.fit(X, y)
    assert search.cv_results_["rank_test_score"].tolist() == [1, 1, 1]
    assert {trial.state for trial in search.trials_} == {"failed"}
    space = {"quality": (0.0, 1.0), "bad": [None, "fit"]}
    search = BayesSearchCV(Sometimes(), space, n_iter=6, cv=2, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    assert sum("non-finite" in str(w.message) for w in caught) == 1
    assert sum(issubclass(w.category, FitFailedWarning) for w in caught) == 1


def test_r4_r5_means_are_unweighted_over_splits_of_unequal_size():
    some, rest = np.arange(0, 150, 3), np.arange(140)
    splits = [(rest, np.arange(140, 150)), (some, np.arange(150))]
    space = {"C": (0.1, 9.0)}
    search = BayesSearchCV(SVC(), space, n_iter=3, cv=splits, random_state=0)
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


def test_r6_the_chosen_row():
    points = [{"C": 3.0}, {"C": 0.5}]
    search = BayesSearchCV(
        SVC(), {"C": loguniform(0.01, 10)}, n_iter=4, cv=3, initial_points=points
    )
    table = search.fit(X, y).cv_results_
    np.testing.assert_allclose(table["param_C"][:2].astype(float), [3.0, 0.5])
    assert search.best_index_ == np.argmax(table["mean_test_score"])
    assert search.best_params_ == table["params"][search.best_index_]
    assert search.best_score_ == table["mean_test_score"][search.best_index_]
    assert search.best_estimator_.C == search.best_params_["C"]
    assert search.n_splits_ == 3
    assert search.multimetric_ is False
    assert 0 < search.refit_time_ < search.total_time_
    assert search.target_metric_ == "score"
    assert search.optimizer_.n_told == len(search.trials_) == 4
    assert search.optimizer_.best_params == search.best_params_
    assert [t.number for t in search.trials_] == list(range(4))


@pytest.mark.parametrize("refit", [True, "nonsense"])
def test_r7_refit_must_name_a_metric(refit):
    fits = []

    def counted(estimator, X, y):
        fits.append(1)
        return several(estimator, X, y)

    # With a callable scorer, it is seen after the first trial.
    for scoring, n_fits in ((["accuracy", "f1_macro"], 0), (counted, 2)):
        search = BayesSearchCV(SVC(), {"C": [1, 2, 3]}, n_iter=3, cv=2, refit=refit)
        with pytest.raises(ValueError, match="refit must be set to a scorer key"):
            search.set_params(scoring=scoring, n_jobs=1).fit(X, y)
        assert len(fits) == n_fits


def test_r7_what_is_left_without_refit():
    search = BayesSearchCV(
        SVC(), {"C": [1, 2]}, n_iter=2, cv=2, refit=False, random_state=0
    )
    search.fit(X, y)
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    assert hasattr(search, "best_score_")
    search.set_params(scoring=["accuracy"])
    fresh = BayesSearchCV(**search.get_params(deep=False)).fit(X, y)
    for name in ("best_params_", "best_index_", "best_score_", "best_estimator_"):
        assert not hasattr(fresh, name)


@pytest.mark.parametrize(
    "scoring, refit, target",
    [
        (["f1_macro", "accuracy"], False, "f1_macro"),
        (["accuracy", "f1_macro"], "f1_macro", "f1_macro"),
        (["accuracy", "f1_macro"], lambda results: 0, "accuracy"),
        ({"a": "accuracy", "b": "f1_macro"}, "b", "b"),
        (several, False, "accuracy"),
        (several, "f1", "f1"),
        (lambda estimator, X, y: estimator.score(X, y), True, "score"),
    ],
)
def test_r7_the_metric_that_guides_the_search(scoring, refit, target):
    more = {"scoring": scoring, "refit": refit}
    search = BayesSearchCV(SVC(), {"C": (0.01, 1.0)}, n_iter=3, cv=2, **more).fit(X, y)
    assert search.target_metric_ == target
    assert search.multimetric_ == (target != "score")
    told = [trial.score for trial in search.trials_]
    np.testing.assert_allclose(told, search.cv_results_[f"mean_test_{target}"])


@pytest.mark.parametrize("error_score", [np.nan, 0.25])
def test_r7_a_callable_that_fails_in_some_folds_has_the_error_score(error_score):
    def both(estimator, X, y):
        if len(X) > 75:
            raise RuntimeError("too many rows")
        return {"a": estimator.C, "b": 1.0}

    splits = [(np.arange(50, 150), np.arange(100)), (np.arange(80), np.arange(80, 150))]
    more = {"scoring": both, "refit": False, "error_score": error_score}
    search = BayesSearchCV(SVC(), {"C": [1.0, 2.0]}, n_iter=2, cv=splits, **more)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    assert search.target_metric_ == "a"
    for name in ("a", "b"):
        failed = search.cv_results_[f"split0_test_{name}"]
        np.testing.assert_array_equal(failed, error_score)
    np.testing.assert_array_equal(search.cv_results_["split1_test_b"], 1.0)
    for fold in search.trials_.folds:
        assert fold.test_scores.keys() == {"a", "b"}


def test_r9_finite_space_is_visited_once_and_picks_what_grid_search_picks():
    grid = {"max_depth": [3, 1, 2], "criterion": ["gini", "entropy"]}
    tree, wanted = DecisionTreeClassifier(random_state=0), list(ParameterGrid(grid))
    theirs = GridSearchCV(tree, grid, cv=3).fit(X, y)
    for n_iter in (6, ENOUGH):
        ours = BayesSearchCV(tree, grid, n_iter=n_iter, cv=3, random_state=0).fit(X, y)
        assert ours.cv_results_["params"] == wanted
        assert ours.best_params_ == theirs.best_params_
        assert ours.stop_reason_ == "exhausted"
    # With a timeout or fewer trials, the model orders the same set.
    for more, n_trials in (({"timeout": 1e6}, 6), ({"n_iter": 5}, 5)):
        search = BayesSearchCV(tree, grid, cv=3, random_state=0, **more).fit(X, y)
        tried = search.cv_results_["params"]
        assert len(tried) == len({repr(params) for params in tried}) == n_trials
        assert all(params in wanted for params in tried)
        assert search.stop_reason_ == ("exhausted" if n_trials == 6 else "n_iter")
    assert_same_results(*fit_both(SVC(C=3), {}, X, y, cv=3))


def test_r9_finite_distributions_and_constraints():
    space = {"max_depth": randint(1, 5), "criterion": ["gini", "entropy"]}

    def allowed(params):
        return params["criterion"] == "gini" or params["max_depth"] < 3

    search = BayesSearchCV(
        DecisionTreeClassifier(random_state=0),
        space,
        constraints=allowed,
        cv=2,
        random_state=0,
    ).fit(X, y)
    tried = search.cv_results_["params"]
    assert len(tried) == 6
    assert all(map(allowed, tried))
    assert search.stop_reason_ == "exhausted"


@pytest.mark.parametrize(
    "prior, surrogate", [("uniform", "gp"), ("log-uniform", "random")]
)
def test_r9_a_range_of_few_floats(prior, surrogate):
    search = BayesSearchCV(
        DecisionTreeClassifier(random_state=0),
        {"min_impurity_decrease": (1e15, 1e15 + 1, prior)},
        n_iter=12,
        cv=2,
        surrogate=surrogate,
        random_state=0,
    ).fit(X, y)
    tried = {params["min_impurity_decrease"] for params in search.cv_results_["params"]}
    assert tried == {1e15 + k / 8 for k in range(9)}
    assert (len(search.trials_), search.stop_reason_) == (9, "exhausted")


def test_r9_a_constraint_that_allows_one_configuration(monkeypatch):
    monkeypatch.setattr(candidates, "N_MORE_BATCHES", 1)
    search = BayesSearchCV(
        DecisionTreeClassifier(random_state=0),
        {"ccp_alpha": (0.0, 1.0)},
        initial_points=[{"ccp_alpha": 0.1}],
        constraints=lambda params: params["ccp_alpha"] == 0.1,
        cv=2,
        random_state=0,
    )
    with pytest.warns(
        UserWarning, match=r"ends after 1 trial\. constraint allows no new .* 33,024"
    ):
        search.fit(X, y)
    assert search.stop_reason_ == "exhausted"
