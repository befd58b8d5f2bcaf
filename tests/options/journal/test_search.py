"""Searches with a journal: killed, continued, changed, and observed."""

import contextlib
import os
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from grid_comparison import assert_same_tables
from simple_estimators import Slow, Sometimes
from sklearn.datasets import load_iris
from sklearn.model_selection import ParameterGrid, ShuffleSplit
from sklearn.svm import SVC

from skbayes import BayesSearchCV, load_history
from skbayes.loop import TargetScore

X, y = load_iris(return_X_y=True)
SPACE = {"C": (1e-2, 1e2, "log-uniform"), "kernel": ["rbf", "linear"]}


def make(path, n_iter=8, **kwargs):
    arguments = {"cv": 3, "random_state": 0, **kwargs}
    return BayesSearchCV(SVC(), SPACE, n_iter=n_iter, journal=path, **arguments)


def test_changes_that_the_guide_lists_are_accepted(path, fits_here):
    make(path, 10).fit(X, y)
    less = {"timeout": 100, "n_jobs": 2, "return_folds": ["estimators", "predict"]}
    again = make(path, 4, **less).fit(X, y)
    assert len(again.trials_) == 4 and again.n_points_ == 1
    assert len(again.set_params(stopper=TargetScore(0.5)).fit(X, y).trials_) == 1
    assert len(load_history(path)) == 10


def test_a_finite_space_has_the_same_order_with_a_journal(path):
    space = {"C": [1.0, 2.0, 4.0], "kernel": ["rbf", "linear"]}
    plain, recorded, read = (
        make(journal, 9).set_params(search_spaces=space).fit(X, y)
        for journal in (None, path, path)  # the last one reads all trials
    )
    assert plain.cv_results_["params"] == list(ParameterGrid(space))
    for other in (recorded, read):
        assert_same_tables(other.cv_results_, plain.cv_results_)
        assert other.best_params_ == plain.best_params_
    path.unlink()
    begun = recorded.set_params(n_iter=3).fit(X, y).cv_results_["params"]
    rest = [params for params in ParameterGrid(space) if params not in begun]
    every = recorded.set_params(n_iter=9).fit(X, y)
    assert every.cv_results_["params"] == begun + rest


def test_finished_trials_are_not_fitted_again(path, svc_fits):
    for n_iter, n_fits in ((3, 6), (4, 2), (4, 0), (2, 0)):
        svc_fits.clear()
        make(path, n_iter, cv=2, refit=False).fit(X, y)
        assert len(svc_fits) == n_fits


def test_a_seed_and_splits_that_cannot_be_drawn_again_are_the_journals(path):
    for cv in (ShuffleSplit, lambda n: ShuffleSplit(n).split(X)):
        first = make(path, 3, cv=cv(3), random_state=None).fit(X, y)
        second = make(path, 5, cv=cv(3), random_state=None).fit(X, y)
        assert first.trials_ == second.trials_[:3]
        with pytest.raises(ValueError, match="random_state"):
            make(path, 6, cv=cv(3), random_state=0).fit(X, y)
        path.unlink()


# Values of parameters, and the part of the identity that is named.
CHANGES = [
    ("estimator: ", {"estimator__gamma": 0.5}),
    ("splits: ", {"cv": 4}),
    ("pre_dispatch: 1 in the journal, 2 now", {"pre_dispatch": 2}),
    ("random_state: 0 in the journal, 1 now", {"random_state": 1}),
    ("initial_points: 'default' in the journal, 4 now", {"initial_points": 4}),
    ("(- |settings: )surrogate", {"surrogate": "tpe"}),
    ("(- |settings: )trial_limits", {"trial_limits": {"time": 9}}),
]


