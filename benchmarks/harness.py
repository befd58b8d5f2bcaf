"""Harness of the benchmarks: methods × tasks × seeds, differences, tables, and files.

A `Study` describes one benchmark: its tasks, its methods, a function that makes one
run, and a function that computes figures from runs. `main` does the rest. It reads the
command line, makes the runs that are not stored yet, prints means with standard errors
and paired differences from the first method, and writes them to results/.

Finished runs are stored in cache/ as JSON lines, one file per method, so that the same
command continues an interrupted benchmark. To compare two versions of skbayes, store
the runs of the first one under a label, and show them next to those of the second one:

    PYTHONPATH=path/to/other/checkout python benchmarks/judges.py lcbench --label before
    python benchmarks/judges.py lcbench --also skbayes.before
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
Record = dict[str, Any]
Key = tuple[str, int]  # task and seed
Runs = dict[str, dict[Key, Record]]  # by method
Figures = dict[str, dict[Key, np.ndarray]]
PACKAGES = (
    "numpy scipy scikit-learn joblib scikit-optimize optuna lightgbm xgboost flaml "
    "torch distributed"
).split()


def single(runs: Runs, options: Mapping[str, Any]) -> Figures:
    """Return the list "figures" of each run."""
    return {
        method: {key: np.array(run["figures"], float) for key, run in records.items()}
        for method, records in runs.items()
    }


# -- tables ------------------------------------------------------------------------


def mean_se(values: np.ndarray, digits: int = 1) -> dict[str, list[float]]:
    """Return mean and standard error over the first axis, rounded."""
    se = values.std(axis=0, ddof=min(1, len(values) - 1)) / len(values) ** 0.5
    return {
        "mean": [round(float(v), digits) for v in values.mean(axis=0)],
        "se": [round(float(v), digits) for v in se],
    }


def means_text(entry: dict[str, Any], sign: str = "", digits: int = 0) -> str:
    """Format the result of `mean_se` as one line."""
    return "  ".join(
        f"{mean:{sign}{5 + digits}.{digits}f} ± {se:3.{digits}f}"
        for mean, se in zip(entry["mean"], entry["se"], strict=True)
    )


def summarize(study: Study, figures: Figures, columns: Sequence[Any]) -> Record:
    """Print and return means by group, and paired differences from the first method.

    The differences, and the means next to them, are over the runs that both methods
    have finished.
    """
    first = next(iter(figures))
    tasks = dict.fromkeys(task for runs in figures.values() for task, _ in runs)
    groups = list(dict.fromkeys(map(study.group, tasks)))
    if study.overall and len(groups) != 1:
        groups.insert(0, "all")
    shown = max(study.digits - 1, 0)
    summary: Record = {"columns": list(columns), "groups": {}}
    print(f"columns: {list(columns)}; differences are from {first}")
    for group in groups:
        entries = summary["groups"][group] = {}
        for method, runs in figures.items():
            keys = [k for k in runs if group in ("all", study.group(k[0]))]
            both = [k for k in keys if k in figures[first]] or keys
            if not both:
                continue
            values = np.array([runs[k] for k in both])
            entry: Record = {"runs": len(both), **mean_se(values, study.digits)}
            line = f"{group:22}{method:26}{len(both):4} runs "
            line += means_text(entry, digits=shown)
            if method != first and all(k in figures[first] for k in both):
                apart = values - np.array([figures[first][k] for k in both])
                entry["minus_first"] = mean_se(apart, study.digits)
                line += f"   apart {means_text(entry['minus_first'], '+', shown)}"
            entries[method] = entry
            print(line, flush=True)
    return summary


# -- studies -----------------------------------------------------------------------


@dataclass(frozen=True)
class Study:
    """One benchmark.

    `run(method, task, seed, options)` returns a record for JSON, and is a function of a
    module, because other processes import it. `figures` computes one array of
    `columns` for each run. It receives the runs of all methods that are stored, because
    the best known score of a task depends on them. Methods that it adds are shown, too.
    `smallest` are the arguments of a run that takes a few seconds, which the tests use.
    """

    name: str
    tasks: Callable[[], Sequence[str]]
    methods: Sequence[str]
    run: Callable[[str, str, int, dict[str, Any]], Record]
    columns: Callable[[Mapping[str, Any]], Sequence[Any]]
    figures: Callable[[Runs, Mapping[str, Any]], Figures] = single
    group: Callable[[str], str] = str  # rows of the table, by task
    overall: bool = True  # also a row for all tasks
    check_method: Callable[[str], object] | None = None  # raises ValueError
    applies: Callable[[str, str], bool] = lambda method, task: True
    reference: str | None = None  # method that is run once per task, and not shown
    options: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 10
    digits: int = 1
    own_process: bool = False  # for measurements of memory
    smallest: tuple[str, ...] = ()
    summarize: Callable[[Study, Figures, Sequence[Any]], Record] = summarize


# -- stored runs -------------------------------------------------------------------


class Cache:
    """Finished runs as JSON lines, one file per label."""

    def __init__(self, benchmark: str) -> None:
        root = os.environ.get("SKBAYES_BENCHMARK_CACHE") or HERE / "cache"
        self._folder = Path(root) / benchmark
        self._folder.mkdir(parents=True, exist_ok=True)

    def _path(self, label: str) -> Path:
        return self._folder / f"{label.replace('/', '|')}.jsonl"

    def labels(self) -> list[str]:
        """Return the labels that have runs."""
        return sorted(p.stem.replace("|", "/") for p in self._folder.glob("*.jsonl"))

    def load(self, label: str) -> dict[Key, Record]:
        """Return the finished runs of a label; incomplete lines are skipped."""
        records = {}
        if self._path(label).exists():
            for line in self._path(label).read_text().splitlines():
                try:
                    record = json.loads(line)
                except json.JSONDecodeError:
                    continue
                records[record["task"], record["seed"]] = record
        return records

    def append(self, label: str, record: Record) -> None:
        """Append a finished run in one write, so that parallel writes do not mix."""
        line = (json.dumps(record) + "\n").encode()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        handle = os.open(self._path(label), flags, 0o644)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)

    def clear(self, label: str) -> None:
        """Delete the runs of a label."""
        self._path(label).unlink(missing_ok=True)


def _run_all(study: Study, jobs: list, options: dict, store: Cache, n: int) -> None:
    def finish(label: str, task: str, seed: int, record: Record) -> None:
        store.append(label, {"task": task, "seed": seed, **record})

    if n == 1 and not study.own_process:
        for label, method, task, seed in jobs:
            finish(label, task, seed, study.run(method, task, seed, options))
        return
    limit = 1 if study.own_process else None
    with ProcessPoolExecutor(
        n, mp_context=get_context("spawn"), max_tasks_per_child=limit
    ) as pool:
        submitted = {
            pool.submit(study.run, method, task, seed, options): (label, task, seed)
            for label, method, task, seed in jobs
        }
        for future in as_completed(submitted):
            finish(*submitted[future], future.result())


def save_results(benchmark: str, summary: Record) -> None:
    """Write a summary and the versions of the packages to results/."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    path = HERE / "results" / f"{benchmark}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"versions": versions, **summary}, indent=1) + "\n")
    print(f"written: {path.relative_to(HERE.parent)}")


