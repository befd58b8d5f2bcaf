"""Summary figure and HTML page of a fitted search."""

from __future__ import annotations

import base64
import io
import os
from collections import Counter
from collections.abc import Iterator
from functools import partial
from html import escape
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np

from skbayes.inspection.advice import few_trials
from skbayes.inspection.convergence import ConvergenceDisplay
from skbayes.inspection.drawing import annotate_empty, import_pyplot
from skbayes.inspection.html import effort_html, result_html
from skbayes.inspection.importance import ImportanceDisplay
from skbayes.inspection.parallel_coordinates import ParallelCoordinatesDisplay
from skbayes.inspection.pareto import ParetoDisplay
from skbayes.inspection.tradeoff import TradeoffDisplay
from skbayes.results.read import read_record
from skbayes.results.record import FittedSearch, SearchRecord
from skbayes.space.dimensions import is_number
from skbayes.utils.texts import printable

# Maximum number of hyper-parameters in parallel coordinates: the ones with the most
# trials.
MAX_AXES = 12

# Minimum number of trials with a score for the plots of effects.
MIN_SCORED_TRIALS = 4

# Inches.
WIDTH, HEIGHT = 5.6, 3.6

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font-family: sans-serif; margin: 2em }} img {{ max-width: 100% }}
table {{ border-collapse: collapse; white-space: nowrap }}
td, th {{ text-align: left; padding: 0.1em 0.8em 0.1em 0; vertical-align: top }}</style>
</head><body><h1>{title}</h1>
{result}
{figure}
<h2>Trials</h2>
{trials}
</body></html>
"""


class Panel(NamedTuple):
    """Plot of the summary figure; `draw(ax=...)` returns its display."""

    title: str
    draw: Any
    width: float = WIDTH
    height: float = HEIGHT
    # Whether the plot needs the full width.
    wide: bool = False
    # Why the plot is not drawn; "" if it is.
    reason: str = ""


def write_report(search: FittedSearch, path: str | os.PathLike[str]) -> Path:
    """Write the page of a search."""
    record, target = read_record(search), Path(path)
    last = getattr(search.estimator, "steps", None) or [("", search.estimator)]
    title = escape(f"{type(search).__name__}: {type(last[-1][1]).__name__}")
    result = result_html(search) + effort_html(search)
    page = PAGE.format(
        title=title, result=result, figure=_image(record), trials=_trials(record)
    )
    target.write_text(printable(page, except_for="\n\t"), encoding="utf-8")
    return target


def _image(record: SearchRecord) -> str:
    """Return the summary figure as an HTML image, or why there is none."""
    try:
        from matplotlib import style
    except ImportError:
        return "<p>The plots require matplotlib.</p>"
    file = io.BytesIO()
    with style.context("default"):
        _figure(record).savefig(file, format="png", dpi=100)
    data = base64.b64encode(file.getvalue()).decode("ascii")
    titles = ", ".join(panel.title for panel in _panels(record))
    return f'<img alt="{escape(titles)}" src="data:image/png;base64,{data}">'


def draw_summary(
    search: FittedSearch, path: str | os.PathLike[str] | None = None
) -> Any:
    """Draw the main plots of a search in one figure of pyplot, or write it to a file.

    Return the figure, or the path of the file.
    """
    plt = import_pyplot()
    if path is None:
        figure = _figure(read_record(search), plt.figure)
        if "inline" in plt.get_backend():
            plt.close(figure)  # a notebook already shows the result of a cell
        return figure
    _check_image(path)
    _figure(read_record(search)).savefig(path)
    return Path(path)


def _figure(record: SearchRecord, make: Any = None) -> Any:
    from matplotlib.figure import Figure

    panels = list(_panels(record))
    narrow = [panel for panel in panels if not panel.wide]
    # Rows of two plots or one wide plot.
    rows = [narrow[k : k + 2] for k in range(0, len(narrow), 2)]
    rows += [[panel] for panel in panels if panel.wide]
    heights = [max(panel.height for panel in row) for row in rows]
    size: Any = {"figsize": (2 * WIDTH, sum(heights)), "layout": "constrained"}
    figure: Any = (make or Figure)(**size)
    parts = figure.subfigures(len(rows), 1, squeeze=False, height_ratios=heights)
    for part, row in zip(parts[:, 0], rows, strict=True):
        places = part.subfigures(1, len(row), squeeze=False)[0]
        for place, panel in zip(places, row, strict=True):
            place.suptitle(panel.title)
            ax = place.subplots()
            if panel.reason:
                annotate_empty(ax, fill(panel.reason, 48))
                ax.set_axis_off()
            else:
                panel.draw(ax=ax)
    return figure


def _check_image(path: Any) -> None:
    """Raise an error unless an image can be written to the path."""
    from matplotlib.backend_bases import FigureCanvasBase

    formats = FigureCanvasBase.get_supported_filetypes()
    target = Path(path) if isinstance(path, str | os.PathLike) else Path()
    if target.suffix[1:].lower() not in formats:
        raise ValueError(
            f"path must be an image file such as 'search.png', got {path!r}. For a "
            "single plot, use a display of skbayes.inspection, such as "
            "ConvergenceDisplay.from_search(search)."
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(f"path: there is no folder {str(target.parent)!r}.")


def _panels(record: SearchRecord) -> Iterator[Panel]:
    def of(display: Any, **options: Any) -> Any:
        return partial(display.from_search, record, **options)

    reason = few_trials(record) or ""
    if not reason and np.sum(record.scored) < MIN_SCORED_TRIALS:
        reason = f"The search has fewer than {MIN_SCORED_TRIALS} trials with a score."
    if len(record.directions) > 1:
        yield Panel("Pareto front", of(ParetoDisplay), height=3.8)
    else:
        yield Panel("Convergence", of(ConvergenceDisplay))
    if "tradeoff" in record.settings:
        yield Panel("Score against cost", of(TradeoffDisplay), 9.0, wide=True)
    importance = of(ImportanceDisplay)
    yield Panel("Importance of the hyper-parameters", importance, reason=reason)
    counts = Counter(name for row in record.params for name in row)
    n = len(counts)
    if n > 1:
        width = min(3.0 + 1.1 * n, 11.0)
        # More axes would leave no space for names. Each model has its own parameters.
        common = [name for name, _ in counts.most_common(MAX_AXES)]
        lines = of(ParallelCoordinatesDisplay, params=common if n > MAX_AXES else None)
        yield Panel("All trials", lines, width, wide=n > 3)


def _trials(record: SearchRecord) -> str:
    """Return the table of the trials as HTML."""
    columns: dict[str, Any] = {"trial": record.number, "state": record.state}
    if not record.directions:
        columns |= {record.title: record.shown, "± std": record.std}
    for name, means in record.scores.items():
        if name in record.directions or name != record.metric:
            columns[name] = means
    for name in sorted({name for params in record.params for name in params}):
        columns[name] = [params.get(name, "") for params in record.params]
    if len(np.unique(record.train_fraction)) > 1:
        columns["train_fraction"] = record.train_fraction
    columns |= record.costs | record.outcomes
    columns["seconds"] = record.duration
    errors = [
        (trial.error or "").strip().rpartition("\n")[2] for trial in record.trials
    ]
    if any(errors):
        columns["error"] = errors
    rows = zip(*columns.values(), strict=True)
    html = "".join(
        f"<tr>{''.join(f'<td>{escape(_text(value))}</td>' for value in row)}</tr>\n"
        for row in rows
    )
    names = "".join(f"<th>{escape(name)}</th>" for name in columns)
    return f"<table><tr>{names}</tr>\n{html}</table>"


def _text(value: Any) -> str:
    """Return a number with five digits, and any other value as text."""
    if is_number(value):
        return "" if value != value else f"{value:.5g}"
    try:
        return value if isinstance(value, str) else repr(value)
    except Exception:
        return f"<{type(value).__name__}>"
