"""Data frames of `cv_results_`."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from simple_estimators import AnyNames
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayes.results.frame import results_frame

X, y = load_iris(return_X_y=True)


PIPELINE = make_pipeline(StandardScaler())

VALUES = {"quality": 0, "share": 0.5, "flag": True, "name": "a", "mixed": 1}
VALUES |= {"none": None, "part": None}
FIRST = {"quality": [1, 3], "share": [0.25], "flag": [False], "name": ["b"]}
FIRST |= {"mixed": ["text"], "none": [None], "part": [PIPELINE]}
GRID = [FIRST, {"quality": [2], "mixed": [0.5], "none": [7], "part": [(1, 2)]}]


@pytest.fixture(scope="module")
def table():
    return GridSearchCV(AnyNames(**VALUES), GRID, cv=2).fit(X, y).cv_results_


def test_columns_of_pandas_have_the_types_of_the_values(table):
    before = {name: column.copy() for name, column in table.items()}
    frame = results_frame(table)
    kinds = {name: str(frame[f"param_{name}"].dtype) for name in FIRST}
    assert kinds.pop("name") in ("object", "str")
    numbers = {"quality": "int64", "share": "float64", "flag": "boolean"}
    assert kinds == numbers | dict.fromkeys(("mixed", "none", "part"), "object")
    assert frame["rank_test_score"].dtype == "int64"
    assert frame["mean_test_score"].dtype == "float64"
    assert frame["param_quality"].tolist() == [1, 3, 2]
    assert frame["param_mixed"].tolist() == ["text", "text", 0.5]
    # None is a value; a parameter that the candidate does not have is missing.
    assert frame["param_none"].tolist() == [None, None, 7]
    assert frame["param_part"].tolist() == [PIPELINE, PIPELINE, (1, 2)]
    for name in ("share", "flag", "name"):
        assert frame[f"param_{name}"].isna().tolist() == [False, False, True]
    theirs = pd.DataFrame(table)
    for name in frame.columns.drop([c for c in frame if c.startswith("param_")]):
        np.testing.assert_array_equal(frame[name], theirs[name])
    # The results are not changed with the frame.
    frame.loc[:, "mean_test_score"] = -1.0
    assert table["params"] == before["params"]
    np.testing.assert_array_equal(table["mean_test_score"], before["mean_test_score"])
    assert results_frame(table).index.tolist() == [0, 1, 2]
    assert results_frame(table, sort_by="score").index.tolist() == [1, 2, 0]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_ints_that_are_missing_or_too_large_for_a_column(library):
    column = np.ma.MaskedArray([1, 2, 3], mask=[False, True, False])
    frame = results_frame({"param_n": column}, library)
    assert str(frame["param_n"].dtype) == "Int64"
    assert frame["param_n"].sum() == 4
    column = np.array([2**70, 1], dtype=object)
    frame = results_frame({"param_seed": column}, library)
    assert list(map(int, frame["param_seed"])) == [2**70, 1]


def test_polars_frames_have_the_types_of_the_values(table):
    frame = results_frame(table, "polars")
    assert isinstance(frame, pl.DataFrame)
    assert dict(frame.schema) == {
        **{name: pl.Float64 for name in frame.columns},
        "param_quality": pl.Int64,
        "param_flag": pl.Boolean,
        "param_name": pl.String,
        "param_mixed": pl.String,
        "param_none": pl.Int64,
        "param_part": pl.String,
        "rank_test_score": pl.Int64,
    }
    assert frame["param_mixed"].to_list() == ["text", "text", "0.5"]
    assert frame["param_share"].to_list() == [0.25, 0.25, None]
    assert frame["param_flag"].to_list() == [False, False, None]
    np.testing.assert_array_equal(frame["mean_test_score"], table["mean_test_score"])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_sorted_by_rank_and_with_params_on_request(table, library):
    assert set(results_frame(table, library).columns) == set(table) - {"params"}
    frame = results_frame(table, library, params=True, sort_by="score")
    assert list(frame["param_quality"]) == [3, 2, 1]
    assert list(frame["rank_test_score"]) == [1, 2, 3]
    assert list(frame["mean_test_score"]) == [3, 2, 1]
    assert frame["params"].to_list() == [table["params"][row] for row in (1, 2, 0)]


def test_wrong_arguments_of_results_frame_are_refused(table, monkeypatch):
    with pytest.raises(ValueError, match=r"library must be one of .*'numpy'"):
        results_frame(table, "numpy")
    with pytest.raises(ValueError, match=r"sort_by must be one of \['score'\]"):
        results_frame(table, sort_by="f1")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="needs polars, which is not installed"):
        results_frame(table, "polars")
