"""Rules R1 … R9: `cv_results_`, and the choice of a candidate."""

import warnings

import numpy as np
import pytest
from grid_comparison import ENOUGH, Sometimes, assert_same_results, fit_both, searches
from scipy.stats import loguniform, randint
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import Pipeline
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


@pytest.mark.parametrize("return_train_score", [False, True])
@pytest.mark.parametrize("kind", sorted(SCORINGS))
def test_r1_to_r6_r9_same_results_as_grid_search(kind, return_train_score):
    scoring, refit = SCORINGS[kind]
    ours, theirs = fit_both(
        SVC(),
        LISTS,
        X,
        y,
        cv=3,
        scoring=scoring,
        refit=refit,
        return_train_score=return_train_score,
    )
    assert_same_results(ours, theirs)
    assert (type(ours.scorer_) is dict) == (type(theirs.scorer_) is dict)
    assert hasattr(ours, "refit_time_") == bool(refit)
    assert ours.stop_reason_ == "exhausted"


def test_r1_columns_are_exactly_these():
    search = BayesSearchCV(
        SVC(), {"C": loguniform(0.1, 10)}, n_iter=3, cv=2, random_state=0
    )
    assert set(search.fit(X, y).cv_results_) == {
        "mean_fit_time",
        "std_fit_time",
        "mean_score_time",
        "std_score_time",
        "param_C",
        "params",
        "split0_test_score",
        "split1_test_score",
        "mean_test_score",
        "std_test_score",
        "rank_test_score",
    }


def test_r2_masked_columns_and_native_types():
    grid = {
        "model": [SVC()],
        "model__C": [1, 2],
        "model__gamma": [0.5, "scale"],
        "model__class_weight": [None, "balanced"],
    }
    pipe = Pipeline([("model", SVC())])
    ours, theirs = fit_both(pipe, [grid, {"model__tol": [1e-3, 1e-2]}], X, y, cv=2)
    assert_same_results(ours, theirs)
    table = ours.cv_results_
    assert table["param_model__C"].dtype == np.int64
    assert table["param_model__gamma"].dtype == object
    assert not table["param_model__class_weight"].mask[:8].any()
    assert table["param_model__class_weight"].mask[8:].all()
    assert table["param_model__tol"].mask[:8].all()


def test_r2_ragged_values_stay_objects():
    grid = {"hidden": [(5,), (5, 5), (5, 5, 5)]}

    class Layers(Sometimes):
        def __init__(self, hidden=(), quality=0.5, bad=None):
            super().__init__(quality, bad)
            self.hidden = hidden

    ours, theirs = fit_both(Layers(), grid, X, y, cv=2)
    assert_same_results(ours, theirs)
    assert ours.cv_results_["param_hidden"].dtype == object


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


def test_r3_all_nan_scores_rank_one():
    def nan(estimator, X, y):
        return np.nan

    search = BayesSearchCV(
        SVC(),
        {"C": [1, 2, 3]},
        n_iter=3,
        cv=2,
        scoring=nan,
        refit=False,
        random_state=0,
    )
    with pytest.warns(UserWarning, match="non-finite"):
        search.fit(X, y)
    assert search.cv_results_["rank_test_score"].tolist() == [1, 1, 1]
    assert {trial.state for trial in search.trials_} == {"failed"}


def test_r4_times():
    splits = [(np.arange(0, 150, 2), np.arange(1, 150, 2))]
    search = BayesSearchCV(
        SVC(), {"C": (0.1, 9.0)}, n_iter=3, cv=splits, random_state=0
    )
    table = search.fit(X, y).cv_results_
    for what in ("fit", "score"):
        assert (table[f"mean_{what}_time"] >= 0).all()
        assert (table[f"std_{what}_time"] == 0).all()
    assert all(trial.duration > 0 for trial in search.trials_)


def test_r5_means_are_unweighted_over_splits_of_unequal_size():
    some, rest = np.arange(0, 150, 3), np.arange(140)
    splits = [(rest, np.arange(140, 150)), (some, np.arange(150))]
    search = BayesSearchCV(
        SVC(), {"C": (0.1, 9.0)}, n_iter=3, cv=splits, random_state=0
    )
    table = search.fit(X, y).cv_results_
    columns = np.stack([table["split0_test_score"], table["split1_test_score"]])
    np.testing.assert_allclose(table["mean_test_score"], columns.mean(axis=0))
    np.testing.assert_allclose(table["std_test_score"], columns.std(axis=0))
    assert [t.score for t in search.trials_] == table["mean_test_score"].tolist()


