"""Pareto fronts and their hypervolumes.

Symbols (n points, d objectives, m candidates, K boxes):

- ``Y``: (n, d) scores, all of them maximized.
- ``front``: nondominated points. A point is dominated if another one is at least as
  good in every objective and better in one.
- ``reference``: (d,) lower bound of the region that counts. The hypervolume is the
  volume of the region above it that the front dominates.
- ``lower``, ``upper``: (K, d) corners of disjoint boxes that fill the region above the
  reference that the front does not dominate; `upper` may be infinite.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from skbayes.space.dimensions import FloatArray
from skbayes.utils.ranking import (
    crowded_order_keys,
    is_nondominated,
    nondominated_ranks,
)

__all__ = [
    "are_costs",
    "choose_point",
    "crowded_order_keys",
    "hypervolume",
    "hypervolume_improvement",
    "hypervolumes",
    "is_nondominated",
    "nondominated_boxes",
    "nondominated_ranks",
    "on_log_scale",
    "reference_point",
]

# Distance of the reference below the front, as a share of the front's range. With it,
# the ends of the front and points beyond them contribute to the hypervolume.
MARGIN = 0.2

# Minimum cost, as a share of the median cost. Lower costs are raised to it.
LEAST_COST = 1e-6

# -- fronts ---------------------------------------------------------------------------


def are_costs(Y: FloatArray) -> np.ndarray:
    """Return a mask of the objectives that are negated costs, such as times."""
    return (np.max(Y, axis=0) <= 0.0) & (np.min(Y, axis=0) < 0.0)


def on_log_scale(Y: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Replace costs by their logarithms.

    Halving a cost then has the same value for any cost, and differences of small costs
    remain visible next to large ones. The order of the costs and the front do not
    change.
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


def choose_point(Y: FloatArray, choice: Any, names: list[str]) -> int:
    """Return the row of a front for a user's choice.

    A choice is the name of an objective, a dict of weights, or another value for the
    point nearest to the best of each objective.
    """
    worst, best = np.min(Y, axis=0), np.max(Y, axis=0)
    span = np.where(best > worst, best - worst, 1.0)
    scaled = 1.0 - (best - Y) / span
    if isinstance(choice, Mapping):
        return int(np.argmax(scaled @ [choice.get(name, 0.0) for name in names]))
    if isinstance(choice, str) and choice in names:
        return int(np.argmax(Y[:, names.index(choice)]))
    return int(np.argmin(np.sum((1.0 - scaled) ** 2, axis=1)))


# -- hypervolumes ---------------------------------------------------------------------


def reference_point(Y: FloatArray) -> FloatArray:
    """Compute the reference point of the hypervolume from the front.

    The reference only depends on the front, because much worse points have no
    information about relevant tradeoffs.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        Scores, greater is better, n >= 1, finite.

    Returns
    -------
    reference : ndarray of shape (d,)
        Worst score on the front minus a fifth of the front's range, in each objective.
        If the scores on the front are equal, the range of all scores is used. If all
        scores are equal, 1 is subtracted.
    """
    Y = np.asarray(Y, dtype=np.float64)
    front = Y[is_nondominated(Y)]
    span = np.ptp(front, axis=0)
    span = np.where(span > 0.0, span, np.ptp(Y, axis=0))
    return np.min(front, axis=0) - np.where(span > 0.0, MARGIN * span, 1.0)


def hypervolume(Y: FloatArray, reference: FloatArray) -> float:
    """Compute the hypervolume that points dominate above a reference.

    The result is exact for any number of objectives. It is the sum over points of the
    volume that each dominates and its successors do not (While, Bradstreet & Barone
    2012, "A fast way of calculating exact hypervolumes").

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        Scores, greater is better. Points that do not exceed the reference in every
        objective, or have a NaN, do not contribute.
    reference : ndarray of shape (d,)
        Reference point.

    Returns
    -------
    volume : float
        Hypervolume, 0 if no point contributes.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.pareto.hypervolume import hypervolume
    >>> hypervolume(np.array([[1.0, 2.0], [2.0, 1.0]]), np.zeros(2))
    3.0
    """
    heights = np.asarray(Y, dtype=np.float64) - np.asarray(reference, dtype=np.float64)
    heights = heights[np.all(heights > 0.0, axis=1)]
    return _volume(heights[is_nondominated(heights)])


def _volume(heights: FloatArray) -> float:
    """Return the volume between the origin and a front of positive heights."""
    if not len(heights):
        return 0.0
    if heights.shape[1] == 1:
        return float(np.max(heights))
    heights = heights[np.lexsort(heights.T[::-1])[::-1]]
    if heights.shape[1] == 2:
        # Sum over strips: along the front, the first objective decreases, and the
        # second one increases.
        gains = np.diff(np.maximum.accumulate(heights[:, 1]), prepend=0.0)
        return float(np.sum(heights[:, 0] * gains))
    total = 0.0
    for i, point in enumerate(heights):
        common = np.minimum(heights[i + 1 :], point)
        common = np.unique(common[is_nondominated(common)], axis=0)
        total += float(np.prod(point)) - _volume(common)
    return total


def hypervolumes(Y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the hypervolume after each trial, and the reference point.

    The unit is the box between the reference and the best score of each objective.
    Costs are on a logarithmic scale, as in the optimizer.
    """
    finished = np.all(np.isfinite(Y), axis=1)
    scaled = Y.copy()
    scaled[finished], _ = on_log_scale(Y[finished], np.zeros_like(Y[finished]))
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


