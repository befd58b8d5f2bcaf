"""Searches with learned priors, each on a table that was left out of the learning.

A task is an estimator, one of its tables in results/priors/, and a score: the
estimator's own one ("accuracy" or "r2"), or log loss or mean absolute error. A search
may only propose the random configurations of the table and the estimator's own one, so
that scores are looked up. The nearest of them replaces a configuration of a portfolio,
of an initial design, or of Optuna. The first trial of each method is the estimator's
own values. The methods are:

- prior: a prior learned from the other tables of all estimators of the family;
- class: the same, from the tables of this estimator only. For a pipeline, the prior of
  its last step only, from prepared tables. With a CountVectorizer, "prior" also has the
  densities of TfidfVectorizer;
- none: no prior, with the initial design of a search;
- random: random search;
- optuna-tpe: TPE of Optuna;
- flaml, autogluon: the first four configurations of the portfolios in their wheels.

Those configurations are fitted. They are not among the random ones, so that their
regret may be negative. Their names are replaced by those of the estimator. Forests have
30 trees, as in the results. If a portfolio leaves the number of boosting rounds to
early stopping, it is 10 divided by the learning rate, within 100 and 500. A number
above 500 is reduced to 500, and the learning rate is increased in proportion. For the
wheel of AutoGluon, `pip install --no-deps autogluon.tabular` is sufficient.

The study "parts" is the same for CatBoost and pipelines. What is learned was chosen on
one half of the tables; the other half is only judged. The study "fits" is that of
pipelines with preprocessing or word counts in their whole default space: each trial is
fitted. Its regret may be negative.

Example: python benchmarks/judge_priors.py pool --save pool
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import importlib.metadata
import json
import runpy
import warnings
import zlib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any
from unittest import mock

import collect_priors
import harness
import learn_priors
import numpy as np
from harness import Record, Study

from skbayes import Optimizer
from skbayes.optimizer.initial_design import default_n_initial_points, draw_design
from skbayes.space import Space
from skbayes.space.dimensions import key_of
from skbayes.space.optimum_prior import OptimumPrior, Portfolio
from skbayes.spaces import learned_prior
from skbayes.spaces.catalog import DataFacts
from skbayes.spaces.parts import is_estimator, own_values, parts_of

SHOWN = (1, 2, 3, 5, 10, 20)
N_FITTED = 4
LARGEST = 2000.0
MAX_ROUNDS = 500
FAMILY_OF = {
    part: family for family, parts in learn_priors.FAMILIES.items() for part in parts
}

Params = dict[str, Any]


class Pool(Space):
    """Space that consists of given rows."""

    def restrict(self, rows: np.ndarray) -> None:
        """Allow only these rows."""
        self.listed = rows[np.lexsort(rows.T[::-1])]
        self.n_configurations = len(rows)
        keys = {key_of(row) for row in rows}
        self.constraint = lambda params: key_of(self.encode([params])[0]) in keys

    def enumerate(self, indices: np.ndarray) -> np.ndarray:
        """Return the rows with these indices."""
        return self.listed[indices]

    def nearest(self, row: np.ndarray, rows: np.ndarray) -> int:
        """Return the index of the nearest of some rows; options differ by 1."""
        apart = np.abs(np.nan_to_num(rows, nan=2.0) - np.nan_to_num(row, nan=2.0))
        apart = np.where(self.categorical, apart > 0, apart)
        return int(np.argmin(np.sum(np.minimum(apart, 1.0) ** 2, axis=1)))


class Task:
    """Pool of configurations with scores, and the estimator's own values."""

    def __init__(self, name: str, table: str, metric: str) -> None:
        self.name, self.table = name, table
        known = next(t for t in learn_priors.load_tables(name) if t.name == table)
        is_regression = name.endswith("Regressor")
        self.place = collect_priors.METRICS[is_regression].index(metric)
        scores = known.scores[:, self.place]
        self.estimator = collect_priors.make(name, table)
        self.values = own_values(self.estimator)
        X, y, *_ = collect_priors.folds_of(name, table)[0]
        self.parts = parts_of(self.estimator, DataFacts.of(X, y, 0.8))
        space = collect_priors.space_of(name, table)
        pool = Pool.from_notation(collect_priors.notation_of(name, table))
        scalers = {
            type(option).__name__: option
            for column in pool.columns
            for option in getattr(column.dimension, "values", ())
            if is_estimator(option)
        }
        params = [
            {k: scalers.get(v, v) if isinstance(v, str) else v for k, v in one.items()}
            for one in known.params[1:]
        ]
        own = space.selection(self.values)
        first = [] if own is None else [own]
        self.own: list[Params] = first
        rows = pool.encode([*first, *params])
        values = scores[1 - len(first) :]
        _, places = np.unique([key_of(row) for row in rows], return_index=True)
        self.score_of = {key_of(rows[k]): float(values[k]) for k in places}
        pool.restrict(rows[places])
        self.space = pool
        scores = np.where(np.isnan(scores), -np.inf, scores)
        self.best, self.median = scores.max(), float(np.median(scores[1:]))

    def regret(self, score: float) -> float:
        """Return the normalized regret × 1000 of a score."""
        score = -np.inf if np.isnan(score) else score
        found = 1000.0 * (self.best - score) / (self.best - self.median)
        return float(min(found, LARGEST))


