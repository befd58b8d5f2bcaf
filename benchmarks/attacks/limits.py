"""Fits that never end, allocate without end, or fork, mixed with good fits.

    python benchmarks/attacks/limits.py before|after [--cases 100]

A search of each category has `--cases` bad trials and as many good ones, in random
order. It passes if each trial has the expected state and the search ends at most 2 s
after its `timeout`. In addition, no process may remain, and the memory must be free
soon after.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import psutil
import tally

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
        taken = []
        while True:
            taken.append(np.ones(4_000_000))
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
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            # Workers of loky and resource trackers live as long as this process.
            lives_on = re.search("joblib|resource_tracker", " ".join(process.cmdline()))
            is_zombie = process.status() == psutil.STATUS_ZOMBIE
            is_marked = process.environ().get(MARK) == token
            if is_marked and not is_zombie and not lives_on:
                found.append(process)
    return [process for process in found if process.pid != os.getpid()]


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


def cases(n_fits: int, seed: int) -> Iterator[tuple]:
    for n_workers in (2, 8):
        for category in STATES:
            name = f"{category}, {n_workers} workers"
            yield name, check, category, n_fits, n_workers, 1800.0


if __name__ == "__main__":
    tally.main(cases, n_cases=100)
