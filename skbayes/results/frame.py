"""What can be made of `cv_results_`: a data frame, a less flattering best score.

Everything here takes the `cv_results_` of any of scikit-learn's searches as well.
Symbols: ``s`` of shape (n_candidates, n_splits) are the scores of one metric, a row a
candidate, a column a fold.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from skbayes.space.dimensions import FloatArray, native

__all__ = ["corrected_best_score", "results_frame"]

_MEAN = "mean_test_"

# The largest int that a column of a data frame holds.
_MAX_INT = 2**63 - 1


# -- scores ---------------------------------------------------------------------------


def mean_scores(cv_results: Mapping[str, Any], metric: str) -> FloatArray:
    """Mean test scores, NaN for candidates that are not to be compared with the others.

    These are the failed ones, those that a successive halving has scored with fewer
    resources than its last candidates, and those that were fitted on a smaller share of
    the training sets than others.
    """
    if _MEAN + metric not in cv_results:
        raise ValueError(
            f"there are no scores {_MEAN + metric!r} among the results; the metrics "
            f"are {_metrics(cv_results)}"
        )
    means = np.array(cv_results[_MEAN + metric], dtype=float)
    means[~np.isfinite(means)] = np.nan
    for key in ("n_resources", "train_fraction"):
        if key in cv_results:
            amounts = np.asarray(cv_results[key])
            means[amounts < amounts.max(initial=0)] = np.nan
    return means


def _metrics(cv_results: Mapping[str, Any]) -> list[str]:
    return [key[len(_MEAN) :] for key in cv_results if key.startswith(_MEAN)]


def fold_scores(
    cv_results: Mapping[str, Any], metric: str, n_splits: int | None = None
) -> FloatArray:
    """Test scores of every fold, of shape (n_candidates, n_splits)."""
    folds: list[FloatArray] = []
    while n_splits is None or len(folds) < n_splits:
        key = f"split{len(folds)}_test_{metric}"
        if key not in cv_results:
            break
        folds.append(np.asarray(cv_results[key], dtype=float))
    if not folds or (n_splits is not None and len(folds) < n_splits):
        raise ValueError(f"there are no scores 'split{len(folds)}_test_{metric}'")
    return np.column_stack(folds)


def corrected_best_score(
    cv_results: Mapping[str, Any],
    index: int,
    n_splits: int,
    metric: str = "score",
) -> float:
    r"""Correct the score of the best candidate for having been chosen as the best.

    The highest of many cross-validated scores is partly luck: on new data the winner
    does less well, the more so the more candidates there were and the closer they are.
    This estimates how much from the scores of the folds, without another fit.

    Parameters
    ----------
    cv_results : dict
        The `cv_results_` of a search. Candidates whose score is NaN on any fold are
        left out, and so are those that a successive halving dropped.
    index : int
        Row of the chosen candidate. If it is not the one with the highest mean, the
        same amount is taken off, which is then more than its due.
    n_splits : int
        Number of splits.
    metric : str, default="score"
        Name of the metric, "score" where there is only one.

    Returns
    -------
    score : float
        The corrected score, never above the mean score. NaN if the candidate has no
        score on some fold, or if there is one split only, which says nothing on luck.

    Raises
    ------
    ValueError
        If there are no such scores, or `index` is not a row.

    Notes
    -----
    The method is that of [1]_. Let :math:`s_k(j)` be the score of candidate :math:`j`
    on fold :math:`k` of :math:`K`, :math:`\bar s(j)` its mean and
    :math:`\hat\jmath` the candidate with the best mean. On each fold it is compared
    with the candidate that happens to be the best there:

    .. math::

        \text{corrected score} = \bar s(\hat\jmath) - \frac1K \sum_{k=1}^K
        \Bigl( \max_j s_k(j) - s_k(\hat\jmath) \Bigr).

    The luck of being the best on one fold stands for the luck of being the best on
    average, as if the two were equally large. Where all candidates are equally good and
    all scores independent and normal, the expected correction is
    :math:`\sqrt K - 1` times the optimism: 0.73 of it for three folds, 1.24 for five,
    2.16 for ten. On real data the folds are not independent, since a candidate that
    suits this data set by chance does so on all of them, and less is taken off.
    Measured by ``benchmarks/corrected_score.py`` on random searches over support vector
    machines for 100 rows: with five folds it removes 65 % of the optimism where the
    labels are random, and all of it where there is something to learn; with ten, 117 %
    and 143 %, so that the corrected score is somewhat too low. If one candidate is the
    best on every fold, nothing is corrected.

    The candidates are taken as given beforehand, where a Bayesian search has chosen the
    later ones by the scores of the earlier ones; repeated cross-validation tests on the
    same rows again. Nothing corrects what is wrong with the splits themselves, such as
    groups torn apart. A nested cross-validation, at many times the cost, or a test set
    kept aside is the better answer where the number itself matters.

    References
    ----------
    .. [1] R. J. Tibshirani and R. Tibshirani, "A bias correction for the minimum error
       rate in cross-validation", Annals of Applied Statistics 3(2), 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.svm import SVC
    >>> from skbayes.results.frame import corrected_best_score
    >>> X, y = load_iris(return_X_y=True)
    >>> grid = GridSearchCV(SVC(), {"C": [0.1, 1, 10, 100]}, cv=5).fit(X, y)
    >>> corrected = corrected_best_score(
    ...     grid.cv_results_, grid.best_index_, grid.n_splits_
    ... )
    >>> bool(0.9 < corrected <= grid.best_score_)
    True
    """
    means = mean_scores(cv_results, metric)
    if not 0 <= index < len(means):
        raise ValueError(
            f"index must be a row of the results, 0 to {len(means) - 1}, got {index!r}"
        )
    s = fold_scores(cv_results, metric, n_splits)
    usable = np.isfinite(means) & np.isfinite(s).all(axis=1)
    if n_splits < 2 or not usable[index]:
        return float("nan")
    candidates = s[usable]
    winner = candidates[np.argmax(candidates.mean(axis=1))]
    optimism = np.mean(candidates.max(axis=0) - winner)
    return float(np.mean(s[index]) - optimism)


# -- data frames ----------------------------------------------------------------------


def results_frame(
    cv_results: Mapping[str, Any],
    library: str = "pandas",
    *,
    sort_by: str | None = None,
    params: bool = False,
) -> Any:
    """Turn `cv_results_` into a data frame.

    Parameters
    ----------
    cv_results : dict
        The `cv_results_` of a search.
    library : {"pandas", "polars"}, default="pandas"
        Whose data frame to make. It is imported when this is called.
    sort_by : str or None, default=None
        Name of the metric by whose rank to sort, the best first; "score" where there is
        only one metric. None keeps the order of the search.
    params : bool, default=False
        Whether to keep the column `params` of dicts, which says once more what the
        columns `param_*` say.

    Returns
    -------
    frame : pandas.DataFrame or polars.DataFrame
        One row per candidate. Parameters have the dtype that suits their values:
        bool, int, float or text; with pandas the nullable one where a parameter does
        not exist in each candidate, and object where values are mixed. Polars has no
        such column: there mixed values and objects are written as text, and None is
        a missing value.

    Raises
    ------
    ValueError
        If `library` is neither, or there is no metric `sort_by`.
    ImportError
        If the library is not installed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.svm import SVC
    >>> from skbayes.results.frame import results_frame
    >>> X, y = load_iris(return_X_y=True)
    >>> grid = GridSearchCV(SVC(), {"C": [0.01, 1]}, cv=3).fit(X, y)
    >>> frame = results_frame(grid.cv_results_, sort_by="score")
    >>> frame[["param_C", "rank_test_score"]]
       param_C  rank_test_score
    1     1.00                1
    0     0.01                2
    """
    if library not in _COLUMNS:
        raise ValueError(f"library must be one of {sorted(_COLUMNS)}, got {library!r}")
    try:
        module = importlib.import_module(library)
    except ImportError as error:
        raise ImportError(
            f"a data frame of {library} needs {library}, which is not installed; "
            f"`pip install {library}` does that"
        ) from error
    order = _order(cv_results, sort_by)
    make = _COLUMNS[library]
    columns = {
        name: make(module, *_values(column, order))
        for name, column in cv_results.items()
        if name != "params"
    }
    if params:
        dicts = _objects([cv_results["params"][row] for row in order])
        columns["params"] = dicts if library == "pandas" else list(dicts)
    if library == "pandas":
        return module.DataFrame(columns, index=order)
    return module.DataFrame(columns, schema_overrides={"params": module.Object})


def as_frame(columns: Mapping[str, np.ndarray]) -> Any:
    """Return a data frame of pandas, or a dict of arrays where it is not installed."""
    try:
        import pandas
    except ImportError:
        return dict(columns)
    return pandas.DataFrame(columns)


def with_params(columns: Mapping[str, Any], cv_results: Mapping[str, Any]) -> Any:
    """Put the parameters of the rows of `cv_results_` in column "trial" beside others.

    A data frame of pandas, or a dict of arrays where it is not installed.
    """
    rows = columns["trial"]
    keys = [key for key in cv_results if key.startswith("param_")]
    try:
        import pandas
    except ImportError:
        return {**columns, **{key: cv_results[key][rows] for key in keys}}
    frame = results_frame({key: cv_results[key] for key in ["params", *keys]})
    params = frame.iloc[rows].reset_index(drop=True)
    return pandas.concat([pandas.DataFrame(columns), params], axis=1)


def _order(cv_results: Mapping[str, Any], sort_by: str | None) -> np.ndarray:
    """Return the rows in the order they are shown in."""
    if sort_by is None:
        return np.arange(len(next(iter(cv_results.values()))))
    key = f"rank_test_{sort_by}"
    if key not in cv_results:
        raise ValueError(
            f"sort_by must be one of {_metrics(cv_results)} or None, got {sort_by!r}"
        )
    return np.argsort(cv_results[key], kind="stable")


def _values(column: Any, order: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """Return plain Python values, and which of them are missing."""
    missing = np.ma.getmaskarray(column) if np.ma.isMA(column) else None
    data = np.ma.getdata(column) if np.ma.isMA(column) else column
    values = [native(data[row]) for row in order]
    if missing is None:
        return values, np.zeros(len(values), dtype=bool)
    return values, missing[order]


def _objects(values: list[Any]) -> np.ndarray:
    """One-dimensional array of objects, though some may be sequences themselves."""
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return array


def _type_of(values: list[Any]) -> type:
    """Return the one type that holds all values: bool, int, float, str or object."""
    types = {type(value) for value in values}
    if types == {int, float}:
        types = {float}
    if types == {int} and any(abs(value) > _MAX_INT for value in values):
        return object
    (one,) = types if len(types) == 1 else (object,)
    return one if one in (bool, int, float, str) else object


def _pandas_column(pandas: Any, values: list[Any], missing: np.ndarray) -> Any:
    shown = [None if gone else v for v, gone in zip(values, missing, strict=True)]
    kind = _type_of([v for v, gone in zip(values, missing, strict=True) if not gone])
    if kind is bool:
        return pandas.array(shown, dtype="boolean" if missing.any() else "bool")
    if kind is int:
        return pandas.array(shown, dtype="Int64" if missing.any() else "int64")
    if kind is float:
        return np.array(shown, dtype=float)
    array = _objects(shown)
    array[missing] = np.nan
    return pandas.Series(array, dtype=None if kind is str else object).array


def _polars_column(polars: Any, values: list[Any], missing: np.ndarray) -> Any:
    shown = [None if gone else v for v, gone in zip(values, missing, strict=True)]
    kind = _type_of([value for value in shown if value is not None])
    if kind is object:
        shown = [None if value is None else str(value) for value in shown]
    return polars.Series(shown, dtype=_polars_dtype(polars, kind), strict=False)


def _polars_dtype(polars: Any, kind: type) -> Any:
    names = {bool: "Boolean", int: "Int64", float: "Float64"}
    return getattr(polars, names.get(kind, "String"))


_COLUMNS: dict[str, Callable[[Any, list[Any], np.ndarray], Any]] = {
    "pandas": _pandas_column,
    "polars": _polars_column,
}


def __dir__() -> list[str]:
    return sorted(__all__)
