"""Results of earlier searches: known observations, and searches on other data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from skbayes.evaluation.run import SearchRun
from skbayes.evaluation.trial import Trial
from skbayes.results.warm_start import read_sources
from skbayes.surrogates.transfer import Source


def is_list_of_sources(value: Any) -> bool:
    """Return whether `warm_start_from` is a list of searches on other data."""
    if not isinstance(value, list | tuple) or not value:
        return False
    return not any(isinstance(item, Trial) for item in value)


def other_searches(search: Any, run: SearchRun) -> list[Source]:
    """Return the searches on other data that `warm_start_from` lists."""
    if not search._takes_sources:
        raise ValueError(
            f"warm_start_from: {type(search).__name__} does not accept a list of "
            "searches on other data, since its trials have more than one objective. "
            "Pass one search on the same data."
        )
    metric = run.objective.name or "score"
    return read_sources(search.warm_start_from, run.space, metric)


def known_slacks(run: SearchRun) -> list[list[float] | None]:
    """Return the slacks of the constraints for each known observation, None if unknown.

    They are known if an earlier search measured outcomes with constraints.
    """
    bounds = run.constraints
    return [
        bounds.of_trial(known.trial)
        if bounds is not None and known.trial is not None and known.trial.outcomes
        else None
        for known in run.known
    ]


def promising(run: SearchRun, slacks: Sequence[list[float] | None] = ()) -> list[tuple]:
    """Return the known observations that did not fail and are allowed.

    If some of them satisfy the constraints, only those are returned.
    """
    allowed = [
        (known, own and all(slack <= 0.0 for slack in own))
        for known, own in zip_longest(run.known, slacks)
        if not np.all(np.isnan(known.score)) and run.space.allows(known.params)
    ]
    satisfying = [observation for observation, is_kept in allowed if is_kept]
    return satisfying or [observation for observation, _ in allowed]
