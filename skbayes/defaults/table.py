"""Kinds of the columns of a table, and their conversion: `ColumnConverter`."""

from __future__ import annotations

import contextlib
import datetime
import math
import re
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayes import compat

# Number of rows that five-fold cross-validation needs.
MIN_ROWS = 10

# Strings with at least this many words on average, and this fraction of distinct
# values, are texts; with a larger fraction and fewer words, they are identifiers.
WORDS, TEXT_SHARE, ID_SHARE = 3, 0.2, 0.95
ID_NAME = re.compile(r"(?i:^id$|[_ .-]id$)|[a-z]I[Dd]$")

# Largest number that the forests of scikit-learn accept.
LARGEST = float(np.finfo(np.float32).max)

DATE_PARTS = ("days", "month", "day", "weekday", "hour")


# -- values of columns ----------------------------------------------------------------


def _columns_of(X: Any) -> list[np.ndarray]:
    """Return the columns of a data frame, an array or a list of rows."""
    if hasattr(X, "iloc"):
        return [np.asarray(X.iloc[:, place]) for place in range(X.shape[1])]
    if hasattr(X, "columns"):
        return [X[name].to_numpy() for name in X.columns]
    return list(_array(X).T)


def _array(X: Any) -> np.ndarray:
    try:
        values = np.asarray(X)
    except ValueError as error:
        raise ValueError(
            f"X must be a table with rows of equal length: {error}"
        ) from error
    if values.dtype.kind not in "biufcmMO":  # numpy has converted different types
        values = np.asarray(X, dtype=object)
    return values


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or the NA of pandas."""
    if value is None or type(value).__name__ == "NAType":
        return True
    return isinstance(value, float | np.floating | np.generic | datetime.date) and bool(
        value != value
    )


def _number(value: Any) -> float:
    """Return a number or the seconds of a time difference; NaN if it is neither."""
    try:
        seconds = getattr(value, "total_seconds", None)
        return float(value if seconds is None else seconds())
    except (TypeError, ValueError):
        return math.nan


def _numbers(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "m":
        return values / np.timedelta64(1, "s")
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    return np.array([_number(value) for value in values], dtype=np.float64)


def _table_of_numbers(X: Any, columns: list[np.ndarray]) -> np.ndarray:
    """Return the numbers of a table in its order in memory, on which sums depend."""
    values = np.asarray(X)
    if values.dtype.kind == "f":
        return values.copy(order="K")
    if values.dtype.kind in "biu":
        return values.astype(np.float64)
    numbers = np.array([_numbers(column) for column in columns]).T
    is_plain = all(column.dtype.kind in "biuf" for column in columns)
    return numbers if is_plain else numbers.copy(order="C")


def _text(value: Any) -> str:
    """Return the same string for a value in columns of different types.

    A column of integers with a missing value has floats, and rows that are built one by
    one have other types of dates.
    """
    if isinstance(value, str):
        return str(value)
    if is_missing(value):
        return ""
    if isinstance(value, datetime.date | np.datetime64):
        return str(_date(value))
    if isinstance(value, datetime.timedelta):
        value = _number(value)
    if isinstance(value, float | np.floating) and value.is_integer():
        value = int(value)
    return str(value)


def _texts(values: np.ndarray) -> list[str]:
    if values.dtype.kind == "m":
        values = _numbers(values)
    return [_text(value) for value in values]


def _date(value: Any) -> np.datetime64:
    """Return a date and time, without the time zone; NaT if it is none."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = datetime.datetime.fromisoformat(value)
    if isinstance(value, str) or is_missing(value):
        return np.datetime64("NaT", "s")
    if getattr(value, "tzinfo", None) is not None:
        value = value.replace(tzinfo=None)
    return np.datetime64(value).astype("datetime64[s]")


