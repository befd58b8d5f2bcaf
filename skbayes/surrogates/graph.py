"""Neighborhood graph over the configurations of a finite space, and a field on it.

Symbols (n nodes, l of them labeled, g values of sigma, D columns):

- ``nodes``: (n, D), all configurations that can be proposed.
- ``W``: (n, n), weights of edges; 0 on the diagonal and between nodes without an edge.
- ``Delta``: D - W, the graph's Laplacian, D the diagonal matrix of W's row sums.
- ``L``, ``U``: the labeled and the unlabeled nodes.
- ``f``: (n,), the harmonic function. It equals the labels on L. On U, it is the
  weighted mean of the neighbors' values, f_U = -Delta_UU^-1 Delta_UL f_L.
- ``G``: Delta_UU^-1. Labeling k with v adds (v - f_k) G_.k / G_kk to f, and subtracts
  G_.k G_k. / G_kk from G.
- ``K``: (g, n, n), (Delta + I / sigma^2)^-1; the field's covariance is K / (2 beta).
  Never formed: with Delta = V diag(v) V^T, column k is V ((v + 1 / sigma^2)^-1 * V_k).
- ``A``: (g, l, n), the first l steps of the Cholesky decomposition of K with the
  labeled nodes as pivots, K_LL = A_L^T A_L and A_L upper triangular. Labeling one
  more node adds a row, and does not change the others.
- ``y``: (l,), the labels of the field, standardized.

Zhu, Ghahramani & Lafferty (2003), "Semi-supervised learning using Gaussian fields and
harmonic functions"; Zhang & Duh (2020), "Reproducible and efficient benchmarks for
hyperparameter optimization of neural machine translation systems", sections 5 to 5.3.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from skbayes.space.dimensions import FloatArray, key_of
from skbayes.surrogates.gp.kernels import KERNELS, Embedding, check_kernel
from skbayes.surrogates.surrogate import Surrogate, standardize

if TYPE_CHECKING:
    from skbayes.space.candidates import Candidates

# Maximum number of nodes. The graph is stored as n x n matrices, and larger ones would
# take seconds per proposal.
MAX_NODES = 2000

# Added to the diagonal of Delta, which is singular without labels.
JITTER = 1e-9

# Maximum average number of neighbors of a node, as a share of all nodes.
NEIGHBOR_SHARE = 1.0 / 7.0

# Candidates for 1 / sigma^2, in units of the mean degree of a node. The greater it is,
# the faster the influence of a label decreases with the distance.
DECAYS = np.logspace(-4.0, 1.0, 11)

# Minimum posterior variance, in units of the prior variance; and minimum mean square of
# whitened labels, in units of their own variance.
MIN_VARIANCE, MIN_AMPLITUDE = 1e-12, 1e-6

# Mean degree of a graph that has (nearly) no edges.
MIN_DEGREE = 1e-6


class NeighborGraph:
    """Neighborhood graph, in which edges join similar configurations.

    An edge joins two nodes if one is among the k nearest nodes of the other. Here k is
    the greatest number for which a node has at most n / 7 neighbors on average. On a
    grid, many nodes are equally near. All nodes that are as near as the k-th count, so
    that the graph does not depend on the order of the nodes. :class:`GraphField`
    describes the parameters. `components` has the indices of the nodes of each
    connected component. A ValueError is raised if there are more than 2,000 nodes.

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
        self._arguments = (nodes, n_options, kernel, length_scale)
        n = len(nodes)
        if n > MAX_NODES:
            raise ValueError(f"nodes must have at most {MAX_NODES:,} rows, got {n:,}.")
        embedding = Embedding(n_options, nodes)
        scaled = embedding.scale(
            embedding.place(nodes), np.full(len(n_options), length_scale)
        )
        # Use differences, because products would lose digits by cancellation.
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
        return NeighborGraph, self._arguments

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
    ascending = np.sort(r2 + np.diag(np.full(n, np.inf)), axis=1)

    def joined(k: int) -> np.ndarray:
        # On a grid, many distances are equal up to rounding.
        near = r2 <= ascending[:, k - 1, None] * (1.0 + 1e-9)
        np.fill_diagonal(near, False)
        return near | near.T

    # The greatest k without too many edges; their number increases with k.
    max_edges = NEIGHBOR_SHARE * n * n
    k = bisect_right(range(1, n), max_edges, key=lambda k: int(np.sum(joined(k))))
    return joined(max(k, 1))


