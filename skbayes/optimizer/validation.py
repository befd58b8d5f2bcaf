"""Checks of what users hand to the optimizer, each with a message that names it."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from skbayes.acquisition.improvement import (
    Acquisition,
    ExpectedImprovement,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
)
from skbayes.acquisition.influence import ExpectedInfluence
from skbayes.space import Space
from skbayes.surrogates.parzen import ParzenEstimator
from skbayes.surrogates.registry import SURROGATES

__all__ = [
    "check_acquisition",
    "check_cost",
    "check_initial_points",
    "check_n_initial_points",
    "check_n_objectives",
    "check_noise",
    "check_noises",
    "check_random_state",
    "check_score",
    "check_scores",
    "check_surrogate",
]

ACQUISITIONS: dict[str, type[Acquisition | ExpectedInfluence]] = {
    "ei": ExpectedImprovement,
    "eif": ExpectedInfluence,
    "pi": ProbabilityOfImprovement,
    "ucb": UpperConfidenceBound,
}


def _as_float(name: str, value: Any) -> float:
    """Return a number as a float, an infinity if it is too large for one."""
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def check_score(score: Any) -> float:
    """Return the score of a trial.

    Parameters
    ----------
    score : object
        What was told.

    Returns
    -------
    score : float
        The score, NaN if it is not finite.

    Raises
    ------
    TypeError
        If it is not a number.
    """
    value = _as_float("score", score)
    return value if math.isfinite(value) else math.nan


def check_scores(score: Any, n_objectives: int | None) -> list[float]:
    """Return the scores of a trial, one for each objective.

    Parameters
    ----------
    score : object
        What was told.
    n_objectives : int or None
        How many there were before; None while that is not known.

    Returns
    -------
    scores : list of float
        One for a number, NaN for what is not finite. NaN alone stands for as many as
        there were before.

    Raises
    ------
    TypeError
        If it is neither a number nor a list of numbers.
    ValueError
        If it is an empty list, or there were not as many before.
    """
    is_list = isinstance(score, list | tuple | np.ndarray) and np.ndim(score) > 0
    scores = [check_score(one) for one in score] if is_list else [check_score(score)]
    if not scores:
        raise ValueError(f"score must be a number, or a list of some, got {score!r}.")
    if n_objectives in (None, len(scores)):
        return scores
    if len(scores) == 1 and math.isnan(scores[0]):
        return [math.nan] * n_objectives
    expected = "a number" if n_objectives == 1 else f"a list of {n_objectives} numbers"
    raise ValueError(f"score must be {expected}, as before, got {score!r}.")


def check_noises(noise: Any, surrogate: Any, n_objectives: int) -> list[float]:
    """Return the known variances of the scores of a trial.

    Parameters
    ----------
    noise : object
        What was told: a number, or a list of one for each objective if there are
        several.
    surrogate : str or object
        The model that will be given them.
    n_objectives : int
        How many scores there are.

    Returns
    -------
    noises : list of float
        The variances; 0 if none were told.

    Raises
    ------
    TypeError
        If one is not a number.
    ValueError
        If one is negative or not finite, there are not as many as there are scores, or
        the surrogate's ``fit`` does not take them.
    """
    if noise is None:
        return [0.0] * n_objectives
    given = [noise] if np.ndim(noise) == 0 else list(noise)
    if len(given) != n_objectives:
        raise ValueError(
            f"noise must have a number for each of {n_objectives} scores, got "
            f"{noise!r}."
        )
    return [check_noise(one, surrogate) for one in given]


def check_cost(cost: Any, censored: Any) -> float | None:
    """Return the cost of a trial.

    Parameters
    ----------
    cost : object
        What was told.
    censored : object
        Whether the trial was cut short.

    Returns
    -------
    cost : float or None
        The cost; None if none was told.

    Raises
    ------
    TypeError
        If `cost` is not a number, or `censored` no bool.
    ValueError
        If `cost` is not positive and finite, or missing from a censored trial.
    """
    if not isinstance(censored, bool | np.bool_):
        raise TypeError(f"censored must be True or False, got {censored!r}.")
    if cost is None:
        if censored:
            raise ValueError(
                "cost must be given with censored=True: what the trial had cost when "
                "it was cut short."
            )
        return None
    value = _as_float("cost", cost)
    if not 0.0 < value < math.inf:
        raise ValueError(f"cost must be > 0 and finite, or None, got {cost!r}.")
    return value


def check_noise(noise: Any, surrogate: Any) -> float:
    """Return the known variance of a score.

    Parameters
    ----------
    noise : object
        What was told.
    surrogate : str or object
        The model that will be given it.

    Returns
    -------
    noise : float
        The variance; 0 if none was told.

    Raises
    ------
    TypeError
        If it is not a number.
    ValueError
        If it is negative or not finite, or the surrogate's ``fit`` does not take it.
    """
    if noise is None:
        return 0.0
    value = _as_float("noise", noise)
    if not 0.0 <= value < math.inf:
        raise ValueError(f"noise must be >= 0 and finite, or None, got {noise!r}.")
    if value > 0.0 and not _takes_noise(surrogate):
        raise ValueError(
            f"noise must be 0 or None with the surrogate {surrogate!r}, whose fit has "
            "no parameter 'noise'."
        )
    return value


def _takes_noise(surrogate: Any) -> bool:
    # A graph's labels are exact; what does not predict scores cannot mistake them.
    if isinstance(surrogate, str | ParzenEstimator):
        return not surrogate == "graph"
    parameters = inspect.signature(surrogate.fit).parameters
    return "noise" in parameters or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    )


def check_random_state(random_state: Any) -> int:
    """Return the seed of a source of randomness.

    Parameters
    ----------
    random_state : object
        What the user gave.

    Returns
    -------
    seed : int
        The seed itself, one drawn from the source, or a fresh one for None.

    Raises
    ------
    ValueError
        If it is nothing of the kind.
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(
        "random_state must be an integer >= 0, a RandomState, a Generator or None, "
        f"got {random_state!r}."
    )


