"""Ensembles of searches."""

import itertools
import pickle

import numpy as np
import pytest
from joblib import parallel_config
from simple_estimators import Ballast, Unpicklable, n_leaves
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, get_scorer, make_scorer, recall_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import (
    BayesSearchCV,
    HyperTuneSearchCV,
    MultiStageSearchCV,
    TradeoffSearchCV,
)
from skbayes.options.ensembles import aspect as predictions
from skbayes.options.ensembles import final_model
from skbayes.search import WeightedEnsembleClassifier

X, y = load_breast_cancer(return_X_y=True)
X, y = X[::3], y[::3]
TREE = DecisionTreeClassifier(random_state=0)
SPACE = {"max_depth": (1, 8), "min_samples_leaf": (1, 30)}
SMOOTH = {"C": (0.01, 100.0, "log-uniform")}
SCALED = make_pipeline(StandardScaler(), LogisticRegression())
SCALED_SPACE = {"logisticregression__C": SMOOTH["C"]}


@pytest.fixture
def taken(monkeypatch):
    """Take ensembles of few trials although they may be worse."""
    monkeypatch.setattr(final_model, "is_better", lambda gain, std: True)


def fitted(kind=BayesSearchCV, estimator=TREE, space=SPACE, data=(X, y), **params):
    arguments = {"n_iter": 6, "cv": 3, "random_state": 0, "pre_dispatch": 1}
    arguments |= {"scoring": "neg_log_loss", "refit": "ensemble", **params}
    return kind(estimator, space, **arguments).fit(*data)


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


def test_the_single_best_is_that_of_a_search_without_an_ensemble(taken):
    search, plain = fitted(), fitted(refit=True)
    for name in ("best_params_", "best_score_", "best_index_"):
        assert getattr(search, name) == getattr(plain, name)
    assert isinstance(search.best_estimator_, WeightedEnsembleClassifier)
    assert search.score(X, y) == get_scorer("neg_log_loss")(search, X, y)
    assert clone(search).get_params()["refit"] == "ensemble"


def test_an_ensemble_without_a_gain_is_not_taken():
    names = np.random.default_rng(0).permutation(y)
    search = fitted(data=(X, names), scoring="accuracy")
    plain = fitted(data=(X, names), scoring="accuracy", refit=True)
    result = search.ensemble_
    assert result.reason == "no ensemble is better by more than its standard error"
    assert result.weights == {search.best_index_: 1.0}
    assert result.score == result.best_score == search.best_score_
    assert result.predict_cost == result.size_cost == 1.0
    np.testing.assert_array_equal(search.predict_proba(X), plain.predict_proba(X))


# -- costs ----------------------------------------------------------------------------

# Small trees of all columns, and trees of one column that are 100 times as large.
SIZES = [
    {"n_bytes": [150_000], "max_depth": [2]},
    {"n_bytes": [15_000_000], "column": [4, 8, 9, 11, 14], "max_depth": [1]},
]


def of_sizes(**params):
    options = {"estimator": Ballast(), "space": SIZES, "n_iter": 6}
    return fitted(**options | {"scoring": "neg_brier_score"} | params)


def test_members_that_are_too_large_are_left_out(taken, monkeypatch):
    search = of_sizes()
    alone = clone(search.estimator).set_params(**search.best_params_).fit(X, y)
    assert search.best_params_["n_bytes"] == 150_000
    assert len(pickle.dumps(search.best_estimator_)) <= 11 * len(pickle.dumps(alone))
    monkeypatch.setattr(final_model, "LEAST_SIZE", 1e9)
    large = of_sizes().best_estimator_.estimators_
    assert max(model.n_bytes for model in large) == 15_000_000


def test_a_small_best_model_does_not_forbid_others(taken):
    space = [{**SIZES[0], "n_bytes": [1_000]}, {**SIZES[1], "n_bytes": [100_000]}]
    search = of_sizes(space=space)
    assert search.best_params_["n_bytes"] == 1_000
    assert search.ensemble_.size_cost > 10
    assert len(pickle.dumps(search.best_estimator_)) < final_model.LEAST_SIZE


@pytest.mark.parametrize(
    "times, most",
    [
        (lambda depth: 0.001, 10),
        (lambda depth: 1.2 if depth % 2 else 0.9, 5),
        (lambda depth: 1.0 if depth < 3 else 0.25, 10),
    ],
)
def test_members_take_at_most_five_times_as_long(times, most, taken, monkeypatch):
    measured = predictions.measured_response

    def response(estimator, X, target):
        outputs = measured(estimator, X, target)
        outputs.seconds = times(estimator.max_depth)
        return outputs

    monkeypatch.setattr(predictions, "measured_response", response)
    search = fitted(n_iter=8, cv=5, surrogate="random")
    if times(1) > 0.001:
        assert 1.0 <= search.ensemble_.predict_cost < 5.0 * 2.0**0.5
    n_fits = len(search.best_estimator_.estimators_)
    assert 1 < n_fits <= most and (n_fits > 5) == (most > 5)


