"""Estimators whose fits do not end, use all memory, or leave processes."""

import os
import re
import signal
import subprocess
import sys
import time
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
    arrays = []
    while True:
        arrays.append(np.ones(2_000_000))
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
        elif way == "crowd":
            self._fork()
            note(self.folder, "all")
            compute()
        elif way == "leave":
            # Its children outlive the fit.
            self._fork()
        elif way == "return":
            # The child continues as if it were the parent.
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


class NeverLoaded(Sometimes):
    """Estimator whose loading in another process does not end, such as an import."""

    def __getstate__(self):
        return {**super().__getstate__(), "home": os.getpid()}

    def __setstate__(self, state):
        if os.getpid() != state.pop("home"):
            sleep()
        super().__setstate__(state)
