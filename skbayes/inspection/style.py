"""What all pictures have in common: colors, marks, axes. No global setting is changed.

Colors are those of Okabe & Ito, which color-blind eyes tell apart, in an order in
which neighbors differ in lightness too; lines and marks differ besides, so that a
picture can be read in gray. What is black on white in the default style of matplotlib
is derived from the background of the axes, so that dark styles work, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skbayes.space.dimensions import FloatArray
from skbayes.utils.optional import import_optional

__all__ = [
    "EDGE",
    "FAILURES",
    "OTHERS",
    "SERIES",
    "STATES",
    "TRIALS",
    "SeriesStyle",
    "StateStyle",
    "Tones",
    "set_robust_ylim",
    "get_axes",
    "get_many_axes",
    "import_pyplot",
    "merged",
    "mark_failures",
    "annotate_empty",
    "score_colors",
    "robust_limits",
    "style_axes",
    "tones",
]

RGB = tuple[float, float, float]

# How much of the ink is in gray and in faint lines; the rest is the background.
GREY_SHARE, FAINT_SHARE = 0.57, 0.216

# How much of the ink is in colors on a dark background.
LIFT = 0.25

# The least contrast of texts, as WCAG 2 defines it.
LEAST_CONTRAST = 4.5

# By these gids the marks of a picture are found again when another search joins it:
# trials that count, those that do not, failed ones, and what stands for trials that are
# out of sight.
TRIALS, OTHERS = "skbayes: trials", "skbayes: trials not compared"
FAILURES, EDGE = "skbayes: failed", "skbayes: outside"

# How many times further from the median than the best a score may be to be in sight.
REACH = 3.0

# What share of the trials is in sight at least.
IN_SIGHT = 0.7


@dataclass(frozen=True)
class SeriesStyle:
    """How one of several searches is drawn.

    Parameters
    ----------
    color : str or tuple of float
        Of its line and marks.
    linestyle : str or tuple
        Of its line.
    marker : str
        For its trials.
    """

    color: str | RGB
    linestyle: Any
    marker: str


# Stands for the ink of the picture.
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
class StateStyle:
    """How a trial is drawn according to its state.

    Parameters
    ----------
    label : str
        What to say in a legend.
    color : str or None
        Of an area; None: the background.
    hatch : str
        Of an area.
    marker : str
        For a point.
    """

    label: str
    color: str | None
    hatch: str
    marker: str


STATES = {
    "complete": StateStyle("complete", "#0072B2", "", "o"),
    "failed": StateStyle("failed", "#D55E00", "xxx", "x"),
    "censored": StateStyle("out of time", "#E69F00", "////", "v"),
    "raced": StateStyle("given up", "#CC79A7", "\\\\\\\\", "<"),
    "running": StateStyle("not finished", None, "....", "*"),
}


@dataclass(frozen=True)
class Tones:
    """What to draw with on a background.

    Parameters
    ----------
    paper : tuple of float
        The background, red, green and blue between 0 and 1.
    ink : tuple of float
        For what matters most: black on white in the default style.
    """

    paper: RGB
    ink: RGB

    @property
    def gray(self) -> RGB:
        """For what matters less."""
        return _mixed(self.paper, self.ink, GREY_SHARE)

    @property
    def faint(self) -> RGB:
        """For the lines of a grid."""
        return _mixed(self.paper, self.ink, FAINT_SHARE)

    @property
    def dark(self) -> bool:
        """Whether the background is darker than the ink."""
        return _luminance(self.paper) < _luminance(self.ink)

    def series(self, place: int) -> SeriesStyle:
        """Return how one of several searches is drawn.

        Parameters
        ----------
        place : int
            How many others are drawn there already.

        Returns
        -------
        style : SeriesStyle
            One of `SERIES`, which begins again after the last one. Colors are lighter
            on a dark background.
        """
        from matplotlib.colors import to_rgb

        style = SERIES[place % len(SERIES)]
        if style.color == INK:
            return replace(style, color=self.ink)
        if not self.dark:
            return style
        return replace(style, color=_mixed(to_rgb(style.color), self.ink, LIFT))


def tones(where: Any) -> Tones:
    """Return what to draw with.

    Parameters
    ----------
    where : matplotlib.axes.Axes or matplotlib.figure.Figure
        Where to draw: it may have been made in another style than the current one.

    Returns
    -------
    tones : Tones
        The background, and the color of texts in the current style; black or white if
        that color cannot be read on this background.
    """
    from matplotlib import rcParams
    from matplotlib.colors import to_rgb

    black, white = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    texts = to_rgb(rcParams["text.color"])
    # Nothing is known of what is behind a transparent figure, except by its texts.
    behind = white if _contrast(texts, white) > _contrast(texts, black) else black
    paper = _background(where, behind)
    if _contrast(texts, paper) >= LEAST_CONTRAST:
        return Tones(paper, texts)
    return Tones(paper, max(black, white, key=lambda one: _contrast(one, paper)))


def _background(where: Any, behind: RGB) -> RGB:
    """Return the color of axes or a figure, which lets through what is behind it."""
    from matplotlib.colors import to_rgba

    parent = where.figure
    if parent is not None and parent is not where:
        behind = _background(parent, behind)
    *face, alpha = to_rgba(where.get_facecolor())
    return _mixed(behind, face, alpha)


def _mixed(one: Sequence[float], other: Sequence[float], share: float) -> RGB:
    """Return a color with a share of another one in it."""
    r, g, b = ((1.0 - share) * x + share * y for x, y in zip(one, other, strict=True))
    return r, g, b


def _luminance(color: RGB) -> float:
    """Return the relative luminance, as WCAG 2 defines it."""
    r, g, b = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color
    )
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def _contrast(one: RGB, other: RGB) -> float:
    """Return the contrast of two colors, from 1 to 21, as WCAG 2 defines it."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def import_pyplot() -> Any:
    """Import matplotlib when it is needed.

    Returns
    -------
    pyplot : module
        ``matplotlib.pyplot``.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    return import_optional("matplotlib.pyplot", extra="plot", purpose="drawing")


def get_axes(ax: Any = None, figsize: tuple[float, float] = (6.0, 4.0)) -> Any:
    """Return axes to draw on.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None, default=None
        What the user gave. None: those of a new figure.
    figsize : tuple of float, default=(6.0, 4.0)
        Size of a new figure in inches.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError
        If `ax` is something else.
    """
    plt = import_pyplot()
    if ax is None:
        return plt.subplots(figsize=figsize, layout="constrained")[1]
    if not isinstance(ax, plt.Axes):
        raise TypeError(f"ax must be matplotlib axes or None, got {ax!r}.")
    return ax


def get_many_axes(
    ax: Any, n: int, n_cols: int, size: tuple[float, float] = (2.6, 2.3)
) -> np.ndarray:
    """Return several axes to draw on.

    Parameters
    ----------
    ax : matplotlib.axes.Axes, array-like of Axes, or None
        What the user gave: as many axes, or one, whose place is divided. None: those of
        a new figure.
    n : int
        How many are needed.
    n_cols : int
        The most of them in a row.
    size : tuple of float, default=(2.6, 2.3)
        Size of each in a new figure, in inches.

    Returns
    -------
    axes : ndarray of shape (n,), object
        The axes.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError
        If `ax` is something else.
    ValueError
        If they are too few or too many.
    """
    plt = import_pyplot()
    n_cols = min(n, n_cols)
    n_rows = math.ceil(n / n_cols)
    if ax is None:
        figsize = (size[0] * n_cols, size[1] * n_rows)
        figure = plt.figure(figsize=figsize, layout="constrained")
        grid = figure.add_gridspec(n_rows, n_cols)
    elif isinstance(ax, plt.Axes):
        from matplotlib.gridspec import GridSpecFromSubplotSpec

        figure = ax.figure
        spec = ax.get_subplotspec()
        if spec is None:
            raise ValueError("ax must be one of a grid of axes to be divided.")
        ax.set_axis_off()
        grid = GridSpecFromSubplotSpec(n_rows, n_cols, spec)
    else:
        given = np.ravel(np.asarray(ax, dtype=object))
        if not all(isinstance(one, plt.Axes) for one in given):
            raise TypeError(f"ax must be matplotlib axes or None, got {ax!r}.")
        if len(given) != n:
            raise ValueError(f"ax must have {n} axes, one a panel, got {len(given)}.")
        return given
    axes = np.empty(n, dtype=object)
    for k in range(n):
        axes[k] = figure.add_subplot(grid[divmod(k, n_cols)])
    return axes


def score_colors(dark: bool = False) -> Any:
    """Return the color map of scores: the better, the darker, in gray too.

    Parameters
    ----------
    dark : bool, default=False
        Whether the background is dark; then the better scores are lighter.

    Returns
    -------
    colors : matplotlib.colors.Colormap
        From 0, the worst, to 1, the best; nowhere so light that it is lost on white, or
        so dark that it is lost on black.
    """
    import_pyplot()
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    ends = (0.2, 1.0) if dark else (0.92, 0.0)
    shades = colormaps["viridis"](np.linspace(*ends, 256))
    return LinearSegmentedColormap.from_list("skbayes", shades)


def merged(defaults: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict:
    """Return keywords for a line, the user's before ours.

    Parameters
    ----------
    defaults : dict
        Ours.
    given : dict or None
        The user's.

    Returns
    -------
    keywords : dict
        Both.
    """
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    # So that "lw" takes the place of "linewidth".
    return {**defaults, **normalize_kwargs(dict(given or {}), Line2D)}


def style_axes(ax: Any, grid: str | None = "y") -> None:
    """Take away the frame, and draw a grid behind everything.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        The axes.
    grid : {"x", "y", "both"} or None, default="y"
        Which lines.
    """
    ax.spines[["top", "right"]].set_visible(False)
    if grid is not None:
        ax.grid(axis=grid, color=tones(ax).faint, linewidth=0.6, alpha=0.7)
    ax.set_axisbelow(True)


def robust_limits(scores: FloatArray, sign: int) -> tuple[float, float] | None:
    """Return between which scores a picture has the ones that matter.

    What counts is the distance from the best score to the median. Seven
    of ten trials stay in sight in any case.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Scores, as the user knows the metric; NaN does not count.
    sign : int
        1 if the higher of two scores is the better, else -1.

    Returns
    -------
    ends : tuple of float or None
        The lower and the higher one, with a margin; None if there is no score.
    """
    y: FloatArray = sign * scores[np.isfinite(scores)]
    if not len(y):
        return None
    best, median = np.max(y), np.median(y)
    far = min(
        median - REACH * (best - median),
        np.quantile(y, 1.0 - IN_SIGHT, method="lower"),
    )
    low = max(np.min(y), far) if best > median else np.min(y)
    margin = 0.06 * (best - low) or 0.05 * abs(best) or 0.05
    first, last = np.sort(sign * np.array([low - margin, best + margin]))
    return float(first), float(last)


def set_robust_ylim(ax: Any, sign: int, scores: FloatArray | None = None) -> None:
    """Let the scores that matter fill the picture; worse ones are shown at the edge.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        The axes.
    sign : int
        1 if the higher of two scores is the better, else -1.
    scores : ndarray or None, default=None
        Scores that count in place of those of all searches in this picture.
    """
    for old in [x for x in (*ax.collections, *ax.texts) if x.get_gid() == EDGE]:
        old.remove()
    marks = [one for one in ax.collections if one.get_gid() in (TRIALS, OTHERS)]
    points = np.vstack([np.empty((0, 2)), *[one.get_offsets() for one in marks]])
    points = np.asarray(points[np.isfinite(points).all(axis=1)], dtype=float)
    ends = robust_limits(points[:, 1] if scores is None else scores, sign)
    if ends is None:
        return
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


def mark_failures(ax: Any, x: FloatArray, sign: int, **keywords: Any) -> Any:
    """Mark failed trials at the edge where the worst scores are.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        The axes.
    x : ndarray of shape (n,)
        Where they are, in data.
    sign : int
        1 if the higher of two scores is the better, else -1.
    **keywords : dict
        For ``matplotlib.axes.Axes.scatter``.

    Returns
    -------
    marks : matplotlib.collections.PathCollection
        The marks.
    """
    x = x[np.isfinite(x)]
    marks = ax.scatter(
        x,
        np.full(len(x), 0.03 if sign > 0 else 0.97),
        marker=STATES["failed"].marker,
        s=22,
        linewidths=1.2,
        transform=ax.get_xaxis_transform(),
        gid=FAILURES,
        **keywords,
    )
    # Marks that have no score must be in sight, too.
    ax.update_datalim(np.column_stack([x, np.zeros(len(x))]), updatey=False)
    ax.autoscale_view(scaley=False)
    return marks


def annotate_empty(ax: Any, text: str = "no trial has a score") -> None:
    """Write in an empty picture why it is empty.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        The axes.
    text : str, default="no trial has a score"
        What to write.
    """
    place = {"transform": ax.transAxes, "ha": "center", "gid": EDGE}
    ax.text(0.5, 0.5, text, color=tones(ax).gray, **place)
