"""Comparison of search methods: regret after 10, 20, and 40 trials on suites of tasks.

Each of the five suites ("judges") is a list of tasks:

- sklearn: the 60 tasks of sklearn_tasks.py, eight learners on 26 data sets.
- xgboost: YAHPO Gym's surrogates of XGBoost (14 dimensions, two of them categorical) on
  119 data sets, alternately with accuracy and log loss.
- xgboost-tree: the same, but skbayes uses `Choice`, so that the parameters of a booster
  exist only under that booster. Libraries without such a notation use the flat space.
- lcbench: YAHPO Gym's surrogates of perceptrons (seven dimensions) on 34 data sets,
  alternately with accuracy and cross-entropy.
- tables: the seven grids of grids.py.

With ``--noisy``, the observed score of the sklearn suite is that of one random fold of
three. In the other suites, normal noise is added to the score, with a tenth of the
distance from the median to the best score. The regret is then computed from the true
score of the configuration with the best observed score.

The output is the normalized regret × 1000 of sklearn_tasks.py: 0 is the best known
score, and 1000 is the median of 300 random trials. Values above 2000 count as 2000. All
methods use the same seeds, but each task has different seeds. Otherwise all tasks would
have the same initial points, and the mean would depend on these. Standard errors are
over tasks and seeds.

The name of a method may be followed by the number of trials in flight. For skbayes, it
may also be followed by options of its Optimizer or by a variant of variants.py:

    skbayes  optuna-tpe@4  skbayes@4  skbayes+plain  skbayes@4+plain
    skbayes:n_initial_points=4,acquisition=pi

HEBO requires a separate environment (NumPy < 1.25), in which this script is run with
``--methods hebo``. The output contains the cached runs of all environments.

Example: python benchmarks/judges.py lcbench --methods skbayes,optuna-tpe --jobs 2
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import math
import time
import warnings
import zlib
from functools import cache
from typing import Any

import numpy as np
import quick_tasks
import sklearn_tasks
import variants
from common import (
    Cache,
    mean_se,
    means_text,
    parse_option,
    run_all,
    save_results,
)
from methods import METHODS, Params, make_method
from quick_tasks import make_task, yahpo

from skbayes import Optimizer
from skbayes.space import Space

SHOWN = (10, 20, 40, 100)
REFERENCE, N_REFERENCE = "reference", 300
LARGEST = 2000.0
NOISE = 0.1


def tasks_of(judge: str) -> list[str]:
    """Return the names of the tasks of a suite."""
    if judge == "sklearn":
        return [f"sklearn:{task}" for task in sklearn_tasks.TASKS]
    if judge == "tables":
        return [f"tables:{name}" for name in quick_tasks.grids.GRIDS]
    scenario = "lcbench" if judge == "lcbench" else "rbv2_xgboost"
    metrics = list(quick_tasks.METRICS[scenario])
    return [
        f"{judge}:{instance}/{metrics[i % len(metrics)]}"
        for i, instance in enumerate(yahpo(scenario).instances)
    ]


def seed_of(task: str, seed: int) -> int:
    """Return the seed of one run, which is different for each task."""
    return zlib.crc32(f"{task.removeprefix('xgboost-tree')} {seed}".encode()) % 2**31


@cache
def reference(task: str) -> np.ndarray:
    """Return scores of random trials, -inf for failures."""
    _, notation, score = make_task(task)
    space = Space.from_notation(notation)
    n = int(min(N_REFERENCE, space.n_configurations))
    optimizer = Optimizer(space, surrogate="random", random_state=0)
    scores = []
    for _ in range(n):
        params = optimizer.propose().params
        scores.append(score(params))
    return np.nan_to_num(scores, nan=-math.inf)


def _build(method: str, task: str, seed: int) -> Any:
    name, _, options = method.partition(":")
    space, notation, _ = make_task(task)
    if name != "skbayes":
        if space is None:
            raise ValueError(f"{name} does not take the grids; see default_on_grids.py")
        return make_method(name, space, seed)
    given = dict(parse_option(option) for option in options.split(",") if option)
    optimizer = Optimizer(notation, random_state=seed, **given)
    optimizer.ask = lambda: optimizer.propose().params  # type: ignore[assignment]
    return optimizer


def run(
    method: str, task: str, seed: int, n_trials: int, noisy: bool
) -> dict[str, Any]:
    """Run one search; with q in flight, trial k depends on the scores of 0 … k - q."""
    warnings.simplefilter("ignore")
    if method == REFERENCE:
        return {"task": task, "seed": seed, "scores": reference(task).tolist()}
    method, _, variant = method.partition("+")
    with variants.applied(variant, n_trials):
        return _search(method, task, seed, n_trials, noisy)


def _search(
    method: str, task: str, seed: int, n_trials: int, noisy: bool
) -> dict[str, Any]:
    named, _, q = method.partition("@")
    rng = np.random.default_rng(seed_of(task, seed))
    built = _build(named, task, seed_of(task, seed))
    score = make_task(task)[2]
    pending: list[tuple[Params, float]] = []
    scores, told, thought = [], [], []
    for _ in range(n_trials):
        began = time.process_time()
        params = built.ask()
        asked = time.process_time()
        scores.append(score(params))
        told.append(_observe(task, params, scores[-1], rng) if noisy else scores[-1])
        pending.append((params, told[-1]))
        scored = time.process_time()
        if len(pending) == int(q or 1):
            built.tell(*pending.pop(0))
        thought.append(round(asked - began + time.process_time() - scored, 5))
    return {
        "task": task,
        "seed": seed,
        "scores": scores,
        "told": told,
        "think": thought,
    }


def _observe(
    task: str, params: Params, score: float, rng: np.random.Generator
) -> float:
    """Return a noisy score."""
    judge, _, what = task.partition(":")
    if judge == "sklearn":
        return float(rng.choice(sklearn_tasks.fold_scores(what, params)))
    known = reference(task)
    sd = NOISE * (np.max(known) - np.median(known))
    return score + float(sd * rng.standard_normal())


# -- regrets -----------------------------------------------------------------------


def best_so_far(record: dict[str, Any]) -> np.ndarray:
    """Return the true score of the best configuration after each trial."""
    scores, told = (
        np.nan_to_num(np.array(record[key], dtype=float), nan=-math.inf)
        for key in ("scores", "told")
    )
    best = np.maximum.accumulate(told)
    places = np.maximum.accumulate(np.where(told >= best, np.arange(len(told)), 0))
    return scores[places]


def regrets(store: Cache, methods: list[str], tasks: list[str]) -> dict[str, dict]:
    """Return regrets × 1000 after each trial, by method and by (task, seed)."""
    found: dict[str, dict] = {method: {} for method in methods}
    wanted = set(tasks)
    # The best score of the flat space and of the conditional space is the same.
    best = dict.fromkeys((_function(task) for task in tasks), -math.inf)
    median: dict[str, float] = {}
    for label in {*store.labels(), *methods}:
        for record in store.load(label):
            task = record["task"]
            function = _function(task)
            if function not in best:
                continue
            scores = np.array(record["scores"], dtype=float)
            if not np.all(np.isnan(scores)):
                best[function] = max(best[function], float(np.nanmax(scores)))
            if label == REFERENCE:
                median[function] = float(np.median(scores))
            elif label in found and task in wanted:
                found[label][task, record["seed"]] = best_so_far(record)
    for runs in found.values():
        for key in list(runs):
            function = _function(key[0])
            spread = best[function] - median.get(function, math.nan)
            if spread > 0:
                regret = 1000.0 * (best[function] - runs[key]) / spread
                runs[key] = np.minimum(regret, LARGEST)
            else:
                del runs[key]
    return found


def _function(task: str) -> str:
    return task.replace("xgboost-tree:", "xgboost:")


def _group(task: str) -> str:
    """Return the learner or metric of a task."""
    return task.rpartition("/" if "/" in task else "-")[2]


def summarize(found: dict[str, dict], n_trials: int) -> dict[str, Any]:
    """Print and return means, and differences from the first method."""
    shown = [t for t in SHOWN if t <= n_trials]
    places = np.array(shown) - 1
    first = next(iter(found))
    groups = sorted({_group(task) for task, _ in found[first]})
    summary: dict[str, Any] = {"trials": shown, "groups": {}}
    print(f"regret × 1000 after {shown} trials; differences are from {first}")
    for group in ["all", *groups] if len(groups) > 1 else ["all"]:
        summary["groups"][group] = {}
        for method, runs in found.items():
            keys = [k for k in runs if group in ("all", _group(k[0]))]
            both = [k for k in keys if k in found[first]]
            if not both:
                continue
            values = np.array([runs[k][places] for k in both])
            apart = values - np.array([found[first][k][places] for k in both])
            entry = {"runs": len(both), **mean_se(values)}
            entry["minus_first"] = mean_se(apart)
            summary["groups"][group][method] = entry
            line = f"{group:18}{method:30}{len(both):5} runs {means_text(entry)}"
            print(line + f"   apart {means_text(entry['minus_first'], '+')}")
    return summary


def _known(text: str) -> list[str]:
    methods = text.replace(":", "\0", 1).split(";") if ";" in text else text.split(",")
    methods = [one.replace("\0", ":") for one in methods]
    for one in methods:
        given, _, variant = one.partition("+")
        name = given.partition("@")[0].partition(":")[0]
        if name not in METHODS:
            raise argparse.ArgumentTypeError(f"{name} is not in {sorted(METHODS)}")
        known = sorted(variants.VARIANTS) if name == "skbayes" else []
        if variant and variant not in known:
            raise argparse.ArgumentTypeError(f"{variant} is not in {known}")
    return methods


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    judges = ("sklearn", "xgboost", "xgboost-tree", "lcbench", "tables")
    add("judge", choices=judges)
    add(
        "--methods",
        type=_known,
        default=["skbayes", "random"],
        help="comma-separated; semicolons if options contain commas",
    )
    add("--seeds", type=int, default=10)
    add("--trials", type=int, default=40)
    add("--every", type=int, default=1, help="use only every n-th task")
    add("--offset", type=int, default=0, help="index of the first task")
    add("--noisy", action="store_true", help="add noise to the observed scores")
    add("--fresh", action="store_true", help="delete the cached runs of skbayes")
    add("--finished", action="store_true", help="print finished runs only")
    add("--jobs", type=int, default=1, help="number of processes")
    add("--save", metavar="NAME", help="write the summary to results/judges/")
    args = parser.parse_args()
    kind = "-noisy" if args.noisy else ""
    store = Cache(f"judges/{args.trials}{kind}")
    if args.fresh:
        for method in args.methods:
            if method.startswith("skbayes"):
                store.clear(method)
    tasks = tasks_of(args.judge)[args.offset :: args.every]
    done = {
        (label, r["task"], r["seed"])
        for label in (*args.methods, REFERENCE)
        for r in store.load(label)
    }
    wanted = [(REFERENCE, task, 0) for task in tasks]
    wanted += [
        (m, task, seed)
        for seed in range(args.seeds)
        for m in args.methods
        for task in tasks
    ]
    jobs = [
        (one[0], (*one, args.trials, args.noisy)) for one in wanted if one not in done
    ]
    run_all(run, [] if args.finished else jobs, store, args.jobs)
    summary = summarize(regrets(store, args.methods, tasks), args.trials)
    if args.save:
        save_results(f"judges/{args.save}", summary)


if __name__ == "__main__":
    main()
