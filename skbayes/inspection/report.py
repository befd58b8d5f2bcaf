"""HTML report of a search: results, cost, plots, and tables on one page."""

from __future__ import annotations

import base64
import contextlib
import datetime
import hashlib
import math
import os
import platform
import pprint
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable
from functools import partial
from html import escape
from importlib.metadata import version
from importlib.resources import files
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

import skbayes
from skbayes.inspection.advice import advice
from skbayes.inspection.pareto import ParetoDisplay
from skbayes.inspection.report_plots import drawn_plots
from skbayes.journal.reader import while_running
from skbayes.loop.progress import time_text
from skbayes.results.read import read_record
from skbayes.results.record import FittedSearch, SearchRecord
from skbayes.space.dimensions import is_number
from skbayes.utils.optional import import_optional
from skbayes.utils.texts import printable

# Style of the frame of a report in a notebook.
FRAME = "width:100%;height:40rem;border:1px solid rgba(128,128,128,0.5)"

# Maximum number of listed trials, the best ones; more make a page slow.
MOST_LISTED = 2000


def write_report(
    search: FittedSearch, path: str | os.PathLike[str], *, title: str | None = None
) -> Path:
    """Write an HTML report of a fitted search.

    Parameters
    ----------
    search : estimator
        Fitted search of skbayes or scikit-learn.
    path : str or path-like
        Path of the HTML file. An existing file is replaced atomically; its permissions
        are kept.
    title : str or None, default=None
        Title of the page. By default, the names of the search and of its estimator.

    Returns
    -------
    path : pathlib.Path
        Path of the file.

    Raises
    ------
    ImportError
        If Jinja2 is not installed.
    OSError
        If the file cannot be written.
    TypeError, ValueError
        If an argument has the wrong type, or `path` is not a regular file.
    sklearn.exceptions.NotFittedError
        If the search was not fitted.

    See Also
    --------
    report_history : Report of a search that is still running.

    Notes
    -----
    The page loads no external files. Its only script sorts the tables. Reports need
    Jinja2. Plots need matplotlib; without it, the page contains a note instead.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skbayes import BayesSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = BayesSearchCV(SVC(), {"C": (0.1, 10.0)}, n_iter=3, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = search.fit(X, y).report(os.path.join(folder, "report.html"))
    ...     path.name
    'report.html'
    """
    return _write(search, path, _title(search, title))


class Report:
    """HTML report of a search, which a notebook displays below the cell.

    Parameters
    ----------
    title : str
        Title of the page.
    page : str
        HTML document.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skbayes import BayesSearchCV
    >>> from skbayes.inspection import Report
    >>> X, y = load_iris(return_X_y=True)
    >>> search = BayesSearchCV(SVC(), {"C": (0.1, 10.0)}, n_iter=3, random_state=0)
    >>> Report.from_search(search.fit(X, y)).title
    'BayesSearchCV: SVC'
    """

    def __init__(self, title: str, page: str) -> None:
        self.title, self.page = title, page

    @classmethod
    def from_search(cls, search: FittedSearch, *, title: str | None = None) -> Self:
        """Render the report of a fitted search; see :func:`write_report`."""
        title = _title(search, title)
        return cls(title, _page(search, title))

    def __repr__(self) -> str:
        return f"<{self.title}: a notebook displays this report; report(path) saves it>"

    def _repr_html_(self) -> str:
        # The frame isolates the styles and the script of the page from the notebook.
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts" '
            f'style="{FRAME}" srcdoc="{escape(self.page)}"></iframe>'
        )


def _title(search: FittedSearch, title: Any) -> str:
    check_is_fitted(search, "cv_results_")
    last = getattr(search.estimator, "steps", None) or [("", search.estimator)]
    own = f"{type(search).__name__}: {type(last[-1][1]).__name__}"
    return own if title in (None, "") else title


