"""Search space of a run: defaults, configurations to begin with, and the prior."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any

from sklearn.model_selection import check_cv

from skbayes import compat
from skbayes.search._knowledge import is_list_of_sources
from skbayes.space import OptimumPrior, Space
from skbayes.space.dimensions import is_number
from skbayes.spaces.catalog import DataFacts, n_samples_of
from skbayes.spaces.default import reason_not_tuned, space_of_parts, unknown_parts
from skbayes.spaces.learned_prior import learned_prior
from skbayes.spaces.parts import owner_of, parts_of
from skbayes.utils.did_you_mean import did_you_mean
from skbayes.utils.optional import warn_user

__all__ = [
    "own_configuration",
    "parse_initial_points",
    "points_to_begin_with",
    "prior_of",
    "resolved_spaces",
    "train_share",
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
    sizes = vars(search).get(search._subset_parameter, 1.0)
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
    own = own_configuration(search, space)
    return [own] if own is not None and space.allows(own) else []


def own_configuration(search: Any, space: Space) -> dict[str, Any] | None:
    """Return the current parameters of the estimator, or None if the space lacks them.

    A space of integers contains the float 1.0 as 1. This is another value if the
    parameter is a number of features, or a fraction of them.
    """
    values = search._own_values()
    own = space.selection(values)
    for name, value in (own or {}).items():
        is_integer = isinstance(values[name], Integral)
        if is_number(value) and isinstance(value, int) != is_integer:
            types = compat.number_types(*owner_of(search.estimator, name))
            if types >= {Integral, compat.RealNotInt}:
                return None
    return own


def prior_of(search: Any, space: Space, facts: Facts) -> OptimumPrior | None:
    """Return the prior of the best configuration for the estimator of a search.

    None unless the initial configurations are the default.
    """
    if parse_initial_points(search.initial_points)[0] is not None:
        return None
    parts = parts_of(search.estimator, facts())
    rounds = math.inf if search.rounds == "auto" else search.rounds or 0.0
    return learned_prior(parts, space, search._own_values(), rounds)
