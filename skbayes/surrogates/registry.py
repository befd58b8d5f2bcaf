"""Registry of the surrogates by name."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from skbayes.surrogates.surrogate import Surrogate, capability_of
from skbayes.utils.late import load

if TYPE_CHECKING:
    from skbayes.space.candidates import Candidates


class Entry(NamedTuple):
    """Class and options of a name, and another name for enumerated spaces."""

    path: str
    options: Mapping[str, Any] = {}
    if_enumerated: str | None = None

    @property
    def surrogate(self) -> type[Surrogate]:
        """Class, whose module is imported on first use."""
        return load(self.path)


#: Surrogates by their names in the API.
registry: dict[str, Entry] = {
    "gp": Entry(
        "skbayes.surrogates.gp.warped:WarpedGaussianProcess",
        if_enumerated="gp-additive",
    ),
    "gp-matern32": Entry(
        "skbayes.surrogates.gp.gp:GaussianProcess", {"kernel": "matern32"}
    ),
    "gp-matern52": Entry(
        "skbayes.surrogates.gp.gp:GaussianProcess", {"kernel": "matern52"}
    ),
    "gp-rbf": Entry("skbayes.surrogates.gp.gp:GaussianProcess", {"kernel": "rbf"}),
    "gp-additive": Entry("skbayes.surrogates.gp.additive:AdditiveGaussianProcess"),
    "gp-warped": Entry("skbayes.surrogates.gp.warped:WarpedGaussianProcess"),
    "graph": Entry("skbayes.surrogates.graph:GraphField"),
    "trees": Entry("skbayes.surrogates.trees:TreeEnsemble"),
    "random": Entry("skbayes.surrogates.random_search:RandomSampler"),
    "sobol": Entry("skbayes.surrogates.random_search:SobolSampler"),
    "tpe": Entry("skbayes.surrogates.parzen:ParzenEstimator"),
}


def capability(surrogate: Any, name: str) -> Any:
    """Return a capability of a surrogate, given by name or as an object."""
    if isinstance(surrogate, str):
        surrogate = registry[surrogate].surrogate
    return capability_of(surrogate, name)


def check_surrogate(surrogate: Any) -> Any:
    """Return a valid surrogate: a name, or an object with the required methods."""
    if isinstance(surrogate, str):
        if surrogate in registry:
            return surrogate
    elif isinstance(surrogate, type):
        raise ValueError(
            f"surrogate must be an object, got the class {surrogate.__name__}; write "
            f"{surrogate.__name__}() with its parameters."
        )
    elif all(hasattr(surrogate, name) for name in ("fit", "predict", "condition")):
        return surrogate
    raise ValueError(
        f"surrogate must be one of {sorted(registry)} or an object with fit, predict "
        f"and condition, got {surrogate!r}."
    )


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
            entry = registry[entry.if_enumerated]
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
