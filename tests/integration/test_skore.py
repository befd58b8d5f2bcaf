"""Reports of skore, from the fits of a search."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from skbayes import BayesSearchCV

skore = pytest.importorskip("skore", reason="needs skore")

X, y = load_breast_cancer(return_X_y=True)


class CountedNB(GaussianNB):
    """Classifier that counts its fits."""

    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        CountedNB.n_fits += 1
        return super().fit(X, y, sample_weight)


def test_candidates_are_compared_on_each_split_without_a_fit():
    cv = StratifiedKFold(3)
    space = {"var_smoothing": (1e-9, 1e-1, "log-uniform")}
    search = BayesSearchCV(
        CountedNB(), space, n_iter=4, cv=cv, return_folds=["all", "estimators"]
    ).fit(X, y)
    before = CountedNB.n_fits
    for split, (_, test) in enumerate(cv.split(X, y)):
        report = skore.ComparisonReport(
            {
                f"trial {number}": skore.EstimatorReport(
                    fits[split], X_test=X[test], y_test=y[test]
                )
                for number, fits in enumerate(search.all_fold_estimators_)
            }
        )
        found = report.metrics.accuracy()
        expected = search.cv_results_[f"split{split}_test_score"]
        np.testing.assert_allclose(np.ravel(found), expected)
    assert CountedNB.n_fits == before
