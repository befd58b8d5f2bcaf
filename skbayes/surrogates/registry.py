"""Registry of the surrogates by name."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from skbayes.space.candidates import Candidates
from skbayes.surrogates.base import Surrogate
from skbayes.surrogates.gp.additive import AdditiveGaussianProcess
from skbayes.surrogates.gp.gp import GaussianProcess
from skbayes.surrogates.gp.warped import WarpedGaussianProcess
from skbayes.surrogates.graph_field import GraphField
from skbayes.surrogates.parzen import ParzenEstimator
from skbayes.surrogates.random_search import RandomSampler, SobolSampler
from skbayes.surrogates.trees import TreeEnsemble

__all__ = ["Entry", "capability", "make_surrogate", "names_with", "registry"]


class Entry(NamedTuple):
    """Class and options of a name, and a different class for enumerated spaces."""

    surrogate: type[Surrogate]
    options: Mapping[str, Any] = {}
    if_enumerated: type[Surrogate] | None = None


#: Surrogates by their names in the API.
registry: dict[str, Entry] = {
    "gp": Entry(WarpedGaussianProcess, if_enumerated=AdditiveGaussianProcess),
    "gp-matern32": Entry(GaussianProcess, {"kernel": "matern32"}),
    "gp-matern52": Entry(GaussianProcess, {"kernel": "matern52"}),
    "gp-rbf": Entry(GaussianProcess, {"kernel": "rbf"}),
    "gp-additive": Entry(AdditiveGaussianProcess),
    "gp-warped": Entry(WarpedGaussianProcess),
    "graph": Entry(GraphField),
    "trees": Entry(TreeEnsemble),
    "random": Entry(RandomSampler),
    "sobol": Entry(SobolSampler),
    "tpe": Entry(ParzenEstimator),
}

# Assumptions about objects that do not derive from Surrogate.
UNDECLARED = {"has_gradients": True, "takes_fidelity": None}


def capability(surrogate: Any, name: str) -> Any:
    """Return a capability of a surrogate, given by name or as an object.

    For an object that does not derive from :class:`Surrogate`, it is inferred, or None
    if this is impossible.
    """
    if isinstance(surrogate, str):
        surrogate = registry[surrogate].surrogate
    if hasattr(surrogate, name):
        return getattr(surrogate, name)
    if name == "predicts_scores":
        return hasattr(surrogate, "predict")
    if name == "takes_noise":
        parameters = inspect.signature(surrogate.fit).parameters
        return "noise" in parameters or any(
            parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
        )
    return UNDECLARED.get(name, getattr(Surrogate, name))


def names_with(name: str) -> tuple[str, ...]:
    """Return the names of the surrogates that have a capability."""
    return tuple(surrogate for surrogate in registry if capability(surrogate, name))


def make_surrogate(surrogate: Any, candidates: Candidates, seed: int) -> Any:
    """Make a new surrogate for `candidates` from a name, or copy an instance.

    `seed` applies to names only; an instance has its own seed.
    """
    if isinstance(surrogate, str):
        entry = registry[surrogate]
        if candidates.is_enumerated and entry.if_enumerated is not None:
            entry = Entry(entry.if_enumerated)
        model: Any = entry.surrogate(**entry.options)
        if hasattr(model, "random_state"):
            model.random_state = seed
    else:
        model = copy.deepcopy(surrogate)
    if getattr(model, "n_options", ()) is None:
        model.n_options = candidates.space.n_options
    if isinstance(model, Surrogate):
        model.prepare(candidates)
    return model
