"""Faults in the files of shared pipeline steps.

    python benchmarks/attacks/cache.py before|after [--faults 60]

While a search runs, files in its temporary folder are removed, truncated or changed by
one bit, at random moments. Other faults limit the file size, as on a full disk, or kill
the search together with its workers and start another search in the same folder.

A fault passes if the scores are bit for bit equal to those of a search without shared
steps. A kill passes if, in addition, the next search leaves an empty folder behind.

Files smaller than one megabyte are changed in place. Larger files are memory-mapped and
are replaced by a changed copy, because truncating a mapped file in place terminates the
processes that use it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import tally
from sklearn.decomposition import PCA
from sklearn.impute import KNNImputer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skbayes import BayesSearchCV

N_TRIALS = 12
LARGE = 1_000_000


def scores(cache: bool, is_large: bool, n_jobs: int = 1) -> list[float]:
    """Run a search and return the scores of its trials."""
    rng = np.random.default_rng(0)
    X, y = rng.random((600, 8)), rng.integers(0, 3, 600)
    X[rng.random(X.shape) < 0.05] = np.nan
    steps = [
        ("impute", KNNImputer()),
        ("scale", StandardScaler()),
        ("pca", PCA(6, svd_solver="full")),
        ("powers", PolynomialFeatures(4 if is_large else 1)),
        ("model", SGDClassifier(max_iter=20, tol=None, random_state=0)),
    ]
    search = BayesSearchCV(
        Pipeline(steps),
        {"model__alpha": (1e-5, 1e-1, "log-uniform"), "impute__n_neighbors": [2, 5]},
        n_iter=N_TRIALS, cv=3, surrogate="random", refit=False, random_state=0,
        pre_dispatch=2, n_jobs=n_jobs, cache=cache, error_score="raise",
    ).fit(X, y)  # fmt: skip
    return list(search.cv_results_["mean_test_score"])


# -- faults of single files ------------------------------------------------------------


def cut_short(content: bytes, rng: random.Random) -> bytes:
    """Return the content of a file, truncated at a random position."""
    return content[: rng.randrange(len(content))]


def changed(content: bytes, rng: random.Random) -> bytes:
    """Return the content of a file with one bit changed."""
    i = rng.randrange(len(content))
    return content[:i] + bytes([content[i] ^ 1 << rng.randrange(8)]) + content[i + 1 :]


FAULTS = {"removed": None, "cut short": cut_short, "changed": changed}


def spoil(folder: Path, change: Callable | None, rng: random.Random) -> bool:
    """Apply a fault to a random file; return whether a file was found."""
    try:
        files = [path for path in folder.glob("skbayes-prefixes-*/*") if path.is_file()]
        path = rng.choice(sorted(files))
        if change is None:
            path.unlink()
            return True
        content = path.read_bytes()
        spoiled = change(content, rng)
        if len(content) < LARGE:
            path.write_bytes(spoiled)
        else:
            draft = folder / "spoiled"
            draft.write_bytes(spoiled)
            draft.replace(path)
    except (OSError, IndexError, ValueError):  # removed or empty
        return False
    return True


@contextlib.contextmanager
def spoiling(folder: Path, kind: str, seed: int) -> Iterator[list[bool]]:
    """Apply faults at random moments; yield a list with one entry per fault."""
    rng, done, faults = random.Random(seed), threading.Event(), list[bool]()

    def spoil_files() -> None:
        while not done.wait(rng.uniform(0.0, 0.1)):
            if spoil(folder, FAULTS[kind], rng):
                faults.append(True)

    thread = threading.Thread(target=spoil_files)
    thread.start()
    try:
        yield faults
    finally:
        done.set()
        thread.join()


def attack_files(kind: str, is_large: bool, n_faults: int) -> dict[str, int]:
    """Run searches until enough faults of one kind were applied."""
    expected, tried, held, n_searches = scores(False, is_large), 0, 0, 0
    while tried < n_faults:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["JOBLIB_TEMP_FOLDER"] = folder
            with spoiling(Path(folder), kind, n_searches) as faults:
                found = scores(True, is_large)
        tried += len(faults)
        held += len(faults) * (found == expected)
        n_searches += 1
    return {"tried": tried, "held": held, "searches": n_searches}


# -- full disks and kills --------------------------------------------------------------


def begin(folder: str, n_jobs: int, limit: int | None = None) -> subprocess.Popen:
    """Start a search in a separate process that leads a process group."""

    def limit_files() -> None:
        if limit is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.Popen(
        [sys.executable, __file__, "search", str(n_jobs)],
        env={**os.environ, "JOBLIB_TEMP_FOLDER": folder},
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        start_new_session=True, preexec_fn=limit_files,
    )  # fmt: skip


def attack_disk(n_faults: int) -> dict[str, int]:
    """Limit the file size so that some of the files of the search do not fit."""
    expected, held = scores(False, False), 0
    for seed in range(n_faults):
        limit = random.Random(seed).choice([0, 300, 3_000, 10_000, 20_000, 30_000])
        with tempfile.TemporaryDirectory() as folder:
            output, _ = begin(folder, 1, limit).communicate()
            held += bool(output) and json.loads(output) == expected
    return {"tried": n_faults, "held": held}


def attack_processes(n_faults: int) -> dict[str, int]:
    """Kill a search and its workers, and run another search in the same folder."""
    expected, held, n_left = scores(False, False), 0, 0
    for seed in range(n_faults):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            process = begin(name, 2)
            while process.poll() is None and not any(folder.glob("skbayes-p*/*")):
                time.sleep(0.01)
            time.sleep(random.Random(seed).uniform(0.0, 0.5))
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            n_left += any(folder.glob("skbayes-prefixes-*"))
            output, _ = begin(name, 1).communicate()
            left = list(folder.glob("skbayes-prefixes-*"))
            held += bool(output) and json.loads(output) == expected and not left
    return {"tried": n_faults, "held": held, "left by the kill": n_left}


def main() -> None:
    if sys.argv[1:2] == ["search"]:
        print(json.dumps(scores(True, False, int(sys.argv[2]))))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("when", choices=("before", "after"))
    parser.add_argument("--faults", type=int, default=60)
    args = parser.parse_args()
    counts = {}
    for kind in FAULTS:
        for is_large in (False, True):
            name = f"{'large' if is_large else 'small'} file {kind}"
            counts[name] = attack_files(kind, is_large, args.faults)
            print(name, counts[name], flush=True)
    counts["full disk"] = attack_disk(max(args.faults // 5, 1))
    counts["killed with its workers"] = attack_processes(max(args.faults // 5, 1))
    tally.save("cache", args.when, counts)


if __name__ == "__main__":
    main()
