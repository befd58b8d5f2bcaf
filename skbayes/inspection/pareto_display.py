"""Pareto front of a search with several objectives, and its evolution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np

from skbayes.acquisition.hypervolume import (
    are_costs,
    choose_point,
    hypervolumes,
    is_nondominated,
)
from skbayes.inspection.base import _Display, get_many_axes
from skbayes.inspection.scales import plain
from skbayes.inspection.style import (
    has_log_span,
    mixed,
    star,
    style_axes,
    tones,
)
from skbayes.results.read import read_record
from skbayes.results.record import SearchRecord
from skbayes.space.dimensions import FloatArray


@dataclass(eq=False, repr=False)
class ParetoDisplay(_Display):
    """Trials of a search with several objectives, and their Pareto front.

    Use :meth:`from_search` or :meth:`from_history` to create a display.

    Parameters
    ----------
    objectives : dict of str to int
        Name of each objective, with 1 to maximize it or -1 to minimize it.
    values : ndarray of shape (n_trials, n_objectives)
        Objectives of each trial in their own units; NaN for missing values.
    numbers : ndarray of shape (n_trials,)
        Numbers of the trials.
    chosen : int or None, default=None
        Row of the trial to mark. By default, the knee of the front.

    Attributes
    ----------
    front : ndarray of int
        Rows of the trials on the front, the best in the first objective first.
    hypervolume : ndarray of shape (n_trials,)
        Hypervolume after each trial: the volume that the front dominates, as a share of
        the box between a reference point and the best value of each objective. See
        :class:`skbayes.ParetoSearchCV`.
    chosen : int or None
        Row of the marked trial; None if the front is empty.
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

    See Also
    --------
    skbayes.ParetoSearchCV : Search for the Pareto front of several objectives.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.inspection import ParetoDisplay
    >>> values = np.array([[0.9, 4.0], [0.8, 1.0], [0.7, 2.0]])
    >>> display = ParetoDisplay({"accuracy": 1, "seconds": -1}, values, np.arange(3))
    >>> display.front
    array([0, 1])
    """

    objectives: Mapping[str, int]
    values: FloatArray
    numbers: np.ndarray
    _: KW_ONLY
    chosen: int | None = None

    def __post_init__(self) -> None:
        self.objectives = dict(self.objectives)
        self.values = np.asarray(self.values, dtype=float)
        self._Y = self.values * list(self.objectives.values())
        self.front = self._front_of(len(self._Y))
        self.hypervolume = np.zeros(len(self._Y))
        if len(self.front):
            self.hypervolume = hypervolumes(self._Y)[0]
            if self.chosen is None:
                names = list(self.objectives)
                knee = choose_point(self._Y[self.front], "knee", names)
                self.chosen = int(self.front[knee])

    def _front_of(self, n: int) -> np.ndarray:
        rows = np.flatnonzero(np.all(np.isfinite(self._Y[:n]), axis=1))
        rows = rows[is_nondominated(self._Y[rows])]
        return rows[np.lexsort((rows, *-self._Y[rows].T[::-1]))]

    @classmethod
    def from_search(
        cls,
        search: Any,
        *,
        objectives: Mapping[str, str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the front of a search.

        Parameters
        ----------
        objectives : dict of str to {"max", "min"} or None, default=None
            Objectives: two or more of the measured metrics and costs, including
            "fit_time" and "train_fraction". By default, the objectives of the search or
            of its journal; a history does not contain them.
        """
        record = read_record(search)
        directions, chosen = record.directions, None
        table = _measured(record)
        if objectives is not None:
            directions = _check(objectives, table)
        elif record.method == "ParetoSearchCV":
            chosen = record.best
        if len(directions) < 2:
            raise ValueError(
                "objectives must be given, such as {'accuracy': 'max', 'fit_time': "
                f"'min'}}: {record.name} does not contain them."
            )
        values = np.column_stack([table[name] for name in directions])
        values[~record.allowed] = np.nan
        if chosen is not None and not np.all(np.isfinite(values[chosen])):
            chosen = None
        display = cls(directions, values, record.number, chosen=chosen)
        return display.plot(ax, **options)

    @property
    def _alt(self) -> str:
        n = len(self.front)
        if not n:
            return "No trial has a value for every objective yet."
        if len(self.axes_) > len(self.fronts_):
            return (
                "Fronts after some of the trials, and the hypervolume. It reaches "
                f"{self.hypervolume[-1]:.3g} of the box after {len(self.values)} "
                "trials."
            )
        columns = zip(self.objectives, self.values[self.front].T, strict=True)
        ends = [f"{name} from {v.min():.4g} to {v.max():.4g}" for name, v in columns]
        return f"Pareto front of {n} trials: {', '.join(ends)}."

    # -- drawing ------------------------------------------------------------------

    def plot(self, ax: Any = None, *, kind: str = "front", n_fronts: int = 4) -> Self:
        """Draw the front, or its evolution.

        Parameters
        ----------
        kind : {"front", "evolution"}, default="front"
            "front": all trials and the front, in a panel for each pair of objectives.
            "evolution": fronts after some of the trials, and the hypervolume after each
            trial in an additional panel. Later fronts have a higher contrast to the
            background.
        n_fronts : int, default=4
            Number of fronts to draw with ``kind="evolution"``.

        Raises
        ------
        ValueError
            If `kind` or `n_fronts` is invalid.
        """
        if kind not in ("front", "evolution"):
            raise ValueError(f"kind must be 'front' or 'evolution', got {kind!r}.")
        if not isinstance(n_fronts, int) or n_fronts < 1:
            raise ValueError(f"n_fronts must be an integer >= 1, got {n_fronts!r}.")
        pairs = list(combinations(range(len(self.objectives)), 2))
        evolves = kind == "evolution"
        n = len(pairs) + evolves
        size = (4.8, 3.6) if n == 1 else (3.3, 2.9)
        self._drawn_on(get_many_axes(ax, n, 3 if n == 3 else 2, size))
        self.points_: list[Any] = []
        self.fronts_: list[list[Any]] = []
        sizes = _sizes(len(self.values), n_fronts if evolves else 1)
        for axis, pair in zip(self.axes_, pairs, strict=False):
            self._draw_pair(axis, pair, sizes)
        self.axes_[0].legend(fontsize="small")
        if evolves:
            self._draw_volume(self.axes_[-1], sizes)
        return self

    def _draw_pair(self, ax: Any, pair: tuple[int, int], sizes: list[int]) -> None:
        x, y = self.values[:, pair].T
        off = np.setdiff1d(np.arange(len(x)), self.front)
        kwargs = {"color": tones(ax).gray, "alpha": 0.55, "markersize": 4}
        self.points_ += ax.plot(x[off], y[off], "o", label="dominated", **kwargs)
        fronts = zip(sizes, _shades(ax, len(sizes)), strict=True)
        self.fronts_.append(
            [self._draw_front(ax, pair, *front, sizes[-1]) for front in fronts]
        )
        if self.chosen is not None:
            label = f"trial {self.numbers[self.chosen]}, chosen"
            ax.plot(x[self.chosen], y[self.chosen], **star(ax, 14, label=label))
        finished = self._Y[np.all(np.isfinite(self._Y), axis=1)]
        costs = are_costs(finished) if len(finished) else np.zeros(self._Y.shape[1])
        objectives = list(self.objectives.items())
        for axis, j in zip((ax.xaxis, ax.yaxis), pair, strict=True):
            name, sign = objectives[j]
            better = "higher" if sign > 0 else "lower"
            axis.set_label_text(f"{plain(name.replace('_', ' '))} ({better} is better)")
            finite = self.values[:, j][np.isfinite(self.values[:, j])]
            if len(finite) and costs[j] and has_log_span(finite):
                axis._set_axes_scale("log")
        style_axes(ax, "both")

    def _draw_front(
        self, ax: Any, pair: tuple[int, int], size: int, shade: Any, last: int
    ) -> Any:
        """Draw the front of the first trials; of two objectives, with its border."""
        is_last = size == last
        line: dict[str, Any] = {"linestyle": "none"}
        if len(self.objectives) == 2:
            # Ordered by the first objective, the second one improves. The dominated
            # region has a corner at the first objective of the later of two neighbors
            # and the second objective of the earlier one.
            line = {"drawstyle": "steps-post", "linewidth": 2 if is_last else 1.4}
        line |= {"marker": "o", "markersize": 6 if is_last else 4, "color": shade}
        label = "front" if is_last else f"after {size} trials"
        at = self.values[self._front_of(size)][:, pair].T
        return ax.plot(*at, label=label, **line)[0]

    def _draw_volume(self, ax: Any, sizes: list[int]) -> None:
        kwargs = {"drawstyle": "steps-post", "color": tones(ax).series(0).color}
        (self.line_,) = ax.plot(self.numbers, self.hypervolume, **kwargs)
        for size, shade in zip(sizes, _shades(ax, len(sizes)), strict=True):
            if size:
                at = (self.numbers[size - 1], self.hypervolume[size - 1])
                ax.plot(*at, "o", color=shade)
        ylabel = "hypervolume (share of the box)"
        style_axes(ax, xlabel="trial", ylabel=ylabel, ylim=(0.0, 1.02))