class HarmonicFunction:
    """Harmonic function of a graph with labels at some nodes.

    Labeling a node is a rank-one update. Only the first label of a component requires
    a matrix inversion. In a component without labels, f is the mean of all labels.
    `labeled` are the labeled nodes, in the order in which they were labeled.
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

    def label(self, nodes: Sequence[int]) -> HarmonicFunction:
        """Label nodes that are not labeled; return this object."""
        for k in nodes:
            if self._inverted[self._component[k]]:
                column = self._G[:, k].copy()
                self._G -= np.outer(column, column / column[k])
            else:
                self._invert_component(k)
            self._G[k] = self._G[:, k] = 0.0
            self.labeled.append(k)
        return self

    def _invert_component(self, k: int) -> None:
        """Compute G on a component whose first label is at node k."""
        component = self.graph.components[self._component[k]]
        unlabeled = component[component != k]
        degrees = self.graph.W[unlabeled].sum(axis=1)
        delta = np.diag(degrees + JITTER) - self.graph.W[np.ix_(unlabeled, unlabeled)]
        self._G[np.ix_(unlabeled, unlabeled)] = np.linalg.inv(delta)
        self._inverted[self._component[k]] = True

    def copy(self) -> HarmonicFunction:
        """Return an independent copy."""
        copied = object.__new__(HarmonicFunction)
        vars(copied).update(vars(self))
        copied.labeled = list(self.labeled)
        copied._G, copied._inverted = self._G.copy(), self._inverted.copy()
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        # G is recomputed by the same steps.
        return _labeled, (self.graph, self.labeled)

    def values(self, labels: FloatArray) -> FloatArray:
        """Return the values of f at all nodes."""
        f = np.full(len(self.graph), float(np.mean(labels)))
        has_label = self._inverted[self._component]
        f[has_label] = (self._G @ (self.graph.W[:, self.labeled] @ labels))[has_label]
        f[self.labeled] = labels
        return f

    def influence(self) -> FloatArray:
        """Return the increase of sum f if f_k increases by 1, for all nodes k."""
        diagonal = np.diagonal(self._G)
        increase = np.ones(len(diagonal))
        np.divide(self._G.sum(axis=0), diagonal, out=increase, where=diagonal > 0.0)
        return increase


def _labeled(graph: NeighborGraph, nodes: list[int]) -> HarmonicFunction:
    return HarmonicFunction(graph).label(nodes)


@dataclass(eq=False, repr=False)
class GraphField(Surrogate):
    """Gaussian field on a graph, for finite spaces of up to 2,000 configurations.

    Each configuration is a node, and edges join it to its nearest configurations. The
    influence of an observed score spreads along the edges. The marginal likelihood
    determines the strength of the edges, and the decrease of the influence with the
    distance. Scores are assumed to be exact.

    Parameters
    ----------
    kernel : {"matern52", "matern32", "rbf"}, default="rbf"
        Function from the length of an edge to its weight.
    length_scale : float, default=1.0
        Unit of lengths: 1 is the range of an ordered column, and the distance between
        two options of an unordered one.
    nodes : ndarray of shape (n, D), default=None
        All encoded configurations that can be proposed, NaN where inactive. None
        means the configurations of the optimizer's space.
    n_options : list of int, default=None
        Number of options of each column, 0 for an ordered column. None means the
        options of the optimizer's space. Without an optimizer, all columns are ordered.

    Raises
    ------
    ValueError
        If an argument is out of range.

    See Also
    --------
    skbayes.acquisition.ExpectedInfluence : Acquisition function on the same graph.

    References
    ----------
    Zhang & Duh (2020), "Reproducible and efficient benchmarks for hyperparameter
    optimization of neural machine translation systems".

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.surrogates import GraphField
    >>> nodes = np.linspace(0, 1, 29)[:, None]
    >>> field = GraphField(nodes=nodes)
    >>> field = field.fit(nodes[[0, 14, 28]], np.array([0.0, 1.0, 0.0]))
    >>> mean, sd = field.predict(nodes[[7, 14]])
    >>> mean.round(2)
    array([[0.33, 1.  ]])
    >>> sd.round(2)
    array([[0.47, 0.  ]])
    """

    kernel: str = "rbf"
    _: KW_ONLY
    length_scale: float = 1.0
    nodes: FloatArray | None = None
    n_options: list[int] | None = None

    has_graph = True
    needs_finite_space = True

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        if not 0.0 < self.length_scale < np.inf:
            raise ValueError(
                f"length_scale must be > 0 and finite, got {self.length_scale!r}."
            )
        self._labeled: list[int] = []

    def prepare(self, candidates: Candidates) -> None:
        """Use all configurations of the space as nodes.

        A ValueError is raised if there are too many.
        """
        if self.nodes is not None:
            return
        candidates.apply_constraint()
        self.nodes = candidates.rows
        if self.nodes is None or len(self.nodes) > MAX_NODES:
            n = candidates.n_configurations
            size = "infinitely many" if math.isinf(n) else f"{int(n):,}"
            raise ValueError(
                "surrogate 'graph' needs a finite space, with at most "
                f"{MAX_NODES:,} configurations; this one has {size}. Use lists of "
                "values instead of ranges, or choose another surrogate."
            )

    @cached_property
    def graph(self) -> NeighborGraph:
        """Graph of the nodes; ValueError if there are none or too many."""
        if self.nodes is None:
            raise ValueError(
                "nodes must be given to use a GraphField without an optimizer."
            )
        n_options = self.n_options or [0] * self.nodes.shape[1]
        return NeighborGraph(self.nodes, n_options, self.kernel, self.length_scale)

    # -- learning -----------------------------------------------------------------

    def fit(self, X: FloatArray, y: FloatArray) -> GraphField:
        """Fit the field to observations.

        Configurations that are not nodes are ignored. If a configuration occurs several
        times, the mean of its scores is used.
        """
        places, y = self.graph.places(X), np.asarray(y, dtype=np.float64)
        labeled, scores = self.graph.labels(places, y)
        before = self._labeled
        if not hasattr(self, "_rows") or labeled[: len(before)] != before:
            self._reset()
        for node in labeled[len(self._labeled) :]:
            self._label(node)
        # If no observation is a node, the scores still determine offset and unit.
        level = scores if len(scores) else y
        _, self._offset, self._unit = standardize(level)
        self._learn((scores - self._offset) / self._unit)
        return self

    def condition(self, X: FloatArray) -> GraphField:  # noqa: D102
        field = object.__new__(GraphField)
        vars(field).update(vars(self))
        field._rows, field._variance = self._rows.copy(), self._variance.copy()
        field._labeled = list(self._labeled)
        for node in dict.fromkeys(self.graph.places(X).tolist()):
            if node >= 0 and node not in field._labeled:
                field._label(node)
        return field

    def _reset(self) -> None:
        """Remove all labels."""
        n = len(self.graph)
        if not hasattr(self, "_vectors"):
            degree = self.graph.W.sum() / n
            values, self._vectors = linalg.eigh(self.graph.laplacian)
            decays = max(degree, MIN_DEGREE) * DECAYS
            self._inverse = 1.0 / (np.maximum(values, 0.0) + decays[:, None])  # (g, n)
            self._prior = np.einsum("ij,gj->gi", self._vectors**2, self._inverse)
        self._labeled = []
        self._rows = np.empty((len(DECAYS), 0, n))  # A
        self._variance = self._prior.copy()  # diagonal of K - A^T A

    def _label(self, k: int) -> None:
        """Add node k's row to A: (K_k. - A_.k A) / sqrt(K_kk - |A_.k|^2)."""
        column = (self._inverse * self._vectors[k]) @ self._vectors.T
        count = len(self._labeled)
        rows = self._rows[:, :count]
        row = column - np.einsum("gl,gln->gn", rows[:, :, k], rows)
        floor = MIN_VARIANCE * self._prior[:, k]
        row /= np.sqrt(np.maximum(self._variance[:, k], floor))[:, None]
        if count == self._rows.shape[1]:
            unused = np.empty((len(row), max(count, 16), len(self.graph)))
            self._rows = np.concatenate([self._rows, unused], axis=1)
        self._rows[:, count] = row
        self._variance -= np.square(row)
        self._labeled.append(k)

    def _learn(self, y: FloatArray) -> None:
        """Choose sigma and beta by marginal likelihood; predict every node.

        With z = A_L^-T y, the log likelihood at the optimal beta is, up to a constant,
        - (l log(|z|^2 / l) + log |K_LL|) / 2, and 1 / (2 beta) = |z|^2 / l.
        """
        count = len(y)
        if not count:
            self._chosen, self._amplitude = 0, 1.0 / float(np.mean(self._prior[0]))
            self._mean = np.zeros(len(self.graph))
            return
        best = -np.inf
        for g, rows in enumerate(self._rows[:, :count]):
            A_L = rows[:, self._labeled[:count]]
            z = linalg.solve_triangular(A_L, y, trans="T", check_finite=False)
            least = MIN_AMPLITUDE / float(np.mean(self._prior[g]))
            amplitude = max(float(z @ z) / count, least)
            log_det = 2.0 * float(np.sum(np.log(np.diagonal(A_L))))
            likelihood = -0.5 * (count * np.log(amplitude) + log_det)
            if likelihood > best:
                best = likelihood
                self._chosen, self._amplitude, self._mean = g, amplitude, z @ rows

    # -- predicting ---------------------------------------------------------------

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:  # noqa: D102
        places = self.graph.places(X)
        prior = self._prior[self._chosen]
        posterior = np.maximum(self._variance[self._chosen], MIN_VARIANCE * prior)
        is_new = places < 0
        mean = np.where(is_new, 0.0, self._mean[places])
        variance = np.where(is_new, np.mean(prior), posterior[places])
        sd = np.sqrt(self._amplitude * variance)
        return self._to_scores(mean[None], sd[None])

    def average(
        self, X: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Predict the mean and standard deviation of a weighted mean of scores.

        With the weights w of the nodes, the mean is w' m, and the variance is
        w' (K - A' A) w / (2 beta), from the covariances between all nodes.
        """
        places, weights = self.graph.places(X), np.asarray(weights, dtype=np.float64)
        is_node = places >= 0
        w = np.bincount(places[is_node], weights[is_node], minlength=len(self.graph))
        g, prior = self._chosen, self._prior[self._chosen]
        rows = self._rows[g, : len(self._labeled)]
        variance = self._inverse[g] @ np.square(w @ self._vectors)
        variance -= np.sum(np.square(rows @ w))
        variance += np.mean(prior) * np.sum(np.square(weights[~is_node]))
        least = MIN_VARIANCE * float(np.mean(prior))
        sd = np.sqrt(self._amplitude * max(float(variance), least))
        return self._to_scores(np.array([self._mean @ w]), np.array([sd]))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without n x n matrices, which can be recomputed."""
        state = dict(vars(self))
        for name in ("_vectors", "_inverse", "_prior", "_rows", "_variance"):
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "_mean" in state:  # it was fitted
            labeled = self._labeled
            self._reset()
            for node in labeled:
                self._label(node)
