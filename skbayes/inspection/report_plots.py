"""Plots of a report and of the summary figure: selection, and rendering to SVG."""

from __future__ import annotations

import io
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np

from skbayes.inspection.advice import few_trials
from skbayes.inspection.base import annotate_empty, import_pyplot
from skbayes.inspection.convergence import ConvergenceDisplay
from skbayes.inspection.dependence import dependences, score_model
from skbayes.inspection.importance import ImportanceDisplay
from skbayes.inspection.parallel_coordinates import ParallelCoordinatesDisplay
from skbayes.inspection.pareto import ParetoDisplay
from skbayes.inspection.partial_dependence import PartialDependenceDisplay
from skbayes.inspection.tradeoff import TradeoffDisplay
from skbayes.results.read import read_record
from skbayes.results.record import FittedSearch, SearchRecord

# Maximum number of hyper-parameters in parallel coordinates. The ones with the most
# trials are plotted.
MOST_AXES = 12

# Minimum number of trials with a score for the plots of effects.
FEWEST_TO_LEARN = 4

DEPENDENCE = "Partial dependence on each hyper-parameter"

# Inches.
WIDTH, HEIGHT, PANEL_HEIGHT = 5.6, 3.6, 2.5


class Plot(NamedTuple):
    """Plot of a report or of the summary figure; `draw(ax=...)` returns its display."""

    title: str
    draw: Callable[..., Any]
    width: float = WIDTH
    height: float = HEIGHT
    # Whether the plot needs the full width, and belongs to the summary figure.
    wide: bool = False
    main: bool = True
    # Why the plot is not drawn; "" if it is.
    reason: str = ""


def drawn_plots(source: Any, record: SearchRecord) -> Iterator[dict[str, Any]]:
    """Yield title, description in words, and SVG of all plots of a report.

    Without an SVG, the description is the reason why the plot could not be drawn.
    """
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    for plot in _plots(source, record):
        file, alt, svg = io.BytesIO(), plot.reason, None
        # The plots do not depend on the active matplotlib style. Texts are outlines,
        # because fonts differ between machines.
        rc = {"svg.fonttype": "path", "svg.hashsalt": plot.title}
        try:
            with style.context(["default", rc]), warnings.catch_warnings():
                # Letters missing from all fonts are drawn as boxes.
                warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
                if not plot.reason:
                    # Draw in a separate figure, so that nothing appears on the user's
                    # screen.
                    size = (plot.width, plot.height)
                    figure = Figure(figsize=size, layout="constrained")
                    FigureCanvasAgg(figure)
                    alt = plot.draw(ax=figure.subplots())._alt
                    figure.savefig(file, format="svg", metadata={"Date": None})
                    svg = file.getvalue()
        except Exception as error:
            # An error in one plot does not prevent the report.
            alt = f"{type(error).__name__}: {error}"
        yield {"title": plot.title, "alt": alt, "svg": svg, "wide": plot.wide}


def draw_summary(
    search: FittedSearch, path: str | os.PathLike[str] | None = None
) -> Any:
    """Draw the main plots of a search in one figure of pyplot, or write it to a file.

    Return the figure, or the path of the file.
    """
    plt = import_pyplot()
    from matplotlib.figure import Figure

    if path is not None:
        _check_image(path)
    main = [plot for plot in _plots(search, read_record(search)) if plot.main]
    narrow = [plot for plot in main if not plot.wide]
    # Rows of two plots or one wide plot.
    rows = [narrow[k : k + 2] for k in range(0, len(narrow), 2)]
    rows += [[plot] for plot in main if plot.wide]
    heights = [max(plot.height for plot in row) for row in rows]
    size: Any = {"figsize": (2 * WIDTH, sum(heights)), "layout": "constrained"}
    figure: Any = Figure(**size) if path is not None else plt.figure(**size)
    parts = figure.subfigures(len(rows), 1, squeeze=False, height_ratios=heights)
    for part, row in zip(parts[:, 0], rows, strict=True):
        panels = part.subfigures(1, len(row), squeeze=False)[0]
        for panel, plot in zip(panels, row, strict=True):
            panel.suptitle(plot.title)
            ax = panel.subplots()
            if plot.reason:
                annotate_empty(ax, fill(plot.reason, 48))
                ax.set_axis_off()
            else:
                plot.draw(ax=ax)
    if path is not None:
        figure.savefig(path)
        return Path(path)
    if "inline" in plt.get_backend():
        plt.close(figure)  # a notebook shows the result of a cell, and not twice
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


def _plots(source: Any, record: SearchRecord) -> Iterator[Plot]:
    def of(display: Any, **options: Any) -> Callable[..., Any]:
        return partial(display.from_search, record, **options)

    few = few_trials(record) or ""
    if not few and np.sum(record.scored) < FEWEST_TO_LEARN:
        few = f"The search has fewer than {FEWEST_TO_LEARN} trials with a score."
    if len(record.directions) > 1:
        yield Plot("Pareto front", of(ParetoDisplay), height=3.8)
        evolution = of(ParetoDisplay, kind="evolution")
        yield Plot("Evolution of the front", evolution, 8.4, 3.4, wide=True)
    else:
        yield Plot("Convergence", of(ConvergenceDisplay))
    if "tradeoff" in record.settings:
        yield Plot("Score against cost", of(TradeoffDisplay), 9.0, wide=True)
    importance = of(ImportanceDisplay)
    yield Plot("Importance of the hyper-parameters", importance, reason=few)
    used = Counter(name for row in record.params for name in row)
    n = len(used)
    if n > 1:
        width = min(3.0 + 1.1 * n, 11.0)
        # With more axes, the names have no room. Each model has separate parameters.
        common = [name for name, _ in used.most_common(MOST_AXES)]
        lines = of(ParallelCoordinatesDisplay, params=common if n > MOST_AXES else None)
        yield Plot("All trials", lines, width, wide=n > 3)
    if few:
        dependence = of(PartialDependenceDisplay)
        yield Plot(DEPENDENCE, dependence, main=False, reason=few)
        return
    try:
        # A fitted search contains a surrogate; the record of a journal has the space.
        model = score_model(source if hasattr(source, "optimizer_") else record)
        found = dependences(model)
    except (ImportError, ValueError):
        return
    if found:
        n_cols, n_rows = min(len(found), 3), -(-len(found) // 3)
        display = PartialDependenceDisplay._of_model(model, found)
        dependence = partial(display.plot, n_cols=n_cols)
        size = 2.9 * n_cols, PANEL_HEIGHT * n_rows
        yield Plot(DEPENDENCE, dependence, *size, wide=n_cols > 2, main=False)