@cache
def task_of(task: str) -> Task:
    return Task(*task.split(":"))


@cache
def knowledge(entry: str, without: str) -> Params:
    return learn_priors.learn(entry, without)


def entries(name: str, method: str) -> dict[str, str]:
    """Return the sources of the entries of a method, by the names of the entries."""
    first, _, last = name.rpartition("+")
    if not first:
        return {name: FAMILY_OF.get(name, name) if method == "prior" else name}
    alone = (learn_priors.RESULTS / f"{last}.npz").exists()
    found = {last: last} if alone else {}
    if method == "prior":
        sources = (name, "steps" if first == "Steps" else "texts")
        parts = [
            part for part in learn_priors.PARTS if part not in learn_priors.UNIFORM
        ]
        found |= {
            part: part for part in parts if learn_priors.PARTS[part][0] in sources
        }
        if first == "CountVectorizer":
            found[first] = found.pop("TfidfVectorizer")
    return found


def prior_of(task: Task, method: str, space: Space) -> OptimumPrior | None:
    """Return the prior from the other tables."""
    without = task.table.partition(".")[0]
    named = entries(task.name, method)
    known = {name: knowledge(entry, without) for name, entry in named.items()}
    with mock.patch.object(learned_prior, "library", lambda: known):
        return learned_prior.learned_prior(task.parts, space, task.values)


def prior_of_pool(task: Task, method: str) -> OptimumPrior | None:
    """Return the prior from the other tables; its portfolio is moved to the pool."""
    space: Any = task.space.with_constraint(None)
    prior = prior_of(task, method, space)
    if prior is None or prior.portfolio is None:
        return prior
    listed, found = task.space.listed, prior.portfolio
    rows = np.array([listed[space.nearest(row, listed)] for row in found.rows])
    _, kept = np.unique([key_of(row) for row in rows], return_index=True)
    kept.sort()
    regrets = found.regrets[:, kept]
    prior.portfolio = Portfolio(
        space, space.decode(rows[kept]), regrets, min(found.n_first, len(kept))
    )
    return prior


class Tpe:
    """Optuna's TPE on the positions of all columns."""

    def __init__(self, task: Task, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=seed)
        self._space = task.space
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._failed = optuna.trial.TrialState.FAIL
        self._left = list(task.space.listed)
        for row in task.space.encode(task.own):
            row = np.where(np.isnan(row), 0.0, row)
            self._study.enqueue_trial(
                {
                    str(k): self._option(k, v) if self._space.categorical[k] else v
                    for k, v in enumerate(row.tolist())
                }
            )

    def _option(self, k: int, position: float) -> int:
        grid = self._space.columns[k].dimension.grid
        return int(np.argmin(np.abs(grid - position)))

    def ask(self) -> Params:
        """Propose the nearest configuration of the pool that is left."""
        self._trial = self._study.ask()
        row = np.zeros(self._space.n_columns)
        for k, column in enumerate(self._space.columns):
            if self._space.categorical[k]:
                grid = column.dimension.grid
                options = list(range(len(grid)))
                row[k] = grid[self._trial.suggest_categorical(str(k), options)]
            else:
                row[k] = self._trial.suggest_float(str(k), 0.0, 1.0)
        row = self._space.snap(row[None])[0]
        place = self._space.nearest(row, np.array(self._left))
        return self._space.decode(self._left.pop(place)[None])[0]

    def tell(self, params: Params, score: float) -> None:
        """Observe a score; NaN is a failure."""
        if np.isnan(score):
            self._study.tell(self._trial, state=self._failed)
        else:
            self._study.tell(self._trial, score)


# -- portfolios of other libraries -----------------------------------------------------

