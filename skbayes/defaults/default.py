"""Default search spaces of estimators, and their modification by the user's entries."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from sklearn.base import BaseEstimator

from skbayes.defaults import learners, transformers, tree_models  # noqa: F401
from skbayes.defaults.catalog import DataFacts, Notation
from skbayes.defaults.conflicts import names_in
from skbayes.defaults.names import names_of
from skbayes.defaults.parts import Part, parts_of, renamed, space_of
from skbayes.space.lists import Ordinal, option_key
from skbayes.space.notation import Choice, pairs_of, parse_spaces, with_sub_spaces

# Fraction of training rows in the default cross-validation of GridSearchCV.
TRAIN_SHARE = 0.8

# Length of a line of code from which it is split.
WIDTH = 80


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
    # Choices come first, because they determine the levels of the other parameters.
    names = sorted(changes, key=lambda name: not _is_step(changes[name]))
    names.sort(key=lambda name: name in conditions)
    for name in names:
        value = changes[name]
        if value is not None and name in conditions and not _occurs(result, name):
            raise _contradiction(name, conditions[name], changes)
        if value is None:
            result = _replaced(result, name, None)
            continue
        if _is_step(value):  # the step may be replaced
            below = f"{name}__"
            result = {k: sub for k, sub in result.items() if not k.startswith(below)}
        if isinstance(value, Choice):
            for other, _ in _conditions({name: value}):
                result = _replaced(result, other, None)
        else:
            value = _as_choice(result, name, value, facts)
        if _occurs(result, name):
            result = _replaced(result, name, value)
        else:
            result = {**result, name: value}
    if not result:
        raise ValueError(
            "search_spaces: the entries with the value None remove all parameters, so "
            "none is tuned. Remove one of these entries, or give it values: "
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


def _conditions(space: Any) -> Iterator[tuple[str, tuple[str, list[Any]]]]:
    """Yield the parameters under options, each with its choice and options."""
    choices = [
        (owner, choice)
        for alternative in parse_spaces(space)
        for owner, choice in alternative.items()
        if isinstance(choice, Choice)
    ]
    for owner, choice in choices:
        under: dict[str, list[Any]] = {}
        for option, opened in pairs_of(choice):
            names = [name for sub in parse_spaces(opened) for name in sub]
            for inner in dict.fromkeys(names):
                under.setdefault(inner, []).append(option)
            yield from _conditions(opened)
        yield from ((inner, (owner, options)) for inner, options in under.items())


def _occurs(space: Notation, name: str) -> bool:
    return name in space or any(inner == name for inner, _ in _conditions(space))


def _replaced(space: Any, name: str, value: Any) -> Any:
    """Return a space with all entries of a name replaced, or removed for None."""
    if isinstance(space, list | tuple):
        return [_replaced(alternative, name, value) for alternative in space]
    return {
        key: value
        if key == name
        else with_sub_spaces(notation, lambda _, sub: _replaced(sub, name, value))
        for key, notation in space.items()
        if key != name or value is not None
    }


# -- options --------------------------------------------------------------------------


def _is_step(value: Any) -> bool:
    """Return whether a list contains estimators as options."""
    return isinstance(value, list) and any(
        hasattr(option, "get_params") for option in value
    )


def _as_choice(space: Notation, name: str, value: Any, facts: DataFacts) -> Any:
    """Return a choice for a list of options that have conditional parameters."""
    old = space.get(name)
    if _is_step(value):
        prefix = f"{name}__"
        subs = [space_of(parts_of(option, facts, prefix)) for option in value]
    elif isinstance(value, list) and isinstance(old, Choice):
        opened = {option_key(option): sub for option, sub in pairs_of(old)}
        subs = [opened.get(option_key(option), {}) for option in value]
    else:
        return value
    return Choice(list(zip(value, subs, strict=True))) if any(subs) else value


class EditableSpace(dict):
    """Search space in dict notation that prints as code.

    It is a dict from names of hyper-parameters to their possible values, as for
    `search_spaces` of a search. You can paste its representation into a program and
    edit it.

    ``space | {...}`` returns a copy with the entries of a dict. An entry replaces the
    entry with the same name, even if that hyper-parameter exists only under an option
    of a choice. The value None removes the entry; the hyper-parameter then keeps the
    estimator's value. If an entry is a list of options for a choice, these options keep
    their conditional hyper-parameters. A ValueError is raised if an entry is for a
    hyper-parameter that another entry removes, or if no entry remains.

    Parameters
    ----------
    entries : dict, optional
        Possible values by name of the hyper-parameter.

    Examples
    --------
    >>> from skbayes.defaults import EditableSpace
    >>> EditableSpace({"C": (0.01, 1000.0, "log-uniform"), "weights": [None]})
    {
        "C": (0.01, 1000.0, "log-uniform"),
        "weights": [None],
    }
    >>> EditableSpace({"C": (0.01, 1000.0), "weights": [None]}) | {"C": [1, 10]}
    {
        "C": [1, 10],
        "weights": [None],
    }
    """

    def __init__(self, entries: Mapping[str, Any] | None = None) -> None:
        super().__init__(entries or {})

    # Facts about the data. The bounds of options in changes depend on them.
    facts = DataFacts()

    def __repr__(self) -> str:
        return code_of(self)

    def __or__(self, changes: Any) -> EditableSpace:
        """Return a copy of the space with the entries of a dict."""
        if not isinstance(changes, Mapping):
            return NotImplemented
        space = EditableSpace(apply_changes(self, changes, self.facts))
        space.facts = self.facts
        return space


def code_of(notation: Any, indent: str = "") -> str:
    """Return the code of the notation of a hyper-parameter."""
    deeper = indent + "    "
    if isinstance(notation, Mapping):
        if not notation:
            return "{}"
        lines = [
            f"{deeper}{code_of(name)}: {code_of(value, deeper)},\n"
            for name, value in notation.items()
        ]
        return "{\n" + "".join(lines) + indent + "}"
    if isinstance(notation, Choice):
        return f"Choice({_options(notation, indent)})"
    if isinstance(notation, Ordinal):
        values = code_of(list(notation.values), indent)
        default = Ordinal(notation.values).scale == notation.scale
        scale = "" if default else f', scale="{notation.scale}"'
        return f"Ordinal({values}{scale})"
    if isinstance(notation, list):
        return _joined("[", [code_of(part, deeper) for part in notation], "]", indent)
    if isinstance(notation, tuple):
        items = [code_of(part, deeper) for part in notation]
        return f"({items[0]},)" if len(items) == 1 else _joined("(", items, ")", indent)
    if isinstance(notation, BaseEstimator) and not isinstance(notation, type):
        return _estimator_code(notation, indent)
    if type(notation) is str and '"' not in notation and "\\" not in notation:
        return f'"{notation}"' if notation.isprintable() else repr(notation)
    return repr(notation)


def _estimator_code(estimator: BaseEstimator, indent: str) -> str:
    """Return the call that creates an estimator, with the parameters that it needs."""
    cls = type(estimator)
    parameters = inspect.signature(cls.__init__).parameters
    arguments = [
        f"{name}={code_of(value, indent + '    ')}"
        for name, value in estimator.get_params(deep=False).items()
        if repr(value) != repr(parameters[name].default if name in parameters else None)
    ]
    return _joined(f"{cls.__name__}(", arguments, ")", indent)


def _joined(begin: str, parts: list[str], end: str, indent: str) -> str:
    """Return parts of code on one line, or one per line if a line would be long."""
    line = f"{begin}{', '.join(parts)}{end}"
    # Lists of plain values stay on one line.
    if "(" not in line[1:] or ("\n" not in line and len(indent + line) <= WIDTH):
        return line
    lines = [f"{indent}    {part},\n" for part in parts]
    return f"{begin}\n{''.join(lines)}{indent}{end}"


def _options(notation: Choice, indent: str) -> str:
    pairs = pairs_of(notation)
    try:
        options = dict(pairs)
    except TypeError:  # options that cannot be keys
        options = {}
    if len(options) == len(pairs):  # for a dict, 1 and True are the same key
        return code_of(options, indent)
    deeper = indent + "    "
    lines = [
        f"{deeper}({code_of(option, deeper)}, {code_of(sub, deeper)}),\n"
        for option, sub in pairs
    ]
    return "[\n" + "".join(lines) + indent + "]"


def default_space(estimator: Any, X: Any = None, y: Any = None) -> EditableSpace:
    """Return the default search space of an estimator.

    Parameters
    ----------
    estimator : estimator
        The estimator: a single estimator, a pipeline, or another composition.
    X : array-like of shape (n_samples, n_features) or None, default=None
        Training data. Some bounds depend on the number of rows and columns. Without
        data, these bounds are narrower.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Targets. They determine whether class weights are tuned, and the scale of some
        penalties.

    Returns
    -------
    space : EditableSpace
        Search space in dict notation, as for `search_spaces` of a search, with the full
        names of the hyper-parameters. It contains the current values of the estimator.

    Raises
    ------
    ValueError
        If no part of the estimator has a default space, or nothing can be tuned.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skbayes.defaults import default_space
    >>> default_space(Ridge())
    {
        "alpha": (0.0001, 10000.0, "log-uniform"),
        "fit_intercept": [True, False],
    }
    """
    facts = DataFacts.of(X, y, TRAIN_SHARE, own_score=True)
    return space_of_parts(parts_of(estimator, facts), facts)


def space_of_parts(parts: list[Part], facts: DataFacts) -> EditableSpace:
    """Return the search space of the parts of an estimator; raise if it is empty."""
    space = EditableSpace(space_of(parts))
    space.facts = facts
    if space:
        return space
    unknown = [part for part in parts if part.entry is None]
    labels = ", ".join(map(_label, unknown or parts)) or "the estimator"
    reason, example = f"{labels} has no parameters to tune", ""
    if unknown:
        reason = f"there is no default space for {labels}"
        example = f", such as {{'{unknown[-1].prefix}NAME': (0.1, 10.0)}}"
    raise ValueError(
        f"search_spaces='auto': {reason}. Write the space by hand{example}; "
        "estimator.get_params() lists the names."
    )


def with_names(
    space: EditableSpace, parts: list[Part], changes: Mapping[str, Any]
) -> EditableSpace:
    """Return a space with the names that changes use, if a parameter has several."""
    aliases = {}
    for part in parts:
        for name in names_in(part.space):
            for alias in names_of(part.estimator, name.removeprefix(part.prefix)):
                if part.prefix + alias in changes and name not in changes:
                    aliases[name] = part.prefix + alias
    named = EditableSpace(renamed(space, lambda name: aliases.get(name, name)))
    named.facts = space.facts
    return named


def unknown_parts(parts: list[Part]) -> list[str]:
    """Return the names and classes of the parts that have no default space."""
    return [_label(part) for part in parts if part.entry is None]


def _label(part: Part) -> str:
    kind = type(part.estimator).__name__
    return f"{part.prefix[:-2]} ({kind})" if part.prefix else kind


def reason_not_tuned(parts: list[Part]) -> str:
    """Return why some steps are not tuned without `scoring`, or ""."""
    fixed = ", ".join(repr(part.prefix[:-2]) for part in parts if part.fixed)
    if not fixed:
        return ""
    last = [part.estimator for part in parts if part.facts.own_score][-1]
    name = type(last).__name__
    return (
        f"search_spaces='auto': the steps before {name} ({fixed}) are not tuned, "
        f"because {name}.score depends on the scale and the number of the columns. To "
        "tune them, set scoring."
    )
