"""ParetoSearchCV: fronts, costs, choices, and its interface."""

import pickle

import numpy as np
import pandas as pd
import pytest
from grid_comparison import assert_same_tables
from simple_estimators import Sometimes, n_leaves
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import Lasso
from sklearn.metrics import make_scorer, recall_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import ParetoSearchCV
from skbayes.pareto.hypervolume import hypervolume, hypervolumes
from skbayes.results.scores import OneStandardError
from skbayes.space import Choice

X, y = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier(random_state=0)
SPACE = {"max_depth": [1, 2, 4, 6], "min_samples_leaf": [1, 5, 20, 40]}
OBJECTIVES = {"accuracy": "max", "leaves": ("min", n_leaves)}


def make(objectives=OBJECTIVES, estimator=TREE, space=SPACE, **params):
    arguments = {"n_iter": 8, "cv": 3, "random_state": 0, **params}
    return ParetoSearchCV(estimator, space, objectives, **arguments)


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    return tmp_path_factory.mktemp("journals") / "search.db"


@pytest.fixture(scope="module")
def search(journal):
    return make(n_iter=12, journal=journal).fit(X, y)


def test_the_front_holds_what_nothing_dominates(search):
    results = search.cv_results_
    accuracy, leaves = results["mean_test_accuracy"], results["mean_test_leaves"]
    means = np.column_stack([accuracy, -leaves])
    for name, values in zip(OBJECTIVES, means.T, strict=True):
        # The best is first for both directions.
        ranks = results[f"rank_test_{name}"]
        assert ranks.dtype == np.int32
        assert ranks.tolist() == [1 + np.sum(values > value) for value in values]
    assert search.multimetric_ is True and search.target_metric_ == "accuracy"
    dominated = [any(np.all(b >= a) and np.any(b > a) for b in means) for a in means]
    front = search.pareto_front_
    assert sorted(front["trial"]) == [i for i, d in enumerate(dominated) if not d]
    parameters = [f"param_{name}" for name in SPACE]
    assert list(front.columns) == ["trial", *OBJECTIVES, *parameters]
    assert front["accuracy"].is_monotonic_decreasing
    for place, row in front.iterrows():
        trial = int(row["trial"])
        assert (row["accuracy"], row["leaves"]) == (accuracy[trial], leaves[trial])
        assert search.pareto_params_[place] == results["params"][trial]
        assert row["param_max_depth"] == results["params"][trial]["max_depth"]


def test_parameters_that_some_lack_are_missing_on_the_front():
    kernel = Choice({"linear": {}, "rbf": {"gamma": (1e-3, 1e1, "log-uniform")}})
    objectives = {"accuracy": "max", "vectors": ("min", lambda e: sum(e.n_support_))}
    fitted = make(objectives, SVC(), {"kernel": kernel}, n_iter=6, cv=2).fit(X, y)
    missing = ["gamma" not in params for params in fitted.pareto_params_]
    assert fitted.pareto_front_["param_gamma"].isna().tolist() == missing


def test_half_measured_trials_do_not_count_for_the_hypervolume():
    Y = np.array([[0.2, 0.9], [0.6, 0.5], [0.9, 0.1]])
    volumes, reference = hypervolumes(Y)
    # Without a score, but with the best value of the other objective by far.
    measured = np.vstack([Y[:1], [np.nan, 50.0], Y[1:]])
    with_more, same = hypervolumes(measured)
    np.testing.assert_allclose(same, reference)
    np.testing.assert_allclose(with_more, volumes[[0, 0, 1, 2]])


def test_the_hypervolume_grows_toward_that_of_all_trials(search):
    results = search.cv_results_
    costs = np.log(results["mean_test_leaves"])  # a cost counts by its logarithm
    Y = np.column_stack([results["mean_test_accuracy"], -costs])
    front = Y[search.pareto_front_["trial"]]
    reference = front.min(axis=0) - 0.2 * np.ptp(front, axis=0)
    expected = [reference[0], np.exp(-reference[1])]
    np.testing.assert_allclose(search.reference_point_, expected)
    box = np.prod(Y.max(axis=0) - reference)
    expected = [hypervolume(Y[: i + 1], reference) / box for i in range(len(Y))]
    np.testing.assert_allclose(search.hypervolume_, expected)
    assert np.all(np.diff(search.hypervolume_) >= 0)
    assert 0 < search.hypervolume_[-1] <= 1


