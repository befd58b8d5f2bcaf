"""Ensembles of searches."""

import pickle
import shutil

import numpy as np
import pytest
from every_search import small_search
from simple_estimators import n_leaves
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
)
from sklearn.model_selection import (
    RepeatedKFold,
    ShuffleSplit,
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
    WeightedEnsembleClassifier,
    WeightedEnsembleRegressor,
)
from skbayes.evaluation import FoldResult, Trial, prefix
from skbayes.evaluation.aspects.predictions import KeptPredictions
from skbayes.evaluation.responses import Response
from skbayes.search import final_model

X, y = load_breast_cancer(return_X_y=True)
X, y = X[::3], y[::3]
TREE = DecisionTreeClassifier(random_state=0)
SPACE = {"max_depth": (1, 8), "min_samples_leaf": (1, 30)}


def fitted(kind=BayesSearchCV, estimator=TREE, space=SPACE, data=(X, y), **more):
    given = {"n_iter": 6, "cv": 3, "random_state": 0, "pre_dispatch": 1}
    given |= {"scoring": "neg_log_loss", "refit": "ensemble", **more}
    return kind(estimator, space, **given).fit(*data)


def out_of_fold_score(ensemble, splits):
    """Fit the members again, and return the mean score of their averages."""
    scores = []
    for train, test in splits:
        again = type(ensemble)(ensemble.estimators, ensemble.weights)
        again.fit(X[train], y[train])
        scores.append(get_scorer("neg_log_loss")(again, X[test], y[test]))
    return np.mean(scores)


@pytest.mark.parametrize("members", ["folds", "refit"])
def test_the_score_is_that_of_members_that_are_fitted_again(members):
    cv = list(ShuffleSplit(4, random_state=0).split(X))
    search = fitted(cv=cv, refit={"rule": "ensemble", "members": members})
    result, expected = search.ensemble_, out_of_fold_score(search.best_estimator_, cv)
    assert result.score == pytest.approx(expected, abs=1e-6)
    assert result.best_score == pytest.approx(search.best_score_, abs=1e-6)
    assert sum(result.weights.values()) == pytest.approx(1.0)
    assert result.members == members
    n_each = 4 if members == "folds" else 1
    assert len(search.best_estimator_.estimators_) == n_each * len(result.weights)


class CountedTree(DecisionTreeClassifier):
    n_fits = 0

    def fit(self, X, y):
        type(self).n_fits += 1
        return super().fit(X, y)


def test_no_model_is_fitted_after_the_search(monkeypatch):
    monkeypatch.setattr(CountedTree, "n_fits", 0)
    search = fitted(estimator=CountedTree(random_state=0))
    assert CountedTree.n_fits == 6 * 3
    assert len(search.ensemble_.weights) > 1


def test_predictions_are_kept_if_trials_share_steps(monkeypatch):
    monkeypatch.setattr(final_model.FinalModel, "_fit_again", None)
    monkeypatch.setattr(prefix, "LEAST_SECONDS", 0.0)
    refit = {"rule": "ensemble", "members": "refit"}
    search = fitted(**OPTIONS["shared steps"], refit=refit)
    assert any(fold.extras["shared_time"] for t in search.trials_ for fold in t.folds)


def test_the_single_best_is_that_of_a_search_without_an_ensemble():
    search, plain = fitted(), fitted(refit=True)
    assert search.best_params_ == plain.best_params_
    assert search.best_score_ == plain.best_score_
    assert search.best_index_ == plain.best_index_
    assert isinstance(search.best_estimator_, WeightedEnsembleClassifier)
    assert search.score(X, y) == get_scorer("neg_log_loss")(search, X, y)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))
    assert clone(search).get_params()["refit"] == "ensemble"


IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
RIDGE = {"estimator": Ridge(), "space": {"alpha": [1.0, 2.0]}, "scoring": None}
SMOOTH = {"C": (0.01, 100.0, "log-uniform")}
SCALED = make_pipeline(StandardScaler(), LogisticRegression())
SCALED_SPACE = {"logisticregression__C": SMOOTH["C"]}
# Options that meet an ensemble, several at once.
OPTIONS = {
    "processes, two metrics":
        {"n_jobs": 2, "pre_dispatch": 2, "scoring": ["accuracy", "neg_log_loss"],
         "constraints": {"fit_time": "<= 1000"}},
    "kept fits, racing, own metric":
        {"return_folds": ["all", "estimators", "predict_proba"], "n_iter": 9,
         "scoring": make_scorer(f1_score), "racing": True},
    "repeated, default metric, limits":
        {"cv": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), "n_iter": 3,
         "scoring": None, "trial_limits": {"time": 100.0}},
    "one split": {"cv": ShuffleSplit(1, random_state=0)},
    "stages": {"kind": MultiStageSearchCV, "stages": (0.5, 1.0), "n_iter": 8},
    "hypertune":
        {"kind": HyperTuneSearchCV, "complexity": {"max_depth": 1}, "n_subsets": 2},
    "shared steps": {"estimator": SCALED, "space": SCALED_SPACE},
    "no probabilities": {"estimator": SVC(), "space": SMOOTH, "scoring": "roc_auc"},
    "multiclass votes":
        {"estimator": SVC(decision_function_shape="ovo"), "space": SMOOTH,
         "scoring": "accuracy", "data": IRIS},
    "rounds":
        {"estimator": HistGradientBoostingClassifier(max_leaf_nodes=3), "rounds": 9,
         "space": {"learning_rate": (0.05, 0.5, "log-uniform")}, "n_iter": 3},
    "regression":
        {"estimator": DecisionTreeRegressor(random_state=0),
         "scoring": "neg_root_mean_squared_error", "data": DIABETES},
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_ensembles_with_other_options(name):
    search = fitted(**OPTIONS[name])
    result, data = search.ensemble_, OPTIONS[name].get("data", (X, y))
    assert result.best_score == pytest.approx(search.best_score_, abs=1e-6)
    assert np.isfinite(result.score_cv) == (name != "one split")
    members = [search.trials_[number] for number in result.weights]
    assert {trial.state for trial in members} == {"complete"}
    last_stage = max(trial.stage for trial in search.trials_)
    assert {trial.stage for trial in members} == {last_stage}
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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "more",
    [
        {"scoring": lambda model, X, y: np.nan},
        {"scoring": lambda model, X, y: np.inf},
        {**OPTIONS["rounds"], "scoring": lambda model, X, y: np.nan},
        {**UNLUCKY, "space": {"max_depth": [3, 4]}},
    ],
)
def test_without_a_usable_trial_the_best_configuration_is_the_only_member(more):
    more = {**more, "n_iter": 2}
    search, plain = fitted(**more), fitted(**more, refit=True)
    assert search.best_index_ == plain.best_index_
    assert search.ensemble_.weights == {plain.best_index_: 1.0}
    assert np.isnan(search.ensemble_.best_score)
    (member,) = search.best_estimator_.estimators_
    assert member.get_params().items() >= plain.best_params_.items()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_a_trial_with_a_failed_fit_is_no_member_even_if_it_is_the_best():
    space = {"max_depth": [1, 2, 3]}
    search = fitted(space=space, **UNLUCKY)
    assert search.best_params_ == {"max_depth": 3}
    assert {trial.error is None for trial in search.trials_} == {True, False}
    assert all(search.trials_[k].error is None for k in search.ensemble_.weights)
    best = max(t.score for t in search.trials_ if t.error is None)
    assert search.ensemble_.best_score == pytest.approx(best)


def test_only_trials_that_satisfy_the_constraints_are_members():
    search = fitted(constraints={"leaves": (n_leaves, "<= 6")}, n_iter=10)
    kept = [search.trials_[number].feasible for number in search.ensemble_.weights]
    assert all(kept)
    assert not all(trial.feasible for trial in search.trials_)


def test_a_resumed_search_has_the_predictions(tmp_path):
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


def test_files_of_another_search_are_not_used(tmp_path):
    path = tmp_path / "journal"
    fitted(n_iter=4, journal=path)
    path.unlink()
    search = fitted(n_iter=4, journal=path, cv=4)
    alone = fitted(n_iter=4, cv=4)
    assert search.ensemble_.weights == pytest.approx(alone.ensemble_.weights)


def test_the_memory_of_predictions_is_limited():
    size = 4 * 2 * len(y)  # two probabilities of single precision per row
    with pytest.warns(UserWarning, match=r"without [34] of 6 trials.*memory_limit"):
        search = fitted(refit={"rule": "ensemble", "memory_limit": 3 * size})
    assert len(search.ensemble_.weights) <= 3


def test_trials_that_finish_before_earlier_ones_are_added_keep_their_predictions():
    response = Response("predict_proba", np.zeros((3, 2)), 0.1)
    store = KeptPredictions(1e9, 2)
    store.responses |= {0: [response], 1: [response]}
    for number in range(2):
        folds = [FoldResult({"score": 0.5}, 0.1, 0.0)]
        store.add(Trial(number, {}, folds, score=0.5), [3])
    assert store.responses.keys() == {0, 1}
    assert not store.dropped


def test_limits_of_members_and_of_the_time_for_predictions():
    options = {"rule": "ensemble", "members": "refit"}
    assert len(fitted(refit={**options, "max_members": 2}).ensemble_.weights) <= 2
    single = fitted(refit={**options, "max_predict_cost": 1.0})
    assert single.ensemble_.predict_cost <= 1.0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"refit": {"rule": "ensemble", "max_members": 0}}, "max_members must be"),
        ({"refit": {"rule": "ensemble", "members": "all"}}, "members must be 'auto'"),
        ({"refit": {"rule": "ensemble", "min_gain": -1}}, "min_gain must be"),
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


@pytest.mark.parametrize("members", ["folds", "refit"])
@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("metric", [None, "auc"])
def test_members_are_fitted_with_the_weights_of_the_user(members, routing, metric):
    weights = np.linspace(1.0, 2.0, len(y))
    model, Z = Weighted(), StandardScaler().fit_transform(X)
    with config_context(enable_metadata_routing=routing):
        scorer = get_scorer("roc_auc")
        if routing:
            scorer = scorer.set_score_request(sample_weight=True)
            model.set_fit_request(sample_weight=True)
        rule = {"rule": "ensemble", "members": members, "metric": metric}
        scoring = scorer if metric is None else {metric: scorer}
        more = {"n_iter": 4, "cv": 3, "refit": rule, "scoring": scoring}
        search = small_search(model, SMOOTH, **more).fit(Z, y, sample_weight=weights)
    for fit in search.best_estimator_.estimators_:
        if members == "refit":
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