# Name of the estimator in AutoGluon and FLAML, and in it the name of each parameter.
LEAVES = {"max_leaf_nodes": "max_leaf_nodes", "max_leaves": "max_leaf_nodes"}
FOREST = {
    "max_features": "max_features",
    "min_samples_leaf": "min_samples_leaf",
    "criterion": "criterion",
    **LEAVES,
}
XGBOOST = {
    name: name
    for name in (
        "n_estimators max_depth max_leaves min_child_weight learning_rate subsample "
        "colsample_bylevel colsample_bytree reg_alpha reg_lambda"
    ).split()
}
HISTOGRAM = {
    "n_estimators": "max_iter",
    "num_leaves": "max_leaf_nodes",
    "learning_rate": "learning_rate",
    "min_child_samples": "min_samples_leaf",
    "min_data_in_leaf": "min_samples_leaf",
    "colsample_bytree": "max_features",
    "feature_fraction": "max_features",
    "reg_lambda": "l2_regularization",
}
SOURCES = {
    "HistGradientBoosting": ("GBM", "lgbm", HISTOGRAM),
    "RandomForest": ("RF", "rf", FOREST),
    "ExtraTrees": ("XT", "extra_tree", FOREST),
    "XGB": ("XGB", "xgb_limitdepth", XGBOOST),
}


def published(method: str, name: str, n_classes: int) -> list[Params]:
    """Return the configurations of a portfolio of another library."""
    kind = name.removesuffix("Classifier").removesuffix("Regressor")
    if kind not in SOURCES:
        return []
    autogluon, flaml, names = SOURCES[kind]
    regression = name.endswith("Regressor")
    found: list[Params] = []
    if method == "flaml":
        types = (
            "regression" if regression else "binary multiclass".split()[n_classes > 2]
        )
        path = f"flaml/default/{flaml}/{types}.json"
        wheel = importlib.metadata.distribution("FLAML")
        content = json.loads(wheel.locate_file(path).read_text())
        found = [entry["hyperparameters"] for entry in content["portfolio"]]
    elif method == "autogluon":
        path = "autogluon/tabular/configs/zeroshot/zeroshot_portfolio_2023.py"
        wheel = importlib.metadata.distribution("autogluon.tabular")
        content = runpy.run_path(str(wheel.locate_file(path)))
        entries = content["hyperparameter_portfolio_zeroshot_2023"][autogluon]
        types = [e.get("ag_args", {}).get("problem_types") for e in entries]
        wanted = (
            "regression" if regression else "binary multiclass".split()[n_classes > 2]
        )
        found = [e for e, t in zip(entries, types, strict=True) if not t or wanted in t]
    converted = []
    for point in found:
        params = {names[key]: value for key, value in point.items() if key in names}
        if regression:
            params.pop("criterion", None)
        params = _with_rounds(params, names)
        own = collect_priors.make(name).get_params()
        same = all(own.get(key, key) == value for key, value in params.items())
        if not same and params not in converted:
            converted.append(params)
    return converted[:N_FITTED]


def _with_rounds(params: Params, names: Mapping[str, str]) -> Params:
    rate = params.get("learning_rate")
    if rate is None:
        return params
    rounds = names["n_estimators"]
    n = params.get(rounds, min(max(10.0 / rate, 100.0), MAX_ROUNDS))
    if n > MAX_ROUNDS:
        params["learning_rate"] = min(0.5, rate * n / MAX_ROUNDS)
    return {**params, rounds: int(min(n, MAX_ROUNDS))}


@cache
def fitted(method: str, name: str, table: str) -> list[np.ndarray]:
    """Return the scores of the configurations of a portfolio, a column per metric."""
    n_classes = len(np.unique(collect_priors.folds(table)[0][1]))
    return [
        collect_priors.evaluate(name, table, params)
        for params in published(method, name, n_classes)
    ]


# -- studies ---------------------------------------------------------------------------


def tasks(parts: bool = False) -> list[str]:
    found = []
    for name in collect_priors.ESTIMATORS:
        new = "+" in name or name.startswith("CatBoost")
        if new != parts or not (learn_priors.RESULTS / f"{name}.npz").exists():
            continue
        metrics = collect_priors.METRICS[name.endswith("Regressor")]
        for table, regrets in zip(
            learn_priors.load_tables(name), learn_priors.regrets(name), strict=True
        ):
            measured = np.flatnonzero(~np.isnan(regrets).any(axis=0))
            for place in dict.fromkeys((0, *measured[-1:])):
                if place in measured:
                    found.append(f"{name}:{table.name}:{metrics[place]}")
    return found


