"""Table of the options: their modules, which are imported if a search needs them.

The rows are in the order in which the hooks of their aspects are called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from skbayes import compat
from skbayes.trial.aspect import Aspect
from skbayes.utils.late import load
from skbayes.utils.optional import is_given

if TYPE_CHECKING:
    from skbayes.trial.backend import Backend
    from skbayes.trial.limits import FitLimits
    from skbayes.trial.plan import Plan


COUNT = compat.Interval(Integral, 1, None, closed="left")
POSITIVE = compat.Interval(Real, 0, None, closed="neither")

# Reader of the trials of a journal.
JOURNAL_SOURCE = "skbayes.options.journal.source:source_of"


@dataclass(frozen=True)
class Option:
    """Aspect of an option, "module:class", with what turns it on.

    One of the `parameters` is neither None nor False, or the plan has a `feature`. The
    values that the parameters accept are in scikit-learn's format.
    """

    aspect: str
    parameters: Mapping[str, list[Any]] = field(default_factory=dict)
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
        "skbayes.options.shared_steps.aspect:SharedSteps",
        feature=lambda plan: "shared_steps" in plan.notes,
    ),
    Option(
        "skbayes.options.early_stopping.aspect:EarlyStopping",
        {"early_stopping": [COUNT, compat.StrOptions({"auto"}), None]},
    ),
    Option(
        "skbayes.options.costs.aspect:Costs",
        feature=lambda plan: bool(plan.objective.measures),
    ),
    Option(
        "skbayes.options.constraints.aspect:OutcomeConstraints",
        {"constraints": [callable, Mapping, list, tuple, None]},
    ),
    Option(
        "skbayes.options.folds.aspect:KeptFits",
        {"return_folds": ["boolean", str, list, tuple]},
    ),
    Option(
        "skbayes.options.ensembles.aspect:Predictions",
        feature=lambda plan: plan.refit.rule == "ensemble",
    ),
    Option(
        "skbayes.trial.pruning:Pruning",
        {"pruning": ["boolean", compat.Interval(Real, 0, 0.5, closed="neither")]},
    ),
    Option(
        "skbayes.options.limits.aspect:Limits",
        {"timeout": [POSITIVE, str, None], "trial_limits": [Mapping, None]},
    ),
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


def parameters() -> dict[str, list[Any]]:
    """Return the values that the parameters of the options accept, by name."""
    return {k: v for option in OPTIONS for k, v in option.parameters.items()}


def killable(
    backend: Backend, limits: FitLimits, environment: Mapping[str, str]
) -> Backend:
    """Return a backend whose fits run in processes that can be killed."""
    kind: Callable[..., Backend] = load(
        "skbayes.options.limits.backend:KillableBackend"
    )
    return kind(backend, limits, environment)


def require(name: str) -> None:
    """Raise ImportError if the table does not have an option."""
    if not any(f".options.{name}." in option.aspect for option in OPTIONS):
        raise ImportError(f"No module named 'skbayes.options.{name}' in the table.")
