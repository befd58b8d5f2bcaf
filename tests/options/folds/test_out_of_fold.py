"""Out-of-fold predictions and fold estimators of the best candidate."""

import numpy as np
import pytest
from every_search import small_search
from scipy import sparse
from scripted_estimators import Restless
from simple_estimators import Sometimes
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    check_cv,
    cross_val_predict,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

X, y = load_iris(return_X_y=True)
SPACE = {"C": [1e-3, 1.0, 1e-2]}


def search(model=None, space=SPACE, **params):
    params = {"n_iter": 3, "cv": 3, "return_folds": "estimators", **params}
    return small_search(model or SVC(), space, **params)


class WithMargin(LogisticRegression):
    def margin(self, X):
        return self.decision_function(X).max(axis=1)


LOGISTIC = LogisticRegression(max_iter=500, tol=0.01)
ONE_VS_REST = OneVsRestClassifier(LOGISTIC)
SHUFFLED = KFold(3, shuffle=True, random_state=0)
SPARSE = sparse.csr_matrix(np.c_[y == 0, y < 2].astype(int))
TREE = DecisionTreeClassifier(random_state=0)


@pytest.mark.parametrize(
    "model, method, params",
    [
        (SVC(), "predict", {"pre_dispatch": 1}),
        (SVC(), "predict", {"n_jobs": 2, "pre_dispatch": 3}),
        (LOGISTIC, "predict_proba", {}),
        (LOGISTIC, "decision_function", {}),
        (SVR(), "predict", {"cv": SHUFFLED}),
        (SVC(kernel="precomputed"), "predict", {}),
        (ONE_VS_REST, "predict", {"space": {"estimator__C": [0.1]}, "cv": SHUFFLED}),
    ],
)
def test_predictions_are_those_of_cross_val_predict(model, method, params):
    data = rbf_kernel(X) if getattr(model, "kernel", "") == "precomputed" else X
    labels = SPARSE if model is ONE_VS_REST else y
    folds = ["estimators", method]
    ours = search(model, return_folds=folds, **params).fit(data, labels)
    best = clone(model).set_params(**ours.best_params_)
    expected = cross_val_predict(best, data, labels, cv=ours.cv, method=method)
    assert sparse.issparse(ours.oof_predictions_) == sparse.issparse(labels)
    actual, expected = map(sparse.csr_matrix, (ours.oof_predictions_, expected))
    np.testing.assert_allclose(actual.toarray(), expected.toarray())
    if data is X and ours.cv == 3:
        splits = enumerate(StratifiedKFold(3).split(X, y))
        for fit, (i, (_, test)) in zip(ours.fold_estimators_, splits, strict=True):
            expected = ours.cv_results_[f"split{i}_test_score"][ours.best_index_]
            assert fit.score(X[test], y[test]) == expected


@pytest.mark.parametrize(
    "method, n_classes",
    [("predict_proba", 4), ("decision_function", 4), ("decision_function", 3)],
)
def test_classes_missing_in_training_have_the_lowest_value(method, n_classes):
    # Classes in their order: each test set is one class, which no other holds.
    labels = np.repeat(np.arange(n_classes), 10)
    data = np.random.default_rng(0).normal(size=(len(labels), 3)) + labels[:, None]
    cv, folds = KFold(n_classes), ["estimators", method]
    ours = search(LOGISTIC, cv=cv, return_folds=folds).fit(data, labels)
    actual, missing = ours.oof_predictions_, 0.0 if "proba" in method else -np.inf
    assert actual.shape == (len(labels), n_classes)
    np.testing.assert_array_equal(actual[np.arange(len(labels)), labels], missing)
    if n_classes == 3:
        # The two columns contain the same information.
        first = ours.fold_estimators_[0].decision_function(data[:10])
        np.testing.assert_array_equal(actual[:10, 1:], np.c_[-first, first])
        return
    best = clone(LOGISTIC).set_params(**ours.best_params_)
    with pytest.warns(RuntimeWarning, match="Number of classes in training fold"):
        expected = cross_val_predict(best, data, labels, cv=cv, method=method)
    others = np.arange(4) != labels[:, None]
    np.testing.assert_allclose(actual[others], expected[others])


def test_other_methods_have_no_columns_of_classes():
    ours = search(WithMargin(max_iter=500), return_folds=["estimators", "margin"])
    ours.fit(X, y)
    splits = StratifiedKFold(3).split(X, y)
    for fit, (_, test) in zip(ours.fold_estimators_, splits, strict=True):
        np.testing.assert_array_equal(ours.oof_predictions_[test], fit.margin(X[test]))


class Counting(Restless):
    """Estimator that counts its fits, and raises an exception above a limit."""

    n_fits = 0

    def fit(self, X, y, heaviness=None):
        type(self).n_fits += 1
        self.total_ = None if heaviness is None else heaviness.sum()
        return Sometimes.fit(self, X, y)


