"""What is to be gained where several objectives count: Pareto fronts and their volume.

Symbols (n points, m candidates, d objectives, K boxes):

- ``Y``: (n, d) scores, all of them maximized.
- ``front``: points that no other one dominates: none is at least as good in every
  objective and better in one.
- ``reference``: (d,) a point that is worse than all that counts. The hypervolume is the
  volume of what the front dominates above it.
- ``lower``, ``upper``: (K, d) boxes, disjoint, that fill what the front does not
  dominate above the reference; `upper` may be infinite.

For independent normal predictions the expected improvement of the hypervolume is a sum
over boxes of products over objectives (Emmerich et al. 2011, "Hypervolume-based
expected improvement"; Yang et al. 2019, "Efficient computation of expected hypervolume
improvement using box decomposition algorithms"):

    EHVI = sum_k prod_j [psi_j(lower_kj) - psi_j(upper_kj)],

where psi_j(a) = E max(f_j - a, 0) is the expected improvement on a in objective j. That
is exact for any number of objectives.
"""

from __future__ import annotations

import numpy as np

from skbayes.acquisition.improvement import (
    ExpectedImprovement,
    FloatArray,
    Utility,
)

__all__ = [
    "ExpectedHypervolumeImprovement",
    "best_first",
    "hypervolume",
    "hypervolume_improvement",
    "is_nondominated",
    "nondominated_boxes",
    "nondominated_ranks",
    "reference_point",
]

# How far the reference lies below the front, as a share of its range: its ends, which
# are the worst in some objective, then have a volume, and so has what lies beyond them.
MARGIN = 0.2


# -- fronts ---------------------------------------------------------------------------


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


# -- boxes ----------------------------------------------------------------------------


