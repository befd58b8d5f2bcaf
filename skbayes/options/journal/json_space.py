"""Configurations and splits as plain JSON; no object is created.

A record maps the name of each hyper-parameter to its value, or to a dict with a short
`text` if the value is not plain. The row of the configuration, its encoded positions
with None in inactive columns, determines which object of the search space is meant.

A split is a compressed text.
"""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any

import numpy as np

from skbayes.space import Space
from skbayes.space.candidates import Configuration
from skbayes.space.dimensions import is_number
from skbayes.space.lists import distinct, same
from skbayes.space.space import Params

# Maximum length of texts that represent objects, and of strings shown in full.
MAX_TEXT = 120

Record = dict[str, Any]
EncodedRow = list[float | None]


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
    """Return the configuration of a record and its row; ValueError if they differ."""
    X = np.array([row], dtype=float)
    names = space.parameter_names
    numbers = {n: record[n] if is_number(record.get(n)) else math.nan for n in names}
    plain = {name: entry for name, entry in record.items() if not _is_text(entry)}
    if X.shape[1] == space.n_columns and (space.active(X) == ~np.isnan(X)).all():
        params = space.canonicalize_row(numbers, X[0])
        space.encode([params])
        has_names = params.keys() == record.keys()
        if has_names and same(plain, {name: params[name] for name in plain}):
            return params
    raise ValueError(f"not a record of this space: {record!r}")


def adapt_record(space: Space, record: Record) -> Params:
    """Return a record in which texts are replaced by the objects of a space.

    A text that stands for no object or several remains a dict, which is outside of any
    space.
    """
    return {name: _object_of(space, name, entry) for name, entry in record.items()}


def readable(entry: Any) -> Any:
    """Return one entry of a record for display: its value or a short text."""
    return entry["text"] if _is_text(entry) else entry


def _object_of(space: Space, name: str, entry: Any) -> Any:
    columns = [c for c in space.columns if c.name == name and _is_text(entry)]
    values = [v for c in columns for v in getattr(c.dimension, "values", ())]
    objects = distinct(v for v in values if _short_text(v) == entry["text"])
    return objects[0] if len(objects) == 1 else entry


def _is_text(entry: Any) -> bool:
    return isinstance(entry, dict)


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
    # Most differences of ascending indices are equal, so they compress well.
    steps = np.diff(rows_of(indices).astype("<i8"), prepend=0)
    return base64.b85encode(zlib.compress(steps.tobytes(), level=1)).decode()


def unpack_split(text: str) -> np.ndarray:
    """Return the indices of a packed split."""
    steps = np.frombuffer(zlib.decompress(base64.b85decode(text)), "<i8")
    return np.cumsum(steps, dtype=np.intp)
