"""Memory and written bytes of searches on a large input with two worker processes.

The input is one float64 matrix of --size bytes; each search makes 12 trials with
n_jobs=2, and with `n_points=3` if it has this argument. The estimator computes the sum
of its input. There are two kinds of splits:

- blocks: ten folds, each trained on a different tenth of the rows and tested on a
  fiftieth. Every trial reads the whole input, but only a few rows are copied at a time.
  The growth of memory is therefore due to the search itself.
- kfold: KFold(3). scikit-learn copies training and test set from the input. In two
  workers these are two copies of the input, for all searches.

Each search runs in a separate process, and another process takes samples:

- written: bytes that the process of the search passes to write() during `fit`, to files
  and pipes (wchar in /proc/PID/io), in multiples of the input.
- dumps: number of files in joblib's temporary folder that are larger than a hundredth
  of the input.
- growth: largest memory of the process and its workers (Pss_Anon and Pss_Shmem in
  smaps_rollup) plus the size of the temporary folder. The value before `fit` is
  subtracted, and the unit is the size of the input. Files count in full, because they
  are in shared memory or in the page cache.
- own, folder: the largest values of the two parts of growth.

Before the first sample, the workers are started and have run a small search.

Example: python benchmarks/memory.py --size 1e8 --searches skbayes,GridSearchCV
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import psutil
from adder import Adder
from common import names, save_results
from sklearn.model_selection import GridSearchCV, KFold

N_TRIALS, N_JOBS, N_POINTS = 12, 2, 3
# A row has the size of a memory page, so that no page belongs to two folds.
N_COLUMNS = 512
SEARCHES = ("skbayes", "GridSearchCV", "skopt")
SPLITS = ("blocks", "kfold")
SECONDS_BETWEEN_SAMPLES = 0.01


# -- process of the search ---------------------------------------------------------


def make_search(name: str, splits: Any, n_trials: int) -> Any:
    common: dict[str, Any] = {"cv": splits, "n_jobs": N_JOBS, "refit": False}
    space = {"x": (0.0, 1.0)}
    if name == "GridSearchCV":
        grid = {"x": np.linspace(0.0, 1.0, n_trials)}
        return GridSearchCV(Adder(), grid, **common)
    common |= {"n_iter": n_trials, "n_points": N_POINTS, "random_state": 0}
    if name == "skopt":
        from skopt import BayesSearchCV

        return BayesSearchCV(Adder(), space, **common)
    from skbayes import BayesSearchCV

    return BayesSearchCV(Adder(), space, **common)


def make_splits(kind: str, n_rows: int) -> Any:
    if kind == "kfold":
        return KFold(3)
    blocks = np.array_split(np.arange(n_rows), 10)
    tests = blocks[1:] + blocks[:1]
    return [
        (train, test[: max(1, n_rows // 50)])
        for train, test in zip(blocks, tests, strict=True)
    ]


def search_once(name: str, kind: str, size: float, folder: str) -> None:
    """Run the search, synchronized with the process that takes samples."""
    warnings.simplefilter("ignore")
    n_rows = int(size) // (8 * N_COLUMNS)
    X = np.random.default_rng(0).random((n_rows, N_COLUMNS))
    y = np.zeros(n_rows)
    with joblib.parallel_config("loky", temp_folder=folder):
        make_search(name, make_splits(kind, 60), 4).fit(X[:60].copy(), y[:60])
        search = make_search(name, make_splits(kind, n_rows), N_TRIALS)
        print("ready", flush=True)
        sys.stdin.readline()
        before, began = _written(), time.perf_counter()
        search.fit(X, y)
        seconds = time.perf_counter() - began
        print(json.dumps({"written": _written() - before, "seconds": seconds}))
        sys.stdout.flush()
        sys.stdin.readline()


def _written() -> int:
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


# -- process that takes samples ----------------------------------------------------


def own_memory(pid: int) -> int:
    """Return the memory of a process and its descendants in bytes, without files."""
    total = 0
    process = psutil.Process(pid)
    for one in (process, *process.children(recursive=True)):
        try:
            text = Path(f"/proc/{one.pid}/smaps_rollup").read_text()
        except (OSError, ProcessLookupError):
            continue  # the process has ended
        for line in text.splitlines():
            if line.startswith(("Pss_Anon:", "Pss_Shmem:")):
                total += 1024 * int(line.split()[1])
    return total


def files_in(folder: str) -> dict[str, int]:
    """Return the sizes of files by path."""
    sizes = {}
    for path in Path(folder).rglob("*"):
        try:
            if path.is_file():
                sizes[str(path)] = path.stat().st_size
        except OSError:
            continue
    return sizes


def measure(name: str, kind: str, size: float) -> dict[str, float]:
    """Run one search in a separate process, and measure it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--one", name, kind, str(size), folder]
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert child.stdin is not None and child.stdout is not None
        if child.stdout.readline().strip() != "ready":
            raise RuntimeError(f"{name} failed")
        before = own_memory(child.pid)
        os.set_blocking(child.stdout.fileno(), False)
        child.stdin.write("go\n")
        child.stdin.flush()
        growth = own = folder_size = 0
        seen: dict[str, int] = {}
        while not (answer := child.stdout.readline()):
            if child.poll() is not None:
                raise RuntimeError(f"{name} failed")
            more, files = own_memory(child.pid) - before, files_in(folder)
            in_files = sum(files.values())
            growth = max(growth, more + in_files)
            own, folder_size = max(own, more), max(folder_size, in_files)
            for path, n_bytes in files.items():
                seen[path] = max(n_bytes, seen.get(path, 0))
            time.sleep(SECONDS_BETWEEN_SAMPLES)
        child.communicate("end\n")
    report = json.loads(answer)
    n_bytes = int(size) // (8 * N_COLUMNS) * 8 * N_COLUMNS
    large = [path for path, length in seen.items() if length > n_bytes / 100]
    return {
        "written": round(report["written"] / n_bytes, 3),
        "dumps": len(large),
        "growth": round(growth / n_bytes, 3),
        "own": round(own / n_bytes, 3),
        "folder": round(folder_size / n_bytes, 3),
        "seconds": round(report["seconds"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--size", type=float, default=1e9, help="size of the input in bytes")
    add("--searches", type=names(SEARCHES), default="all")
    add("--splits", type=names(SPLITS), default="all")
    add("--one", nargs=4, help=argparse.SUPPRESS)
    add("--save", action="store_true", help="write the results to results/")
    args = parser.parse_args()
    if args.one:
        name, kind, size, folder = args.one
        search_once(name, kind, float(size), folder)
        return
    columns = ("written", "dumps", "growth", "own", "folder", "seconds")
    print(f"multiples of {args.size:g} bytes")
    print(f"{'':20}" + "".join(f"{column:>10}" for column in columns))
    summary: dict[str, Any] = {}
    for kind in args.splits:
        for name in args.searches:
            figures = measure(name, kind, args.size)
            summary.setdefault(kind, {})[name] = figures
            shown = "".join(f"{figures[column]:10}" for column in columns)
            print(f"{kind:7}{name:13}{shown}", flush=True)
    if args.save:
        save_results("memory", {"size": args.size, "splits": summary})


if __name__ == "__main__":
    main()
