"""Proposals from the portfolio of a prior."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from skbayes.optimizer.costs import LimitTerms
from skbayes.optimizer.observations import ObservationList
from skbayes.space.candidates import Candidates
from skbayes.space.dimensions import FloatArray
from skbayes.space.optimum_prior import OptimumPrior
from skbayes.space.portfolio import BranchPortfolio, Portfolio

__all__ = ["next_of_portfolio", "usable_portfolio"]


def usable_portfolio(
    prior: OptimumPrior | None, n_initial: int
) -> Portfolio | BranchPortfolio | None:
    """Return the portfolio of a prior, or None.

    A proposer without initial points, such as random search, uses no portfolio.
    """
    return prior.portfolio if prior is not None and n_initial > 0 else None


def next_of_portfolio(
    portfolio: Portfolio | BranchPortfolio | None,
    learned: ObservationList,
    observed: ObservationList,
    pending: Sequence[FloatArray],
    candidates: Candidates,
    limits: LimitTerms,
) -> FloatArray | None:
    """Return the next configuration of a portfolio; None if it is used up."""
    if portfolio is None:
        return None
    rows = [*observed.rows, *pending]
    scores = [_comparable(values) for values in observed.scores] + [math.nan] * len(
        pending
    )
    if isinstance(portfolio, BranchPortfolio):
        rows = [*learned.rows, *rows]
        scores = [math.nan] * len(learned.rows) + scores
    elif len(learned.rows) + len(rows) >= portfolio.n_first:
        return None
    free = np.flatnonzero(candidates.filter_new(portfolio.rows)).tolist()
    if (keep := limits.filter()) is not None:
        free = [place for place in free if len(keep(portfolio.rows[[place]]))]
    X = np.vstack([np.empty((0, candidates.space.n_columns)), *rows])
    place = portfolio.choose(X, np.array(scores), free)
    return None if place is None else portfolio.rows[place]


def _comparable(scores: list[float]) -> float:
    """Return one score: -inf for a failure, and NaN for several objectives."""
    if len(scores) > 1:
        return math.nan
    return -math.inf if math.isnan(scores[0]) else scores[0]
