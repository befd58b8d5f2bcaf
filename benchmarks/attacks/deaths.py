"""Deaths of workers: external kills, fatal fits of another search, and bad objects.

    python benchmarks/attacks/deaths.py before|after [--only CATEGORY]

A trial passes if its state and score are equal to those of an undisturbed search. A bad
object or an interrupt passes if the search ends as the category requires. The workers
are two processes of loky.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import tally

from skbayes import BayesSearchCV, TextRepresentationSearchCV

X, y = np.arange(40.0).reshape(20, 2), np.repeat([0, 1], 10)


class Marked(tally.Scored):
    """Estimator that records which worker fits which value, and may end its worker.

    `end` is the way in which fits of the values in `fatal` end: "kill", "exit" or
    "memory".
    """

    def __init__(self, value=0.5, folder=None, seconds=0.0, fatal=(), end="kill"):
        super().__init__(value)
        self.folder = folder
        self.seconds = seconds
        self.fatal = fatal
        self.end = end

    def fit(self, X, y):
        """Fit, unless this fit ends its worker."""
        if len(X) == 20:  # the refit
            return self
        if self.folder is not None:
            name = f"{self.value!r}-{os.getpid()}-{time.monotonic_ns()}"
            Path(self.folder, name).touch()
        time.sleep(self.seconds)
        if self.value in self.fatal:
            if self.end == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.end == "exit":
                sys.exit(f"the fit of {self.value!r} left")
            np.empty(1 << 55, dtype=np.uint8)
        return self


class Locked(Marked):
    """Estimator that cannot be pickled after it is fitted."""

    def fit(self, X, y):
        """Fit, and keep a lock."""
        self.lock_ = threading.Lock()
        return super().fit(X, y)


class Unwritable:
    """Object that cannot be pickled, and is shared by all clones of an estimator."""

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        raise TypeError("cannot pickle this object")


class Unreadable(Unwritable):
    """Object that cannot be unpickled."""

    def __reduce__(self):
        return (int, ("no number",))


def make(model: Any, n_iter: int, n_points: int = 1, **args: Any) -> BayesSearchCV:
    space = args.pop("space", {"value": (0.0, 1.0)})
    return tally.make_search(model, space, n_iter=n_iter, pre_dispatch=n_points, **args)


def undisturbed(n_iter: int, **params: Any) -> list[Any]:
    """Return the trials of a search without deaths."""
    return make(Marked(), n_iter, **params).fit(X, y).trials_


def values_of(trials: list[Any]) -> list[float]:
    return [trial.params["value"] for trial in trials]


def equal(trials: list[Any]) -> tally.Figures:
    """Count the trials that are equal to those of an undisturbed search."""
    pairs = zip(trials, undisturbed(len(trials)), strict=True)
    return tally.count(
        (a.params, a.score, a.state) == (b.params, b.score, b.state) for a, b in pairs
    )


def every_fifth_failed(trials: list[Any]) -> tally.Figures:
    """Count the trials with the correct state if every fifth is fatal."""
    return tally.count(
        trial.state == ("failed" if k % 5 == 2 else "complete")
        for k, trial in enumerate(trials)
    )


def killed_once(n_points: int, n_iter: int, n_kills: int) -> tally.Figures:
    """Kill the workers of the given number of trials from outside, once each."""
    chosen = np.random.default_rng(0).permutation(n_iter)[:n_kills]
    values = list(map(repr, values_of(undisturbed(n_iter))))
    remaining = {values[k] for k in chosen}

    def kill() -> None:
        for mark in os.listdir(folder):
            value, pid, _ = mark.split("-")
            if value in remaining:
                remaining.remove(value)
                os.kill(int(pid), signal.SIGKILL)

    with tempfile.TemporaryDirectory() as folder, tally.meanwhile(kill, lambda: 0.005):
        model = Marked(folder=folder, seconds=0.05)
        search = make(model, n_iter, n_points, n_jobs=2).fit(X, y)
    return {**equal(search.trials_), "kills": n_kills - len(remaining)}


def killed_at_random_times(n_iter: int, every: float) -> tally.Figures:
    """Kill a worker that has begun a fold, at random times."""
    rng, kills = np.random.default_rng(0), list[str]()

    def kill() -> None:
        marks = sorted(os.listdir(folder), key=lambda mark: int(mark.split("-")[-1]))
        with contextlib.suppress(ProcessLookupError):
            for mark in marks[-1:]:
                os.kill(int(mark.split("-")[1]), signal.SIGKILL)
                kills.append(mark)

    def pause() -> float:
        return every * rng.uniform(0.5, 1.5)

    with tempfile.TemporaryDirectory() as folder, tally.meanwhile(kill, pause):
        model = Marked(folder=folder, seconds=0.2)
        search = make(model, n_iter, 4, n_jobs=2).fit(X, y)
    return {**equal(search.trials_), "kills": len(kills)}


def beside_another(n_points: int) -> tally.Figures:
    """Run a search in parallel with another one whose every fifth trial is fatal."""
    fatal = values_of(undisturbed(25, random_state=1))[2::5]
    innocent = make(Marked(seconds=0.1), 25, n_points, n_jobs=2)
    guilty = make(
        Marked(seconds=0.1, fatal=fatal), 25, n_points, n_jobs=2, random_state=1
    )
    threads = [
        threading.Thread(target=search.fit, args=(X, y))
        for search in (innocent, guilty)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held = equal(innocent.trials_)["held"] + every_fifth_failed(guilty.trials_)["held"]
    return {"tried": 50, "held": held}


def out_of_memory() -> tally.Figures:
    """Run a search in which every fifth fit requests 32 PiB of memory."""
    fatal = values_of(undisturbed(25))[2::5]
    search = make(Marked(fatal=fatal, end="memory"), 25, 4, n_jobs=2).fit(X, y)
    return every_fifth_failed(search.trials_)


def is_told(text: str, search: BayesSearchCV) -> bool:
    """Return whether a search raises an exception that contains the text."""
    try:
        search.fit(X, y)
    except BaseException as error:
        message = f"{type(error).__name__}: {error}"
        if text in message:
            return True
        raise RuntimeError(f"expected {text!r}, got {message}") from error
    return False


def leaving(n_points: int) -> BayesSearchCV:
    fatal = values_of(undisturbed(9))[5:6]
    return make(Marked(seconds=0.02, fatal=fatal, end="exit"), 9, n_points, n_jobs=2)


def with_value(bad: Any) -> Callable[[int], BayesSearchCV]:
    """Return a function that makes a search with a bad object in its space."""
    space = {"end": ["kill", "exit", bad], "value": (0.0, 1.0)}
    return lambda n: make(Marked(seconds=0.02), 12, n, n_jobs=2, space=space)


def keeping_locks(n_points: int) -> BayesSearchCV:
    return make(Locked(), 8, n_points, n_jobs=2, return_folds="estimators")


PROGRAM = """
import sys, os, signal, glob, shutil
sys.path.insert(0, {folder!r})
from deaths import make, Marked, X, y
def stop(trials):
    if len(trials) == 5:
        for name in glob.glob(os.environ["JOBLIB_TEMP_FOLDER"] + "/skbayes-*"):
            if {is_cleaned}:
                shutil.rmtree(name)
        signal.raise_signal(signal.SIGINT)
