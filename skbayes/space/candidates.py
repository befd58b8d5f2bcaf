"""Which configurations of a space are still to be had.

Symbols (D columns):

- ``X``: (n, D) encoded configurations, NaN where inactive.
- key of a row: its bytes, the identity of an encoded configuration.
"""

from __future__ import annotations

import math

import numpy as np

from skbayes.space import Space
from skbayes.space.dimensions import FloatArray

__all__ = ["Candidates", "SpaceExhausted", "key_of"]

# A finite space of at most this many cells is listed once and for all.
MAX_LISTED = 20_000

# Random draws in search of a configuration that is allowed and new, a batch at a
# time, before a larger finite space is scanned cell by cell, and the most cells that
# are scanned before it is given up.
DRAWS, N_DRAW_BATCHES, MAX_SCANNED = 256, 64, 1_000_000


class SpaceExhausted(Exception):
    """No configuration is left that was neither told nor pending and is allowed."""


def key_of(row: FloatArray) -> bytes:
    """Identity of an encoded configuration.

    Parameters
    ----------
    row : ndarray of shape (D,)
        The configuration.

    Returns
    -------
    key : bytes
        Equal for equal configurations, and hashable.
    """
    return np.where(np.isnan(row), -1.0, row + 0.0).tobytes()


class Candidates:
    """The allowed configurations of a space, less those that are known.

    Parameters
    ----------
    space : Space
        The space, with its constraint.

    Attributes
    ----------
    n_configurations : int or float
        Number of configurations that can be proposed, ``math.inf`` if infinite. In a
        space of up to 20,000 cells those that the constraint rejects do not count.

    Raises
    ------
    ValueError
        If the constraint allows none of the cells of a space that is listed.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self._known: set[bytes] = set()
        # What the constraint said; it may be slow, and is asked once a configuration.
        self._verdicts: dict[bytes, bool] = {}
        self._scanned = 0
        self._cells = self._list_cells()
        self._places: dict[bytes, int] = {}
        self._open = np.ones(0, dtype=bool)
        if self._cells is not None:
            self._places = {key_of(row): i for i, row in enumerate(self._cells)}
            self._open = np.ones(len(self._cells), dtype=bool)
        self.n_configurations: float = space.n_configurations
        if self._cells is not None:
            self.n_configurations = len(self._cells)

    def _list_cells(self) -> FloatArray | None:
        if self.space.n_configurations > MAX_LISTED:
            return None
        X = self.space.cells(np.arange(int(self.space.n_configurations)))
        if self.space.overlaps:
            _, first = np.unique([key_of(row) for row in X], return_index=True)
            X = X[np.sort(first)]
        if self.space.constraint is not None:
            X = X[[self.space.allows(params) for params in self.space.decode(X)]]
            if not len(X):
                raise ValueError(
                    "constraint: it allows none of the "
                    f"{self.space.n_configurations} configurations of the space."
                )
        return X

    @property
    def is_enumerated(self) -> bool:
        """Whether the space is small enough to be listed."""
        return self._cells is not None

    @property
    def cells(self) -> FloatArray | None:
        """All allowed rows, known or not, of a space that is listed; else None."""
        return self._cells

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
        self._scanned = 0
        if key in self._places:
            self._open[self._places[key]] = True

    def filter_new(self, X: FloatArray) -> np.ndarray:
        """Rows that are new and allowed.

        Parameters
        ----------
        X : ndarray of shape (n, D)
            Encoded configurations.

        Returns
        -------
        admitted : ndarray of shape (n,), bool
            False for what is known or rejected by the constraint.
        """
        keys = [key_of(row) for row in X]
        mask = np.array([key not in self._known for key in keys], dtype=bool)
        if self.space.constraint is None:
            return mask
        unjudged = [i for i in np.flatnonzero(mask) if keys[i] not in self._verdicts]
        for i, params in zip(unjudged, self.space.decode(X[unjudged]), strict=True):
            self._verdicts[keys[i]] = self.space.allows(params)
        return mask & np.array([self._verdicts.get(key, False) for key in keys])

    def unseen(self) -> FloatArray:
        """All new and allowed rows of a space that is listed; at least one.

        Raises
        ------
        SpaceExhausted
            If there is none.
        """
        assert self._cells is not None
        if not np.any(self._open):
            raise SpaceExhausted(
                f"All {len(self._cells)} configurations of the space were asked for "
                "or told."
            )
        return self._cells[self._open]

    def draw(self, random_state: np.random.Generator) -> FloatArray:
        """Draw new and allowed rows at random; at least one.

        Raises
        ------
        SpaceExhausted
            If none is left, or none can be found.
        """
        if self._cells is not None:
            return random_state.permutation(self.unseen())
        for _ in range(N_DRAW_BATCHES):
            U = random_state.random((DRAWS, self.space.n_columns))
            X = self.space.from_uniform(U)
            X = X[self.filter_new(X)]
            if len(X):
                return X
        return self._scan()

    def _scan(self) -> FloatArray:
        """Look at the cells of a large finite space one after the other."""
        if not math.isinf(self.space.n_configurations):
            last_cell = min(int(self.space.n_configurations), MAX_SCANNED)
            # What was known or rejected once stays so: no cell is looked at twice.
            while self._scanned < last_cell:
                end = min(self._scanned + MAX_LISTED, last_cell)
                X = self.space.cells(np.arange(self._scanned, end))
                X = X[self.filter_new(X)]
                if len(X):
                    return X
                self._scanned = end
            if last_cell == self.space.n_configurations:
                raise SpaceExhausted(
                    "All configurations of the space were asked for or told."
                )
        raise SpaceExhausted(
            f"None of {DRAWS * N_DRAW_BATCHES} random configurations was new and "
            "allowed by the constraint."
        )
