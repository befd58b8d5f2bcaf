"""Features of a search on loky, threads and Dask.

    python benchmarks/attacks/clusters.py after [--only 'dask.*killed']

A search with two workers uses one feature on one engine. It passes if its trials,
scores and states equal those of the same search in one process, or as the check says.
A feature of `WITHOUT` passes if the search does what docs/parallel.rst says instead.
Dask has a scheduler and two workers in separate processes and folders, connected by
TCP. A third worker is started and killed during a search.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import psutil
import tally
from processes import SentRows, noted
from recording_callbacks import Stopper
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import SVC

from skbayes import BayesSearchCV

X, y = load_iris(return_X_y=True)
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
SPACE = {"C": (0.01, 1000.0, "log-uniform"), "gamma": (1e-5, 1.0, "log-uniform")}
BOOSTING = HistGradientBoostingClassifier(max_iter=20, random_state=0)
ABORT = "``timeout`` aborts running fits"
TIME, MEMORY = "time of a trial", "memory of a fit"
FOLDER = tempfile.mkdtemp()
# Processes of the engines import from this path.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, map(os.path.abspath, sys.path)))
ENDLESS = 30.0
N_BYTES = 200_000_000


class Odd(tally.Scored):
    """Estimator that notes its process, and misbehaves for the value 3."""

    def __init__(self, value=0, act="", mark="", seconds=0.0):
        super().__init__(value)
        self.act, self.mark, self.seconds = act, mark, seconds

    def fit(self, X, y):
        """Fit, unless the value is 3."""
        if len(X) == 150:  # the refit
            return self
        Path(f"{self.mark}-{os.getpid()}").touch()
        time.sleep(self.seconds)
        is_first = not os.path.exists(self.mark)
        if self.value == 3 and (is_first or "once" not in self.act):
            Path(self.mark).touch()
            if self.act == "raise":
                raise ValueError("the value is 3")
            if self.act == "allocate":
                arrays = []
                while True:
                    arrays.append(np.ones(4_000_000))
                    time.sleep(0.01)
            if self.act == "sleep":
                time.sleep(ENDLESS)
            if "kill" in self.act:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


# -- the engines -----------------------------------------------------------------------


@contextlib.contextmanager
def dask(n_workers: int) -> Iterator[dict[str, Any]]:
    from distributed import Client

    place = os.path.join(FOLDER, "scheduler.json")
    Path(place).unlink(missing_ok=True)  # of an earlier scheduler
    options = ["--scheduler-file", place, "--no-dashboard"]
    with contextlib.ExitStack() as stack:
        for kind in ("scheduler", *["worker"] * n_workers):
            process = start_dask(kind, *options, *["--port", "0"] * (kind != "worker"))
            stack.callback(end, process)
        client = stack.enter_context(Client(scheduler_file=place, timeout=60))
        client.wait_for_workers(n_workers, timeout=60)
        yield {"backend": "dask", "client": client}


def start_dask(kind: str, *arguments: str) -> psutil.Popen:
    if kind == "worker":
        arguments = (*arguments, "--nthreads", "1")
    command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments]
    folder = tempfile.mkdtemp(dir=FOLDER)
    return psutil.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)


def end(process: psutil.Process) -> None:
    """Kill a process and its children."""
    with contextlib.suppress(psutil.Error):
        for part in [process, *process.children(recursive=True)]:
            part.kill()


ENGINES: dict[str, Any] = {
    "loky": lambda n: contextlib.nullcontext({"backend": "loky"}),
    "threading": lambda n: contextlib.nullcontext({"backend": "threading"}),
    "dask": dask,
}
_running: dict[tuple, tuple[contextlib.ExitStack, dict[str, Any]]] = {}


def engine(name: str, n_workers: int = 2) -> contextlib.AbstractContextManager:
    """Select an engine, which runs until another one is selected."""
    if name == "one process":
        return joblib.parallel_config("sequential")
    if (name, n_workers) not in _running:
        end_engines()
        stack = contextlib.ExitStack()
        settings = stack.enter_context(ENGINES[name](n_workers))
        _running[name, n_workers] = stack, settings
    return joblib.parallel_config(n_jobs=n_workers, **_running[name, n_workers][1])


@atexit.register
def end_engines() -> None:
    while _running:
        _running.popitem()[1][0].close()


# -- the features ----------------------------------------------------------------------


def run(name: str, model: Any = None, space: Any = None, **params: Any) -> Any:
    """Run a search on an engine."""
    if model is BOOSTING:
        space = {"learning_rate": (0.01, 1.0, "log-uniform")}
    data, n_workers = params.pop("weights", None), params.pop("n_workers", 2)
    shared = {"cv": 3, "n_iter": 6, "pre_dispatch": 2, "random_state": 0}
    search = BayesSearchCV(model or SVC(), space or SPACE, **(shared | params))
    with engine(name, n_workers):
        return search.fit(X, y, **({} if data is None else {"sample_weight": data}))


def odd(name: str, act: str = "", seconds: float = 0.0, n: int = 6, **kw: Any) -> Any:
    """Run a search of an odd estimator."""
    model = Odd(act=act, mark=tempfile.mktemp(dir=FOLDER), seconds=seconds)
    return run(name, model, {"value": range(n)}, **({"cv": 2, "n_iter": n} | kw))


def table(search: Any) -> str:
    """Return the table of a search without its times."""
    columns = search.cv_results_.items()
    cells = {k: np.asarray(v).tolist() for k, v in columns if not k.endswith("_time")}
    return repr((cells, [trial.state for trial in search.trials_], search.best_params_))


def as_alone(name: str, **params: Any) -> bool:
    """Return whether the table equals that of the same search in one process."""
    return table(run(name, **params)) == table(run("one process", **params))


def odd_states(name: str, act: str, state: str = "complete", **params: Any) -> bool:
    """Return whether the trial of the value 3 has a state, and others are complete."""
    try:
        search = odd(name, act, **params)
    except ValueError as error:  # a limit that the engine does not have
        return "'memory'] limits processes" not in str(error)
    states = {trial.params["value"]: trial.state for trial in search.trials_}
    return states == dict.fromkeys(range(6), "complete") | {3: state}


def callbacks(name: str) -> bool:
    search = BayesSearchCV(SVC(), SPACE, n_iter=9, cv=3, pre_dispatch=2, random_state=0)
    search.set_callbacks(Stopper(4))
    with engine(name):
        search.fit(X, y)
    return search.stop_reason_ == "callback" and 2 <= len(search.trials_) <= 4


def journal(name: str) -> bool:
    path = tempfile.mktemp(dir=FOLDER)
    run(name, journal=path, n_iter=3)
    whole = run(name, journal=path)
    return table(whole) == table(run("one process"))


def timeout(name: str) -> bool:
    search = odd(name, seconds=0.5, n=200, timeout=20)
    return search.stop_reason_ == "timeout" and len(search.trials_) > 1


def abort_at_timeout(name: str, **params: Any) -> bool:
    with engine(name):  # its start does not count
        begin = time.monotonic()
        search = odd(name, "sleep", timeout=15, **params)
    assert search.stop_reason_ == "timeout" and len(search.trials_) > 1
    return time.monotonic() < begin + ENDLESS


def ctrl_c(name: str) -> bool:
    def interrupt(history: Any) -> bool:
        if len(history) == 3:
            send = partial(os.kill, os.getpid(), signal.SIGINT)
            threading.Timer(0.5, send).start()
        return False

    search = odd(name, seconds=0.4, n=60, stopper=interrupt)
    assert search.stop_reason_ == "interrupted" and len(search.trials_) < 60
    assert hasattr(search, "best_estimator_")
    # The engine can still be used.
    return len(search.trials_) >= 3 and as_alone(name)


def killed_always(name: str) -> bool:
    return odd_states(name, "kill", "failed") and as_alone(name)


def killed_between(name: str) -> bool:
    extra: list[psutil.Popen] = []

    def act(history: Any) -> bool:
        if len(history) == 2 and name == "dask":
            file = os.path.join(FOLDER, "scheduler.json")
            extra.append(start_dask("worker", "--scheduler-file", file))
            _running[name, 2][1]["client"].wait_for_workers(3, timeout=60)
        if len(history) == 5:
            pids = [int(path.name.rpartition("-")[2]) for path in notes()]
            for victim in extra or [psutil.Process(pids[-1])]:
                end(victim)
        return False

    def notes() -> list[Path]:
        paths = Path(FOLDER).glob(f"{mark}-*")
        return sorted(paths, key=lambda path: path.stat().st_mtime)

    mark = os.path.basename(tempfile.mktemp(dir=FOLDER))
    model = Odd(mark=os.path.join(FOLDER, mark), seconds=0.2)
    search = run(name, model, {"value": range(12)}, cv=2, n_iter=12, stopper=act)
    return [trial.state for trial in search.trials_] == ["complete"] * 12


def data_once(name: str) -> tally.Figures:
    """Count how often 200 MB are sent, and how often each process receives them."""
    place = tempfile.mkdtemp(dir=FOLDER)
    rows = SentRows.of(np.ones((1000, N_BYTES // 8000)), place)
    model = Odd(mark=tempfile.mktemp(dir=FOLDER))
    space, params = {"value": range(10)}, {"cv": 5, "n_iter": 10, "refit": False}
    with engine(name):
        BayesSearchCV(model, space, **params).fit(rows, np.arange(1000))
    sent, received = noted(place, "sent"), noted(place, "received")
    most = max(map(received.count, received), default=0)
    figures = {
        "sent": len(sent),
        "received": len(received),
        "processes": len(set(received)),
    }
    return {
        "held": most <= 1,
        "works": most <= 1,
        **figures,
        "MB": most * N_BYTES / 1e6,
    }


def efficiency(name: str, seconds: float, n_trials: int, least: float) -> tally.Figures:
    """Return ideal by real time of fits that sleep, with four workers.

    An earlier search has started the workers.
    """
    with engine(name, 4):
        params = {"n_workers": 4, "cv": 5, "refit": False, "pre_dispatch": "2*n_jobs"}
        odd(name, n=4, **params)
        begin = time.perf_counter()
        odd(name, seconds=seconds, n=n_trials, **params)
        ratio = 5 * n_trials * seconds / 4 / (time.perf_counter() - begin)
    held, load = ratio >= least, os.getloadavg()[0]
    return {"held": held, "works": held, "efficiency": ratio, "load": load}


SCORES = {"scoring": ["accuracy", "f1_macro"], "refit": "f1_macro"}
FEATURES: dict[str, Callable[[str], Any]] = {
    "same trials and scores": as_alone,
    "pruning": partial(as_alone, pruning=True),
    "several metrics, sample weights": partial(as_alone, weights=WEIGHTS, **SCORES),
    "``early_stopping``": partial(
        as_alone, model=BOOSTING, early_stopping="auto", n_iter=3
    ),
    "callbacks": callbacks,
    "``journal``": journal,
    "failing fit": partial(odd_states, act="raise", state="failed"),
    TIME: partial(
        odd_states, act="sleep", state="timed_out", trial_limits={"time": 6.0}
    ),
    MEMORY: partial(
        odd_states,
        act="allocate",
        state="out_of_memory",
        trial_limits={"memory": "500 MB"},
    ),
    "``timeout``": timeout,
    ABORT: abort_at_timeout,
    "Ctrl-C": ctrl_c,
    "worker killed during a fit": partial(odd_states, act="kill once"),
    "worker killed between fits": killed_between,
    "fit that kills each worker": killed_always,
    "data sent once to each worker": data_once,
    "efficiency, fits of 0.5 s": partial(
        efficiency, seconds=0.5, n_trials=40, least=0.85
    ),
    "efficiency, fits of 5 s": partial(
        efficiency, seconds=5.0, n_trials=12, least=0.95
    ),
}
# Features that an engine does not have.
WITHOUT = {("dask", feature) for feature in (ABORT, TIME, MEMORY)}


def check(name: str, feature: str) -> tally.Figures:
    has_it: Any = FEATURES[feature](name)
    if isinstance(has_it, dict):
        return has_it | {"held": int(has_it["held"]), "works": int(has_it["works"])}
    return {"held": int(has_it != ((name, feature) in WITHOUT)), "works": int(has_it)}


def cases() -> Iterator[tuple]:
    for name in ENGINES:
        for feature in FEATURES:
            # It would end this process.
            if name != "threading" or not re.search("kill", feature):
                yield f"{name}, {feature}", check, name, feature


if __name__ == "__main__":
    tally.main(cases)
