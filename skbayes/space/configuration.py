"""Configurations: one assignment of values to hyper-parameters, and its encoding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skbayes.space.dimensions import FloatArray
from skbayes.space.space import Space

__all__ = ["Configuration"]


@dataclass(frozen=True, eq=False)
class Configuration:
    """Parameters and their row of the unit cube, NaN where a column is inactive."""

    params: dict[str, Any]
    row: FloatArray

    @classmethod
    def of(
        cls, space: Space, params: Mapping[str, Any] | Configuration
    ) -> Configuration:
        """Encode parameters, unless they are encoded; ValueError outside of the space.

        The parameters of the result are objects of the space, of the types it proposes.
        """
        if isinstance(params, Configuration):
            return params
        row = space.encode([params])[0]
        return cls(space.canonicalize_row(params, row), row)