def test_a_space_that_is_exhausted_has_the_front_of_all_there_is():
    """The scores equal the scores of grid search, also with weights."""
    weight = np.random.default_rng(0).random(len(y))
    ours = make({**OBJECTIVES, "f1_macro": "max"}, n_iter=50, surrogate="random")
    theirs = GridSearchCV(TREE, SPACE, cv=3, refit=False)
    theirs.set_params(scoring=["accuracy", "f1_macro"])
    for search in (ours, theirs):
        search.fit(X, y, sample_weight=weight)
    assert ours.stop_reason_ == "exhausted"
    assert len(ours.trials_) == 16
    order = [theirs.cv_results_["params"].index(p) for p in ours.cv_results_["params"]]
    for name in ("accuracy", "f1_macro"):
        expected = theirs.cv_results_[f"mean_test_{name}"][order]
        np.testing.assert_array_equal(ours.cv_results_[f"mean_test_{name}"], expected)
        assert ours.pareto_front_[name].max() == expected.max()
    assert ours.pareto_front_["leaves"].min() == 2


def test_the_front_covers_the_whole_range_of_a_tradeoff():
    space = {"alpha": (1e-4, 1e4, "log-uniform")}
    fitted = make({"r2": "max", "n_features": "min"}, Lasso(), space, n_iter=11)
    counts = fitted.fit(*load_diabetes(return_X_y=True)).pareto_front_["n_features"]
    assert counts.min() == 0
    assert counts.max() >= 7
    # Many trials are near the front.
    assert len(counts) >= 5


def test_measured_costs_are_columns_like_scores():
    objectives = {
        **{"accuracy": "max", "fit_time": "min", "score_time": "min"},
        "model_size": "min",
        "bytes": ("min", lambda tree: len(pickle.dumps(tree, protocol=5))),
        "recall": ("max", make_scorer(recall_score, average="macro")),
        "by_name": ("max", "f1_macro"),
        "leaves": ("min", n_leaves),
    }
    fitted = make(objectives, n_iter=2, return_train_score=True).fit(X, y)
    results = fitted.cv_results_
    for name in ("fit_time", "score_time"):
        expected = results[f"mean_{name}"]
        np.testing.assert_array_equal(results[f"mean_test_{name}"], expected)
    sizes = (results[f"mean_test_{name}"] for name in ("model_size", "bytes"))
    np.testing.assert_allclose(*sizes, rtol=0.1)
    assert list(fitted.scorer_) == ["accuracy", "recall", "by_name"]
    train = {key[11:] for key in results if key.startswith("mean_train_")}
    assert train == {"accuracy", "recall", "by_name"}
    for name in objectives:
        assert f"split2_test_{name}" in results
        assert f"rank_test_{name}" in results
    tree = DecisionTreeClassifier(random_state=0, **results["params"][0])
    for name, scoring in (("accuracy", "accuracy"), ("by_name", "f1_macro")):
        expected = cross_validate(tree, X, y, cv=3, scoring=scoring)["test_score"]
        assert results[f"mean_test_{name}"][0] == pytest.approx(expected.mean())
    fits = cross_validate(tree, X, y, cv=3, return_estimator=True)["estimator"]
    for k, fit in enumerate(fits):
        assert results[f"split{k}_test_leaves"][0] == fit.get_n_leaves()


def test_a_cost_that_cannot_be_measured_is_nan_and_on_no_front(fits_here):
    def fragile(tree):
        if tree.max_depth > 2:
            raise RuntimeError("too deep to be measured")
        return tree.get_n_leaves()

    objectives = {"accuracy": "max", "leaves": ("min", fragile)}
    with pytest.warns(UserWarning) as caught:
        fitted = make(objectives, n_iter=12).fit(X, y)
    assert any("too deep to be measured" in str(one.message) for one in caught)
    depths = np.array([params["max_depth"] for params in fitted.cv_results_["params"]])
    nan = np.isnan(fitted.cv_results_["mean_test_leaves"])
    np.testing.assert_array_equal(nan, depths > 2)
    assert 0 < nan.sum() < 12
    assert set(fitted.pareto_front_["param_max_depth"]) <= {1, 2}
    with pytest.raises(RuntimeError, match="too deep"):
        make(objectives, n_iter=12, error_score="raise").fit(X, y)
    never = {"accuracy": "max", "leaves": ("min", lambda tree: float("nan"))}
    fails = pytest.raises(ValueError, match="every objective within timeout=600; see")
    with pytest.warns(UserWarning), fails:
        make(never, n_iter=3, timeout=600).fit(X, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "error_score, bad", [(np.nan, "fit"), (0.0, "some"), (np.nan, "params")]
)
def test_failed_fits_are_on_no_front(error_score, bad):
    space = {"quality": [0.5, 0.9, 1.5], "bad": [None, bad]}
    objectives = {
        "own": ("max", lambda model, X, y: model.quality),
        "cost": ("min", lambda model: model.quality),
    }
    params = {"n_iter": 6, "cv": 2, "error_score": error_score}
    fitted = make(objectives, Sometimes(), space, **params)
    fitted.fit(np.arange(10)[:, None], [0, 1] * 5)
    table = fitted.results_frame()
    failed = table["mean_test_cost"].isna().to_numpy()
    assert failed.sum() == (1 if bad == "params" else 3)
    assert set(table["param_bad"][failed]) == {bad}
    front = fitted.pareto_front_
    assert not set(np.flatnonzero(failed)) & set(front["trial"])
    assert front["own"].min() == 0.5 and front["own"].max() == 1.5
    assert np.all(np.isfinite(fitted.hypervolume_))


