"""Ends of a search: `n_iter`, `timeout`, an exhausted space, Ctrl-C."""

import contextlib
import os
import re
import signal
import time
import types
from unittest import mock

import joblib
import pytest
from every_search import SEARCHES, data, make
from fake_clock import TimedTree
from processes import wait_until
from scripted_estimators import Noted, Waits
from simple_estimators import Sometimes
from sklearn.datasets import load_iris

from skbayes import (
    BayesSearchCV,
    HyperTuneSearchCV,
    ParetoSearchCV,
    TextRepresentationSearchCV,
    TradeoffSearchCV,
)
from skbayes.loop import executor, scheduler
from skbayes.loop.stopping import ExpectedImprovementBelow, NoImprovement, TargetScore
from skbayes.search import running
from skbayes.trial import limits
from skbayes.trial.settings import Settings

X, y = load_iris(return_X_y=True)
SPACE = {"quality": (0.0, 1.0)}


class Interrupted(Sometimes):
    """Estimator that is interrupted in the fit with the number `at`."""

    n_fits = 0

    def __init__(self, quality=0.5, bad=None, at=0):
        super().__init__(quality, bad)
        self.at = at

    def fit(self, X, y):
        type(self).n_fits += 1
        if type(self).n_fits == self.at:
            raise KeyboardInterrupt
        return super().fit(X, y)


def search_of(model=None, n_iter=5, **params):
    params = {"cv": 2, "random_state": 0, **params}
    return BayesSearchCV(model or Sometimes(), SPACE, n_iter=n_iter, **params)


@pytest.mark.parametrize("at, n_finished", [(3, 1), (6, 2)])
def test_an_interrupt_ends_the_search_with_the_finished_trials(at, n_finished):
    Interrupted.n_fits = 0
    search = search_of(Interrupted(at=at))
    with pytest.warns(UserWarning, match=f"interrupted.* {n_finished} finished"):
        search.fit(X, y)
    assert search.stop_reason_ == "interrupted"
    # The interrupted trial is neither observed nor recorded.
    assert len(search.trials_) == search.optimizer_.n_told == n_finished
    assert search.predict(X).shape == (150,)
    whole = search_of().fit(X, y)
    assert whole.stop_reason_ == "n_iter"
    params = whole.cv_results_["params"]
    assert search.cv_results_["params"] == params[:n_finished]


def test_an_interrupt_before_the_first_trial_ends_is_passed_on():
    Interrupted.n_fits = 0
    search = search_of(Interrupted(at=2))
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert not hasattr(search, "cv_results_")


def test_the_first_stopper_that_applies_ends_the_search():
    search = search_of(n_iter=30, stopper=[TargetScore(2.0), NoImprovement(4)])
    search.fit(X, y)
    assert search.stop_reason_ == "no_improvement"
    best = search.trials_.best.number
    assert len(search.trials_) == best + 1 + 4
    search.set_params(stopper=TargetScore(search.best_score_)).fit(X, y)
    assert search.stop_reason_ == "target_score"
    assert len(search.trials_) == best + 1
    search.set_params(stopper=lambda trials: len(trials) == 2).fit(X, y)
    assert (search.stop_reason_, len(search.trials_)) == ("stopper", 2)
    search.set_params(stopper=ExpectedImprovementBelow(1e9)).fit(X, y)
    # The first trial that the model proposed.
    assert (search.stop_reason_, len(search.trials_)) == ("expected_improvement", 4)
    assert search.predict(X).shape == (150,)


def test_fits_that_run_at_the_timeout_are_dropped(tmp_path, monkeypatch):
    """The trials before equal the ones of a search without a timeout, also resumed."""
    params = {"n_iter": 4, "pre_dispatch": 3, "pruning": True}
    params["return_train_score"] = True
    begun, counts = tmp_path / "begun", []

    def monotonic():
        """Return a time after the timeout once a trial has finished and a fit waits."""
        return time.monotonic() + 1e6 * (bool(counts) and begun.exists())

    clock = types.SimpleNamespace(monotonic=monotonic, perf_counter=monotonic)
    for module in (limits, executor, scheduler):
        monkeypatch.setattr(module, "time", clock)
    model, count = Waits(begun=str(begun)), lambda trials: counts.append(len(trials))
    limited = search_of(model, **params, stopper=count, journal=tmp_path / "journal")
    with joblib.parallel_config("loky", n_jobs=2):
        limited.set_params(timeout="1 h").fit(X, y)
    monkeypatch.undo()
    assert limited.stop_reason_ == "timeout"
    n_finished = len(limited.trials_)
    assert 1 <= n_finished < 4
    assert limited.optimizer_.n_told == n_finished
    assert {str(trial.state) for trial in limited.trials_} <= {"complete", "pruned"}
    whole = search_of(model, **params).fit(X, y)
    by_number = {trial.number: trial for trial in whole.trials_}
    for trial in limited.trials_:
        assert trial.params == by_number[trial.number].params
        assert trial.score == by_number[trial.number].score
    resumed = limited.set_params(timeout=None).fit(X, y)
    assert resumed.stop_reason_ == "n_iter"
    assert resumed.trials_.params == whole.trials_.params
    assert [t.score for t in resumed.trials_] == [t.score for t in whole.trials_]


