"""Rules P1 … P4, S2 and S3: workers, pickles, nested searches, and output."""

import io
import pickle
import re
from contextlib import redirect_stdout

import joblib
import numpy as np
import pytest
from every_search import small_search
from grid_comparison import assert_same_tables, searches
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

X, y = load_iris(return_X_y=True)
SMOOTH = {"C": (1e-2, 1e2, "log-uniform"), "gamma": (1e-3, 1.0, "log-uniform")}


def smooth(**more):
    return small_search(
        SVC(), SMOOTH, **{"n_iter": 6, "cv": 3, "pre_dispatch": 1, **more}
    )


@pytest.fixture(scope="module")
def reference():
    return smooth().fit(X, y)


@pytest.mark.parametrize("n_jobs, pre_dispatch", [(2, 1), (-1, "2*n_jobs")])
def test_p1_p3_same_trials_on_all_processors(n_jobs, pre_dispatch, reference):
    def splits():
        yield from StratifiedKFold(3).split(X, y)

    search = smooth(n_jobs=n_jobs, pre_dispatch=pre_dispatch, cv=splits()).fit(X, y)
    with joblib.parallel_config(backend="sequential", n_jobs=2):
        expected = smooth(pre_dispatch=search.n_points_).fit(X, y)
    assert_same_tables(search.cv_results_, expected.cv_results_)
    if pre_dispatch == 1:
        assert_same_tables(search.cv_results_, reference.cv_results_)


def test_p4_lambdas_of_the_constructor_do_not_live_on_what_fit_made():
    search = smooth(scoring=lambda e, X, y: e.score(X, y)).fit(X, y)
    for name in ("trials_", "cv_results_", "best_estimator_", "optimizer_"):
        value = getattr(search, name)
        assert type(pickle.loads(pickle.dumps(value))) is type(value)


def test_nested_in_a_pipeline(reference):
    pipe = make_pipeline(StandardScaler(with_mean=False, with_std=False), smooth())
    pipe.fit(X, y)
    assert_same_tables(pipe[-1].cv_results_, reference.cv_results_)
    assert clone(pipe).set_params(bayessearchcv__n_iter=2).fit(X, y)


def printed(search):
    out = io.StringIO()
    with redirect_stdout(out):
        search.fit(X, y)
    return out.getvalue().splitlines()


def test_s3_one_line_per_trial():
    assert printed(smooth()) == []
    search = smooth(verbose=1)
    first, *lines, advice = printed(search)
    assert advice.startswith("Advice: ")
    assert first == "Fitting 3 folds for each of 6 candidates, totalling 18 fits"
    assert len(lines) == 6
    best = -np.inf
    for number, (line, trial) in enumerate(zip(lines, search.trials_, strict=True)):
        shown = re.fullmatch(
            r"\[(\d)/6\] trial (\d): score (\S+), best so far (\S+) \(trial (\d)\), "
            r"elapsed \d+\.\ds, left \d+\.\ds",
            line,
        )
        best = max(best, trial.score)
        assert (int(shown[1]), int(shown[2])) == (number + 1, number)
        assert float(shown[3]) == pytest.approx(trial.score, rel=1e-5)
        assert float(shown[4]) == pytest.approx(best, rel=1e-5)
        assert search.trials_[int(shown[5])].score == best


@pytest.mark.parametrize("verbose", [2, 10])
def test_s3_lines_of_each_fit_are_scikit_learns(verbose):
    both = searches(SVC(), {"C": [0.1, 1.0]}, cv=2, verbose=verbose)
    ours, theirs = map(printed, both)

    def timeless(lines):
        return [
            re.sub(r"\.*|\s*total time=.*", "", re.sub(r"\d+\.\ds$", "", line))
            for line in lines
            if "] trial " not in line and not line.startswith("Advice: ")
        ]

    assert timeless(ours) == timeless(theirs)
    lines = [line for line in ours if "] trial " in line]
    assert len(lines) == 4
    assert "score" in lines[0]
    assert lines[1] == "[1/2] trial 0: C=0.1"
