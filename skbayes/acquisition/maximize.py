"""Maximization of acquisition functions over a search space.

Symbols (D columns):

- ``X``: (m, D) candidates, encoded, NaN where inactive.
- ``admit``: function from candidates to a mask of those that may be proposed. These are
  allowed by the constraint, and neither observed nor pending.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy import optimize

from skbayes.space.candidates import (
    MAX_CHECKED_FIRST,
    MAX_GRID,
    order_to_check,
    perturb,
    sobol,
)
from skbayes.space.dimensions import FloatArray
from skbayes.space.space import Space

__all__ = ["Scorer", "maximize_over", "maximize_search"]

Admit = Callable[[FloatArray], np.ndarray]

# Number of candidates of a scrambled Sobol sequence, a power of 2.
N_SOBOL = 512

# Number of perturbed copies of each incumbent, and standard deviations of the
# perturbation.
N_PERTURBED = 16
PERTURBATIONS = (0.1, 0.02)

# Number of starting points of the local refinement.
N_STARTS = 3

# Number of rounds of gradient ascent followed by steps to neighbors.
N_ROUNDS = 2
MAX_ASCENT_STEPS = 10

# Ordered columns with more than FEW_VALUES values are refined by gradient ascent, and
# columns with at most MAX_GRID values by steps to adjacent values. Many columns are
# refined by both.
FEW_VALUES = 12

# Maximum number of neighbors of a row that are checked by a constraint, which may be
# slow.
MAX_CHECKED_NEIGHBORS = 8

# Maximum number of other options of an unordered column that are tried in a round.
MAX_OPTIONS = 8


class Scorer(Protocol):
    """Protocol of objects that score candidates.

    With ``has_gradients = True``, there is also a method ``scores_and_gradient(X)``. It
    returns the scores (m,) and their gradients (m, D).
    """

    has_gradients: bool

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the scores (m,) of candidates (m, D); greater is better."""


def maximize_over(proposer: Scorer, X: FloatArray) -> FloatArray:
    """Return all of a finite number of candidates, best first."""
    return X[np.argsort(-proposer.scores(X), kind="stable")]


def maximize_search(
    proposer: Scorer,
    space: Space,
    incumbents: FloatArray,
    admit: Admit,
    random_state: np.random.Generator,
    more: FloatArray | None = None,
) -> FloatArray:
    """Search a space that is infinite or too large to enumerate.

    The candidates are points of a Sobol sequence, perturbed incumbents, and `more`. The
    best candidates and the best incumbent are refined. Ordered columns with many values
    are refined by gradient ascent, if there are gradients. Columns with at most 1,000
    values are refined by steps to neighboring values. With a constraint, only the best
    candidates are checked and returned.
    """
    drawn = space.from_uniform(
        sobol(space.n_columns, int(np.log2(N_SOBOL)), random_state)
    )
    copies = np.repeat(incumbents, N_PERTURBED, axis=0)
    near = perturb(space, copies, PERTURBATIONS, random_state)
    X = np.vstack([drawn, near] if more is None else [drawn, near, more])
    if space.constraint is None:
        X = X[admit(X)]
    if not len(X):
        return X
    values = proposer.scores(X)
    best = np.argsort(-values, kind="stable")
    if space.constraint is not None:
        best = best[_first_admitted(X[best], admit)]
        X, values, best = X[best], values[best], np.arange(len(best))
    starts = np.vstack([X[best[:N_STARTS]], incumbents[:1]])
    refined = _refine(proposer, space, starts, admit, random_state)
    X = np.vstack([X, refined])
    values = np.concatenate([values, proposer.scores(refined)])
    return X[np.argsort(-values, kind="stable")]


