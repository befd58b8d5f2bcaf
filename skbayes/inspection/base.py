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

# What stands for "%(key)s" in the docstring of a display or one of its methods.
_TEXTS = {
    "search": """
search : estimator, History, DataFrame, str, os.PathLike or SearchRecord
    A fitted search, of skbayes or scikit-learn; its `trials_`; the path of its
    journal, also of a search that still runs; or what :func:`skbayes.load_history`
    or :func:`skbayes.inspection.read_record` returned.""",
    "metric": """
metric : str or None, default=None
    Which score of several. None: the one that guided the search.""",
    "search_spaces": """
search_spaces : dict, list of dict, Space or None, default=None
    What the parameters were chosen from. None: as the search or the journal has it;
    where that is not known, as the values that were tried suggest.""",
    "name": """
name : str or None, default=None
    Name of the search. None: that of its class or its journal.""",
    "ax": """
ax : matplotlib.axes.Axes or None, default=None
    Where to draw. None: in a new figure.""",
    "axes": """
ax : matplotlib.axes.Axes, array-like of Axes, or None, default=None
    Where to draw: an axes for each panel, or one, whose place is divided. None: in a
    new figure.""",
    "params": """
params : list of str or None, default=None
    Which parameters, in this order. None: all that can take several values.""",
    "n_cols": """
n_cols : int, default=3
    The most panels in a row.""",
    "point_kw": """
point_kw : dict or None, default=None
    Keywords for the trials, see ``matplotlib.axes.Axes.scatter``.""",
    "plot_options": """
**plot_options : dict
    Passed on to :meth:`plot`.""",
    "display": """
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
    If the search was not fitted.""",
    "self": """
Returns
-------
self : <class>
    The picture, with what was drawn as attributes.""",
    "score": """
score : ndarray of shape (n_trials,)
    The scores, as the user knows the metric: errors are positive. NaN for failed
    trials.""",
    "label": """
label : str, default="score"
    What to write beside the scores.""",
    "sign": """
sign : int, default=1
    1 if the higher of two scores is the better, else -1.""",
    "scales": """
scales : list of ParameterScale
    The parameters.
values : list of ndarray of shape (n_trials,)
    For each parameter its value in each trial, or the place of an option; NaN where
    it does not exist.""",
    "ax_": """
ax_ : matplotlib.axes.Axes
    Axes with the picture.
figure_ : matplotlib.figure.Figure
    Figure with the axes.""",
    "axes_": """
axes_ : ndarray of matplotlib.axes.Axes
    One for each panel.
ax_ : matplotlib.axes.Axes
    The first of them.
figure_ : matplotlib.figure.Figure
    Their figure.""",
    "making": "Use :meth:`from_search` or :meth:`from_history` to make one.",
}


def _filled(docstring: str, name: str) -> str:
    """Put the shared texts in their places, indented as these are."""

    def text(match: re.Match[str]) -> str:
        shared = _TEXTS[match[2]].strip("\n").replace("<class>", name)
        return re.sub(r"(?m)^(?=.)", match[1], shared)

    return re.sub(r"(?m)^( *)%\((\w+)\)s$", text, inspect.cleandoc(docstring))


class _Display:
    """Base class of the displays.

    A subclass defines `from_search`, which computes what is drawn, and `plot`, which
    draws it. In their docstrings and in that of the class, a line such as "%(ax)s"
    stands for a text that several displays share.
    """

    ax_: Any
    figure_: Any

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__doc__:
            cls.__doc__ = _filled(cls.__doc__, cls.__name__)
        for member in vars(cls).values():
            function = getattr(member, "__func__", member)
            if inspect.isfunction(function) and function.__doc__:
                function.__doc__ = _filled(function.__doc__, cls.__name__)

    @classmethod
    def from_search(cls, search: Any, *args: Any, **options: Any) -> Self:
        """Draw the trials of a search; see the subclass."""
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
        """Draw it; see the subclass."""
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
