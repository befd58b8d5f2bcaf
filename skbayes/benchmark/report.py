"""Results in the paper's layout, beside the published figures; as JSON; as a picture."""

from __future__ import annotations

import csv
import importlib.metadata
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from os import PathLike
from typing import Any

import numpy as np

from skbayes.benchmark.metrics import (
    Expected,
    Summary,
    curves,
    error_curves,
    expected_of_random,
    quartiles,
    summarize,
)
from skbayes.benchmark.protocol import Run
from skbayes.benchmark.tables import LookupTable

__all__ = ["Result", "as_json", "as_text", "draw", "published"]

MEASURES = {False: ("ftb", "ftc", "fb"), True: ("fto", "fta", "fbp")}
TITLES = {
    False: "One objective (Table 3 of the paper)",
    True: "Several objectives (Table 4 of the paper)",
}

# The paper's names, in Tables 3 and 4, of the methods whose figures ours should repeat.
PUBLISHED_NAMES = {
    "random": ("RS", "RS"),
    "bo_paper_m": ("BO_EI_M", "BO_M"),
    "bo_paper_r": ("BO_EI_R", "BO_R"),
}
PUBLISHED_RUNS = 100

# Tables side by side, and characters of a column.
N_ABREAST, WIDTH = 3, 14


@dataclass(frozen=True)
class Result:
    """What a method did on a table.

    Parameters
    ----------
    table : LookupTable
        The table, with the objectives of the runs.
    method : str
        Name of the method.
    runs : list of Run
        Its runs, at least one.
    cap : int or None
        Rows after which runs ended at the latest.
    """

    table: LookupTable
    method: str
    runs: list[Run]
    cap: int | None = None

    @property
    def several(self) -> bool:
        """Whether there is more than one objective."""
        return self.table.n_objectives > 1

    @property
    def summary(self) -> dict[str, Summary]:
        """Its measures."""
        return summarize(self.runs, self.table)

    @property
    def ms_per_row(self) -> float:
        """Milliseconds on the processor for each row taken."""
        seconds = sum(run.seconds for run in self.runs)
        return 1000 * seconds / sum(len(run.rows) for run in self.runs)


def published() -> dict[tuple[str, str, str], Expected]:
    """Load the figures of Tables 3 and 4 of Zhang & Duh (2020).

    Returns
    -------
    figures : dict of tuple to Expected
        Mean and standard deviation over 100 runs, by language pair, method and
        measure.
    """
    source = files("skbayes.benchmark") / "data" / "published.csv"
    with source.open(encoding="utf-8", newline="") as file:
        return {
            (row["pair"], row["method"], row["metric"]): Expected(
                float(row["mean"]), float(row["sd"])
            )
            for row in csv.DictReader(file)
            # Random search is in both tables, with measures of different names.
        }


# -- text -----------------------------------------------------------------------------


def as_text(results: Sequence[Result]) -> str:
    """Lay results out as the paper does.

    Parameters
    ----------
    results : sequence of Result
        The results.

    Returns
    -------
    text : str
        For one and for several objectives, three tables abreast: mean ± standard
        deviation of each method, the exact expectations of random search, the
        published figures, and how many standard errors lie between ours and those they
        should repeat.
    """
    parts = []
    for several in (False, True):
        chosen = [result for result in results if result.several == several]
        names = list(dict.fromkeys(result.table.name for result in chosen))
        if chosen:
            parts.append(TITLES[several] + ", mean ± sd")
        for first in range(0, len(names), N_ABREAST):
            block = names[first : first + N_ABREAST]
            parts.append(_block([r for r in chosen if r.table.name in block], several))
        parts += _notes(chosen)
    return "\n\n".join(parts)


