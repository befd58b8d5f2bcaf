"""Picture: the score against each parameter."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from skbayes.inspection.scales import (
    ParameterScale,
    drawn_trials,
    parameter_scales,
    plain,
)
from skbayes.inspection.style import (
    TRIALS,
    annotate_empty,
    get_axes,
    get_many_axes,
    mark_failures,
    score_colors,
    set_robust_ylim,
    style_axes,
    tones,
)
from skbayes.results.read import read_record
from skbayes.results.record import SearchRecord
from skbayes.space.dimensions import FloatArray

__all__ = ["SliceDisplay"]

# How far trials of one option are spread, of the distance to the next.
SPREAD = 0.28


class SliceDisplay:
    """The score against each parameter, a panel for each; shades tell the order.

    Use :meth:`from_search` or :meth:`from_history` to make one.

    Parameters
    ----------
    scales : list of ParameterScale
        The parameters.
    values : list of ndarray of shape (n_trials,)
        For each parameter its value in each trial, or the place of an option; NaN where
        it does not exist.
    score : ndarray of shape (n_trials,)
        The scores, as the user knows the metric: errors are positive. NaN for failed
        trials.
    number : ndarray of shape (n_trials,), int
        Numbers of the trials.
    state : ndarray of shape (n_trials,), str
        "complete", "failed", "censored" or "raced".
    best : int, default=None
        Place of the best trial.
    label : str, default="score"
        What to write beside the scores.
    sign : int, default=1
        1 if the higher of two scores is the better, else -1.

    Attributes
    ----------
    axes_ : ndarray of shape (n_parameters,)
        The panels.
    ax_ : matplotlib.axes.Axes
        The first of them.
    figure_ : matplotlib.figure.Figure
        Their figure.
    points_ : list of matplotlib.collections.PathCollection
        The trials with a score, for each panel.
    failed_points_ : list of matplotlib.collections.PathCollection
        Failed trials, at the edge, for each panel.
    colorbar_ : matplotlib.colorbar.Colorbar or None
        Says which shade is which trial; None without any.

    Notes
    -----
    A panel shows trials that differ in all parameters, not what the one parameter does
    by itself. A parameter that depends on another one has fewer points. Of a search in
    stages the last one is shown, which is on the most rows.

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

    axes_: np.ndarray
    ax_: Any
    figure_: Any
    points_: list[Any]
    failed_points_: list[Any]
    colorbar_: Any

    def __init__(
        self,
        *,
        scales: list[ParameterScale],
        values: list[FloatArray],
        score: FloatArray,
        number: np.ndarray,
        state: np.ndarray,
        best: int | None = None,
        label: str = "score",
        sign: int = 1,
    ) -> None:
        self.scales = scales
        self.values = values
        self.score = score
        self.number = number
        self.state = state
        self.best = best
        self.label = label
        self.sign = sign

    @classmethod
    def from_search(
        cls,
        search: Any,
        *,
        params: Sequence[str] | None = None,
        metric: str | None = None,
        ax: Any = None,
        n_cols: int = 3,
        point_kw: dict | None = None,
    ) -> SliceDisplay:
        """Draw the slices of a fitted search.

        Parameters
        ----------
        search : estimator
            A fitted search, of skbayes or scikit-learn.
        params : list of str or None, default=None
            Which parameters. None: all that can take several values.
        metric : str or None, default=None
            Which score of several. None: the one that guided the search.
        ax : matplotlib.axes.Axes, array-like of Axes, or None, default=None
            Where to draw: as many axes as parameters, or one, whose place is divided.
            None: in a new figure.
        n_cols : int, default=3
            The most panels in a row.
        point_kw : dict or None, default=None
            Keywords for the trials, see ``matplotlib.axes.Axes.scatter``.

        Returns
        -------
        display : SliceDisplay
            The picture.
        """
        record = read_record(search, metric=metric)
        return cls._of_record(record, params).plot(ax, n_cols=n_cols, point_kw=point_kw)

    @classmethod
    def from_history(
        cls,
        history: Any,
        *,
        params: Sequence[str] | None = None,
        metric: str | None = None,
        search_spaces: Any = None,
        ax: Any = None,
        n_cols: int = 3,
        point_kw: dict | None = None,
    ) -> SliceDisplay:
        """Draw the slices of a search that runs, or ran.

        Parameters
        ----------
        history : History, DataFrame, str, os.PathLike or SearchRecord
            `trials_` of a search, the path of its journal, or what
            :func:`skbayes.load_history` or :func:`skbayes.inspection.read_record`
            returned.
        params : list of str or None, default=None
            Which parameters. None: all that can take several values.
        metric : str or None, default=None
            Which score of several. None: the one that guided the search.
        search_spaces : dict, list of dict, Space or None, default=None
            What the parameters were chosen from: scales and ends of the axes. None:
            they follow from the values that were tried.
        ax : matplotlib.axes.Axes, array-like of Axes, or None, default=None
            Where to draw: as many axes as parameters, or one, whose place is divided.
            None: in a new figure.
        n_cols : int, default=3
            The most panels in a row.
        point_kw : dict or None, default=None
            Keywords for the trials, see ``matplotlib.axes.Axes.scatter``.

        Returns
        -------
        display : SliceDisplay
            The picture.
        """
        record = read_record(history, metric=metric, search_spaces=search_spaces)
        return cls._of_record(record, params).plot(ax, n_cols=n_cols, point_kw=point_kw)

    @classmethod
    def _of_record(
        cls, record: SearchRecord, names: Sequence[str] | None
    ) -> SliceDisplay:
        chosen, scales, values = drawn_trials(
            record, parameter_scales(record, names), with_size=names is None
        )
        places = np.flatnonzero(chosen).tolist()
        return cls(
            scales=scales,
            values=values,
            score=record.shown[chosen],
            number=record.number[chosen],
            state=record.state[chosen],
            best=places.index(record.best) if record.best in places else None,
            label=record.label,
            sign=record.sign,
        )

    def plot(
        self, ax: Any = None, *, n_cols: int = 3, point_kw: dict | None = None
    ) -> SliceDisplay:
        """Draw them.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, array-like of Axes, or None, default=None
            Where to draw: as many axes as parameters, or one, whose place is divided.
            None: in a new figure.
        n_cols : int, default=3
            The most panels in a row.
        point_kw : dict or None, default=None
            Keywords for the trials.

        Returns
        -------
        self : SliceDisplay
            With what was drawn as attributes.
        """
        if not isinstance(n_cols, Integral) or n_cols < 1:
            raise ValueError(f"n_cols must be an int of at least 1, got {n_cols!r}.")
        size = (2.6, 2.3) if len(self.scales) > 1 else (5.0, 3.4)
        if not self.scales:
            # Not even the parameters are known.
            self.ax_ = get_axes(ax, size)
            self.axes_, self.figure_ = np.array([self.ax_]), self.ax_.figure
            self.points_, self.failed_points_, self.colorbar_ = [], [], None
            annotate_empty(self.ax_)
            return self
        self.axes_ = get_many_axes(ax, len(self.scales), n_cols, size)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self.points_, self.failed_points_ = [], []
        for panel, scale, v in zip(self.axes_, self.scales, self.values, strict=True):
            self._draw(panel, scale, v, point_kw or {})
        for k, panel in enumerate(self.axes_):
            if k % n_cols == 0:
                label = plain(self.label).replace(" (", "\n(")
                panel.set_ylabel(label, fontsize="small")
            else:
                panel.tick_params(labelleft=False)
        self.colorbar_ = self._explain_shades() if len(self.number) > 1 else None
        return self

    def _draw(
        self, ax: Any, scale: ParameterScale, v: FloatArray, point_kw: dict
    ) -> None:
        ax.set_facecolor("none")
        shades = tones(ax)
        x = v + self._spread() if scale.kind == "options" else v
        scored = np.isfinite(self.score) & np.isfinite(x)
        whole = self.state == "complete"
        keywords = {
            "s": np.where(whole, 22, 14)[scored],
            "c": self.number[scored].astype(float),
            "cmap": score_colors(shades.dark),
            "vmin": 0,
            "vmax": max(self.number.max(initial=0), 1),
            "edgecolors": shades.paper,
            "linewidths": 0.4,
            "gid": TRIALS,
            "zorder": 2,
            **point_kw,
        }
        self.points_.append(ax.scatter(x[scored], self.score[scored], **keywords))
        self.failed_points_.append(
            mark_failures(
                ax, x[self.state == "failed"], self.sign, color=shades.ink, alpha=0.6
            )
        )
        if self.best is not None and np.isfinite(x[self.best]):
            at = (x[self.best], self.score[self.best])
            ring = {"s": 90, "facecolors": "none", "edgecolors": shades.ink}
            ax.scatter(*at, zorder=3, linewidths=1.5, **ring)
        scale.lay_out(ax)
        ax.tick_params(labelsize="small")
        ax.set_xlabel(scale.name, fontsize="small")
        style_axes(ax, "y")
        ax.grid(axis="x", color=shades.faint, linewidth=0.4, alpha=0.5)
        # The same scores are in sight in all panels, whatever exists in which trial.
        set_robust_ylim(ax, self.sign, self.score)
        if not np.isfinite(self.score).any():
            annotate_empty(ax)

    def _spread(self) -> FloatArray:
        """Shift trials sideways, each by an amount of its own: it never changes."""
        golden = 0.5 * (np.sqrt(5.0) - 1.0)
        return SPREAD * (2.0 * np.mod(golden * (self.number + 0.5), 1.0) - 1.0)

    def _explain_shades(self) -> Any:
        from matplotlib.ticker import MaxNLocator

        bar = self.figure_.colorbar(
            self.points_[0],
            ax=list(self.axes_),
            pad=0.02,
            aspect=30,
            shrink=0.9,
            ticks=MaxNLocator(6, integer=True),
        )
        bar.set_label("number of the trial", fontsize="small")
        bar.ax.tick_params(labelsize="small")
        return bar
