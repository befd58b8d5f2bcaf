"""Candidates: the configurations of a space that can still be proposed.

Symbols (D columns):

- ``X``: (n, D) encoded configurations, NaN where inactive.
- key of a row: its bytes, the identity of an encoded configuration.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from skbayes.space import Space
from skbayes.space.dimensions import FloatArray
from skbayes.space.space import key_of, keys_of

__all__ = ["MAX_ASKED", "Candidates", "SpaceExhausted", "key_of", "order_to_ask"]

# A finite space of at most this many configurations is enumerated once.
MAX_LISTED = 20_000

# Up to this number of configurations, the constraint, which may be slow, is evaluated
# for all of them at once. Otherwise, it is evaluated when they are about to be
# proposed.
MAX_JUDGED = 2000

# Number of the best candidates that are checked first; see order_to_ask.
MAX_ASKED = 32

# Size and number of the batches of random draws before a larger finite space is
# scanned, and the most configurations that are scanned.
DRAWS, N_DRAW_BATCHES, MAX_SCANNED = 256, 64, 1_000_000


class SpaceExhausted(Exception):
    """Exception for a space without any new allowed configuration to propose."""


def order_to_ask(n: int) -> Iterator[int]:
    """Yield indices of n ranked candidates, in the order in which to check them.

    The constraint may reject the whole region that a model prefers. After the best
    candidates, others follow at increasing distances down the ranking.
    """
    yield from range(min(n, MAX_ASKED))
    leaps = {MAX_ASKED + 2**k for k in range(n.bit_length())}
    leaps = {place for place in leaps if place < n}
    yield from sorted(leaps)
    yield from (place for place in range(MAX_ASKED, n) if place not in leaps)


class Candidates:
    """Allowed configurations of a space that are neither observed nor pending.

    `n_configurations` counts the configurations that can be proposed. It includes
    configurations that the constraint rejects if the constraint has not been evaluated
    for them. In a finite space that is not enumerated, it includes all rejected ones.
    `rows` are the counted configurations of an enumerated space, known or not, and None
    otherwise. A ValueError is raised if the constraint rejects all of a small space.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self._known: set[bytes] = set()
        self._n_scanned = 0
        self._set_rows(self._enumerate())
        self._is_judged = space.constraint is None
        if self.rows is not None and len(self.rows) <= MAX_JUDGED:
            self.judge()

    def _enumerate(self) -> FloatArray | None:
        if self.space.n_configurations > MAX_LISTED:
            return None
        X = self.space.enumerate(np.arange(int(self.space.n_configurations)))
        if self.space.overlaps:
            _, first = np.unique(keys_of(X), return_index=True)
            X = X[np.sort(first)]
        return X

    def _set_rows(self, rows: FloatArray | None) -> None:
        self.rows = rows
        own = np.empty((0, self.space.n_columns)) if rows is None else rows
        self._places = {key: place for place, key in enumerate(keys_of(own))}
        self._open = np.array([key not in self._known for key in self._places], bool)
        self._n_rejected = 0

    def judge(self) -> None:
        """Evaluate the constraint for all rows of an enumerated space."""
        if self._is_judged or self.rows is None:
            return
        rows = self.rows[self.space.allowed(self.rows)]
        if not len(rows):
            raise ValueError(
                "constraint: it allows none of the "
                f"{self.space.n_configurations} configurations of the space."
            )
        self._set_rows(rows)
        self._is_judged = True

    @property
    def n_configurations(self) -> float:
        """Number of configurations that can be proposed."""
        if self.rows is None:
            return self.space.n_configurations
        return len(self.rows) - self._n_rejected

    @property
    def is_enumerated(self) -> bool:
        """Whether the space is small enough to be enumerated."""
        return self.rows is not None

    def is_known(self, row: FloatArray) -> bool:
        """Whether the configuration of a row, shape (D,), is observed or pending."""
        return key_of(row) in self._known

    def add(self, row: FloatArray) -> None:
        """Mark the configuration of a row, shape (D,), as known."""
        key = key_of(row)
        self._known.add(key)
        if key in self._places:
            self._open[self._places[key]] = False

    def discard(self, row: FloatArray) -> None:
        """Mark the configuration of a row, shape (D,), as unknown."""
        key = key_of(row)
        self._known.discard(key)
        self._n_scanned = 0
        if key in self._places:
            self._open[self._places[key]] = True

    def filter_new(self, X: FloatArray) -> np.ndarray:
        """Return a mask (n,) of the rows (n, D) that are new and allowed."""
        mask = np.array([key not in self._known for key in keys_of(X)], dtype=bool)
        new = np.flatnonzero(mask)
        mask[new] = self.space.allowed(X[new])
        if not self._is_judged and self.rows is not None:
            self._close(X[new[~mask[new]]])
        return mask

    def _close(self, rejected: FloatArray) -> None:
        """Remove rows that the constraint rejects."""
        for row in rejected:
            place = self._places[key_of(row)]
            self._n_rejected += int(self._open[place])
            self._open[place] = False

    def first_new(self, X: FloatArray) -> FloatArray:
        """Return the rows, shape (m, D), that are new and allowed, m >= 0.

        With a constraint, which may be slow, only the first of them is returned.
        """
        if self.space.constraint is None:
            return X[self.filter_new(X)]
        start = 0
        while start < len(X):
            # In batches of increasing size, which take less time per row.
            count = 1 + start // 8
            rows = X[start : start + count]
            rows = rows[self.filter_new(rows)]
            if len(rows):
                return rows[:1]
            start += count
        return X[:0]

    def unseen(self) -> FloatArray:
        """Return all new rows of an enumerated space that are not known to be rejected.

        SpaceExhausted is raised if there is none.
        """
        assert self.rows is not None
        if not np.any(self._open):
            raise self._exhausted()
        return self.rows[self._open]

    def allowed_first(self, unseen: FloatArray) -> FloatArray:
        """Return ranked rows of `unseen` such that the first one is allowed.

        SpaceExhausted is raised if there is none.
        """
        if self._is_judged:
            return unseen
        for place in order_to_ask(len(unseen)):
            if self.filter_new(unseen[[place]])[0]:
                return unseen[[place]]
        raise self._exhausted()

    def _exhausted(self) -> SpaceExhausted:
        return SpaceExhausted(
            f"All {self.n_configurations} configurations of the space have been "
            "proposed or observed."
        )

    def draw(self, random_state: np.random.Generator) -> FloatArray:
        """Draw new and allowed rows, at least one; SpaceExhausted if none is found."""
        if self.rows is not None:
            return self.allowed_first(random_state.permutation(self.unseen()))
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
            # Known and rejected configurations are not scanned again.
            while self._n_scanned < last:
                end = min(self._n_scanned + MAX_LISTED, last)
                X = self.space.enumerate(np.arange(self._n_scanned, end))
                X = self.first_new(X)
                if len(X):
                    return X
                self._n_scanned = end
            if last == self.space.n_configurations:
                raise SpaceExhausted(
                    "All configurations of the space have been proposed or observed."
                )
        raise SpaceExhausted(
            f"None of {DRAWS * N_DRAW_BATCHES} random configurations was new and "
            "allowed by the constraint."
        )