def test_another_search_is_refused_and_the_difference_named(path):
    make(path, 3).fit(X, y)
    before = path.read_bytes()
    changed = [(name, make(path).set_params(**new), X, y) for name, new in CHANGES]
    changed += [("X: ", make(path), X + 1e-9, y), ("y: ", make(path), X, y[::-1])]
    for name, search, data, labels in changed:
        with pytest.raises(ValueError, match=rf"journal.*another search[\s\S]*{name}"):
            search.fit(data, labels)
        assert path.read_bytes() == before
    # A wrong argument leaves no journal.
    path.unlink()
    with pytest.raises(ValueError, match="initial_points"):
        make(path, initial_points=[{"nonsense": 1}]).fit(X, y)
    assert not path.exists()


@pytest.mark.filterwarnings("ignore")
def test_failed_trials_are_stored_as_failed(path):
    space = {"quality": (0.0, 1.0), "bad": [None, "fit"]}
    failing = make(path, 6, cv=2).set_params(estimator=Sometimes(), search_spaces=space)
    first = [(t.state, t.error) for t in failing.fit(X, y).trials_]
    again = [(t.state, t.error) for t in failing.set_params(n_iter=8).fit(X, y).trials_]
    assert again[:6] == first
    assert "failed" in dict(first)


PROGRAM = """
import sys
from sklearn.datasets import load_iris
from simple_estimators import Slow
from skbayes import BayesSearchCV
path, n_points, n_jobs = sys.argv[1:]
BayesSearchCV(
    Slow(), {"quality": (0.0, 1.0)}, n_iter=6, cv=2, random_state=0, refit=False,
    journal=path, pre_dispatch=int(n_points), n_jobs=int(n_jobs),
).fit(*load_iris(return_X_y=True))
"""


def kill_at_random(start, path, n_points, n_jobs, n_kills, seconds):
    """Start and kill a search repeatedly; return the number of kills."""
    rng = random.Random(0)
    finished, n_killed = {}, 0
    for _ in range(n_kills):
        program = start(PROGRAM, path, n_points, n_jobs)
        time.sleep(rng.random() * seconds)
        with contextlib.suppress(ProcessLookupError):  # not started yet, or ended
            os.killpg(program.pid, signal.SIGKILL)
        n_killed += program.wait() == -signal.SIGKILL
        if path.exists() and path.stat().st_size:
            frame = load_history(path)
            now = dict(zip(frame["number"], frame["finished"], strict=True))
            # No finished trial is lost or repeated.
            for number, when in finished.items():
                assert now[number] == when
            finished = {n: when for n, when in now.items() if when == when}
    return n_killed, finished


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX's")
@pytest.mark.parametrize(
    "n_points, n_jobs, n_kills, seconds", [(1, 1, 3, 0.3), (3, 2, 2, 1.0)]
)
def test_killed_at_random_instants_it_ends_as_if_it_had_not_been(
    start, path, n_points, n_jobs, n_kills, seconds
):
    kills = (n_points, n_jobs, n_kills, seconds)
    n_killed, finished = kill_at_random(start, path, *kills)
    assert n_killed >= n_kills // 2
    whole, resumed = (
        make(journal, 6, cv=2, refit=False, pre_dispatch=n_points)
        .set_params(estimator=Slow(), search_spaces={"quality": (0.0, 1.0)})
        .fit(X, y)
        for journal in (None, path)
    )
    assert_same_tables(resumed.cv_results_, whole.cv_results_)
    frame = load_history(path)
    assert len(frame) == 6
    now = dict(zip(frame["number"], frame["finished"], strict=True))
    assert finished.items() <= now.items()


def test_a_running_search_can_be_watched_and_not_joined(path):
    seen = {}

    class Watching(SVC):
        def fit(self, X, y):
            if "frame" not in seen and path.exists():
                frame = load_history(path)
                if len(frame) > 2:
                    seen["frame"] = frame
                    # In a thread, because it is not nested cross-validation.
                    with ThreadPoolExecutor(1) as pool:
                        joining = pool.submit(make(path).fit, X, y)
                    with pytest.raises(RuntimeError, match="journal"):
                        joining.result()
                    seen["refused"] = True
            return super().fit(X, y)

    make(path, 5).set_params(estimator=Watching()).fit(X, y)
    assert seen["refused"]
    assert list(seen["frame"]["number"]) == [0, 1, 2]
