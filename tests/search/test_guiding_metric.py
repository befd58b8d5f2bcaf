"""Metric of the optimizer if `refit` is a rule of skbayes."""

import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from skbayes import BayesSearchCV
from skbayes.results.refit import OneStandardError

X, y = load_iris(return_X_y=True)


def search(**kwargs):
    return BayesSearchCV(
        SVC(), {"C": [0.1, 1.0]}, n_iter=2, cv=2, random_state=0, **kwargs
    )


def test_the_metric_of_the_rule_guides():
    rule = OneStandardError(metric="accuracy")
    found = search(scoring=["f1_macro", "accuracy"], refit=rule).fit(X, y)
    assert found.target_metric_ == "accuracy"
    assert not hasattr(found, "best_score_")
    assert found.best_params_ in ({"C": 0.1}, {"C": 1.0})


@pytest.mark.parametrize(
    "scoring, metric", [(["accuracy", "f1_macro"], "score"), ("accuracy", "f1_macro")]
)
def test_a_rule_by_no_metric_is_refused(scoring, metric):
    with pytest.raises(ValueError, match=f"refit=.*{metric}.*not among"):
        search(scoring=scoring, refit=OneStandardError(metric=metric)).fit(X, y)
