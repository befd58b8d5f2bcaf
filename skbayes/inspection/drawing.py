"""Base of the displays: shared texts of docstrings, axes, colors and markers.

The colors are from the color-blind safe palette of Okabe & Ito, ordered so that
neighbors also differ in lightness. Lines and markers differ as well, so that plots are
readable in gray. Colors that are black on white in matplotlib's default style are
derived from the background of the axes, which supports dark styles.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np

from skbayes.results.read import read_record
from skbayes.results.record import AnySource, SearchRecord
from skbayes.space.dimensions import FloatArray
from skbayes.utils.optional import import_optional

RGB = tuple[float, float, float]

# Share of the foreground in gray and in faint lines; the rest is the background.
GRAY_SHARE, FAINT_SHARE = 0.57, 0.216

# Share of the foreground in colors on a dark background.
FOREGROUND_SHARE = 0.25

# Minimum contrast of texts, as defined by WCAG 2.
MIN_CONTRAST = 4.5

# Ids by which the artists of a plot are found when another search is added: eligible
# trials, other trials, failed trials, and marks of points outside the limits.
TRIALS, OTHERS = "skbayes: trials", "skbayes: other trials"
FAILURES, EDGE = "skbayes: failed", "skbayes: outside"
OWN = "skbayes: own values"

# Minimum ratio of the largest to the smallest cost for a logarithmic scale.
COST_SPAN = 20.0

# Scores below the median are outside the limits if their distance from it exceeds this
# multiple of the best score's distance.
MAX_DISTANCE = 3.0

# Minimum share of the trials inside the limits.
MIN_SHARE_INSIDE = 0.7


class _Display:
    """Base class of the displays.

    In a docstring of a subclass, a line such as "%(record)s" stands for the entry of
    this name in the docstrings of this class.

    Parameters
    ----------
    record : SearchRecord
        Trials of a search, the output of :func:`skbayes.inspection.read_record`.
    search_spaces : dict, list of dict, Space or None, default=None
        Search space. By default, the space of a fitted search. For a journal or a
        history, it is guessed from the values that were tried.

    Attributes
    ----------
    axes_ : ndarray of matplotlib.axes.Axes
        Axes of the panels.
    ax_ : matplotlib.axes.Axes
        Axes of the plot, or of its first panel.
    figure_ : matplotlib.figure.Figure
        Figure of the plot.
    """

    def __init__(self, record: SearchRecord) -> None:
        self.record = record

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for member in (cls, *map(vars(cls).get, ("from_search", "plot"))):
            documented = getattr(member, "__func__", member)
            if documented is not None and documented.__doc__:
                documented.__doc__ = _filled(documented.__doc__)

    @classmethod
    def from_search(
        cls,
        search: AnySource,
        *,
        metric: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the trials of a search.

        Parameters
        ----------
        search : estimator, History, str, os.PathLike or SearchRecord
            Fitted search of skbayes or scikit-learn, its ``trials_``, the path of its
            journal (the search can still be running), or the output of
            :func:`skbayes.inspection.read_record`.
        metric : str or None, default=None
            Name of the metric to plot. By default, the metric that guided the search.
        ax : matplotlib.axes.Axes, array-like of Axes, or None, default=None
            Axes to draw on. By default, axes of a new figure. A plot with several
            panels takes one axes object for each panel, or a single one, which is
            divided.
        **options : dict
            Arguments of :meth:`plot`.

        Returns
        -------
        display : object
            The display, an instance of this class, already drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        OSError
            If a journal cannot be read.
        TypeError, ValueError
            If an argument is invalid.
        sklearn.exceptions.NotFittedError
            If the search was not fitted.
        """
        return cls(read_record(search, metric=metric)).plot(ax, **options)

    @classmethod
    def from_history(cls, history: Any, *args: Any, **options: Any) -> Self:
        """Draw the trials of a running, interrupted or finished search.

        Parameters
        ----------
        history : History, str, os.PathLike or SearchRecord
            ``trials_`` of a search, the path of its journal, or the output of
            :func:`skbayes.inspection.read_record`.
        *args : tuple
            Arguments of :meth:`from_search`.
        **options : dict
            Keyword arguments of :meth:`from_search`.

        Returns
        -------
        display : object
            The display, an instance of this class.
        """
        return cls.from_search(history, *args, **options)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Returns
        -------
        self : object
            The display, with the drawn artists as attributes.
        """
        raise NotImplementedError

    def _drawn_on(self, axes: Any) -> Self:
        self.axes_ = np.atleast_1d(axes)
        self.ax_ = self.axes_[0]
        self.figure_ = self.ax_.figure
        return self


def select_trials(record: SearchRecord, rows: np.ndarray) -> SearchRecord:
    """Return a record of the trials in the given rows, in this order."""

    def select(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value[rows]
        if isinstance(value, dict):
            return {key: select(part) for key, part in value.items()}
        return value

    changes = {name: select(value) for name, value in vars(record).items()}
    for name in ("params", "trials"):
        if changes[name]:
            changes[name] = [changes[name][row] for row in rows]
    for name in ("best", "own_index"):
        place = np.flatnonzero(rows == getattr(record, name))
        changes[name] = int(place[0]) if len(place) else None
    return dataclasses.replace(record, **changes)


@cache
def _shared_entries() -> dict[str, str]:
    """Return the entries of the docstrings above; "Returns" includes "Raises"."""
    entries: dict[str, str] = {}
    for documented in (_Display, _Display.plot, _Display.from_search):
        text = inspect.cleandoc(documented.__doc__ or "")
        parts = re.split(r"(?m)^(?=\S)", text)
        entries |= {re.split(r"\W+", part.lstrip("*"))[0]: part for part in parts}
    entries["Returns"] = text[text.index("Returns\n") :]
    return {name: entry.rstrip() for name, entry in entries.items()}


def _filled(docstring: str) -> str:
    """Substitute the shared entries, with the indentation of their placeholders."""

    def entry(match: re.Match[str]) -> str:
        entries = _shared_entries()
        if match[2] not in entries:
            raise ValueError(f"%({match[2]})s is not one of {', '.join(entries)}.")
        return re.sub(r"(?m)^(?=.)", match[1], entries[match[2]])

    return re.sub(r"(?m)^( *)%\((\w+)\)s$", entry, docstring)


# -- axes -----------------------------------------------------------------------------


def import_pyplot() -> Any:
    """Import matplotlib when it is needed."""
    return import_optional("matplotlib.pyplot", extra="plot", purpose="drawing")


def get_axes(ax: Any = None, figsize: tuple[float, float] = (6.0, 4.0)) -> Any:
    """Return axes to draw on."""
    plt = import_pyplot()
    if ax is None:
        return plt.subplots(figsize=figsize, layout="constrained")[1]
    if not isinstance(ax, plt.Axes):
        raise TypeError(f"ax must be matplotlib axes or None, got {ax!r}.")
    return ax


def get_many_axes(
    ax: Any, n: int, n_cols: int, size: tuple[float, float] = (2.6, 2.3)
) -> np.ndarray:
    """Return several axes to draw on."""
    plt = import_pyplot()
    if not (ax is None or isinstance(ax, plt.Axes)):
        panels = np.ravel(np.asarray(ax, dtype=object))
        if not all(isinstance(axes, plt.Axes) for axes in panels):
            raise TypeError(f"ax must be matplotlib axes or None, got {ax!r}.")
        if (n_given := len(panels)) != n:
            raise ValueError(f"ax must have {n} axes, one per panel, got {n_given}.")
        return panels
    n_cols = min(n, n_cols)
    n_rows = math.ceil(n / n_cols)
    if ax is None:
        figsize = (size[0] * n_cols, size[1] * n_rows)
        figure = plt.figure(figsize=figsize, layout="constrained")
        grid = figure.add_gridspec(n_rows, n_cols)
    else:
        figure, spec = ax.figure, ax.get_subplotspec()
        if spec is None:
            raise ValueError(
                "ax cannot be divided into panels, because it is not in a grid of axes."
            )
        ax.set_axis_off()
        grid = spec.subgridspec(n_rows, n_cols)
    axes = np.empty(n, dtype=object)
    axes[:] = [figure.add_subplot(grid[divmod(k, n_cols)]) for k in range(n)]
    return axes


# -- colors ------------------------------------------------------------------------


@dataclass(frozen=True)
class SeriesStyle:
    """Style of one of several searches."""

    color: str | RGB
    linestyle: Any
    marker: str


# Placeholder for the foreground of the plot.
INK = "#000000"

SERIES = (
    SeriesStyle("#0072B2", "-", "o"),
    SeriesStyle("#E69F00", (0, (6, 2)), "s"),
    SeriesStyle(INK, (0, (1, 1.2)), "^"),
    SeriesStyle("#CC79A7", (0, (6, 2, 1, 2)), "D"),
    SeriesStyle("#D55E00", (0, (3, 1)), "v"),
    SeriesStyle("#56B4E9", (0, (4, 1, 1, 1, 1, 1)), "P"),
    SeriesStyle("#009E73", (0, (1, 3)), "X"),
)


@dataclass(frozen=True)
class Tones:
    """Colors for drawing on a background."""

    background: RGB
    foreground: RGB

    @property
    def gray(self) -> RGB:
        """Color of less important elements."""
        return mixed(self.background, self.foreground, GRAY_SHARE)

    @property
    def faint(self) -> RGB:
        """Color of grid lines."""
        return mixed(self.background, self.foreground, FAINT_SHARE)

    @property
    def dark(self) -> bool:
        """Whether the background is darker than the foreground."""
        return _luminance(self.background) < _luminance(self.foreground)

    def series(self, place: int) -> SeriesStyle:
        """Return the style of one of several searches."""
        from matplotlib.colors import to_rgb

        style = SERIES[place % len(SERIES)]
        if style.color == INK:
            return dataclasses.replace(style, color=self.foreground)
        if not self.dark:
            return style
        return dataclasses.replace(
            style, color=mixed(to_rgb(style.color), self.foreground, FOREGROUND_SHARE)
        )


def tones(where: Any) -> Tones:
    """Return the colors for drawing on axes or a figure."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgb

    black, white = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    texts = to_rgb(rcParams["text.color"])
    # The color behind a transparent figure is inferred from its texts.
    behind = white if _contrast(texts, white) > _contrast(texts, black) else black
    background = _background(where, behind)
    if _contrast(texts, background) >= MIN_CONTRAST:
        return Tones(background, texts)
    return Tones(background, max(black, white, key=lambda c: _contrast(c, background)))


