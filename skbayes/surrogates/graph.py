"""Neighborhood graphs over the configurations of a finite space.

Symbols (n nodes, l of them labeled, D columns):

- ``nodes``: (n, D), all configurations that can be proposed.
- ``W``: (n, n), weights of edges; 0 on the diagonal and between nodes without an edge.
- ``Delta``: D - W, the graph's Laplacian, D the diagonal matrix of W's row sums.
- ``L``, ``U``: the labeled and the unlabeled nodes.
- ``f``: (n,), the harmonic function. It equals the labels on L. On U, it is the
  weighted mean of the neighbors' values, f_U = -Delta_UU^-1 Delta_UL f_L.
- ``G``: Delta_UU^-1. Labeling k with v adds (v - f_k) G_.k / G_kk to f, and subtracts
  G_.k G_k. / G_kk from G.

Zhu, Ghahramani & Lafferty (2003), "Semi-supervised learning using Gaussian fields and
harmonic functions"; Zhang & Duh (2020), "Reproducible and efficient benchmarks for
hyperparameter optimization of neural machine translation systems", section 5.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from skbayes.space.dimensions import FloatArray, key_of
from skbayes.surrogates.gp.kernels import KERNELS, Embedding

__all__ = ["MAX_NODES", "HarmonicFunction", "NeighborGraph"]

# Maximum number of nodes. The graph is stored as n x n matrices, and larger ones would
# take seconds per proposal.
MAX_NODES = 2000

# Added to the diagonal of Delta, which is singular without labels.
JITTER = 1e-9

# Maximum average number of neighbors of a node, as a share of all nodes.
NEIGHBOR_SHARE = 1.0 / 7.0


class NeighborGraph:
    """Neighborhood graph, in which edges join similar configurations.

    An edge joins two nodes if one is among the k nearest nodes of the other. Here k is
    the greatest number for which a node has at most n / 7 neighbors on average. On a
    grid, many nodes are equally near. All nodes that are as near as the k-th count, so
    that the graph does not depend on the order of the nodes.

    Parameters
    ----------
    nodes : ndarray of shape (n, D)
        Encoded configurations, NaN where inactive, all different.
    n_options : list of int
        Number of options of each column, 0 for an ordered column.
    kernel : {"matern52", "matern32", "rbf"}, default="rbf"
        Function from the length of an edge to its weight.
    length_scale : float, default=1.0
        Unit of lengths: 1 is the range of an ordered column, and the distance between
        two options of an unordered one.

    Attributes
    ----------
    W : ndarray of shape (n, n)
        Weights of the edges.
    components : list of ndarray
        Indices of the nodes of each connected component.

    Raises
    ------
    ValueError
        If there are more than 2,000 nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.surrogates.graph import NeighborGraph
    >>> graph = NeighborGraph(np.linspace(0, 1, 15)[:, None], [0])
    >>> np.flatnonzero(graph.W[7])
    array([6, 8])
    """

    def __init__(
        self,
        nodes: FloatArray,
        n_options: list[int],
        kernel: str = "rbf",
        length_scale: float = 1.0,
    ) -> None:
        self._made_of = (nodes, n_options, kernel, length_scale)
        n = len(nodes)
        if n > MAX_NODES:
            raise ValueError(
                f"A graph can have at most {MAX_NODES:,} nodes, got {n:,}."
            )
        embedding = Embedding(n_options, nodes)
        scaled = embedding.scale(
            embedding.place(nodes), np.full(len(n_options), length_scale)
        )
        # Differences, because products would lose digits by cancellation.
        r2 = np.zeros((n, n))
        for coordinate in scaled.T:
            r2 += np.square(coordinate[:, None] - coordinate)
        self.W = np.where(_neighbors(r2), KERNELS[kernel](r2)[0], 0.0)
        count, label = connected_components(csr_matrix(self.W > 0), directed=False)
        self.components = [np.flatnonzero(label == c) for c in range(count)]
        self._places = {key_of(row): i for i, row in enumerate(nodes)}

    def __len__(self) -> int:
        return len(self.W)

    def __reduce__(self) -> tuple[Any, ...]:
        # The n x n weights are recomputed.
        return NeighborGraph, self._made_of

    def places(self, X: FloatArray) -> np.ndarray:
        """Return the indices of the nodes of configurations, -1 if there is none."""
        return np.array([self._places.get(key_of(row), -1) for row in X], dtype=int)

    def labels(self, places: np.ndarray, y: FloatArray) -> tuple[list[int], FloatArray]:
        """Return the labeled nodes, and the mean label of each."""
        by_node: dict[int, list[float]] = {}
        for place, label in zip(places.tolist(), y.tolist(), strict=True):
            if place >= 0:
                by_node.setdefault(place, []).append(label)
        return list(by_node), np.array([np.mean(labels) for labels in by_node.values()])

    def resistance(self, node: int) -> FloatArray:
        """Return the effective resistances between one node and all nodes."""
        diagonal = np.diagonal(self._inverse)
        resistance = np.full(len(self), np.inf)
        (component,) = (part for part in self.components if node in part)
        between = diagonal[node] + diagonal - 2.0 * self._inverse[node]
        resistance[component] = np.maximum(between[component], 0.0)
        return resistance

    @cached_property
    def _inverse(self) -> Any:
        """Pseudo-inverse of Delta, for resistances."""
        return np.linalg.pinv(self.laplacian, hermitian=True)

    @property
    def laplacian(self) -> FloatArray:
        """Delta, shape (n, n)."""
        return np.diag(self.W.sum(axis=1)) - self.W


def _neighbors(r2: FloatArray) -> np.ndarray:
    """Return a mask of the joined pairs of nodes from squared distances."""
    n = len(r2)
    others = np.sort(r2 + np.diag(np.full(n, np.inf)), axis=1)

    def joined(k: int) -> np.ndarray:
        # On a grid, many distances are equal up to rounding.
        near = r2 <= others[:, k - 1, None] * (1.0 + 1e-9)
        np.fill_diagonal(near, False)
        return near | near.T

    # The greatest k without too many edges; their number increases with k.
    ks = range(1, n)
    most = NEIGHBOR_SHARE * n * n
    k = bisect_right(ks, most, key=lambda k: int(np.sum(joined(k))))
    return joined(max(k, 1))


class HarmonicFunction:
    """Harmonic function of a graph with labels at some nodes.

    Labeling a node is a rank-one update. Only the first label of a component requires
    a matrix inversion. In a component without labels, f is the mean of all labels.

    Parameters
    ----------
    graph : NeighborGraph
        The graph.

    Attributes
    ----------
    labeled : list of int
        Labeled nodes, in the order in which they were labeled.
    """

    def __init__(self, graph: NeighborGraph) -> None:
        self.graph = graph
        self.labeled: list[int] = []
        n = len(graph)
        self._component = np.empty(n, dtype=int)
        for number, component in enumerate(graph.components):
            self._component[component] = number
        # G up to a factor. Without labels, Delta^-1 is constant and almost infinite on
        # each component, but only its ratios are used.
        self._G = (self._component[:, None] == self._component).astype(float)
        self._inverted = np.zeros(len(graph.components), dtype=bool)

    def label(self, nodes: Sequence[int]) -> None:
        """Label nodes that are not labeled."""
        for k in nodes:
            if self._inverted[self._component[k]]:
                column = self._G[:, k].copy()
                self._G -= np.outer(column, column / column[k])
            else:
                self._invert_component(k)
            self._G[k] = self._G[:, k] = 0.0
            self.labeled.append(k)

    def _invert_component(self, k: int) -> None:
        """Compute G on a component whose first label is at node k."""
        component = self.graph.components[self._component[k]]
        rest = component[component != k]
        degrees = self.graph.W[rest].sum(axis=1)
        delta = np.diag(degrees + JITTER) - self.graph.W[np.ix_(rest, rest)]
        self._G[np.ix_(rest, rest)] = np.linalg.inv(delta)
        self._inverted[self._component[k]] = True

    def copy(self) -> HarmonicFunction:
        """Return an independent copy."""
        twin = object.__new__(HarmonicFunction)
        vars(twin).update(vars(self))
        twin.labeled = list(self.labeled)
        twin._G, twin._inverted = self._G.copy(), self._inverted.copy()
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        # G is recomputed by the same steps.
        return _labeled, (self.graph, self.labeled)

    def values(self, labels: FloatArray) -> FloatArray:
        """Return the values of f at all nodes."""
        f = np.full(len(self.graph), float(np.mean(labels)))
        reached = self._inverted[self._component]
        f[reached] = (self._G @ (self.graph.W[:, self.labeled] @ labels))[reached]
        f[self.labeled] = labels
        return f

    def influence(self) -> FloatArray:
        """Return the increase of sum f if f_k increases by 1, for all nodes k."""
        diagonal = np.diagonal(self._G)
        return np.where(
            diagonal > 0.0,
            self._G.sum(axis=0) / np.where(diagonal > 0.0, diagonal, 1.0),
            1.0,
        )


def _labeled(graph: NeighborGraph, nodes: list[int]) -> HarmonicFunction:
    harmonic = HarmonicFunction(graph)
    harmonic.label(nodes)
    return harmonic
