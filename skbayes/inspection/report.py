"""A search on one page: what it found, what it cost, and pictures."""

from __future__ import annotations

import datetime
import math
import os
import platform
import pprint
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import scipy
import sklearn
from sklearn.utils.validation import check_is_fitted

import skbayes
from skbayes.evaluation.trial import Trial
from skbayes.inspection.report_page import (
    Markup,
    code,
    definitions,
    details,
    figure,
    number,
    page,
    section,
    shown,
    table,
    text,
)
from skbayes.inspection.report_pictures import pictures
from skbayes.loop.progress import in_minutes
from skbayes.results.read import open_source, read_record
from skbayes.results.record import SearchRecord

__all__ = ["report_history", "write_report"]

# More trials than this make a page slow: then the best of them are listed.
MOST_LISTED = 2000


def write_report(
    search: Any, path: str | os.PathLike[str], *, title: str | None = None
) -> Path:
    """Write a page about a fitted search.

    Parameters
    ----------
    search : estimator
        A fitted search, of skbayes or scikit-learn.
    path : str or path-like
        The HTML file; one that is there is replaced, all at once.
    title : str or None, default=None
        Title of the page. None: the search and its estimator by name.

    Returns
    -------
    path : pathlib.Path
        The file.

    Raises
    ------
    OSError
        If the file cannot be written.
    TypeError
        If an argument is of the wrong type.
    sklearn.exceptions.NotFittedError
        If the search was not fitted.

    See Also
    --------
    report_history : The same for a search that still runs.

    Notes
    -----
    The page needs nothing from outside, and no script but a small one of its own that
    sorts the table. Pictures need matplotlib; without it they are left out, and the
    page says so.

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
    ...     path.read_text(encoding="utf-8").count("<img ") > 0
    True
    """
    check_is_fitted(search, "cv_results_")
    if title is None:
        title = f"{type(search).__name__}: {_name_of(search.estimator)}"
    return _write(search, path, title, None)


def report_history(
    history: Any,
    path: str | os.PathLike[str],
    *,
    search_spaces: Any = None,
    title: str | None = None,
) -> Path:
    """Write a page about the trials of a search that runs, or ran.

    Parameters
    ----------
    history : History, DataFrame, str or path-like
        The journal of a search, its path or what :func:`skbayes.load_history` returns;
        or `trials_` of a search.
    path : str or path-like
        The HTML file; one that is there is replaced, all at once.
    search_spaces : dict, list of dicts, Space or None, default=None
        What could have been chosen. None: as the journal says it. Some pictures are
        better, or only possible, if it is known.
    title : str or None, default=None
        Title of the page. None: what the journal is called.

    Returns
    -------
    path : pathlib.Path
        The file.

    Raises
    ------
    OSError
        If a journal cannot be read, or the page not be written.
    TypeError, ValueError
        If an argument is wrong.

    Examples
    --------
    >>> import os, tempfile
    >>> from skbayes.inspection import report_history
    >>> from skbayes.evaluation.trial import History, Trial
    >>> folds = [{"test_scores": 0.7, "fit_time": 0.1, "score_time": 0.0}]
    >>> history = History([Trial(0, {"C": 1}, folds, score=0.7)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report_history(history, os.path.join(folder, "report.html")).name
    'report.html'
    """
    return _write(history, path, title, search_spaces)


def _write(source: Any, path: Any, title: Any, search_spaces: Any) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a string or a path, got {path!r}.")
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be a string or None, got {title!r}.")
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"path is a directory: {target}")
    record = read_record(source, search_spaces=search_spaces)
    # Beside the target, so that it can take its place in one step; and at once, so
    # that nothing is drawn for a place that cannot be written.
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            trials = open_source(source, search_spaces).trials
            file.write(_page(source, record, trials, title or record.name))
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def _name_of(estimator: Any) -> str:
    """Name an estimator; of a pipeline, what predicts in the end."""
    if hasattr(estimator, "steps") and estimator.steps:
        estimator = estimator.steps[-1][1]
    return type(estimator).__name__


def _page(
    source: Any, record: SearchRecord, trials: Sequence[Trial], title: str
) -> str:
    now = datetime.datetime.now().astimezone()
    made = f"Written on {now:%Y-%m-%d at %H:%M %Z}."
    parts = [
        f"<header><h1>{text(title)}</h1>",
        f'<p class="soft">{text(_state(source, record))} {text(made)}</p></header>',
        _best(source, record),
        _spent(source, record, trials),
        _pictures(source, record),
        _front(record),
        _trials(record, trials),
        _settings(source, record),
        _versions(),
    ]
    return page(title, "\n".join(parts))


