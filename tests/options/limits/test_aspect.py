"""Limits of fits: `trial_limits`, `timeout` and Ctrl-C."""

import os
import re
import signal
import sys
import warnings
from pathlib import Path

import joblib
import numpy as np
import psutil
import pytest
from grid_comparison import assert_same_tables
from joblib.parallel import ThreadingBackend
from limited_estimators import Limited, NeverLoaded
from processes import wait_until
from recording_callbacks import Recorder
from scripted_estimators import seen_by_joblib
from simple_estimators import Sometimes, both
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import skbayes
from skbayes import BayesSearchCV, compat

X, y = load_iris(return_X_y=True)

posix = pytest.mark.skipif(os.name != "posix", reason="the fits fork")


def search_over(ways, **params):
    space = {"way": list(ways)}
    arguments = {"cv": 2, "pre_dispatch": 1, "surrogate": "random", "random_state": 0}
    model = Limited(folder=params.pop("folder", None))
    return BayesSearchCV(model, space, n_iter=len(ways), **(arguments | params))


def running(folder):
    """Return the recorded processes of fits that are still running."""
    numbers = {int(path.name.partition("-")[0]) for path in Path(folder).iterdir()}
    processes = psutil.process_iter(["status"])
    return [p for p in processes if p.pid in numbers and p.info["status"] != "zombie"]


def wait_until_none_runs(folder):
    wait_until(lambda: not running(folder))


