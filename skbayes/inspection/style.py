"""Colors and markers of all plots, and limits of their axes.

The colors are from the color-blind safe palette of Okabe & Ito, ordered so that
neighbors also differ in lightness. Lines and markers differ as well, so that plots are
readable in gray. Colors that are black on white in matplotlib's default style are
derived from the background of the axes, which supports dark styles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skbayes.space.dimensions import FloatArray

# Minimum ratio of the largest to the smallest cost for a logarithmic scale.
COST_SPAN = 20.0

RGB = tuple[float, float, float]

# Share of the foreground in gray and in faint lines; the rest is the background.
GREY_SHARE, FAINT_SHARE = 0.57, 0.216

# Share of the foreground in colors on a dark background.
LIFT = 0.25

# Minimum contrast of texts, as defined by WCAG 2.
LEAST_CONTRAST = 4.5

# Ids by which the artists of a plot are found when another search is added: eligible
# trials, other trials, failed trials, and marks of points outside the limits.
TRIALS, OTHERS = "skbayes: trials", "skbayes: other trials"
FAILURES, EDGE = "skbayes: failed", "skbayes: outside"

# Worse scores are outside the limits if their distance from the median is more than
# this multiple of that of the best score.
REACH = 3.0

# Minimum share of the trials inside the limits.
IN_SIGHT = 0.7


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
        return mixed(self.background, self.foreground, GREY_SHARE)

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
            return replace(style, color=self.foreground)
        if not self.dark:
            return style
        return replace(style, color=mixed(to_rgb(style.color), self.foreground, LIFT))


def tones(where: Any) -> Tones:
    """Return the colors for drawing on axes or a figure."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgb

    black, white = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    texts = to_rgb(rcParams["text.color"])
    # The color behind a transparent figure is inferred from its texts.
    behind = white if _contrast(texts, white) > _contrast(texts, black) else black
    background = _background(where, behind)
    if _contrast(texts, background) >= LEAST_CONTRAST:
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
    """Return the color map of scores: better ones have more contrast, also in gray."""
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
    far = min(
        median - REACH * (best - median), np.quantile(y, 1.0 - IN_SIGHT, method="lower")
    )
    low = max(np.min(y), far) if best > median else np.min(y)
    margin = 0.06 * (best - low) or 0.05 * abs(best) or 0.05
    first, last = np.sort(sign * np.array([low - margin, best + margin]))
    return float(first), float(last)


def set_robust_ylim(ax: Any, sign: int) -> None:
    """Set the limits without bad outliers, which are marked at the edge instead.

    Without scores, the reason is written into the plot.
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


def merged(defaults: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict:
    """Return the keywords of a line; those of the user take precedence."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    # Normalized names let "lw" replace "linewidth".
    return {**defaults, **normalize_kwargs(dict(given or {}), Line2D)}


def has_log_span(costs: FloatArray) -> bool:
    """Return whether costs are positive and vary enough for a logarithmic scale."""
    low, high = np.min(costs), np.max(costs)
    return bool(low > 0 and high > COST_SPAN * low)


def annotate_empty(ax: Any, text: str = "no trial has a score") -> None:
    """Write into an empty plot why it is empty."""
    place = {"transform": ax.transAxes, "ha": "center", "gid": EDGE}
    ax.text(0.5, 0.5, text, color=tones(ax).gray, **place)
