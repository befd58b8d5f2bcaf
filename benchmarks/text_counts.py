"""Cost of the store of n-gram counts in two versions of the package.

The same trials of `TextRepresentationSearchCV` on a task of `text.py` are run with the
version in another checkout ("before") and with this one ("after"). The runs alternate,
each in a separate process: with one worker, with two, and with a limit of about a third
of the size of the counts. The output is the processor time, the part of it in
vectorizers, the greatest resident size of a process, and bytes on disk. The scores of
both versions must be equal.

Example: python benchmarks/text_counts.py --before ../older-checkout --save
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import warnings
from typing import Any

from common import HERE
from text import Clock, task_data
from waste import Disk

from skbayes import TextRepresentationSearchCV

# Small limit in bytes, by task.
TASKS = {"religion": 50e6, "sst": 8e6}
CASES = ("1 worker", "2 workers", "small limit")
MEASURES = ("seconds", "representing", "megabytes", "disk")
RESULTS = HERE / "results" / "waste" / "text.json"


def run(task: str, case: str, n_trials: int, n_texts: int) -> dict[str, Any]:
    """Run the trials; called in a separate process."""
    n_jobs = 2 if case == "2 workers" else 1
    limit = TASKS[task] if case == "small limit" else 4e9
    texts, labels = task_data(task, 0)["train"]
    search = TextRepresentationSearchCV(
        cv=3, n_iter=n_trials, n_jobs=n_jobs, n_points=2, random_state=0, refit=False
    )
    # Former name.
    older = "counts_limit" in search.get_params()
    search.set_params(**{"counts_limit" if older else "cache_limit": limit})
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder, Disk(folder) as disk:
        os.environ["JOBLIB_TEMP_FOLDER"] = folder
        begin = _processor_time()
        with clock:
            search.fit(list(texts[:n_texts]), labels[:n_texts])
        if n_jobs > 1:
            _end_workers()
        seconds = _processor_time() - begin
    usage = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {
        "seconds": seconds,
        # Time of vectorizers in this process; with workers, most of it is in others.
        "representing": clock.seconds if n_jobs == 1 else None,
        "megabytes": max(one.ru_maxrss for one in usage) / 1024.0,
        "disk": disk.most / 1e6,
        "scores": search.cv_results_["mean_test_score"].tolist(),
    }


def _processor_time() -> float:
    usage = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in usage)


def _end_workers() -> None:
    """End the workers, because the time of a child counts only after its end."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


def measure(args: argparse.Namespace, task: str, case: str) -> dict[str, Any]:
    """Run both versions alternately; return the medians."""
    versions = {"before": args.before, "after": str(HERE.parent)}
    runs: dict[str, list[dict]] = {version: [] for version in versions}
    for _ in range(args.repeats):
        for version, path in versions.items():
            command = [sys.executable, __file__, "--one", task, case]
            command += ["--trials", str(args.trials), "--texts", str(args.texts)]
            done = subprocess.run(
                command, env={**os.environ, "PYTHONPATH": path},
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            runs[version].append(json.loads(done.stdout.splitlines()[-1]))
    scores = [one["scores"] for found in runs.values() for one in found]
    summary: dict[str, Any] = {"equal_scores": all(one == scores[0] for one in scores)}
    for version, found in runs.items():
        summary[version] = {
            name: statistics.median(one[name] for one in found)
            for name in MEASURES
            if found[0][name] is not None
        }
    return summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", help="path of another checkout of the package")
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--texts", type=int, default=1500)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tasks", nargs="+", default=TASKS, choices=TASKS)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    if args.one:
        warnings.simplefilter("ignore")
        print(json.dumps(run(*args.one, args.trials, args.texts)))
        return
    if args.before is None:
        parser.error("--before is needed.")
    results: dict[str, Any] = {
        name: getattr(args, name) for name in ("trials", "texts", "repeats")
    }
    for task in args.tasks:
        for case in CASES:
            one = results[f"{task}, {case}"] = measure(args, task, case)
            cells = [
                f"{name} {one['before'][name]:.2f} -> {one['after'][name]:.2f}"
                for name in one["after"]
            ]
            print(f"{task}, {case}: {', '.join(cells)}; equal scores: "
                  f"{one['equal_scores']}", flush=True)  # fmt: skip
    if args.save:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
