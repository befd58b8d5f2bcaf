"""Searches with time limits: trials that never end, equal wall time, and `timeout`.

    python benchmarks/limits_time.py ended
    python benchmarks/limits_time.py time-lcbench --jobs 2
    python benchmarks/limits_time.py search

The command `ended` runs 24 trials, each of which is ended after one second. In each
task, a part of the space never ends: one option of six, two of them, or the upper 45 %
of a range. A trial that ends takes 0.1 seconds. Configurations that never end would
have the best scores. In the tasks "scored", ended trials have a score, as if their
first folds were finished. The output is the number of ended trials, and the best score
× 1000 of the other trials. The optimizer gets the limit in the rows "limit", but not in
"no limit".

The commands `time-…` simulate wall time with surrogates of YAHPO Gym, which predict the
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
import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from harness import Figures, Record, Runs, Study, load, main
from joblib.externals.loky import get_reusable_executor
from methods import as_notation, make_method
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_breast_cancer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from tasks import METRICS, yahpo, yahpo_space

from skbayes import BayesSearchCV, Optimizer
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
TIMERS = {"lcbench": "time", "rbv2_xgboost": "timetrain"}  # seconds of a fit
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


def count_ended(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Return the number of ended trials, and the best score × 1000 of the others."""
    never_ends, scored = ENDED[task]
    optimizer = Optimizer(SPACE, random_state=seed)
    optimizer.cost_limit = LIMIT if method == "limit" else None
    ended, best = 0, -math.inf
    for _ in range(options["trials"]):
        params = optimizer.ask()
        score = params["x"] + 0.1 * "abcdef".index(params["kind"])
        if never_ends(params):
            ended += 1
            told = score if scored else math.nan
            optimizer.tell(params, told, cost=LIMIT, censored=True)
        else:
            optimizer.tell(params, score, cost=SECONDS)
            best = max(best, score)
    return {"figures": [ended, 1000.0 * best]}


# -- equal wall time ---------------------------------------------------------------


def make_timed(task: str) -> Callable[[Params], tuple[float, float]]:
    """Return a function that computes score and seconds of a configuration."""
    scenario, instance, metric = task.split("/")
    outputs = yahpo(scenario).outputs
    places = outputs.index(metric), outputs.index(TIMERS[scenario])

    def evaluate(params: Params) -> tuple[float, float]:
        values = yahpo(scenario).predict([params], instance)[0]
        score = METRICS[scenario][metric] * float(values[places[0]])
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
    optimizer = Optimizer(
        as_notation(space), acquisition=acquisition, random_state=seed
    )
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


