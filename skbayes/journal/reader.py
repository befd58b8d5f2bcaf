"""Looking at a journal from outside: a search that runs, was killed, or has ended."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from skbayes.evaluation.trial import Trial
from skbayes.journal.json_params import adapt_record, readable
from skbayes.journal.rows import StoredTrial, stored_trials
from skbayes.journal.sqlite_file import guard_against_damage, reader
from skbayes.space import Space

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["load_history", "read_journal", "read_trials"]


def load_history(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Load the trials in a journal, also while the search goes on.

    The journal is only read. Neither the estimator nor the data are needed, and nothing
    in the file is executed.

    Parameters
    ----------
    path : str or os.PathLike
        The `journal` of a search.

    Returns
    -------
    history : pandas.DataFrame
        One row per trial, in the order they were asked for, with the columns

        - `number`, `state` ("unfinished" for a trial that runs, or ran when the search
          was killed), `score` and `expected_improvement`;
        - `param_<name>` for each parameter: its value, or a short text in place of an
          object; missing where the parameter does not exist;
        - `mean_test_<metric>` over the splits that were fitted, and
          `split<i>_test_<metric>`, the same for `train` if it was asked for,
          `mean_fit_time` and `mean_score_time` in seconds;
        - `stage`, `train_fraction` and `subset`, what a finished trial was made on, if
          not all of them were made on all training rows in one stage;
        - `started` and `finished` (UTC), `duration` in seconds, and `error`, the first
          traceback.

        ``history.attrs`` holds the search's `seed`, `n_points` and `n_splits`;
        `identity`, a description of all that makes it this search; and `space`, what it
        chose from as ``skbayes.journal.json_space`` writes it, None where that is not
        known.

    Raises
    ------
    ImportError
        If pandas is not installed.
    OSError
        If there is no such file, or it cannot be read.
    ValueError
        If it is no journal, of a newer format, or damaged.

    Examples
    --------
    >>> import os, tempfile
    >>> from skbayes import load_history
    >>> from skbayes.journal.journal import Journal
    >>> from skbayes.space import Space
    >>> space = Space.from_notation({"C": (0.1, 10.0)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "search.journal")
    ...     with Journal.open(path, space=space, identity={}, seed=0, n_points=1,
    ...                       splits=[], reproducible_splits=True) as journal:
    ...         journal.record_proposal(0, {"C": 1.5}, None)
    ...         history = load_history(path)
    >>> history[["number", "state", "param_C"]]
       number       state  param_C
    0       0  unfinished      1.5
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "load_history returns a pandas DataFrame, and pandas is not installed; "
            "`pip install pandas` does that."
        ) from error
    facts, trials = read_journal(path)
    with guard_against_damage(os.fspath(path)):
        columns = _columns(trials)
    frame = pd.DataFrame(
        {
            name: pd.Series(values, dtype=object).infer_objects()
            for name, values in columns.items()
        }
    )
    for name in ("started", "finished"):
        frame[name] = pd.to_datetime(frame[name].astype(float), unit="s", utc=True)
    frame.attrs = facts
    return frame


def read_journal(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Any], list[StoredTrial]]:
    """Read what stands in a journal.

    Parameters
    ----------
    path : str or os.PathLike
        The journal.

    Returns
    -------
    facts : dict
        The search's `seed`, `n_points`, `n_splits`, `identity` and `space`.
    trials : list of StoredTrial
        All trials, in the order they were asked for.

    Raises
    ------
    OSError
        If there is no such file, or it cannot be read.
    ValueError
        If it is no journal, of a newer format, or damaged.
    """
    with reader(path) as connection:
        search = dict(connection.execute("SELECT name, value FROM search"))
        facts = {
            "seed": int(search["seed"]),
            "n_points": int(search["n_points"]),
            "n_splits": connection.execute("SELECT count(*) FROM splits").fetchone()[0],
            "identity": dict(connection.execute("SELECT part, text FROM identity")),
            "space": json.loads(search.get("space", "null")),
        }
        return facts, list(stored_trials(connection.execute))


def read_trials(path: str | os.PathLike[str], space: Space) -> tuple[list[Trial], int]:
    """Read the finished trials of a journal that are configurations of a space.

    Parameters
    ----------
    path : str or os.PathLike
        The journal.
    space : Space
        The space, not necessarily that of the journal. Numbers and strings are looked
        for by themselves, other options by the text that stands for them.

    Returns
    -------
    trials : list of Trial
        Those found, in order, with the parameters as this space has them.
    n_dropped : int
        How many finished trials the space does not have.

    Raises
    ------
    OSError
        If there is no such file, or it cannot be read.
    ValueError
        If it is no journal, of a newer format, or damaged.
    """
    found = []
    n_dropped = 0
    with reader(path) as connection:
        for stored in stored_trials(connection.execute):
            if stored.details is None:
                continue
            params = adapt_record(space, stored.record)
            if params is None:
                n_dropped += 1
            else:
                found.append(stored.trial(params))
    return found, n_dropped


# -- columns ----------------------------------------------------------------------


def _columns(stored: list[StoredTrial]) -> dict[str, list[Any]]:
    """Values by column, NaN where a trial has none."""
    made = [None if one.details is None else one.trial({}) for one in stored]
    shown = [
        {f"param_{name}": readable(one.record[name]) for name in sorted(one.record)}
        for one in stored
    ]
    measured = [{} if trial is None else _measures(trial, made) for trial in made]
    return {
        "number": [one.number for one in stored],
        "state": ["unfinished" if t is None else t.state for t in made],
        "score": [math.nan if t is None else t.score for t in made],
        "expected_improvement": [one.expected_improvement for one in stored],
        **_aligned(shown, sorted({name for row in shown for name in row})),
        **_aligned(measured, dict.fromkeys(name for row in measured for name in row)),
        **_settings(made),
        "started": [_started(*pair) for pair in zip(stored, made, strict=True)],
        "finished": [one.finished for one in stored],
        "duration": [math.nan if t is None else t.duration for t in made],
        "error": [None if t is None else t.error for t in made],
    }


def _settings(trials: list[Trial | None]) -> dict[str, list[Any]]:
    """Return what the trials were made on, by column, unless it is all alike."""
    plain = {"stage": 0, "train_fraction": 1.0, "subset": 0}
    columns = {
        name: [math.nan if trial is None else getattr(trial, name) for trial in trials]
        for name in plain
    }
    finished = [trial for trial in trials if trial is not None]
    if all(getattr(t, name) == plain[name] for t in finished for name in plain):
        return {}
    return columns


def _aligned(rows: list[dict], names: Iterable[str]) -> dict[str, list[Any]]:
    return {name: [row.get(name, math.nan) for row in rows] for name in names}


def _started(stored: StoredTrial, trial: Trial | None) -> float:
    """When the fits began; those of a trial that was resumed, the last time."""
    if trial is None or stored.finished is None:
        return stored.asked
    if trial.started is None:
        return stored.finished - trial.duration
    return trial.started


def _measures(trial: Trial, others: list[Trial | None]) -> dict[str, float]:
    """Scores and times of one trial, by column."""
    fitted = trial.fitted
    columns: dict[str, float] = {}
    for kind in ("test", "train"):
        for metric, scores in _scores(trial, others, kind).items():
            columns[f"mean_{kind}_{metric}"] = _mean(scores[fitted])
            for i, score in enumerate(scores):
                columns[f"split{i}_{kind}_{metric}"] = float(score)
    columns["mean_fit_time"] = _mean(trial.fit_times[fitted])
    columns["mean_score_time"] = _mean(trial.score_times[fitted])
    return columns


def _scores(
    trial: Trial, others: list[Trial | None], kind: str
) -> dict[str, np.ndarray]:
    """Scores by metric; a trial that failed wholly may not know the metrics."""
    own = trial.scores if kind == "test" else trial.train_scores
    if trial.state != "failed" or own.keys() != {"score"}:
        return own
    known = [other.scores.keys() for other in others if other and other.scores]
    metrics = next((names for names in known if names != own.keys()), own.keys())
    return dict.fromkeys(metrics, own["score"])


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else math.nan
