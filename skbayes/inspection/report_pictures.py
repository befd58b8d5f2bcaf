"""The pictures of a report: which of them a search needs, drawn off the screen."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from skbayes.results.record import SearchRecord

__all__ = ["Picture", "pictures"]

# With fewer scored trials than this nothing can be learnt of parameters.
FEWEST_TO_LEARN = 4

# Inches.
WIDTH, PANEL_HEIGHT = 5.6, 2.5


@dataclass(frozen=True)
class Picture:
    """A picture of a report.

    Parameters
    ----------
    title : str
        Its title.
    alt : str
        What it says, in words; or why it could not be drawn.
    svg : bytes or None
        The picture; None if it could not be drawn.
    wide : bool
        Whether it needs the whole width.
    """

    title: str
    alt: str
    svg: bytes | None
    wide: bool


@dataclass(frozen=True)
class _Plan:
    """A picture to be drawn: `draw` gets axes, and returns what the picture says."""

    title: str
    draw: Callable[[Any], str]
    height: float = 3.6
    width: float = WIDTH
    wide: bool = False


def pictures(source: Any, record: SearchRecord) -> Iterator[Picture]:
    """Draw what can be drawn of a search.

    Parameters
    ----------
    source : object
        What the record was read from.
    record : SearchRecord
        Its trials.

    Yields
    ------
    picture : Picture
        One after the other.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    from matplotlib import style

    for plan in _plans(source, record):
        # Pages look the same whatever style is set. Texts are outlines, because fonts
        # are not the same on every machine.
        own = {"svg.fonttype": "path", "svg.hashsalt": plan.title}
        try:
            with style.context(["default", own]):
                picture = _picture(plan)
        except Exception as error:
            # A page without one picture is better than none.
            said = f"{type(error).__name__}: {error}"
            picture = Picture(plan.title, said, None, False)
        yield picture


def _picture(plan: _Plan) -> Picture:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A figure of its own: nothing appears on the user's screen.
    drawn = Figure(figsize=(plan.width, plan.height), layout="constrained")
    FigureCanvasAgg(drawn)
    alt = plan.draw(drawn.subplots())
    file = io.BytesIO()
    drawn.savefig(file, format="svg", metadata={"Date": None})
    return Picture(plan.title, alt, file.getvalue(), plan.wide)


def _plans(source: Any, record: SearchRecord) -> Iterator[_Plan]:
    several = len(record.directions) > 1
    n_scored = int(np.sum(record.complete))
    if several:
        yield _Plan("Pareto front", lambda ax: _pareto(ax, source, "front"), 3.8)
        yield _Plan(
            "How the front came about",
            lambda ax: _pareto(ax, source, "evolution"),
            3.4,
            8.4,
            wide=True,
        )
    else:
        yield _Plan("Convergence", lambda ax: _convergence(ax, record))
    if "tradeoff" in record.settings:
        yield _Plan(
            "Score against cost", lambda ax: _tradeoff(ax, source), 3.6, 9.0, wide=True
        )
    if len(np.unique(record.stage)) > 1:
        yield _Plan("Stages", lambda ax: _stages(ax, record))
    if n_scored >= FEWEST_TO_LEARN:
        yield _Plan("Importance of the parameters", lambda ax: _importance(ax, record))
    names = sorted({name for one in record.params for name in one})
    if len(names) > 1:
        yield _Plan(
            "All trials",
            lambda ax: _parallel(ax, record),
            3.6,
            min(3.0 + 1.1 * len(names), 11.0),
            wide=len(names) > 3,
        )
    if n_scored >= FEWEST_TO_LEARN:
        yield from _of_parameters(source, record)
    if (record.n_points or 1) > 1 or record.running:
        yield _Plan("Trials over time", lambda ax: _timeline(ax, record))


