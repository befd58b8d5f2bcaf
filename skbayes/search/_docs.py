"""Docstring entries that subclasses take from the docstrings of their base classes."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import TypeVar

__all__ = ["share_parameters"]

_Class = TypeVar("_Class", bound=type)

# An entry of a numpydoc section: a line "name : type" and the indented lines below it.
_ENTRY = re.compile(r"^(\w+) : .*(?:\n+ {4}.*)*", re.MULTILINE)


def share_parameters(cls: _Class) -> _Class:
    """Replace each line ``{name}`` of a docstring by the entry of a base class."""
    entries: dict[str, str] = {}
    for base in reversed(cls.__mro__[1:]):
        doc = inspect.cleandoc(base.__doc__ or "")
        entries |= {match[1]: match[0] for match in _ENTRY.finditer(doc)}

    def entry(match: re.Match[str]) -> str:
        return textwrap.indent(entries[match["name"]], match["indent"])

    placeholder = r"^(?P<indent> *)\{(?P<name>\w+)\}$"
    # Under `python -OO` there are no docstrings.
    cls.__doc__ = re.sub(placeholder, entry, cls.__doc__ or "", flags=re.MULTILINE)
    return cls
