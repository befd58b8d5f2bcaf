"""Parts of a composed estimator."""

from __future__ import annotations

from typing import Any


def is_estimator(value: Any) -> bool:
    """Return whether a value is an estimator and not a class."""
    if isinstance(value, type) or not hasattr(value, "get_params"):
        return False
    return hasattr(value, "fit") or hasattr(value, "transform")


def owner_of(estimator: Any, name: str) -> tuple[Any, str]:
    """Return the part with a parameter, None if unknown, and the name in the part."""
    prefix, _, leaf = name.rpartition("__")
    if estimator is None or not prefix:
        return estimator, leaf
    return estimator.get_params().get(prefix), leaf
