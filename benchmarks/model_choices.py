"""Searches among models: best scores, and trials of each model.

On four tasks, another model is better than that of the pipeline. On the task "SVC is
best", the model of the pipeline is the best. The figures are the best score after some
numbers of trials, and the number of models among the first trials. A method is the
value of `initial_points`.

The study "pools" (model_pools.py) compares searches of several libraries among models
whose scores are known.

The study "tables" compares `skbayes.spaces.models` with random search in the same space
and with histogram-based gradient boosting with its default values. The figures are the
losses on new rows after 6 and 25 trials, log loss or root mean squared error, and the
seconds of the search.

Example: python benchmarks/model_choices.py run --seeds 5 --jobs 2 --label before
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import math
import time
import warnings
from collections.abc import Mapping
from typing import Any

import model_pools
import numpy as np
import pandas as pd
from harness import Record, Study, load, main
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_wine
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV
from skbayes.space import Choice
from skbayes.spaces import default_space
from skbayes.spaces import models as models_for
from skbayes.spaces.parts import renamed

SHOWN = (4, 8, 12, 25)
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


def search_models(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Run one search; `method` is the value of `initial_points`."""
    warnings.simplefilter("ignore")
    own, scaled = TASKS[task]
    models = REGRESSORS if task == "diabetes" else CLASSIFIERS
    steps: list[Any] = [("scale", StandardScaler())] if scaled else []
    pipeline = Pipeline([*steps, ("model", models[own][0])])
    X, y = data(task)
    choices = [
        (model, renamed(ranges or default_space(model, X, y), "model__{}".format))
        for model, ranges in models.values()
    ]
    space: Any = [{"model": [model], **ranges} for model, ranges in choices]
    if seed % 2:  # both notations
        space = {"model": Choice(choices)}
    split = KFold if task == "diabetes" else StratifiedKFold
    search = BayesSearchCV(
        pipeline,
        space,
        n_iter=options["trials"],
        cv=split(3, shuffle=True, random_state=0),
        initial_points="default" if method == "default" else None,
        random_state=seed,
        refit=False,
        pre_dispatch=1,
    ).fit(X, y)
    kinds = [type(trial.params["model"]).__name__ for trial in search.trials_]
    scores = [-math.inf if t.score is None else t.score for t in search.trials_]
    numbers = shown(options)
    best = np.maximum.accumulate(scores)[np.array(numbers) - 1]
    return {"figures": [*best.tolist(), *(len(set(kinds[:n])) for n in numbers)]}


def shown(options: Mapping[str, Any]) -> list[int]:
    return [n for n in SHOWN if n <= options["trials"]]


def model_columns(options: Mapping[str, Any]) -> list[str]:
    numbers = shown(options)
    return [f"score {n}" for n in numbers] + [f"models {n}" for n in numbers]


STUDY = Study(
    name="model_choices",
    tasks=lambda: list(TASKS),
    methods=("default", "none"),
    run=search_models,
    columns=model_columns,
    overall=False,
    options={"trials": 25},
    seeds=12,
    digits=4,
    smallest=("--tasks", "xor", "--trials", "4", "--seeds", "1"),
)

# -- tables ------------------------------------------------------------------------

TABLES = (
    *("german_credit", "breast_cancer_yugoslavia", "pima", "ionosphere", "segment"),
    *("auto_mpg", "servo", "abalone"),
)
MOST_TRAINED, EARLY = 600, 6


def search_table(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Search a part of a table, and return losses on new rows and the seconds."""
    warnings.simplefilter("ignore")
    table = load().load_uci(task)
    X, y, classes = pd.DataFrame(table["data"]), table["target"], None
    if table["task"] == "classification":
        classes = y
    X, X_test, y, y_test = train_test_split(
        X,
        y,
        train_size=min(MOST_TRAINED, int(0.7 * len(y))),
        stratify=classes,
        random_state=seed,
    )
    scoring = "neg_root_mean_squared_error" if classes is None else "neg_log_loss"
    split = KFold if classes is None else StratifiedKFold
    estimator, space = models_for(X, y, task=table["task"])
    begin = time.perf_counter()
    if method == "boosting":
        cls: Any = HistGradientBoostingClassifier
        if classes is None:
            cls = HistGradientBoostingRegressor
        _, sub = [o for o in space["model"].options if type(o[0]) is cls][0]
        columns = sub["columns"][0]
        chosen = [{"columns": columns, "model": cls(random_state=seed)}] * 2
    else:
        search = BayesSearchCV(
            estimator,
            space,
            n_iter=options["trials"],
            cv=split(options["folds"], shuffle=True, random_state=seed),
            scoring=scoring,
            random_state=seed,
            refit=False,
            pre_dispatch=1,
            **(
                {"surrogate": "random", "initial_points": []}
                if method == "random"
                else {}
            ),
        ).fit(X, y)
        scores = [-math.inf if t.score is None else t.score for t in search.trials_]
        sizes = (EARLY, len(scores))
        chosen = [search.trials_[int(np.argmax(scores[:n]))].params for n in sizes]
    seconds = time.perf_counter() - begin
    losses = [
        -get_scorer(scoring)(
            clone(estimator).set_params(**params).fit(X, y), X_test, y_test
        )
        for params in chosen
    ]
    return {"figures": [*losses, seconds]}


STUDIES = {
    "run": STUDY,
    "pools": model_pools.STUDY,
    "tables": Study(
        name="model_choices_tables",
        tasks=lambda: list(TABLES),
        methods=("models", "random", "boosting"),
        run=search_table,
        columns=lambda options: ["loss early", "loss", "seconds"],
        overall=False,
        options={"trials": 25, "folds": 3},
        seeds=4,
        digits=4,
        smallest=("--tasks", "servo", "--trials", "2", "--seeds", "1"),
    ),
}

if __name__ == "__main__":
    main(STUDIES, __doc__)
