"""Rules C1 … C6 and T1 … T3: construction, validation, display, tags."""

import inspect
import warnings

import numpy as np
import pytest
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
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from skbayes import BayesSearchCV, compat
from skbayes.space import Choice, Space
from skbayes.surrogates import GaussianProcess

X, y = load_iris(return_X_y=True)


class NeverFitted(SVC):
    def fit(self, X, y):
        pytest.fail("a fit was made")


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


def test_c1_the_defaults_are_those_of_grid_search_wherever_it_has_them():
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


def test_c2_clone_and_nested_parameters():
    search = BayesSearchCV(SVC(), {"C": [1, 2]}, n_iter=3, timeout=5.0)
    copy = clone(search)
    assert copy.estimator is not search.estimator
    a, b = search.get_params(), copy.get_params()
    assert a.keys() == b.keys()
    for name in set(a) - {"estimator", "error_score"}:
        assert a[name] == b[name], name
    search.set_params(estimator__C=3, n_iter=7)
    assert search.estimator.C == 3
    assert search.n_iter == 7
    assert "estimator__gamma" in search.get_params()


WRONG = {
    "estimator": object(),
    "search_spaces": 3,
    "n_iter": 0,
    "timeout": -1,
    "surrogate": "oracle",
    "initial_points": {"C": 1},
    "constraints": "C < 3",
    "trial_limits": 3,
    "return_folds": True,
    "scoring": "nonsense",
    "n_jobs": "many",
    "refit": 3.5,
    "cv": 1.5,
    "verbose": -1,
    "pre_dispatch": 1.5,
    "random_state": "seed",
    "error_score": "ignore",
    "return_train_score": "yes",
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_c3_wrong_argument_is_named(name):
    search = BayesSearchCV(LogisticRegression(), {"C": [1, 2]}, random_state=0)
    search.set_params(**{name: WRONG[name]})
    with pytest.raises((TypeError, ValueError), match=name):
        search.fit(X, y)


def test_c4_fit_alters_no_argument():
    spaces = {"C": [1.0, 2.0], "tol": [1e-3, 1e-4]}
    points = [{"C": 2.0, "tol": 1e-3}]
    data, labels = X.copy(), y.copy()
    search = BayesSearchCV(
        LogisticRegression(max_iter=500),
        spaces,
        initial_points=points,
        n_iter=3,
        cv=2,
        random_state=0,
    )
    before = {name: getattr(search, name) for name in search.get_params(deep=False)}
    inner = search.estimator.get_params()
    search.fit(data, labels)
    assert {n: getattr(search, n) for n in before} == before
    assert all(getattr(search, n) is v for n, v in before.items())
    assert search.estimator.get_params() == inner
    assert not hasattr(search.estimator, "coef_")
    assert spaces == {"C": [1.0, 2.0], "tol": [1e-3, 1e-4]}
    assert points == [{"C": 2.0, "tol": 1e-3}]
    np.testing.assert_array_equal(data, X)
    np.testing.assert_array_equal(labels, y)


def test_c5_repr_is_short_and_evaluable():
    search = BayesSearchCV(Ridge(alpha=2), {"alpha": [1, 2]}, n_iter=5)
    again = eval(repr(search), {"BayesSearchCV": BayesSearchCV, "Ridge": Ridge})
    assert repr(again) == repr(search)
    assert len(repr(search)) < 200


KINDS = [is_classifier, is_regressor, is_clusterer, is_outlier_detector]
INNER = [
    LogisticRegression(),
    Ridge(),
    KMeans(),
    IsolationForest(),
    SVC(kernel="precomputed"),
]


@pytest.mark.parametrize("inner", INNER, ids=lambda e: type(e).__name__)
def test_t1_t2_tags_are_those_of_the_inner_estimator(inner):
    for estimator in (inner, make_pipeline(StandardScaler(), inner)):
        search, theirs = searches(estimator, {})
        for kind in KINDS:
            assert kind(search) == kind(estimator)
        ours, own = get_tags(search), get_tags(estimator)
        assert ours == get_tags(theirs)
        assert ours.input_tags.pairwise == own.input_tags.pairwise
        assert ours.input_tags.sparse == own.input_tags.sparse
        for name in ("array_api_support", "classifier_tags", "regressor_tags"):
            assert getattr(ours, name) == getattr(own, name)


NESTED = Choice({"linear": {}, "rbf": {"gamma": (1e-3, 1.0, "log-uniform")}})


@pytest.mark.parametrize(
    "spaces, more, culprit",
    [
        ({"C": [1, 2], "nonsense": [1, 2]}, {}, "nonsense"),
        ({"C": []}, {}, "C"),
        ({"C": (2.0, 1.0)}, {}, "C"),
        ({"C": (0.0, 1.0, "log-uniform")}, {}, "C"),
        ({"C": (np.nan, 1.0)}, {}, "C"),
        ([{"C": [1, 2]}, {"nonsense__C": (1, 9)}], {}, "nonsense"),
        ({"C": [1, 2]}, {"initial_points": [{"C": 9}]}, "initial_points"),
        ({"C": [1, 2]}, {"constraints": lambda params: False}, "constraint"),
        ({"kernel": NESTED}, {"constraints": lambda params: params["gamma"] < 0.5},
         "constraint: raised KeyError.'gamma'"),
        ({"C": [1, 2]}, {"surrogate": GaussianProcess},
         "surrogate .*the class GaussianProcess"),
    ],
)  # fmt: skip
def test_mistakes_in_the_space_are_found_before_any_fit(spaces, more, culprit):
    search = BayesSearchCV(NeverFitted(), spaces, random_state=0, **more)
    with pytest.raises(ValueError, match=culprit):
        search.fit(X, y)


def test_a_name_that_only_some_options_refuse_is_found_before_any_fit():
    spaces = [{"svc__C": [1, 2]}, {"svc": [GaussianNB()], "svc__C": [1, 2]}]
    with pytest.raises(ValueError, match="svc__C"):
        BayesSearchCV(make_pipeline(StandardScaler(), SVC()), spaces).fit(X, y)


def test_whole_floats_reach_the_estimator_as_ints():
    search = BayesSearchCV(
        DecisionTreeClassifier(),
        {"max_depth": (1, 9), "min_samples_leaf": [1, 2]},
        initial_points=[{"max_depth": 3.0, "min_samples_leaf": 2.0}],
        n_iter=1,
        error_score="raise",
        random_state=0,
    ).fit(X, y)
    assert repr(search.best_params_) == "{'max_depth': 3, 'min_samples_leaf': 2}"


def test_the_points_of_a_clone_are_options_of_its_space():
    spaces = {"C": [1, 2], "step": [KFold(3), StandardScaler()]}
    point = {"C": 1, "step": spaces["step"][0]}
    search = clone(
        BayesSearchCV(
            Anything(), spaces, initial_points=[point], n_iter=1, random_state=0
        )
    )
    assert search.initial_points[0]["step"] is not search.search_spaces["step"][0]
    search.fit(X, y)
    assert search.best_params_["step"] is search.search_spaces["step"][0]


def test_a_space_and_a_constraint():
    space = Space.from_notation({"alpha": [1, 2, 3]})
    search = BayesSearchCV(Ridge(), space, constraints=lambda p: p["alpha"] > 1)
    search.fit(X, y)
    assert search.cv_results_["params"] == [{"alpha": 2}, {"alpha": 3}]
    assert space.constraint is None


@pytest.mark.parametrize("n_points, n_iter", [(3, 2), (2, 2), (4, 3)])
def test_more_initial_points_than_iterations(n_points, n_iter):
    points = [{"alpha": alpha} for alpha in (1.0, 2.0, 3.0, 3)][:n_points]
    search = BayesSearchCV(
        Ridge(),
        {"alpha": (0.5, 5.0)},
        initial_points=points,
        n_iter=n_iter,
        random_state=0,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, y)
    messages = [str(w.message) for w in caught if "initial_points" in str(w.message)]
    if n_points == 3:
        (message,) = messages
        assert "3 different configurations" in message and "n_iter=2" in message
        (where,) = [w.filename for w in caught if message == str(w.message)]
        assert where == __file__
    else:
        assert not messages
    assert search.cv_results_["params"] == points[:n_iter]


@pytest.mark.parametrize(
    "wrong, message",
    [(SVC, r"estimator .*the class SVC"), (KFold(), "estimator|Cannot clone object")],
)
def test_a_wrong_estimator_is_no_mistake_of_the_space(wrong, message):
    with pytest.raises((TypeError, ValueError), match=message):
        BayesSearchCV(wrong, {"C": [1, 2]}).fit(X, y)