def _block(results: Sequence[Result], several: bool) -> str:
    """A few tables side by side."""
    tables = {result.table.name: result.table for result in results}
    measures = MEASURES[several]
    columns = [(pair, name) for pair in tables for name in measures]
    methods = list(dict.fromkeys(result.method for result in results))
    names = [method for key, method, _ in _figures(tables, measures)]
    names = list(dict.fromkeys(names))
    found = {(r.table.name, r.method): r.summary for r in results}
    caps = {result.table.name: result.cap for result in results}
    exact = {pair: expected_of_random(tables[pair], caps[pair]) for pair in tables}
    figures = published()
    left = max(len(name) for name in ["against expectation", *methods, *names]) + 2

    def line(label: str, cell: Callable[[str, str], str]) -> str:
        cells = "".join(f"{cell(*column):>{WIDTH}}" for column in columns)
        return f"{label:{left}}{cells}"

    def own(method: str) -> Callable[[str, str], str]:
        return lambda pair, name: _cell(found.get((pair, method), {}).get(name), name)

    def given(method: str) -> Callable[[str, str], str]:
        return lambda pair, name: _cell(figures.get((pair, method, name)), name)

    head = "".join(f"{pair:^{WIDTH * len(measures)}}" for pair in tables)
    lines = [" " * left + head, line("", lambda pair, name: name)]
    lines += [line(method, own(method)) for method in methods]
    lines.append(line("random, exact", lambda p, name: _cell(exact[p][name], name)))
    if names:
        lines.append("published")
        lines += [line("  " + name, given(name)) for name in names]
        lines.append(line("  best", lambda p, name: _best(figures, p, name)))
    lines.append("standard errors apart")
    for method in methods:
        if method == "random":
            cell = _apart(found, method, lambda p, name: (exact[p][name], None))
            lines.append(line("  random, exact", cell))
        if method in PUBLISHED_NAMES:
            name_there = PUBLISHED_NAMES[method][several]
            cell = _apart(
                found,
                method,
                lambda p, name, there=name_there: (
                    figures.get((p, there, name)),
                    PUBLISHED_RUNS,
                ),
            )
            lines.append(line(f"  {method}, {name_there}", cell))
    if lines[-1] == "standard errors apart":
        lines.pop()
    return "\n".join(text.rstrip() for text in lines)


def _figures(
    tables: Mapping[str, LookupTable], measures: Sequence[str]
) -> list[tuple[str, str, str]]:
    return [key for key in published() if key[0] in tables and key[2] in measures]


def _cell(value: Summary | Expected | None, measure: str) -> str:
    if value is None:
        return "-"
    digits = 2 if measure == "fb" else 1
    bound = "≥" if getattr(value, "n_censored", 0) and measure != "fbp" else ""
    return f"{bound}{value.mean:.{digits}f} ± {value.sd:.{digits}f}"


def _best(
    figures: Mapping[tuple[str, str, str], Expected], pair: str, measure: str
) -> str:
    means = [v.mean for (p, _, name), v in figures.items() if (p, name) == (pair, measure)]
    if not means:
        return "-"
    return f"{(max if measure == 'fbp' else min)(means):g}"


def _apart(
    found: Mapping[tuple[str, str], Mapping[str, Summary]],
    method: str,
    other: Callable[[str, str], tuple[Expected | None, int | None]],
) -> Callable[[str, str], str]:
    """Write the difference from another mean, known exactly or from so many runs."""

    def cell(pair: str, measure: str) -> str:
        ours = found.get((pair, method), {}).get(measure)
        theirs, n = other(pair, measure)
        if ours is None or theirs is None:
            return "-"
        if n is None:
            error = theirs.sd / math.sqrt(ours.n)
        else:
            error = math.hypot(ours.se, theirs.sd / math.sqrt(n))
        return f"{(ours.mean - theirs.mean) / error:+.1f}" if error > 0 else "-"

    return cell


def _notes(results: Sequence[Result]) -> list[str]:
    """Say what the cells cannot: censored runs, rows that tie, proposals that missed."""
    notes = []
    for result in results:
        where = f"{result.method} on {result.table.name}"
        cut = [
            f"{name} in {summary.n_censored}"
            for name, summary in result.summary.items()
            if summary.n_censored and name != "ftb_any"
        ]
        if cut:
            notes.append(
                f"{where}: of {len(result.runs)} runs some ended at their cap of "
                f"{result.cap} rows before they had found {', '.join(cut)}; they count "
                "as if they had there: means are lower bounds (≥)."
            )
        n_snapped = sum(run.n_snapped for run in result.runs)
        if n_snapped:
            n_rows = sum(len(run.rows) for run in result.runs)
            notes.append(
                f"{where}: {n_snapped} of {n_rows} rows were taken as the nearest free "
                "ones to proposals that were not."
            )
    for result in results:
        if result.several:
            continue
        score = result.table.scores[:, 0]
        n_best = int(np.sum(score == score.max()))
        if n_best > 1:
            until_any = _cell(result.summary["ftb_any"], "ftb_any")
            notes.append(
                f"{result.method} on {result.table.name}: until any of the {n_best} "
                f"rows that tie for best: {until_any}."
            )
    return ["\n".join(notes)] if notes else []


# -- JSON -----------------------------------------------------------------------------