def front_of(search):
    front = search.pareto_front_
    Y = np.column_stack([front["accuracy"], -front["leaves"]])
    return front, (Y - Y.min(axis=0)) / np.ptp(Y, axis=0)


def test_refit_and_select_name_a_point_of_the_front(search, journal):
    front, scaled = front_of(search)
    knee = np.argmin(np.hypot(*(1 - scaled).T))
    assert search.best_index_ == front["trial"][knee]
    chosen = pickle.loads(pickle.dumps(search))
    before = pickle.dumps(chosen.cv_results_)
    for choice, place in [
        ("knee", knee),
        ("accuracy", front["accuracy"].argmax()),
        ({"leaves": 1}, front["leaves"].argmin()),
        ({"accuracy": 3, "leaves": 1}, np.argmax(scaled @ [3, 1])),
    ]:
        refit = True if choice == "knee" else choice
        fitted = make(n_iter=12, refit=refit, journal=journal).fit(X, y)
        assert chosen.select(choice, X, y) is chosen
        for one in (fitted, chosen):
            assert one.best_index_ == front["trial"][place], choice
            assert one.best_params_ == search.pareto_params_[place]
            tree = clone(TREE).set_params(**one.best_params_).fit(X, y)
            np.testing.assert_array_equal(one.predict(X), tree.predict(X))
            accuracy = one.cv_results_["mean_test_accuracy"][one.best_index_]
            assert one.best_score_ == accuracy
            assert one.score(X, y) == np.mean(one.predict(X) == y)
    for trial in front["trial"]:
        # As in a row of floats.
        assert chosen.select(np.float64(trial), X, y).best_index_ == trial
    assert chosen.refit == "knee"
    assert pickle.dumps(chosen.cv_results_) == before


def test_refit_by_a_rule_and_no_refit(search, journal):
    # A rule may choose any trial.
    rule = OneStandardError("max_depth", metric="accuracy")
    fitted = make(n_iter=12, refit=rule, journal=journal).fit(X, y)
    assert fitted.best_index_ == rule(search.cv_results_)
    fitted = make(n_iter=12, refit=False, journal=journal).fit(X, y)
    assert len(fitted.pareto_params_) == len(fitted.pareto_front_) > 0
    for name in ("best_index_", "best_params_", "best_estimator_", "best_score_"):
        assert not hasattr(fitted, name)


def test_refit_by_a_scorer_is_what_score_scores_by():
    objectives = {**OBJECTIVES, "f1_macro": "max"}
    fitted = make(objectives, refit="f1_macro").fit(X, y)
    means = fitted.cv_results_["mean_test_f1_macro"]
    assert fitted.best_score_ == means.max()
    expected = fitted.scorer_["f1_macro"](fitted.best_estimator_, X, y)
    assert fitted.score(X, y) == expected


def test_select_passes_arguments_to_the_fit(search):
    weight = np.where(y == 0, 1.0, 1e-9)
    chosen = pickle.loads(pickle.dumps(search))
    chosen.select("accuracy", X, y, sample_weight=weight)
    model = clone(chosen.best_estimator_).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(chosen.best_estimator_.tree_.value, model.tree_.value)


def test_another_point_has_no_names_of_the_first():
    names = ["a", "b", "c", "d"]
    chosen = make().fit(pd.DataFrame(X, columns=names), y)
    assert chosen.feature_names_in_.tolist() == names
    chosen.select("leaves", X, y)
    assert not hasattr(chosen, "feature_names_in_")


