"""Configurations as plain JSON: numbers exactly, options by their positions.

A record maps the name of each hyper-parameter to a number or a dict. The dict is for a
dimension that is a list of values, and has the `column` of the space and the position
of the `option` in its list. It also has the `value` for readers, or a short `text` if
it is not a plain value. No object is written, and reading a record creates none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from skbayes.space import Dimension, Space
from skbayes.space.configuration import Configuration
from skbayes.space.dimensions import is_number
from skbayes.space.equality import same
from skbayes.space.space import Params

__all__ = [
    "adapt_record",
    "from_record",
    "readable",
    "readable_by",
    "shown",
    "to_record",
]

# Maximum length of texts that represent objects, and of strings shown in full.
MAX_TEXT = 120


def to_record(
    space: Space, params: Mapping[str, Any] | Configuration
) -> dict[str, Any]:
    """Return a configuration of the space as a record, or raise a ValueError."""
    configuration = Configuration.of(space, params)
    entries = {}
    for place, position in enumerate(configuration.row.tolist()):
        name, dimension = space.columns[place].name, space.columns[place].dimension
        if name is not None and not math.isnan(position):
            value = configuration.params[name]
            entries[name] = _entry(place, dimension, value, position)
    return {name: entries[name] for name in configuration.params}


def _entry(place: int, dimension: Dimension, value: Any, position: float) -> Any:
    if hasattr(dimension, "values") and hasattr(dimension, "index"):
        option = dimension.index(value)
        return {"column": place, "option": option, **shown(value)}
    if is_number(value):
        return value
    return {"column": place, "position": position, **shown(value)}


def shown(value: Any) -> dict[str, Any]:
    """Return the readable form of an option: its `value` or a short `text`."""
    return {"value": value} if _is_plain(value) else {"text": _short_text(value)}


def _is_plain(value: Any) -> bool:
    """Return whether a value is short and the same in every reader of JSON."""
    if type(value) is str:
        return len(value) <= MAX_TEXT
    if type(value) is float:
        return math.isfinite(value)
    return value is None or (type(value) in (bool, int) and abs(value) < 2**63)


def _short_text(value: Any) -> str:
    """Describe any object in one short line, without its memory address."""
    try:
        name = getattr(value, "__qualname__", None)
        text = name if isinstance(name, str) else " ".join(repr(value).split())
    except Exception:  # raised by the object's own __repr__
        text = f"<{type(value).__qualname__}>"
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def from_record(space: Space, record: Mapping[str, Any]) -> Params:
    """Return the configuration of a record, with the options of `space`.

    ValueError for a record of another space.
    """
    params = {name: _value(space, name, entry) for name, entry in record.items()}
    own = space.canonicalize(params)
    if not all(same(own[name], params[name]) for name in own):
        raise ValueError(f"not a record of this space: {dict(record)!r}")
    return own


def _value(space: Space, name: str, entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    place, option = entry.get("column"), entry.get("option")
    if type(place) is not int or not 0 <= place < space.n_columns:
        raise ValueError(f"Parameter {name!r}: the space has no column {place!r}.")
    column = space.columns[place]
    if column.name != name:
        raise ValueError(f"Parameter {name!r} is not in column {place}.")
    if "position" in entry and is_number(entry["position"]):
        return column.dimension.decode(np.array([entry["position"]], dtype=float))[0]
    values = getattr(column.dimension, "values", ())
    if type(option) is not int or not 0 <= option < len(values):
        raise ValueError(f"Parameter {name!r} has no option {option!r}.")
    return values[option]


def adapt_record(space: Space, record: Mapping[str, Any]) -> Params | None:
    """Return the configuration of any space that equals a record, or None.

    Plain values are compared directly, other options by their texts. Each text must
    match exactly one option.
    """
    params = {}
    for name, entry in record.items():
        if isinstance(entry, Mapping) and "value" not in entry:
            found = _options_with_text(space, name, entry.get("text"))
            if len(found) != 1:
                return None
            params[name] = found[0]
        else:
            params[name] = readable(entry)
    try:
        return space.canonicalize(params)
    except ValueError:
        return None


def _options_with_text(space: Space, name: str, text: Any) -> list[Any]:
    found: list[Any] = []
    for column in space.columns:
        if column.name != name:
            continue
        for value in getattr(column.dimension, "values", ()):
            fits = _short_text(value) == text
            if fits and not any(same(value, other) for other in found):
                found.append(value)
    return found


def readable(entry: Any) -> Any:
    """Return one entry of a record for display: its value or a short text."""
    if not isinstance(entry, Mapping):
        return entry
    return entry["value"] if "value" in entry else entry.get("text")


def readable_by(space: Space, name: str, entry: Any) -> Any:
    """Return the value of one entry of a record in any space, or a text."""
    if isinstance(entry, Mapping) and "value" not in entry:
        found = _options_with_text(space, name, entry.get("text"))
        if len(found) == 1:
            return found[0]
    return readable(entry)
