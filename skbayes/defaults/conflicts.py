"""Default spaces that respect the values that the user has set.

They contain the estimator's own values. Together with the user's values, every
parameter and option of a default space is accepted and has an effect. No option removes
the effect of a user's value.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from skbayes.defaults.catalog import Fallback, KnownClass, Notation, Params
from skbayes.space.dimensions import is_finite_number, is_number
from skbayes.space.lists import Ordinal, same
from skbayes.space.notation import Choice, pairs_of, with_sub_spaces

# Parameters for which an integer is a count and a float is a fraction.
COUNT_OR_SHARE = ("max_features", "max_samples", "min_samples_leaf", "n_components")


# -- own values -----------------------------------------------------------------------


def effective(params: Params, stands_for: Params) -> dict[str, Any]:
    """Return parameters with the values that None stands for."""
    return {
        name: stands_for.get(name) if value is None else value
        for name, value in params.items()
    }


def with_values(space: Notation, params: Params, stands_for: Params) -> Notation:
    """Return a space that contains the values of an estimator's parameters.

    Ranges are extended, and lists get an additional value. A dimension that cannot
    include the estimator's value is removed, such as a range of counts if the value is
    a fraction. Ranges under options that the estimator does not use are not extended.
    """
    return _include_all(space, effective(params, stands_for), top=True)


def _include_all(
    space: Notation, params: Params, top: bool, active: bool = True
) -> Notation:
    def below(name: str, option: Any, sub_space: Notation) -> Notation:
        is_active = active and option == params[name]
        return _include_all(sub_space, params, False, is_active)

    included = {}
    for name, notation in space.items():
        if name not in params:  # parameter of another release, or of a base class
            continue
        is_fallback = isinstance(notation, Fallback)
        if is_fallback:
            notation = notation.notation
        if isinstance(notation, tuple) and notation[0] >= notation[1]:
            if not is_fallback and _extended(name, notation, params[name]) is None:
                continue
            notation = [notation[0]]  # the data allow a single value
        # Under an option, a list of one value is required by the option.
        fixed = not top and isinstance(notation, list) and len(notation) == 1
        if not fixed and not is_fallback:
            extended = _include(name, notation, params[name])
            as_is = not active and isinstance(notation, tuple) and extended is not None
            notation = notation if as_is else extended
        if notation is not None:
            included[name] = with_sub_spaces(notation, functools.partial(below, name))
    return included


def _include(name: str, notation: Any, value: Any) -> Any:
    """Return a notation that includes a value, or None if that is impossible."""
    if isinstance(notation, Choice):
        if notation.dimension.contains(value):
            return notation
        return Choice([(value, {}), *pairs_of(notation)])
    if isinstance(notation, tuple):
        return _extended(name, notation, value)
    if isinstance(notation, Ordinal):
        return _inserted(name, notation, value)
    if any(type(option) is type(value) and option == value for option in notation):
        return notation
    return [*notation, value]


def _extended(name: str, notation: tuple, value: Any) -> tuple | None:
    low, high, *prior = notation
    if not is_finite_number(value):
        return None
    if isinstance(low, int) and not isinstance(value, int):
        return None
    if _is_share(name, high) and isinstance(value, int):
        return None
    if prior == ["log-uniform"] and value <= 0:
        return None
    if isinstance(low, float):
        value = float(value)
    return (min(low, value), max(high, value), *prior)


def _inserted(name: str, notation: Ordinal, value: Any) -> Ordinal | None:
    values = list(notation.values)
    if notation.contains(value):
        return notation
    if not is_number(value):
        return Ordinal([*values, value])
    numbers = [option for option in values if is_number(option)]
    if isinstance(value, int):
        if numbers and _is_share(name, max(numbers)):
            return None
    elif all(isinstance(number, int) for number in numbers):
        return None
    greater = [k for k, v in enumerate(values) if is_number(v) and v > value]
    place = [*greater, len(values) - (values[-1] is None)][0]
    scale: Any = notation.scale if len(numbers) == len(values) else "rank"
    return Ordinal([*values[:place], value, *values[place:]], scale=scale)


def _is_share(name: str, high: Any) -> bool:
    last = name.rpartition("__")[2]
    return last in COUNT_OR_SHARE and isinstance(high, float) and high <= 1.0


# -- conflicts ------------------------------------------------------------------------


def without_conflicts(
    space: Notation, params: Params, set_by_user: set[str], entry: KnownClass
) -> Notation:
    """Return a default space without entries that conflict with the user's parameters.

    An option of a choice also conflicts with a parameter that the user has set if the
    parameter exists under the estimator's option, but not under this option.
    """
    if not set_by_user:
        return space
    refused: dict[str, list[Any]] = {}
    for conflict in entry.conflicts:
        if conflict.holds(params, set_by_user):
            for name in conflict.parameters.split():
                refused.setdefault(name, []).append(conflict.option)
    return _filtered(space, params, set_by_user, refused)


def _filtered(
    space: Notation,
    params: Params,
    set_by_user: set[str],
    refused: Mapping[str, list[Any]],
) -> Notation:
    result: Notation = {}
    for name, notation in space.items():
        options = refused.get(name, [])
        if "any" in options:
            continue
        if not isinstance(notation, Choice):
            result[name] = notation
            continue
        pairs = [
            (option, _filtered(sub, params, set_by_user, refused))
            for option, sub in pairs_of(notation)
        ]
        current = [(option, sub) for option, sub in pairs if same(option, params[name])]
        required = set_by_user & names_in(current[0][1]) if current else set()
        remaining = [
            (option, sub)
            for option, sub in pairs
            if same(option, params[name])
            or (option not in options and required <= names_in(sub))
        ]
        if len(remaining) == 1:  # not a choice
            result |= remaining[0][1]
        elif remaining:
            as_dict = isinstance(notation.options, Mapping)
            result[name] = Choice(dict(remaining) if as_dict else remaining)
    return result


def names_in(space: Notation) -> set[str]:
    """Return the names of the parameters of a space, also under options."""
    below = [
        names_in(sub)
        for notation in space.values()
        if isinstance(notation, Choice)
        for _, sub in pairs_of(notation)
    ]
    return set(space).union(*below)
