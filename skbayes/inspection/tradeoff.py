"""Score against cost, and the best trial for each tradeoff between them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from skbayes.inspection import drawing
from skbayes.inspection.drawing import _Display, get_many_axes
from skbayes.inspection.scales import plain, score_name
from skbayes.results.read import read_record
from skbayes.results.record import AnySource, SearchRecord
from skbayes.results.trial_costs import typical_cost
from skbayes.space.dimensions import FloatArray, is_number
from skbayes.tradeoff.acquisition import envelope, relative_costs

# Trials that are the best for a smaller share of the tradeoffs are not labeled.
MIN_WIDTH = 0.07

# Minimum range of tradeoffs of the curve.
MIN_SHOWN, MAX_SHOWN = 1e-3, 1.0

_UNITS = {
    "fit_time": "fit time in seconds",
    "score_time": "scoring time in seconds",
    "cpu_time": "processor time in seconds",
    "model_size": "size of the model in bytes",
    "n_features": "number of features",
}


class TradeoffDisplay(_Display):
    r"""Score and cost of each trial, and the best trial for each tradeoff.

    The left panel shows all trials. A dashed line connects the trials that are the best
    for some tradeoff :math:`\alpha`. All points on the line of equal utility are as
    good as the chosen trial. The right panel shows the score and the cost of the chosen
    trial for each :math:`\alpha`.

    Use :meth:`from_search` or :meth:`from_history` to create a display.

    Parameters
    ----------
    %(record)s
    cost : str or None, default=None
        Name of a measured cost, such as "fit_time". By default, the cost of the search.
    tradeoff : float or None, default=None
        Tradeoff :math:`\alpha` for the line of equal utility. By default, the tradeoff
        of the search, if it has one. For other searches, `cost` or `tradeoff` is
        required.

    Attributes
    ----------
    score : ndarray of shape (n_trials,)
        Score of each trial, greater is better; NaN for trials that cannot be chosen.
    cost : ndarray of shape (n_trials,)
        Cost of each trial, 0 or more.
    tradeoff : float or None
        Tradeoff of the line of equal utility.
    chosen : int or None
        Row of the trial chosen by the search, or else of the best trial for `tradeoff`.
    rows : ndarray of int
        Trials that are the best for some tradeoff, ordered by increasing tradeoff.
    begins : ndarray
        Smallest tradeoff for which each of these trials is the best.
    relative_cost : ndarray of shape (n_trials,)
        Costs in units of a typical fit on all rows, at most 1.
    %(axes_)s
    %(ax_)s
    %(figure_)s
    points_ : matplotlib PathCollection
        Points of all trials.
    envelope_ : matplotlib Line2D
        Line through the trials of `rows`.
    utility_ : matplotlib Line2D or None
        Line of equal utility; None without a tradeoff.
    curve_, cost_curve_ : matplotlib Line2D
        Score and relative cost of the chosen trial for each tradeoff.

    Notes
    -----
    The utility of a trial is :math:`L - \alpha \sigma`, where :math:`L` is its score on
    the `score_range` of the search and :math:`\sigma` its relative cost, as for
    :class:`skbayes.TradeoffSearchCV`. For other searches, it is 0 to 1, or the worst to
    the best score if scores are outside of this range. Relative costs above 1 count as
    1, which causes a kink in the line of equal utility.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skbayes import TradeoffSearchCV
    >>> from skbayes.inspection import TradeoffDisplay
    >>> tree, space = DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3]}
    >>> search = TradeoffSearchCV(tree, space, tradeoff=0.1, cost="model_size")
    >>> display = TradeoffDisplay.from_search(search.fit(*load_iris(return_X_y=True)))
    >>> display.chosen == search.best_index_
    True
    """

    def __init__(
        self,
        record: SearchRecord,
        *,
        cost: str | None = None,
        tradeoff: float | None = None,
    ) -> None:
        super().__init__(record)
        settings, costs = record.settings, {"fit_time": record.fit_time, **record.costs}
        has_tradeoff = "tradeoff" in settings
        if cost is None and tradeoff is None and not has_tradeoff:
            raise ValueError(
                "cost or tradeoff must be given, such as cost='fit_time': "
                f"{record.name} has no tradeoff."
            )
        if cost is None:
            # The cost of a callable is named "cost".
            names = settings.get("cost"), "cost", "fit_time"
            cost = next(n for n in names if isinstance(n, str) and n in costs)
        if cost not in costs:
            raise ValueError(f"cost must be one of {sorted(costs)}, got {cost!r}.")
        if tradeoff is not None and not (is_number(tradeoff) and tradeoff >= 0):
            raise ValueError(f"tradeoff must be a number >= 0, got {tradeoff!r}.")
        self.cost, self.cost_name = costs[cost], cost
        self.tradeoff = settings.get("tradeoff") if tradeoff is None else tradeoff
        self.score = np.where(record.state == "complete", record.score, np.nan)
        largest = record.train_fraction.max(initial=0.0) or 1.0
        largest = settings.get("train_fractions_", [largest])[-1]
        self.fraction = record.train_fraction / largest
        usable = np.isfinite(self.score) & np.isfinite(self.cost)
        self.rows, self.begins, self.chosen = np.empty(0, dtype=int), np.empty(0), None
        self.relative_cost = np.full(len(record), np.nan)
        if not np.any(usable):
            return
        self.score_range = settings.get("score_range") or (0.0, 1.0)
        if not has_tradeoff:
            self.score_range = _range(self.score[usable])
        self.relative_cost = relative_costs(self.cost, self.fraction)
        low, high = self.score_range
        unit_score = np.where(usable, (self.score - low) / (high - low), np.nan)
        self.rows, self.begins = envelope(unit_score, self.relative_cost)
        self.chosen = self.choice(self.tradeoff or 0.0)
        if tradeoff is None and record.best is not None and usable[record.best]:
            self.chosen = record.best

    def choice(self, tradeoff: float) -> int:
        """Return the row of the best trial for a tradeoff of 0 or more."""
        if not len(self.rows):
            raise ValueError("No trial has both a score and a cost.")
        place = np.searchsorted(self.begins, tradeoff, side="right") - 1
        return int(self.rows[place])

    @classmethod
    def from_search(
        cls,
        search: AnySource,
        *,
        metric: str | None = None,
        cost: str | None = None,
        tradeoff: float | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw scores and costs of a search.

        Parameters
        ----------
        %(search)s
        %(metric)s
        cost : str or None, default=None
            Name of a measured cost, as for the class.
        tradeoff : float or None, default=None
            Tradeoff for the line of equal utility, as for the class.
        %(ax)s
        %(options)s

        %(Returns)s
        """
        record = read_record(search, metric=metric)
        return cls(record, cost=cost, tradeoff=tradeoff).plot(ax, **options)

    @property
    def _cost_label(self) -> str:
        return _UNITS.get(self.cost_name, self.cost_name.replace("_", " "))

    def plot(self, ax: Any = None) -> Self:
        """Draw both panels.

        Parameters
        ----------
        %(ax)s

        Returns
        -------
        %(self)s
        """
        self._drawn_on(get_many_axes(ax, 2, 2, (4.3, 3.3)))
        if not len(self.rows):
            drawing.annotate_empty(self.ax_, "no trial has both a score and a cost")
            return self
        self._draw_trials(self.ax_)
        self._draw_curve(self.axes_[1])
        return self

    def _draw_trials(self, ax: Any) -> None:
        shown, shades = self.record.sign * self.score, drawing.tones(ax)
        # Larger training sets have a higher contrast, also in gray.
        points = {"cmap": _grays(shades.dark), "vmin": 0.0, "vmax": 1.0, "s": 26}
        points |= {"edgecolors": shades.gray, "gid": drawing.TRIALS}
        self.points_ = ax.scatter(self.cost, shown, c=self.fraction, **points)
        if np.ptp(self.fraction) > 0:
            ax.figure.colorbar(self.points_, ax=ax, label="share of the training rows")
        line = {"color": shades.series(0).color, "markersize": 6, "zorder": 3}
        at = (self.cost[self.rows], shown[self.rows])
        (self.envelope_,) = ax.plot(*at, "--o", label="best for some α", **line)
        costs = self.cost[np.isfinite(shown) & np.isfinite(self.cost)]
        is_log = drawing.has_log_span(costs)
        if is_log:
            ax.set_xscale("log")
        else:
            ax.locator_params(axis="x", nbins=5)
        drawing.set_robust_ylim(ax, self.record.sign)
        self.utility_ = None
        if self.tradeoff:
            limits = ax.get_ylim()
            spread = np.geomspace if is_log else np.linspace
            x = spread(costs.min(), costs.max(), 200)
            line = {"color": shades.foreground, "linestyle": ":"}
            line["label"] = f"equal utility at α = {self.tradeoff:g}"
            (self.utility_,) = ax.plot(x, self._equally_useful(x), **line)
            ax.set_ylim(limits)
        label = f"trial {self.record.number[self.chosen]}, chosen"
        at = (self.cost[self.chosen], shown[self.chosen])
        ax.plot(*at, **drawing.star(ax, 15, label=label))
        ax.legend(fontsize="small")
        labels = {"xlabel": plain(self._cost_label), "ylabel": plain(self.record.label)}
        drawing.style_axes(ax, "both", **labels)

    def _equally_useful(self, costs: FloatArray) -> FloatArray:
        """Return the scores at some costs with the utility of the chosen trial."""
        sigma = np.minimum(1.0, costs / typical_cost(self.cost, self.fraction))
        low, high = self.score_range
        difference = (sigma - self.relative_cost[self.chosen]) * (high - low)
        return self.record.sign * (self.score[self.chosen] + self.tradeoff * difference)

    def _draw_curve(self, ax: Any) -> None:
        sign, inner = self.record.sign, self.begins[1:]
        least = min([MIN_SHOWN, *inner[inner > 0] / 3.0])
        most = max([MAX_SHOWN, *inner * 3.0, 2.0 * (self.tradeoff or 0.0)])
        at = np.concatenate([[least], np.maximum(inner, least), [most]])
        chosen = np.append(self.rows, self.rows[-1])
        shades, steps = drawing.tones(ax), {"drawstyle": "steps-post"}
        score, cost = shades.series(0), shades.series(1)
        name = score_name(self.record.label)
        line = {"color": score.color, "linewidth": 2, "label": name, **steps}
        (self.curve_,) = ax.plot(at, sign * self.score[chosen], **line)
        twin = ax.twinx()
        line = {"color": cost.color, "linestyle": cost.linestyle, **steps}
        line["label"] = "relative cost"
        (self.cost_curve_,) = twin.plot(at, self.relative_cost[chosen], **line)
        text = {"fontsize": "small", "color": shades.foreground}
        if self.tradeoff:
            ax.axvline(self.tradeoff, color=shades.foreground, linestyle=":")
            place = {"xycoords": ax.get_xaxis_transform(), "va": "top"}
            label = f" α = {self.tradeoff:g}"
            ax.annotate(label, (self.tradeoff, 0.98), **place, **text)
        # Numbers of the trials, above their steps.
        text |= {"ha": "center", "fontsize": "x-small", "xytext": (0, 4)}
        ends = np.log(at)
        widths = np.diff(ends) / (ends[-1] - ends[0])
        for k in np.flatnonzero(widths >= MIN_WIDTH):
            row, middle = self.rows[k], np.exp((ends[k + 1] + ends[k]) / 2)
            at_step = (middle, sign * self.score[row])
            number = f"{self.record.number[row]}"
            ax.annotate(number, at_step, textcoords="offset points", **text)
        twin.set(ylabel="relative cost", ylim=(0.0, 1.05))
        twin.spines["top"].set_visible(False)
        corner = "lower left" if sign > 0 else "upper left"
        lines = [self.curve_, self.cost_curve_]
        ax.legend(handles=lines, fontsize="small", loc=corner)
        ax.margins(y=0.15)
        xlabel = "tradeoff α (score per cost of a typical fit)"
        limits = {"xscale": "log", "xlim": (least, most)}
        drawing.style_axes(
            ax, xlabel=xlabel, ylabel=f"{name} of the chosen trial", **limits
        )


def _grays(dark: bool) -> Any:
    """Return shades of gray that differ from the background."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    ends = (0.7, 0.05) if dark else (0.15, 0.9)
    return ListedColormap(colormaps["Greys"](np.linspace(*ends, 64)))


def _range(score: FloatArray) -> tuple[float, float]:
    """Return 0 and 1, or the ends of the scores if some are outside of this range."""
    low, high = float(np.min(score)), float(np.max(score))
    if 0.0 <= low and high <= 1.0:
        return 0.0, 1.0
    return (low, high) if high > low else (low, low + 1.0)
