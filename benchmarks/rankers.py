"""Rankers in searches: metadata of queries in each fold, and precision at 1.

A ranker such as LightGBM's requires that the rows of a query are adjacent. It also
requires the number of rows of each query, which differs between folds and subsets of
the rows. Here the query of each *row* is passed instead, which can be split like any
other data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

__all__ = ["PrecisionAt1", "QueryRanker", "precision_at_1"]


def precision_at_1(y_true: Any, y_score: Any, qid: Any) -> float:
    """Compute the share of queries whose best-ranked row is relevant.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance of the rows; above 0 is relevant.
    y_score : array-like of shape (n_samples,)
        Scores of the rows; the row with the largest score is ranked first.
    qid : array-like of shape (n_samples,)
        Query of each row, in any order.

    Returns
    -------
    precision : float
        From 0 to 1. If several rows of a query share the largest score, the query
        counts with the share of relevant rows among them. A query without a relevant
        row counts as 0.

    Raises
    ------
    ValueError
        If the lengths differ.

    Examples
    --------
    >>> from rankers import precision_at_1
    >>> precision_at_1([1, 0, 0, 1], [0.9, 0.1, 0.7, 0.2], ["a", "a", "b", "b"])
    0.5
    """
    check_consistent_length(y_true, y_score, qid)
    scores = column_or_1d(y_score)
    relevant = column_or_1d(y_true) > 0
    names, query = np.unique(column_or_1d(qid), return_inverse=True)
    best = np.full(len(names), -np.inf)
    np.maximum.at(best, query, scores)
    on_top = scores == best[query]
    n_on_top = np.bincount(query[on_top], minlength=len(names))
    n_relevant = np.bincount(query[on_top & relevant], minlength=len(names))
    return float(np.mean(n_relevant / n_on_top))


class PrecisionAt1:
    """Scorer of precision at 1 that reads the queries from a column of the data.

    It can be used as `scoring` of searches and of `cross_val_score`. With metadata
    routing and separate queries,
    `make_scorer(precision_at_1).set_score_request(qid=True)` computes the same score.

    Parameters
    ----------
    query : str or int, default="qid"
        Name or index of the column with the query of each row.

    See Also
    --------
    precision_at_1 : Metric that is computed.
    QueryRanker : Estimator that reads the queries from the same column.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyRegressor
    >>> from rankers import PrecisionAt1
    >>> X = np.array([[0, 1.0], [0, 2.0]])  # both rows are of query 0
    >>> PrecisionAt1(query=0)(DummyRegressor().fit(X, [0, 1]), X, [0, 1])
    0.5
    """

    def __init__(self, query: str | int = "qid") -> None:
        self.query = query

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.query!r})"

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Compute the score with the ranks of `estimator.predict(X)`.

        Parameters
        ----------
        estimator : estimator
            Fitted estimator.
        X : dataframe or {array, sparse matrix} of shape (n_samples, n_columns)
            Data with the column of the queries.
        y : array-like of shape (n_samples,)
            Relevance; above 0 is relevant.

        Returns
        -------
        precision : float
            From 0 to 1.
        """
        return precision_at_1(y, estimator.predict(X), _column(X, self.query))


