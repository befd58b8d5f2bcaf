"""Objects that are imported on first use, from tables of their modules."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def load(path: str) -> Any:
    """Return an object by its module and name, such as "skbayes.space:Real"."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def attributes_of(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the function `__getattr__` of a package; `homes` are modules by name."""

    def attribute(name: str) -> Any:
        if name in homes:
            return load(f"{homes[name]}:{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)

    return attribute
