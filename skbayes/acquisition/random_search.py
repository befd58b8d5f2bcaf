"""Proposals without a model: at random, or evenly spread."""

from __future__ import annotations

import numpy as np

from skbayes.acquisition.base import Known, Proposer
from skbayes.acquisition.improvement import FloatArray
from skbayes.acquisition.maximize import sobol
from skbayes.space.candidates import Candidates

__all__ = ["RandomProposer", "RandomStrategy", "SobolProposer", "SobolStrategy"]

# The first piece of the sequence that is looked at, and the longest, as powers of 2.
FIRST_PIECE, LONGEST_PIECE = 6, 14


class RandomProposer(Proposer):
    """Draws from the prior; from a space that is listed, each with equal chance."""

    def rank(  # noqa: D102
        self,
        candidates: Candidates,
        incumbents: FloatArray,
        random_state: np.random.Generator,
    ) -> FloatArray:
        return candidates.draw(random_state)


class RandomStrategy:
    """Random search."""

    n_initial_points = 0
    needs_scores = False

    def proposer(self, known: Known) -> RandomProposer:
        """Return what draws; it learns nothing.

        Parameters
        ----------
        known : Known
            Not looked at.

        Returns
        -------
        proposer : RandomProposer
            What draws.
        """
        return RandomProposer()


class SobolProposer(Proposer):
    """Proposes the first points of a scrambled Sobol sequence that are new.

    Parameters
    ----------
    seed : int
        Source of the scrambling.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def rank(  # noqa: D102
        self,
        candidates: Candidates,
        incumbents: FloatArray,
        random_state: np.random.Generator,
    ) -> FloatArray:
        space = candidates.space
        for log2_n in range(FIRST_PIECE, LONGEST_PIECE + 1):
            # A longer piece begins with the shorter one.
            U = sobol(space.n_columns, log2_n, np.random.default_rng(self.seed))
            X = space.from_uniform(U)
            X = X[candidates.filter_new(X)]
            if len(X):
                return X
        return X


class SobolStrategy:
    """Quasi-random search, which spreads configurations evenly.

    Parameters
    ----------
    seed : int
        Source of the scrambling.
    """

    n_initial_points = 0
    needs_scores = False

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def proposer(self, known: Known) -> SobolProposer:
        """Return what proposes points; it learns nothing.

        Parameters
        ----------
        known : Known
            Not looked at.

        Returns
        -------
        proposer : SobolProposer
            What proposes points.
        """
        return SobolProposer(self.seed)
