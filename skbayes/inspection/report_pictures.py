"""Plots of a report and of the summary figure: selection, and rendering to SVG."""

from __future__ import annotations

import io
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np

from skbayes.inspection import style
from skbayes.inspection.advice import few_trials
from skbayes.inspection.base import import_pyplot
from skbayes.inspection.convergence import ConvergenceDisplay
from skbayes.inspection.dependence import dependences
from skbayes.inspection.importance import ImportanceDisplay
from skbayes.inspection.parallel_coordinates import ParallelCoordinatesDisplay
from skbayes.inspection.pareto_display import ParetoDisplay
from skbayes.inspection.partial_dependence import PartialDependenceDisplay
from skbayes.inspection.score_model import score_model
from skbayes.inspection.stages import StagesDisplay
from skbayes.inspection.tradeoff_display import TradeoffDisplay
from skbayes.results.read import read_record
from skbayes.results.record import SearchRecord

# Maximum number of hyper-parameters in parallel coordinates: those of the most trials.
MOST_AXES = 12

# Minimum number of complete trials for the plots of effects.
FEWEST_TO_LEARN = 4

DEPENDENCE = "Partial dependence on each hyper-parameter"

# Inches.
WIDTH, HEIGHT, PANEL_HEIGHT = 5.6, 3.6, 2.5


class Picture(NamedTuple):
    """Plot of a report."""

    title: str
    # Description in words, or the reason why the plot could not be drawn.
    alt: str
    # None if the plot could not be drawn.
    svg: bytes | None
    # Whether the plot needs the full width.
    wide: bool


@dataclass(frozen=True)
class _Plan:
    """Planned plot: `draw` draws on axes and returns a display."""

    title: str
    draw: Callable[..., Any]
    width: float = WIDTH
    height: float = HEIGHT
    wide: bool = False
    # Whether the summary figure contains the plot.
    main: bool = True
    # Why the plot is not drawn; "" if it is.
    reason: str = ""


def pictures(source: Any, record: SearchRecord) -> Iterator[Picture]:
    """Yield all plots that are possible for a search."""
    from matplotlib import style as styles

    for plan in _plans(source, record):
        # Independent of the active matplotlib style. Texts are outlines, because fonts
        # differ between machines.
        rc = {"svg.fonttype": "path", "svg.hashsalt": plan.title}
        try:
            with styles.context(["default", rc]), warnings.catch_warnings():
                # Letters missing from all fonts are drawn as boxes.
                warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
                picture = _picture(plan)
        except Exception as error:
            # An error in one plot does not prevent the report.
            message = f"{type(error).__name__}: {error}"
            picture = Picture(plan.title, message, None, False)
        yield picture


def _picture(plan: _Plan) -> Picture:
    if plan.reason:
        return Picture(plan.title, plan.reason, None, False)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A separate figure: nothing appears on the user's screen.
    figure = Figure(figsize=(plan.width, plan.height), layout="constrained")
    FigureCanvasAgg(figure)
    display = plan.draw(ax=figure.subplots())
    file = io.BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    return Picture(plan.title, display._alt, file.getvalue(), plan.wide)


def draw_summary(search: Any, is_shown: bool = True) -> Any:
    """Draw the main plots of a search in one figure; `is_shown` opens it in pyplot."""
    plt = import_pyplot()
    from matplotlib.figure import Figure

    main = [plan for plan in _plans(search, read_record(search)) if plan.main]
    narrow = [plan for plan in main if not plan.wide]
    # Rows of two plots or one wide plot.
    rows = [narrow[k : k + 2] for k in range(0, len(narrow), 2)]
    rows += [[plan] for plan in main if plan.wide]
    heights = [max(plan.height for plan in row) for row in rows]
    size: Any = {"figsize": (2 * WIDTH, sum(heights)), "layout": "constrained"}
    figure: Any = plt.figure(**size) if is_shown else Figure(**size)
    parts = figure.subfigures(len(rows), 1, squeeze=False, height_ratios=heights)
    for part, row in zip(parts[:, 0], rows, strict=True):
        panels = part.subfigures(1, len(row), squeeze=False)[0]
        for panel, plan in zip(panels, row, strict=True):
            panel.suptitle(plan.title)
            ax = panel.subplots()
            if plan.reason:
                style.annotate_empty(ax, fill(plan.reason, 48))
                ax.set_axis_off()
            else:
                plan.draw(ax=ax)
    if is_shown and "inline" in plt.get_backend():
        plt.close(figure)  # a notebook shows the result of a cell, and not twice
    return figure


def _plans(source: Any, record: SearchRecord) -> Iterator[_Plan]:
    def of(display: Any, **options: Any) -> Callable[..., Any]:
        return partial(display.from_search, record, **options)

    few = few_trials(record) or ""
    if not few and np.sum(record.complete) < FEWEST_TO_LEARN:
        few = f"The search has fewer than {FEWEST_TO_LEARN} complete trials."
    if len(record.directions) > 1:
        yield _Plan("Pareto front", of(ParetoDisplay), height=3.8)
        evolution = of(ParetoDisplay, kind="evolution")
        yield _Plan("Evolution of the front", evolution, 8.4, 3.4, wide=True)
    else:
        yield _Plan("Convergence", of(ConvergenceDisplay))
    if "tradeoff" in record.settings:
        draw = partial(TradeoffDisplay.from_search, source)
        yield _Plan("Score against cost", draw, 9.0, wide=True)
    if len(np.unique(record.stage)) > 1:
        yield _Plan("Stages", of(StagesDisplay))
    importance = of(ImportanceDisplay)
    yield _Plan("Importance of the hyper-parameters", importance, reason=few)
    used = Counter(name for row in record.params for name in row)
    n = len(used)
    if n > 1:
        width = min(3.0 + 1.1 * n, 11.0)
        # With more axes, the names have no room. Each model has parameters of its own.
        common = [name for name, _ in used.most_common(MOST_AXES)]
        lines = of(ParallelCoordinatesDisplay, params=common if n > MOST_AXES else None)
        yield _Plan("All trials", lines, width, wide=n > 3)
    if few:
        dependence = of(PartialDependenceDisplay)
        yield _Plan(DEPENDENCE, dependence, main=False, reason=few)
    else:
        yield from _of_parameters(source, record)


def _of_parameters(source: Any, record: SearchRecord) -> Iterator[_Plan]:
    """Plan the partial dependence, if a surrogate can be fitted."""
    try:
        # A fitted search contains a surrogate; the record of a journal has the space.
        model = score_model(source if hasattr(source, "optimizer_") else record)
        found = dependences(model)
    except (ImportError, ValueError):
        return
    if not found:
        return
    n_cols, n_rows = min(len(found), 3), -(-len(found) // 3)
    yield _Plan(
        DEPENDENCE,
        partial(PartialDependenceDisplay._of_model(model, found).plot, n_cols=n_cols),
        2.9 * n_cols,
        PANEL_HEIGHT * n_rows,
        wide=n_cols > 2,
        main=False,
    )
