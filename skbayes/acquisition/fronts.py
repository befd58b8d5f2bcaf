"""What ranks configurations where several objectives count.

Symbols (n scores told or learnt, p configurations pending, m candidates, D columns, d
objectives, S samples of the surrogates' hyper-parameters).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skbayes.acquisition.base import BLOCK, Known, Proposer, Strategy
from skbayes.acquisition.hypervolume import (
    ExpectedHypervolumeImprovement,
    reference_point,
)
from skbayes.acquisition.improvement import ExpectedImprovement, FloatArray, Utility
from skbayes.acquisition.strategy import ModelStrategy, learn, make_strategy
from skbayes.space.candidates import Candidates

__all__ = ["ParetoProposer", "ParetoStrategy", "make_pareto_strategy", "on_log_scale"]

# A cost below this share of the median cost is taken for as much.
LEAST_COST = 1e-6


def are_costs(Y: FloatArray) -> np.ndarray:
    """Which objectives are negated costs, such as times, sizes or errors.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        Scores, greater is better, finite.

    Returns
    -------
    mask : ndarray of shape (d,), bool
        True where no score is greater than 0, and not all are 0.
    """
    return (np.max(Y, axis=0) <= 0.0) & (np.min(Y, axis=0) < 0.0)


def on_log_scale(Y: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Replace costs by their logarithms.

    Half of a cost is then worth as much anywhere, and no trade among small costs is
    lost beside large ones. No order changes, and so no front.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        Scores, greater is better, finite.
    noise : ndarray of shape (n, d)
        Known variances of the scores.

    Returns
    -------
    Y, noise : ndarray of shape (n, d)
        The same, with -log(-y) in place of y in objectives that :func:`are_costs`. A
        cost of 0 counts as half of the smallest other one.
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


class ParetoProposer(Proposer):
    """Scores candidates by the hypervolume they are expected to add.

    Parameters
    ----------
    surrogates : list
        One for each objective, fitted.
    acquisitions : list of ExpectedHypervolumeImprovement
        One for each sample of the surrogates' hyper-parameters. A surrogate with fewer
        samples takes part with each of them several times.
    box : float, default=1.0
        Volume between the reference and the best of each objective.
    """

    def __init__(
        self,
        surrogates: Sequence[Any],
        acquisitions: Sequence[ExpectedHypervolumeImprovement],
        box: float = 1.0,
    ) -> None:
        self.surrogates = surrogates
        self.acquisitions = acquisitions
        self.box = box
        self.has_gradients = all(
            getattr(surrogate, "has_gradients", True) for surrogate in surrogates
        )

    def scores(self, X: FloatArray) -> FloatArray:
        """Logarithm of the expected improvement of the hypervolume.

        Parameters
        ----------
        X : ndarray of shape (m, D)
            Candidates.

        Returns
        -------
        scores : ndarray of shape (m,)
            Of its average over samples of the surrogates' hyper-parameters.
        """
        blocks = [X[i : i + BLOCK] for i in range(0, max(len(X), 1), BLOCK)]
        return np.concatenate([self._block_scores(block) for block in blocks])

    def _block_scores(self, X: FloatArray) -> FloatArray:
        mean, sd = _joined([model.predict(X) for model in self.surrogates])
        return self._average(mean, sd)[0]

    def scores_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scores of candidates and their derivatives.

        Parameters
        ----------
        X : ndarray of shape (m, D)
            Candidates.

        Returns
        -------
        scores : ndarray of shape (m,)
            As :meth:`scores`.
        gradient : ndarray of shape (m, D)
            Derivatives by the positions, 0 in unordered columns.
        """
        mean, sd, d_mean, d_sd = _joined(
            [model.predict(X, gradient=True) for model in self.surrogates]
        )
        value, utility, shares = self._average(mean, sd)
        by_position = np.einsum("sm,smj,sm...j->m...", shares, utility.by_mean, d_mean)
        by_position += np.einsum("sm,smj,sm...j->m...", shares, utility.by_sd, d_sd)
        return value, by_position

    def _average(
        self, mean: FloatArray, sd: FloatArray
    ) -> tuple[FloatArray, Utility, FloatArray]:
        """Average over samples; also the utility under each, and its share."""
        parts = [
            acquisition(*prediction)
            for acquisition, *prediction in zip(
                self.acquisitions, mean, sd, strict=True
            )
        ]
        utility = Utility(*map(np.array, zip(*parts, strict=True)))
        value, shares = ExpectedImprovement().average(utility)
        return value, utility, shares

    def expected_improvement(self, row: FloatArray) -> float:
        """How much hypervolume a configuration is expected to add.

        Parameters
        ----------
        row : ndarray of shape (D,)
            The configuration.

        Returns
        -------
        improvement : float
            As a share of `box`, >= 0.
        """
        return float(np.exp(self.scores(row[None, :])[0]) / self.box)


