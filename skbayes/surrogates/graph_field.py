"""Gaussian field on a neighborhood graph over the configurations of a finite space.

Symbols (n nodes, l of them labeled, g values of sigma, D columns):

- ``Delta``: (n, n), the graph's Laplacian, as in :mod:`skbayes.surrogates.graph`.
- ``K``: (g, n, n), (Delta + I / sigma^2)^-1; the field's covariance is K / (2 beta).
  Never formed: with Delta = V diag(v) V^T, column k is V ((v + 1 / sigma^2)^-1 * V_k).
- ``A``: (g, l, n), the first l steps of the Cholesky decomposition of K with the
  labeled nodes as pivots, K_LL = A_L^T A_L and A_L upper triangular. Labeling one
  more node adds a row, and does not change the others.
- ``y``: (l,), the labels, standardized.

Zhang & Duh (2020), "Reproducible and efficient benchmarks for hyperparameter
optimization of neural machine translation systems", section 5.3.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg

from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.base import Surrogate, standardize
from skbayes.surrogates.gp.kernels import check_kernel
from skbayes.surrogates.graph import MAX_NODES, NeighborGraph

if TYPE_CHECKING:
    from skbayes.space.candidates import Candidates

__all__ = ["GraphField"]

# Candidates for 1 / sigma^2, in units of the mean degree of a node. The greater it is,
# the faster the influence of a label decreases with the distance.
DECAYS = np.logspace(-4.0, 1.0, 11)

# Minimum posterior variance, in units of the prior variance; and minimum mean square of
# whitened labels, in units of their own variance.
MIN_VARIANCE, MIN_AMPLITUDE = 1e-12, 1e-6

# Mean degree of a graph that has (nearly) no edges.
MIN_DEGREE = 1e-6


@dataclass(eq=False, repr=False)
class GraphField(Surrogate):
    """Gaussian field on a graph, for finite spaces of up to 2,000 configurations.

    Each configuration is a node, and edges join it to its nearest configurations
    (``skbayes.surrogates.graph.NeighborGraph``). The influence of an observed score
    spreads along the edges. The marginal likelihood determines the strength of the
    edges, and the decrease of the influence with the distance. Scores are assumed to be
    exact.

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

        Parameters
        ----------
        candidates : Candidates
            Configurations that can be proposed.

        Raises
        ------
        ValueError
            If there are too many configurations.
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

        Parameters
        ----------
        X : ndarray of shape (n, D)
            Encoded configurations. Configurations that are not nodes are ignored. If a
            configuration occurs several times, the mean of its scores is used.
        y : ndarray of shape (n,)
            Scores of the configurations, finite.

        Returns
        -------
        self : GraphField
            The fitted field.
        """
        places, y = self.graph.places(X), np.asarray(y, dtype=np.float64)
        labeled, scores = self.graph.labels(places, y)
        known = self._labeled
        if not hasattr(self, "_rows") or labeled[: len(known)] != known:
            self._reset()
        for node in labeled[len(self._labeled) :]:
            self._label(node)
        # If no observation is a node, the scores still determine offset and unit.
        level = scores if len(scores) else y
        _, self._offset, self._unit = standardize(level)
        self._learn((scores - self._offset) / self._unit)
        return self

    def condition(self, X: FloatArray) -> GraphField:
        """Return a field conditioned on pending configurations `X`.

        Their predicted scores are treated as observed. Means do not change, and
        standard deviations decrease near `X`.

        Parameters
        ----------
        X : ndarray of shape (m, D)
            Encoded pending configurations.

        Returns
        -------
        surrogate : GraphField
            Conditioned copy.
        """
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
        self._variance = self._prior.copy()  # diagonal of K, less that of A^T A

    def _label(self, k: int) -> None:
        """Add node k's row to A: (K_k. - A_.k A) / sqrt(K_kk - |A_.k|^2)."""
        column = (self._inverse * self._vectors[k]) @ self._vectors.T
        count = len(self._labeled)
        known = self._rows[:, :count]
        row = column - np.einsum("gl,gln->gn", known[:, :, k], known)
        floor = MIN_VARIANCE * self._prior[:, k]
        row /= np.sqrt(np.maximum(self._variance[:, k], floor))[:, None]
        if count == self._rows.shape[1]:
            room = np.empty((len(row), max(count, 16), len(self.graph)))
            self._rows = np.concatenate([self._rows, room], axis=1)
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

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Predict the mean and standard deviation of the score.

        Parameters
        ----------
        X : ndarray of shape (m, D)
            Encoded configurations.

        Returns
        -------
        mean, sd : ndarray of shape (1, m)
            Prediction.
        """
        places = self.graph.places(X)
        prior = self._prior[self._chosen]
        left = np.maximum(self._variance[self._chosen], MIN_VARIANCE * prior)
        strange = places < 0
        mean = np.where(strange, 0.0, self._mean[places])
        variance = np.where(strange, np.mean(prior), left[places])
        sd = np.sqrt(self._amplitude * variance)
        return self._to_scores(mean[None], sd[None])

    def average(
        self, X: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Predict the mean and standard deviation of a weighted mean of scores.

        With the weights w of the nodes, the mean is w' m, and the variance is
        w' (K - A' A) w / (2 beta), from the covariances between all nodes.

        Parameters
        ----------
        X : ndarray of shape (m, D)
            Encoded configurations.
        weights : ndarray of shape (m,)
            Weights of the configurations, >= 0, with sum 1.

        Returns
        -------
        mean, sd : ndarray of shape (1,)
            Prediction.
        """
        places, weights = self.graph.places(X), np.asarray(weights, dtype=np.float64)
        known = places >= 0
        w = np.bincount(places[known], weights[known], minlength=len(self.graph))
        g, prior = self._chosen, self._prior[self._chosen]
        rows = self._rows[g, : len(self._labeled)]
        variance = self._inverse[g] @ np.square(w @ self._vectors)
        variance -= np.sum(np.square(rows @ w))
        variance += np.mean(prior) * np.sum(np.square(weights[~known]))
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
