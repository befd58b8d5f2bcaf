"""Rows of a journal: splits as bytes, trials as JSON, and chained checksums.

Rows are numbered by their `place`, in the order in which they were written to any of
the tables. The `digest` of a row covers its content and the digest of the row before
it. A row that is changed, lost or moved is therefore detected.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from skbayes.evaluation.trial import FoldResult, Trial
from skbayes.journal.schema import (
    check_folds,
    check_metrics,
    check_number,
    check_parameters,
    check_row,
    excerpt,
    parse_details,
    parse_facts,
    parse_params,
)

__all__ = [
    "Chain",
    "Content",
    "Row",
    "StoredTrial",
    "first_fault",
    "pack_split",
    "parse_content",
    "read_content",
    "read_rows",
    "trial_row",
    "whole_rows",
]

# The columns of each table, without `place` and `digest`.
COLUMNS = {
    "search": "name, value",
    "identity": "part, text",
    "splits": "number, train, test",
    "proposals": "number, params, expected_improvement, asked",
    "results": "number, state, score, details, finished",
}

# Names of the rows in the table `search` that each journal has.
HEADER = ("seed", "n_points", "created", "facts")


@dataclasses.dataclass(frozen=True)
class Row:
    """Row of a table, with its place and digest."""

    table: str
    values: tuple
    place: Any = None
    digest: Any = None

    def __str__(self) -> str:
        place = "a row" if self.place is None else f"row {self.place}"
        return f"{place} ({self.table} {excerpt(self.values[0])})"


@dataclasses.dataclass(frozen=True)
class StoredTrial:
    """Trial in the journal; `asked` and `finished` are seconds since 1970.

    `record` contains the configuration in the format of
    :mod:`skbayes.journal.json_params`. `details` contains the other fields of the
    trial, and is None for an unfinished trial.
    """

    number: int
    record: dict[str, Any]
    expected_improvement: float | None
    asked: float
    details: dict[str, Any] | None
    finished: float | None

    def trial(self, params: dict[str, Any]) -> Trial:
        """Return the finished trial, given the configuration of `record`."""
        assert self.details is not None
        folds = [FoldResult(**fold) for fold in self.details["folds"]]
        details = {**self.details, "folds": folds}
        return Trial(number=self.number, params=params, **details)


@dataclasses.dataclass(frozen=True)
class Content:
    """Checked content of a journal; `splits` are pairs in the format of `pack_split`.

    `stages` are the numbers of the first trials of stages.
    """

    seed: int
    n_points: int
    facts: dict[str, Any]
    identity: dict[str, str]
    stages: dict[int, int]
    n_runs: int
    splits: list[tuple[bytes, bytes]]
    trials: list[StoredTrial]


# -- checksums --------------------------------------------------------------------


class Chain:
    """Digests of rows in the order of their places; `place` is the next one."""

    def __init__(self) -> None:
        self.place = 0
        # Initial value instead of the digest of the row before.
        self.digest = "journal of skbayes, format 7"

    def link(self, table: str, values: Iterable[Any]) -> Row:
        """Return the next row, with its values as SQLite stores them."""
        stored = tuple(map(_stored, values))
        content = [self.digest, self.place, table, *map(_hashed, stored)]
        digest = hashlib.blake2b(_encode(content).encode(), digest_size=16).hexdigest()
        return Row(table, stored, self.place, digest)

    def append(self, row: Row) -> None:
        """Register a row that was written."""
        self.place, self.digest = self.place + 1, row.digest

    def tables(self, tables: Mapping[str, Iterable[tuple]]) -> dict[str, list[tuple]]:
        """Return tables with the places and digests of their rows, written in order."""
        linked: dict[str, list[tuple]] = {}
        for table, rows in tables.items():
            linked[table] = []
            for values in rows:
                row = self.link(table, values)
                linked[table].append((*row.values, row.place, row.digest))
                self.append(row)
        return linked


def _stored(value: Any) -> Any:
    """Return a value as SQLite returns it: without NaN and negative zero."""
    if isinstance(value, float):
        return None if math.isnan(value) else float(value) + 0.0
    return value


def _hashed(value: Any) -> Any:
    """Return the digest of bytes; other values are not changed."""
    return hashlib.blake2b(value).hexdigest() if type(value) is bytes else value


def whole_rows(rows: Iterable[Row]) -> tuple[list[Row], Chain]:
    """Return the rows, in order, before the first invalid one."""
    chain = Chain()
    whole: list[Row] = []
    for row in sorted(rows, key=_place):
        if row.place != chain.place or chain.link(row.table, row.values) != row:
            break
        chain.append(row)
        whole.append(row)
    return whole, chain


def _place(row: Row) -> float:
    return row.place if type(row.place) is int else math.inf


def first_fault(rows: list[Row], n_whole: int) -> str | None:
    """Describe the fault of the row after the valid ones; None if all are valid."""
    if n_whole == len(rows):
        return None
    row = sorted(rows, key=_place)[n_whole]
    if row.place != n_whole:
        return f"row {n_whole} is missing"
    return f"{row} does not match its checksum"


# -- reading ----------------------------------------------------------------------


def read_content(execute: Callable[[str], Iterable[tuple]]) -> tuple[Content, Chain]:
    """Read a journal and check all of it; ValueError if it is damaged."""
    rows = [row for table in COLUMNS for row in read_rows(execute, table)]
    whole, chain = whole_rows(rows)
    fault = first_fault(rows, len(whole))
    if fault is not None:
        raise ValueError(fault)
    return parse_content(rows), chain


def read_rows(execute: Callable[[str], Iterable[tuple]], table: str) -> Iterator[Row]:
    """Read the rows of one table, in order of their first column, unchecked."""
    columns = f"{COLUMNS[table]}, place, digest"
    for row in execute(f"SELECT {columns} FROM {table} ORDER BY 1"):
        yield Row(table, row[:-2], *row[-2:])


def parse_content(rows: Iterable[Row]) -> Content:
    """Parse the content of rows; a ValueError names the first invalid row."""
    tables: dict[str, dict[Any, Any]] = {table: {} for table in COLUMNS}
    for row in rows:
        try:
            check_row(row.table, row.values)
            tables[row.table][row.values[0]] = _parsed(row)
        except ValueError as error:
            raise ValueError(f"{row}: {error}") from error
    search, results = tables["search"], tables["results"]
    missing = [name for name in HEADER if name not in search]
    if missing:
        raise ValueError(f"{missing[0]!r} is missing")
    for place, number in enumerate(tables["splits"]):
        check_number(number, place)
    trials = []
    for place, (number, asked) in enumerate(tables["proposals"].items()):
        check_number(number, place)
        record, improvement, when = asked
        details, finished = results.pop(number, (None, None))
        trials.append(StoredTrial(number, record, improvement, when, details, finished))
    if results:
        raise ValueError(f"trial {next(iter(results))} is missing")
    finished_trials = [one.details for one in trials if one.details is not None]
    for details in finished_trials:
        check_folds(details, len(tables["splits"]))
    check_metrics(finished_trials)
    check_parameters([one.record for one in trials])
    return Content(
        seed=search["seed"],
        n_points=search["n_points"],
        facts=search["facts"],
        identity=tables["identity"],
        stages={int(name[6:]): search[name] for name in search if name[:6] == "stage "},
        n_runs=sum(name.startswith("run ") for name in search),
        splits=list(tables["splits"].values()),
        trials=trials,
    )


def _parsed(row: Row) -> Any:
    """Parse the values of a row except the first column."""
    values = row.values
    if row.table == "search":
        if values[0] == "facts":
            return parse_facts(values[1])
        return int(values[1]) if values[0] == "seed" else values[1]
    if row.table == "proposals":
        return parse_params(values[1]), values[2], values[3]
    if row.table != "results":
        return values[1] if len(values) == 2 else values[1:]
    details = parse_details(values[3])
    if (values[1], values[2]) != (details["state"], _stored(float(details["score"]))):
        raise ValueError("its state or score differs from that in its details")
    return details, values[4]


# -- writing ----------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """Return the Python number for a NumPy number or an array of one element."""
    if not hasattr(value, "item"):
        raise TypeError(f"journal: {value!r} in the results of a trial is not numeric.")
    return value.item()


# A shared encoder for all trials: json.dumps creates one for each call.
_encode = json.JSONEncoder(default=_plain).encode


def trial_row(trial: Trial) -> tuple:
    """Return the row of a finished trial in the table of results."""
    details = {**vars(trial), "folds": [vars(fold) for fold in trial.folds]}
    # These fields are stored with the proposal.
    del details["number"], details["params"]
    text = _encode(details)
    try:
        parse_details(text)
    except ValueError as error:
        raise ValueError(
            f"journal: trial {trial.number} cannot be stored: {error}"
        ) from error
    return trial.number, str(trial.state), float(trial.score), text, time.time()


def pack_split(indices: Any) -> bytes:
    """Compress indices or a mask, shape (n,); TypeError for anything else."""
    array = np.asarray(indices)
    if not array.size:
        array = array.astype(np.intp)
    if array.ndim != 1 or array.dtype.kind not in "iub":
        raise TypeError(
            "journal: each split must be a pair of index arrays or boolean masks, got "
            f"{array!r}."
        )
    if array.dtype.kind != "b":
        # The differences of ascending indices are mostly equal, and compress well.
        array = np.diff(array, prepend=array.dtype.type(0))
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return zlib.compress(file.getbuffer(), level=1)
