"""Optuna's methods for boosting with early stopping and pruning, for `rounds.py`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rounds_tasks import CAP, ROUNDS_NAME, Task
from sklearn.base import clone
from sklearn.metrics import get_scorer

__all__ = ["optuna_pruned", "tuner_cv"]

# Rounds without improvement after which cross-validation ends.
PATIENCE = 50
# A finished trial: elapsed seconds, loss in cross-validation (None: pruned),
# parameters.
Finished = dict[str, Any]


def optuna_pruned(task: Task, seed: int, n_trials: int) -> list[Finished]:
    """Run Optuna's TPE with its median pruner and early stopping."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    objective = {"lightgbm": _lightgbm, "xgboost": _xgboost, "histgb": _histgb}
    sampler = optuna.samplers.TPESampler(seed=seed)
    study = optuna.create_study(sampler=sampler)
    finished: list[Finished] = []
    begin = time.process_time()

    def after(study: Any, trial: Any) -> None:
        seconds = time.process_time() - begin
        pruned = trial.state.name != "COMPLETE"
        own = {**trial.params, **trial.user_attrs}
        loss = None if pruned else trial.value
        finished.append({"seconds": seconds, "loss": loss, "params": own})

    evaluate = objective[task.learner]
    study.optimize(lambda trial: evaluate(task, trial), n_trials, callbacks=[after])
    return finished


def _suggest(task: Task, trial: Any) -> dict[str, Any]:
    params = {}
    for name, (low, high, *prior) in task.space.items():
        whole = isinstance(low, int) and isinstance(high, int)
        suggest: Callable = trial.suggest_int if whole else trial.suggest_float
        params[name] = suggest(name, low, high, log=bool(prior))
    return params


def _lightgbm(task: Task, trial: Any) -> float:
    import lightgbm
    from optuna_integration import LightGBMPruningCallback

    own = lightgbm_params(task, task.estimator.random_state)
    metric = own["metric"]
    found = lightgbm.cv(
        {**own, "subsample_freq": 1, **_suggest(task, trial)},
        lightgbm.Dataset(task.X, task.y),
        CAP,
        folds=task.splits,
        callbacks=[
            lightgbm.early_stopping(PATIENCE, verbose=False),
            LightGBMPruningCallback(trial, metric, "valid"),
        ],
    )
    curve = found[f"valid {metric}-mean"]
    trial.set_user_attr(ROUNDS_NAME["lightgbm"], len(curve))
    return curve[-1]


def lightgbm_params(task: Task, seed: int) -> dict[str, Any]:
    """Return the fixed parameters with the names of LightGBM's functions."""
    binary = task.n_classes == 2
    error = "error" if task.scoring == "accuracy" else "logloss"
    own = {
        "objective": "binary" if binary else "multiclass",
        "metric": f"{'binary' if binary else 'multi'}_{error}",
        "num_threads": 1,
        "verbosity": -1,
        "seed": seed,
    }
    return own if binary else {**own, "num_class": task.n_classes}


def _xgboost(task: Task, trial: Any) -> float:
    import xgboost
    from optuna_integration import XGBoostPruningCallback

    binary = task.n_classes == 2
    error = "error" if task.scoring == "accuracy" else "logloss"
    metric = error if binary else f"m{error}"
    params = {
        "objective": "binary:logistic" if binary else "multi:softprob",
        "eval_metric": metric,
        "nthread": 1,
        "seed": task.estimator.random_state,
        **({} if binary else {"num_class": task.n_classes}),
        **_suggest(task, trial),
    }
    found = xgboost.cv(
        params,
        xgboost.DMatrix(task.X, task.y),
        CAP,
        folds=task.splits,
        early_stopping_rounds=PATIENCE,
        callbacks=[XGBoostPruningCallback(trial, f"test-{metric}")],
        as_pandas=False,
    )
    curve = found[f"test-{metric}-mean"]
    trial.set_user_attr(ROUNDS_NAME["xgboost"], len(curve))
    return float(curve[-1])


def _histgb(task: Task, trial: Any) -> float:
    import optuna

    own = {
        "early_stopping": True,
        "n_iter_no_change": PATIENCE,
        ROUNDS_NAME["histgb"]: CAP,
    }
    for name, value in own.items():
        trial.set_user_attr(name, value)
    model = clone(task.estimator).set_params(**own, **_suggest(task, trial))
    scorer = get_scorer(task.scoring)
    losses: list[float] = []
    for step, (train, test) in enumerate(task.splits):
        fitted = clone(model).fit(task.X[train], task.y[train])
        score = scorer(fitted, task.X[test], task.y[test])
        losses.append(1.0 - score if task.scoring == "accuracy" else -score)
        trial.report(float(np.mean(losses)), step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return float(np.mean(losses))


def tuner_cv(task: Task, seed: int, n_trials: int) -> list[Finished]:
    """Run Optuna's LightGBMTunerCV with its own parameters and numbers of trials.

    The tuner does not store the number of rounds. The cross-validation of its best
    trials is therefore repeated, which is not timed.
    """
    import lightgbm
    import optuna
    from optuna_integration.lightgbm import LightGBMTunerCV

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    own = {**lightgbm_params(task, seed), "deterministic": True}
    finished: list[Finished] = []
    begin = time.process_time()

    def after(study: Any, trial: Any) -> None:
        seconds = time.process_time() - begin
        params = json.loads(trial.system_attrs["lightgbm_tuner:lgbm_params"])
        finished.append({"seconds": seconds, "loss": trial.value, "params": params})

    LightGBMTunerCV(
        own,
        lightgbm.Dataset(task.X, task.y),
        CAP,
        folds=task.splits,
        callbacks=[stop],
        show_progress_bar=False,
        optuna_seed=seed,
        optuna_callbacks=[after],
    ).run()
    best = np.inf
    for trial in finished:
        if trial["loss"] < best:
            best = trial["loss"]
            trial["params"] = _with_rounds(task, trial["params"])
    return finished


def _with_rounds(task: Task, params: dict[str, Any]) -> dict[str, Any]:
    """Return tuned parameters with the names of the estimator, and their rounds."""
    import lightgbm

    found = lightgbm.cv(
        dict(params),
        lightgbm.Dataset(task.X, task.y),
        CAP,
        folds=task.splits,
        callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
    )
    n_rounds = len(next(iter(found.values())))
    fixed = {*lightgbm_params(task, 0), "deterministic", "num_iterations"}
    tuned = {name: value for name, value in params.items() if name not in fixed}
    return {**tuned, ROUNDS_NAME["lightgbm"]: n_rounds}
