"""Timeline of a search: start, end and state of each trial."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from skbayes.inspection.base import _Display, get_axes
from skbayes.inspection.style import STATES, style_axes, tones
from skbayes.results.record import SearchRecord
from skbayes.space.dimensions import FloatArray

# Maximum number of trials with numbers on their bars.
MAX_NUMBERED = 40


class TimelineDisplay(_Display):
    """Start and end of each trial, with concurrent trials one above the other.

    The bar of a trial extends from the start of its first fit to the end of its last
    one. Its color and hatching show its final state. Gaps between bars are times in
    which the next trial was chosen or fewer trials than possible were running.

    Use :meth:`from_search` or :meth:`from_history` to create a display.

    Parameters
    ----------
    %(record)s

    Attributes
    ----------
    number : ndarray of shape (n_trials,), int
        Numbers of the trials, in the order of their starts.
    started, finished : ndarray of shape (n_trials,)
        Start and end of each trial, in seconds since the start of the first one. The
        end of an unfinished trial is the time of the last known event, or later.
    lane : ndarray of shape (n_trials,), int
        Vertical position of each trial, from 0: the lowest that was free.
    state : ndarray of shape (n_trials,), str
        "complete", "failed", "timed_out", "out_of_memory", "pruned" or "running".
    %(ax_)s
    %(figure_)s
    bars_ : dict of str to matplotlib.container.BarContainer
        Bars of the trials, by state.

    Notes
    -----
    Times are available for all journals, and for searches made by a release that
    records times. Lanes are not workers: the fits of a trial can run on several
    workers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skbayes import BayesSearchCV
    >>> from skbayes.inspection import TimelineDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> search = BayesSearchCV(SVC(), {"C": (0.01, 10.0, "log-uniform")}, n_iter=5)
    >>> display = TimelineDisplay.from_search(search.fit(X, y))
    >>> display.lane
    array([0, 0, 0, 0, 0])
    """

    def __init__(self, record: SearchRecord) -> None:
        super().__init__(record)
        known = np.isfinite(record.started)
        if len(record) and not known.any():
            raise ValueError("The times of the trials of this search are unknown.")
        running = record.running
        starts = np.array([trial.started for trial in running])
        ends = np.full(len(running), _latest(record))
        number = np.array([*record.number[known], *(trial.number for trial in running)])
        started = np.concatenate([record.started[known], starts])
        finished = np.concatenate([record.finished[known], ends])
        state = np.array([*record.state[known], *["running"] * len(running)], object)
        order = np.lexsort((number, started))
        self.number, self.state = number[order].astype(int), state[order]
        self.started, self.finished = started[order], finished[order]
        self.lane = _lanes(self.started, self.finished)

    @property
    def idle(self) -> float:
        """Share of the time in which no trial ran; NaN if no time has passed."""
        if not len(self.started):
            return float("nan")
        # Time until which all earlier trials have ended.
        until = np.maximum.accumulate(self.finished)
        gaps = np.maximum(self.started[1:] - until[:-1], 0.0)
        total = until[-1] - self.started[0]
        return float(gaps.sum() / total) if total > 0 else float("nan")

    def plot(self, ax: Any = None, *, bar_kw: dict | None = None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        bar_kw : dict or None, default=None
            Keyword arguments for the bars, see ``matplotlib.axes.Axes.barh``.
        """
        n_lanes = int(self.lane.max(initial=0)) + 1
        ax = get_axes(ax, (6.4, min(1.6 + 0.4 * n_lanes, 8.0)))
        shades = tones(ax)
        self.bars_: dict[str, Any] = {}
        for state, style in STATES.items():
            chosen = self.state == state
            if not chosen.any():
                continue
            keywords = {
                "height": 0.8,
                "color": style.color or shades.background,
                "edgecolor": shades.background if style.color else shades.foreground,
                "hatch": style.hatch,
                "linewidth": 0.5,
                "label": f"{style.label} ({chosen.sum()})",
                **(bar_kw or {}),
                "left": self.started[chosen],
            }
            took = (self.finished - self.started)[chosen]
            self.bars_[state] = ax.barh(self.lane[chosen] + 1.0, took, **keywords)
        if len(self.number) <= MAX_NUMBERED:
            self._write_numbers(ax)
        self._describe(ax, n_lanes)
        return self._drawn_on(ax)

    @property
    def _alt(self) -> str:
        n = self.record.n_points or "some"
        return f"Timeline of {len(self.record)} trials, {n} in parallel."

    def _write_numbers(self, ax: Any) -> None:
        from matplotlib.patheffects import withStroke

        shades = tones(ax)
        halo = [withStroke(linewidth=3.5, foreground=shades.background)]
        text = {"color": shades.foreground, "path_effects": halo}
        text |= {"fontsize": "x-small", "ha": "center", "va": "center"}
        least = 0.022 * (self.finished.max(initial=0.0) - self.started.min(initial=0.0))
        for k in np.flatnonzero(self.finished - self.started >= least):
            middle = 0.5 * (self.started[k] + self.finished[k])
            ax.text(middle, self.lane[k] + 1.0, str(self.number[k]), **text)

    def _describe(self, ax: Any, n_lanes: int) -> None:
        from matplotlib.ticker import MaxNLocator

        n = len(self.number)
        text = f"{n} trial{'s' * (n != 1)}"
        if n_lanes > 1:
            text += f", up to {n_lanes} in parallel"
        if np.isfinite(self.idle):
            text += f"; no trial ran for {self.idle:.0%} of the time"
        style_axes(
            ax,
            "x",
            xlabel=f"seconds since the first trial began\n{text}",
            ylabel="running trials",
            ylim=(0.4, n_lanes + 0.6),
        )
        ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        if self.bars_:
            place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0)}
            n_states = len(self.bars_)
            ax.legend(ncols=n_states, fontsize="small", frameon=False, **place)


def _latest(record: SearchRecord) -> float:
    """Return the displayed end of unfinished trials, which may still run."""
    starts = [trial.started for trial in record.running]
    last = max([0.0, *record.finished[np.isfinite(record.finished)], *starts])
    typical = float(np.median(record.duration)) if len(record) else 1.0
    return max([last, *(start + typical for start in starts)])


def _lanes(started: FloatArray, finished: FloatArray) -> np.ndarray:
    """Give each trial the lowest lane that is free at its start; `started` ascends."""
    slack = 1e-3
    lanes: list[int] = []
    ends: list[float] = []
    for begin, end in zip(started, finished, strict=True):
        free = [lane for lane, last in enumerate(ends) if last <= begin + slack]
        lane = free[0] if free else len(ends)
        ends[lane : lane + 1] = [end]
        lanes.append(lane)
    return np.array(lanes, dtype=int)
