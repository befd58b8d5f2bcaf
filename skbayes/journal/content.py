"""Content of a journal: rows of JSON, and their validation.

The first row is the "search", whose content is fixed. The others are each "proposal" of
a configuration, each "result" of a trial, and the beginning of each "stage".

A journal may come from another person, or have damage that no checksum detects. A
ValueError contains the reason for which content is invalid. Reading it takes not much
more memory or time than the content requires.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skbayes.evaluation.trial import FoldResult, FoldStatus, Trial, TrialState
from skbayes.journal.file import MAX_TEXT, Row, guarded, read_file

# Maximum numbers of names in a dict, of names of metrics, of trials and options, and of
# cells in a table beyond those filled by trials.
MAX_NAMES, MAX_METRICS, MAX_NUMBER, MAX_CELLS = 10_000, 1_000, 10**9, 5_000_000

# Latest time that pandas supports, in seconds since 1970, and largest integer that a
# float can represent (less than sys.float_info.max).
MAX_TIME, MAX_INT = 9.2e9, 2**1000

# Maximum depth of nested lists and dicts, which is that of a space.
MAX_DEPTH = 100


# -- schema -----------------------------------------------------------------------


def _fits(value: Any, spec: Any) -> bool:
    """Return whether a value has the structure of a specification.

    This is a type, a function, None, a tuple of alternatives, a list for lists of such
    elements, or a dict of fields, all of which are needed. In a dict with the entry
    "*", which specifies all other fields, no field is needed.
    """
    if spec is None or isinstance(spec, type):
        return value is None if spec is None else type(value) is spec
    if isinstance(spec, tuple):
        return any(_fits(value, option) for option in spec)
    if isinstance(spec, list):
        return type(value) is list and all(_fits(item, spec[0]) for item in value)
    if not isinstance(spec, dict):
        return bool(spec(value))
    if type(value) is not dict or len(value) > MAX_NAMES:
        return False
    for name in spec.keys() - value.keys() if "*" not in spec else ():
        raise ValueError(f"{name!r} is missing")
    for name, field in value.items():
        if not _fits(field, spec.get(name, spec.get("*", ()))):
            raise ValueError(f"{name[:60]!r} is unknown, or has an invalid value")
    return True


def _short(value: Any) -> bool:
    return type(value) is str and len(value) <= MAX_TEXT


def _between(low: int, high: float, *kinds: type) -> Callable[[Any], bool]:
    """Return the check of a number of one of some types, by default an integer."""
    return lambda value: type(value) in (kinds or (int,)) and low <= value <= high


def _metrics(value: Any) -> bool:
    return _fits(value, {"*": _score}) and len(value) <= MAX_METRICS


def _outline(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Return whether a value is plain JSON of limited depth."""
    if depth and type(value) in (list, dict):
        items = value if type(value) is list else value.values()
        return all(_outline(item, depth - 1) for item in items)
    return _fits(value, (None, str, _score))


def _curves(value: Any) -> bool:
    return _fits(value, {"*": [_score]}) and all(value.values())


_integer, _number = _between(-MAX_INT, MAX_INT), _between(0, MAX_NUMBER)
_count, _real = _between(0, 2**63 - 1), (float, _integer)
_time, _fraction = _between(0, MAX_TIME, int, float), _between(0, 1, int, float)
# Some scorers return bools.
_score = (_real, bool)
_setting = (_real, str, [_real])
_facts = {
    "search": str,
    "scoring": (None, _setting),
    "target_metric": (None, _setting),
    "objectives": {"*": lambda value: value in ("max", "min")},
    "settings": {"*": _setting},
    "chooses_train_size": bool,
    "space": (None, lambda value: type(value) is list and _outline(value)),
    "*": (),
}
_fold = {
    "test_scores": _metrics,
    "fit_time": _real,
    "score_time": _real,
    "n_test_samples": _count,
    "train_scores": (None, _metrics),
    "fit_error": (None, str),
    "status": lambda value: value in list(FoldStatus),
    # Values of aspects of trials; those that are not named here are numbers.
    "extras": {
        "costs": _metrics,
        "warm_up": bool,
        "outcomes": _metrics,
        "curves": _curves,
        "train_curves": _curves,
        "outcome_curves": _curves,
        "max_rounds": _count,
        "rounds": _count,
        "*": _real,
    },
}
_rows: dict[str, dict[str, Any]] = {
    "search": {
        "seed": _integer,
        "n_points": lambda value: _number(value) and value > 0,
        "splits": [lambda value: _fits(value, [str]) and len(value) == 2],
        "identity": {"*": str},
        "facts": _facts,
    },
    "stage": {"stage": _number, "first": _number},
    "proposal": {
        "number": _number,
        "params": {"*": (None, _score, _short, {"text": _short})},
        "row": [(None, _fraction)],
        "expected_improvement": (None, _real),
        "asked": _time,
    },
    "result": {
        "number": _number,
        "finished": _time,
        "folds": [_fold],
        "score": _real,
        "duration": _real,
        "state": lambda value: value in list(TrialState),
        "error": (None, str),
        "stop_requested": bool,
        "expected_improvement": (None, _real),
        "noise": (None, _real),
        "stage": _number,
        "train_fraction": lambda value: _fraction(value) and value > 0,
        "subset": _number,
        "started": (None, _time),
        "extras": {"rounds": _count, "*": _real},
    },
}


