"""Optimizer of Hyperactive that uses the optimizer of skbayes."""

import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

pytest.importorskip("hyperactive", reason="needs hyperactive, of the extra of its name")

from hyperactive.experiment.integrations import SklearnCvExperiment
from hyperactive.integrations.sklearn import OptCV

from skbayes.integration import HyperactiveOptimizer

X, y = load_iris(return_X_y=True)
SPACE = {"C": (0.01, 100.0, "log-uniform"), "gamma": (1e-4, 1.0, "log-uniform")}


def test_the_best_configuration_of_an_experiment():
    experiment = SklearnCvExperiment(SVC(), X=X, y=y, cv=StratifiedKFold(3))
    optimizer = HyperactiveOptimizer(
        SPACE, n_iter=12, random_state=0, experiment=experiment
    )
    best = optimizer.solve()
    assert best == optimizer.best_params_ and best.keys() == SPACE.keys()
    assert experiment.score(best)[0] == optimizer.best_score_ > 0.95


def test_as_the_optimizer_of_an_estimator():
    optimizer = HyperactiveOptimizer(SPACE, n_iter=8, random_state=0)
    search = OptCV(SVC(), optimizer).fit(X, y)
    assert search.best_params_.keys() == SPACE.keys()
    assert (search.predict(X) == y).mean() > 0.9


def test_a_finite_space_ends_the_search():
    tried = []
    optimizer = HyperactiveOptimizer(
        {"n": [1, 2, 3]}, experiment=lambda params: tried.append(params) or params["n"]
    )
    assert optimizer.solve() == {"n": 3}
    assert sorted(params["n"] for params in tried) == [1, 2, 3]


def test_scores_that_are_all_nan():
    optimizer = HyperactiveOptimizer(
        {"n": [1, 2, 3]}, experiment=lambda params: float("nan")
    )
    with pytest.raises(ValueError, match="all are NaN"):
        optimizer.solve()
