"""Aspects of trials, one module each, in the order in which their hooks are called.

The module of an aspect is imported if the aspect is on.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skbayes.evaluation.aspect import Aspect
    from skbayes.evaluation.run import SearchRun

__all__ = ["aspects_of"]

# Class of each aspect, and the condition under which it is on.
_ASPECTS: tuple[tuple[str, Callable[[SearchRun], bool]], ...] = (
    ("shared_steps.SharedSteps", lambda run: run.cache is not None),
    ("costs.Costs", lambda run: bool(run.objective.measures)),
    ("rounds.Rounds", lambda run: run.options.rounds is not None),
    ("constraints.OutcomeConstraints", lambda run: run.constraints is not None),
    ("kept_fits.KeptFits", lambda run: run.options.keep_fits is not None),
    ("racing.Racing", lambda run: run.options.pruning_risk is not None),
    ("callbacks.Callbacks", lambda run: run.tasks.is_observed),
)


def aspects_of(run: SearchRun) -> list[Aspect]:
    """Return the aspects of a search that are on."""
    found: list[Aspect] = []
    for path, is_on in _ASPECTS:
        if is_on(run):
            module, _, name = path.partition(".")
            kind = getattr(import_module(f"{__name__}.{module}"), name)
            found.append(kind(run))
    return found
