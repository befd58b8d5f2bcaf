"""Ensembles of searches."""

import pickle
import shutil
import warnings

import numpy as np
import pytest
from every_search import small_search
from joblib import parallel_config
from simple_estimators import Ballast, Unpicklable, n_leaves
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import (
    f1_score,
    get_scorer,
    make_scorer,
    mean_pinball_loss,
    recall_score,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skbayes import (
    BayesSearchCV,
    HyperTuneSearchCV,
    MultiStageSearchCV,
    TradeoffSearchCV,
)
from skbayes.search import (
    WeightedEnsembleClassifier,
    WeightedEnsembleRegressor,
    final_model,
)
from skbayes.trial import FoldResult, Trial
from skbayes.trial.aspects import predictions, shared_steps
from skbayes.trial.responses import Response

X, y = load_breast_cancer(return_X_y=True)
X, y = X[::3], y[::3]
TREE = DecisionTreeClassifier(random_state=0)
SPACE = {"max_depth": (1, 8), "min_samples_leaf": (1, 30)}


@pytest.fixture
def taken(monkeypatch):
    """Take ensembles of few trials although they may be worse."""
    monkeypatch.setattr(final_model, "is_better", lambda gain, std: True)


def fitted(kind=BayesSearchCV, estimator=TREE, space=SPACE, data=(X, y), **more):
    given = {"n_iter": 6, "cv": 3, "random_state": 0, "pre_dispatch": 1}
    given |= {"scoring": "neg_log_loss", "refit": "ensemble", **more}
    return kind(estimator, space, **given).fit(*data)


EVEN = KFold(5, shuffle=True, random_state=0)
UNEVEN = ShuffleSplit(4, random_state=0)


@pytest.mark.parametrize("cv, members", [(EVEN, "folds"), (UNEVEN, "refit")])
def test_the_score_is_that_of_members_that_are_fitted_again(cv, members, taken):
    search = fitted(cv=cv)
    result, scores, splits = search.ensemble_, [], list(cv.split(X))
    places = [[*result.weights].index(k) for k in result.weights]
    trials = [search.trials_[k].params for k in result.weights]
    models = [clone(TREE).set_params(**params) for params in trials]
    weights = [*result.weights.values()]
    for train, test in splits:
        again = WeightedEnsembleClassifier(models, weights).fit(X[train], y[train])
        scores.append(get_scorer("neg_log_loss")(again, X[test], y[test]))
    assert result.score == pytest.approx(np.mean(scores), rel=1e-9)
    assert result.best_score == search.best_score_
    assert sum(weights) == pytest.approx(1.0)
    assert (result.members, places) == (members, sorted(places))
    # The members are fits of different splits, or of all rows.
    ensemble, rows = search.best_estimator_, [train for train, _ in splits]
    if members == "refit":
        rows = [slice(None)] * 5
        assert ensemble.weights_ == pytest.approx(weights)
    assert len(models) <= len(ensemble.estimators_) <= 5
    for place, (fit, own) in enumerate(
        zip(ensemble.estimators_, ensemble.estimators, strict=True)
    ):
        expected = clone(own).fit(X[rows[place]], y[rows[place]])
        np.testing.assert_array_equal(fit.predict_proba(X), expected.predict_proba(X))
    again = clone(ensemble).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


class CountedTree(DecisionTreeClassifier):
    n_fits = 0

    def fit(self, X, y):
        type(self).n_fits += 1
        return super().fit(X, y)


def test_only_the_members_are_fitted_after_the_search(monkeypatch, taken):
    monkeypatch.setattr(CountedTree, "n_fits", 0)
    search = fitted(estimator=CountedTree(random_state=0))
    assert len(search.ensemble_.weights) > 1
    assert CountedTree.n_fits == 6 * 3 + len(search.best_estimator_.estimators_)


def test_predictions_are_kept_if_trials_share_steps(monkeypatch):
    monkeypatch.setattr(final_model.FinalModel, "_again", None)
    monkeypatch.setattr(shared_steps, "LEAST_SECONDS", 0.0)
    search = fitted(**OPTIONS["shared steps"])
    assert any(fold.extras["shared_time"] for t in search.trials_ for fold in t.folds)


def test_the_single_best_is_that_of_a_search_without_an_ensemble(taken):
    search, plain = fitted(), fitted(refit=True)
    assert search.best_params_ == plain.best_params_
    assert search.best_score_ == plain.best_score_
    assert search.best_index_ == plain.best_index_
    assert isinstance(search.best_estimator_, WeightedEnsembleClassifier)
    assert search.score(X, y) == get_scorer("neg_log_loss")(search, X, y)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))
    assert clone(search).get_params()["refit"] == "ensemble"