def as_json(results: Sequence[Result], length: int = 100) -> dict[str, Any]:
    """Turn results into what can be written as JSON.

    Parameters
    ----------
    results : sequence of Result
        The results.
    length : int, default=100
        Number of rows for which the progress is given.

    Returns
    -------
    record : dict
        Measures with their standard errors, quartiles of the progress and of the
        errors, what random search is expected to give, published figures, versions.
    """
    pairs = {result.table.name for result in results}
    record: dict[str, Any] = {
        "versions": {
            name: importlib.metadata.version(name)
            for name in ("skbayes", "numpy", "scipy", "scikit-learn")
        },
        "results": [_record(result, length) for result in results],
        "random, exact": [
            {
                "table": table.name,
                "n_objectives": table.n_objectives,
                "cap": cap,
                **{
                    name: value._asdict()
                    for name, value in expected_of_random(table, cap).items()
                },
            }
            for table, cap in _tables(results)
        ],
        "published": [
            {"table": key[0], "method": key[1], "measure": key[2], **value._asdict()}
            for key, value in published().items()
            if key[0] in pairs
        ],
    }
    return record


def _tables(results: Sequence[Result]) -> list[tuple[LookupTable, int | None]]:
    """Return the tables with their caps, each number of objectives apart."""
    return list(
        {
            (result.table.name, result.several): (result.table, result.cap)
            for result in results
        }.values()
    )


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def _record(result: Result, length: int) -> dict[str, Any]:
    shown = min(length, result.cap or length, len(result.table))
    progress = quartiles(curves(result.runs, result.table, shown))
    record: dict[str, Any] = {
        "table": result.table.name,
        "method": result.method,
        "objectives": list(result.table.objectives),
        "n_runs": len(result.runs),
        "cap": result.cap,
        "n_snapped": sum(run.n_snapped for run in result.runs),
        "ms_per_row": round(result.ms_per_row, 3),
        "measures": {
            name: {
                "mean": _rounded(value.mean),
                "sd": _rounded(value.sd),
                "se": _rounded(value.se),
                "n_censored": value.n_censored,
            }
            for name, value in result.summary.items()
        },
        "progress_quartiles": np.round(progress, 4).tolist(),
    }
    if all(run.errors for run in result.runs):
        errors = quartiles(error_curves(result.runs))
        record["error_quartiles"] = np.round(errors, 4).tolist()
    return record


# -- picture --------------------------------------------------------------------------


def draw(
    results: Sequence[Result], path: str | PathLike[str], length: int = 100
) -> None:
    """Draw the progress of each method on each table: median and quartiles.

    Parameters
    ----------
    results : sequence of Result
        The results.
    path : path-like
        Where the picture is written.
    length : int, default=100
        Number of rows shown.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "pictures need matplotlib: `pip install skbayes[plot]` installs it."
        ) from error
    rows = _picture_rows(results, length)
    pairs = list(dict.fromkeys(result.table.name for result in results))
    methods = list(dict.fromkeys(result.method for result in results))
    figure = Figure(
        figsize=(3.2 * len(pairs) + 1, 2.8 * len(rows) + 0.6), layout="constrained"
    )
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(rows), len(pairs), squeeze=False)
    for line, (title, panels) in zip(axes, rows, strict=True):
        for axis, pair in zip(line, pairs, strict=True):
            axis.set_title(pair)
            axis.set_xlabel("rows taken")
            for (name, method), (start, values) in panels.items():
                if name == pair:
                    _draw_band(axis, start, values, method, methods.index(method))
        line[0].set_ylabel(title)
        line[0].legend(fontsize="small")
    figure.savefig(path, dpi=100)


def _draw_band(axis: Any, start: int, values: Any, label: str, number: int) -> None:
    colour = f"C{number % 10}"
    style = "-" if number < 10 else "--"
    at = np.arange(start, start + values.shape[1])
    axis.plot(at, values[1], style, color=colour, label=label, drawstyle="steps-post")
    axis.fill_between(
        at, values[0], values[2], color=colour, alpha=0.15, step="post", linewidth=0
    )


def _picture_rows(
    results: Sequence[Result], length: int
) -> list[tuple[str, dict[tuple[str, str], tuple[int, Any]]]]:
    """Return title and quartiles by table and method of each row of panels."""
    rows = []
    for several, title in (
        (False, "best score − best found"),
        (True, "rows of the front found"),
    ):
        panels = {}
        for result in results:
            if result.several == several:
                shown = min(length, result.cap or length, len(result.table))
                values = quartiles(curves(result.runs, result.table, shown))
                panels[result.table.name, result.method] = (1, values)
        rows.append((title, panels))
    errors = {}
    for result in results:
        if not result.several and all(run.errors for run in result.runs):
            values = quartiles(error_curves(result.runs))
            n_errors = len(result.runs[0].errors or ())
            first = n_errors and len(result.runs[0].rows[:3])
            errors[result.table.name, result.method] = (first, values)
    rows.append(("mean squared error", errors))
    return [row for row in rows if row[1]]
