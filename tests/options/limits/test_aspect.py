"""Limits of fits: `trial_limits`, `timeout` and Ctrl-C."""

import json
import os
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import joblib
import numpy as np
import psutil
import pytest
from grid_comparison import assert_same_tables
from joblib.parallel import ThreadingBackend
from limited_estimators import Limited, NeverLoaded, two_metrics
from processes import environment
from recording_callbacks import Recorder
from scripted_estimators import Inside, Threads
from simple_estimators import Sometimes
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from skbayes import BayesSearchCV, compat, load_history

X, y = load_iris(return_X_y=True)

posix = pytest.mark.skipif(os.name != "posix", reason="the fits fork")


def search_over(ways, **more):
    space = {"way": list(ways)}
    arguments = {"cv": 2, "pre_dispatch": 1, "surrogate": "random", "random_state": 0}
    model = Limited(folder=more.pop("folder", None))
    return BayesSearchCV(model, space, n_iter=len(ways), **(arguments | more))


def running(folder):
    """Return the recorded processes of fits that are still running."""
    numbers = {int(path.name.partition("-")[0]) for path in Path(folder).iterdir()}
    found = psutil.process_iter(["status"])
    return [p for p in found if p.pid in numbers and p.info["status"] != "zombie"]


def wait_until_none_runs(folder):
    give_up = time.monotonic() + 600
    while running(folder):
        assert time.monotonic() < give_up, running(folder)
        time.sleep(0.05)


def fitted(ways, folder, backend="threading", n_jobs=1, **more):
    search = search_over(ways, folder=str(folder), **more)
    with joblib.parallel_config(backend, n_jobs=n_jobs), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that failed
        search.fit(X, y)
    return search, {trial.params["way"]: trial for trial in search.trials_}


@posix
@pytest.mark.parametrize(
    "backend, n_jobs, ways",
    [
        ("threading", 1, ["good", "fork", "leave", "return", "raise"]),
        ("loky", 2, ["good", "compute"]),
    ],
)
def test_a_fit_that_takes_too_long_is_ended(backend, n_jobs, ways, tmp_path):
    path, folder = tmp_path / "journal", tmp_path / "fits"
    folder.mkdir()
    more = {"scoring": two_metrics, "refit": "a", "trial_limits": {"time": 2}}
    search, trials = fitted(ways, folder, backend, n_jobs, journal=path, **more)
    states = {"fork": "timed_out", "compute": "timed_out"}
    states["raise"] = "failed"
    for way, trial in trials.items():
        assert str(trial.state) == states.get(way, "complete")
        if trial.state == "timed_out":
            assert re.match(r"The fit was aborted after 2(\.\d+)? s", trial.error)
            assert "trial_limits['time'] is 2 s" in trial.error
            assert np.isnan(trial.score)
            assert all(not fold.is_fitted for fold in trial.folds)
            assert trial.duration >= 2
            # Also if no fit ended, the metrics have their names.
            assert np.isnan([*trial.scores["a"], *trial.scores["b"]]).all()
    assert search.best_params_["way"] in ("good", "leave", "return")
    assert list(search.cv_results_["state"]) == [t.state for t in search.trials_]
    assert list(load_history(path)["state"]) == [t.state for t in search.trials_]
    wait_until_none_runs(folder)


def least_memory(folder):
    """Check that memory for no fit at all is refused; return what a process uses."""
    limits = {"memory": "20 MB"}
    search = search_over(["good"], folder=folder, trial_limits=limits, n_jobs=2)
    message = r"trial_limits\['memory'\]=20 MB is too small: .* uses (\d+) MB of memory"
    with pytest.raises(ValueError, match=message) as caught:
        search.fit(X, y)
    assert not list(folder.iterdir())
    return 1_000_000 * int(re.search(message, str(caught.value))[1])


