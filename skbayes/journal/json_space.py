"""A space as plain JSON, for whoever looks at a search from outside.

An outline is a list of entries, each a dict with the parameter's `name` and a `kind`:

- "Real" and "Integer" with `low`, `high` and `prior`;
- "Ordinal" with `values` and `scale`, "Categorical" with `values`, of which each is a
  dict with the `value`, or a `text` in place of an object;
- "Choice" with `values` and, for each of them, the outline that it `opens`. One without
  a name is the choice among the dicts of a list.

Objects thus become texts, and constraints are left out: what is read again serves for
axes and models of the trials of a journal, whose objects are texts too, not for
proposing any.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from skbayes.journal.json_params import readable, shown
from skbayes.space.dimensions import (
    Categorical,
    Choice,
    Dimension,
    Integer,
    Ordinal,
    Real,
)
from skbayes.space.distribution import Distribution
from skbayes.space.space import Space

__all__ = ["from_outline", "to_outline"]

Outline = list[dict[str, Any]]


def to_outline(space: Space) -> Outline | None:
    """Turn a space into an outline.

    Parameters
    ----------
    space : Space
        The space.

    Returns
    -------
    outline : list of dict or None
        What JSON can hold; None if there is a dimension that has none, such as a
        distribution without bounds.
    """

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
    if isinstance(dimension, Real | Integer):
        ends = {"low": dimension.low, "high": dimension.high}
        return {"kind": type(dimension).__name__, **ends, "prior": dimension.prior}
    if isinstance(dimension, Ordinal):
        values = [shown(value) for value in dimension.values]
        return {"kind": "Ordinal", "values": values, "scale": dimension.scale}
    if isinstance(dimension, Categorical):
        return {"kind": "Categorical", "values": list(map(shown, dimension.values))}
    if isinstance(dimension, Distribution):
        return _of_distribution(dimension)
    raise TypeError(f"{dimension!r} has no outline")


def _of_distribution(dimension: Distribution) -> dict[str, Any]:
    """Return the range with these bounds, on the scale that is nearer."""
    low, high = (float(end) for end in dimension.distribution.support())
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise TypeError(f"{dimension!r} has no outline")
    whole = math.isfinite(dimension.n_values)
    (middle,) = dimension.decode(np.array([0.5]))
    log = low > 0 and abs(middle - math.sqrt(low * high)) < abs(
        middle - 0.5 * (low + high)
    )
    return {
        "kind": "Integer" if whole else "Real",
        "low": int(low) if whole else low,
        "high": int(high) if whole else high,
        "prior": "log-uniform" if log else "uniform",
    }


def from_outline(outline: Any) -> Space:
    """Turn an outline into a space, in which texts stand for objects.

    Parameters
    ----------
    outline : list of dict
        What :func:`to_outline` returned.

    Returns
    -------
    space : Space
        A space of the same structure.

    Raises
    ------
    ValueError
        If it is no outline, or if two options have the same text.
    """
    try:
        return Space.from_notation(_notation(outline))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"not the outline of a space: {error!r}") from error


def _notation(outline: Outline) -> Any:
    """Return what a user would write."""
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
    if kind == "Ordinal":
        listed: Ordinal | Categorical = Ordinal(values, entry["scale"])
    else:
        listed = Categorical(values)
    if listed.repeated:
        raise ValueError(f"two options have the same text: {listed.repeated[0]!r}")
    return listed
