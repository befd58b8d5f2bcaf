"""Partial dependence of the score on one or two parameters: the picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skbayes.inspection.dependence import Dependence, dependences
from skbayes.inspection.scales import label_of, plain, turn_if_crowded
from skbayes.inspection.score_model import NothingToLearn, score_model
from skbayes.inspection.style import (
    annotate_empty,
    get_axes,
    get_many_axes,
    score_colors,
    style_axes,
    tones,
)
from skbayes.space.dimensions import FloatArray

__all__ = ["PartialDependenceDisplay"]

# Filled contours need some values on both axes; fewer are shown as tiles.
FEWEST_FOR_CONTOURS = 5

# How many letters have room below a panel.
ROOM = 24

# So many tiles have room for their numbers.
MOST_WRITTEN = 42


class PartialDependenceDisplay:
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
    axes_ : ndarray of matplotlib Axes
        One for each panel.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
        Their figure.
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

    def __init__(
        self,
        dependences: Sequence[Dependence],
        *,
        label: str = "score",
        sign: int = 1,
        floor: float | None = None,
        name: str | None = None,
    ) -> None:
        self.dependences = list(dependences)
        self.label = label
        self.sign = sign
        self.floor = floor
        self.name = name

    # -- making -------------------------------------------------------------------

    @classmethod
    def from_search(
        cls,
        search: Any,
        params: Sequence[str | tuple[str, str]] | None = None,
        *,
        metric: str | None = None,
        surrogate: Any = None,
        resolution: int | None = None,
        n_averaged: int = 128,
        random_state: int = 0,
        name: str | None = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> PartialDependenceDisplay:
        """Draw what a fitted search believes.

        Parameters
        ----------
        search : estimator
            A fitted search.
        params : list of str or tuple of (str, str), default=None
            Names of parameters for lines, pairs of them for contours. None: each
            parameter of which there is more than one value; of more than 12 those whose
            mean varies most.
        metric : str or None, default=None
            Which score of several. None: the one that guided the search.
        surrogate : str or object, default=None
            A surrogate that is fitted to the trials, as for
            :class:`skbayes.BayesSearchCV`. None: that of the search, with all that it
            knows; where that does not predict this score, as "tpe", it is "gp".
        resolution : int or None, default=None
            At how many values a parameter with more of them is looked at. None: 50, in
            pairs 20.
        n_averaged : int, default=128
            How many configurations of the other parameters are averaged over, if there
            are more.
        random_state : int, default=0
            Seed of their choice, and of a surrogate that is fitted.
        name : str or None, default=None
            What to call the search. None: by its class.
        ax : Axes, array of Axes or None, default=None
            Where to draw: one for each panel, or one in whose place all are drawn.
            None: a new figure.
        **plot_options : dict
            Passed on to :meth:`plot`.

        Returns
        -------
        display : PartialDependenceDisplay
            The picture.

        Raises
        ------
        ImportError
            If matplotlib, or what the surrogate needs, is not installed.
        TypeError, ValueError
            If an argument is wrong.
        sklearn.exceptions.NotFittedError
            If the search was not fitted.
        """
        return cls._make(
            search,
            params,
            {
                "metric": metric,
                "surrogate": surrogate,
                "random_state": random_state,
                "name": name,
            },
            resolution=resolution,
            n_averaged=n_averaged,
        ).plot(ax, **plot_options)

    @classmethod
    def from_history(
        cls,
        history: Any,
        params: Sequence[str | tuple[str, str]] | None = None,
        *,
        search_spaces: Any = None,
        metric: str | None = None,
        surrogate: Any = "gp",
        resolution: int | None = None,
        n_averaged: int = 128,
        random_state: int = 0,
        name: str | None = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> PartialDependenceDisplay:
        """Fit a surrogate to trials, and draw what it believes.

        Parameters
        ----------
        history : History, DataFrame, str, os.PathLike or SearchRecord
            `trials_` of a search, the path of its journal, or what
            :func:`skbayes.load_history` or :func:`skbayes.inspection.read_record`
            returned for it; also of a search that still runs.
        params : list of str or tuple of (str, str), default=None
            As for :meth:`from_search`.
        search_spaces : dict, list of dicts, Space or None, default=None
            What could have been chosen. None: as the journal says it; where that is
            not known, what was chosen and what lies between, but for spaces with
            conditions, which have to be given.
        metric : str or None, default=None
            As for :meth:`from_search`.
        surrogate : str or object, default="gp"
            The surrogate that is fitted.
        resolution : int or None, default=None
            As for :meth:`from_search`.
        n_averaged : int, default=128
            As for :meth:`from_search`.
        random_state : int, default=0
            As for :meth:`from_search`.
        name : str or None, default=None
            What to call the search.
        ax : Axes, array of Axes or None, default=None
            As for :meth:`from_search`.
        **plot_options : dict
            Passed on to :meth:`plot`.

        Returns
        -------
        display : PartialDependenceDisplay
            The picture.

        Raises
        ------
        ImportError
            If matplotlib, or what the surrogate needs, is not installed.
        OSError
            If a journal cannot be read.
        TypeError, ValueError
            If an argument is wrong.
        """
        return cls._make(
            history,
            params,
            {
                "metric": metric,
                "surrogate": surrogate,
                "search_spaces": search_spaces,
                "random_state": random_state,
                "name": name,
            },
            resolution=resolution,
            n_averaged=n_averaged,
        ).plot(ax, **plot_options)

    @classmethod
    def _make(
        cls, source: Any, params: Any, of_model: dict[str, Any], **options: Any
    ) -> PartialDependenceDisplay:
        try:
            model = score_model(source, **of_model)
        except NothingToLearn:
            return cls([], name=of_model["name"])
        seed = of_model["random_state"]
        found = dependences(model, params, random_state=seed, **options)
        record = model.record
        return cls(
            found,
            label=record.label,
            sign=record.sign,
            floor=model.floor,
            name=record.name,
        )

    # -- drawing ------------------------------------------------------------------

    def plot(
        self,
        ax: Any = None,
        *,
        n_cols: int = 3,
        n_sd: float = 2.0,
        trials: bool = True,
    ) -> PartialDependenceDisplay:
        """Draw all panels.

        Parameters
        ----------
        ax : Axes, array of Axes or None, default=None
            Where to draw: one for each panel, or one in whose place all are drawn.
            None: a new figure.
        n_cols : int, default=3
            How many panels stand side by side at most.
        n_sd : float, default=2.0
            How many standard deviations the bands reach to each side; 0 for none.
        trials : bool, default=True
            Whether marks say where the trials are, and a star where the best one.

        Returns
        -------
        self : PartialDependenceDisplay
            The picture.
        """
        pairs = any(len(one.names) == 2 for one in self.dependences)
        n = len(self.dependences)
        self.lines_: list[Any] = [None] * n
        self.bands_: list[Any] = [None] * n
        self.contours_: list[Any] = [None] * n
        if not n:
            self.ax_ = get_axes(ax)
            self.axes_, self.figure_ = np.array([self.ax_]), self.ax_.figure
            annotate_empty(self.ax_)
            return self
        size = (3.2, 2.6) if pairs else (2.6, 2.3)
        self.axes_ = get_many_axes(ax, n, n_cols, size)
        self.ax_ = self.axes_[0]
        self.figure_ = self.ax_.figure
        if self.floor is not None:
            worse = "below" if self.sign > 0 else "above"
            note = f"{worse} {self.floor:.4g} counted as {self.floor:.4g}"
            gray = tones(self.figure_).gray
            self.ax_.set_title(note, loc="left", fontsize="x-small", color=gray)
        low, high = self._limits(n_sd)
        labeled = False
        for i, (axis, one) in enumerate(zip(self.axes_, self.dependences, strict=True)):
            if len(one.names) == 2:
                self.contours_[i] = self._draw_pair(axis, one, n_sd, trials)
            else:
                self.lines_[i], self.bands_[i] = _draw_single(axis, one, n_sd, trials)
                axis.set_ylim(low, high)
                style_axes(axis)
                if i % n_cols == 0 or not labeled:
                    label = plain(self.label).replace(" (", "\n(")
                    axis.set_ylabel(f"mean {label}")
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
        colors = score_colors(tones(ax).dark)
        colors = colors if self.sign > 0 else colors.reversed()
        label = f"mean {plain(self.label).split(' (')[0]}"
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
    x, reach, ink = one.coordinates(0), n_sd * one.sd, tones(ax).ink
    if one.scales[0] == "options":
        band = ax.errorbar(
            x, one.mean, yerr=reach, fmt="none", ecolor=ink, capsize=4, elinewidth=1.2
        )
        (line,) = ax.plot(x, one.mean, "o", color=tones(ax).series(0).color)
        ax.set_xlim(-0.5, len(x) - 0.5)
    else:
        band = ax.fill_between(
            x,
            one.mean - reach,
            one.mean + reach,
            color=tones(ax).series(0).color,
            alpha=0.25,
            lw=0,
        )
        marker = "o" if len(x) <= 12 else None
        (line,) = ax.plot(
            x, one.mean, color=tones(ax).series(0).color, marker=marker, markersize=4
        )
    _describe(ax.xaxis, one, 0)
    if trials:
        at = one.tried[:, 0]
        # In units of the axis, so that they stay at its foot.
        foot = ax.get_xaxis_transform()
        ax.plot(
            _spread(at, one.scales[0]),
            np.full(len(at), 0.03),
            "|",
            color=ink,
            alpha=0.6,
            markersize=7,
            transform=foot,
        )
        if one.best is not None:
            star = {
                "color": tones(ax).series(1).color,
                "markersize": 11,
                "markeredgecolor": ink,
            }
            ax.plot(at[one.best], 0.05, "*", transform=foot, clip_on=False, **star)
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
    axis.set_label_text(short(one.names[which], 32))
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
    styles, stroke = (
        ("dashed", "dotted"),
        [withStroke(linewidth=2.2, foreground="black")],
    )
    lines = ax.contour(
        one.coordinates(0),
        one.coordinates(1),
        one.sd.T,
        levels=levels,
        colors="white",
        linewidths=1.1,
        linestyles=styles,
    )
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
    star = {
        "color": tones(ax).series(1).color,
        "markersize": 13,
        "markeredgecolor": "black",
    }
    if tiles:
        # There the numbers stand.
        x, y = one.tried[:, 0] - 0.33, one.tried[:, 1] - 0.3
    else:
        ax.plot(
            x, y, "o", color="white", markersize=4, markeredgecolor="black", zorder=3
        )
    if one.best is not None:
        ax.plot(x[one.best], y[one.best], "*", zorder=4, clip_on=False, **star)


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
            if "linear" not in one.scales and "log" not in one.scales:
                text += f"\n{n} trial{'s' * (n != 1)}"
            dark = np.mean(tiles.to_rgba(one.mean[i, j])[:3]) < 0.5
            ax.text(
                x,
                y,
                text,
                ha="center",
                va="center",
                fontsize="x-small",
                color="white" if dark else "black",
            )


def short(value: Any, length: int) -> str:
    """Write a value so that it has room on an axis.

    Parameters
    ----------
    value : object
        The value.
    length : int
        The most characters.

    Returns
    -------
    text : str
        Its beginning and its end where it is longer.

    Examples
    --------
    >>> from skbayes.inspection.partial_dependence import short
    >>> short("votingclassifier__svc__gamma", 20)
    'votingcla…vc__gamma'
    """
    text = plain(" ".join(str(value).split()))
    if len(text) <= length:
        return text
    return f"{text[: (length - 1) // 2]}…{text[-((length - 1) // 2) :]}"
