"""Rankers in searches."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from rankers import PrecisionAt1, QueryRanker, precision_at_1
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import GroupKFold
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

from skbayes import BayesSearchCV


class Recorder(BaseEstimator):
    """Ranker that records the arguments of its fit; it ranks by the first column."""

    def __init__(self, power=1.0):
        self.power = power

    def fit(self, X, y, group=None, sample_weight=None):
        self.X_, self.y_, self.group_, self.weight_ = X, y, group, sample_weight
        assert sum(group) == len(y)
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0] ** self.power


@pytest.fixture
def queries():
    """Return shuffled rows of 12 queries; rows with the largest value are relevant."""
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(12), rng.integers(2, 7, size=12)))
    X = rng.random((len(qid), 3))
    best = [X[qid == q, 0].max() for q in qid]
    return X, (X[:, 0] == best).astype(int), qid


# -- precision at 1 ---------------------------------------------------------------


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 3), st.sampled_from("abc")),
        min_size=1,
        max_size=20,
    )
)
def test_precision_is_that_of_going_through_the_queries(rows):
    parts = []
    for name in {row[2] for row in rows}:
        mine = [row for row in rows if row[2] == name]
        top = [row[0] for row in mine if row[1] == max(row[1] for row in mine)]
        parts.append(sum(top) / len(top))
    y, score, qid = zip(*rows, strict=True)
    assert precision_at_1(y, score, qid) == pytest.approx(np.mean(parts))


def test_graded_relevance_counts_from_above_0():
    assert precision_at_1([3, 0, 0, 0], [1, 0, 1, 0], [7, 7, 8, 8]) == 0.5


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        precision_at_1([1, 0], [0.1, 0.2], [1])


# -- the order of rows ------------------------------------------------------------


def test_the_ranker_sees_whole_queries(queries):
    X, y, qid = queries
    weight = np.arange(len(y), dtype=float)
    inner = QueryRanker(Recorder()).fit(X, y, qid=qid, sample_weight=weight).ranker_
    assert len(inner.group_) == 12
    begin = 0
    for count in inner.group_:
        rows = slice(begin, begin + count)
        name = qid[np.flatnonzero(X[:, 0] == inner.X_[begin, 0])[0]]
        np.testing.assert_array_equal(inner.X_[rows], X[qid == name])
        np.testing.assert_array_equal(inner.y_[rows], y[qid == name])
        np.testing.assert_array_equal(inner.weight_[rows], weight[qid == name])
        begin += count


def test_rows_in_order_stay(queries):
    X, y, qid = queries
    order = np.argsort(-qid, kind="stable")
    inner = QueryRanker(Recorder()).fit(X[order], y[order], qid=qid[order]).ranker_
    np.testing.assert_array_equal(inner.X_, X[order])
    assert inner.weight_ is None


def _frames(X, qid):
    columns = {"qid": [f"q{q}" for q in qid], **dict(zip("abc", X.T, strict=True))}
    yield pd.DataFrame(columns), "qid"
    yield pd.DataFrame(columns), 0
    yield pl.DataFrame(columns), "qid"
    yield np.column_stack([X, qid]), -1
    yield np.column_stack([qid, X]).tolist(), 0
    yield sparse.csr_matrix(np.column_stack([X, qid])), 3


def test_queries_in_a_column(queries):
    X, y, qid = queries
    expected = QueryRanker(Recorder()).fit(X, y, qid=qid)
    for data, query in _frames(X, qid):
        ranker = QueryRanker(Recorder(), query=query).fit(data, y)
        seen = ranker.ranker_.X_
        seen = seen.toarray() if sparse.issparse(seen) else np.asarray(seen)
        np.testing.assert_array_equal(seen, expected.ranker_.X_)
        np.testing.assert_array_equal(ranker.ranker_.group_, expected.ranker_.group_)
        if not sparse.issparse(data):
            assert ranker.score(data, y) == expected.score(X, y, qid=qid) == 1.0
        if hasattr(data, "shape") and not sparse.issparse(data):
            assert PrecisionAt1(query)(ranker, data, y) == 1.0


def test_mistakes(queries):
    X, y, qid = queries
    with pytest.raises(ValueError, match="needs the query of each row"):
        QueryRanker(Recorder()).fit(X, y)
    with pytest.raises(ValueError, match="needs the query of each row"):
        QueryRanker(Recorder()).fit(X, y, qid=qid).score(X, y)
    with pytest.raises(ValueError, match="no column 'qid'"):
        QueryRanker(Recorder(), query="qid").fit(pd.DataFrame(X), y)
    with pytest.raises(ValueError, match="must be a dataframe"):
        QueryRanker(Recorder(), query="qid").fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        QueryRanker(Recorder()).fit(X, y, qid=qid[1:])
    with pytest.raises(TypeError, match="'group'.* DecisionTreeRegressor"):
        QueryRanker(DecisionTreeRegressor()).fit(X, y, qid=qid)
    with pytest.raises(NotFittedError):
        QueryRanker(Recorder()).predict(X)


# -- in searches ------------------------------------------------------------------


def test_search_with_a_column(queries):
    X, y, qid = queries
    X = pd.DataFrame(X, columns=list("abc")).assign(qid=qid)
    search = BayesSearchCV(
        QueryRanker(Recorder(), query="qid"),
        {"ranker__power": [-1.0, 1.0]},
        scoring=PrecisionAt1(),
        cv=GroupKFold(3),
        random_state=0,
    ).fit(X, y, groups=qid)
    assert search.best_params_ == {"ranker__power": 1.0}
    assert search.best_score_ == 1.0
    assert search.score(X, y) == 1.0


def test_search_with_queries_beside_the_data(queries):
    X, y, qid = queries
    search = BayesSearchCV(
        QueryRanker(Recorder()),
        {"ranker__power": [-1.0, 1.0]},
        scoring=make_scorer(lambda y, scores: np.corrcoef(y, scores)[0, 1]),
        cv=GroupKFold(3),
        random_state=0,
    ).fit(X, y, groups=qid, qid=qid)
    assert search.best_params_ == {"ranker__power": 1.0}
    assert len(search.best_estimator_.ranker_.group_) == 12


def test_search_with_metadata_routing(queries):
    X, y, qid = queries
    with sklearn.config_context(enable_metadata_routing=True):
        search = BayesSearchCV(
            QueryRanker(Recorder()).set_fit_request(qid=True),
            {"ranker__power": [-1.0, 1.0]},
            scoring=make_scorer(precision_at_1).set_score_request(qid=True),
            cv=GroupKFold(3),
            random_state=0,
        ).fit(X, y, groups=qid, qid=qid)
    assert search.best_params_ == {"ranker__power": 1.0}
    assert search.best_score_ == 1.0


# LightGBM before 4.7 names the columns of arrays, and misses the names afterward.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_lightgbm_in_a_search(queries):
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(1)
    X, qid = rng.random((300, 3)), rng.permutation(np.repeat(np.arange(60), 5))
    y = (X[:, 0] > 0.7).astype(int)
    search = BayesSearchCV(
        QueryRanker(lightgbm.LGBMRanker(n_estimators=5, verbose=-1, n_jobs=1)),
        {"ranker__num_leaves": (2, 15), "ranker__learning_rate": (0.01, 0.5)},
        scoring=None,
        n_iter=3,
        cv=GroupKFold(2),
        random_state=0,
    )
    search.estimator.set_params(query=3)
    search.fit(np.column_stack([X, qid]), y, groups=qid)
    relevant = np.mean([y[qid == q].any() for q in range(60)])
    assert search.best_score_ > relevant - 0.1
    importances = search.best_estimator_.feature_importances_
    assert importances.argmax() == 0 and len(importances) == 3
    assert not hasattr(
        QueryRanker(Recorder()).fit(X, y, qid=qid), "feature_importances_"
    )


class TreeRanker(DecisionTreeRegressor):
    """Regressor that accepts groups."""

    def fit(self, X, y, group=None, sample_weight=None):
        assert sum(group) == len(y)
        return super().fit(X, y, sample_weight=sample_weight)


class OneQuery(QueryRanker):
    """Ranker in which all rows belong to one query, for scikit-learn's checks."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(
            X, y, qid=np.zeros(len(np.asarray(y))), sample_weight=sample_weight
        )

    def score(self, X, y):
        return super().score(X, y, qid=np.zeros(len(np.asarray(y))))


def test_scikit_learns_checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(OneQuery(TreeRanker(random_state=0)), on_fail=None)
    failed = {
        r["check_name"]: r["exception"] for r in results if r["status"] == "failed"
    }
    assert len(results) > 30
    assert not failed
