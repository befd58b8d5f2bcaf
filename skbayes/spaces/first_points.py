"""Configurations to begin a search with: the portfolios of the parts of an estimator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from skbayes.space import Ordinal, Space
from skbayes.space.dimensions import Dimension, is_number
from skbayes.space.space import key_of
from skbayes.spaces.knowledge import Library, knowledge_of
from skbayes.spaces.parts import Part

__all__ = ["first_points"]

Params = dict[str, Any]


def first_points(
    parts: Iterable[Part],
    space: Space,
    own: Mapping[str, Any],
    known: Library | None = None,
) -> list[Params]:
    """Return the portfolio of an estimator as configurations of a space.

    Number k has the values of number k of each part that is known. All other parameters,
    and those with a value outside of the space, keep the estimator's own value.

    Parameters
    ----------
    parts : iterable of Part
        Parts of the estimator.
    space : Space
        The search space, the default one or a user's.
    own : dict
        The estimator's own values by full names, as they are in the space.
    known : dict, default=None
        What is known, by class; None: all that was learned.

    Returns
    -------
    points : list of dict
        Distinct configurations that the space allows, best first, each with at least one
        value that is learned; empty if nothing is known.
    """
    portfolios = []
    for part in parts:
        knowledge = knowledge_of(part, known)
        if knowledge is not None:
            unit = part.facts.y_scale
            scaled = knowledge.get("y_scaled", ())
            portfolios.append(
                [
                    {
                        part.prefix + name: value * unit if name in scaled else value
                        for name, value in point.items()
                    }
                    for point in knowledge["portfolio"]
                ]
            )
    points: list[Params] = []
    seen: set[bytes] = set()
    for k in range(max(map(len, portfolios), default=0)):
        learned: Params = {}
        for portfolio in portfolios:
            learned |= portfolio[min(k, len(portfolio) - 1)]
        point = _inside(space, learned, own)
        if point is None:
            continue
        key = key_of(space.encode([point])[0])
        if key not in seen and space.allows(point):
            seen.add(key)
            points.append(point)
    return points


def _inside(
    space: Space, learned: Mapping[str, Any], own: Mapping[str, Any]
) -> Params | None:
    """Return the configuration with learned values where these are inside, or None."""
    row = np.full(space.n_columns, np.nan)
    n_learned = 0
    todo = list(space.tree)
    while todo:
        place, options = todo.pop()
        column = space.columns[place]
        position, is_learned = _position(column.dimension, column.name, learned, own)
        if position is None:
            return None
        row[place] = position
        n_learned += is_learned
        if options:
            chosen = column.dimension.place(np.array([position]))  # type: ignore[attr-defined]
            todo += options[int(chosen[0])]
    return space.decode(row[None])[0] if n_learned else None


def _position(
    dimension: Dimension,
    name: str | None,
    learned: Mapping[str, Any],
    own: Mapping[str, Any],
) -> tuple[float | None, bool]:
    """Return the position of a parameter's value, and whether it is the learned one."""
    if name is None:  # the first of several dicts
        return float(dimension.grid[0]), False
    for values, is_learned in ((learned, True), (own, False)):
        if name in values:
            value = _nearest(dimension, values[name]) if is_learned else values[name]
            if dimension.contains(value):
                return float(dimension.encode([value])[0]), is_learned
    return None, False


def _nearest(dimension: Dimension, value: Any) -> Any:
    """Return the value of a list of numbers that is nearest, if it lies among them."""
    if isinstance(value, list):
        return tuple(value)
    if not isinstance(dimension, Ordinal) or not is_number(value):
        return value
    numbers = [v for v in dimension.values if is_number(v)]
    if not numbers or not numbers[0] <= value <= numbers[-1]:
        return value
    if numbers[0] > 0:
        return min(numbers, key=lambda v: abs(np.log(v / value)))
    return min(numbers, key=lambda v: abs(v - value))
