"""Random and quasi-random search, which do not use scores."""

from __future__ import annotations

import numpy as np

from skbayes.space.candidates import Candidates, sobol
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.surrogate import Sampler

# Binary logarithms of the lengths of the first and of the last piece of a Sobol
# sequence that is searched for new configurations.
FIRST_PIECE, LONGEST_PIECE = 6, 14


class RandomSampler(Sampler):
    """Sampler from the prior; in an enumerated space, from the uniform distribution."""

    needs_scores = False
    n_initial_points = 0

    def draw(  # noqa: D102
        self, candidates: Candidates, random_state: np.random.Generator
    ) -> FloatArray:
        return candidates.draw(random_state)


class SobolSampler(Sampler):
    """Sampler of the first new points of a scrambled Sobol sequence."""

    needs_scores = False
    n_initial_points = 0

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def draw(  # noqa: D102
        self, candidates: Candidates, random_state: np.random.Generator
    ) -> FloatArray:
        space = candidates.space
        for log2_n in range(FIRST_PIECE, LONGEST_PIECE + 1):
            # A longer piece starts with the shorter one.
            rng = np.random.default_rng(self.random_state)
            X = space.from_uniform(sobol(space.n_columns, log2_n, rng))
            X = candidates.first_new(X)
            if len(X):
                break
        return X
