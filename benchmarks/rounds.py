"""Choice of the number of boosting rounds: test loss and time of a search.

Each search makes 20 trials with five folds, on at most 800 rows of one of ten tables,
and has at most 1000 rounds. The methods are:

- "dimension": the number of rounds is a dimension of the space of `BayesSearchCV`;
- "rounds": `rounds=1000`, and "raced" the same with `racing=True`;
- "rounds per second", "raced per second": the same with "ei-per-second";
- "optuna": Optuna's TPE with its median pruner. Each fold stops early on its test rows,
  and the trial may be pruned after each fold. The refit has the mean number of rounds;
- "tuner": Optuna's `LightGBMTunerCV` with its own parameters and numbers of trials.

The columns are the mean log ratio (× 1000) of the loss on new rows to that of
"dimension", and the logarithm of the ratio of the processor times (× 1000), both with
standard errors over tables. The losses are log losses and root mean squared errors.

Example: python benchmarks/rounds.py run --save table
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import functools
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import truth
from harness import Record, Runs, Study, main
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.metrics import get_scorer

from skbayes import BayesSearchCV

TABLES = (
    *("adult", "breast_cancer", "german_credit", "mammography", "pima", "segment"),
    *("abalone", "auto_mpg", "boston_housing", "wine_red"),
)
LEARNERS = ("lightgbm", "xgboost", "catboost", "histogram")
METHODS = (
    *("dimension", "rounds", "raced", "optuna", "tuner"),
    *("rounds per second", "raced per second"),
)
CAP, PATIENCE, MOST_ROWS = 1000, 50, 800
RATE, L2 = (0.01, 0.3, "log-uniform"), (1e-3, 10.0, "log-uniform")
SPACES: dict[str, dict[str, tuple]] = {
    "lightgbm": {
        "learning_rate": RATE,
        "num_leaves": (4, 48, "log-uniform"),
        "min_child_samples": (2, 50, "log-uniform"),
        "colsample_bytree": (0.5, 1.0),
        "reg_lambda": L2,
    },
    "xgboost": {
        "learning_rate": RATE,
        "max_depth": (2, 8),
        "min_child_weight": (0.3, 20.0, "log-uniform"),
        "subsample": (0.5, 1.0),
        "reg_lambda": L2,
    },
    "catboost": {
        "learning_rate": RATE,
        "max_depth": (2, 6),
        "min_child_samples": (1, 30, "log-uniform"),
        "reg_lambda": L2,
    },
    "histogram": {
        "learning_rate": RATE,
        "max_leaf_nodes": (4, 48, "log-uniform"),
        "min_samples_leaf": (2, 50, "log-uniform"),
        "l2_regularization": L2,
    },
}


def _estimator(learner: str, regresses: bool) -> Any:
    """Return an estimator that uses one thread."""
    if learner == "histogram":
        kinds = HistGradientBoostingClassifier, HistGradientBoostingRegressor
        return kinds[regresses](random_state=0, early_stopping=False)
    if learner == "catboost":
        from catboost import CatBoostClassifier, CatBoostRegressor

        kind = CatBoostRegressor if regresses else CatBoostClassifier
        quiet = {"verbose": False, "allow_writing_files": False}
        return kind(random_state=0, thread_count=1, **quiet)
    if learner == "xgboost":
        from xgboost import XGBClassifier, XGBRegressor

        return (XGBRegressor if regresses else XGBClassifier)(random_state=0, n_jobs=1)
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMRegressor if regresses else LGBMClassifier
    return kind(random_state=0, n_jobs=1, verbose=-1)


def _rounds_name(learner: str) -> str:
    return "max_iter" if learner == "histogram" else "n_estimators"


def make_task(name: str, seed: int) -> truth.Task:
    """Return one outer split of a table, with an estimator and its search space."""
    table, learner = name.split(":")
    task = truth.make_task(f"{table}:network", seed, MOST_ROWS)
    task.estimator = _estimator(learner, table in truth.REGRESSION)
    task.space = dict(SPACES[learner])
    return task


def _search(method: str, task: truth.Task, learner: str, n: int, seed: int) -> dict:
    """Return the parameters that a search of skbayes chooses."""
    space, options = dict(task.space), {}
    if method == "dimension":
        space[_rounds_name(learner)] = (10, CAP, "log-uniform")
    else:
        options = {"rounds": CAP, "racing": method.startswith("raced")}
        if method.endswith("per second"):
            options["surrogate"] = ("gp", "ei-per-second")
    search = BayesSearchCV(
        task.estimator,
        space,
        n_iter=n,
        cv=task.folds(),
        scoring=task.scoring,
        refit=False,
        random_state=seed,
        **options,
    ).fit(task.X, task.y)
    return dict(search.best_params_)


def _optuna(task: truth.Task, learner: str, n: int, seed: int) -> dict:
    """Return the parameters of Optuna's best trial, with the mean number of rounds."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    name, scorer = _rounds_name(learner), get_scorer(task.scoring)

    def objective(trial: Any) -> float:
        params: dict[str, Any] = {name: CAP}
        for key, (low, high, *log) in task.space.items():
            suggest = trial.suggest_int if isinstance(low, int) else trial.suggest_float
            params[key] = suggest(key, low, high, log=bool(log))
        model = clone(task.estimator).set_params(**params)
        scores, rounds = [], []
        for step, (train, test) in enumerate(task.folds()):
            test_set = task.X[test], task.y[test]
            fitted = _stopped_fit(
                learner, model, task.X[train], task.y[train], test_set
            )
            scores.append(scorer(fitted, *test_set))
            rounds.append(_n_rounds(learner, fitted))
            trial.report(float(np.mean(scores)), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        trial.set_user_attr(name, max(1, round(float(np.mean(rounds)))))
        return float(np.mean(scores))

    study = optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.MedianPruner(),
    )
    study.optimize(objective, n)
    return {**study.best_trial.params, **study.best_trial.user_attrs}