@posix
def test_a_fit_that_takes_too_much_memory_is_ended(tmp_path):
    limits = {"memory": least_memory(tmp_path) + 150_000_000}
    ways = ["good", "allocate", "reserve", "crash"]
    _, trials = fitted(ways, tmp_path, trial_limits=limits)
    used = r"\d MB in memory: trial_limits\['memory'\] is \d+ MB"
    for way, state, text in [
        ("good", "complete", "None"),
        ("allocate", "out_of_memory", used),
        ("reserve", "out_of_memory", r"not allocate .* is \d+ MB.*MemoryError"),
        ("crash", "failed", r"ended with exit code 139 \(SIGSEGV\)"),
    ]:
        assert str(trials[way].state) == state
        assert re.search(text, str(trials[way].error), re.DOTALL), way
    wait_until_none_runs(tmp_path)


def table(n_jobs, backend, model=None, space=None, **more):
    arguments = {"n_iter": 3, "cv": 3, "pre_dispatch": 1, "random_state": 0} | more
    model = LogisticRegression(max_iter=2) if model is None else model
    space = {"C": [0.1, 1.0, 10.0]} if space is None else space
    fit_params = arguments.pop("fit_params", {})
    search = BayesSearchCV(model, space, **arguments)
    with joblib.parallel_config(backend, n_jobs=n_jobs), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y, **fit_params)
    search.cv_results_.pop("state", None)
    return search


@pytest.mark.parametrize("backend, n_jobs", [("threading", 1), ("loky", 2)])
def test_other_fits_are_what_they_were(backend, n_jobs):
    """Scores, training scores, weights, out-of-fold predictions, failures."""
    # The parent of loky's workers is not the process of the search here.
    with config_context(enable_metadata_routing=True):
        model = LogisticRegression(max_iter=2).set_fit_request(sample_weight=True)
        more = {
            "space": {"C": [0.1, 10.0], "tol": [1e-4]},
            "model": model.set_score_request(sample_weight=False),
            "return_train_score": True,
            "return_folds": "predict_proba",
            "fit_params": {"sample_weight": np.linspace(1, 2, len(y))},
            "n_iter": 2,
        }
        plain = table(n_jobs, backend, **more)
        limited = table(n_jobs, backend, trial_limits={"time": 600}, **more)
    assert_same_tables(plain.cv_results_, limited.cv_results_)
    np.testing.assert_array_equal(plain.oof_predictions_, limited.oof_predictions_)