def _of_parameters(source: Any, record: SearchRecord) -> Iterator[_Plan]:
    """Plan the model's view, or, where there is none, the trials as they are."""
    from skbayes.inspection.dependence import dependences
    from skbayes.inspection.partial_dependence import PartialDependenceDisplay
    from skbayes.inspection.score_model import score_model

    try:
        # A fitted search has a model; of a journal the record knows the space.
        model = score_model(source if hasattr(source, "optimizer_") else record)
        found = dependences(model)
    except (ImportError, ValueError):
        found = []
    if not found:
        yield _Plan("Score by parameter", lambda ax: _slices(ax, record), 5.0)
        return
    record = model.record
    display = PartialDependenceDisplay(
        found, label=record.label, sign=record.sign, floor=model.floor
    )

    def draw(ax: Any) -> str:
        display.plot(ax, n_cols=min(len(found), 3))
        spans = {
            one.names[0]: float(np.nanmax(one.mean) - np.nanmin(one.mean))
            for one in found
        }
        widest = max(spans, key=lambda name: spans[name])
        return (
            "Partial dependence: what the model expects of the score at each value of "
            "a parameter, averaged over the others, with a band of two standard "
            f"deviations. It varies most with {widest}, by {spans[widest]:.3g}."
        )

    n_rows = -(-len(found) // 3)
    yield _Plan(
        "What the model believes of each parameter",
        draw,
        PANEL_HEIGHT * n_rows,
        2.9 * min(len(found), 3),
        wide=len(found) > 2,
    )


# -- one by one -----------------------------------------------------------------------


def _convergence(ax: Any, record: SearchRecord) -> str:
    from skbayes.inspection import ConvergenceDisplay

    ConvergenceDisplay.from_history(record, ax=ax)
    if record.best is None:
        return "Convergence: no trial has a score yet."
    return (
        f"Convergence: the {record.label} of {len(record)} trials and the best so far, "
        f"which in the end is {record.shown[record.best]:.4g}, of trial "
        f"{record.number[record.best]}."
    )


def _pareto(ax: Any, source: Any, kind: str) -> str:
    from skbayes.inspection import ParetoDisplay

    display = ParetoDisplay.from_history(source, ax=ax, kind=kind)
    if not len(display.front):
        return "No trial has a value for every objective yet."
    ends = ", ".join(
        f"{name} from {column.min():.4g} to {column.max():.4g}"
        for name, column in zip(
            display.objectives, display.values[display.front].T, strict=True
        )
    )
    if kind == "front":
        return f"Pareto front of {len(display.front)} trials: {ends}."
    return (
        "Fronts after some of the trials, and the hypervolume, which reaches "
        f"{display.hypervolume[-1]:.3g} of the box after {len(display.values)} trials."
    )


def _tradeoff(ax: Any, source: Any) -> str:
    from skbayes.inspection import TradeoffDisplay

    display = TradeoffDisplay.from_history(source, ax=ax)
    trials = ", ".join(str(display.numbers[row]) for row in display.rows)
    return (
        f"Score against {display.cost_label} of all trials, and the trials that are "
        f"the best for some tradeoff, from 0 upwards: {trials}."
    )


def _stages(ax: Any, record: SearchRecord) -> str:
    from skbayes.inspection import StagesDisplay

    StagesDisplay.from_history(record, ax=ax)
    counts = [int(np.sum(record.stage == k)) for k in np.unique(record.stage)]
    return (
        f"Stages: {' and '.join(map(str, counts))} trials, one stage after the other."
    )


def _importance(ax: Any, record: SearchRecord) -> str:
    from skbayes.inspection import ImportanceDisplay

    display = ImportanceDisplay.from_history(record, ax=ax)
    parts = list(display.importance.single.items())[:5]
    listed = ", ".join(f"{name} {part:.0%}" for name, part in parts)
    return f"Share of the variance of the score that each parameter explains: {listed}."


def _parallel(ax: Any, record: SearchRecord) -> str:
    from skbayes.inspection import ParallelCoordinatesDisplay

    ParallelCoordinatesDisplay.from_history(record, ax=ax)
    return (
        "Parallel coordinates: a line for each trial through the values of its "
        "parameters; the better the score, the darker."
    )


def _slices(ax: Any, record: SearchRecord) -> str:
    from skbayes.inspection import SliceDisplay

    SliceDisplay.from_history(record, ax=ax)
    return "The score of each trial against each of its parameters."


def _timeline(ax: Any, record: SearchRecord) -> str:
    from skbayes.inspection import TimelineDisplay

    TimelineDisplay.from_history(record, ax=ax)
    return (
        f"When each of {len(record)} trials ran, {record.n_points or 'some'} at a time."
    )
