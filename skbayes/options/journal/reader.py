"""Readers of journals of running, killed and finished searches."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from skbayes.options.journal.journal import Content
from skbayes.options.journal.json_space import readable
from skbayes.options.journal.store import guarded, is_held
from skbayes.space.dimensions import is_number
from skbayes.trial.records import Fidelity, Trial

if TYPE_CHECKING:
    import pandas as pd


def load_history(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Load the trials in a journal as a data frame, also during the search.

    The journal is only read. Loading needs neither the estimator nor the data, and
    executes no code from the file.

    Parameters
    ----------
    path : str or os.PathLike
        Path of the `journal` of a search.

    Returns
    -------
    history : pandas.DataFrame
        Data frame with one row per trial, in the order of their proposals. Columns:

        - `number`, `state`, `score` and `expected_improvement`. The state "unfinished"
          means that the trial is running, or was running when the search was killed.
        - `param_<name>` for each hyper-parameter: its value, or a short text instead of
          an object. Missing if the trial does not have the hyper-parameter.
        - `mean_test_<metric>` over the fitted splits, and `split<i>_test_<metric>`; the
          same for `train` if training scores were requested. `mean_fit_time` and
          `mean_score_time` in seconds.
        - `stage`, `train_fraction`, `subset` and `n_folds` of a finished trial, which
          are its fidelity. The columns are omitted if all trials were made on all
          training rows and folds in one stage.
        - `started` and `finished` (UTC), `duration` in seconds, and `error`, the first
          traceback.

        ``history.attrs`` contains metadata of the search: its `seed`, `n_points`,
        `n_splits`, class (`search`) and some `settings`. It also contains `scoring`,
        `target_metric` and `objectives`, if they have names. The `identity` contains
        the descriptions that a later run is compared with.

    Raises
    ------
    ImportError
        If pandas is not installed.
    OSError
        If there is no such file, or it cannot be read.
    ValueError
        If it is not a journal, has another format, or is damaged.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skbayes import BayesSearchCV, load_history
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "search.journal")
    ...     search = BayesSearchCV(
    ...         SVC(), {"C": [1.0, 10.0]}, journal=path, random_state=0
    ...     ).fit(X, y)
    ...     history = load_history(path)
    >>> history[["number", "state", "param_C", "score"]].round(3)
       number     state  param_C  score
    0       0  complete      1.0  0.967
    1       1  complete     10.0  0.980
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "load_history returns a pandas DataFrame, but pandas is not installed; run "
            "`pip install pandas`."
        ) from error
    content = Content.read(path)
    with guarded(path):
        rows, columns = _table(content)
    frame = pd.DataFrame(rows, columns=columns, dtype=object).infer_objects()
    for name in ("started", "finished"):
        frame[name] = pd.to_datetime(frame[name].astype(float), unit="s", utc=True)
    frame.attrs = content.metadata
    return frame


def while_running(source: Any, refresh: float) -> Iterator[bool]:
    """Yield whether a search is running; the last value, after the end, is False."""
    if not is_number(refresh):
        raise TypeError(
            f"refresh must be a number of seconds or None, got {refresh!r}."
        )
    if not 0.0 < refresh < math.inf:
        raise ValueError(f"refresh must be a positive number, got {refresh!r}.")
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            "refresh needs the path of the journal of a running search, got "
            f"{type(source).__name__}."
        )
    return _while_held(source, float(refresh))


def _while_held(path: str | os.PathLike[str], seconds: float) -> Iterator[bool]:
    while is_held(path):
        yield True
        time.sleep(seconds)
    yield False


# -- rows of the data frame -------------------------------------------------------


def _table(content: Content) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a dict for each trial, without missing values, and all column names."""
    rows: list[dict[str, Any]] = []
    params: set[str] = set()
    measures: dict[str, float] = {}
    fidelity: list[str] = []
    for proposal in content.proposals:
        row: dict[str, Any] = {
            "number": proposal.number,
            "state": "unfinished",
            "expected_improvement": proposal.expected_improvement,
            "started": proposal.asked,
            "error": None,
        }
        shown = {f"param_{n}": readable(value) for n, value in proposal.params.items()}
        params |= shown.keys()
        if result := content.results.get(proposal.number):
            trial = result.trial_of({})
            data = {**vars(trial.fidelity), "n_folds": trial.n_folds}
            names = ("state", "score", "duration", "error")
            row |= {name: getattr(trial, name) for name in names} | data
            # The last start of the fits; a resumed trial has several.
            started = result.finished - trial.duration
            row["started"] = started if trial.started is None else trial.started
            row["finished"] = result.finished
            if trial.fidelity != Fidelity():
                fidelity = list(data)
            measured = _measures(trial)
            measures |= measured
            row |= measured
        rows.append(row | shown)
    first = ("number", "state", "score", "expected_improvement")
    last = ("started", "finished", "duration", "error")
    return rows, [*first, *sorted(params), *measures, *fidelity, *last]


def _measures(trial: Trial) -> dict[str, float]:
    columns: dict[str, float] = {}
    for kind, table in (("test", trial.scores), ("train", trial.train_scores)):
        for metric, scores in table.items():
            columns[f"mean_{kind}_{metric}"] = _mean(scores[trial.fitted])
            for i, score in enumerate(scores):
                columns[f"split{i}_{kind}_{metric}"] = float(score)
    if trial.violation is not None:
        columns["feasible"] = trial.feasible
    columns |= {f"mean_constraint_{n}": mean for n, mean in trial.outcomes.items()}
    for name in ("fit_time", "score_time"):
        columns[f"mean_{name}"] = _mean(getattr(trial, f"{name}s")[trial.fitted])
    return columns


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else math.nan
