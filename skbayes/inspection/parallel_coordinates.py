"""Parallel coordinates: each trial as a line from its values to its score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from skbayes.inspection import drawing
from skbayes.inspection.drawing import _Display, get_axes, select_trials
from skbayes.inspection.scales import (
    MAX_LISTED,
    ParameterScale,
    name_label,
    parameter_scales,
    score_label,
)
from skbayes.results.read import read_record
from skbayes.results.record import AnySource, SearchRecord
from skbayes.space.dimensions import FloatArray

# Height of lines below the axis of a hyper-parameter that their trials do not have.
UNUSED_HEIGHT = -0.13

# Spread of the lines of one option, as shares of the space of the option and of the
# axis.
SPREAD, MAX_SPREAD = 0.5, 0.12

# Inches between two axes, and maximum width of a figure.
INCHES_PER_AXIS, MAX_WIDTH = 0.95, 14.0

# Opacity of lines that do not stand out.
FAINT = 0.5

# Number of letters of a name that fit into an inch.
LETTERS_PER_INCH = 16


class ParallelCoordinatesDisplay(_Display):
    """Each trial as a line through its hyper-parameters to its score.

    Each hyper-parameter has an axis with its own scale, which is logarithmic if the
    dimension is. Options are shown by name. A line passes below the axes of
    hyper-parameters that its trial does not have. The last axis is the score. The lines
    of the best fifth of the trials are shaded by their score, better ones darker; the
    other lines are faint. The line of the best trial is thick.

    Use :meth:`from_search` or :meth:`from_history` to create a display.

    Parameters
    ----------
    %(record)s
    params : list of str or None, default=None
        Hyper-parameters to plot, in this order. By default, all with more than one
        possible value.

    Attributes
    ----------
    record : SearchRecord
        The trials, or the trials of the last stage of a search in stages.
    scales : list of ParameterScale
        Scale of each hyper-parameter.
    values : list of ndarray of shape (n_trials,)
        Values of each hyper-parameter in the trials, or the positions of its options.
        NaN in trials without the hyper-parameter.
    %(ax_)s
    %(figure_)s
    lines_ : matplotlib.collections.LineCollection
        Lines of the best trials, the worst of them first.
    faint_lines_ : matplotlib.collections.LineCollection
        Lines of the other trials with a score.
    failed_lines_ : matplotlib.collections.LineCollection
        Lines of failed trials, which end below the last axis.
    best_line_ : matplotlib.lines.Line2D or None
        Line of the best trial; None if there is none.
    strip_ : matplotlib.collections.QuadMesh or None
        Last axis, a color bar of the scores; None if no trial has a score.

    Notes
    -----
    Scores that are much worse than the others are drawn at the end of the last axis,
    which then has a "≤" or "≥". For a search in stages, only the last stage is shown,
    whose trials use the most rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skbayes import BayesSearchCV
    >>> from skbayes.inspection import ParallelCoordinatesDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> spaces = {"C": (0.01, 10.0, "log-uniform"), "kernel": ["rbf", "linear"]}
    >>> search = BayesSearchCV(SVC(), spaces, n_iter=5).fit(X, y)
    >>> display = ParallelCoordinatesDisplay.from_search(search)
    >>> [(scale.name, scale.kind) for scale in display.scales]
    [('C', 'log'), ('kernel', 'options')]
    """

    def __init__(
        self, record: SearchRecord, params: Sequence[str] | None = None
    ) -> None:
        self.params = params
        # Plot only the comparable trials of a search in stages.
        if len(np.unique(record.stage)) > 1:
            record = select_trials(record, np.flatnonzero(record.highest))
        super().__init__(record)
        self.scales = parameter_scales(record, params)
        self.values = [scale.values(record.params) for scale in self.scales]
        shares = np.unique(record.train_fraction)
        if params is None and len(shares) > 1:
            marks = list(shares) if len(shares) <= MAX_LISTED else []
            name, ends = "share of rows", (shares[0], shares[-1])
            self.scales.append(ParameterScale(name, "linear", *ends, [], marks=marks))
            self.values.append(record.train_fraction)

    @classmethod
    def from_search(
        cls,
        search: AnySource,
        *,
        params: Sequence[str] | None = None,
        metric: str | None = None,
        search_spaces: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the trials of a search.

        Parameters
        ----------
        %(search)s
        params : list of str or None, default=None
            Hyper-parameters to plot, as for the class.
        %(metric)s
        %(search_spaces)s
        %(ax)s
        %(options)s

        %(Returns)s
        """
        record = read_record(search, metric=metric, search_spaces=search_spaces)
        return cls(record, params).plot(ax, **options)

    def plot(
        self, ax: Any = None, *, top: float = 0.2, line_kw: dict | None = None
    ) -> Self:
        """Draw the lines and the axes.

        Parameters
        ----------
        %(ax)s
        top : float, default=0.2
            Share of the trials with a score whose lines stand out, the best ones. 1
            means all.
        line_kw : dict or None, default=None
            Keyword arguments for the lines of the best trials, see
            ``matplotlib.collections.LineCollection``.

        Returns
        -------
        %(self)s
        """
        if not 0 < top <= 1:
            raise ValueError(f"top must be in (0, 1], got {top!r}.")
        last = len(self.scales)
        ax = get_axes(ax, (min(max(6.4, INCHES_PER_AXIS * last + 1.5), MAX_WIDTH), 4.0))
        heights = self._heights()
        is_missing = np.any(heights == UNUSED_HEIGHT, axis=0)
        ylim = (-0.22 if is_missing.any() else -0.04, 1.04)
        ax.set(xlim=(-0.4, last + 0.45), ylim=ylim, yticks=[])
        self._draw_lines(ax, heights, top, line_kw or {})
        for at, scale in enumerate(self.scales):
            _draw_axis(ax, at, scale)
        self.strip_ = None
        if np.isfinite(self.record.score).any():
            self._draw_score_axis(ax, last)
        else:
            drawing.annotate_empty(ax)
        for at in np.flatnonzero(is_missing).tolist():
            label = "failed" if at == last else "not used"
            text = {"ha": "center", "va": "top", "fontsize": "x-small"}
            gray = drawing.tones(ax).gray
            ax.text(at, UNUSED_HEIGHT - 0.03, label, color=gray, **text)
        self._name_axes(ax)
        return self._drawn_on(ax)

    # -- positions ----------------------------------------------------------------

    def _heights(self) -> FloatArray:
        """Return the height of each line at each axis, shape (n_trials, n_axes)."""
        columns = []
        for scale, v in zip(self.scales, self.values, strict=True):
            u = scale.positions(v)
            columns.append(u + self._spread(scale) if scale.kind == "options" else u)
        low, high = self._ends()
        columns.append((np.clip(self.record.shown, low, high) - low) / (high - low))
        u = np.column_stack(columns)
        return np.where(np.isnan(u), UNUSED_HEIGHT, u)

    def _spread(self, scale: ParameterScale) -> FloatArray:
        """Spread the lines of one option by their scores; better ones are higher."""
        score = np.nan_to_num(self.record.score, nan=-np.inf)
        ranks = np.argsort(np.argsort(score, kind="stable"), kind="stable")
        share = (ranks + 0.5) / max(len(ranks), 1)
        return (share - 0.5) * min(SPREAD * scale.gap / (scale.high + 1.0), MAX_SPREAD)

    def _ends(self) -> tuple[float, float]:
        return drawing.robust_limits(self.record.shown, self.record.sign) or (0.0, 1.0)

    # -- drawing ------------------------------------------------------------------

    def _draw_lines(
        self, ax: Any, heights: FloatArray, top: float, line_kw: dict
    ) -> None:
        from matplotlib.collections import LineCollection

        score, best, shades = self.record.score, self.record.best, drawing.tones(ax)
        # The best are drawn last, on top of the others; NaN is sorted to the end.
        order = np.argsort(score, kind="stable")
        order, failed = np.split(order, [np.isfinite(score).sum()])
        x = np.arange(heights.shape[1], dtype=float)
        lines = [np.column_stack([x, row]) for row in heights]
        others, order = np.split(order, [int((1.0 - top) * len(order))])
        kwargs: dict[str, Any] = {
            "linewidths": 1.6,
            "alpha": 0.85 if len(order) <= 30 else 0.6,
            "cmap": drawing.score_colors(shades.dark, self.record.sign),
            "array": self.record.shown[order],
            **line_kw,
        }
        self.lines_ = LineCollection([lines[k] for k in order], **kwargs)
        self.lines_.set_clim(*self._ends())
        kwargs = {"colors": shades.gray, "linewidths": 0.7, "zorder": 1}
        ends = [lines[k] for k in failed]
        self.failed_lines_ = LineCollection(ends, linestyles=(0, (1, 2)), **kwargs)
        behind = [lines[k] for k in others]
        self.faint_lines_ = LineCollection(behind, alpha=FAINT, **kwargs)
        for collection in (self.failed_lines_, self.faint_lines_, self.lines_):
            ax.add_collection(collection)
        self.best_line_ = None
        if best is not None and np.isfinite(score[best]):
            line = {"color": shades.foreground, "linewidth": 2.8, "zorder": 4}
            line |= {"marker": "o", "markersize": 5, "mfc": shades.background}
            (self.best_line_,) = ax.plot(x, heights[best], **line)

    def _draw_score_axis(self, ax: Any, at: int) -> None:
        from matplotlib.ticker import MaxNLocator

        low, high = self._ends()
        self.strip_ = ax.pcolormesh(
            [at, at + 0.07],
            np.linspace(0.0, 1.0, 65),
            np.linspace(low, high, 64)[:, None],
            cmap=drawing.score_colors(drawing.tones(ax).dark, self.record.sign),
            zorder=2,
        )
        v: Any = MaxNLocator(5).tick_values(low, high)
        u = (v - low) / (high - low)
        labels = {at: f"{value:.4g}" for at, value in zip(u, v, strict=True)}
        # Scores beyond the end are drawn at the end, which needs a different label.
        scores = self.record.shown
        beyond = {}
        if np.nanmin(scores) < low:
            beyond[0.0] = f"≤ {low:.3g}"
        if np.nanmax(scores) > high:
            beyond[1.0] = f"≥ {high:.3g}"
        labels = {
            place: label
            for place, label in labels.items()
            if 0.0 <= place <= 1.0 and all(abs(place - end) > 0.06 for end in beyond)
        }
        kwargs = {**_LABEL, "ha": "left", "color": drawing.tones(ax).foreground}
        for place, label in {**beyond, **labels}.items():
            ax.text(at + 0.1, place, label, **kwargs)

    def _name_axes(self, ax: Any) -> None:
        names = [name_label(scale.name) for scale in self.scales]
        inches = ax.get_window_extent().width / ax.figure.dpi
        n_letters = LETTERS_PER_INCH * inches / (len(names) + 1)
        turned = max(map(len, names), default=0) > n_letters
        kwargs = {"rotation": 25, "ha": "right"} if turned else {}
        names.append(score_label(self.record.label))
        ax.set_xticks(range(len(names)), names, fontsize="small", **kwargs)
        ax.get_xticklabels()[-1].set(rotation=0, ha="center")
        ax.tick_params(axis="x", length=0, pad=6)
        ax.spines[:].set_visible(False)


def _draw_axis(ax: Any, at: int, scale: ParameterScale) -> None:
    from matplotlib.patheffects import withStroke

    shades = drawing.tones(ax)
    halo = [withStroke(linewidth=2.5, foreground=shades.background, alpha=0.9)]
    text = {**_LABEL, "color": shades.foreground, "path_effects": halo}
    line = {"color": shades.gray, "linewidth": 1.0, "zorder": 2}
    ax.plot([at, at], [0, 1], **line)
    v, labels = scale.ticks()
    u = scale.positions(np.asarray(v, dtype=float))
    for place, label in zip(u, labels, strict=True):
        ax.plot([at - 0.03, at], [place, place], **line)
        ax.text(at - 0.06, place, label, **text)


_LABEL: dict[str, Any] = {"fontsize": "x-small", "ha": "right", "va": "center"}
_LABEL |= {"zorder": 5}