def test_filters_of_warnings_apply_to_fits():
    search = BayesSearchCV(
        LogisticRegression(), {"max_iter": [1, 500]}, cv=2, trial_limits={"time": 600}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", ConvergenceWarning)
        trials = search.fit(X, y).trials_
    failed = {trial.params["max_iter"]: str(trial.error) for trial in trials}
    assert "ConvergenceWarning" in failed[1] and "ConvergenceWarning" not in failed[500]


@pytest.mark.parametrize(
    "model, backend", [(Threads(), "threading"), (Inside(), "loky")], ids=range(2)
)
def test_fits_find_what_a_worker_offers(model, backend):
    more = {"model": model, "space": {"quality": [0.5]}, "n_iter": 1}
    more["cv"] = [(np.arange(100), np.arange(100, 150))]
    plain = table(2, backend, **more)
    limited = table(2, backend, trial_limits={"time": 600}, **more)
    assert_same_tables(plain.cv_results_, limited.cv_results_)


def test_data_at_fault_are_told_as_ever():
    more = {"n_iter": 4, "trial_limits": {"time": 600}}
    search = BayesSearchCV(Sometimes(bad="fit"), {"quality": (0.1, 1.0)}, **more)
    with pytest.raises(RuntimeError, match="cannot be fitted") as caught:
        search.fit(X, y)
    assert "a fit with very different parameters" in caught.value.__notes__[-1]
    with pytest.raises(RuntimeError, match="cannot be fitted"):
        search.set_params(error_score="raise", n_iter=1).fit(X, y)


def test_the_timeout_ends_fits():
    more = {"trial_limits": {"memory": "10 GB"}, "timeout": 1, "refit": False}
    search = search_over(["sleep", "compute"], **more)
    with pytest.warns(UserWarning, match="No trial was finished within.* timeout=1"):
        search.fit(X, y)
    assert search.best_params_ == {"way": "sleep"}


class Elsewhere(ThreadingBackend):
    """Backend of another package, whose workers may be on other machines."""

    supports_sharedmem = False


def test_on_other_workers_time_is_checked_between_folds_and_memory_refused():
    with joblib.parallel_config(Elsewhere(), n_jobs=2):
        search = search_over(["good"], trial_limits={"time": 1e-6}, cv=4)
        with pytest.warns(UserWarning, match="No trial was finished"):
            search.fit(X, y)
        (trial,) = search.trials_
        assert [fold.is_fitted for fold in trial.folds] == [True, True, False, False]
        search.set_params(trial_limits={"memory": "1 GB"})
        with pytest.raises(ValueError, match=r"\['memory'\] .* workers of Elsewhere"):
            search.fit(X, y)


def test_without_psutil_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psutil", None)
    with pytest.raises(ImportError, match=r'pip install "skbayes\[limits\]"'):
        search_over(["good"], trial_limits={"memory": "1 GB"}).fit(X, y)


# With callbacks, joblib's workers load the estimator too.
WAYS = [(1, False), (2, False)] + [(2, True)] * compat.HAS_CALLBACKS


@pytest.mark.parametrize("n_jobs, is_observed", WAYS)
def test_the_timeout_holds_while_processes_load_the_estimator(n_jobs, is_observed):
    search = BayesSearchCV(NeverLoaded(), {"quality": (0.0, 1.0)}, cv=2, n_iter=2)
    if is_observed:
        search.set_callbacks(Recorder())
    search.set_params(timeout=0.1, n_jobs=n_jobs, random_state=0)
    with pytest.warns(UserWarning, match="No trial was finished within.* timeout=0.1"):
        search.fit(X, y)
    assert search.stop_reason_ == "timeout"
    assert search.predict(X).shape == (150,)


# Imports once; then one process for each search, which ends itself or its group.
PROGRAM = """
import json, os, signal, sys, threading, time
from pathlib import Path
from sklearn.datasets import load_iris
from limited_estimators import Limited
from skbayes import BayesSearchCV

X, y = load_iris(return_X_y=True)

def search(folder, name, is_group, n_jobs, limit):
    folder.mkdir()
    os.setsid()
    for number in (signal.SIGINT, signal.SIGHUP):
        # Where the tests run in the background, they are ignored from the start.
        signal.signal(number, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

    def end():
        while not list(folder.glob("*-all")):
            time.sleep(0.05)
        (os.killpg if is_group else os.kill)(os.getpid(), getattr(signal, name))

    threading.Thread(target=end, daemon=True).start()
    search = BayesSearchCV(
        Limited(folder=str(folder)),
        {"way": ["good", "crowd"]},
        initial_points=[{"way": "good"}, {"way": "crowd"}],
        n_iter=2, cv=2, pre_dispatch=1, n_jobs=n_jobs, random_state=0, **limit,
    )
    search.fit(X, y)
    print(search.stop_reason_, [str(trial.state) for trial in search.trials_])

for place, case in enumerate(json.loads(sys.argv[2])):
    if os.fork() == 0:
        search(Path(sys.argv[1], str(place)), *case)
        sys.exit()
    os.wait()
"""


@posix
def test_searches_that_are_interrupted_or_killed_leave_no_process(tmp_path):
    """Children of fits, programs, and daemons in their own sessions, of C code too."""
    timeout, limits = {"timeout": 600}, {"trial_limits": {"time": 600}}
    cases = [
        ("SIGINT", True, 2, timeout),
        ("SIGTERM", True, 1, timeout),
        ("SIGTERM", False, 2, limits),
        ("SIGKILL", False, 1, timeout),
        ("SIGHUP", True, 1, limits),
    ]
    # A pipe would stay open until the idle workers of joblib end.
    with open(tmp_path / "printed", "w+") as printed:
        command = [sys.executable, "-c", PROGRAM, str(tmp_path), json.dumps(cases)]
        subprocess.run(command, stdout=printed, timeout=300, env=environment())
        printed.seek(0)
        assert printed.read() == "interrupted ['complete']\n"
    for place in range(len(cases)):
        folder = tmp_path / str(place)
        # The fits, two daemons or children and a program of one fit at least.
        assert len(list(folder.iterdir())) >= 5
        wait_until_none_runs(folder)
