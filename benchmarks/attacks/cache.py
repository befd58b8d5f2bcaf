"""Faults in the files of shared pipeline steps.

    python benchmarks/attacks/cache.py before|after [--cases 60]

While a search runs, files in its temporary folder are removed, truncated or changed by
one bit, at random moments. Other faults limit the file size, as on a full disk, or kill
the search together with its workers and start another search in the same folder.

A fault passes if the scores are bit for bit equal to those of a search without shared
steps. A kill passes if, in addition, the next search leaves an empty folder behind.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import tally
from sklearn.decomposition import PCA
from sklearn.impute import KNNImputer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skbayes.options.shared_steps import aspect as shared_steps


def scores(shares: bool, is_large: bool, n_jobs: int = 1) -> list[float]:
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
    space = {"model__alpha": (1e-5, 1e-1, "log-uniform"), "impute__n_neighbors": [2, 5]}
    search = tally.make_search(
        Pipeline(steps), space, n_iter=12, cv=3, refit=False, pre_dispatch=2,
        n_jobs=n_jobs, error_score="raise",
    )  # fmt: skip
    if shares:
        search.fit(X, y)
    else:
        with mock.patch.object(shared_steps, "leading_steps", return_value=[]):
            search.fit(X, y)
    return list(search.cv_results_["mean_test_score"])


@functools.cache
def expected(is_large: bool) -> list[float]:
    """Return the scores of a search without shared steps."""
    return scores(False, is_large)


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
        path.write_bytes(change(content, rng))
    except (OSError, IndexError, ValueError):  # removed or empty
        return False
    return True


def check_files(kind: str, is_large: bool, n_faults: int, seed: int) -> tally.Figures:
    """Run searches during which files are spoiled, until enough faults were applied."""
    tried = held = n_searches = 0
    while tried < n_faults:
        rng, faults = random.Random(seed + n_searches), list[bool]()
        with tempfile.TemporaryDirectory() as name:
            os.environ["JOBLIB_TEMP_FOLDER"] = name
            with tally.meanwhile(
                lambda r=rng, n=name, f=faults: f.append(
                    spoil(Path(n), FAULTS[kind], r)
                ),
                lambda r=rng: r.uniform(0.0, 0.1),
            ):
                actual = scores(True, is_large)
        tried += sum(faults)
        held += sum(faults) * (actual == expected(is_large))
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


def has_expected_scores(process: subprocess.Popen) -> bool:
    output, _ = process.communicate()
    return bool(output) and json.loads(output) == expected(False)


def check_disk(seed: int) -> bool:
    """Limit the file size so that some of the files of the search do not fit."""
    limit = random.Random(seed).choice([0, 300, 3_000, 10_000, 20_000, 30_000])
    with tempfile.TemporaryDirectory() as folder:
        return has_expected_scores(begin(folder, 1, limit))


def check_kill(seed: int) -> tally.Figures:
    """Kill a search and its workers, and run another search in the same folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        process = begin(name, 2)
        while process.poll() is None and not any(folder.glob("skbayes-p*/*")):
            time.sleep(0.01)
        time.sleep(random.Random(seed).uniform(0.0, 0.5))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        was_left = any(folder.glob("skbayes-prefixes-*"))
        same = has_expected_scores(begin(name, 1))
        held = same and not any(folder.glob("skbayes-prefixes-*"))
    return {"held": int(held), "left by the kill": int(was_left)}


def cases(n_cases: int, seed: int) -> Iterator[tuple]:
    for kind in FAULTS:
        for is_large in (False, True):
            name = f"{'large' if is_large else 'small'} file {kind}"
            yield name, check_files, kind, is_large, n_cases, seed
    for case in range(seed, seed + max(n_cases // 5, 1)):
        yield "full disk", check_disk, case
        yield "killed with its workers", check_kill, case


if __name__ == "__main__":
    if sys.argv[1:2] == ["search"]:
        print(json.dumps(scores(True, False, int(sys.argv[2]))))
    else:
        tally.main(cases, n_cases=60)
