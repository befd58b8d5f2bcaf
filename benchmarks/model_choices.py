"""Searches among models: trials of each model, and the effect of learned priors.

The command `models` runs searches on five tasks. The pipeline contains one model, and
the search space has several. On four tasks, another model is better than that of the
pipeline. On the task "SVC is best", the model of the pipeline is the best. The output
is the best score after some numbers of trials, and the number of models among the first
trials, as means over seeds.

The command `toy` maximizes a function on two branches of two ranges each. The prior
has densities in one branch only. A branch has its greatest value at a point drawn from
the density, or from the uniform distribution in the branch without densities. The
greatest value of the better branch is greater by 0.05, except for "equal". The output
is the regret.

Example: python benchmarks/model_choices.py models --seeds 5 --jobs 2 --label after
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import json
import math
import warnings
from typing import Any

import numpy as np
import variants
from common import HERE, Cache, run_all
from sklearn.datasets import load_diabetes, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV, Optimizer
from skbayes.space import Choice, OptimumPrior, Space
from skbayes.spaces import default_space
from skbayes.spaces.own_values import rebuilt

SHOWN = (4, 8, 12, 25)
RESULTS = HERE / "results" / "model_choices" / "figures.json"
LOG = "log-uniform"
FOREST = {"max_features": (0.05, 1.0), "min_samples_leaf": (1, 20)}

# Models with their search spaces; None is the default space.
CLASSIFIERS = {
    "logistic": (LogisticRegression(max_iter=300), None),
    "svc": (SVC(max_iter=5000), None),
    "neighbors": (KNeighborsClassifier(), None),
    "forest": (RandomForestClassifier(30, random_state=0), FOREST),
    "tree": (DecisionTreeClassifier(random_state=0), None),
}
REGRESSORS = {
    "ridge": (Ridge(), None),
    "svr": (SVR(max_iter=5000), None),
    "neighbors": (KNeighborsRegressor(), None),
    "forest": (RandomForestRegressor(30, random_state=0), FOREST),
}
# Task: model of the pipeline, and whether columns are scaled.
TASKS = {
    "xor": ("logistic", True),
    "digits": ("tree", True),
    "wine, not scaled": ("neighbors", False),
    "diabetes": ("svr", False),
    "SVC is best": ("svc", True),
}


# -- models ---------------------------------------------------------------------------


def data(task: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and targets of a task."""
    rng = np.random.default_rng(0)
    if task == "xor":
        X = rng.normal(size=(300, 6))
        y = (X[:, 0] * X[:, 1] > 0).astype(int)
        return X, np.where(rng.random(300) < 0.1, 1 - y, y)
    if task == "wine, not scaled":
        return load_wine(return_X_y=True)
    if task == "diabetes":
        return load_diabetes(return_X_y=True)
    X, y = load_digits(return_X_y=True)
    chosen = rng.permutation(len(X))[:300]
    return X[chosen], y[chosen]


def search_models(task: str, method: str, seed: int) -> dict[str, Any]:
    """Run one search; `method` is the value of `initial_points`."""
    warnings.simplefilter("ignore")
    own, scaled = TASKS[task]
    models = REGRESSORS if task == "diabetes" else CLASSIFIERS
    steps: list[Any] = [("scale", StandardScaler())] if scaled else []
    pipeline = Pipeline([*steps, ("model", models[own][0])])
    X, y = data(task)
    options = [
        (model, rebuilt(ranges or default_space(model, X, y), "model__{}".format))
        for model, ranges in models.values()
    ]
    space: Any = [{"model": [model], **ranges} for model, ranges in options]
    if seed % 2:  # both notations
        space = {"model": Choice(options)}
    split = KFold if task == "diabetes" else StratifiedKFold
    search = BayesSearchCV(
        pipeline,
        space,
        n_iter=SHOWN[-1],
        cv=split(3, shuffle=True, random_state=0),
        initial_points="default" if method == "default" else None,
        random_state=seed,
        refit=False,
        n_points=1,
    ).fit(X, y)
    kinds = [type(trial.params["model"]).__name__ for trial in search.trials_]
    scores = [-math.inf if t.score is None else t.score for t in search.trials_]
    return {
        "task": task,
        "seed": seed,
        "scores": np.maximum.accumulate(scores)[np.array(SHOWN) - 1].tolist(),
        "models": [len(set(kinds[:n])) for n in SHOWN],
    }


# -- toy ------------------------------------------------------------------------------

WIDTH, UNIFORM_SHARE, GAP, N_DIMS = 0.08, 0.2, 0.05, 2
KNOTS = np.linspace(0.0, 1.0, 33)
# Better branch (None: equal), and whether the density holds where there is one.
TOYS: dict[str, tuple[int | None, bool]] = {
    "without prior": (1, True),
    "equal": (None, True),
    "with prior": (0, True),
    "with prior, wrong": (0, False),
}