search = make(Marked(seconds=0.01), 30, 3, n_jobs={n_jobs}, stopper=stop)
search.fit(X, y)
print(search.stop_reason_, len(search.trials_) >= 5)
"""


def is_interrupted(options: list[str], is_cleaned: bool, n_jobs: int) -> bool:
    """Interrupt a search after five trials; its temporary folder may be removed."""
    program = PROGRAM.format(
        folder=str(tally.HERE), is_cleaned=is_cleaned, n_jobs=n_jobs
    )
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.run(
            [sys.executable, *options, "-c", program],
            capture_output=True,
            text=True,
            env={**os.environ, "JOBLIB_TEMP_FOLDER": folder},
            # The working directory precedes PYTHONPATH.
            cwd=folder,
        )
    if process.stdout.strip() != "interrupted True":
        raise RuntimeError(process.stderr.strip().splitlines()[-1:])
    return True


def on_full_disk(options: str) -> tally.Figures:
    """Run TextRepresentationSearchCV with a temporary folder on a full disk."""
    data = [f"word{i % 7} thing{i % 11} and {i % 3}" for i in range(40)], [0, 1] * 20
    search = TextRepresentationSearchCV(n_iter=8, cv=2, random_state=0)
    expected = search.fit(*data).cv_results_["mean_test_score"]
    folder = tempfile.mkdtemp()

    def fill(trials: list[Any]) -> bool:
        if len(trials) == 1:
            with (
                contextlib.suppress(OSError),
                open(Path(folder, "filler"), "wb", buffering=0) as file,
            ):
                while True:
                    file.write(bytes(4096))
        return False

    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder]
    subprocess.run(command, check=True)
    try:
        search.set_params(stopper=fill)
        with joblib.parallel_config("loky", temp_folder=folder):
            actual = search.fit(*data).cv_results_["mean_test_score"]
    finally:
        subprocess.run(["umount", folder], check=True)
        shutil.rmtree(folder)
    return tally.count(expected == actual)


def cases() -> Iterator[tuple]:
    yield "one in flight, 47 killed from outside", killed_once, 1, 60, 47
    yield "four in flight, 20 killed from outside", killed_once, 4, 40, 20
    yield "four in flight, killed at random times", killed_at_random_times, 40, 4.0
    yield "another search dies, one in flight", beside_another, 1
    yield "another search dies, three in flight", beside_another, 3
    yield "fits that ask for 32 PiB", out_of_memory
    for n_points in (1, 2, 3, 4, 4, 4, 6, 6):
        for category, text, make_one in (
            ("sys.exit is told", "SystemExit: the fit of", leaving),
            ("what cannot be pickled is told", "pickle", with_value(Unwritable())),
            ("what cannot be pickled is told", "pickle", keeping_locks),
            ("what cannot be unpickled is told", "serialize", with_value(Unreadable())),
        ):
            yield category, is_told, text, make_one(n_points)
    strict = ["-W", "error::UserWarning"]
    for n_jobs in (1, 2):
        yield "Ctrl-C under -W error", is_interrupted, strict, False, n_jobs
        yield "Ctrl-C without the temporary folder", is_interrupted, [], True, n_jobs
    for options in ("size=200k,nr_inodes=4", "size=200k"):
        yield "texts on a full disk", on_full_disk, options


if __name__ == "__main__":
    tally.main(cases)
