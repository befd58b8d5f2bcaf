"""Knowledge learned from tables of results: where good hyper-parameters lie.

The file ``knowledge.json`` has, by the name of a class:

- ``tables``: number of tables that it was learned from;
- ``portfolio``: configurations to begin with after the estimator's own, best first;
- ``densities``: by name of a parameter, natural logarithms of the density of good values
  relative to random ones: ``log_density`` at the numbers ``at``, linear in between on a
  linear or a logarithmic ``scale`` and constant beyond, and a logarithm for each of
  ``options``. On a logarithmic scale, the first number stands for 0;
- ``y_scaled``: parameters that are proportional to the standard deviation of the target.

``benchmarks/priors/learn.py`` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from skbayes.space import OptimumPrior, Space
from skbayes.space.dimensions import Dimension, FloatArray, is_number
from skbayes.spaces.parts import Part

__all__ = ["Library", "knowledge_of", "learned_prior", "library"]

# What the file says, or a part of it.
Library = Mapping[str, Mapping[str, Any]]

# Positions at which the density of a range is computed.
N_KNOTS = 17


@cache
def library() -> Library:
    """Return what is known, by the name of a class."""
    text = files("skbayes.spaces").joinpath("knowledge.json").read_text("utf-8")
    return json.loads(text)


def knowledge_of(part: Part, known: Library | None = None) -> Mapping[str, Any] | None:
    """Return what is known of a part by its class or its nearest base, or None."""
    known = library() if known is None else known
    if part.known is None:
        return None
    for cls in type(part.estimator).__mro__:
        if cls.__name__ in known:
            return known[cls.__name__]
    return None


def learned_prior(
    parts: Iterable[Part], space: Space, known: Library | None = None
) -> OptimumPrior | None:
    """Return the densities of the parameters of a space that are known.

    Parameters
    ----------
    parts : iterable of Part
        Parts of the estimator that the space is for.
    space : Space
        A search space, the default one or a user's.
    known : dict, default=None
        What is known, by class; None: all that was learned.

    Returns
    -------
    prior : OptimumPrior or None
        None if nothing is known of any of the parameters.
    """
    by_name: dict[str, tuple[Mapping[str, Any], float]] = {}
    for part in parts:
        knowledge = knowledge_of(part, known)
        if knowledge is None:
            continue
        scaled = knowledge.get("y_scaled", ())
        for name, density in knowledge["densities"].items():
            unit = part.facts.y_scale if name in scaled else 1.0
            by_name[part.prefix + name] = (density, unit)
    densities: dict[int, Any] = {}
    for place, column in enumerate(space.columns):
        if column.name in by_name:
            found = _column_density(column.dimension, *by_name[column.name])
            if found is not None:
                densities[place] = found
    return OptimumPrior(space, densities) if densities else None


def _column_density(
    dimension: Dimension, density: Mapping[str, Any], unit: float
) -> Any:
    """Return a density in the form of OptimumPrior, or None if it is flat."""
    listed = dimension.is_categorical or hasattr(dimension, "values")
    positions = dimension.grid if listed else np.linspace(0.0, 1.0, N_KNOTS)
    if not listed:
        positions = np.unique(dimension.snap(positions))
    logs = log_density(density, dimension.decode(positions), unit)
    if np.ptp(logs) == 0.0:
        return None
    return logs if listed else (positions, logs)


def log_density(
    density: Mapping[str, Any], values: list[Any], unit: float = 1.0
) -> FloatArray:
    """Logarithms of a density at values; 0 for an option that is not known."""
    options = [(option, log) for option, log in density.get("options", ())]
    logs = np.zeros(len(values))
    for i, value in enumerate(values):
        if is_number(value) and "at" in density:
            logs[i] = _interpolated(density, float(value) / unit)
        else:
            own = list(value) if isinstance(value, tuple) else value
            same = (log for o, log in options if type(o) is type(own) and o == own)
            logs[i] = next(same, 0.0)
    return logs


def _interpolated(density: Mapping[str, Any], value: float) -> float:
    at = np.asarray(density["at"], dtype=np.float64)
    if density["scale"] == "log":
        value, at = np.log(max(value, at[0])), np.log(at)
    return float(np.interp(value, at, density["log_density"]))
