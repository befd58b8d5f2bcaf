"""Measurements of fits: sizes, numbers of features, and their names."""

import math
import pickle
import threading
from inspect import signature

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier, StackingRegressor
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.discovery import all_estimators

from skbayes.trial.measure import (
    Measure,
    measured,
    model_size,
    n_features,
    parse_measurement,
)

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
        (make_pipeline(SelectKBest(k=3), "passthrough"), 3),
        (RFE(Ridge(), n_features_to_select=3), 3),
        (StackingRegressor([("a", Lasso(1e3))], Lasso(0.1), passthrough=True), 1),
        (OneVsRestClassifier(DummyClassifier()), 0),
        (DecisionTreeClassifier(max_depth=1, random_state=0), 1),
        (GridSearchCV(Lasso(), {"alpha": [0.1]}), 1),
        (TransformedTargetRegressor(Lasso(0.1)), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_features_with_an_effect_are_counted(estimator, expected):
    assert n_features(estimator.fit(X, y)) == expected


class Widest(ClassifierMixin, BaseEstimator):
    """Classifier that only uses the column with the greatest variance."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        self.coef_ = np.eye(X.shape[1])[[np.argmax(X.var(axis=0))]]
        return self

    def predict_proba(self, X):
        positive = X @ self.coef_[0] > 0.0
        return np.column_stack([~positive, positive]).astype(float)

    def predict(self, X):
        return self.classes_.take(self.predict_proba(X)[:, 1].astype(int))


class WidestRegressor(RegressorMixin, BaseEstimator):
    """Regressor that only uses the column with the greatest variance."""

    fit = Widest.fit

    def predict(self, X):
        return X @ self.coef_[0]


INNER = {"estimator", "estimators", "regressor"}
WITH_INNER = [
    kind
    for _, kind in all_estimators()
    if INNER & signature(kind).parameters.keys() and hasattr(kind, "predict")
]


@pytest.mark.filterwarnings("ignore:y contains no unlabeled")
@pytest.mark.filterwarnings("ignore:The total space of parameters")
@pytest.mark.parametrize("kind", WITH_INNER)
def test_features_that_inner_estimators_use(kind):
    rng, accepted = np.random.default_rng(0), signature(kind).parameters
    X = rng.normal(size=(90, 5)) * [1.0, 1.0, 9.0, 1.0, 1.0]
    y = (X[:, 1:4].sum(axis=1) > 0.0).astype(int)
    X[:, [1, 3]] += y[:, None]
    options = {"random_state": 0, "min_samples": 9, "n_iter": 1, "thresholds": 5}
    options |= {"residual_threshold": 99.0}
    options |= {"param_grid": {}, "param_distributions": {}}
    options = {name: value for name, value in options.items() if name in accepted}
    several = kind.__name__.startswith("MultiOutput") or "Chain" in kind.__name__

    def count(inner):
        inner.fit(X, y)  # for FrozenEstimator
        (name,) = INNER & accepted.keys()
        argument = [("a", inner)] if name == "estimators" else inner
        target = np.column_stack([y, y]) if several else y
        return n_features(kind(**{name: argument}, **options).fit(X, target))

    regresses = issubclass(kind, RegressorMixin)
    assert count(WidestRegressor() if regresses else Widest()) == 1
    # Pipelines have no coefficients for RFE, and take no weights of AdaBoost.
    if not kind.__name__.startswith(("RFE", "AdaBoost")):
        last = KNeighborsRegressor() if regresses else KNeighborsClassifier()
        assert count(make_pipeline(StandardScaler(), SelectKBest(k=3), last)) == 3


def test_features_of_coefficients_of_several_classes():
    model = LogisticRegression(max_iter=999).fit(X, y)
    model.coef_ = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]])
    assert n_features(model) == 2
    model.coef_ = sparse.csr_matrix(model.coef_)
    assert n_features(model) == 2
    with pytest.raises(ValueError, match="object has none of coef_"):
        n_features(object())


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
    fitted = fit(*parts)
    n_bytes = len(pickle.dumps(fitted, protocol=5))
    assert model_size(fitted) == pytest.approx(n_bytes, rel=0.1)
    # One object in this process is two equal objects in another process.
    refitted = fit(*[pickle.loads(pickle.dumps(part, protocol=5)) for part in parts])
    assert model_size(refitted) == model_size(fitted)


def test_equal_names_and_types_count_once():
    words = ["".join(["a", "word"]) for _ in range(3)]
    types = [np.dtype(dict(names=["n"], formats=["f8"])) for _ in range(3)]
    shared = model_size({"words": words[:1] * 3, "types": types[:1] * 3})
    assert model_size({"words": words, "types": types}) == shared
    array = np.arange(1000.0)
    views = [array, array[:]]
    assert model_size(views) < 1.1 * array.nbytes
    assert model_size([array, array.copy()]) > 2 * array.nbytes
    assert model_size(None) == len(pickle.dumps(None, protocol=5))


def test_local_classes_have_a_size_and_locks_have_none():
    class Local(DummyClassifier):
        pass

    model = make_pipeline(FunctionTransformer(lambda X: X), Local()).fit(X, y)
    assert model_size(model) > 100
    model.lock_ = threading.Lock()
    with pytest.raises(TypeError, match="pickle"):
        model_size(model)


OTHER = ["nonsense", 3, None, SVC, lambda: 0.0, lambda a, b: 0.0]


@pytest.mark.parametrize(
    "what, kind",
    [
        ("accuracy", "scorer"),
        ("recall", "metric"),
        ("model_size", "measure"),
        ("predict_time", "measure"),
        (lambda estimator, X, y: 0.0, "scorer"),
        (make_scorer(accuracy_score), "scorer"),
        (lambda estimator: 3.0, "measure"),
        *[(other, None) for other in OTHER],
    ],
)
def test_each_name_and_callable_is_of_at_most_one_kind(what, kind):
    measurement = parse_measurement(what, {"recall": "recall"})
    assert (measurement and measurement[0]) == kind


def test_a_measurement_that_fails_is_nan_with_a_warning():
    measures = {"a": Measure(lambda _: 1 / 0), "b": Measure(lambda _: 2)}
    result = {"fit_error": None, "estimator": None}
    with pytest.warns(UserWarning, match="Measuring 'a' of costs failed"):
        values = measured(measures, result, " of costs", raises=False)
    assert math.isnan(values["a"])
    assert values["b"] == 2.0
    with pytest.raises(ZeroDivisionError):
        measured(measures, result, "", raises=True)
