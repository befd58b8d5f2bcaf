"""Boosting whose fits provide predictions after each round.

A *round* is a boosting iteration. A *stage* is a function that returns the outputs
after a round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from inspect import getattr_static
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import is_classifier

from skbayes.trial.outputs import (
    Outputs,
    RoundOutputs,
    classifier_outputs,
    probabilities,
)

# Number of rounds of the first warm start of a fit, and growth factor of the next ones.
FIRST_PART, GROWTH = 32, 1.5

# Methods that do not change fits or predictions.
_HARMLESS = ("get_params", "set_params", "get_metadata_routing")
# Methods that change other methods, or that scorers prefer, if a subclass adds them.
_ADDED = ("predict_proba", "predict_log_proba", "decision_function", "__getattr__")

# Parameters of CatBoost, with aliases, and their values if the user sets none. The
# defaults of CatBoost depend on the number of iterations.
_CATBOOST_DEFAULTS = {
    ("learning_rate", "eta"): 0.1,
    ("leaf_estimation_iterations",): 1,
}

# Aliases of LightGBM for early stopping.
LIGHTGBM_STOPPING = (
    "early_stopping_round", "early_stopping_rounds", "early_stopping",
    "n_iter_no_change",
)  # fmt: skip
# Settings of LightGBM, with their aliases, that prevent scores after each round or
# change predictions.
_LIGHTGBM_UNSUITED = (
    "linear_tree", "linear_trees", "reg_sqrt",
    "objective_type", "app", "application", "loss",
    "start_iteration_predict", "num_iteration_predict", "pred_early_stop",
    "predict_raw_score", "is_predict_raw_score", "predict_rawscore", "raw_score",
    "predict_leaf_index", "is_predict_leaf_index", "leaf_index",
    "predict_contrib", "is_predict_contrib", "contrib",
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
_CLASSIFICATION = (None, "binary", "multiclass", "softmax")


def base_of(model: Any, library: str, names: Sequence[str]) -> type | None:
    """Return the base class of an estimator in a library, or None."""
    for kind in type(model).__mro__:
        if kind.__name__ in names and kind.__module__.partition(".")[0] == library:
            return kind
    return None


def replaced(kind: type, base: type) -> str | None:
    """Return the name of a public method that a subclass replaces, if any."""
    public = [name for name in dir(base) if not name.startswith("__")]
    first = (
        "fit",
        "predict",
        "score",
        *_ADDED,
        "__getattribute__",
        "__sklearn_clone__",
    )
    for name in dict.fromkeys([*first, *public]):
        member, inherited = (getattr_static(cls, name, None) for cls in (kind, base))
        is_request = name.startswith("set_") and name.endswith("_request")
        has_call = callable(member) or callable(inherited)
        is_method = has_call or hasattr(member, "__get__")
        if member is inherited or is_request or name in _HARMLESS or not is_method:
            continue
        return name
    return None


class Booster:
    """Kind of estimators that are fitted round by round."""

    # Package of the estimators, and names of their classes.
    library: str = "sklearn"
    names: tuple[str, ...] = ()
    # Names of the parameter for the number of rounds, the usual one last.
    round_names: tuple[str, ...] = ("n_estimators",)
    # Values of parameters that every fit requires.
    required: Mapping[str, Any] = MappingProxyType({})
    # Parameters of `fit` that change the number of rounds of predictions.
    unsuited_fit_params: tuple[str, ...] = ()

    def is_kind_of(self, model: Any) -> bool:
        """Return whether an estimator is of this kind, or of a subclass."""
        return base_of(model, self.library, self.names) is not None

    def objection(self, model: Any) -> str | None:
        """Return why scores after a round may differ from scores of shorter fits."""
        kind, base = type(model), base_of(model, self.library, self.names)
        assert base is not None
        if (method := replaced(kind, base)) is not None:
            return f"{kind.__name__} replaces {method!r} of {base.__name__}"
        setting = self._unsuited_setting(model, model.get_params(deep=False))
        return None if setting is None else f"{kind.__name__} has {setting}"

    def _unsuited_setting(self, model: Any, params: dict[str, Any]) -> str | None:
        """Return the setting of an estimator that prevents scores after each round."""
        missing = sorted({self.parameter(model), *self.settings(model)} - params.keys())
        return f"no parameter {missing[0]!r}" if missing else None

    def fit_objection(self, params: Mapping[str, Any]) -> str | None:
        """Return the name of a parameter of `fit` that is not supported, if any."""
        names = self.unsuited_fit_params
        return next((name for name in names if params.get(name) is not None), None)

    def parameter(self, model: Any) -> str:
        """Return the name of the parameter for the number of rounds."""
        params = model.get_params(deep=False)
        return next((n for n in self.round_names if n in params), self.round_names[-1])

    def settings(self, model: Any) -> dict[str, Any]:
        """Return the values of parameters that every fit requires."""
        return dict(self.required)

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Any) -> None:
        """Fit up to the last round of the grid, or until the watch stops the fit.

        ``watch(n_rounds, outputs)`` returns whether to stop. `outputs` is a function
        that returns the outputs for `watch.X`, the rows to predict.
        """
        raise NotImplementedError


def _watch_rounds(
    staged_outputs: Callable, model: Any, watch: Any, begin: int = 0
) -> bool:
    """Pass the rounds after `begin` to the watch; return whether it stops the fit."""
    by_round = enumerate(staged_outputs(model, watch.X), 1)
    return any(n > begin and watch(n, outputs) for n, outputs in by_round)


# -- scikit-learn ----------------------------------------------------------------------


class _StagedBoosting(Booster):
    """Boosting of scikit-learn, which provides raw predictions after each round."""

    ties_are_positive = False

    def _staged_outputs(self, model: Any, X: Any) -> Iterator[RoundOutputs]:
        if is_classifier(model):
            raw_outputs = model.staged_decision_function(X)
        else:
            raw_outputs = model.staged_predict(X)
        for raw in raw_outputs:
            yield partial(self._outputs, model, raw)

    def _outputs(self, model: Any, raw: np.ndarray) -> Outputs:
        if not is_classifier(model):
            return {"predict": lambda: raw}
        if raw.ndim == 2 and raw.shape[1] == 1:
            raw = raw[:, 0]
        scale = 2.0 if model.loss == "exponential" else 1.0
        outputs = classifier_outputs(model.classes_, probabilities(scale * raw), raw)
        if raw.ndim == 2:
            return outputs
        positive = raw >= 0.0 if self.ties_are_positive else raw > 0.0
        return {**outputs, "predict": lambda: model.classes_.take(positive.astype(int))}


class _GradientBoosting(_StagedBoosting):
    """Gradient boosting, observed during the fit."""

    names = ("GradientBoostingClassifier", "GradientBoostingRegressor")
    required = MappingProxyType({"n_iter_no_change": None})
    unsuited_fit_params = ("monitor",)
    ties_are_positive = True

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Any) -> None:
        # Predictions are computed on request, from the existing trees.
        by_round = self._staged_outputs(model, watch.X)

        def monitor(i: int, estimator: Any, variables: Any) -> bool:
            return bool(watch(i + 1, next(by_round)))

        model.fit(X, y, monitor=monitor, **params)


class _HistBoosting(_StagedBoosting):
    """Histogram boosting, fitted in parts by warm starts."""

    names = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
    round_names = ("max_iter",)
    required = MappingProxyType({"early_stopping": False})

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Any) -> None:
        cap, done, end = int(watch.grid[-1]), 0, FIRST_PART
        model.set_params(warm_start=True)
        try:
            while done < cap:
                end = min(end, cap)
                model.set_params(max_iter=end).fit(X, y, **params)
                if _watch_rounds(self._staged_outputs, model, watch, done):
                    return
                done, end = end, int(GROWTH * end)
        finally:
            model.set_params(warm_start=False)


# -- other libraries -------------------------------------------------------------------


def _first_set(params: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """Return the first parameter with a true value, such as "reg_sqrt=True"."""
    return next((f"{n}={params[n]!r}" for n in names if params.get(n)), None)


def _unsuited_objective(objective: Any, is_suited: bool) -> str | None:
    if callable(objective):
        return "a custom objective"
    return None if is_suited else f"{objective=}"


def _classes(model: Any, y: Any) -> np.ndarray | None:
    """Return the classes, since `classes_` is not available before the end of a fit."""
    return np.unique(y) if is_classifier(model) else None


class _LightGBM(Booster):
    """LightGBM's `LGBMClassifier` and `LGBMRegressor`."""

    library = "lightgbm"
    names = ("LGBMClassifier", "LGBMRegressor")
    round_names = (
        "num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees",
        "num_round", "num_rounds", "nrounds", "num_boost_round", "max_iter",
        "n_estimators",
    )  # fmt: skip
    unsuited_fit_params = ("init_model",)

    def _unsuited_setting(self, model: Any, params: dict[str, Any]) -> str | None:
        # Later rounds of "dart" change the weights of earlier trees.
        for name in ("boosting_type", "boosting", "boost"):
            if params.get(name) not in (None, "gbdt", "goss", "gbrt"):
                return f"{name}={params[name]!r}"
        objective = params.get("objective")
        suited = _CLASSIFICATION if is_classifier(model) else _LINKS
        is_suited = not callable(objective) and objective in suited
        unsuited = _unsuited_objective(objective, is_suited)
        return unsuited or _first_set(params, _LIGHTGBM_UNSUITED)

    def fit_objection(self, params: Mapping[str, Any]) -> str | None:
        # Early stopping changes the predictions of fits with fewer rounds, too.
        callbacks = params.get("callbacks") or []
        if any(hasattr(callback, "stopping_rounds") for callback in callbacks):
            return "callbacks"
        return super().fit_objection(params)

    def settings(self, model: Any) -> dict[str, Any]:
        values = model.get_params()
        return {n: None for n in LIGHTGBM_STOPPING if values.get(n) is not None}

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Any) -> None:
        from lightgbm.callback import EarlyStopException

        classes = _classes(model, y)
        settings = model.get_params()  # slow, so once per fit
        has_raw = hasattr(model, "decision_function")  # since LightGBM 4.7
        # Sum of the raw predictions, and their number of rounds.
        raw, n_seen = 0.0, 0

        def outputs(env: Any) -> Outputs:
            nonlocal raw, n_seen
            n_rounds = env.iteration + 1
            new = {"start_iteration": n_seen, "num_iteration": n_rounds - n_seen}
            raw = raw + env.model.predict(watch.X, raw_score=True, **new)
            n_seen = n_rounds
            if classes is None:
                predicted = _LINKS[settings.get("objective")](raw)
                return {"predict": lambda: predicted}
            scale = settings.get("sigmoid", 1.0) if raw.ndim == 1 else 1.0
            proba = probabilities(scale * raw)
            return classifier_outputs(classes, proba, raw if has_raw else None)

        def look(env: Any) -> None:
            if watch(env.iteration + 1, partial(outputs, env)):
                raise EarlyStopException(env.iteration, [])

        callbacks = [*(params.get("callbacks") or []), look]
        model.fit(X, y, **{**params, "callbacks": callbacks})


