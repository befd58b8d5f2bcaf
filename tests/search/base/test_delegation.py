"""Rules D1 … D6: methods that are delegated to the best estimator."""

import os
import subprocess
import sys

import numpy as np
import pytest
from grid_comparison import searches
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
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


def test_d1_an_option_can_bring_a_method():
    search = BayesSearchCV(
        SGDClassifier(loss="hinge", random_state=0),
        {"loss": ["log_loss"]},
        n_iter=1,
        random_state=0,
    )
    assert not hasattr(search, "predict_proba")
    assert hasattr(search.fit(X, y), "predict_proba")


@pytest.mark.parametrize("name", [*METHODS[:4], "score"])
def test_d1_without_refit_the_error_says_why(name):
    search = BayesSearchCV(
        LogisticRegression(max_iter=500),
        {"C": [1, 2]},
        n_iter=2,
        refit=False,
        cv=2,
        random_state=0,
    ).fit(X, y)
    with pytest.raises(AttributeError) as raised:
        getattr(search, name)(X, *([y] if name == "score" else []))
    reason = f"{raised.value} {raised.value.__cause__}"
    assert "BayesSearchCV" in reason
    assert "`refit=False`" in reason


def test_d2_unfitted():
    search = BayesSearchCV(LogisticRegression(), {"C": [1, 2]})
    for name in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(search, name)(X)
    with pytest.raises(NotFittedError):
        search.score(X, y)


def test_d3_classes_and_features():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    search = BayesSearchCV(
        LogisticRegression(max_iter=500), {"C": [1, 2]}, n_iter=2, cv=2, random_state=0
    )
    for name in ("classes_", "n_features_in_", "feature_names_in_"):
        assert not hasattr(search, name)
    search.fit(frame, y)
    np.testing.assert_array_equal(search.classes_, [0, 1, 2])
    assert search.n_features_in_ == 4
    assert list(search.feature_names_in_) == ["a", "b", "c", "d"]
    assert not hasattr(
        BayesSearchCV(Ridge(), {"alpha": [1, 2]}, n_iter=2, random_state=0).fit(X, y),
        "classes_",
    )
    arrays = BayesSearchCV(Ridge(), {"alpha": [1, 2]}, n_iter=2, random_state=0).fit(
        X, y
    )
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
    search = BayesSearchCV(
        LogisticRegression(max_iter=500),
        {"C": [0.001, 0.01]},
        n_iter=2,
        scoring=scoring,
        refit=refit,
        random_state=0,
    ).fit(X, y)
    wanted = f1_score(y, search.predict(X), average="macro")
    assert search.score(X, y) == pytest.approx(wanted)
    assert wanted != pytest.approx(search.best_estimator_.score(X, y))


def test_d4_score_is_the_estimators_own_otherwise():
    search = BayesSearchCV(
        LogisticRegression(max_iter=500), {"C": [0.1, 1]}, n_iter=2, random_state=0
    ).fit(X, y)
    assert search.score(X, y) == search.best_estimator_.score(X, y)


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


ARRAY_API_PROGRAM = """
import sys
import array_api_strict as strict, numpy as np, sklearn
try:
    sklearn.set_config(array_api_dispatch=True)
except ImportError as error:
    sys.exit(f"cannot dispatch: {error}")
sklearn.set_config(array_api_dispatch=False)
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from skbayes import BayesSearchCV
X, y = load_iris(return_X_y=True)
search = BayesSearchCV(
    LinearDiscriminantAnalysis(), {"tol": [1e-2, 1e-4, 1e-6]}, n_iter=3, cv=2
)
plain = sklearn.base.clone(search).fit(X, y)
device = strict.Device(sys.argv[1])
with sklearn.config_context(array_api_dispatch=True):
    search.fit(strict.asarray(X, device=device), strict.asarray(y, device=device))
assert search.best_params_ == plain.best_params_
assert all(isinstance(v, (list, np.ndarray)) for v in search.cv_results_.values())
print("done")
"""


@pytest.mark.parametrize("device", ["CPU_DEVICE", "device1"])
def test_d6_array_api_input_gives_the_same_choice(device):
    pytest.importorskip("array_api_strict")
    # SciPy reads the variable when it is imported.
    done = subprocess.run(
        [sys.executable, "-c", ARRAY_API_PROGRAM, device],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.stderr.startswith("cannot dispatch"):
        pytest.skip(done.stderr.strip())
    assert done.stdout.strip() == "done", done.stderr
