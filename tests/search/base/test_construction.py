"""Construction, validation, tags, and methods that are delegated to the best estimator.

What `test_sklearn_suite` and `docs/test_troubleshooting` cover is not repeated here.
"""

import copy
import inspect
import warnings

import numpy as np
import pytest
from every_search import small_search
from grid_comparison import searches
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    clone,
    is_classifier,
    is_clusterer,
    is_outlier_detector,
    is_regressor,
)
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from skbayes import BayesSearchCV, compat
from skbayes.space import Space

X, y = load_iris(return_X_y=True)
LOGISTIC = LogisticRegression(max_iter=500)


class Anything(ClassifierMixin, BaseEstimator):
    """Estimator that accepts any object as a parameter."""

    def __init__(self, C=1, step=None):
        self.C = C
        self.step = step

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_the_defaults_are_those_of_grid_search_wherever_it_has_them():
    ours = inspect.signature(BayesSearchCV).parameters
    theirs = inspect.signature(GridSearchCV).parameters
    for name in set(theirs) & set(ours):
        a, b = ours[name].default, theirs[name].default
        assert a is b or a == b or (np.isnan(a) and np.isnan(b)), name
    kinds = [parameter.kind for parameter in ours.values()]
    assert kinds[:2] == [inspect.Parameter.POSITIONAL_OR_KEYWORD] * 2
    assert set(kinds[2:]) == {inspect.Parameter.KEYWORD_ONLY}
    splits = KFold(3).split(X)
    search = BayesSearchCV(Ridge(), {"alpha": [1, 2]}, cv=splits)
    assert isinstance(search, compat.BaseSearchCV)
    assert len(list(splits)) == 3


def test_fit_alters_no_argument():
    originals = [{"C": [1.0, 2.0], "tol": [0.001]}, [{"C": 2.0, "tol": 0.001}], X, y]
    spaces, points, data, labels = before = copy.deepcopy(originals)
    search = small_search(LOGISTIC, spaces, initial_points=points, n_iter=3)
    arguments, inner = search.get_params(deep=False), LOGISTIC.get_params()
    search.fit(data, labels)
    assert all(getattr(search, name) is value for name, value in arguments.items())
    assert LOGISTIC.get_params() == inner and not hasattr(LOGISTIC, "coef_")
    assert before[:2] == originals[:2]
    np.testing.assert_array_equal(data, X)
    np.testing.assert_array_equal(labels, y)


KINDS = [is_classifier, is_regressor, is_clusterer, is_outlier_detector]
INNER = [LogisticRegression(), Ridge(), KMeans(), IsolationForest()]
INNER += [SVC(kernel="precomputed")]


@pytest.mark.parametrize("inner", INNER, ids=lambda e: type(e).__name__)
def test_tags_are_those_of_the_inner_estimator(inner):
    for estimator in (inner, make_pipeline(StandardScaler(), inner)):
        search, theirs = searches(estimator, {})
        for kind in KINDS:
            assert kind(search) == kind(estimator)
        ours, expected = get_tags(search), get_tags(estimator)
        assert ours == get_tags(theirs)
        assert ours.input_tags.pairwise == expected.input_tags.pairwise
        assert ours.input_tags.sparse == expected.input_tags.sparse
        for name in ("array_api_support", "classifier_tags", "regressor_tags"):
            assert getattr(ours, name) == getattr(expected, name)


METHODS = ["predict", "predict_proba", "predict_log_proba", "decision_function"]
METHODS += ["score_samples", "transform", "inverse_transform"]


@pytest.mark.parametrize(
    "estimator, grid",
    [
        (LOGISTIC, {"C": [0.1, 1.0]}),
        (SVC(), {"C": [0.1, 1.0]}),
        (PCA(), {"n_components": [1, 2]}),
        (KernelDensity(), {"bandwidth": [0.1, 1.0]}),
        (IsolationForest(n_estimators=5, random_state=0), {"max_samples": [10, 20]}),
    ],
    ids=lambda v: type(v).__name__,
)
def test_methods_follow_the_best_estimator(estimator, grid):
    scoring = lambda estimator, X, y=None: 0.0  # noqa: E731
    ours, theirs = searches(estimator, grid, cv=2, scoring=scoring)
    for name in METHODS:
        assert hasattr(ours, name) == hasattr(estimator, name)
    ours.fit(X, y)
    theirs.fit(X, y)
    for name in METHODS:
        assert hasattr(ours, name) == hasattr(ours.best_estimator_, name)
        if hasattr(ours, name):
            data = ours.transform(X) if name == "inverse_transform" else X
            actual, expected = (getattr(s, name)(data) for s in (ours, theirs))
            np.testing.assert_allclose(actual, expected)