def _date_parts(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind != "M":
        values = np.array([_date(value) for value in values], dtype="datetime64[s]")
    time = values.astype("datetime64[s]")
    day, month = time.astype("datetime64[D]"), time.astype("datetime64[M]")
    parts = [
        (time - np.datetime64(0, "s")) / np.timedelta64(1, "D"),
        month.astype(np.int64) % 12 + 1,
        (day - month.astype("datetime64[D]")).astype(np.int64) + 1,
        (day.astype(np.int64) + 3) % 7,
        (time - day) / np.timedelta64(1, "h"),
    ]
    return np.where(np.isnat(time)[:, None], np.nan, np.column_stack(parts))


class ColumnConverter(compat.DocumentationLink, TransformerMixin, BaseEstimator):
    """Converter of the columns of a table to the types that scikit-learn accepts.

    Columns that have only missing values in `fit` become zeros, and texts become the
    word "missing", because some estimators cannot be fitted to missing values only.

    Parameters
    ----------
    to : {"numbers", "dates", "strings", "documents", "frame"}, default="numbers"
        - "numbers": floats, also of numbers in strings, booleans, decimals and nullable
          types. Time differences become seconds.
        - "dates": five numbers per column of dates or ISO strings: days since 1970,
          month, day of the month, weekday (0 is Monday) and hour. Times with a zone
          keep their local time.
        - "strings": strings, such as for categories. Missing values become the empty
          string. Equal numbers become equal strings, such as 1 and 1.0.
        - "documents": one array of strings for a text vectorizer; several columns are
          joined by spaces.
        - "frame": a data frame of pandas, with columns of numbers or of strings.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they are all strings.
    is_empty_ : ndarray of shape (n_features,), bool
        Whether a column has only missing values.

    Examples
    --------
    >>> from skbayes.defaults import ColumnConverter
    >>> ColumnConverter().fit_transform([["1.5", True], [None, False]])
    array([[1.5, 1. ],
           [nan, 0. ]])
    >>> ColumnConverter(to="dates").fit_transform([["2026-03-02 12:00"]])
    array([[2.05145e+04, 3.00000e+00, 2.00000e+00, 0.00000e+00, 1.20000e+01]])
    """

    def __init__(self, to: str = "numbers") -> None:
        self.to = to

    def __sklearn_tags__(self) -> Any:
        """Return the tags: any types and missing values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def fit(self, X: Any, y: Any = None) -> ColumnConverter:
        """Check the parameter, and find the columns that have only missing values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table.
        y : None
            Ignored.

        Returns
        -------
        self : ColumnConverter
            The converter itself.
        """
        if self.to not in ("numbers", "dates", "strings", "documents", "frame"):
            raise ValueError(
                "to must be 'numbers', 'dates', 'strings', 'documents' or 'frame', got "
                f"{self.to!r}."
            )
        validate_data(self, X, skip_check_array=True)
        columns = _columns_of(X)
        self.is_empty_ = np.array([all(map(is_missing, column)) for column in columns])
        return self

    def transform(self, X: Any) -> Any:
        """Return the converted columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table.

        Returns
        -------
        converted : ndarray or DataFrame
            Array with one or, for dates, five columns per column of `X`. For documents,
            the array has shape (n_samples,).
        """
        if self.to == "frame":
            # Imported here, because pandas is optional.
            import pandas

            return pandas.DataFrame(X).infer_objects()
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        columns = _columns_of(X)
        if self.to == "numbers":
            numbers = _table_of_numbers(X, columns)
            numbers[:, self.is_empty_] = 0.0
            return numbers
        if self.to == "dates":
            numbers = np.column_stack([_date_parts(column) for column in columns])
            numbers[:, np.repeat(self.is_empty_, len(DATE_PARTS))] = 0.0
            return numbers
        strings = np.empty((len(columns[0]), len(columns)), dtype=object)
        for place, column in enumerate(columns):
            strings[:, place] = _texts(column)
        if self.to == "strings":
            return strings
        if self.is_empty_.all():
            strings[:, 0] = "missing"
        return np.array([" ".join(row) for row in strings], dtype=object)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the output.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of the input.

        Returns
        -------
        names : ndarray of str
            Names. The names for dates end with the part, such as "_weekday".
        """
        unnamed = [f"x{place}" for place in range(self.n_features_in_)]
        names = input_features
        if names is None:
            names = getattr(self, "feature_names_in_", unnamed)
        if self.to == "dates":
            names = [f"{name}_{part}" for name in names for part in DATE_PARTS]
        return np.array(list(names), dtype=object)


# -- kinds of columns -----------------------------------------------------------------


class Table(NamedTuple):
    """Kinds of the columns of a table, with the keys that select them."""

    kinds: dict[str, list[Any]]
    # Whether scikit-learn accepts the table as numbers.
    is_numeric: bool
    n_rows: int
    n_columns: int
    has_missing: bool
    is_sparse: bool = False


def table_of(X: Any) -> Table:
    """Return the kinds of the columns of a table; ValueError if it cannot be used."""
    # The accessor of pandas exists if all columns are sparse, or if there is none.
    if hasattr(X, "iloc") and hasattr(X, "sparse") and X.shape[1]:
        X = X.sparse.to_coo()
    if sparse.issparse(X):
        return _sparse_table(X.tocsr())
    shape = getattr(X, "shape", None) or _array(X).shape
    if len(shape) != 2:
        hint = ""
        if len(shape) == 1:
            hint = " For one column of documents, use TextRepresentationSearchCV."
        raise ValueError(
            f"X must be a table with rows and columns, got {type(X).__name__} of shape "
            f"{shape}.{hint}"
        )
    _check_shape(*shape)
    names = list(getattr(X, "columns", range(shape[1])))
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"X: several columns have the name {repeated!r}. Rename or remove them."
        )
    if len({isinstance(name, str) for name in names}) > 1:
        raise ValueError("X: the names of the columns must all be strings.")
    named = isinstance(names[0], str)
    kinds: dict[str, list[Any]] = {}
    is_numeric, missing = True, False
    types = [str(dtype).lower() for dtype in getattr(X, "dtypes", [""] * shape[1])]
    for place, (name, values) in enumerate(zip(names, _columns_of(X), strict=True)):
        # "category" in pandas, "Categorical" and "Enum" in polars.
        declared = types[place].startswith(("categor", "enum"))
        kind = _kind(values, name, declared)
        if shape[1] > 1 and kind == "numbers" and _counts_rows(values, name):
            kind = "ignored"
        key = name if named else place
        kinds.setdefault(kind, []).append(key)
        if kind == "numbers":
            numbers = _numbers(values)
            _check_numbers(numbers, f"X: column {name!r}")
            missing |= bool(np.isnan(numbers).any())
        is_numeric &= kind == "numbers" and values.dtype.kind in "biuf"
    if not set(kinds) - {"ignored"}:
        raise ValueError(
            "X: no column can be used: all are constant, empty, or identifiers without "
            "repeated values."
        )
    return Table(kinds, is_numeric, shape[0], shape[1], missing)


