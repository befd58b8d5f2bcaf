"""Comparison of a search with GridSearchCV on the same finite space."""

import numpy as np
from simple_estimators import Sometimes  # noqa: F401
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skbayes import BayesSearchCV

# At least the size of every grid in these tests, so that all configurations are tried.
ENOUGH = 200

# Whether the scores of a search have weights without metadata routing, as since
# scikit-learn 1.7.
HAS_WEIGHTED_SCORES = "_check_scorers_accept_sample_weight" in dir(GridSearchCV)


def searches(estimator, grid, **kwargs):
    """Return a search of skbayes and GridSearchCV with the same arguments."""
    ours = {"n_iter": ENOUGH, "random_state": 0, **kwargs}
    ours = BayesSearchCV(clone(estimator), grid, **ours)
    return ours, GridSearchCV(clone(estimator), grid, **kwargs)


def fit_both(estimator, grid, X, y=None, *, fit_params=None, **kwargs):
    """Fit both."""
    ours, theirs = searches(estimator, grid, **kwargs)
    for search in (ours, theirs):
        search.fit(X, y, **(fit_params or {}))
    return ours, theirs


def assert_same_results(ours, theirs):
    """Check everything in `cv_results_` except the times, and the choice."""
    a, b = ours.cv_results_, theirs.cv_results_
    assert set(a) == set(b)
    assert a["params"] == b["params"]
    for key in set(a) - {"params"}:
        for of in (type, np.result_type, np.shape):
            assert of(a[key]) == of(b[key]), key
        if not key.endswith("_time"):
            masks = map(np.ma.getmaskarray, (a[key], b[key]))
            np.testing.assert_array_equal(*masks, err_msg=key)
            np.testing.assert_array_equal(a[key], b[key], err_msg=key)
    for name in ("best_index_", "best_params_", "best_score_", "n_splits_"):
        assert hasattr(ours, name) == hasattr(theirs, name), name
        if hasattr(theirs, name):
            assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.multimetric_ == theirs.multimetric_


def assert_same_tables(a, b):
    """Check that two `cv_results_` are equal except for the times."""
    assert a.keys() == b.keys()
    for key in a:
        if not key.endswith("_time"):
            np.testing.assert_array_equal(a[key], b[key], err_msg=key)
