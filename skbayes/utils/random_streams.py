"""Random streams of a search, all derived from one seed."""

from __future__ import annotations

import numbers
from enum import Enum
from typing import Any

import numpy as np


class Stream(Enum):
    """Uses of randomness, each with the components of its spawn key.

    A value is a pair: the number of indices at the start of the key, and the constants
    that follow them.
    """

    #: Initial design. It has no key, like the seeds of HyperTuneSearchCV's subsets
    #: (`make_seeds`) and the ``default_rng(seed)`` of the surrogates.
    DESIGN = (0, ())
    #: Proposal k, where k is the number of observed or pending configurations.
    PROPOSAL = (1, ())
    #: Subset s of the training rows of split i.
    SUBSET = (2, ())
    #: Tradeoff n, where n is the number of known configurations. Its key (n, 1) is also
    #: the key of subset n of split 1. If both are drawn, there is only subset 0, and no
    #: proposal depends on tradeoff 0. Another key would change all other tradeoffs,
    #: and therefore the trials of seeded searches.
    TRADEOFF = (1, (1,))
    #: Points at which HyperTuneSearchCV assumes signs of derivatives.
    MONOTONICITY = (0, (0, 0, 0))


def make_generator(seed: int, stream: Stream, *indices: int) -> np.random.Generator:
    """Make the random generator of a stream at the given indices."""
    n_indices, tail = stream.value
    if len(indices) != n_indices:
        raise ValueError(f"{stream} has {n_indices} indices, got {indices}.")
    key = (*indices, *tail)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def make_seeds(seed: int, n: int) -> np.ndarray:
    """Return n seeds derived from one seed."""
    return np.random.SeedSequence(seed).generate_state(n)


def check_random_state(random_state: Any) -> int:
    """Return a seed: the given int, a number drawn from a generator, or a new one."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(
        "random_state must be an integer >= 0, a RandomState, a Generator or None, "
        f"got {random_state!r}."
    )