def _sparse_table(X: Any) -> Table:
    _check_numbers(X.data, "X")
    if np.isnan(X.data).any():
        raise ValueError(
            "X: sparse data must not have missing values. Impute them first, such as "
            "with SimpleImputer."
        )
    n_rows, n_columns = X.shape
    _check_shape(n_rows, n_columns)
    keys = [*range(n_columns)]
    return Table({"numbers": keys}, True, n_rows, n_columns, False, True)


def _check_shape(n_rows: int, n_columns: int) -> None:
    if n_rows < MIN_ROWS or n_columns < 1:
        raise ValueError(
            f"X has {n_rows} rows and {n_columns} columns; at least {MIN_ROWS} rows "
            "and one column are needed."
        )


def _check_numbers(numbers: np.ndarray, where: str) -> None:
    if numbers.dtype.kind not in "biuf":
        raise ValueError(f"{where} must have real numbers, got {numbers.dtype}.")
    with np.errstate(invalid="ignore"):
        if (np.abs(numbers) > LARGEST).any():
            raise ValueError(
                f"{where} has infinite numbers or numbers above {LARGEST:.2g}. Replace "
                "them by NaN or scale them."
            )


def _kind(values: np.ndarray, name: Any, declared: bool) -> str:
    """Return "numbers", "dates", "categories", "documents" or "ignored"."""
    kind = values.dtype.kind
    if kind == "c":
        raise ValueError(
            f"X: column {name!r} has complex numbers. Write their real and imaginary "
            "parts as two columns."
        )
    if kind in "biufmM":
        present = values[~np.isnan(values)] if kind in "fmM" else values
        if len(present) == 0 or (present == present[0]).all():
            return "ignored"
        return "categories" if declared else "dates" if kind == "M" else "numbers"
    objects = [value for value in values if not is_missing(value)]
    try:
        distinct = set(objects)
    except TypeError as error:
        raise ValueError(
            f"X: column {name!r} has values of type {type(objects[0]).__name__}; it "
            "must have numbers, strings or dates."
        ) from error
    if len(distinct) < 2:
        return "ignored"
    if not declared:
        numeric = str | Real | datetime.timedelta
        if all(isinstance(v, numeric) and not is_missing(_number(v)) for v in distinct):
            return "numbers"
        dated = str | datetime.date | np.datetime64
        if all(isinstance(v, dated) and not np.isnat(_date(v)) for v in distinct):
            return "dates"
    strings = [str(value) for value in distinct]
    share = len(distinct) / len(objects)
    words = np.mean([len(re.findall(r"\b\w\w+\b", string)) for string in strings])
    if not declared and words >= WORDS and share > TEXT_SHARE:
        return "documents"
    return "ignored" if share > ID_SHARE else "categories"


def _counts_rows(values: np.ndarray, name: Any) -> bool:
    """Return whether integers are row numbers, or distinct values of an identifier."""
    if values.dtype.kind not in "iu" or len(values) != len(np.unique(values)):
        return False
    return bool(ID_NAME.search(str(name))) or bool((np.diff(values) == 1).all())
