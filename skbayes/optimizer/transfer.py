"""First configurations of a search that uses earlier searches on other data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skbayes.space.space import Space
from skbayes.space.candidates import key_of
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.transfer import Source, SourceModel

__all__ = ["first_rows"]

# Maximum number of configurations of the sources that are proposed first.
MAX_FIRST = 3

# Number of best configurations of each source that are considered.
N_BEST = 10

# Another configuration is proposed if the best expected score of the sources increases
# by this much on average, in standard deviations of their scores.
LEAST_GAIN = 0.02


def first_rows(
    space: Space, sources: Sequence[Source], models: Sequence[SourceModel]
) -> FloatArray:
    """Choose the first configurations from those of sources, shape (m, D), m <= 3.

    The first one is the best for all sources on average. Each further one increases the
    mean over the sources of the best expected score the most. Hyper-parameters that are
    unknown in a source have the middle of their range or their first option.
    """
    best = [
        source.X[np.argsort(-source.y, kind="stable")[:N_BEST]] for source in sources
    ]
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
