"""Initial design: the configurations proposed before the surrogate chooses them."""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc

from skbayes.acquisition.base import Proposer
from skbayes.space.space import Space
from skbayes.space.dimensions import FloatArray
from skbayes.space.optimum_prior import OptimumPrior
from skbayes.surrogates.random_search import sobol

__all__ = ["default_n_initial_points", "draw_design"]

# Fewest and most initial points by default.
MIN_INITIAL_POINTS, MAX_INITIAL_POINTS = 3, 8

# Binary logarithm of the number of points of a Sobol sequence after the initial ones.
LOG2_N_MORE = 6


def default_n_initial_points(space: Space, proposer: Proposer) -> int:
    """Return the default number of initial points of a proposer.

    With fewer points than a linear model has coefficients, the scores do not show which
    dimensions matter.
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

    Users choose ranges around values that they expect to be good, and list the usual
    option first. The middle of all ranges with the first option of each list is
    therefore a much better guess than a random configuration. With a prior over the
    best configuration, the first point is the center of the prior. The other points
    show whether the prior is wrong.
    """
    center = np.where(space.categorical, 0.0, 0.5)[None, :]
    n, n_columns = max(n_initial - 1, 0), space.n_columns
    others = np.empty((n, n_columns))
    if others.size:
        others = qmc.LatinHypercube(n_columns, seed=random_state).random(n)
    for column, n_options in enumerate(space.n_options):
        if n_options:
            # Equal counts; any remainder goes to options other than the center's.
            places = (random_state.permutation(n) + 1) % n_options
            others[:, column] = (places + 0.5) / n_options
    # For proposals before the first score if many trials run at the same time.
    more = sobol(n_columns, LOG2_N_MORE, random_state)
    design = space.from_uniform(np.vstack([center, others, more]))
    if prior is not None:
        design[0] = prior.center
    return design
