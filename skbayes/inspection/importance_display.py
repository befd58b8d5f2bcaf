"""Which parameters matter, as bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from skbayes.inspection.importance import Importance, importance
from skbayes.inspection.partial_dependence import short
from skbayes.inspection.style import annotate_empty, get_axes, style_axes, tones
from skbayes.results.read import read_record

__all__ = ["ImportanceDisplay"]


class ImportanceDisplay:
    """How much of the variance of the score each parameter explains.

    A bar for each parameter, hatched ones for what pairs explain beyond their two; the
    whiskers are the standard deviation between the trees of a forest. See
    :func:`skbayes.inspection.importance`, which computes it.

    Use :meth:`from_search` or :meth:`from_history` to make one.

    Parameters
    ----------
    importance : Importance
        What :func:`skbayes.inspection.importance` returned.
    name : str or None, default=None
        What the search is called.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Their figure.
    bars_ : matplotlib BarContainer
        Of single parameters, the most important first.
    pair_bars_ : matplotlib BarContainer or None
        Of pairs.
    whiskers_ : matplotlib ErrorbarContainer
        Of all bars.

    See Also
    --------
    PartialDependenceDisplay : In which way the score depends on a parameter.

    Examples
    --------
    >>> from skbayes.benchmark import load_nmt
    >>> from skbayes.inspection import ImportanceDisplay, importance
    >>> display = ImportanceDisplay(importance(load_nmt("ja-en"), n_pairs=3)).plot()
    >>> display.ax_.get_yticklabels()[0].get_text()
    'num_layers'
    """

    def __init__(self, importance: Importance, *, name: str | None = None) -> None:
        self.importance = importance
        self.name = name

    @classmethod
    def from_search(
        cls,
        search: Any,
        *,
        metric: str | None = None,
        top: float | None = None,
        n_pairs: int = 4,
        n_estimators: int = 100,
        random_state: Any = 0,
        name: str | None = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> ImportanceDisplay:
        """Compute and draw the importance of a search's parameters.

        Parameters
        ----------
        search : estimator
            A fitted search, of skbayes or scikit-learn.
        metric : str or None, default=None
            Which score of several. None: the one that guided the search.
        top : float or None, default=None
            Ask what matters among the best, as
            :func:`skbayes.inspection.importance` does.
        n_pairs : int, default=4
            How many pairs, the strongest.
        n_estimators : int, default=100
            Number of trees.
        random_state : int, RandomState or None, default=0
            Source of randomness of the forest.
        name : str or None, default=None
            What to call the search. None: by its class.
        ax : Axes or None, default=None
            Where to draw. None: a new figure.
        **plot_options : dict
            Passed on to :meth:`plot`.

        Returns
        -------
        display : ImportanceDisplay
            The picture.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError, ValueError
            If an argument is wrong.
        sklearn.exceptions.NotFittedError
            If the search was not fitted.
        """
        record = read_record(search, metric=metric, name=name)
        return cls.from_history(
            record,
            top=top,
            n_pairs=n_pairs,
            n_estimators=n_estimators,
            random_state=random_state,
            ax=ax,
            **plot_options,
        )

    @classmethod
    def from_history(
        cls,
        history: Any,
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
    ) -> ImportanceDisplay:
        """Compute and draw the importance of the parameters of some trials.

        Parameters
        ----------
        history : History, DataFrame, str, os.PathLike or SearchRecord
            `trials_` of a search, the path of its journal, or what
            :func:`skbayes.load_history` or :func:`skbayes.inspection.read_record`
            returned for it; also of a search that still runs.
        search_spaces : dict, list of dicts, Space or None, default=None
            What could have been chosen. None: as the journal says it; where that is
            not known, the values that occur.
        metric : str or None, default=None
            As for :meth:`from_search`.
        top : float or None, default=None
            As for :meth:`from_search`.
        n_pairs : int, default=4
            As for :meth:`from_search`.
        n_estimators : int, default=100
            As for :meth:`from_search`.
        random_state : int, RandomState or None, default=0
            As for :meth:`from_search`.
        name : str or None, default=None
            What to call the search.
        ax : Axes or None, default=None
            Where to draw. None: a new figure.
        **plot_options : dict
            Passed on to :meth:`plot`.

        Returns
        -------
        display : ImportanceDisplay
            The picture.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        OSError
            If a journal cannot be read.
        TypeError, ValueError
            If an argument is wrong.
        """
        record = read_record(
            history, metric=metric, search_spaces=search_spaces, name=name
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

    def plot(self, ax: Any = None, *, n_shown: int = 12) -> ImportanceDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw. None: a new figure.
        n_shown : int, default=12
            How many parameters at most.

        Returns
        -------
        self : ImportanceDisplay
            The picture.
        """
        found = self.importance
        names = list(found.single)[:n_shown]
        pairs = list(found.pairs)
        n = len(names) + len(pairs)
        ax = get_axes(ax, figsize=(6.0, 1.1 + 0.28 * max(n, 3)))
        self.ax_, self.figure_ = ax, ax.figure
        parts = [found.single[name] for name in names]
        parts += [found.pairs[pair] for pair in pairs]
        sds = [found.single_sd[name] for name in names]
        sds += [found.pairs_sd[pair] for pair in pairs]
        if not n:
            annotate_empty(ax, "fewer than two trials have a score")
        y = np.arange(n)
        own, theirs = y[: len(names)], y[len(names) :]
        self.bars_ = ax.barh(own, parts[: len(names)], color=tones(ax).series(0).color)
        self.pair_bars_ = None
        if pairs:
            self.pair_bars_ = ax.barh(
                theirs,
                parts[len(names) :],
                facecolor=tones(ax).paper,
                edgecolor=tones(ax).series(1).color,
                hatch="////",
                label="beyond the two alone",
            )
            ax.legend(loc="lower right", fontsize="small")
        # A part is never less than nothing, nor more than all.
        below, above = np.minimum(sds, parts), np.minimum(sds, 1.0 - np.array(parts))
        reach = np.array([below, above]).reshape(2, n)
        self.whiskers_ = ax.errorbar(
            parts,
            y,
            xerr=reach,
            fmt="none",
            ecolor=tones(ax).ink,
            elinewidth=1.0,
            capsize=2,
        )
        labels = [short(name, 34) for name in names]
        labels += [" × ".join(short(name, 20) for name in pair) for pair in pairs]
        ax.set_yticks(y, labels)
        ax.invert_yaxis()
        ax.set_xlim(0.0, None)
        ax.set_xlabel("share of the variance of the score")
        ax.xaxis.set_major_formatter(_percent)
        style_axes(ax, "x")
        return self


def _percent(share: float, place: int) -> str:
    return f"{share:.0%}"
