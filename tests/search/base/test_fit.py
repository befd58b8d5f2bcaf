"""Arguments of `fit`, routing, and splits.

What `test_sklearn_suite` and `docs/test_troubleshooting` cover is not repeated here.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from every_search import small_search
from grid_comparison import assert_same_results, fit_both
from simple_estimators import Sometimes
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV
from skbayes.search.preparation import share_of_splits
from skbayes.space import Integer

X, y = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier(random_state=0)
DEPTHS = {"max_depth": [1, 2, 3]}


def _texts():
    texts = ["good day", "bad night", "good food", "bad food", "so good", "so bad"] * 5
    return texts, [1, 0] * 15


NAMES = ["a", "b", "c", "d"]
NGRAMS = {"countvectorizer__ngram_range": [(1, 1), (1, 2)]}
DATA = {
    "strings": (TREE, DEPTHS, lambda: (X, np.array(["x", "y", "z"])[y])),
    "coo": (TREE, DEPTHS, lambda: (sp.coo_matrix(X), y)),
    "polars": (TREE, DEPTHS, lambda: (pl.DataFrame(X, schema=NAMES), pl.Series(y))),
    "texts": (make_pipeline(CountVectorizer(), MultinomialNB()), NGRAMS, _texts),
}


@pytest.mark.parametrize("kind", DATA)
def test_inputs_of_any_kind_give_the_results_of_grid_search(kind):
    estimator, grid, data = DATA[kind]
    X, y = data()
    ours, theirs = fit_both(estimator, grid, X, y, cv=3)
    assert_same_results(ours, theirs)
    rows = X.tocsr() if kind == "coo" else X
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
    # Only newer releases read the names of polars columns.
    names = getattr(theirs, "feature_names_in_", None)
    np.testing.assert_array_equal(getattr(ours, "feature_names_in_", None), names)


def test_frames_reach_pipelines_and_transformers():
    frame = pd.DataFrame(X, columns=NAMES)
    scaler = StandardScaler().set_output(transform="pandas")
    pipe = make_pipeline(scaler, TREE).set_output(transform="pandas")
    space = {"decisiontreeclassifier__max_depth": [1, 2]}
    search = small_search(pipe, space).fit(frame, y)
    assert list(search.best_estimator_[:-1].transform(frame).columns) == NAMES
    space, zero = {"with_mean": [True, False]}, lambda e, X, y: 0.0
    search = small_search(scaler, space, scoring=zero).fit(frame, y)
    assert list(search.transform(frame).columns) == NAMES


CVS = {
    "int": lambda: 4,
    "splitter": lambda: ShuffleSplit(3, random_state=0),
    "pairs": lambda: list(StratifiedKFold(3).split(X, y)),
    "generator": lambda: StratifiedKFold(3).split(X, y),
    "masks": lambda: [(np.arange(150) % 2 == 0, np.arange(150) % 2 == 1)],
}


@pytest.mark.parametrize("kind", sorted(CVS))
def test_splits_are_those_of_grid_search(kind):
    ours = small_search(TREE, DEPTHS, n_iter=9, cv=CVS[kind]())
    theirs = GridSearchCV(TREE, DEPTHS, cv=CVS[kind]())
    assert ours.fit(X, y) is ours
    assert_same_results(ours, theirs.fit(X, y))


def test_masks_of_rows_are_the_same_as_their_numbers():
    pairs = list(KFold(3).split(X))
    masks = [[np.isin(np.arange(150), rows) for rows in split] for split in pairs]
    search = small_search(TREE, DEPTHS, return_folds="predict")
    fits = [clone(search).set_params(cv=cv).fit(X, y) for cv in (pairs, masks)]
    np.testing.assert_array_equal(*(fit.oof_predictions_ for fit in fits))
    assert share_of_splits(masks, 150) == share_of_splits(pairs, 150) == 2 / 3


class Lying(KFold):
    """Splitter that is counted, and tells a wrong number of splits."""

    n_calls = 0

    def get_n_splits(self, X=None, y=None, groups=None):
        return 2

    def split(self, *args, **kwargs):
        type(self).n_calls += 1
        return super().split(*args, **kwargs)


def test_conditional_parameters_of_an_option():
    pipe = Pipeline([("model", GaussianNB())])
    spaces = [
        {"model": [Ridge()], "model__alpha": (0.1, 10.0, "log-uniform")},
        {"model": [TREE], "model__max_depth": (1, 5)},
    ]
    search = small_search(pipe, spaces, n_iter=8).fit(X, y)
    names = {(type(p["model"]).__name__, *p) for p in search.cv_results_["params"]}
    tree = ("DecisionTreeClassifier", "model", "model__max_depth")
    assert names == {("Ridge", "model", "model__alpha"), tree}
    assert len(search.cv_results_["params"]) == 8


def test_a_second_fit_leaves_no_attribute_of_the_first():
    space = {"quality": (0.0, 1.0)}
    search = small_search(
        Sometimes(), space, cv=3, return_folds="predict", refit="ensemble"
    )
    attributes = set(vars(search.fit(X, y)))
    assert {"oof_predictions_", "best_estimator_"} < attributes
    search.set_params(return_folds=False, refit=False).fit(X, y)
    assert set(vars(search)) == set(vars(clone(search).fit(X, y))) < attributes


def test_attributes_of_a_subclass_outlive_each_fit():
    class Scaled(BayesSearchCV):
        def fit(self, X, y):
            self.scaler_ = StandardScaler().fit(X)
            return super().fit(self.scaler_.transform(X), y)

    search = Scaled(TREE, DEPTHS, n_iter=2, random_state=0)
    for _ in range(2):
        assert hasattr(search.fit(X, y), "scaler_")


def test_seeds_differ_and_an_instance_moves_on():
    def tried(seed):
        search = small_search(Sometimes(), {"quality": (0.0, 1.0)}, random_state=seed)
        return search.fit(X, y).cv_results_["params"][1:]

    assert tried(0) != tried(1)
    rng = np.random.RandomState(0)
    assert tried(rng) != tried(rng)
    assert tried(np.random.RandomState(0)) == tried(np.random.RandomState(0))
    assert tried(None) != tried(None)


def test_splits_are_drawn_once_also_under_an_unseeded_shuffle():
    rows = np.arange(150.0)[:, None]
    # The score identifies the test rows.
    params = {"scoring": lambda model, X, y: float(np.mean(X[:, 0])), "n_iter": 3}
    params["cv"] = KFold(3, shuffle=True)
    search = small_search(Sometimes(), {"quality": (0.0, 1.0)}, **params)
    table = search.fit(rows, y).cv_results_
    for split in range(3):
        assert len(set(table[f"split{split}_test_score"])) == 1
    again = search.fit(rows, y).cv_results_
    assert again["split0_test_score"][0] != table["split0_test_score"][0]
    Lying.n_calls = 0
    search.set_params(cv=Lying(2)).fit(rows, y)
    assert Lying.n_calls == 1


def test_values_reach_the_estimator_as_plain_python():
    types = []

    class Typed(Sometimes):
        def set_params(self, **params):
            types.extend(map(type, params.values()))
            return super().set_params(**params)

    grid = {"quality": np.linspace(0, 1, 3), "bad": np.array([None], dtype=object)}
    small_search(Typed(), grid, n_iter=3).fit(X, y)
    small_search(Typed(), {"quality": Integer(1, 9)}).fit(X, y)
    assert set(types) == {float, int, type(None)}


def test_repeated_values_keep_the_order_of_grid_search():
    grid = {"alpha": [10, 1, 1, 5]}
    search = small_search(Ridge(), grid, n_iter=3)
    with pytest.warns(UserWarning, match="Parameter 'alpha': repeated values"):
        search.fit(X, y)
    assert [p["alpha"] for p in search.cv_results_["params"]] == [10, 1, 5]


WEIGHTED = make_scorer(accuracy_score)
METADATA = {
    "sample_weight": np.random.default_rng(0).uniform(0.5, 2.0, size=150),
    "groups": np.arange(150) % 6,
}


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_routing_gives_the_results_of_grid_search(routing):
    model = make_pipeline(
        StandardScaler().set_fit_request(sample_weight=False),
        GaussianNB().set_fit_request(sample_weight=True),
    )
    grid = {"gaussiannb__var_smoothing": [1e-9, 0.1, 1.0]}
    params = {"scoring": WEIGHTED.set_score_request(sample_weight=True)}
    params |= {"cv": GroupKFold(3), "fit_params": METADATA}
    assert_same_results(*fit_both(model, grid, X, y, **params))


def test_nested_in_cross_validate_and_in_workers(routing):
    def nested(cls, n_jobs=None, **extra):
        model = GaussianNB().set_fit_request(sample_weight=True)
        scorer = WEIGHTED.set_score_request(sample_weight=True)
        extra |= {"cv": GroupKFold(2), "scoring": scorer}
        search = cls(model, {"var_smoothing": [1e-9, 1.0]}, **extra)
        kwargs = {"cv": GroupKFold(3), "scoring": scorer, "error_score": "raise"}
        kwargs |= {"params": METADATA, "n_jobs": n_jobs}
        return cross_validate(search, X, y, **kwargs)["test_score"]

    expected = nested(GridSearchCV)
    assert np.isfinite(expected).all()
    np.testing.assert_array_equal(nested(BayesSearchCV, n_iter=2), expected)
    np.testing.assert_array_equal(nested(BayesSearchCV, 2, n_iter=2), expected)