def check_n_initial_points(n_initial_points: Any, auto: int = 3) -> int:
    """Return the number of configurations before the model decides.

    Parameters
    ----------
    n_initial_points : object
        What the user gave.
    auto : int, default=3
        What "auto" stands for.

    Returns
    -------
    n_initial_points : int
        The number.

    Raises
    ------
    ValueError
        If it is neither an integer >= 0 nor "auto".
    """
    if n_initial_points == "auto":
        return auto
    if isinstance(n_initial_points, numbers.Integral) and int(n_initial_points) >= 0:
        return int(n_initial_points)
    raise ValueError(
        f"n_initial_points must be an integer >= 0 or 'auto', got {n_initial_points!r}."
    )


def check_n_objectives(n_objectives: Any) -> int:
    """Return the number of objectives.

    Parameters
    ----------
    n_objectives : object
        What the user gave.

    Returns
    -------
    n_objectives : int
        The number.

    Raises
    ------
    ValueError
        If it is no integer >= 1.
    """
    if isinstance(n_objectives, numbers.Integral) and int(n_objectives) >= 1:
        return int(n_objectives)
    raise ValueError(
        f"n_objectives must be an integer >= 1 or None, got {n_objectives!r}."
    )


def check_initial_points(initial_points: Any, space: Space) -> list[dict[str, Any]]:
    """Return the configurations that are to be proposed first.

    Parameters
    ----------
    initial_points : object
        What the user gave.
    space : Space
        The space.

    Returns
    -------
    points : list of dict
        Configurations of the space; none for None.

    Raises
    ------
    TypeError
        If it is not a list of dicts.
    ValueError
        If one is no configuration of the space, or not allowed by its constraint.
    """
    if initial_points is None:
        return []
    if isinstance(initial_points, Mapping | str):
        raise TypeError(
            f"initial_points must be a list of dicts, got {initial_points!r}."
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


def check_acquisition(acquisition: Any) -> Acquisition | ExpectedInfluence:
    """Return the acquisition function that is meant.

    Parameters
    ----------
    acquisition : object
        What the user gave.

    Returns
    -------
    acquisition : Acquisition or ExpectedInfluence
        The instance, or a new one of the class that is named.

    Raises
    ------
    ValueError
        If it is neither a known name nor an instance.
    """
    if isinstance(acquisition, Acquisition | ExpectedInfluence):
        return acquisition
    if isinstance(acquisition, str) and acquisition in ACQUISITIONS:
        return ACQUISITIONS[acquisition]()
    raise ValueError(
        f"acquisition must be one of {sorted(ACQUISITIONS)}, an Acquisition or an "
        f"ExpectedInfluence, got {acquisition!r}."
    )


def check_surrogate(surrogate: Any) -> Any:
    """Return the surrogate.

    Parameters
    ----------
    surrogate : object
        What the user gave.

    Returns
    -------
    surrogate : str or object
        The same.

    Raises
    ------
    ValueError
        If it is neither a known name nor an object with the methods needed.
    """
    if isinstance(surrogate, str):
        if surrogate in SURROGATES:
            return surrogate
    elif isinstance(surrogate, type):
        raise ValueError(
            f"surrogate must be an object, got the class {surrogate.__name__}; write "
            f"{surrogate.__name__}() with its parameters."
        )
    elif isinstance(surrogate, ParzenEstimator):
        return surrogate
    elif all(hasattr(surrogate, name) for name in ("fit", "predict", "condition")):
        return surrogate
    raise ValueError(
        f"surrogate must be one of {sorted(SURROGATES)} or an object with fit, predict "
        f"and condition, got {surrogate!r}."
    )
