"""Losses of Optuna's samplers on objectives with conditional parameters.

The objectives suggest their parameters while they run, so that a sampler learns the
structure of the search space from the trials. The figures are the lowest losses after
10, 20 and 40 trials, multiplied by 1000. The minimum of the functions is 0. The task
"classifiers" has the log loss of classifiers of scikit-learn on the wine data.

The study `skrub` searches the choices of a skrub DataOp, a choice among four
classifiers, with the backends of skrub and with skbayes. The loss is the mean log loss
of three folds.

Example: python benchmarks/define_by_run.py run --seeds 30 --save define_by_run
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
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skbayes.integration import OptunaSampler, skrub_search

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


def make_data_op(X: Any, y: Any) -> Any:
    """Return a DataOp with a choice among classifiers and a nested choice."""
    import skrub

    C = skrub.choose_float(1e-3, 1e3, log=True, name="C")
    kernel = skrub.choose_from(["linear", "rbf"], name="kernel")
    gamma = skrub.choose_float(1e-5, 1.0, log=True, name="gamma")
    machine = SVC(C=C, kernel=kernel, gamma=gamma, probability=True, random_state=0)
    strength = skrub.choose_float(1e-4, 1e4, log=True, name="strength")
    k = skrub.choose_int(1, 60, log=True, name="k")
    leaf = skrub.choose_int(1, 50, log=True, name="leaf")
    tree = DecisionTreeClassifier(min_samples_leaf=leaf, random_state=0)
    models = {
        "linear": LogisticRegression(C=strength, max_iter=300),
        "neighbors": KNeighborsClassifier(k),
        "tree": tree,
        "svm": machine,
    }
    scaled = skrub.X(X).skb.apply(StandardScaler())
    return scaled.skb.apply(skrub.choose_from(models, name="model"), y=skrub.y(y))


def run_skrub(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Search the choices of a DataOp."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    X, y = TABLES[task](return_X_y=True)
    X, y = X[:300], y[:300]
    data_op = make_data_op(X, y)
    common = {"n_iter": options["trials"], "cv": 3, "scoring": "neg_log_loss"}
    common |= {"random_state": seed, "refit": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method == "skbayes":
            search = skrub_search(data_op, **common)
        else:
            sampler = OptunaSampler(seed=seed) if method == "sampler" else None
            backend = "sklearn" if method == "sklearn" else "optuna"
            if backend == "optuna":
                common |= {"backend": backend, "sampler": sampler}
            search = data_op.skb.make_randomized_search(**common)
        search.fit({"X": X, "y": y})
    scores = np.array(search.cv_results_["mean_test_score"])
    best = -1000 * np.fmax.accumulate(scores)
    return {"figures": [best[min(n, len(best)) - 1] for n in TRIALS]}


TABLES = {
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
    "iris": load_iris,
    "wine": load_wine,
}
STUDIES = {
    "run": Study(
        name="define_by_run",
        tasks=lambda: list(OBJECTIVES),
        methods=tuple(SAMPLERS),
        run=run,
        columns=lambda options: TRIALS,
        options={"trials": max(TRIALS)},
        overall=False,
        smallest=("--tasks", "branches;classifiers", "--seeds", "1", "--trials", "4"),
    ),
    "skrub": Study(
        name="define_by_run/skrub",
        tasks=lambda: list(TABLES),
        methods=("skbayes", "sampler", "optuna", "sklearn"),
        run=run_skrub,
        columns=lambda options: TRIALS,
        options={"trials": max(TRIALS)},
        overall=False,
        smallest=("--tasks", "iris", "--seeds", "1", "--trials", "3"),
    ),
}


if __name__ == "__main__":
    main(STUDIES, __doc__)
