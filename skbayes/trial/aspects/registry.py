"""List of the aspects of trials, in the order in which their hooks are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skbayes.trial.aspect import Aspect, is_requested
from skbayes.trial.aspects.callbacks import Callbacks
from skbayes.trial.aspects.constraints import OutcomeConstraints
from skbayes.trial.aspects.costs import Costs
from skbayes.trial.aspects.early_stopping import EarlyStopping
from skbayes.trial.aspects.kept_fits import KeptFits
from skbayes.trial.aspects.limits import Limits
from skbayes.trial.aspects.predictions import Predictions
from skbayes.trial.aspects.pruning import Pruning
from skbayes.trial.aspects.shared_steps import SharedSteps

if TYPE_CHECKING:
    from skbayes.trial.plan import Plan


ASPECTS: tuple[type[Aspect], ...] = (
    SharedSteps,
    EarlyStopping,
    Costs,
    OutcomeConstraints,
    KeptFits,
    Predictions,
    Pruning,
    Limits,
    Callbacks,
)


def aspects_of(plan: Plan) -> list[Aspect]:
    """Return the aspects of a search that are on."""
    return [aspect(plan) for aspect in ASPECTS if aspect.is_on(plan)]


def parameters() -> dict[str, list[Any]]:
    """Return the values that the parameters of the aspects accept, by name."""
    found: dict[str, list[Any]] = {}
    for aspect in ASPECTS:
        found |= aspect.parameters
    return found


def extra_types() -> dict[str, type]:
    """Return the types of the extras that are not numbers, by name."""
    found: dict[str, type] = {}
    for aspect in ASPECTS:
        found |= aspect.extras
    return found


def requested(settings: Mapping[str, Any]) -> list[type[Aspect]]:
    """Return the aspects whose parameters are set."""
    return [aspect for aspect in ASPECTS if is_requested(aspect, settings)]
