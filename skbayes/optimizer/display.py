"""Text and HTML representations of optimizers."""

from __future__ import annotations

import math
from typing import Any

from skbayes.utils.html_table import html_table

__all__ = ["OptimizerDisplay"]


class OptimizerDisplay:
    """Mixin with a one-line text representation and a table for notebooks."""

    def __repr__(self) -> str:
        facts = ", ".join(f"{label} {text}" for label, text in _facts(self))
        return f"<{_title(self)}: {facts}>"

    def _repr_html_(self) -> str:
        return html_table(_title(self), _facts(self))


def _title(optimizer: Any) -> str:
    names = ", ".join(optimizer.space.parameter_names) or "no parameters"
    return f"{type(optimizer).__name__} of {names}"


def _facts(optimizer: Any) -> list[tuple[str, str]]:
    """Return the labels and values that are displayed."""
    surrogate = optimizer.surrogate
    if not isinstance(surrogate, str):
        surrogate = type(surrogate).__name__
    observed = optimizer._observed.scores
    n_failed = sum(math.isnan(scores[0]) for scores in observed)
    facts = [
        ("surrogate", surrogate),
        (
            "observed",
            f"{len(observed)} ({n_failed} failed)" if n_failed else str(len(observed)),
        ),
        ("pending", str(len(optimizer._pending))),
    ]
    if optimizer._learned.scores:
        facts.append(("learned", str(len(optimizer._learned.scores))))
    eligible = optimizer._eligible
    if not eligible:
        return facts
    if len(eligible[0][0]) > 1:
        return [*facts, ("Pareto front", str(len(optimizer.pareto_front)))]
    scores, params, _ = optimizer._best()
    (score,) = optimizer._signed(scores)
    return [*facts, ("best score", f"{score:.6g}"), ("best params", repr(params))]
