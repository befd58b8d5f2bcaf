"""Default search spaces: regret of `search_spaces="auto"` compared with other spaces.

A task consists of an estimator, a table of priors/data.py, and a score. On every second
table the score is the estimator's own. On the others it is the last available score of
priors/collect.py: log loss, area under the ROC curve, or mean absolute error. The
knowledge about the estimator was learned from all tables except this one.

Tasks of expensive estimators are simulated: a random forest predicts the score of a
configuration from the table of results. All other estimators are fitted on three folds.
The tasks of XGBoost are half of the data sets of YAHPO Gym's surrogate, with knowledge
learned from the other half.

The methods are:

- auto: the default search space with the learned knowledge. It takes options:
  "auto:n=8".
- space: the same space without knowledge.
- hand: a search space as practitioners write it.
- random: random search.
- optuna-tpe, optuna-gp: samplers of Optuna.

The first trial of each method is the estimator's own values.

The output is the regret × 1000 after each number of trials: 0 is the best known score,
and 1000 is the median of the random configurations. Values above 2000 count as 2000.
Means are over tasks and seeds; standard errors are over tasks.

Example: python benchmarks/auto_spaces.py --methods auto,space,random --jobs 2
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import json
import math
import warnings
import zlib
from functools import cache
from typing import Any

import numpy as np
from common import (
    HERE,
    Cache,
    mean_se,
    means_text,
    parse_option,
    run_all,
    save_results,
)
from priors import collect, data, estimators, learn, results, yahpo_xgboost
from priors.contestants import METHODS, Problem
from priors.hand_written import HAND_WRITTEN
from sklearn.ensemble import RandomForestRegressor

from skbayes.spaces.facts import DataFacts
from skbayes.spaces.parts import parts_of

SHOWN = (1, 3, 5, 10, 20, 40)
LARGEST = 2000.0
XGBOOST = "XGBClassifier"
SMALLEST_SPREAD = learn.SMALLEST_SPREAD

Params = dict[str, Any]


# -- tasks ----------------------------------------------------------------------------


def tasks_of(name: str) -> list[tuple[str, str, int]]:
    """Return the tasks of an estimator: its name, a table, and the index of a score."""
    if name == XGBOOST:
        tables = yahpo_xgboost.instances()
    else:
        tables = data.judged(estimators.task_of(name))
    known = {table.name: table for table in results.load(name)}
    found = []
    for i, table in enumerate(tables):
        scores = known[table].scores
        usable = np.flatnonzero(~np.isnan(scores).all(axis=0))
        place = int(usable[0] if i % 2 == 0 else usable[-1])
        spread = np.nanmax(scores[:, place]) - np.nanmedian(scores[1:, place])
        if spread > SMALLEST_SPREAD:
            found.append((name, table, place))
    return found


@cache
def problem(name: str, table: str) -> Problem:
    """Return the task as it is passed to the methods."""
    if name == XGBOOST:
        estimator: Any = yahpo_xgboost.XGBClassifier()
        own = yahpo_xgboost.DEFAULTS
        facts = DataFacts()
        space = yahpo_xgboost.space()
    else:
        estimator = estimators.make(name)
        own = estimator.get_params()
        if name == "LogisticRegression":
            own["l1_ratio"] = own.get("l1_ratio") or 0.0
        X, y, *_ = data.folds(table)[0]
        facts = DataFacts.of(X, y, 0.8)
        space = estimators.space_of(name, table)
    known = {name: knowledge(name, table)}
    parts = parts_of(estimator, facts)
    return Problem(parts, space, HAND_WRITTEN.get(name, {}), own, known)


@cache
def knowledge(name: str, table: str) -> Params:
    """Return knowledge learned from all other tables, or from the other half."""
    without = (table,)
    if name == XGBOOST:
        every = yahpo_xgboost.instances()
        without = tuple(every[every.index(table) % 2 :: 2])
    folder = HERE / "cache" / "auto_spaces" / "knowledge"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.{zlib.crc32(' '.join(without).encode())}.json"
    if not path.exists():
        path.write_text(json.dumps(learn.learn(name, without)))
    return json.loads(path.read_text())


@cache
def _simulator(name: str, table: str, place: int) -> RandomForestRegressor:
    """Return a forest that predicts a score from encoded configurations."""
    known = next(one for one in results.load(name) if one.name == table)
    own = problem(name, table).own_point(estimators.space_of(name, table))
    params = [*own, *known.params[1:]]
    values = known.scores[-len(params) :, place]
    ok = ~np.isnan(values)
    forest = RandomForestRegressor(40, max_features=0.5, random_state=0)
    return forest.fit(_rows(name, table, params)[ok], values[ok])


def _rows(name: str, table: str, params: list[Params]) -> np.ndarray:
    return np.nan_to_num(estimators.space_of(name, table).encode(params), nan=-1.0)


def score(name: str, table: str, place: int, params: Params) -> float:
    """Return the score of a configuration; NaN if its fit fails."""
    if name == XGBOOST:
        return float(yahpo_xgboost.evaluate([params], table)[0, place])
    if estimators.ESTIMATORS[name][2] == 2 and params in estimators.space_of(
        name, table
    ):
        return float(
            _simulator(name, table, place).predict(_rows(name, table, [params]))[0]
        )
    return float(collect.evaluate(name, table, params)[place])


def run(method: str, task: tuple[str, str, int], seed: int, n: int) -> dict[str, Any]:
    """Run one search."""
    warnings.simplefilter("ignore")
    named, _, options = method.partition(":")
    given = dict(parse_option(option) for option in options.split(";") if option)
    own_seed = zlib.crc32(f"{task} {seed}".encode()) % 2**31
    built = METHODS[named](problem(*task[:2]), own_seed, **given)
    scores: list[float] = []
    for _ in range(n):
        try:
            params = built.ask()
        except Exception as error:
            if type(error).__name__ != "SpaceExhausted":
                raise
            scores += [math.nan] * (n - len(scores))
            break
        scores.append(score(*task, params))
        built.tell(params, scores[-1])
    return {"task": list(task), "seed": seed, "scores": scores}


# -- regrets --------------------------------------------------------------------------


def best_so_far(record: dict[str, Any]) -> np.ndarray:
    """Return the best score after each trial."""
    values = np.nan_to_num(np.array(record["scores"], dtype=float), nan=-math.inf)
    return np.maximum.accumulate(values)


def regrets(
    store: Cache, methods: list[str], tasks: list[tuple[str, str, int]], n: int
) -> tuple[dict[str, dict], dict[str, dict]]:
    """Return regrets × 1000 and gains over the first trial of each run."""
    best, median = {}, {}
    for task in tasks:
        known = next(one for one in results.load(task[0]) if one.name == task[1])
        column = np.nan_to_num(known.scores[:, task[2]], nan=-math.inf)
        best[task], median[task] = column.max(), np.median(column[1:])
    records: dict[str, list[dict[str, Any]]] = {}
    for label in {*store.labels(), *methods}:
        for record in store.load(label):
            task = tuple(record["task"])
            if task in best:
                best[task] = max(best[task], best_so_far(record)[-1])
                if label in methods and len(record["scores"]) >= n:
                    records.setdefault(label, []).append(record)
    regret: dict[str, dict] = {label: {} for label in methods}
    gain: dict[str, dict] = {label: {} for label in methods}
    for label, own in records.items():
        for record in own:
            task = tuple(record["task"])
            found = best_so_far(record)[:n]
            spread = best[task] - median[task]
            values = np.minimum(1000.0 * (best[task] - found) / spread, LARGEST)
            regret[label][task, record["seed"]] = values
            gain[label][task, record["seed"]] = found - found[0]
    return regret, gain


def summarize(regret: dict[str, dict], gain: dict[str, dict], n: int) -> dict[str, Any]:
    """Print and return the means over the runs that all methods have finished."""
    shown = [t for t in SHOWN if t <= n]
    places = np.array(shown) - 1
    keys = sorted(set.intersection(*(set(runs) for runs in regret.values())))
    summary: dict[str, Any] = {"trials": shown, "groups": {}}
    print(f"regret × 1000 after {shown} trials, mean ± standard error over tasks")
    names = sorted({task[0] for task, _ in keys})
    for group in ["all", *names] if len(names) > 1 else names:
        summary["groups"][group] = {}
        own = [key for key in keys if group in ("all", key[0][0])]
        tasks = sorted({task for task, _ in own})
        for method, runs in regret.items():
            values = np.array(
                [
                    np.mean([runs[k][places] for k in own if k[0] == t], axis=0)
                    for t in tasks
                ]
            )
            entry = {"tasks": len(tasks), "runs": len(own), **mean_se(values)}
            summary["groups"][group][method] = entry
            print(f"{group:24}{method:20}{len(own):5} runs {means_text(entry)}")
    gains = {}
    for method, runs in gain.items():
        own = [k for k in keys if k[0][2] == 0]
        values = 1000.0 * np.array([runs[k][places] for k in own])
        gains[method] = mean_se(values)
        print(f"own score × 1000 above trial 1  {method:20}{means_text(gains[method])}")
    summary["gain"] = gains
    return summary


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--methods", default="auto,space,random", help="comma-separated")
    add("--estimators", help="comma-separated; default: all with tables")
    add("--seeds", type=int, default=1)
    add("--trials", type=int, default=40)
    add("--every", type=int, default=1, help="use only every n-th task")
    add("--fresh", action="store_true", help='delete the cached runs of "auto"')
    add("--jobs", type=int, default=1, help="number of processes")
    add("--save", metavar="NAME", help="write the summary to results/auto_spaces/")
    args = parser.parse_args()
    methods = args.methods.split(",")
    names = args.estimators.split(",") if args.estimators else results.names()
    store = Cache("auto_spaces")
    if args.fresh:
        for method in methods:
            if method.startswith("auto"):
                store.clear(method)
    tasks = [task for name in names for task in tasks_of(name)][:: args.every]
    done = {
        (label, tuple(r["task"]), r["seed"])
        for label in methods
        for r in store.load(label)
        if len(r["scores"]) >= args.trials
    }
    wanted = [(m, t, s) for s in range(args.seeds) for t in tasks for m in methods]
    jobs = [(one[0], (*one, args.trials)) for one in wanted if one not in done]
    run_all(run, jobs, store, args.jobs)
    regret, gain = regrets(store, methods, tasks, args.trials)
    summary = summarize(regret, gain, args.trials)
    if args.save:
        save_results(f"auto_spaces/{args.save}", summary)


if __name__ == "__main__":
    main()
