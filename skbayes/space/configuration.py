"""Configuration: one assignment of values to hyper-parameters, and its encoding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skbayes.space.dimensions import FloatArray
from skbayes.space.space import Space

__all__ = ["Configuration"]


@dataclass(frozen=True, eq=False)
class Configuration:
    """Dict of parameters and its encoded row, NaN where a column is inactive."""

    params: dict[str, Any]
    row: FloatArray

    @classmethod
    def of(
        cls, space: Space, params: Mapping[str, Any] | Configuration
    ) -> Configuration:
        """Encode parameters; return a configuration unchanged.

        The values of the result are those of the space, with the types that it
        proposes. A ValueError is raised for parameters outside of the space.
        """
        if isinstance(params, Configuration):
            return params
        row = space.encode([params])[0]
        return cls(space.canonicalize_row(params, row), row)