def test_select_refuses_what_is_not_on_the_front():
    # The deeper tree has more leaves and a lower accuracy.
    points = [{"max_depth": depth, "min_samples_leaf": 1} for depth in (4, 6)]
    search = make(n_iter=2, initial_points=points).fit(X, y)
    with pytest.raises(ValueError, match="choice=1 is not on the front"):
        search.select(1, X, y)
    for wrong in ("speed", 0.5, True):
        with pytest.raises(ValueError, match="objectives.*the number of a trial"):
            search.select(wrong, X, y)


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
        (["accuracy", "predict_time"], "{'accuracy': 'max', 'predict_time': 'min'}"),
    ],
)
def test_wrong_objectives_are_named_before_any_fit(objectives, message, no_trials):
    with pytest.raises((TypeError, ValueError), match=message):
        make(objectives).fit(X, y)


@pytest.mark.parametrize("refit", ["speed", {"accuracy": -1}, {"accuracy": 0}, {}])
def test_other_wrong_arguments_are_refused_before_any_fit(refit, no_trials):
    search = make(refit=refit)
    with pytest.raises(ValueError, match="refit must be one of the objectives"):
        search.fit(X, y)
    with pytest.raises(ValueError, match="surrogate='tpe'"):
        search.set_params(surrogate="tpe", refit=True).fit(X, y)


def test_a_front_without_labels_is_found():
    objectives = {
        "inertia": ("max", lambda model, X, y=None: model.score(X)),
        "clusters": ("min", lambda model: len(model.cluster_centers_)),
    }
    space = {"n_clusters": [2, 3, 5, 8]}
    search = make(objectives, KMeans(n_init=1, random_state=0), space, cv=2).fit(X)
    assert search.pareto_front_["clusters"].tolist() == [8, 5, 3, 2]


def test_recorded_times_count_when_a_search_is_continued(tmp_path):
    path = tmp_path / "search.db"
    objectives = {"accuracy": "max", "score_time": "min", "predict_time": "min"}
    first = make(objectives, n_iter=4, journal=path, n_jobs=2).fit(X, y)
    again = make(objectives, n_iter=4, journal=path).fit(X, y)
    for name in ("mean_test_score_time", "mean_test_predict_time"):
        times = first.cv_results_[name]
        np.testing.assert_array_equal(times, again.cv_results_[name])
        assert np.all(times > 0.0)
    assert first.optimizer_.ask() == again.optimizer_.ask()
    with pytest.raises(ValueError, match="settings: objectives"):
        make({**OBJECTIVES, "n_features": "min"}, journal=path).fit(X, y)


def test_a_warm_start_tries_its_front_first(search, journal):
    n_iter = len(search.pareto_params_)
    first, *others = (
        make(warm_start_from=source, n_iter=n_iter).fit(X, y).cv_results_
        for source in (search, journal, search.cv_results_)
    )
    assert sorted(map(str, first["params"])) == sorted(map(str, search.pareto_params_))
    for other in others:
        assert_same_tables(other, first)
    with pytest.raises(ValueError, match="no scores .n_features."):
        make({**OBJECTIVES, "n_features": "min"}, warm_start_from=search).fit(X, y)


def test_a_limit_per_trial_leaves_trials_unfinished(fake_clock):
    class Slow(DecisionTreeClassifier):
        def fit(self, X, y):
            fake_clock.now += 0.03 if self.max_depth > 3 else 0.0
            return super().fit(X, y)

    params = {"space": {"max_depth": [1, 2, 3, 4]}, "trial_limits": {"time": 0.04}}
    params |= {"initial_points": [{"max_depth": k} for k in (1, 2, 3, 4)], "n_iter": 4}
    search = make(estimator=Slow(random_state=0), cv=4, **params).fit(X, y)
    assert [t.state for t in search.trials_] == ["complete"] * 3 + ["timed_out"]
    assert {"max_depth": 4} not in search.pareto_params_
    with pytest.raises(ValueError, match="choice chose row 3, .* state is timed_out"):
        search.select(lambda results: 3, X, y)


def test_stoppers_see_the_first_objective_and_the_expected_volume():
    trials = []
    make(stopper=lambda history: trials.append(history[-1])).fit(X, y)
    assert all(t.score == pytest.approx(t.scores["accuracy"].mean()) for t in trials)
    expected = [t.expected_improvement for t in trials]
    # The estimator's own configuration and three of the portfolio are first.
    assert expected[:4] == [None] * 4
    assert all(value >= 0 for value in expected[4:])
