"""ParetoSearchCV: fronts, costs, choices, and its interface."""

import builtins
import inspect
import pickle
import warnings

import joblib
import numpy as np
import pytest
from grid_comparison import Sometimes, assert_same_tables, n_leaves
from recording_callbacks import Recorder, Stopper
from sklearn.base import clone, is_classifier
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Lasso
from sklearn.metrics import make_scorer, recall_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import ParetoSearchCV, compat, load_history
from skbayes.acquisition.fronts import hypervolumes
from skbayes.acquisition.hypervolume import hypervolume
from skbayes.results.refit import OneStandardError
from skbayes.space import Choice

X, y = load_iris(return_X_y=True)
SPACE = {"max_depth": [1, 2, 3, 4, 5, 6], "min_samples_leaf": [1, 5, 20, 40]}


OBJECTIVES = {"accuracy": "max", "leaves": ("min", n_leaves)}


def make(objectives=None, n_iter=8, **kwargs):
    arguments = {"cv": 3, "random_state": 0, **kwargs}
    return ParetoSearchCV(
        DecisionTreeClassifier(random_state=0),
        SPACE,
        OBJECTIVES if objectives is None else objectives,
        n_iter=n_iter,
        **arguments,
    )


@pytest.fixture(scope="module")
def search():
    return make(n_iter=12).fit(X, y)


# -- the front ------------------------------------------------------------------------


def test_the_front_holds_what_nothing_dominates(search):
    results = search.cv_results_
    means = np.column_stack(
        [results["mean_test_accuracy"], -results["mean_test_leaves"]]
    )
    dominated = [any(np.all(b >= a) and np.any(b > a) for b in means) for a in means]
    front = search.pareto_front_
    assert sorted(front["trial"]) == [i for i, d in enumerate(dominated) if not d]
    assert list(front.columns) == [
        "trial",
        "accuracy",
        "leaves",
        "param_max_depth",
        "param_min_samples_leaf",
    ]
    assert front["accuracy"].is_monotonic_decreasing
    for place, row in front.iterrows():
        trial = int(row["trial"])
        assert row["accuracy"] == results["mean_test_accuracy"][trial]
        assert row["leaves"] == results["mean_test_leaves"][trial]
        assert search.pareto_params_[place] == results["params"][trial]
        assert row["param_max_depth"] == results["params"][trial]["max_depth"]