def test_an_ensemble_without_a_gain_is_not_taken():
    names = np.random.default_rng(0).permutation(y)
    search = fitted(data=(X, names), scoring="accuracy")
    plain = fitted(data=(X, names), scoring="accuracy", refit=True)
    result = search.ensemble_
    assert result.reason == "no ensemble is better by more than its standard error"
    assert result.score == result.best_score == search.best_score_
    assert result.predict_cost == result.size_cost == 1.0
    assert type(search.best_estimator_) is DecisionTreeClassifier
    np.testing.assert_array_equal(search.predict_proba(X), plain.predict_proba(X))


def test_an_ensemble_is_not_much_larger_than_one_model(taken, monkeypatch):
    monkeypatch.setattr(final_model, "LEAST_SECONDS", 1e3)  # equal times
    more = {"n_iter": 12, "surrogate": "random", "cv": 5}
    search = fitted(**more)
    result = search.ensemble_
    assert len(result.weights) > 1
    n_members = len(search.best_estimator_.estimators_)
    assert result.predict_cost == pytest.approx(n_members)
    alone = clone(TREE).set_params(**search.best_params_).fit(X, y)
    assert len(pickle.dumps(search.best_estimator_)) < 11 * len(pickle.dumps(alone))
    many = fitted(refit={"rule": "ensemble", "max_members": 9}, **more)
    n_members = len(many.best_estimator_.estimators_)
    assert 5 < n_members <= 9
    assert many.ensemble_.predict_cost == pytest.approx(n_members)


# Small trees of all columns, and trees of one column that are 100 times as large.
SIZES = [
    {"n_bytes": [150_000], "max_depth": [2]},
    {
        "n_bytes": [15_000_000],
        "column": [4, 8, 9, 11, 14, 17, 24, 28],
        "max_depth": [1],
    },
]


def of_sizes(**more):
    options = {"estimator": Ballast(), "space": SIZES, "n_iter": 9}
    return fitted(**options | {"scoring": "neg_brier_score"} | more)


@pytest.mark.parametrize("cv", [EVEN, ShuffleSplit(4, train_size=0.5, random_state=0)])
def test_members_that_are_too_large_are_left_out(cv, taken, monkeypatch):
    search = of_sizes(cv=cv)
    assert search.best_params_["n_bytes"] == 150_000
    loaded = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(loaded.predict_proba(X), search.predict_proba(X))
    alone = clone(search.estimator).set_params(**search.best_params_).fit(X, y)
    assert len(pickle.dumps(loaded)) <= 10 * len(pickle.dumps(alone))
    monkeypatch.setattr(final_model, "LEAST_SIZE", 1e9)
    large = of_sizes(cv=cv).best_estimator_.estimators_
    assert max(model.n_bytes for model in large) == 15_000_000


