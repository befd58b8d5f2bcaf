"""Settings of a search: the values of its parameters, parsed once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skbayes.space.dimensions import is_number
from skbayes.trial.limits import FitLimits
from skbayes.utils.did_you_mean import did_you_mean
from skbayes.utils.optional import is_enabled
from skbayes.utils.process_tree import require_psutil

# Maximum number of members of an ensemble.
MAX_MEMBERS = 10

# With pruning=True, the chance to become the best below which a trial is pruned.
PRUNING_RISK = 0.2

_UNITS = {
    "B": 1,
    **{f"{name}B": 1000**k for k, name in enumerate("kMGT", 1)},
    **{f"{name}iB": 1024**k for k, name in enumerate("KMGT", 1)},
}
_BYTES = {name.lower(): factor for name, factor in _UNITS.items()}
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


def parse_limits(trial_limits: Mapping[str, Any] | None, timeout: Any) -> FitLimits:
    """Return the limits of the fits in seconds and bytes.

    An ImportError is raised if psutil, which measures the memory, is not installed.
    """
    seconds, size = None, None
    for name, value in (trial_limits or {}).items():
        if name not in ("time", "memory"):
            raise ValueError(
                f"trial_limits: {name!r} is not the name of a limit; write "
                "trial_limits={'time': '5 min', 'memory': '2 GB'}, or one of them."
            )
        if value is not None and name == "time":
            seconds = parse_time("trial_limits['time']", value)
        elif value is not None:
            require_psutil()
            size = parse_size("trial_limits['memory']", value)
    return FitLimits(seconds, size, parse_time("timeout", timeout))


def parse_time(name: str, value: Any) -> float | None:
    """Convert the time limit `name`, such as "5 min", to seconds."""
    if value is None:
        return None
    total = float(value) if is_number(value) else _total(value, _SECONDS)
    if not 0.0 < total < math.inf:
        raise ValueError(
            f"{name} must be a positive number of seconds, or a string with the units "
            f"s, min, h or d, such as '90 s', '5 min' or '1h30m', got {value!r}."
        )
    # The journal then contains the same limit as for a number of seconds.
    return int(total) if total.is_integer() else total


def parse_size(name: str, value: Any) -> int:
    """Convert the size `name`, such as "2 GB", to bytes."""
    if is_number(value) and 1 <= value < math.inf and value == int(value):
        return int(value)
    total = _total(value, _BYTES)
    if not 0.0 < total < math.inf:
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
    metric that `refit` names, if any, and `value` that of `refit`. `scored_by` is a
    value for scikit-learn's methods, usually `plain`.
    """

    plain: Any = True
    rule: str | None = None
    metric: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    value: Any = field(default=True, compare=False)
    scored_by: Any = field(default=True, compare=False)


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
        return RefitChoice(plain, rule, metric, options, refit, plain)
    metric = rule if isinstance(rule, str) else getattr(rule, "metric", None)
    metric = metric if isinstance(metric, str) else None
    return RefitChoice(rule, None, metric, value=refit, scored_by=rule)


@dataclass(frozen=True)
class FoldRequest:
    """Results of the folds that `return_folds` requests: of the best trial, or of all.

    These are `estimators`, and predictions by a `method`.
    """

    estimators: bool = False
    of_all: bool = False
    method: str | None = None


def parse_return_folds(value: Any) -> FoldRequest:
    """Return the meaning of a value of `return_folds`."""
    if value is True:
        raise ValueError(
            "return_folds=True does not say what to return; write "
            "return_folds='estimators', or a method such as 'predict_proba'."
        )
    names = [value] if isinstance(value, str) else list(value or [])
    for name in names:
        if not isinstance(name, str) or re.match("(partial_)?fit|get_|set_", name):
            raise ValueError(
                "return_folds must contain 'estimators', 'all' or a method such as "
                f"'predict_proba', got {name!r}."
            )
    methods = [name for name in names if name not in ("estimators", "all")]
    if names == ["all"]:
        raise ValueError(
            f"return_folds={value!r} does not say what to return; write "
            "return_folds=['all', 'estimators'], or a method such as 'predict_proba'."
        )
    if len(methods) > 1:
        raise ValueError(
            f"return_folds={value!r} names {len(methods)} methods; one is "
            "possible, such as return_folds=['estimators', 'predict_proba']."
        )
    method = methods[0] if methods else None
    return FoldRequest("estimators" in names, "all" in names, method)


# Rule for configurations: which of them are allowed.
Rule = Callable[[dict[str, Any]], bool]


@dataclass(frozen=True)
class Settings:
    """Parameters of a search, parsed once, with their values for the data of a fit.

    `params` are the parameters by name, as they were passed. `sizes` are those of the
    training subsets. `initial_points` are None by default, and `n_initial` if it is not
    set. The `constraints` are a `rule` for configurations and `bounds` on outcomes.
    """

    params: Mapping[str, Any] = field(default_factory=dict)
    estimator: Any = None
    search_spaces: Any = "auto"
    cv: Any = None
    scoring: Any = None
    refit: RefitChoice = RefitChoice()
    n_iter: Any = None
    sizes: Any = 1.0
    initial_points: list[dict[str, Any]] | None = None
    n_initial: int | None = None
    limits: FitLimits = FitLimits()
    stoppers: Sequence[Callable[..., Any]] = ()
    rule: Rule | None = None
    bounds: Mapping[str, Any] = field(default_factory=dict)
    early_stopping: Any = None
    pruning: bool | float = False
    return_folds: FoldRequest = FoldRequest()
    verbose: Any = 0
    error_score: Any = np.nan
    return_train_score: bool = False
    warm_start_from: Any = None

    @property
    def scores_rounds(self) -> bool:
        """Whether rounds are scored during a fit, which may have more of them."""
        return is_enabled(self.early_stopping)

    @property
    def pruning_risk(self) -> float | None:
        """Chance to become the best below which a trial is pruned; None: no pruning."""
        if isinstance(self.pruning, bool | np.bool_):
            return PRUNING_RISK if self.pruning else None
        return float(self.pruning)

    @property
    def missing_score(self) -> float:
        """Score of a failed fit: `error_score`, or NaN instead of "raise"."""
        is_text = isinstance(self.error_score, str)
        return math.nan if is_text else float(self.error_score)
