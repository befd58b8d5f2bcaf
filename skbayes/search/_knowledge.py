"""Search space of a search, initial configurations, and results of earlier searches."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from skbayes.evaluation.run import SearchRun
from skbayes.evaluation.trial import Trial
from skbayes.journal.reader import read_trials
from skbayes.results.warm_start import read_sources
from skbayes.space import OptimumPrior, Space
from skbayes.space.candidates import key_of
from skbayes.spaces.catalog import DataFacts, n_samples_of
from skbayes.spaces.default import reason_not_tuned, space_of_parts, unknown_parts
from skbayes.spaces.learned_prior import learned_prior
from skbayes.spaces.parts import parts_of
from skbayes.surrogates.transfer import Source
from skbayes.utils.did_you_mean import did_you_mean
from skbayes.utils.optional import warn_user

__all__ = [
    "is_list_of_sources",
    "journal_trials",
    "known_slacks",
    "known_source",
    "other_searches",
    "parse_initial_points",
    "points_to_begin_with",
    "prior_of",
    "promising",
    "resolved_spaces",
]

# Assumed fraction of training rows if it is not known before splitting.
CAUTIOUS_SHARE = 0.5

# Function that returns the facts about the data of a fit.
Facts = Callable[[], DataFacts]


def resolved_spaces(search: Any, X: Any, y: Any) -> tuple[Any, list[str], Facts]:
    """Return the search space without "auto", and the parts that are not tuned.

    The returned function computes the facts about the data once, when they are needed.
    """

    @functools.cache
    def facts() -> DataFacts:
        share = train_share(search, X, y)
        return DataFacts.of(X, y, share, search.scoring is None)

    given, untuned = search.search_spaces, list[str]()
    if isinstance(given, str) and given != "auto":
        raise TypeError(
            f"search_spaces must be 'auto', a dict or a list of dicts, got {given!r}."
        )

    def resolved(space: Any) -> Any:
        if not (space is None or isinstance(space, str) or _is_laid_over(space)):
            return space
        space, unknown = _resolved(search, space, facts)
        untuned.extend(name for name in unknown if name not in untuned)
        return space

    if isinstance(given, list | tuple) and any(map(_is_laid_over, given)):
        spaces = [resolved(space) if _is_laid_over(space) else space for space in given]
    else:
        spaces = resolved(given)
    if untuned and search.verbose not in (0, False, "progress"):
        names = ", ".join(untuned)
        print(f"search_spaces='auto': {names} are not known and keep their values.")
    return spaces, untuned, facts


def _is_laid_over(space: Any) -> bool:
    return isinstance(space, Mapping) and "auto" in space


def _resolved(search: Any, given: Any, facts: Facts) -> tuple[Any, list[str]]:
    """Return the default space with the entries of a dict, and its unknown parts."""
    changes = dict(given) if isinstance(given, Mapping) else {"auto": True}
    if not isinstance(auto := changes.pop("auto"), bool):
        raise TypeError(
            "search_spaces: the value of 'auto' must be True, for the default space, "
            f"or False, got {auto!r}."
        )
    if not auto:
        return changes, []
    known = facts()
    parts = parts_of(search.estimator, known)
    space = space_of_parts(parts, known)
    _check_removed(search, space, changes)
    if (reason := reason_not_tuned(parts)) and not changes:
        warn_user(reason)
    return (space | changes if changes else space), unknown_parts(parts)


def _check_removed(search: Any, space: Any, changes: Mapping[Any, Any]) -> None:
    """Raise ValueError if a removed parameter does not exist."""
    known = [*search._own_values(), *space]
    for name in [name for name, value in changes.items() if value is None]:
        owners = [f"{other}__" for other in [*space, *changes]]
        if name not in known and not str(name).startswith(tuple(owners)):
            kind = type(search.estimator).__name__
            raise ValueError(
                f"search_spaces names {name!r}, which {kind} does not have."
                f"{did_you_mean(str(name), known)}"
            )


def train_share(search: Any, X: Any, y: Any) -> float:
    """Return the smallest fraction of the rows that a trial may be fitted to."""
    n_samples = max(1, n_samples_of(X, y) or 1)
    share = _share_of_splits(search.cv, n_samples)
    sizes = getattr(search, search._subset_parameter, 1.0)
    sizes = sizes if isinstance(sizes, list | tuple) else [sizes]
    shares = [
        size / (share * n_samples) if isinstance(size, Integral) else size
        for size in sizes
        if isinstance(size, int | float) and not isinstance(size, bool)
    ]
    return share * min([1.0, *shares])


def _share_of_splits(cv: Any, n_samples: int) -> float:
    if isinstance(cv, list | tuple):
        sizes = [len(split[0]) for split in cv if hasattr(split[0], "__len__")]
        return min(sizes, default=0) / n_samples or CAUTIOUS_SHARE
    if cv is None or isinstance(cv, Integral):
        cv = check_cv(5 if cv is None else int(cv))
    if hasattr(cv, "n_splits") and "Shuffle" not in type(cv).__name__:
        return 1.0 - 1.0 / max(2, int(cv.n_splits))
    return CAUTIOUS_SHARE


def parse_initial_points(given: Any) -> tuple[list[Any] | None, int | None]:
    """Return the configurations to begin with, and the number of initial ones.

    The former is None for the default, the latter if it is not given.
    """
    if isinstance(given, Mapping):
        raise TypeError(
            "initial_points must be a list of dicts, one per configuration; write "
            f"initial_points=[{dict(given)!r}]."
        )
    if isinstance(given, str):
        return None, None
    points: list[Any] | None = None
    if isinstance(given, Integral):
        number = given
    else:
        points = list(given or [])
        if not (points and isinstance(points[-1], Integral)):
            return points, None
        number = points.pop()
    if isinstance(number, bool) or number < 0:
        raise ValueError(
            "initial_points: the number of configurations must be an int of 0 or more, "
            f"got {number!r}."
        )
    return points, int(number)


def points_to_begin_with(search: Any, space: Space) -> list[dict[str, Any]]:
    """Return the configurations that a search tries first.

    By default, this is the current configuration of the estimator if the space contains
    it, unless results of an earlier search on the same data are given.
    """
    given = parse_initial_points(search.initial_points)[0]
    if given is not None:
        return given
    known = search.warm_start_from
    if known is not None and not is_list_of_sources(known):
        return []
    own = space.selection(search._own_values())
    return [own] if own is not None and space.allows(own) else []


def prior_of(search: Any, space: Space, facts: Facts) -> OptimumPrior | None:
    """Return the prior of the best configuration for the estimator of a search.

    None unless the initial configurations are the default.
    """
    if parse_initial_points(search.initial_points)[0] is not None:
        return None
    parts = parts_of(search.estimator, facts())
    return learned_prior(parts, space, search._own_values())


# -- results of earlier searches ------------------------------------------------------


def known_source(search: Any, space: Space) -> Any:
    """Return `warm_start_from`; for a journal, its trials within the space."""
    source = search.warm_start_from
    if isinstance(source, str | PathLike):
        source, n_outside = journal_trials(source, space)
        if n_outside:
            warn_user(
                f"warm_start_from: {n_outside} of {n_outside + len(source)} known "
                "configurations are ignored (outside search_spaces).",
            )
    return source


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


def known_slacks(search: Any, run: SearchRun) -> list[list[float] | None]:
    """Return the slacks of the constraints for each known observation, None if unknown.

    They are known if an earlier search measured outcomes with constraints.
    """
    if run.constraints is None or not run.known:
        return [None] * len(run.known)
    source = search.warm_start_from
    if isinstance(source, str | PathLike):
        source, _ = journal_trials(source, run.space)
    trials = getattr(source, "trials_", source)
    known: dict[bytes, list[float]] = {}
    for trial in trials if isinstance(trials, Sequence) else []:
        if isinstance(trial, Trial) and trial.outcomes:
            with contextlib.suppress(ValueError):
                params = run.space.canonicalize(trial.params)
                slacks = run.constraints.of_trial(trial)
                known[key_of(run.space.encode([params])[0])] = slacks
    rows = run.space.encode([params for params, *_ in run.known])
    return [known.get(key_of(row)) for row in rows]


def promising(run: SearchRun, slacks: Sequence[list[float] | None] = ()) -> list[tuple]:
    """Return the known observations that did not fail and are allowed.

    If some of them satisfy the constraints, only those are returned.
    """
    allowed = [
        (observation, own and all(slack <= 0.0 for slack in own))
        for observation, own in zip_longest(run.known, slacks)
        if not np.all(np.isnan(observation[1])) and run.space.allows(observation[0])
    ]
    satisfying = [observation for observation, is_kept in allowed if is_kept]
    return satisfying or [observation for observation, _ in allowed]


def journal_trials(path: str | PathLike, space: Space) -> tuple[Any, int]:
    """Return the trials of a journal within the space, and the number of others."""
    try:
        return read_trials(path, space)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"warm_start_from: there is no journal {os.fspath(path)!r}."
        ) from error
