"""Stages of a search: scores of each stage, and configurations of several stages."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any, Self

import numpy as np

from skbayes.inspection import base
from skbayes.inspection.base import _Display, get_axes
from skbayes.inspection.scales import plain
from skbayes.results.record import SearchRecord
from skbayes.results.scores import spearman
from skbayes.space.dimensions import FloatArray, key_of

# Spread of the trials of a stage to each side, as a share of the distance to the next.
SPREAD = 0.17


class StagesDisplay(_Display):
    """Scores of each stage of a search.

    Lines connect the trials of one configuration in two stages. Use :meth:`from_search`
    or :meth:`from_history` to create a display.

    Parameters
    ----------
    %(record)s

    Attributes
    ----------
    train_fraction : ndarray of shape (n_stages,)
        Share of the training rows of each stage.
    carried : list of tuple of int
        Positions of the two trials of each configuration in successive stages.
    rank_correlation : ndarray of shape (n_stages - 1,)
        Rank correlation of the scores of these pairs, from -1 to 1: a high value means
        that the ranking in a stage predicts the ranking in the next. NaN for fewer than
        two pairs.
    %(ax_)s
    %(figure_)s
    points_ : list of matplotlib.collections.PathCollection
        Points of the trials of each stage.
    lines_ : matplotlib.collections.LineCollection
        Lines between trials of one configuration.
    best_point_ : matplotlib.collections.PathCollection or None
        Mark of the best trial.
    texts_ : list of matplotlib.text.Text
        Rank correlations, between the stages.

    Notes
    -----
    Scores on more rows are usually better. The plot compares the rankings of the stages
    and not the levels of their scores: lines that cross are changes of the ranking.
    With a rank correlation near 1, fewer trials on all rows are sufficient. With a rank
    correlation near 0, the first stage had no information on the second: use more rows
    in the first stage, or evaluate more of its configurations in the second.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skbayes import MultiStageSearchCV
    >>> from skbayes.inspection import StagesDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> spaces = {"C": (0.01, 10.0, "log-uniform")}
    >>> search = MultiStageSearchCV(
    ...     SVC(), spaces, stages=(0.3, 1.0), n_iter=8, random_state=0
    ... )
    >>> display = StagesDisplay.from_search(search.fit(X, y))
    >>> display.train_fraction.round(1), len(display.carried)
    (array([0.3, 1. ]), 2)
    """

    def __init__(self, record: SearchRecord) -> None:
        # Stages that were left out have no trials.
        dense = np.unique(record.stage, return_inverse=True)[1]
        record = dataclasses.replace(record, stage=dense)
        super().__init__(record)
        has_stages = np.any(record.stage > 0) or np.any(record.train_fraction < 1.0)
        if len(record) and not has_stages:
            raise ValueError(
                f"{record.name} has no stages: all its trials use all training rows. "
                "MultiStageSearchCV makes trials on fewer rows first."
            )
        self.n_stages = int(record.stage.max(initial=-1)) + 1
        stages = range(self.n_stages)
        shares = [record.train_fraction[record.stage == stage] for stage in stages]
        self.train_fraction = np.array([s.max(initial=0.0) for s in shares], float)
        self.carried = _carried(record)
        pairs = [self._pairs_from(stage) for stage in stages[:-1]]
        correlations = [spearman(*record.score[pair].T) for pair in pairs]
        self.rank_correlation = np.array(correlations, dtype=float)

    def plot(self, ax: Any = None, *, point_kw: dict | None = None) -> Self:
        """Draw the stages.

        Parameters
        ----------
        %(ax)s
        point_kw : dict or None, default=None
            Keyword arguments for the points of the trials, see
            ``matplotlib.axes.Axes.scatter``.

        Returns
        -------
        %(self)s
        """
        from matplotlib.collections import LineCollection

        record, n_stages = self.record, max(self.n_stages, 1)
        ax = get_axes(ax, (min(2.2 + 2.0 * n_stages, 10.0), 4.0))
        x, score, best = self._places(), record.shown, record.best
        shades, self.points_ = base.tones(ax), []
        for stage in range(self.n_stages):
            rows = (record.stage == stage) & np.isfinite(score)
            series = shades.series(stage)
            points: dict[str, Any] = {
                "color": series.color,
                "marker": series.marker,
                "alpha": 0.75,
            }
            points |= {"linewidths": 0, "gid": base.TRIALS, "zorder": 2}
            points |= {"s": np.where(record.complete[rows], 26, 14), **(point_kw or {})}
            self.points_.append(ax.scatter(x[rows], score[rows], **points))
        ends = np.array(self.carried, dtype=int).reshape(-1, 2)
        lines: dict[str, Any] = {
            "colors": shades.gray,
            "linewidths": 1.1,
            "alpha": 0.8,
            "zorder": 3,
        }
        segments = np.stack([x[ends], score[ends]], axis=-1)
        self.lines_ = LineCollection([*segments], **lines)
        ax.add_collection(self.lines_, autolim=False)
        self.best_point_ = None
        if best is not None and np.isfinite(score[best]):
            ring = {"s": 110, "facecolors": "none", "linewidths": 1.8, "zorder": 4}
            ring["edgecolors"] = shades.foreground
            self.best_point_ = ax.scatter(x[best], score[best], **ring)
        stages = range(self.n_stages)
        ax.set_xticks(stages, [self._name(stage) for stage in stages])
        xlim = (-0.5, n_stages - 0.5)
        base.style_axes(ax, xlim=xlim, ylabel=plain(record.label))
        base.set_robust_ylim(ax, record.sign)
        self.texts_ = []
        place = {"ha": "center", "va": "bottom", "fontsize": "small"}
        place["transform"] = ax.get_xaxis_transform()
        for stage, correlation in enumerate(self.rank_correlation):
            n = len(self._pairs_from(stage))
            text = f"{n} tried in both" if n else "none tried in both"
            if np.isfinite(correlation):
                text = f"rank correlation\n{correlation:.2f} ({text})"
            self.texts_.append(ax.text(stage + 0.5, 1.0, text, **place))
        return self._drawn_on(ax)

    @property
    def _alt(self) -> str:
        counts = [str(n) for n in np.unique(self.record.stage, return_counts=True)[1]]
        return f"Scores of the stages, with {' and '.join(counts)} trials."

    def _places(self) -> FloatArray:
        """Return the horizontal positions of the trials, separated by subset."""
        x = self.record.stage.astype(float)
        for stage in range(self.n_stages):
            places = np.flatnonzero(self.record.stage == stage)
            order = places[np.argsort(self.record.subset[places], kind="stable")]
            if len(order) > 1:
                x[order] += np.linspace(-SPREAD, SPREAD, len(order))
        return x

    def _name(self, stage: int) -> str:
        own = self.record.stage == stage
        n, share = own.sum(), self.train_fraction[stage]
        states = Counter(s.replace("_", " ") for s in self.record.state[own])
        others = [
            f", {k} {state}" for state, k in states.items() if state != "complete"
        ]
        trials = "trial" if n == 1 else "trials"
        return f"stage {stage + 1}: {share:.0%} of rows\n{n} {trials}{''.join(others)}"

    def _pairs_from(self, stage: int) -> np.ndarray:
        """Return the pairs that begin in a stage, shape (n, 2)."""
        stages = self.record.stage
        pairs = [pair for pair in self.carried if stages[pair[0]] == stage]
        return np.array(pairs, dtype=int).reshape(-1, 2)


def _carried(record: SearchRecord) -> list[tuple[int, int]]:
    """Return the positions of complete trials of one configuration in two stages."""
    keys: list[Any] = [repr(sorted(params.items())) for params in record.params]
    if record.space is not None:
        keys = [key_of(row) for row in record.space.encode(record.params)]
    places = np.flatnonzero(record.complete).tolist()
    # First of several trials of one configuration in a stage.
    first = {(record.stage[i], keys[i]): i for i in reversed(places)}
    pairs = [(first.get((record.stage[i] - 1, keys[i])), i) for i in places]
    return [(earlier, later) for earlier, later in pairs if earlier is not None]
