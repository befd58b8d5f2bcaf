"""The corrected best score."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV

from skbayes.results import corrected_best_score

X, y = load_iris(return_X_y=True)


def as_results(s, metric="score"):
    """Return `cv_results_` of an array of scores with one row per candidate."""
    folds = {f"split{k}_test_{metric}": column for k, column in enumerate(s.T)}
    return {f"mean_test_{metric}": s.mean(axis=1), **folds}


def corrected(s, index=None):
    index = int(np.nanargmax(s.mean(axis=1))) if index is None else index
    return corrected_best_score(as_results(s), index, s.shape[1])


#         best on   fold 0, fold 1, fold 2
FOLDS = np.array([[0.9, 0.6, 0.6], [0.7, 0.85, 0.7], [0.5, 0.6, 0.9]])


def shrunk(s):
    """Return the optimism by analysis of variance, written out."""
    n, k = s.shape
    means, folds = s.mean(axis=1), s.mean(axis=0)
    v = sum(
        (s[i, j] - means[i] - folds[j] + s.mean()) ** 2
        for i in range(n)
        for j in range(k)
    ) / ((n - 1) * (k - 1))
    m = np.median(means)
    signal = sum((x - m) ** 2 for x in means if x > m) / (n / 2)
    return min(1, (1 / k + 1 / (k - 1)) * v / signal) * (means.max() - m)


def gap(s):
    """Return the optimism by the best of each fold, written out."""
    n, k = s.shape
    r = math.sqrt(2 / k - 1 / k**2)
    best = max(range(n), key=lambda i: s[i].mean())
    return r / (1 - r) * sum(max(s[:, j]) - s[best, j] for j in range(k)) / k


def test_the_smaller_of_two_estimates():
    rng = np.random.default_rng(0)
    smaller = set()
    for n_splits in (2, 3, 5, 10, 20):
        for spread in (0.0, 1.0, 5.0):
            s = spread * rng.normal(size=(9, 1)) + rng.normal(size=(9, n_splits))
            expected = s.mean(axis=1).max() - min(gap(s), shrunk(s))
            assert corrected(s) == pytest.approx(expected)
            smaller.add(gap(s) < shrunk(s))
    assert smaller == {True, False}


def test_failed_configurations_do_not_remove_the_correction():
    s = np.random.default_rng(0).normal(size=(40, 5))
    far = s.copy()
    far[np.argsort(s.mean(axis=1))[:19]] -= 1000.0
    best = s.mean(axis=1).max()
    assert shrunk(far) == pytest.approx(shrunk(s))
    assert best - corrected(far) > 0.5 * (best - corrected(s))


TABLES = st.integers(2, 6).flatmap(
    lambda k: st.lists(
        st.lists(st.integers(0, 9), min_size=k, max_size=k), min_size=1, max_size=6
    )
)


@given(TABLES)
def test_never_above_the_mean_and_exact_for_a_clear_winner(rows):
    s = np.array(rows, dtype=float)
    assert corrected(s) <= s.mean(axis=1).max() + 1e-12
    clear = np.vstack([s, s.max(axis=0) + 1])
    assert corrected(clear) == pytest.approx(clear[-1].mean())


def test_candidates_that_failed_or_were_dropped_are_left_out():
    failed = np.vstack([[math.nan, 9.0, 9.0], FOLDS])
    assert corrected(failed) == corrected(FOLDS)
    assert math.isnan(corrected(failed, index=0))
    dropped = np.vstack([FOLDS, [1.0, 0.0, 1.0]])
    table = {**as_results(dropped), "n_resources": np.array([9, 9, 9, 3])}
    assert corrected_best_score(table, 1, 3) == corrected(FOLDS)
    assert math.isnan(corrected(np.array([[1.0], [2.0]])))  # one split
    # The same value is subtracted for other candidates than the best.
    optimism = FOLDS[1].mean() - corrected(FOLDS)
    assert corrected(FOLDS, index=2) == pytest.approx(FOLDS[2].mean() - optimism)
    # A fold that is easier for all changes nothing.
    shift = np.array([5.0, 0.0, -2.0])
    assert corrected(FOLDS + shift) == pytest.approx(corrected(FOLDS) + shift.mean())


def biases(n_splits, n_candidates, spread, n_searches=1000):
    """Return the bias of the plain and the corrected best score, by simulation."""
    rng = np.random.default_rng(0)
    errors = np.empty((n_searches, 2))
    for search in range(n_searches):
        truth = -spread * np.abs(rng.standard_normal(n_candidates))
        s = truth[:, None] + rng.standard_normal((n_candidates, n_splits))
        best = int(np.argmax(s.mean(axis=1)))
        errors[search] = np.array([s[best].mean(), corrected(s)]) - truth[best]
    return errors.mean(axis=0)


@pytest.mark.parametrize(
    "n_splits, n_candidates, spread, share",
    [(5, 5, 0.0, 0.4), (5, 30, 0.0, 0.4), (3, 20, 0.5, 0.6), (20, 20, 0.5, 0.6)],
)
def test_most_of_the_bias_goes_with_independent_folds(
    n_splits, n_candidates, spread, share
):
    # The mean of the folds' maxima alone subtracts up to 4 times the optimism.
    plain, corrected = biases(n_splits, n_candidates, spread)
    assert plain > 0.15
    assert abs(corrected) < share * plain


def test_equal_candidates_need_no_correction():
    grid, scoring = {"strategy": ["prior", "most_frequent"]}, ["accuracy", "f1_macro"]
    options = {"scoring": scoring, "refit": "accuracy", "cv": 3}
    search = GridSearchCV(DummyClassifier(), grid, **options).fit(X, y)
    score = corrected_best_score(search.cv_results_, 0, 3, metric="accuracy")
    # All candidates have the same predictions, so that the choice has no optimism.
    assert score == search.best_score_


def test_errors_of_the_corrected_score():
    table = as_results(FOLDS)
    with pytest.raises(ValueError, match=r"'mean_test_f1'.*\['score'\]"):
        corrected_best_score(table, 0, 3, "f1")
    with pytest.raises(ValueError, match="split3_test_score"):
        corrected_best_score(table, 0, 4)
    for index in (-1, 3):
        with pytest.raises(ValueError, match="index must be a row"):
            corrected_best_score(table, index, 3)
