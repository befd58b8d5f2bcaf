"""Order of results: violation of constraints first, then scores.

Symbols (n results, c constraints on outcomes):

- ``scores``: (n,), greater is better, NaN if unknown. Shape (n, k) if later columns
  break ties of the first.
- ``slacks``: (..., c) values of the constraints, <= 0 if satisfied, NaN if unknown.
- ``violations``: (n,) sums of the positive slacks, infinite if one is unknown.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def best_first(
    scores: npt.ArrayLike, violations: npt.ArrayLike | None = None
) -> npt.NDArray[np.intp]:
    """Return indices that sort results, the best one first.

    Results without a score come last. Among the others, a smaller violation counts more
    than a greater score. Equally good results keep their order.
    """
    columns = np.atleast_2d(np.asarray(scores, dtype=np.float64).T)
    if violations is None:
        violations = np.zeros(columns.shape[1])
    # The last key counts most.
    return np.lexsort((*-columns[::-1], violations, np.isnan(columns[0])))


def least_violating(
    violations: npt.ArrayLike, usable: npt.ArrayLike
) -> npt.NDArray[np.bool_]:
    """Return a mask of the results with the smallest violation of usable ones."""
    violations = np.asarray(violations, dtype=np.float64)
    if not np.any(usable):
        return np.ones(len(violations), dtype=bool)
    return violations <= np.min(violations[np.asarray(usable)])


def total_violation(slacks: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the sums of the positive slacks; infinite if a slack is unknown."""
    slacks = np.asarray(slacks, dtype=np.float64)
    slacks = np.where(np.isnan(slacks), np.inf, slacks)
    return np.sum(np.maximum(slacks, 0.0), axis=-1)


def is_nondominated(Y: npt.NDArray[np.float64]) -> np.ndarray:
    """Find the nondominated points, the Pareto front.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        Scores, greater is better. Points with a NaN are ignored.

    Returns
    -------
    mask : ndarray of shape (n,), bool
        True for the points of the front, including duplicates.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.pareto.hypervolume import is_nondominated
    >>> is_nondominated(np.array([[0.0, 2.0], [1.0, 1.0], [0.5, 0.5]]))
    array([ True,  True, False])
    """
    Y = np.asarray(Y, dtype=np.float64)
    mask = ~np.any(np.isnan(Y), axis=1)
    for i in np.flatnonzero(mask):
        if mask[i]:
            # Dominance is transitive, so dominated points need no further checks.
            mask &= ~(np.all(Y[i] >= Y, axis=1) & np.any(Y[i] > Y, axis=1))
    return mask


def nondominated_ranks(Y: npt.NDArray[np.float64]) -> np.ndarray:
    """Sort points into fronts (Goldberg 1989).

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        Scores, greater is better.

    Returns
    -------
    ranks : ndarray of shape (n,), int
        Rank of each point: 1 for the points of the front, 2 for the front of the
        remaining points, and so on. Points with a NaN share the last rank.
    """
    Y = np.asarray(Y, dtype=np.float64)
    ranks, rank = np.zeros(len(Y), dtype=np.int64), 1
    while len(unranked := np.flatnonzero(ranks == 0)):
        front = unranked[is_nondominated(Y[unranked])]
        ranks[front if len(front) else unranked] = rank
        rank += 1
    return ranks


def crowded_order_keys(Y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return keys (n, 2) by which better points are greater: front, then distance.

    The distance is the sum over objectives of the gap between a point's neighbors.
    """
    ranks = nondominated_ranks(Y)
    distances = np.zeros(len(Y))
    for rank in np.unique(ranks):
        front = np.flatnonzero(ranks == rank)
        for y in Y[front].T:
            order = np.argsort(y, kind="stable")
            span = y[order[-1]] - y[order[0]]
            around = np.concatenate([[-np.inf], y[order], [np.inf]])
            if span > 0.0:
                distances[front[order]] += (around[2:] - around[:-2]) / span
    return np.column_stack([-ranks, distances])
