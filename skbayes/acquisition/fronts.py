"""Pareto fronts: their points, their volumes, and choices among their points.

Symbols (n points, d objectives):

- ``Y``: (n, d) scores, all of them maximized.
- ``front``: points that no other one dominates: none is at least as good in every
  objective and better in one.
- ``reference``: (d,) a point that is worse than all that counts. The hypervolume is the
  volume of what the front dominates above it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from skbayes.space.dimensions import FloatArray

__all__ = [
    "are_costs",
    "best_first",
    "choose_point",
    "envelope",
    "hypervolume",
    "hypervolumes",
    "is_nondominated",
    "nondominated_ranks",
    "on_log_scale",
    "reference_point",
    "with_log_costs",
]

# How far the reference lies below the front, as a share of its range: its ends, which
# are the worst in some objective, then have a volume, and so has what lies beyond them.
MARGIN = 0.2

# A cost below this share of the median cost is taken for as much.
LEAST_COST = 1e-6


def is_nondominated(Y: FloatArray) -> np.ndarray:
    """Which points no other one dominates.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        Scores, greater is better. A point with a NaN neither dominates nor counts.

    Returns
    -------
    mask : ndarray of shape (n,), bool
        True for the points of the front; points that are equal are all on it.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.acquisition.hypervolume import is_nondominated
    >>> is_nondominated(np.array([[0.0, 2.0], [1.0, 1.0], [0.5, 0.5]]))
    array([ True,  True, False])
    """
    Y = np.asarray(Y, dtype=np.float64)
    mask = ~np.any(np.isnan(Y), axis=1)
    for i in np.flatnonzero(mask):
        if mask[i]:
            # What this one dominates dominates nothing that this one does not.
            mask &= ~(np.all(Y[i] >= Y, axis=1) & np.any(Y[i] > Y, axis=1))
    return mask


def nondominated_ranks(Y: FloatArray) -> np.ndarray:
    """Sort points into fronts (Goldberg 1989).

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        Scores, greater is better.

    Returns
    -------
    ranks : ndarray of shape (n,), int
        1 for the points of the front, 2 for those of the front that is left without
        them, and so on; points with a NaN come last, all with one rank.
    """
    Y = np.asarray(Y, dtype=np.float64)
    ranks = np.zeros(len(Y), dtype=np.int64)
    rank = 1
    while True:
        rest = np.flatnonzero(ranks == 0)
        front = rest[is_nondominated(Y[rest])]
        if not len(front):
            ranks[rest] = rank
            return ranks
        ranks[front] = rank
        rank += 1


def reference_point(Y: FloatArray) -> FloatArray:
    """Point below the front above which volume counts.

    It follows the front: what is worse than all of it, by far perhaps, says nothing of
    what a user would trade for what.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        Scores, greater is better, n >= 1, finite.

    Returns
    -------
    reference : ndarray of shape (d,)
        In each objective the worst score on the front, less a fifth of the front's
        range; of the range of all scores, where those on the front are equal; less 1
        where all are.
    """
    Y = np.asarray(Y, dtype=np.float64)
    front = Y[is_nondominated(Y)]
    span = np.ptp(front, axis=0)
    span = np.where(span > 0.0, span, np.ptp(Y, axis=0))
    return np.min(front, axis=0) - np.where(span > 0.0, MARGIN * span, 1.0)


def hypervolume(Y: FloatArray, reference: FloatArray) -> float:
    """Volume that points dominate above a reference, exact in any dimension.

    While, Bradstreet & Barone (2012), "A fast way of calculating exact hypervolumes":
    the sum over points of what each dominates and its successors do not.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        Scores, greater is better. Those that do not exceed the reference in every
        objective, or have a NaN, count for nothing.
    reference : ndarray of shape (d,)
        The reference.

    Returns
    -------
    volume : float
        The volume, 0 where no point counts.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.acquisition.hypervolume import hypervolume
    >>> hypervolume(np.array([[1.0, 2.0], [2.0, 1.0]]), np.zeros(2))
    3.0
    """
    heights = np.asarray(Y, dtype=np.float64) - np.asarray(reference, dtype=np.float64)
    heights = heights[np.all(heights > 0.0, axis=1)]
    return _volume(heights[is_nondominated(heights)])


def _volume(heights: FloatArray) -> float:
    """Volume between the origin and a front of positive heights."""
    if not len(heights):
        return 0.0
    if heights.shape[1] == 1:
        return float(np.max(heights))
    heights = heights[np.lexsort(heights.T[::-1])[::-1]]
    if heights.shape[1] == 2:
        # By strips: the first objective falls along the front, and the second grows.
        gains = np.diff(np.maximum.accumulate(heights[:, 1]), prepend=0.0)
        return float(np.sum(heights[:, 0] * gains))
    total = 0.0
    for i, point in enumerate(heights):
        common = np.minimum(heights[i + 1 :], point)
        common = np.unique(common[is_nondominated(common)], axis=0)
        total += float(np.prod(point)) - _volume(common)
    return total


def best_first(Y: FloatArray) -> np.ndarray:
    """Sort points, the best ones first."""
    ranks = nondominated_ranks(Y)
    distances = np.zeros(len(Y))
    for rank in np.unique(ranks):
        front = np.flatnonzero(ranks == rank)
        distances[front] = _crowding_distances(Y[front])
    return np.lexsort((-distances, ranks))


def _crowding_distances(Y: FloatArray) -> FloatArray:
    """Sum over objectives of the gap between a point's neighbors on both sides."""
    total = np.zeros(len(Y))
    for y in Y.T:
        order = np.argsort(y, kind="stable")
        span = y[order[-1]] - y[order[0]]
        around = np.concatenate([[-np.inf], y[order], [np.inf]])
        if span > 0.0:
            total[order] += (around[2:] - around[:-2]) / span
    return total


