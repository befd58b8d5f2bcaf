"""Validation of the arguments of the optimizer, with messages that name them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from skbayes.space.optimum_prior import OptimumPrior
from skbayes.space.space import Space
from skbayes.surrogates.registry import capability

__all__ = [
    "check_cost",
    "check_cost_limit",
    "check_direction",
    "check_initial_points",
    "check_n_initial_points",
    "check_n_objectives",
    "check_noise",
    "check_noises",
    "check_prior",
    "check_random_state",
    "check_score",
    "check_scores",
]


def _as_float(name: str, value: Any) -> float:
    """Return a number as a float; infinity if it is too large for a float."""
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _is_integer(value: Any, least: int) -> bool:
    return isinstance(value, numbers.Integral) and int(value) >= least


def check_score(score: Any) -> float:
    """Return the score of a trial, NaN if it is not finite."""
    value = _as_float("score", score)
    return value if math.isfinite(value) else math.nan


def check_scores(score: Any, n_objectives: int | None) -> list[float]:
    """Return the scores of a trial, one for each objective.

    A single NaN is repeated for all objectives. `n_objectives` is None before the first
    score.
    """
    is_list = isinstance(score, list | tuple | np.ndarray) and np.ndim(score) > 0
    scores = (
        [check_score(value) for value in score] if is_list else [check_score(score)]
    )
    if not scores:
        raise ValueError(f"score must be a number or a list of numbers, got {score!r}.")
    if n_objectives in (None, len(scores)):
        return scores
    if len(scores) == 1 and math.isnan(scores[0]):
        return [math.nan] * n_objectives
    expected = "a number" if n_objectives == 1 else f"a list of {n_objectives} numbers"
    raise ValueError(f"score must be {expected}, as before, got {score!r}.")


def check_noises(noise: Any, surrogate: Any, n_objectives: int) -> list[float]:
    """Return the known variances of the scores of a trial; 0 by default."""
    if noise is None:
        return [0.0] * n_objectives
    given = [noise] if np.ndim(noise) == 0 else list(noise)
    if len(given) != n_objectives:
        raise ValueError(
            f"noise must have one number for each of {n_objectives} scores, got "
            f"{noise!r}."
        )
    return [check_noise(variance, surrogate) for variance in given]


def check_noise(noise: Any, surrogate: Any) -> float:
    """Return the known variance of a score; the surrogate must support it if > 0."""
    if noise is None:
        return 0.0
    value = _as_float("noise", noise)
    if not 0.0 <= value < math.inf:
        raise ValueError(f"noise must be >= 0 and finite, or None, got {noise!r}.")
    if value > 0.0 and not capability(surrogate, "takes_noise"):
        raise ValueError(
            f"noise must be 0 or None with the surrogate {surrogate!r}, whose fit has "
            "no parameter 'noise'."
        )
    return value


def check_cost(cost: Any, censored: Any) -> float | None:
    """Return the cost of a trial or None; a censored trial must have a cost."""
    if not isinstance(censored, bool | np.bool_):
        raise TypeError(f"censored must be True or False, got {censored!r}.")
    if cost is None:
        if censored:
            raise ValueError(
                "cost must be given with censored=True: the cost of the trial when it "
                "was cut short."
            )
        return None
    value = _as_float("cost", cost)
    if not 0.0 < value < math.inf:
        raise ValueError(f"cost must be > 0 and finite, or None, got {cost!r}.")
    return value


def check_cost_limit(name: str, value: Any) -> float | None:
    """Return a cost limit, > 0, or None."""
    if value is None:
        return None
    limit = _as_float(name, value)
    if not 0.0 < limit < math.inf:
        raise ValueError(f"{name} must be > 0 and finite, or None, got {value!r}.")
    return limit


def check_random_state(random_state: Any) -> int:
    """Return a seed: an int as it is, one drawn from a source, or a new one."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if _is_integer(random_state, 0):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(
        "random_state must be an integer >= 0, a RandomState, a Generator or None, "
        f"got {random_state!r}."
    )


def check_n_initial_points(n_initial_points: Any, auto: int) -> int:
    """Return the number of configurations before the surrogate chooses them."""
    if n_initial_points == "auto":
        return auto
    if _is_integer(n_initial_points, 0):
        return int(n_initial_points)
    raise ValueError(
        f"n_initial_points must be an integer >= 0 or 'auto', got {n_initial_points!r}."
    )


def check_prior(prior: Any, space: Space) -> OptimumPrior | None:
    """Return the prior over the best configuration, for the space."""
    if prior is None:
        return None
    if not isinstance(prior, OptimumPrior):
        raise TypeError(f"prior must be an OptimumPrior or None, got {prior!r}.")
    try:
        return prior.on(space)
    except ValueError as error:
        raise ValueError(f"prior: {error}") from error


def check_direction(
    direction: Any, n_objectives: Any
) -> tuple[tuple[float, ...], int | None]:
    """Return 1 or -1 to maximize or minimize objectives, and their number.

    A single sign is that of all objectives. The number is None if neither argument
    specifies it.
    """
    n = check_n_objectives(n_objectives)
    listed = [direction] if isinstance(direction, str) else direction
    if (
        not isinstance(listed, list | tuple)
        or not listed
        or any(name not in ("maximize", "minimize") for name in listed)
    ):
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


def check_n_objectives(n_objectives: Any) -> int | None:
    """Return the number of objectives, or None."""
    if n_objectives is None:
        return None
    if _is_integer(n_objectives, 1):
        return int(n_objectives)
    raise ValueError(
        f"n_objectives must be an integer >= 1 or None, got {n_objectives!r}."
    )


def check_initial_points(initial_points: Any, space: Space) -> list[dict[str, Any]]:
    """Return the configurations to propose first; `space` must allow them."""
    if initial_points is None:
        return []
    if isinstance(initial_points, Mapping | str):
        remedy = ""
        if isinstance(initial_points, Mapping):
            remedy = f"; write initial_points=[{dict(initial_points)!r}]"
        raise TypeError(
            f"initial_points must be a list of dicts, got {initial_points!r}{remedy}."
        )
    points = []
    for place, params in enumerate(initial_points):
        try:
            point = space.canonicalize(params)
        except ValueError as error:
            raise ValueError(f"initial_points[{place}]: {error}") from error
        if not space.allows(point):
            raise ValueError(
                f"initial_points[{place}]: not allowed by the constraint: {point!r}."
            )
        points.append(point)
    return points
