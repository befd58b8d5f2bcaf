"""Plots of the progress of methods on tables."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from nmt_results import Result

from skbayes.benchmark.metrics import curves, quartiles
from skbayes.benchmark.protocol import N_START
from skbayes.utils.optional import import_optional

__all__ = ["draw"]


def draw(
    results: Sequence[Result], path: str | PathLike[str], length: int = 100
) -> None:
    """Plot median and quartiles of the progress of each method on each table."""
    import_optional("matplotlib", extra="plot", purpose="drawing")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

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
    color = f"C{number % 10}"
    style = "-" if number < 10 else "--"
    at = np.arange(start, start + values.shape[1])
    axis.plot(at, values[1], style, color=color, label=label, drawstyle="steps-post")
    axis.fill_between(
        at, values[0], values[2], color=color, alpha=0.15, step="post", linewidth=0
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
                # The first rows are evaluated at once.
                start = min(N_START, shown)
                panels[result.table.name, result.method] = (
                    start,
                    values[:, start - 1 :],
                )
        rows.append((title, panels))
    errors = {}
    for result in results:
        found = result.errors
        if not result.several and found is not None:
            errors[result.table.name, result.method] = (N_START, found)
    rows.append(("mean squared error", errors))
    return [row for row in rows if row[1]]
