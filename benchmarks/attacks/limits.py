"""Fits that never end, allocate without end, or fork, mixed with good fits.

    python benchmarks/attacks/limits.py before|after [--cases 100]

A search of each category has `--cases` bad trials and as many good ones, in random
order. It passes if each trial has the expected state and the search ends at most 2 s
after its `timeout`. In addition, no process may remain, and the memory must be free
soon after.

A search whose fits never end passes if it ends within 110 % of its `timeout` and 2 s. A
program with such a search that forks passes if a signal leaves no process.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import psutil
import tally
from sklearn.model_selection import cross_validate

X, y = np.arange(40.0).reshape(20, 2), np.repeat([0, 1], 10)

# Expected state of a bad trial, by category.
STATES = {"endless": "timed_out", "allocating": "out_of_memory", "forking": "timed_out"}

# Environment variable that is set in all processes of the fits.
MARK = "SKBAYES_ATTACK"


class Bad(tally.Scored):
    """Estimator whose fits misbehave for odd values."""

    def __init__(self, value: int = 0, category: str = "endless") -> None:
        super().__init__(value)
        self.category = category

    def fit(self, X: object, y: object) -> Bad:
        """Fit, or never end."""
        if self.value % 2 and len(X) < 20:
            getattr(self, f"_{self.category}")()
        return self

    def _endless(self) -> None:
        re.match("(a+)+$", 64 * "a" + "b")

    def _allocating(self) -> None:
        arrays = []
        while True:
            arrays.append(np.ones(4_000_000))
            time.sleep(0.005)

    def _forking(self) -> None:
        if os.fork() == 0:
            os.setsid()
            os.fork()
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(999)"])
        while True:
            time.sleep(1)


def left(token: str) -> list[psutil.Process]:
    """Return the processes of fits that are still running."""
    processes = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            # Workers of loky and resource trackers live as long as this process.
            lives_on = re.search("joblib|resource_tracker", " ".join(process.cmdline()))
            is_zombie = process.status() == psutil.STATUS_ZOMBIE
            is_marked = process.environ().get(MARK) == token
            if is_marked and not is_zombie and not lives_on:
                processes.append(process)
    return [process for process in processes if process.pid != os.getpid()]


def check(category: str, n_fits: int, n_workers: int, timeout: float) -> tally.Figures:
    """Run one search, and check its trials, time, processes and memory."""
    token = os.environ[MARK] = f"{category}-{n_workers}-{time.time()}"
    is_allocating = category == "allocating"
    before = psutil.virtual_memory().available
    search = tally.make_search(
        Bad(category=category),
        {"value": (0, 2 * n_fits - 1)},
        n_iter=2 * n_fits,
        pre_dispatch=n_workers,
        n_jobs=n_workers,
        trial_limits={"memory": "400 MB"} if is_allocating else {"time": 2.0},
        timeout=timeout,
        refit=False,
    )
    begin = time.perf_counter()
    search.fit(X, y)
    elapsed = time.perf_counter() - begin
    begin = time.perf_counter()
    while left(token) and time.perf_counter() < begin + 60:
        time.sleep(0.2)
    gone_after = time.perf_counter() - begin
    is_bad = [trial.params["value"] % 2 for trial in search.trials_]
    states = [STATES[category] if bad else "complete" for bad in is_bad]
    return {
        **tally.count(
            trial.state == state
            for trial, state in zip(search.trials_, states, strict=True)
        ),
        "bad": sum(is_bad),
        "seconds": elapsed,
        "timeout": timeout,
        "in time": elapsed <= timeout + 2,
        "processes left": len(left(token)),
        "gone after": gone_after,
        "MB not back": round((before - psutil.virtual_memory().available) / 1e6),
    }


def endless(category: str, n_jobs: int, backend: str, timeout: float) -> list[float]:
    """Run a search until its timeout; return the seconds of its fits.

    With the backend "nested", `cross_validate` runs two searches in processes of loky.
    """
    model = Bad(category=category)
    search = tally.make_search(model, {"value": (0, 10**6)}, n_iter=10**6)
    search.set_params(timeout=timeout, n_jobs=n_jobs)
    if backend == "nested":
        kwargs = {"cv": 2, "n_jobs": 2, "return_estimator": True}
        return [
            s.total_time_ for s in cross_validate(search, X, y, **kwargs)["estimator"]
        ]
    with joblib.parallel_config(backend):
        return [search.fit(X, y).total_time_]


def ends_in_time(*arguments: Any) -> tally.Figures:
    """Check that a search ends at its timeout, and leaves no process."""
    token, timeout = str(time.time()), arguments[-1]
    os.environ[MARK] = token
    seconds = max(endless(*arguments))
    most = 1.1 * timeout + 2.0
    return {"held": seconds <= most and not left(token), "late": seconds - timeout}


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
import limits
limits.endless("forking", {n_jobs}, {backend!r}, 600.0)
"""


def leaves_nothing(name: str, n_jobs: int, backend: str) -> tally.Figures:
    """Send a signal to a program during its fits; check what runs ten seconds later."""
    code = PROGRAM.format(folder=str(tally.HERE), n_jobs=n_jobs, backend=backend)
    token = str(time.time())
    kwargs: dict[str, Any] = {"env": os.environ | {MARK: token}, "process_group": 0}
    with subprocess.Popen([sys.executable, "-c", code], stderr=-3, **kwargs) as program:
        # Twice as many processes as in a fit: the child, its child, and a program.
        while len(left(token)) < 6 and program.poll() is None:
            time.sleep(0.1)
        begin = time.perf_counter()
        # A terminal sends Ctrl-C to all processes of a group.
        send = os.killpg if name == "SIGINT" else os.kill
        send(program.pid, getattr(signal, name))
        while left(token) and time.perf_counter() < begin + 10.0:
            time.sleep(0.1)
        n_left = len(left(token))
        program.kill()
    return {"held": not n_left, "left": n_left, "after": time.perf_counter() - begin}


def cases(n_fits: int, seed: int) -> Iterator[tuple]:
    for backend in ("loky", "threading", "nested"):
        for n_jobs in (1, 2, -1):
            for timeout in (0.5, 2.0, 10.0, 60.0):
                where = f"{backend}, n_jobs={n_jobs}"
                yield (
                    f"in time, {where}",
                    ends_in_time,
                    "endless",
                    n_jobs,
                    backend,
                    timeout,
                )
            for name in ("SIGINT", "SIGTERM", "SIGKILL"):
                yield f"{name}, {where}", leaves_nothing, name, n_jobs, backend
    for n_workers in (2, 8):
        for category in STATES:
            name = f"{category}, {n_workers} workers"
            yield name, check, category, n_fits, n_workers, 1800.0


if __name__ == "__main__":
    tally.main(cases, n_cases=100)
