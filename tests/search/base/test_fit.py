"""Rules F1 … F10, S1 and S2: arguments of `fit`, and splits.

What `test_sklearn_suite` covers is not repeated here.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from grid_comparison import Sometimes, assert_same_results, assert_same_tables, fit_both
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV
from skbayes.space import Integer

X, y = load_iris(return_X_y=True)
TREE = {"max_depth": [1, 2, 3]}


def tree():
    return DecisionTreeClassifier(random_state=0)


def _texts():
    texts = ["good day", "bad night", "good food", "bad food", "so good", "so bad"] * 5
    return texts, [1, 0] * 15


NAMES = ["a", "b", "c", "d"]
DATA = {
    "strings": (tree, TREE, lambda: (X, np.array(["x", "y", "z"])[y])),
    "coo": (tree, TREE, lambda: (sp.coo_matrix(X), y)),
    "polars": (tree, TREE, lambda: (pl.DataFrame(X, schema=NAMES), pl.Series(y))),
    "texts": (
        lambda: make_pipeline(CountVectorizer(), MultinomialNB()),
        {"countvectorizer__ngram_range": [(1, 1), (1, 2)]},
        _texts,
    ),
}


@pytest.mark.parametrize("kind", DATA)
def test_f1_kinds_of_input(kind):
    make, grid, data = DATA[kind]
    X, y = data()
    ours, theirs = fit_both(make(), grid, X, y, cv=3)
    assert_same_results(ours, theirs)
    rows = X.tocsr() if kind == "coo" else X
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
    # Only newer releases read the names of polars columns.
    names = getattr(theirs, "feature_names_in_", None)
    np.testing.assert_array_equal(getattr(ours, "feature_names_in_", None), names)


def test_f1_frames_reach_pipelines_and_transformers():
    frame = pd.DataFrame(X, columns=NAMES)
    scaler = StandardScaler().set_output(transform="pandas")
    pipe = make_pipeline(scaler, tree()).set_output(transform="pandas")
    space = {"decisiontreeclassifier__max_depth": [1, 2]}
    search = BayesSearchCV(pipe, space, n_iter=2, cv=2).fit(frame, y)
    assert list(search.best_estimator_[:-1].transform(frame).columns) == NAMES
    more = {"n_iter": 2, "scoring": lambda e, X, y: 0.0}
    search = BayesSearchCV(scaler, {"with_mean": [True, False]}, **more).fit(frame, y)
    assert list(search.transform(frame).columns) == NAMES


def test_f2_unequal_lengths_raise_before_any_fit():
    estimator = Sometimes(bad="fit")
    search = BayesSearchCV(
        estimator, {"quality": [1, 2]}, error_score="raise", random_state=0
    )
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        search.fit(X[:-1], y)


CVS = {
    "int": lambda: 4,
    "splitter": lambda: ShuffleSplit(3, random_state=0),
    "pairs": lambda: list(StratifiedKFold(3).split(X, y)),
    "generator": lambda: StratifiedKFold(3).split(X, y),
    "masks": lambda: [(np.arange(150) % 2 == 0, np.arange(150) % 2 == 1)],
}


@pytest.mark.parametrize("kind", sorted(CVS))
def test_f5_cv(kind):
    ours = BayesSearchCV(tree(), TREE, n_iter=9, cv=CVS[kind](), random_state=0)
    theirs = GridSearchCV(tree(), TREE, cv=CVS[kind]())
    assert ours.fit(X, y) is ours
    assert_same_results(ours, theirs.fit(X, y))


class Lying(KFold):
    """Splitter that is counted, and tells a wrong number of splits."""

    n_calls = 0

    def get_n_splits(self, X=None, y=None, groups=None):
        return 2

    def split(self, *args, **kwargs):
        type(self).n_calls += 1
        return super().split(*args, **kwargs)


def test_f6_conditional_parameters_of_an_option():
    pipe = Pipeline([("model", GaussianNB())])
    spaces = [
        {"model": [SVC()], "model__C": (0.1, 10.0, "log-uniform")},
        {"model": [tree()], "model__max_depth": (1, 5)},
    ]
    search = BayesSearchCV(pipe, spaces, n_iter=8, cv=2, random_state=0).fit(X, y)
    for params in search.cv_results_["params"]:
        inner = "model__C" if isinstance(params["model"], SVC) else "model__max_depth"
        assert set(params) == {"model", inner}
    assert len(search.cv_results_["params"]) == 8


SMOOTH = {"C": (1e-3, 1e3, "log-uniform"), "gamma": (1e-4, 1.0, "log-uniform")}


def test_f7_a_second_fit_starts_afresh():
    search = BayesSearchCV(SVC(), SMOOTH, n_iter=7, cv=2, random_state=3)
    first = search.fit(X, y).cv_results_
    second = search.fit(X, y).cv_results_
    third = clone(search).fit(X, y).cv_results_
    assert_same_tables(first, second)
    assert_same_tables(first, third)
    assert len(search.trials_) == 7


def test_f7_seeds_differ_and_an_instance_moves_on():
    def tried(seed):
        search = BayesSearchCV(Sometimes(), {"quality": (0.0, 1.0)}, n_iter=4, cv=2)
        return search.set_params(random_state=seed).fit(X, y).cv_results_["params"][1:]

    assert tried(0) != tried(1)
    rng = np.random.RandomState(0)
    assert tried(rng) != tried(rng)
    assert tried(np.random.RandomState(0)) == tried(np.random.RandomState(0))
    assert tried(None) != tried(None)


def test_s1_splits_are_drawn_once_also_under_an_unseeded_shuffle():
    rows = np.arange(150.0)[:, None]
    search = BayesSearchCV(
        Sometimes(),
        {"quality": (0.0, 1.0)},
        n_iter=5,
        cv=KFold(3, shuffle=True),
        # It identifies the test rows.
        scoring=lambda model, X, y: float(np.mean(X[:, 0])),
        random_state=0,
    )
    table = search.fit(rows, y).cv_results_
    for split in range(3):
        assert len(set(table[f"split{split}_test_score"])) == 1
    again = search.fit(rows, y).cv_results_
    assert again["split0_test_score"][0] != table["split0_test_score"][0]
    Lying.n_calls = 0
    search.set_params(cv=Lying(2)).fit(rows, y)
    assert Lying.n_calls == 1


def test_s2_nested_in_cross_val_score_a_classifier_is_stratified():
    # Sorted labels: without stratification each fold would lack a class entirely.
    search = BayesSearchCV(tree(), TREE, n_iter=3, cv=3, random_state=0)
    scores = cross_val_score(search, X, y, cv=3)
    theirs = cross_val_score(GridSearchCV(tree(), TREE, cv=3), X, y, cv=3)
    np.testing.assert_array_equal(scores, theirs)
    assert scores.min() > 0.8


def test_values_reach_the_estimator_as_plain_python():
    seen = []

    class Typed(Sometimes):
        def set_params(self, **params):
            seen.extend(map(type, params.values()))
            return super().set_params(**params)

    grid = {"quality": np.linspace(0, 1, 3), "bad": np.array([None], dtype=object)}
    BayesSearchCV(Typed(), grid, n_iter=3, cv=2, random_state=0).fit(X, y)
    BayesSearchCV(
        Typed(), {"quality": Integer(1, 9)}, n_iter=2, cv=2, random_state=0
    ).fit(X, y)
    assert set(seen) == {float, int, type(None)}


def test_repeated_values_keep_the_order_of_grid_search():
    grid = {"alpha": [10, 1, 1, 5]}
    search = BayesSearchCV(Ridge(), grid, cv=2)
    with pytest.warns(UserWarning, match="Parameter 'alpha': repeated values"):
        search.fit(X, y)
    assert [p["alpha"] for p in search.cv_results_["params"]] == [10, 1, 5]


class Minimal:
    """Estimator that has no base class of scikit-learn."""

    def __init__(self, shift=0):
        self.shift = shift

    def get_params(self, deep=True):
        return {"shift": self.shift}

    def set_params(self, shift):
        self.shift = shift
        return self

    def fit(self, X, y):
        self.mean_ = np.mean(y) + self.shift
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def _minus_distance(estimator, X, y):
    return -float(np.mean((estimator.predict(X) - y) ** 2))


def test_f3_minimal_estimator():
    # Tags are asked of every estimator since 1.7; this one has none to give.
    class Tagged(Minimal):
        def __sklearn_tags__(self):
            return Ridge().__sklearn_tags__()

    ours, theirs = fit_both(
        Tagged(), {"shift": [-1, 0, 1]}, X, y, cv=3, scoring=_minus_distance
    )
    assert_same_results(ours, theirs)
    assert ours.best_params_ == {"shift": 0}


@pytest.mark.parametrize("splitter", [GroupKFold(3), LeaveOneGroupOut()])
def test_f8_groups_go_to_the_splitter_only(splitter):
    groups = np.arange(150) % 5
    ours, theirs = fit_both(
        tree(), TREE, X, y, cv=splitter, fit_params={"groups": groups}
    )
    assert_same_results(ours, theirs)
    with pytest.raises(ValueError, match="groups"):
        clone(ours).fit(X, y)


def test_f10_weight_two_equals_a_repeated_row():
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 3, size=150)
    folds = np.arange(150) % 3
    splits = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in (0, 1)]
    rows = np.repeat(np.arange(150), weights)
    repeated = [
        (np.flatnonzero(folds[rows] != f), np.flatnonzero(folds[rows] == f))
        for f in (0, 1)
    ]
    # Before 1.7 the score is not weighted: fold means differ there, as they do in
    # GridSearchCV; the fits are compared through an unweighted test set.
    weighs_scores = "_check_scorers_accept_sample_weight" in dir(GridSearchCV)
    if not weighs_scores:
        splits = [(train, test[weights[test] == 1]) for train, test in splits]
        repeated = [(train, test[weights[rows[test]] == 1]) for train, test in repeated]
    data, targets = load_diabetes(return_X_y=True)
    data, targets = data[:150], targets[:150]
    grid = {"alpha": [0.1, 1.0, 10.0]}
    weighted = BayesSearchCV(Ridge(), grid, n_iter=3, cv=splits, random_state=0)
    weighted.fit(data, targets, sample_weight=weights.astype(float))
    plain = BayesSearchCV(Ridge(), grid, n_iter=3, cv=repeated, random_state=0)
    plain.fit(data[rows], targets[rows])
    np.testing.assert_allclose(
        weighted.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )
    np.testing.assert_allclose(weighted.predict(data), plain.predict(data))
