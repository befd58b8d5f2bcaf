"""Search spaces in dict notation that print as code and can be modified."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skbayes.space import Choice, Ordinal
from skbayes.spaces.catalog import DataFacts
from skbayes.spaces.overlay import apply_changes

__all__ = ["EditableSpace"]


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
    >>> from skbayes.spaces import EditableSpace
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

    # Facts about the data, which bounds of options in changes depend on.
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
        return f"[{', '.join(code_of(part, deeper) for part in notation)}]"
    if isinstance(notation, tuple):
        items = ", ".join(code_of(part, deeper) for part in notation)
        return f"({items},)" if len(notation) == 1 else f"({items})"
    if type(notation) is str and '"' not in notation and "\\" not in notation:
        return f'"{notation}"' if notation.isprintable() else repr(notation)
    return repr(notation)


def _options(notation: Choice, indent: str) -> str:
    if isinstance(notation.options, Mapping):
        return code_of(notation.options, indent)
    deeper = indent + "    "
    pairs = [
        f"{deeper}({code_of(option, deeper)}, {code_of(sub, deeper)}),\n"
        for option, sub in notation.options
    ]
    return "[\n" + "".join(pairs) + indent + "]"
