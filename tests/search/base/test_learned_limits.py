"""Time limits in the optimizer of a search."""

import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV, HyperTuneSearchCV
from skbayes.search.small_samples import RoundRobinOptimizer

X, y = load_iris(return_X_y=True)
SPACE = {"max_depth": (1, 9), "ccp_alpha": (0.0, 0.2)}


def search(**options):
    options = {"n_iter": 6, "cv": 2, "random_state": 0, **options}
    return BayesSearchCV(DecisionTreeClassifier(random_state=0), SPACE, **options)


def test_limits_reach_the_optimizer():
    optimizer = search(n_iter=1).fit(X, y).optimizer_
    assert optimizer.cost_limit is None and optimizer.cost_budget is None
    found = search(n_iter=2, pre_dispatch=2, timeout=1e5).fit(X, y)
    assert found.optimizer_.cost_limit is None
    # Seconds of all that are in flight.
    assert found.optimizer_.cost_budget == pytest.approx(2e5, rel=1e-3)


def test_the_improvement_per_second_is_an_acquisition_of_searches():
    found = search(surrogate=("gp", "ei-per-second"), timeout=1e5).fit(X, y)
    assert len(found.trials_) == 6


def test_optimizers_that_take_turns_share_the_limits():
    hyper_tune = HyperTuneSearchCV(
        DecisionTreeClassifier(random_state=0), SPACE, n_iter=4, cv=2, random_state=0
    )
    optimizers = [search(n_iter=1).fit(X, y).optimizer_ for _ in range(2)]
    RoundRobinOptimizer(optimizers).limit_costs(3.0, 10.0)
    assert [one.cost_limit for one in optimizers] == [3.0, 3.0]
    assert [one.cost_budget for one in optimizers] == [5.0, 5.0]
    assert hyper_tune.fit(X, y).best_score_ > 0.6