@pytest.mark.parametrize(
    "scoring, refit",
    [
        ("f1_macro", True),
        (["accuracy", "f1_macro"], "f1_macro"),
        (lambda e, X, y: {"f": f1_score(y, e.predict(X), average="macro")}, "f"),
        (None, True),
    ],
)
def test_score_uses_the_metric_of_refit(scoring, refit):
    space = {"C": [0.001, 0.01]}
    search = small_search(LOGISTIC, space, scoring=scoring, refit=refit).fit(X, y)
    macro = pytest.approx(f1_score(y, search.predict(X), average="macro"))
    accuracy = search.best_estimator_.score(X, y)
    assert search.score(X, y) == (accuracy if scoring is None else macro)
    assert accuracy != macro


def test_namespace_errors_name_the_outer_class():
    search = small_search(LinearDiscriminantAnalysis(), {"tol": [1e-3, 1e-4]})
    if not hasattr(search, "_wrap_namespace_error"):
        pytest.skip("this scikit-learn release does not rewrite these errors")

    def inner(X):
        raise ValueError(
            "Inputs of LinearDiscriminantAnalysis.predict() must use the "
            "same namespace as during fit"
        )

    search.fit(X, y)
    search.best_estimator_.predict = inner
    with pytest.raises(ValueError, match=r"BayesSearchCV\.predict\(\)"):
        search.predict(X)


@pytest.mark.parametrize(
    "space, point, tried",
    [
        (
            {"max_depth": (1, 9), "min_samples_leaf": [1, 2]},
            {"max_depth": 3.0, "min_samples_leaf": 2.0},
            "{'max_depth': 3, 'min_samples_leaf': 2}",
        ),
        # As a fraction, it would be refused.
        (
            {"min_samples_leaf": (1, 9)},
            {"min_samples_leaf": 1.0},
            "{'min_samples_leaf': 1}",
        ),
    ],
)
def test_whole_floats_reach_the_estimator_as_ints(space, point, tried):
    params = {"initial_points": [point], "n_iter": 1, "error_score": "raise"}
    search = small_search(DecisionTreeClassifier(), space, **params).fit(X, y)
    assert repr(search.best_params_) == tried


@pytest.mark.parametrize(
    ("space", "value"),
    [((1, 3), 1.0), ([1, 2], np.float64(1)), ([0.5, 1.0], 1), ((0.1, 1.0), 1)],
)
def test_a_point_with_the_other_meaning_of_one_is_refused(space, value, no_trials):
    tree, points = DecisionTreeClassifier(), [{"max_features": value}]
    search = small_search(tree, {"max_features": space}, initial_points=points)
    with pytest.raises(ValueError, match=r"points\[0\]: .*'max_features': 1 and 1.0"):
        search.fit(X, y)


def test_the_points_of_a_clone_are_options_of_its_space():
    spaces = {"C": [1, 2], "step": [KFold(3), StandardScaler()]}
    point = {"C": 1, "step": spaces["step"][0]}
    search = clone(small_search(Anything(), spaces, initial_points=[point], n_iter=1))
    assert search.initial_points[0]["step"] is not search.search_spaces["step"][0]
    search.fit(X, y)
    assert search.best_params_["step"] is search.search_spaces["step"][0]


def test_a_constraint_does_not_change_the_search_space():
    space = Space.from_notation({"alpha": [1, 2, 3]})
    search = small_search(Ridge(), space, constraints=lambda p: p["alpha"] > 1)
    search.fit(X, y)
    assert search.cv_results_["params"] == [{"alpha": 2}, {"alpha": 3}]
    assert space.constraint is None


@pytest.mark.parametrize("n_points, n_iter", [(3, 2), (2, 2), (4, 3)])
def test_more_initial_points_than_iterations(n_points, n_iter):
    points = [{"alpha": alpha} for alpha in (1.0, 2.0, 3.0, 3)][:n_points]
    params = {"initial_points": points, "n_iter": n_iter}
    search = small_search(Ridge(), {"alpha": (0.5, 5.0)}, **params)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    ignored = [w for w in caught if "initial_points" in str(w.message)]
    assert len(ignored) == (n_points == 3)
    for warning in ignored:
        assert "3 different configurations" in str(warning.message)
        assert "n_iter=2" in str(warning.message)
        assert warning.filename == __file__
    assert search.cv_results_["params"] == points[:n_iter]
