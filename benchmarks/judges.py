"""Comparison of search methods: regret after 10, 20, and 40 trials on suites of tasks.

The suites ("judges") are defined in tasks.py. The figures are normalized regrets ×
1000: 0 is the best known score, and 1000 is the median of 300 random trials. Values
above 2000 count as 2000. "Best known" is the best score in any stored run on the task.

All methods use the same seeds, and each task has different seeds. Otherwise all tasks
would have the same initial points, and the mean would depend on these. Standard errors
are over tasks and seeds.

With ``--noisy``, the observed score of the sklearn suite is computed on one random fold
of three. In the other suites, normal noise is added to the score, with a tenth of the
distance from the median to the best score. The regret is then computed from the true
score of the configuration with the best observed score.

The name of a method may be followed by the number of trials in flight. For skbayes, it
may also be followed by options of its Optimizer:

    skbayes  optuna-tpe@4  skbayes@4  skbayes:acquisition=pi;n_initial_points=4

Example: python benchmarks/judges.py lcbench --methods skbayes,optuna-tpe --jobs 2
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import ast
import math
import time
import warnings
import zlib
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import tasks
from harness import Figures, Record, Runs, Study, main
from methods import METHODS, Params, make_method

from skbayes import Optimizer
from skbayes.space import Space

SHOWN = (10, 20, 40, 100)
REFERENCE, N_REFERENCE = "reference", 300
LARGEST, NOISE = 2000.0, 0.1
JUDGES = ("sklearn", "xgboost", "xgboost-tree", "lcbench", "tables")


def seed_of(task: str, seed: int) -> int:
    """Return the seed of one run, which is different for each task."""
    return zlib.crc32(f"{task.removeprefix('xgboost-tree')} {seed}".encode()) % 2**31


@cache
def reference(task: str) -> np.ndarray:
    """Return scores of random trials, -inf for failures."""
    _, notation, score = tasks.make_task(task)
    space = Space.from_notation(notation)
    optimizer = Optimizer(space, surrogate="random", random_state=0)
    n = int(min(N_REFERENCE, space.n_configurations))
    scores = [score(optimizer.propose().params) for _ in range(n)]
    return np.nan_to_num(scores, nan=-math.inf)


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _build(method: str, task: str, seed: int) -> Any:
    name, _, options = method.partition(":")
    space, notation, _ = tasks.make_task(task)
    if name == "skbayes" or (name == "random" and space is None):
        pairs = [option.split("=", 1) for option in options.split(";") if option]
        params: dict[str, Any] = {key: _literal(value) for key, value in pairs}
        if name == "random":
            params["surrogate"] = "random"
        return Optimizer(notation, random_state=seed, **params)
    if space is None:
        raise ValueError(f"{name} does not take the grids; see nmt.py")
    return make_method(name, space, seed)


def check_method(method: str) -> None:
    """Raise an error if a method does not exist."""
    name = method.partition("@")[0].partition(":")[0]
    if name not in METHODS:
        raise ValueError(f"{name} is not in {sorted(METHODS)}")


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Run one search; with q in flight, trial k depends on the scores of 0 … k - q."""
    warnings.simplefilter("ignore")
    if method == REFERENCE:
        return {"scores": reference(task).tolist()}
    named, _, q = method.partition("@")
    rng = np.random.default_rng(seed_of(task, seed))
    built = _build(named, task, seed_of(task, seed))
    score = tasks.make_task(task).score
    pending: list[tuple[Params, float]] = []
    scores, told, thought = [], [], []
    for _ in range(options["trials"]):
        began = time.process_time()
        params = built.ask()
        asked = time.process_time()
        scores.append(score(params))
        noisy = options["noisy"]
        told.append(_observe(task, params, scores[-1], rng) if noisy else scores[-1])
        pending.append((params, told[-1]))
        scored = time.process_time()
        if len(pending) == int(q or 1):
            built.tell(*pending.pop(0))
        thought.append(round(asked - began + time.process_time() - scored, 5))
    return {"scores": scores, "told": told, "think": thought}


def _observe(
    task: str, params: Params, score: float, rng: np.random.Generator
) -> float:
    """Return a noisy score."""
    judge, _, what = task.partition(":")
    if judge == "sklearn":
        return float(rng.choice(tasks.fold_scores(what, params)))
    spread = np.max(reference(task)) - np.median(reference(task))
    return score + float(NOISE * spread * rng.standard_normal())


def best_so_far(record: Record) -> np.ndarray:
    """Return the true score of the best configuration after each trial."""
    scores, told = (
        np.nan_to_num(np.array(record[key], dtype=float), nan=-math.inf)
        for key in ("scores", "told")
    )
    best = np.maximum.accumulate(told)
    places = np.maximum.accumulate(np.where(told >= best, np.arange(len(told)), 0))
    return scores[places]


def regrets(runs: Runs) -> Figures:
    """Return regrets × 1000 after each trial."""
    best: dict[str, float] = {}
    for records in runs.values():
        for (task, _), record in records.items():
            scores = np.array(record["scores"], dtype=float)
            greatest = np.max(scores, initial=-math.inf, where=~np.isnan(scores))
            function = _function(task)
            best[function] = max(best.get(function, -math.inf), float(greatest))
    median = {
        _function(task): float(np.median(record["scores"]))
        for (task, _), record in runs[REFERENCE].items()
    }
    normalized: Figures = {}
    for method, records in runs.items():
        normalized[method] = {}
        for key, record in records.items():
            function = _function(key[0])
            spread = best[function] - median.get(function, math.nan)
            if method != REFERENCE and spread > 0:
                regret = 1000.0 * (best[function] - best_so_far(record)) / spread
                normalized[method][key] = np.minimum(regret, LARGEST)
    return normalized


def _function(task: str) -> str:
    """Return the name of a task without its notation: the best score is the same."""
    return task.replace("xgboost-tree:", "xgboost:")


def shown(options: Mapping[str, Any]) -> list[int]:
    return [n for n in SHOWN if n <= options["trials"]] or [options["trials"]]


def figures(runs: Runs, options: Mapping[str, Any]) -> Figures:
    """Return the regrets at some numbers of trials."""
    at = np.array(shown(options)) - 1
    return {
        method: {key: values[at] for key, values in values.items()}
        for method, values in regrets(runs).items()
    }


def group(task: str) -> str:
    """Return the learner or metric of a task."""
    return task.rpartition("/" if "/" in task else "-")[2]


STUDIES = {
    judge: Study(
        name="judges",
        tasks=partial(tasks.tasks_of, judge),
        methods=("skbayes", "random"),
        check_method=check_method,
        reference=REFERENCE,
        run=run,
        figures=figures,
        columns=shown,
        group=group,
        options={"trials": 40, "noisy": False},
        smallest=("--tasks", "tables:digits-svm", "--seeds", "2", "--trials", "6")
        if judge == "tables"
        else (),
    )
    for judge in JUDGES
}

if __name__ == "__main__":
    main(STUDIES, __doc__)
