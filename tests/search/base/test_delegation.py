"""Rules D1 … D6: methods that are delegated to the best estimator.

What `test_sklearn_suite` covers is not repeated here.
"""

import numpy as np
import pytest
from grid_comparison import searches
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score
from sklearn.neighbors import KernelDensity
from sklearn.svm import SVC

from skbayes import BayesSearchCV

X, y = load_iris(return_X_y=True)
METHODS = [
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score_samples",
    "transform",
    "inverse_transform",
]
INNER = [
    (LogisticRegression(max_iter=500), {"C": [0.1, 1.0]}),
    (SVC(), {"C": [0.1, 1.0]}),
    (Ridge(), {"alpha": [0.1, 1.0]}),
    (PCA(), {"n_components": [1, 2]}),
    (KernelDensity(), {"bandwidth": [0.1, 1.0]}),
    (IsolationForest(n_estimators=5, random_state=0), {"max_samples": [10, 20]}),
]


def _zero(estimator, X, y=None):
    return 0.0


@pytest.mark.parametrize("estimator, grid", INNER, ids=lambda v: type(v).__name__)
def test_d1_methods_follow_the_best_estimator(estimator, grid):
    ours, theirs = searches(estimator, grid, cv=2, scoring=_zero)
    for name in METHODS:
        assert hasattr(ours, name) == hasattr(estimator, name)
    ours.fit(X, y)
    theirs.fit(X, y)
    for name in METHODS:
        assert hasattr(ours, name) == hasattr(ours.best_estimator_, name)
        if hasattr(ours, name):
            data = X
            if name == "inverse_transform":
                data = ours.transform(X)
            np.testing.assert_allclose(
                getattr(ours, name)(data), getattr(theirs, name)(data)
            )


def _logistic(space=None, **more):
    more = {"n_iter": 2, "cv": 2, "random_state": 0, **more}
    return BayesSearchCV(
        LogisticRegression(max_iter=500), space or {"C": [1, 2]}, **more
    )


def test_d3_classes_and_features():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    search = _logistic()
    for name in ("classes_", "n_features_in_", "feature_names_in_"):
        assert not hasattr(search, name)
    search.fit(frame, y)
    np.testing.assert_array_equal(search.classes_, [0, 1, 2])
    assert search.n_features_in_ == 4
    assert list(search.feature_names_in_) == ["a", "b", "c", "d"]
    arrays = BayesSearchCV(Ridge(), {"alpha": [1, 2]}, n_iter=2).fit(X, y)
    assert not hasattr(arrays, "classes_")
    assert not hasattr(arrays, "feature_names_in_")


@pytest.mark.parametrize(
    "scoring, refit",
    [
        ("f1_macro", True),
        (["accuracy", "f1_macro"], "f1_macro"),
        (lambda e, X, y: {"f": f1_score(y, e.predict(X), average="macro")}, "f"),
    ],
)
def test_d4_score_uses_the_metric_of_refit(scoring, refit):
    space = {"C": [0.001, 0.01]}
    search = _logistic(space, scoring=scoring, refit=refit).fit(X, y)
    wanted = f1_score(y, search.predict(X), average="macro")
    assert search.score(X, y) == pytest.approx(wanted)
    own = _logistic(space).fit(X, y)
    assert own.score(X, y) == own.best_estimator_.score(X, y)
    assert wanted != pytest.approx(search.best_estimator_.score(X, y))


def test_d5_namespace_errors_name_the_outer_class():
    search = BayesSearchCV(
        LinearDiscriminantAnalysis(), {"tol": [1e-3, 1e-4]}, random_state=0
    )
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