def run_timed(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Run one search for the time of so many fits."""
    median, best, mean_seconds = reference(task)
    total = options["fits"] * mean_seconds
    scores, ends = search(method, task, seed, total)
    in_time = [s for s, end in zip(scores, ends, strict=True) if end <= total]
    return {
        "best": max(in_time, default=median),
        "known": max(best, *scores),
        "median": median,
        "n": len(in_time),
        "used": ends[-1] / total if ends else 0.0,
    }


def timed_tasks(scenario: str) -> list[str]:
    instances = yahpo(scenario).instances
    chosen = instances[:: len(instances) // N_INSTANCES][:N_INSTANCES]
    return [f"{scenario}/{i}/{metric}" for i in chosen for metric in METRICS[scenario]]


def timed_figures(runs: Runs, options: Mapping[str, Any]) -> Figures:
    """Return regret, number of trials, and share of the time, of each run."""
    known: dict[str, float] = {}
    for own in runs.values():
        for (task, _), run in own.items():
            known[task] = max(known.get(task, -math.inf), run["known"])
    found: Figures = {}
    for method, own in runs.items():
        found[method] = {}
        for key, run in own.items():
            spread = max(known[key[0]] - run["median"], 1e-9)
            regret = min(1000.0 * (known[key[0]] - run["best"]) / spread, 2000.0)
            found[method][key] = np.array([regret, run["n"], run["used"]])
    return found


# -- the time of real searches -----------------------------------------------------


class Sleeper(RegressorMixin, BaseEstimator):
    """Estimator whose fit takes 0.1 s."""

    def __init__(self, x: float = 0.0, y: float = 0.0) -> None:
        self.x = x
        self.y = y

    def fit(self, X: Any, y: Any = None) -> Sleeper:
        """Sleep."""
        time.sleep(0.1)
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Return a score with its maximum at (0.3, 0.7)."""
        return -((self.x - 0.3) ** 2) - (self.y - 0.7) ** 2


REAL = ("svm", "svm, linear", "text", "sleep, cold", "sleep, warm", "svm, all trials")
LIMITS = {"text": (60,), "svm, all trials": (300,)} | {
    name: (25, 5) if name.startswith("sleep") else (30, 100)
    for name in ("svm", "svm, linear", "sleep, cold", "sleep, warm")
}


def real_search(name: str, timeout: float, seed: int) -> tuple[BayesSearchCV, Any]:
    """Return a search with its data."""
    more: dict[str, Any] = {"timeout": timeout, "random_state": seed}
    if name == "text":
        texts, topics = load().load_newsgroups_task("science")["train"]
        model = make_pipeline(TfidfVectorizer(), LogisticRegression())
        return BayesSearchCV(model, n_iter=50, cv=3, **more), (
            list(texts),
            np.asarray(topics),
        )
    if name.startswith("sleep"):
        if name.endswith("cold"):
            get_reusable_executor().shutdown(kill_workers=True)
        space: Any = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
        search = BayesSearchCV(Sleeper(), space, n_iter=200, cv=5, n_jobs=2, **more)
        return search, (np.zeros((20, 1)), np.zeros(20))
    cancer = load_breast_cancer(return_X_y=True)
    if name == "svm, all trials":
        return BayesSearchCV(SVC(), {"C": [1, 2, 3]}, n_iter=3, **more), cancer
    slow = {"C": (1e-2, 1e4, "log-uniform"), "kernel": ["linear", "poly"]}
    space = slow if name.endswith("linear") else "auto"
    return BayesSearchCV(SVC(), space, n_iter=50, cv=5, **more), cancer


def run_search(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Return seconds without the refit, whether in time, trials, and best score."""
    name, _, limit = task.rpartition(", ")
    built, data = real_search(name, float(limit), seed)
    begin = time.perf_counter()
    try:
        built.fit(*data)
        seconds = built.total_time_ - built.refit_time_
        n_trials, score = len(built.trials_), float(built.best_score_)
    except ValueError:  # no trial ended in time
        seconds, n_trials, score = time.perf_counter() - begin, 0, math.nan
    in_time = seconds <= 1.1 * float(limit) + 2.0
    return {"figures": [seconds, in_time, n_trials, score]}


STUDIES = {
    "ended": Study(
        name="limits_time",
        tasks=lambda: list(ENDED),
        methods=("no limit", "limit"),
        run=count_ended,
        columns=lambda options: ["ended", "score"],
        overall=False,
        options={"trials": N_TRIALS},
        smallest=("--seeds", "2", "--trials", "6", "--tasks", "one option"),
    ),
    **{
        f"time-{scenario}": Study(
            name=f"limits_time/{scenario}",
            tasks=partial(timed_tasks, scenario),
            methods=METHODS,
            run=run_timed,
            figures=timed_figures,
            columns=lambda options: ["regret", "trials", "time used"],
            group=lambda task: task.partition("/")[0],
            options={"fits": 15},
        )
        for scenario in TIMERS
    },
    "search": Study(
        name="limits_time",
        tasks=lambda: [f"{name}, {n}" for name in REAL for n in LIMITS[name]],
        methods=("skbayes",),
        run=run_search,
        columns=lambda options: ["seconds", "in time", "trials", "best score"],
        overall=False,
        seeds=1,
        digits=4,
    ),
}


if __name__ == "__main__":
    main(STUDIES, __doc__)