# -- decomposition into boxes ---------------------------------------------------------


def nondominated_boxes(
    front: FloatArray, reference: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Decompose the nondominated region above a reference into disjoint boxes.

    With two objectives, the boxes are strips, one more than there are points on the
    front. With more objectives, a plane sweeps down along the last objective. Boxes of
    the other objectives open and close where the section of the front changes.

    Parameters
    ----------
    front : ndarray of shape (n, d)
        Scores, greater is better. Dominated points have no effect.
    reference : ndarray of shape (d,)
        Reference point. Points that do not exceed it have no effect.

    Returns
    -------
    lower, upper : ndarray of shape (K, d)
        Corners of the boxes; `upper` may be infinite.
    """
    reference = np.asarray(reference, dtype=np.float64)
    front = np.reshape(np.asarray(front, dtype=np.float64), (-1, len(reference)))
    boxes = np.array(_boxes(front[np.all(front > reference, axis=1)], reference))
    return boxes[:, 0], boxes[:, 1]


_Corner = tuple[float, ...]
_Box = tuple[_Corner, _Corner]


def _boxes(points: FloatArray, reference: FloatArray) -> list[_Box]:
    """Return boxes as pairs of corners, for points that exceed the reference."""
    if len(reference) == 1:
        return [((float(np.max(points, initial=reference[0])),), (np.inf,))]
    if len(reference) == 2:
        return _strips(points, reference)
    levels = np.unique(points[:, -1])[::-1]
    floor, inner = float(reference[-1]), reference[:-1]
    finished: list[_Box] = []
    # Sections of the boxes that are open at the current level, and their tops.
    tops = dict.fromkeys(_boxes(points[:0, :-1], inner), np.inf)
    for level in map(float, levels):
        section = dict.fromkeys(_boxes(points[points[:, -1] >= level, :-1], inner))
        for low, high in [box for box in tops if box not in section]:
            finished.append(((*low, level), (*high, tops.pop((low, high)))))
        for box in section:
            tops.setdefault(box, level)
    closed = [((*low, floor), (*high, top)) for (low, high), top in tops.items()]
    return finished + closed


def _strips(points: FloatArray, reference: FloatArray) -> list[_Box]:
    """Return strips along the first objective, unbounded in the second one."""
    points = points[np.lexsort((points[:, 1], points[:, 0]))[::-1]]
    # Points that are higher than all points to their right.
    reached = np.maximum.accumulate(np.append(-np.inf, points[:, 1]))[:-1]
    steps = points[points[:, 1] > reached][::-1]
    edges = [float(reference[0]), *steps[:, 0].tolist(), np.inf]
    heights = [*steps[:, 1].tolist(), float(reference[1])]
    return [
        ((left, height), (right, np.inf))
        for left, right, height in zip(edges, edges[1:], heights, strict=False)
    ]


def hypervolume_improvement(
    Y: FloatArray, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """Compute the gain in hypervolume by each point alone.

    Parameters
    ----------
    Y : ndarray of shape (m, d)
        Scores, greater is better.
    lower, upper : ndarray of shape (K, d)
        Boxes of :func:`nondominated_boxes`.

    Returns
    -------
    improvement : ndarray of shape (m,)
        Volume that the point dominates and the front does not.
    """
    overlap = np.minimum(np.asarray(Y)[:, None, :], upper) - lower
    return np.sum(np.prod(np.maximum(overlap, 0.0), axis=2), axis=1)
