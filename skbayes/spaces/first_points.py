"""Portfolios of known estimators: initial configurations of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skbayes.space import Ordinal, Space
from skbayes.space.dimensions import Dimension, FloatArray, is_number
from skbayes.space.portfolio import BranchPortfolio, Portfolio, in_branch
from skbayes.space.space import Column, key_of
from skbayes.space.tree import Path, compatible, paths
from skbayes.spaces.branches import ModelBranch
from skbayes.spaces.knowledge import Library, knowledge_of
from skbayes.spaces.parts import Part

__all__ = ["branch_portfolio", "learned_portfolio"]

# Number of random configurations of a branch, if the constraint rejects the first one.
N_DRAWN = 64

# Number of initial configurations, including the values of the estimator.
N_FIRST = 4

# This parameter is missing from the space if the class sizes are equal, where it would
# have no effect.
WITHOUT_EFFECT = "class_weight"

Params = dict[str, Any]


def learned_portfolio(
    parts: Sequence[Part],
    space: Space,
    params: Mapping[str, Any],
    known: Library | None = None,
    path: Path | None = None,
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
    params : dict
        Values of the estimator's parameters by full name.
    known : dict, default=None
        Learned portfolios by class; None means those of the package.
    path : dict, default=None
        Index of the option of each column that leads to the branch to which the
        portfolio belongs; None means the whole space.

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
    places = paths(space.tree)
    columns = [space.columns[k] for k in places if compatible(places, k, path or {})]
    points: dict[bytes, Params] = {}
    ranks = []
    for k in range(n):
        learned: Params = {}
        for part, knowledge in found:
            learned |= _full_names(knowledge["portfolio"][k], part, knowledge)
        point = _inside(space, columns, learned, params, path)
        if point is None or not space.allows(point):
            continue
        key = key_of(space.encode([point])[0])
        if key not in points:
            points[key] = point
            ranks.append(k)
    if len(points) < 2:
        return None
    regrets = np.vstack(
        [np.array(knowledge["regrets"])[ranks].T for _, knowledge in found]
    )
    n_first = min(N_FIRST, len(points))
    return Portfolio(space, list(points.values()), regrets / 100.0, n_first)


def branch_portfolio(
    branches: Sequence[ModelBranch], space: Space, known: Library | None = None
) -> BranchPortfolio | None:
    """Return the portfolios of the models of a choice; None if fewer than two remain.

    The portfolio of a model without a learned one is a single configuration: its own
    values, and the middle of the ranges that do not contain them.
    """
    found = []
    for branch in branches:
        portfolio = learned_portfolio(
            branch.parts, space, branch.values, known, branch.path
        )
        if portfolio is None:
            row = _own_row(branch, space)
            if row is None:
                continue
            portfolio = Portfolio(space, space.decode(row), [[0.0]], 1)
        found.append((branch.members, portfolio))
    return BranchPortfolio(found, N_FIRST) if len(found) > 1 else None


def _own_row(branch: ModelBranch, space: Space) -> FloatArray | None:
    """Return the row (1, D) of a model's own values; None if nothing is allowed."""
    row, _ = _row_of(space, branch.values, branch.path)
    if _is_allowed(row, branch, space):
        return row[None]
    X = space.from_uniform(np.random.default_rng(0).random((N_DRAWN, space.n_columns)))
    for place, option in branch.path.items():
        X[:, place] = space.columns[place].dimension.grid[option]
    return next((x[None] for x in space.snap(X) if _is_allowed(x, branch, space)), None)


def _is_allowed(row: FloatArray, branch: ModelBranch, space: Space) -> bool:
    inside = in_branch(row[None], branch.members)
    return bool(inside[0] and space.allowed(row[None])[0])


def _full_names(point: Params, part: Part, knowledge: Mapping[str, Any]) -> Params:
    scaled = knowledge.get("y_scaled", ())
    return {
        part.prefix + name: value * part.facts.y_scale if name in scaled else value
        for name, value in point.items()
    }


def _inside(
    space: Space,
    columns: Sequence[Column],
    learned: Mapping[str, Any],
    params: Mapping[str, Any],
    path: Path | None,
) -> Params | None:
    """Return the configuration with the learned values in the space, or None."""
    values = {
        **params,
        **{k: tuple(v) if isinstance(v, list) else v for k, v in learned.items()},
    }
    for name in learned.keys() - {column.name for column in columns}:
        effect = name.rpartition("__")[2] != WITHOUT_EFFECT
        if effect and not is_number(values[name]) and values[name] != params.get(name):
            return None
    dimensions: dict[str, list[Dimension]] = {}
    for column in columns:
        if column.name is None:
            continue
        if column.name in learned:
            dimensions.setdefault(column.name, []).append(column.dimension)
        elif column.dimension.n_values == 1:  # required by an option
            (values[column.name],) = column.dimension.decode(column.dimension.grid)
    for name, possible in dimensions.items():
        value = values[name]
        if is_number(value):
            near = [_nearest(dimension, value) for dimension in possible]
            inside = [
                v
                for v, dimension in zip(near, possible, strict=True)
                if dimension.contains(v)
            ]
            values[name] = inside[0] if inside else params.get(name)
    if path is None:
        return space.selection(values)
    row, complete = _row_of(space, values, path)
    return space.decode(row[None])[0] if complete else None


def _row_of(
    space: Space, values: Mapping[str, Any], path: Path
) -> tuple[FloatArray, bool]:
    """Return the row of values in a branch, and whether it has all that are active.

    The middle of a range, or the first option, replaces a value that is missing.
    """
    row = np.where(space.categorical, 0.0, 0.5)
    found = set(path)
    for place, column in enumerate(space.columns):
        if column.name is None or column.name not in values or place in path:
            continue
        value = values[column.name]
        if column.dimension.contains(value):
            row[place] = column.dimension.encode([value])[0]
            found.add(place)
    for place, option in path.items():
        row[place] = space.columns[place].dimension.grid[option]
    row = space.snap(row[None])[0]
    return row, found.issuperset(np.flatnonzero(~np.isnan(row)).tolist())


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
