"""Candidates: the configurations of a space that can still be proposed.

Symbols (D columns):

- ``X``: (n, D) encoded configurations, NaN where inactive.
- key of a row: its bytes, the identity of an encoded configuration.
"""

from __future__ import annotations

import math

import numpy as np

from skbayes.space import Space
from skbayes.space.dimensions import FloatArray
from skbayes.space.space import key_of

__all__ = ["Candidates", "SpaceExhausted", "key_of"]

# A finite space of at most this many configurations is enumerated once.
MAX_LISTED = 20_000

# Size and number of the batches of random draws before a larger finite space is
# scanned, and the most configurations that are scanned.
DRAWS, N_DRAW_BATCHES, MAX_SCANNED = 256, 64, 1_000_000


class SpaceExhausted(Exception):
    """No configuration is left that was neither told nor pending and is allowed."""


class Candidates:
    """Allowed configurations of a space that are not known.

    `n_configurations` counts those that can be proposed; of a finite space that is not
    enumerated, also those that the constraint rejects. `rows` are all allowed rows,
    known or not, of a space that is enumerated, else None. ValueError if the constraint
    allows none of them.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self._known: set[bytes] = set()
        self._n_scanned = 0
        self.rows = self._enumerate()
        own = np.empty((0, space.n_columns)) if self.rows is None else self.rows
        self._places = {key_of(row): place for place, row in enumerate(own)}
        self._open = np.ones(len(own), dtype=bool)
        self.n_configurations: float = space.n_configurations
        if self.rows is not None:
            self.n_configurations = len(self.rows)

    def _enumerate(self) -> FloatArray | None:
        if self.space.n_configurations > MAX_LISTED:
            return None
        X = self.space.enumerate(np.arange(int(self.space.n_configurations)))
        if self.space.overlaps:
            _, first = np.unique([key_of(row) for row in X], return_index=True)
            X = X[np.sort(first)]
        if self.space.constraint is not None:
            X = X[self.space.allowed(X)]
            if not len(X):
                raise ValueError(
                    "constraint: it allows none of the "
                    f"{self.space.n_configurations} configurations of the space."
                )
        return X

    @property
    def is_enumerated(self) -> bool:
        """Whether the space is small enough to be enumerated."""
        return self.rows is not None

    def is_known(self, row: FloatArray) -> bool:
        """Whether the configuration of a row, shape (D,), was told or is pending."""
        return key_of(row) in self._known

    def add(self, row: FloatArray) -> None:
        """Make the configuration of a row, shape (D,), known."""
        key = key_of(row)
        self._known.add(key)
        if key in self._places:
            self._open[self._places[key]] = False

    def discard(self, row: FloatArray) -> None:
        """Forget that the configuration of a row, shape (D,), is known."""
        key = key_of(row)
        self._known.discard(key)
        self._n_scanned = 0
        if key in self._places:
            self._open[self._places[key]] = True

    def filter_new(self, X: FloatArray) -> np.ndarray:
        """Which rows, shape (n, D), are new and allowed by the constraint."""
        mask = np.array([not self.is_known(row) for row in X], dtype=bool)
        mask[mask] = self.space.allowed(X[mask])
        return mask

    def first_new(self, X: FloatArray) -> FloatArray:
        """Return rows, shape (m, D), that are new and allowed, m = 0 if there is none.

        Of a space with a constraint, which may be slow, only the first of them.
        """
        if self.space.constraint is None:
            return X[self.filter_new(X)]
        for place in range(len(X)):
            if self.filter_new(X[[place]])[0]:
                return X[[place]]
        return X[:0]

    def unseen(self) -> FloatArray:
        """All new and allowed rows of a space that is enumerated.

        SpaceExhausted if there is none.
        """
        assert self.rows is not None
        if not np.any(self._open):
            raise SpaceExhausted(
                f"All {len(self.rows)} configurations of the space were asked for "
                "or told."
            )
        return self.rows[self._open]

    def draw(self, random_state: np.random.Generator) -> FloatArray:
        """Draw new and allowed rows, one at least; SpaceExhausted if none is found."""
        if self.rows is not None:
            return random_state.permutation(self.unseen())
        for _ in range(N_DRAW_BATCHES):
            U = random_state.random((DRAWS, self.space.n_columns))
            X = self.first_new(self.space.from_uniform(U))
            if len(X):
                return X
        return self._scan()

    def _scan(self) -> FloatArray:
        """Return the next new and allowed rows of a large finite space."""
        if not math.isinf(self.space.n_configurations):
            last = min(int(self.space.n_configurations), MAX_SCANNED)
            # What was known or rejected once stays so, and is not scanned again.
            while self._n_scanned < last:
                end = min(self._n_scanned + MAX_LISTED, last)
                X = self.space.enumerate(np.arange(self._n_scanned, end))
                X = self.first_new(X)
                if len(X):
                    return X
                self._n_scanned = end
            if last == self.space.n_configurations:
                raise SpaceExhausted(
                    "All configurations of the space were asked for or told."
                )
        raise SpaceExhausted(
            f"None of {DRAWS * N_DRAW_BATCHES} random configurations was new and "
            "allowed by the constraint."
        )
