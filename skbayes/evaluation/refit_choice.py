"""Meaning of the parameter `refit`: a metric, a rule by its name, or a callable."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from skbayes.utils.did_you_mean import did_you_mean

__all__ = ["RULES", "RefitChoice", "refit_choice", "rule_of"]

# Rules by name, with the names of their options.
RULES: dict[str, frozenset[str]] = {
    "corrected": frozenset(),
    "ensemble": frozenset(
        {"max_members", "members", "min_gain", "max_predict_cost", "memory_limit"}
    ),
}


@dataclass(frozen=True)
class RefitChoice:
    """Meaning of a value of `refit`.

    Parameters
    ----------
    rule : str or None
        Name of a rule; None for booleans, names of metrics, and callables.
    metric : str or None
        Metric that is named, if any.
    options : dict
        Options of the rule.
    """

    rule: str | None = None
    metric: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def refit_choice(refit: Any, metrics: Collection[str] | Any = ()) -> RefitChoice:
    """Return the meaning of a value of `refit`.

    Parameters
    ----------
    refit : bool, str, dict or callable
        A string in `metrics` is a metric, also if a rule has the same name. A dict
        contains the name of a rule as "rule", and may contain "metric" and its options.
    metrics : collection of str
        Names of the metrics of `scoring`, if they are known.

    Returns
    -------
    choice : RefitChoice
        Rule, metric and options.

    Raises
    ------
    ValueError
        If a dict names no rule, or contains an unknown option.
    """
    if isinstance(refit, str):
        several = isinstance(metrics, Collection) and not isinstance(metrics, str)
        named = several and refit in metrics
        if refit in RULES and not named:
            return RefitChoice(refit)
        return RefitChoice(metric=refit)
    if not isinstance(refit, Mapping):
        metric = getattr(refit, "metric", None)
        return RefitChoice(metric=metric if isinstance(metric, str) else None)
    rule, metric = refit.get("rule"), refit.get("metric")
    if rule not in RULES:
        names = ", ".join(map(repr, sorted(RULES)))
        raise ValueError(f"refit['rule'] must be one of {names}, got {rule!r}.")
    options = {k: v for k, v in refit.items() if k not in ("rule", "metric")}
    for name in options:
        if name not in RULES[rule]:
            known = sorted(RULES[rule] | {"metric"})
            raise ValueError(
                f"refit: the rule {rule!r} has no option {name!r}."
                f"{did_you_mean(name, known)} Its options are {known}."
            )
    return RefitChoice(rule, metric, options)


def rule_of(refit: Any, metrics: Collection[str] | Any = ()) -> RefitChoice:
    """Return the meaning of `refit`; weights of objectives in a dict are no rule."""
    if isinstance(refit, Mapping) and "rule" not in refit:
        return RefitChoice()
    return refit_choice(refit, metrics)