@pytest.mark.parametrize("start_time, timeout", [(0.0, 20.0), (3.0, 23.0), (9.0, 24.0)])
def test_a_part_of_the_start_does_not_count_toward_the_timeout(
    start_time, timeout, monkeypatch
):
    clock = types.SimpleNamespace(perf_counter=lambda: 110.0)
    monkeypatch.setattr(running, "time", clock)
    limits = types.SimpleNamespace(timeout=30)
    ladder = types.SimpleNamespace(stages=[None])
    plan = types.SimpleNamespace(settings=Settings(limits=limits), ladder=ladder)
    backend = mock.Mock(start_time=start_time)
    search = running.RunningSearch(None, plan, None, None, None, 1, begin=100.0)
    budget = search._begin_budget(backend, 7)
    assert (budget.n_iter, budget.timeout) == (7, timeout)
    backend.end_after.assert_called_once_with(timeout)


def test_processes_start_before_the_first_trial(tmp_path, monkeypatch):
    """The durations of the first trials, and the limit, do not include their start."""
    started, run_trials = [], scheduler.Scheduler.run

    def run(self, *arguments):
        started.extend(tmp_path.iterdir())
        return run_trials(self, *arguments)

    monkeypatch.setattr(scheduler.Scheduler, "run", run)
    search = search_of(Noted(folder=str(tmp_path)), n_iter=1, timeout="1 h", n_jobs=1)
    search.fit(X, y)
    assert started


def test_a_timeout_is_checked_between_fits_that_cannot_be_ended():
    class Here(Sometimes):
        def __reduce__(self):
            raise TypeError("not to be pickled")

    warns = pytest.warns(UserWarning, match="^timeout=.* cannot be aborted, .* pickled")
    late = pytest.warns(UserWarning, match="No trial was finished within timeout")
    with warns, late:
        search_of(Here(), timeout=1e-9, n_jobs=1).fit(X, y)


@pytest.mark.parametrize("limits", [{"n_iter": None, "timeout": 12.0}, {"n_iter": 8}])
def test_with_the_time_alone_the_model_begins_after_three_trials(limits, fake_clock):
    names = ("ccp_alpha", "min_impurity_decrease", "min_weight_fraction_leaf")
    space = {name: (0.0, 0.4, "uniform") for name in names}
    params = {"initial_points": None, "cv": 2, "random_state": 0} | limits
    search = BayesSearchCV(TimedTree(random_state=0), space, **params).fit(X, y)
    is_initial = [t.expected_improvement is None for t in search.trials_]
    assert is_initial.index(False) == (4 if limits["n_iter"] else 3)


@pytest.mark.parametrize("refit", [True, False, "ensemble"])
@pytest.mark.parametrize("kind", SEARCHES)
def test_every_search_ends_in_time_without_a_number_of_trials(kind, refit, fake_clock):
    if kind in (ParetoSearchCV, TradeoffSearchCV) and refit == "ensemble":
        return  # they have no ensembles
    n_folds = 3 if refit == "ensemble" else 2
    params = {"estimator": TimedTree(random_state=0), "n_iter": None, "refit": refit}
    if kind is TextRepresentationSearchCV:
        params["search_spaces"] = {"classifier__max_depth": (1, 200)}
    else:
        params["search_spaces"] = {"max_depth": (1, 20), "min_samples_leaf": (1, 20)}
    if hasattr(kind(TimedTree()), "stages"):
        params["stages"] = "auto"
    if kind is not HyperTuneSearchCV:
        params["surrogate"] = "random"
    arguments = data(kind)
    # A fit on all rows takes 1.5 s, or 0.4 s for the documents.
    n_rows, begin = len(arguments[1]), fake_clock.now
    timeout = (0.2 if refit == "ensemble" else 0.12) * n_rows
    search = make(kind, **params, timeout=timeout, cv=n_folds).fit(*arguments)
    assert fake_clock.now - begin <= timeout
    assert search.stop_reason_ == "timeout"
    on_all = [t for t in search.trials_ if t.fidelity.train_fraction == 1.0]
    reserved = {True: 1, False: 0, "ensemble": 10}[refit] * 0.01 * n_rows
    used = sum(trial.duration for trial in search.trials_)
    # There is no time for two more trials.
    assert used + reserved > timeout - 0.02 * (n_folds - 1) * n_rows - 1e-6
    assert len(on_all) > 1


