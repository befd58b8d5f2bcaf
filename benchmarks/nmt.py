"""Rows until the best one, on six tables of trained translation systems.

The tables are a part of skbayes. The figures are the numbers of rows until the best row
(ftb) and until a row with a score close to it (ftc), and the difference from the best
score after 20 rows (fb). The last line of the output is the geometric mean of ftb over
the tables.

The other libraries propose points anywhere in the unit cube of a table's columns. The
nearest free row is evaluated, and its position and score are reported to the library.

Example: python benchmarks/nmt.py run --methods skbayes,random --seeds 20 --jobs 2
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
from functools import partial
from typing import Any

import numpy as np
from harness import Record, Study, main
from methods import METHODS, Float, Params, make_method

from skbayes.benchmark import (
    LookupTable,
    load_nmt,
    make_factory,
    run_method,
    summarize,
)

TABLES = ("zh-en", "ru-en", "ja-en", "en-ja", "sw-en", "so-en")
OURS = ("skbayes", "random")


class InUnitCube:
    """Method of another library that proposes points in the unit cube of a table."""

    def __init__(self, table: LookupTable, seed: int, library: str) -> None:
        self._table = table
        space = {column: Float(0.0, 1.0) for column in table.columns}
        self._method = make_method(library, space, seed)

    def ask(self) -> Params:
        """Propose the configuration of a point."""
        place = self._method.ask()
        return self._table.at(np.array([place[name] for name in self._table.columns]))

    def tell(self, params: Params, score: Any) -> None:
        """Report the score of a row."""
        x = self._table.position(params).tolist()
        self._method.tell(dict(zip(self._table.columns, x, strict=True)), score)


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Run one method on one table."""
    table = load_nmt(task).first(1)
    other = method in METHODS and method not in OURS
    factory = partial(InUnitCube, library=method) if other else make_factory(method)
    replay = run_method(factory, table, seed, label=method, cap=options["cap"] or None)
    measures = summarize([replay], table)
    return {"figures": [measures[name].mean for name in ("ftb", "ftc", "fb")]}


STUDY = Study(
    name="nmt",
    tasks=lambda: TABLES,
    methods=(*OURS, "optuna-tpe", "optuna-gp"),
    check_method=lambda method: METHODS.get(method) or make_factory(method),
    run=run,
    columns=lambda options: ["ftb", "ftc", "fb"],
    options={"cap": 0},
    overall=False,
    seeds=100,
    digits=4,
    smallest=("--tasks", "ru-en", "--methods", "skbayes,random", "--seeds", "1")
    + ("--cap", "8"),
)


def geometric_means(summary: Record) -> dict[str, float]:
    """Return the geometric mean of ftb over the tables, by method."""
    means: dict[str, list[float]] = {}
    for entries in summary["groups"].values():
        for method, entry in entries.items():
            means.setdefault(method, []).append(entry["mean"][0])
    whole = {m: v for m, v in means.items() if len(v) == len(summary["groups"])}
    return {m: float(np.exp(np.mean(np.log(v)))) for m, v in whole.items()}


if __name__ == "__main__":
    print("geometric means:", geometric_means(main(STUDY, __doc__)))
