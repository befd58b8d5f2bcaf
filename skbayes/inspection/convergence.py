"""Convergence of a search: the best score so far, and the score of every trial."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from skbayes.inspection import drawing
from skbayes.inspection.drawing import _Display, get_axes, select_trials
from skbayes.inspection.scales import plain
from skbayes.results.read import read_record
from skbayes.results.record import AnySource, SearchRecord
from skbayes.space.dimensions import FloatArray

# Ids of the lines of searches that are already in the plot.
LINE = "skbayes: best so far"

# Id of the entries of models or stages in the legend.
GROUP = "skbayes: group"

UNITS = {"trials": "trial", "seconds": "seconds since the first trial began"}


class ConvergenceDisplay(_Display):
    """Best score so far as a line, and the trials as points.

    A dashed line is the score of the estimator's own values, if the search tried them.
    The color of a point shows its model if the search chooses among models, and its
    stage if the search has several stages.

    Use :meth:`from_search` or :meth:`from_history` to create a display. Call them again
    with ``ax=display.ax_`` to compare several searches in one plot.

    Parameters
    ----------
    %(record)s
    by : {"trials", "seconds"}, default="trials"
        Unit of `x`.

    Attributes
    ----------
    record : SearchRecord
        The trials, ordered by `x`.
    x : ndarray of shape (n_trials,)
        Number of each trial, from 0, or the seconds from the start of the first trial
        to the end of each trial.
    best : ndarray of shape (n_trials,)
        Best score so far on the scale of the metric; NaN before the first one. Only
        comparable trials count: complete trials on the largest share of the training
        rows.
    %(ax_)s
    %(figure_)s
    line_ : matplotlib.lines.Line2D
        Line of the best score so far.
    own_line_ : matplotlib.lines.Line2D or None
        Line of the score of the estimator's own values; None if there is none.
    points_ : matplotlib.collections.PathCollection
        Points of comparable trials.
    other_points_ : matplotlib.collections.PathCollection
        Points of the other trials with a score: trials on fewer rows, trials that were
        pruned or timed out, and trials that violate constraints.
    failed_points_ : matplotlib.collections.PathCollection
        Marks of failed trials, at the edge of the plot.

    Notes
    -----
    Scores that are much worse than the other scores and the score of the estimator's
    own values are shown as small triangles at the edge of the plot. Use
    ``display.ax_.set_ylim`` to show their values.

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

    def __init__(self, record: SearchRecord, *, by: str = "trials") -> None:
        x = _position(record, by)
        # Concurrent trials can finish in a different order than they started.
        order = np.argsort(x, kind="stable")
        super().__init__(select_trials(record, order))
        self.by, self.x = by, x[order]
        eligible = self.record.eligible
        counted = np.where(eligible, self.record.score, -np.inf)
        best = record.sign * np.maximum.accumulate(counted)
        self.best = np.where(np.isinf(best), np.nan, best)

    @classmethod
    def from_search(
        cls,
        search: AnySource,
        *,
        metric: str | None = None,
        by: str = "trials",
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the convergence of a search.

        Parameters
        ----------
        %(search)s
        %(metric)s
        by : {"trials", "seconds"}, default="trials"
            Horizontal axis: number of trials, or time. Searches of scikit-learn do not
            record when their trials ran.
        name : str or None, default=None
            Name in the legend. By default, the name of the class of the search, or of
            its journal.
        %(ax)s
        %(options)s

        %(Returns)s
        """
        record = read_record(search, metric=metric, name=name)
        return cls(record, by=by).plot(ax, **options)

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
            Name in the legend. By default, the name of the search.
        line_kw : dict or None, default=None
            Keyword arguments for the line, see ``matplotlib.lines.Line2D``.
        point_kw : dict or None, default=None
            Keyword arguments for the points of the trials, see
            ``matplotlib.axes.Axes.scatter``.

        Returns
        -------
        %(self)s
        """
        from matplotlib.cbook import normalize_kwargs
        from matplotlib.lines import Line2D

        ax, record = get_axes(ax), self.record
        before = sum(line.get_gid() == LINE for line in ax.lines)
        series = drawing.tones(ax).series(before)
        name = plain(record.name if name is None else name)
        # matplotlib hides names with a leading underscore.
        line: dict[str, Any] = {
            "label": f" {name}" if name.startswith("_") else name,
            "gid": LINE,
        }
        line |= {"color": series.color, "linestyle": series.linestyle, "zorder": 3}
        line |= {"linewidth": 2.0, "drawstyle": "steps-post"}
        line |= normalize_kwargs(line_kw or {}, Line2D)
        (self.line_,) = ax.plot(self.x, self.best, **line)
        self.own_line_ = None
        row = record.own_index
        if row is not None and math.isfinite(score := record.shown[row]):
            line = {"color": drawing.tones(ax).gray, "linestyle": (0, (4, 3))}
            line |= {"gid": drawing.OWN}
            line |= {"label": f"estimator's own values: {score:.4g}", "linewidth": 1.2}
            self.own_line_ = ax.axhline(score, **line)
        color = self.line_.get_color()
        points = {"s": 16, "color": color, "marker": series.marker, "linewidths": 0.8}
        points |= {"gid": drawing.TRIALS, "alpha": 0.55, **(point_kw or {})}
        shown, comparable = record.shown, record.eligible
        self.points_ = ax.scatter(self.x[comparable], shown[comparable], **points)
        others = ~comparable & np.isfinite(shown)
        hollow = {**points, "gid": drawing.OTHERS, "facecolors": "none"}
        hollow |= {"edgecolors": hollow.pop("color")}
        hollow["label"] = "_" + ", ".join(_kinds(record, others))
        self.other_points_ = ax.scatter(self.x[others], shown[others], **hollow)
        if before == 0 and not {"c", "color", "marker"} & {*(point_kw or {})}:
            self._group_points(ax, points, others)
        failed = self.x[record.state == "failed"]
        self.failed_points_ = drawing.mark_failures(ax, failed, record.sign, color)
        drawing.set_robust_ylim(ax, record.sign)
        self._describe(ax)
        return self._drawn_on(ax)

    def _group_points(
        self, ax: Any, points: dict[str, Any], ineligible: np.ndarray
    ) -> None:
        """Give each model, or else each stage, a color, a marker, and a legend entry.

        Models of the same class are one group.
        """
        record, eligible = self.record, np.flatnonzero(self.record.eligible)
        models = [record.models[row] for row in eligible]
        names = [type(model).__name__ for model in models]
        is_choice = len(set(names)) > 1 and None not in models
        if not is_choice:
            names = [_stage_name(record, stage) for stage in record.stage[eligible]]
        hidden = [] if is_choice else np.flatnonzero(ineligible).tolist()
        stage_names = [_stage_name(record, record.stage[row]) for row in hidden]
        distinct = list(dict.fromkeys(names if is_choice else stage_names + names))
        if len(distinct) < 2:
            return
        entries = {}
        for place, name in enumerate(distinct):
            series = drawing.tones(ax).series(place + 1)  # the line has the first one
            mark = {"color": series.color, "marker": series.marker, "gid": GROUP}
            entries[name] = ax.scatter([], [], label=name, **{**points, **mark})
        for drawn, labels in ((self.points_, names), (self.other_points_, stage_names)):
            if labels:
                colors = [entries[name].get_facecolors()[0] for name in labels]
                drawn.set_edgecolors(colors)
                drawn.set_paths([entries[name].get_paths()[0] for name in labels])
                if drawn is self.points_:
                    drawn.set_facecolors(colors)

    def _describe(self, ax: Any) -> None:
        """Label the axes, and draw the legend."""
        from matplotlib.lines import Line2D
        from matplotlib.ticker import MaxNLocator

        drawing.style_axes(ax, xlabel=UNITS[self.by], ylabel=plain(self.record.label))
        if self.by == "trials":
            ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        lines = [line for line in ax.lines if line.get_gid() in (LINE, drawing.OWN)]
        # Searches of the same estimator have the same own values.
        named = {line.get_label(): line for line in lines}
        handles = [line for label, line in named.items() if label[:1] != "_"]
        groups = [entry for entry in ax.collections if entry.get_gid() == GROUP]
        handles += groups
        drawn = {c.get_gid() for c in ax.collections if len(c.get_offsets())}
        other = [c.get_label() for c in ax.collections if c.get_gid() == drawing.OTHERS]
        kinds = dict.fromkeys(k for s in other for k in s[1:].split(", ") if k)
        for gid, label, marker, fill in (
            (drawing.TRIALS, "trial", "o", "full"),
            (drawing.OTHERS, ", ".join(kinds), "o", "none"),
            (drawing.FAILURES, "failed", "x", "full"),
        ):
            if gid in drawn and not (gid == drawing.TRIALS and groups):
                mark: dict[str, Any] = {"marker": marker, "fillstyle": fill}
                mark |= {"linestyle": "none", "markersize": 4.5}
                mark |= {"color": drawing.tones(ax).gray}
                handles.append(Line2D([], [], label=label, **mark))
        # Many entries would cover the points.
        below = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.2), "ncols": 2}
        look = {"fontsize": "small", "edgecolor": "none", "framealpha": 0.85}
        ax.legend(handles=handles, **look, **(below if groups else {}))


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


def _stage_name(record: SearchRecord, stage: int) -> str:
    share = record.train_fraction[record.stage == stage].max()
    return f"stage {stage + 1}: {share:.0%} of the rows"


def _kinds(record: SearchRecord, rows: np.ndarray) -> list[str]:
    """Return the reasons why trials are not eligible, such as their states."""
    states = [state.replace("_", " ") for state in record.state[rows]]
    reasons = np.where(record.comparable[rows], "violates constraints", "on fewer rows")
    pairs = zip(states, reasons.tolist(), strict=True)
    return sorted({why if state == "complete" else state for state, why in pairs})
