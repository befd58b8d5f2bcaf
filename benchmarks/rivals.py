"""Other libraries as methods of ``python -m skbayes.benchmark``, with their defaults.

The libraries propose points anywhere in the unit cube of a table's columns. The nearest
free row is evaluated, and its position and score are reported to the library. The
initial rows of a run are reported like all others.

Example: python -m skbayes.benchmark --methods random skbayes benchmarks/rivals.py:skopt
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from skbayes.benchmark import LookupTable

Params = dict[str, Any]


class _InUnitCube:
    """Conversion between the unit cube of a table and configurations."""

    def __init__(self, table: LookupTable, seed: int) -> None:
        warnings.simplefilter("ignore")  # other libraries warn at every step
        self._table = table
        self._seed = seed

    def ask(self) -> Params:
        place = self._propose()
        return self._table.at(np.array([place[name] for name in self._table.columns]))

    def tell(self, params: Params, score: float | list[float]) -> None:
        x = self._table.position(params).tolist()
        self._learn(dict(zip(self._table.columns, x, strict=True)), score)

    def _propose(self) -> dict[str, float]:
        raise NotImplementedError

    def _learn(self, place: dict[str, float], score: Any) -> None:
        raise NotImplementedError


class Optuna(_InUnitCube):
    """Sampler of Optuna, for one objective or several."""

    def __init__(self, table: LookupTable, seed: int, sampler: str) -> None:
        import optuna

        super().__init__(table, seed)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna = optuna
        self._distributions = {
            name: optuna.distributions.FloatDistribution(0.0, 1.0)
            for name in table.columns
        }
        self._study = optuna.create_study(
            directions=["maximize"] * table.n_objectives,
            sampler=getattr(optuna.samplers, sampler)(seed=seed),
        )

    def _propose(self) -> dict[str, float]:
        trial = self._study.ask(self._distributions)
        # The nearest free row is reported.
        self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return trial.params

    def _learn(self, place: dict[str, float], score: Any) -> None:
        values = score if isinstance(score, list) else [score]
        self._study.add_trial(
            self._optuna.trial.create_trial(
                params=place, distributions=self._distributions, values=values
            )
        )


class Skopt(_InUnitCube):
    """Optimizer of scikit-optimize."""

    def __init__(self, table: LookupTable, seed: int) -> None:
        from skopt import Optimizer

        super().__init__(table, seed)
        self._optimizer = Optimizer(
            [(0.0, 1.0)] * len(table.columns), random_state=seed
        )

    def _propose(self) -> dict[str, float]:
        return dict(zip(self._table.columns, self._optimizer.ask(), strict=True))

    def _learn(self, place: dict[str, float], score: Any) -> None:
        self._optimizer.tell(list(place.values()), -score)


class Hyperopt(_InUnitCube):
    """TPE of hyperopt."""

    def __init__(self, table: LookupTable, seed: int) -> None:
        import hyperopt

        super().__init__(table, seed)
        self._hyperopt = hyperopt
        space = {name: hyperopt.hp.uniform(name, 0.0, 1.0) for name in table.columns}
        self._domain = hyperopt.base.Domain(lambda place: 0.0, space)
        self._trials = hyperopt.Trials()
        self._rng = np.random.default_rng(seed)

    def _propose(self) -> dict[str, float]:
        numbers = self._trials.new_trial_ids(1)
        (trial,) = self._hyperopt.tpe.suggest(
            numbers, self._domain, self._trials, int(self._rng.integers(2**31))
        )
        values = trial["misc"]["vals"]
        return {name: float(values[name][0]) for name in self._table.columns}

    def _learn(self, place: dict[str, float], score: Any) -> None:
        (number,) = self._trials.new_trial_ids(1)
        misc = {
            "tid": number,
            "cmd": self._domain.cmd,
            "workdir": self._domain.workdir,
            "idxs": {name: [number] for name in place},
            "vals": {name: [value] for name, value in place.items()},
        }
        result = {"loss": -score, "status": self._hyperopt.STATUS_OK}
        (doc,) = self._trials.new_trial_docs([number], [None], [result], [misc])
        doc["state"] = self._hyperopt.JOB_STATE_DONE
        self._trials.insert_trial_docs([doc])
        self._trials.refresh()


optuna_tpe = partial(Optuna, sampler="TPESampler")
optuna_gp = partial(Optuna, sampler="GPSampler")
skopt = Skopt
hyperopt = Hyperopt
