"""Acquisition functions by name, and proposers for pairs with surrogates."""

from __future__ import annotations

from typing import Any

from skbayes.acquisition.base import ModelProposer, Proposer, SamplingProposer
from skbayes.acquisition.improvement import (
    Acquisition,
    ExpectedImprovement,
    ExpectedImprovementPerSecond,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
)
from skbayes.acquisition.influence import ExpectedInfluence, InfluenceProposer
from skbayes.acquisition.pareto import ParetoProposer
from skbayes.space.candidates import Candidates
from skbayes.surrogates.registry import capability, make_surrogate

__all__ = ["ACQUISITIONS", "check_acquisition", "make_proposer"]

#: Acquisition functions by their names in the API.
ACQUISITIONS: dict[str, type[Acquisition | ExpectedInfluence]] = {
    "ei": ExpectedImprovement,
    "ei-per-second": ExpectedImprovementPerSecond,
    "eif": ExpectedInfluence,
    "pi": ProbabilityOfImprovement,
    "ucb": UpperConfidenceBound,
}


def check_acquisition(acquisition: Any) -> Acquisition | ExpectedInfluence:
    """Return the acquisition function of a name or an instance."""
    if isinstance(acquisition, Acquisition | ExpectedInfluence):
        return acquisition
    if isinstance(acquisition, str) and acquisition in ACQUISITIONS:
        return ACQUISITIONS[acquisition]()
    raise ValueError(
        f"acquisition must be one of {sorted(ACQUISITIONS)}, an Acquisition or an "
        f"ExpectedInfluence, got {acquisition!r}."
    )


def make_proposer(
    surrogate: Any,
    acquisition: Any,
    candidates: Candidates,
    seed: int,
    n_objectives: int = 1,
) -> Proposer:
    """Make a proposer from a surrogate, a name or an object, and an acquisition."""
    _check_pair(surrogate, acquisition, n_objectives)
    models = [
        make_surrogate(surrogate, candidates, seed + j) for j in range(n_objectives)
    ]
    if not capability(surrogate, "predicts_scores"):
        return SamplingProposer(models[0])
    if acquisition.needs_graph:
        return InfluenceProposer(models[0].graph, acquisition)
    if n_objectives == 1:
        return ModelProposer(models[0], acquisition)
    return ParetoProposer(models)


def _check_pair(surrogate: Any, acquisition: Any, n_objectives: int) -> None:
    """Raise a ValueError if surrogate and acquisition function are incompatible."""
    is_model = capability(surrogate, "predicts_scores")
    shown = repr(surrogate)
    if not isinstance(surrogate, str):
        shown = type(surrogate).__name__
    if not is_model and not acquisition.is_improvement:
        raise ValueError(
            f"acquisition {type(acquisition).__name__} cannot be used with surrogate "
            f"{shown}, which does not predict scores; use the default 'ei'."
        )
    if acquisition.needs_graph and not capability(surrogate, "has_graph"):
        raise ValueError(
            "acquisition 'eif', expected influence, is defined on a graph of all "
            f"configurations: it needs surrogate='graph', got {shown}."
        )
    if n_objectives == 1:
        return
    if capability(surrogate, "needs_scores") and (
        not is_model or acquisition.needs_graph
    ):
        raise ValueError(
            f"surrogate={surrogate!r} supports one objective only; with several, use "
            "a surrogate that predicts means and standard deviations, such as 'gp', or "
            "one that needs no scores, such as 'random'."
        )
    if not acquisition.is_improvement:
        raise ValueError(
            "acquisition must be 'ei' with several objectives, for the expected "
            f"improvement of the hypervolume; {type(acquisition).__name__} supports "
            "one objective only."
        )
