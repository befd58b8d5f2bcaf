"""Expected influence, an acquisition function on the graph of a finite space.

Symbols (n nodes, l of them labeled), besides those of :mod:`skbayes.surrogates.graph`:

- ``f``: (n,), the harmonic function of labels within [0, 1]; f+(k, v) is f after
  labeling k with v.
- ``w``: (n,), how likely a node's label is to be 1.
- ``a``: (n,), a(k) = (1 - w_k) sum_i (1 - f+(k, 0)_i) + w_k sum_i f+(k, 1)_i, the sums
  over all n nodes. With the influence s_k = sum_i G_ik / G_kk, sum_i f+(k, v)_i is
  sum_i f_i + (v - f_k) s_k.

Zhang & Duh (2020), "Reproducible and efficient benchmarks for hyperparameter
optimization of neural machine translation systems", section 5.4.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from skbayes.acquisition.base import Observations, Proposer
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.graph import HarmonicFunction, NeighborGraph

__all__ = ["LABELS", "ExpectedInfluence", "InfluenceProposer"]


def linear_labels(
    y: FloatArray, graph: NeighborGraph, labeled: list[int]
) -> FloatArray:
    """Scale scores (l,) linearly: the worst to 0, the best to 1."""
    low, high = float(np.min(y)), float(np.max(y))
    if low == high:
        return np.ones_like(y)
    # Halves first: the difference of two large scores may overflow.
    return (0.5 * y - 0.5 * low) / (0.5 * high - 0.5 * low)


def best_labels(y: FloatArray, graph: NeighborGraph, labeled: list[int]) -> FloatArray:
    """Label the best with 1, the others with 0."""
    return (y == np.max(y)).astype(np.float64)


def walk_labels(y: FloatArray, graph: NeighborGraph, labeled: list[int]) -> FloatArray:
    """Label 1 what a random walk from the best reaches more often than not.

    It reaches j before it returns to b with probability 1 / (D_b R_bj), where R is the
    effective resistance between them (Doyle & Snell 1984, section 1.3.4).
    """
    best = labeled[int(np.argmax(y))]
    resistance = graph.resistance(best)[labeled]
    degree = float(graph.W[best].sum())
    return np.where(degree * resistance < 2.0, 1.0, 0.0)


Labeling = Callable[[FloatArray, NeighborGraph, list[int]], FloatArray]

# Readings of "scaled to [0, 1]", by the names that users write.
LABELS: dict[str, Labeling] = {
    "linear": linear_labels,
    "random-walk": walk_labels,
    "best": best_labels,
    "released": best_labels,
}


class ExpectedInfluence:
    """Expected influence on the graph of a finite space, for ``surrogate="graph"``.

    A configuration is worth trying if its score, good or bad as it probably is, would
    move what is believed of all others. Scores become labels within [0, 1] first; the
    paper leaves open how, and the readings differ much.

    Parameters
    ----------
    labels : {"linear", "random-walk", "best", "released"}, default="linear"
        How scores become labels. "linear": the worst is 0, the best 1. "best": the best
        is 1, all others 0. "random-walk": the best is 1, and so are those that a random
        walk from it reaches before it returns, more often than not; the others are 0.
        "released": as "best", but in the way of the authors' released code: what
        weighs the two cases is half of how far the unscaled prediction lies from the
        best score toward the lowest prediction, and only configurations without a
        score count.

    Raises
    ------
    ValueError
        If `labels` is none of these.

    See Also
    --------
    skbayes.surrogates.GraphField : The graph, and expected improvement on it.

    Notes
    -----
    Trials until the best row of the paper's tables is found, mean and standard
    deviation over 100 seeds: ::

                             zh-en   ru-en   ja-en   en-ja   sw-en    so-en
        published            13±20   28±17   13±3    45±22   59±25    42±30
        "linear"             26±35   29±20   16±11   31±19   66±81    83±95
        "released"           43±36   30±21   18±13   33±22   113±103  137±102
        "best"               29±44   172±17  144±25  152±32  743±105  165±166
        "random-walk"        31±46   149±38  139±36  150±32  539±75   146±148

    The figure of "random-walk" on sw-en is over 10 seeds.

    Only "linear" is near: on five tables within one published standard deviation. Read
    literally, the labels 0 and 1 make most nodes probable zeros, and what influences
    most is then what is probably bad. Much depends on which of the equally near nodes
    of a grid are taken for neighbors, of which the paper does not speak: with the
    first ones in the table in place of all of them "linear" takes 69 trials on zh-en.

    References
    ----------
    Zhang & Duh (2020), "Reproducible and efficient benchmarks for hyperparameter
    optimization of neural machine translation systems".

    Examples
    --------
    >>> from skbayes import Optimizer
    >>> from skbayes.acquisition import ExpectedInfluence
    >>> optimizer = Optimizer(
    ...     {"a": [1, 2, 3, 4, 5, 6], "b": [1, 2, 3, 4, 5, 6]},
    ...     surrogate="graph",
    ...     acquisition=ExpectedInfluence("linear"),
    ...     random_state=0,
    ... )
    >>> for _ in range(15):
    ...     params = optimizer.ask()
    ...     optimizer.tell(params, -abs(params["a"] - 5) - abs(params["b"] - 2))
    >>> optimizer.best_params
    {'a': 5, 'b': 2}
    """

    needs_graph: ClassVar[bool] = True
    is_improvement: ClassVar[bool] = False

    def __init__(self, labels: str = "linear") -> None:
        if labels not in LABELS:
            raise ValueError(f"labels must be one of {sorted(LABELS)}, got {labels!r}.")
        self.labels = labels

    def __repr__(self) -> str:
        return f"ExpectedInfluence(labels={self.labels!r})"


def expected_influence(
    f: FloatArray, weight: FloatArray, influence: FloatArray, counted: np.ndarray
) -> FloatArray:
    """Compute a of all nodes."""
    total, n = np.sum(f[counted]), np.sum(counted)
    if not np.all(counted):
        # k counts itself neither before nor after.
        total, n, influence = total - f, n - 1, influence - 1.0
    return (1.0 - weight) * (n - total + f * influence) + weight * (
        total + (1.0 - f) * influence
    )


class InfluenceProposer(Proposer):
    """Scores the nodes of a graph by their expected influence.

    Parameters
    ----------
    graph : NeighborGraph
        All configurations that can be proposed.
    acquisition : ExpectedInfluence
        How scores become labels.

    Attributes
    ----------
    worth : ndarray of shape (n,)
        Expected influence of the nodes.
    """

    n_initial_points = 3
    worth: FloatArray

    def __init__(self, graph: NeighborGraph, acquisition: ExpectedInfluence) -> None:
        self.graph = graph
        self.acquisition = acquisition
        self._harmonic = HarmonicFunction(graph)

    def fit(self, observations: Observations) -> InfluenceProposer:
        """Return a proposer for which pending nodes have the labels predicted."""
        fitted = copy.copy(self)
        fitted.worth = self._worth(observations)
        return fitted

    def _worth(self, observations: Observations) -> FloatArray:
        places = self.graph.places(observations.X)
        labeled, y = self.graph.labels(places, observations.y)
        if not labeled:
            # What was told is no node: of the nodes nothing is known.
            return np.zeros(len(self.graph))
        harmonic = self._labeled(labeled)
        rule = self.acquisition.labels
        f = weight = harmonic.values(LABELS[rule](y, self.graph, labeled))
        if rule == "released":
            weight = _released_weight(harmonic.values(y), y, labeled)
        pending = dict.fromkeys(self.graph.places(observations.pending).tolist())
        waiting = [k for k in pending if k >= 0 and k not in labeled]
        if waiting:
            # With the value it has anyway a label does not change f.
            harmonic = harmonic.copy()
            harmonic.label(waiting)
        counted = np.ones(len(self.graph), dtype=bool)
        if rule == "released":
            counted[harmonic.labeled] = False
        return expected_influence(f, weight, harmonic.influence(), counted)

    def _labeled(self, labeled: list[int]) -> HarmonicFunction:
        """Continue where the last proposal ended, if it knew the first of these."""
        known = self._harmonic.labeled
        if labeled[: len(known)] != known:
            self._harmonic = HarmonicFunction(self.graph)
        self._harmonic.label(labeled[len(self._harmonic.labeled) :])
        return self._harmonic

    def _evaluate(self, X: FloatArray, gradient: bool) -> tuple[FloatArray, Any]:
        worth = self.worth[self.graph.places(X)]
        if self.terms:
            worth = np.log(np.maximum(worth, np.finfo(np.float64).tiny))
        return worth, None


def _released_weight(f: FloatArray, y: FloatArray, labeled: list[int]) -> FloatArray:
    """(max y - f) / (max y - min f) / 2, of unlabeled nodes and scores as they are."""
    depth = np.max(y) - f
    depth[labeled] = 0.0
    deepest = float(np.max(depth))
    return 0.5 * depth / deepest if deepest > 0.0 else np.zeros_like(f)
