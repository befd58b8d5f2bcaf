"""Convergence of a search: the best score so far, and the score of every trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skbayes.inspection import style
from skbayes.inspection.base import _Display, get_axes, merged
from skbayes.inspection.texts import plain
from skbayes.results.read import read_record
from skbayes.results.record import SearchRecord
from skbayes.space.dimensions import FloatArray

__all__ = ["ConvergenceDisplay"]

# Identifies the lines of searches that are already in the plot.
LINE = "skbayes: best so far"

UNITS = {"trials": "trial", "seconds": "seconds since the first trial began"}


@dataclass(eq=False, repr=False, kw_only=True)
class ConvergenceDisplay(_Display):
    """Best score so far as a line, and the trials as points.

    Use :meth:`from_search` or :meth:`from_history` to create a display. Call them again
    with ``ax=display.ax_`` to compare several searches in one plot.

    Parameters
    ----------
    x : ndarray of shape (n_trials,)
        Number of each trial, from 0, or the seconds from the start of the first trial
        to the end of each trial.
    %(score)s
    best : ndarray of shape (n_trials,)
        Best score so far; NaN before the first one. Only comparable trials count:
        complete trials on the largest share of the training rows.
    state : ndarray of shape (n_trials,), str
        "complete", "failed", "timed_out", "out_of_memory" or "pruned".
    comparable : ndarray of shape (n_trials,), bool
        Whether each trial is comparable.
    by : {"trials", "seconds"}, default="trials"
        Unit of `x`.
    %(label)s
    name : str, default=None
        Name of the search in the legend.
    %(sign)s

    Attributes
    ----------
    %(ax_)s
    %(figure_)s
    line_ : matplotlib.lines.Line2D
        Line of the best score so far.
    points_ : matplotlib.collections.PathCollection
        Points of comparable trials.
    other_points_ : matplotlib.collections.PathCollection
        Points of trials that have a score but are not comparable: trials on fewer rows,
        or incomplete trials (pruned or timed out).
    failed_points_ : matplotlib.collections.PathCollection
        Marks of failed trials, at the edge of the plot.

    Notes
    -----
    Scores that are much worse than the others are shown as small triangles at the edge
    of the plot. Use ``display.ax_.set_ylim`` to show their values.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skbayes import BayesSearchCV
    >>> from skbayes.inspection import ConvergenceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> spaces = {"C": (0.01, 10.0, "log-uniform")}
    >>> search = BayesSearchCV(SVC(), spaces, n_iter=5, random_state=0).fit(X, y)
    >>> display = ConvergenceDisplay.from_search(search)
    >>> display.best.round(2)
    array([0.97, 0.97, 0.98, 0.98, 0.99])
    """

    x: FloatArray
    score: FloatArray
    best: FloatArray
    state: np.ndarray
    comparable: np.ndarray
    by: str = "trials"
    label: str = "score"
    name: str | None = None
    sign: int = 1

    @classmethod
    def from_search(
        cls,
        search: Any,
        *,
        metric: str | None = None,
        by: str = "trials",
        name: str | None = None,
        ax: Any = None,
        line_kw: dict | None = None,
        point_kw: dict | None = None,
    ) -> Self:
        """Draw the convergence of a search.

        Parameters
        ----------
        by : {"trials", "seconds"}, default="trials"
            Horizontal axis: number of trials, or time. Searches of scikit-learn do not
            record when their trials ran.
        line_kw : dict or None, default=None
            Keyword arguments for the line, see ``matplotlib.lines.Line2D``.
        """
        record = read_record(search, metric=metric, name=name)
        x = _position(record, by)
        # Concurrent trials can finish in a different order than they started.
        order = np.argsort(x, kind="stable")
        counted = np.where(record.eligible, record.score, -np.inf)[order]
        best = np.maximum.accumulate(counted) if len(counted) else counted
        display = cls(
            x=x[order],
            score=record.shown[order],
            best=record.sign * np.where(np.isneginf(best), np.nan, best),
            state=record.state[order],
            comparable=record.eligible[order],
            by=by,
            label=record.label,
            name=record.name,
            sign=record.sign,
        )
        return display.plot(ax, line_kw=line_kw, point_kw=point_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        line_kw: dict | None = None,
        point_kw: dict | None = None,
    ) -> Self:
        """Draw the best score so far and the trials.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on, which can already show other searches. By default, axes of
            a new figure.
        name : str or None, default=None
            Name in the legend. By default, the name of the display.
        line_kw : dict or None, default=None
            Keyword arguments for the line.
        """
        ax = get_axes(ax)
        before = sum(line.get_gid() == LINE for line in ax.lines)
        series = style.tones(ax).series(before)
        name = self.name if name is None else name
        # Extend the line beyond the last trial, so that its value is visible.
        line = {
            "color": series.color,
            "linestyle": series.linestyle,
            "linewidth": 2.0,
            "drawstyle": "steps-post",
            "label": _legend_text(name),
            "gid": LINE,
            "zorder": 3,
        }
        (self.line_,) = ax.plot(self.x, self.best, **merged(line, line_kw))
        color = self.line_.get_color()
        points = {
            "s": 16,
            "color": color,
            "marker": series.marker,
            "linewidths": 0.8,
            "gid": style.TRIALS,
            "alpha": 0.55,
            **(point_kw or {}),
        }
        self.points_ = self._scatter(ax, self.comparable, points)
        others = ~self.comparable & np.isfinite(self.score)
        hollow = {**points, "gid": style.OTHERS}
        hollow |= {"facecolors": "none", "edgecolors": hollow.pop("color")}
        self.other_points_ = self._scatter(ax, others, hollow)
        failed = self.x[self.state == "failed"]
        self.failed_points_ = style.mark_failures(ax, failed, self.sign, color=color)
        style.set_robust_ylim(ax, self.sign)
        self._describe(ax)
        return self._drawn_on(ax)

    def _scatter(self, ax: Any, chosen: np.ndarray, keywords: dict) -> Any:
        return ax.scatter(self.x[chosen], self.score[chosen], **keywords)

    def _describe(self, ax: Any) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.ticker import MaxNLocator

        ax.set_xlabel(UNITS[self.by])
        ax.set_ylabel(plain(self.label))
        if self.by == "trials":
            ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        style.style_axes(ax)
        marks = {c.get_gid(): c for c in ax.collections if len(c.get_offsets())}
        if style.TRIALS not in marks and style.OTHERS not in marks:
            style.annotate_empty(ax)
        lines = [line for line in ax.lines if line.get_gid() == LINE]
        handles = [line for line in lines if line.get_label()[:1] != "_"]
        gray = style.tones(ax).gray
        kwargs: dict[str, Any] = {"linestyle": "none", "color": gray, "markersize": 4.5}
        for gid, label, marker, fill in (
            (style.TRIALS, "trial", "o", "full"),
            (style.OTHERS, "trial, not comparable", "o", "none"),
            (style.FAILURES, "failed", "x", "full"),
        ):
            if gid in marks:
                kwargs |= {"label": label, "marker": marker, "fillstyle": fill}
                handles.append(Line2D([], [], **kwargs))
        ax.legend(handles=handles, fontsize="small", edgecolor="none", framealpha=0.85)


def _legend_text(name: str | None) -> str | None:
    """Return a name that matplotlib does not hide for its leading underscore."""
    if name is None:
        return None
    return f" {plain(name)}" if name.startswith("_") else plain(name)


def _position(record: SearchRecord, by: str) -> FloatArray:
    if by not in UNITS:
        raise ValueError(f"by must be 'trials' or 'seconds', got {by!r}.")
    if by == "trials":
        return record.number.astype(float)
    if len(record) and not np.isfinite(record.finished).any():
        raise ValueError(
            "by='seconds': the times of the trials are unknown; use by='trials'."
        )
    return record.finished
