import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skbayes import BayesSearchCV

X, y = load_iris(return_X_y=True)
PIPELINE = make_pipeline(StandardScaler(), SVC())
SPACE = {"svc__C": (0.01, 1000.0, "log-uniform"), "svc__kernel": ["rbf", "linear"]}


def search_of(space=SPACE, n_iter=6, **kwargs):
    arguments = {"n_iter": n_iter, "cv": 2, "random_state": 0, **kwargs}
    return BayesSearchCV(PIPELINE, space, **arguments)


@pytest.fixture(scope="module")
def found():
    return search_of().fit(X, y)


def test_the_estimator_and_then_the_portfolio(found):
    portfolio = found.optimizer_.prior.portfolio
    points = found.optimizer_.space.decode(portfolio.rows)
    tried = found.cv_results_["params"]
    assert tried[0] == {"svc__C": 1.0, "svc__kernel": "rbf"}
    assert all(params in points for params in tried[1 : portfolio.n_first])


@pytest.mark.parametrize("points", [None, [{"svc__C": 2.0, "svc__kernel": "rbf"}]])
def test_other_initial_points_switch_it_off(points):
    search = search_of(n_iter=1, initial_points=points, refit=False).fit(X, y)
    assert search.optimizer_.prior is None


def test_a_search_that_is_continued_is_the_same(found, tmp_path):
    for n_iter in (3, 6):
        search = search_of(n_iter=n_iter, journal=tmp_path / "a.journal").fit(X, y)
    assert search.cv_results_["params"] == found.cv_results_["params"]


def test_auto_has_densities_of_conditional_parameters():
    search = search_of("auto", n_iter=1).fit(X, y)
    assert "svc__gamma" in repr(search.optimizer_.prior)


def test_a_class_of_which_nothing_is_known():
    space = {"fit_intercept": [True, False], "positive": [True, False]}
    search = BayesSearchCV(LinearRegression(), space, n_iter=2, cv=2, random_state=0)
    assert search.fit(X, y).optimizer_.prior is None
