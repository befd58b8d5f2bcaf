"""Data frames of the results of searches, including scikit-learn's searches."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbayes.results.scores import metrics_of
from skbayes.space.dimensions import native

# Largest integer in a column of a data frame.
_MAX_INT = 2**63 - 1


# -- data frames ----------------------------------------------------------------------


def results_frame(
    cv_results: Mapping[str, Any],
    library: str = "pandas",
    *,
    sort_by: str | None = None,
    params: bool = False,
) -> Any:
    """Convert ``cv_results_`` to a data frame.

    Parameters
    ----------
    cv_results : dict
        ``cv_results_`` of a search.
    library : {"pandas", "polars"}, default="pandas"
        Library of the data frame. It is imported when the function is called.
    sort_by : str or None, default=None
        Name of the metric whose rank the rows are sorted by, the best first; "score" if
        there is only one metric. None keeps the order of the search.
    params : bool, default=False
        Whether to keep the column `params` of dicts, whose values are also in the
        columns `param_*`.

    Returns
    -------
    frame : pandas.DataFrame or polars.DataFrame
        Data frame with one row for each candidate. Columns of hyper-parameters have the
        dtype of their values: bool, int, float or text. In pandas, it is the nullable
        dtype if some candidates do not have the hyper-parameter, and object for mixed
        types. In polars, mixed types and objects are converted to text, and None is a
        missing value.

    Raises
    ------
    ValueError
        If `library` is not supported, or `sort_by` is not a metric.
    ImportError
        If the library is not installed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.svm import SVC
    >>> from skbayes.results import results_frame
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
            f"a data frame of {library} needs {library}, which is not installed; run "
            f"`pip install {library}`"
        ) from error
    order = _order(cv_results, sort_by)
    make = _COLUMNS[library]
    columns = {
        name: make(module, *_values(column, order))
        for name, column in cv_results.items()
        if name != "params"
    }
    if params:
        columns["params"] = [cv_results["params"][row] for row in order]
    if library == "pandas":
        return module.DataFrame(columns, index=order)
    return module.DataFrame(columns, schema_overrides={"params": module.Object})


def as_frame(
    columns: Mapping[str, Any], cv_results: Mapping[str, Any] | None = None
) -> Any:
    """Return a pandas data frame, or a dict of arrays if pandas is not installed."""
    results = {k: v for k, v in (cv_results or {}).items() if k.startswith("param")}
    try:
        import pandas
    except ImportError:
        params = {k: v[columns["trial"]] for k, v in results.items() if k != "params"}
        return {**columns, **params}
    frame = pandas.DataFrame(columns)
    if cv_results is None:
        return frame
    shown = results_frame(results).iloc[columns["trial"]].reset_index(drop=True)
    return pandas.concat([frame, shown], axis=1)


class FrameAttribute:
    """Attribute stored as arrays, which need no pandas, and read as a data frame."""

    def __init__(self, with_params: bool = False) -> None:
        self._with_params = with_params

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, search: object, owner: type | None = None) -> Any:
        if search is None:
            return self
        check_is_fitted(search, "cv_results_")
        if self._name not in vars(search):
            kind = type(search).__name__
            raise AttributeError(f"{kind!r} object has no attribute {self._name!r}.")
        attributes = vars(search)
        results = attributes["cv_results_"] if self._with_params else None
        return as_frame(attributes[self._name], results)

    def __set__(self, search: object, columns: Mapping[str, Any]) -> None:
        vars(search)[self._name] = columns


def _order(cv_results: Mapping[str, Any], sort_by: str | None) -> np.ndarray:
    if sort_by is None:
        return np.arange(len(next(iter(cv_results.values()))))
    key = f"rank_test_{sort_by}"
    if key not in cv_results:
        raise ValueError(
            f"sort_by must be one of {metrics_of(cv_results)} or None, got {sort_by!r}"
        )
    return np.argsort(cv_results[key], kind="stable")


def _values(column: Any, order: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """Return the values of a column, None for masked ones, and its mask."""
    if not np.ma.isMA(column):
        return [native(column[row]) for row in order], np.zeros(len(order), dtype=bool)
    mask = np.ma.getmaskarray(column)
    values = [None if mask[row] else native(column.data[row]) for row in order]
    return values, mask[order]


def _type_of(values: list[Any]) -> type:
    """Return the type that holds all values: bool, int, float, str or object."""
    types = {type(value) for value in values}
    if types == {int, float}:
        types = {float}
    if types == {int} and any(abs(value) > _MAX_INT for value in values):
        return object
    (kind,) = types if len(types) == 1 else (object,)
    return kind if kind in (bool, int, float, str) else object


def _pandas_column(pandas: Any, values: list[Any], missing: np.ndarray) -> Any:
    kind = _type_of([values[row] for row in np.flatnonzero(~missing)])
    if kind in (bool, int):
        names = {bool: ("bool", "boolean"), int: ("int64", "Int64")}
        return pandas.array(values, dtype=names[kind][int(missing.any())])
    if kind is float:
        return np.array(values, dtype=float)
    # Some values may be sequences themselves.
    array = np.fromiter(values, dtype=object, count=len(values))
    array[missing] = np.nan
    return pandas.Series(array, dtype=None if kind is str else object).array


def _polars_column(polars: Any, values: list[Any], missing: np.ndarray) -> Any:
    kind = _type_of([value for value in values if value is not None])
    if kind is object:
        values = [None if value is None else str(value) for value in values]
    names = {bool: "Boolean", int: "Int64", float: "Float64"}
    dtype = getattr(polars, names.get(kind, "String"))
    return polars.Series(values, dtype=dtype, strict=False)


_COLUMNS: dict[str, Callable[[Any, list[Any], np.ndarray], Any]] = {
    "pandas": _pandas_column,
    "polars": _polars_column,
}