def _first_admitted(X: FloatArray, admit: Admit) -> list[int]:
    """Return the indices of the first admitted rows, as many as are refined.

    After one is found, only a few more rows are checked, because a constraint may be
    slow.
    """
    found: list[int] = []
    for n_checked, place in enumerate(order_to_check(len(X))):
        if len(found) == N_STARTS or (found and n_checked >= MAX_CHECKED_FIRST):
            break
        if admit(X[[place]])[0]:
            found.append(place)
    return found


def _refine(
    proposer: Scorer,
    space: Space,
    X: FloatArray,
    admit: Admit,
    random_state: np.random.Generator,
) -> FloatArray:
    """Improve each row; return the results that are admitted."""
    counts = np.array([column.dimension.n_values for column in space.columns])
    smooth = (counts > FEW_VALUES) & ~space.categorical
    stepped = np.flatnonzero((counts <= MAX_GRID) & (counts > 1))
    for _ in range(N_ROUNDS):
        if proposer.has_gradients and np.any(smooth):
            X = space.snap(_ascend(proposer, X, smooth))
        if not len(stepped):
            break
        moved = _step(proposer, space, X, stepped, admit, random_state)
        unchanged = np.array_equal(moved, X, equal_nan=True)
        X = moved
        if unchanged:
            break
    return X[admit(X)]


def _ascend(proposer: Scorer, X: FloatArray, smooth: np.ndarray) -> FloatArray:
    """Maximize by gradient ascent in the smooth columns of all rows."""
    free = smooth & ~np.isnan(X)
    if not np.any(free):
        return X
    X = X.copy()

    def loss(positions: FloatArray) -> tuple[float, FloatArray]:
        X[free] = positions
        values, gradient = proposer.scores_and_gradient(X)  # type: ignore[attr-defined]
        return -float(np.sum(values)), -gradient[free]

    result = optimize.minimize(
        loss,
        X[free],
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * int(np.sum(free)),
        options={"maxiter": MAX_ASCENT_STEPS},
    )
    X[free] = result.x
    return X


def _step(
    proposer: Scorer,
    space: Space,
    X: FloatArray,
    stepped: np.ndarray,
    admit: Admit,
    random_state: np.random.Generator,
) -> FloatArray:
    """Move each row to its best neighbor if this is better."""
    neighbors, origins = [X], [np.arange(len(X))]
    for row, origin in zip(X, origins[0], strict=True):
        for column in stepped:
            if not np.isnan(row[column]):
                others = _other_values(space, column, row[column], random_state)
                changed = np.repeat(row[None, :], len(others), axis=0)
                changed[:, column] = others
                neighbors.append(changed)
                origins.append(np.full(len(others), origin))
    candidates, origin_of = space.snap(np.vstack(neighbors)), np.concatenate(origins)
    if space.constraint is None:
        allowed = admit(candidates)
        allowed[: len(X)] = True
        candidates, origin_of = candidates[allowed], origin_of[allowed]
    values = proposer.scores(candidates)
    best = []
    for place in range(len(X)):
        places = np.flatnonzero(origin_of == place)
        ranked = places[np.argsort(-values[places], kind="stable")]
        if space.constraint is not None:
            # The ranked candidates include the row itself.
            better = ranked[: np.flatnonzero(ranked == place)[0]]
            checked = better[:MAX_CHECKED_NEIGHBORS].tolist()
            admitted = (k for k in checked if admit(candidates[[k]])[0])
            best.append(next(admitted, place))
        else:
            best.append(int(ranked[0]))
    return candidates[best]


def _other_values(
    space: Space, column: int, position: float, random_state: np.random.Generator
) -> FloatArray:
    """Return the positions of the neighboring values of a column."""
    grid = space.columns[column].dimension.grid
    current = int(np.argmin(np.abs(grid - position)))
    if not space.categorical[column]:
        return grid[
            [place for place in (current - 1, current + 1) if 0 <= place < len(grid)]
        ]
    others = np.delete(grid, current)
    if len(others) > MAX_OPTIONS:
        others = random_state.choice(others, MAX_OPTIONS, replace=False)
    return others
