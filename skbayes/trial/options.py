"""Parsers of the parameters `refit`, `return_folds` and of limits."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skbayes.space.dimensions import is_number
from skbayes.utils.did_you_mean import did_you_mean
from skbayes.utils.process_tree import require_psutil

# Maximum number of members of an ensemble.
MAX_MEMBERS = 10

_UNITS = {
    "B": 1,
    **{f"{name}B": 1000**k for k, name in enumerate("kMGT", 1)},
    **{f"{name}iB": 1024**k for k, name in enumerate("KMGT", 1)},
}
_FACTORS = {name.lower(): factor for name, factor in _UNITS.items()}
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")

# Seconds of the units of time, by their names.
_SECONDS = {
    name: seconds
    for names, seconds in [
        ("s sec secs second seconds", 1),
        ("m min mins minute minutes", 60),
        ("h hr hrs hour hours", 3600),
        ("d day days", 86400),
    ]
    for name in names.split()
}


def parse_trial_limits(limits: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the limits of a trial, in seconds and bytes.

    An ImportError is raised if psutil, which measures the memory, is not installed.
    """
    parsed: dict[str, Any] = {}
    for name, value in (limits or {}).items():
        if name not in ("time", "memory"):
            raise ValueError(
                f"trial_limits: {name!r} is not the name of a limit; write "
                "trial_limits={'time': '5 min', 'memory': '2 GB'}, or one of them."
            )
        if value is not None and name == "time":
            parsed[name] = parse_time("trial_limits['time']", value)
        elif value is not None:
            require_psutil()
            parsed[name] = parse_size("trial_limits['memory']", value)
    return parsed


def parse_time(name: str, value: Any) -> float | None:
    """Convert the time limit `name`, such as "5 min", to seconds."""
    if value is None or (is_number(value) and value > 0):
        seconds: float | None = value
        return seconds
    total = _total(value, _SECONDS)
    if not total > 0.0:
        raise ValueError(
            f"{name} must be a positive number of seconds, or a string with the units "
            f"s, min, h or d, such as '90 s', '5 min' or '1h30m', got {value!r}."
        )
    # The journal then contains the same limit as for a number of seconds.
    return int(total) if total.is_integer() else total


def parse_size(name: str, value: Any) -> int:
    """Convert the size `name`, such as "2 GB", to bytes."""
    if is_number(value) and value >= 1 and value == int(value):
        return int(value)
    total = _total(value, _FACTORS)
    if not total > 0.0:
        raise ValueError(
            f"{name} must be a positive number of bytes, or a string with one of the "
            f"units {', '.join(_UNITS)}, such as '2 GB', got {value!r}."
        )
    return math.ceil(total)


def _total(text: Any, units: Mapping[str, float]) -> float:
    """Return the sum of the amounts in a string; 0 or NaN if it has other parts."""
    if not isinstance(text, str) or _AMOUNT.sub("", text):
        return 0.0
    parts = _AMOUNT.findall(text)
    return math.fsum(float(n) * units.get(unit.lower(), math.nan) for n, unit in parts)


def memory_text(size: float) -> str:
    """Format a size for messages."""
    unit, factor = ("GB", 1e9) if size >= 1e9 else ("MB", 1e6)
    return f"{float(f'{size / factor:.3g}'):g} {unit}"


# Rules by name, with the names of their options.
RULES: dict[str, frozenset[str]] = {
    "corrected": frozenset(),
    "ensemble": frozenset({"max_members"}),
}


@dataclass(frozen=True)
class RefitChoice:
    """Meaning of a value of `refit`.

    `plain` is a value that GridSearchCV accepts, or weights of objectives. With a
    `rule`, it is the metric of the rule, or True for a single metric. `metric` is the
    metric that `refit` names, if any.
    """

    plain: Any = True
    rule: str | None = None
    metric: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def refit_choice(refit: Any, scoring: Any = None) -> RefitChoice:
    """Return the meaning of a value of `refit`.

    A string that is one of several metrics of `scoring` is a metric, even if a rule has
    the same name. A dict without "rule" contains the weights of objectives.
    """
    is_dict = isinstance(refit, Mapping) and "rule" in refit
    options = dict(refit) if is_dict else {"rule": refit}
    rule, metric = options.pop("rule"), options.pop("metric", None)
    several = isinstance(scoring, list | tuple | set | Mapping)
    names = list(scoring) if several else []
    if isinstance(rule, str) and rule in RULES and (is_dict or rule not in names):
        for name in options:
            if name not in RULES[rule]:
                which = sorted({*RULES[rule], "metric"})
                raise ValueError(
                    f"refit: the rule {rule!r} has no option {name!r}."
                    f"{did_you_mean(name, which)} Its options are {which}."
                )
        plain = metric or (names[0] if names else True)
        return RefitChoice(plain, rule, metric, options)
    metric = rule if isinstance(rule, str) else getattr(rule, "metric", None)
    return RefitChoice(rule, None, metric if isinstance(metric, str) else None)


def returns_estimators(return_folds: Any) -> bool:
    """Return whether the estimators of the folds are requested."""
    return "estimators" in _requests(return_folds)


def returns_all(return_folds: Any) -> bool:
    """Return whether the results of all trials are requested."""
    return "all" in _requests(return_folds)


def oof_method(return_folds: Any) -> str | None:
    """Return the method for out-of-fold predictions, if one is requested."""
    requests = _requests(return_folds)
    methods = [name for name in requests if name not in ("estimators", "all")]
    if requests == ["all"]:
        raise ValueError(
            f"return_folds={return_folds!r} does not say what to return; write "
            "return_folds=['all', 'estimators'], or a method such as 'predict_proba'."
        )
    if len(methods) > 1:
        raise ValueError(
            f"return_folds={return_folds!r} names {len(methods)} methods; one is "
            "possible, such as return_folds=['estimators', 'predict_proba']."
        )
    return methods[0] if methods else None


def several_outputs(method: str) -> ValueError:
    """Return the error for a method that returns a list with one array per target."""
    return ValueError(
        f"return_folds={method!r} is not possible with several outputs; the estimator "
        "returns a list."
    )


def _requests(return_folds: Any) -> list[str]:
    if return_folds is True:
        raise ValueError(
            "return_folds=True does not say what to return; write "
            "return_folds='estimators', or a method such as 'predict_proba'."
        )
    asked = [return_folds] if isinstance(return_folds, str) else return_folds or []
    for name in asked:
        if not isinstance(name, str) or re.match("(partial_)?fit|get_|set_", name):
            raise ValueError(
                "return_folds must contain 'estimators', 'all' or a method such as "
                f"'predict_proba', got {name!r}."
            )
    return list(asked)
