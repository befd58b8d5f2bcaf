"""Surrogates by the names that users give them, for a space at hand."""

from __future__ import annotations

import copy
from typing import Any

from skbayes.space import Space
from skbayes.surrogates.gaussian_process import GaussianProcess

__all__ = ["SURROGATES", "make_surrogate"]

# What users may write for `surrogate`.
SURROGATES = ("gp",)


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
        return GaussianProcess(n_options=space.n_options, random_state=seed)
    model = copy.deepcopy(surrogate)
    if isinstance(model, GaussianProcess) and model.n_options is None:
        model.n_options = space.n_options
    return model
