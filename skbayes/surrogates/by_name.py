"""Surrogates by the names that users give them, for a space at hand."""

from __future__ import annotations

import copy
from typing import Any

from skbayes.space import Space
from skbayes.surrogates.gaussian_process import GaussianProcess

__all__ = ["SURROGATES", "make_surrogate", "n_options_of"]

# What users may write for `surrogate`.
SURROGATES = ("gp",)


def n_options_of(space: Space) -> list[int]:
    """How many options the columns have that are not ordered.

    Parameters
    ----------
    space : Space
        The space.

    Returns
    -------
    n_options : list of int
        For each column 0 if its positions are ordered, else the number of options.
    """
    return [
        int(column.dimension.n_values) if column.dimension.is_categorical else 0
        for column in space.columns
    ]


def make_surrogate(surrogate: Any, space: Space, seed: int) -> Any:
    """Make a surrogate of its own for one objective.

    Parameters
    ----------
    surrogate : str or object
        A name, or an instance, which is copied.
    space : Space
        What it is to be used on.
    seed : int
        Source of randomness for one that is named; an instance has its own.

    Returns
    -------
    surrogate : object
        A new one, not fitted, that knows which columns are ordered.
    """
    if surrogate == "gp":
        return GaussianProcess(n_options=n_options_of(space), random_state=seed)
    model = copy.deepcopy(surrogate)
    if isinstance(model, GaussianProcess) and model.n_options is None:
        model.n_options = n_options_of(space)
    return model
