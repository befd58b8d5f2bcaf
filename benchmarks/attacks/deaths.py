"""Deaths of workers: external kills, fatal fits of another search, and bad objects.

    python benchmarks/attacks/deaths.py before|after [CATEGORY ...]

A trial passes if its state and score are equal to those of an undisturbed search. A bad
object or an interrupt passes if the search ends as the category requires. The workers
are two processes of loky. If categories are given, only these are run, and their saved
results are replaced.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import joblib
import numpy as np
import tally
from sklearn.base import BaseEstimator, ClassifierMixin

from skbayes import BayesSearchCV

X, y = np.arange(40.0).reshape(20, 2), np.repeat([0, 1], 10)


class Marked(ClassifierMixin, BaseEstimator):
    """Classifier that records which worker fits which quality, and may end its worker.

    `end` is the way in which fits of the qualities in `fatal` end: "kill", "exit" or
    "memory".
    """

    def __init__(self, quality=0.5, folder=None, seconds=0.0, fatal=(), end="kill"):
        self.quality = quality
        self.folder = folder
        self.seconds = seconds
        self.fatal = fatal
        self.end = end

    def fit(self, X, y):
        """Fit, unless this fit ends its worker."""
        if len(X) == 20:  # the refit
            return self._fitted(y)
        if self.folder is not None:
            name = f"{self.quality!r}-{os.getpid()}-{time.monotonic_ns()}"
            Path(self.folder, name).touch()
        time.sleep(self.seconds)
        if self.quality in self.fatal:
            if self.end == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.end == "exit":
                sys.exit(f"the fit of {self.quality!r} left")
            np.empty(1 << 55, dtype=np.uint8)
        return self._fitted(y)

    def _fitted(self, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        """Return the first class."""
        return np.zeros(len(X))

    def score(self, X, y):
        """Return the quality."""
        return self.quality


class Locked(Marked):
    """Estimator that cannot be pickled after it is fitted."""

    def _fitted(self, y):
        self.lock_ = threading.Lock()
        return super()._fitted(y)


class Whole:
    """Object that is shared by all clones of an estimator."""

    def __deepcopy__(self, memo):
        return self


class Unwritable(Whole):
    """Object that cannot be pickled."""

    def __reduce__(self):
        raise TypeError("cannot pickle this object")


class Unreadable(Whole):
    """Object that cannot be unpickled."""

    def __reduce__(self):
        return (int, ("no number",))


def make(model: object = None, n_iter: int = 25, n_points: int = 1, **more: object):
    arguments = {"cv": 2, "random_state": 0, "surrogate": "random", **more}
    space = arguments.pop("space", {"quality": (0.0, 1.0)})
    model = Marked() if model is None else model
    return BayesSearchCV(
        model, space, n_iter=n_iter, pre_dispatch=n_points, **arguments
    )


def n_equal(search: BayesSearchCV, expected: BayesSearchCV) -> int:
    """Count the trials that are equal to the expected ones."""
    pairs = zip(search.trials_, expected.trials_, strict=True)
    return sum(
        (a.params, a.score, a.state) == (b.params, b.score, b.state) for a, b in pairs
    )


@contextmanager
def killed(folder: str, qualities: set[str]) -> Iterator[list[str]]:
    """Kill the worker that fits one of the given qualities, once per quality."""
    kills: list[str] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            for mark in os.listdir(folder):
                quality, pid, _ = mark.split("-")
                if quality in qualities and quality not in kills:
                    kills.append(quality)
                    os.kill(int(pid), signal.SIGKILL)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield kills
    finally:
        done.set()
        thread.join()


def outside(n_points: int, n_iter: int, n_kills: int) -> dict[str, float]:
    """Kill the workers of the given number of trials from outside, once each."""
    expected = make(n_iter=n_iter).fit(X, y)
    chosen = np.random.default_rng(0).permutation(n_iter)[:n_kills]
    qualities = {repr(expected.trials_[k].params["quality"]) for k in chosen}
    with tempfile.TemporaryDirectory() as folder, killed(folder, qualities) as kills:
        model = Marked(folder=folder, seconds=0.05)
        search = make(model, n_iter, n_points, n_jobs=2).fit(X, y)
    held = n_equal(search, expected)
    return {"tried": n_iter, "held": held, "kills": len(kills)}


def at_random_times(n_iter: int, every: float) -> dict[str, float]:
    """Kill a worker that has begun a fold, at random times."""
    expected = make(n_iter=n_iter).fit(X, y)
    rng, done, kills = np.random.default_rng(0), threading.Event(), []

    def kill(folder: str) -> None:
        while not done.wait(every * rng.uniform(0.5, 1.5)):
            marks = sorted(os.listdir(folder), key=lambda m: int(m.rsplit("-")[-1]))
            for mark in marks[-1:]:
                try:
                    os.kill(int(mark.split("-")[1]), signal.SIGKILL)
                    kills.append(mark)
                except ProcessLookupError:
                    pass

    with tempfile.TemporaryDirectory() as folder:
        thread = threading.Thread(target=kill, args=(folder,))
        thread.start()
        try:
            model = Marked(folder=folder, seconds=0.2)
            search = make(model, n_iter, 4, n_jobs=2).fit(X, y)
        finally:
            done.set()
            thread.join()
    held = n_equal(search, expected)
    return {"tried": n_iter, "held": held, "kills": len(kills)}


def neighbor(n_points: int) -> dict[str, float]:
    """Run a search in parallel with another one whose every fifth trial is fatal."""
    n_iter = 25
    expected = make(n_iter=n_iter).fit(X, y)
    other = make(n_iter=n_iter, random_state=1).fit(X, y)
    fatal = [trial.params["quality"] for trial in other.trials_[2::5]]
    ended: dict[str, BayesSearchCV] = {}

    def run(name: str, search: BayesSearchCV) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                ended[name] = search.fit(X, y)
            except Exception as error:
                print(f"  {name}: {type(error).__name__}: {str(error)[:90]}")

    innocent = make(Marked(seconds=0.1), n_iter, n_points, n_jobs=2)
    guilty = make(Marked(seconds=0.1, fatal=fatal), n_iter, n_points, n_jobs=2)
    guilty.set_params(random_state=1)
    threads = [
        threading.Thread(target=run, args=one)
        for one in (("innocent", innocent), ("guilty", guilty))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held = n_equal(ended["innocent"], expected) if "innocent" in ended else 0
    failed = [k for k in range(n_iter) if k % 5 == 2]
    blamed = [t.number for t in getattr(ended.get("guilty"), "trials_", ())]
    if blamed:
        blamed = [t.number for t in ended["guilty"].trials_ if t.state == "failed"]
    return {
        "tried": 2 * n_iter,
        "held": held + (n_iter - len(set(blamed) ^ set(failed)) if blamed else 0),
    }


def ends_in(text: str, search: BayesSearchCV) -> bool:
    """Return whether a search raises an exception that contains the text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            search.fit(X, y)
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
            if text not in told:
                print(f"  expected {text!r}, got {told[:150]!r}")
            return text in told
    print(f"  expected {text!r}, got a fitted search")
    return False