@pytest.mark.parametrize("refit", [True, lambda results: 1])
def test_kept_fits_are_not_repeated(refit):
    Counting.n_fits = 0
    ours = search(Counting(), {"quality": [0.1, 0.9, 0.3, 0.6]}, n_iter=4, refit=refit)
    ours.fit(X, y)
    assert Counting.n_fits == 4 * 3 + 1
    expected = {"quality": 0.3 if refit is True else 0.9}
    assert ours.best_params_ == expected
    assert [fit.quality for fit in ours.fold_estimators_] == [expected["quality"]] * 3


def test_a_winner_from_the_journal_is_fitted_again(tmp_path):
    Counting.n_fits = 0
    ours = search(Counting(), {"quality": [0.1, 0.9, 0.3]}, journal=tmp_path / "j")
    heaviness = np.arange(150.0)
    ours.fit(X, y, heaviness=heaviness)
    assert Counting.n_fits == 3 * 3 + 1
    # A journal contains no estimators.
    ours.fit(X, y, heaviness=heaviness)
    assert Counting.n_fits == 3 * 3 + 1 + 3 + 1
    splits = StratifiedKFold(3).split(X, y)
    for fit, (train, _) in zip(ours.fold_estimators_, splits, strict=True):
        assert fit.quality == 0.3
        # Fit parameters are split like the rows.
        assert fit.total_ == train.sum()


ROWS = np.arange(150)
# A row is in two test sets, or in none, and half of the rows are in two.
NO_PARTITIONS = [
    [(ROWS, ROWS[:start]), (ROWS, ROWS[end:])] for start, end in [(80, 79), (70, 71)]
]
NO_PARTITIONS += [[(ROWS, ROWS[:75])] * 2]
OF_TREE = {"model": TREE, "space": {"max_depth": [2]}}


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"return_folds": "predict_proba"}, "return_folds: 'predict_proba' is not"),
        *(
            ({"return_folds": "predict", "cv": cv}, "_folds: .* require a cv .* every")
            for cv in (ShuffleSplit(3), *NO_PARTITIONS)
        ),
        ({"return_folds": "predict", "refit": False}, "refit=False cannot"),
        ({"return_folds": "estimators", "refit": False}, "refit=False cannot"),
        *(
            ({**OF_TREE, "return_folds": method}, "is not possible with several")
            for method in ("predict_proba", "predict_log_proba")
        ),
    ],
)
def test_impossible_requests_are_refused_before_any_fit(arguments, message, no_trials):
    targets = np.c_[y, y] if "model" in arguments else y
    arguments = {"model": Counting(), "space": {"quality": [1]}, **arguments}
    with pytest.raises(ValueError, match=message):
        search(**arguments).fit(X, targets)


def test_no_fits_are_stored_by_default():
    ours = search(return_folds=False).fit(X, y)
    assert not {"fold_estimators_", "oof_predictions_"} & vars(ours).keys()


def test_each_label_has_a_column_for_its_positive_class():
    # Without shuffling, each test set is one class, and labels of others are constant.
    labels, folds = np.c_[y == 0, y < 2, y == 1], ["estimators", "predict_proba"]
    ours = search(**OF_TREE, cv=KFold(3), return_folds=folds).fit(X, labels.astype(int))
    for k, fit in enumerate(ours.fold_estimators_):
        pairs = zip(fit.predict_proba(X[y == k]), fit.classes_, strict=True)
        expected = np.transpose([p @ (classes == 1) for p, classes in pairs])
        np.testing.assert_allclose(ours.oof_predictions_[y == k], expected)


@pytest.mark.parametrize("source", ["journal", "workers"])
def test_fold_results_of_all_trials_equal_separate_fits(source, tmp_path):
    params = {"return_folds": ["all", "estimators", "predict_proba"]}
    params |= {"n_jobs": 2} if source == "workers" else {"journal": tmp_path / "db"}
    fitted = search(TREE, {"max_depth": [1, 2, 3]}, **params).fit(X, y)
    if source == "journal":
        fitted = clone(fitted).fit(X, y)
    assert fitted.all_fold_estimators_[fitted.best_index_] is fitted.fold_estimators_
    splits = list(check_cv(3, y, classifier=True).split(X, y))
    for row, params in enumerate(fitted.cv_results_["params"]):
        tree = clone(TREE).set_params(**params)
        expected = cross_val_predict(tree, X, y, cv=splits, method="predict_proba")
        np.testing.assert_array_equal(fitted.all_oof_predictions_[row], expected)
        fits = fitted.all_fold_estimators_[row]
        for fit, (_, test) in zip(fits, splits, strict=True):
            np.testing.assert_array_equal(fit.predict_proba(X[test]), expected[test])
    # The predictions are the input of a final estimator of a stack.
    stacked = np.column_stack(fitted.all_oof_predictions_)
    assert LogisticRegression().fit(stacked, y).score(stacked, y) > 0.9


def test_trials_that_were_pruned_have_no_results():
    space = {"max_depth": [1, 2, 3], "min_samples_leaf": (1, 70)}
    params = {"pruning": 0.2, "n_iter": 12, "return_folds": ["all", "estimators"]}
    fitted = search(TREE, space, cv=5, **params).fit(X, y)
    pruned = np.array(fitted.cv_results_["state"]) != "complete"
    assert pruned.any()
    missing = [fits is None for fits in fitted.all_fold_estimators_]
    np.testing.assert_array_equal(missing, pruned)
