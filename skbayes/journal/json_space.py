"""Configurations, search spaces and splits as plain JSON; no object is created.

A record maps the name of each hyper-parameter to its value, or to a dict with a short
`text` if the value is not plain. The row of the configuration, its encoded positions
with None in inactive columns, determines which object of the search space is meant.

An outline is a list of entries. Each entry is a dict with the `name` of the
hyper-parameter and a `kind`:

- "Real" and "Integer" with `low`, `high` and `prior`;
- "Ordinal" with `values` and `scale`, and "Categorical" with `values`, as in a record;
- "Choice" with `values` and, for each value, the outline that it `opens`. A choice
  without a name is the choice among the dicts of a list.

Constraints are omitted. A space that is read again is therefore suitable for axes and
models of a journal's trials, but not for proposals.

A split is a compressed text.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from skbayes.space import (
    Categorical,
    Choice,
    Dimension,
    Distribution,
    Integer,
    Ordinal,
    Real,
    Space,
)
from skbayes.space.candidates import Configuration
from skbayes.space.dimensions import is_number
from skbayes.space.lists import Progression, same
from skbayes.space.space import Params

# Maximum length of texts that represent objects, and of strings shown in full.
MAX_TEXT = 120

# Maximum number of values of an Integer on either scale.
MAX_INTEGERS = 2**43

Record = dict[str, Any]
EncodedRow = list[float | None]
Outline = list[dict[str, Any]]


# -- records ----------------------------------------------------------------------


def to_record(configuration: Configuration) -> tuple[Record, EncodedRow]:
    """Return the record and the row of a configuration."""
    record = {name: _shown(value) for name, value in configuration.params.items()}
    row = [None if math.isnan(x) else x for x in configuration.row.tolist()]
    return record, row


def _shown(value: Any) -> Any:
    """Return a plain value unchanged, and a short text for any other value."""
    plain = value is None or type(value) is bool
    plain = plain or (type(value) is str and len(value) <= MAX_TEXT)
    plain = plain or (type(value) is float and math.isfinite(value))
    plain = plain or (type(value) is int and abs(value) < 2**63)
    return value if plain else {"text": _short_text(value)}


def _short_text(value: Any) -> str:
    """Describe any object in one short line, without its memory address."""
    try:
        name = getattr(value, "__qualname__", None)
        text = name if isinstance(name, str) else " ".join(repr(value).split())
    except Exception:  # raised by the object's own __repr__
        text = f"<{type(value).__qualname__}>"
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def from_record(space: Space, record: Record, row: EncodedRow) -> Params:
    """Return the configuration of a record and row, or a ValueError if they differ."""
    X = np.array([row], dtype=float)
    names = space.parameter_names
    numbers = {n: record[n] if is_number(record.get(n)) else math.nan for n in names}
    plain = {name: entry for name, entry in record.items() if not _is_text(entry)}
    if X.shape[1] == space.n_columns and (space.active(X) == ~np.isnan(X)).all():
        params = space.canonicalize_row(numbers, X[0])
        space.encode([params])
        known = params.keys() == record.keys()
        if known and same(plain, {name: params[name] for name in plain}):
            return params
    raise ValueError(f"not a record of this space: {record!r}")


def adapt_record(space: Space, record: Record) -> Params | None:
    """Return the configuration of any space that equals a record, or None."""
    params = {name: readable_by(space, name, record[name]) for name in record}
    if any(_is_text(e) and params[n] is e["text"] for n, e in record.items()):
        return None
    try:
        return space.canonicalize(params)
    except ValueError:
        return None


def readable(entry: Any) -> Any:
    """Return one entry of a record for display: its value or a short text."""
    return entry["text"] if _is_text(entry) else entry


def readable_by(space: Space, name: str, entry: Any) -> Any:
    """Return the value of one entry of a record in any space, or a text."""
    found: list[Any] = []
    for column in space.columns if _is_text(entry) else []:
        if column.name == name:
            for value in getattr(column.dimension, "values", ()):
                if _short_text(value) == entry["text"]:
                    found += [] if any(same(value, x) for x in found) else [value]
    return found[0] if len(found) == 1 else readable(entry)


def _is_text(entry: Any) -> bool:
    return isinstance(entry, dict)


# -- outlines ---------------------------------------------------------------------


def to_outline(space: Space) -> Outline | None:
    """Return the outline of a space; None if a dimension cannot be described."""

    def branch(tree: Sequence[tuple[int, list]]) -> Outline:
        outline = []
        for place, options in tree:
            column = space.columns[place]
            entry = {"name": column.name, **_entry_of(column.dimension)}
            if options:
                entry |= {"kind": "Choice", "opens": [*map(branch, options)]}
            outline.append(entry)
        return outline

    try:
        return branch(space.tree)
    except TypeError:
        return None


def _entry_of(dimension: Dimension) -> dict[str, Any]:
    kind = {"kind": type(dimension).__name__}
    if isinstance(dimension, Real | Integer):
        return kind | {n: getattr(dimension, n) for n in ("low", "high", "prior")}
    if isinstance(dimension, Ordinal | Categorical):
        scale = {"scale": dimension.scale} if isinstance(dimension, Ordinal) else {}
        return kind | {"values": list(map(_shown, dimension.values))} | scale
    low, high = math.nan, math.nan
    if isinstance(dimension, Progression):
        low, high = dimension.steps[0], dimension.steps[-1]
    elif isinstance(dimension, Distribution):
        low, high = (float(end) for end in dimension.distribution.support())
    if not -math.inf < low < high < math.inf:
        raise TypeError(f"{dimension!r} has no outline")
    # A range with the same bounds, on the more similar scale.
    whole = math.isfinite(dimension.n_values) and high - low < MAX_INTEGERS
    return {
        "kind": "Integer" if whole else "Real",
        "low": int(low) if whole else low,
        "high": int(high) if whole else high,
        "prior": "log-uniform" if low > 0 and dimension.is_log else "uniform",
    }


def from_outline(outline: Any) -> Space:
    """Return the space of an outline, with texts instead of objects."""
    try:
        return Space.from_notation(_notation(outline))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"not the outline of a space: {error!r}") from error


def _notation(outline: Outline) -> Any:
    if len(outline) == 1 and outline[0]["name"] is None:
        return [_notation(branch) for branch in outline[0]["opens"]]
    return {entry["name"]: _dimension(entry) for entry in outline}


def _dimension(entry: dict[str, Any]) -> Any:
    kind = entry["kind"]
    if kind in ("Real", "Integer"):
        cls = Real if kind == "Real" else Integer
        return cls(entry["low"], entry["high"], entry["prior"])
    values = [readable(value) for value in entry["values"]]
    if kind == "Choice":
        opened = map(_notation, entry["opens"])
        return Choice(list(zip(values, opened, strict=True)))
    ordered = kind == "Ordinal"
    listed = Ordinal(values, entry["scale"]) if ordered else Categorical(values)
    if listed.repeated:
        raise ValueError(f"two options have the same text: {listed.repeated[0]!r}")
    return listed


# -- splits -----------------------------------------------------------------------


def rows_of(indices: Any) -> np.ndarray:
    """Return the indices of a split; TypeError unless it has indices or a mask."""
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