def test_without_pandas_the_front_is_a_dict_of_arrays(search, monkeypatch):
    whole_import = builtins.__import__

    def import_but_pandas(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError(name)
        return whole_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", import_but_pandas)
    front = make(n_iter=12).fit(X, y).pareto_front_
    monkeypatch.undo()
    assert list(front) == list(search.pareto_front_.columns)
    for name, column in front.items():
        assert isinstance(column, np.ndarray)
        np.testing.assert_array_equal(column, search.pareto_front_[name])


def test_parameters_that_some_lack_are_missing_on_the_front():
    space = {
        "kernel": Choice({"linear": {}, "rbf": {"gamma": (1e-3, 1e1, "log-uniform")}})
    }
    objectives = {"accuracy": "max", "vectors": ("min", lambda e: sum(e.n_support_))}
    found = ParetoSearchCV(SVC(), space, objectives, n_iter=6, cv=2, random_state=0)
    front = found.fit(X, y).pareto_front_
    missing = ["gamma" not in params for params in found.pareto_params_]
    assert front["param_gamma"].isna().tolist() == missing


def test_half_measured_trials_do_not_count_for_the_hypervolume():
    Y = np.array([[0.2, 0.9], [0.6, 0.5], [0.9, 0.1]])
    volumes, reference = hypervolumes(Y)
    # Without a score, but with the best value of the other objective by far.
    more = np.vstack([Y[:1], [np.nan, 50.0], Y[1:]])
    with_more, same = hypervolumes(more)
    np.testing.assert_allclose(same, reference)
    np.testing.assert_allclose(with_more, volumes[[0, 0, 1, 2]])


def test_the_hypervolume_grows_toward_that_of_all_trials(search):
    results = search.cv_results_
    # A cost counts by its logarithm.
    Y = np.column_stack(
        [results["mean_test_accuracy"], -np.log(results["mean_test_leaves"])]
    )
    front = Y[search.pareto_front_["trial"]]
    reference = front.min(axis=0) - 0.2 * np.ptp(front, axis=0)
    np.testing.assert_allclose(
        search.reference_point_, [reference[0], np.exp(-reference[1])]
    )
    box = np.prod(Y.max(axis=0) - reference)
    expected = [hypervolume(Y[: i + 1], reference) / box for i in range(len(Y))]
    np.testing.assert_allclose(search.hypervolume_, expected)
    assert np.all(np.diff(search.hypervolume_) >= 0)
    assert 0 < search.hypervolume_[-1] <= 1


def test_ranks_are_best_first_whatever_the_direction(search):
    results = search.cv_results_
    for name, sign in (("accuracy", 1), ("leaves", -1)):
        means = sign * results[f"mean_test_{name}"]
        ranks = results[f"rank_test_{name}"]
        assert ranks.dtype == np.int32
        np.testing.assert_array_equal(
            ranks, [1 + np.sum(means > mean) for mean in means]
        )


def test_a_space_that_is_exhausted_has_the_front_of_all_there_is():
    found = make(n_iter=50).fit(X, y)
    grid = GridSearchCV(DecisionTreeClassifier(random_state=0), SPACE, cv=3).fit(X, y)
    assert found.stop_reason_ == "exhausted"
    assert len(found.trials_) == 24
    best = grid.cv_results_["mean_test_score"].max()
    assert found.pareto_front_["accuracy"].max() == best
    assert found.pareto_front_["leaves"].min() == 2


def test_it_finds_the_whole_range_of_a_tradeoff():
    found = ParetoSearchCV(
        Lasso(),
        {"alpha": (1e-4, 1e4, "log-uniform")},
        {"r2": "max", "n_features": "min"},
        n_iter=15,
        cv=3,
        random_state=0,
    ).fit(*load_diabetes(return_X_y=True))
    counts = found.pareto_front_["n_features"]
    assert counts.min() == 0
    assert counts.max() >= 7
    # Most trials are spent on the front, not above or below what matters.
    assert len(counts) >= 6


# -- costs ----------------------------------------------------------------------------


def test_measured_costs_are_columns_like_scores():
    objectives = {
        "accuracy": "max",
        "fit_time": "min",
        "score_time": "min",
        "model_size": "min",
        "bytes": ("min", lambda tree: len(pickle.dumps(tree, protocol=5))),
        "recall": ("max", make_scorer(recall_score, average="macro")),
        "by_name": ("max", "f1_macro"),
    }
    found = make(objectives, n_iter=4, return_train_score=True).fit(X, y)
    results = found.cv_results_
    np.testing.assert_array_equal(
        results["mean_test_fit_time"], results["mean_fit_time"]
    )
    np.testing.assert_array_equal(
        results["mean_test_score_time"], results["mean_score_time"]
    )
    np.testing.assert_allclose(
        results["mean_test_model_size"], results["mean_test_bytes"], rtol=0.1
    )
    assert list(found.scorer_) == ["accuracy", "recall", "by_name"]
    train = {key[11:] for key in results if key.startswith("mean_train_")}
    assert train == {"accuracy", "recall", "by_name"}
    for name in objectives:
        assert f"split2_test_{name}" in results
        assert f"rank_test_{name}" in results
    tree = DecisionTreeClassifier(random_state=0, **results["params"][0])
    for name, scoring in (("accuracy", "accuracy"), ("by_name", "f1_macro")):
        expected = cross_val_score(tree, X, y, cv=3, scoring=scoring).mean()
        assert results[f"mean_test_{name}"][0] == pytest.approx(expected)


def test_a_cost_is_that_of_the_fitted_model_of_each_split():
    found = make(n_iter=2).fit(X, y)
    tree = DecisionTreeClassifier(random_state=0, **found.cv_results_["params"][0])
    from sklearn.model_selection import cross_validate

    fits = cross_validate(tree, X, y, cv=3, return_estimator=True)["estimator"]
    for k, fit in enumerate(fits):
        leaves = found.cv_results_[f"split{k}_test_leaves"][0]
        assert leaves == fit.get_n_leaves()


def test_a_cost_that_cannot_be_measured_is_nan_and_on_no_front():
    def fragile(tree):
        if tree.max_depth > 2:
            raise RuntimeError("too deep to be measured")
        return tree.get_n_leaves()

    objectives = {"accuracy": "max", "leaves": ("min", fragile)}
    with pytest.warns(UserWarning) as caught:
        found = make(objectives, n_iter=12).fit(X, y)
    assert any("too deep to be measured" in str(one.message) for one in caught)
    depths = np.array([params["max_depth"] for params in found.cv_results_["params"]])
    nan = np.isnan(found.cv_results_["mean_test_leaves"])
    np.testing.assert_array_equal(nan, depths > 2)
    assert 0 < nan.sum() < 12
    assert set(found.pareto_front_["param_max_depth"]) <= {1, 2}
    with pytest.raises(RuntimeError, match="too deep"):
        make(objectives, n_iter=12, error_score="raise").fit(X, y)
    never = {"accuracy": "max", "leaves": ("min", lambda tree: float("nan"))}
    with pytest.raises(ValueError, match="No trial has a value for every objective"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make(never, n_iter=3).fit(X, y)


@pytest.mark.parametrize("bad", ["fit", "some", "params"])
@pytest.mark.parametrize("error_score", [np.nan, 0.0])
def test_failed_fits_are_on_no_front(error_score, bad):
    found = ParetoSearchCV(
        Sometimes(),
        {"quality": [0.5, 0.9, 1.5], "bad": [None, bad]},
        {
            "own": ("max", lambda model, X, y: model.quality),
            "cost": ("min", lambda model: model.quality),
        },
        n_iter=6,
        cv=2,
        error_score=error_score,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found.fit(np.arange(10)[:, None], [0, 1] * 5)
    table = found.results_frame()
    failed = table["mean_test_cost"].isna().to_numpy()
    assert failed.sum() == (1 if bad == "params" else 3)
    assert set(table["param_bad"][failed]) == {bad}
    front = found.pareto_front_
    assert not set(np.flatnonzero(failed)) & set(front["trial"])
    assert front["own"].min() == 0.5 and front["own"].max() == 1.5
    assert np.all(np.isfinite(found.hypervolume_))


# -- the choice -----------------------------------------------------------------------


def front_of(search):
    front = search.pareto_front_
    Y = np.column_stack([front["accuracy"], -front["leaves"]])
    return front, (Y - Y.min(axis=0)) / np.ptp(Y, axis=0)


def test_refit_names_a_point_of_the_front(search):
    front, scaled = front_of(search)
    knee = front["trial"][np.argmin(np.hypot(*(1 - scaled).T))]
    assert search.best_index_ == knee
    for choice, place in [
        ("knee", np.argmin(np.hypot(*(1 - scaled).T))),
        (True, np.argmin(np.hypot(*(1 - scaled).T))),
        ("accuracy", front["accuracy"].argmax()),
        ("leaves", front["leaves"].argmin()),
        ({"accuracy": 3, "leaves": 1}, np.argmax(scaled @ [3, 1])),
        ({"leaves": 1}, front["leaves"].argmin()),
    ]:
        found = make(n_iter=12, refit=choice).fit(X, y)
        assert found.best_index_ == front["trial"][place], choice
        assert found.best_params_ == search.pareto_params_[place]
        assert found.best_estimator_.max_depth == found.best_params_["max_depth"]
        accuracy = found.cv_results_["mean_test_accuracy"][found.best_index_]
        assert found.best_score_ == accuracy
        assert found.score(X, y) == np.mean(found.predict(X) == y)


def test_a_rule_may_choose_any_trial(search):
    rule = OneStandardError("max_depth", metric="accuracy")
    found = make(n_iter=12, refit=rule).fit(X, y)
    assert found.best_index_ == rule(search.cv_results_)


def test_refit_by_a_scorer_is_what_score_scores_by():
    objectives = {**OBJECTIVES, "f1_macro": "max"}
    found = make(objectives, refit="f1_macro").fit(X, y)
    means = found.cv_results_["mean_test_f1_macro"]
    assert found.best_score_ == means.max()
    expected = found.scorer_["f1_macro"](found.best_estimator_, X, y)
    assert found.score(X, y) == expected


def test_select_fits_another_point_without_a_search(search, monkeypatch):
    found = pickle.loads(pickle.dumps(search))
    monkeypatch.setattr(ParetoSearchCV, "_stages", None)
    before = pickle.dumps(found.cv_results_)
    for choice in ("accuracy", "leaves", {"accuracy": 1.0}, "knee"):
        assert found.select(choice, X, y) is found
        assert found.best_params_ == found.cv_results_["params"][found.best_index_]
        fitted = clone(found.estimator).set_params(**found.best_params_).fit(X, y)
        np.testing.assert_array_equal(found.predict(X), fitted.predict(X))
    for trial in found.pareto_front_["trial"]:
        assert found.select(int(trial), X, y).best_index_ == trial
    assert found.refit == "knee"
    assert pickle.dumps(found.cv_results_) == before


def test_select_passes_fit_parameters_on(search):
    found = pickle.loads(pickle.dumps(search))
    weight = np.where(y == 0, 1.0, 1e-9)
    found.select("accuracy", X, y, sample_weight=weight)
    fitted = clone(found.best_estimator_).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(found.best_estimator_.tree_.value, fitted.tree_.value)


def test_select_refuses_what_is_not_on_the_front():
    # The deeper tree has more leaves and a lower accuracy.
    points = [{"max_depth": depth, "min_samples_leaf": 1} for depth in (4, 6)]
    search = make(n_iter=2, initial_points=points).fit(X, y)
    with pytest.raises(ValueError, match="choice=1 is not on the front"):
        search.select(1, X, y)
    for wrong in ("speed", 0.5):
        with pytest.raises(ValueError, match="objectives.*the number of a trial"):
            search.select(wrong, X, y)


def test_select_takes_a_number_from_a_row_of_floats(search):
    found = pickle.loads(pickle.dumps(search))
    trial = max(found.pareto_front_["trial"])
    assert found.select(np.float64(trial), X, y).best_index_ == trial


def test_without_refit_there_is_a_front_and_no_best():
    found = make(refit=False).fit(X, y)
    assert len(found.pareto_params_) == len(found.pareto_front_) > 0
    for name in ("best_index_", "best_params_", "best_estimator_", "best_score_"):
        assert not hasattr(found, name)


# -- mistakes -------------------------------------------------------------------------


class NeverFitted(DecisionTreeClassifier):
    def fit(self, X, y):
        pytest.fail("a fit was made")


@pytest.mark.parametrize(
    "objectives, message",
    [
        ({"accuracy": "max"}, "two or more"),
        ({"fit_time": "min", "n_features": "min"}, "at least one scorer"),
        ({"accuracy": "max", "speed": "max"}, "'speed' is neither one of the costs"),
        ({"accuracy": "min", "fit_time": "min"}, "Use 'max'"),
        ({"accuracy": "most", "fit_time": "min"}, r"objectives\['accuracy'\] must be"),
        ({"accuracy": "max", "a": ("min", 3)}, r"objectives\['a'\]: 3 must be"),
        ({"accuracy": "max", "a": ("min", lambda a, b: 0)}, r"objectives\['a'\]"),
        ({"accuracy": "max", 3: "min"}, "names must be strings"),
        (
            ["accuracy", "predict_time"],
            "{'accuracy': 'max', 'predict_time': 'min'}",
        ),
        ({"fit_time": "min", "predict_time": "min"}, "at least one scorer"),
    ],
)
def test_wrong_objectives_are_named_before_any_fit(objectives, message):
    search = ParetoSearchCV(NeverFitted(), SPACE, objectives, random_state=0)
    with pytest.raises((TypeError, ValueError), match=message):
        search.fit(X, y)


@pytest.mark.parametrize(
    "refit", ["speed", {"speed": 1}, {"accuracy": -1}, {"accuracy": 0}, {}]
)
def test_wrong_choices_are_refused_before_any_fit(refit):
    search = ParetoSearchCV(
        NeverFitted(), SPACE, OBJECTIVES, refit=refit, random_state=0
    )
    with pytest.raises(ValueError, match="refit must be one of the objectives"):
        search.fit(X, y)


def test_a_surrogate_for_one_objective_is_refused_before_any_fit():
    search = ParetoSearchCV(
        NeverFitted(), SPACE, OBJECTIVES, surrogate="tpe", random_state=0
    )
    with pytest.raises(ValueError, match="surrogate='tpe'"):
        search.fit(X, y)


# -- a search like the others ---------------------------------------------------------


def test_the_constructor_stores_its_arguments_untouched():
    names = list(inspect.signature(ParetoSearchCV).parameters)
    sentinels = {name: object() for name in names}
    search = ParetoSearchCV(**sentinels)
    for name, value in sentinels.items():
        assert getattr(search, name) is value
    assert set(names) == set(ParetoSearchCV._parameter_constraints)
    assert set(search.get_params(deep=False)) == set(names)


def test_it_is_what_its_estimator_is():
    search = make()
    assert is_classifier(search)
    found = search.fit(X, y)
    np.testing.assert_array_equal(found.classes_, [0, 1, 2])
    assert found.n_features_in_ == 4
    assert found.predict_proba(X).shape == (150, 3)
    assert found.multimetric_ is True
    assert found.target_metric_ == "accuracy"
    assert cross_val_score(make(n_iter=4), X, y, cv=2).shape == (2,)


def test_unsupervised():
    search = ParetoSearchCV(
        KMeans(n_init=1, random_state=0),
        {"n_clusters": [2, 3, 5, 8]},
        {
            "inertia": ("max", lambda model, X, y=None: model.score(X)),
            "clusters": ("min", lambda model: len(model.cluster_centers_)),
        },
        n_iter=4,
        cv=2,
        random_state=0,
    ).fit(X)
    assert search.pareto_front_["clusters"].tolist() == [8, 5, 3, 2]


@pytest.mark.parametrize("n_points", [1, 3])
def test_workers_find_the_same(n_points):
    one = make(pre_dispatch=n_points).fit(X, y)
    for backend in ("loky", "threading"):
        with joblib.parallel_config(backend, n_jobs=2):
            other = make(pre_dispatch=n_points).fit(X, y)
        assert_same_tables(one.cv_results_, other.cv_results_)
        assert one.best_params_ == other.best_params_


def test_a_size_is_the_same_in_processes():
    sized = make({"accuracy": "max", "model_size": "min"}, n_iter=5)
    expected = clone(sized).fit(X, y)
    with joblib.parallel_config("loky", n_jobs=2):
        sized.set_params(pre_dispatch=1).fit(X, y)
    assert_same_tables(sized.cv_results_, expected.cv_results_)
    assert sized.cv_results_["mean_test_model_size"].min() > 500


@pytest.mark.parametrize("n_points", [1, 3])
def test_a_journal_continues_the_same_search(tmp_path, n_points):
    path = tmp_path / "search.db"
    whole = make(pre_dispatch=n_points).fit(X, y)
    make(n_iter=3, journal=path, pre_dispatch=n_points).fit(X, y)
    continued = make(journal=path, pre_dispatch=n_points).fit(X, y)
    assert_same_tables(continued.cv_results_, whole.cv_results_)
    assert [t.expected_improvement for t in continued.trials_] == [
        t.expected_improvement for t in whole.trials_
    ]
    np.testing.assert_array_equal(continued.hypervolume_, whole.hypervolume_)
    assert len(load_history(path)) == 8
    with pytest.raises(ValueError, match="settings: objectives"):
        make({**OBJECTIVES, "n_features": "min"}, journal=path).fit(X, y)


def test_recorded_times_count_when_a_search_is_continued(tmp_path):
    path = tmp_path / "search.db"
    objectives = {"accuracy": "max", "score_time": "min"}
    first = make(objectives, n_iter=6, journal=path).fit(X, y)
    again = make(objectives, n_iter=6, journal=path).fit(X, y)
    np.testing.assert_array_equal(
        first.cv_results_["mean_test_score_time"],
        again.cv_results_["mean_test_score_time"],
    )
    assert first.optimizer_.ask() == again.optimizer_.ask()


def test_warm_start_tries_the_known_front_first(search):
    warm = make(warm_start_from=search, n_iter=len(search.pareto_params_)).fit(X, y)
    tried = warm.cv_results_["params"]
    fronts = [sorted(map(str, params)) for params in (tried, search.pareto_params_)]
    assert fronts[0] == fronts[1]


def test_warm_start_from_a_journal_or_a_table(search, tmp_path):
    path = tmp_path / "search.db"
    make(n_iter=12, journal=path).fit(X, y)
    tables = [
        make(warm_start_from=source, n_iter=5).fit(X, y).cv_results_
        for source in (search, path, search.cv_results_, search.results_frame())
    ]
    for table in tables[1:]:
        assert_same_tables(table, tables[0])
    with pytest.raises(ValueError, match="no scores 'n_features'"):
        make({**OBJECTIVES, "n_features": "min"}, warm_start_from=search).fit(X, y)


def test_a_limit_per_trial_leaves_trials_unfinished(fake_clock):
    class Slow(DecisionTreeClassifier):
        def fit(self, X, y):
            fake_clock.now += 0.05 if self.max_depth > 1 else 0.0
            return super().fit(X, y)

        def __reduce__(self):
            raise TypeError("stays where the clock is")

    search = ParetoSearchCV(
        Slow(random_state=0),
        {"max_depth": [1, 2, 3]},
        OBJECTIVES,
        n_iter=3,
        cv=3,
        trial_limits={"time": 0.04},
        random_state=0,
    )
    with pytest.warns(UserWarning, match="cannot abort a running fit"):
        found = search.fit(X, y)
    states = {t.params["max_depth"]: t.state for t in found.trials_}
    assert states == {1: "complete", 2: "timed_out", 3: "timed_out"}
    assert found.pareto_params_ == [{"max_depth": 1}]


def test_stoppers_see_the_first_objective_and_the_expected_volume():
    seen = []
    make(stopper=lambda trials: seen.append(trials[-1])).fit(X, y)
    assert all(t.score == pytest.approx(t.scores["accuracy"].mean()) for t in seen)
    expected = [t.expected_improvement for t in seen]
    assert expected[:3] == [None] * 3
    assert all(value >= 0 for value in expected[3:])


def test_the_seed_decides_alone():
    one, other = make(random_state=1).fit(X, y), make(random_state=1).fit(X, y)
    assert one.cv_results_["params"] == other.cv_results_["params"]
    more = make(random_state=1, n_iter=10).fit(X, y)
    assert more.cv_results_["params"][:8] == one.cv_results_["params"]


@pytest.mark.skipif(not compat.HAS_CALLBACKS, reason="since scikit-learn 1.9")
def test_callbacks_are_called_and_may_end_the_search():
    recorder = Recorder()
    make(n_iter=3).set_callbacks(recorder).fit(X, y)
    hooks = [hook for hook, *_ in recorder.events]
    # The fit, the search, three trials, three times three fits, the refit.
    assert hooks.count("begin") == hooks.count("end") == 15
    stopped = make().set_callbacks(Stopper(4)).fit(X, y)
    assert stopped.stop_reason_ == "callback"
    assert len(stopped.trials_) == 2


def test_sample_weight_reaches_the_scorers_as_in_grid_search():
    weight = np.random.default_rng(0).random(len(y))
    ours = make({**OBJECTIVES, "f1_macro": "max"}, n_iter=24)
    theirs = GridSearchCV(
        DecisionTreeClassifier(random_state=0),
        SPACE,
        cv=3,
        scoring=["accuracy", "f1_macro"],
        refit=False,
    )
    for search in (ours, theirs):
        search.fit(X, y, sample_weight=weight)
    for name in ("accuracy", "f1_macro"):
        mine, other = (
            dict(
                zip(
                    map(str, map(sorted, map(dict.items, s.cv_results_["params"]))),
                    s.cv_results_[f"mean_test_{name}"],
                    strict=True,
                )
            )
            for s in (ours, theirs)
        )
        assert mine == other


def test_forests_and_their_sizes():
    found = ParetoSearchCV(
        RandomForestClassifier(random_state=0),
        {"n_estimators": (1, 20), "max_depth": (1, 5)},
        {"neg_log_loss": "max", "model_size": "min"},
        n_iter=8,
        cv=2,
        random_state=0,
    ).fit(X, y)
    front = found.pareto_front_
    assert len(front) >= 2
    assert front["model_size"].is_monotonic_decreasing


def test_the_time_of_a_prediction_is_an_objective(tmp_path):
    path = tmp_path / "journal"
    objectives = {"accuracy": "max", "predict_time": "min"}
    found = make(objectives, n_iter=4, journal=path, n_jobs=2).fit(X, y)
    again = make(objectives, n_iter=4, journal=path).fit(X, y)
    times = found.cv_results_["mean_test_predict_time"]
    np.testing.assert_array_equal(times, again.cv_results_["mean_test_predict_time"])
    assert np.all((times > 0.0) & (times < 1.0))
