"""Pareto front of a search with several objectives, and its evolution."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, Self

import numpy as np

from skbayes.inspection import drawing
from skbayes.inspection.drawing import _Display, get_many_axes
from skbayes.inspection.scales import plain
from skbayes.pareto.hypervolume import (
    are_costs,
    choose_point,
    hypervolumes,
    is_nondominated,
)
from skbayes.results.read import read_record
from skbayes.results.record import AnySource, SearchRecord

# Number of fronts in the plot of their evolution.
N_FRONTS = 4


class ParetoDisplay(_Display):
    """Trials of a search with several objectives, and their Pareto front.

    Use :meth:`from_search` or :meth:`from_history` to create a display.

    Parameters
    ----------
    %(record)s
    objectives : dict of str to {"max", "min"} or None, default=None
        Objectives: two or more of the measured metrics and costs, including "fit_time"
        and "train_fraction". By default, the objectives of the search or of its
        journal; a history does not contain them.

    Attributes
    ----------
    objectives : dict of str to {"max", "min"}
        The objectives.
    values : ndarray of shape (n_trials, n_objectives)
        Objectives of each trial in their own units; NaN for missing values and for
        trials that violate constraints.
    front : ndarray of int
        Rows of the trials on the front, the best in the first objective first.
    hypervolume : ndarray of shape (n_trials,)
        Hypervolume after each trial: the volume that the front dominates, as a share of
        the box between a reference point and the best value of each objective. See
        :class:`skbayes.ParetoSearchCV`.
    chosen : int or None
        Row of the marked trial: the one chosen by the search, or else the knee of the
        front; None if the front is empty.
    %(axes_)s
    %(ax_)s
    %(figure_)s
    points_ : list
        For each pair of objectives, the points of trials that are not on the front.
    fronts_ : list of list
        For each pair of objectives, the lines of its fronts. The last one is the front
        of all trials. With more than two objectives, fronts are drawn as points without
        lines.
    line_ : matplotlib Line2D
        Line of the hypervolume, with ``kind="evolution"`` only.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skbayes import ParetoSearchCV
    >>> from skbayes.inspection import ParetoDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> tree, space = DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3]}
    >>> goals = {"accuracy": "max", "model_size": "min"}
    >>> search = ParetoSearchCV(tree, space, goals).fit(X, y)
    >>> len(ParetoDisplay.from_search(search).front)
    3
    """

    def __init__(
        self, record: SearchRecord, objectives: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(record)
        times = {"train_fraction": record.train_fraction, "fit_time": record.fit_time}
        measured = {**times, **record.costs, **record.outcomes, **record.scores}
        goals: Any = objectives
        if objectives is None:
            signs = record.directions.items()
            goals = {name: "max" if sign > 0 else "min" for name, sign in signs}
        is_valid = isinstance(goals, Mapping) and goals.keys() <= measured.keys()
        is_valid = is_valid and all(goal in ("max", "min") for goal in goals.values())
        if not is_valid or len(goals) < 2:
            raise ValueError(
                "objectives must be a dict of 'max' or 'min' for two or more of "
                f"{sorted(measured)}, got {goals!r}."
            )
        self.objectives = dict(goals)
        self.values = np.column_stack([measured[name] for name in goals])
        self.values[~record.allowed] = np.nan
        # All objectives are maximized.
        self._Y = self.values * [1 if goal == "max" else -1 for goal in goals.values()]
        self.front = self._front_of(len(self._Y))
        self.hypervolume, self.chosen = np.zeros(len(self._Y)), None
        if len(self.front):
            self.hypervolume = hypervolumes(self._Y)[0]
            knee = choose_point(self._Y[self.front], "knee", list(goals))
            self.chosen = int(self.front[knee])
            is_own = objectives is None and record.method == "ParetoSearchCV"
            is_own &= record.best is not None
            if is_own and np.all(np.isfinite(self.values[record.best])):
                self.chosen = record.best

    def _front_of(self, n: int) -> np.ndarray:
        """Return the rows of the front of the first trials."""
        rows = np.flatnonzero(np.all(np.isfinite(self._Y[:n]), axis=1))
        rows = rows[is_nondominated(self._Y[rows])]
        return rows[np.lexsort((rows, *-self._Y[rows].T[::-1]))]

    @classmethod
    def from_search(
        cls,
        search: AnySource,
        *,
        objectives: Mapping[str, str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the front of a search.

        Parameters
        ----------
        %(search)s
        objectives : dict of str to {"max", "min"} or None, default=None
            Objectives, as for the class.
        %(ax)s
        %(options)s

        %(Returns)s
        """
        return cls(read_record(search), objectives).plot(ax, **options)

    def plot(self, ax: Any = None, *, kind: str = "front") -> Self:
        """Draw the front, or its evolution.

        Parameters
        ----------
        %(ax)s
        kind : {"front", "evolution"}, default="front"
            With "front", each pair of objectives has a panel with all trials and the
            front. With "evolution", the panels show the fronts after a quarter, half,
            three quarters and all of the trials. Later ones have a higher contrast to
            the background. An additional panel shows the hypervolume after each trial.

        Returns
        -------
        %(self)s
        """
        if kind not in ("front", "evolution"):
            raise ValueError(f"kind must be 'front' or 'evolution', got {kind!r}.")
        pairs = list(combinations(range(len(self.objectives)), 2))
        evolves = kind == "evolution"
        n, n_fronts = len(pairs) + evolves, N_FRONTS if evolves else 1
        size = (4.8, 3.6) if n == 1 else (3.3, 2.9)
        self._drawn_on(get_many_axes(ax, n, 3 if n == 3 else 2, size))
        # Numbers of trials after which a front is drawn.
        n_trials = len(self.values)
        shares = np.arange(1, n_fronts + 1) / n_fronts
        sizes = sorted({max(round(n_trials * s), min(n_trials, 1)) for s in shares})
        shades = _shades(self.ax_, len(sizes))
        fronts = dict(zip(sizes, shades, strict=True))
        self.points_: list[Any] = []
        self.fronts_: list[list[Any]] = []
        for panel, pair in zip(self.axes_, pairs, strict=False):
            self._draw_pair(panel, pair, fronts)
        self.axes_[0].legend(fontsize="small")
        if evolves:
            self._draw_volume(self.axes_[-1], fronts)
        return self

    def _draw_pair(
        self, ax: Any, pair: tuple[int, int], fronts: Mapping[int, Any]
    ) -> None:
        x, y = self.values[:, pair].T
        off = np.setdiff1d(np.arange(len(x)), self.front)
        points = {"color": drawing.tones(ax).gray, "alpha": 0.55, "markersize": 4}
        self.points_ += ax.plot(x[off], y[off], "o", label="dominated", **points)
        self.fronts_.append([])
        for size, shade in fronts.items():
            is_last = size == len(self.values)
            # In the order of the first objective, the second one gets better. The
            # dominated region has a corner at the first objective of the later of two
            # neighbors and the second objective of the earlier one.
            line = {"drawstyle": "steps-post", "linewidth": 2 if is_last else 1.4}
            if len(self.objectives) > 2:
                line = {"linestyle": "none"}
            line |= {"marker": "o", "markersize": 6 if is_last else 4, "color": shade}
            label = "front" if is_last else f"after {size} trial{'s' * (size != 1)}"
            at = self._front_of(size)
            self.fronts_[-1] += ax.plot(x[at], y[at], label=label, **line)
        if self.chosen is not None:
            label = f"trial {self.record.number[self.chosen]}, chosen"
            ax.plot(x[self.chosen], y[self.chosen], **drawing.star(ax, 14, label=label))
        finished = self._Y[np.all(np.isfinite(self._Y), axis=1)]
        costs = are_costs(finished) if len(finished) else np.zeros(self._Y.shape[1])
        for axis, j, values in zip((ax.xaxis, ax.yaxis), pair, (x, y), strict=True):
            name, goal = list(self.objectives.items())[j]
            better = "higher" if goal == "max" else "lower"
            axis.set_label_text(f"{plain(name.replace('_', ' '))} ({better} is better)")
            if costs[j] and drawing.has_log_span(values[np.isfinite(values)]):
                axis._set_axes_scale("log")
        drawing.style_axes(ax, "both")

    def _draw_volume(self, ax: Any, fronts: Mapping[int, Any]) -> None:
        line = {"drawstyle": "steps-post", "color": drawing.tones(ax).series(0).color}
        (self.line_,) = ax.plot(self.record.number, self.hypervolume, **line)
        for size, shade in fronts.items():
            if size:
                at = (self.record.number[size - 1], self.hypervolume[size - 1])
                ax.plot(*at, "o", color=shade)
        ylabel = "hypervolume (share of the box)"
        drawing.style_axes(ax, xlabel="trial", ylabel=ylabel, ylim=(0.0, 1.02))


def _shades(ax: Any, n: int) -> list[Any]:
    """Return tones of blue with increasing contrast to the background."""
    from matplotlib.colors import to_rgb

    shades = drawing.tones(ax)
    last = to_rgb(shades.series(0).color)
    shares = np.linspace(0.5 if shades.dark else 0.35, 1.0, n) if n > 1 else [1.0]
    return [drawing.mixed(shades.background, last, share) for share in shares]
