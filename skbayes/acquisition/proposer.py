"""An acquisition function under a surrogate, as the maximiser wants it."""

from __future__ import annotations

from typing import Any

import numpy as np

from skbayes.acquisition.improvement import (
    Acquisition,
    ExpectedImprovement,
    FloatArray,
)

__all__ = ["ModelProposer"]

# Candidates are scored so many at a time: covariances then stay in the processor's
# cache, and do not fill the memory when 20,000 cells are scored.
BLOCK = 1024


class ModelProposer:
    """Scores candidates by an acquisition function under a surrogate.

    Parameters
    ----------
    surrogate : object
        Fitted; ``predict(X, gradient)`` gives means and standard deviations of shape
        (S, m).
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
