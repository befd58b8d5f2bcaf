"""Attributes of fitted searches that are data frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.utils.validation import check_is_fitted

__all__ = ["FrameAttribute"]


class FrameAttribute:
    """An attribute that is kept as arrays, and made a data frame when it is asked for.

    A fitted search that holds a data frame cannot be unpickled without pandas.

    Parameters
    ----------
    make : callable
        ``make(search, columns)`` returns the data frame of what was assigned.
    """

    def __init__(self, make: Callable[[Any, Mapping[str, Any]], Any]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, search: Any, owner: type | None = None) -> Any:
        if search is None:
            return self
        check_is_fitted(search, "cv_results_")
        if self._name not in vars(search):
            kind = type(search).__name__
            raise AttributeError(f"{kind!r} object has no attribute {self._name!r}.")
        return self._make(search, vars(search)[self._name])

    def __set__(self, search: Any, columns: Mapping[str, Any]) -> None:
        vars(search)[self._name] = columns
