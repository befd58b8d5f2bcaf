"""Plots of a report and of the summary figure: selection, and rendering to SVG."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from skbayes.inspection.base import import_pyplot
from skbayes.inspection.convergence import ConvergenceDisplay
from skbayes.inspection.dependence import dependences
from skbayes.inspection.importance_display import ImportanceDisplay
from skbayes.inspection.parallel_coordinates import ParallelCoordinatesDisplay
from skbayes.inspection.pareto_display import ParetoDisplay
from skbayes.inspection.partial_dependence import PartialDependenceDisplay
from skbayes.inspection.rounds_display import RoundsDisplay
from skbayes.inspection.score_model import score_model
from skbayes.inspection.slices import SliceDisplay
from skbayes.inspection.stages import StagesDisplay
from skbayes.inspection.timeline import TimelineDisplay
from skbayes.inspection.tradeoff_display import TradeoffDisplay
from skbayes.results.read import read_record
from skbayes.results.record import SearchRecord

__all__ = ["Picture", "draw_summary", "pictures"]

# Minimum number of trials with a score for plots of hyper-parameters.
FEWEST_TO_LEARN = 4

# Inches.
WIDTH, HEIGHT, PANEL_HEIGHT = 5.6, 3.6, 2.5


@dataclass(frozen=True)
class Picture:
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
    """Planned plot: `draw` draws on axes and returns a description."""

    title: str
    draw: Callable[[Any], str]
    width: float = WIDTH
    height: float = HEIGHT
    wide: bool = False
    # Whether the summary figure contains the plot.
    main: bool = True


def pictures(source: Any, record: SearchRecord) -> Iterator[Picture]:
    """Yield all plots that are possible for a search."""
    from matplotlib import style

    for plan in _plans(source, record):
        # Independent of the active matplotlib style. Texts are outlines, because fonts
        # differ between machines.
        rc = {"svg.fonttype": "path", "svg.hashsalt": plan.title}
        try:
            with style.context(["default", rc]), warnings.catch_warnings():
                # Letters missing from all fonts are drawn as boxes.
                warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
                picture = _picture(plan)
        except Exception as error:
            # An error in one plot does not prevent the report.
            message = f"{type(error).__name__}: {error}"
            picture = Picture(plan.title, message, None, False)
        yield picture


def _picture(plan: _Plan) -> Picture:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A separate figure: nothing appears on the user's screen.
    drawn = Figure(figsize=(plan.width, plan.height), layout="constrained")
    FigureCanvasAgg(drawn)
    alt = plan.draw(drawn.subplots())
    file = io.BytesIO()
    drawn.savefig(file, format="svg", metadata={"Date": None})
    return Picture(plan.title, alt, file.getvalue(), plan.wide)


def draw_summary(search: Any) -> np.ndarray:
    """Draw the main plots of a search in one figure; return their axes."""
    plt = import_pyplot()
    main = [plan for plan in _plans(search, read_record(search)) if plan.main]
    narrow = [plan for plan in main if not plan.wide]
    # Rows of two plots or one wide plot.
    rows = [narrow[k : k + 2] for k in range(0, len(narrow), 2)]
    rows += [[plan] for plan in main if plan.wide]
    heights = [max(plan.height for plan in row) for row in rows]
    figure = plt.figure(figsize=(2 * WIDTH, sum(heights)), layout="constrained")
    parts = figure.subfigures(len(rows), 1, squeeze=False, height_ratios=heights)
    for part, row in zip(parts[:, 0], rows, strict=True):
        panels = part.subfigures(1, len(row), squeeze=False)[0]
        for panel, plan in zip(panels, row, strict=True):
            panel.suptitle(plan.title)
            plan.draw(panel.subplots())
    return np.array(figure.axes, dtype=object)


def _plans(source: Any, record: SearchRecord) -> Iterator[_Plan]:
    n_scored = int(np.sum(record.complete))
    if len(record.directions) > 1:
        yield _Plan("Pareto front", lambda ax: _front(ax, record), height=3.8)
        title = "Evolution of the front"
        yield _Plan(title, lambda ax: _evolution(ax, record), 8.4, 3.4, wide=True)
    else:
        yield _Plan("Convergence", lambda ax: _convergence(ax, record))
    if "tradeoff" in record.settings:
        title = "Score against cost"
        yield _Plan(title, lambda ax: _tradeoff(ax, source), 9.0, wide=True)
    if len(np.unique(record.stage)) > 1:
        yield _Plan("Stages", lambda ax: _stages(ax, record))
    if any(curve is not None for curve in record.curves):
        yield _Plan("Scores after each round", lambda ax: _rounds(ax, record))
    if n_scored >= FEWEST_TO_LEARN:
        title = "Importance of the hyper-parameters"
        yield _Plan(title, lambda ax: _importance(ax, record))
    n = len({name for row in record.params for name in row})
    if n > 1:
        width = min(3.0 + 1.1 * n, 11.0)
        yield _Plan("All trials", lambda ax: _parallel(ax, record), width, wide=n > 3)
    if n_scored >= FEWEST_TO_LEARN:
        yield _of_parameters(source, record)
    if (record.n_points or 1) > 1 or record.running:
        title = "Trials over time"
        yield _Plan(title, lambda ax: _timeline(ax, record), main=False)


def _of_parameters(source: Any, record: SearchRecord) -> _Plan:
    """Plan the partial dependence, or slices if no surrogate can be fitted."""
    try:
        # A fitted search contains a surrogate; the record of a journal has the space.
        model = score_model(source if hasattr(source, "optimizer_") else record)
        found = dependences(model)
    except (ImportError, ValueError):
        found = []
    if not found:
        title = "Score by hyper-parameter"
        return _Plan(title, lambda ax: _slices(ax, record), height=5.0, main=False)
    display = PartialDependenceDisplay._of_model(model, found)
    n = len(found)
    return _Plan(
        "Partial dependence on each hyper-parameter",
        lambda ax: _dependence(display.plot(ax, n_cols=min(n, 3))),
        2.9 * min(n, 3),
        PANEL_HEIGHT * -(-n // 3),
        wide=n > 2,
        main=False,
    )


# -- single plots ---------------------------------------------------------------------


def _convergence(ax: Any, record: SearchRecord) -> str:
    ConvergenceDisplay.from_history(record, ax=ax)
    if record.best is None:
        return "Convergence: no trial has a score yet."
    return (
        f"Convergence: {record.label} of {len(record)} trials, and the best so far. "
        f"The best is {record.shown[record.best]:.4g}, of trial "
        f"{record.number[record.best]}."
    )


def _front(ax: Any, record: SearchRecord) -> str:
    display = ParetoDisplay.from_history(record, ax=ax)
    if not len(display.front):
        return "No trial has a value for every objective yet."
    columns = zip(display.objectives, display.values[display.front].T, strict=True)
    ends = [f"{name} from {v.min():.4g} to {v.max():.4g}" for name, v in columns]
    return f"Pareto front of {len(display.front)} trials: {', '.join(ends)}."


def _evolution(ax: Any, record: SearchRecord) -> str:
    display = ParetoDisplay.from_history(record, ax=ax, kind="evolution")
    if not len(display.front):
        return "No trial has a value for every objective yet."
    return (
        "Fronts after some of the trials, and the hypervolume. It reaches "
        f"{display.hypervolume[-1]:.3g} of the box after {len(display.values)} trials."
    )


def _tradeoff(ax: Any, source: Any) -> str:
    display = TradeoffDisplay.from_history(source, ax=ax)
    trials = ", ".join(str(display.numbers[row]) for row in display.rows)
    return (
        f"Score against {display.cost_label} of all trials. The best trials for "
        f"increasing tradeoffs, from 0 on: {trials}."
    )


def _stages(ax: Any, record: SearchRecord) -> str:
    StagesDisplay.from_history(record, ax=ax)
    counts = [str(np.sum(record.stage == k)) for k in np.unique(record.stage)]
    return f"Scores of the stages, with {' and '.join(counts)} trials."


def _rounds(ax: Any, record: SearchRecord) -> str:
    display = RoundsDisplay.from_history(record, ax=ax)
    text = f"{record.label} of {len(display.number)} trials after each round"
    if display.best is None:
        return f"{text}."
    chosen, number = display.chosen[display.best], display.number[display.best]
    return f"{text}; the best is trial {number} with {chosen} rounds."


def _importance(ax: Any, record: SearchRecord) -> str:
    display = ImportanceDisplay.from_history(record, ax=ax)
    parts = list(display.importance.single.items())[:5]
    listed = ", ".join(f"{name} {part:.0%}" for name, part in parts)
    return (
        "Share of the variance of the score that each hyper-parameter explains: "
        f"{listed}."
    )


def _parallel(ax: Any, record: SearchRecord) -> str:
    ParallelCoordinatesDisplay.from_history(record, ax=ax)
    return (
        "Parallel coordinates: each trial is a line through the values of its "
        "hyper-parameters. Lines of better scores are darker."
    )


def _dependence(display: PartialDependenceDisplay) -> str:
    spans = {
        dependence.names[0]: float(
            np.nanmax(dependence.mean) - np.nanmin(dependence.mean)
        )
        for dependence in display.dependences
    }
    widest = max(spans, key=lambda name: spans[name])
    return (
        "Partial dependence: predicted score at each value of a hyper-parameter, "
        "averaged over the others, with a band of two standard deviations. The largest "
        f"range is that of {widest}, {spans[widest]:.3g}."
    )


def _slices(ax: Any, record: SearchRecord) -> str:
    SliceDisplay.from_history(record, ax=ax)
    return "Score of each trial against each of its hyper-parameters."


def _timeline(ax: Any, record: SearchRecord) -> str:
    TimelineDisplay.from_history(record, ax=ax)
    n = record.n_points or "some"
    return f"Timeline of {len(record)} trials, {n} in parallel."
