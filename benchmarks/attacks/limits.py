"""Fits that never end, allocate without end, or fork, mixed with good fits.

    python benchmarks/attacks/limits.py [--fits 100] [--workers 2 8] [--save]

A search of each category has `--fits` bad trials and as many good ones, in random
order. It passes if each trial has the expected state and the search ends at most 2 s
after its `timeout`. In addition, no process may remain, and the memory must be free
soon after. The first line of the output compares the time of a fit with and without a
limit.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import psutil
from sklearn.base import BaseEstimator, ClassifierMixin

from skbayes import BayesSearchCV

RESULTS = Path(__file__).parents[1] / "results" / "attacks"
X, y = np.arange(40.0).reshape(20, 2), np.repeat([0, 1], 10)

# Expected state of a bad trial, by category.
STATES = {"endless": "timed_out", "allocating": "out_of_memory", "forking": "timed_out"}

# Environment variable that is set in all processes of the fits.
MARK = "SKBAYES_ATTACK"


class Bad(ClassifierMixin, BaseEstimator):
    """Classifier whose fits misbehave for odd numbers."""

    def __init__(self, number: int = 0, category: str = "endless") -> None:
        self.number = number
        self.category = category

    def fit(self, X: object, y: object) -> Bad:
        """Fit, or never end."""
        self.classes_ = np.unique(y)
        if self.number % 2 and len(X) < 20:
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

    def predict(self, X: object) -> np.ndarray:
        """Return the first class."""
        return np.zeros(len(X))

    def score(self, X: object, y: object) -> float:
        """Return a score that decreases with the number."""
        return -self.number


def left(token: str) -> list[int]:
    """Return the processes of fits that are still running."""
    found = []
    for process in psutil.process_iter():
        try:
            marked = process.environ().get(MARK) == token
            fits = "fit_process" in " ".join(process.cmdline()) or marked
            zombie = process.status() == psutil.STATUS_ZOMBIE
            # Workers of loky and resource trackers live as long as this process.
            command = " ".join(process.cmdline())
            loky = "joblib" in command or "resource_tracker" in command
            if marked and fits and not zombie and not loky:
                found.append(process.pid)
        except psutil.Error:
            continue
    return [pid for pid in found if pid != os.getpid()]


def attack(category: str, n_fits: int, n_workers: int, timeout: float) -> dict:
    """Run one search, and check its trials, time, processes and memory."""
    token = os.environ[MARK] = f"{category}-{n_workers}-{time.time()}"
    limit = "400 MB" if category == "allocating" else None
    seconds = None if category == "allocating" else 2.0
    before = psutil.virtual_memory().available
    search = BayesSearchCV(
        Bad(category=category),
        {"number": (0, 2 * n_fits - 1)},
        n_iter=2 * n_fits,
        cv=2,
        pre_dispatch=n_workers,
        n_jobs=n_workers,
        surrogate="random",
        trial_limits={"time": seconds, "memory": limit},
        timeout=timeout,
        refit=False,
        random_state=0,
    )
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    elapsed = time.perf_counter() - begin
    begin = time.perf_counter()
    while left(token) and time.perf_counter() < begin + 60:
        time.sleep(0.2)
    gone_after = time.perf_counter() - begin
    as_they_should = sum(
        trial.state == (STATES[category] if trial.params["number"] % 2 else "complete")
        for trial in search.trials_
    )
    return {
        "category": category,
        "workers": n_workers,
        "trials": len(search.trials_),
        "bad": sum(trial.params["number"] % 2 for trial in search.trials_),
        "as they should be": as_they_should,
        "seconds": round(elapsed, 1),
        "timeout": timeout,
        "in time": elapsed <= timeout + 2,
        "processes left": len(left(token)),
        "gone after": round(gone_after, 1),
        "MB not back": round((before - psutil.virtual_memory().available) / 1e6),
    }


def overhead(n: int = 200) -> dict:
    """Compare the time of fits with a limit and without."""
    times: dict = {}
    for limit in (None, 600.0):
        search = BayesSearchCV(
            Bad(category="endless"),
            {"number": range(0, 2 * n, 2)},
            n_iter=n,
            cv=5,
            surrogate="random",
            trial_limits={"time": limit},
            refit=False,
            random_state=0,
            n_jobs=1,
        ).fit(X, y)
        # The first fit starts processes that later fits reuse.
        times[limit] = np.median([t.duration for t in search.trials_[1:]]) / 5
    plain, limited = (1e3 * times[limit] for limit in (None, 600.0))
    return {
        "ms per fit": round(float(plain), 2),
        "with a limit": round(float(limited), 2),
        "ms more": round(float(limited - plain), 2),
    }


def main() -> None:
    """Run the benchmark with the arguments of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fits", type=int, default=100)
    parser.add_argument("--workers", type=int, nargs="*", default=[2, 8])
    parser.add_argument("--timeout", type=float, default=1800.0)
    parser.add_argument("--categories", nargs="*", default=list(STATES))
    parser.add_argument("--save", action="store_true")
    arguments = parser.parse_args()
    rows = []
    found: dict = {"attacks": rows, "overhead": overhead()}
    print(found["overhead"], flush=True)
    for n_workers in arguments.workers:
        for category in arguments.categories:
            row = attack(category, arguments.fits, n_workers, arguments.timeout)
            rows.append(row)
            print(row, flush=True)
            if arguments.save:
                text = json.dumps(found, indent=1)
                (RESULTS / "limits-after.json").write_text(f"{text}\n")


if __name__ == "__main__":
    main()
