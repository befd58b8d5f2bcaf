"""Rows of a journal: splits as bytes, trials as JSON, and no pickles."""

from __future__ import annotations

import dataclasses
import io
import json
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from skbayes.evaluation.trial import FoldResult, Trial

__all__ = ["StoredTrial", "pack_split", "stored_trials", "trial_row", "unpack_split"]


@dataclasses.dataclass(frozen=True)
class StoredTrial:
    """Trial as it stands in the journal; `asked` and `finished` are seconds since 1970.

    `record` holds the parameters as :mod:`skbayes.journal.json_params` writes them,
    `details` the other fields of the trial, None if it is not finished.
    """

    number: int
    record: dict[str, Any]
    expected_improvement: float | None
    asked: float
    details: dict[str, Any] | None
    finished: float | None

    def trial(self, params: dict[str, Any]) -> Trial:
        """Return the finished trial; `params` are what `record` stands for."""
        assert self.details is not None
        return Trial(number=self.number, params=params, **self.details)


def stored_trials(execute: Callable[[str], Iterable[tuple]]) -> Iterator[StoredTrial]:
    """Read all trials in order of their numbers; ValueError if they are damaged."""
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
    if not isinstance(details["started"], int | float | None):
        raise ValueError("the beginning of a trial is no number")
    details["folds"] = [FoldResult(**fold) for fold in folds]
    return details


def _plain(value: Any) -> Any:
    """Return the Python number that a NumPy one, or an array of one, stands for."""
    if not hasattr(value, "item"):
        raise TypeError(f"journal: {value!r} in the results of a trial is no number.")
    return value.item()


# One encoder for all trials: json.dumps makes one for each call.
_encode = json.JSONEncoder(default=_plain).encode


def trial_row(trial: Trial) -> tuple:
    """Return the row of a finished trial in the table of results."""
    details = {**vars(trial), "folds": list(map(vars, trial.folds))}
    # These are kept with the proposal.
    del details["number"], details["params"]
    return trial.number, trial.state, float(trial.score), _encode(details), time.time()


def pack_split(indices: Any) -> bytes:
    """Compress indices or a mask, shape (n,); TypeError for anything else."""
    array = np.asarray(indices)
    if not array.size:
        array = array.astype(np.intp)
    _check_split(array)
    if array.dtype.kind != "b":
        # The steps of ascending indices are nearly all alike, and compress well.
        array = np.diff(array, prepend=array.dtype.type(0))
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return zlib.compress(file.getbuffer(), level=1)


def unpack_split(data: bytes) -> np.ndarray:
    """Return the indices or the mask that `pack_split` compressed."""
    array = np.load(io.BytesIO(zlib.decompress(data)), allow_pickle=False)
    _check_split(array)
    return array if array.dtype.kind == "b" else np.cumsum(array, dtype=array.dtype)


def _check_split(array: np.ndarray) -> None:
    if array.ndim != 1 or array.dtype.kind not in "iub":
        raise TypeError(
            "journal: each split must be a pair of arrays of indices or boolean masks "
            f"to be kept in a journal, got {array!r}."
        )
