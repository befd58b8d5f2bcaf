"""Random streams of a search, all of one seed."""

from __future__ import annotations

from enum import Enum

import numpy as np

__all__ = ["Stream", "make_generator", "make_seeds"]


class Stream(Enum):
    """Uses of randomness, with what makes their spawn keys.

    A value is the number of indices that a key begins with, and what follows them.
    """

    #: The initial design. It has no key, as the seeds of HyperTuneSearchCV's subsets
    #: (`make_seeds`) and ``default_rng(seed)``, by which surrogates draw.
    DESIGN = (0, ())
    #: Proposal k, by the number k of configurations told or pending.
    PROPOSAL = (1, ())
    #: Subset s of the training rows of split i.
    SUBSET = (2, ())
    #: Tradeoff n, by the number n of configurations known. Its key (n, 1) is that of
    #: subset n of split 1, too. Where both are drawn there is only subset 0, and no
    #: proposal depends on tradeoff 0; another key would change all other tradeoffs,
    #: and so the trials of seeded searches.
    TRADEOFF = (1, (1,))
    #: The points at which HyperTuneSearchCV assumes signs of derivatives.
    MONOTONICITY = (0, (0, 0, 0))


def make_generator(seed: int, stream: Stream, *indices: int) -> np.random.Generator:
    """Make the generator of one use of a stream."""
    n_indices, tail = stream.value
    if len(indices) != n_indices:
        raise ValueError(f"{stream} has {n_indices} indices, got {indices}.")
    key = (*indices, *tail)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def make_seeds(seed: int, n: int) -> np.ndarray:
    """Return n seeds that follow from one."""
    return np.random.SeedSequence(seed).generate_state(n)