def _state(source: Any, record: SearchRecord) -> str:
    n = f"{len(record)} trial{'s' * (len(record) != 1)}"
    if record.running:
        waiting = f"{len(record.running)} not finished"
        return f"{n} finished, {waiting}: the search runs, or was interrupted."
    reason = getattr(source, "stop_reason_", None)
    return f"{n}, ended by {reason}." if reason else f"{n}."


# -- what was found -------------------------------------------------------------------


def _best(source: Any, record: SearchRecord) -> str:
    if record.best is None:
        return section("Best settings", "<p>No trial has a score yet.</p>")
    best = record.best
    fold = f" ± {number(record.std[best], 2)}" if np.isfinite(record.std[best]) else ""
    scores = [f"{number(record.shown[best], 6)}{fold}"]
    if record.directions:
        scores = [
            f"{name} {number(float(record.scores[name][best]), 6)}"
            for name in record.directions
            if name in record.scores
        ]
    what = f"{record.label}; trial {record.number[best]}"
    if fold:
        what += ", mean and standard deviation over the splits"
    if record.directions:
        what = f"trial {record.number[best]}, a point of the front"
    parts = [
        f'<p class="score">{text(", ".join(scores))}</p>',
        f'<p class="soft">{text(what)}</p>',
        code(_as_python(record.params[best]), copy=True),
    ]
    notes = _notes_on_best(source, record)
    return section("Best settings", *parts, definitions(notes) if notes else "")


def _notes_on_best(source: Any, record: SearchRecord) -> list[tuple[str, str]]:
    notes = []
    corrected = getattr(source, "best_score_corrected_", None)
    if corrected is not None:
        label = "less what it owes to being the best of many"
        notes.append((label, number(record.sign * float(corrected), 6)))
    if hasattr(source, "best_train_fraction_"):
        share = number(source.best_train_fraction_)
        notes.append(("share of the training rows", share))
        notes.append(("cost", number(source.best_cost_)))
    return notes


def _as_python(params: Mapping[str, Any]) -> str:
    try:
        return pprint.pformat(dict(params), width=72, sort_dicts=False)
    except Exception:
        inner = ", ".join(f"{name!r}: {shown(v)}" for name, v in params.items())
        return f"{{{inner}}}"


def _front(record: SearchRecord) -> str:
    """List the front of a search with several objectives."""
    names = [name for name in record.directions if name in record.scores]
    if len(names) < 2:
        return ""
    from skbayes.inspection.pareto_display import ParetoDisplay

    signs = {name: record.directions[name] for name in names}
    values = np.column_stack([record.scores[name] for name in names])
    values[record.state != "complete"] = np.nan
    front = ParetoDisplay(signs, values, record.number, chosen=record.best).front
    params = sorted({name for i in front for name in record.params[i]})
    rows = [
        [
            int(record.number[i]),
            *map(float, values[i]),
            *(_value(record.params[i], name) for name in params),
        ]
        for i in front
    ]
    heads = ["trial", *names, *params]
    marked = [i == record.best for i in front]
    return section("The Pareto front", table(heads, rows, marked=marked))


# -- what was spent -------------------------------------------------------------------


def _spent(source: Any, record: SearchRecord, trials: Sequence[Trial]) -> str:
    states = {
        "complete": "complete",
        "failed": "failed",
        "censored": "out of time",
        "raced": "given up early",
    }
    counts = [
        f"{int(np.sum(record.state == state))} {called}"
        for state, called in states.items()
        if np.any(record.state == state)
    ]
    failed = not np.all(record.state == "complete")
    fits = [fold for one in trials for fold in one.folds if not fold.get("skipped")]
    times = np.array([fold.get("fit_time", np.nan) for fold in fits], dtype=float)
    scoring = np.array([fold.get("score_time", np.nan) for fold in fits], dtype=float)
    pairs = [
        ("trials", str(len(record)) + (f" ({', '.join(counts)})" if failed else "")),
        ("fits", str(len(fits))),
        ("time in fits and scores", _seconds(float(np.nansum(times + scoring)))),
    ]
    ends = record.finished[np.isfinite(record.finished)]
    if len(ends):
        pairs.append(("from first to last", _seconds(float(ends.max()))))
    if hasattr(source, "refit_time_"):
        pairs.append(("refit", _seconds(float(source.refit_time_))))
    if record.n_points:
        pairs.append(("trials at a time", str(record.n_points)))
    if hasattr(source, "stop_reason_"):
        pairs.append(("ended by", str(source.stop_reason_)))
    if record.running:
        numbers = ", ".join(str(one.number) for one in record.running)
        pairs.append(("not finished", f"trial {numbers}"))
    return section("What was spent", definitions(pairs))