class QueryRanker(MetaEstimatorMixin, BaseEstimator):
    """Ranker that is fitted with the query of each row, for use in searches.

    The rows are sorted by query, and the argument `group` of the ranker, the number of
    rows per query, is counted among the rows of the fit, such as those of a fold.
    `GroupKFold` with the queries as `groups` keeps all rows of a query in the same
    fold.

    Parameters
    ----------
    ranker : estimator
        Ranker whose `fit` has an argument `group`: `lightgbm.LGBMRanker` or
        `xgboost.XGBRanker`. It is cloned.
    query : str or int, default=None
        Name of the column (of a dataframe), or its index, with the query of each row.
        This column is not passed to the ranker. If `None`, the queries are the argument
        `qid` of `fit`.

    Attributes
    ----------
    ranker_ : estimator
        The fitted ranker.
    n_features_in_ : int
        Number of columns seen in `fit`, including that of the queries.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if `X` had them.

    See Also
    --------
    PrecisionAt1 : Scorer that reads the queries from the same column.

    Notes ----- With separate queries, `search.fit(X, y, groups=qid, qid=qid)` passes
    them to splitter and ranker; a scorer gets them only with metadata routing. With the
    queries in a column, no routing is required.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from lightgbm import LGBMRanker
    >>> from sklearn.model_selection import GroupKFold, cross_val_score
    >>> from rankers import PrecisionAt1, QueryRanker
    >>> X = pd.DataFrame(np.random.default_rng(0).random((300, 2)), columns=["a", "b"])
    >>> y = (X["a"] > 0.6).astype(int)
    >>> X["qid"] = np.repeat(np.arange(60), 5)
    >>> ranker = QueryRanker(LGBMRanker(n_estimators=10, verbose=-1), query="qid")
    >>> scores = cross_val_score(
    ...     ranker, X, y, groups=X["qid"], scoring=PrecisionAt1(), cv=GroupKFold(3)
    ... )
    >>> bool(scores.min() > 0.8)
    True
    """

    def __init__(self, ranker: Any, *, query: str | int | None = None) -> None:
        self.ranker = ranker
        self.query = query

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.ranker).input_tags
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.allow_nan = inner.allow_nan
        return tags

    def fit(
        self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None
    ) -> QueryRanker:
        """Fit the ranker.

        Parameters
        ----------
        X : dataframe or {array-like, sparse matrix} of shape (n_samples, n_columns)
            Training data, rows in any order.
        y : array-like of shape (n_samples,)
            Relevance in the format of the ranker, usually whole numbers from 0.
        qid : array-like of shape (n_samples,), default=None
            Query of each row, which replaces the column `query`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, which are passed to the ranker if given.

        Returns
        -------
        self : object
            Fitted ranker.

        Raises
        ------
        TypeError
            If the ranker's `fit` has no `group`.
        ValueError
            If there are no queries, or if their number differs from that of the rows.
        """
        if not has_fit_parameter(self.ranker, "group"):
            raise TypeError(
                "ranker must have a fit with the argument 'group', as LGBMRanker, got "
                f"{type(self.ranker).__name__}."
            )
        X, y = _table(X), _indexable(y)
        queries = self._queries(X, qid)
        check_consistent_length(X, y, queries)
        validate_data(self, X, skip_check_array=True)
        order, counts = _by_query(queries)
        weights = {}
        if sample_weight is not None:
            sample_weight = column_or_1d(sample_weight)
            check_consistent_length(X, sample_weight)
            weights["sample_weight"] = sample_weight[order]
        self.ranker_ = clone(self.ranker).fit(
            _rows(self._seen(X), order), _rows(y, order), group=counts, **weights
        )
        return self

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the scores by which the rows are ranked.

        Parameters
        ----------
        X : dataframe or {array-like, sparse matrix} of shape (n_samples, n_columns)
            Data with the same columns as in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Rows with larger scores have a higher rank within their query.
        """
        check_is_fitted(self)
        X = _table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.ranker_.predict(self._seen(X))

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """Compute the precision at 1.

        Parameters
        ----------
        X : dataframe or {array-like, sparse matrix} of shape (n_samples, n_columns)
            Data with the same columns as in `fit`.
        y : array-like of shape (n_samples,)
            Relevance; above 0 is relevant.
        qid : array-like of shape (n_samples,), default=None
            Query of each row, which replaces the column `query`.

        Returns
        -------
        precision : float
            From 0 to 1.

        Raises
        ------
        ValueError
            If there are no queries.
        """
        queries = self._queries(_table(X), qid)
        return precision_at_1(y, self.predict(X), queries)

    @property
    def feature_importances_(self) -> npt.NDArray[Any]:
        """Importances of the columns that are passed to the ranker, if it has any."""
        return self.ranker_.feature_importances_

    def _queries(self, X: Any, qid: Any) -> npt.NDArray[Any]:
        """Return the query of each row."""
        if qid is not None:
            return column_or_1d(qid)
        if self.query is None:
            raise ValueError(
                f"{type(self).__name__} needs the query of each row: the argument "
                "'qid', or the column that the parameter 'query' names."
            )
        return _column(X, self.query)

    def _seen(self, X: Any) -> Any:
        """Return the columns that are passed to the ranker."""
        if self.query is None:
            return X
        if hasattr(X, "columns"):
            names = list(X.columns)
            name = self.query if isinstance(self.query, str) else names[self.query]
            return X[[other for other in names if other != name]]
        return X[:, np.arange(X.shape[1]) != np.arange(X.shape[1])[self.query]]


def _table(X: Any) -> Any:
    # Among sparse formats, only this one supports indexing of rows.
    X = X.tocsr() if hasattr(X, "tocsr") else _indexable(X)
    if len(X.shape) != 2:
        raise ValueError(
            f"Expected 2D data, rows by columns, got shape {tuple(X.shape)}. Reshape "
            "your data: one sample is X.reshape(1, -1)."
        )
    return X


def _indexable(data: Any) -> Any:
    return data if hasattr(data, "shape") else np.asarray(data)


def _rows(data: Any, order: npt.NDArray[np.intp]) -> Any:
    return data.iloc[order] if hasattr(data, "iloc") else data[order]


def _column(X: Any, query: str | int) -> Any:
    """Return the query of each row."""
    if hasattr(X, "columns"):
        names = list(X.columns)
        if isinstance(query, str) and query not in names:
            raise ValueError(f"X has no column {query!r} with the queries.")
        return np.asarray(X[query if isinstance(query, str) else names[query]])
    if isinstance(query, str):
        raise ValueError(f"X must be a dataframe to have a column {query!r}.")
    column = X[:, [query]]
    return (column.toarray() if hasattr(column, "toarray") else column).ravel()


def _by_query(
    queries: npt.NDArray[Any],
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return an order with adjacent rows of each query, and the sizes of the queries.

    The queries are in the order of their first occurrence, so rows that are already in
    order keep their positions.
    """
    _, first, query, counts = np.unique(
        queries, return_index=True, return_inverse=True, return_counts=True
    )
    return np.argsort(first[query], kind="stable"), counts[np.argsort(first)]
