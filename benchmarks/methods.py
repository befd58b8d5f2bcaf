"""Search methods of the benchmarks with a common ask/tell interface.

A space is a dict of name to `Float`, `Int` or `Categories`, which is converted to the
notation of each library. Scores are maximized. Each library runs with its defaults.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

Params = dict[str, Any]


@dataclass(frozen=True)
class Float:
    """Real number between two ends, on a linear or a log scale."""

    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class Int:
    """Whole number between two inclusive ends, on a linear or a log scale."""

    low: int
    high: int
    log: bool = False


@dataclass(frozen=True)
class Categories:
    """One of several values without an order."""

    options: tuple[Any, ...]


Space = Mapping[str, Float | Int | Categories]


def as_notation(space: Space) -> dict[str, Any]:
    """Return a space in the notation of skbayes."""

    def dimension(dim: Float | Int | Categories) -> Any:
        if isinstance(dim, Categories):
            return list(dim.options)
        return (dim.low, dim.high, "log-uniform" if dim.log else "uniform")

    return {name: dimension(dim) for name, dim in space.items()}


def optuna_space(space: Space) -> dict[str, Any]:
    """Return a space in the notation of Optuna."""
    from optuna import distributions as kinds

    numbers = {Float: kinds.FloatDistribution, Int: kinds.IntDistribution}
    return {
        name: kinds.CategoricalDistribution(dim.options)
        if isinstance(dim, Categories)
        else numbers[type(dim)](dim.low, dim.high, log=dim.log)
        for name, dim in space.items()
    }


def flaml_space(space: Space) -> dict[str, Any]:
    """Return a space in the notation of FLAML, with indices of options."""
    from flaml import tune

    def domain(dim: Float | Int | Categories) -> Any:
        if isinstance(dim, Categories):
            return tune.choice(list(range(len(dim.options))))
        if isinstance(dim, Int):
            return (tune.lograndint if dim.log else tune.randint)(dim.low, dim.high + 1)
        return (tune.loguniform if dim.log else tune.uniform)(dim.low, dim.high)

    return {name: domain(dim) for name, dim in space.items()}


class Method(Protocol):
    """Protocol of a search method."""

    def ask(self) -> Params:
        """Propose one configuration."""

    def tell(self, params: Params, score: float) -> None:
        """Report the score of any configuration; NaN is a failure."""


class _Random:
    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._queue = space, list[Params]()
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

    def enqueue(self, params: Params) -> None:
        self._queue.append(params)

    def ask(self) -> Params:
        if self._queue:
            return self._queue.pop(0)
        return {name: self._draw(dim) for name, dim in self._space.items()}

    def tell(self, params: Params, score: float) -> None:
        """Ignore the score."""


def _ends(dim: Float | Int) -> tuple[float, float]:
    return dim.low, dim.high


def as_own(space: Space, values: Mapping[str, Any]) -> Params:
    """Convert numbers, and indices of options, of another library."""

    def own(dim: Float | Int | Categories, value: Any) -> Any:
        if isinstance(dim, Categories):
            return dim.options[int(value)]
        return int(value) if isinstance(dim, Int) else float(value)

    return {name: own(dim, values[name]) for name, dim in space.items()}


def taken(running: list[tuple[Params, Any]], params: Params) -> Any:
    """Remove a proposed configuration, and return what the library knows it by."""
    for place, (proposed, handle) in enumerate(running):
        if proposed == params:
            del running[place]
            return handle
    return None


class _Skbayes:
    def __init__(self, space: Space, seed: int, **options: Any) -> None:
        from skbayes.optimizer import Optimizer

        self._optimizer = Optimizer(as_notation(space), random_state=seed, **options)

    def ask(self) -> Params:
        return self._optimizer.ask()

    def tell(self, params: Params, score: float) -> None:
        self._optimizer.tell(params, score)


class _Skopt:
    """Optimizer of scikit-optimize with the settings of its BayesSearchCV."""

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
        # The search of scikit-optimize stops at a failed trial; here the worst score so
        # far replaces it.
        if np.isnan(score):
            score = self._worst
        self._worst = min(self._worst, score)
        self._optimizer.tell(self._point(params), -score)

    def tell_many(self, history: list[Params], scores: list[float]) -> None:
        """Report a whole history with one refit instead of one per trial."""
        points = [self._point(params) for params in history]
        self._optimizer.tell(points, [-score for score in scores])

    def _point(self, params: Params) -> list[Any]:
        return [params[name] for name in self._names]


class _Optuna:
    def __init__(self, space: Space, seed: int, sampler: str) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna = optuna
        self._distributions = optuna_space(space)
        kind = getattr(optuna.samplers, sampler)
        self._study = optuna.create_study(direction="maximize", sampler=kind(seed=seed))
        self._running: list[tuple[Params, Any]] = []

    def enqueue(self, params: Params) -> None:
        self._study.enqueue_trial(params)

    def ask(self) -> Params:
        trial = self._study.ask(self._distributions)
        self._running.append((dict(trial.params), trial))
        return dict(trial.params)

    def tell(self, params: Params, score: float) -> None:
        failed = self._optuna.trial.TrialState.FAIL if np.isnan(score) else None
        if trial := taken(self._running, params):
            self._study.tell(trial, None if failed else score, state=failed)
            return
        for _, trial in self._running:  # another configuration was evaluated
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        self._running.clear()
        self._study.add_trial(
            self._optuna.trial.create_trial(
                params=params, distributions=self._distributions, value=score
            )
        )


class _Hyperopt:
    """TPE of hyperopt."""

    def __init__(self, space: Space, seed: int) -> None:
        import hyperopt

        self._hyperopt, self._space = hyperopt, space
        dims = {name: self._dimension(name, dim) for name, dim in space.items()}
        self._domain = hyperopt.base.Domain(lambda params: 0.0, dims)
        self._trials = hyperopt.Trials()
        self._rng = np.random.default_rng(seed)
        self._running: list[tuple[Params, Any]] = []

    def _dimension(self, name: str, dim: Float | Int | Categories) -> Any:
        hp = self._hyperopt.hp
        if isinstance(dim, Categories):
            return hp.choice(name, list(range(len(dim.options))))
        if isinstance(dim, Int):
            low, high = dim.low - 0.499, dim.high + 0.499
            if dim.log:
                return hp.qloguniform(name, *np.log([low, high]), 1)
            return hp.quniform(name, low, high, 1)
        if dim.log:
            return hp.loguniform(name, *np.log(_ends(dim)))
        return hp.uniform(name, *_ends(dim))

    def _value(self, dim: Float | Int | Categories, value: Any) -> Any:
        if isinstance(dim, Categories):
            return dim.options[int(value)]
        value = float(np.clip(value, *_ends(dim)))
        return round(value) if isinstance(dim, Int) else value

    def ask(self) -> Params:
        (doc,) = self._hyperopt.tpe.suggest(
            self._trials.new_trial_ids(1),
            self._domain,
            self._trials,
            int(self._rng.integers(2**31)),
        )
        values = doc["misc"]["vals"]
        params = {
            name: self._value(dim, values[name][0]) for name, dim in self._space.items()
        }
        self._running.append((params, doc))
        return params

    def tell(self, params: Params, score: float) -> None:
        doc = taken(self._running, params) or self._document(params)
        ok = not np.isnan(score)
        status = self._hyperopt.STATUS_OK if ok else self._hyperopt.STATUS_FAIL
        doc["result"] = {"status": status} | ({"loss": -score} if ok else {})
        doc["state"] = self._hyperopt.JOB_STATE_DONE
        self._trials.insert_trial_docs([doc])
        self._trials.refresh()

    def _document(self, params: Params) -> Any:
        """Return the document of a configuration that was not proposed."""
        (number,) = self._trials.new_trial_ids(1)
        values = {
            name: dim.options.index(params[name])
            if isinstance(dim, Categories)
            else params[name]
            for name, dim in self._space.items()
        }
        misc = {
            "tid": number,
            "cmd": self._domain.cmd,
            "workdir": self._domain.workdir,
            "idxs": {name: [number] for name in values},
            "vals": {name: [value] for name, value in values.items()},
        }
        (doc,) = self._trials.new_trial_docs([number], [None], [None], [misc])
        return doc


class _Smac:
    """SMAC's facade for hyper-parameters, a random forest; it never runs a function.

    By default, it would draw a quarter of its budget first, at most 10 points per
    dimension; the budget is not known here.
    """

    def __init__(self, space: Space, seed: int) -> None:
        import ConfigSpace
        import smac

        dims = []
        for name, dim in space.items():
            if isinstance(dim, Categories):
                # SMAC returns strings of NumPy instead of the options.
                places = [str(i) for i in range(len(dim.options))]
                dims.append(ConfigSpace.Categorical(name, places))
            else:
                kind = (
                    ConfigSpace.Integer if isinstance(dim, Int) else ConfigSpace.Float
                )
                dims.append(kind(name, _ends(dim), log=dim.log))
        configurations = ConfigSpace.ConfigurationSpace(seed=seed)
        configurations.add(dims)
        self._space = space
        self._folder = tempfile.TemporaryDirectory()
        scenario = smac.Scenario(
            configurations,
            deterministic=True,
            n_trials=10**6,
            seed=seed,
            output_directory=Path(self._folder.name),
        )
        facade = smac.HyperparameterOptimizationFacade
        self._smac = facade(
            scenario,
            lambda config, seed: 0.0,
            initial_design=facade.get_initial_design(scenario, n_configs=10),
            overwrite=True,
            logging_level=False,
        )
        self._running: list[tuple[Params, Any]] = []

    def ask(self) -> Params:
        info = self._smac.ask()
        params = as_own(self._space, dict(info.config))
        self._running.append((params, info))
        return params

    def tell(self, params: Params, score: float) -> None:
        from smac.runhistory.dataclasses import TrialValue
        from smac.runhistory.enumerations import StatusType

        info = taken(self._running, params)
        failed = np.isnan(score)
        value = TrialValue(
            cost=np.inf if failed else -score,
            status=StatusType.CRASHED if failed else StatusType.SUCCESS,
        )
        self._smac.tell(info, value, save=False)


METHODS: dict[str, Callable[..., Method]] = {
    "skbayes": _Skbayes,
    "random": _Random,
    "skopt": _Skopt,
    "optuna-tpe": lambda space, seed: _Optuna(space, seed, "TPESampler"),
    "optuna-gp": lambda space, seed: _Optuna(space, seed, "GPSampler"),
    "hyperopt": _Hyperopt,
    "smac": _Smac,
}


def make_method(name: str, space: Space, seed: int, **options: Any) -> Method:
    """Return the named method; `options` are arguments of skbayes' Optimizer only."""
    warnings.simplefilter("ignore")  # other libraries warn at every step
    return METHODS[name](space, seed, **(options if name == "skbayes" else {}))
