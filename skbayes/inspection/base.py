"""Base class of the displays: axes, and shared texts of docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from functools import cache
from typing import Any, Self

import numpy as np

from skbayes.results.read import read_record
from skbayes.results.record import SearchRecord
from skbayes.utils.optional import import_optional


class _Display:
    """Base class of the displays.

    The docstrings of a subclass and of its methods `from_search` and `plot` describe
    only parameters that are not described in this class. In the docstring of a class, a
    line such as "%(record)s" is replaced by the entry of that name.

    Parameters
    ----------
    record : SearchRecord
        Trials of a search, the output of :func:`skbayes.inspection.read_record`.
    params : list of str or None, default=None
        Hyper-parameters to plot, in this order. By default, all with more than one
        possible value.
    label : str, default="score"
        Label of the scores.
    sign : int, default=1
        1 if a higher score is better, -1 if a lower score is better.
    search_spaces : dict, list of dict, Space or None, default=None
        Search space. By default, the space of the search or of the journal; if there is
        none, a space is guessed from the values that were tried.
    n_cols : int, default=3
        Maximum number of panels in a row.
    point_kw : dict or None, default=None
        Keyword arguments for the points of the trials, see
        ``matplotlib.axes.Axes.scatter``.

    Attributes
    ----------
    scales : list of ParameterScale
        Scale of each hyper-parameter.
    values : list of ndarray of shape (n_trials,)
        Values of each hyper-parameter in the trials, or the positions of its options.
        NaN in trials without the hyper-parameter.
    axes_ : ndarray of matplotlib.axes.Axes
        Axes of the panels.
    ax_ : matplotlib.axes.Axes
        Axes of the plot, or of its first panel.
    figure_ : matplotlib.figure.Figure
        Figure of the plot.
    """

    # Description of the drawn plot in words, for reports.
    _alt: Any

    def __init__(self, record: SearchRecord) -> None:
        self.record = record

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__doc__:
            cls.__doc__ = _filled(cls.__doc__)
        for member in map(vars(cls).get, ("from_search", "plot")):
            method = getattr(member, "__func__", member)
            if method is not None and method.__doc__:
                method.__doc__ = _completed(method)

    @classmethod
    def from_search(
        cls, search: Any, *, metric: str | None = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the trials of a search.

        Parameters
        ----------
        search : estimator, History, DataFrame, str, os.PathLike or SearchRecord
            Fitted search of skbayes or scikit-learn, its ``trials_``, the path of its
            journal (the search can still be running), or the output of
            :func:`skbayes.load_history` or :func:`skbayes.inspection.read_record`.
        metric : str or None, default=None
            Name of the metric to plot. By default, the metric that guided the search.
        ax : matplotlib.axes.Axes, array-like of Axes, or None, default=None
            Axes to draw on. By default, axes of a new figure. A plot with several
            panels takes one axes object for each panel, or a single one, which is
            divided.
        **options : dict
            Arguments of :meth:`plot`.

        Returns
        -------
        display : object
            The display, an instance of this class, already drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        OSError
            If a journal cannot be read.
        TypeError, ValueError
            If an argument is invalid.
        sklearn.exceptions.NotFittedError
            If the search was not fitted.
        """
        return cls(read_record(search, metric=metric)).plot(ax, **options)

    @classmethod
    def from_history(cls, history: Any, *args: Any, **options: Any) -> Self:
        """Draw the trials of a running, interrupted or finished search.

        Parameters
        ----------
        history : History, DataFrame, str, os.PathLike or SearchRecord
            ``trials_`` of a search, the path of its journal, or the output of
            :func:`skbayes.load_history` or :func:`skbayes.inspection.read_record`.
        *args : tuple
            Arguments of :meth:`from_search`.
        **options : dict
            Keyword arguments of :meth:`from_search`.

        Returns
        -------
        display : object
            The display, an instance of this class.
        """
        return cls.from_search(history, *args, **options)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Returns
        -------
        self : object
            The display, with the drawn artists as attributes.
        """
        raise NotImplementedError

    def _drawn_on(self, axes: Any) -> Self:
        self.axes_ = np.atleast_1d(axes)
        self.ax_ = self.axes_[0]
        self.figure_ = self.ax_.figure
        return self


def select_trials(record: SearchRecord, rows: np.ndarray) -> SearchRecord:
    """Return a record of the trials in the given rows, in this order."""

    def select(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value[rows]
        if isinstance(value, dict):
            return {key: select(part) for key, part in value.items()}
        return value

    changes = {name: select(value) for name, value in vars(record).items()}
    for name in ("params", "trials"):
        if changes[name]:
            changes[name] = [changes[name][row] for row in rows]
    for name in ("best", "own"):
        place = np.flatnonzero(rows == getattr(record, name))
        changes[name] = int(place[0]) if len(place) else None
    return dataclasses.replace(record, **changes)


# -- axes -----------------------------------------------------------------------------


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
    if not (ax is None or isinstance(ax, plt.Axes)):
        given = np.ravel(np.asarray(ax, dtype=object))
        if not all(isinstance(axes, plt.Axes) for axes in given):
            raise TypeError(f"ax must be matplotlib axes or None, got {ax!r}.")
        if len(given) != n:
            raise ValueError(f"ax must have {n} axes, one per panel, got {len(given)}.")
        return given
    n_cols = min(n, n_cols)
    n_rows = math.ceil(n / n_cols)
    if ax is None:
        figsize = (size[0] * n_cols, size[1] * n_rows)
        figure = plt.figure(figsize=figsize, layout="constrained")
        grid = figure.add_gridspec(n_rows, n_cols)
    else:
        figure, spec = ax.figure, ax.get_subplotspec()
        if spec is None:
            raise ValueError(
                "ax cannot be divided into panels, because it is not in a grid of axes."
            )
        ax.set_axis_off()
        grid = spec.subgridspec(n_rows, n_cols)
    axes = np.empty(n, dtype=object)
    axes[:] = [figure.add_subplot(grid[divmod(k, n_cols)]) for k in range(n)]
    return axes


# -- docstrings -----------------------------------------------------------------------


@cache
def _shared_entries() -> dict[str, str]:
    """Return the entries of the docstrings of the base class by their first words."""
    entries: dict[str, str] = {}
    for thing in (_Display, _Display.from_search, _Display.plot):
        text = inspect.cleandoc(thing.__doc__ or "")
        entries |= _entries(text)
        if "Raises\n" in text:
            entries["Raises"] = text[text.index("Raises\n") :]
    return entries


def _entries(text: str) -> dict[str, str]:
    parts = re.split(r"(?m)^(?=\S)", text)
    return {re.split(r"\W+", part.lstrip("*"))[0]: part.rstrip() for part in parts}


def _filled(docstring: str) -> str:
    """Substitute the shared entries, with the indentation of their placeholders."""

    def entry(match: re.Match[str]) -> str:
        return re.sub(r"(?m)^(?=.)", match[1], _shared_entries()[match[2]])

    return re.sub(r"(?m)^( *)%\((\w+)\)s$", entry, inspect.cleandoc(docstring)) + "\n"


def _completed(method: Any) -> str:
    """Add the shared parameters of `from_search` or `plot`, and the other sections."""
    text = inspect.cleandoc(method.__doc__)
    summary, _, text = text.partition("\n\nParameters\n----------\n")
    own, _, raised = text.partition("\n\n")
    entries = _shared_entries() | _entries(own)
    result = entries["self"]
    if method.__name__ == "from_search":
        result, raised = entries["display"], entries["Raises"]
    names = list(inspect.signature(method).parameters)[1:]
    listed = "\n".join(entries.get(name, name) for name in names)
    parameters = f"Parameters\n----------\n{listed}"
    parts = (summary, parameters, f"Returns\n-------\n{result}", raised)
    return "\n\n".join(filter(None, parts)) + "\n"
