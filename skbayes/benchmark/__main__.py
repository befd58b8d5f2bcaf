"""Comparison of methods on tables of trained systems, as in Zhang & Duh (2020).

Prints the mean and the standard error of each measure for each method and table.
Finished runs are written to a folder, so the same command continues an interrupted
comparison. To repeat the runs of a method, remove its file from this folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from skbayes.benchmark.methods import find_object
from skbayes.benchmark.metrics import summarize
from skbayes.benchmark.protocol import Run, benchmark
from skbayes.benchmark.tables import NMT_PAIRS, LookupTable, load_nmt

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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m skbayes.benchmark",
        description=__doc__,
        epilog=NAMES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--tables", nargs="+", default=list(NMT_PAIRS), metavar="TABLE")
    add("--methods", nargs="+", default=["random", "skbayes"], metavar="METHOD")
    text = "tune the first objective (default), all objectives, or both"
    add("--objectives", choices=["1", "all", "both"], default="1", help=text)
    add("--seeds", type=int, help="runs per method and table (default: 100)")
    add("--cap", type=int, help="maximum number of rows of a run")
    quick = f"use {QUICK_SEEDS} seeds and a cap of {QUICK_CAP} rows, unless given"
    add("--quick", action="store_true", help=quick)
    add("--jobs", type=int, default=1, help="number of runs at the same time")
    add("--out", type=Path, default=Path("skbayes-benchmark"), help="folder for runs")
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


def _with_objectives(tables: Sequence[LookupTable], mode: str) -> list[LookupTable]:
    """Return tables with their first objective ("1"), "all" objectives, or "both"."""
    chosen = []
    for table in tables:
        if mode != "all":
            chosen.append(table.first(1))
        if mode != "1" and table.n_objectives > 1:
            chosen.append(table)
    return chosen


def _runs(arguments: argparse.Namespace) -> list[tuple[LookupTable, str, list[Run]]]:
    """Make the missing runs, table by table; return each table, method and runs."""
    quick, folder = arguments.quick, arguments.out / "runs"
    methods = _labeled(_split(arguments.methods))
    tables = [_load_table(name) for name in _split(arguments.tables)]
    groups = []
    for table in _with_objectives(tables, arguments.objectives):
        runs = benchmark(
            methods,
            [table],
            arguments.seeds or (QUICK_SEEDS if quick else 100),
            cap=arguments.cap or (QUICK_CAP if quick else None),
            n_jobs=arguments.jobs,
            folder=folder,
        )
        groups += [
            (table, m, [run for run in runs if run.method == m]) for m in methods
        ]
    return groups


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:{w}}" for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command, with the arguments of the command line if `argv` is None."""
    parser = _parser()
    try:
        groups = _runs(parser.parse_args(argv))
    except ValueError as error:
        parser.error(str(error))
    # One block for tables with one objective, and one for those with several.
    blocks: dict[bool, list[list[str]]] = {}
    for table, method, runs in groups:
        summary = summarize(runs, table)
        heads = ["table", "method", *summary]
        lines = blocks.setdefault(table.n_objectives > 1, [heads])
        # "*" marks a mean over censored runs.
        cells = [
            f"{s.mean:.2f} ± {s.se:.2f}{'*' if s.n_censored else ''}"
            for s in summary.values()
        ]
        lines.append([table.name, method, *cells])
    print("\n\n".join(map(_aligned, blocks.values())))
    if not all(run.finished for _, _, runs in groups for run in runs):
        print("\n* runs that ended at their cap count as if the target was found there")


if __name__ == "__main__":
    main()