def test_measured_times_do_not_change_the_members(taken, monkeypatch):
    measured, generator = predictions.measured_response, np.random.default_rng(0)

    def response(estimator, X, target):
        found = measured(estimator, X, target)
        found.seconds = 10.0 ** generator.uniform(-3.0, 3.0)
        return found

    expected = fitted(n_iter=8).ensemble_
    monkeypatch.setattr(predictions, "measured_response", response)
    monkeypatch.setattr(final_model, "LEAST_SECONDS", 1e-9)
    costs = []
    for _ in range(3):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ensemble = fitted(n_iter=8).ensemble_
        is_slow = ensemble.predict_cost > 10
        assert any("times as long" in str(w.message) for w in caught) == is_slow
        assert ensemble.weights == expected.weights
        costs.append(ensemble.predict_cost)
    assert max(costs) > 10 > min(costs)


def test_a_small_best_model_does_not_forbid_others(taken):
    space = [{**SIZES[0], "n_bytes": [1_000]}, {**SIZES[1], "n_bytes": [100_000]}]
    search = of_sizes(space=space)
    assert search.best_params_["n_bytes"] == 1_000
    assert search.ensemble_.size_cost > 10
    assert len(pickle.dumps(search.best_estimator_)) < final_model.LEAST_SIZE


def test_limits_do_not_depend_on_workers_or_a_journal(tmp_path, taken):
    expected = of_sizes().ensemble_.weights
    path = tmp_path / "journal"
    of_sizes(n_iter=5, journal=path)
    assert of_sizes(journal=path).ensemble_.weights == expected
    assert of_sizes(n_jobs=2).ensemble_.weights == expected
    with parallel_config("threading", n_jobs=2):
        assert of_sizes().ensemble_.weights == expected


@pytest.mark.parametrize("returned", [False, "estimators"])
def test_fits_that_cannot_be_pickled_stay_in_their_process(returned, taken):
    more = {"estimator": Unpicklable(random_state=0), "return_folds": returned}
    search, alone = fitted(n_jobs=2, **more), fitted(**more)
    assert search.ensemble_.weights == alone.ensemble_.weights
    np.testing.assert_array_equal(search.predict_proba(X), alone.predict_proba(X))
    assert len(getattr(search, "fold_estimators_", [0] * 3)) == 3


def test_probabilities_are_not_rounded(taken):
    search, far = fitted(estimator=SCALED, space=SCALED_SPACE), 2 * X[:3]
    expected = [
        weight * fit.predict_proba(far)
        for fit, weight in zip(
            search.best_estimator_.estimators_,
            search.best_estimator_.weights_,
            strict=True,
        )
    ]
    found = search.predict_log_proba(far)
    np.testing.assert_allclose(found, np.log(sum(expected)), rtol=1e-9, atol=1e-12)


CAUTIOUS = FixedThresholdClassifier(TREE, threshold=0.99)


@pytest.mark.parametrize("scoring", ["f1", "neg_log_loss"])
@pytest.mark.parametrize("cv", [3, UNEVEN])
def test_members_keep_their_own_predict(scoring, cv, taken):
    space = {"estimator__min_samples_leaf": (8, 30)}
    search = fitted(estimator=CAUTIOUS, space=space, scoring=scoring, cv=cv)
    assert search.ensemble_.best_score == search.best_score_
    assert search.best_estimator_.votes_
    fits, weights = search.best_estimator_.estimators_, search.best_estimator_.weights_
    share = weights @ [fit.predict(X) for fit in fits]
    np.testing.assert_array_equal(search.predict(X), share > 0.5)
    assert np.any(search.predict(X) != (search.predict_proba(X)[:, 1] > 0.5))
    again = clone(search.best_estimator_).fit(X, y)
    assert again.votes_


def test_bounds_on_metrics_hold_for_the_averages(taken):
    scoring = {"precision": "precision", "recall": "recall"}
    refit = {"rule": "ensemble", "metric": "precision"}
    for bound in (0.9, 0.97):
        more = {"constraints": {"recall": f">= {bound}"}, "n_iter": 8}
        search = fitted(scoring=scoring, refit=refit, surrogate="random", **more)
        result, scores = search.ensemble_, []
        for train, test in StratifiedKFold(3).split(X, y):
            kind = WeightedEnsembleClassifier
            trials = [search.trials_[k].params for k in result.weights]
            models = [clone(TREE).set_params(**params) for params in trials]
            average = kind(models, [*result.weights.values()]).fit(X[train], y[train])
            scores.append(recall_score(y[test], average.predict(X[test])))
        assert np.mean(scores) >= bound


