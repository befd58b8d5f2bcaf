"""Learning curves of a search with a choice of the number of rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skbayes.inspection import style
from skbayes.inspection.base import _Display, get_axes, merged
from skbayes.inspection.texts import plain
from skbayes.results.read import read_record
from skbayes.results.record import SearchRecord
from skbayes.space.dimensions import FloatArray

__all__ = ["RoundsDisplay"]

# The limits of the vertical axis ignore the first 1 / LAST_PART of a trial's rounds.
LAST_PART = 4

GROUPS = {
    "complete": "-",
    "pruned": (0, (4, 2)),
    "fewer rows, or not finished": (0, (1, 1.5)),
}


@dataclass(eq=False, repr=False, kw_only=True)
class RoundsDisplay(_Display):
    """Score after each round, and the chosen number of rounds, for each trial.

    Each trial has a line, the mean over its fitted splits up to the end of the shortest
    fit, with a dot at the chosen number of rounds. Pruned trials are dashed, with a dot
    at their end. The best trial is in color, with a band from its lowest to its highest
    split and a star at its number of rounds.

    Use :meth:`from_search` or :meth:`from_history` to create a display.

    Parameters
    ----------
    number : ndarray of shape (n_trials,), int
        Numbers of the trials that have curves.
    rounds : list of ndarray of shape (n_points,)
        Numbers of rounds of each trial.
    scores : list of ndarray of shape (n_splits, n_points)
        Scores of the splits of each trial, on the scale of the metric (errors are
        positive).
    chosen : ndarray of shape (n_trials,), int
        Number of rounds that the splits of each trial choose together; 0 for a trial
        that was pruned after its first rounds. The score of a trial is not that of its
        line at this number, because each split is scored at the choice of the others.
    group : ndarray of shape (n_trials,), str
        "complete", "pruned", or "fewer rows, or not finished" for trials that are not
        comparable with the best one.
    best : int, default=None
        Position of the best trial.
    %(label)s
    name : str, default=None
        Name of the search.
    %(sign)s

    Attributes
    ----------
    %(ax_)s
    %(figure_)s
    lines_ : dict of str to matplotlib.collections.LineCollection
        Lines of the trials, by group.
    points_ : matplotlib.collections.PathCollection
        Chosen numbers of rounds of all trials except the best.
    best_line_ : matplotlib.lines.Line2D or None
        Line of the best trial.
    band_ : matplotlib.collections.PolyCollection or None
        Band from the lowest to the highest score of its splits.
    star_ : matplotlib.lines.Line2D or None
        Chosen number of rounds of the best trial.

    Notes
    -----
    Learning curves are available from a fitted search, its pickle, its ``trials_``, and
    its journal, but not from ``cv_results_`` or the output of
    :func:`skbayes.load_history`. With more than 20 rounds, the axis of rounds is
    logarithmic.

    Scores that are much worse than the others, such as those of the first rounds, are
    beyond the limits of the axes. A small triangle at the edge marks a dot beyond the
    limits. Use ``display.ax_.set_ylim`` and ``set_xlim`` to change the limits.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from skbayes import BayesSearchCV
    >>> from skbayes.inspection import RoundsDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = BayesSearchCV(
    ...     GradientBoostingRegressor(random_state=0),
    ...     {"learning_rate": (0.01, 0.5, "log-uniform")},
    ...     n_iter=3,
    ...     rounds=60,
    ...     cv=3,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> display = RoundsDisplay.from_search(search)
    >>> int(display.chosen[display.best])
    24
    >>> search.best_params_
    {'learning_rate': 0.1, 'n_estimators': 24}
    """

    number: np.ndarray
    rounds: list[np.ndarray]
    scores: list[FloatArray]
    chosen: np.ndarray
    group: np.ndarray
    best: int | None = None
    label: str = "score"
    name: str | None = None
    sign: int = 1

    @classmethod
    def from_search(
        cls,
        search: Any,
        *,
        metric: str | None = None,
        name: str | None = None,
        ax: Any = None,
        line_kw: dict | None = None,
    ) -> Self:
        """Draw the learning curves of a search.

        Parameters
        ----------
        line_kw : dict or None, default=None
            Keyword arguments for the line of the best trial, see
            ``matplotlib.lines.Line2D``.
        """
        record = read_record(search, metric=metric, name=name)
        known = [
            (i, curve) for i, curve in enumerate(record.curves) if curve is not None
        ]
        if not known and np.isfinite(record.score).any():
            raise ValueError(
                "There are no learning curves: the search was made without rounds, or "
                "its trials are from cv_results_ or a data frame. Pass the fitted "
                "search, its trials_ or the path of its journal."
            )
        places = [i for i, _ in known]
        display = cls(
            number=record.number[places],
            rounds=[curve.rounds for _, curve in known],
            scores=[record.sign * curve.scores for _, curve in known],
            chosen=np.array([curve.chosen or 0 for _, curve in known], dtype=int),
            group=_groups(record)[places],
            best=places.index(record.best) if record.best in places else None,
            label=record.label,
            name=record.name,
            sign=record.sign,
        )
        return display.plot(ax, line_kw=line_kw)

    def plot(self, ax: Any = None, *, line_kw: dict | None = None) -> Self:
        """Draw the learning curves.

        Parameters
        ----------
        line_kw : dict or None, default=None
            Keyword arguments for the line of the best trial.
        """
        ax = get_axes(ax)
        means = [scores.mean(axis=0) for scores in self.scores]
        self.lines_ = {
            group: self._draw_group(ax, group, means)
            for group in GROUPS
            if np.any((self.group == group) & ~self._is_best())
        }
        self.points_ = self._draw_points(ax, means)
        self.best_line_ = self.band_ = self.star_ = None
        if self.best is not None:
            self._draw_best(ax, self.best, means[self.best], line_kw)
        self._describe(ax, means)
        return self._drawn_on(ax)

    def _is_best(self) -> np.ndarray:
        return np.arange(len(self.number)) == self.best

    def _draw_group(self, ax: Any, group: str, means: Sequence[FloatArray]) -> Any:
        from matplotlib.collections import LineCollection

        places = np.flatnonzero((self.group == group) & ~self._is_best()).tolist()
        lines = LineCollection(
            [np.column_stack([self.rounds[i], means[i]]) for i in places],
            colors=style.tones(ax).gray,
            linewidths=0.9,
            linestyles=[GROUPS[group]],
            label=f"{group} ({len(places)})",
            alpha=0.8,
            zorder=2,
        )
        return ax.add_collection(lines, autolim=False)

    def _draw_points(self, ax: Any, means: Sequence[FloatArray]) -> Any:
        points = [
            (rounds[place], mean[place])
            for i, (rounds, mean) in enumerate(zip(self.rounds, means, strict=True))
            for place in [_place(rounds, self.chosen[i])]
            if i != self.best
        ]
        x, y = np.array(points, dtype=float).reshape(-1, 2).T
        kwargs = {"s": 9, "linewidths": 0, "gid": style.TRIALS, "zorder": 2}
        return ax.scatter(x, y, color=style.tones(ax).gray, **kwargs)

    def _draw_best(
        self, ax: Any, best: int, mean: FloatArray, line_kw: dict | None
    ) -> None:
        x, scores = self.rounds[best], self.scores[best]
        kwargs = {
            "color": style.tones(ax).series(0).color,
            "linewidth": 2.0,
            "label": f"best trial ({self.number[best]}), range of its splits",
            "zorder": 4,
        }
        (line,) = ax.plot(x, mean, **merged(kwargs, line_kw))
        self.best_line_ = line
        self.band_ = ax.fill_between(
            x,
            scores.min(axis=0),
            scores.max(axis=0),
            color=line.get_color(),
            alpha=0.2,
            linewidth=0,
            zorder=3,
        )
        place = _place(x, self.chosen[best])
        rounds = f"{x[place]} round{'' if x[place] == 1 else 's'}"
        kwargs = style.star(ax, 13.0, label=rounds)
        (self.star_,) = ax.plot([x[place]], [mean[place]], **kwargs)

    def _describe(self, ax: Any, means: Sequence[FloatArray]) -> None:
        ax.set_xlabel("rounds")
        ax.set_ylabel(plain(self.label))
        style.style_axes(ax)
        if not means:
            style.annotate_empty(ax)
            return
        curves = zip(self.rounds, means, strict=True)
        ends = [mean[x >= x[-1] / LAST_PART] for x, mean in curves]
        style.set_robust_ylim(ax, self.sign, np.concatenate(ends))
        self._set_xlim(ax, means)
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0)}
        ax.legend(ncols=2, fontsize="small", frameon=False, **place)

    def _set_xlim(self, ax: Any, means: Sequence[FloatArray]) -> None:
        """Start the axis at the first round with a visible score."""
        from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

        low, high = ax.get_ylim()
        curves = zip(self.rounds, means, strict=True)
        seen = [x[(low <= mean) & (mean <= high)] for x, mean in curves]
        points = self.points_.get_offsets()[:, 0]
        first = int(min([x[0] for x in seen if len(x)] + list(points), default=1))
        last = max(x[-1] for x in self.rounds)
        if last > style.COST_SPAN:
            ax.set_xscale("log")
            ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            ax.xaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))
            ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_xlim(first, max(last, first + 1))


def _place(rounds: np.ndarray, chosen: int) -> int:
    """Return the position of the chosen number, or the last one if none was chosen."""
    found = np.flatnonzero(rounds == chosen)
    return int(found[0]) if len(found) else len(rounds) - 1


def _groups(record: SearchRecord) -> np.ndarray:
    complete, pruned, other = GROUPS
    most = record.train_fraction == record.train_fraction.max(initial=0.0)
    is_pruned = (record.state == "pruned") & most
    groups = np.where(record.comparable, complete, np.where(is_pruned, pruned, other))
    return groups.astype(object)
