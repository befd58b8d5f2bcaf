"""Surrogates by the names that users give them, for the configurations at hand."""

from __future__ import annotations

import copy
import math
from typing import Any

from skbayes.space.candidates import Candidates
from skbayes.surrogates.gp.additive import AdditiveGaussianProcess
from skbayes.surrogates.gp.gp import GaussianProcess
from skbayes.surrogates.graph import MAX_NODES
from skbayes.surrogates.graph_field import GraphField
from skbayes.surrogates.parzen import ParzenEstimator
from skbayes.surrogates.trees import TreeEnsemble

__all__ = ["MODELS", "SURROGATES", "make_surrogate"]

# Kernels by the names of Gaussian processes; "gp" is another one on grids.
GAUSSIAN_PROCESSES = {
    "gp": "matern52",
    "gp-matern32": "matern32",
    "gp-matern52": "matern52",
    "gp-rbf": "rbf",
}

# Names that stand for a model of the score.
MODELS = (*GAUSSIAN_PROCESSES, "gp-additive", "graph", "trees")

# What users may write for `surrogate`. The others have no model of the score.
SURROGATES = (*MODELS, "random", "sobol", "tpe")


def make_surrogate(surrogate: Any, candidates: Candidates, seed: int) -> Any:
    """Make a model of its own for one objective.

    Parameters
    ----------
    surrogate : str or object
        One of the names in `MODELS`, or an instance, which is copied.
    candidates : Candidates
        The configurations that it is to predict.
    seed : int
        Source of randomness for one that is named; an instance has its own.

    Returns
    -------
    surrogate : object
        A new one, not fitted, that knows which columns are ordered.

    Raises
    ------
    ImportError
        If it needs a library that is not installed.
    ValueError
        If it cannot be used on this space, or is no model of a score.
    """
    n_options = candidates.space.n_options
    if isinstance(surrogate, ParzenEstimator) or surrogate in (
        "random",
        "sobol",
        "tpe",
    ):
        raise ValueError(f"surrogate: {surrogate!r} does not predict scores.")
    if surrogate == "gp-additive" or (surrogate == "gp" and candidates.is_enumerated):
        return AdditiveGaussianProcess(n_options=n_options, random_state=seed)
    if isinstance(surrogate, str) and surrogate in GAUSSIAN_PROCESSES:
        kernel = GAUSSIAN_PROCESSES[surrogate]
        return GaussianProcess(kernel, n_options=n_options, random_state=seed)
    if surrogate == "trees":
        return TreeEnsemble(n_options=n_options, random_state=seed)
    model = GraphField() if surrogate == "graph" else copy.deepcopy(surrogate)
    if getattr(model, "n_options", n_options) is None:
        model.n_options = n_options
    if isinstance(model, GraphField) and model.nodes is None:
        model.nodes = _nodes(candidates)
    return model


def _nodes(candidates: Candidates) -> Any:
    """List the configurations for a graph, if they are few enough."""
    if candidates.rows is not None and len(candidates.rows) <= MAX_NODES:
        return candidates.rows
    n_configurations = candidates.n_configurations
    size = (
        "infinitely many"
        if math.isinf(n_configurations)
        else f"{int(n_configurations):,}"
    )
    raise ValueError(
        "surrogate 'graph' needs a finite space, of which each configuration is a "
        f"node, with at most {MAX_NODES:,} of them; this one has {size}. Give lists of "
        "values in place of ranges, or choose another surrogate."
    )
