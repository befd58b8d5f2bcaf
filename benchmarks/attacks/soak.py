"""Endurance test: resources of one search of 2,000 trials, four of them in flight.

    python benchmarks/attacks/soak.py before|after

Memory (of the process of the search and of its workers), descriptors, threads,
semaphores and temporary files are counted after every 200 trials. Memory may grow by at
most 50 MB from the first count to the last; the other counts may not grow. The last
count is taken before the last trials, while the search is still running.

Proposals are random, because those of the default surrogate take seconds each after
2,000 trials.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import tally
from sklearn.dummy import DummyClassifier

X, y = np.random.default_rng(0).normal(size=(200, 5)), np.repeat([0, 1], 100)
SPACE = {"constant": [0, 1], "random_state": (0, 10**9)}
N_TRIALS, EVERY = 2000, 200


def usage(folder: str) -> dict[str, float]:
    """Measure the resources of this process, of its workers, and of both together."""
    process = psutil.Process()
    workers = [
        child
        for child in process.children(recursive=True)
        if "popen_loky" in " ".join(child.cmdline())
    ]
    shared = [name for name in os.listdir("/dev/shm") if str(os.getpid()) in name]
    return {
        "MB": process.memory_info().rss / 1e6,
        "MB of workers": sum(one.memory_info().rss for one in workers) / 1e6,
        "descriptors": process.num_fds(),
        "threads": process.num_threads(),
        "processes": len(workers),
        "semaphores": sum("sem." in name for name in shared),
        "temporary files": len(list(Path(folder).rglob("*")))
        + sum("sem." not in name for name in shared),
    }


def soak(folder: str) -> dict[str, dict[str, float]]:
    """Run the search; return its resources by number of trials."""
    figures: dict[str, dict[str, float]] = {}
    begin = time.perf_counter()

    def look(trials: object) -> bool:
        nonlocal begin
        n = len(trials)
        if n % EVERY == 0:
            now = time.perf_counter()
            per_trial = 1e3 * (now - begin) / EVERY
            figures[f"after {n} trials"] = {**usage(folder), "ms per trial": per_trial}
            print(n, {k: round(v, 1) for k, v in figures[f"after {n} trials"].items()})
            begin = time.perf_counter()
        return False

    tally.make_search(
        DummyClassifier(strategy="constant"),
        SPACE,
        n_iter=N_TRIALS + 10,
        n_jobs=2,
        pre_dispatch=4,
        stopper=look,
        journal=Path(folder) / "journal.db",
    ).fit(X, y)
    return figures


def growth(first: dict[str, float], last: dict[str, float]) -> tally.Figures:
    """Compare the first count with the last."""
    increases = {key: last[key] - first[key] for key in first if key != "ms per trial"}
    allowed = {"MB": 50.0, "MB of workers": 50.0}
    held = (increases[key] <= allowed.get(key, 0.0) for key in increases)
    return {**tally.count(held), **increases}


def cases() -> Iterator[tuple]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["JOBLIB_TEMP_FOLDER"] = folder
        counts = soak(folder)
    for category, figures in counts.items():
        yield category, dict, figures
    first, last = counts[f"after {EVERY} trials"], counts[f"after {N_TRIALS} trials"]
    yield "growth", growth, first, last


if __name__ == "__main__":
    tally.main(cases)
