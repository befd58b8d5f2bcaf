"""Schema of the content of a journal: types, ranges, lengths and sizes.

A journal may come from another person, or have damage that no checksum detects. Each
function takes a value from SQLite or JSON and returns it, parsed if it is text. It
raises a ValueError with the reason if the value is invalid. No function uses much more
memory or time than the content of the file requires.
"""

from __future__ import annotations

import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from skbayes.evaluation.trial import TrialState
from skbayes.journal.json_params import MAX_TEXT

__all__ = [
    "check_folds",
    "check_metrics",
    "check_number",
    "check_parameters",
    "check_row",
    "excerpt",
    "parse_details",
    "parse_facts",
    "parse_params",
    "unpack_split",
]

# Maximum numbers of: places and trials; hyper-parameters of a space; metrics.
MAX_NUMBER, MAX_PARAMETERS, MAX_METRICS = 10**9, 10_000, 1_000

# Maximum number of cells in a table beyond those filled by trials.
MAX_CELLS = 5_000_000

# Latest time that pandas supports, in seconds since 1970.
MAX_TIME = 9.2e9

# Integers up to this one can be represented by a float.
MAX_INT = 2**1000

# Maximum depth of nested lists and dicts, which is that of a space.
MAX_DEPTH = 100

Test = Callable[[Any], bool]


def excerpt(value: Any) -> str:
    """Return the beginning of the text of any value, in bounded time."""
    value = value[:60] if isinstance(value, str | bytes) else value
    plain = value is None or isinstance(value, str | bytes | int | float)
    text = repr(value) if plain and not _is_huge(value) else type(value).__name__
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def _is_huge(value: Any) -> bool:
    return type(value) is int and abs(value) >= MAX_INT


def _is_real(value: Any) -> bool:
    return type(value) is float or (type(value) is int and not _is_huge(value))


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < MAX_NUMBER


def _is_time(value: Any) -> bool:
    return _is_real(value) and 0 <= value <= MAX_TIME


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_short(value: Any) -> bool:
    return type(value) is str and len(value) <= MAX_TEXT


def _is_bool(value: Any) -> bool:
    return type(value) is bool


def _is_score(value: Any) -> bool:
    """Return whether a value is a number or a bool, which some scorers return."""
    return _is_real(value) or _is_bool(value)


def _is_plain(value: Any) -> bool:
    return value is None or _is_score(value) or _is_short(value)


def _is_setting(value: Any) -> bool:
    pair = type(value) is list and len(value) == 2 and all(map(_is_real, value))
    return pair or _is_real(value) or _is_text(value)


def _maybe(test: Test) -> Test:
    return lambda value: value is None or test(value)


def _dict_of(test: Test, limit: int = MAX_METRICS) -> Test:
    def is_one(value: Any) -> bool:
        return (
            type(value) is dict
            and len(value) <= limit
            and all(map(test, [*value.values()]))
        )

    return is_one


def _curve(value: Any) -> bool:
    return type(value) is list and bool(value) and all(map(_is_score, value))


# -- rows of the tables -----------------------------------------------------------

# Tests of the columns, without the last two, which chain the rows.
_COLUMNS: dict[str, tuple[Test, ...]] = {
    "identity": (_is_text, _is_text),
    "splits": (_is_number, lambda v: type(v) is bytes, lambda v: type(v) is bytes),
    "proposals": (_is_number, _is_text, _maybe(_is_real), _is_time),
    "results": (_is_number, _is_text, _maybe(_is_real), _is_text, _is_time),
}

# Tests of the values in the table `search`, by name or by the first word of the name.
_SEARCH: dict[str, Test] = {
    "seed": lambda v: type(v) is str and bool(re.fullmatch("-?[0-9]{1,1000}", v)),
    "n_points": lambda v: _is_number(v) and v > 0,
    "created": _is_time,
    "facts": _is_text,
    "stage": _is_number,
    "run": _is_time,
}


def check_row(table: str, row: tuple) -> None:
    """Check the columns of a row."""
    if table == "search":
        name, value = row
        known = type(name) is str and re.fullmatch("([a-z_]+)( [0-9]{1,9})?", name)
        numbered = known and known[1] in ("stage", "run")
        if not known or known[1] not in _SEARCH or (known[2] is not None) != numbered:
            raise ValueError(f"{excerpt(name)} is not the name of a fact")
        columns = [(_SEARCH[known[1]], value)]
    else:
        columns = list(zip(_COLUMNS[table], row, strict=True))
    for test, value in columns:
        if not test(value):
            raise ValueError(f"{excerpt(value)} is not a valid value")


