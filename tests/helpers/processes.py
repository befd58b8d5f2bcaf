"""Programs and clusters that tests start, and what they send to other processes."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest


def environment(**variables):
    """Return an environment with the modules of this process and of this folder."""
    paths = [str(Path(__file__).parent), *filter(None, sys.path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables}


# It imports once, and forks a process in a session of its own for each program.
SERVER = """
import json, os, signal, sys
import limited_estimators, scripted_estimators, sklearn.datasets
from forked import forked_workers
from skbayes import BayesSearchCV
for line in sys.stdin:
    code, arguments, variables, output = json.loads(line)
    child = os.fork()
    if child:
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    os.setsid()
    # Where the tests run in the background, processes ignore interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    shown = os.open(output, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    for file, number in [(os.open(os.devnull, os.O_RDONLY), 0), (shown, 1), (shown, 2)]:
        os.dup2(file, number)
    sys.stdout.reconfigure(line_buffering=True)
    os.environ.update(variables)
    sys.argv[1:] = arguments
    with forked_workers("skbayes.trial.fold", "skbayes.trial.backend"):
        exec(code, {"__name__": "__main__"})
    break
"""


@dataclass
class Program:
    """Running program; only one runs at a time."""

    server: subprocess.Popen
    output: Path
    code: int | None = None

    def __post_init__(self):
        self.pid = int(self.server.stdout.readline())

    def text(self):
        """Return what it has written so far."""
        return self.output.read_text() if self.output.exists() else ""

    def wait(self):
        """Return its exit code after its end."""
        if self.code is None:
            self.code = int(self.server.stdout.readline())
        return self.code

    def end(self):
        """Kill it, if it still runs, such as after a test that failed."""
        if self.code is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self.wait()


@pytest.fixture(scope="session")
def server():
    """Start the process that forks the programs."""
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(command, env=environment(), **options) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def start(server, tmp_path_factory):
    """Return a function that starts a program with arguments and variables."""
    programs = []

    def started(code, *arguments, **variables):
        output = tmp_path_factory.mktemp("program") / "output"
        request = code, list(map(str, arguments)), variables, str(output)
        print(json.dumps(request), file=server.stdin, flush=True)
        programs.append(Program(server, output))
        return programs[-1]

    yield started
    for program in programs:
        program.end()


def wait_until(condition):
    """Wait for a condition for at most ten minutes."""
    give_up = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.02)


@contextlib.contextmanager
def local_cluster(**options):
    """Start a cluster of Dask; yield it and a client, which is not the default one."""
    distributed = pytest.importorskip("distributed")
    quiet = {"dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(**quiet, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield cluster, client


def make_many(store, n, tally):
    """Get n arrays from a store; write to a file which of them were computed here."""

    def make(i):
        with open(tally, "a") as file:
            file.write(f"{i}\n")
        return {"a": np.full(3, i)}

    for i in range(n):
        assert store.arrays(str(i), lambda i=i: make(i))["a"][0] == i


def mean_length(estimator, X, y=None):
    """Return a score of the raw texts, which must be passed to the scorer."""
    estimator.predict(X)
    return float(np.mean([len(text) for text in X]))


def spread(estimator, X, y=None):
    """Return a score of a clustering without labels: the evenness of the clusters."""
    labels = estimator.predict(X)
    return -float(np.max(np.bincount(labels)) / len(labels))


def noted(place, event):
    """Return the processes that have sent or received rows, by their notes."""
    return [int(path.name.split(".")[-2]) for path in Path(place).glob(f"{event}.*")]


class SentRows(np.ndarray):
    """Rows that note in a folder each time that a process sends or receives them."""

    @classmethod
    def of(cls, rows, place):
        """Return rows with a folder."""
        array = rows.view(cls)
        array.place = str(place)
        return array

    def __reduce_ex__(self, protocol):
        _note(self.place, "sent")
        return _received, (np.asarray(self), self.place)


def _received(rows, place):
    _note(place, "received")
    return SentRows.of(rows, place)


def _note(place, event):
    (Path(place) / f"{event}.{os.getpid()}.{time.time_ns()}").touch()
