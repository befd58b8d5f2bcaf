"""Losses of Optuna's samplers on objectives with conditional parameters.

The objectives suggest their parameters while they run, so that a sampler learns the
structure of the search space from the trials. The figures are the lowest losses after
10, 20 and 40 trials, multiplied by 1000. The minimum of the functions is 0. The task
"classifiers" has the log loss of classifiers of scikit-learn on the wine data.

Example: python benchmarks/define_by_run.py run --seeds 10 --save define_by_run
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import math
import warnings
from typing import Any

import numpy as np
import optuna
from harness import Record, Study, main
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skbayes.integration import OptunaSampler

TRIALS = (10, 20, 40)


def branches(trial: optuna.Trial) -> float:
    """Three branches with two parameters each."""
    branch = trial.suggest_categorical("branch", "abc")
    x, y = (trial.suggest_float(f"{name}_{branch}", 0, 1) for name in "xy")
    return {"a": 0.1, "b": 0.0, "c": 0.05}[branch] + (x - 0.3) ** 2 + (y - 0.7) ** 2


def layers(trial: optuna.Trial) -> float:
    """One to four layers with one parameter each."""
    n = trial.suggest_int("n_layers", 1, 4)
    apart = [trial.suggest_float(f"rate_{i}", 0, 1) - 0.2 * (i + 1) for i in range(n)]
    return 0.05 * (n - 3) ** 2 + sum(a**2 for a in apart) / n


def nested(trial: optuna.Trial) -> float:
    """Return a loss with a choice within an option of another choice."""
    if trial.suggest_categorical("model", ["svm", "tree"]) == "tree":
        return 0.05 + ((trial.suggest_int("depth", 1, 20) - 8) / 10) ** 2
    loss = (math.log10(trial.suggest_float("C", 1e-3, 1e3, log=True)) - 1) ** 2 / 9
    if trial.suggest_categorical("kernel", ["rbf", "linear"]) == "linear":
        return loss + 0.1
    gamma = trial.suggest_float("gamma", 1e-4, 10, log=True)
    return loss + (math.log10(gamma) + 2) ** 2 / 9


def switches(trial: optuna.Trial) -> float:
    """Four independent switches, each with one parameter if it is on."""
    total = 0.0
    for i in range(4):
        if trial.suggest_categorical(f"on_{i}", [False, True]):
            total += (trial.suggest_float(f"rate_{i}", 0, 1) - 0.2 * (i + 1)) ** 2
        else:
            total += 0.1
    return total


def classifiers(trial: optuna.Trial) -> float:
    """Three classifiers with two parameters each."""
    name = trial.suggest_categorical("model", ["linear", "neighbors", "tree"])
    model: Any
    if name == "linear":
        C = trial.suggest_float("C", 1e-4, 1e4, log=True)
        weight = trial.suggest_categorical("class_weight", [None, "balanced"])
        model = LogisticRegression(C=C, class_weight=weight, max_iter=1000)
    elif name == "neighbors":
        weights = trial.suggest_categorical("weights", ["uniform", "distance"])
        n_neighbors = trial.suggest_int("n_neighbors", 1, 60, log=True)
        model = KNeighborsClassifier(n_neighbors, weights=weights)
    else:
        leaf = trial.suggest_int("min_samples_leaf", 1, 50, log=True)
        depth = trial.suggest_int("max_depth", 1, 8)
        model = DecisionTreeClassifier(
            max_depth=depth, min_samples_leaf=leaf, random_state=0
        )
    X, y = load_wine(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), model)
    return -cross_val_score(pipeline, X, y, scoring="neg_log_loss").mean()


OBJECTIVES = {f.__name__: f for f in (branches, layers, nested, switches, classifiers)}
SAMPLERS = {
    "skbayes": lambda seed: OptunaSampler(seed=seed),
    "TPE": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "TPE-grouped": lambda seed: optuna.samplers.TPESampler(
        seed=seed, multivariate=True, group=True
    ),
    "random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
}


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Run one study."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seed = int(np.random.SeedSequence([seed, *task.encode()]).generate_state(1)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(sampler=SAMPLERS[method](seed))
        study.optimize(OBJECTIVES[task], n_trials=options["trials"])
    best = 1000 * np.minimum.accumulate([trial.value for trial in study.trials])
    return {"figures": [best[min(n, len(best)) - 1] for n in TRIALS]}


STUDY = Study(
    name="define_by_run",
    tasks=lambda: list(OBJECTIVES),
    methods=tuple(SAMPLERS),
    run=run,
    columns=lambda options: TRIALS,
    options={"trials": max(TRIALS)},
    overall=False,
    smallest=("--tasks", "branches;classifiers", "--seeds", "1", "--trials", "4"),
)


if __name__ == "__main__":
    main(STUDY, __doc__)