@pytest.mark.parametrize(
    "model, returned, backend",
    [
        (TREE, False, "threading"),
        (Unpicklable(random_state=0), False, "loky"),
        (Unpicklable(random_state=0), "estimators", "loky"),
    ],
)
def test_members_do_not_depend_on_workers_and_may_stay_there(
    model, returned, backend, taken
):
    params = {"estimator": model, "return_folds": returned}
    alone = fitted(**params)
    with parallel_config(backend, n_jobs=2):
        search = fitted(**params)
    assert search.ensemble_.weights == alone.ensemble_.weights
    np.testing.assert_array_equal(search.predict_proba(X), alone.predict_proba(X))
    assert len(getattr(search, "fold_estimators_", [0] * 3)) == 3


# -- constraints ----------------------------------------------------------------------


def test_bounds_on_metrics_hold_for_the_averages(taken):
    scoring = {"precision": "precision", "recall": "recall"}
    refit = {"rule": "ensemble", "metric": "precision"}
    params = {"constraints": {"recall": ">= 0.97"}, "n_iter": 8}
    search = fitted(scoring=scoring, refit=refit, surrogate="random", **params)
    weights, scores = search.ensemble_.weights, []
    models = [clone(TREE).set_params(**search.trials_[k].params) for k in weights]
    average = WeightedEnsembleClassifier(models, [*weights.values()])
    for train, test in StratifiedKFold(3).split(X, y):
        average.fit(X[train], y[train])
        scores.append(recall_score(y[test], average.predict(X[test])))
    assert np.mean(scores) >= 0.97


# -- other options --------------------------------------------------------------------

# Options that are combined with an ensemble, several at once.
OPTIONS = {
    "kept fits, pruning, own metric":
        {"return_folds": ["all", "estimators", "predict_proba"], "n_iter": 9,
         "scoring": make_scorer(f1_score), "pruning": True},
    "repeated, default metric, limits":
        {"cv": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), "n_iter": 3,
         "scoring": None, "trial_limits": {"time": 100.0}},
    "hypertune":
        {"kind": HyperTuneSearchCV, "complexity": {"max_depth": 1}, "n_subsets": 2},
    "shared steps": {"estimator": SCALED, "space": SCALED_SPACE},
    "one against one":
        {"estimator": SVC(decision_function_shape="ovo"), "space": SMOOTH,
         "scoring": "accuracy", "data": load_iris(return_X_y=True)},
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_members_are_complete_trials_of_the_last_stage(name, taken, monkeypatch):
    monkeypatch.setattr("skbayes.options.shared_steps.aspect.LEAST_SECONDS", 0.0)
    search = fitted(**OPTIONS[name])
    result = search.ensemble_
    assert not result.reason
    assert result.best_score == search.best_score_
    members = [search.trials_[number] for number in result.weights]
    assert {trial.state for trial in members} == {"complete"}
    last_stage = max(trial.fidelity.stage for trial in search.trials_)
    assert {trial.fidelity.stage for trial in members} == {last_stage}
    assert type(search.best_estimator_) is WeightedEnsembleClassifier


def test_the_best_trial_of_an_earlier_stage_is_averaged_with_others(taken):
    params = {"stages": (0.9, 1.0), "n_iter": (6, 2), "best_of": "all_stages"}
    search = fitted(MultiStageSearchCV, random_state=11, **params)
    assert search.trials_[search.best_index_].fidelity.stage == 0
    candidates = search.ensemble_.weights
    assert {search.trials_[number].fidelity.stage for number in candidates} == {0}
    assert search.ensemble_.reason == "" and len(candidates) > 1


# -- the best configuration alone -----------------------------------------------------


class Unlucky(DecisionTreeClassifier):
    """Tree whose fit fails without the first row, if it is deep."""

    def fit(self, X, y, sample_weight=None):
        if self.max_depth > 2 and X[0, 0] != FIRST:
            raise ValueError("no first row")
        return super().fit(X, y, sample_weight)


FIRST = X[0, 0]
CALLS = itertools.count()
UNLUCKY = {"estimator": Unlucky(random_state=0), "scoring": "accuracy"}
UNLUCKY["error_score"] = 1.0
CAUTIOUS = {"estimator": FixedThresholdClassifier(TREE, threshold=0.99)}
CAUTIOUS["space"] = {"estimator__min_samples_leaf": (8, 30)}


