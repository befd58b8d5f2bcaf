"""Fits that fork: effects of a child process on the journal of its parent.

    python benchmarks/attacks/forks.py before|after

A fit forks a child process, which then raises an exception, exits, continues the
search, closes the inherited files, or is killed. The parent waits for the child and
continues. An attack passes if, after the child has ended, the lock still exists and no
other process can open the journal. In addition, the search must end with the same table
and the same journal as a search without a fork.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import tally

from skbayes import load_history
from skbayes.options.journal.journal import Journal
from skbayes.options.journal.store import Store

WAYS = ("raise", "exit", "go on", "close", "collect", "_exit", "killed")
X, y = np.arange(24.0).reshape(12, 2), np.arange(12) % 2
AT = (1, 6, 11, 16)
MAIN = os.getpid()


class GoneError(BaseException):
    """Exception that a search does not catch."""


class Forker(tally.Scored):
    """Estimator that scores its parameter; one of its fits forks."""

    way: str | None = None
    at = 0
    n_fits = 0
    journal = ""
    held: list[bool] = []  # noqa: RUF012

    def fit(self, X: Any, y: Any) -> Forker:
        """Fit; fork if this fit has the chosen number."""
        Forker.n_fits += 1
        if Forker.way is not None and Forker.n_fits == Forker.at:
            child = os.fork()
            if not child:
                self._leave(Forker.way)
                return self
            os.waitpid(child, 0)
            Forker.held = [os.path.exists(Forker.journal + "-lock"), is_locked()]
        return self

    def _leave(self, way: str) -> None:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        signal.alarm(2)
        if way == "raise":
            raise GoneError
        if way == "exit":
            sys.exit(3)
        if way in ("close", "collect"):
            for one in gc.get_objects():
                if way == "close" and isinstance(one, Journal | Store):
                    one.close()
            gc.collect()
            sys.exit(3)
        if way == "_exit":
            os._exit(0)
        if way == "killed":
            os.kill(os.getpid(), signal.SIGKILL)

    def score(self, X: Any, y: Any) -> float:
        """Return a score with several maxima."""
        return float(np.sin(9 * self.value))


def is_locked() -> bool:
    """Return whether the journal is refused to a process that inherits nothing."""
    lock = Path(Forker.journal + "-lock").as_uri() + "?mode=rw"
    program = (
        f"import sqlite3; lock = sqlite3.connect({lock!r}, uri=True, timeout=0); "
        "lock.execute('BEGIN EXCLUSIVE')"
    )
    command = [sys.executable, "-IS", "-c", program]
    return b"is locked" in subprocess.run(command, capture_output=True).stderr


def table(path: str, way: str | None, at: int, n_points: int) -> list[Any]:
    """Run a search in which fit number `at` forks; return what must be equal."""
    Forker.way, Forker.at, Forker.n_fits, Forker.journal = way, at, 0, path
    Forker.held = []
    search = tally.make_search(
        Forker(),
        {"value": (0.0, 1.0)},
        n_iter=8,
        pre_dispatch=n_points,
        n_jobs=None if n_points == 1 else 2,
        journal=path,
        refit=False,
    )
    with joblib.parallel_config("threading"):
        try:
            search.fit(X, y)
        finally:
            if os.getpid() != MAIN:
                # Simulate the end of the program while the journal is open.
                search = None
    frame, results = load_history(path), search.cv_results_
    scores = results["mean_test_score"].tolist()
    return [results["params"], scores, *(frame[n].tolist() for n in ("state", "score"))]


@functools.cache
def expected(n_points: int) -> list[Any]:
    """Return the table of a search without a fork."""
    with tempfile.TemporaryDirectory() as folder:
        return table(f"{folder}/journal", None, 0, n_points)


def check(way: str, at: int, n_points: int) -> bool:
    """Return whether a search with a fork is equal to one without, and stays locked."""
    whole = expected(n_points)
    folder = tempfile.mkdtemp()
    try:
        resumed = table(f"{folder}/journal", way, at, n_points)
    finally:
        if os.getpid() != MAIN:
            # The child process ends here.
            with contextlib.suppress(BaseException):
                gc.collect()
            os._exit(0)
        shutil.rmtree(folder)
    return resumed == whole and Forker.held == [True, True]


def cases() -> Iterator[tuple]:
    for n_points, where in ((1, "in this thread"), (3, "in threads")):
        for way in WAYS:
            for at in AT:
                yield f"{way}, {where}", check, way, at, n_points


if __name__ == "__main__":
    tally.main(cases)
