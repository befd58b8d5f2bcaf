"""List of the aspects of trials, in the order in which their hooks are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skbayes.evaluation.aspect import Aspect, is_requested
from skbayes.evaluation.aspects.callbacks import Callbacks
from skbayes.evaluation.aspects.constraints import OutcomeConstraints
from skbayes.evaluation.aspects.costs import Costs
from skbayes.evaluation.aspects.early_stopping import EarlyStopping
from skbayes.evaluation.aspects.kept_fits import KeptFits
from skbayes.evaluation.aspects.limits import Limits
from skbayes.evaluation.aspects.predictions import Predictions
from skbayes.evaluation.aspects.pruning import Pruning
from skbayes.evaluation.aspects.shared_steps import SharedSteps

if TYPE_CHECKING:
    from skbayes.evaluation.run import SearchRun


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


def aspects_of(run: SearchRun) -> list[Aspect]:
    """Return the aspects of a search that are on."""
    return [aspect(run) for aspect in ASPECTS if aspect.is_on(run)]


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
