"""Tables of benchmark results, made from the committed files.

The scripts in ``benchmarks/`` write ``benchmarks/results/*/*.json``. `TABLES` has one
function for each file that a page shows, and the directive ``measured`` in
``extensions.py`` adds its table to the page. Cells of methods that a file does not
contain are empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["TABLES", "Table", "command_of", "load", "number", "pair", "table_of"]

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

# Displayed names of methods, by their names in the files.
LABELS = {
    "optuna-tpe": "Optuna TPE",
    "optuna-gp": "Optuna GP",
    "skopt": "scikit-optimize",
    "smac": "SMAC",
    "hebo": "HEBO",
    "final": "least possible",
    "shared": "``BayesSearchCV``",
    "plain": "own class",
    "memory": "``Pipeline(memory=)``",
    "grid": "GridSearchCV",
    "own": "own values",
    "after": "default",
    "after@6": "six fits in flight per worker",
    "flaml": "FLAML",
    "autogluon": "AutoGluon",
    "prior": "learned prior",
    "class": "prior of one class",
    "none": "no prior",
}


class Table(NamedTuple):
    """Table of strings: a caption, the names of the columns, and the rows."""

    caption: str
    header: list[str]
    rows: list[list[str]]


def label(name: str) -> str:
    return LABELS.get(name, name)


def number(value: float | None, digits: int = 3, sign: bool = False) -> str:
    if value is None or value != value:
        return ""
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    return text.replace("-", "−")


def pair(
    figures: Sequence[float | None] | None, digits: int = 3, sign: bool = False
) -> str:
    """Return mean ± standard error, or only the mean if there is one run."""
    if not figures or figures[0] is None:
        return ""
    mean, error = figures
    text = number(mean, digits, sign)
    return text if error is None else f"{text} ± {number(error, digits)}"


def _pairs(entry: dict, digits: int, sign: bool = False) -> list[str]:
    errors = entry.get("se", [None] * len(entry["mean"]))
    cells = zip(entry["mean"], errors, strict=True)
    return [pair(cell, digits, sign) for cell in cells]


def _methods(results: dict, caption: str, unit: str) -> Table:
    """One row per method: figures over all tasks, and differences."""
    columns = [f"{n} {unit}".strip() for n in results["columns"]]
    rows = []
    for name, entry in results["groups"]["all"].items():
        apart = [""] * len(columns)
        if "minus_first" in entry:
            apart = _pairs(entry["minus_first"], 0, sign=True)
        rows.append([label(name), str(entry["runs"]), *_pairs(entry, 0), *apart])
    differences = [f"difference, {n}" for n in columns]
    return Table(caption, ["method", "runs", *columns, *differences], rows)


def _tasks(results: dict, caption: str, digits: int, by: str, figure: int = 0) -> Table:
    """One row per task and one column per method, with one of the figures."""
    groups = results["groups"]
    methods = list(dict.fromkeys(m for entries in groups.values() for m in entries))
    rows = [
        [task, *(_pairs(at[m], digits)[figure] if m in at else "" for m in methods)]
        for task, at in groups.items()
    ]
    return Table(caption, [by, *map(label, methods)], rows)


def _ensembles(results: dict) -> Table:
    """One row per learner: mean log ratio, shares of the runs, and members."""
    rows = [
        [name, str(at["ensemble"]["runs"]), *_pairs(at["ensemble"], 0)]
        for name, at in results["groups"].items()
    ]
    caption = (
        "Mean log ratio (× 1000) of the loss on new rows to the loss of the best "
        "configuration, refitted on all rows, the percentages of searches with a "
        "smaller and a greater loss, and the number of members, ± standard errors."
    )
    header = ["learner", "searches", "log ratio × 1000", "smaller (%)", "greater (%)"]
    return Table(caption, [*header, "members"], rows)


def _priors(results: dict) -> Table:
    """One row per estimator: regret of each method after 5 and 20 trials."""
    groups, columns = results["groups"], results["columns"]
    shown = [
        (method, columns.index(n))
        for n in (5, 20)
        for method in groups["all"]
        if n == 5 or method in ("prior", "none")
    ]
    portfolios = ("flaml", "autogluon")  # of some estimators only
    rows = [
        [
            name,
            *(
                _pairs(at[method], 0)[place]
                if method in at and not (name == "all" and method in portfolios)
                else ""
                for method, place in shown
            ),
        ]
        for name, at in groups.items()
    ]
    header = [f"{label(method)}, {columns[place]}" for method, place in shown]
    caption = (
        "Normalized regret × 1000 after 5 and 20 trials on tables that were left out, "
        "mean ± standard error over tables, scores and seeds. 0 is the best of the "
        "configurations, and 1000 is the median random one. FLAML and AutoGluon "
        "have portfolios for some of the estimators."
    )
    return Table(caption, ["estimator", *header], rows)


def _engine_overhead(results: dict) -> Table:
    ms = results["ms"]
    rows = [
        [name, number(at["median"], 2), number(journal.get("median"), 2)]
        for name, at in ms.items()
        if "smallest" in at and not name.endswith("journal")
        for journal in [ms.get(f"{name} journal", {})]
    ]
    caption = (
        "Milliseconds per trial, without proposals and fits. In the first column, loop "
        "is the scheduling alone, and grid is GridSearchCV."
    )
    return Table(caption, ["search", "without journal", "with journal"], rows)


REGRET = (
    "Normalized regret × 1000, mean ± standard error over tasks and seeds. 0 is the "
    "best known score, and 1000 is the score of the median random trial. Differences "
    "from skbayes are paired."
)
# Functions that make the tables, by the name of the file.
TABLES: dict[str, Callable[[dict], Table]] = {
    "ensembles/table": _ensembles,
    **{
        f"judges/{name}": partial(_methods, caption=f"{title}. {REGRET}", unit="trials")
        for name, title in (
            ("sklearn", "60 tasks of scikit-learn estimators"),
            ("lcbench-40", "34 tasks of perceptrons"),
            ("xgboost", "119 tasks of XGBoost"),
        )
    },
    "nmt/bleu": partial(
        _tasks,
        caption="Rows until the best one, mean ± standard error over the runs.",
        digits=1,
        by="table",
    ),
    "define_by_run/define_by_run": partial(
        _tasks,
        caption="Lowest loss × 1000 after 40 trials, mean ± standard error over 30 "
        "seeds.",
        digits=1,
        by="objective",
        figure=-1,
    ),
    "define_by_run/skrub/losses": partial(
        _tasks,
        caption="Lowest mean log loss × 1000 of 10 trials, mean ± standard error over "
        "at least two seeds.",
        digits=0,
        by="data",
    ),
    "overhead/flat": partial(
        _tasks,
        caption="Milliseconds for one tell and the next ask, by the number of "
        "observations.",
        digits=0,
        by="observations",
    ),
    "scale/clock/table": partial(
        _tasks,
        caption="Percentage of the time in which the workers are busy, in simulated "
        "searches of 100,000 trials with five folds.",
        digits=0,
        by="workers/seconds per fit",
    ),
    "engine_overhead/ms": _engine_overhead,
    "judge_priors/pool": _priors,
}


def load(name: str) -> dict[str, Any]:
    """Read one file of results."""
    path = BENCHMARKS / "results" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def table_of(name: str, results: dict[str, Any] | None = None) -> Table:
    """Make the table of one file of results."""
    return TABLES[name](load(name) if results is None else results)


def command_of(name: str) -> str:
    """Return the commands of a benchmark, from the README of the benchmarks."""
    text = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    script = re.escape(name.partition("/")[0])
    section = re.search(
        rf"^## [^\n]*`{script}(?:\.py|/)`\n\n((?:    [^\n]*\n)+)", text, re.MULTILINE
    )
    if section is None:
        raise KeyError(f"benchmarks/README.md has no commands for {name}")
    return re.sub(r"^    ", "", section[1], flags=re.MULTILINE).rstrip("\n")
