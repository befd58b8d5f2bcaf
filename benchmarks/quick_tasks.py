"""Initial designs and numbers of trials in flight, on tasks with cheap scores.

There are six suites of tasks:

- sgd: `SGDClassifier` (five dimensions, two of them categorical) on ten UCI tables of
  at most 600 rows, three folds.
- xgboost: YAHPO Gym's surrogates of XGBoost (14 dimensions, two of them categorical) on
  eight data sets, accuracy and log loss.
- xgboost-tree: the same with `Choice`, so that the parameters of a booster exist only
  under that booster.
- lcbench: YAHPO Gym's surrogates of perceptrons (seven dimensions) on eight data sets,
  accuracy and cross-entropy.
- sklearn: the 12 tasks of sklearn_tasks.py without boosting.
- tables: the seven grids of grids.py.

A variant has a name of one of these forms:

- default: `skbayes.Optimizer` with its defaults.
- sobol-3, lhs-8: a design with this number of initial points. The first is the center
  of the space, and the others are from a scrambled Sobol sequence or a Latin hypercube.
  With "d", the number of points is the number of coefficients of a linear model on the
  space (`n_coefficients`), and with "d12" at most 12.
- default@4: four trials in flight; each is proposed with three others pending.
- random, optuna-tpe, …: a method of methods.py.

The result is the normalized regret × 1000 of sklearn_tasks.py after 10, 20, and 40
trials: 0 is the best known score, and 1000 is the median of 300 random trials. Means
are over tasks, and standard errors are over seeds. Differences from the first variant
are paired by seed.

Example: python benchmarks/quick_tasks.py --variants sobol-3,lhs-8 --suites sgd --jobs 2
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import math
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import grids
import numpy as np
import shared
import sklearn_tasks
from common import Cache, mean_se, means_text, names, run_all, save_results
from methods import METHODS, Categories, Float, Int, Params, make_method
from scipy.stats import qmc
from sklearn.exceptions import ConvergenceWarning

from skbayes import Optimizer
from skbayes.space import Choice, Space

N_TRIALS = 40
SHOWN = (10, 20, 40)
REFERENCE, REFERENCE_SEED, N_REFERENCE = "reference", 10_000, 300
MAX_ROWS = 600

UCI = (
    "breast_cancer_yugoslavia",
    "ecoli",
    "german_credit",
    "haberman",
    "ionosphere",
    "pima",
    "segment",
    "sonar",
    "soybean",
    "vote",
)
N_INSTANCES = 8
METRICS = {
    "rbv2_xgboost": {"acc": 1.0, "logloss": -1.0},
    "lcbench": {"val_accuracy": 1.0, "val_cross_entropy": -1.0},
}
# Search space in the notations of methods.py and of skbayes, and the score.
Task = tuple[Any, Any, Callable[[Params], float]]


# -- tasks -------------------------------------------------------------------------


def sgd_score(name: str, params: Params) -> float:
    scores = []
    for X_train, y_train, X_test, y_test in sklearn_tasks.uci_folds(name, MAX_ROWS):
        model = sklearn_tasks._sgd(**params)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X_train, y_train)
        except ValueError:  # the weights overflow
            return math.nan
        scores.append(model.score(X_test, y_test))
    return float(np.mean(scores))


@cache
def yahpo(scenario: str) -> Any:
    return shared.load().Yahpo(scenario)


def yahpo_space(scenario: str) -> dict[str, Any]:
    """Return the flat search space of a scenario."""
    space: dict[str, Any] = {}
    for one in yahpo(scenario).space:
        if one["type"] == "categorical":
            space[one["name"]] = Categories(tuple(one["choices"]))
        else:
            kind = Int if one["type"] == "uniform_int" else Float
            space[one["name"]] = kind(one["lower"], one["upper"], bool(one["log"]))
    return space


def yahpo_tree(scenario: str) -> dict[str, Any]:
    """Return the search space of a scenario with conditional parameters."""
    flat = _notation(yahpo_space(scenario))
    parents = yahpo(scenario).parents
    (switch,) = {parent for parent, _ in parents.values()}
    options = {
        option: {name: flat[name] for name in parents if option in parents[name][1]}
        for option in flat[switch]
    }
    free = {name: flat[name] for name in flat if name not in parents}
    return {**free, switch: Choice(options)}


@cache
def make_task(name: str) -> Task:
    """Return space, notation and score of a task with a name like "suite:task"."""
    suite, _, what = name.partition(":")
    if suite == "sgd":
        space: Any = sklearn_tasks.LINEAR
        return space, _notation(space), lambda params: sgd_score(what, params)
    if suite == "sklearn":
        space = sklearn_tasks.space_of(what)
        return (
            space,
            _notation(space),
            lambda params: sklearn_tasks.evaluate(what, params),
        )
    if suite == "tables":
        return _table_task(what)
    scenario = "lcbench" if suite == "lcbench" else "rbv2_xgboost"
    instance, metric = what.split("/")
    model = yahpo(scenario)
    column, sign = model.outputs.index(metric), METRICS[scenario][metric]
    space = yahpo_space(scenario)
    notation = yahpo_tree(scenario) if suite.endswith("tree") else _notation(space)
    defaults = {name: _middle(dim) for name, dim in space.items()}

    def score(params: Params) -> float:
        complete = {**defaults, **params}
        return sign * float(model.predict([complete], instance)[0, column])

    return space, notation, score


def _table_task(what: str) -> Task:
    table = grids.load(what)
    pairs = zip(table.params, table.scores[:, 0], strict=True)
    scores = {_key(params): float(score) for params, score in pairs}
    return None, grids.GRIDS[what], lambda params: scores[_key(params)]


def _key(params: Params) -> tuple:
    return tuple(sorted(params.items()))


def _middle(dim: Any) -> Any:
    return dim.options[0] if isinstance(dim, Categories) else dim.low


def _notation(space: Any) -> dict[str, Any]:
    def one(dim: Any) -> Any:
        if isinstance(dim, Categories):
            return list(dim.options)
        return (dim.low, dim.high, "log-uniform" if dim.log else "uniform")

    return {name: one(dim) for name, dim in space.items()}


def suites() -> dict[str, list[str]]:
    """Return the names of all tasks by suite."""
    found = {"sgd": [f"sgd:{name}" for name in UCI]}
    for suite, scenario in (
        ("xgboost", "rbv2_xgboost"),
        ("xgboost-tree", "rbv2_xgboost"),
        ("lcbench", "lcbench"),
    ):
        instances = yahpo(scenario).instances
        # Evenly spaced in the list, because its order is that of the identifiers.
        chosen = [
            instances[i * len(instances) // N_INSTANCES] for i in range(N_INSTANCES)
        ]
        found[suite] = [f"{suite}:{i}/{m}" for i in chosen for m in METRICS[scenario]]
    found["sklearn"] = [
        f"sklearn:{task}" for task in sklearn_tasks.SHIPPED if "boosting" not in task
    ]
    found["tables"] = [f"tables:{name}" for name in grids.GRIDS]
    return found


# -- variants ----------------------------------------------------------------------


def n_coefficients(space: Space) -> int:
    """Return the number of coefficients of a linear model on the largest branch."""
    weights = np.array([max(n - 1, 1) for n in space.n_options])
    rows = space.encode(space.covering_sample())
    return 1 + int(max((~np.isnan(rows)) @ weights))


def design(space: Space, kind: str, n: int, seed: int) -> list[Params]:
    """Return the center of a space, and n - 1 other points."""
    center = np.where(space.categorical, 0.0, 0.5)[None, :]
    if kind == "lhs":
        U = qmc.LatinHypercube(space.n_columns, seed=seed).random(max(n - 1, 0))
    else:
        sobol = qmc.Sobol(space.n_columns, scramble=True, seed=seed)
        U = sobol.random_base2(max(n - 1, 1).bit_length())[: n - 1]
    return space.decode(space.from_uniform(np.vstack([center, U])))


class Skbayes:
    """Optimizer of skbayes with the design of a variant."""

    def __init__(self, notation: Any, variant: str, seed: int, **options: Any) -> None:
        space = Space.from_notation(notation)
        if variant != "default":
            kind, _, size = variant.partition("-")
            if size.startswith("d"):
                n = min(n_coefficients(space), int(size[1:] or 10**6))
            else:
                n = int(size)
            options["n_initial_points"] = n
            options["initial_points"] = design(space, kind, n, seed)
        self._optimizer = Optimizer(space, random_state=seed, **options)

    def ask(self) -> Params:
        """Propose a configuration."""
        return self._optimizer.ask()

    def tell(self, params: Params, score: float) -> None:
        """Report the score of a configuration."""
        self._optimizer.tell(params, score)


def run(variant: str, task: str, seed: int) -> dict[str, Any]:
    """Run one search; trial k depends on the scores of trials 0 … k - q."""
    warnings.simplefilter("ignore")
    space, notation, score = make_task(task)
    name, _, q = variant.partition("@")
    n_trials = N_TRIALS
    method: Any
    if name == REFERENCE:
        n_trials = int(min(N_REFERENCE, Space.from_notation(notation).n_configurations))
        method = Skbayes(notation, "default", seed, surrogate="random")
    elif name in METHODS and name != "skbayes":
        method = make_method(name, space, seed)
    else:
        method = Skbayes(notation, name, seed)
    pending: list[tuple[Params, float]] = []
    scores = []
    for _ in range(n_trials):
        params = method.ask()
        pending.append((params, score(params)))
        scores.append(pending[-1][1])
        if len(pending) == int(q or 1):
            method.tell(*pending.pop(0))
    return {"task": task, "seed": seed, "scores": scores}


# -- regrets -----------------------------------------------------------------------


def summarize(store: Cache, variants: list[str], tasks: list[str]) -> dict[str, Any]:
    """Print and return the mean regrets of each suite."""
    best = dict.fromkeys(tasks, -math.inf)
    median: dict[str, float] = {}
    reached: dict[tuple[str, str, int], np.ndarray] = {}
    for label in {*store.labels(), *variants, REFERENCE}:
        for record in store.load(label):
            task = record["task"]
            if task not in best:
                continue
            scores = np.array(record["scores"], dtype=float)
            scores[np.isnan(scores)] = -math.inf
            best[task] = max(best[task], float(scores.max()))
            if label == REFERENCE:
                median[task] = float(np.median(scores))
            else:
                so_far = np.maximum.accumulate(scores)[np.array(SHOWN) - 1]
                reached[label, task, record["seed"]] = so_far
    summary: dict[str, Any] = {}
    for suite in dict.fromkeys(task.partition(":")[0] for task in tasks):
        own = [t for t in tasks if t.partition(":")[0] == suite and t in median]
        own = [t for t in own if best[t] > median[t]]
        cubes = {}
        for label in variants:
            # A mean is over the seeds that this variant has finished on all tasks.
            seeds = [
                s for s in range(1000) if all((label, t, s) in reached for t in own)
            ]
            if not (own and seeds):
                continue
            cubes[label] = {
                s: np.mean(
                    [
                        1000 * (best[t] - reached[label, t, s]) / (best[t] - median[t])
                        for t in own
                    ],
                    axis=0,
                )
                for s in seeds
            }
        summary[suite] = {"tasks": len(own)} | _show(suite, cubes, len(own))
    return summary


def _show(suite: str, cubes: dict[str, dict[int, np.ndarray]], n: int) -> dict:
    shown = {}
    base = next(iter(cubes), None)
    for label, by_seed in cubes.items():
        values = np.array(list(by_seed.values()))
        entry = {"seeds": len(values), **mean_se(values)}
        line = f"{suite:13} {n:3} tasks {label:14} {len(values):3} seeds " + means_text(
            entry
        )
        both = [s for s in by_seed if s in cubes[base]]
        if label != base and both:
            apart = np.array([by_seed[s] - cubes[base][s] for s in both])
            entry["minus_first"] = mean_se(apart)
            line += "   apart " + means_text(entry["minus_first"], "+")
        shown[label] = entry
        print(line)
    return {"variants": shown}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = suites()
    add = parser.add_argument
    add("--seeds", type=int, default=10)
    add("--suites", type=names(known), default="all", help="comma-separated, or all")
    add("--variants", default="default,random", help="comma-separated")
    add("--fresh", action="store_true", help="delete the cached runs of these variants")
    add("--jobs", type=int, default=1, help="number of processes")
    add("--save", metavar="NAME", help="write the summary to results/NAME.json")
    args = parser.parse_args()
    store = Cache("quick_tasks")
    variants = args.variants.split(",")
    if args.fresh:
        for variant in variants:
            store.clear(variant)
    tasks = [task for suite in args.suites for task in known[suite]]
    done = {
        (label, r["task"], r["seed"])
        for label in (*variants, REFERENCE)
        for r in store.load(label)
    }
    wanted = [(REFERENCE, task, REFERENCE_SEED) for task in tasks]
    wanted += [
        (v, t, seed) for seed in range(args.seeds) for v in variants for t in tasks
    ]
    jobs = [(one[0], one) for one in wanted if one not in done]
    run_all(run, jobs, store, args.jobs)
    summary = summarize(store, variants, tasks)
    if args.save:
        save_results(args.save, summary)


if __name__ == "__main__":
    main()