def test_bounds_on_size_hold_for_the_sum_of_the_members(taken):
    more = {"n_iter": 12, "surrogate": "random"}
    limit = 2.5 * fitted(**more).trials_.best.extras.get("size", 3000)
    search = fitted(constraints={"model_size": f"<= {limit}"}, **more)
    sizes = [search.trials_[k].outcomes["model_size"] for k in search.ensemble_.weights]
    assert sum(sizes) <= limit


IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
RIDGE = {"estimator": Ridge(), "space": {"alpha": [1.0, 2.0]}, "scoring": None}
SMOOTH = {"C": (0.01, 100.0, "log-uniform")}
SCALED = make_pipeline(StandardScaler(), LogisticRegression())
SCALED_SPACE = {"logisticregression__C": SMOOTH["C"]}
STUMPS = HistGradientBoostingClassifier(max_leaf_nodes=3, random_state=0)
# Options that are combined with an ensemble, several at once.
OPTIONS = {
    "processes, two metrics":
        {"n_jobs": 2, "pre_dispatch": 2, "scoring": ["accuracy", "neg_log_loss"],
         "constraints": {"fit_time": "<= 1000"}},
    "kept fits, pruning, own metric":
        {"return_folds": ["all", "estimators", "predict_proba"], "n_iter": 9,
         "scoring": make_scorer(f1_score), "pruning": True},
    "repeated, default metric, limits":
        {"cv": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), "n_iter": 3,
         "scoring": None, "trial_limits": {"time": 100.0}},
    "stages": {"kind": MultiStageSearchCV, "stages": (0.5, 1.0), "n_iter": 8},
    "hypertune":
        {"kind": HyperTuneSearchCV, "complexity": {"max_depth": 1}, "n_subsets": 2},
    "shared steps": {"estimator": SCALED, "space": SCALED_SPACE},
    "no probabilities": {"estimator": SVC(), "space": SMOOTH, "scoring": "roc_auc"},
    "multiclass votes":
        {"estimator": SVC(decision_function_shape="ovo"), "space": SMOOTH,
         "scoring": "accuracy", "data": IRIS},
    "rounds":
        {"estimator": STUMPS, "early_stopping": 9,
         "space": {"learning_rate": (0.05, 0.5, "log-uniform")}, "n_iter": 3},
    "regression":
        {"estimator": DecisionTreeRegressor(random_state=0),
         "scoring": "neg_root_mean_squared_error", "data": DIABETES},
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_ensembles_with_other_options(name, taken):
    search = fitted(**OPTIONS[name])
    result, data = search.ensemble_, OPTIONS[name].get("data", (X, y))
    assert result.best_score == search.best_score_
    assert np.isfinite(result.score_cv)
    assert not result.reason
    members = [search.trials_[number] for number in result.weights]
    assert {trial.state for trial in members} == {"complete"}
    last_stage = max(trial.fidelity.stage for trial in search.trials_)
    assert {trial.fidelity.stage for trial in members} == {last_stage}
    assert search.predict(data[0]).shape == data[1].shape
    kind = WeightedEnsembleClassifier
    kind = WeightedEnsembleRegressor if name == "regression" else kind
    assert type(search.best_estimator_) is kind


class Unlucky(DecisionTreeClassifier):
    """Tree whose fit fails without the first row, if it is deep."""

    def fit(self, X, y, sample_weight=None):
        if self.max_depth > 2 and X[0, 0] != FIRST:
            raise ValueError("no first row")
        return super().fit(X, y, sample_weight)