def check_number(number: int, place: int) -> None:
    """Check that rows of a table are numbered from 0 without gaps."""
    if number != place:
        raise ValueError(f"number {place} is missing")


# -- texts of JSON ----------------------------------------------------------------


def _parse(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError("lists are nested too deeply") from error
    if type(value) is not dict:
        raise ValueError(f"{excerpt(text)} is not a dict")
    return value


def _check_fields(value: Any, tests: Mapping[str, Test], needed: Iterable[str]) -> None:
    if type(value) is not dict:
        raise ValueError(f"{excerpt(value)} is not a dict")
    for name in needed:
        if name not in value:
            raise ValueError(f"{name!r} is missing")
    for name, field in value.items():
        if name not in tests:
            raise ValueError(f"{excerpt(name)} is not the name of a field")
        if not tests[name](field):
            raise ValueError(f"{name!r} has the invalid value {excerpt(field)}")


def _is_outline(value: Any) -> bool:
    """Return whether a value is plain JSON of limited depth.

    Readers of spaces omit values that are not spaces for other reasons.
    """
    layer = [value]
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for one in layer:
            if type(one) is dict:
                inner += one.values()
            elif type(one) is list:
                inner += one
            elif not (_is_plain(one) or _is_text(one)):
                return False
        if not inner:
            return type(value) is list
        layer = inner
    return False


_FACTS: dict[str, Test] = {
    "search": _is_text,
    "scoring": _maybe(_is_setting),
    "target_metric": _maybe(_is_setting),
    "objectives": _dict_of(lambda v: v in ("max", "min")),
    "settings": _dict_of(_is_setting),
    "chooses_train_size": _is_bool,
    "space": _maybe(_is_outline),
}


def parse_facts(text: str) -> dict[str, Any]:
    """Return the facts about a search."""
    facts = _parse(text)
    _check_fields(facts, _FACTS, needed=())
    return facts


_OPTION: dict[str, Test] = {
    "column": _is_number,
    "option": _is_number,
    "position": lambda v: _is_real(v) and 0 <= v <= 1,
    "value": _is_plain,
    "text": _is_short,
}


def parse_params(text: str) -> dict[str, Any]:
    """Return the configuration of a trial in the format of `json_params`."""
    record = _parse(text)
    if len(record) > MAX_PARAMETERS:
        raise ValueError(f"it has too many parameters: {len(record)}")
    for name, entry in record.items():
        if type(entry) is not dict:
            if not _is_real(entry):
                raise ValueError(
                    f"parameter {excerpt(name)} has the invalid value {excerpt(entry)}"
                )
            continue
        _check_fields(entry, _OPTION, needed=["column"])
        for one, other in (("option", "position"), ("value", "text")):
            if (one in entry) == (other in entry):
                raise ValueError(
                    f"parameter {excerpt(name)} needs {one!r} or {other!r}"
                )
    return record


_FOLD_EXTRAS: dict[str, Test] = {
    "costs": _dict_of(_is_score),
    "warm_up": _is_bool,
    "outcomes": _dict_of(_is_score),
    "shared_time": _is_real,
    "curves": _dict_of(_curve),
    "train_curves": _dict_of(_curve),
    "outcome_curves": _dict_of(_curve),
    "max_rounds": _is_count,
}

_CURVES = {"curves", "train_curves", "outcome_curves"}

_TRIAL_EXTRAS: dict[str, Test] = {"violation": _is_real, "rounds": _is_count}


def _are_extras(value: Any, known: Mapping[str, Test]) -> bool:
    """Return whether values of aspects are valid; unknown names have numbers."""
    return (
        _dict_of(lambda v: True)(value)
        and all(known.get(name, _is_real)(given) for name, given in value.items())
        and ("max_rounds" in value or not _CURVES & value.keys())
    )


_FOLD: dict[str, Test] = {
    "test_scores": _dict_of(_is_score),
    "fit_time": _is_real,
    "score_time": _is_real,
    "n_test_samples": _is_count,
    "train_scores": _maybe(_dict_of(_is_score)),
    "fit_error": _maybe(_is_text),
    "skipped": _is_bool,
    "extras": lambda v: _are_extras(v, _FOLD_EXTRAS),
}

_TRIAL: dict[str, Test] = {
    "folds": lambda v: type(v) is list,
    "score": _is_real,
    "duration": _is_real,
    "state": lambda v: type(v) is str and v in list(TrialState),
    "error": _maybe(_is_text),
    "stop_requested": _is_bool,
    "expected_improvement": _maybe(_is_real),
    "noise": _maybe(_is_real),
    "stage": _is_number,
    "train_fraction": lambda v: _is_real(v) and 0 < v <= 1,
    "subset": _is_number,
    "started": _maybe(_is_time),
    "extras": lambda v: _are_extras(v, _TRIAL_EXTRAS),
}


def parse_details(text: str) -> dict[str, Any]:
    """Return the fields of a finished trial."""
    details = _parse(text)
    _check_fields(details, _TRIAL, needed=["folds", "score", "state"])
    for fold in details["folds"]:
        _check_fields(fold, _FOLD, needed=["test_scores"])
    kept = [fold.get("train_scores") is not None for fold in details["folds"]]
    if any(kept) and not all(kept):
        raise ValueError("some folds have no 'train_scores'")
    return details


def check_folds(details: Mapping[str, Any], n_splits: int) -> None:
    """Check that a finished trial has one result for each split."""
    if len(details["folds"]) != n_splits:
        raise ValueError(f"{len(details['folds'])} folds for {n_splits} splits")


def check_metrics(finished: Iterable[Mapping[str, Any]]) -> None:
    """Check that the trials of a journal have the same metrics.

    A failed fold may have no scores.
    """
    folds = [fold for one in finished for fold in one["folds"]]
    for kind in ("test_scores", "train_scores"):
        scores = [fold.get(kind) or {} for fold in folds]
        names = {frozenset(by_metric) for by_metric in scores if by_metric}
        if len(names) > 1:
            raise ValueError(f"its trials have different metrics in {kind!r}")
        if sum(map(len, names)) * len(scores) > max(
            MAX_CELLS, 2 * sum(map(len, scores))
        ):
            raise ValueError("most of its folds have no scores")


def check_parameters(records: Sequence[Mapping[str, Any]]) -> None:
    """Check that the trials do not have too many hyper-parameters in total."""
    names: set[str] = set().union(*records)
    if len(names) * len(records) > max(MAX_CELLS, 100 * sum(map(len, records))):
        raise ValueError(f"its trials have too many parameters: {len(names)}")


# -- splits -----------------------------------------------------------------------


def unpack_split(
    data: bytes, max_items: int, n_samples: int | None = None
) -> np.ndarray:
    """Return the indices or the mask that `pack_split` compressed.

    ValueError if there are more than `max_items`, or if some are outside of `n_samples`
    rows.
    """
    # NumPy's header has up to 2 ** 16 bytes.
    max_bytes = 2**16 + 8 * max_items
    unzipping = zlib.decompressobj()
    file = io.BytesIO(unzipping.decompress(data, max_bytes))
    if not unzipping.eof:
        raise ValueError(f"it has more than {max_items} items, or is truncated")
    array = _array(file)
    if len(array) > max_items:
        raise ValueError(f"it has {len(array)} items, more than {max_items}")
    if array.dtype.kind != "b":
        array = np.cumsum(array, dtype=array.dtype)
    if n_samples is not None and array.size:
        if array.dtype.kind == "b":
            fits = len(array) == n_samples
        else:
            fits = -n_samples <= array.min() and array.max() < n_samples
        if not fits:
            raise ValueError(f"it does not fit {n_samples} samples")
    return array


def _array(file: io.BytesIO) -> np.ndarray:
    """Read one row of numbers from a NumPy file, without reading other arrays."""
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("it has another version of NumPy's format")
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    data = file.read()
    if dtype.kind not in "iub" or len(shape) != 1:
        raise ValueError("it is not an array of indices or a mask")
    if shape[0] * dtype.itemsize != len(data):
        raise ValueError("its length differs from that in its header")
    return np.frombuffer(data, dtype=dtype).copy()
