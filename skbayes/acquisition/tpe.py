"""Good configurations against bad ones: the proposer of the Parzen estimator (TPE)."""

from __future__ import annotations

import numpy as np

from skbayes.acquisition.base import Known, Proposer
from skbayes.acquisition.improvement import FloatArray
from skbayes.acquisition.maximize import maximize_over
from skbayes.space import Space
from skbayes.space.candidates import Candidates
from skbayes.surrogates.parzen import ParzenEstimator

__all__ = ["TPEProposer", "TPEStrategy"]

# Candidates are drawn so many times before it is given up to find a new one.
N_DRAWS = 10


class TPEProposer(Proposer):
    """Draws candidates where good trials are, and ranks them by p_good / p_bad.

    Parameters
    ----------
    estimator : ParzenEstimator
        Fitted.
    """

    def __init__(self, estimator: ParzenEstimator) -> None:
        self.estimator = estimator

    def scores(self, X: FloatArray) -> FloatArray:
        """Worth of candidates.

        Parameters
        ----------
        X : ndarray of shape (m, D)
            Candidates.

        Returns
        -------
        scores : ndarray of shape (m,)
            Difference log p_good - log p_bad.
        """
        return self.estimator.scores(X)

    def rank(  # noqa: D102
        self,
        candidates: Candidates,
        incumbents: FloatArray,
        random_state: np.random.Generator,
    ) -> FloatArray:
        if candidates.is_enumerated:
            return maximize_over(self, candidates.unseen())
        for _ in range(N_DRAWS):
            X = self.estimator.sample(self.estimator.n_candidates, random_state)
            X = X[candidates.filter_new(X)]
            if len(X):
                break
        return maximize_over(self, X)


class TPEStrategy:
    """The Parzen estimator of what is known; what is pending counts as bad.

    Parameters
    ----------
    estimator : ParzenEstimator
        The estimator.
    space : Space
        The space.
    """

    n_initial_points = 8
    needs_scores = True

    def __init__(self, estimator: ParzenEstimator, space: Space) -> None:
        self.estimator = estimator
        self.space = space

    def proposer(self, known: Known) -> TPEProposer:
        """Learn from what is known.

        Parameters
        ----------
        known : Known
            What is known; at least one score.

        Returns
        -------
        proposer : TPEProposer
            What draws and ranks candidates.
        """
        X = np.vstack([known.X, known.pending])
        unknown = np.full(len(known.pending), np.nan)
        y = np.concatenate([known.scores, unknown])
        return TPEProposer(self.estimator.fit(self.space, X, y))
