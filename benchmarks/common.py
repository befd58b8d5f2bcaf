"""Shared functions of the benchmarks: cached runs, parallel runs, options, results."""

from __future__ import annotations

import argparse
import ast
import importlib.metadata
import json
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "HERE",
    "Cache",
    "add_run_options",
    "mean_se",
    "means_text",
    "names",
    "parse_option",
    "run_all",
    "save_results",
]

HERE = Path(__file__).resolve().parent
Record = dict[str, Any]


class Cache:
    """Cache of finished runs as JSON lines, one file per label."""

    def __init__(self, benchmark: str) -> None:
        self._folder = HERE / "cache" / benchmark
        self._folder.mkdir(parents=True, exist_ok=True)

    def _path(self, label: str) -> Path:
        return self._folder / f"{label}.jsonl"

    def labels(self) -> list[str]:
        """Return the labels that have runs."""
        return sorted(path.stem for path in self._folder.glob("*.jsonl"))

    def load(self, label: str) -> list[Record]:
        """Return the finished runs of a label; incomplete lines are skipped."""
        records = []
        if self._path(label).exists():
            for line in self._path(label).read_text().splitlines():
                try:
                    records.append(json.loads(line))
                except json.JSONDecodeError:
                    continue
        return records

    def done(
        self, labels: Iterable[str], fields: Iterable[str], fresh: bool = False
    ) -> set[tuple]:
        """Return labels and fields of finished runs; `fresh` deletes them first."""
        keys = list(fields)
        if fresh:
            for label in labels:
                self.clear(label)
        return {
            (label, *(record[key] for key in keys))
            for label in labels
            for record in self.load(label)
        }

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


def names(allowed: Iterable[str]) -> Callable[[str], list[str]]:
    """Make an argparse type of comma-separated names out of `allowed`, or "all"."""
    known = list(allowed)

    def parse(text: str) -> list[str]:
        chosen = known if text == "all" else text.split(",")
        unknown = [name for name in chosen if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown} not in {known}")
        return chosen

    return parse


def parse_option(text: str) -> tuple[str, Any]:
    """Split key=value; a value after `py:` is evaluated with the names of skbayes."""
    key, _, value = text.partition("=")
    if value.startswith("py:"):
        import skbayes.acquisition
        import skbayes.surrogates

        scope = {**vars(skbayes.surrogates), **vars(skbayes.acquisition)}
        return key, eval(value[3:], scope)
    try:
        return key, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return key, value


def add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="argument of skbayes' Optimizer: a Python literal, a string, or py:EXPR "
        "with the names of skbayes.surrogates and skbayes.acquisition",
    )
    parser.add_argument(
        "--label", help="name for the cached runs of skbayes and for the output"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="delete the cached runs of this label"
    )
    parser.add_argument(
        "--save", action="store_true", help="write the summary to results/"
    )


def run_all(
    function: Callable[..., Record],
    jobs: list[tuple[str, tuple[Any, ...]]],
    cache: Cache,
    n_jobs: int,
) -> None:
    """Run function(*args) for each (label, args), and cache the returned records."""
    if n_jobs == 1:
        for label, args in jobs:
            cache.append(label, function(*args))
        return
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        label_of = {pool.submit(function, *args): label for label, args in jobs}
        for future in as_completed(label_of):
            cache.append(label_of[future], future.result())


def mean_se(values: np.ndarray) -> dict[str, list[float]]:
    """Return mean and standard error over the first axis, rounded."""
    se = values.std(axis=0, ddof=min(1, len(values) - 1)) / len(values) ** 0.5
    return {
        "mean": [round(float(v), 1) for v in values.mean(axis=0)],
        "se": [round(float(v), 1) for v in se],
    }


def means_text(entry: dict[str, Any], sign: str = "") -> str:
    """Format the result of `mean_se` as one line."""
    pairs = zip(entry["mean"], entry["se"], strict=True)
    return "  ".join(f"{mean:{sign}5.0f} ± {se:3.0f}" for mean, se in pairs)


def save_results(benchmark: str, summary: Record) -> None:
    """Write a summary and the versions of the packages to results/."""
    packages = (
        "numpy",
        "scipy",
        "scikit-learn",
        "joblib",
        "scikit-optimize",
        "optuna",
        "lightgbm",
        "xgboost",
        "torch",
        "distributed",
    )
    versions = {}
    for package in packages:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    path = HERE / "results" / f"{benchmark}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"versions": versions, **summary}, indent=1) + "\n")
    print(f"written: {path.relative_to(HERE.parent)}")
