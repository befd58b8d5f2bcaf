"""Search spaces as plain JSON.

An outline is a list of entries. Each entry is a dict with the `name` of the
hyper-parameter and a `kind`:

- "Real" and "Integer" with `low`, `high` and `prior`;
- "Ordinal" with `values` and `scale`, and "Categorical" with `values`. Each value is a
  dict with the `value`, or a `text` instead of an object;
- "Choice" with `values` and, for each value, the outline that it `opens`. A choice
  without a name is the choice among the dicts of a list.

Objects become texts and constraints are omitted. A space that is read again is
therefore suitable for axes and models of a journal's trials, but not for proposals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from skbayes.journal.json_params import readable, shown
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
from skbayes.space.lists import Progression

__all__ = ["from_outline", "to_outline"]

# Maximum number of values of an Integer on either scale.
MAX_INTEGERS = 2**43

Outline = list[dict[str, Any]]


def to_outline(space: Space) -> Outline | None:
    """Return the outline of a space; None if a dimension cannot be described."""

    def branch(tree: Sequence[tuple[int, list]]) -> Outline:
        return [entry(place, options) for place, options in tree]

    def entry(place: int, options: list) -> dict[str, Any]:
        column = space.columns[place]
        outline = {"name": column.name, **_of_dimension(column.dimension)}
        if options:
            outline |= {"kind": "Choice", "opens": [branch(one) for one in options]}
        return outline

    try:
        return branch(space.tree)
    except TypeError:
        return None


def _of_dimension(dimension: Dimension) -> dict[str, Any]:
    kind = type(dimension).__name__
    if isinstance(dimension, Real | Integer):
        ends = {"low": dimension.low, "high": dimension.high}
        return {"kind": kind, **ends, "prior": dimension.prior}
    if isinstance(dimension, Ordinal | Categorical):
        outline = {"kind": kind, "values": list(map(shown, dimension.values))}
        if isinstance(dimension, Ordinal):
            outline["scale"] = dimension.scale
        return outline
    if isinstance(dimension, Distribution):
        return _of_distribution(dimension)
    if isinstance(dimension, Progression):
        return _range(dimension.steps[0], dimension.steps[-1], dimension)
    raise TypeError(f"{dimension!r} has no outline")


def _of_distribution(dimension: Distribution) -> dict[str, Any]:
    """Return the range with the same bounds."""
    low, high = (float(end) for end in dimension.distribution.support())
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise TypeError(f"{dimension!r} has no outline")
    return _range(low, high, dimension)


def _range(low: float, high: float, dimension: Dimension) -> dict[str, Any]:
    """Return a range between the bounds of a dimension, on the more similar scale."""
    whole = math.isfinite(dimension.n_values) and high - low < MAX_INTEGERS
    return {
        "kind": "Integer" if whole else "Real",
        "low": int(low) if whole else low,
        "high": int(high) if whole else high,
        "prior": "log-uniform" if low > 0 and dimension.is_log else "uniform",
    }


def from_outline(outline: Any) -> Space:
    """Return the space of an outline, with texts instead of objects.

    ValueError for anything else, and if two options have the same text.
    """
    try:
        return Space.from_notation(_notation(outline))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"not the outline of a space: {error!r}") from error


def _notation(outline: Outline) -> Any:
    """Return the notation of a space."""
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
