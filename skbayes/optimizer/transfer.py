"""First configurations of a search that knows earlier searches on other data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skbayes.space import Space
from skbayes.space.candidates import key_of
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.transfer import Source, SourceModel

__all__ = ["first_rows"]

# At most so many configurations of the sources are proposed before the model decides.
MAX_FIRST = 3

# Of each source, the best configurations that are considered.
N_BEST = 10

# A further configuration is proposed if the best of the sources' expectations rises by
# this much on average, in standard deviations of their scores.
LEAST_GAIN = 0.02


def first_rows(
    space: Space, sources: Sequence[Source], models: Sequence[SourceModel]
) -> FloatArray:
    """Choose the configurations of sources to begin with, of shape (m, D), m <= 3.

    The first one is the best for all sources on average; each further one adds most to
    the mean over the sources of the best so far. Parameters that a source does not know
    are at the middle of their range, or at the first option.
    """
    best = [one.X[np.argsort(-one.y, kind="stable")[:N_BEST]] for one in sources]
    pool = np.vstack(best)
    center = np.where(space.categorical, 0.0, 0.5)
    pool = space.snap(np.where(np.isnan(pool), center, pool))
    pool = np.array(list({key_of(row): row for row in pool}.values()))
    pool = pool[space.allowed(pool)]
    if not len(pool):
        return pool
    z = np.array([model.predict(pool)[0] for model in models])
    reached = np.full((len(models), 1), -np.inf)
    chosen: list[int] = []
    while len(chosen) < MAX_FIRST:
        means = np.mean(np.maximum(z, reached), axis=0)
        place = int(np.argmax(means))
        if chosen and means[place] - np.mean(reached) < LEAST_GAIN:
            break
        chosen.append(place)
        reached = np.maximum(reached, z[:, [place]])
    return pool[chosen]
