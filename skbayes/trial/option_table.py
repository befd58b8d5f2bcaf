"""Table of the options: their modules, which are imported if a search needs them.

The rows are in the order in which the hooks of their aspects are called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from sklearn.pipeline import Pipeline

from skbayes import compat
from skbayes.trial.aspect import Aspect, Tasks
from skbayes.utils.late import load
from skbayes.utils.optional import is_enabled

if TYPE_CHECKING:
    from skbayes.trial.backend import Backend
    from skbayes.trial.limits import FitLimits
    from skbayes.trial.objectives import Objective
    from skbayes.trial.settings import Settings


COUNT = compat.Interval(Integral, 1, None, closed="left")
POSITIVE = compat.Interval(Real, 0, None, closed="neither")

# Reader of the trials of a journal.
JOURNAL_SOURCE = "skbayes.options.journal.source:source_of"


@dataclass(frozen=True)
class Option:
    """Aspect of an option, "module:class", with what turns it on.

    The values that its `parameters` accept are in scikit-learn's format. It is on if
    one of them is neither None nor False, or by a function `is_on`.
    """

    aspect: str
    parameters: Mapping[str, list[Any]] = field(default_factory=dict)
    is_on: Callable[[Settings, Objective, Tasks], bool] | None = None

    def is_needed(self, settings: Settings, objective: Objective, tasks: Tasks) -> bool:
        """Return whether a search has the aspect."""
        if self.is_on is not None:
            return self.is_on(settings, objective, tasks)
        return any(is_enabled(settings.params.get(name)) for name in self.parameters)

    def kind(self) -> type[Aspect]:
        """Return the class of the aspect, whose module is imported on first use."""
        return load(self.aspect)


def _shares_steps(settings: Settings, objective: Objective, tasks: Tasks) -> bool:
    """Return whether there are first steps, which no callbacks observe."""
    estimator = settings.estimator
    has_steps = type(estimator) is Pipeline and len(estimator.steps) > 1
    return has_steps and not tasks.is_observed


OPTIONS = (
    Option("skbayes.options.shared_steps.aspect:SharedSteps", is_on=_shares_steps),
    Option(
        "skbayes.options.early_stopping.aspect:EarlyStopping",
        {"early_stopping": [COUNT, compat.StrOptions({"auto"}), None]},
    ),
    Option(
        "skbayes.options.costs.aspect:Costs",
        is_on=lambda settings, objective, tasks: bool(objective.measures),
    ),
    Option(
        "skbayes.options.constraints.aspect:OutcomeConstraints",
        {"constraints": [callable, Mapping, list, tuple, None]},
        is_on=lambda settings, objective, tasks: bool(settings.bounds),
    ),
    Option(
        "skbayes.options.folds.aspect:FoldEstimators",
        {"return_folds": ["boolean", str, list, tuple]},
    ),
    Option(
        "skbayes.options.ensembles.aspect:Predictions",
        is_on=lambda settings, objective, tasks: settings.refit.rule == "ensemble",
    ),
    Option(
        "skbayes.trial.pruning:Pruning",
        {"pruning": ["boolean", compat.Interval(Real, 0, 0.5, closed="neither")]},
    ),
    Option(
        "skbayes.options.limits.aspect:Limits",
        {"timeout": [POSITIVE, str, None], "trial_limits": [Mapping, None]},
        is_on=lambda settings, objective, tasks: settings.limits.is_set,
    ),
    Option(
        "skbayes.options.callbacks.aspect:Callbacks",
        is_on=lambda settings, objective, tasks: tasks.is_observed,
    ),
)


def aspects_of(settings: Settings, objective: Objective, tasks: Tasks) -> list[Aspect]:
    """Make the aspects of a search."""
    args = settings, objective, tasks
    return [option.kind()(*args) for option in OPTIONS if option.is_needed(*args)]


def parameters() -> dict[str, list[Any]]:
    """Return the values that the parameters of the options accept, by name."""
    return {k: v for option in OPTIONS for k, v in option.parameters.items()}


def killable(
    backend: Backend, limits: FitLimits, environment: Mapping[str, str]
) -> Backend:
    """Return a backend whose fits run in processes that can be killed."""
    kind = load("skbayes.options.limits.killable_backend:KillableBackend")
    return kind(backend, limits, environment)


def require(name: str) -> None:
    """Raise ImportError if the table does not have an option."""
    if not any(f".options.{name}." in option.aspect for option in OPTIONS):
        raise ImportError(f"No module named 'skbayes.options.{name}' in the table.")
