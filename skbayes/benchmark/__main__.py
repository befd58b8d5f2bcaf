"""Comparison of methods on tables of trained systems, as in Zhang & Duh (2020).

Prints the mean and the standard error of each measure for each method and table.
Finished runs are written to a folder, so the same command continues an interrupted
comparison.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from skbayes.benchmark.methods import find_object
from skbayes.benchmark.metrics import Summary, summarize
from skbayes.benchmark.protocol import Run, RunFolder, benchmark
from skbayes.benchmark.tables import NMT_PAIRS, LookupTable, load_nmt

__all__ = ["load_tables", "longest_run", "main", "make_parser", "make_runs"]

QUICK_SEEDS, QUICK_CAP = 20, 150

NAMES = """methods:
  random                   rows in random order
  skbayes                  skbayes.Optimizer with its defaults
  SURROGATE[+ACQUISITION]  skbayes.Optimizer with other arguments, such as gp+ucb
  FILE.py:NAME             custom method, also MODULE:NAME; see
                           examples/methods/own_method.py
  LABEL=METHOD             any of these with a different label

tables:
  zh-en ru-en ja-en en-ja sw-en so-en
  FILE.py:NAME             custom LookupTable, also MODULE:NAME
"""


# A table with the objectives of the runs, a method, and its runs on the table.
Result = tuple[LookupTable, str, list[Run]]


def make_parser(prog: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser of the options that choose runs."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description=description,
        epilog=NAMES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--tables", nargs="+", default=list(NMT_PAIRS), metavar="TABLE")
    add("--methods", nargs="+", default=["random", "skbayes"], metavar="METHOD")
    add(
        "--objectives",
        choices=["1", "all", "both"],
        default="1",
        help="tune the first objective (default), all objectives, or both",
    )
    add("--seeds", type=int, help="runs per method and table (default: 100)")
    add("--cap", type=int, help="maximum number of rows of a run")
    quick = f"use {QUICK_SEEDS} seeds and a cap of {QUICK_CAP} rows, unless given"
    add("--quick", action="store_true", help=quick)
    add("--jobs", type=int, default=1, help="number of runs at the same time")
    add("--out", type=Path, default=Path("skbayes-benchmark"), help="folder for runs")
    add("--fresh", nargs="*", metavar="METHOD", help="repeat runs (default: all)")
    return parser


def _split(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(n for name in names for n in name.split(",") if n))


def _labeled(names: Sequence[str]) -> dict[str, str]:
    methods = {}
    for name in names:
        label, equals, method = name.partition("=")
        methods[label if equals else name.rpartition(":")[2]] = method or name
    return methods


def _load_table(name: str) -> LookupTable:
    if ":" not in name:
        return load_nmt(name)
    table = find_object(name)
    if callable(table):
        table = table()
    if not isinstance(table, LookupTable):
        raise ValueError(f"{name!r} is not a LookupTable and does not return one.")
    return table


def load_tables(arguments: argparse.Namespace) -> list[LookupTable]:
    """Load the tables that the options name."""
    return [_load_table(name) for name in _split(arguments.tables)]


def longest_run(arguments: argparse.Namespace) -> int | None:
    """Return the maximum number of rows of a run, or None."""
    return arguments.cap or (QUICK_CAP if arguments.quick else None)


def make_runs(
    arguments: argparse.Namespace, tables: Sequence[LookupTable], n_errors: int = 0
) -> list[Result]:
    """Make the missing runs, table by table; return all runs."""
    seeds = arguments.seeds or (QUICK_SEEDS if arguments.quick else 100)
    folder = arguments.out / "runs"
    methods = _labeled(_split(arguments.methods))
    if arguments.fresh is not None:
        for method in _split(arguments.fresh) or methods:
            RunFolder(folder).clear(method)
    options = {"n_errors": n_errors, "n_jobs": arguments.jobs, "folder": folder}
    results = []
    for table in _with_objectives(tables, arguments.objectives):
        runs = benchmark(methods, [table], seeds, cap=longest_run(arguments), **options)
        for method in methods:
            results.append((table, method, [r for r in runs if r.method == method]))
    return results


def _with_objectives(tables: Sequence[LookupTable], which: str) -> list[LookupTable]:
    """Return tables with their first objective ("1"), "all" objectives, or "both"."""
    chosen = []
    for table in tables:
        if which != "all":
            chosen.append(table.first(1))
        if which != "1" and table.n_objectives > 1:
            chosen.append(table)
    return chosen


def _cell(summary: Summary) -> str:
    """Return mean and standard error; "*" marks a mean over censored runs."""
    mark = "*" if summary.n_censored else ""
    return f"{summary.mean:.2f} ± {summary.se:.2f}{mark}"


def _as_text(results: Sequence[Result]) -> str:
    blocks: dict[int, list[list[str]]] = {}
    for table, method, runs in results:
        summary = summarize(runs, table)
        kind = min(table.n_objectives, 2)
        lines = blocks.setdefault(kind, [["table", "method", *summary]])
        lines.append([table.name, method, *map(_cell, summary.values())])
    return "\n\n".join(map(_aligned, blocks.values()))


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:{w}}" for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command, with the arguments of the command line if `argv` is None."""
    parser = make_parser("python -m skbayes.benchmark", __doc__)
    arguments = parser.parse_args(argv)
    try:
        results = make_runs(arguments, load_tables(arguments))
    except ValueError as error:
        parser.error(str(error))
    print(_as_text(results))
    if any(run.finished is False for _, _, runs in results for run in runs):
        print("\n* runs that ended at their cap count as if the target was found there")


if __name__ == "__main__":
    main()
