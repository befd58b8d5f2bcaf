"""Proposals for several objectives, by the hypervolume that they are expected to add.

Symbols (n scores told or learned, p configurations pending, m candidates, D columns, d
objectives, S samples of the surrogates' hyper-parameters).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from skbayes.acquisition.base import Observations, Proposer, fit_surrogate, predict
from skbayes.acquisition.fronts import on_log_scale, reference_point
from skbayes.acquisition.hypervolume import ExpectedHypervolumeImprovement
from skbayes.acquisition.improvement import ExpectedImprovement, Utility
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.base import known_means
from skbayes.surrogates.registry import capability

__all__ = ["ParetoProposer"]


class ParetoProposer(Proposer):
    """Scores candidates by the expected improvement of the hypervolume.

    Each objective has an independent surrogate. Costs are learned and compared by their
    logarithms (:func:`skbayes.acquisition.fronts.on_log_scale`).

    Parameters
    ----------
    models : list
        A surrogate for each objective, not fitted.

    Attributes
    ----------
    surrogates : list
        The fitted surrogates.
    acquisitions : list of ExpectedHypervolumeImprovement
        One for each sample of the surrogates' hyper-parameters. A surrogate with fewer
        samples takes part with each of them several times.
    box : float
        Volume between the reference and the best of each objective.
    """

    surrogates: Sequence[Any]
    acquisitions: Sequence[ExpectedHypervolumeImprovement]
    box: float

    def __init__(self, models: Sequence[Any]) -> None:
        self.models = models
        self.has_gradients = all(capability(one, "has_gradients") for one in models)
        self.n_initial_points = capability(models[0], "n_initial_points")

    def fit(self, observations: Observations) -> ParetoProposer:  # noqa: D102
        X, pending = observations.X, observations.pending
        Y, noise = on_log_scale(observations.y, observations.noise)
        fitted = copy.copy(self)
        fitted.surrogates = [
            fit_surrogate(model, Observations(X, Y[:, j], noise[:, j], pending))
            for j, model in enumerate(self.models)
        ]
        # As for one objective, what the models make of the scores is improved on, and
        # what is pending counts as if it were told.
        known, is_rival = observations.known, observations.is_rival
        (believed,) = _joined(
            [(known_means(one, known)[:, is_rival],) for one in fitted.surrogates]
        )
        # Only those that are pending may keep the constraints.
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
            acquisition(*prediction)
            for acquisition, *prediction in zip(
                self.acquisitions, mean, sd, strict=True
            )
        ]
        utility = Utility(*map(np.array, zip(*parts, strict=True)))
        value, shares = ExpectedImprovement().average(utility)
        if not gradient:
            return value, None
        d_mean, d_sd = slopes
        by_position = np.einsum("sm,smj,sm...j->m...", shares, utility.by_mean, d_mean)
        by_position += np.einsum("sm,smj,sm...j->m...", shares, utility.by_sd, d_sd)
        return value, by_position

    def expected_improvement(self, row: FloatArray) -> float:
        """Return the hypervolume that is expected to be added, as a share of `box`."""
        return float(np.exp(self._evaluate(row[None, :], False)[0][0]) / self.box)


def _joined(predictions: Sequence[tuple[FloatArray, ...]]) -> list[FloatArray]:
    """Put predictions of single objectives together, the objectives last."""
    S = max(len(one[0]) for one in predictions)
    return [
        np.stack([part[np.arange(S) % len(part)] for part in parts], axis=-1)
        for parts in zip(*predictions, strict=True)
    ]
