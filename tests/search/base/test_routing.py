"""Rules M1 … M4: metadata routing.

What `test_sklearn_suite` covers is not repeated here.
"""

import numpy as np
import pytest
import sklearn
from grid_comparison import assert_same_results, fit_both
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayes import BayesSearchCV

X, y = load_iris(return_X_y=True)
GROUPS = np.arange(150) % 6
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2.0, size=150)
GRID = {"C": [0.1, 1.0]}


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_m2_same_results_as_grid_search(routing):
    model = make_pipeline(
        StandardScaler().set_fit_request(sample_weight=False),
        LogisticRegression(max_iter=500).set_fit_request(sample_weight=True),
    )
    ours, theirs = fit_both(
        model,
        {"logisticregression__C": [0.01, 0.1, 1.0]},
        X,
        y,
        cv=GroupKFold(3),
        scoring=make_scorer(accuracy_score).set_score_request(sample_weight=True),
        fit_params={"sample_weight": WEIGHTS, "groups": GROUPS},
    )
    assert_same_results(ours, theirs)


def test_m3_nested_in_cross_validate_and_in_workers(routing):
    def nested(cls, n_jobs=None, **extra):
        model = LogisticRegression(max_iter=500).set_fit_request(sample_weight=True)
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        search = cls(model, GRID, cv=GroupKFold(2), scoring=scorer, **extra)
        return cross_validate(
            search,
            X,
            y,
            cv=GroupKFold(3),
            scoring=scorer,
            params={"sample_weight": WEIGHTS, "groups": GROUPS},
            n_jobs=n_jobs,
            error_score="raise",
        )["test_score"]

    expected = nested(GridSearchCV)
    assert np.isfinite(expected).all()
    np.testing.assert_array_equal(nested(BayesSearchCV, n_iter=2), expected)
    np.testing.assert_array_equal(nested(BayesSearchCV, 2, n_iter=2), expected)