class _XGBoost(Booster):
    """XGBoost's `XGBClassifier` and `XGBRegressor`, with trees."""

    library = "xgboost"
    names = ("XGBClassifier", "XGBRegressor")
    required = MappingProxyType({"early_stopping_rounds": None})
    unsuited_fit_params = ("xgb_model",)

    def is_kind_of(self, model: Any) -> bool:
        # Forests have one round.
        kinds = (kind.__name__ for kind in type(model).__mro__)
        is_forest = any(name.startswith("XGBRF") for name in kinds)
        return super().is_kind_of(model) and not is_forest

    def _unsuited_setting(self, model: Any, params: dict[str, Any]) -> str | None:
        # Later rounds of "dart" change the weights of earlier trees.
        if params.get("booster") not in (None, "gbtree"):
            return f"booster={params['booster']!r}"
        kinds = [type(callback).__name__ for callback in params["callbacks"] or []]
        if "EarlyStopping" in kinds:
            return "callbacks with EarlyStopping"
        # Boosters with "multi:softmax" predict no probabilities.
        objective = params.get("objective")
        return _unsuited_objective(objective, objective != "multi:softmax")

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Any) -> None:
        import xgboost

        classes, settings = _classes(model, y), model.get_params()
        matrix = xgboost.DMatrix(
            watch.X,
            missing=settings.get("missing", np.nan),
            enable_categorical=True,
            nthread=settings.get("n_jobs"),
            feature_types=settings.get("feature_types"),
        )

        def outputs(booster: Any) -> Outputs:
            # XGBoost caches the predictions of a matrix, and adds new trees.
            output = booster.predict(matrix)
            if classes is None:
                return {"predict": lambda: output}
            if output.ndim == 1:
                output = np.column_stack([1.0 - output, output])
            return classifier_outputs(classes, output)

        class Look(xgboost.callback.TrainingCallback):
            def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                return watch(epoch + 1, partial(outputs, model))

        model.set_params(callbacks=[*(settings["callbacks"] or []), Look()])
        try:
            model.fit(X, y, **params)
        finally:
            model.set_params(callbacks=settings["callbacks"])