def report_history(
    history: Any,
    path: str | os.PathLike[str],
    *,
    search_spaces: Any = None,
    title: str | None = None,
    refresh: float | None = None,
) -> Path:
    """Write an HTML report of a running, interrupted or finished search.

    Parameters
    ----------
    history : History, DataFrame, str or path-like
        Path of the journal of a search, the output of :func:`skbayes.load_history`, or
        ``trials_`` of a search.
    path : str or path-like
        Path of the HTML file. An existing file is replaced atomically; its permissions
        are kept.
    search_spaces : dict, list of dicts, Space or None, default=None
        Search space. By default, the space stored in the journal. Some plots are more
        accurate, or only possible, if the space is known.
    title : str or None, default=None
        Title of the page. By default, the name of the journal.
    refresh : float or None, default=None
        Interval in seconds at which the page is rewritten while the search of a journal
        is running. The browser reloads the page at the same interval. The function
        returns when the search ends; the last page is not reloaded. By default, the
        page is written once.

    Returns
    -------
    path : pathlib.Path
        Path of the file.

    Raises
    ------
    ImportError
        If Jinja2 is not installed.
    OSError
        If the journal cannot be read, or the page cannot be written.
    TypeError, ValueError
        If an argument is invalid.

    Examples
    --------
    >>> import os, tempfile
    >>> from skbayes.inspection import report_history
    >>> from skbayes.trial import FoldResult, History, Trial
    >>> folds = [FoldResult({"score": 0.7}, 0.1, 0.0)]
    >>> history = History([Trial(0, {"C": 1}, folds, score=0.7)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report_history(history, os.path.join(folder, "report.html")).name
    'report.html'
    """
    written = Path()
    for runs in while_running(history, refresh):
        written = _write(history, path, title, search_spaces, refresh if runs else None)
    return written


def _page(
    source: Any,
    title: str | None = None,
    search_spaces: Any = None,
    refresh: float | None = None,
) -> str:
    """Return the page of :func:`report_history` as HTML, without writing a file."""
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be a string or None, got {title!r}.")
    jinja2 = import_optional("jinja2", extra="plot", purpose="A report")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_clean
    )
    environment.filters |= {"number": _number, "seconds": time_text, "shown": _shown}
    environment.filters |= {"base64": _base64, "sha256": _sha256}
    template = files(__package__).joinpath("report.html").read_text(encoding="utf-8")
    record = read_record(source, search_spaces=search_spaces)
    page = environment.from_string(template).render(
        title=title or record.name,
        refresh=None if refresh is None else math.ceil(refresh),
        **_contents(source, record),
    )
    return str(page)