def nondominated_boxes(
    front: FloatArray, reference: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Fill with disjoint boxes what points do not dominate above a reference.

    In two objectives they are strips, one more than there are points on the front. In
    more a plane sweeps down along the last objective: a box of the other objectives
    opens and closes where the front's section changes.

    Parameters
    ----------
    front : ndarray of shape (n, d)
        Scores, greater is better; dominated ones do no harm.
    reference : ndarray of shape (d,)
        The reference; points that do not exceed it change nothing.

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
    """Boxes as pairs of their lower and upper corners; all points are above."""
    if len(reference) == 1:
        return [((float(np.max(points, initial=reference[0])),), (np.inf,))]
    if len(reference) == 2:
        return _strips(points, reference)
    levels = np.unique(points[:, -1])[::-1]
    floor, inner = float(reference[-1]), reference[:-1]
    finished: list[_Box] = []
    # Sections of boxes that are open at the level of the sweep, and their tops.
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
    """Boxes of two objectives: strips along the first, open above in the second."""
    points = points[np.lexsort((points[:, 1], points[:, 0]))[::-1]]
    # From the right, those that reach higher than all before them.
    reached = np.maximum.accumulate(np.append(-np.inf, points[:, 1]))[:-1]
    steps = points[points[:, 1] > reached][::-1]
    edges = [float(reference[0]), *steps[:, 0].tolist(), np.inf]
    heights = [*steps[:, 1].tolist(), float(reference[1])]
    return [
        ((left, height), (right, np.inf))
        for left, right, height in zip(edges, edges[1:], heights, strict=False)
    ]


def best_first(Y: FloatArray) -> np.ndarray:
    """Sort points, the best ones first.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        Scores, greater is better, finite.

    Returns
    -------
    order : ndarray of shape (n,), int
        Fronts one after the other. Within a front, points with distant neighbors come
        before those in a crowd, and the best in any objective before all of them
        (crowding distance, Deb et al. 2002).
    """
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


def hypervolume_improvement(
    Y: FloatArray, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """How much each point alone would add to the hypervolume.

    Parameters
    ----------
    Y : ndarray of shape (m, d)
        Scores, greater is better.
    lower, upper : ndarray of shape (K, d)
        Boxes of :func:`nondominated_boxes`.

    Returns
    -------
    improvement : ndarray of shape (m,)
        The volume that it dominates and the front does not.
    """
    overlap = np.minimum(np.asarray(Y)[:, None, :], upper) - lower
    return np.sum(np.prod(np.maximum(overlap, 0.0), axis=2), axis=1)


# -- what is expected -----------------------------------------------------------------


class ExpectedHypervolumeImprovement:
    """Logarithm of the expected gain in hypervolume over a front.

    Exact for independent normal predictions, in any number of objectives; with one it
    is the expected improvement. Stable where the expectation itself would underflow.

    Parameters
    ----------
    front : ndarray of shape (n, d)
        Points to improve on, greater is better; dominated ones do no harm.
    reference : ndarray of shape (d,)
        Point above which volume counts.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.acquisition import ExpectedHypervolumeImprovement
    >>> front = np.array([[1.0, 2.0], [2.0, 1.0]])
    >>> acquisition = ExpectedHypervolumeImprovement(front, np.zeros(2))
    >>> utility = acquisition(np.array([[3.0, 3.0]]), np.array([[1e-6, 1e-6]]))
    >>> np.exp(utility.value).round(3)
    array([6.])
    """

    def __init__(self, front: FloatArray, reference: FloatArray) -> None:
        lower, upper = nondominated_boxes(front, reference)
        # Boxes share their sides: of each objective the distinct ones, as pairs of
        # places in a list of edges, and which of them each box has.
        self._sides = [_Sides(lower[:, j], upper[:, j]) for j in range(lower.shape[1])]

    def __call__(self, mean: FloatArray, sd: FloatArray) -> Utility:
        """Compute the logarithm of the expected improvement and its derivatives.

        Parameters
        ----------
        mean, sd : ndarray of shape (m, d)
            Independent predictions of each objective.

        Returns
        -------
        utility : Utility
            Values (m,), and derivatives by `mean` and `sd` (m, d).
        """
        parts = [
            side(mean[:, j], sd[:, j])  #
            for j, side in enumerate(self._sides)
        ]
        logs = np.sum([part.value for part in parts], axis=0)
        # Shifted by the largest, so that the sum of exponentials cannot underflow.
        largest = np.max(logs, axis=1, keepdims=True)
        shares = np.exp(logs - np.where(np.isfinite(largest), largest, 0.0))
        total = np.sum(shares, axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            value = (largest + np.log(total))[:, 0]
        shares /= np.where(total > 0.0, total, 1.0)
        by_mean, by_sd = (
            np.column_stack([np.sum(shares * part[i], axis=1) for part in parts])
            for i in (1, 2)
        )
        return Utility(value, by_mean, by_sd)


class _Sides:
    """What boxes span in one objective.

    Parameters
    ----------
    lower, upper : ndarray of shape (K,)
        Ends of each box's side.
    """

    def __init__(self, lower: FloatArray, upper: FloatArray) -> None:
        pairs, self._of_box = np.unique(
            np.column_stack([lower, upper]), axis=0, return_inverse=True
        )
        self._of_box = self._of_box.reshape(-1)
        edges = np.unique(pairs)
        self._edges = edges[np.isfinite(edges)]
        self._lower = np.searchsorted(edges, pairs[:, 0])
        self._upper = np.searchsorted(edges, pairs[:, 1])

    def __call__(self, mean: FloatArray, sd: FloatArray) -> Utility:
        """Log of E (min(f, upper) - lower)_+ = log(psi(lower) - psi(upper)), (m, K)."""
        at_edges = ExpectedImprovement()(mean[:, None], sd[:, None], self._edges)
        # At an infinite edge, the last one, nothing is expected.
        psi, by_mean, by_sd = (
            np.pad(part, ((0, 0), (0, 1)), constant_values=end)
            for part, end in zip(at_edges, (-np.inf, 0.0, 0.0), strict=True)
        )
        low, high = self._lower, self._upper
        ratio = np.exp(psi[:, high] - psi[:, low])
        left = -np.expm1(psi[:, high] - psi[:, low])
        # Rounding may leave nothing of a side that is short and far below the mean.
        some = left > 0.0
        weight = np.divide(1.0, left, out=np.zeros_like(left), where=some)
        logs = np.log(left, out=np.full_like(left, -np.inf), where=some)
        parts = (
            psi[:, low] + logs,
            weight * (by_mean[:, low] - ratio * by_mean[:, high]),
            weight * (by_sd[:, low] - ratio * by_sd[:, high]),
        )
        return Utility(*(part[:, self._of_box] for part in parts))