def _background(where: Any, behind: RGB) -> RGB:
    """Return the color of axes or a figure, blended with the color behind it."""
    from matplotlib.colors import to_rgba

    parent = where.figure
    if parent is not None and parent is not where:
        behind = _background(parent, behind)
    *face, alpha = to_rgba(where.get_facecolor())
    return mixed(behind, face, alpha)


def mixed(color: Sequence[float], other: Sequence[float], share: float) -> RGB:
    """Return a blend of two colors."""
    r, g, b = ((1.0 - share) * x + share * y for x, y in zip(color, other, strict=True))
    return r, g, b


def _luminance(color: RGB) -> float:
    """Return the relative luminance, as defined by WCAG 2."""
    r, g, b = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color
    )
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def _contrast(color: RGB, other: RGB) -> float:
    """Return the contrast of two colors, from 1 to 21, as defined by WCAG 2."""
    low, high = sorted((_luminance(color), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def score_colors(dark: bool = False, sign: int = 1) -> Any:
    """Return the color map of scores; better ones have more contrast, even in gray."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    ends = (0.2, 1.0) if dark else (0.92, 0.0)
    shades = colormaps["viridis"](np.linspace(*ends, 256))
    colors = LinearSegmentedColormap.from_list("skbayes", shades)
    return colors if sign > 0 else colors.reversed()


def style_axes(ax: Any, grid: Any = "y", **properties: Any) -> None:
    """Set properties, remove the frame, and draw a grid in the background."""
    ax.set(**properties)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color=tones(ax).faint, linewidth=0.6, alpha=0.7)
    ax.set_axisbelow(True)


def robust_limits(scores: FloatArray, sign: int) -> tuple[float, float] | None:
    """Return the range of scores that excludes outliers on the bad side."""
    y: FloatArray = sign * scores[np.isfinite(scores)]
    if not len(y):
        return None
    best, median = np.max(y), np.median(y)
    quantile = np.quantile(y, 1.0 - MIN_SHARE_INSIDE, method="lower")
    far = min(median - MAX_DISTANCE * (best - median), quantile)
    low = max(np.min(y), far) if best > median else np.min(y)
    margin = 0.06 * (best - low) or 0.05 * abs(best) or 0.05
    first, last = np.sort(sign * np.array([low - margin, best + margin]))
    return float(first), float(last)


def set_robust_ylim(ax: Any, sign: int) -> None:
    """Set the limits without bad outliers, which are marked at the edge instead.

    The line of the estimator's own values is within the limits. Without scores, the
    plot contains the reason.
    """
    for old in [x for x in (*ax.collections, *ax.texts) if x.get_gid() == EDGE]:
        old.remove()
    marks = [c.get_offsets() for c in ax.collections if c.get_gid() in (TRIALS, OTHERS)]
    points = np.vstack([np.empty((0, 2)), *marks])
    points = np.asarray(points[np.isfinite(points).all(axis=1)], dtype=float)
    ends = robust_limits(points[:, 1], sign)
    if ends is None:
        annotate_empty(ax)
        return
    margin = 0.06 * (ends[1] - ends[0])
    for score in [line.get_ydata()[0] for line in ax.lines if line.get_gid() == OWN]:
        ends = min(ends[0], score - margin), max(ends[1], score + margin)
    ax.set_ylim(*ends)
    outside = points[(points[:, 1] < ends[0]) | (points[:, 1] > ends[1])]
    if len(outside):
        ax.scatter(
            outside[:, 0],
            np.full(len(outside), 0.012 if sign > 0 else 0.988),
            s=14,
            marker="v" if sign > 0 else "^",
            color=tones(ax).gray,
            transform=ax.get_xaxis_transform(),
            clip_on=False,
            gid=EDGE,
        )


def mark_failures(ax: Any, x: FloatArray, sign: int, color: Any) -> Any:
    """Mark failed trials at the edge of the worst scores."""
    x = x[np.isfinite(x)]
    marks = ax.scatter(
        x,
        np.full(len(x), 0.03 if sign > 0 else 0.97),
        marker="x",
        s=22,
        linewidths=1.2,
        transform=ax.get_xaxis_transform(),
        gid=FAILURES,
        color=color,
    )
    # Marks without a score must be inside the horizontal limits, too.
    ax.update_datalim(np.column_stack([x, np.zeros(len(x))]), updatey=False)
    ax.autoscale_view(scaley=False)
    return marks


def star(ax: Any, size: float, **keywords: Any) -> dict[str, Any]:
    """Return the keywords of the star of the chosen trial."""
    shades = tones(ax)
    look = {"marker": "*", "markersize": size, "linestyle": "none", "zorder": 5}
    look |= {"color": shades.series(1).color, "markeredgecolor": shades.foreground}
    return {**look, **keywords}


def annotate_empty(ax: Any, text: str = "no trial has a score") -> None:
    """Write the reason into a plot that is empty."""
    place = {"transform": ax.transAxes, "ha": "center", "gid": EDGE}
    ax.text(0.5, 0.5, text, color=tones(ax).gray, **place)


def has_log_span(costs: FloatArray) -> bool:
    """Return whether costs are positive and vary enough for a logarithmic scale."""
    low, high = np.min(costs), np.max(costs)
    return bool(low > 0 and high > COST_SPAN * low)
