"""Compare methods on tables of trained systems, as Zhang & Duh (2020) do.

Prints their Tables 3 and 4 for the chosen methods beside the published figures, and
writes results.json and results.png. Runs are kept as they finish: the same command
again goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from skbayes.benchmark.analysis import analysis
from skbayes.benchmark.layout import as_text
from skbayes.benchmark.methods import find_object
from skbayes.benchmark.picture import draw
from skbayes.benchmark.protocol import RunFolder, benchmark
from skbayes.benchmark.report import Result, as_json
from skbayes.benchmark.tables import NMT_PAIRS, LookupTable, load_nmt

__all__ = ["main"]

QUICK_SEEDS, QUICK_CAP = 20, 150

NAMES = """methods:
  random                   rows in random order
  bo_paper_m, bo_paper_r   the unfitted Gaussian process of the paper
  skbayes                  skbayes.Optimizer as it is by default
  SURROGATE[+ACQUISITION]  the same with others of its names: gp+ucb
  FILE.py:NAME             one's own, also MODULE:NAME; see examples/own_method.py
  LABEL=METHOD             any of these under a name of one's own

tables:
  zh-en ru-en ja-en en-ja sw-en so-en
  FILE.py:NAME             one's own LookupTable, also MODULE:NAME
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
    add(
        "--methods",
        nargs="+",
        default=["random", "bo_paper_m", "bo_paper_r", "skbayes"],
        metavar="METHOD",
    )
    add(
        "--objectives",
        choices=["1", "all", "both"],
        default="1",
        help="tune the first objective (default), all of them, or both ways",
    )
    add("--seeds", type=int, help="runs per method and table, 100 if not given")
    add("--cap", type=int, help="end a run after so many rows, finished or not")
    add(
        "--quick",
        action="store_true",
        help=f"{QUICK_SEEDS} seeds and a cap of {QUICK_CAP} rows, unless given",
    )
    add("--jobs", type=int, default=1, help="runs at a time")
    add("--errors", type=int, default=0, metavar="ROWS", help="judge predictions too")
    add("--out", type=Path, default=Path("skbayes-benchmark"), help="folder")
    add("--fresh", nargs="*", metavar="METHOD", help="forget kept runs; of all methods")
    add("--analysis", action="store_true", help="describe the tables, make no runs")
    return parser


def _split(names: Sequence[str]) -> list[str]:
    """Names that are separated by spaces, commas or both, each once."""
    return list(dict.fromkeys(n for name in names for n in name.split(",") if n))


def _labeled(names: Sequence[str]) -> dict[str, str]:
    """Find the names under which methods are shown."""
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
        raise ValueError(f"{name!r} is no LookupTable, and returns none.")
    return table


def _results(
    arguments: argparse.Namespace, tables: Sequence[LookupTable]
) -> list[Result]:
    """Make the runs that are missing, table after table."""
    seeds = arguments.seeds or (QUICK_SEEDS if arguments.quick else 100)
    cap = arguments.cap or (QUICK_CAP if arguments.quick else None)
    folder = arguments.out / "runs"
    methods = _labeled(_split(arguments.methods))
    if arguments.fresh is not None:
        for method in _split(arguments.fresh) or methods:
            RunFolder(folder).clear(method)
    problems = []
    for table in tables:
        if arguments.objectives != "all":
            problems.append(table.first(1))
        if arguments.objectives != "1" and table.n_objectives > 1:
            problems.append(table)
    results = []
    for table in problems:
        runs = benchmark(
            methods,
            [table],
            seeds,
            cap=cap,
            n_errors=arguments.errors,
            n_jobs=arguments.jobs,
            folder=folder,
        )
        for method in methods:
            own = [run for run in runs if run.method == method]
            results.append(Result(table, method, own, cap))
    return results


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command.

    Parameters
    ----------
    argv : sequence of str, default=None
        Arguments, those of the command line if None.
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        tables = [_load_table(name) for name in _split(arguments.tables)]
        if arguments.analysis:
            print(analysis(tables))
            return
        results = _results(arguments, tables)
    except ValueError as error:
        parser.error(str(error))
    print(as_text(results))
    arguments.out.mkdir(parents=True, exist_ok=True)
    written = arguments.out / "results.json"
    written.write_text(json.dumps(as_json(results), indent=1) + "\n")
    print(f"\nwritten: {written}")
    try:
        draw(results, arguments.out / "results.png")
        print(f"written: {arguments.out / 'results.png'}")
    except ImportError as error:
        print(error, file=sys.stderr)


if __name__ == "__main__":
    main()
