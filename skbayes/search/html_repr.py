"""Presentation of a search: HTML representation, report and summary plot."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from skbayes.loop.progress import in_minutes
from skbayes.results.frame import results_frame
from skbayes.results.read import read_record
from skbayes.results.record import SearchRecord
from skbayes.results.scores import metrics_of
from skbayes.utils.texts import printable

# Maximum length of a value; longer ones are shortened.
MAX_LENGTH = 120

# Colors are inherited, so the block is readable in light and dark themes.
FRAME = (
    "display:inline-block;margin:0.5em 0;padding:0.5em 0.8em;max-width:100%;"
    "box-sizing:border-box;overflow-x:auto;border:1px solid rgba(128,128,128,0.5);"
    "border-radius:4px;color:inherit;background:transparent;font-family:inherit;"
    "line-height:1.4"
)
TABLE = "border-collapse:collapse;margin:0;border:none;background:transparent"
CELL = (
    "padding:0.1em 0.8em 0.1em 0;border:none;text-align:left;vertical-align:top;"
    "color:inherit;background:transparent;white-space:normal"
)
LABEL = CELL + ";font-weight:normal;opacity:0.75;white-space:nowrap"
CODE = (
    "color:inherit;background:transparent;padding:0;font-family:monospace;"
    "overflow-wrap:anywhere"
)

REASONS = {
    "n_iter": "n_iter trials were made",
    "timeout": "timeout",
    "exhausted": "every configuration was tried",
    "callback": "a callback ended it",
    "interrupted": "interrupted",
    "stopper": "the stopper ended it",
}


class ResultDisplay:
    """Mixin that presents a fitted search: HTML representation, report and plot.

    The HTML representation is scikit-learn's diagram with the result below. The text
    representation, and the diagram before `fit`, are those of scikit-learn.
    """

    @property
    def _repr_html_(self) -> Callable[[], str]:
        # The inherited property raises AttributeError if diagrams are disabled.
        diagram = super()._repr_html_  # type: ignore[misc]
        return lambda: _diagram(self, diagram) + result_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        with contextlib.suppress(AttributeError):  # if diagrams are disabled
            bundle["text/html"] = self._repr_html_()
        return bundle

    def report(
        self, path: str | PathLike[str] | None = None, *, title: str | None = None
    ) -> Any:
        """Return an HTML report of the search for a notebook, or write it to a file.

        The report is a single page without external resources. It contains the best
        configuration, the time spent, the main plots of :mod:`skbayes.inspection`, a
        table of all trials with the errors of failed ones, and the versions of the
        libraries. Without matplotlib, the plots are left out.

        Parameters
        ----------
        path : str, path-like or None, default=None
            HTML file. An existing file is replaced atomically. If None, no file is
            written.
        title : str or None, default=None
            Title of the page. None means the names of the search and of its estimator.

        Returns
        -------
        report : pathlib.Path or skbayes.inspection.Report
            Path of the file; without `path`, an object that a notebook displays.

        Raises
        ------
        ImportError
            If Jinja2 is not installed.
        OSError
            If the file cannot be written.
        TypeError
            If an argument is of the wrong type.
        sklearn.exceptions.NotFittedError
            If the search was not fitted.

        See Also
        --------
        skbayes.inspection.report_history : Report of a search that is still running.
        """
        # Imported late, because reports import matplotlib and Jinja2.
        from skbayes.inspection.report import Report, write_report

        if path is None:
            return Report.from_search(self, title=title)
        return write_report(self, path, title=title)

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
        hyper-parameters, and all trials in parallel coordinates. Searches with stages,
        rounds or tradeoffs have a plot of these, too. The classes of
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
        sklearn.exceptions.NotFittedError
            If the search was not fitted.
        """
        check_is_fitted(self, "cv_results_")
        from skbayes.inspection.report_pictures import draw_summary

        if path is None:
            return draw_summary(self)
        draw_summary(self, is_shown=False).savefig(path)
        return Path(path)


def _diagram(search: Any, make: Callable[[], str]) -> str:
    """Return scikit-learn's diagram, or the text representation if that fails."""
    try:
        page = make()
    except Exception:  # it uses names of parameters as regular expressions
        page = f"<pre>{escape(repr(search))}</pre>"
    return printable(page, kept="\n\r\t")


