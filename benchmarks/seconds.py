"""Seconds until a search has found a good model, for searches of several libraries.

Ten real tasks: pipelines of texts, boosting, support vector machines, a forest and a
perceptron, with five folds and two workers. Each search runs in its own process with
the defaults of its library, on the same ranges. The configuration with the best mean
score so far is refitted after the search, and scored on new rows. A score is good if
it is within 1% of the best one that any search has found with the same seed. Losses are
compared with those of the best search.

The columns are the seconds until the first good model and the percentage of runs that
find one. A run that finds none counts with the time of the slowest search of the task.
A halving search has one model, at its end.

The study `processor` measures the processor seconds of a search of 100 trials in one
process, with fits of 5 ms.

Example: python benchmarks/seconds.py run --seeds 1 --save two_workers
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from harness import Record, Runs, Study, load, main
from joblib.externals.loky import get_reusable_executor
from methods import Categories, Float, Int, Space
from searches import run_search
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from small_tables import rows_of

N_FOLDS, N_TEST = 5, 3000
WITHIN = 0.01
METHODS = ("skbayes", "grid", "random", "halving-grid", "halving", "optuna", "flaml")
RBF = {"C": Float(1e-2, 1e3, log=True), "gamma": Float(1e-6, 1.0, log=True)}
TREES = {
    "learning_rate": Float(0.01, 0.5, log=True),
    "min_child_samples": Int(1, 60, log=True),
    "num_leaves": Int(4, 64, log=True),
    "n_estimators": Int(20, 200, log=True),
    "colsample_bytree": Float(0.3, 1.0),
    "reg_lambda": Float(1e-3, 100.0, log=True),
}


def _prefixed(step: str, space: Space) -> dict[str, Any]:
    return {f"{step}__{name}": dim for name, dim in space.items()}


@dataclass
class Task:
    """Rows, an estimator with its search space, and a metric."""

    rows: Callable[[], tuple[Any, Any]]
    estimator: Any
    space: Space
    scoring: str
    n_rows: int

    def split(self, seed: int) -> Task:
        """Draw the rows of the search, and new rows."""
        X, y = self.rows()
        strata = None if self.scoring == "neg_root_mean_squared_error" else y
        self.X, X_test, self.y, y_test = train_test_split(
            X, y, train_size=self.n_rows, random_state=seed, stratify=strata
        )
        self.X_test, self.y_test = X_test[:N_TEST], y_test[:N_TEST]
        return self

    def folds(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the folds of the search."""
        kind = KFold if self.scoring.startswith("neg_root") else StratifiedKFold
        return list(kind(N_FOLDS).split(self.X, self.y))

    def score(self, params: Mapping[str, Any]) -> float:
        """Return the score on new rows."""
        model = clone(self.estimator).set_params(**params).fit(self.X, self.y)
        return float(get_scorer(self.scoring)(model, self.X_test, self.y_test))


def _texts(loader: str, *arguments: str) -> tuple[Any, Any]:
    texts, y = getattr(load(), f"load_{loader}")(*arguments)["train"]
    return np.array(texts, dtype=object), y


def _mnist() -> tuple[Any, Any]:
    X, y = load().load_mnist()["train"]
    return X[:8000] / 255.0, y[:8000]


def _digits() -> tuple[Any, Any]:
    return load_digits(return_X_y=True)


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)


def _xgboost() -> Any:
    from xgboost import XGBRegressor

    return XGBRegressor(n_jobs=1, random_state=0)


def _tasks() -> dict[str, Callable[[], Task]]:
    scaled = partial(make_pipeline, StandardScaler())
    words = {"tfidfvectorizer__ngram_range": Categories(((1, 1), (1, 2)))}
    words |= {"tfidfvectorizer__min_df": Int(1, 5)}
    loss, error = "neg_log_loss", "neg_root_mean_squared_error"
    logistic = {"logisticregression__C": Float(1e-3, 1e3, log=True)}
    linear = {
        "sgdclassifier__alpha": Float(1e-7, 1e-1, log=True),
        "sgdclassifier__penalty": Categories(("l2", "l1", "elasticnet")),
        "sgdclassifier__loss": Categories(("hinge", "log_loss", "modified_huber")),
    }
    histogram = {
        "learning_rate": Float(0.01, 0.5, log=True),
        "max_leaf_nodes": Int(4, 64, log=True),
        "max_iter": Int(20, 200, log=True),
        "min_samples_leaf": Int(1, 60, log=True),
        "l2_regularization": Float(1e-3, 100.0, log=True),
    }
    xgboost = {
        "learning_rate": Float(0.01, 0.5, log=True),
        "max_depth": Int(1, 10),
        "n_estimators": Int(20, 300, log=True),
        "subsample": Float(0.4, 1.0),
        "reg_lambda": Float(1e-3, 100.0, log=True),
    }
    network = {
        "alpha": Float(1e-6, 10.0, log=True),
        "learning_rate_init": Float(1e-4, 0.1, log=True),
        "hidden_layer_sizes": Categories(((20,), (50,), (100,), (50, 50))),
        "activation": Categories(("relu", "tanh")),
    }
    forest = {
        "min_samples_leaf": Int(1, 30, log=True),
        "max_features": Float(0.05, 1.0),
        "max_depth": Int(2, 30, log=True),
        "criterion": Categories(("gini", "entropy")),
    }
    tfidf = TfidfVectorizer
    return {
        "reviews: TF-IDF, logistic regression": lambda: Task(
            partial(_texts, "sst2"),
            make_pipeline(tfidf(), LogisticRegression(max_iter=300)),
            words | logistic,
            loss,
            2500,
        ),
        "newsgroups: TF-IDF, SGD": lambda: Task(
            partial(_texts, "newsgroups_task", "science"),
            make_pipeline(tfidf(), SGDClassifier(random_state=0)),
            words | linear,
            "accuracy",
            1200,
        ),
        "adult: LightGBM": lambda: Task(
            partial(rows_of, "adult"), _lightgbm(), TREES, loss, 2000
        ),
        "segment: HistGradientBoosting": lambda: Task(
            partial(rows_of, "segment"),
            HistGradientBoostingClassifier(random_state=0),
            histogram,
            loss,
            1000,
        ),
        "abalone: XGBoost": lambda: Task(
            partial(rows_of, "abalone"), _xgboost(), xgboost, error, 2500
        ),
        "letter: SVC": lambda: Task(
            partial(rows_of, "letter"),
            scaled(SVC()),
            _prefixed("svc", RBF),
            "accuracy",
            2500,
        ),
        "mnist: PCA, SVC": lambda: Task(
            _mnist,
            make_pipeline(PCA(random_state=0), SVC()),
            {"pca__n_components": Int(5, 100, log=True)} | _prefixed("svc", RBF),
            "accuracy",
            1500,
        ),
        "wine: SVR": lambda: Task(
            partial(rows_of, "wine_red"),
            scaled(SVR()),
            _prefixed("svr", RBF | {"epsilon": Float(1e-3, 1.0, log=True)}),
            error,
            1000,
        ),
        "digits: perceptron": lambda: Task(
            _digits,
            scaled(MLPClassifier(max_iter=60, random_state=0)),
            _prefixed("mlpclassifier", network),
            "accuracy",
            900,
        ),
        "adult: extremely randomized trees": lambda: Task(
            partial(rows_of, "adult"),
            ExtraTreesClassifier(random_state=0),
            forest,
            loss,
            2000,
        ),
    }