def test_r5_one_warning_about_non_finite_scores_in_a_whole_search():
    space = {"quality": (0.0, 1.0), "bad": [None, "fit"]}
    search = BayesSearchCV(Sometimes(), space, n_iter=10, cv=2, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    assert sum("non-finite" in str(w.message) for w in caught) == 1
    assert sum(issubclass(w.category, FitFailedWarning) for w in caught) == 1


def test_r6_the_chosen_row():
    search = BayesSearchCV(
        SVC(), {"C": loguniform(0.01, 10)}, n_iter=6, cv=3, random_state=0
    )
    search.fit(X, y)
    table = search.cv_results_
    assert search.best_index_ == np.argmax(table["mean_test_score"])
    assert search.best_params_ == table["params"][search.best_index_]
    assert search.best_score_ == table["mean_test_score"][search.best_index_]
    assert search.best_estimator_.C == search.best_params_["C"]
    assert search.n_splits_ == 3
    assert search.multimetric_ is False
    assert 0 < search.refit_time_ < search.total_time_
    assert search.target_metric_ == "score"


@pytest.mark.parametrize("refit", [True, "nonsense"])
def test_r7_refit_must_name_a_metric_before_any_fit(refit):
    search = BayesSearchCV(
        Sometimes(bad="fit"),
        {"quality": [1, 2]},
        scoring=["accuracy", "f1_macro"],
        refit=refit,
        error_score="raise",
        random_state=0,
    )
    with pytest.raises(ValueError, match="refit must be set to a scorer key"):
        search.fit(X, y)


def test_r7_with_a_callable_scorer_it_is_seen_after_the_first_trial():
    fits = []

    def counted(estimator, X, y):
        fits.append(1)
        return several(estimator, X, y)

    search = BayesSearchCV(
        SVC(), {"C": [1, 2, 3]}, n_iter=3, cv=2, scoring=counted, random_state=0
    )
    with pytest.raises(ValueError, match="refit must be set to a scorer key"):
        search.fit(X, y)
    assert len(fits) == 2


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


TARGETS = [
    ({"scoring": ["f1_macro", "accuracy"], "refit": False}, "f1_macro"),
    ({"scoring": ["accuracy", "f1_macro"], "refit": "f1_macro"}, "f1_macro"),
    ({"scoring": ["accuracy", "f1_macro"], "refit": lambda r: 0}, "accuracy"),
    ({"scoring": {"a": "accuracy", "b": "f1_macro"}, "refit": "b"}, "b"),
    ({"scoring": several, "refit": False}, "accuracy"),
    ({"scoring": several, "refit": "f1"}, "f1"),
]


@pytest.mark.parametrize("arguments, target", TARGETS)
def test_r7_the_metric_that_guides_the_search(arguments, target):
    search = BayesSearchCV(SVC(), {"C": (0.01, 1.0)}, n_iter=4, cv=3, **arguments)
    search.fit(X, y)
    assert search.target_metric_ == target
    told = [trial.score for trial in search.trials_]
    np.testing.assert_allclose(told, search.cv_results_[f"mean_test_{target}"])


def test_r7_several_metrics_where_folds_fail_first():
    def both(estimator, X, y):
        return {"a": estimator.quality, "b": 1.0}

    rows = np.arange(len(X), dtype=float)[:, None]
    # The training rows begin with an odd and with an even number.
    cv = [(np.arange(1, 80), np.arange(80, 150)), (np.arange(80), np.arange(9))]
    space = [{"bad": ["some"]}, {"quality": [0.1, 0.3]}]
    search = BayesSearchCV(
        Sometimes(),
        space,
        n_iter=3,
        cv=cv,
        scoring=both,
        random_state=0,
    ).set_params(refit=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(rows, y)
    assert search.target_metric_ == "a"


@pytest.mark.parametrize("error_score", [np.nan, 0.25])
def test_r7_a_callable_that_fails_in_some_folds_has_the_error_score(error_score):
    def both(estimator, X, y):
        if len(X) > 75:
            raise RuntimeError("too many rows")
        return {"a": estimator.C, "b": 1.0}

    splits = [(np.arange(50, 150), np.arange(100)), (np.arange(80), np.arange(80, 150))]
    search = BayesSearchCV(
        SVC(kernel="linear"),
        {"C": [1.0, 2.0]},
        n_iter=2,
        cv=splits,
        scoring=both,
        refit=False,
        error_score=error_score,
        random_state=0,
    )
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


def test_the_only_metric_of_a_callable_is_called_score():
    search = BayesSearchCV(
        SVC(),
        {"C": [1, 2]},
        n_iter=2,
        cv=2,
        scoring=lambda estimator, X, y: estimator.score(X, y),
        random_state=0,
    ).fit(X, y)
    assert search.target_metric_ == "score" and not search.multimetric_
    assert [fold.test_scores.keys() for fold in search.trials_.folds] == [{"score"}] * 4


@pytest.mark.parametrize(
    "chosen, error", [(None, TypeError), ("1", TypeError), (-1, IndexError)]
)
def test_r8_refit_that_returns_nonsense(chosen, error):
    search = BayesSearchCV(
        SVC(),
        {"C": [1, 2]},
        n_iter=2,
        cv=2,
        refit=lambda results: chosen,
        random_state=0,
    )
    with pytest.raises(error, match="best_index_"):
        search.fit(X, y)


def test_r9_finite_space_is_visited_once_and_picks_what_grid_search_picks():
    grid = {"max_depth": [3, 1, 2], "criterion": ["gini", "entropy"]}
    tree = DecisionTreeClassifier(random_state=0)
    for n_iter in (6, 7, ENOUGH):
        ours = BayesSearchCV(tree, grid, n_iter=n_iter, cv=3, random_state=0).fit(X, y)
        theirs = GridSearchCV(tree, grid, cv=3).fit(X, y)
        assert ours.cv_results_["params"] == list(ParameterGrid(grid))
        assert ours.best_params_ == theirs.best_params_
        assert ours.stop_reason_ == "exhausted"


def test_r9_with_a_timeout_the_model_orders_the_same_set():
    grid = {"max_depth": [3, 1, 2], "criterion": ["gini", "entropy"]}
    tree = DecisionTreeClassifier(random_state=0)
    search = BayesSearchCV(tree, grid, timeout=1e6, cv=3, random_state=0).fit(X, y)
    tried = search.cv_results_["params"]
    wanted = list(ParameterGrid(grid))
    assert len(tried) == len(wanted)
    assert all(params in tried for params in wanted)
    assert search.stop_reason_ == "exhausted"


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


@pytest.mark.parametrize("prior", ["uniform", "log-uniform"])
@pytest.mark.parametrize("surrogate", ["gp", "random"])
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


def test_r9_fewer_trials_than_the_space_never_repeat():
    grid = {"max_depth": list(range(1, 7)), "min_samples_leaf": [1, 2, 3]}
    search = BayesSearchCV(
        DecisionTreeClassifier(random_state=0), grid, n_iter=10, cv=2, random_state=1
    ).fit(X, y)
    tried = [tuple(p.items()) for p in search.cv_results_["params"]]
    assert len(tried) == len(set(tried)) == 10
    assert search.stop_reason_ == "n_iter"
    assert all(params in list(ParameterGrid(grid)) for params in map(dict, tried))


def test_initial_points_come_first():
    points = [{"C": 3.0}, {"C": 0.5}]
    search = BayesSearchCV(
        LogisticRegression(max_iter=500),
        {"C": (0.1, 10.0)},
        n_iter=4,
        cv=2,
        initial_points=points,
        random_state=0,
    ).fit(X, y)
    tried = [params["C"] for params in search.cv_results_["params"]]
    np.testing.assert_allclose(tried[:2], [3.0, 0.5])


def test_empty_space_evaluates_the_estimator_as_it_is():
    assert_same_results(*fit_both(SVC(C=3), {}, X, y, cv=3))


def test_the_optimizer_knows_every_trial():
    search = BayesSearchCV(
        SVC(), {"C": (0.1, 1.0)}, n_iter=5, cv=2, random_state=0
    ).fit(X, y)
    assert search.optimizer_.n_told == len(search.trials_) == 5
    assert search.optimizer_.best_params == search.best_params_
    assert [t.number for t in search.trials_] == list(range(5))
