"""Proposals for several objectives, by the expected improvement of the hypervolume.

Symbols: n observations, p pending configurations, m candidates, D columns, d
objectives, S samples of the surrogates' hyper-parameters, K boxes (see `hypervolume`).

For independent normal predictions, the expected improvement of the hypervolume (EHVI)
is a sum over boxes of products over objectives. See Emmerich et al. (2011),
"Hypervolume-based expected improvement", and Yang et al. (2019), "Efficient computation
of expected hypervolume improvement using box decomposition algorithms":

    EHVI = sum_k prod_j [psi_j(lower_kj) - psi_j(upper_kj)],

where psi_j(a) = E max(f_j - a, 0) is the expected improvement on a in objective j. This
formula is exact for any number of objectives.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from skbayes.acquisition.improvement import ExpectedImprovement, Utility, average
from skbayes.acquisition.observations import Observations, fit_surrogate
from skbayes.acquisition.proposers import Proposer
from skbayes.pareto.hypervolume import (
    nondominated_boxes,
    on_log_scale,
    reference_point,
)
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.surrogate import capability_of, known_means, predict


class ExpectedHypervolumeImprovement:
    """Expected improvement of the hypervolume of a front.

    Its value is the logarithm of the expected gain in hypervolume, which is accurate
    even if the expectation itself would underflow. It is exact for independent normal
    predictions and any number of objectives. With one objective, it is the expected
    improvement.

    Parameters
    ----------
    front : ndarray of shape (n, d)
        Points to improve on, greater is better. Dominated points have no effect.
    reference : ndarray of shape (d,)
        Reference point, above which volume counts.

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
        # Boxes share their sides; each distinct side is only evaluated once.
        self._sides = [_Sides(lower[:, j], upper[:, j]) for j in range(lower.shape[1])]

    def __call__(self, mean: FloatArray, sd: FloatArray) -> Utility:
        """Compute the logarithm of the expected improvement and its derivatives.

        Parameters
        ----------
        mean, sd : ndarray of shape (m, d)
            Independent predictions of the objectives.

        Returns
        -------
        utility : Utility
            Values of shape (m,), and derivatives by `mean` and `sd` of shape (m, d).
        """
        parts = [side(mean[:, j], sd[:, j]) for j, side in enumerate(self._sides)]
        logs = np.sum([part.value for part in parts], axis=0)
        # Shifted by the maximum, so that the sum of exponentials cannot underflow.
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
    """Sides of the boxes in one objective, from `lower` (K,) to `upper` (K,)."""

    def __init__(self, lower: FloatArray, upper: FloatArray) -> None:
        pairs, self._of_box = np.unique(
            np.column_stack([lower, upper]), axis=0, return_inverse=True
        )
        self._of_box = self._of_box.reshape(-1)
        edges = np.unique(pairs)
        self._edges = edges[np.isfinite(edges)]
        self._lower, self._upper = np.searchsorted(edges, pairs).T

    def __call__(self, mean: FloatArray, sd: FloatArray) -> Utility:
        """Return log(psi(lower) - psi(upper)), the log expectations, shape (m, K).

        They are the logarithms of E (min(f, upper) - lower)_+.
        """
        at_edges = ExpectedImprovement()(mean[:, None], sd[:, None], self._edges)
        # At an infinite edge, the last one, the expected improvement is 0.
        psi, by_mean, by_sd = (
            np.pad(part, ((0, 0), (0, 1)), constant_values=end)
            for part, end in zip(at_edges, (-np.inf, 0.0, 0.0), strict=True)
        )
        low, high = self._lower, self._upper
        ratio = np.exp(psi[:, high] - psi[:, low])
        mass = -np.expm1(psi[:, high] - psi[:, low])
        # Rounding may give 0 for a side that is short and far below the mean.
        some = mass > 0.0
        weight = np.divide(1.0, mass, out=np.zeros_like(mass), where=some)
        logs = np.log(mass, out=np.full_like(mass, -np.inf), where=some)
        parts = (
            psi[:, low] + logs,
            weight * (by_mean[:, low] - ratio * by_mean[:, high]),
            weight * (by_sd[:, low] - ratio * by_sd[:, high]),
        )
        return Utility(*(part[:, self._of_box] for part in parts))


class ParetoProposer(Proposer):
    """Proposer with the expected improvement of the hypervolume.

    Each objective has an independent surrogate. Costs are modeled and compared by their
    logarithms (:func:`skbayes.pareto.hypervolume.on_log_scale`). There is one
    acquisition function for each sample of the surrogates' hyper-parameters; the
    samples of a surrogate with fewer samples are repeated. `box` is the volume between
    the reference and the best score of each objective.
    """

    surrogates: Sequence[Any]
    acquisitions: Sequence[ExpectedHypervolumeImprovement]
    box: float

    def __init__(self, models: Sequence[Any]) -> None:
        self.models = models
        self.has_gradients = all(
            capability_of(model, "has_gradients") for model in models
        )
        self.n_initial_points = capability_of(models[0], "n_initial_points")

    def fit(self, observations: Observations) -> ParetoProposer:  # noqa: D102
        X, pending = observations.X, observations.pending
        Y, noise = on_log_scale(observations.y, observations.noise)
        fitted = copy.copy(self)
        fitted.surrogates = [
            fit_surrogate(model, Observations(X, Y[:, j], noise[:, j], pending))
            for j, model in enumerate(self.models)
        ]
        # As for one objective, the improvement is relative to predicted means, and
        # pending configurations count as observed.
        X, is_rival = observations.configurations, observations.is_rival
        (believed,) = _joined(
            [(known_means(model, X)[:, is_rival],) for model in fitted.surrogates]
        )
        # It is possible that only pending configurations satisfy the constraints.
        Y = Y[observations.feasible] if np.any(observations.feasible) else Y
        reference = reference_point(Y)
        fitted.acquisitions = [
            ExpectedHypervolumeImprovement(means, reference) for means in believed
        ]
        fitted.box = float(np.prod(np.max(Y, axis=0) - reference))
        return fitted

    def _evaluate(self, X: FloatArray, gradient: bool) -> tuple[FloatArray, Any]:
        mean, sd, *slopes = _joined(
            [predict(surrogate, X, gradient) for surrogate in self.surrogates]
        )
        parts = [
            acquisition(mean[s], sd[s])
            for s, acquisition in enumerate(self.acquisitions)
        ]
        utility = Utility(*map(np.array, zip(*parts, strict=True)))
        value, shares = average(utility.value, is_log=True)
        if not gradient:
            return value, None
        by_mean, by_sd = (
            np.einsum("sm,smj,sm...j->m...", shares, by_prediction, slope)
            for by_prediction, slope in zip(utility[1:], slopes, strict=True)
        )
        return value, by_mean + by_sd

    def expected_improvement(self, row: FloatArray) -> float:
        """Return the expected gain in hypervolume, as a share of `box`."""
        return float(np.exp(self._evaluate(row[None, :], False)[0][0]) / self.box)


def _joined(predictions: Sequence[tuple[FloatArray, ...]]) -> list[FloatArray]:
    """Stack the predictions of the objectives along the last axis."""
    S = max(len(prediction[0]) for prediction in predictions)
    return [
        np.stack([part[np.arange(S) % len(part)] for part in parts], axis=-1)
        for parts in zip(*predictions, strict=True)
    ]
