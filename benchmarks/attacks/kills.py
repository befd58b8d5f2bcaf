"""Searches that are killed at random instants and continued until they end.

    nice -n 5 python benchmarks/attacks/kills.py --when after --kills 500

All six search estimators are run in one process, on loky and on Dask, each with a
journal. The process of a search gets SIGKILL at a random instant; every other time its
workers are killed, too. Another process continues the search, until it ends. A kill
passes if the final table (parameters and all scores) equals that of an uninterrupted
search.

The journal file is copied after each kill. A trial that was written to disk passes if
it is contained in this copy.

With `--kills 0` the script saves the time of the two writes of a trial in milliseconds
as journal_cost, also for each quarter of 2,000 trials. It also saves the load average
of the machine.

Processes are forked from one that has imported all modules, because an import takes
longer than a search. The three backends get 7 : 1 : 2 parts of the kills, because
workers of loky are started anew each time. The Dask cluster outlives the searches.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
HELPERS = [str(HERE), str(HERE.parents[1] / "tests" / "helpers")]
sys.path[:0] = HELPERS
# The workers import from this path.
os.environ["PYTHONPATH"] = os.pathsep.join([*HELPERS, os.environ.get("PYTHONPATH", "")])

import joblib  # noqa: E402
import numpy as np  # noqa: E402
from every_search import SEARCHES, data, make  # noqa: E402
from journal_samples import open_journal, params_of, trial_of  # noqa: E402
from tally import save  # noqa: E402

from skbayes.journal.reader import read_journal  # noqa: E402

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


def start(kind: type, backend: str, journal: str, address: str, result: str) -> int:
    """Fork a process that runs a search, and return its process id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        text = fit(kind, backend, journal, address)
        Path(result + "~").write_text(text)
        os.replace(result + "~", result)
        code = 0
    except BaseException:
        Path(result).write_text(traceback.format_exc())
    finally:
        os._exit(code)


def ended(child: int, seconds: float) -> bool:
    """Wait for the end of a process, at most the given number of seconds."""
    end = time.monotonic() + seconds
    while not os.waitpid(child, os.WNOHANG)[0]:
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def kill_group(child: int) -> None:
    """Kill the processes that a search has started, some of which may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def n_finished(path: str) -> int:
    """Count the finished trials in a journal; 0 if it cannot be read."""
    try:
        return sum(stored.details is not None for stored in read_journal(path)[1])
    except (OSError, ValueError):
        return 0


class Attack:
    """Kills of one search on one backend."""

    def __init__(self, kind: type, backend: str, address: str, folder: str) -> None:
        self.kind, self.backend, self.address = kind, backend, address
        self.folder = folder
        self.random = random.Random(f"{kind.__name__} {backend}")
        self.copied = {"tried": 0, "held": 0}
        began = time.monotonic()
        reference = "one process" if backend == "one process" else "threading"
        self.whole = fit(kind, reference, None)
        self.seconds = max(time.monotonic() - began, 0.2)
        # Include the time that workers need to start.
        self.seconds += {"one process": 0.0, "loky": 1.5, "dask": 0.5}[backend]

    def run(self, n_kills: int) -> tuple[int, int]:
        """Kill and continue searches; return the numbers of kills and of passes."""
        tried = held = 0
        for number in range(10 * n_kills):
            kills, same = self.one_search(f"{number}", n_kills - tried)
            tried += kills
            held += kills if same else 0
            if tried == n_kills:
                break
        return tried, held

    def one_search(self, name: str, max_kills: int) -> tuple[int, bool]:
        """Run one search to its end; return the number of kills, and the outcome."""
        path = os.path.join(self.folder, f"{self.kind.__name__} {self.backend} {name}")
        result, kills = path + ".txt", 0
        while True:
            child = start(self.kind, self.backend, path, self.address, result)
            last = kills == max_kills
            instant = MAX_SECONDS if last else self.random.random() * self.seconds
            if ended(child, instant):
                kill_group(child)
                break
            if kills % 2:
                kill_group(child)
            else:
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            kill_group(child)
            if last:
                return kills, False
            kills += 1
            self.check_copy(path)
        found = Path(result).read_text() if os.path.exists(result) else ""
        if found != self.whole:
            print(f"{path} is another search: {found[-500:]}", file=sys.stderr)
        return kills, found == self.whole

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


def cost(folder: str, n_trials: int = 2000) -> dict[str, float]:
    """Measure the milliseconds of the two writes of a trial."""
    seconds = []
    with open_journal(os.path.join(folder, "cost")) as journal:
        for number in range(n_trials):
            params, trial = params_of(number), trial_of(number)
            began = time.perf_counter()
            journal.record_proposal(number, params, None)
            journal.record_result(trial)
            seconds.append(time.perf_counter() - began)
    found = {"mean": float(np.mean(seconds)), "median": float(np.median(seconds))}
    found["99th"] = float(np.quantile(seconds, 0.99))
    for quarter, part in enumerate(np.split(np.array(seconds), 4)):
        found[f"fourth {quarter + 1}"] = float(part.mean())
    found = {name: round(1e3 * value, 3) for name, value in found.items()}
    return {**found, "load": round(os.getloadavg()[0], 1)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--when", choices=["before", "after"], required=True)
    parser.add_argument("--kills", type=int, default=60)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if not args.kills:
        with tempfile.TemporaryDirectory() as folder:
            save("journal_cost", args.when, {"ms a trial": cost(folder)})
        return
    import dask.distributed  # noqa: F401

    counts: dict[str, dict[str, float]] = defaultdict(lambda: {"tried": 0, "held": 0})
    copied = counts["trials in the one file"]
    with tempfile.TemporaryDirectory() as folder, dask_cluster() as address:
        for backend, share in SHARES.items():
            for place, kind in enumerate(SEARCHES):
                total = round(args.kills * share)
                n_kills = (total + place) // len(SEARCHES)
                began = time.monotonic()
                attack = Attack(kind, backend, address, folder)
                tried, held = attack.run(n_kills)
                counts[f"{kind.__name__}, {backend}"]["tried"] += tried
                counts[f"{kind.__name__}, {backend}"]["held"] += held
                for key, value in attack.copied.items():
                    copied[key] += value
                took = time.monotonic() - began
                print(
                    f"{kind.__name__}, {backend}: {tried} {held} {took:.0f} s",
                    flush=True,
                )
    save("kills", args.when, counts)


if __name__ == "__main__":
    main()