TASKS = _tasks()


def run(method: str, name: str, seed: int, options: dict[str, Any]) -> Record:
    """Return the score on new rows after each trial that is better than the others."""
    warnings.simplefilter("ignore")
    task = TASKS[name]().split(seed)
    trials, search, seconds = run_search(
        method, task, task.space, options["trials"], seed, n_jobs=2
    )
    # A process of multiprocessing waits for its children before it ends.
    get_reusable_executor().shutdown()
    if method.startswith("halving"):
        trials = [(search.best_params_, search.best_score_, seconds)]
    scores, ends, best = [], [], -np.inf
    for params, score, end in trials:
        if score > best:
            best = score
            scores.append(task.score(params))
            ends.append(end)
    return {"scores": scores, "ends": ends, "trials": len(trials), "seconds": seconds}


def figures(runs: Runs, options: Mapping[str, Any]) -> dict[str, dict]:
    """Return the seconds until the first good model of each run."""
    found: dict[str, dict] = {method: {} for method in runs}
    for key in {key for own in runs.values() for key in own}:
        here = {method: own[key] for method, own in runs.items() if key in own}
        best = max(max(run["scores"]) for run in here.values())
        slowest = max(run["seconds"] for run in here.values())
        for method, run in here.items():
            good = np.array(run["scores"]) >= best - WITHIN * abs(best)
            end = run["ends"][int(np.argmax(good))] if good.any() else slowest
            found[method][key] = np.array([end, 100.0 * good.any(), run["seconds"]])
    return found


def summarize(study: Study, found: Any, columns: Any) -> Record:
    """Return geometric means over the seeds of a task, and over all tasks."""
    summary: Record = {"columns": list(columns), "groups": {}}
    tasks = list(dict.fromkeys(task for own in found.values() for task, _ in own))
    for group in ["all", *tasks]:
        entries = summary["groups"][group] = {}
        for method, own in found.items():
            rows = np.array([v for k, v in own.items() if group in ("all", k[0])])
            if len(rows):
                mean = rows.mean(axis=0)
                mean[[0, 2]] = np.exp(np.log(rows[:, [0, 2]]).mean(axis=0))
                entry = {"runs": len(rows), "mean": [round(float(m), 2) for m in mean]}
                entries[method] = entry
                print(f"{group:40}{method:14}{len(rows):3} {entry['mean']}", flush=True)
    return summary


def run_processor(method: str, name: str, seed: int, options: dict[str, Any]) -> Record:
    """Return the processor seconds of a search in one process."""
    task = Task(
        partial(rows_of, "breast_cancer"),
        make_pipeline(StandardScaler(), SVC()),
        _prefixed("svc", RBF),
        "accuracy",
        450,
    ).split(seed)
    begin = time.process_time()
    run_search(method, task, task.space, options["trials"], seed)
    return {"figures": [time.process_time() - begin]}


STUDIES = {
    "run": Study(
        name="seconds",
        tasks=lambda: list(TASKS),
        methods=METHODS,
        run=run,
        columns=lambda options: ["seconds", "% found", "whole search"],
        figures=figures,
        options={"trials": 50},
        seeds=3,
        own_process=True,
        smallest=(
            *("--tasks", "digits: perceptron", "--methods", "skbayes"),
            *("--trials", "2", "--seeds", "1"),
        ),
        summarize=summarize,
    ),
    "processor": Study(
        name="seconds/processor",
        tasks=lambda: ["breast cancer: SVC"],
        methods=("random", "skbayes", "optuna", "flaml"),
        run=run_processor,
        columns=lambda options: ["processor seconds"],
        options={"trials": 100},
        seeds=5,
        digits=2,
        own_process=True,
        smallest=("--methods", "random", "--trials", "6", "--seeds", "1"),
    ),
}

if __name__ == "__main__":
    main(STUDIES, __doc__)
