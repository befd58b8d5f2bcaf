"""Fits that fork: effects of a child process on the journal of its parent.

    python benchmarks/attacks/forks.py --when after

A fit forks a child process, which then raises an exception, exits, continues the
search, closes the inherited files, or is killed. The parent waits for the child and
continues. An attack passes if, after the child has ended, the lock still exists and no
other process can open the journal. In addition, the search must end with the same table
and the same journal as a search without a fork.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import signal
import sys
import tempfile
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "helpers")]

import joblib  # noqa: E402
import numpy as np  # noqa: E402
from sklearn.base import BaseEstimator, ClassifierMixin  # noqa: E402
from tally import save  # noqa: E402

from skbayes import BayesSearchCV, load_history  # noqa: E402
from skbayes.journal.file import JournalFile  # noqa: E402
from skbayes.journal.journal import Journal  # noqa: E402

WAYS = ("raise", "exit", "go on", "close", "collect", "_exit", "killed")
X, y = np.arange(24.0).reshape(12, 2), np.arange(12) % 2
AT = (1, 6, 11, 16)
MAIN = os.getpid()


class GoneError(BaseException):
    """Exception that a search does not catch."""


class Forker(ClassifierMixin, BaseEstimator):
    """Estimator that scores its parameter; one of its fits forks."""

    way: str | None = None
    at = 0
    n_fits = 0
    journal = ""
    held: list[bool] = []  # noqa: RUF012

    def __init__(self, x: float = 0.0) -> None:
        self.x = x

    def fit(self, X: Any, y: Any) -> Forker:
        """Fit; fork if this fit has the chosen number."""
        self.classes_ = np.unique(y)
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
                if way == "close" and isinstance(one, Journal | JournalFile):
                    one.close()
            gc.collect()
            sys.exit(3)
        if way == "_exit":
            os._exit(0)
        if way == "killed":
            os.kill(os.getpid(), signal.SIGKILL)

    def score(self, X: Any, y: Any) -> float:
        """Return the parameter as the score."""
        return float(np.sin(9 * self.x))


def is_locked() -> bool:
    """Return whether the journal is refused to a process that inherits nothing."""
    lock = Path(Forker.journal + "-lock").as_uri() + "?mode=rw"
    program = (
        f"import sqlite3; lock = sqlite3.connect({lock!r}, uri=True, timeout=0); "
        "lock.execute('BEGIN EXCLUSIVE')"
    )
    reading, writing = os.pipe()
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-IS", "-c", program],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, writing, 2)],
    )
    os.close(writing)
    with open(reading, "rb") as file:
        text = file.read()
    os.waitpid(pid, 0)
    return b"is locked" in text


def search(path: str, way: str | None, at: int, n_points: int, backend: str) -> Any:
    """Run a search in which fit number `at` forks."""
    Forker.way, Forker.at, Forker.n_fits, Forker.journal = way, at, 0, path
    Forker.held = []
    made = BayesSearchCV(
        Forker(),
        {"x": (0.0, 1.0)},
        n_iter=8,
        cv=2,
        random_state=0,
        surrogate="random",
        pre_dispatch=n_points,
        n_jobs=None if n_points == 1 else 2,
        journal=path,
        refit=False,
    )
    with joblib.parallel_config(backend):
        try:
            return made.fit(X, y)
        finally:
            if os.getpid() != MAIN:
                # Simulate the end of the program while the journal is open.
                made = None


def table(path: str, fitted: Any) -> list[Any]:
    """Return the part of the results that must be equal."""
    frame = load_history(path)
    results = fitted.cv_results_
    scores = results["mean_test_score"].tolist()
    return [results["params"], scores, *(frame[n].tolist() for n in ("state", "score"))]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--when", choices=["before", "after"], required=True)
    when = parser.parse_args().when
    warnings.simplefilter("ignore")
    counts: dict[str, dict[str, float]] = defaultdict(lambda: {"tried": 0, "held": 0})
    with tempfile.TemporaryDirectory() as folder:
        for n_points, backend in ((1, "threading"), (3, "threading")):
            plain = os.path.join(folder, f"plain {n_points}")
            whole = table(plain, search(plain, None, 0, n_points, backend))
            for way in WAYS:
                for at in AT:
                    path = os.path.join(folder, f"{n_points} {way} {at}")
                    try:
                        found = table(path, search(path, way, at, n_points, backend))
                    except Exception:
                        found = []
                    finally:
                        if os.getpid() != MAIN:
                            # The child process ends here.
                            with contextlib.suppress(BaseException):
                                gc.collect()
                            os._exit(0)
                    where = "in this thread" if n_points == 1 else "in threads"
                    counts[f"{way}, {where}"]["tried"] += 1
                    held = found == whole and Forker.held == [True, True]
                    counts[f"{way}, {where}"]["held"] += held
    save("forks", when, counts)


if __name__ == "__main__":
    main()