def told(text: str, *makers: Callable[[int], BayesSearchCV]) -> dict[str, float]:
    """Count the searches whose exception names the cause, with 1 to 6 in flight."""
    n_points = [1, 2, 3, 4, 4, 4, 6, 6]
    results = [ends_in(text, make_one(n)) for make_one in makers for n in n_points]
    return {"tried": len(results), "held": sum(results)}


def leaving(n_points: int) -> BayesSearchCV:
    fatal = [make(n_iter=9).fit(X, y).trials_[5].params["quality"]]
    model = Marked(seconds=0.02, fatal=fatal, end="exit")
    return make(model, 9, n_points, n_jobs=2)


def with_values(*bad: object) -> Callable[[int], BayesSearchCV]:
    def build(n_points: int) -> BayesSearchCV:
        space = {"end": ["kill", "exit", *bad], "quality": (0.0, 1.0)}
        model = Marked(seconds=0.02)
        return make(model, 12, n_points, n_jobs=2, space=space)

    return build


def keeping_locks(n_points: int) -> BayesSearchCV:
    return make(Locked(), 8, n_points, n_jobs=2, return_folds="estimators")


def out_of_memory() -> dict[str, float]:
    """Count the correct trial states if every fifth fit requests 32 PiB of memory."""
    n_iter = 25
    expected = make(n_iter=n_iter).fit(X, y)
    fatal = [trial.params["quality"] for trial in expected.trials_[2::5]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = make(Marked(fatal=fatal, end="memory"), n_iter, 4, n_jobs=2).fit(X, y)
    wanted = ["failed" if k % 5 == 2 else "complete" for k in range(n_iter)]
    states = [trial.state for trial in search.trials_]
    held = sum(a == b for a, b in zip(states, wanted, strict=True))
    return {"tried": n_iter, "held": held}


PROGRAM = """
import sys, os, signal, glob, shutil
sys.path.insert(0, {folder!r})
from deaths import make, Marked, X, y
def stop(trials):
    if len(trials) == 5:
        for name in glob.glob(os.environ["JOBLIB_TEMP_FOLDER"] + "/skbayes-*"):
            if sys.argv[1] == "cleaned":
                shutil.rmtree(name)
        signal.raise_signal(signal.SIGINT)
search = make(Marked(seconds=0.01), 30, 3, n_jobs=int(sys.argv[2]), stopper=stop)
search.fit(X, y)
print(search.stop_reason_, len(search.trials_) >= 5)
"""


def interrupted(kind: str) -> dict[str, float]:
    """Interrupt a search after five trials.

    With kind "strict", warnings are errors; with "cleaned", the temporary folder is
    removed before.
    """
    program = PROGRAM.format(folder=str(Path(__file__).parent))
    held = tried = 0
    for n_jobs in ("1", "2"):
        with tempfile.TemporaryDirectory() as folder:
            options = ["-W", "error::UserWarning"] if kind == "strict" else []
            process = subprocess.run(
                [sys.executable, *options, "-c", program, kind, n_jobs],
                capture_output=True,
                text=True,
                env={**os.environ, "JOBLIB_TEMP_FOLDER": folder},
                # The working directory precedes PYTHONPATH.
                cwd=folder,
            )
        tried += 1
        if process.stdout.strip() == "interrupted True":
            held += 1
        else:
            print(f"  n_jobs={n_jobs}: {process.stderr.strip().splitlines()[-1:]}")
    return {"tried": tried, "held": held}


def full_disk() -> dict[str, float]:
    """Run TextRepresentationSearchCV with a temporary folder on a full disk."""
    from skbayes import TextRepresentationSearchCV

    texts = [f"word{i % 7} thing{i % 11} and {i % 3}" for i in range(40)]
    labels = [i % 2 for i in range(40)]
    held = tried = 0
    for room in ("nothing", "a little"):
        folder = tempfile.mkdtemp()
        options = "size=200k" if room == "a little" else "size=200k,nr_inodes=4"
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True
        )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                search = TextRepresentationSearchCV(n_iter=8, cv=2, random_state=0)
                expected = search.fit(texts, labels).cv_results_["mean_test_score"]
                filler = Path(folder, "filler")

                def fill(trials, filler=filler):
                    if len(trials) == 1:
                        with (
                            contextlib.suppress(OSError),
                            open(filler, "wb", buffering=0) as file,
                        ):
                            while True:
                                file.write(bytes(4096))
                    return False

                search.set_params(stopper=fill)
                with joblib.parallel_config("loky", temp_folder=folder):
                    got = search.fit(texts, labels).cv_results_["mean_test_score"]
            tried += len(expected)
            held += int(np.sum(expected == got))
        except (OSError, ValueError) as error:
            tried += 8
            print(f"  {room}: {str(error).strip().splitlines()[0]}")
        finally:
            subprocess.run(["umount", folder], check=True)
            shutil.rmtree(folder)
    return {"tried": tried, "held": held}


