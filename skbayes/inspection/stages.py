"""Stages of a search: scores of each stage, and configurations of several stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skbayes.inspection import style
from skbayes.inspection.base import _Display, get_axes
from skbayes.inspection.texts import plain
from skbayes.results.read import read_record
from skbayes.results.record import SearchRecord
from skbayes.results.stage_correlation import spearman
from skbayes.space.candidates import key_of
from skbayes.space.dimensions import FloatArray

__all__ = ["StagesDisplay"]

# Spread of the trials of a stage to each side, as a share of the distance to the next.
SPREAD = 0.17


@dataclass(eq=False, repr=False, kw_only=True)
class StagesDisplay(_Display):
    """Scores of each stage of a search.

    Lines connect the trials of one configuration in two stages. Use :meth:`from_search`
    or :meth:`from_history` to create a display.

    Parameters
    ----------
    stage : ndarray of shape (n_trials,), int
        Stage of each trial, from 0.
    %(score)s
    subset : ndarray of shape (n_trials,), int
        Number of the subset of the training rows, if a stage uses several small ones.
    complete : ndarray of shape (n_trials,), bool
        Whether each trial is complete and has a score.
    train_fraction : ndarray of shape (n_stages,)
        Share of the training rows of each stage.
    carried : list of tuple of int
        Positions of the two trials of each configuration in successive stages.
    rank_correlation : ndarray of shape (n_stages - 1,)
        Rank correlation of the scores of these pairs, from -1 to 1: a high value means
        that the ranking in a stage predicts the ranking in the next. NaN for fewer than
        two pairs.
    best : int, default=None
        Position of the best trial.
    %(label)s
    %(sign)s

    Attributes
    ----------
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
    >>> search = MultiStageSearchCV(SVC(), spaces, n_iter=8, random_state=0)
    >>> display = StagesDisplay.from_search(search.fit(X, y))
    >>> display.train_fraction.round(1), len(display.carried)
    (array([0.3, 1. ]), 2)
    """

    stage: np.ndarray
    score: FloatArray
    subset: np.ndarray
    complete: np.ndarray
    train_fraction: FloatArray
    carried: list[tuple[int, int]]
    rank_correlation: FloatArray
    best: int | None = None
    label: str = "score"
    sign: int = 1

    @classmethod
    def from_search(
        cls,
        search: Any,
        *,
        metric: str | None = None,
        ax: Any = None,
        point_kw: dict | None = None,
    ) -> Self:
        """Draw the stages of a search."""
        record = read_record(search, metric=metric)
        n_stages = int(record.stage.max(initial=-1)) + 1
        shares = [record.train_fraction[record.stage == s] for s in range(n_stages)]
        carried = _carried(record)
        correlations = [
            spearman(*record.score[_pairs_from(carried, record.stage, stage)].T)
            for stage in range(n_stages - 1)
        ]
        display = cls(
            stage=record.stage,
            score=record.shown,
            subset=record.subset,
            complete=record.complete,
            train_fraction=np.array([s.max(initial=0.0) for s in shares], dtype=float),
            carried=carried,
            rank_correlation=np.array(correlations, dtype=float),
            best=record.best,
            label=record.label,
            sign=record.sign,
        )
        return display.plot(ax, point_kw=point_kw)

    def plot(self, ax: Any = None, *, point_kw: dict | None = None) -> Self:
        """Draw the stages."""
        n_stages = len(self.train_fraction)
        ax = get_axes(ax, (min(2.2 + 2.0 * max(n_stages, 1), 10.0), 4.0))
        x = self._places()
        self.points_ = [
            self._draw_stage(ax, stage, x, point_kw or {}) for stage in range(n_stages)
        ]
        self._draw_lines(ax, x)
        self.best_point_ = None
        if self.best is not None and np.isfinite(self.score[self.best]):
            at = (x[self.best], self.score[self.best])
            self.best_point_ = style.mark_best(ax, *at, size=110, width=1.8)
        ax.set_xlim(-0.5, max(n_stages, 1) - 0.5)
        ax.set_xticks(range(n_stages), [self._name(s) for s in range(n_stages)])
        ax.set_ylabel(plain(self.label))
        style.style_axes(ax)
        style.set_robust_ylim(ax, self.sign)
        self.texts_ = self._write_correlations(ax)
        if not np.isfinite(self.score).any():
            style.annotate_empty(ax)
        return self._drawn_on(ax)

    def _places(self) -> FloatArray:
        """Return the horizontal positions of the trials, separated by subset."""
        x = self.stage.astype(float)
        for stage in range(len(self.train_fraction)):
            places = np.flatnonzero(self.stage == stage)
            order = places[np.argsort(self.subset[places], kind="stable")]
            if len(order) > 1:
                x[order] += np.linspace(-SPREAD, SPREAD, len(order))
        return x

    def _draw_stage(self, ax: Any, stage: int, x: FloatArray, point_kw: dict) -> Any:
        shown = (self.stage == stage) & np.isfinite(self.score)
        series = style.tones(ax).series(stage)
        points = {
            "s": np.where(self.complete[shown], 26, 14),
            "color": series.color,
            "marker": series.marker,
            "alpha": 0.75,
            "linewidths": 0,
            "gid": style.TRIALS,
            "zorder": 2,
            **point_kw,
        }
        return ax.scatter(x[shown], self.score[shown], **points)

    def _draw_lines(self, ax: Any, x: FloatArray) -> None:
        from matplotlib.collections import LineCollection

        ends = np.array(self.carried, dtype=int).reshape(-1, 2)
        lines = np.stack([x[ends], self.score[ends]], axis=-1)
        kwargs = {"linewidths": 1.1, "alpha": 0.8, "zorder": 3}
        self.lines_ = LineCollection([*lines], colors=style.tones(ax).gray, **kwargs)
        ax.add_collection(self.lines_, autolim=False)

    def _name(self, stage: int) -> str:
        n = int(np.sum(self.stage == stage))
        n_failed = n - int(np.sum(self.complete & (self.stage == stage)))
        failed = f", {n_failed} without score" if n_failed else ""
        share = self.train_fraction[stage]
        trials = "trial" if n == 1 else "trials"
        return f"stage {stage + 1}: {share:.0%} of rows\n{n} {trials}{failed}"

    def _write_correlations(self, ax: Any) -> list[Any]:
        texts = []
        for stage, correlation in enumerate(self.rank_correlation):
            n = len(_pairs_from(self.carried, self.stage, stage))
            text = f"{n} tried in both" if n else "none tried in both"
            if np.isfinite(correlation):
                text = f"rank correlation\n{correlation:.2f} ({text})"
            place = {"ha": "center", "va": "bottom", "fontsize": "small"}
            place["transform"] = ax.get_xaxis_transform()
            texts.append(ax.text(stage + 0.5, 1.0, text, **place))
        return texts


def _carried(record: SearchRecord) -> list[tuple[int, int]]:
    """Return the positions of complete trials of one configuration in two stages."""
    keys = _keys(record)
    places = np.flatnonzero(record.complete).tolist()
    # First of several trials of one configuration in a stage.
    first = {(record.stage[i], keys[i]): i for i in reversed(places)}
    pairs = [(first.get((record.stage[i] - 1, keys[i])), i) for i in places]
    return [(earlier, later) for earlier, later in pairs if earlier is not None]


def _keys(record: SearchRecord) -> list[Any]:
    if record.space is not None:
        return [key_of(row) for row in record.space.encode(record.params)]
    return [repr(sorted(params.items())) for params in record.params]


def _pairs_from(
    carried: list[tuple[int, int]], stages: np.ndarray, stage: int
) -> np.ndarray:
    """Return the pairs that begin in a stage, shape (n, 2)."""
    pairs = [pair for pair in carried if stages[pair[0]] == stage]
    return np.array(pairs, dtype=int).reshape(-1, 2)
