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
    """Parameters together with their row of the unit cube, encoded once.

    Parameters
    ----------
    params : dict of str to object
        Values of the active parameters.
    row : ndarray of shape (n_columns,)
        Their encoding, NaN in the columns of inactive parameters.
    """

    params: dict[str, Any]
    row: FloatArray

    @classmethod
    def of(cls, space: Space, params: Mapping[str, Any] | Configuration) -> Any:
        """Encode parameters, unless they are a configuration already.

        Parameters
        ----------
        space : Space
            The search space.
        params : dict or Configuration
            The parameters.

        Returns
        -------
        configuration : Configuration
            Its parameters are those of the space: its own objects and types.

        Raises
        ------
        ValueError
            If they are not a configuration of the space.
        """
        if isinstance(params, Configuration):
            return params
        row = space.encode([params])[0]
        return cls(space.canonicalize(params), row)
