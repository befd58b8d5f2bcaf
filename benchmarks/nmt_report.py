"""Tables 3 and 4 of Zhang & Duh (2020) for any methods.

The script prints the results together with the published ones, and writes results.json
and results.png. It has the options of ``python -m skbayes.benchmark`` and uses the same
folder of runs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import numpy as np
from nmt_layout import as_text
from nmt_picture import draw
from nmt_results import Result, as_json

from skbayes.benchmark import LookupTable, rank_correlations
from skbayes.benchmark.__main__ import (
    load_tables,
    longest_run,
    make_parser,
    make_runs,
)
from skbayes.inspection import importance

__all__ = ["analysis", "main"]

# Hyper-parameter values of the six tables that are treated as equal in comparisons of
# tables.
NMT_SAME = {"bpe": {32000: 30000}}


def analysis(tables: Sequence[LookupTable]) -> str:
    """Return importances of the hyper-parameters, and correlations between tables.

    Importances are those of single hyper-parameters and of the strongest pairs, over
    all rows and among the top percent. Rank correlations are between tables with the
    same hyper-parameters.
    """
    parts = []
    for table in tables:
        for title, top in (("all rows", None), ("the top percent", 0.01)):
            found = importance(table, top=top)
            parts.append(f"{table.name}, importance over {title}\n{found}")
    if len(tables) > 1 and len({frozenset(t.columns) for t in tables}) == 1:
        parts.append(_correlations(tables))
    return "\n\n".join(parts)


def _correlations(tables: Sequence[LookupTable]) -> str:
    aliases = NMT_SAME if "bpe" in tables[0].columns else {}
    correlations, n_common = rank_correlations(tables, aliases)
    names = [table.name for table in tables]
    width = max(8, *(len(name) + 2 for name in names))
    lines = [f"rank correlations over {n_common} common configurations"]
    lines.append(" " * width + "".join(f"{name:>{width}}" for name in names))
    for name, row in zip(names, np.asarray(correlations), strict=True):
        lines.append(f"{name:{width}}" + "".join(f"{r:{width}.3f}" for r in row))
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with `argv`; if it is None, with the command-line arguments."""
    parser = make_parser("nmt_report.py", __doc__)
    parser.add_argument(
        "--errors",
        type=int,
        default=0,
        metavar="ROWS",
        help="also measure errors of predictions",
    )
    parser.add_argument(
        "--analysis", action="store_true", help="analyze the tables without any runs"
    )
    arguments = parser.parse_args(argv)
    try:
        tables = load_tables(arguments)
        if arguments.analysis:
            print(analysis(tables))
            return
        runs = make_runs(arguments, tables, arguments.errors)
    except ValueError as error:
        parser.error(str(error))
    results = [Result(*one, longest_run(arguments)) for one in runs]
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
