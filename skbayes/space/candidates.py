"""Configurations of a space, and the candidates that can still be proposed.

Symbols (D columns):

- ``X``: (n, D) encoded configurations, NaN where inactive.
- key of a row: its bytes, the identity of an encoded configuration.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import qmc

from skbayes.space.dimensions import FloatArray, key_of, keys_of, nearest, rows_of

if TYPE_CHECKING:
    from skbayes.space.space import Space

# A finite space of at most this many configurations is enumerated once.
MAX_LISTED = 20_000

# Up to this number of configurations, the constraint, which may be slow, is evaluated
# for all of them at once. Otherwise, it is evaluated when they are about to be
# proposed.
MAX_CHECKED_AT_ONCE = 2000

# Number of the best candidates that are checked first; see order_to_check.
MAX_CHECKED_FIRST = 32

# Number of configurations in a batch of draws. Batches are drawn at random first, then
# near known configurations that the constraint allows, then at random again. A larger
# finite space is scanned after that, up to a number of configurations.
BATCH_SIZE, N_DRAW_BATCHES, N_NEAR_BATCHES, N_LAST_BATCHES = 256, 64, 64, 192
MAX_SCANNED = 1_000_000

# Standard deviations of the steps from known configurations, in the first and in the
# last batch near them.
FIRST_SD, LAST_SD = 0.3, 1e-6

# Probability that a column is perturbed.
PERTURB_PROBABILITY = 0.5

# A column with at most this number of values is changed by steps to adjacent values.
MAX_GRID = 1000


@dataclass(frozen=True, eq=False)
class Configuration:
    """Dict of parameters and its encoded row, NaN where a column is inactive."""

    params: dict[str, Any]
    row: FloatArray

    @classmethod
    def of(
        cls, space: Space, params: Mapping[str, Any] | Configuration
    ) -> Configuration:
        """Encode parameters; return a configuration unchanged.

        The result has the values of the space, with the types that it proposes. A
        ValueError is raised for parameters outside of the space.
        """
        if isinstance(params, Configuration):
            return params
        row = space.encode([params])[0]
        return cls(space.canonicalize_row(params, row), row)


class SpaceExhausted(Exception):
    """Exception for a space without any new allowed configuration to propose."""


class DrawsExhausted(SpaceExhausted):
    """Exception for a limited number of draws without a new configuration."""


def sobol(n_columns: int, log2_n: int, seed: np.random.Generator) -> FloatArray:
    """Return 2^log2_n points of a scrambled Sobol sequence in [0, 1)^n_columns."""
    if n_columns == 0:
        return np.empty((2**log2_n, 0))
    return qmc.Sobol(n_columns, scramble=True, seed=seed).random_base2(log2_n)


def order_to_check(n: int) -> Iterator[int]:
    """Yield indices of n ranked candidates, in the order in which to check them.

    The constraint may reject the whole region that a model prefers. After the best
    candidates, others follow at increasing distances down the ranking.
    """
    yield from range(min(n, MAX_CHECKED_FIRST))
    leaps = {MAX_CHECKED_FIRST + 2**k for k in range(n.bit_length())}
    leaps = {place for place in leaps if place < n}
    yield from sorted(leaps)
    yield from (place for place in range(MAX_CHECKED_FIRST, n) if place not in leaps)


def perturb(
    space: Space, X: FloatArray, sds: Sequence[float], random_state: np.random.Generator
) -> FloatArray:
    """Perturb half of the columns of rows, with one of the standard deviations each.

    New values are drawn for unordered columns. If no column of a row changes, because
    its values are far apart, one column changes to an adjacent value.
    """
    fresh = space.from_uniform(random_state.random(X.shape))
    sd = random_state.choice(sds, size=(len(X), 1))
    steps = sd * random_state.standard_normal(X.shape)
    moved = np.clip(X + steps, 0.0, 1.0)
    moved = np.where(space.categorical | np.isnan(X), fresh, moved)
    chosen = random_state.random(X.shape) < PERTURB_PROBABILITY
    moved = space.snap(np.where(chosen, moved, X))
    unchanged = np.flatnonzero(np.all((moved == X) | np.isnan(X), axis=1))
    adjacent = _adjacent(space, X[unchanged], steps[unchanged])
    can_change = ~np.isnan(adjacent)
    if np.any(can_change):
        order = np.where(can_change, random_state.random(adjacent.shape), -1.0)
        first = np.argmax(order, axis=1)[:, None] == np.arange(space.n_columns)
        moved[unchanged] = space.snap(
            np.where(first & can_change, adjacent, X[unchanged])
        )
    return moved


def _adjacent(space: Space, X: FloatArray, steps: FloatArray) -> FloatArray:
    """Return adjacent values in the directions of steps, NaN for columns with many."""
    adjacent = np.full(X.shape, np.nan)
    for place, column in enumerate(space.columns):
        dimension = column.dimension
        if dimension.is_categorical or not 1 < dimension.n_values <= MAX_GRID:
            continue
        grid, last = dimension.grid, int(dimension.n_values) - 1
        current = nearest(grid, X[:, place])
        # At the ends, there is only one adjacent value.
        up = np.where(steps[:, place] > 0.0, current < last, current == 0)
        neighbors = grid[current + np.where(up, 1, -1)]
        adjacent[:, place] = np.where(np.isnan(X[:, place]), np.nan, neighbors)
    return adjacent


class Candidates:
    """Allowed configurations of a space that are neither observed nor pending.

    `rows` are all configurations of an enumerated space, or None in other spaces. They
    do not include configurations that are already known to be rejected by the
    constraint. A ValueError is raised if the constraint rejects a whole small space.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self._known: set[str] = set()
        self._n_scanned = 0
        self._set_rows(self._enumerate())
        self._constraint_applied = space.constraint is None
        if self.rows is not None and len(self.rows) <= MAX_CHECKED_AT_ONCE:
            self.apply_constraint()

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
        listed = np.empty((0, self.space.n_columns)) if rows is None else rows
        self._places = {key: place for place, key in enumerate(keys_of(listed))}
        self._available = np.array(
            [key not in self._known for key in self._places], bool
        )
        self._n_rejected = 0

    def apply_constraint(self) -> None:
        """Evaluate the constraint for all rows of an enumerated space."""
        if self._constraint_applied or self.rows is None:
            return
        rows = self.rows[self.space.allowed(self.rows)]
        if not len(rows):
            raise ValueError(
                "The constraint allows none of the "
                f"{self.space.n_configurations} configurations of the space. Relax it."
            )
        self._set_rows(rows)
        self._constraint_applied = True

    @property
    def n_configurations(self) -> float:
        """Number of configurations that can be proposed.

        It includes configurations for which the constraint has not been evaluated, and
        all rejected ones if the space is not enumerated.
        """
        if self.rows is None:
            return self.space.n_configurations
        return len(self.rows) - self._n_rejected

    @property
    def known_keys(self) -> list[str]:
        """Keys of the configurations that are observed or pending."""
        return sorted(self._known)

    @property
    def is_enumerated(self) -> bool:
        """Whether the space is small enough to be enumerated."""
        return self.rows is not None

    def is_known(self, row: FloatArray) -> bool:
        """Return whether the configuration of a row (D,) is observed or pending."""
        return key_of(row) in self._known

    def add(self, row: FloatArray) -> None:
        """Mark the configuration of a row, shape (D,), as known."""
        self.add_key(key_of(row))

    def add_key(self, key: str) -> None:
        """Mark the configuration with a key as known."""
        self._known.add(key)
        if key in self._places:
            self._available[self._places[key]] = False

    def discard(self, row: FloatArray) -> None:
        """Mark the configuration of a row, shape (D,), as unknown."""
        key = key_of(row)
        self._known.discard(key)
        self._n_scanned = 0
        if key in self._places:
            self._available[self._places[key]] = True

    def filter_new(self, X: FloatArray) -> np.ndarray:
        """Return a mask (n,) of the rows (n, D) that are new and allowed."""
        mask = np.array([key not in self._known for key in keys_of(X)], dtype=bool)
        new = np.flatnonzero(mask)
        mask[new] = self.space.allowed(X[new])
        if not self._constraint_applied and self.rows is not None:
            for row in X[new[~mask[new]]]:  # rejected by the constraint
                place = self._places[key_of(row)]
                self._n_rejected += int(self._available[place])
                self._available[place] = False
        return mask

    def first_new(self, X: FloatArray, n_before: int = 0) -> FloatArray:
        """Return the rows, shape (m, D), that are new and allowed, m >= 0.

        With a constraint, which may be slow, only the first of them is returned.
        `n_before` is the number of rows that were rejected in earlier calls.
        """
        if self.space.constraint is None:
            return X[self.filter_new(X)]
        start = 0
        while start < len(X):
            # Check batches of increasing size: a larger batch takes less time per row.
            count = 1 + (n_before + start) // 8
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
        if not np.any(self._available):
            raise self._exhausted()
        return self.rows[self._available]

    def allowed_first(self, unseen: FloatArray) -> FloatArray:
        """Return the allowed ones of the ranked rows `unseen`, in the same order.

        If the constraint has not been evaluated for all rows, only the first allowed
        row is returned. SpaceExhausted is raised if no row is allowed.
        """
        if self._constraint_applied:
            return unseen
        for place in order_to_check(len(unseen)):
            if self.filter_new(unseen[[place]])[0]:
                return unseen[[place]]
        raise self._exhausted()

    def _exhausted(self) -> SpaceExhausted:
        return SpaceExhausted(
            f"All {self.n_configurations} configurations of the space have been "
            "proposed or observed."
        )

    def draw(self, random_state: np.random.Generator) -> FloatArray:
        """Draw new and allowed rows; SpaceExhausted is raised if none is found."""
        if self.rows is not None:
            return self.allowed_first(random_state.permutation(self.unseen()))
        n_drawn = 0
        for batch in self._batches(random_state):
            X = self.first_new(batch, n_drawn)
            if len(X):
                return X
            n_drawn += len(batch)
        return self._scan(n_drawn)

    def _batches(self, random_state: np.random.Generator) -> Iterator[FloatArray]:
        """Yield batches of random rows, and with a constraint, rows near known ones."""
        size = BATCH_SIZE, self.space.n_columns
        for _ in range(N_DRAW_BATCHES):
            yield self.space.from_uniform(random_state.random(size))
        if self.space.constraint is None:
            return
        centers = self._allowed_known()
        n_batches = N_NEAR_BATCHES if len(centers) else 0
        for sd in np.geomspace(FIRST_SD, LAST_SD, n_batches):
            starts = centers[random_state.integers(len(centers), size=BATCH_SIZE)]
            yield perturb(self.space, starts, [sd], random_state)
        if self.space.n_configurations > MAX_SCANNED:
            for _ in range(N_LAST_BATCHES):
                yield self.space.from_uniform(random_state.random(size))

    def _allowed_known(self) -> FloatArray:
        """Return the known rows that the constraint allows, in a fixed order."""
        rows = rows_of(sorted(self._known), self.space.n_columns)
        return rows[self.space.allowed(rows)]

    def _scan(self, n_drawn: int) -> FloatArray:
        """Return the next new and allowed rows of a large finite space."""
        is_finite = self.space.n_configurations < math.inf
        last = int(min(self.space.n_configurations, MAX_SCANNED)) if is_finite else 0
        # Known and rejected configurations are not scanned again.
        while self._n_scanned < last:
            end = min(self._n_scanned + MAX_LISTED, last)
            X = self.space.enumerate(np.arange(self._n_scanned, end))
            X = self.first_new(X, n_drawn)
            if len(X):
                return X
            self._n_scanned = end
        if last == self.space.n_configurations:
            also = ", or are rejected by the constraint" * bool(self.space.constraint)
            raise SpaceExhausted(
                f"All configurations of the space have been proposed or observed{also}."
            )
        raise DrawsExhausted(self._exhaustion_message(n_drawn + last))

    def _exhaustion_message(self, n_tried: int) -> str:
        """Return a message with the number of configurations and a remedy."""
        if self.space.constraint is None:
            return f"{n_tried:,} configurations were drawn, none of which is new."
        if len(self._allowed_known()):
            return (
                f"The constraint allows no new configuration among the {n_tried:,} "
                "that were drawn."
            )
        return (
            f"The constraint allows none of the {n_tried:,} configurations that were "
            "drawn. Pass an allowed configuration in initial_points, or narrow the "
            "ranges."
        )