def maximize_toy(task: str, method: str, seed: int) -> dict[str, Any]:
    """Maximize the toy function.

    `method` is "centered", the log density as it is ("not centered") or minus its
    maximum ("maximum"), or "none" without a prior. With "+pooled", the level of bad
    scores is that of all scores, and branches are not weighted (variants.py).
    """
    method, _, variant = method.partition("+")
    better, holds = TOYS[task]
    rng = np.random.default_rng(seed)
    names = [[f"{branch}{i}" for i in range(N_DIMS)] for branch in "ab"]
    options = {
        b: {n: (0.0, 1.0) for n in own} for b, own in zip("ab", names, strict=True)
    }
    space = Space.from_notation({"branch": Choice(options)})
    centers = rng.uniform(0.2, 0.8, N_DIMS)
    logs = [
        np.log(
            (1 - UNIFORM_SHARE)
            * np.exp(-0.5 * ((KNOTS - center) / WIDTH) ** 2)
            / (WIDTH * math.sqrt(2 * math.pi))
            + UNIFORM_SHARE
        )
        for center in centers
    ]
    prior = OptimumPrior(
        space, {n: (KNOTS, log) for n, log in zip(names[0], logs, strict=True)}
    )
    if method == "not centered":
        prior._centers = []
    elif method == "maximum":
        peak = sum(float(term.density.logs.max()) for term in prior._terms)
        prior._centers = [(conditions, peak) for conditions, _ in prior._centers]
    places = [np.clip(rng.normal(centers, WIDTH), 0, 1), rng.random(N_DIMS)]
    if not holds:
        places[0] = rng.random(N_DIMS)

    def value(params: dict[str, Any]) -> float:
        branch = "ab".index(params["branch"])
        x = np.array([params[name] for name in names[branch]])
        top = GAP if branch == better or better is None else 0.0
        return top - float(np.sum((x - places[branch]) ** 2))

    optimizer = Optimizer(
        space, prior=None if method == "none" else prior, random_state=seed
    )
    values, chosen = [], 0
    with variants.applied(variant, SHOWN[-1]):
        for _ in range(SHOWN[-1]):
            params = optimizer.ask()
            values.append(value(params))
            chosen += params["branch"] == "ab"[better or 0]
            optimizer.tell(params, values[-1])
    regret = GAP - np.maximum.accumulate(values)[np.array(SHOWN) - 1]
    return {
        "task": task,
        "seed": seed,
        "scores": regret.tolist(),
        "models": [chosen / SHOWN[-1]],
    }


# -- command --------------------------------------------------------------------------

COMMANDS = {
    "models": (search_models, TASKS, ("default", "none")),
    "toy": (maximize_toy, TOYS, ("centered", "centered+pooled", "none", "none+pooled")),
}


def run(command: str, task: str, method: str, seed: int) -> dict[str, Any]:
    """Run one search of a command."""
    return COMMANDS[command][0](task, method, seed)


def summarize(records: list[dict[str, Any]], tasks: list[str]) -> dict[str, Any]:
    """Return means and standard errors over seeds, by task."""
    found = {}
    for task in tasks:
        own = [r for r in records if r["task"] == task]
        if not own:
            continue
        scores = np.array([r["scores"] for r in own])
        se = scores.std(axis=0, ddof=min(1, len(own) - 1)) / math.sqrt(len(own))
        models = np.mean([r["models"] for r in own], axis=0)
        found[task] = {
            "seeds": len(own),
            "mean": scores.mean(axis=0).round(4).tolist(),
            "se": se.round(4).tolist(),
            "models": models.round(2).tolist(),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--label", default="after", help="name of this version")
    parser.add_argument("--methods", default="all")
    parser.add_argument("--tasks", default="all")
    parser.add_argument("--save", action="store_true", help="write to results/")
    given = parser.parse_args()
    _, known, methods = COMMANDS[given.command]
    if given.methods != "all":
        methods = given.methods.split(",")
    tasks = list(known) if given.tasks == "all" else given.tasks.split(";")
    store = Cache(f"model_choices.{given.command}")
    labels = {method: f"{given.label}.{method}" for method in methods}
    done = store.done(labels.values(), ("task", "seed"))
    jobs = [
        (label, (given.command, task, method, seed))
        for seed in range(given.seeds)
        for task in tasks
        for method, label in labels.items()
        if (label, task, seed) not in done
    ]
    run_all(run, jobs, store, given.jobs)
    summary = {}
    print(f"after {SHOWN} trials")
    for label in labels.values():
        records = [r for r in store.load(label) if r["seed"] < given.seeds]
        summary[label] = summarize(records, tasks)
        for task, entry in summary[label].items():
            cells = [
                f"{m:.3f} ± {s:.3f}"
                for m, s in zip(entry["mean"], entry["se"], strict=True)
            ]
            print(f"{label:18}{task:22}", *cells, entry["models"])
    if given.save:
        old = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        old[given.command] = old.get(given.command, {}) | summary
        RESULTS.write_text(json.dumps(old, indent=1) + "\n")


if __name__ == "__main__":
    main()