def result_html(search: Any) -> str:
    """Return an HTML block with the best score and configuration, and the time."""
    known = vars(search)
    if "cv_results_" not in known or "trials_" not in known:
        return ""
    record = read_record(search)
    rows = [_row(label, escape(text)) for label, text in _found(search, record)]
    if "best_params_" in known:
        rows.append(_row("Best configuration", _params(search)))
    rows += [_row(label, escape(text)) for label, text in _spent(search, record)]
    # Imported late, because it imports scikit-learn's forests.
    from skbayes.inspection.advice import advice

    sentences = advice(search)
    if sentences:
        rows.append(_row("Advice", "<br>".join(map(escape, sentences))))
    return printable(
        f'<div class="skbayes-result" style="{FRAME}"><table style="{TABLE}"><tbody>'
        f"{''.join(rows)}</tbody></table></div>",
        kept="\n\t",
    )


def _row(label: str, html: str) -> str:
    return (
        f'<tr style="background:transparent"><th scope="row" style="{LABEL}">'
        f'{escape(label)}</th><td style="{CELL}">{html}</td></tr>'
    )


def _found(search: Any, record: SearchRecord) -> list[tuple[str, str]]:
    """Return labels and texts of the result, except for the parameters."""
    known = vars(search)
    rows = _front(search) if "pareto_params_" in known else _best(search, record)
    if record.best is not None and record.models[record.best] is not None:
        rows.append(("Best model", type(record.models[record.best]).__name__))
    if "best_cost_" in known:
        rows += _cost(search)
    if "all_cv_results_" in known:
        rows.append(("Stages", _stages(search)))
    return rows


def _front(search: Any) -> list[tuple[str, str]]:
    front = f"{len(search.pareto_params_)} of {len(search.trials_)} trials"
    rows = [("Pareto front", front)]
    if "best_index_" in vars(search):
        rows += [
            (f"Chosen: {name}", f"{means[search.best_index_]:.4g}")
            for name in search.objectives
            if (means := search.cv_results_.get(f"mean_test_{name}")) is not None
        ]
    return rows


def _cost(search: Any) -> list[tuple[str, str]]:
    name = search.cost if isinstance(search.cost, str) else "cost"
    unit = " s" if name.endswith("time") else ""
    return [
        ("Trained on", f"{search.best_train_fraction_:.0%} of the rows"),
        (f"Its {name.replace('_', ' ')}", f"{search.best_cost_:.3g}{unit}"),
    ]


def _stages(search: Any) -> str:
    counts = Counter(trial.stage for trial in search.trials_)
    return ", ".join(
        f"{counts[stage]} on {share:.0%} of the rows"
        for stage, share in enumerate(search.train_fractions_)
    )


def _best(search: Any, record: SearchRecord) -> list[tuple[str, str]]:
    known = vars(search)
    if "best_score_" not in known:
        return []
    metric = known.get("target_metric_", "score")
    named = search._refit_choice().metric
    if named in metrics_of(search.cv_results_):
        metric, record = named, read_record(search, metric=named)
    text = f"{record.sign * search.best_score_:.4g}"
    spread = search.cv_results_.get(f"std_test_{metric}")
    if spread is not None and search.n_splits_ > 1:
        text += f" ± {spread[search.best_index_]:.2g} over {search.n_splits_} splits"
    return [(f"Best {record.title}", text)]


def _params(search: Any) -> str:
    """Return the parameters, one per line."""
    if not search.best_params_:
        return "those of the estimator"
    shown = []
    for name, value in search.best_params_.items():
        text = f"{value:.8g}" if isinstance(value, float) else repr(value)
        text = text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1] + "…"
        shown.append(f'<code style="{CODE}">{escape(f"{name} = {text}")}</code>')
    return "<br>".join(shown)


def _spent(search: Any, record: SearchRecord) -> list[tuple[str, str]]:
    known, reason = vars(search), search.stop_reason_
    seconds = {
        "Time of all fits": record.fit_seconds,
        "Time of the refit": known.get("refit_time_"),
        "Total time": known.get("total_time_"),
    }
    times = [(label, _seconds(s)) for label, s in seconds.items() if s is not None]
    ended = REASONS.get(reason, reason.replace("_", " "))
    return [("Trials", record.counts), *times, ("Ended", ended)]


def _seconds(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return in_minutes(seconds)
