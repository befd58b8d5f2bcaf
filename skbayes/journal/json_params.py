"""Configurations as plain JSON: numbers exactly, options by their place in the list.

A record maps each parameter's name to a number, or, for a dimension that is a list of
values, to a dict: the `column` of the space, the place of the `option` in its list, and
for the reader's eye the `value`, or a short `text` if it is no plain value. Arbitrary
objects thus never leave the process, and reading a record makes none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from skbayes.space.dimensions import Dimension, is_number
from skbayes.space.equality import same
from skbayes.space.space import Params, Space

__all__ = ["adapt_record", "from_record", "readable", "shown", "to_record"]

# Texts that stand for objects, and strings shown as they are, are no longer than this.
MAX_TEXT = 120


def to_record(space: Space, params: Mapping[str, Any]) -> dict[str, Any]:
    """Turn a configuration into a record.

    Parameters
    ----------
    space : Space
        The space it belongs to.
    params : dict
        The configuration.

    Returns
    -------
    record : dict
        What JSON can hold, by parameter.

    Raises
    ------
    ValueError
        If it is not a configuration of the space; the message names the parameter.
    """
    own = space.canonicalize(params)
    row = space.encode([own])[0]
    entries = {}
    for place, (column, position) in enumerate(zip(space.columns, row, strict=True)):
        if column.name is not None and not math.isnan(position):
            value = own[column.name]
            entries[column.name] = _entry(place, column.dimension, value, position)
    return {name: entries[name] for name in own}


def _entry(place: int, dimension: Dimension, value: Any, position: float) -> Any:
    if hasattr(dimension, "index"):
        option = dimension.index(value)
        return {"column": place, "option": option, **shown(value)}
    if is_number(value):
        return value
    return {"column": place, "position": float(position), **shown(value)}


def shown(value: Any) -> dict[str, Any]:
    """Return what a reader sees of an option.

    Parameters
    ----------
    value : object
        The option.

    Returns
    -------
    entry : dict
        What :func:`readable` understands: the `value`, or a `text` in its place.
    """
    return {"value": value} if _is_plain(value) else {"text": _short_text(value)}


def _is_plain(value: Any) -> bool:
    """Whether a value is short and the same in every reader of JSON."""
    if type(value) is str:
        return len(value) <= MAX_TEXT
    if type(value) is float:
        return math.isfinite(value)
    return value is None or (type(value) in (bool, int) and abs(value) < 2**63)


def _short_text(value: Any) -> str:
    """Describe any object in one short line, without its address in memory."""
    try:
        name = getattr(value, "__qualname__", None)
        text = name if isinstance(name, str) else " ".join(repr(value).split())
    except Exception:  # somebody else's __repr__
        text = f"<{type(value).__qualname__}>"
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def from_record(space: Space, record: Mapping[str, Any]) -> Params:
    """Turn a record back into the configuration.

    Parameters
    ----------
    space : Space
        The space whose configuration it was; options are this space's own objects.
    record : dict
        What :func:`to_record` returned.

    Returns
    -------
    params : dict
        The configuration: the same values, of the same types.

    Raises
    ------
    ValueError
        If it is no record of a configuration of this space.
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
    """Find the configuration of another space that a record stands for.

    Parameters
    ----------
    space : Space
        The space that it should belong to. It need not be the one that the record is
        from: plain values are looked for by themselves, other options by their texts.
    record : dict
        What :func:`to_record` returned, possibly for another space.

    Returns
    -------
    params : dict or None
        The configuration; None if the space has none such, or if the text of an option
        fits several.
    """
    params = {}
    for name, entry in record.items():
        if not isinstance(entry, Mapping):
            params[name] = entry
        elif "value" in entry:
            params[name] = entry["value"]
        else:
            found = _options_with_text(space, name, entry.get("text"))
            if len(found) != 1:
                return None
            params[name] = found[0]
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
    """Return what to show of one parameter of a record.

    Parameters
    ----------
    entry : object
        What a record holds for the parameter.

    Returns
    -------
    value : int, float, bool, str or None
        The value, or a short text in place of an object.
    """
    if not isinstance(entry, Mapping):
        return entry
    return entry["value"] if "value" in entry else entry.get("text")