FIRST = X[0, 0]
UNLUCKY = {"estimator": Unlucky(random_state=0), "scoring": "accuracy"}
UNLUCKY["error_score"] = 1.0


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize(
    "more",
    [
        {"scoring": lambda model, X, y: np.random.default_rng().normal()},
        {**UNLUCKY, "space": {"max_depth": [3, 4]}},
        {**UNLUCKY, "space": {"max_depth": [1, 2, 3]}, "n_iter": 3},
    ],
)
def test_without_usable_predictions_the_best_configuration_is_the_final_model(more):
    search = fitted(**{"n_iter": 2, **more})
    assert search.ensemble_.reason
    assert search.ensemble_.weights == {search.best_index_: 1.0}
    assert search.best_estimator_.get_params().items() >= search.best_params_.items()


def test_only_trials_that_satisfy_the_constraints_are_members(taken):
    search = fitted(constraints={"accuracy": ">= 0.88"}, n_iter=10)
    kept = [search.trials_[number].feasible for number in search.ensemble_.weights]
    assert all(kept)
    assert not all(trial.feasible for trial in search.trials_)


def test_a_resumed_search_has_the_predictions(tmp_path, taken):
    path, whole = tmp_path / "journal", fitted()
    fitted(n_iter=4, journal=path)
    folder, copied = (tmp_path / f"{name}.predictions" for name in ("journal", "copy"))
    assert len(list(folder.iterdir())) == 4
    shutil.copy(path, tmp_path / "copy")
    shutil.copytree(folder, copied)
    search = fitted(journal=path)
    assert search.ensemble_.weights == pytest.approx(whole.ensemble_.weights)
    np.testing.assert_allclose(search.predict_proba(X), whole.predict_proba(X))
    for number, file in enumerate(sorted(copied.iterdir())):
        if number % 2:
            file.unlink()
        else:
            file.write_bytes(file.read_bytes()[:100])
    with pytest.warns(UserWarning, match="without 4 of 6 trials"):
        search = fitted(journal=tmp_path / "copy")
    assert search.best_params_ == whole.best_params_
    assert search.ensemble_.score >= search.ensemble_.best_score


def test_lost_predictions_of_the_best_trial_are_made_again(tmp_path, taken):
    def resumed(n_lost):
        path = tmp_path / f"journal{n_lost}"
        best = fitted(n_iter=8, journal=path).trials_.best_first()
        for trial in best[:n_lost]:
            (tmp_path / f"{path.name}.predictions" / f"{trial.number}.npz").unlink()
        return fitted(n_iter=8, journal=path)

    # The five best ones are fitted again, and those with predictions remain.
    weights = fitted(n_iter=8).ensemble_.weights
    assert resumed(5).ensemble_.weights == pytest.approx(weights)
    with pytest.warns(UserWarning, match="without 2 of 8 trials"):
        resumed(7)


def test_files_of_another_search_are_not_used(tmp_path):
    path = tmp_path / "journal"
    fitted(n_iter=4, journal=path)
    path.unlink()
    search = fitted(n_iter=4, journal=path, cv=4)
    alone = fitted(n_iter=4, cv=4)
    assert search.ensemble_.weights == pytest.approx(alone.ensemble_.weights)


def test_the_memory_of_predictions_is_limited(monkeypatch, taken):
    size = 8 * 2 * len(y)  # two probabilities per row
    monkeypatch.setattr(predictions, "MEMORY_LIMIT", 3 * size)
    with pytest.warns(UserWarning, match=r"without [34] of 6 trials.*memory"):
        search = fitted()
    assert len(search.ensemble_.weights) <= 3


def test_trials_that_finish_before_earlier_ones_are_added_keep_their_predictions():
    response = Response("predict_proba", np.zeros((3, 2)))
    store = predictions.KeptPredictions()
    store.responses |= {0: [response], 1: [response]}
    for number in range(2):
        folds = [FoldResult({"score": 0.5}, 0.1, 0.0)]
        store.add(Trial(number, {}, folds, score=0.5), [3])
    assert store.responses.keys() == {0, 1}
    assert not store.dropped


