"""Score against cost, and the best trial for each tradeoff between them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from skbayes.acquisition.tradeoff import envelope, relative_costs, typical_cost
from skbayes.inspection import style
from skbayes.inspection.base import _Display, get_many_axes
from skbayes.inspection.scales import plain, score_name
from skbayes.results.read import read_record
from skbayes.space.dimensions import FloatArray, is_number

# Trials that are the best for a smaller share of the tradeoffs are not labeled.
NARROW = 0.07

# Minimum range of tradeoffs of the curve.
LEAST_SHOWN, MOST_SHOWN = 1e-3, 1.0


@dataclass(eq=False, repr=False)
class TradeoffDisplay(_Display):
    r"""Score and cost of each trial, and the best trial for each tradeoff.

    The left panel shows all trials. A dashed line connects the trials that are the best
    for some tradeoff :math:`\alpha`. All points on the line of equal utility are as
    good as the chosen trial. The right panel shows the score and the cost of the chosen
    trial for each :math:`\alpha`.

    Use :meth:`from_search` or :meth:`from_history` to create a display.

    Parameters
    ----------
    score : ndarray of shape (n_trials,)
        Score of each trial, greater is better; NaN for trials that cannot be chosen.
    cost : ndarray of shape (n_trials,)
        Cost of each trial, 0 or more.
    fraction : ndarray of shape (n_trials,)
        Share of the training rows, relative to the largest possible share.
    numbers : ndarray of shape (n_trials,)
        Numbers of the trials.
    tradeoff : float or None, default=None
        Tradeoff :math:`\alpha` of the search; None if it has none.
    score_range : tuple of (float, float) or None, default=None
        Scores that are mapped to 0 and 1. By default, 0 and 1; if scores are outside of
        this range, the worst and the best score.
    chosen : int or None, default=None
        Row of the chosen trial. By default, the best trial for `tradeoff`, or for 0 if
        `tradeoff` is None.
    %(label)s
    sign : int, default=1
        -1 to show negated scores, such as losses, as positive values.
    cost_label : str, default="cost"
        Label of the costs.

    Attributes
    ----------
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

    See Also
    --------
    skbayes.TradeoffSearchCV : Search for the best tradeoff of score and cost.

    Notes
    -----
    The utility of a trial is :math:`L - \alpha \sigma`, where :math:`L` is its score on
    the scale of `score_range` and :math:`\sigma` its relative cost, as for
    :class:`skbayes.TradeoffSearchCV`. Relative costs above 1 count as 1, which causes a
    kink in the line of equal utility.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.inspection import TradeoffDisplay
    >>> score, cost = np.array([0.9, 0.88, 0.7]), np.array([2.0, 0.5, 1.5])
    >>> display = TradeoffDisplay(score, cost, np.ones(3), np.arange(3), tradeoff=0.1)
    >>> display.rows, display.chosen
    (array([0, 1]), 1)
    """

    score: FloatArray
    cost: FloatArray
    fraction: FloatArray
    numbers: np.ndarray
    _: KW_ONLY
    tradeoff: float | None = None
    score_range: Any = None
    chosen: int | None = None
    label: str = "score"
    sign: int = 1
    cost_label: str = "cost"

    def __post_init__(self) -> None:
        for name in ("score", "cost", "fraction"):
            setattr(self, name, np.asarray(getattr(self, name), dtype=float))
        usable = np.isfinite(self.score) & np.isfinite(self.cost)
        self.rows, self.begins = np.empty(0, dtype=int), np.empty(0)
        self.relative_cost = np.full(len(self.cost), np.nan)
        if not np.any(usable):
            self.score_range, self.chosen = (0.0, 1.0), None
            return
        self.score_range = _range(self.score[usable], self.score_range)
        self.relative_cost = relative_costs(self.cost, self.fraction)
        low, high = self.score_range
        unit_score = np.where(usable, (self.score - low) / (high - low), np.nan)
        self.rows, self.begins = envelope(unit_score, self.relative_cost)
        if self.chosen is None:
            self.chosen = self.choice(self.tradeoff or 0.0)

    def choice(self, tradeoff: float) -> int:
        """Return the row of the best trial for a tradeoff of 0 or more."""
        if not len(self.rows):
            raise ValueError("No trial has both a score and a cost.")
        place = np.searchsorted(self.begins, tradeoff, side="right") - 1
        return int(self.rows[place])

    @classmethod
    def from_search(
        cls,
        search: Any,
        *,
        metric: str | None = None,
        cost: str | None = None,
        tradeoff: float | None = None,
        score_range: tuple[float, float] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw scores and costs of a search.

        Parameters
        ----------
        cost : str or None, default=None
            Name of a measured cost, such as "fit_time". By default, the cost of the
            search.
        tradeoff : float or None, default=None
            Tradeoff for the line of equal utility. By default, the tradeoff of the
            search, if it has one. For other searches, `cost` or `tradeoff` is required.
        score_range : tuple of (float, float) or None, default=None
            Scores that are mapped to 0 and 1. By default, the range of the search, or
            else 0 and 1; if scores are outside of this range, the worst and the best
            score.
        """
        record = read_record(search, metric=metric)
        settings = record.settings
        if cost is None and tradeoff is None and "tradeoff" not in settings:
            raise ValueError(
                "cost or tradeoff must be given, such as cost='fit_time': "
                f"{record.name} has no tradeoff."
            )
        costs = {"fit_time": record.fit_time, **record.costs}
        if cost is None:
            # The cost of a callable is named "cost".
            own_cost = settings.get("cost")
            cost = own_cost if isinstance(own_cost, str) else "cost"
            cost = cost if cost in record.costs else "fit_time"
        if cost not in costs:
            raise ValueError(f"cost must be one of {sorted(costs)}, got {cost!r}.")
        usable = np.isfinite(record.score) & np.isfinite(costs[cost])
        is_chosen = tradeoff is None and record.best is not None and usable[record.best]
        chosen = record.best if is_chosen else None
        tradeoff = settings.get("tradeoff") if tradeoff is None else tradeoff
        if tradeoff is not None and not (is_number(tradeoff) and tradeoff >= 0):
            raise ValueError(f"tradeoff must be a number >= 0, got {tradeoff!r}.")
        if score_range is None and "tradeoff" in settings:
            score_range = settings.get("score_range") or (0.0, 1.0)
        largest = getattr(search, "train_fractions_", [None])[-1]
        largest = largest or float(record.train_fraction.max(initial=0.0)) or 1.0
        display = cls(
            np.where(record.state == "complete", record.score, np.nan),
            costs[cost],
            record.train_fraction / largest,
            record.number,
            tradeoff=tradeoff,
            score_range=score_range,
            chosen=chosen,
            label=record.label,
            sign=record.sign,
            cost_label=_UNITS.get(cost, cost.replace("_", " ")),
        )
        return display.plot(ax, **options)

    @property
    def _alt(self) -> str:
        trials = ", ".join(str(self.numbers[row]) for row in self.rows)
        return (
            f"Score against {self.cost_label} of all trials. The best trials for "
            f"increasing tradeoffs, from 0 on: {trials}."
        )

    # -- drawing ------------------------------------------------------------------

    def plot(self, ax: Any = None) -> Self:
        """Draw both panels."""
        self._drawn_on(get_many_axes(ax, 2, 2, (4.3, 3.3)))
        if not len(self.rows):
            style.annotate_empty(self.axes_[0], "no trial has both a score and a cost")
            return self
        self._draw_trials(self.axes_[0])
        self._draw_curve(self.axes_[1])
        return self

    def _draw_trials(self, ax: Any) -> None:
        shown, shades = self.sign * self.score, style.tones(ax)
        # Larger training sets have a higher contrast, also in gray.
        kwargs = {"cmap": _grays(shades.dark), "vmin": 0.0, "vmax": 1.0, "s": 26}
        kwargs |= {"edgecolors": shades.gray, "gid": style.TRIALS}
        self.points_ = ax.scatter(self.cost, shown, c=self.fraction, **kwargs)
        if np.ptp(self.fraction) > 0:
            ax.figure.colorbar(self.points_, ax=ax, label="share of the training rows")
        line = {"color": shades.series(0).color, "markersize": 6, "zorder": 3}
        at = (self.cost[self.rows], shown[self.rows])
        (self.envelope_,) = ax.plot(*at, "--o", label="best for some α", **line)
        costs = self.cost[np.isfinite(shown) & np.isfinite(self.cost)]
        if style.has_log_span(costs):
            ax.set_xscale("log")
        else:
            ax.locator_params(axis="x", nbins=5)
        style.set_robust_ylim(ax, self.sign)
        self.utility_ = self._draw_utility(ax, costs) if self.tradeoff else None
        label = f"trial {self.numbers[self.chosen]}, chosen"
        at = (self.cost[self.chosen], shown[self.chosen])
        ax.plot(*at, **style.star(ax, 15, label=label))
        ax.legend(fontsize="small")
        labels = {"xlabel": plain(self.cost_label), "ylabel": plain(self.label)}
        style.style_axes(ax, "both", **labels)

    def _draw_utility(self, ax: Any, costs: FloatArray) -> Any:
        limits = ax.get_ylim()
        typical = typical_cost(self.cost, self.fraction)
        spread = np.geomspace if ax.get_xscale() == "log" else np.linspace
        at = spread(costs.min(), costs.max(), 200)
        sigma = np.minimum(1.0, at / typical) - self.relative_cost[self.chosen]
        low, high = self.score_range
        equal = self.score[self.chosen] + self.tradeoff * sigma * (high - low)
        label = f"equal utility at α = {self.tradeoff:g}"
        color = style.tones(ax).foreground
        (line,) = ax.plot(at, self.sign * equal, ":", color=color, label=label)
        ax.set_ylim(limits)
        return line

    def _draw_curve(self, ax: Any) -> None:
        inner = self.begins[1:]
        least = min([LEAST_SHOWN, *inner[inner > 0] / 3.0])
        most = max([MOST_SHOWN, *inner * 3.0, 2.0 * (self.tradeoff or 0.0)])
        at = np.concatenate([[least], np.maximum(inner, least), [most]])
        chosen = np.append(self.rows, self.rows[-1])
        shades, steps = style.tones(ax), {"drawstyle": "steps-post"}
        score, cost = shades.series(0), shades.series(1)
        line = {"color": score.color, "linewidth": 2, "label": score_name(self.label)}
        (self.curve_,) = ax.plot(at, self.sign * self.score[chosen], **steps, **line)
        twin = ax.twinx()
        line = {"color": cost.color, "linestyle": cost.linestyle, **steps}
        relative = self.relative_cost[chosen]
        (self.cost_curve_,) = twin.plot(at, relative, label="relative cost", **line)
        ax.set(
            xscale="log",
            xlim=(least, most),
            xlabel="tradeoff α (score per cost of a typical fit)",
            ylabel=f"{score_name(self.label)} of the chosen trial",
        )
        text = {"fontsize": "small", "color": shades.foreground}
        if self.tradeoff:
            ax.axvline(self.tradeoff, color=shades.foreground, linestyle=":")
            place = {"xycoords": ax.get_xaxis_transform(), "va": "top"}
            label = f" α = {self.tradeoff:g}"
            ax.annotate(label, (self.tradeoff, 0.98), **place, **text)
        # Numbers of the trials, above their steps.
        text |= {"ha": "center", "fontsize": "x-small"}
        place = {"textcoords": "offset points", "xytext": (0, 4)}
        ends = np.log(at)
        middles = np.exp((ends[1:] + ends[:-1]) / 2)
        widths = np.diff(ends) / (ends[-1] - ends[0])
        for k in np.flatnonzero(widths >= NARROW):
            row = self.rows[k]
            at_step = (middles[k], self.sign * self.score[row])
            ax.annotate(f"{self.numbers[row]}", at_step, **place, **text)
        twin.set(ylabel="relative cost", ylim=(0.0, 1.05))
        twin.spines["top"].set_visible(False)
        corner = "lower left" if self.sign > 0 else "upper left"
        lines = [self.curve_, self.cost_curve_]
        ax.legend(handles=lines, fontsize="small", loc=corner)
        ax.margins(y=0.15)
        style.style_axes(ax)


_UNITS = {
    "fit_time": "fit time in seconds",
    "score_time": "scoring time in seconds",
    "cpu_time": "processor time in seconds",
    "model_size": "size of the model in bytes",
    "n_features": "number of features",
}


def _grays(dark: bool) -> Any:
    """Return shades of gray that differ from the background."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    ends = (0.7, 0.05) if dark else (0.15, 0.9)
    return ListedColormap(colormaps["Greys"](np.linspace(*ends, 64)))


def _range(score: FloatArray, given: Any) -> tuple[float, float]:
    if given is not None:
        low, high = given
        return float(low), float(high)
    low, high = float(np.min(score)), float(np.max(score))
    if 0.0 <= low and high <= 1.0:
        return 0.0, 1.0
    return (low, high) if high > low else (low, low + 1.0)
