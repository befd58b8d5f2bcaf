"""Test losses of ensembles of the trials of a search, beside the single choice.

For each learner, table and outer split, one search makes 20 trials with five folds on
at most 400 rows. These models are made from its trials: the best configuration,
refitted on all rows ("single"), the ensemble of `refit="ensemble"`, and scikit-learn's
voting and stacking of the best five. "own" are the estimator's own values. FLAML
searches and stacks five models of its own in the time of the search for a choice of
models.

The losses are log losses and, in regression, root mean squared errors. The columns are
the mean log ratio (× 1000) of the loss to that of the single choice, and the
percentages of splits, and of tables by their mean, in which the loss is smaller.
Standard errors are over tables.

Example: python benchmarks/ensembles.py run --save table
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import time
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import truth
from harness import Record, Runs, Study, main
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from skbayes.space import Choice
from skbayes.spaces import default_space
from skbayes.spaces.parts import renamed

TABLES = (
    *("breast_cancer", "ecoli", "german_credit", "haberman", "ionosphere"),
    *("mammography", "pima", "sonar", "diabetes", "wine_red"),
)
# Learner: its classes for classification and regression, their parameters, and ranges
# of the default search space that are changed, to keep fits cheap.
LEARNERS: dict[str, tuple[type, type, dict, dict]] = {
    "histogram": (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        {"max_iter": 50, "early_stopping": False, "random_state": 0},
        {"max_iter": (10, 60, "log-uniform")},
    ),
    "lightgbm": (
        *truth.LEARNERS["boosting"][:3],
        {"n_estimators": (10, 100, "log-uniform")},
    ),
    "forest": (*truth.LEARNERS["forest"][:3], {}),
    "network": (*truth.LEARNERS["network"][:3], {}),
}
MIXED = ("linear", "neighbors", "boosting", "forest", "network")  # of truth.py
METHODS = ("single", "own", "ensemble", "voting", "stacking", "flaml")
N_BEST = 5


def task_names() -> list[str]:
    """Return "table:learner"."""
    return [f"{table}:{name}" for table in TABLES for name in (*LEARNERS, "choice")]


def make_task(name: str, seed: int) -> truth.Task:
    """Return one outer split of a table, with a pipeline and its search space."""
    table, learner = name.split(":")
    task = truth.make_task(f"{table}:network", seed)
    regresses = table in truth.REGRESSION
    if learner == "choice":
        options = []
        for own in MIXED:
            spec = truth.LEARNERS[own]
            model = spec[regresses](**spec[2 + regresses])
            ranges = {**default_space(model, task.X, task.y)}
            ranges.pop("n_estimators", None)
            options.append((model, renamed(ranges, "model__{}".format)))
        task.space = {"model": Choice(options)}
        model = clone(options[0][0])
    else:
        spec = LEARNERS[learner]
        model = spec[regresses](**spec[2])
        ranges = {**default_space(model, task.X, task.y)} | spec[3]
        task.space = renamed(ranges, "model__{}".format)
    task.estimator = Pipeline([("scale", StandardScaler()), ("model", model)])
    return task


@lru_cache(1)
def searched(name: str, seed: int, trials: int) -> tuple[truth.Task, Any, float]:
    """Return a task, its fitted search, and the seconds of the search."""
    task = make_task(name, seed)
    begin = time.perf_counter()
    search = truth.ensemble_search(task, seed, trials)
    return task, search, time.perf_counter() - begin


def combined(method: str, task: truth.Task, search: Any) -> Any:
    """Return a model of the best configurations that is not fitted."""
    order = np.argsort(search.cv_results_["rank_test_score"], kind="stable")
    n_best = 1 if method == "single" else N_BEST
    models = [
        (f"model{k}", clone(task.estimator).set_params(**clone(params, safe=False)))
        for k, params in enumerate(search.cv_results_["params"][i] for i in order)
        if k < n_best
    ]
    if method == "single":
        return models[0][1]
    regresses = task.method == "predict"
    if method == "stacking":
        return (StackingRegressor if regresses else StackingClassifier)(models)
    if regresses:
        return VotingRegressor(models)
    return VotingClassifier(models, voting="soft")


def of_flaml(task: truth.Task, seconds: float, seed: int) -> Any:
    """Return a stack of FLAML, whose search takes as many seconds."""
    from flaml import AutoML

    regresses = task.method == "predict"
    model = AutoML()
    model.fit(
        task.X,
        task.y,
        task="regression" if regresses else "classification",
        metric="rmse" if regresses else "log_loss",
        estimator_list=[
            *("lgbm", "rf", "extra_tree", "kneighbor"),
            "histgb" if regresses else "lrl1",
        ],
        time_budget=seconds,
        eval_method="cv",
        n_splits=truth.N_FOLDS,
        ensemble={"n_jobs": 1},
        n_jobs=1,
        seed=seed,
        verbose=0,
    )
    return model


def run(method: str, name: str, seed: int, options: dict[str, Any]) -> Record:
    """Return the test loss of one model; None for tasks that FLAML does not have."""
    warnings.simplefilter("ignore")
    if method == "flaml" and not name.endswith(":choice"):
        return {"loss": None}
    task, search, seconds = searched(name, seed, options["trials"])
    if method == "flaml":
        model = of_flaml(task, seconds, seed)
    elif method == "ensemble":
        model = search.best_estimator_
    else:
        model = task.estimator if method == "own" else combined(method, task, search)
        model = clone(model).fit(task.X, task.y)
    return {"loss": task.loss(getattr(model, task.method)(task.X_test))}


def figures(runs: Runs, options: Mapping[str, Any]) -> dict[str, dict]:
    """Return the columns for each task, over its splits."""
    single = {key: run["loss"] for key, run in runs.get("single", {}).items()}
    found: dict[str, dict] = {}
    for method, own in runs.items():
        ratios: dict[str, list[float]] = {}
        for key, record in own.items():
            if record["loss"] is not None and key in single:
                ratio = 1000.0 * np.log(record["loss"] / single[key])
                ratios.setdefault(key[0], []).append(ratio)
        found[method] = {
            (task, 0): np.array(
                [np.mean(v), 100.0 * np.mean(np.less(v, 0)), 100.0 * (np.mean(v) < 0)]
            )
            for task, v in ratios.items()
        }
    return found


STUDY = Study(
    name="ensembles",
    tasks=task_names,
    methods=METHODS,
    run=run,
    columns=lambda options: ["loss", "splits better %", "tables better %"],
    figures=figures,
    group=lambda task: task.split(":")[1],
    options={"trials": 20},
    seeds=5,
    smallest=(
        *("--tasks", "haberman:lightgbm", "--trials", "3", "--seeds", "1"),
        *("--methods", "single,ensemble,voting,stacking"),
    ),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