def are_costs(Y: FloatArray) -> np.ndarray:
    """Which objectives are negated costs, such as times, sizes or errors."""
    return (np.max(Y, axis=0) <= 0.0) & (np.min(Y, axis=0) < 0.0)


def on_log_scale(Y: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Replace costs by their logarithms.

    Half of a cost is then worth as much anywhere, and no trade among small costs is
    lost beside large ones. No order changes, and so no front.
    """
    Y, noise = np.array(Y, dtype=np.float64), np.array(noise, dtype=np.float64)
    for j in np.flatnonzero(are_costs(Y)):
        costs = -Y[:, j]
        positive = costs[costs > 0.0]
        least = max(0.5 * np.min(positive), LEAST_COST * np.median(positive))
        costs = np.maximum(costs, least)
        Y[:, j] = -np.log(costs)
        noise[:, j] /= costs**2
    return Y, noise


def with_log_costs(Y: FloatArray) -> FloatArray:
    """Replace costs by their logarithms, as the optimizer does; NaN stays NaN."""
    scaled = Y.copy()
    finished = np.all(np.isfinite(Y), axis=1)
    scaled[finished], _ = on_log_scale(Y[finished], np.zeros_like(Y[finished]))
    return scaled


def hypervolumes(Y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Measure what the front dominates after each trial."""
    finished = np.all(np.isfinite(Y), axis=1)
    scaled = with_log_costs(Y)
    reference = reference_point(scaled[finished])
    box = np.prod(np.max(scaled[finished], axis=0) - reference)
    volumes = np.zeros(len(Y))
    front, volume = scaled[:0], 0.0
    for i, y in enumerate(scaled):
        if finished[i] and not np.any(np.all(front >= y, axis=1)):
            front = np.vstack([front, y])
            front = front[is_nondominated(front)]
            volume = hypervolume(front, reference)
        volumes[i] = volume
    costs = are_costs(Y[finished])
    reference[costs] = -np.exp(-reference[costs])
    return volumes / box, reference


def choose_point(Y: FloatArray, choice: Any, names: list[str]) -> int:
    """Return the row of a front that is meant."""
    worst, best = np.min(Y, axis=0), np.max(Y, axis=0)
    span = np.where(best > worst, best - worst, 1.0)
    scaled = 1.0 - (best - Y) / span
    if isinstance(choice, Mapping):
        return int(np.argmax(scaled @ [choice.get(name, 0.0) for name in names]))
    if isinstance(choice, str) and choice in names:
        return int(np.argmax(Y[:, names.index(choice)]))
    return int(np.argmin(np.sum((1.0 - scaled) ** 2, axis=1)))


def envelope(scores: FloatArray, costs: FloatArray) -> tuple[np.ndarray, FloatArray]:
    """Find which of the lines score - alpha cost is the highest, from which alpha on.

    Of equal ones the cheaper is taken.
    """
    usable = np.flatnonzero(np.isfinite(scores) & np.isfinite(costs))
    order = usable[np.lexsort((usable, costs[usable], -scores[usable]))]
    rows, begins = [order[0]], [0.0]
    while True:
        now = rows[-1]
        cheaper = usable[costs[usable] < costs[now]]
        if not len(cheaper):
            return np.array(rows), np.array(begins)
        # Where its line meets that of the present one.
        meets = (scores[now] - scores[cheaper]) / (costs[now] - costs[cheaper])
        first = np.lexsort((cheaper, costs[cheaper], meets))[0]
        rows.append(cheaper[first])
        begins.append(float(meets[first]))
