"""Proposals for several objectives, by the expected improvement of the hypervolume.

Symbols: n observations, p pending configurations, m candidates, D columns, d
objectives, S samples of the surrogates' hyper-parameters.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from skbayes.acquisition.base import Observations, Proposer, fit_surrogate
from skbayes.acquisition.expected_hypervolume import ExpectedHypervolumeImprovement
from skbayes.acquisition.hypervolume import on_log_scale, reference_point
from skbayes.acquisition.improvement import Utility, average
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.base import capability_of, known_means, predict


class ParetoProposer(Proposer):
    """Proposer with the expected improvement of the hypervolume.

    Each objective has an independent surrogate. Costs are modeled and compared by their
    logarithms (:func:`skbayes.acquisition.hypervolume.on_log_scale`). There is one
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
        # As for one objective, predicted means are improved on, and pending
        # configurations count as observed.
        known, is_rival = observations.known, observations.is_rival
        (believed,) = _joined(
            [(known_means(model, known)[:, is_rival],) for model in fitted.surrogates]
        )
        # Possibly, only pending configurations satisfy the constraints.
        Y = Y[observations.kept] if np.any(observations.kept) else Y
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
