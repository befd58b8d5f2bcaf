"""What ranks the configurations that are to be had, by what is known so far.

Symbols (n scores told or learnt, p configurations pending, m candidates, D columns, S
samples of a surrogate's hyper-parameters): every array of configurations is encoded,
of shape (..., D), NaN where inactive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from skbayes.acquisition.hypervolume import best_first
from skbayes.acquisition.improvement import (
    Acquisition,
    ExpectedImprovement,
    FloatArray,
)
from skbayes.acquisition.maximize import maximize_over, maximize_search
from skbayes.space.candidates import Candidates

__all__ = ["Known", "ModelProposer", "Proposer", "Strategy"]

# Candidates are scored so many at a time: covariances then stay in the processor's
# cache, and do not fill the memory when 20,000 cells are scored.
BLOCK = 1024

# The best configurations so far around which the acquisition is searched closely.
N_INCUMBENTS = 5


@dataclass(frozen=True)
class Known:
    """All that a proposal may depend on, besides the seed and the settings.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Configurations learnt from earlier searches, then those told, in order.
    scores : ndarray of shape (n,) or (n, d)
        Their scores, NaN for failures; with several objectives a column for each.
    noise : ndarray of shape (n,) or (n, d)
        Known variances of the scores.
    pending : ndarray of shape (p, D)
        Configurations asked for and not told yet.
    """

    X: FloatArray
    scores: FloatArray
    noise: FloatArray
    pending: FloatArray

    @property
    def y(self) -> FloatArray:
        """The scores, with failures taken for the worst; one must not have failed."""
        worst = np.nanmin(self.scores, axis=0)
        return np.where(np.isnan(self.scores), worst, self.scores)

    @property
    def incumbents(self) -> FloatArray:
        """The configurations with the best scores, best first; none without one."""
        if np.any(np.all(np.isnan(self.scores), axis=0)):
            return self.X[:0]
        y = self.y
        order = np.argsort(-y, kind="stable") if y.ndim == 1 else best_first(y)
        return self.X[order[:N_INCUMBENTS]]


class Strategy(Protocol):
    """Makes proposers: a surrogate with an acquisition, or a rule of its own.

    Attributes
    ----------
    needs_scores : bool
        Whether it can do nothing before one score is known.
    """

    needs_scores: bool

    @property
    def n_initial_points(self) -> int | None:
        """Number of configurations known before it decides; None: by the space."""

    def proposer(self, known: Known) -> Proposer:
        """Learn from what is known; a function of `known` alone."""


class Proposer:
    """Ranks configurations; what it makes of what is known is fixed.

    Attributes
    ----------
    has_gradients : bool
        Whether there is a method ``scores_and_gradient``.
    """

    has_gradients = False

    def scores(self, X: FloatArray) -> FloatArray:
        """Worth of candidates.

        Parameters
        ----------
        X : ndarray of shape (m, D)
            Candidates.

        Returns
        -------
        scores : ndarray of shape (m,)
            Greater is better.
        """
        raise NotImplementedError

    def rank(
        self,
        candidates: Candidates,
        incumbents: FloatArray,
        random_state: np.random.Generator,
    ) -> FloatArray:
        """Look for the best configurations that are still to be had.

        Parameters
        ----------
        candidates : Candidates
            What is to be had.
        incumbents : ndarray of shape (k, D)
            The best configurations so far, best first.
        random_state : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        X : ndarray of shape (m, D)
            New and allowed ones, best first; empty if none was found.

        Raises
        ------
        SpaceExhausted
            If none is left.
        """
        if candidates.is_enumerated:
            return maximize_over(self, candidates.unseen())
        return maximize_search(
            self, candidates.space, incumbents, candidates.filter_new, random_state
        )

    def expected_improvement(self, row: FloatArray) -> float | None:
        """How much better than the best so far a configuration is expected to be.

        Parameters
        ----------
        row : ndarray of shape (D,)
            The configuration.

        Returns
        -------
        improvement : float or None
            In units of the score, >= 0; None if that cannot be said.
        """
        return None


class ModelProposer(Proposer):
    """Scores candidates by an acquisition function under a surrogate.

    Parameters
    ----------
    surrogate : object
        Fitted; ``predict(X, gradient)`` gives means and standard deviations of shape
        (S, m). If it has no gradients, it says so by ``has_gradients = False``.
    acquisition : Acquisition
        Utility of a prediction.
    best_f : ndarray of shape (S, 1)
        Score to improve on.
    """

    def __init__(
        self, surrogate: Any, acquisition: Acquisition, best_f: FloatArray
    ) -> None:
        self.surrogate = surrogate
        self.acquisition = acquisition
        self.best_f = best_f
        self.has_gradients = getattr(surrogate, "has_gradients", True)

    def scores(self, X: FloatArray) -> FloatArray:
        """Acquisition of candidates.

        Parameters
        ----------
        X : ndarray of shape (m, D)
            Candidates.

        Returns
        -------
        scores : ndarray of shape (m,)
            Averaged over samples of the surrogate's hyper-parameters.
        """
        blocks = [X[i : i + BLOCK] for i in range(0, max(len(X), 1), BLOCK)]
        return np.concatenate([self._block_scores(block) for block in blocks])

    def _block_scores(self, X: FloatArray) -> FloatArray:
        mean, sd = self.surrogate.predict(X)
        return self.acquisition.average(self.acquisition(mean, sd, self.best_f))[0]

    def scores_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Acquisition of candidates and its derivatives.

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
        mean, sd, d_mean, d_sd = self.surrogate.predict(X, gradient=True)
        utility = self.acquisition(mean, sd, self.best_f)
        value, shares = self.acquisition.average(utility)
        by_position = utility.by_mean[..., None] * d_mean
        by_position += utility.by_sd[..., None] * d_sd
        return value, np.einsum("sm,smd->md", shares, by_position)

    def expected_improvement(self, row: FloatArray) -> float:
        """How much better than `best_f` one candidate is expected to be.

        Parameters
        ----------
        row : ndarray of shape (D,)
            The candidate.

        Returns
        -------
        improvement : float
            E max(f - best_f, 0) in units of the score, averaged over samples,
            whatever the acquisition; >= 0.
        """
        improvement = ExpectedImprovement()
        mean, sd = self.surrogate.predict(row[None, :])
        value, _ = improvement.average(improvement(mean, sd, self.best_f))
        return float(np.exp(value[0]))
