"""Parts of the optimizer that few searches need, imported when they are requested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from skbayes.acquisition.improvement import Acquisition
from skbayes.acquisition.observations import Observations
from skbayes.acquisition.proposers import Proposer
from skbayes.space.dimensions import FloatArray
from skbayes.utils.late import load

if TYPE_CHECKING:
    from skbayes.optimizer.cost_models import AbortedTrials, Cost, CostModel, LimitTerms

#: Acquisition functions by their names in the API.
ACQUISITIONS = {
    "ei": "skbayes.acquisition.improvement:ExpectedImprovement",
    "ei-per-second": "skbayes.acquisition.improvement:ExpectedImprovementPerSecond",
    "eif": "skbayes.acquisition.influence:ExpectedInfluence",
    "pi": "skbayes.acquisition.improvement:ProbabilityOfImprovement",
    "ucb": "skbayes.acquisition.improvement:UpperConfidenceBound",
}


def acquisition_of(name: str) -> Acquisition:
    """Return an acquisition function by its name."""
    return load(ACQUISITIONS[name])()


def proposer_on_graph(model: Any, acquisition: Acquisition) -> Proposer:
    """Return the proposer of expected influence, with a surrogate that has a graph."""
    kind = load("skbayes.acquisition.influence:InfluenceProposer")
    return kind(model.graph, acquisition)


def proposer_of_front(models: Sequence[Any]) -> Proposer:
    """Return the proposer of several objectives, each of which has a surrogate."""
    return load("skbayes.pareto.acquisition:ParetoProposer")(models)


def fit_constrained(
    proposer: Proposer, models: Sequence[Any], observations: Observations
) -> tuple[Proposer, Observations]:
    """Fit a proposer and the models of constraints on outcomes."""
    fit = load("skbayes.acquisition.feasibility:fit_constrained")
    return fit(proposer, models, observations)


def cost_model(
    n_options: list[int], trials: list[Cost], earlier: CostModel | None = None
) -> CostModel:
    """Return the model of the costs of trials."""
    return load("skbayes.optimizer.cost_models:CostModel")(n_options, trials, earlier)


def aborted_trials(
    n_options: list[int], trials: list[tuple[FloatArray, bool]]
) -> AbortedTrials:
    """Return the model of the trials that were aborted."""
    return load("skbayes.optimizer.cost_models:AbortedTrials")(n_options, trials)


def limit_terms(
    costs: CostModel, aborted: AbortedTrials, limit: float | None, budget: float | None
) -> LimitTerms:
    """Return the terms of the acquisition function for limits and costs of trials."""
    kind = load("skbayes.optimizer.cost_models:LimitTerms")
    return kind(costs, aborted, limit, budget)
