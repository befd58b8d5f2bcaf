"""Rounds of LightGBM, XGBoost and CatBoost, observed by their callbacks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import is_classifier, is_regressor

from skbayes.evaluation.rounds.learners import LearnerWithRounds, Watch
from skbayes.evaluation.rounds.staged import (
    Outputs,
    classifier_outputs,
    probabilities,
)

__all__ = ["BOOSTERS"]

# Learning rate of CatBoost if the user sets none. The default of CatBoost depends on
# the number of iterations.
CATBOOST_RATE = 0.1

# Aliases of LightGBM for the number of rounds and for early stopping.
_LIGHTGBM_ROUNDS = (
    "num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees", "num_round",
    "num_rounds", "nrounds", "num_boost_round", "max_iter",
)  # fmt: skip
_LIGHTGBM_STOPPING = (
    "early_stopping_round", "early_stopping_rounds", "early_stopping",
    "n_iter_no_change",
)  # fmt: skip

# Objectives of LightGBM whose predictions are functions of the raw score.
_LINKS: Mapping[str | None, Callable[[np.ndarray], np.ndarray]] = {
    **dict.fromkeys(("poisson", "gamma", "tweedie"), np.exp),
    **dict.fromkeys(("cross_entropy", "xentropy"), expit),
    **dict.fromkeys(
        ("regression", "regression_l2", "l2", "mse", "rmse", "l1", "mae", "huber",
         "regression_l1", "fair", "quantile", "mape", None),
        np.asarray,
    ),
}  # fmt: skip


def _is_from(model: Any, library: str) -> bool:
    """Return whether an estimator's class or one of its bases is from a library."""
    kinds = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    return library in kinds and (is_classifier(model) or is_regressor(model))


class _LightGBM(LearnerWithRounds):
    """LightGBM's `LGBMClassifier` and `LGBMRegressor`."""

    def accepts(self, model: Any) -> bool:
        if not _is_from(model, "lightgbm"):
            return False
        own = model.get_params()
        # Later rounds of "dart" change the weights of earlier trees.
        names = ("boosting_type", "boosting", "boost")  # the last two are aliases
        kinds = {own[name] for name in names if own.get(name) is not None}
        of_kind = kinds <= {"gbdt", "goss", "gbrt"}
        return of_kind and self._has_link(own) and not own.get("linear_tree")

    def parameter(self, model: Any) -> str:
        own = model.get_params()
        return next((name for name in _LIGHTGBM_ROUNDS if name in own), "n_estimators")

    def settings(self, model: Any) -> dict[str, Any]:
        own = model.get_params()
        return {name: None for name in _LIGHTGBM_STOPPING if own.get(name) is not None}

    @staticmethod
    def _has_link(own: dict[str, Any]) -> bool:
        aliases = ("objective_type", "app", "application", "loss")
        if any(own.get(name) is not None for name in aliases):
            return False
        objective = own.get("objective")
        classifies = objective in (None, "binary", "multiclass", "softmax")
        known = classifies or objective in _LINKS
        return bool(known and not own.get("reg_sqrt"))

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Watch) -> None:
        from lightgbm.callback import EarlyStopException

        # `classes_` is not available before the end of the fit.
        classes = np.unique(y) if is_classifier(model) else None
        raw: list[Any] = [0.0] * len(watch.sets)
        own = model.get_params()  # slow, so once per fit
        seen = 0

        def look(env: Any) -> None:
            nonlocal seen
            n_rounds = env.iteration + 1
            if n_rounds not in on_grid:
                return
            for i, rows in enumerate(watch.sets):
                raw[i] = raw[i] + env.model.predict(
                    rows,
                    start_iteration=seen,
                    num_iteration=n_rounds - seen,
                    raw_score=True,
                )
            seen = n_rounds
            if watch([_lightgbm_outputs(own, one, classes) for one in raw]):
                raise EarlyStopException(env.iteration, [])

        on_grid = set(watch.grid.tolist())
        callbacks = [*(params.get("callbacks") or []), look]
        model.fit(X, y, **{**params, "callbacks": callbacks})


def _lightgbm_outputs(own: dict[str, Any], raw: np.ndarray, classes: Any) -> Outputs:
    if classes is not None:
        return classifier_outputs(classes, probabilities(raw, own.get("sigmoid", 1.0)))
    predicted = _LINKS[own.get("objective")](raw)
    return {"predict": lambda: predicted}


