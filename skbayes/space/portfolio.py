"""Portfolios: configurations that were good on other data sets.

Symbols: m configurations, t data sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skbayes.space.dimensions import FloatArray, key_of

if TYPE_CHECKING:
    from skbayes.space.space import Space

# The logarithm of a data set's weight is the product of this factor, the agreement of
# its ranking with that of the scores, and the square root of the number of scores - 1.
AGREEMENT_WEIGHT = 4.0

# Difference of regrets from which they count as fully different.
CLEAR_DIFFERENCE = 0.1


class Portfolio:
    """Configurations and their regrets on other data sets.

    The next configuration is the one that reduces the mean regret of the best
    configuration so far the most. The weight of a data set in the mean increases if its
    ranking of the configurations agrees with the observed scores. The normalized
    `regrets` (t, m) are 0 for the best known configuration and 1 for a median one. A
    search starts with `n_first` of the configurations.
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
        self.n_first = n_first
        self._places = {key_of(row): place for place, row in enumerate(self.rows)}

    def choose(
        self, X: FloatArray, scores: FloatArray, free: Sequence[int]
    ) -> int | None:
        """Return the index of the next configuration of the `free` ones, or None.

        `scores` (n,) of the known configurations `X` are -inf for failures and NaN for
        pending ones.
        """
        if not len(free):
            return None
        places = np.array([self._places.get(key_of(row), -1) for row in X], dtype=int)
        known = (places >= 0) & ~np.isnan(scores)
        weights = self._weights(places[known], scores[known])
        tried = self.regrets[:, places[places >= 0]]
        so_far = tried.min(axis=1, keepdims=True, initial=np.inf)
        means = weights @ np.minimum(so_far, self.regrets[:, free])
        return int(free[int(np.argmin(means))])

    def _weights(self, places: np.ndarray, scores: FloatArray) -> FloatArray:
        """Return the weights (t,) of the data sets by agreement with known scores."""
        n = len(places)
        if n < 2:
            return np.full(len(self.regrets), 1.0 / len(self.regrets))
        scores = np.nan_to_num(scores, neginf=-1e300)
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

    The next configuration is from the branch with the fewest trials, including those of
    earlier searches on the same data; ties are in the order of the branches. The
    portfolio is used up if each branch has a trial and there are `n_first` trials. A
    branch is a pair (members, portfolio); for the members, see `in_branch`.
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
    """Return the mask of the rows with all positions of one of the dicts `members`.

    Positions are by index of the column, NaN for an inactive column.
    """
    mask = np.zeros(len(X), dtype=bool)
    for member in members:
        places, positions = list(member), np.array(list(member.values()))
        values = X[:, places]
        equal = (values == positions) | (np.isnan(values) & np.isnan(positions))
        mask |= np.all(equal, axis=1)
    return mask
