"""What the rows of a journal hold: splits as bytes, trials as JSON, and no pickles."""

from __future__ import annotations

import dataclasses
import io
import json
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from skbayes.evaluation.trial import Trial

__all__ = ["StoredTrial", "pack_split", "stored_trials", "trial_row", "unpack_split"]

# What is kept of each fold; whatever else it holds stays in memory alone.
FOLD_KEYS = frozenset(
    {
        "test_scores",
        "train_scores",
        "costs",
        "warm_up",
        "fit_time",
        "score_time",
        "n_test_samples",
        "fit_error",
        "skipped",
    }
)

# The fields of a trial that are kept with its proposal instead.
_OF_PROPOSAL = ("number", "params")


@dataclasses.dataclass(frozen=True)
class StoredTrial:
    """A trial as it stands in the journal.

    Parameters
    ----------
    number : int
        The trial's number.
    record : dict
        Its parameters, as :mod:`skbayes.journal.json_params` writes them.
    expected_improvement : float or None
        What was expected of it when it was proposed.
    asked : float
        When that was, in seconds since 1970.
    details : dict or None
        The other fields of :class:`~skbayes.evaluation.trial.Trial`; None if it did not
        finish.
    finished : float or None
        When it did.
    """

    number: int
    record: dict[str, Any]
    expected_improvement: float | None
    asked: float
    details: dict[str, Any] | None
    finished: float | None

    def trial(self, params: dict[str, Any]) -> Trial:
        """Make the finished trial again.

        Parameters
        ----------
        params : dict
            The configuration that `record` stands for.

        Returns
        -------
        trial : Trial
            The trial as it was recorded. What an older journal does not say, when it
            began, follows from when it was recorded.
        """
        assert self.details is not None
        details = dict(self.details)
        if "started" not in details and self.finished is not None:
            details["started"] = self.finished - details.get("duration", 0.0)
        return Trial(number=self.number, params=params, **details)


def stored_trials(execute: Callable[[str], Iterable[tuple]]) -> Iterator[StoredTrial]:
    """Read all trials in the order in which they were asked for.

    Parameters
    ----------
    execute : callable
        Runs a statement of SQL and returns the rows.

    Yields
    ------
    stored : StoredTrial
        One after the other.

    Raises
    ------
    ValueError
        If what is there is no history of a search.
    """
    rows = execute(
        "SELECT proposals.number, params, expected_improvement, asked, details, "
        "finished FROM proposals LEFT JOIN results USING (number) "
        "ORDER BY proposals.number"
    )
    for place, (number, params, expected, asked, details, finished) in enumerate(rows):
        if number != place:
            raise ValueError(f"trial {place} is missing")
        yield StoredTrial(
            number=number,
            record=_dict(params),
            expected_improvement=None if expected is None else float(expected),
            asked=float(asked),
            details=None if details is None else _details(details),
            finished=None if finished is None else float(finished),
        )


def _dict(text: Any) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(f"{text!r} stands where a dict should")
    return value


def _details(text: Any) -> dict[str, Any]:
    details = _dict(text)
    folds = details["folds"]
    if not isinstance(folds, list) or not all(isinstance(f, dict) for f in folds):
        raise ValueError("the results of a trial are no list of folds")
    if not isinstance(details["score"], int | float):
        raise ValueError("the score of a trial is no number")
    if not isinstance(details.get("started"), int | float | None):
        raise ValueError("the beginning of a trial is no number")
    return details


def trial_row(trial: Trial) -> tuple:
    """Turn a finished trial into a row of the table of results.

    Parameters
    ----------
    trial : Trial
        The trial.

    Returns
    -------
    row : tuple
        Number, state, score, all details as JSON, and the time.

    Raises
    ------
    TypeError
        If it holds something that is neither a number nor text.
    """
    details = {
        field.name: getattr(trial, field.name)
        for field in dataclasses.fields(trial)
        if field.name not in _OF_PROPOSAL
    }
    details["folds"] = [
        {key: value for key, value in fold.items() if key in FOLD_KEYS}
        for fold in trial.folds
    ]
    text = json.dumps(details, default=_plain)
    return trial.number, trial.state, float(trial.score), text, time.time()


def _plain(value: Any) -> Any:
    """Return the Python number that a NumPy one, or an array of one, stands for."""
    if not hasattr(value, "item"):
        raise TypeError(f"journal: {value!r} in the results of a trial is no number.")
    return value.item()


def pack_split(indices: Any) -> bytes:
    """Turn indices or a mask into a few bytes.

    Parameters
    ----------
    indices : array-like of shape (n,)
        Indices, or a boolean mask.

    Returns
    -------
    data : bytes
        Compressed, in NumPy's own format without pickles.

    Raises
    ------
    TypeError
        If they are something else.
    """
    array = np.asarray(indices)
    if not array.size:
        array = array.astype(np.intp)
    _check_split(array)
    if array.dtype.kind != "b":
        # The steps of ascending indices are nearly all alike: they take no room.
        array = np.diff(array, prepend=array.dtype.type(0))
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return zlib.compress(file.getbuffer(), level=1)


def unpack_split(data: bytes) -> np.ndarray:
    """Turn the bytes back.

    Parameters
    ----------
    data : bytes
        What :func:`pack_split` returned.

    Returns
    -------
    indices : ndarray of shape (n,)
        Of the type they had.

    Raises
    ------
    TypeError, ValueError, zlib.error
        If the bytes are something else.
    """
    array = np.load(io.BytesIO(zlib.decompress(data)), allow_pickle=False)
    _check_split(array)
    return array if array.dtype.kind == "b" else np.cumsum(array, dtype=array.dtype)


def _check_split(array: np.ndarray) -> None:
    if array.ndim != 1 or array.dtype.kind not in "iub":
        raise TypeError(
            "journal: each split must be a pair of arrays of indices or boolean masks "
            f"to be kept in a journal, got {array!r}."
        )
