"""Learned priors and portfolios of known estimators, also of a choice among models.

The file ``knowledge.json`` has one entry per class name, or "NAME of texts" for
classifiers of TF-IDF weights:

- ``tables``: number of tables that it was learned from;
- ``portfolio``: configurations; the first one, ``{}``, is the estimator's own. Steps of
  a pipeline have none;
- ``regrets``: one list per configuration, with the normalized regret in percent on some
  tables, where 0 is the best known score, and 100 is the median score or a worse one;
- ``densities``: by parameter name, natural logarithms of the density of good values
  relative to random values. ``log_density`` are those at the numbers ``at``, linearly
  interpolated on a linear or logarithmic ``scale`` and constant beyond. ``options`` has
  one logarithm per option. On a logarithmic scale, the first number stands for 0;
- ``y_scaled``: parameters that are proportional to the standard deviation of the
  target.

``benchmarks/learn_priors.py`` writes it.

A parameter owns a part of the estimator if one of its options is an estimator, such as
a step of a pipeline. The part then depends on the option of a configuration: it belongs
to a branch of the space.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from skbayes.defaults.parts import Part, is_estimator, own_values, parts_of
from skbayes.space.dimensions import Dimension, FloatArray, is_number, key_of
from skbayes.space.lists import Ordinal, option_key
from skbayes.space.optimum_prior import OptimumPrior, Path, compatible, paths
from skbayes.space.portfolio import BranchPortfolio, Portfolio, in_branch
from skbayes.space.space import Space
from skbayes.space.trees import Column

# Content of the file, or a part of it.
Library = Mapping[str, Mapping[str, Any]]

# Parameters with estimators among their options: column, index of the option, and
# estimator.
Owners = dict[str, list[tuple[int, int, Any]]]

# Number of random configurations of a branch, if the constraint rejects the first one.
N_DRAWN = 64

# Number of initial configurations, including the values of the estimator.
N_FIRST = 4

# This parameter is missing from the space if the class sizes are equal, where it would
# have no effect.
WITHOUT_EFFECT = "class_weight"

# Estimators with a learning rate and a number of rounds are boosted. Their good values
# depend on each other.
RATE, ROUNDS = "learning_rate", ("n_estimators", "max_iter", "iterations")

# Maximum ratio of two values that do not differ.
SIMILAR = 1.5

Params = dict[str, Any]

# Positions at which the density of a range is computed.
N_KNOTS = 17

# XGBoost derives its forests from its boosting classes, whose knowledge does not apply.
FORESTS = frozenset({"XGBRFClassifier", "XGBRFRegressor"})


@cache
def library() -> Library:
    """Return the content of the file, by class name."""
    text = files("skbayes.defaults").joinpath("knowledge.json").read_text("utf-8")
    return json.loads(text)


def knowledge_of(part: Part) -> Mapping[str, Any] | None:
    """Return the entry of the class of a part or its nearest base class, or None."""
    if part.known is None:
        return None
    names = [cls.__name__ for cls in type(part.estimator).__mro__]
    if not FORESTS.isdisjoint(names):
        return None
    if part.facts.texts:
        names = [*(f"{name} of texts" for name in names), *names]
    elif part.facts.wide:
        # Knowledge from tables of few columns is worse than none on counts of words.
        return None
    return next((library()[name] for name in names if name in library()), None)


def log_density(
    density: Mapping[str, Any], values: Sequence[Any], unit: float = 1.0
) -> FloatArray:
    """Return log densities at values; 0 for NaN and unknown options."""
    return np.array([_log_density(density, value, unit) for value in values])


def _log_density(density: Mapping[str, Any], value: Any, unit: float) -> float:
    if "at" in density and is_number(value) and not math.isnan(value):
        number, at = float(value) / unit, np.asarray(density["at"], dtype=np.float64)
        if density["scale"] == "log":
            number, at = np.log(max(number, at[0])), np.log(at)
        return float(np.interp(number, at, density["log_density"]))
    for option, log in density.get("options", ()):
        option = tuple(option) if isinstance(option, list) else option
        if type(option) is type(value) and option == value:
            return float(log)
    return 0.0


def _coupled(knowledge: Mapping[str, Any]) -> set[str]:
    """Return the learning rate and the number of rounds of a boosted estimator."""
    learned = {name for point in knowledge["portfolio"] for name in point}
    found = {RATE, *ROUNDS} & learned
    return found if RATE in found and len(found) > 1 else set()


def _rounds_in(point: Params) -> float:
    """Return the number of rounds in a configuration, 0 if it has none."""
    found = (v for name, v in point.items() if name.rpartition("__")[2] in ROUNDS)
    return max((v for v in found if is_number(v)), default=0.0)


def _are_similar(value: Any, other: Any) -> bool:
    if not (is_number(value) and is_number(other) and min(value, other) > 0):
        return bool(value == other)
    return bool(max(value, other) <= SIMILAR * min(value, other))


@dataclasses.dataclass(frozen=True)
class ModelBranch:
    """Branch of a space with an option of a choice among models, or the whole space."""

    # Index of the option of each column that leads to the branch.
    path: Path
    # Positions by column. A configuration belongs to the branch if it has all positions
    # of one of these dicts, with NaN for an inactive column.
    members: list[dict[int, float]]
    # Parts of the estimator, and values of its parameters by full name.
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
    distinct: dict[Hashable, list[tuple]] = {}
    for option in models:
        distinct.setdefault(option_key(option[2]), []).append(option)
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
    places: Mapping[int, list[Path]], columns: set[int], space: Space
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


def _learned_portfolio(
    branch: ModelBranch, space: Space, most_rounds: float
) -> Portfolio | None:
    """Return the portfolio of an estimator as configurations of a space.

    Configuration k has the values of configuration k of each part with a portfolio. All
    other parameters, and those with a number outside of the space, keep the estimator's
    own value. A configuration is omitted if it needs an option that the space does not
    contain. It is also omitted if a parameter is missing from the space and the
    configuration needs an option of it other than the estimator's. For a boosted
    estimator, it also needs a similar number. None if fewer than two configurations
    remain.
    """
    found = [
        (part, knowledge)
        for part in branch.parts
        if (knowledge := knowledge_of(part) or {}).get("portfolio")
    ]
    n = min((len(knowledge["portfolio"]) for _, knowledge in found), default=0)
    places = paths(space.tree)
    columns = [space.columns[k] for k in places if compatible(places, k, branch.path)]
    exact = {
        part.prefix + name
        for part, knowledge in found
        if _coupled(knowledge)
        for point in knowledge["portfolio"]
        for name in point
        if not (most_rounds and name in ROUNDS)
    }
    points: dict[str, Params] = {}
    ranks = []
    for k in range(n):
        learned: Params = {}
        for part, knowledge in found:
            learned |= _full_names(knowledge["portfolio"][k], part, knowledge)
        if 0.0 < SIMILAR * most_rounds < _rounds_in(learned):
            continue
        point = _inside(space, columns, learned, branch, exact)
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


def _branch_portfolio(
    branches: Sequence[ModelBranch], space: Space, most_rounds: float
) -> BranchPortfolio | None:
    """Return the portfolios of the models of a choice; None if fewer than two remain.

    The portfolio of a model without a learned one is a single configuration: its own
    values, and the middle of the ranges that do not contain them.
    """
    found = []
    for branch in branches:
        portfolio = _learned_portfolio(branch, space, most_rounds)
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
    full = {}
    for name, value in point.items():
        if name in scaled:
            value = value * part.facts.y_scale
        full[part.prefix + name] = tuple(value) if isinstance(value, list) else value
    return full


def _inside(
    space: Space,
    columns: Sequence[Column],
    learned: Mapping[str, Any],
    branch: ModelBranch,
    exact: set[str],
) -> Params | None:
    """Return the configuration with the learned values in the space, or None.

    A number in `exact` that the space lacks must be similar to the estimator's own.
    """
    values, own = {**branch.values, **learned}, branch.values
    dimensions: dict[str, list[Dimension]] = {}
    for column in columns:
        if column.name is not None:
            dimensions.setdefault(column.name, []).append(column.dimension)
    for name in learned:
        if name not in dimensions:
            effect = name.rpartition("__")[2] != WITHOUT_EFFECT
            free = is_number(values[name]) and name not in exact
            if effect and not free and not _are_similar(values[name], own.get(name)):
                return None
        elif is_number(values[name]):
            near = [(d, _nearest(d, values[name])) for d in dimensions[name]]
            inside = [value for dimension, value in near if dimension.contains(value)]
            values[name] = [*inside, own.get(name)][0]
    for column in columns:
        if column.name is not None and column.name not in learned:
            if column.dimension.n_values == 1:  # required by an option
                (values[column.name],) = column.dimension.decode(column.dimension.grid)
    if not branch.path:
        return space.selection(values)
    row, complete = _row_of(space, values, branch.path)
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


def learned_prior(
    parts: Sequence[Part],
    space: Space,
    params: Mapping[str, Any],
    most_rounds: float = 0.0,
) -> OptimumPrior | None:
    """Return the learned densities and portfolio for the parameters of a space.

    If the search determines the number of rounds of each trial, up to `most_rounds`, it
    counts as a parameter of the space.

    The densities of a class apply to the configurations in which the estimator, or the
    step that has the parameter, is of this class. None if there is no learned density
    or portfolio for the space.
    """
    densities = _densities(parts, space, most_rounds)
    shared = densities.pop((), {})
    conditional = [(dict(key), found) for key, found in densities.items()]
    branches = model_branches(parts, space, params)
    whole = ModelBranch({}, [], list(parts), dict(params))
    portfolio = _branch_portfolio(branches, space, most_rounds) or _learned_portfolio(
        whole, space, most_rounds
    )
    prior = OptimumPrior(space, shared, portfolio, conditional)
    return None if portfolio is None and prior.is_flat else prior


def _densities(
    parts: Sequence[Part], space: Space, most_rounds: float
) -> dict[tuple, dict[int, Any]]:
    """Return the densities of columns, by the conditions under which they apply."""
    places = paths(space.tree)
    choices = {k for found in places.values() for path in found for k in path}
    by_name: dict[str, list[int]] = {}
    for place, column in enumerate(space.columns):
        by_name.setdefault(column.name or "", []).append(place)
    densities: dict[tuple, dict[int, Any]] = {}
    for part, conditions in conditional_parts(parts, space):
        knowledge = knowledge_of(part)
        if knowledge is None:
            continue
        inside = [k for k in places if compatible(places, k, conditions)]
        names = {str(space.columns[k].name) for k in inside}
        coupled = _coupled(knowledge)
        if most_rounds or all(part.prefix + name in names for name in coupled):
            coupled = set()
        scaled = knowledge.get("y_scaled", ())
        for name, density in knowledge["densities"].items():
            if name in coupled:
                continue
            unit = part.facts.y_scale if name in scaled else 1.0
            for place in by_name.get(part.prefix + name, ()):
                dimension = space.columns[place].dimension
                found = _column_density(dimension, density, unit, place in choices)
                if found is not None:
                    key = tuple(sorted(conditions.items()))
                    densities.setdefault(key, {})[place] = found
    return densities


def _column_density(
    dimension: Dimension, density: Mapping[str, Any], unit: float, keep_flat: bool
) -> Any:
    """Return a density in the notation of OptimumPrior; None if it is flat.

    A flat density of a choice is kept. It states that no option is preferred.
    """
    listed = dimension.is_categorical or hasattr(dimension, "values")
    positions = dimension.grid if listed else np.linspace(0.0, 1.0, N_KNOTS)
    if not listed:
        positions = np.unique(dimension.snap(positions))
    logs = log_density(density, dimension.decode(positions), unit)
    if np.ptp(logs) == 0.0 and not keep_flat:
        return None
    return logs if listed else (positions, logs)
