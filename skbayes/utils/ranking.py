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

    Results without a score are the last. Among the others, a smaller violation counts
    more than a greater score. The first of equally good results remains the first.
    """
    columns = np.atleast_2d(np.asarray(scores, dtype=np.float64).T)
    if violations is None:
        violations = np.zeros(columns.shape[1])
    # The last key counts most.
    return np.lexsort((*-columns[::-1], violations, np.isnan(columns[0])))


def least_violating(
    violations: npt.ArrayLike, usable: npt.ArrayLike
) -> npt.NDArray[np.bool_]:
    """Return a mask of the results that violate no more than any usable one does."""
    violations = np.asarray(violations, dtype=np.float64)
    if not np.any(usable):
        return np.ones(len(violations), dtype=bool)
    return violations <= np.min(violations[np.asarray(usable)])


def total_violation(slacks: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the sums of the positive slacks; infinite if a slack is unknown."""
    slacks = np.asarray(slacks, dtype=np.float64)
    known = np.where(np.isnan(slacks), np.inf, slacks)
    return np.sum(np.maximum(known, 0.0), axis=-1)
