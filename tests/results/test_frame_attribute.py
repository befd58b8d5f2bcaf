"""Attributes that are data frames, and searches without pandas."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from every_search import SEARCHES, data, fitted, make
from sklearn.exceptions import NotFittedError

from skbayes import (
    MultiStageSearchCV,
    ParetoSearchCV,
    TextRepresentationSearchCV,
    TradeoffSearchCV,
)

FRAMES = {
    MultiStageSearchCV: "stage_correlation_",
    ParetoSearchCV: "pareto_front_",
    TextRepresentationSearchCV: "stage_correlation_",
    TradeoffSearchCV: "tradeoff_curve_",
}

# Loads what another process has fitted, uses it, and fits such searches itself.
WITHOUT_PANDAS = """
import pickle, sys

class NoPandas:
    def find_spec(self, name, *args):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoPandas())
import numpy as np
from every_search import SEARCHES, data, fitted
frames = {}
for kind in SEARCHES:
    with open(sys.argv[1] + "/" + kind.__name__, "rb") as file:
        loaded, predictions, name = pickle.load(file)
    for search in (loaded, fitted(kind)):
        np.testing.assert_array_equal(search.predict(data(kind)[0]), predictions)
        search._repr_html_()
        if name is not None:
            columns = getattr(search, name)
            assert type(columns) is dict, type(columns)
            frames.setdefault(kind.__name__, []).append(columns)
try:
    loaded.results_frame()
except ImportError as error:
    assert "pip install pandas" in str(error)
else:
    raise AssertionError("a data frame without pandas")
with open(sys.argv[1] + "/frames", "wb") as file:
    pickle.dump(frames, file)
"""


@pytest.fixture(scope="module")
def searches():
    return {kind: fitted(kind) for kind in SEARCHES}


def test_searches_load_predict_and_fit_without_pandas(searches, tmp_path):
    for kind, search in searches.items():
        predictions = search.predict(data(kind)[0])
        with open(tmp_path / kind.__name__, "wb") as file:
            pickle.dump((search, predictions, FRAMES.get(kind)), file)
    tests = Path(__file__).parents[1] / "helpers"
    path = os.pathsep.join([str(tests), str(tests.parent)])
    subprocess.run(
        [sys.executable, "-c", WITHOUT_PANDAS, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path},
        check=True,
    )
    with open(tmp_path / "frames", "rb") as file:
        frames = pickle.load(file)
    assert set(frames) == {kind.__name__ for kind in FRAMES}
    for kind, name in FRAMES.items():
        expected = getattr(searches[kind], name)
        for columns in frames[kind.__name__]:
            assert list(columns) == list(expected.columns)
            for key, column in columns.items():
                np.testing.assert_array_equal(column, expected[key], err_msg=key)


@pytest.mark.parametrize(("kind", "name"), FRAMES.items())
def test_frames_are_made_on_access(kind, name, searches):
    search = searches[kind]
    frame = getattr(search, name)
    assert isinstance(frame, pd.DataFrame) and len(frame)
    frame.iloc[:, 0] = 99
    again = getattr(search, name)
    assert not (again.iloc[:, 0] == 99).any()
    assert name in vars(search) and name in dir(search)
    pd.testing.assert_frame_equal(
        getattr(pickle.loads(pickle.dumps(search)), name), again
    )


@pytest.mark.parametrize(("kind", "name"), FRAMES.items())
def test_frames_before_fit_raise_an_error(kind, name):
    search = make(kind)
    assert not hasattr(search, name)
    with pytest.raises(NotFittedError, match=f"This {kind.__name__} .* not fitted"):
        getattr(search, name)
    # A search without a finished trial has results, but no front.
    search.cv_results_ = {}
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
        getattr(search, name)
