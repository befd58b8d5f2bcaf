"""Rows of a journal: dataclasses that are stored as JSON.

The first row is that of the search. The others are each proposal of a configuration,
each result of a trial, and the beginning of each stage, in the order of these events.
"""

from __future__ import annotations

import base64
import json
import numbers
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skbayes.evaluation.aspects.registry import extra_types
from skbayes.evaluation.trial import FoldResult, Trial
from skbayes.journal.store import Row, guarded, read_rows


@dataclass(frozen=True)
class SearchRow:
    """Search, whose seed, splits and identity are fixed; the splits are packed."""

    seed: int
    n_points: int
    splits: list[tuple[str, str]]
    identity: Mapping[str, str]
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class StageRow:
    """Number of the first trial of a stage."""

    stage: int
    first: int


@dataclass(frozen=True)
class ProposalRow:
    """Configuration as a record and a row of the space (see `json_space`)."""

    number: int
    params: dict[str, Any]
    row: list[float | None]
    expected_improvement: float | None
    asked: float


@dataclass(frozen=True)
class ResultRow:
    """Finished trial: the attributes of `Trial` other than its configuration."""

    number: int
    finished: float
    trial: dict[str, Any]

    @classmethod
    def of(cls, trial: Trial, finished: float) -> ResultRow:
        """Return the row of a trial; TypeError if an extra is not of its type."""
        declared = extra_types()
        for extras in (trial.extras, *(fold.extras for fold in trial.folds)):
            for name, value in extras.items():
                expected = declared.get(name, numbers.Number)
                if not isinstance(value, expected | np.generic):
                    raise TypeError(
                        f"journal: trial {trial.number} cannot be stored: {name!r} is "
                        f"{value!r}, which is not of the type {expected.__name__}. "
                        "Declare other types in `Aspect.extras`."
                    )
        attributes = {**vars(trial), "folds": [vars(fold) for fold in trial.folds]}
        number = attributes.pop("number")
        del attributes["params"]
        return cls(number, finished, attributes)

    def trial_of(self, params: dict[str, Any]) -> Trial:
        """Return the trial, given its configuration."""
        folds = [FoldResult(**fold) for fold in self.trial["folds"]]
        attributes = {**self.trial, "folds": folds}
        return Trial(number=self.number, params=params, **attributes)


AnyRow = SearchRow | StageRow | ProposalRow | ResultRow

_KINDS: dict[str, type[AnyRow]] = {
    "search": SearchRow,
    "stage": StageRow,
    "proposal": ProposalRow,
    "result": ResultRow,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def _plain(value: Any) -> Any:
    """Return the Python number for a NumPy number or an array of one element."""
    if not hasattr(value, "item"):
        raise TypeError(f"journal: {value!r} in the results of a trial is not numeric.")
    return value.item()


# A shared encoder for all trials: json.dumps creates one for each call.
_encode = json.JSONEncoder(default=_plain).encode


def to_text(row: AnyRow) -> Row:
    """Return the kind and the content of a row."""
    return _NAMES[type(row)], _encode(vars(row))


def from_text(row: Row) -> AnyRow:
    """Return the row of a kind and a content; an error if they do not fit."""
    kind, content = row
    return _KINDS[kind](**json.loads(content))


@dataclass
class StoredTrial:
    """Trial in the journal; its result is None if it is unfinished."""

    proposal: ProposalRow
    result: ResultRow | None = None


@dataclass
class Content:
    """Content of a journal."""

    search: SearchRow
    stages: dict[int, int] = field(default_factory=dict)
    trials: list[StoredTrial] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Content:
        """Return the content of the rows; ValueError if one does not fit."""
        first, *others = map(from_text, rows)
        if not isinstance(first, SearchRow):
            raise ValueError("the first row is not that of the search")
        content = cls(first)
        for row in others:
            content._add(row)
        return content

    def _add(self, row: AnyRow) -> None:
        if isinstance(row, StageRow):
            self.stages[row.stage] = row.first
        elif isinstance(row, ProposalRow):
            if row.number != len(self.trials):
                raise ValueError(f"trial {len(self.trials)} is missing")
            self.trials.append(StoredTrial(row))
        elif isinstance(row, ResultRow):
            stored = self.trials[row.number]
            if stored.result is not None:
                raise ValueError(f"trial {row.number} has two results")
            if len(row.trial["folds"]) != len(self.search.splits):
                raise ValueError(f"trial {row.number} has another number of folds")
            stored.result = row
        else:
            raise ValueError("it has two searches")


def read_content(path: str | os.PathLike[str]) -> Content:
    """Read a journal, also during its search; ValueError if it is damaged."""
    rows = read_rows(path)
    with guarded(path):
        return Content.of(rows)


# -- splits -----------------------------------------------------------------------


def rows_of(indices: Any) -> np.ndarray:
    """Return the indices of a split; TypeError for other than indices or a mask."""
    array = np.asarray(indices)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iub"):
        raise TypeError(
            "journal: each split must be a pair of index arrays or boolean masks, got "
            f"{array!r}."
        )
    return np.flatnonzero(array) if array.dtype.kind == "b" else array.astype(np.intp)


def pack_split(indices: Any) -> str:
    """Compress a split as text."""
    # The differences of ascending indices are mostly equal, and compress well.
    steps = np.diff(rows_of(indices).astype("<i8"), prepend=0)
    return base64.b85encode(zlib.compress(steps.tobytes(), level=1)).decode()


def unpack_split(text: str) -> np.ndarray:
    """Return the indices of a packed split."""
    steps = np.frombuffer(zlib.decompress(base64.b85decode(text)), "<i8")
    return np.cumsum(steps, dtype=np.intp)