def fitted(ways, folder, **params):
    search = search_over(ways, folder=str(folder), **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that failed
        search.fit(X, y)
    return search, {trial.params["way"]: trial for trial in search.trials_}


@posix
def test_a_fit_that_takes_too_long_is_ended(tmp_path):
    path, folder = tmp_path / "journal", tmp_path / "fits"
    folder.mkdir()
    params = {"scoring": both, "refit": "a", "trial_limits": {"time": 1}}
    ways = ["good", "leave", "return", "raise", "fork", "compute"]
    search, trials = fitted(ways, folder, journal=path, **params)
    states = {"fork": "timed_out", "compute": "timed_out"}
    states["raise"] = "failed"
    for way, trial in trials.items():
        assert str(trial.state) == states.get(way, "complete")
        if trial.state == "timed_out":
            assert re.match(r"The fit was aborted after \d+(\.\d+)? s", trial.error)
            assert "trial_limits['time'] is 1 s" in trial.error
            assert np.isnan(trial.score)
            assert all(not fold.is_fitted for fold in trial.folds)
            assert trial.duration >= 1
            # Also if no fit ended, the metrics have their names.
            assert np.isnan([*trial.scores["a"], *trial.scores["b"]]).all()
    assert search.best_params_["way"] in ("good", "leave", "return")
    assert list(search.cv_results_["state"]) == [t.state for t in search.trials_]
    assert list(skbayes.load_history(path)["state"]) == [
        t.state for t in search.trials_
    ]
    wait_until_none_runs(folder)


def least_memory(folder):
    """Check that memory for no fit at all is refused; return what a process uses."""
    limits = {"memory": "20 MB"}
    search = search_over(["good"], folder=folder, trial_limits=limits)
    message = r"trial_limits\['memory'\]=20 MB is too small: .* uses ([\d.]+) MB of"
    with pytest.raises(ValueError, match=message) as caught:
        search.fit(X, y)
    assert not list(folder.iterdir())
    return int(1e6 * float(re.search(message, str(caught.value))[1]))


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


def test_limits_do_not_change_fits_below_them():
    """Scores, weights, out-of-fold predictions, and what joblib offers to a fit."""
    params = {"cv": 3, "pre_dispatch": 1, "random_state": 0, "return_train_score": True}
    params |= {"return_folds": "predict_proba", "scoring": seen_by_joblib, "n_iter": 2}
    searches = []
    with config_context(enable_metadata_routing=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(max_iter=2).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        for limits in (None, {"time": 600}):
            params |= {"trial_limits": limits, "refit": "accuracy"}
            search = BayesSearchCV(model, {"C": [0.1, 10.0]}, n_jobs=2, **params)
            searches.append(search.fit(X, y, sample_weight=np.linspace(1, 2, len(y))))
    plain, limited = searches
    del limited.cv_results_["state"]
    assert_same_tables(plain.cv_results_, limited.cv_results_)
    np.testing.assert_array_equal(plain.oof_predictions_, limited.oof_predictions_)


def test_filters_of_warnings_apply_to_fits_and_errors_are_raised():
    params = {"trial_limits": {"time": 600}, "error_score": "raise"}
    params |= {"stopper": lambda trials: counts.append(len(trials))}
    model, space, counts = LogisticRegression(), {"max_iter": [500, 1]}, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(ConvergenceWarning):
            BayesSearchCV(model, space, cv=2, pre_dispatch=1, **params).fit(X, y)
    assert counts == [1]


def test_errors_in_the_data_are_raised_as_without_limits():
    params = {"n_iter": 4, "trial_limits": {"time": 600}}
    search = BayesSearchCV(Sometimes(bad="fit"), {"quality": (0.1, 1.0)}, **params)
    with pytest.raises(RuntimeError, match="cannot be fitted") as caught:
        search.fit(X, y)
    assert "a fit with very different parameters" in caught.value.__notes__[-1]


def test_the_timeout_ends_fits():
    params = {"trial_limits": {"memory": "10 GB"}, "timeout": 0.5, "refit": False}
    search = search_over(["sleep", "compute"], **params)
    with pytest.warns(UserWarning, match="No trial was finished within.* timeout=0.5"):
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
@pytest.mark.parametrize("is_observed", [False, True][: 1 + compat.HAS_CALLBACKS])
def test_the_timeout_holds_while_processes_load_the_estimator(is_observed):
    search = BayesSearchCV(NeverLoaded(), {"quality": (0.0, 1.0)}, cv=2, n_iter=2)
    if is_observed:
        search.set_callbacks(Recorder())
    search.set_params(timeout=0.1, n_jobs=2, random_state=0)
    with pytest.warns(UserWarning, match="No trial was finished within.* timeout=0.1"):
        search.fit(X, y)
    assert search.stop_reason_ == "timeout"
    assert search.predict(X).shape == (150,)


# A search that ends itself or its group when a fit has started all of its processes.
PROGRAM = """
import os, signal, sys, threading, time
from pathlib import Path
from sklearn.datasets import load_iris
from limited_estimators import Limited
from skbayes import BayesSearchCV

folder, name, end_group, n_jobs, option = sys.argv[1:]

def end():
    while not list(Path(folder).glob("*-all")):
        time.sleep(0.05)
    kill = os.killpg if end_group == "True" else os.kill
    kill(os.getpid(), getattr(signal, name))

threading.Thread(target=end, daemon=True).start()
limit = {"timeout": 600} if option == "timeout" else {option: {"time": 600}}
search = BayesSearchCV(
    Limited(folder=folder),
    {"way": ["good", "crowd"]},
    initial_points=[{"way": "good"}, {"way": "crowd"}],
    n_iter=2, cv=2, pre_dispatch=1, n_jobs=int(n_jobs), random_state=0, **limit,
)
search.fit(*load_iris(return_X_y=True))
print(search.stop_reason_, [str(trial.state) for trial in search.trials_])
"""


@posix
@pytest.mark.parametrize(
    "case",
    [
        ("SIGINT", True, 2, "timeout"),
        ("SIGKILL", False, 2, "trial_limits"),
        ("SIGTERM", True, 1, "timeout"),
    ],
)
def test_searches_that_are_interrupted_or_killed_leave_no_process(
    case, start, tmp_path
):
    """Children of fits, programs, and daemons in their own sessions, of C code too."""
    program = start(PROGRAM, tmp_path, *case)
    code = program.wait()
    is_interrupted = case[0] == "SIGINT"
    assert code == (0 if is_interrupted else -getattr(signal, case[0]))
    assert is_interrupted == ("interrupted ['complete']\n" in program.text())
    # The fits, two daemons or children and a program of one fit at least.
    assert len(list(tmp_path.iterdir())) >= 5
    wait_until_none_runs(tmp_path)