def _joined(predictions: Sequence[tuple[FloatArray, ...]]) -> list[FloatArray]:
    """Put predictions of single objectives together, the objectives last."""
    S = max(len(one[0]) for one in predictions)
    return [
        np.stack([part[np.arange(S) % len(part)] for part in parts], axis=-1)
        for parts in zip(*predictions, strict=True)
    ]


class ParetoStrategy:
    """One independent surrogate for each objective, and the hypervolume for all.

    Costs are learnt and compared by their logarithms (:func:`on_log_scale`).

    Parameters
    ----------
    surrogates : list
        One for each objective: ``fit``, ``predict`` and ``condition``.
    """

    n_initial_points = None
    needs_scores = True

    def __init__(self, surrogates: Sequence[Any]) -> None:
        self.surrogates = surrogates

    def proposer(self, known: Known) -> ParetoProposer:
        """Learn from what is known.

        Parameters
        ----------
        known : Known
            What is known, with an objective in each column of its scores; in each at
            least one.

        Returns
        -------
        proposer : ParetoProposer
            What ranks candidates.
        """
        Y, noise = on_log_scale(known.y, known.noise)
        surrogates = [
            learn(model, Known(known.X, Y[:, j], noise[:, j], known.pending))[0]
            for j, model in enumerate(self.surrogates)
        ]
        # As for one objective, what the models make of the scores is improved on, and
        # what is pending counts as if it were told.
        X = np.vstack([known.X, known.pending])
        believed, _ = _joined([model.predict(X) for model in surrogates])
        reference = reference_point(Y)
        acquisitions = [
            ExpectedHypervolumeImprovement(means, reference) for means in believed
        ]
        box = float(np.prod(np.max(Y, axis=0) - reference))
        return ParetoProposer(surrogates, acquisitions, box)


def make_pareto_strategy(
    surrogate: Any, acquisition: Any, candidates: Candidates, seed: int, n: int
) -> Strategy:
    """Make a strategy for several objectives of what was chosen for one.

    Parameters
    ----------
    surrogate : str or object
        As for :func:`skbayes.acquisition.strategy.make_strategy`.
    acquisition : Acquisition
        It must be the expected improvement, which for several objectives is that of
        the hypervolume.
    candidates : Candidates
        The configurations among which it will choose.
    seed : int
        Source of randomness.
    n : int
        Number of objectives.

    Returns
    -------
    strategy : Strategy
        What makes proposers.

    Raises
    ------
    ValueError
        If the surrogate or the acquisition is good for one objective only.
    """
    parts = [
        make_strategy(surrogate, acquisition, candidates, seed + j) for j in range(n)
    ]
    models = [part.surrogate for part in parts if isinstance(part, ModelStrategy)]
    if models and not isinstance(acquisition, ExpectedImprovement):
        raise ValueError(
            "acquisition must be 'ei' with several objectives, which stands for the "
            f"expected improvement of the hypervolume; {type(acquisition).__name__} is "
            "for one."
        )
    if models:
        return ParetoStrategy(models)
    if parts[0].needs_scores:
        raise ValueError(
            f"surrogate={surrogate!r} makes its proposals from the scores of one "
            "objective; with several it must be a model with means and standard "
            "deviations, such as 'gp', or one that needs no scores."
        )
    return parts[0]