class _CatBoost(Booster):
    """Estimators of CatBoost, whose rounds are observed after the fit."""

    library = "catboost"
    names = ("CatBoostClassifier", "CatBoostRegressor")
    round_names = ("n_estimators", "num_boost_round", "num_trees", "iterations")
    unsuited_fit_params = (
        *("eval_set", "use_best_model", "early_stopping_rounds"),
        *("init_model", "baseline"),
    )

    def _unsuited_setting(self, model: Any, params: dict[str, Any]) -> str | None:
        # Scores of several outputs are computed by CatBoost's own method, if at all.
        for name in ("loss_function", "objective"):
            loss = str(params.get(name)).partition(":")[0]
            several = loss.startswith("Multi") and not loss.startswith("MultiClass")
            if several or loss == "RMSEWithUncertainty":
                return f"{name}={params[name]!r}, a loss of several outputs"
        # Later rounds shrink earlier trees, or the noise differs in shorter fits.
        names = ("model_shrink_rate", "langevin", "posterior_sampling")
        return _first_set(params, (*names, "diffusion_temperature"))

    def settings(self, model: Any) -> dict[str, Any]:
        params = model.get_params()
        return {
            names[0]: value
            for names, value in _CATBOOST_DEFAULTS.items()
            if all(params.get(name) is None for name in names)
        }

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Any) -> None:
        if not is_classifier(model) or np.isin(watch.y, y).all():
            params = {
                "eval_set": (watch.X, watch.y),
                "use_best_model": False,
                "callbacks": [_CatBoostPatience(watch)],
                **params,
            }
        model.fit(X, y, **params)
        _watch_rounds(self._staged_outputs, model, watch)

    def _staged_outputs(self, model: Any, X: Any) -> Iterator[RoundOutputs]:
        from catboost import Pool

        params = model.get_params()
        # Staged predictions would start threads for each round, and predict all rounds.
        pool = Pool(
            X,
            cat_features=model.get_cat_feature_indices(),
            text_features=model.get_text_feature_indices(),
            embedding_features=model.get_embedding_feature_indices(),
        )
        options = {"thread_count": params.get("thread_count") or -1}
        kind = "Class"
        if not is_classifier(model):
            loss = str(params.get("objective") or params.get("loss_function"))
            is_log = loss.partition(":")[0] in ("Poisson", "Tweedie")
            kind = "Exponent" if is_log else "RawFormulaVal"

        def outputs(n_rounds: int) -> Outputs:
            until = {**options, "ntree_end": n_rounds}

            def predict() -> Any:
                return np.ravel(model.predict(pool, prediction_type=kind, **until))

            if not is_classifier(model):
                return {"predict": predict}
            proba = model.predict_proba(pool, **until)
            # Equal probabilities can differ by rounding.
            methods = classifier_outputs(np.asarray(model.classes_), proba)
            return {**methods, "predict": predict}

        for n_rounds in range(1, model.tree_count_ + 1):
            yield partial(outputs, n_rounds)


class _CatBoostPatience:
    """Callback of CatBoost that stops a fit if its loss does not improve."""

    def __init__(self, watch: Any) -> None:
        self._watch = watch

    def after_iteration(self, info: Any) -> bool:
        losses = info.metrics.get("validation", {})
        grid = self._watch.grid
        if len(losses) != 1 or info.iteration not in grid:
            return True
        (loss,) = losses.values()
        seen = grid[grid <= len(loss)]
        return not self._watch.is_stalled(-np.asarray(loss)[seen - 1])


BOOSTERS: tuple[Booster, ...] = (
    *(_LightGBM(), _XGBoost(), _CatBoost()),
    *(_GradientBoosting(), _HistBoosting()),
)
