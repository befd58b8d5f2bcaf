"""Presentation of a search: HTML representation, report and summary plot."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from skbayes import compat
from skbayes.results.frame import results_frame
from skbayes.search import outside
from skbayes.utils.texts import printable


class ResultDisplay(compat.DocumentationLink):
    """Mixin that presents a fitted search: HTML representation, report and plot.

    The HTML representation is scikit-learn's diagram with a table below, which contains
    the search space and the budget, and after `fit` the result. Scikit-learn provides
    the text representation.
    """

    estimator: Any
    cv_results_: dict[str, Any]

    @property
    def _repr_html_(self) -> Callable[[], str]:
        # The inherited property raises AttributeError if diagrams are disabled.
        diagram = super()._repr_html_  # type: ignore[misc]

        def page() -> str:
            try:
                drawn = diagram()
            except Exception:  # it uses names of parameters as regular expressions
                drawn = f"<pre>{escape(repr(self))}</pre>"
            return printable(drawn, except_for="\n\r\t") + outside.result_html(self)

        return page

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        with contextlib.suppress(AttributeError):  # if diagrams are disabled
            bundle["text/html"] = self._repr_html_()
        return bundle

    def report(self, path: str | PathLike[str]) -> Path:
        """Write the result of the search to a single HTML page.

        The page contains the best configuration, the advice, the figure of `plot`, and
        a table of all trials with the errors of failed ones. It needs no other files.
        Without matplotlib, the figure is left out.

        Parameters
        ----------
        path : str or path-like
            HTML file. An existing file is replaced.

        Returns
        -------
        path : pathlib.Path
            Path of the file.

        Raises
        ------
        OSError
            If the file cannot be written.
        sklearn.exceptions.NotFittedError
            If the search was not fitted.
        """
        check_is_fitted(self, "cv_results_")
        return outside.write_report(self, path)

    def results_frame(self, library: str = "pandas", **kwargs: Any) -> Any:
        """Return the results as a data frame with one row per trial.

        Parameters
        ----------
        library : {"pandas", "polars"}, default="pandas"
            Library of the data frame.
        **kwargs : dict
            Arguments of :func:`skbayes.results.results_frame`.

        Returns
        -------
        frame : DataFrame
            ``cv_results_`` with a typed column for each hyper-parameter.

        Raises
        ------
        ImportError
            If the library is not installed.
        sklearn.exceptions.NotFittedError
            If the search was not fitted.
        """
        check_is_fitted(self, "cv_results_")
        return results_frame(vars(self)["cv_results_"], library, **kwargs)

    def plot(self, path: str | PathLike[str] | None = None) -> Any:
        """Draw the main plots of the search in one figure, or write it to a file.

        The figure contains the convergence or the Pareto front, the importance of the
        hyper-parameters, and all trials in parallel coordinates. Tradeoff searches also
        have a plot of the scores against the costs. The classes of
        :mod:`skbayes.inspection` draw each plot separately.

        Parameters
        ----------
        path : str, path-like or None, default=None
            Image file, such as "search.png" or "search.pdf". If None, the figure is
            shown as any figure of pyplot.

        Returns
        -------
        figure : matplotlib.figure.Figure or pathlib.Path
            Figure, which a notebook shows as the result of a cell; with `path`, the
            path of the file.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        OSError
            If the file cannot be written.
        ValueError
            If `path` is not the path of an image file.
        sklearn.exceptions.NotFittedError
            If the search was not fitted.
        """
        check_is_fitted(self, "cv_results_")
        return outside.draw_summary(self, path)
