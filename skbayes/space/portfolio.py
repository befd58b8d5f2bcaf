"""Portfolios: configurations that a search begins with.

Symbols: m configurations, t data sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skbayes.space.dimensions import FloatArray, key_of
from skbayes.space.lists import option_key

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


class ModelStarts:
    """First configuration of each model of a choice.

    `points` are triples: the parameter that is a choice among models, the model, and a
    configuration. The next configuration is the first one whose model has no trial,
    also among those of earlier searches on the same data. A search starts with at least
    `n_first` configurations.
    """

    def __init__(
        self,
        space: Space,
        points: Sequence[tuple[str, Any, Mapping[str, Any]]],
        n_first: int,
    ) -> None:
        self._space = space
        self._models = [(name, option_key(model)) for name, model, _ in points]
        self.rows = space.encode([params for *_, params in points])
        self.n_first = max(n_first, len(points))

    def choose(
        self, X: FloatArray, scores: FloatArray, free: Sequence[int]
    ) -> int | None:
        """Return the index of the next configuration, as :meth:`Portfolio.choose`."""
        tried = set()
        for name in {name for name, _ in self._models}:
            unnamed = np.ones(len(X), dtype=bool)
            for place, column in enumerate(self._space.columns):
                if column.name == name:
                    active = ~np.isnan(X[:, place])
                    models = column.dimension.decode(np.unique(X[active, place]))
                    tried |= {(name, option_key(model)) for model in models}
                    unnamed &= ~active
            if unnamed.any():
                tried.add((name, option_key(None)))
        return next((k for k in free if self._models[k] not in tried), None)
