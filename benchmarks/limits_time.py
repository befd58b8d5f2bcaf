"""Searches with time limits: trials that never end, equal wall time, and `timeout`.

    python benchmarks/limits_time.py ended
    python benchmarks/limits_time.py time --jobs 2
    python benchmarks/limits_time.py search

The command `ended` runs 24 trials, each of which is ended after one second. In each
task, a part of the space never ends: one option of six, two of them, or the upper 45 %
of a range. A trial that ends takes 0.1 seconds. Configurations that never end would
have the best scores. In the tasks "scored", ended trials have a score, as if their
first folds were finished. The output is the number of ended trials, and the best score
× 1000 of the other trials. The optimizer gets the limit in the rows "limit", but not in
"no limit".

The command `time` simulates wall time with surrogates of YAHPO Gym, which predict the
seconds of a fit. The learners are perceptrons (`lcbench`: seven dimensions, times
differ by a factor of 40) and XGBoost (`rbv2_xgboost`: 14 dimensions, a factor of
1,000), on three data sets with two metrics each. A search takes as many seconds as
`--fits` fits of random configurations on average, and at most 60 trials. The time of
proposals is not counted, and a trial that ends after the limit is ignored. The output
is the normalized regret × 1000 of the best score at the end: 0 is the best known score
of the task, and 1000 is the median of 300 random configurations.

- ei: expected improvement; the search ends with the first trial that is expected to
  exceed the time.
- ei+last: the search then proposes trials that are expected to end in time.
- eips: expected improvement per second; eips-cooled: with cooled costs; both also with
  "+last".
- random, optuna-tpe: trials are started until the time is over.

The command `search` runs real searches with `timeout` and measures their time without
the refit:

- svm: `SVC()` with its default space and 5 folds, on the breast cancer data without
  scaling.
- svm, linear: linear and polynomial kernels on the same data. Some configurations take
  minutes.
- text: TF-IDF and logistic regression with their default space, on the four groups
  about science of 20 Newsgroups.
- sleep: fits of 0.1 s with two workers. The processes of the workers start in the cold
  searches only.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import itertools
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from common import Cache, mean_se, means_text, names, run_all, save_results
from joblib.externals.loky import get_reusable_executor
from methods import make_method
from quick_tasks import _notation, yahpo, yahpo_space
from shared import load
from sklearn.datasets import load_breast_cancer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sleeper import Sleeper, sleeper_data

from skbayes import BayesSearchCV, Optimizer
from skbayes.evaluation.limits import parse_time
from skbayes.optimizer import SpaceExhausted

Params = dict[str, Any]
N_TRIALS, LIMIT, SECONDS = 24, 1.0, 0.1
MAX_TRIALS = 60
SPACE = {"kind": list("abcdef"), "x": (0.0, 1.0)}
# Configurations that never end, and whether ended trials have a score. This score
# increases with the time that the trial would take.
ENDED: dict[str, tuple[Callable[[Params], bool], bool]] = {
    "one option": (lambda p: p["kind"] == "f", False),
    "two options": (lambda p: p["kind"] > "d", False),
    "range": (lambda p: p["x"] > 0.55, False),
    "one option, scored": (lambda p: p["kind"] == "f", True),
    "range, scored": (lambda p: p["x"] > 0.55, True),
}
# Seconds of a fit, and scores with their signs.
SCENARIOS: dict[str, tuple[str, dict[str, float]]] = {
    "lcbench": ("time", {"val_accuracy": 1.0, "val_cross_entropy": -1.0}),
    "rbv2_xgboost": ("timetrain", {"acc": 1.0, "logloss": -1.0}),
}
N_INSTANCES, N_REFERENCE = 3, 300
METHODS = (
    "ei",
    "ei+last",
    "eips",
    "eips-cooled",
    "eips-cooled+last",
    "random",
    "optuna-tpe",
)


# -- trials that never end ---------------------------------------------------------


def count_ended(task: str, limit: float | None, seed: int) -> tuple[int, float]:
    """Return the number of ended trials, and the best score × 1000 of the others."""
    never_ends, scored = ENDED[task]
    optimizer = Optimizer(SPACE, random_state=seed)
    optimizer.cost_limit = limit
    ended, best = 0, -math.inf
    for _ in range(N_TRIALS):
        params = optimizer.ask()
        score = params["x"] + 0.1 * "abcdef".index(params["kind"])
        if never_ends(params):
            ended += 1
            told = score if scored else math.nan
            optimizer.tell(params, told, cost=LIMIT, censored=True)
        else:
            optimizer.tell(params, score, cost=SECONDS)
            best = max(best, score)
    return ended, 1000.0 * best


def run_ended(n_seeds: int) -> dict[str, Any]:
    """Print and return the numbers of ended trials."""
    summary: dict[str, Any] = {}
    for task in ENDED:
        for label, limit in (("no limit", None), ("limit", LIMIT)):
            values = np.array([count_ended(task, limit, s) for s in range(n_seeds)])
            entry = mean_se(values)
            summary.setdefault(task, {})[label] = entry
            print(f"{task:20}{label:10} ended, score: {means_text(entry)}", flush=True)
    return summary


# -- equal wall time ---------------------------------------------------------------


def make_timed(task: str) -> Callable[[Params], tuple[float, float]]:
    """Return a function that computes score and seconds of a configuration."""
    scenario, instance, metric = task.split("/")
    timer, metrics = SCENARIOS[scenario]
    outputs = yahpo(scenario).outputs
    places = outputs.index(metric), outputs.index(timer)

    def evaluate(params: Params) -> tuple[float, float]:
        values = yahpo(scenario).predict([params], instance)[0]
        score = metrics[metric] * float(values[places[0]])
        return score, max(float(values[places[1]]), 1e-3)

    return evaluate


def reference(task: str) -> tuple[float, float, float]:
    """Return median and best score, and mean seconds, of random configurations."""
    space = yahpo_space(task.partition("/")[0])
    method = make_method("random", space, 10_000)
    evaluate = make_timed(task)
    scores, seconds = zip(
        *(evaluate(method.ask()) for _ in range(N_REFERENCE)), strict=True
    )
    return float(np.median(scores)), max(scores), float(np.mean(seconds))


def search(name: str, task: str, seed: int, total: float) -> tuple[list, list]:
    """Return scores and end times of the trials of one search of `total` seconds."""
    space, evaluate = yahpo_space(task.partition("/")[0]), make_timed(task)
    if name in ("random", "optuna-tpe"):
        return _search_plainly(make_method(name, space, seed), evaluate, total)
    rule, _, last = name.partition("+")
    acquisition = "ei" if rule == "ei" else "ei-per-second"
    optimizer = Optimizer(_notation(space), acquisition=acquisition, random_state=seed)
    if rule == "eips-cooled":
        optimizer.cost_budget = total
    scores: list[float] = []
    ends: list[float] = []
    now = 0.0
    while len(scores) < MAX_TRIALS:
        proposed = optimizer.propose()
        if scores and now + (optimizer.expected_cost(proposed) or 0.0) > total:
            optimizer.forget(proposed)
            if not last or now >= total:
                break
            try:
                proposed = optimizer.propose(max_cost=total - now)
            except SpaceExhausted:
                break
            if now + (optimizer.expected_cost(proposed) or 0.0) > total:
                break
        score, seconds = evaluate(proposed.params)
        now += seconds
        scores.append(score)
        ends.append(now)
        optimizer.tell(proposed, score, cost=seconds)
        if now > total:
            break
    return scores, ends


def _search_plainly(method: Any, evaluate: Any, total: float) -> tuple[list, list]:
    scores, ends, now = [], [], 0.0
    while now < total and len(scores) < MAX_TRIALS:
        params = method.ask()
        score, seconds = evaluate(params)
        method.tell(params, score)
        now += seconds
        scores.append(score)
        ends.append(now)
    return scores, ends


def run_timed(name: str, task: str, seed: int, fits: int) -> dict[str, Any]:
    """Run one search; return a record for the cache."""
    median, best, mean_seconds = reference(task)
    total = fits * mean_seconds
    scores, ends = search(name, task, seed, total)
    in_time = [s for s, end in zip(scores, ends, strict=True) if end <= total]
    return {
        "task": task,
        "seed": seed,
        "best": max(in_time, default=None),
        "known": max(best, *scores),
        "median": median,
        "n": len(in_time),
        "used": ends[-1] / total if ends else 0.0,
    }


def run_times(args: argparse.Namespace) -> dict[str, Any]:
    """Run all searches that are not cached; print and return the summary."""
    store = Cache(f"limits-time-{args.scenario}-{args.fits}")
    instances = yahpo(args.scenario).instances
    chosen = instances[:: len(instances) // N_INSTANCES][:N_INSTANCES]
    metrics = SCENARIOS[args.scenario][1]
    tasks = [f"{args.scenario}/{one}/{metric}" for one in chosen for metric in metrics]
    done = store.done(args.methods, ("task", "seed"))
    wanted = [
        (m, task, seed)
        for seed in range(args.seeds)
        for task in tasks
        for m in args.methods
    ]
    jobs = [(one[0], (*one, args.fits)) for one in wanted if one not in done]
    if not args.cached:
        run_all(run_timed, jobs, store, args.jobs)
    return summarize_times(store, args.methods)


def summarize_times(store: Cache, methods: list[str]) -> dict[str, Any]:
    """Return regrets of the final scores, and differences from the first method."""
    records = {m: {(r["task"], r["seed"]): r for r in store.load(m)} for m in methods}
    known: dict[str, float] = {}
    for runs in records.values():
        for (task, _), r in runs.items():
            known[task] = max(known.get(task, -math.inf), r["known"])
    common = set.intersection(*(set(runs) for runs in records.values()))
    seeds = sorted({seed for _, seed in common})
    tasks = {task for task, _ in common}
    seeds = [s for s in seeds if all((task, s) in common for task in tasks)]
    keys = [(task, s) for s in seeds for task in sorted(tasks)]
    figures = {}
    for method, runs in records.items():
        regrets = []
        for key in keys:
            r = runs[key]
            spread = max(known[key[0]] - r["median"], 1e-9)
            best = r["median"] if r["best"] is None else r["best"]
            regrets.append(min(1000.0 * (known[key[0]] - best) / spread, 2000.0))
        by_seed = np.array(regrets).reshape(len(seeds), -1).mean(axis=1)
        trials = np.array([runs[k]["n"] for k in keys]).reshape(len(seeds), -1)
        used = np.array([runs[k]["used"] for k in keys]).reshape(len(seeds), -1)
        figures[method] = np.column_stack([by_seed, trials.mean(1), used.mean(1)])
    first = figures[methods[0]]
    summary: dict[str, Any] = {"seeds": len(seeds), "tasks": len(tasks)}
    print(f"{len(tasks)} tasks, {len(seeds)} seeds: regret × 1000, trials, time used")
    for method, values in figures.items():
        entry = mean_se(values)
        entry["minus_first"] = mean_se(values[:, :1] - first[:, :1])
        summary[method] = entry
        apart = means_text(entry["minus_first"], "+")
        print(f"{method:20}{means_text(entry)}   apart {apart}")
    return summary


# -- the time of real searches -----------------------------------------------------


def timed_searches() -> Iterator[tuple[str, BayesSearchCV, Any]]:
    """Yield names, searches, and their data."""
    cancer = load_breast_cancer(return_X_y=True)
    slow = {"C": (1e-2, 1e4, "log-uniform"), "kernel": ["linear", "poly"]}
    for name, space in (("svm", "auto"), ("svm, linear", slow)):
        for timeout in (30, 100):
            search = BayesSearchCV(
                SVC(), space, n_iter=50, cv=5, timeout=timeout, random_state=0
            )
            yield name, search, cancer
    texts, topics = load().load_newsgroups_task("science")["train"]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression())
    search = BayesSearchCV(model, n_iter=50, cv=3, timeout="1 min", random_state=0)
    yield "text", search, (list(texts), np.asarray(topics))
    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    for timeout, state in itertools.product((25, 5), ("cold", "warm")):
        if state == "cold":
            get_reusable_executor().shutdown(kill_workers=True)
        with tempfile.TemporaryDirectory() as folder:
            search = BayesSearchCV(
                Sleeper(((0.1,),), folder), space, n_iter=200, cv=5,
                timeout=timeout, n_jobs=2, random_state=0,
            )  # fmt: skip
            yield f"sleep, {state}", search, sleeper_data(5)
    few = BayesSearchCV(SVC(), {"C": [1, 2, 3]}, n_iter=3, timeout="5 min")
    yield "svm, all trials", few, cancer


def run_searches() -> dict[str, Any]:
    """Print and return the times of searches beside their limits."""
    summary: dict[str, Any] = {}
    for name, search, data in timed_searches():
        limit = float(parse_time("timeout", search.timeout) or 0.0)
        begin = time.perf_counter()
        try:
            search.fit(*data)
            seconds = search.total_time_ - search.refit_time_
            n_trials, score = len(search.trials_), float(search.best_score_)
            reason = search.stop_reason_
        except ValueError as error:
            seconds, n_trials, score = time.perf_counter() - begin, 0, math.nan
            reason = str(error).partition(".")[0]
        figures = {
            "limit": limit,
            "seconds": round(seconds, 2),
            "in_time": seconds <= 1.1 * limit + 2.0,
            "trials": n_trials,
            "best_score": round(score, 4),
            "stop_reason": reason,
        }
        summary[f"{name}, timeout={search.timeout!r}"] = figures
        print(f"{name:16}{figures}", flush=True)
    return summary


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("what", choices=("ended", "time", "search"))
    add("--methods", type=names(METHODS), default=list(METHODS))
    add("--seeds", type=int, default=10)
    add("--scenario", choices=tuple(SCENARIOS), default="lcbench")
    add("--fits", type=int, default=15, help="time limit in mean times of random fits")
    add("--jobs", type=int, default=1, help="number of processes")
    add("--cached", action="store_true", help="summarize cached runs only")
    add("--save", action="store_true", help="write the summary to results/")
    args = parser.parse_args()
    if args.what == "search":
        summary = run_searches()
    else:
        summary = run_ended(args.seeds) if args.what == "ended" else run_times(args)
    if args.save:
        kind = f"-{args.scenario}" if args.what == "time" else ""
        save_results(f"limits_time/{args.what}{kind}", summary)


if __name__ == "__main__":
    main()
