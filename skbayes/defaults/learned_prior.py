"""Learned priors and portfolios of known estimators.

The file ``knowledge.json`` has one entry per class name, or "NAME of texts" for
classifiers of TF-IDF weights:

- ``tables``: number of tables that it was learned from;
- ``portfolio``: configurations; the first one, ``{}``, stands for the values of the
  estimator. Steps of a pipeline have no portfolio;
- ``regrets``: one list per configuration, with the normalized regret in percent on some
  tables, where 0 is the best known score, and 100 is the median score or a worse one;
- ``densities``: by parameter name, natural logarithms of the density of good values
  relative to random values. ``log_density`` has their values at the numbers ``at``,
  linearly interpolated on a linear or logarithmic ``scale`` and constant beyond.
  ``options`` has one logarithm per option. On a logarithmic scale, the first number
  stands for 0;
- ``y_scaled``: parameters that are proportional to the standard deviation of the
  target.

``benchmarks/learn_priors.py`` writes it.

In a choice among models, no model has a prior. Its first configuration is the one with
the lowest mean regret in its portfolio, or the values of the estimator.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from skbayes.defaults.parts import Part, current_values, parts_of
from skbayes.space.dimensions import Dimension, FloatArray, is_number, key_of
from skbayes.space.lists import Ordinal, option_key
from skbayes.space.optimum_prior import ModelStarts, OptimumPrior, Portfolio, paths
from skbayes.space.space import Space
from skbayes.utils.estimators import is_estimator

# Content of the file, or a part of it.
Library = Mapping[str, Mapping[str, Any]]

# Number of random configurations that are drawn if the constraint rejects the
# configurations of a model.
N_DRAWN = 256

# Number of initial configurations, including the values of the estimator.
N_FIRST = 4

# This parameter has no effect if the class sizes are equal. The space then omits it.
WITHOUT_EFFECT = "class_weight"

# Options of these parameters determine the effect of other parameters.
DECISIVE = frozenset({"booster", "kernel", "loss", "penalty"})

# Estimators with a learning rate and a number of rounds are boosted. Their good values
# depend on each other.
RATE, ROUNDS = "learning_rate", ("n_estimators", "max_iter", "iterations")

# Maximum ratio of two similar values.
SIMILAR = 1.5

Params = dict[str, Any]

# Positions at which the density of a range is computed.
N_KNOTS = 17

# XGBoost's forests derive from its boosting classes, whose knowledge does not apply.
FORESTS = frozenset({"XGBRFClassifier", "XGBRFRegressor"})


@cache
def library() -> Library:
    """Return the content of the file, by class name."""
    text = files("skbayes.defaults").joinpath("knowledge.json").read_text("utf-8")
    return json.loads(text)


def knowledge_of(part: Part) -> Mapping[str, Any] | None:
    """Return the entry of the class of a part or its nearest base class, or None."""
    if part.entry is None:
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
    coupled = {RATE, *ROUNDS} & learned
    return coupled if RATE in coupled and len(coupled) > 1 else set()


def _rounds_in(point: Params) -> float:
    """Return the number of rounds in a configuration, 0 if it has none."""
    values = (v for name, v in point.items() if name.rpartition("__")[2] in ROUNDS)
    return max((v for v in values if is_number(v)), default=0.0)


def _are_similar(value: Any, reference: Any) -> bool:
    if not (is_number(value) and is_number(reference) and min(value, reference) > 0):
        return bool(value == reference)
    return bool(max(value, reference) <= SIMILAR * min(value, reference))


def _learned_portfolio(
    parts: Sequence[Part], space: Space, current: Params, most_rounds: float
) -> Portfolio | None:
    """Return the portfolio of an estimator as configurations of a space.

    Configuration k has the values of configuration k of each part with a portfolio. All
    other parameters, and those with a number outside of the space, keep their `current`
    value in the estimator. A configuration is omitted if it needs an option that the
    space does not contain. A parameter that is missing from the space must have the
    option of the estimator and, in a boosted estimator, a similar number; otherwise,
    the configuration is omitted. If fewer than `N_FIRST` remain, only the learning rate
    and the number of rounds must be similar. The result is None if fewer than two
    configurations remain.
    """
    learners = [
        (part, knowledge)
        for part in parts
        if (knowledge := knowledge_of(part) or {}).get("portfolio")
    ]
    n = min((len(knowledge["portfolio"]) for _, knowledge in learners), default=0)
    rounds, tuned, coupled = set(ROUNDS) if most_rounds else set(), set(), set()
    for part, knowledge in learners:
        if pair := _coupled(knowledge) - rounds:
            names = {name for point in knowledge["portfolio"] for name in point}
            tuned |= {part.prefix + name for name in names - rounds}
            coupled |= {part.prefix + name for name in pair}
    learned: dict[int, Params] = {}
    for k in range(n):
        values: Params = {}
        for part, knowledge in learners:
            values |= _full_names(knowledge["portfolio"][k], part, knowledge)
        if not 0.0 < SIMILAR * most_rounds < _rounds_in(values):
            learned[k] = values
    points: dict[Hashable, tuple[int, Params]] = {}
    for needed, with_options in ((tuned, True), (coupled, False)):
        if len(points) < N_FIRST:
            for k, values in learned.items():
                point = _configuration_of(space, values, current, needed, with_options)
                if point is not None and space.allows(point):
                    points.setdefault(key_of(space.encode([point])[0]), (k, point))
    if len(points) < 2:
        return None
    ranks = [k for k, _ in points.values()]
    regrets = np.vstack(
        [np.array(knowledge["regrets"])[ranks].T for _, knowledge in learners]
    )
    configurations = [point for _, point in points.values()]
    n_first = min(N_FIRST, len(configurations))
    return Portfolio(space, configurations, regrets / 100.0, n_first)


def _full_names(point: Params, part: Part, knowledge: Mapping[str, Any]) -> Params:
    scaled = knowledge.get("y_scaled", ())
    full = {}
    for name, value in point.items():
        if name in scaled:
            value = value * part.facts.y_scale
        full[part.prefix + name] = tuple(value) if isinstance(value, list) else value
    return full


def _configuration_of(
    space: Space, learned: Params, current: Params, needed: set[str], with_options: bool
) -> Params | None:
    """Return the configuration with the learned values in the space, or None.

    If the space lacks a parameter in `needed`, its value must be similar to the
    `current` value of the estimator. The same applies to a learning rate and a number
    of rounds outside of the space. Options must be equal if they are decisive, or for
    `with_options`.
    """
    values = {**current, **learned}
    dimensions: dict[str, list[Dimension]] = {}
    for column in space.columns:
        dimensions.setdefault(str(column.name), []).append(column.dimension)
    for name, value in learned.items():
        leaf = name.rpartition("__")[2]
        if name not in dimensions:
            is_needed = name in needed
            if not is_number(value):
                is_needed |= with_options or leaf in DECISIVE
            is_needed &= leaf != WITHOUT_EFFECT
            if is_needed and not _are_similar(value, current.get(name)):
                return None
        elif is_number(value):
            near = [(d, _nearest(d, value)) for d in dimensions[name]]
            inside = [
                number for dimension, number in near if dimension.contains(number)
            ]
            is_coupled = name in needed and leaf in (RATE, *ROUNDS)
            if is_coupled and not (inside or _are_similar(value, current.get(name))):
                return None
            values[name] = [*inside, current.get(name)][0]
    for column in space.columns:
        if column.name is not None and column.name not in learned:
            if column.dimension.n_values == 1:  # required by an option
                (values[column.name],) = column.dimension.decode(column.dimension.grid)
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


def learned_prior(
    parts: Sequence[Part],
    space: Space,
    params: Mapping[str, Any],
    most_rounds: float = 0.0,
) -> OptimumPrior | None:
    """Return the learned densities and portfolio for the parameters of a space.

    If the search determines the number of rounds of each trial, up to `most_rounds`, it
    counts as a parameter of the space. Parts of the estimator that the space replaces
    have no prior. None if there is no learned density or portfolio for the space.
    """
    current, covering = dict(params), space.covering_sample()
    models = _models(space, current, covering)
    tuned_parts = [
        part
        for part in parts
        if not any(part.prefix.startswith(f"{name}__") for name in models)
    ]
    choices = {}
    for name, options in models.items():
        named = [current.get(name) if option is None else option for option in options]
        predicting = [hasattr(model, "predict") for model in named]
        if sum(predicting) > 1:
            choices[name] = [*itertools.compress(options, predicting)]
    portfolio: Portfolio | ModelStarts | None = None
    if choices:
        starts = _starts(choices, parts, space, current, covering)
        portfolio = ModelStarts(space, starts, N_FIRST) if starts else None
    else:
        portfolio = _learned_portfolio(tuned_parts, space, current, most_rounds)
    prior = OptimumPrior(space, _densities(tuned_parts, space, most_rounds), portfolio)
    return None if portfolio is None and prior.is_flat else prior


def _models(
    space: Space, current: Params, covering: Sequence[Params]
) -> dict[str, list[Any]]:
    """Return the models of each parameter whose options include several estimators.

    None stands for the model in the estimator, if a dict of a list does not name one.
    """
    models: dict[str, dict[Hashable, Any]] = {}
    for params in covering:
        for name, value in params.items():
            if is_estimator(value):
                models.setdefault(name, {})[option_key(value)] = value
    for name, options in models.items():
        implied = any(name not in params for params in covering)
        if implied and is_estimator(current.get(name)):
            options.setdefault(option_key(current[name]), None)
    return {name: [*models[name].values()] for name in models if len(models[name]) > 1}


def _starts(
    choices: Mapping[str, Sequence[Any]],
    parts: Sequence[Part],
    space: Space,
    current: Params,
    covering: Sequence[Params],
) -> list[tuple[str, Any, Params]]:
    """Return a first configuration of each model, if the space has one."""
    drawn: list[Params] = []
    if space.constraint is not None:
        U = np.random.default_rng(0).random((N_DRAWN, space.n_columns))
        drawn = space.decode(space.from_uniform(U))
    starts = []
    for name, options in choices.items():
        for option in options:
            key = option_key(option)
            points = [p for p in (*covering, *drawn) if option_key(p.get(name)) == key]
            values, learned = _values_of(name, points[0], parts, current)
            filled = []
            for defaults in (values | learned, values):
                filled.append(space.selection(defaults) or {})
                # A list of dicts may have a dict without the parameter.
                filled.append({k: defaults.get(k, v) for k, v in points[0].items()})
            for params in (*filled, *points):
                is_start = option_key(params.get(name)) == key and params in space
                if is_start and space.allows(params):
                    starts.append((name, option, params))
                    break
    return starts


def _values_of(
    name: str, params: Params, parts: Sequence[Part], current: Params
) -> tuple[Params, Params]:
    """Return the values of the models that contain a choice, and their best values.

    The best values have the lowest mean regret on other data sets.
    """
    values, learned = dict(current), dict[str, Any]()
    for owner in sorted({name, *params}, key=len):
        model = params.get(owner, current.get(owner))
        if is_estimator(model) and f"{name}__".startswith(f"{owner}__"):
            nested = current_values(model)
            values |= {owner: model, **{f"{owner}__{k}": v for k, v in nested.items()}}
            prefix = f"{owner}__"
            facts = [part.facts for part in parts if part.prefix == prefix]
            for part in parts_of(model, [*facts, parts[0].facts][0], prefix):
                knowledge = knowledge_of(part) or {}
                if knowledge.get("portfolio"):
                    best = int(np.argmin(np.mean(knowledge["regrets"], axis=1)))
                    point = knowledge["portfolio"][best]
                    learned |= _full_names(point, part, knowledge)
    return values, learned


def _densities(
    parts: Sequence[Part], space: Space, most_rounds: float
) -> dict[int, Any]:
    """Return the densities of columns, by index."""
    choices = {
        k for paths_to in paths(space.tree).values() for p in paths_to for k in p
    }
    names = set(space.parameter_names)
    densities: dict[int, Any] = {}
    for part in parts:
        knowledge = knowledge_of(part)
        if knowledge is None:
            continue
        coupled = _coupled(knowledge)
        if most_rounds or all(part.prefix + name in names for name in coupled):
            coupled = set()
        scaled = knowledge.get("y_scaled", ())
        for name, density in knowledge["densities"].items():
            unit = part.facts.y_scale if name in scaled else 1.0
            for place, column in enumerate(space.columns):
                if column.name == part.prefix + name and name not in coupled:
                    keep_flat = place in choices
                    parsed = _column_density(column.dimension, density, unit, keep_flat)
                    if parsed is not None:
                        densities[place] = parsed
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
