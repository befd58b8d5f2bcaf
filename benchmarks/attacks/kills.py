"""Searches that are killed at random instants and continued until they end.

    nice -n 5 python benchmarks/attacks/kills.py after --cases 500

All six search estimators are run in one process, on loky and on Dask, each with a
journal. The process of a search gets SIGKILL at a random instant; every other time its
workers are killed, too. Another process continues the search, until it ends. A kill
passes if the final table (parameters and all scores) equals that of an uninterrupted
search.

The journal file is copied after each kill. A trial that was written to disk passes if
it is contained in this copy.

The row "ms a trial" has the time of the two writes of a trial in milliseconds, also for
each quarter of 2,000 trials, and the load average of the machine. `--cases` is the
number of kills.

Processes are forked from one that has imported all modules, because an import takes
longer than a search. The three backends get 7 : 1 : 2 parts of the kills, because
workers of loky are started anew each time. The Dask cluster outlives the searches.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import tally
from every_search import SEARCHES, data, make
from journal_samples import open_journal, params_of, trial_of

from skbayes.options.journal.journal import Content

# The workers import from this path.
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)

SHARES = {"one process": 0.7, "loky": 0.1, "dask": 0.2}
MAX_SECONDS = 120

CLUSTER = """
import sys
from dask.distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
    cluster.close()
"""


def fit(kind: type, backend: str, journal: str | None, address: str = "") -> str:
    """Run a search and return its table as text."""
    alone = backend == "one process"
    n_points = 1 if alone else 3
    search = make(
        kind, journal=journal, pre_dispatch=n_points, n_jobs=None if alone else 2
    )
    with contextlib.ExitStack() as stack:
        if backend == "dask":
            from dask.distributed import Client

            stack.enter_context(Client(address, set_as_default=True))
        stack.enter_context(joblib.parallel_config("threading" if alone else backend))
        search.fit(*data(kind))
    table = {
        name: np.asarray(column).tolist()
        for name, column in search.cv_results_.items()
        if name == "params" or "_test_" in name or "_train_" in name
    }
    return repr(table)


def write_table(fit: Callable[..., str], result: str, *arguments: Any) -> None:
    """Run a search in a process group of its own, and write its table or its error."""
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        text = fit(*arguments)
    except BaseException:
        text = traceback.format_exc()
    Path(result).write_text(text)
    os._exit(0)  # without waiting for idle workers of joblib


def kill_group(child: int) -> None:
    """Kill the processes that a search has started, some of which may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def n_finished(path: str) -> int:
    """Count the finished trials in a journal; 0 if it cannot be read."""
    try:
        return len(Content.read(path).results)
    except (OSError, ValueError):
        return 0


class Attack:
    """Kills of one search on one backend."""

    def __init__(
        self, kind: type, backend: str, address: str, folder: str, seed: int
    ) -> None:
        self.kind, self.backend, self.address = kind, backend, address
        self.folder = folder
        self.random = random.Random(f"{kind.__name__} {backend} {seed}")
        self.copied = {"tried": 0, "held": 0}
        self.n_kills = 0
        began = time.monotonic()
        reference = "one process" if backend == "one process" else "threading"
        self.whole = fit(kind, reference, None)
        self.seconds = max(time.monotonic() - began, 0.2)
        # Include the time that workers need to start.
        self.seconds += {"one process": 0.0, "loky": 1.5, "dask": 0.5}[backend]

    def run(self, name: str, max_kills: int) -> tally.Figures:
        """Run one search to its end, with a random number of kills."""
        path = os.path.join(self.folder, f"{self.kind.__name__} {self.backend} {name}")
        arguments = path + ".txt", self.kind, self.backend, path, self.address
        kills, fork = 0, multiprocessing.get_context("fork")
        while True:
            process = fork.Process(target=write_table, args=(fit, *arguments))
            process.start()
            is_last = kills == max_kills
            process.join(
                MAX_SECONDS if is_last else self.random.random() * self.seconds
            )
            has_ended = process.exitcode is not None
            if not has_ended and kills % 2:
                kill_group(process.pid)
            process.kill()
            process.join()
            kill_group(process.pid)
            if has_ended:
                break
            if is_last:
                raise RuntimeError(f"{path}: not ended after {MAX_SECONDS} s")
            kills += 1
            self.n_kills += 1
            self.check_copy(path)
        record = Path(arguments[0]).read_text()
        if record != self.whole:
            print(f"{path} is another search: {record[-500:]}", file=sys.stderr)
        return {"tried": kills, "held": kills if record == self.whole else 0}

    def check_copy(self, path: str) -> None:
        """Check that the trials on disk are contained in a copy of the journal file."""
        if os.path.exists(path):
            copy = os.path.join(self.folder, "copy")
            shutil.copyfile(path, copy)
            self.copied["held"] += n_finished(copy)
            self.copied["tried"] += n_finished(path)
            for one in Path(self.folder).glob("copy*"):
                one.unlink()


@contextlib.contextmanager
def dask_cluster() -> Iterator[str]:
    """Start a cluster that outlives the searches, and yield its address."""
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.communicate()


def cost(n_trials: int = 2000) -> tally.Figures:
    """Measure the milliseconds of the two writes of a trial."""
    ms = []
    with (
        tempfile.TemporaryDirectory() as folder,
        open_journal(os.path.join(folder, "cost")) as journal,
    ):
        for number in range(n_trials):
            params, trial = params_of(number), trial_of(number)
            began = time.perf_counter()
            journal.record_proposal(number, params, None)
            journal.record_result(trial)
            ms.append(1e3 * (time.perf_counter() - began))
    figures = {
        "mean": np.mean(ms),
        "median": np.median(ms),
        "99th": np.quantile(ms, 0.99),
    }
    for quarter, part in enumerate(np.split(np.array(ms), 4)):
        figures[f"fourth {quarter + 1}"] = part.mean()
    return {**figures, "load": os.getloadavg()[0]}


def cases(n_kills: int, seed: int) -> Iterator[tuple]:
    yield "ms a trial", cost
    import dask.distributed  # noqa: F401

    with tempfile.TemporaryDirectory() as folder, dask_cluster() as address:
        for backend, share in SHARES.items():
            for place, kind in enumerate(SEARCHES):
                rest = (round(n_kills * share) + place) // len(SEARCHES)
                attack = Attack(kind, backend, address, folder, seed)
                for number in range(10 * rest):
                    if attack.n_kills < rest:
                        left = rest - attack.n_kills
                        category = f"{kind.__name__}, {backend}"
                        yield category, attack.run, f"{number}", left
                yield "trials in the one file", dict, attack.copied


if __name__ == "__main__":
    tally.main(cases, n_cases=60)
