import math
import pickle
import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes.evaluation.objectives import Objectives, model_size, n_features
from skbayes.evaluation.trial import FoldResult, Trial

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    "estimator, expected",
    [
        (SVC(), 4),
        (Lasso(0.1), 1),
        (Lasso(1e3), 0),
        (make_pipeline(SelectKBest(k=2), SVC()), 2),
        (make_pipeline(StandardScaler(), LogisticRegression()), 4),
        (make_pipeline(PolynomialFeatures(2), LogisticRegression(max_iter=9999)), 15),
        (make_pipeline(SelectKBest(k=3), "passthrough"), 4),
        (DecisionTreeClassifier(max_depth=1, random_state=0), 1),
        (GridSearchCV(Lasso(), {"alpha": [0.1]}), 1),
        (TransformedTargetRegressor(Lasso(0.1)), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_features_that_are_used(estimator, expected):
    assert n_features(estimator.fit(X, y)) == expected


def test_features_of_several_classes_and_of_sparse_coefficients():
    model = LogisticRegression(max_iter=999).fit(X, y)
    model.coef_ = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]])
    assert n_features(model) == 2
    model.coef_ = sparse.csr_matrix(model.coef_)
    assert n_features(model) == 2


def test_features_of_nothing_are_refused():
    class Bare:
        pass

    with pytest.raises(ValueError, match="Bare has none of coef_"):
        n_features(Bare())


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        RandomForestClassifier(5, random_state=0),
        KNeighborsClassifier(algorithm="kd_tree"),
    ],
)
def test_size_is_that_of_the_pickle_wherever_it_was_fitted(model):
    def fit(X, y, parameters):
        return clone(model).set_params(**parameters).fit(X, y)

    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    parts = [X, y, model.get_params(deep=False)]
    here = fit(*parts)
    n_bytes = len(pickle.dumps(here, protocol=5))
    assert model_size(here) == pytest.approx(n_bytes, rel=0.1)
    # In another process, what is one object here are two that are equal.
    there = fit(*[pickle.loads(pickle.dumps(part, protocol=5)) for part in parts])
    assert model_size(there) == model_size(here)


def test_equal_names_and_types_count_once():
    words = ["".join(["a", "word"]) for _ in range(3)]
    types = [np.dtype(dict(names=["n"], formats=["f8"])) for _ in range(3)]
    shared = model_size({"words": words[:1] * 3, "types": types[:1] * 3})
    assert model_size({"words": words, "types": types}) == shared
    array = np.arange(1000.0)
    views = [array, array[:]]
    assert model_size(views) < 1.1 * array.nbytes
    assert model_size([array, array.copy()]) > 2 * array.nbytes


def test_a_size_can_be_had_of_classes_that_pickles_have_not():
    class Local(DummyClassifier):
        pass

    model = make_pipeline(FunctionTransformer(lambda X: X), Local()).fit(X, y)
    assert model_size(model) > 100


def test_what_cannot_be_pickled_has_no_size():
    model = DummyClassifier().fit(X, y)
    model.lock_ = threading.Lock()
    with pytest.raises(TypeError, match="pickle"):
        model_size(model)


def test_objectives_are_sorted_among_scorers_and_costs():
    objectives = Objectives(
        {
            "accuracy": "max",
            "slow": ("min", "fit_time"),
            "own": ("min", lambda estimator, X, y: 0.0),
            "made": ["max", make_scorer(accuracy_score)],
            "n_features": "max",
            "depth": ("min", DecisionTreeClassifier.get_depth),
        }
    )
    assert list(objectives.scorers) == ["accuracy", "own", "made"]
    assert list(objectives.measures) == ["slow", "n_features", "depth"]
    np.testing.assert_array_equal(objectives.signs, [1, -1, -1, 1, 1, -1])
    assert objectives.measures["slow"](None, {"fit_time": 2.5}) == 2.5
    scorer = objectives.multi_scorer(DummyClassifier(), raise_exc=True)
    assert set(scorer(DummyClassifier().fit(X, y), X, y)) == {"accuracy", "own", "made"}


def fold(a, b, **more):
    return FoldResult({"accuracy": a, "fit_time": b}, **more)


def test_what_is_told_of_a_trial():
    objectives = Objectives({"fit_time": "min", "accuracy": "max"})
    folds = [fold(0.5, 2.0), fold(0.7, 4.0)]
    assert objectives.of_trial(Trial(0, {}, folds, score=-3.0)) == [-3.0, 0.6]
    assert objectives(folds[0].test_scores) == -2.0
    folds.append(fold(math.nan, math.nan, skipped=True))
    timed_out = Trial(0, {}, folds, score=-3.0, state="timed_out")
    assert objectives.of_trial(timed_out) == [-3.0, 0.6]
    failed = Trial(0, {}, folds, score=math.nan, state="failed")
    assert all(map(math.isnan, objectives.of_trial(failed)))


def test_only_complete_trials_are_compared():
    objectives = Objectives({"accuracy": "max", "fit_time": "min"})
    results = {
        "mean_test_accuracy": np.array([0.5, 0.9, 0.7, 0.8]),
        "mean_test_fit_time": np.array([1.0, 2.0, np.nan, 3.0]),
    }
    states = ["complete", "timed_out", "complete", "complete"]
    trials = [Trial(i, {}, [], 0.0, state=state) for i, state in enumerate(states)]
    Y = objectives.of_results(results, trials)
    expected = [[0.5, -1.0], [np.nan] * 2, [np.nan] * 2, [0.8, -3.0]]
    np.testing.assert_array_equal(Y, expected)
