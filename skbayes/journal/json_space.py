"""Configurations and search spaces as plain JSON; no object is written or created.

A record maps the name of each hyper-parameter to a number or a dict. The dict is for a
dimension that is a list of values, and has the `column` of the space and the position
of the `option` in its list. It also has the `value` for readers, or a short `text` if
it is not a plain value.

An outline is a list of entries. Each entry is a dict with the `name` of the
hyper-parameter and a `kind`:

- "Real" and "Integer" with `low`, `high` and `prior`;
- "Ordinal" with `values` and `scale`, and "Categorical" with `values`. Each value is a
  dict with the `value`, or a `text` instead of an object;
- "Choice" with `values` and, for each value, the outline that it `opens`. A choice
  without a name is the choice among the dicts of a list.

Constraints are omitted. A space that is read again is therefore suitable for axes and
models of a journal's trials, but not for proposals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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

__all__ = [
    "MAX_TEXT",
    "adapt_record",
    "from_outline",
    "from_record",
    "readable",
    "readable_by",
    "to_outline",
    "to_record",
]

# Maximum length of texts that represent objects, and of strings shown in full.
MAX_TEXT = 120

# Maximum number of values of an Integer on either scale.
MAX_INTEGERS = 2**43

Outline = list[dict[str, Any]]


# -- records ----------------------------------------------------------------------


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
        return {"column": place, "option": dimension.index(value), **_shown(value)}
    if is_number(value):
        return value
    return {"column": place, "position": position, **_shown(value)}


def _shown(value: Any) -> dict[str, Any]:
    """Return the readable form of an option: its `value` or a short `text`."""
    plain = value is None or type(value) is bool
    plain = plain or (type(value) is str and len(value) <= MAX_TEXT)
    plain = plain or (type(value) is float and math.isfinite(value))
    plain = plain or (type(value) is int and abs(value) < 2**63)
    return {"value": value} if plain else {"text": _short_text(value)}


def _short_text(value: Any) -> str:
    """Describe any object in one short line, without its memory address."""
    try:
        name = getattr(value, "__qualname__", None)
        text = name if isinstance(name, str) else " ".join(repr(value).split())
    except Exception:  # raised by the object's own __repr__
        text = f"<{type(value).__qualname__}>"
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def from_record(space: Space, record: Mapping[str, Any]) -> Params:
    """Return the configuration of a record, or a ValueError for another space."""
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
    """Return the configuration of any space that equals a record, or None."""
    params = {}
    for name, entry in record.items():
        params[name] = readable_by(space, name, entry)
        if _is_text(entry) and params[name] is entry.get("text"):
            return None
    try:
        return space.canonicalize(params)
    except ValueError:
        return None


def readable(entry: Any) -> Any:
    """Return one entry of a record for display: its value or a short text."""
    if not isinstance(entry, Mapping):
        return entry
    return entry.get("value", entry.get("text"))


def readable_by(space: Space, name: str, entry: Any) -> Any:
    """Return the value of one entry of a record in any space, or a text."""
    found: list[Any] = []
    for column in space.columns if _is_text(entry) else []:
        if column.name == name:
            for value in getattr(column.dimension, "values", ()):
                if _short_text(value) == entry.get("text"):
                    found += [] if any(same(value, x) for x in found) else [value]
    return found[0] if len(found) == 1 else readable(entry)


def _is_text(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "value" not in entry


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
