"""Private names that may be missing in a release of scikit-learn or joblib."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from skbayes import compat
from skbayes.utils import private_names, substitutes

PROGRAM = Path(__file__).parents[1] / "helpers" / "hidden_names.py"
X, y = load_iris(return_X_y=True)
TRAIN, TEST = np.arange(0, 150, 2), np.arange(1, 150, 2)


def test_a_name_that_moved_costs_a_feature_and_not_the_import():
    done = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    usual, *rows = map(json.loads, done.stdout.splitlines())
    assert usual["warnings"] == [] and usual["lost"] == {}
    hidden = [row["hidden"] for row in rows]
    assert len(hidden[-1]) == len(private_names.LOOKED_UP)
    assert len(rows) >= len(hidden[-1])  # some are of later releases
    for row in rows:
        assert row["best"] == usual["best"], row["hidden"]
        assert row["scores"] == usual["scores"], row["hidden"]
        assert len(row["warnings"]) == bool(row["lost"]), row["hidden"]
        for lost in row["lost"].values():
            assert lost in row["warnings"][0]


def test_nothing_is_lost_on_a_supported_release():
    assert compat.LOST == {}


@pytest.mark.parametrize("error_score", [0.5, "raise"])
@pytest.mark.parametrize("C", [1.0, -1.0])
def test_the_substitute_of_a_fit_gives_the_same(C, error_score):
    def run(function):
        return function(
            SVC(kernel="precomputed"), rbf_kernel(X), y, train=TRAIN, test=TEST,
            scorer=lambda estimator, X, y: {"score": estimator.score(X, y)},
            verbose=0, parameters={"C": C}, score_params={}, error_score=error_score,
            fit_params={"sample_weight": np.linspace(1, 2, 150)},
            return_train_score=True, return_times=True, return_n_test_samples=True,
            return_estimator=True,
        )  # fmt: skip

    if C < 0 and error_score == "raise":
        with pytest.raises(ValueError, match="'C' parameter"):
            run(substitutes.fit_and_score)
        return
    ours, theirs = run(substitutes.fit_and_score), run(private_names.fit_and_score)
    assert set(theirs) <= set(ours)
    for name in ("test_scores", "train_scores", "n_test_samples"):
        assert ours[name] == theirs[name]
    assert (ours["fit_error"] is None) == (theirs["fit_error"] is None) == (C > 0)


def test_the_substitute_of_the_table_has_the_same_columns():
    grid = [{"C": [1, 2]}, {"gamma": [0.1, 1.0]}]
    search = GridSearchCV(SVC(), grid, cv=2, return_train_score=True).fit(X, y)
    theirs = search.cv_results_
    out = [
        {
            "test_scores": {"score": theirs[f"split{k}_test_score"][i]},
            "train_scores": {"score": theirs[f"split{k}_train_score"][i]},
            "fit_time": 0.0,
            "score_time": 0.0,
        }
        for i in range(4)
        for k in range(2)
    ]
    out[0]["test_scores"] = {"score": np.nan}
    with pytest.warns(UserWarning, match="non-finite"):
        theirs = private_names.format_results(search, theirs["params"], 2, out)
    ours = substitutes.format_results(search, theirs["params"], 2, out)
    assert set(ours) == set(theirs)
    for name, column in theirs.items():
        if name.startswith("param_"):
            assert ours[name].tolist() == column.tolist()
        else:
            np.testing.assert_array_equal(ours[name], column)