def test_the_number_of_members_is_limited(taken):
    two = fitted(refit={"rule": "ensemble", "max_members": 2})
    assert len(two.best_estimator_.estimators_) == 2


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"refit": {"rule": "ensemble", "max_members": 1}}, "max_members must be"),
        ({"refit": {"rule": "ensemble", "members": "all"}}, "no option 'members'"),
        ({"cv": ShuffleSplit(1)}, "refit='ensemble' requires at least two splits"),
        (
            {"constraints": {"n_features": "<= 9"}},
            r"constraints\['n_features'\] cannot",
        ),
        ({"constraints": {"leaves": (n_leaves, "<= 9")}}, r"\['leaves'\] cannot"),
        ({"kind": TradeoffSearchCV}, "TradeoffSearchCV chooses by score and cost"),
        ({"data": (X,), "scoring": None}, "neither|target y is None"),
    ],
)
def test_options_that_are_impossible_are_errors_before_any_fit(
    arguments, text, no_trials
):
    with pytest.raises(ValueError, match=text):
        fitted(**arguments)


class Weighted(LogisticRegression):
    """Classifier that requires weights."""

    def fit(self, X, y, sample_weight):
        self.seen_ = np.asarray(sample_weight)
        return super().fit(X, y, sample_weight=sample_weight)


@pytest.mark.parametrize("cv", [3, UNEVEN])
@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("metric", [None, "auc"])
def test_members_are_fitted_with_the_weights_of_the_user(cv, routing, metric, taken):
    weights = np.linspace(1.0, 2.0, len(y))
    model, Z = Weighted(), StandardScaler().fit_transform(X)
    with config_context(enable_metadata_routing=routing):
        scorer = get_scorer("roc_auc")
        if routing:
            scorer = scorer.set_score_request(sample_weight=True)
            model.set_fit_request(sample_weight=True)
        rule = {"rule": "ensemble", "metric": metric}
        scoring = scorer if metric is None else {metric: scorer}
        more = {"n_iter": 4, "cv": cv, "refit": rule, "scoring": scoring}
        search = small_search(model, SMOOTH, **more).fit(Z, y, sample_weight=weights)
    for fit in search.best_estimator_.estimators_:
        if cv is UNEVEN:
            np.testing.assert_array_equal(fit.seen_, weights)
        else:
            assert len(fit.seen_) in (126, 127)
            assert set(fit.seen_) <= set(weights)


def test_quantile_predictions_are_averaged_by_their_own_metric():
    data = DIABETES
    pinball = make_scorer(mean_pinball_loss, greater_is_better=False, alpha=0.9)
    quantile = {"loss": "quantile", "quantile": 0.9, "max_iter": 20, "random_state": 0}
    model = HistGradientBoostingRegressor(**quantile)
    space = {"learning_rate": (0.02, 0.5, "log-uniform"), "max_leaf_nodes": (3, 31)}
    search = fitted(estimator=model, space=space, scoring=pinball, data=data)
    assert search.ensemble_.score >= search.ensemble_.best_score
    above = np.mean(data[1] <= search.predict(data[0]))
    assert 0.8 < above < 1.0


def test_the_best_trial_of_an_earlier_stage_is_averaged_with_others(taken):
    more = {"stages": (0.9, 1.0), "n_iter": (6, 2), "best_of": "all_stages"}
    search = fitted(MultiStageSearchCV, random_state=11, **more)
    assert search.trials_[search.best_index_].fidelity.stage == 0
    candidates = search.ensemble_.weights
    assert {search.trials_[number].fidelity.stage for number in candidates} == {0}
    assert search.ensemble_.reason == "" and len(candidates) > 1
