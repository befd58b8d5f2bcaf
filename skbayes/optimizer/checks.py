"""Checks of the scores, noises and costs that an optimizer receives."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from skbayes.surrogates.registry import capability


def _as_float(name: str, value: Any) -> float:
    """Return a number as a float; infinity if it is too large for a float."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def check_scores(score: Any, n_objectives: int | None) -> list[float]:
    """Return the scores of a trial, one for each objective, NaN if not finite.

    A single NaN is repeated for all objectives. `n_objectives` is None before the first
    score.
    """
    is_list = isinstance(score, list | tuple | np.ndarray) and np.ndim(score) > 0
    scores = [_as_float("score", value) for value in (score if is_list else [score])]
    scores = [value if math.isfinite(value) else math.nan for value in scores]
    if not scores:
        raise ValueError(f"score must be a number or a list of numbers, got {score!r}.")
    if n_objectives in (None, len(scores)):
        return scores
    if len(scores) == 1 and math.isnan(scores[0]):
        return scores * n_objectives
    expected = "a number" if n_objectives == 1 else f"a list of {n_objectives} numbers"
    raise ValueError(f"score must be {expected}, as before, got {score!r}.")


def check_noises(noise: Any, surrogate: Any, n_objectives: int) -> list[float]:
    """Return the known variances of the scores of a trial; 0 by default."""
    if noise is None:
        return [0.0] * n_objectives
    noises = [noise] if np.ndim(noise) == 0 else list(noise)
    if len(noises) != n_objectives:
        raise ValueError(
            f"noise must have one number for each of {n_objectives} scores, got "
            f"{noise!r}."
        )
    variances = [0.0 if v is None else _as_float("noise", v) for v in noises]
    if not all(0.0 <= variance < math.inf for variance in variances):
        raise ValueError(f"noise must be >= 0 and finite, or None, got {noise!r}.")
    if any(variances):
        check_takes_noise(surrogate)
    return variances


def check_takes_noise(surrogate: Any, rule: str = "noise must be 0 or None") -> None:
    """Raise a ValueError with a rule if a surrogate takes no variances of scores."""
    if not capability(surrogate, "takes_noise"):
        raise ValueError(
            f"{rule} with the surrogate {surrogate!r}, whose fit has no parameter "
            "'noise'."
        )


def check_positive(name: str, value: Any) -> float | None:
    """Return a cost or a limit, > 0, or None."""
    if value is None:
        return None
    number = _as_float(name, value)
    if not 0.0 < number < math.inf:
        raise ValueError(f"{name} must be > 0 and finite, or None, got {value!r}.")
    return number


def check_cost(cost: Any, censored: Any = False) -> float | None:
    """Return the cost of a trial or None; a censored trial must have a cost."""
    if not isinstance(censored, bool | np.bool_):
        raise TypeError(f"censored must be True or False, got {censored!r}.")
    if cost is None and censored:
        raise ValueError(
            "cost must be given with censored=True: the cost of the trial when it "
            "ended."
        )
    return check_positive("cost", cost)


def check_direction(
    direction: Any, n_objectives: Any
) -> tuple[tuple[float, ...], int | None]:
    """Return 1 or -1 to maximize or minimize objectives, and their number.

    A single direction applies to all objectives. The number is None if neither argument
    specifies it.
    """
    n = n_objectives
    if n is not None and not (isinstance(n, numbers.Integral) and int(n) >= 1):
        raise ValueError(f"n_objectives must be an integer >= 1 or None, got {n!r}.")
    listed = [direction] if isinstance(direction, str) else direction
    is_list = isinstance(listed, list | tuple) and len(listed) > 0
    if not is_list or any(name not in ("maximize", "minimize") for name in listed):
        raise ValueError(
            "direction must be 'maximize' or 'minimize', or a list with one of them "
            f"for each objective, got {direction!r}."
        )
    if not isinstance(direction, str):
        if n not in (None, len(listed)):
            raise ValueError(
                f"direction must have one element for each of {n} objectives "
                f"(n_objectives), got {direction!r}."
            )
        n = len(listed)
    return tuple(1.0 if name == "maximize" else -1.0 for name in listed), n
