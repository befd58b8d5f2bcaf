"""Base class of the displays: axes, keywords, and shared texts of docstrings."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from skbayes.inspection.style import annotate_empty
from skbayes.utils.optional import import_optional

__all__ = ["get_axes", "get_many_axes", "import_pyplot", "merged"]


class _Display:
    """Base class of the displays.

    A subclass defines `from_search`, which computes what is drawn, and `plot`, which
    draws it. In its docstrings a line such as "%(metric)s" stands for the entry of that
    name in the docstrings of this class.

    Parameters
    ----------
    score : ndarray of shape (n_trials,)
        The scores, as the user knows the metric: errors are positive. NaN for failed
        trials.
    scales : list of ParameterScale
        The parameters.
    values : list of ndarray of shape (n_trials,)
        For each parameter its value in each trial, or the place of an option; NaN where
        it does not exist.
    label : str, default="score"
        What to write beside the scores.
    sign : int, default=1
        1 if the higher of two scores is the better, else -1.

    Attributes
    ----------
    axes_ : ndarray of matplotlib.axes.Axes
        One for each panel.
    ax_ : matplotlib.axes.Axes
        Axes with the picture; of several panels the first.
    figure_ : matplotlib.figure.Figure
        Figure with the axes.
    """

    ax_: Any
    figure_: Any

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        entries = _shared_entries(cls.__name__)
        members = [getattr(member, "__func__", member) for member in vars(cls).values()]
        for thing in (cls, *filter(inspect.isfunction, members)):
            if thing.__doc__:
                thing.__doc__ = _filled(thing.__doc__, entries)

    @classmethod
    def from_search(cls, search: Any, *args: Any, **options: Any) -> Self:
        """Draw the trials of a search.

        Parameters
        ----------
        search : estimator, History, DataFrame, str, os.PathLike or SearchRecord
            A fitted search, of skbayes or scikit-learn; its `trials_`; the path of its
            journal, also of a search that still runs; or what
            :func:`skbayes.load_history` or :func:`skbayes.inspection.read_record`
            returned.
        metric : str or None, default=None
            Which score of several. None: the one that guided the search.
        search_spaces : dict, list of dict, Space or None, default=None
            What the parameters were chosen from. None: as the search or the journal has
            it; where that is not known, as the values that were tried suggest.
        params : list of str or None, default=None
            Which parameters, in this order. None: all that can take several values.
        name : str or None, default=None
            Name of the search. None: that of its class or its journal.
        ax : matplotlib.axes.Axes, array-like of Axes, or None, default=None
            Where to draw. None: in a new figure. A picture of several panels takes axes
            for each of them, or one, whose place is divided.
        n_cols : int, default=3
            The most panels in a row.
        point_kw : dict or None, default=None
            Keywords for the trials, see ``matplotlib.axes.Axes.scatter``.
        **plot_options : dict
            Passed on to :meth:`plot`.

        Returns
        -------
        display : <class>
            The picture.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        OSError
            If a journal cannot be read.
        TypeError, ValueError
            If an argument is wrong.
        sklearn.exceptions.NotFittedError
            If the search was not fitted.
        """
        raise NotImplementedError

    @classmethod
    def from_history(cls, history: Any, *args: Any, **options: Any) -> Self:
        """Draw the trials of a search that runs, or ran.

        Parameters
        ----------
        history : History, DataFrame, str, os.PathLike or SearchRecord
            `trials_` of a search, the path of its journal, or what
            :func:`skbayes.load_history` or :func:`skbayes.inspection.read_record`
            returned.
        *args : tuple
            As for :meth:`from_search`.
        **options : dict
            As for :meth:`from_search`.

        Returns
        -------
        display : object
            The picture, an instance of this class.
        """
        return cls.from_search(history, *args, **options)

    def plot(self, ax: Any = None) -> Self:
        """Draw it.

        Returns
        -------
        self : <class>
            The picture, with what was drawn as attributes.
        """
        raise NotImplementedError

    def _drawn_on(self, ax: Any) -> Self:
        """Store the axes of the picture."""
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _drawn_empty(self, ax: Any, figsize: tuple[float, float] = (6.0, 4.0)) -> Self:
        """Draw one panel that says that there is nothing to draw."""
        ax = get_axes(ax, figsize)
        annotate_empty(ax)
        return self._drawn_on_panels(np.array([ax]))

    def _drawn_on_panels(self, axes: np.ndarray) -> Self:
        """Store the axes of the panels."""
        self.axes_ = axes
        return self._drawn_on(axes[0])


def import_pyplot() -> Any:
    """Import matplotlib when it is needed."""
    return import_optional("matplotlib.pyplot", extra="plot", purpose="drawing")


def get_axes(ax: Any = None, figsize: tuple[float, float] = (6.0, 4.0)) -> Any:
    """Return axes to draw on."""
    plt = import_pyplot()
    if ax is None:
        return plt.subplots(figsize=figsize, layout="constrained")[1]
    if not isinstance(ax, plt.Axes):
        raise TypeError(f"ax must be matplotlib axes or None, got {ax!r}.")
    return ax


def get_many_axes(
    ax: Any, n: int, n_cols: int, size: tuple[float, float] = (2.6, 2.3)
) -> np.ndarray:
    """Return several axes to draw on."""
    plt = import_pyplot()
    n_cols = min(n, n_cols)
    n_rows = math.ceil(n / n_cols)
    if ax is None:
        figsize = (size[0] * n_cols, size[1] * n_rows)
        figure = plt.figure(figsize=figsize, layout="constrained")
        grid = figure.add_gridspec(n_rows, n_cols)
    elif isinstance(ax, plt.Axes):
        from matplotlib.gridspec import GridSpecFromSubplotSpec

        figure = ax.figure
        spec = ax.get_subplotspec()
        if spec is None:
            raise ValueError("ax must be one of a grid of axes to be divided.")
        ax.set_axis_off()
        grid = GridSpecFromSubplotSpec(n_rows, n_cols, spec)
    else:
        given = np.ravel(np.asarray(ax, dtype=object))
        if not all(isinstance(one, plt.Axes) for one in given):
            raise TypeError(f"ax must be matplotlib axes or None, got {ax!r}.")
        if len(given) != n:
            raise ValueError(f"ax must have {n} axes, one a panel, got {len(given)}.")
        return given
    axes = np.empty(n, dtype=object)
    for k in range(n):
        axes[k] = figure.add_subplot(grid[divmod(k, n_cols)])
    return axes


def merged(defaults: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict:
    """Return keywords for a line, the user's before ours."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    # So that "lw" takes the place of "linewidth".
    return {**defaults, **normalize_kwargs(dict(given or {}), Line2D)}


def _shared_entries(name: str) -> dict[str, str]:
    """Return the entries of the docstrings of the base class, by their first word."""
    entries = {}
    for thing in (_Display, _Display.from_search, _Display.plot):
        text = inspect.cleandoc(thing.__doc__ or "").replace("<class>", name)
        for entry in re.split(r"(?m)^(?=\S)", text):
            entries[re.split(r"\W+", entry.lstrip("*"))[0]] = entry.rstrip()
        if "Raises\n" in text:
            entries["Raises"] = text[text.index("Raises\n") :]
    return entries


def _filled(docstring: str, entries: dict[str, str]) -> str:
    """Put the shared entries in their places, indented as these are."""

    def entry(match: re.Match[str]) -> str:
        return re.sub(r"(?m)^(?=.)", match[1], entries[match[2]])

    text = inspect.cleandoc(docstring)
    text += "\n" * ("\n" in text)
    return re.sub(r"(?m)^( *)%\((\w+)\)s$", entry, text)