CATEGORIES: dict[str, Callable[[], dict[str, float]]] = {
    "one in flight, 47 killed from outside": lambda: outside(1, 60, 47),
    "four in flight, 20 killed from outside": lambda: outside(4, 40, 20),
    "four in flight, killed at random times": lambda: at_random_times(40, 4.0),
    "another search dies, one in flight": lambda: neighbor(1),
    "another search dies, three in flight": lambda: neighbor(3),
    "fits that ask for 32 PiB": out_of_memory,
    "sys.exit is told": lambda: told("SystemExit: the fit of", leaving),
    "what cannot be pickled is told": lambda: told(
        "pickle", with_values(Unwritable()), keeping_locks
    ),
    "what cannot be unpickled is told": lambda: told(
        "serialize", with_values(Unreadable())
    ),
    "Ctrl-C under -W error": lambda: interrupted("strict"),
    "Ctrl-C without the temporary folder": lambda: interrupted("cleaned"),
    "texts on a full disk": full_disk,
}


def main() -> None:
    warnings.simplefilter("ignore")
    when, named = sys.argv[1], sys.argv[2:]
    saved = tally.RESULTS / f"deaths-{when}.json"
    counts = json.loads(saved.read_text()) if named and saved.exists() else {}
    for category, attack in CATEGORIES.items():
        if named and category not in named:
            continue
        begin = time.perf_counter()
        counts[category] = attack()
        counts[category]["seconds"] = round(time.perf_counter() - begin, 1)
        print(category, counts[category], flush=True)
        # The following categories may not terminate.
        with contextlib.redirect_stdout(None):
            tally.save("deaths", when, counts)
    tally.save("deaths", when, counts)


if __name__ == "__main__":
    main()
