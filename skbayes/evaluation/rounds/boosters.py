"""Rounds of LightGBM, XGBoost and CatBoost, observed by their callbacks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import is_classifier

from skbayes.evaluation.rounds.learners import LearnerWithRounds, Watch
from skbayes.evaluation.rounds.staged import Outputs, classifier_outputs, probabilities

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

# Parameters of LightGBM that change predictions, with their aliases.
_LIGHTGBM_PREDICTION = (
    "start_iteration_predict", "num_iteration_predict", "pred_early_stop",
    "predict_raw_score", "is_predict_raw_score", "predict_rawscore", "raw_score",
    "predict_leaf_index", "is_predict_leaf_index", "leaf_index",
    "predict_contrib", "is_predict_contrib", "contrib",
)  # fmt: skip
# Other settings of LightGBM without scores after each round.
_LIGHTGBM_UNSUITED = (
    "linear_tree", "linear_trees", "reg_sqrt",
    "objective_type", "app", "application", "loss",
)  # fmt: skip
_LIGHTGBM_BOOSTING = ("boosting_type", "boosting", "boost")  # the first and aliases

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


_LIGHTGBM_CLASSIFICATION = (None, "binary", "multiclass", "softmax")


def _objective_text(objective: Any) -> str:
    return "a custom objective" if callable(objective) else f"{objective=}"


def _first_set(own: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """Return the first of some parameters that is set, with its value, as text."""
    given = ((name, own.get(name)) for name in names)
    return next((f"{name}={value!r}" for name, value in given if value), None)


class _LightGBM(LearnerWithRounds):
    """LightGBM's `LGBMClassifier` and `LGBMRegressor`."""

    library = "lightgbm"
    names = ("LGBMClassifier", "LGBMRegressor")

    def _unsuited_setting(self, model: Any) -> str | None:
        own = model.get_params()
        # Later rounds of "dart" change the weights of earlier trees.
        for name in _LIGHTGBM_BOOSTING:
            if own.get(name) not in (None, "gbdt", "goss", "gbrt"):
                return f"{name}={own[name]!r}"
        objective = own.get("objective")
        suited = _LIGHTGBM_CLASSIFICATION if is_classifier(model) else _LINKS
        if callable(objective) or objective not in suited:
            return _objective_text(objective)
        return _first_set(own, (*_LIGHTGBM_UNSUITED, *_LIGHTGBM_PREDICTION))

    def fit_objection(self, params: Mapping[str, Any]) -> str | None:
        # Early stopping changes the predictions of fits with fewer rounds, too.
        callbacks = params.get("callbacks") or []
        if any(hasattr(callback, "stopping_rounds") for callback in callbacks):
            return "callbacks"
        return "init_model" if params.get("init_model") is not None else None

    def parameter(self, model: Any) -> str:
        own = model.get_params()
        return next((name for name in _LIGHTGBM_ROUNDS if name in own), "n_estimators")

    def settings(self, model: Any) -> dict[str, Any]:
        own = model.get_params()
        return {name: None for name in _LIGHTGBM_STOPPING if own.get(name) is not None}

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Watch) -> None:
        from lightgbm.callback import EarlyStopException

        # `classes_` is not available before the end of the fit.
        classes = np.unique(y) if is_classifier(model) else None
        sums: list[Any] = [0.0] * len(watch.sets)
        own = model.get_params()  # slow, so once per fit
        has_raw = hasattr(model, "decision_function")  # since LightGBM 4.7
        seen = 0

        def look(env: Any) -> None:
            nonlocal seen
            n_rounds = env.iteration + 1
            if n_rounds not in on_grid:
                return
            for i, rows in enumerate(watch.sets):
                sums[i] = sums[i] + env.model.predict(
                    rows,
                    start_iteration=seen,
                    num_iteration=n_rounds - seen,
                    raw_score=True,
                )
            seen = n_rounds
            if watch([_lightgbm_outputs(own, raw, classes, has_raw) for raw in sums]):
                raise EarlyStopException(env.iteration, [])

        on_grid = set(watch.grid.tolist())
        callbacks = [*(params.get("callbacks") or []), look]
        model.fit(X, y, **{**params, "callbacks": callbacks})


