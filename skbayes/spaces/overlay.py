"""Modification of a default search space by the user's entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skbayes.space import Choice
from skbayes.spaces.catalog import DataFacts, Notation
from skbayes.spaces.own_values import make_choice, pairs_of
from skbayes.spaces.parts import parts_of

__all__ = ["apply_changes"]


def apply_changes(
    space: Notation, changes: Mapping[str, Any], facts: DataFacts
) -> Notation:
    """Return a space in which the entries of `changes` replace the existing ones.

    Raises
    ------
    ValueError
        If an entry is for a parameter of an option that another entry removes, or if no
        entry remains.
    """
    conditions = dict(_conditions(space))
    result = dict(space)
    # Choices first, because they determine the levels of the other parameters.
    names = sorted(changes, key=lambda name: not _is_step(changes[name]))
    names.sort(key=lambda name: name in conditions)
    for name in names:
        value = changes[name]
        if value is not None and name in conditions and not _occurs(result, name):
            raise _contradiction(name, conditions[name], changes)
        result = _without_below(result, name, value)
        if value is None:
            result = _removed(result, name)
        elif isinstance(value, Choice):
            opened = {inner for inner, _ in _conditions({name: value})}
            for other in opened:
                result = _removed(result, other)
            result = _replaced(result, name, value)
        else:
            result = _replaced(result, name, _kept_options(result, name, value, facts))
    if not result:
        raise ValueError(
            "search_spaces: the entries that are None remove all parameters, and "
            "nothing is left to tune. Remove one of these entries, or give it values: "
            f"{{{next(iter(space), 'name')!r}: [...]}}."
        )
    return result


def _contradiction(
    name: str, condition: tuple[str, list[Any]], changes: Mapping[str, Any]
) -> ValueError:
    owner, options = condition
    listed = " or ".join(map(repr, options))
    return ValueError(
        f"search_spaces: {name!r} has an effect only with {owner!r} = {listed}, which "
        f"{changes.get(owner)!r} leaves out. Remove one of the two entries, or write "
        f"the choice by hand: {{{owner!r}: Choice({{{options[0]!r}: {{{name!r}: "
        f"{changes[name]!r}}}}})}}."
    )


def _conditions(space: Notation) -> Iterator[tuple[str, tuple[str, list[Any]]]]:
    """Yield the parameters under options, each with its choice and options."""
    for owner, choice in space.items():
        if not isinstance(choice, Choice):
            continue
        found: dict[str, list[Any]] = {}
        for option, opened in pairs_of(choice):
            for inner in opened or {}:
                found.setdefault(inner, []).append(option)
            yield from _conditions(opened or {})
        yield from ((inner, (owner, options)) for inner, options in found.items())


def _occurs(space: Notation, name: str) -> bool:
    return name in space or any(inner == name for inner, _ in _conditions(space))


def _replaced(space: Notation, name: str, value: Any) -> Notation:
    """Return a space with an entry replaced at all levels, or added at the top."""
    if not any(inner == name for inner, _ in _conditions(space)):
        return {**space, name: value}
    return _mapped(space, name, value)


def _removed(space: Notation, name: str) -> Notation:
    return _mapped(space, name, None)


def _mapped(space: Notation, name: str, value: Any) -> Notation:
    """Return a space with all entries of a name replaced, or removed for None."""
    result = {}
    for key, notation in space.items():
        if key == name:
            if value is not None:
                result[key] = value
            continue
        if isinstance(notation, Choice):
            pairs = [
                (opt, _mapped(sub, name, value)) for opt, sub in pairs_of(notation)
            ]
            notation = make_choice(pairs)
        result[key] = notation
    return result


# -- options --------------------------------------------------------------------------


def _is_step(value: Any) -> bool:
    """Return whether a list contains estimators as options."""
    return isinstance(value, list) and any(
        hasattr(option, "get_params") for option in value
    )


def _without_below(space: Notation, name: str, value: Any) -> Notation:
    """Return a space without the parameters of a step that may be replaced."""
    if not _is_step(value):
        return space
    return {key: sub for key, sub in space.items() if not key.startswith(f"{name}__")}


def _kept_options(space: Notation, name: str, value: Any, facts: DataFacts) -> Any:
    """Return a choice for a list of options that have conditional parameters."""
    if not isinstance(value, list) or not value:
        return value
    if _is_step(value):
        pairs = [(option, _space_of(option, name, facts)) for option in value]
    else:
        old = space.get(name)
        if not isinstance(old, Choice):
            return value
        opened = dict(_hashable(pairs_of(old)))
        pairs = [(option, opened.get(_key(option), {})) for option in value]
    return make_choice(pairs) if any(sub for _, sub in pairs) else value


def _space_of(option: Any, name: str, facts: DataFacts) -> Notation:
    if not hasattr(option, "get_params"):
        return {}
    found: Notation = {}
    for part in parts_of(option, facts, prefix=f"{name}__"):
        found.update(part.space)
    return found


def _hashable(pairs: list[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    return ((_key(option), opened) for option, opened in pairs)


def _key(option: Any) -> Any:
    try:
        hash(option)
    except TypeError:
        return id(option)
    return (type(option).__name__, option)
