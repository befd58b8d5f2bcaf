"""Partial dependence of the score on one or two parameters: the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from skbayes.inspection import style
from skbayes.inspection.base import _Display, get_many_axes
from skbayes.inspection.dependence import Dependence, dependences
from skbayes.inspection.score_model import NothingToLearn, ScoreModel, score_model
from skbayes.inspection.texts import (
    label_of,
    name_label,
    score_label,
    score_name,
    turn_if_crowded,
)
from skbayes.space.dimensions import FloatArray

__all__ = ["PartialDependenceDisplay"]

# Filled contours need some values on both axes; fewer are shown as tiles.
FEWEST_FOR_CONTOURS = 5

# How many letters have room below a panel.
ROOM = 24

# So many tiles have room for their numbers.
MOST_WRITTEN = 42


@dataclass(eq=False, repr=False)
class PartialDependenceDisplay(_Display):
    r"""What the model of a search believes of single parameters and of pairs.

    The *partial dependence* at a value of a parameter is the score that is to be
    expected with it, averaged over all other parameters. It says what the model made of
    the trials, over the whole space: where the search has looked little, it is wide.

    Use :meth:`from_search` or :meth:`from_history` to make one.

    Parameters
    ----------
    dependences : list of Dependence
        One for each panel; see ``skbayes.inspection.dependence.Dependence``.
    label : str, default="score"
        What the score is.
    sign : int, default=1
        1 if the higher of two scores is the better, else -1.
    floor : float or None, default=None
        The score that the model takes worse ones for; None if it takes them as they
        are. The picture says so.
    name : str or None, default=None
        What the search is called.

    Attributes
    ----------
    %(axes_)s
    %(ax_)s
    %(figure_)s
    lines_ : list
        For each panel the line of means, or the points of options; None for a pair.
    bands_ : list
        For each panel the band, or the bars of options; None for a pair.
    contours_ : list
        For each panel the filled contours, or the tiles, of a pair; else None.

    See Also
    --------
    skbayes.inspection.importance : How much each parameter matters.
    sklearn.inspection.PartialDependenceDisplay : The same for the features of a model.

    Notes
    -----
    Let :math:`f` be the score, :math:`v` the value, :math:`z_j` the other parameters in
    one of :math:`m` configurations and :math:`w_j` its weight. What is averaged over
    are all configurations where there are at most `n_averaged`, with the probability
    that random search has for them, else points of a Sobol sequence. In a space with
    conditions only those count in which the parameter exists, and with a constraint
    those that it allows. The partial dependence is

    .. math:: g(v) = \sum_j w_j f(v, z_j).

    Of a Gaussian process, given its hyper-parameters, :math:`g(v)` is normal, with mean
    :math:`\sum_j w_j \mu_j` and variance :math:`\sum_{jk} w_j w_k C_{jk}`, where
    :math:`\mu` and :math:`C` are the posterior mean and covariance of the
    configurations: errors that all predictions share are seen, others average out. This
    is exact, for surrogate="graph", too, but for the choice of :math:`z_j`. Over the
    samples of the hyper-parameters the mean of the means is shown, and the variance is
    the mean of the variances plus the variance of the means. For "trees" the standard
    deviation is that between the trees, each with an average of its own. For a
    surrogate of your own without a method ``average`` the mean of the single standard
    deviations is taken, which is an upper bound.

    The uncertainty is that of the average, and says nothing of how much scores vary
    with the other parameters. The surrogate has learned the scores of trials, and the
    estimates for trials that ``racing`` stopped after their first folds. Gaussian
    processes raise very bad ones to a floor, so that differences between good ones are
    seen; the picture names the floor, and is flat down there. A surrogate that takes
    them as they are is ``surrogate=GaussianProcess(winsorize_scores=False)``, of
    :mod:`skbayes.surrogates`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skbayes import BayesSearchCV
    >>> from skbayes.inspection import PartialDependenceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> search = BayesSearchCV(
    ...     SVC(),
    ...     {"C": (1e-2, 1e2, "log-uniform"), "gamma": (1e-3, 1e1, "log-uniform")},
    ...     n_iter=12,
    ...     cv=3,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> display = PartialDependenceDisplay.from_search(
    ...     search, ["gamma", ("C", "gamma")], resolution=10
    ... )
    >>> [one.mean.shape for one in display.dependences]
    [(10,), (10, 10)]
    """

    dependences: Sequence[Dependence]
    label: str = field(default="score", kw_only=True)
    sign: int = field(default=1, kw_only=True)
    floor: float | None = field(default=None, kw_only=True)
    name: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.dependences = list(self.dependences)

    @classmethod
    def from_search(
        cls,
        search: Any,
        params: Sequence[str | tuple[str, str]] | None = None,
        *,
        search_spaces: Any = None,
        metric: str | None = None,
        surrogate: Any = None,
        resolution: int | None = None,
        n_averaged: int = 128,
        random_state: int = 0,
        name: str | None = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """Draw what the model of a search believes.

        Parameters
        ----------
        %(search)s
        params : list of str or tuple of (str, str), default=None
            Names of parameters for lines, pairs of them for contours. None: each
            parameter of which there is more than one value; of more than 12 those whose
            mean varies most.
        %(search_spaces)s
        %(metric)s
        surrogate : str or object, default=None
            A surrogate that is fitted to the trials, as for
            :class:`skbayes.BayesSearchCV`. None: that of the search, with all that it
            knows; where there is none that predicts this score, as with "tpe" or in a
            journal, it is "gp".
        resolution : int or None, default=None
            At how many values a parameter with more of them is looked at. None: 50, in
            pairs 20.
        n_averaged : int, default=128
            How many configurations of the other parameters are averaged over, if there
            are more.
        random_state : int, default=0
            Seed of their choice, and of a surrogate that is fitted.
        %(name)s
        %(ax)s
        %(plot_options)s

        Returns
        -------
        %(display)s

        %(Raises)s
        """
        try:
            model = score_model(
                search,
                metric=metric,
                surrogate=surrogate,
                search_spaces=search_spaces,
                random_state=random_state,
                name=name,
            )
        except NothingToLearn:
            return cls([], name=name).plot(ax, **plot_options)
        found = dependences(
            model,
            params,
            resolution=resolution,
            n_averaged=n_averaged,
            random_state=random_state,
        )
        return cls._of_model(model, found).plot(ax, **plot_options)

    @classmethod
    def _of_model(cls, model: ScoreModel, found: Sequence[Dependence]) -> Self:
        """Return the display of the dependences of a model, not yet drawn."""
        record = model.record
        shown: dict[str, Any] = {"label": record.label, "sign": record.sign}
        return cls(found, floor=model.floor, name=record.name, **shown)

    # -- drawing ------------------------------------------------------------------

    def plot(
        self, ax: Any = None, *, n_cols: int = 3, n_sd: float = 2.0, trials: bool = True
    ) -> Self:
        """Draw all panels.

        Parameters
        ----------
        %(ax)s
        %(n_cols)s
        n_sd : float, default=2.0
            How many standard deviations the bands reach to each side; 0 for none.
        trials : bool, default=True
            Whether marks say where the trials are, and a star where the best one.

        Returns
        -------
        %(self)s
        """
        pairs = any(len(one.names) == 2 for one in self.dependences)
        n = len(self.dependences)
        self.lines_: list[Any] = [None] * n
        self.bands_: list[Any] = [None] * n
        self.contours_: list[Any] = [None] * n
        if not n:
            return self._drawn_empty(ax)
        size = (3.2, 2.6) if pairs else (2.6, 2.3)
        self._drawn_on_panels(get_many_axes(ax, n, n_cols, size))
        if self.floor is not None:
            worse = "below" if self.sign > 0 else "above"
            note = f"{worse} {self.floor:.4g} counted as {self.floor:.4g}"
            gray = style.tones(self.figure_).gray
            self.ax_.set_title(note, loc="left", fontsize="x-small", color=gray)
        low, high = self._limits(n_sd)
        labeled = False
        for i, (axis, one) in enumerate(zip(self.axes_, self.dependences, strict=True)):
            if len(one.names) == 2:
                self.contours_[i] = self._draw_pair(axis, one, n_sd, trials)
            else:
                self.lines_[i], self.bands_[i] = _draw_single(axis, one, n_sd, trials)
                axis.set_ylim(low, high)
                style.style_axes(axis)
                if i % n_cols == 0 or not labeled:
                    axis.set_ylabel(f"mean {score_label(self.label)}")
                    labeled = True
        return self

    def _limits(self, n_sd: float) -> tuple[float, float]:
        """Return common limits of all lines, so that they can be compared."""
        singles = [one for one in self.dependences if len(one.names) == 1]
        if not singles:
            return 0.0, 1.0
        low = min(float(np.nanmin(one.mean - n_sd * one.sd)) for one in singles)
        high = max(float(np.nanmax(one.mean + n_sd * one.sd)) for one in singles)
        # Room for the marks of the trials below.
        room = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
        return low - 1.5 * room, high + 0.5 * room

    def _draw_pair(self, ax: Any, one: Dependence, n_sd: float, trials: bool) -> Any:
        x, y = one.coordinates(0), one.coordinates(1)
        colors = style.score_colors(style.tones(ax).dark, self.sign)
        label = f"mean {score_name(self.label)}"
        smooth = "options" not in one.scales
        if smooth and min(len(x), len(y)) >= FEWEST_FOR_CONTOURS:
            drawn = ax.contourf(x, y, one.mean.T, levels=10, cmap=colors)
            if n_sd:
                label += _draw_sd(ax, one)
        else:
            edges = [_edges(c, s) for c, s in zip((x, y), one.scales, strict=True)]
            drawn = ax.pcolormesh(*edges, one.mean.T, cmap=colors)
            if one.mean.size <= MOST_WRITTEN:
                _write(ax, one, drawn, n_sd)
        for axis, which in ((ax.xaxis, 0), (ax.yaxis, 1)):
            _describe(axis, one, which)
        if trials:
            _mark_pairs(ax, one, tiles=one.scales == ("options", "options"))
        ax.figure.colorbar(drawn, ax=ax).set_label(label, fontsize="small")
        return drawn


# -- one parameter --------------------------------------------------------------------


def _draw_single(ax: Any, one: Dependence, n_sd: float, trials: bool) -> tuple:
    x, reach, ink = one.coordinates(0), n_sd * one.sd, style.tones(ax).ink
    color = style.tones(ax).series(0).color
    if one.scales[0] == "options":
        band = ax.errorbar(
            x, one.mean, yerr=reach, fmt="none", ecolor=ink, capsize=4, elinewidth=1.2
        )
        (line,) = ax.plot(x, one.mean, "o", color=color)
        ax.set_xlim(-0.5, len(x) - 0.5)
    else:
        low, high = one.mean - reach, one.mean + reach
        band = ax.fill_between(x, low, high, color=color, alpha=0.25, lw=0)
        marker = "o" if len(x) <= 12 else None
        (line,) = ax.plot(x, one.mean, color=color, marker=marker, markersize=4)
    _describe(ax.xaxis, one, 0)
    if trials:
        at = one.tried[:, 0]
        # In units of the axis, so that they stay at its foot.
        foot = {"transform": ax.get_xaxis_transform()}
        marks = {"color": ink, "alpha": 0.6, "markersize": 7, **foot}
        ax.plot(_spread(at, one.scales[0]), np.full(len(at), 0.03), "|", **marks)
        if one.best is not None:
            look = style.star(ax, 11, zorder=2, clip_on=False, **foot)
            ax.plot(at[one.best], 0.05, **look)
    return line, band


def _spread(at: FloatArray, scale: str) -> FloatArray:
    """Put marks of the same option beside each other."""
    if scale != "options":
        return at
    spread = np.array(at)
    for option in np.unique(at):
        own = np.flatnonzero(at == option)
        spread[own] += np.linspace(-0.3, 0.3, len(own) + 2)[1:-1]
    return spread


def _describe(axis: Any, one: Dependence, which: int) -> None:
    """Label an axis, and give it the scale of its parameter."""
    axis.set_label_text(name_label(one.names[which], 32))
    if one.scales[which] == "log":
        axis._set_axes_scale("log")
    elif one.scales[which] == "options":
        values = [label_of(value) for value in one.values[which]]
        room = ROOM if len(one.names) == 1 else ROOM // 2
        turned = turn_if_crowded(values, room) if axis.axis_name == "x" else {}
        axis.set_ticks(np.arange(len(values)), values, **turned)


# -- two parameters -------------------------------------------------------------------


def _draw_sd(ax: Any, one: Dependence) -> str:
    """Draw two lines of equal uncertainty, visible on light and dark; name them."""
    from matplotlib.patheffects import withStroke

    low, high = np.nanmin(one.sd), np.nanmax(one.sd)
    levels = low + np.array([0.35, 0.7]) * (high - low)
    if not low < levels[0] < levels[1]:
        return ""
    stroke = [withStroke(linewidth=2.2, foreground="black")]
    look = {"colors": "white", "linewidths": 1.1, "linestyles": ("dashed", "dotted")}
    x, y = one.coordinates(0), one.coordinates(1)
    lines = ax.contour(x, y, one.sd.T, levels=levels, **look)
    # Before matplotlib 3.8 it is a list of collections.
    whole = hasattr(lines, "set_path_effects")
    for part in [lines] if whole else lines.collections:
        part.set_path_effects(stroke)
    return f"\nsd {levels[0]:.1g} (dashed), {levels[1]:.1g} (dotted)"


def _mark_pairs(ax: Any, one: Dependence, tiles: bool) -> None:
    """Say where the trials are, and with a star where the best one."""
    if not len(one.tried):
        return
    x, y = (_spread(one.tried[:, i], one.scales[i]) for i in (0, 1))
    if tiles:
        # There the numbers stand.
        x, y = one.tried[:, 0] - 0.33, one.tried[:, 1] - 0.3
    else:
        ax.plot(
            x, y, "o", color="white", markersize=4, markeredgecolor="black", zorder=3
        )
    if one.best is not None:
        look = style.star(ax, 13, markeredgecolor="black", zorder=4, clip_on=False)
        ax.plot(x[one.best], y[one.best], **look)


def _edges(centers: FloatArray, scale: str) -> FloatArray:
    """Return where the tiles around some values begin and end."""
    c = np.log(centers) if scale == "log" else centers
    if len(c) == 1:
        edges = np.array([c[0] - 0.5, c[0] + 0.5])
    else:
        middles = (c[1:] + c[:-1]) / 2.0
        edges = np.concatenate(
            [[2 * c[0] - middles[0]], middles, [2 * c[-1] - middles[-1]]]
        )
    return np.exp(edges) if scale == "log" else edges


def _write(ax: Any, one: Dependence, tiles: Any, n_sd: float) -> None:
    """Write the numbers into the tiles."""
    for i, x in enumerate(one.coordinates(0)):
        for j, y in enumerate(one.coordinates(1)):
            if not np.isfinite(one.mean[i, j]):
                continue
            text = f"{one.mean[i, j]:.3g}"
            if n_sd:
                text += f"\n±{n_sd * one.sd[i, j]:.1g}"
            n = int(np.sum(np.all(one.tried == (x, y), axis=1)))
            if one.scales == ("options", "options"):
                text += f"\n{n} trial{'s' * (n != 1)}"
            dark = np.mean(tiles.to_rgba(one.mean[i, j])[:3]) < 0.5
            place = {"ha": "center", "va": "center", "fontsize": "x-small"}
            ax.text(x, y, text, color="white" if dark else "black", **place)