def parse_row(row: Row) -> dict[str, Any]:
    """Return the fields of a row; ValueError if they are invalid."""
    kind, text = row
    if kind not in _rows:
        raise ValueError("rows have no such kind")
    fields: dict[str, Any] = json.loads(text)
    if not _fits(fields, _rows[kind]):
        raise ValueError("it is not a dict, or too large")
    folds = fields.get("folds", ())
    for extras in (fold["extras"] for fold in folds):
        if any("curves" in name for name in extras) and "max_rounds" not in extras:
            raise ValueError("its curves are incomplete")
    if len({fold["train_scores"] is None for fold in folds}) > 1:
        raise ValueError("some folds have no 'train_scores'")
    return fields


# -- rows -------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """Return the Python number for a NumPy number or an array of one element."""
    if not hasattr(value, "item"):
        raise TypeError(f"journal: {value!r} in the results of a trial is not numeric.")
    return value.item()


# A shared encoder for all trials: json.dumps creates one for each call.
_encode = json.JSONEncoder(default=_plain).encode


def make_row(kind: str, fields: Mapping[str, Any]) -> Row:
    """Return a row of any kind."""
    return kind, _encode(fields)


def result_row(trial: Trial, finished: float) -> Row:
    """Return the row of a finished trial; ValueError if it could not be read again."""
    fields = {**vars(trial), "folds": [vars(fold) for fold in trial.folds]}
    del fields["params"]
    row = make_row("result", {**fields, "finished": finished})
    try:
        parse_row(row)
    except ValueError as error:
        raise ValueError(
            f"journal: trial {trial.number} cannot be stored: {error}"
        ) from error
    return row


@dataclass
class StoredTrial:
    """Trial in the journal; `details` are its other fields, None if unfinished."""

    number: int
    record: dict[str, Any]
    row: list[float | None]
    expected_improvement: float | None
    asked: float
    details: dict[str, Any] | None = None
    finished: float | None = None

    def trial(self, params: dict[str, Any]) -> Trial:
        """Return the finished trial, given the configuration of `record`."""
        assert self.details is not None
        folds = [FoldResult(**fold) for fold in self.details["folds"]]
        details = {**self.details, "folds": folds}
        return Trial(number=self.number, params=params, **details)


class Content:
    """Checked content of the rows of a journal; its splits are packed."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.stages: dict[int, int] = {}
        self.trials: list[StoredTrial] = []
        self._metrics: dict[str, set[str]] = {}
        for place, row in enumerate(rows):
            try:
                if (row[0] == "search") != (place == 0):
                    raise ValueError("the first row is that of the search")
                self._add(row[0], parse_row(row))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"row {place} ({row[0][:20]}): {error}") from error
        if not rows:
            raise ValueError("it has no rows")
        _check_cells("params", [trial.record for trial in self.trials])
        finished = [trial.details for trial in self.trials if trial.details]
        for kind in ("test_scores", "train_scores"):
            tables = [fold[kind] or {} for row in finished for fold in row["folds"]]
            _check_cells(kind, tables)

    def _add(self, kind: str, fields: dict[str, Any]) -> None:
        if kind == "search":
            self.seed, self.n_points = fields["seed"], fields["n_points"]
            self.splits, self.identity = fields["splits"], fields["identity"]
            self.facts = fields["facts"]
            return
        if kind == "stage":
            self.stages[fields["stage"]] = fields["first"]
            return
        number, n_trials = fields.pop("number"), len(self.trials)
        if kind == "proposal":
            if number != n_trials:
                raise ValueError(f"trial {n_trials} is missing")
            self.trials.append(StoredTrial(number, fields.pop("params"), **fields))
            return
        if number >= n_trials or self.trials[number].details is not None:
            raise ValueError(f"trial {number} is missing, or finished twice")
        if len(fields["folds"]) != len(self.splits):
            raise ValueError(
                f"{len(fields['folds'])} folds for {len(self.splits)} splits"
            )
        self._check_metrics(fields["folds"])
        self.trials[number].finished = fields.pop("finished")
        self.trials[number].details = fields

    def _check_metrics(self, folds: Sequence[Mapping[str, Any]]) -> None:
        """Check that the metrics are those of all trials."""
        for kind in ("test_scores", "train_scores"):
            for fold in folds:
                # A failed fold may have no scores.
                names = set(fold[kind] or ())
                if names and self._metrics.setdefault(kind, names) != names:
                    raise ValueError(f"its trials have different metrics in {kind!r}")


def read_content(path: str | os.PathLike[str]) -> Content:
    """Read a journal, also during its search; ValueError if it is damaged."""
    rows = list(read_file(path))
    with guarded(path):
        return Content(rows)


def _check_cells(kind: str, rows: Sequence[Collection[str]]) -> None:
    """Check that a table of all rows and names would not be nearly empty."""
    names: set[str] = set().union(*rows)
    if len(names) * len(rows) > max(MAX_CELLS, 100 * sum(map(len, rows))):
        raise ValueError(f"most of its {len(names)} {kind!r} are missing in each trial")


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


def unpack_split(text: str, max_items: int, n_samples: int | None = None) -> np.ndarray:
    """Return the indices of a packed split; ValueError if they exceed a limit."""
    unzipping = zlib.decompressobj()
    data = unzipping.decompress(base64.b85decode(text), 8 * max_items + 1)
    if len(data) > 8 * max_items or not unzipping.eof:
        raise ValueError(f"a split has more than {max_items} items, or is truncated")
    indices = np.cumsum(np.frombuffer(data, "<i8"), dtype=np.intp)
    if n_samples is not None and indices.size:
        if indices.min() < -n_samples or indices.max() >= n_samples:
            raise ValueError(f"a split does not fit {n_samples} samples")
    return indices
