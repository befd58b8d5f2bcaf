"""Estimators whose fits do not end, use all memory or a GPU, or leave processes."""

import contextlib
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from pathlib import Path

import numpy as np
from simple_estimators import Sometimes


def note(folder, way):
    """Write the id of this process to a folder."""
    if folder is not None:
        Path(folder, f"{os.getpid()}-{way}").touch()


def sleep():
    """Sleep forever."""
    while True:
        time.sleep(60)


def compute():
    """Hold the interpreter lock forever, in C code."""
    re.match("(a+)+$", 64 * "a" + "b")


def allocate():
    """Allocate memory without end."""
    taken = []
    while True:
        taken.append(np.ones(2_000_000))
        time.sleep(0.005)


def reserve():
    """Allocate more memory at once than any machine has."""
    np.ones(1 << 50)


class Limited(Sometimes):
    """Classifier whose fit behaves as given by `way`, and records its processes."""

    def __init__(self, quality=0.5, bad=None, way="good", folder=None):
        super().__init__(quality, bad)
        self.way = way
        self.folder = folder

    def fit(self, X, y):
        if len(X) == 150:  # the refit
            return super().fit(X, y)
        way = self.way
        note(self.folder, way)
        if way == "fork":
            self._fork()
            sleep()
        elif way == "leave":
            # Its children outlive the fit.
            self._fork()
        elif way == "return":
            # The child goes on as if it were the parent.
            os.fork()
        elif way == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif way == "raise":
            raise ValueError("a bad fit")
        elif way != "good":
            ways = (sleep, compute, allocate, reserve)
            {one.__name__: one for one in ways}[way]()
        return super().fit(X, y)

    def _fork(self):
        """Start a child process, one in a new session, and another program."""
        for own_session in (False, True):
            if os.fork() == 0:
                if own_session:
                    os.setsid()
                    if os.fork():
                        os._exit(0)
                note(self.folder, "child")
                sleep()
        program = "import time; time.sleep(600)"
        child = subprocess.Popen([sys.executable, "-c", program])
        Path(self.folder, f"{child.pid}-program").touch()


class OnDevice(Sometimes):
    """Classifier that notes its device, which no other process may use meanwhile.

    The first fits wait for each other until `n_at_once` have begun. The first fit of
    `way` "kill" kills the parent of its process.
    """

    def __init__(self, quality=0.5, folder=None, n_at_once=1, way="good"):
        super().__init__(quality)
        self.folder, self.n_at_once, self.way = folder, n_at_once, way

    def fit(self, X, y):
        if len(X) == 150:  # the refit
            return super().fit(X, y)
        device = os.environ["CUDA_VISIBLE_DEVICES"]
        folder = Path(self.folder)
        with contextlib.suppress(FileExistsError):
            if self.way == "kill":
                (folder / "killed").touch(exist_ok=False)
                os.kill(os.getppid(), signal.SIGKILL)
                sleep()
        # A lock, which a killed fit does not keep.
        busy = sqlite3.connect(folder / f"busy {device}", 0, isolation_level=None)
        busy.execute("BEGIN EXCLUSIVE")
        (folder / f"{device} {uuid.uuid4()}").touch()
        while len(devices(folder)) < self.n_at_once:
            time.sleep(0.01)
        time.sleep(0.03)
        busy.close()
        return super().fit(X, y)


def devices(folder):
    """Return the devices of the fits that have begun."""
    names = [path.name.split() for path in Path(folder).iterdir()]
    return [name[0] for name in names if name[0] != "busy" and len(name) == 2]


def two_metrics(model, X, y):
    """Return two metrics; workers import this module, and not those of the tests."""
    return {"a": model.quality, "b": 1.0}
