"""Importance of the hyper-parameters as a bar chart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from skbayes.inspection import style
from skbayes.inspection.base import _Display, get_axes
from skbayes.inspection.importance import Importance, importance
from skbayes.inspection.texts import name_label
from skbayes.results.read import read_record

__all__ = ["ImportanceDisplay"]


@dataclass(eq=False, repr=False)
class ImportanceDisplay(_Display):
    """Share of the variance of the score that each hyper-parameter explains.

    Each hyper-parameter has a bar. Hatched bars are the shares that pairs explain
    beyond their two hyper-parameters. The whiskers are standard deviations between the
    trees of a forest. The shares are computed by :func:`skbayes.inspection.importance`.

    Use :meth:`from_search` or :meth:`from_history` to create a display.

    Parameters
    ----------
    importance : Importance
        Output of :func:`skbayes.inspection.importance`.
    name : str or None, default=None
        Name of the search.

    Attributes
    ----------
    %(ax_)s
    %(figure_)s
    bars_ : matplotlib BarContainer
        Bars of single hyper-parameters, the most important first.
    pair_bars_ : matplotlib BarContainer or None
        Bars of pairs.
    whiskers_ : matplotlib ErrorbarContainer
        Whiskers of all bars.

    See Also
    --------
    PartialDependenceDisplay : Effect of the values of a hyper-parameter on the score.

    Examples
    --------
    >>> from skbayes.benchmark import load_nmt
    >>> from skbayes.inspection import ImportanceDisplay, importance
    >>> display = ImportanceDisplay(importance(load_nmt("ja-en"), n_pairs=3)).plot()
    >>> display.ax_.get_yticklabels()[0].get_text()
    'num_layers'
    """

    importance: Importance
    name: str | None = field(default=None, kw_only=True)

    @classmethod
    def from_search(
        cls,
        search: Any,
        *,
        search_spaces: Any = None,
        metric: str | None = None,
        top: float | None = None,
        n_pairs: int = 4,
        n_estimators: int = 100,
        random_state: Any = 0,
        name: str | None = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """Compute and draw the importance of the hyper-parameters of a search.

        Parameters
        ----------
        top : float or None, default=None
            Restrict the analysis to the best configurations, as for
            :func:`skbayes.inspection.importance`.
        n_pairs : int, default=4
            Number of pairs to show, the strongest first.
        n_estimators : int, default=100
            Number of trees.
        random_state : int, RandomState or None, default=0
            Random state of the forest.
        """
        record = read_record(
            search, metric=metric, search_spaces=search_spaces, name=name
        )
        if np.sum(record.comparable) < 2:
            return cls(Importance({}, {}, {}, {}), name=record.name).plot(ax)
        found = importance(
            record,
            top=top,
            n_pairs=n_pairs,
            n_estimators=n_estimators,
            random_state=random_state,
        )
        return cls(found, name=record.name).plot(ax, **plot_options)

    def plot(self, ax: Any = None, *, n_shown: int = 12) -> Self:
        """Draw the bars.

        Parameters
        ----------
        n_shown : int, default=12
            Maximum number of hyper-parameters to show.
        """
        found = self.importance
        names = list(found.single)[:n_shown]
        pairs = list(found.pairs)
        n = len(names) + len(pairs)
        ax = get_axes(ax, figsize=(6.0, 1.1 + 0.28 * max(n, 3)))
        parts = [found.single[name] for name in names]
        parts += [found.pairs[pair] for pair in pairs]
        sds = [found.single_sd[name] for name in names]
        sds += [found.pairs_sd[pair] for pair in pairs]
        if not n:
            style.annotate_empty(ax, "fewer than two trials have a score")
        y = np.arange(n)
        single, paired = y[: len(names)], y[len(names) :]
        shades = style.tones(ax)
        self.bars_ = ax.barh(single, parts[: len(names)], color=shades.series(0).color)
        self.pair_bars_ = None
        if pairs:
            kwargs = {
                "facecolor": shades.background,
                "edgecolor": shades.series(1).color,
            }
            kwargs |= {"hatch": "////", "label": "interaction"}
            self.pair_bars_ = ax.barh(paired, parts[len(names) :], **kwargs)
            ax.legend(loc="lower right", fontsize="small")
        # Shares are between 0 and 1.
        below, above = np.minimum(sds, parts), np.minimum(sds, 1.0 - np.array(parts))
        reach = np.array([below, above]).reshape(2, n)
        whisker: dict[str, Any] = {
            "ecolor": shades.foreground,
            "elinewidth": 1.0,
            "capsize": 2,
        }
        self.whiskers_ = ax.errorbar(parts, y, xerr=reach, fmt="none", **whisker)
        labels = [name_label(name, 34) for name in names]
        labels += [" × ".join(name_label(name, 20) for name in pair) for pair in pairs]
        ax.set_yticks(y, labels)
        ax.invert_yaxis()
        ax.set_xlim(0.0, None)
        ax.set_xlabel("share of the variance of the score")
        ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        style.style_axes(ax, "x")
        return self._drawn_on(ax)
