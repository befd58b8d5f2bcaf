"""Learned prior distribution of the best configuration of a known estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skbayes.space import OptimumPrior, Space
from skbayes.space.dimensions import Dimension
from skbayes.space.tree import paths
from skbayes.spaces.branches import conditional_parts, model_branches
from skbayes.spaces.first_points import branch_portfolio, learned_portfolio
from skbayes.spaces.knowledge import Library, knowledge_of, log_density
from skbayes.spaces.parts import Part

__all__ = ["learned_prior"]

# Positions at which the density of a range is computed.
N_KNOTS = 17


def learned_prior(
    parts: Sequence[Part],
    space: Space,
    params: Mapping[str, Any],
    known: Library | None = None,
) -> OptimumPrior | None:
    """Return the learned densities and portfolio for the parameters of a space.

    The densities of a class apply to the configurations in which the estimator, or the
    step that has the parameter, is of this class.

    Parameters
    ----------
    parts : list of Part
        Parts of the estimator.
    space : Space
        Default or user-defined search space.
    params : dict
        Values of the estimator's parameters by full name.
    known : dict, default=None
        Learned densities by class; None means those of the package.

    Returns
    -------
    prior : OptimumPrior or None
        None if there is no learned density or portfolio for the space.
    """
    densities = _densities(parts, space, known)
    shared = densities.pop((), {})
    conditional = [(dict(key), found) for key, found in densities.items()]
    branches = model_branches(parts, space, params)
    portfolio = branch_portfolio(branches, space, known) or learned_portfolio(
        parts, space, params, known
    )
    prior = OptimumPrior(space, shared, portfolio, conditional)
    return None if portfolio is None and prior.is_flat else prior


def _densities(
    parts: Sequence[Part], space: Space, known: Library | None
) -> dict[tuple, dict[int, Any]]:
    """Return the densities of columns, by the conditions under which they apply."""
    choices = {
        k for found in paths(space.tree).values() for path in found for k in path
    }
    by_name: dict[str, list[int]] = {}
    for place, column in enumerate(space.columns):
        by_name.setdefault(column.name or "", []).append(place)
    densities: dict[tuple, dict[int, Any]] = {}
    for part, conditions in conditional_parts(parts, space):
        knowledge = knowledge_of(part, known) or {}
        scaled = knowledge.get("y_scaled", ())
        for name, density in knowledge.get("densities", {}).items():
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
