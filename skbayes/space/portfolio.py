"""Portfolios: first configurations of a search, which were good on other data.

Symbols: m configurations, t data sets, D columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skbayes.space.dimensions import FloatArray
from skbayes.space.space import Space, key_of

__all__ = ["BranchPortfolio", "Portfolio", "in_branch"]

# The logarithm of a data set's weight is the product of this factor, the agreement of
# its ranking with that of the scores, and the square root of the number of scores - 1.
AGREEMENT_WEIGHT = 4.0

# Difference of regrets from which they count as fully different.
CLEAR_DIFFERENCE = 0.1


class Portfolio:
    """Configurations and their regrets on other data sets.

    The next configuration is the one that reduces the mean regret of the best
    configuration so far the most. The mean is over the data sets. The weight of a data
    set increases if its ranking of the configurations agrees with the observed scores.

    Parameters
    ----------
    space : Space
        The search space.
    points : list of dict
        Configurations of the space.
    regrets : array-like of shape (t, m)
        Normalized regret of each configuration on each data set: 0 for the best known
        configuration, 1 for a median one.
    n_first : int
        Number of configurations of the portfolio that a search starts with, >= 0.

    Raises
    ------
    ValueError
        If a point is not a configuration of the space, or `regrets` has a wrong shape.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.space import Space
    >>> from skbayes.space.portfolio import Portfolio
    >>> space = Space.from_notation({"C": [1, 10, 100]})
    >>> points = [{"C": 1}, {"C": 10}, {"C": 100}]
    >>> portfolio = Portfolio(space, points, [[0.5, 0.1, 0.8], [0.5, 0.8, 0.0]], 3)
    >>> place = portfolio.choose(np.empty((0, 1)), np.empty(0), range(3))
    >>> points[place]
    {'C': 100}
    """

    def __init__(
        self,
        space: Space,
        points: Sequence[Mapping[str, Any]],
        regrets: ArrayLike,
        n_first: int,
    ) -> None:
        self.rows = space.encode(points)
        self.regrets = np.asarray(regrets, dtype=np.float64)
        if self.regrets.ndim != 2 or self.regrets.shape[1] != len(points):
            raise ValueError(
                f"regrets must have a column for each of {len(points)} points, got "
                f"shape {self.regrets.shape}."
            )
        self.n_first = n_first
        self._places = {key_of(row): place for place, row in enumerate(self.rows)}

    def choose(
        self, X: FloatArray, scores: FloatArray, free: Sequence[int]
    ) -> int | None:
        """Return the index of the next configuration.

        Parameters
        ----------
        X : ndarray of shape (n, D)
            Encoded configurations, observed or pending.
        scores : ndarray of shape (n,)
            Scores of the configurations, greater is better; -inf if failed, NaN if
            pending.
        free : sequence of int
            Indices of the configurations that may be chosen.

        Returns
        -------
        place : int or None
            Index of a configuration. None if there is none to choose.
        """
        if not len(free):
            return None
        places = [self._places.get(key_of(row), -1) for row in X]
        tried = [place for place in places if place >= 0]
        known = [
            (place, score)
            for place, score in zip(places, scores, strict=True)
            if place >= 0 and not np.isnan(score)
        ]
        weights = self._weights(known)
        if tried:
            so_far = self.regrets[:, tried].min(axis=1, keepdims=True)
        else:
            so_far = self.regrets.max(axis=1, keepdims=True)
        means = weights @ np.minimum(so_far, self.regrets[:, free])
        return int(free[int(np.argmin(means))])

    def _weights(self, known: Sequence[tuple[int, float]]) -> FloatArray:
        """Return the weights (t,) of the data sets by agreement with known scores."""
        n = len(known)
        if n < 2:
            return np.full(len(self.regrets), 1.0 / len(self.regrets))
        places = [place for place, _ in known]
        scores = np.nan_to_num([score for _, score in known], neginf=-1e300)
        better = np.sign(scores[:, None] - scores[None, :])
        regrets = self.regrets[:, places]
        worse = (regrets[:, None, :] - regrets[:, :, None]) / CLEAR_DIFFERENCE
        agreement = np.sum(np.clip(worse, -1.0, 1.0) * better, axis=(1, 2))
        agreement /= n * (n - 1)
        logs = AGREEMENT_WEIGHT * np.sqrt(n - 1) * agreement
        weights = np.exp(logs - logs.max())
        return weights / weights.sum()


class BranchPortfolio:
    """Portfolios of several branches of a space, such as the models of a choice.

    The next configuration is from the branch with the fewest trials; ties are in the
    order of the branches. Trials of earlier searches on the same data count. The
    portfolio is used up if each branch has a trial and there are `n_first` trials.

    Parameters
    ----------
    branches : list of (members, portfolio)
        Branches with their portfolios. A configuration belongs to the branch if it has
        all positions of one of the dicts `members`, by index of the column, with NaN
        for an inactive column.
    n_first : int
        Number of trials that a search starts with, at least.
    """

    def __init__(
        self,
        branches: Sequence[tuple[Sequence[Mapping[int, float]], Portfolio]],
        n_first: int,
    ) -> None:
        self.branches = list(branches)
        self.n_first = max(n_first, len(self.branches))
        self.rows = np.vstack([portfolio.rows for _, portfolio in self.branches])

    def choose(
        self, X: FloatArray, scores: FloatArray, free: Sequence[int]
    ) -> int | None:
        """Return the index of the next configuration, as :meth:`Portfolio.choose`."""
        masks = [in_branch(X, members) for members, _ in self.branches]
        counts = [int(np.sum(mask)) for mask in masks]
        starts = np.cumsum(
            [0, *(len(portfolio.rows) for _, portfolio in self.branches)]
        )
        for branch in np.argsort(counts, kind="stable").tolist():
            if counts[branch] and len(X) >= self.n_first:
                return None
            start, end, mask = starts[branch], starts[branch + 1], masks[branch]
            local = [place - start for place in free if start <= place < end]
            place = self.branches[branch][1].choose(X[mask], scores[mask], local)
            if place is not None:
                return int(start + place)
        return None


def in_branch(X: FloatArray, members: Sequence[Mapping[int, float]]) -> np.ndarray:
    """Return the mask of the rows that belong to a branch."""
    mask = np.zeros(len(X), dtype=bool)
    for member in members:
        places, positions = list(member), np.array(list(member.values()))
        values = X[:, places]
        equal = (values == positions) | (np.isnan(values) & np.isnan(positions))
        mask |= np.all(equal, axis=1)
    return mask
