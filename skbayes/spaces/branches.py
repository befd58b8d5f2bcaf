"""Branches of a search space that replace the estimator or one of its steps.

A parameter owns a part of the estimator if one of its options is an estimator, such as
a step of a pipeline. The part then depends on the option of a configuration.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skbayes.space import Space
from skbayes.space.lists import OptionKey
from skbayes.space.tree import Path, compatible, paths
from skbayes.spaces.default import own_values
from skbayes.spaces.parts import Part, is_estimator, parts_of

__all__ = ["ModelBranch", "conditional_parts", "model_branches"]

# Parameters with estimators among their options: column, index of the option, and
# estimator.
Owners = dict[str, list[tuple[int, int, Any]]]


@dataclasses.dataclass(frozen=True)
class ModelBranch:
    """Branch of a space with one option of a choice among models.

    Attributes
    ----------
    path : dict
        Index of the option of each column that leads to the branch.
    members : list of dict
        Positions by column. A configuration belongs to the branch if it has all
        positions of one of them, with NaN for an inactive column.
    parts : list of Part
        Parts of the estimator in this branch.
    values : dict
        Values of the estimator's parameters in this branch, by full name.
    """

    path: Path
    members: list[dict[int, float]]
    parts: list[Part]
    values: dict[str, Any]


def conditional_parts(parts: Sequence[Part], space: Space) -> list[tuple[Part, Path]]:
    """Return the parts of the estimator and of options, each with its conditions.

    A part of an option requires this option. A part is replaced if a parameter that
    owns it is active, so this parameter must be inactive.
    """
    owners = _owners(space)
    found = [(part, _without(owners, part.prefix, "")) for part in parts]
    for name, options in owners.items():
        for place, option, estimator in options:
            for part in _parts_within(estimator, name, parts):
                inactive = _without(owners, part.prefix, name)
                found.append((part, {**inactive, place: option}))
    return found


def model_branches(
    parts: Sequence[Part], space: Space, params: Mapping[str, Any]
) -> list[ModelBranch]:
    """Return the branches of the choices among models.

    A choice among models is a parameter with two or more options that predict. With a
    list of dicts, the estimator's own model is one of them if a dict does not contain
    the parameter.
    """
    places = paths(space.tree)
    branches: list[ModelBranch] = []
    for name, options in _owners(space).items():
        found = [
            _branch(space, places, same, parts, params) for same in _distinct(options)
        ]
        columns = {place for place, *_ in options}
        if hasattr(params.get(name), "predict"):
            path = _implied(places, columns, space)
            if path is not None:
                members = [dict.fromkeys(columns, np.nan)]
                found.append(ModelBranch(path, members, list(parts), dict(params)))
        if len(found) > 1:
            branches += found
    return branches


def _distinct(options: Sequence[tuple[int, int, Any]]) -> list[list[tuple]]:
    """Return the models among options; the places of equal models are grouped."""
    models = [option for option in options if hasattr(option[2], "predict")]
    if len({place for place, *_ in models}) == 1:  # a list has no equal options
        return [[option] for option in models]
    distinct: dict[OptionKey, list[tuple]] = {}
    for option in models:
        distinct.setdefault(OptionKey(option[2]), []).append(option)
    return list(distinct.values())


def _branch(
    space: Space,
    places: Mapping[int, list[Path]],
    same: Sequence[tuple[int, int, Any]],
    parts: Sequence[Part],
    params: Mapping[str, Any],
) -> ModelBranch:
    """Return the branch of an option, which may occur in several columns."""
    place, option, _ = same[0]
    path: Path = {**places[place][0], place: option}
    values, within = dict(params), list(parts)
    for column, chosen in path.items():
        owner = space.columns[column].name
        if owner is None or chosen is None:
            continue
        value = space.columns[column].dimension.values[chosen]  # type: ignore
        values[owner] = value
        within = [part for part in within if not part.prefix.startswith(f"{owner}__")]
        if is_estimator(value):
            within += _parts_within(value, owner, parts)
            nested = own_values(value)
            values |= {f"{owner}__{name}": nested[name] for name in nested}
    members = [
        {place: float(space.columns[place].dimension.grid[option])}
        for place, option, _ in same
    ]
    return ModelBranch(path, members, within, values)


def _owners(space: Space) -> Owners:
    """Return the estimators among the options of each parameter, by full name."""
    found: Owners = {}
    for place, column in enumerate(space.columns):
        if column.name is None or not column.dimension.is_categorical:
            continue
        for option, value in enumerate(column.dimension.values):  # type: ignore
            if is_estimator(value):
                found.setdefault(column.name, []).append((place, option, value))
    return found


def _without(owners: Owners, prefix: str, owner: str) -> Path:
    """Return the columns between an owner and a part, which must be inactive."""
    return {
        place: None
        for name, options in owners.items()
        if prefix.startswith(f"{name}__") and len(name) > len(owner)
        for place, *_ in options
    }


def _parts_within(estimator: Any, name: str, parts: Sequence[Part]) -> list[Part]:
    """Return the parts of an option, with the facts about the data of its place."""
    prefix = f"{name}__"
    at_place = [part.facts for part in parts if part.prefix == prefix]
    facts = [*at_place, parts[0].facts][0]
    return parts_of(estimator, facts, prefix)


def _implied(
    places: Mapping[int, list[Path]],
    columns: set[int],
    space: Space,
) -> Path | None:
    """Return the path to a dict of a list that does not contain a parameter."""
    for place, _ in space.tree:
        if space.columns[place].name is None:
            for option in range(int(space.columns[place].dimension.n_values)):
                conditions: Path = {place: option}
                if not any(
                    compatible(places, column, conditions) for column in columns
                ):
                    return conditions
    return None