def _seconds(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    return in_minutes(seconds)


# -- pictures -------------------------------------------------------------------------


def _pictures(source: Any, record: SearchRecord) -> str:
    try:
        found = list(pictures(source, record))
    except ImportError:
        note = 'There are none without matplotlib: pip install "skbayes[plot]".'
        return section("Pictures", f"<p>{text(note)}</p>")
    drawn = [
        figure(one.svg, one.title, one.alt, one.wide)
        for one in found
        if one.svg is not None
    ]
    missing = [
        f'<p class="soft">{text(f"Not drawn: {one.title} ({one.alt})")}</p>'
        for one in found
        if one.svg is None
    ]
    return section("Pictures", '<div class="pictures">', *drawn, "</div>", *missing)


# -- all trials -----------------------------------------------------------------------


def _trials(record: SearchRecord, trials: Sequence[Trial]) -> str:
    if not len(record):
        return section("Trials", "<p>None has finished yet.</p>")
    errors = {trial.number: trial.error for trial in trials if trial.error}
    listed, note = np.arange(len(record)), ""
    if len(record) > MOST_LISTED:
        worst_last = np.argsort(
            -np.nan_to_num(record.score, nan=-np.inf), kind="stable"
        )
        listed = np.sort(worst_last[:MOST_LISTED])
        note = f"<p>The best {MOST_LISTED} of {len(record)}.</p>"
    # Not a dict: a parameter may be called "state", too.
    columns = list(_columns(record))
    if errors:
        columns.append(("error", [_error(errors.get(n)) for n in record.number]))
    rows = [[column[i] for _, column in columns] for i in listed]
    marked = [i == record.best for i in listed]
    heads = [head for head, _ in columns]
    return section("Trials", note, table(heads, rows, marked=marked))


def _columns(record: SearchRecord) -> Iterator[tuple[str, list[Any]]]:
    """Yield the columns of the table of trials."""
    n = len(record)
    yield "trial", record.number.tolist()
    yield "state", list(record.state)
    if not record.directions:
        title = record.metric if record.sign > 0 else record.label.split(" (")[0]
        yield title, record.shown.tolist()
        yield "± std", record.std.tolist()
    for name, means in record.scores.items():
        if name in record.directions or (
            len(record.scores) > 1 and name != record.metric
        ):
            yield name, means.tolist()
    for name in sorted({name for one in record.params for name in one}):
        yield name, [_value(one, name) for one in record.params]
    for name in ("stage", "train_fraction", "subset"):
        values = getattr(record, name)
        if len(np.unique(values)) > 1:
            yield name.replace("_", " "), values.tolist()
    for name, costs in record.costs.items():
        yield f"cost: {name}", costs.tolist()
    yield "seconds a fit", record.fit_time.tolist()
    yield "seconds in all", record.duration.tolist()
    if n and np.any(np.isfinite(record.started)):
        yield "began after", record.started.tolist()


def _value(params: Mapping[str, Any], name: str) -> Any:
    if name not in params:
        return ""
    value = params[name]
    # An empty cell says that there is no such parameter.
    written = isinstance(value, str) or _is_nan(value)
    return shown(value) if written else value


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _error(error: str | None) -> Any:
    """Return the last line of a traceback; the rest is there when it is asked for."""
    if not error:
        return ""
    lines = [line for line in error.strip().splitlines() if line.strip()]
    last = lines[-1].strip() if lines else error
    return Markup(details(last, error), last)


# -- how it was done ------------------------------------------------------------------


def _settings(source: Any, record: SearchRecord) -> str:
    parts = []
    if hasattr(source, "get_params"):
        # What differs from the defaults, as scikit-learn shows it.
        parts.append(code(shown(source)))
    if record.space is not None:
        pairs = [
            (column.name or "(which dict)", shown(column.dimension))
            for column in record.space.columns
        ]
        parts.append("<h3>Space</h3>" + definitions(pairs))
    return section("The search", *parts) if parts else ""


def _versions() -> str:
    versions = {
        "skbayes": skbayes.__version__,
        "scikit-learn": sklearn.__version__,
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "joblib": joblib.__version__,
        "Python": platform.python_version(),
        "system": platform.platform(),
    }
    return section("Versions", definitions(versions.items()))
