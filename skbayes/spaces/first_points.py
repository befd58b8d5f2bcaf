"""Portfolio of a known estimator: the configurations that a search begins with."""

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

# Configurations with which a search begins, the estimator's own among them.
N_FIRST = 4

# It is no parameter where the classes are of one size, and has no effect there.
WITHOUT_EFFECT = "class_weight"

Params = dict[str, Any]


def learned_portfolio(
    parts: Sequence[Part],
    space: Space,
    own: Mapping[str, Any],
    known: Library | None = None,
) -> Portfolio | None:
    """Return the portfolio of an estimator as configurations of a space.

    Number k has the values of number k of each part that is known. All other
    parameters, and those with a number outside of the space, keep the estimator's own
    value. A configuration is left out if it needs an option that the space does not
    have, or another one than the estimator's for a parameter that the space does not
    have.

    Parameters
    ----------
    parts : list of Part
        Parts of the estimator.
    space : Space
        The search space, the default one or a user's.
    own : dict
        The estimator's own values by full names.
    known : dict, default=None
        What is known, by class; None: all that was learned.

    Returns
    -------
    portfolio : Portfolio or None
        None if fewer than two configurations are left.
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
    """Return the configuration with learned values where these are inside, or None."""
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
        elif column.dimension.n_values == 1:  # what an option needs
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
    """Return the value of a list of numbers that is nearest, if it lies among them."""
    if not isinstance(dimension, Ordinal):
        return value
    numbers = [v for v in dimension.values if is_number(v)]
    if not numbers or not numbers[0] <= value <= numbers[-1]:
        return value
    if numbers[0] > 0:
        return min(numbers, key=lambda v: abs(np.log(v / value)))
    return min(numbers, key=lambda v: abs(v - value))
