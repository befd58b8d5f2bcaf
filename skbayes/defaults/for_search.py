"""Default search space and prior of a search."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any

from skbayes.defaults.catalog import DataFacts, n_samples_of
from skbayes.defaults.default import (
    reason_not_tuned,
    space_of_parts,
    unknown_parts,
    with_names,
)
from skbayes.defaults.learned_prior import learned_prior
from skbayes.defaults.parts import current_values, parts_of
from skbayes.search.preparation import share_of_splits
from skbayes.space import Integer, OptimumPrior, Real, Space
from skbayes.trial.settings import Settings
from skbayes.utils.did_you_mean import did_you_mean
from skbayes.utils.optional import warn_user

# Numbers of features that options of ``max_features`` mean.
FEATURE_COUNTS = {"sqrt": math.sqrt, "log2": math.log2}

# Function that returns the facts about the data of a fit.
Facts = Callable[[], DataFacts]


def resolved_spaces(settings: Settings, X: Any, y: Any) -> tuple[Any, list[str], Facts]:
    """Return the search space without "auto", and the parts that are not tuned.

    The returned function computes the facts about the data once, when they are needed.
    """

    @functools.cache
    def facts() -> DataFacts:
        share = train_share(settings.cv, settings.sizes, X, y)
        return DataFacts.of(X, y, share, settings.scoring is None)

    spaces, untuned = settings.search_spaces, dict[str, None]()
    if isinstance(spaces, str) and spaces != "auto":
        raise TypeError(
            f"search_spaces must be 'auto', a dict or a list of dicts, got {spaces!r}."
        )

    def resolved(space: Any) -> Any:
        if not (isinstance(space, Mapping) and "auto" in space):
            return space
        space, unknown = _resolved(settings.estimator, dict(space), facts)
        untuned.update(dict.fromkeys(unknown))
        return space

    if spaces is None or isinstance(spaces, str):
        spaces = {"auto": True}
    is_list = isinstance(spaces, list | tuple)
    spaces = list(map(resolved, spaces)) if is_list else resolved(spaces)
    if untuned and settings.verbose not in (0, False, "progress"):
        names = ", ".join(untuned)
        print(f"search_spaces='auto': {names} are not known and keep their values.")
    return spaces, list(untuned), facts


def _resolved(estimator: Any, changes: dict, facts: Facts) -> tuple[Any, list[str]]:
    """Return the default space with the entries of a dict, and its unknown parts."""
    if not isinstance(auto := changes.pop("auto"), bool):
        raise TypeError(
            "search_spaces: the value of 'auto' must be True, for the default space, "
            f"or False, got {auto!r}."
        )
    if not auto:
        return changes, []
    data_facts = facts()
    parts = parts_of(estimator, data_facts)
    space = with_names(space_of_parts(parts, data_facts), parts, changes)
    _check_removed(estimator, space, changes)
    if (reason := reason_not_tuned(parts)) and not changes:
        warn_user(reason)
    return (space | changes if changes else space), unknown_parts(parts)


def _check_removed(estimator: Any, space: Any, changes: Mapping[Any, Any]) -> None:
    """Raise ValueError if a removed parameter does not exist."""
    names = [*current_values(estimator), *space]
    owners = tuple(f"{prefix}__" for prefix in [*space, *changes])
    for name, value in changes.items():
        if value is None and name not in names and not str(name).startswith(owners):
            kind = type(estimator).__name__
            raise ValueError(
                f"search_spaces names {name!r}, which {kind} does not have."
                f"{did_you_mean(str(name), names)}"
            )


def train_share(cv: Any, sizes: Any, X: Any, y: Any) -> float:
    """Return the smallest fraction of the rows that a trial may be fitted to."""
    n_samples = max(1, n_samples_of(X, y) or 1)
    share = share_of_splits(cv, n_samples)
    sizes = sizes if isinstance(sizes, list | tuple) else [sizes]
    shares = [
        size / (share * n_samples) if isinstance(size, Integral) else size
        for size in sizes
        if isinstance(size, int | float) and not isinstance(size, bool)
    ]
    return share * min([1.0, *shares])


def prior_of(
    settings: Settings, space: Space, current: Mapping[str, Any], facts: Facts
) -> OptimumPrior | None:
    """Return the prior of the best configuration for the estimator of a search.

    None unless the initial configurations are the default.
    """
    if settings.initial_points is not None:
        return None
    parts, rounds = parts_of(settings.estimator, facts()), settings.early_stopping
    rounds = math.inf if rounds == "auto" else rounds or 0.0
    return learned_prior(parts, space, current, rounds)


def numbers_meant(
    settings: Settings, space: Space, current: Mapping[str, Any], facts: Facts
) -> dict[str, Any]:
    """Return the numbers of features that options mean, where the space has ranges."""
    numbers: dict[str, Any] = {}
    for column in space.columns:
        name, dimension = str(column.name), column.dimension
        prefix, separator, own_name = name.rpartition("__")
        option, is_range = current.get(name), isinstance(dimension, Integer | Real)
        if own_name != "max_features" or not (is_range and isinstance(option, str)):
            continue
        parts = {part.prefix: part for part in parts_of(settings.estimator, facts())}
        part = parts.get(prefix + separator)
        # After some steps, the number of columns is not known.
        n = (part and part.facts.n_features) or facts().n_features
        if n and option in FEATURE_COUNTS:
            number = max(1, int(FEATURE_COUNTS[option](n)))
            numbers[name] = number if isinstance(dimension, Integer) else number / n
    return numbers