def _lightgbm_outputs(
    own: dict[str, Any], raw: np.ndarray, classes: Any, has_raw: bool
) -> Outputs:
    if classes is not None:
        proba = probabilities(raw, own.get("sigmoid", 1.0))
        return classifier_outputs(classes, proba, raw if has_raw else None)
    predicted = _LINKS[own.get("objective")](raw)
    return {"predict": lambda: predicted}


class _XGBoost(LearnerWithRounds):
    """XGBoost's `XGBClassifier` and `XGBRegressor`, with trees."""

    library = "xgboost"
    names = ("XGBClassifier", "XGBRegressor")

    def is_kind_of(self, model: Any) -> bool:
        # Forests have one round.
        is_forest = any(
            kind.__name__.startswith("XGBRF") for kind in type(model).__mro__
        )
        return super().is_kind_of(model) and not is_forest

    def _unsuited_setting(self, model: Any) -> str | None:
        own = model.get_params()
        # Later rounds of "dart" change the weights of earlier trees.
        if own.get("booster") not in (None, "gbtree"):
            return f"booster={own['booster']!r}"
        objective = own.get("objective")
        # Boosters with "multi:softmax" predict no probabilities.
        if callable(objective) or objective == "multi:softmax":
            return _objective_text(objective)
        kinds = map(type, own["callbacks"] or [])
        if any(kind.__name__ == "EarlyStopping" for kind in kinds):
            return "callbacks with EarlyStopping"
        return None

    def fit_objection(self, params: Mapping[str, Any]) -> str | None:
        return "xgb_model" if params.get("xgb_model") is not None else None

    def settings(self, model: Any) -> dict[str, Any]:
        return {"early_stopping_rounds": None}

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Watch) -> None:
        import xgboost

        classes = np.unique(y) if is_classifier(model) else None
        matrices = [_as_matrix(model, rows) for rows in watch.sets]
        on_grid = set(watch.grid.tolist())

        class Look(xgboost.callback.TrainingCallback):
            def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                if epoch + 1 not in on_grid:
                    return False
                # XGBoost caches the predictions of a matrix, and adds new trees.
                found = [model.predict(matrix) for matrix in matrices]
                return watch([_xgboost_outputs(raw, classes) for raw in found])

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
    """Estimators of CatBoost, whose rounds are observed after the fit."""

    library = "catboost"
    names = ("CatBoostClassifier", "CatBoostRegressor")

    def _unsuited_setting(self, model: Any) -> str | None:
        # Later rounds shrink earlier trees, or draw other noise in shorter fits.
        names = ("model_shrink_rate", "langevin", "posterior_sampling")
        return _first_set(model.get_params(), (*names, "diffusion_temperature"))

    def fit_objection(self, params: Mapping[str, Any]) -> str | None:
        names = (
            "eval_set",
            "use_best_model",
            "early_stopping_rounds",
            "init_model",
            "baseline",
        )
        return next((name for name in names if params.get(name) is not None), None)

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
        stages = [_catboost_stages(model, rows) for rows in watch.sets]
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
    if not is_classifier(model):
        own = model.get_params()
        loss = str(own.get("objective") or own.get("loss_function"))
        is_log = loss.partition(":")[0] in ("Poisson", "Tweedie")
        kind = "Exponent" if is_log else "RawFormulaVal"
        for predicted in model.staged_predict(rows, prediction_type=kind):
            yield {"predict": functools.partial(np.asarray, predicted)}
        return
    labels = model.staged_predict(rows)
    probas = model.staged_predict_proba(rows)
    for predicted, proba in zip(labels, probas, strict=True):
        # Equal probabilities can differ by rounding.
        outputs = classifier_outputs(np.asarray(model.classes_), proba)
        yield {**outputs, "predict": functools.partial(np.ravel, predicted)}


BOOSTERS = (_LightGBM(), _XGBoost(), _CatBoost())
