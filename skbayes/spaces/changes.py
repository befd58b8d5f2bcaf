"""Search spaces that print as code, and can be changed by another dict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skbayes.space import Choice, Ordinal
from skbayes.spaces.facts import DataFacts
from skbayes.spaces.overlay import lay_over

__all__ = ["EditableSpace"]


class EditableSpace(dict):
    """A search space in the notation of users, which prints as code.

    A dict from names of parameters to their possible values, as `search_spaces` of the
    searches takes it. Its representation can be pasted into a program and edited.

    ``space | {...}`` returns the space with the entries of a dict. An entry replaces
    the one with the same name, also if it exists only under an option of a choice; None
    removes the parameter from the space, so that it keeps the estimator's own value. If
    an entry is a list of options for a choice, these options keep their conditional
    parameters. If an entry is for a parameter that another entry removes, or if no
    entry is left, a ValueError is raised.

    Parameters
    ----------
    entries : dict, optional
        For each parameter name what it may be.

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

    # What is known of the data; bounds of options that changes bring depend on it.
    facts = DataFacts()

    def __repr__(self) -> str:
        return code_of(self)

    def __or__(self, changes: Any) -> EditableSpace:
        """Return the space with the entries of a dict laid over it."""
        if not isinstance(changes, Mapping):
            return NotImplemented
        space = EditableSpace(lay_over(self, changes, self.facts))
        space.facts = self.facts
        return space


def code_of(notation: Any, indent: str = "") -> str:
    """Return the code of a notation."""
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
        return f"[{', '.join(code_of(one, deeper) for one in notation)}]"
    if isinstance(notation, tuple):
        items = ", ".join(code_of(one, deeper) for one in notation)
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
