"""Partial dependence of the score on one or two hyper-parameters: plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from skbayes.inspection import drawing
from skbayes.inspection.dependence import (
    Dependence,
    NoScores,
    ScoreModel,
    dependences,
    score_model,
)
from skbayes.inspection.drawing import _Display, get_axes, get_many_axes
from skbayes.inspection.scales import (
    name_label,
    option_ticks,
    score_label,
    score_name,
    turn_if_crowded,
)
from skbayes.results.record import AnySource
from skbayes.space.dimensions import FloatArray

# Half-width of the bands in standard deviations.
N_SD = 2.0

# Minimum number of values on both axes for filled contours; fewer are shown as tiles.
MIN_VALUES_FOR_CONTOURS = 5

# Number of letters that fit below a panel.
MAX_LETTERS = 24


@dataclass(eq=False, repr=False)
class PartialDependenceDisplay(_Display):
    r"""Partial dependence of the predicted score on hyper-parameters and pairs of them.

    The *partial dependence* at a value of a hyper-parameter is the score that the
    surrogate predicts for this value, averaged over all other hyper-parameters. The
    plot shows the surrogate over the whole space. Bands are wide in regions with few
    trials.

    Use :meth:`from_search` or :meth:`from_history` to create a display.

    Parameters
    ----------
    dependences : list of Dependence
        One item for each panel; see ``skbayes.inspection.dependence.Dependence``.
    label : str, default="score"
        Label of the scores.
    sign : int, default=1
        1 if a higher score is better, -1 if a lower score is better.
    floor : float or None, default=None
        Score that replaces all worse scores when the surrogate is fitted; the plot
        contains a note. By default, no scores are replaced.

    Attributes
    ----------
    %(axes_)s
    %(ax_)s
    %(figure_)s
    lines_ : list
        For each panel, the line of means or the points of options; None for a pair.
    bands_ : list
        For each panel, the band or the error bars of options; None for a pair.
    contours_ : list
        For each panel, the filled contours or the tiles of a pair; else None.

    See Also
    --------
    skbayes.inspection.importance : Share of the variance of each hyper-parameter.
    sklearn.inspection.PartialDependenceDisplay : Partial dependence on features.

    Notes
    -----
    Let :math:`f` be the score and :math:`v` the value of the hyper-parameter. Let
    :math:`z_j` be the other hyper-parameters in configuration :math:`j` of :math:`m`,
    and :math:`w_j` its weight. Up to 128 configurations are all used, weighted
    by their probabilities in random search; otherwise, points of a Sobol sequence are
    used. In a space with conditions, only configurations that contain the
    hyper-parameter count; with a constraint, only allowed ones. The partial dependence
    is

    .. math:: g(v) = \sum_j w_j f(v, z_j).

    For a Gaussian process with a given kernel, :math:`g(v)` is normal, with mean
    :math:`\sum_j w_j \mu_j` and variance :math:`\sum_{jk} w_j w_k C_{jk}`, where
    :math:`\mu` and :math:`C` are the posterior mean and covariance of the
    configurations. Errors that all predictions share remain; others average out. The
    result is exact for given :math:`z_j`, also for ``surrogate="graph"``. Over several
    samples of the kernel, the plot shows the mean of the means. The variance is the
    mean of the variances plus the variance of the means.

    For "trees", the standard deviation is the one between the averages of the trees.
    For a custom surrogate without a method ``average``, it is the mean of the standard
    deviations of the configurations, which is an upper bound.

    The uncertainty of the average does not include the variation of the scores with the
    other hyper-parameters. The surrogate is fitted to the scores of the trials, and to
    the estimates for trials that ``pruning`` stopped after their first folds. Gaussian
    processes raise very bad scores to a floor to resolve differences between good ones.
    The plot names the floor, and the curves are flat there. To use all scores
    unchanged, pass ``surrogate=GaussianProcess(winsorize_scores=False)`` from
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
    >>> [dependence.mean.shape for dependence in display.dependences]
    [(10,), (10, 10)]
    """

    dependences: list[Dependence]
    label: str = field(default="score", kw_only=True)
    sign: int = field(default=1, kw_only=True)
    floor: float | None = field(default=None, kw_only=True)

    @classmethod
    def from_search(
        cls,
        search: AnySource,
        params: Sequence[str | tuple[str, str]] | None = None,
        *,
        search_spaces: Any = None,
        metric: str | None = None,
        surrogate: Any = None,
        resolution: int | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the partial dependence of the score of a search on its hyper-parameters.

        Parameters
        ----------
        %(search)s
        params : list of str or tuple of (str, str), default=None
            Names of hyper-parameters for lines, and pairs of names for contours. Both
            hyper-parameters of a pair are ranges or lists of numbers. By default, all
            hyper-parameters with more than one value. If there are more than 12, the 12
            whose mean varies most are shown.
        %(search_spaces)s
        %(metric)s
        surrogate : str or object, default=None
            Surrogate to fit to the trials, as for :class:`skbayes.BayesSearchCV`. By
            default, the fitted surrogate of the search. If it does not predict this
            score (such as "tpe") or the source is a journal, a "gp" is fitted.
        resolution : int or None, default=None
            Number of values at which a hyper-parameter is evaluated, if it has more. By
            default, 50, and 20 in pairs.
        %(ax)s
        %(options)s

        %(Returns)s
        """
        read = {"metric": metric, "search_spaces": search_spaces}
        try:
            model = score_model(search, surrogate=surrogate, **read)
        except NoScores:
            return cls([]).plot(ax, **options)
        computed = dependences(model, params, resolution=resolution)
        return cls._of_model(model, computed).plot(ax, **options)

    @classmethod
    def _of_model(cls, model: ScoreModel, computed: list[Dependence]) -> Self:
        """Return the display of the dependences of a model, without drawing it."""
        record = model.record
        return cls(computed, label=record.label, sign=record.sign, floor=model.floor)

    # -- drawing ------------------------------------------------------------------

    def plot(self, ax: Any = None, *, n_cols: int = 3) -> Self:
        """Draw all panels.

        Parameters
        ----------
        %(ax)s
        n_cols : int, default=3
            Maximum number of panels in a row.

        Returns
        -------
        %(self)s
        """
        singles = [d for d in self.dependences if len(d.names) == 1]
        n = len(self.dependences)
        self.lines_: list[Any] = [None] * n
        self.bands_: list[Any] = [None] * n
        self.contours_: list[Any] = [None] * n
        if not n:
            ax = get_axes(ax)
            drawing.annotate_empty(ax)
            return self._drawn_on(ax)
        size = (3.2, 2.6) if len(singles) < n else (2.6, 2.3)
        self._drawn_on(get_many_axes(ax, n, n_cols, size))
        if self.floor is not None:
            worse = "below" if self.sign > 0 else "above"
            note = f"scores {worse} {self.floor:.4g} count as {self.floor:.4g}"
            gray = drawing.tones(self.figure_).gray
            self.ax_.set_title(note, loc="left", fontsize="x-small", color=gray)
        limits = _limits(singles) if singles else None
        panels = zip(self.axes_, self.dependences, strict=True)
        for i, (axis, dependence) in enumerate(panels):
            if len(dependence.names) == 2:
                self.contours_[i] = self._draw_pair(axis, dependence)
                continue
            self.lines_[i], self.bands_[i] = _draw_single(axis, dependence)
            axis.set_ylim(limits)
            drawing.style_axes(axis)
            if i % n_cols == 0 or dependence is singles[0]:
                axis.set_ylabel(f"mean {score_label(self.label)}")
        return self

    def _draw_pair(self, ax: Any, dependence: Dependence) -> Any:
        x, y = dependence.coordinates(0), dependence.coordinates(1)
        colors = drawing.score_colors(drawing.tones(ax).dark, self.sign)
        label = f"mean {score_name(self.label)}"
        if min(len(x), len(y)) >= MIN_VALUES_FOR_CONTOURS:
            drawn = ax.contourf(x, y, dependence.mean.T, levels=10, cmap=colors)
            label += _draw_sd(ax, x, y, dependence.sd.T)
        else:
            drawn = ax.pcolormesh(x, y, dependence.mean.T, cmap=colors)
        _describe(ax.xaxis, dependence, 0)
        _describe(ax.yaxis, dependence, 1)
        _mark_trials(ax, dependence)
        ax.figure.colorbar(drawn, ax=ax).set_label(label, fontsize="small")
        return drawn