def test_a_quarter_of_the_time_is_for_small_samples(fake_clock):
    model = TimedTree(random_state=0)
    space = {"max_depth": (1, 20), "min_samples_leaf": (1, 20)}
    params = {"n_iter": None, "timeout": 30.0, "complexity": {"max_depth": 1}}
    search = HyperTuneSearchCV(model, space, cv=2, random_state=0, **params).fit(X, y)
    seconds = [0.0, 0.0]
    for trial in search.trials_:
        seconds[trial.fidelity.stage] += trial.duration
    # At the end, five trials of 0.6 s are in flight.
    assert 0.0 < seconds[0] <= 7.5 + 5 * 0.6
    assert sum(seconds) <= 28.5


# With the limit, no trial is complete, and the refit takes as long as for the last one.
@pytest.mark.parametrize("limits", [None, {"time": 1.0}])
@pytest.mark.parametrize("timeout, n_iter, n_warnings", [(3.0, 1, 1), (35.0, 2, 0)])
def test_a_refit_that_exceeds_the_timeout_is_announced(
    timeout, n_iter, n_warnings, limits, fake_clock, monkeypatch, recwarn
):
    # The first fold takes 7.5 s, and the refit 15 s.
    monkeypatch.setattr(TimedTree, "seconds_per_row", 0.1)
    search = BayesSearchCV(TimedTree(), {"max_depth": (1, 9)}, cv=2, n_iter=n_iter)
    search.set_params(timeout=timeout, trial_limits=limits).fit(X, y)
    text = "refit takes about 15 s, so fit will exceed the limit"
    assert sum(text in str(w.message) for w in recwarn) == n_warnings
    assert sum("refit takes" in str(w.message) for w in recwarn) == n_warnings


@pytest.mark.parametrize("timeout", ["5 parsecs", "5", "-1 s", "0 s", "", "1h 30"])
def test_a_time_that_is_none_is_refused(timeout):
    with pytest.raises(ValueError, match="timeout.* must be .* such as '90 s'"):
        search_of(timeout=timeout).fit(X, y)


PROGRAM = """
import logging
import sys
import joblib
from simple_estimators import Noting
from sklearn.datasets import load_iris
from skbayes import BayesSearchCV
logging.basicConfig(level=logging.DEBUG, format="%(message)s")
X, y = load_iris(return_X_y=True)
model = Noting(folder=sys.argv[1])
search = BayesSearchCV(model, {"quality": (0.0, 1.0)}, n_iter=99, cv=8)
search.set_params(verbose=1, n_jobs=2, pre_dispatch=3)
with joblib.parallel_config(sys.argv[2]):
    search.fit(X, y)
print(search.stop_reason_, search.optimizer_.n_told, len(search.predict(X)))
"""


def n_marks(folder, kind):
    return len(list(folder.glob(f"*.{kind}")))


@pytest.fixture
def start_search(start, tmp_path):
    """Return a function that runs the program until a fit takes ten minutes."""

    def started(backend):
        variables = {"JOBLIB_TEMP_FOLDER": str(tmp_path)}
        program = start(PROGRAM, tmp_path, backend, **variables)
        wait_until(lambda: "\n[2/" in program.text())
        (tmp_path / "slowly").touch()
        wait_until(lambda: n_marks(tmp_path, "slow") > 0)
        return program

    return started


posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


@posix
@pytest.mark.parametrize("is_terminal", [True, False])
def test_ctrl_c_ends_the_fits_of_processes(is_terminal, tmp_path, start_search):
    program = start_search("loky")
    # A terminal sends the signal to the workers, too.
    (os.killpg if is_terminal else os.kill)(program.pid, signal.SIGINT)
    assert program.wait() == 0, program.text()
    numbers = re.findall(r"^interrupted (\d+) 150$", program.text(), re.MULTILINE)
    n_asked = len(re.findall(r"^trial \d+ started", program.text(), re.MULTILINE))
    assert 2 <= int(numbers[0]) <= n_asked < 99
    # Folds of trials in flight that had not begun were not run.
    assert n_marks(tmp_path, "begun") < 8 * n_asked
    assert not list(tmp_path.glob("skbayes*"))


@posix
def test_a_second_ctrl_c_passes_on_at_once(start_search):
    program = start_search("threading")

    def is_over():
        with contextlib.suppress(ProcessLookupError):
            os.kill(program.pid, signal.SIGINT)
        time.sleep(0.2)
        return "\nKeyboardInterrupt\n" in program.text()

    wait_until(is_over)
    assert program.wait() != 0
