"""Portfolios of known estimators: initial configurations of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skbayes.space import Ordinal, Space
from skbayes.space.dimensions import Dimension, is_number
from skbayes.space.portfolio import Portfolio
from skbayes.space.space import key_of
from skbayes.spaces.knowledge import Library, knowledge_of
from skbayes.spaces.parts import Part

__all__ = ["learned_portfolio"]

# Number of initial configurations, including the estimator's own.
N_FIRST = 4

# This parameter is missing from the space if the class sizes are equal, where it would
# have no effect.
WITHOUT_EFFECT = "class_weight"

Params = dict[str, Any]


def learned_portfolio(
    parts: Sequence[Part],
    space: Space,
    own: Mapping[str, Any],
    known: Library | None = None,
) -> Portfolio | None:
    """Return the portfolio of an estimator as configurations of a space.

    Configuration k has the values of configuration k of each part with a portfolio. All
    other parameters, and those with a number outside of the space, keep the estimator's
    own value. A configuration is omitted if it needs an option that the space does not
    contain. It is also omitted if a parameter is missing from the space and the
    configuration needs an option of it other than the estimator's.

    Parameters
    ----------
    parts : list of Part
        Parts of the estimator.
    space : Space
        Default or user-defined search space.
    own : dict
        Own values of the estimator by full name.
    known : dict, default=None
        Learned portfolios by class; None means those of the package.

    Returns
    -------
    portfolio : Portfolio or None
        None if fewer than two configurations remain.
    """
    found = [
        (part, knowledge)
        for part in parts
        if (knowledge := knowledge_of(part, known)) is not None
    ]
    n = min((len(knowledge["portfolio"]) for _, knowledge in found), default=0)
    points: dict[bytes, Params] = {}
    places = []
    for k in range(n):
        learned: Params = {}
        for part, knowledge in found:
            learned |= _full_names(knowledge["portfolio"][k], part, knowledge)
        point = _inside(space, learned, own)
        if point is None or not space.allows(point):
            continue
        key = key_of(space.encode([point])[0])
        if key not in points:
            points[key] = point
            places.append(k)
    if len(points) < 2:
        return None
    regrets = np.vstack([np.array(one["regrets"])[places].T for _, one in found])
    n_first = min(N_FIRST, len(points))
    return Portfolio(space, list(points.values()), regrets / 100.0, n_first)


def _full_names(point: Params, part: Part, knowledge: Mapping[str, Any]) -> Params:
    scaled = knowledge.get("y_scaled", ())
    return {
        part.prefix + name: value * part.facts.y_scale if name in scaled else value
        for name, value in point.items()
    }


def _inside(
    space: Space, learned: Mapping[str, Any], own: Mapping[str, Any]
) -> Params | None:
    """Return the configuration with the learned values in the space, or None."""
    values = {
        **own,
        **{k: tuple(v) if isinstance(v, list) else v for k, v in learned.items()},
    }
    for name in learned.keys() - set(space.parameter_names):
        effect = name.rpartition("__")[2] != WITHOUT_EFFECT
        if effect and not is_number(values[name]) and values[name] != own.get(name):
            return None
    dimensions: dict[str, list[Dimension]] = {}
    for column in space.columns:
        if column.name is None:
            continue
        if column.name in learned:
            dimensions.setdefault(column.name, []).append(column.dimension)
        elif column.dimension.n_values == 1:  # required by an option
            (values[column.name],) = column.dimension.decode(column.dimension.grid)
    for name, possible in dimensions.items():
        value = values[name]
        if is_number(value):
            near = [_nearest(one, value) for one in possible]
            inside = [
                v for v, one in zip(near, possible, strict=True) if one.contains(v)
            ]
            values[name] = inside[0] if inside else own.get(name)
    return space.selection(values)


def _nearest(dimension: Dimension, value: Any) -> Any:
    """Return the nearest value of a list of numbers, if the value is in its range."""
    if not isinstance(dimension, Ordinal):
        return value
    numbers = [v for v in dimension.values if is_number(v)]
    if not numbers or not numbers[0] <= value <= numbers[-1]:
        return value
    if numbers[0] > 0:
        return min(numbers, key=lambda v: abs(np.log(v / value)))
    return min(numbers, key=lambda v: abs(v - value))
