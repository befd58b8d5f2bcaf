"""Learning curves of a search with a choice of the number of rounds."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from skbayes.inspection import style
from skbayes.inspection.base import _Display, get_axes, select_trials
from skbayes.inspection.scales import plain
from skbayes.results.record import SearchRecord
from skbayes.space.dimensions import FloatArray

# The limits of the vertical axis ignore the first 1 / LAST_PART of a trial's rounds.
LAST_PART = 4

GROUPS = {
    "complete": "-",
    "pruned": (0, (4, 2)),
    "fewer rows, or not finished": (0, (1, 1.5)),
}


class RoundsDisplay(_Display):
    """Score after each round, and the chosen number of rounds, for each trial.

    Each trial has a line, the mean over its fitted splits up to the end of the shortest
    fit, with a dot at the chosen number of rounds. Pruned trials are dashed, with a dot
    at their end. The best trial is in color, with a band from its lowest to its highest
    split and a star at its number of rounds.

    Use :meth:`from_search` or :meth:`from_history` to create a display.

    Parameters
    ----------
    %(record)s

    Attributes
    ----------
    record : SearchRecord
        The trials that have curves.
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
    best : int or None
        Position of the best trial.
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

    def __init__(self, record: SearchRecord) -> None:
        known = [i for i, curve in enumerate(record.curves) if curve is not None]
        if not known and np.isfinite(record.score).any():
            raise ValueError(
                "There are no learning curves: the search was made without rounds, or "
                "its trials are from cv_results_ or a data frame. Pass the fitted "
                "search, its trials_ or the path of its journal."
            )
        super().__init__(select_trials(record, np.array(known, dtype=int)))
        curves = [curve for curve in record.curves if curve is not None]
        self.rounds = [curve.rounds for curve in curves]
        self.scores = [record.sign * curve.scores for curve in curves]
        self.chosen = np.array([curve.chosen or 0 for curve in curves], dtype=int)
        self.group = _groups(record)[known]
        self.best = self.record.best

    def plot(self, ax: Any = None, *, line_kw: dict | None = None) -> Self:
        """Draw the learning curves.

        Parameters
        ----------
        line_kw : dict or None, default=None
            Keyword arguments for the line of the best trial, see
            ``matplotlib.lines.Line2D``.
        """
        from matplotlib.collections import LineCollection

        ax = get_axes(ax)
        gray = style.tones(ax).gray
        means = [scores.mean(axis=0) for scores in self.scores]
        curves = list(zip(self.rounds, means, strict=True))
        ends = [_place(x, n) for x, n in zip(self.rounds, self.chosen, strict=True)]
        dots = [(x[k], y[k]) for (x, y), k in zip(curves, ends, strict=True)]
        is_other = np.arange(len(curves)) != self.best
        self.lines_ = {}
        for group, dashes in GROUPS.items():
            places = np.flatnonzero((self.group == group) & is_other).tolist()
            if places:
                lines = LineCollection(
                    [np.column_stack(curves[i]) for i in places],
                    colors=gray,
                    linewidths=0.9,
                    linestyles=[dashes],
                    label=f"{group} ({len(places)})",
                    alpha=0.8,
                    zorder=2,
                )
                self.lines_[group] = ax.add_collection(lines, autolim=False)
        x, y = np.array(dots, dtype=float).reshape(-1, 2)[is_other].T
        kwargs = {"s": 9, "linewidths": 0, "gid": style.TRIALS, "zorder": 2}
        self.points_ = ax.scatter(x, y, color=gray, **kwargs)
        self.best_line_ = self.band_ = self.star_ = None
        if self.best is not None:
            self._draw_best(ax, self.best, dots[self.best], line_kw)
        self._describe(ax, curves)
        return self._drawn_on(ax)

    @property
    def _alt(self) -> str:
        record = self.record
        text = f"{record.label} of {len(record)} trials after each round"
        if self.best is None:
            return f"{text}."
        chosen, number = self.chosen[self.best], record.number[self.best]
        return f"{text}; the best is trial {number} with {chosen} rounds."

    def _draw_best(self, ax: Any, best: int, dot: tuple, line_kw: Any) -> None:
        x, scores = self.rounds[best], self.scores[best]
        line = {
            "color": style.tones(ax).series(0).color,
            "linewidth": 2.0,
            "label": f"best trial ({self.record.number[best]}), range of its splits",
            "zorder": 4,
        }
        line = style.merged(line, line_kw)
        (drawn,) = ax.plot(x, scores.mean(axis=0), **line)
        self.best_line_ = drawn
        band = {"color": drawn.get_color(), "alpha": 0.2, "linewidth": 0}
        low, high = scores.min(axis=0), scores.max(axis=0)
        self.band_ = ax.fill_between(x, low, high, zorder=3, **band)
        label = f"{dot[0]} round{'' if dot[0] == 1 else 's'}"
        (self.star_,) = ax.plot(*dot, **style.star(ax, 13.0, label=label))

    def _describe(self, ax: Any, curves: list[tuple[np.ndarray, FloatArray]]) -> None:
        style.style_axes(ax, xlabel="rounds", ylabel=plain(self.record.label))
        ends = [mean[x >= x[-1] / LAST_PART] for x, mean in curves]
        style.set_robust_ylim(ax, self.record.sign, np.concatenate([[], *ends]))
        if curves:
            self._set_xlim(ax, curves)
            place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0)}
            ax.legend(ncols=2, fontsize="small", frameon=False, **place)

    def _set_xlim(self, ax: Any, curves: list[tuple[np.ndarray, FloatArray]]) -> None:
        """Start the axis at the first round with a visible score."""
        from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

        low, high = ax.get_ylim()
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
