"""Inclusion of an estimator's own values in its search space."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from skbayes.space.dimensions import is_finite_number, is_number
from skbayes.space.lists import Ordinal
from skbayes.space.notation import Choice, pairs_of, with_sub_spaces
from skbayes.spaces.catalog import Fallback, Notation, Params

__all__ = ["renamed", "with_own_values"]

# Parameters for which an integer is a count and a float is a fraction.
COUNT_OR_SHARE = ("max_features", "max_samples", "min_samples_leaf", "n_components")


def with_own_values(space: Notation, params: Params, stands_for: Params) -> Notation:
    """Return a space that contains the values of an estimator's parameters.

    Ranges are extended, and lists get an additional value. A dimension that cannot
    include the own value is removed, such as a range of counts if the value is a
    fraction. Below the options that the estimator does not use, ranges are not
    extended.
    """
    values = {
        name: stands_for[name] if params[name] is None and name in stands_for else value
        for name, value in params.items()
    }
    return _include_all(space, values, top=True)


def renamed(space: Notation, rename: Callable[[str], str]) -> Notation:
    """Return a space with renamed parameters, also under the options of choices."""
    return {
        rename(name): with_sub_spaces(value, lambda _, sub: renamed(sub, rename))
        for name, value in space.items()
    }


def _include_all(
    space: Notation, params: Params, top: bool, used: bool = True
) -> Notation:
    def below(name: str, option: Any, sub_space: Notation) -> Notation:
        is_used = used and option == params[name]
        return _include_all(sub_space, params, False, is_used)

    included = {}
    for name, notation in space.items():
        if name not in params:  # parameter of another release, or of a base class
            continue
        instead = isinstance(notation, Fallback)
        if instead:
            notation = notation.notation
        if isinstance(notation, tuple) and notation[0] >= notation[1]:
            notation = [notation[0]]  # the data allow a single value
        # Under an option, a list of one value is required by the option.
        fixed = not top and isinstance(notation, list) and len(notation) == 1
        if not fixed and not instead:
            with_own = _include(name, notation, params[name])
            keep = not used and isinstance(notation, tuple) and with_own is not None
            notation = notation if keep else with_own
        if notation is not None:
            included[name] = with_sub_spaces(notation, partial(below, name))
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
    numbers = [option for option in values if is_number(option)]
    if is_number(value):
        shares = bool(numbers) and _is_share(name, max(numbers))
        if shares and isinstance(value, int):
            return None
        if not all(isinstance(number, int) for number in numbers) or isinstance(
            value, int
        ):
            if any(number == value for number in numbers):
                return notation
            place = sum(number < value for number in numbers)
            at = values.index(numbers[place]) if place < len(numbers) else len(values)
            while at and place == len(numbers) and values[at - 1] is None:
                at -= 1
            scale: Any = notation.scale if len(numbers) == len(values) else "rank"
            return Ordinal([*values[:at], value, *values[at:]], scale=scale)
        return None
    if notation.contains(value):
        return notation
    return Ordinal([*values, value])


def _is_share(name: str, high: Any) -> bool:
    last = name.rpartition("__")[2]
    return last in COUNT_OR_SHARE and isinstance(high, float) and high <= 1.0
