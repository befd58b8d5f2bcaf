"""Losses of boosting with columns of categories as categories and as ordinal numbers.

Each run fits a boosting model with its default parameters in cross-validation with five
folds, once with the columns of `skbayes.defaults.models`, and once with ordinal numbers
in place of the categories. The loss is the log loss, or the squared error of a
regression. Columns: both losses, the logarithm of their ratio (× 1000), and the ratio
of the processor times.

Example: python benchmarks/categories.py run --seeds 2 --save table
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import importlib
import time
from typing import Any

import numpy as np
import pandas as pd
from harness import Record, Study, load, main
from sklearn.base import clone
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

from skbayes.defaults import models

REGRESSION = ("abalone", "auto_mpg", "servo", "strike")
TABLES = ("adult", "german_credit", "breast_cancer_yugoslavia", "vote", "soybean")
CATBOOST = {"iterations": 200, "thread_count": 1, "allow_writing_files": False}
# Module, class and options of each model.
METHODS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "histogram": ("sklearn.ensemble", "HistGradientBoosting", {}),
    "LightGBM": ("lightgbm", "LGBM", {"n_jobs": 1, "verbose": -1}),
    "CatBoost": ("catboost", "CatBoost", {**CATBOOST, "verbose": 0}),
}


def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with columns of numbers and of pandas' type "category"."""
    if name == "adult":
        data = load().load_adult(encode="object")
        X, y = data["train"]
        frame = pd.DataFrame(X, columns=data["feature_names"]).infer_objects()
    else:
        data = load().load_uci(name)
        frame, y = pd.DataFrame(data["data"]), data["target"]
        if name not in REGRESSION:
            # Rare classes would be missing in folds.
            frequent = np.flatnonzero(np.bincount(y) >= 10)
            frame, y = frame[np.isin(y, frequent)], y[np.isin(y, frequent)]
    return frame.astype(dict.fromkeys(data["categorical"], "category")), y


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Return the losses and times of a model on a table."""
    X, y = table(task)
    is_regression = task in REGRESSION
    module, name, settings = METHODS[method]
    ending = "Regressor" if is_regression else "Classifier"
    model = getattr(importlib.import_module(module), name + ending)(**settings)
    kind = "regression" if is_regression else "classification"
    # Encoders of trees: those of the forests, which have ordinal numbers.
    choice = models(X, y, task=kind, extra=[model])
    forest, encoders = (
        next(
            (option, space)
            for option, space in reversed(choice.search_spaces["model"].options)
            if name in type(option).__name__
        )
        for name in ("RandomForest", type(model).__name__)
    )
    splitter = (KFold if is_regression else StratifiedKFold)(
        5, shuffle=True, random_state=seed
    )
    figures, seconds = [], []
    for option, space in ((model, forest[1]), encoders):
        pipeline = clone(choice.estimator)
        pipeline.set_params(columns=space["columns"][0], model=clone(option))
        pipeline.set_params(model__random_state=seed)
        begin = time.process_time()
        predicted = cross_val_predict(
            *(pipeline, X, y),
            cv=splitter,
            method="predict" if is_regression else "predict_proba",
        )
        seconds.append(time.process_time() - begin)
        loss = mean_squared_error if is_regression else log_loss
        figures.append(float(loss(y, predicted)))
    ordinal, categories = figures
    figures.append(1000.0 * float(np.log(categories / ordinal)))
    return {"figures": [*figures, seconds[1] / seconds[0]]}


STUDY = Study(
    name="categories",
    tasks=lambda: [*TABLES, *REGRESSION],
    methods=[*METHODS],
    run=run,
    columns=lambda options: ["ordinal", "categories", "log ratio × 1000", "time"],
    seeds=2,
    digits=4,
    smallest=("--tasks", "servo", "--methods", "histogram", "--seeds", "1"),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