def _write(source: Any, path: Any, *args: Any) -> Path:
    """Write the page to a file; `args` are the other arguments of `_page`."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a string or a path, got {path!r}.")
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"path: there is no folder {str(target.parent)!r}.")
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise ValueError(
            "path must be a regular or a new file, not a folder, a link, a device or a "
            f"pipe: {target}"
        )
    # The temporary file is in the folder of the target, so that it can replace the
    # target in one step. It is created first, so that an unwritable folder fails before
    # anything is drawn. It cannot follow a link: the name is random, and "x" only
    # creates new files.
    temporary = target.with_name(f".{secrets.token_hex(16)}.part")
    try:
        with open(temporary, "x", encoding="utf-8", newline="\n") as file:
            file.write(_page(source, *args))
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def _contents(source: Any, record: SearchRecord) -> dict[str, Any]:
    ends = record.finished
    drawn: list[dict[str, Any]] | None = None
    with contextlib.suppress(ImportError):
        drawn = list(drawn_plots(source, record))
    params = getattr(source, "best_params_", None)
    if params is None and record.best is not None:
        params = record.params[record.best]
    packages = {"skbayes": skbayes.__version__}
    packages |= {n: version(n) for n in ("scikit-learn", "NumPy", "SciPy", "joblib")}
    packages |= {"Python": platform.python_version(), "system": platform.platform()}
    return {
        "now": datetime.datetime.now().astimezone(),
        "record": record,
        "search": source,
        "n_fits": sum(fold.is_fitted for t in record.trials for fold in t.folds),
        "duration": float(np.nanmax(ends)) if np.isfinite(ends).any() else None,
        "params": _shown(params, partial(pprint.pformat, width=72, sort_dicts=False)),
        "advice": advice(source, search_spaces=record.space),
        "plots": drawn,
        "front": _front(record),
        "models": _models(record),
        "trials": _trials(record),
        # Show the parameters that differ from the defaults, as scikit-learn does.
        "estimator": _shown(source) if hasattr(source, "get_params") else None,
        "packages": packages,
    }


# -- filters of the template ----------------------------------------------------------


def _clean(value: Any) -> Any:
    """Replace characters that documents must not contain, such as NUL."""
    if hasattr(value, "__html__"):
        return value
    return printable(str(value), kept="\n\t")


def _shown(value: Any, show: Any = repr) -> str:
    """Return the text of a value, or the name of its type if that fails."""
    try:
        return str(show(value))
    except Exception:
        return f"<{type(value).__name__}>"


def _number(value: float, digits: int = 5) -> str:
    """Format a number; NaN becomes an empty string."""
    if isinstance(value, Integral):
        return str(value)
    return "" if math.isnan(value) else f"{value:.{digits}g}"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _sha256(script: Any) -> str:
    return _base64(hashlib.sha256(str(script).encode()).digest())


# -- tables ---------------------------------------------------------------------------

# Columns of a table by their names, which can be equal, with values for all trials.
Columns = list[tuple[str, Any]]


def _front(record: SearchRecord) -> dict[str, Any] | None:
    names = list(record.directions)
    if len(names) < 2 or not record.scores.keys() >= {*names}:
        return None
    front = ParetoDisplay(record).front
    columns: Columns = [("trial", record.number)]
    columns += [(name, record.scores[name]) for name in names]
    columns += _param_columns(record, front)
    return {"columns": columns, "rows": front.tolist(), "best": record.best}


def _models(record: SearchRecord) -> dict[str, Any] | None:
    """Return the best trial of each model; None without a choice of models."""
    texts = [None if model is None else _shown(model) for model in record.models]
    rows = [row for row in record.order.tolist() if record.eligible[row] and texts[row]]
    n_trials = Counter(texts[row] for row in rows)  # the best model first
    if len(n_trials) < 2 or record.directions:
        return None
    columns: Columns = [
        ("model", texts),
        ("trials", [n_trials[text] for text in texts]),
        ("best score", record.shown),
        ("± std", record.std),
        ("trial", record.number),
        ("seconds per fit", record.fit_time),
        ("seconds per scoring", [np.mean(t.score_times) for t in record.trials]),
    ]
    chosen = [next(row for row in rows if texts[row] == text) for text in n_trials]
    return {"columns": columns, "rows": chosen, "best": chosen[0]}


def _trials(record: SearchRecord) -> dict[str, Any] | None:
    if not len(record):
        return None
    listed, note = np.arange(len(record)), ""
    if len(record) > MOST_LISTED:
        score = np.nan_to_num(record.score, nan=-np.inf)
        listed = np.sort(np.argsort(-score, kind="stable")[:MOST_LISTED])
        note = f"The table lists the best {MOST_LISTED} of {len(record)} trials."
    found = {"columns": _columns(record), "rows": listed.tolist(), "best": record.best}
    errors = [trial.error for trial in record.trials]
    return found | {"note": note, "errors": errors if any(errors) else None}


def _columns(record: SearchRecord) -> Columns:
    columns: Columns = [("trial", record.number), ("state", record.state)]
    if not record.directions:
        columns += [(record.title, record.shown), ("± std", record.std)]
    for name, means in record.scores.items():
        is_other = len(record.scores) > 1 and name != record.metric
        if name in record.directions or is_other:
            columns.append((name, means))
    columns += _param_columns(record, range(len(record)))
    for name in ("stage", "train_fraction", "subset"):
        values = getattr(record, name)
        if len(np.unique(values)) > 1:
            columns.append((name.replace("_", " "), values))
    columns += [(f"cost: {name}", costs) for name, costs in record.costs.items()]
    columns += [(f"constraint: {n}", means) for n, means in record.outcomes.items()]
    if record.violation is not None:
        columns.append(("feasible", np.where(record.violation <= 0.0, "yes", "no")))
    columns.append(("seconds per fit", record.fit_time))
    columns.append(("seconds of the trial", record.duration))
    if np.any(np.isfinite(record.started)):
        columns.append(("start (seconds)", record.started))
    return columns


def _param_columns(record: SearchRecord, rows: Iterable[int]) -> Columns:
    """Return columns of the hyper-parameters that some rows have."""
    names = sorted({name for row in rows for name in record.params[row]})
    # Cells of trials without the hyper-parameter are empty.
    columns = (
        [_value(params[name]) if name in params else "" for params in record.params]
        for name in names
    )
    return list(zip(names, columns, strict=True))


def _value(value: Any) -> Any:
    """Return a number as it is, and the text of any other value."""
    return value if is_number(value) and value == value else _shown(value)