def _describe(axis: Any, dependence: Dependence, which: int) -> None:
    axis.set_label_text(name_label(dependence.names[which], 32))
    if dependence.scales[which] == "log":
        axis._set_axes_scale("log")
    elif dependence.scales[which] == "options":
        ticks, labels = option_ticks(list(dependence.values[which]))
        turned = turn_if_crowded(labels, MAX_LETTERS) if axis.axis_name == "x" else {}
        axis.set_ticks(ticks, labels, **turned)


def _spread(at: FloatArray, scale: str) -> FloatArray:
    """Separate the marks of trials with the same option."""
    if scale != "options":
        return at
    spread, options = np.array(at), np.unique(at)
    reach = 0.3 * np.min(np.diff(options), initial=1.0)
    for option in options:
        equal = np.flatnonzero(at == option)
        spread[equal] += np.linspace(-reach, reach, len(equal) + 2)[1:-1]
    return spread


# -- one hyper-parameter --------------------------------------------------------------


def _limits(singles: list[Dependence]) -> tuple[float, float]:
    """Return common limits of all lines, which makes them comparable."""
    low = min(float(np.nanmin(d.mean - N_SD * d.sd)) for d in singles)
    high = max(float(np.nanmax(d.mean + N_SD * d.sd)) for d in singles)
    # Space for the marks of the trials below the lines.
    margin = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
    return low - 1.5 * margin, high + 0.5 * margin


