"""Random and quasi-random search, which learn nothing from scores."""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc

from skbayes.space.candidates import Candidates
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.base import Sampler

__all__ = ["RandomSampler", "SobolSampler", "sobol"]

# Binary logarithms of the lengths of the first piece of a Sobol sequence in which new
# configurations are looked for, and of the last.
FIRST_PIECE, LONGEST_PIECE = 6, 14


def sobol(n_columns: int, log2_n: int, seed: np.random.Generator) -> FloatArray:
    """Return 2^log2_n points of a scrambled Sobol sequence in [0, 1)^n_columns."""
    if n_columns == 0:
        return np.empty((2**log2_n, 0))
    return qmc.Sobol(n_columns, scramble=True, seed=seed).random_base2(log2_n)


class RandomSampler(Sampler):
    """Draws from the prior; from a space that is enumerated, each with equal chance."""

    needs_scores = False
    n_initial_points = 0

    def draw(  # noqa: D102
        self, candidates: Candidates, random_state: np.random.Generator
    ) -> FloatArray:
        return candidates.draw(random_state)


class SobolSampler(Sampler):
    """Proposes the first points of a scrambled Sobol sequence that are new."""

    needs_scores = False
    n_initial_points = 0

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def draw(  # noqa: D102
        self, candidates: Candidates, random_state: np.random.Generator
    ) -> FloatArray:
        space = candidates.space
        for log2_n in range(FIRST_PIECE, LONGEST_PIECE + 1):
            # A longer piece begins with the shorter one.
            rng = np.random.default_rng(self.random_state)
            X = space.from_uniform(sobol(space.n_columns, log2_n, rng))
            X = candidates.first_new(X)
            if len(X):
                break
        return X
