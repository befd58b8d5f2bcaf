"""Methods that are compared in auto_spaces.py, with a common ask/tell interface.

The first trial of each method is the estimator's own values, if they are in the space.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from skbayes import Optimizer
from skbayes.space import Integer, OptimumPrior, Real, Space
from skbayes.spaces.learned_prior import learned_prior

__all__ = ["METHODS", "Problem"]

Params = dict[str, Any]


class Problem:
    """Task as it is passed to a method: parts of an estimator, spaces, and knowledge.

    Parameters
    ----------
    parts : list of Part
        Parts of the estimator.
    space : Space
        Default search space of the estimator.
    hand_written : dict
        Search space of a practitioner.
    own : dict
        The estimator's own values.
    known : dict
        Knowledge by class.
    """

    def __init__(
        self, parts: Any, space: Space, hand_written: Any, own: Params, known: Any
    ) -> None:
        self.parts, self.space, self.own, self.known = parts, space, own, known
        self.hand_written = hand_written

    def own_point(self, space: Space) -> list[Params]:
        """Return the estimator's own values as a configuration, or None if outside."""
        found = space.selection(self.own)
        return [] if found is None else [found]


def auto(problem: Problem, seed: int, n: int = 0, densities: bool = True) -> Any:
    """Search the default space with portfolio and densities."""
    given = (problem.parts, problem.space, problem.own, problem.known)
    prior = learned_prior(*given)
    if prior is None:
        return without_knowledge(problem, seed)
    if not densities:
        prior = OptimumPrior(problem.space, {}, prior.portfolio)
    if n and prior.portfolio is not None:
        prior.portfolio.n_first = n
    points = problem.own_point(problem.space)
    return Optimizer(
        problem.space, initial_points=points, prior=prior, random_state=seed
    )


def without_knowledge(problem: Problem, seed: int) -> Any:
    """Search the default space, beginning with the estimator's own values."""
    points = problem.own_point(problem.space)
    return Optimizer(problem.space, initial_points=points, random_state=seed)


def hand_written(problem: Problem, seed: int) -> Any:
    """Search a practitioner's space, beginning with the estimator's own values."""
    space = Space.from_notation(problem.hand_written)
    return Optimizer(space, initial_points=problem.own_point(space), random_state=seed)


class Queue:
    """Random search that begins with the estimator's own values."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self._optimizer = Optimizer(
            problem.space,
            surrogate="random",
            initial_points=problem.own_point(problem.space),
            random_state=seed,
        )

    def ask(self) -> Params:
        return self._optimizer.ask()

    def tell(self, params: Params, score: float) -> None:
        self._optimizer.tell(params, score)


class Optuna:
    """Sampler of Optuna with the estimator's own values enqueued.

    The Gaussian process gets all parameters in each trial; those that do not exist
    under the chosen options have no effect. TPE gets only the existing parameters.
    """

    def __init__(self, problem: Problem, seed: int, sampler: str) -> None:
        import optuna

        warnings.simplefilter("ignore")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._space = problem.space
        self._flat = sampler == "GPSampler"
        self._of = optuna.distributions
        self._study = optuna.create_study(
            direction="maximize", sampler=getattr(optuna.samplers, sampler)(seed=seed)
        )
        for params in problem.own_point(problem.space):
            row = problem.space.encode([params])[0]
            self._study.enqueue_trial(
                {
                    str(j): self._value(j, row[j])
                    for j in range(self._space.n_columns)
                    if not np.isnan(row[j])
                }
            )
        self._trial: Any = None

    def _value(self, j: int, position: float) -> Any:
        dimension = self._space.columns[j].dimension
        if isinstance(dimension, Real | Integer):
            return dimension.decode(np.array([position]))[0]
        return int(np.argmin(np.abs(dimension.grid - position)))

    def _position(self, j: int) -> float:
        dimension = self._space.columns[j].dimension
        name = str(j)
        if isinstance(dimension, Integer):
            value: Any = self._trial.suggest_int(
                name, dimension.low, dimension.high, log=dimension.is_log
            )
        elif isinstance(dimension, Real):
            value = self._trial.suggest_float(
                name, dimension.low, dimension.high, log=dimension.is_log
            )
        else:
            n = int(dimension.n_values)
            if dimension.is_categorical:
                place = self._trial.suggest_categorical(name, list(range(n)))
            else:
                place = self._trial.suggest_int(name, 0, n - 1)
            return float(dimension.grid[place])
        value = min(max(value, dimension.low), dimension.high)
        return float(dimension.encode([value])[0])

    def ask(self) -> Params:
        self._trial = self._study.ask()
        row = np.full(self._space.n_columns, np.nan)
        if self._flat:
            row[:] = [self._position(j) for j in range(self._space.n_columns)]
            row[~self._space.active(row[None])[0]] = np.nan
        else:
            todo = list(self._space.tree)
            while todo:
                place, options = todo.pop()
                row[place] = self._position(place)
                if options:
                    dimension: Any = self._space.columns[place].dimension
                    todo += options[int(dimension.place(row[[place]])[0])]
        return self._space.decode(row[None])[0]

    def tell(self, params: Params, score: float) -> None:
        if np.isnan(score):
            failed = __import__("optuna").trial.TrialState.FAIL
            self._study.tell(self._trial, state=failed)
        else:
            self._study.tell(self._trial, score)


METHODS: dict[str, Callable[..., Any]] = {
    "auto": auto,
    "space": without_knowledge,
    "hand": hand_written,
    "random": Queue,
    "optuna-tpe": lambda problem, seed: Optuna(problem, seed, "TPESampler"),
    "optuna-gp": lambda problem, seed: Optuna(problem, seed, "GPSampler"),
}
