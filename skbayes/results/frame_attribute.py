"""Attribute of a fitted search that is a data frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.utils.validation import check_is_fitted

from skbayes.utils.late import load


class FrameAttribute:
    """Attribute stored as arrays, which need no pandas, and read as a data frame."""

    def __init__(self, with_params: bool = False) -> None:
        self._with_params = with_params

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, search: object, owner: type | None = None) -> Any:
        if search is None:
            return self
        check_is_fitted(search, "cv_results_")
        if self._name not in vars(search):
            kind = type(search).__name__
            raise AttributeError(f"{kind!r} object has no attribute {self._name!r}.")
        own = vars(search)
        results = own["cv_results_"] if self._with_params else None
        return load("skbayes.results.frame:as_frame")(own[self._name], results)

    def __set__(self, search: object, columns: Mapping[str, Any]) -> None:
        vars(search)[self._name] = columns