def figures(runs: harness.Runs, options: Mapping[str, Any]) -> harness.Figures:
    """Return the figures of the runs of each method, without missing portfolios."""
    found = harness.single(runs, options)
    return {
        method: {key: row for key, row in own.items() if not np.isnan(row).any()}
        for method, own in found.items()
    }


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Run one search."""
    warnings.simplefilter("ignore")
    name, table, _ = task.split(":")
    own = task_of(task)
    if method in ("flaml", "autogluon"):
        first = [own.score_of[key_of(row)] for row in own.space.encode(own.own)]
        scores = first + [float(row[own.place]) for row in fitted(method, name, table)]
        if len(scores) == len(first):
            return {"figures": [np.nan] * len(SHOWN)}
    else:
        scores = _searched(method, task, seed, options["trials"])
    return _record(own, scores)


def run_fits(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Run one search of the whole space, in which each trial is fitted."""
    warnings.simplefilter("ignore")
    own = task_of(task)
    space = collect_priors.space_of(own.name, own.table)
    prior = None if method == "none" else prior_of(own, method, space)
    given: dict[str, Any] = {"initial_points": own.own, "prior": prior}
    search = Optimizer(space, random_state=_seed(task, seed), **given)
    scores = []
    for _ in range(options["trials"]):
        params = search.ask()
        found = collect_priors.evaluate(own.name, own.table, params)
        scores.append(float(found[own.place]))
        search.tell(params, scores[-1])
    return _record(own, scores)


def _record(task: Task, scores: list[float]) -> Record:
    regrets = np.minimum.accumulate([task.regret(score) for score in scores])
    last = len(regrets) - 1
    return {"figures": [round(regrets[min(n - 1, last)], 1) for n in SHOWN]}


def _seed(task: str, seed: int) -> int:
    return zlib.crc32(f"{task} {seed}".encode()) % 2**31


def _design(task: Task, seed: int) -> list[Params]:
    """Return the initial design after the own values, moved to the pool."""
    space, left = task.space, list(task.space.listed)
    n = default_n_initial_points(space)
    design = draw_design(space, n, np.random.default_rng(seed))[len(task.own) : n]
    for row in space.encode(task.own):
        left.pop(space.nearest(row, np.array(left)))
    rows = [left.pop(space.nearest(row, np.array(left))) for row in design]
    return space.decode(np.array(rows))


def _searched(method: str, task: str, seed: int, n: int) -> list[float]:
    own, seed = task_of(task), _seed(task, seed)
    given: dict[str, Any] = {"initial_points": own.own, "random_state": seed}
    search: Any
    if method == "optuna-tpe":
        search = Tpe(own, seed)
    elif method == "random":
        search = Optimizer(own.space, surrogate="random", **given)
    elif method == "none":
        given["initial_points"] = own.own + _design(own, seed)
        search = Optimizer(own.space, **given)
    else:
        prior = prior_of_pool(own, method)
        search = Optimizer(own.space, prior=prior, **given)
    scores = []
    for _ in range(n):
        params = search.ask()
        scores.append(own.score_of[key_of(own.space.encode([params])[0])])
        search.tell(params, scores[-1])
    return scores


def half(task: str) -> str:
    """Return the estimator and the half of a table."""
    name, table, _ = task.split(":")
    place = collect_priors.tables_of(name).index(table)
    return f"{name} {('chosen', 'judged')[place % 2]}"


POOL = Study(
    name="judge_priors",
    tasks=tasks,
    methods=("prior", "class", "none", "random", "optuna-tpe", "flaml", "autogluon"),
    run=run,
    columns=lambda options: list(SHOWN),
    figures=figures,
    group=lambda task: task.split(":")[0],
    options={"trials": 20},
    seeds=2,
    digits=0,
    smallest=(
        *("--tasks", "RandomForestRegressor:diabetes:r2", "--seeds", "1"),
        *("--methods", "class,none,random", "--trials", "5"),
    ),
)
PARTS = replace(
    POOL,
    name="judge_priors/parts",
    tasks=lambda: tasks(parts=True),
    methods=("prior", "class", "none", "random", "optuna-tpe"),
    group=half,
    smallest=(),
)
FITS = replace(
    PARTS,
    name="judge_priors/fits",
    tasks=lambda: [t for t in tasks(parts=True) if t.startswith(("Steps+", "Count"))],
    methods=("none", "class", "prior"),
    run=run_fits,
    group=POOL.group,
)
STUDIES = {"pool": POOL, "parts": PARTS, "fits": FITS}


if __name__ == "__main__":
    harness.main(STUDIES, __doc__)