def small(model, X, y):
    return model.score(X, y) - 0.01 * model.get_depth()


def drifting(model, X, y):
    return model.score(X, y) + 1e-6 * next(CALLS)


@pytest.mark.filterwarnings("ignore:Some fits failed:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.parametrize(
    "params, text",
    [
        ({"scoring": drifting}, "give other scores or outcomes than its fits"),
        ({"scoring": small}, "cannot be scored .*'get_depth'"),
        (CAUTIOUS, "its predict does not follow from its predict_proba"),
        ({**UNLUCKY, "space": {"max_depth": [3, 4]}}, "a failed fit"),
        ({**UNLUCKY, "space": {"max_depth": [1, 2, 3]}, "n_iter": 3}, "a failed fit"),
    ],
)
def test_without_usable_predictions_the_best_configuration_is_taken(params, text):
    with pytest.warns(UserWarning, match=text):
        search = fitted(**{"n_iter": 2, **params})
    assert search.ensemble_.weights == {search.best_index_: 1.0}
    assert search.ensemble_.best_score == search.best_score_
    assert search.best_estimator_.get_params().items() >= search.best_params_.items()


def test_predictions_of_an_earlier_run_are_missing_with_a_warning(tmp_path, taken):
    whole, path = fitted(surrogate="random"), tmp_path / "journal"
    n_first = whole.best_index_ + 1
    assert 1 < n_first < 6
    fitted(surrogate="random", journal=path, n_iter=n_first)
    with pytest.warns(UserWarning, match="not in memory, because an earlier run"):
        search = fitted(surrogate="random", journal=path)
    assert search.best_params_ == whole.best_params_
    assert type(search.best_estimator_) is DecisionTreeClassifier
    later = tmp_path / "later"
    fitted(surrogate="random", journal=later, n_iter=n_first - 1)
    with pytest.warns(UserWarning, match=f"from {7 - n_first} of the best 6 trials"):
        search = fitted(surrogate="random", journal=later)
    assert min(search.ensemble_.weights) >= n_first - 1


@pytest.mark.parametrize("limit", ["MAX_STORED", "MEMORY_LIMIT"])
def test_only_the_best_trials_store_predictions(limit, monkeypatch, taken):
    size = 8 * 2 * len(y)  # two probabilities per row
    numbers, add = [], predictions.PredictionStore.add

    def added(self, trial, parts):
        add(self, trial, parts)
        numbers.append({*self.responses})

    monkeypatch.setattr(predictions.PredictionStore, "add", added)
    monkeypatch.setattr(predictions, limit, 3 * (size if limit != "MAX_STORED" else 1))
    search = fitted()
    best = [trial.number for trial in search.trials_.best_first()]
    assert numbers[-1] == {*best[:3]} >= {*search.ensemble_.weights}
    assert max(map(len, numbers)) == 3


KERNEL = {"estimator": SVC(kernel="precomputed"), "space": SMOOTH, "scoring": None}
ROUNDS = {"estimator": HistGradientBoostingClassifier(), "early_stopping": 9}
LAST = PredefinedSplit(np.where(np.arange(len(y)) < 90, np.arange(len(y)) % 3, -1))


@pytest.mark.parametrize(
    "arguments, text",
    [
        *(
            ({"refit": {"rule": "ensemble", "max_members": n}}, "max_members must be")
            for n in (1, 11, 2.5)
        ),
        ({"refit": {"rule": "ensemble", "members": "all"}}, "no option 'members'"),
        *(
            ({"cv": cv}, "refit='ensemble' averages fits of the splits.*cv=5")
            for cv in (2, ShuffleSplit(1), ShuffleSplit(4), TimeSeriesSplit(3), LAST)
        ),
        (
            {"constraints": {"n_features": "<= 9"}},
            r"constraints\['n_features'\] cannot",
        ),
        ({"constraints": {"leaves": (n_leaves, "<= 9")}}, r"\['leaves'\] cannot"),
        ({"kind": TradeoffSearchCV}, "TradeoffSearchCV chooses by score and cost"),
        ({"data": (X,), "scoring": None}, "neither|target y is None"),
        ({**KERNEL, "data": (X @ X.T, y)}, "the square matrix of SVC"),
        (
            {**ROUNDS, "space": {"max_leaf_nodes": [3, 4]}},
            "refit='ensemble' and early_stopping cannot be combined",
        ),
    ],
)
def test_options_that_are_impossible_are_errors_before_any_fit(
    arguments, text, no_trials
):
    with pytest.raises(ValueError, match=text):
        fitted(**arguments)
