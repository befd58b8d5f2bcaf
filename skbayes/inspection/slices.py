"""Slices of a search: score against each hyper-parameter."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np

from skbayes.inspection import style
from skbayes.inspection.base import get_axes, get_many_axes
from skbayes.inspection.scales import (
    ParameterScale,
    _TrialsDisplay,
    name_label,
    score_label,
)
from skbayes.space.dimensions import FloatArray

# Spread of the trials of one option, as a share of the distance to the next option.
SPREAD = 0.28


class SliceDisplay(_TrialsDisplay):
    """Score against each hyper-parameter, with one panel for each.

    The shades of the points show the order of the trials. Use :meth:`from_search` or
    :meth:`from_history` to create a display.

    Parameters
    ----------
    %(record)s
    %(params)s

    Attributes
    ----------
    record : SearchRecord
        The trials; of a search in stages, those of the last stage.
    %(scales)s
    %(values)s
    %(axes_)s
    %(ax_)s
    %(figure_)s
    points_ : list of matplotlib.collections.PathCollection
        Points of the trials with a score, for each panel.
    failed_points_ : list of matplotlib.collections.PathCollection
        Marks of failed trials at the edge, for each panel.
    colorbar_ : matplotlib.colorbar.Colorbar or None
        Color bar of the trial numbers; None if there are no trials.

    Notes
    -----
    The trials in a panel differ in all hyper-parameters, so a panel does not show the
    effect of one hyper-parameter alone. A conditional hyper-parameter has fewer points.
    For a search in stages, only the last stage is shown, whose trials use the most
    rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skbayes import BayesSearchCV
    >>> from skbayes.inspection import SliceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> spaces = {"C": (0.01, 10.0, "log-uniform"), "kernel": ["rbf", "linear"]}
    >>> search = BayesSearchCV(SVC(), spaces, n_iter=5).fit(X, y)
    >>> [ax.get_xlabel() for ax in SliceDisplay.from_search(search).axes_]
    ['C', 'kernel']
    """

    def plot(
        self, ax: Any = None, *, n_cols: int = 3, point_kw: dict | None = None
    ) -> Self:
        """Draw the panels."""
        if not isinstance(n_cols, Integral) or n_cols < 1:
            raise ValueError(f"n_cols must be an integer >= 1, got {n_cols!r}.")
        size = (2.6, 2.3) if len(self.scales) > 1 else (5.0, 3.4)
        self.points_: list[Any] = []
        self.failed_points_: list[Any] = []
        self.colorbar_ = None
        if not self.scales:
            # Without trials and space, the hyper-parameters are unknown.
            ax = get_axes(ax, size)
            style.annotate_empty(ax)
            return self._drawn_on(ax)
        self._drawn_on(get_many_axes(ax, len(self.scales), n_cols, size))
        for panel, scale, v in zip(self.axes_, self.scales, self.values, strict=True):
            self._draw(panel, scale, v, point_kw or {})
        for k, panel in enumerate(self.axes_):
            if k % n_cols == 0:
                panel.set_ylabel(score_label(self.record.label), fontsize="small")
            else:
                panel.tick_params(labelleft=False)
        if len(self.record) > 1:
            self.colorbar_ = self._explain_shades()
        return self

    @property
    def _alt(self) -> str:
        return "Score of each trial against each of its hyper-parameters."

    def _draw(
        self, ax: Any, scale: ParameterScale, v: FloatArray, point_kw: dict
    ) -> None:
        ax.set_facecolor("none")
        shades, record, score = style.tones(ax), self.record, self.record.shown
        x = v + scale.gap * self._spread() if scale.kind == "options" else v
        scored = np.isfinite(score) & np.isfinite(x)
        keywords = {
            "s": np.where(record.state == "complete", 22, 14)[scored],
            "c": record.number[scored].astype(float),
            "cmap": style.score_colors(shades.dark),
            "vmin": 0,
            "vmax": max(record.number.max(initial=0), 1),
            "edgecolors": shades.background,
            "linewidths": 0.4,
            "gid": style.TRIALS,
            "zorder": 2,
            **point_kw,
        }
        self.points_.append(ax.scatter(x[scored], score[scored], **keywords))
        failed = x[record.state == "failed"]
        kwargs = {"color": shades.foreground, "alpha": 0.6}
        marks = style.mark_failures(ax, failed, record.sign, **kwargs)
        self.failed_points_.append(marks)
        best = record.best
        if best is not None and np.isfinite(x[best]):
            style.mark_best(ax, x[best], score[best], size=90, width=1.5)
        scale.lay_out(ax)
        ax.tick_params(labelsize="small")
        ax.set_xlabel(name_label(scale.name), fontsize="small")
        style.style_axes(ax)
        ax.grid(axis="x", color=shades.faint, linewidth=0.4, alpha=0.5)
        # All panels have the same limits, including those of conditional ones.
        style.set_robust_ylim(ax, record.sign, score)

    def _spread(self) -> FloatArray:
        """Shift each trial sideways by a fixed amount."""
        golden = 0.5 * (np.sqrt(5.0) - 1.0)
        return SPREAD * (2.0 * np.mod(golden * (self.record.number + 0.5), 1.0) - 1.0)

    def _explain_shades(self) -> Any:
        from matplotlib.ticker import MaxNLocator

        place = {"ax": list(self.axes_), "pad": 0.02, "aspect": 30, "shrink": 0.9}
        ticks = MaxNLocator(6, integer=True)
        bar = self.figure_.colorbar(self.points_[0], ticks=ticks, **place)
        bar.set_label("number of the trial", fontsize="small")
        bar.ax.tick_params(labelsize="small")
        return bar