class _XGBoost(LearnerWithRounds):
    """XGBoost's `XGBClassifier` and `XGBRegressor`, with trees."""

    def accepts(self, model: Any) -> bool:
        if not _is_from(model, "xgboost"):
            return False
        if any(kind.__name__.startswith("XGBRF") for kind in type(model).__mro__):
            return False  # forests, of one round
        own = model.get_params()
        objective = own.get("objective")
        # Boosters with "multi:softmax" predict no probabilities. Later rounds of
        # "dart" change the weights of earlier trees.
        is_known = not callable(objective) and objective != "multi:softmax"
        return own.get("booster") in (None, "gbtree") and is_known

    def settings(self, model: Any) -> dict[str, Any]:
        return {"early_stopping_rounds": None}

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Watch) -> None:
        import xgboost

        classes = np.unique(y) if is_classifier(model) else None
        rows = [_as_matrix(model, one) for one in watch.sets]
        on_grid = set(watch.grid.tolist())

        class Look(xgboost.callback.TrainingCallback):
            def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                if epoch + 1 not in on_grid:
                    return False
                # XGBoost caches the predictions of a matrix, and adds new trees.
                found = [model.predict(one) for one in rows]
                return watch([_xgboost_outputs(one, classes) for one in found])

        own = model.get_params()["callbacks"]
        model.set_params(callbacks=[*(own or []), Look()])
        try:
            model.fit(X, y, **params)
        finally:
            model.set_params(callbacks=own)


def _as_matrix(model: Any, rows: Any) -> Any:
    import xgboost

    own = model.get_params()
    given = {name: own.get(name) for name in ("feature_types",)}
    return xgboost.DMatrix(
        rows,
        missing=own.get("missing", np.nan),
        enable_categorical=True,
        nthread=own.get("n_jobs"),
        **given,
    )


def _xgboost_outputs(found: np.ndarray, classes: Any) -> Outputs:
    if classes is None:
        return {"predict": lambda: found}
    proba = found if found.ndim == 2 else np.column_stack([1.0 - found, found])
    return classifier_outputs(classes, proba)


class _CatBoost(LearnerWithRounds):
    """CatBoost's `CatBoostClassifier` and `CatBoostRegressor`, observed after the fit.

    The overfitting detector of CatBoost stops the fit by its own loss.
    """

    def accepts(self, model: Any) -> bool:
        return _is_from(model, "catboost")

    def parameter(self, model: Any) -> str:
        names = ("n_estimators", "num_boost_round", "num_trees", "iterations")
        own = model.get_params()
        return next((name for name in names if name in own), "iterations")

    def settings(self, model: Any) -> dict[str, Any]:
        names = ("learning_rate", "eta")
        own = model.get_params()
        if any(own.get(name) is not None for name in names):
            return {}
        return {"learning_rate": CATBOOST_RATE}

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Watch) -> None:
        if np.isin(np.unique(watch.labels[0]), np.unique(y)).all() or not is_classifier(
            model
        ):
            params = {
                "eval_set": (watch.sets[0], watch.labels[0]),
                "use_best_model": False,
                "callbacks": [_CatBoostPatience(watch)],
                **params,
            }
        model.fit(X, y, **params)
        stages = [_catboost_stages(model, one) for one in watch.sets]
        on_grid = set(watch.grid.tolist())
        for n_rounds in range(1, model.tree_count_ + 1):
            outputs = [next(stage) for stage in stages]
            if n_rounds in on_grid and watch(outputs):
                return


class _CatBoostPatience:
    """Callback of CatBoost that stops a fit if its loss does not improve."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def after_iteration(self, info: Any) -> bool:
        losses = info.metrics.get("validation", {})
        grid = self._watch.grid
        if len(losses) != 1 or info.iteration not in grid:
            return True
        (loss,) = losses.values()
        seen = grid[grid <= len(loss)]
        return not self._watch.is_stalled(-np.asarray(loss)[seen - 1])


def _catboost_stages(model: Any, rows: Any) -> Iterator[Outputs]:
    labels = model.staged_predict(rows)
    if not is_classifier(model):
        for predicted in labels:
            yield {"predict": functools.partial(np.asarray, predicted)}
        return
    probas = model.staged_predict_proba(rows)
    for predicted, proba in zip(labels, probas, strict=True):
        # Equal probabilities can differ by rounding.
        outputs = classifier_outputs(np.asarray(model.classes_), proba)
        yield {**outputs, "predict": functools.partial(np.ravel, predicted)}


BOOSTERS = (_LightGBM(), _XGBoost(), _CatBoost())