def _sizes(n: int, n_fronts: int) -> list[int]:
    """Return the numbers of trials after which a front is drawn; all trials last."""
    shares = np.arange(1, n_fronts + 1) / n_fronts
    return sorted({max(round(n * share), min(n, 1)) for share in shares})


def _shades(ax: Any, n: int) -> list[Any]:
    """Return tones of blue with increasing contrast to the background."""
    from matplotlib.colors import to_rgb

    shades = tones(ax)
    last = to_rgb(shades.series(0).color)
    shares = np.linspace(0.5 if shades.dark else 0.35, 1.0, n) if n > 1 else [1.0]
    return [mixed(shades.background, last, share) for share in shares]


def _check(objectives: Any, known: Mapping[str, FloatArray]) -> dict[str, int]:
    if not isinstance(objectives, Mapping):
        raise TypeError(
            "objectives must be a dict such as {'accuracy': 'max', 'fit_time': 'min'}, "
            f"got {objectives!r}."
        )
    for name, direction in objectives.items():
        if name not in known:
            raise ValueError(
                f"objectives: {name!r} was not measured; {sorted(known)} were."
            )
        if direction not in ("max", "min"):
            raise ValueError(
                f"objectives[{name!r}] must be 'max' or 'min', got {direction!r}."
            )
    return {name: 1 if objectives[name] == "max" else -1 for name in objectives}


def _measured(record: SearchRecord) -> dict[str, FloatArray]:
    times = {"train_fraction": record.train_fraction, "fit_time": record.fit_time}
    return {**times, **record.costs, **record.outcomes, **record.scores}
