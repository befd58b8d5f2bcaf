"""Scores of random configurations of many estimators on many small tables.

Each estimator of estimators.py is fitted on each table of its task in data.py. Its
configurations are the default one and 300 to 500 random ones, uniform in the default
search space (a scrambled Sobol sequence). One fit gives several scores: accuracy,
balanced accuracy, area under the ROC curve and negative log loss, or R² and the
negative mean absolute error. The mean over the folds is stored; the score of a failed
fit is NaN.

Finished pairs of estimator and table are cached in cache/priors/. When all tables of an
estimator are finished, they are written to one file in results/priors/. An interrupted
command continues where it stopped. XGBoost is not fitted: YAHPO Gym's surrogate
predicts its scores on 119 data sets (yahpo_xgboost.py).

Example: python benchmarks/priors/collect.py --jobs 2
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import one_thread  # noqa: F401

# isort: split
import argparse
import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
from common import HERE
from priors import data, estimators, yahpo_xgboost
from priors.results import Table, save
from scipy.stats import rankdata

CACHE = HERE / "cache" / "priors"
METRICS = {
    "classification": ("accuracy", "balanced_accuracy", "roc_auc", "neg_log_loss"),
    "regression": ("r2", "neg_mean_absolute_error"),
}
SMALLEST_PROBABILITY = 1e-15


def classification_scores(model: Any, X: np.ndarray, y: np.ndarray) -> list[float]:
    """Return the scores in the order of METRICS; NaN if a score is not available."""
    right = model.predict(X) == y
    known = np.isin(y, model.classes_)
    per_class = [right[y == c].mean() for c in np.unique(y)]
    place = np.searchsorted(model.classes_, y[known])
    loss = np.nan
    if hasattr(model, "predict_proba"):
        values = model.predict_proba(X)[known]
        own = values[np.arange(len(place)), place]
        loss = float(np.mean(np.log(np.maximum(own, SMALLEST_PROBABILITY))))
    else:
        values = np.atleast_2d(model.decision_function(X)[known].T).T
    if values.shape[1] == 1:
        values = np.column_stack([-values, values])
    areas = [_area(values[:, c], place == c) for c in np.unique(place)]
    return [float(np.mean(right)), float(np.mean(per_class)), np.mean(areas), loss]


def _area(values: np.ndarray, positive: np.ndarray) -> float:
    """Return the area under the ROC curve of one class against the others."""
    n, m = int(positive.sum()), int((~positive).sum())
    if not (n and m):
        return 0.5
    return float((rankdata(values)[positive].sum() - n * (n + 1) / 2) / (n * m))


def regression_scores(model: Any, X: np.ndarray, y: np.ndarray) -> list[float]:
    """Return the scores in the order of METRICS."""
    error = y - model.predict(X)
    r2 = 1.0 - np.sum(error**2) / np.sum((y - y.mean()) ** 2)
    return [float(r2), -float(np.mean(np.abs(error)))]


def evaluate(name: str, table: str, params: dict[str, Any]) -> np.ndarray:
    """Return mean scores over the folds, in the order of METRICS."""
    task = estimators.task_of(name)
    score = regression_scores if task == "regression" else classification_scores
    found = []
    try:
        for X_train, y_train, X_test, y_test in estimators.folds(name, table):
            model = estimators.make(name).set_params(**params)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X_train, y_train)
                found.append(score(model, X_test, y_test))
    except ValueError:
        return np.full(len(METRICS[task]), np.nan)
    return np.mean(found, axis=0)


def collect(name: str, table: str) -> tuple[str, str, float]:
    """Evaluate all configurations of an estimator on a table, and save the scores."""
    warnings.simplefilter("ignore")
    began = time.process_time()
    configurations = estimators.configurations(name, table)
    scores, seconds = [], []
    for params in configurations:
        start = time.process_time()
        scores.append(evaluate(name, table, params))
        seconds.append(time.process_time() - start)
    record = {
        "params": configurations,
        "scores": np.round(scores, 5).tolist(),
        "seconds": np.round(seconds, 4).tolist(),
    }
    CACHE.mkdir(parents=True, exist_ok=True)
    path = CACHE / f"{name}.{table}.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(record))
    partial.rename(path)
    return name, table, time.process_time() - began


def gather(name: str) -> None:
    """Write the tables of an estimator to one file, if the main tables are finished."""
    task = estimators.task_of(name)
    paths = {table: CACHE / f"{name}.{table}.json" for table in data.tables(task)}
    if not all(paths[table].exists() for table in data.judged(task)):
        return
    found = []
    for table, path in paths.items():
        if path.exists():
            one = json.loads(path.read_text())
            scores = np.array(one["scores"])
            found.append(Table(table, one["params"], list(METRICS[task]), scores))
    save(name, found)


def gather_xgboost() -> None:
    """Write the tables of XGBoost, which require no fits."""
    params = yahpo_xgboost.configurations()
    metrics = list(yahpo_xgboost.METRICS)
    save(
        "XGBClassifier",
        [
            Table(name, params, metrics, yahpo_xgboost.evaluate(params, name))
            for name in yahpo_xgboost.instances()
        ],
    )


def _collect_pair(pair: tuple[str, str]) -> tuple[str, str, float]:
    return collect(*pair)


def _is_late(pair: tuple[str, str]) -> bool:
    """Return whether a pair is evaluated after the main tables of all estimators."""
    name, table = pair
    return table not in data.judged(estimators.task_of(name))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--estimators", help="comma-separated; default: all")
    args = parser.parse_args()
    chosen = (args.estimators or ",".join(estimators.ESTIMATORS)).split(",")
    jobs = sorted(
        (
            (name, table)
            for name in chosen
            for table in data.tables(estimators.task_of(name))
            if not (CACHE / f"{name}.{table}.json").exists()
        ),
        key=_is_late,
    )
    with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn")) as pool:
        for done in pool.map(_collect_pair, jobs):
            print("{:32}{:28}{:8.1f} s".format(*done), flush=True)
            gather(done[0])
    for name in chosen:
        gather(name)
    gather_xgboost()


if __name__ == "__main__":
    main()
