"""The methods that the benchmarks compare, behind one ask/tell interface.

A space is a dict of name to `Float`, `Int` or `Categories`; every method gets it in its
own notation. Scores are maximized. Each library runs with its defaults.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

__all__ = [
    "METHODS",
    "Categories",
    "Float",
    "Int",
    "Method",
    "Params",
    "Space",
    "make_method",
]

Params = dict[str, Any]


@dataclass(frozen=True)
class Float:
    """A real number between two ends, on a linear or a log scale."""

    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class Int:
    """A whole number between two included ends, on a linear or a log scale."""

    low: int
    high: int
    log: bool = False


@dataclass(frozen=True)
class Categories:
    """One of several values without an order."""

    options: tuple[Any, ...]


Space = Mapping[str, Float | Int | Categories]


class Method(Protocol):
    """What a benchmark needs of a method."""

    def ask(self) -> Params:
        """Propose one configuration."""

    def tell(self, params: Params, score: float) -> None:
        """Report the score of a configuration, proposed or not; NaN is a failure."""


class _Random:
    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._rng = np.random.default_rng(seed)

    def _draw(self, dim: Float | Int | Categories) -> Any:
        if isinstance(dim, Categories):
            return dim.options[self._rng.integers(len(dim.options))]
        if isinstance(dim, Int):
            if not dim.log:
                return int(self._rng.integers(dim.low, dim.high + 1))
            ends = np.log([dim.low - 0.5, dim.high + 0.5])
            return int(np.clip(np.rint(np.exp(self._rng.uniform(*ends))), *_ends(dim)))
        if dim.log:
            return float(np.exp(self._rng.uniform(*np.log(_ends(dim)))))
        return float(self._rng.uniform(dim.low, dim.high))

    def ask(self) -> Params:
        return {name: self._draw(dim) for name, dim in self._space.items()}

    def tell(self, params: Params, score: float) -> None:
        """Learn nothing."""


def _ends(dim: Float | Int) -> tuple[float, float]:
    return dim.low, dim.high


class _Skbayes:
    def __init__(self, space: Space, seed: int, **options: Any) -> None:
        from skbayes.optimizer import Optimizer

        notation = {name: self._notation(dim) for name, dim in space.items()}
        self._optimizer = Optimizer(notation, random_state=seed, **options)

    @staticmethod
    def _notation(dim: Float | Int | Categories) -> Any:
        if isinstance(dim, Categories):
            return list(dim.options)
        return (dim.low, dim.high, "log-uniform" if dim.log else "uniform")

    def ask(self) -> Params:
        return self._optimizer.ask()

    def tell(self, params: Params, score: float) -> None:
        self._optimizer.tell(params, score)


class _Skopt:
    """scikit-optimize's Optimizer as its BayesSearchCV sets it up."""

    def __init__(self, space: Space, seed: int) -> None:
        from skopt import Optimizer

        self._names = list(space)
        dims = [self._dimension(dim) for dim in space.values()]
        self._optimizer = Optimizer(dimensions=dims, random_state=seed)
        self._worst = 0.0

    @staticmethod
    def _dimension(dim: Float | Int | Categories) -> Any:
        from skopt import space

        if isinstance(dim, Categories):
            return space.Categorical(list(dim.options))
        kind = space.Integer if isinstance(dim, Int) else space.Real
        return kind(dim.low, dim.high, prior="log-uniform" if dim.log else "uniform")

    def ask(self) -> Params:
        values = self._optimizer.ask()
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in zip(self._names, values, strict=True)
        }

    def tell(self, params: Params, score: float) -> None:
        # Its own search stops at a failed trial; the worst so far stands in for it.
        if np.isnan(score):
            score = self._worst
        self._worst = min(self._worst, score)
        self._optimizer.tell(self._point(params), -score)

    def tell_many(self, history: list[Params], scores: list[float]) -> None:
        """Tell a whole history with one refit in place of one for each point."""
        points = [self._point(params) for params in history]
        self._optimizer.tell(points, [-score for score in scores])

    def _point(self, params: Params) -> list[Any]:
        return [params[name] for name in self._names]


class _Optuna:
    def __init__(self, space: Space, seed: int, sampler: str) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna = optuna
        self._distributions = {
            name: self._distribution(dim) for name, dim in space.items()
        }
        kind = getattr(optuna.samplers, sampler)
        self._study = optuna.create_study(direction="maximize", sampler=kind(seed=seed))
        self._trial: Any = None

    def _distribution(self, dim: Float | Int | Categories) -> Any:
        of = self._optuna.distributions
        if isinstance(dim, Categories):
            return of.CategoricalDistribution(dim.options)
        kind = of.IntDistribution if isinstance(dim, Int) else of.FloatDistribution
        return kind(dim.low, dim.high, log=dim.log)

    def ask(self) -> Params:
        self._trial = self._study.ask(self._distributions)
        return dict(self._trial.params)

    def tell(self, params: Params, score: float) -> None:
        trial, self._trial = self._trial, None
        if trial is not None and trial.params == params:
            failed = self._optuna.trial.TrialState.FAIL if np.isnan(score) else None
            self._study.tell(trial, None if failed else score, state=failed)
            return
        if trial is not None:  # something else was evaluated in its place
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        self._study.add_trial(
            self._optuna.trial.create_trial(
                params=params, distributions=self._distributions, value=score
            )
        )


METHODS: dict[str, Callable[..., Method]] = {
    "skbayes": _Skbayes,
    "random": _Random,
    "skopt": _Skopt,
    "optuna-tpe": lambda space, seed: _Optuna(space, seed, "TPESampler"),
    "optuna-gp": lambda space, seed: _Optuna(space, seed, "GPSampler"),
}


def make_method(name: str, space: Space, seed: int, **options: Any) -> Method:
    """Build the named method; `options` go to skbayes' Optimizer and to no other."""
    warnings.simplefilter("ignore")  # the rivals warn at every step
    return METHODS[name](space, seed, **(options if name == "skbayes" else {}))
