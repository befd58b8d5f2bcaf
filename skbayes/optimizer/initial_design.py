"""Initial design: the configurations that are proposed before a model decides."""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc

from skbayes.acquisition.base import Proposer
from skbayes.space import Space
from skbayes.space.dimensions import FloatArray
from skbayes.space.optimum_prior import OptimumPrior
from skbayes.surrogates.random_search import sobol

__all__ = ["default_n_initial_points", "draw_design"]

# Fewest and most initial points by default.
MIN_INITIAL_POINTS, MAX_INITIAL_POINTS = 3, 8

# Binary logarithm of the number of points of a Sobol sequence after the initial ones.
LOG2_N_MORE = 6


def default_n_initial_points(space: Space, proposer: Proposer) -> int:
    """Return how many points a proposer is to begin with.

    With fewer points than a linear model has coefficients, the scores do not tell which
    of the dimensions matter.
    """
    if proposer.n_initial_points is not None:
        return proposer.n_initial_points
    return min(max(space.n_coefficients, MIN_INITIAL_POINTS), MAX_INITIAL_POINTS)


def draw_design(
    space: Space,
    n_initial: int,
    random_state: np.random.Generator,
    prior: OptimumPrior | None = None,
) -> FloatArray:
    """Draw a design: center, Latin hypercube, then a Sobol sequence.

    Ranges are written around what is expected to be good, and the usual option is named
    first: the middle of all ranges with the first of all options is a far better guess
    than a random one. With a prior over the best configuration, the center is that of
    the prior; the others show where it is wrong.
    """
    center = np.where(space.categorical, 0.0, 0.5)[None, :]
    n, n_columns = max(n_initial - 1, 0), space.n_columns
    others = np.empty((n, n_columns))
    if others.size:
        others = qmc.LatinHypercube(n_columns, seed=random_state).random(n)
    for column, n_options in enumerate(space.n_options):
        if n_options:
            # As often as each other, those beside the center's option first.
            places = (random_state.permutation(n) + 1) % n_options
            others[:, column] = (places + 0.5) / n_options
    # For the proposals before the first score where many trials are in flight.
    more = sobol(n_columns, LOG2_N_MORE, random_state)
    design = space.from_uniform(np.vstack([center, others, more]))
    if prior is not None:
        design[0] = prior.center
    return design