def _draw_single(ax: Any, dependence: Dependence) -> tuple[Any, Any]:
    x, mean, reach = dependence.coordinates(0), dependence.mean, N_SD * dependence.sd
    shades = drawing.tones(ax)
    foreground, color = shades.foreground, shades.series(0).color
    if dependence.scales[0] == "options":
        bars = {"ecolor": foreground, "capsize": 4, "elinewidth": 1.2}
        band = ax.errorbar(x, mean, yerr=reach, fmt="none", **bars)
        (line,) = ax.plot(x, mean, "o", color=color)
        ax.set_xlim(-0.5, x[-1] + 0.5)
    else:
        band = {"color": color, "alpha": 0.25, "lw": 0}
        band = ax.fill_between(x, mean - reach, mean + reach, **band)
        marker = "o" if len(x) <= 12 else None
        (line,) = ax.plot(x, mean, color=color, marker=marker, markersize=4)
    _describe(ax.xaxis, dependence, 0)
    at = dependence.tried[:, 0]
    # Vertical coordinates in units of the axis keep the marks at the bottom.
    foot = {"transform": ax.get_xaxis_transform()}
    marks = {"color": foreground, "alpha": 0.6, "markersize": 7, **foot}
    ax.plot(_spread(at, dependence.scales[0]), np.full(len(at), 0.03), "|", **marks)
    if dependence.best is not None:
        star = drawing.star(ax, 11, zorder=2, clip_on=False, **foot)
        ax.plot(at[dependence.best], 0.05, **star)
    return line, band


# -- two hyper-parameters -------------------------------------------------------------


def _draw_sd(ax: Any, x: FloatArray, y: FloatArray, sd: FloatArray) -> str:
    """Draw two lines of equal uncertainty on any background; return their legend."""
    from matplotlib.patheffects import withStroke

    low, high = np.nanmin(sd), np.nanmax(sd)
    levels = low + np.array([0.35, 0.7]) * (high - low)
    if not low < levels[0] < levels[1]:
        return ""
    kwargs = {"colors": "white", "linewidths": 1.1, "linestyles": ("dashed", "dotted")}
    lines = ax.contour(x, y, sd, levels=levels, **kwargs)
    # Before matplotlib 3.8, it is a list of collections.
    whole = hasattr(lines, "set_path_effects")
    for part in [lines] if whole else lines.collections:
        part.set_path_effects([withStroke(linewidth=2.2, foreground="black")])
    return f"\nsd {levels[0]:.1g} (dashed), {levels[1]:.1g} (dotted)"


def _mark_trials(ax: Any, dependence: Dependence) -> None:
    points = {"color": "white", "markersize": 4, "markeredgecolor": "black"}
    ax.plot(*dependence.tried.T, "o", zorder=3, **points)
    if dependence.best is not None:
        kwargs = drawing.star(ax, 13, markeredgecolor="black", zorder=4, clip_on=False)
        ax.plot(*dependence.tried[dependence.best], **kwargs)
