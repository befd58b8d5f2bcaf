"""Configurations before the surrogate chooses: an initial design, and a portfolio."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import qmc

from skbayes.space.candidates import Candidates, sobol
from skbayes.space.dimensions import FloatArray
from skbayes.space.optimum_prior import ModelStarts, OptimumPrior, Portfolio
from skbayes.space.space import Space

if TYPE_CHECKING:
    from skbayes.optimizer.cost_models import LimitTerms
    from skbayes.optimizer.observed_trials import Observation

# Fewest and most initial points by default.
MIN_INITIAL_POINTS, MAX_INITIAL_POINTS = 3, 8

# Binary logarithm of the number of points of a Sobol sequence after the initial ones.
LOG2_N_SOBOL = 6


def default_n_initial_points(space: Space) -> int:
    """Return the default number of initial points of a model.

    With fewer points than a linear model has coefficients, the scores do not show which
    dimensions matter.
    """
    return min(max(space.n_coefficients, MIN_INITIAL_POINTS), MAX_INITIAL_POINTS)


def check_n_initial_points(n_initial_points: Any, auto: int) -> int:
    """Return the number of configurations that the surrogate does not choose."""
    if n_initial_points == "auto":
        return auto
    if isinstance(n_initial_points, numbers.Integral) and int(n_initial_points) >= 0:
        return int(n_initial_points)
    raise ValueError(
        f"n_initial_points must be an integer >= 0 or 'auto', got {n_initial_points!r}."
    )


def check_initial_points(initial_points: Any, space: Space) -> list[dict[str, Any]]:
    """Return the configurations to propose first; `space` must allow them."""
    if initial_points is None:
        return []
    if isinstance(initial_points, Mapping | str):
        remedy = ""
        if isinstance(initial_points, Mapping):
            remedy = f"; write initial_points=[{dict(initial_points)!r}]"
        raise TypeError(
            f"initial_points must be a list of dicts, got {initial_points!r}{remedy}."
        )
    points = []
    for place, params in enumerate(initial_points):
        try:
            point = space.canonicalize(params)
        except ValueError as error:
            raise ValueError(f"initial_points[{place}]: {error}") from error
        if not space.allows(point):
            raise ValueError(
                f"initial_points[{place}]: not allowed by the constraint: {point!r}."
            )
        points.append(point)
    return points


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
            # All options have equal counts; any remainder goes to options other than
            # the center's.
            places = (random_state.permutation(n) + 1) % n_options
            others[:, column] = (places + 0.5) / n_options
    # These points are proposed before the first score if many trials run at the same
    # time.
    points = sobol(n_columns, LOG2_N_SOBOL, random_state)
    design = space.from_uniform(np.vstack([center, others, points]))
    if prior is not None:
        design[0] = prior.center
    return design


def next_of_portfolio(
    portfolio: Portfolio | ModelStarts,
    learned: Sequence[Observation],
    observed: Sequence[Observation],
    pending: Sequence[FloatArray],
    candidates: Candidates,
    limits: LimitTerms | None,
) -> FloatArray | None:
    """Return the next configuration of a portfolio; None if it is used up."""
    # Failures count as the worst score. Scores of earlier searches, of pending
    # configurations, and of several objectives, are not compared.
    scores = [math.nan] * (len(observed) + len(pending))
    for place, trial in enumerate(observed):
        if len(trial.scores) == 1:
            (score,) = trial.scores
            scores[place] = -math.inf if math.isnan(score) else score
    rows = [*(trial.configuration.row for trial in observed), *pending]
    if isinstance(portfolio, ModelStarts):
        rows = [*(trial.configuration.row for trial in learned), *rows]
        scores = [math.nan] * len(learned) + scores
    elif len(learned) + len(rows) >= portfolio.n_first:
        return None
    is_available = candidates.filter_new(portfolio.rows)
    if limits is not None:
        is_available &= limits.are_likely(portfolio.rows)
    available = np.flatnonzero(is_available).tolist()
    X = np.vstack([np.empty((0, candidates.space.n_columns)), *rows])
    chosen = portfolio.choose(X, np.array(scores), available)
    return None if chosen is None else portfolio.rows[chosen]
