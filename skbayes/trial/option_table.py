"""Table of the options: their modules, which are imported if a search needs them.

The rows are in the order in which the hooks of their aspects are called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skbayes.trial.aspect import Aspect, is_given
from skbayes.utils.late import load

if TYPE_CHECKING:
    from skbayes.trial.plan import Plan


@dataclass(frozen=True)
class Option:
    """Aspect of an option, "module:class", with what turns it on.

    One of the `parameters` is neither None nor False, or the plan has a `feature`.
    """

    aspect: str
    parameters: tuple[str, ...] = ()
    feature: Callable[[Plan], bool] = lambda plan: False

    def is_requested(self, settings: Mapping[str, Any]) -> bool:
        """Return whether one of the parameters is neither None nor False."""
        return any(is_given(settings.get(name)) for name in self.parameters)

    def kind(self) -> type[Aspect]:
        """Return the class of the aspect, whose module is imported on first use."""
        kind: type[Aspect] = load(self.aspect)
        return kind


OPTIONS = (
    Option(
        "skbayes.trial.aspects.shared_steps:SharedSteps",
        feature=lambda plan: "shared_steps" in plan.notes,
    ),
    Option("skbayes.trial.aspects.early_stopping:EarlyStopping", ("early_stopping",)),
    Option(
        "skbayes.trial.aspects.costs:Costs",
        feature=lambda plan: bool(plan.objective.measures),
    ),
    Option("skbayes.trial.aspects.constraints:OutcomeConstraints", ("constraints",)),
    Option("skbayes.trial.aspects.kept_fits:KeptFits", ("return_folds",)),
    Option(
        "skbayes.trial.aspects.predictions:Predictions",
        feature=lambda plan: plan.refit.rule == "ensemble",
    ),
    Option("skbayes.trial.aspects.pruning:Pruning", ("pruning",)),
    Option("skbayes.trial.aspects.limits:Limits", ("timeout", "trial_limits")),
    Option(
        "skbayes.options.callbacks.aspect:Callbacks",
        feature=lambda plan: plan.is_observed,
    ),
)


def aspects_of(plan: Plan) -> list[Aspect]:
    """Return the aspects of a search that are on."""
    kinds = [
        option.kind()
        for option in OPTIONS
        if option.is_requested(plan.settings) or option.feature(plan)
    ]
    return [kind(plan) for kind in kinds if kind.is_on(plan)]


def requested(settings: Mapping[str, Any]) -> list[type[Aspect]]:
    """Return the aspects whose parameters are set."""
    return [option.kind() for option in OPTIONS if option.is_requested(settings)]
