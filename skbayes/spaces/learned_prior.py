"""Learned prior distribution of the best configuration of a known estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skbayes.space import OptimumPrior, Space
from skbayes.space.dimensions import Dimension
from skbayes.spaces.first_points import learned_portfolio
from skbayes.spaces.knowledge import Library, knowledge_of, log_density
from skbayes.spaces.parts import Part

__all__ = ["learned_prior"]

# Positions at which the density of a range is computed.
N_KNOTS = 17


def learned_prior(
    parts: Sequence[Part],
    space: Space,
    own: Mapping[str, Any],
    known: Library | None = None,
) -> OptimumPrior | None:
    """Return the learned densities and portfolio for the parameters of a space.

    Parameters
    ----------
    parts : list of Part
        Parts of the estimator.
    space : Space
        Default or user-defined search space.
    own : dict
        Own values of the estimator by full name.
    known : dict, default=None
        Learned densities by class; None means those of the package.

    Returns
    -------
    prior : OptimumPrior or None
        None if there is no learned density or portfolio for the space.
    """
    densities: dict[int, Any] = {}
    by_name = _densities_of(parts, known)
    for place, column in enumerate(space.columns):
        if column.name in by_name:
            found = _column_density(column.dimension, *by_name[column.name])
            if found is not None:
                densities[place] = found
    portfolio = learned_portfolio(parts, space, own, known)
    if not densities and portfolio is None:
        return None
    return OptimumPrior(space, densities, portfolio)


def _densities_of(
    parts: Sequence[Part], known: Library | None
) -> dict[str, tuple[Mapping[str, Any], float]]:
    """Return densities by full name, with the unit of the parameter."""
    found = {}
    for part in parts:
        knowledge = knowledge_of(part, known) or {}
        scaled = knowledge.get("y_scaled", ())
        for name, density in knowledge.get("densities", {}).items():
            unit = part.facts.y_scale if name in scaled else 1.0
            found[part.prefix + name] = (density, unit)
    return found


def _column_density(
    dimension: Dimension, density: Mapping[str, Any], unit: float
) -> Any:
    """Return a density in the notation of OptimumPrior, or None if it is flat."""
    listed = dimension.is_categorical or hasattr(dimension, "values")
    positions = dimension.grid if listed else np.linspace(0.0, 1.0, N_KNOTS)
    if not listed:
        positions = np.unique(dimension.snap(positions))
    logs = log_density(density, dimension.decode(positions), unit)
    if np.ptp(logs) == 0.0:
        return None
    return logs if listed else (positions, logs)