# -- command -----------------------------------------------------------------------


def _arguments(
    studies: Mapping[str, Study], doc: str, argv: Sequence[str] | None
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = parser.add_subparsers(dest="study", required=True)
    for name, study in studies.items():
        add = parts.add_parser(name).add_argument
        add("--tasks", default="", help="regular expression; default: all")
        add("--every", type=int, default=1, help="use only every n-th task")
        add("--offset", type=int, default=0, help="index of the first task")
        methods = ",".join(study.methods)
        add("--methods", default=methods, help=f"comma-separated; default: {methods}")
        add("--seeds", type=int, default=study.seeds, help="runs per task")
        add("--jobs", type=int, default=1, help="number of processes")
        add("--label", help="store the runs as METHOD.LABEL")
        add("--also", default="", help="stored labels that are also shown")
        add("--fresh", action="store_true", help="delete the stored runs first")
        add("--finished", action="store_true", help="show stored runs only")
        add("--save", metavar="NAME", help=f"write results/{study.name}/NAME.json")
        for option, default in study.options.items():
            if isinstance(default, bool):
                add(f"--{option}", action="store_true")
            else:
                add(f"--{option}", type=type(default), default=default)
    return parser.parse_args(argv)


def main(
    studies: Study | Mapping[str, Study], doc: str, argv: Sequence[str] | None = None
) -> Record:
    """Run a study as the command line says, and return its summary."""
    if isinstance(studies, Study):
        studies = {"run": studies}
    args = _arguments(studies, doc, argv)
    study = studies[args.study]
    options = {name: getattr(args, name) for name in study.options}
    methods = args.methods.split(",")
    for method in methods:
        if study.check_method is not None:
            study.check_method(method)
        elif method not in study.methods:
            raise SystemExit(f"{method} is not in {list(study.methods)}")
    tasks = [task for task in study.tasks() if re.search(args.tasks, task)]
    tasks = tasks[args.offset :: args.every]
    if not tasks:
        raise SystemExit(f"{args.tasks!r} matches none of {list(study.tasks())}")
    changed = [f"{k}={v}" for k, v in options.items() if v != study.options[k]]
    store = Cache("/".join([study.name, *changed]))
    label_of = {m: f"{m}.{args.label}" if args.label else m for m in methods}
    if args.fresh:
        for label in label_of.values():
            store.clear(label)
    wanted = [
        (label, method, task, seed)
        for seed in range(args.seeds)
        for task in tasks
        for method, label in label_of.items()
        if study.applies(method, task)
    ]
    if study.reference is not None:
        wanted = [(study.reference, study.reference, t, 0) for t in tasks] + wanted
    done = {label: store.load(label) for label, *_ in wanted}
    jobs = [job for job in wanted if (job[2], job[3]) not in done[job[0]]]
    if not args.finished:
        _run_all(study, jobs, options, store, args.jobs)
    shown = list(
        dict.fromkeys([*label_of.values(), *filter(None, args.also.split(","))])
    )
    labels = dict.fromkeys([*shown, *store.labels()])
    figures = study.figures({label: store.load(label) for label in labels}, options)
    # Not the stored labels that were not asked for, but rows that figures adds.
    kept = {
        label: {k: v for k, v in figures[label].items() if k[0] in tasks}
        for label in dict.fromkeys([*shown, *figures])
        if label in figures and (label in shown or label not in labels)
    }
    figures = {label: runs for label, runs in kept.items() if runs}
    summary = study.summarize(study, figures, study.columns(options))
    if args.save:
        save_results(f"{study.name}/{args.save}", summary)
    return summary


# -- data --------------------------------------------------------------------------


def load() -> ModuleType:
    """Import the loaders of the data sets in ../shared/data."""
    path = HERE.parents[1] / "shared" / "data" / "load.py"
    if not path.exists():
        raise FileNotFoundError(f"the data sets are expected in {path.parent}")
    spec = importlib.util.spec_from_file_location("shared_data", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