def _stopped_fit(learner: str, model: Any, X: Any, y: Any, test_set: tuple) -> Any:
    """Fit a clone, which stops early on the test rows, as the library documents it."""
    model = clone(model)
    if learner == "lightgbm":
        from lightgbm import early_stopping

        stop = early_stopping(PATIENCE, verbose=False)
        return model.fit(X, y, eval_set=[test_set], callbacks=[stop])
    if learner == "xgboost":
        model.set_params(early_stopping_rounds=PATIENCE)
        return model.fit(X, y, eval_set=[test_set], verbose=False)
    if learner == "catboost":
        return model.fit(X, y, eval_set=test_set, early_stopping_rounds=PATIENCE)
    model.set_params(early_stopping=True, n_iter_no_change=PATIENCE)
    return model.fit(X, y, X_val=test_set[0], y_val=test_set[1])


def _n_rounds(learner: str, fitted: Any) -> int:
    match learner:
        case "lightgbm":
            return int(fitted.best_iteration_)
        case "xgboost":
            return int(fitted.best_iteration) + 1
        case "catboost":
            return int(fitted.tree_count_)
    return int(fitted.n_iter_)


def _tuner(task: truth.Task, seed: int) -> dict:
    """Return the parameters of LightGBMTunerCV, with their number of rounds."""
    import lightgbm
    import optuna
    from optuna_integration.lightgbm import LightGBMTunerCV

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    n_classes = 0 if task.method == "predict" else int(task.y.max()) + 1
    fixed: dict[str, Any] = {"objective": "regression", "metric": "rmse"}
    if n_classes == 2:
        fixed = {"objective": "binary", "metric": "binary_logloss"}
    elif n_classes:
        fixed = {"objective": "multiclass", "metric": "multi_logloss"}
        fixed["num_class"] = n_classes
    fixed |= {"num_threads": 1, "verbosity": -1, "seed": seed, "deterministic": True}
    data = functools.partial(lightgbm.Dataset, task.X, task.y, free_raw_data=False)
    options = {
        "num_boost_round": CAP,
        "folds": task.folds(),
        "callbacks": [lightgbm.early_stopping(PATIENCE, verbose=False)],
    }
    tuner = LightGBMTunerCV(
        fixed, data(), **options, show_progress_bar=False, optuna_seed=seed
    )
    tuner.run()
    # The tuner does not keep the number of rounds.
    curves = lightgbm.cv(dict(tuner.best_params), data(), **options)
    n_rounds = len(next(iter(curves.values())))
    tuned = {k: v for k, v in tuner.best_params.items() if k not in fixed}
    return {**tuned, "n_estimators": n_rounds}


def run(method: str, name: str, seed: int, options: dict[str, Any]) -> Record:
    """Return the loss on new rows of the chosen model, and the time of the search."""
    warnings.simplefilter("ignore")
    learner = name.split(":")[1]
    if method == "tuner" and learner != "lightgbm":
        return {"loss": None}
    task = make_task(name, seed)
    begin = time.process_time()
    if method == "tuner":
        params = _tuner(task, seed)
    elif method == "optuna":
        params = _optuna(task, learner, options["trials"], seed)
    else:
        params = _search(method, task, learner, options["trials"], seed)
    seconds = time.process_time() - begin
    model = clone(task.estimator).set_params(**params).fit(task.X, task.y)
    loss = task.loss(getattr(model, task.method)(task.X_test))
    return {"loss": loss, "seconds": seconds}


def figures(runs: Runs, options: Mapping[str, Any]) -> dict[str, dict]:
    """Return the logarithms of the ratios to the search with a dimension."""
    base = runs.get("dimension", {})
    return {
        method: {
            key: 1000.0
            * np.log([record[c] / base[key][c] for c in ("loss", "seconds")])
            for key, record in own.items()
            if key in base and record["loss"] is not None
        }
        for method, own in runs.items()
    }


STUDY = Study(
    name="rounds",
    tasks=lambda: [f"{table}:{name}" for table in TABLES for name in LEARNERS],
    methods=METHODS,
    run=run,
    columns=lambda options: ["loss", "seconds"],
    figures=figures,
    group=lambda task: task.split(":")[1],
    options={"trials": 20},
    seeds=1,
    smallest=(
        *("--tasks", "breast_cancer:lightgbm", "--trials", "2", "--seeds", "1"),
        *("--methods", "dimension,rounds,optuna"),
    ),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
