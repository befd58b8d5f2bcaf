"""Losses on new rows of searches by several libraries, at equal fits and equal time.

All libraries search the same ranges of a learner, on a part of a table, with five folds
(the tasks of `small_tables.py`). The columns are: the mean
logarithm of the ratio (× 1000) of the loss on new rows to that of the estimator's own
values after 10, 25 and 50 trials, and after the time that 25 random trials take; the
percentage of runs whose loss is greater than that of the own values after 50 trials;
and the seconds that 50 trials take. Halving draws three
times as many candidates as the others have trials.

Example: python benchmarks/new_rows.py run --every 4 --seeds 1 --jobs 2 --save table
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from harness import Record, Runs, Study, main
from methods import Categories, Float, Int, Space
from searches import Trials, run_search
from sklearn.base import clone
from small_tables import make_task, task_names

SIZES = (10, 25, 50)
SPACES: dict[str, Space] = {
    "LogisticRegression": {"C": Float(1e-4, 1e4, log=True)},
    "Ridge": {"alpha": Float(1e-4, 1e4, log=True)},
    "neighbors": {
        "n_neighbors": Int(1, 50, log=True),
        "weights": Categories(("uniform", "distance")),
        "p": Float(1.0, 3.0),
    },
    "boosting": {
        "n_estimators": Int(10, 100, log=True),
        "learning_rate": Float(0.01, 0.5, log=True),
        "num_leaves": Int(4, 64, log=True),
        "min_child_samples": Int(1, 50, log=True),
        "colsample_bytree": Float(0.3, 1.0),
        "reg_lambda": Float(1e-3, 100.0, log=True),
    },
    "SVC": {"C": Float(0.01, 1e3, log=True), "gamma": Float(1e-5, 10.0, log=True)},
    "SVR": {
        "C": Float(0.01, 1e3, log=True),
        "gamma": Float(1e-5, 10.0, log=True),
        "epsilon": Float(1e-3, 1.0, log=True),
    },
    "network": {
        "hidden_layer_sizes": Categories(((20,), (50,), (100,), (50, 50))),
        "activation": Categories(("relu", "tanh")),
        "alpha": Float(1e-6, 10.0, log=True),
        "learning_rate_init": Float(1e-4, 0.1, log=True),
    },
    "forest": {
        "max_features": Float(0.1, 1.0),
        "min_samples_leaf": Int(1, 20, log=True),
        "max_depth": Int(2, 30, log=True),
        "bootstrap": Categories((True, False)),
    },
}
METHODS = ("skbayes", "skbayes-ensemble", "random", "halving", "optuna", "flaml")


def space_of(name: str, estimator: Any) -> Space:
    """Return the ranges of the learner of a task."""
    steps = getattr(estimator, "steps", [("", estimator)])
    prefix, model = steps[-1]
    ranges = SPACES.get(type(model).__name__) or SPACES[name.split(":")[1]]
    return {f"{prefix}__{k}" if prefix else k: dim for k, dim in ranges.items()}


def run(method: str, name: str, seed: int, options: dict[str, Any]) -> Record:
    """Return the losses on new rows of the best trial so far, and the seconds."""
    warnings.simplefilter("ignore")
    task = make_task(name, seed)
    space, n = space_of(name, task.estimator), options["trials"]

    def loss(model: Any) -> float:
        return task.loss(getattr(model, task.method)(task.X_test))

    own_loss = loss(clone(task.estimator).fit(task.X, task.y))
    if method in ("halving", "skbayes-ensemble"):
        sizes = [size for size in SIZES if size <= n] or [n]
        fitted = [_whole(method, task, space, size, seed) for size in sizes]
        losses, seconds = [loss(model) for model, _ in fitted], [s for _, s in fitted]
    else:
        trials, _, _ = run_search(method, task, space, n, seed)
        sizes, seconds = list(range(1, len(trials) + 1)), [t[2] for t in trials]
        losses = list(_losses_of_best(task, trials, loss))
    return {"own": own_loss, "sizes": sizes, "losses": losses, "seconds": seconds}


def _whole(method: str, task: Any, space: Space, n: int, seed: int) -> tuple[Any, Any]:
    """Make a search that is not a prefix of longer ones; return it, and its seconds."""
    if method == "halving":
        result = run_search(method, task, space, 3 * n, seed)
    else:
        options = {"refit": "ensemble", "scoring": task.scoring}
        result = run_search("skbayes", task, space, n, seed, **options)
    return result[1].best_estimator_, result[2]


def _losses_of_best(task: Any, trials: Trials, loss: Any) -> Iterator[float]:
    best, value = -np.inf, np.nan
    for params, score, _ in trials:
        if score > best:
            best = score
            value = loss(clone(task.estimator).set_params(**params).fit(task.X, task.y))
        yield value


def figures(runs: Runs, options: Mapping[str, Any]) -> dict[str, dict]:
    """Return the columns of all runs that random search has made, too."""
    times = {
        key: r["seconds"][min(24, len(r["seconds"]) - 1)]
        for key, r in runs.get("random", {}).items()
    }
    columns: dict[str, dict] = {}
    for method, records in runs.items():
        columns[method] = {}
        for key, r in records.items():
            sizes, seconds = np.array(r["sizes"]), np.array(r["seconds"])
            gains = 1000.0 * np.log(np.array(r["losses"]) / r["own"])
            # Before the first trial, the model is the one with the own values.
            gains = np.concatenate([[0.0], gains])
            at = [int(np.sum(sizes <= size)) for size in SIZES]
            at.append(int(np.sum(seconds <= times.get(key, np.inf))))
            worse = 100.0 * (gains[-1] > 1e-6)
            columns[method][key] = np.array([*gains[at], worse, seconds[-1]])
    return columns


STUDY = Study(
    name="new_rows",
    tasks=task_names,
    methods=METHODS,
    run=run,
    columns=lambda options: [*map(str, SIZES), "equal time", "worse %", "seconds"],
    figures=figures,
    group=lambda task: task.split(":")[1],
    options={"trials": SIZES[-1]},
    seeds=1,
    smallest=(
        *("--tasks", "iris:linear", "--methods", "skbayes,random,skbayes-ensemble"),
        *("--trials", "4", "--seeds", "1"),
    ),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
