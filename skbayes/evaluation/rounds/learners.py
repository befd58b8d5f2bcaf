"""Estimators with rounds, whose fits provide predictions after each round.

A *round* is a boosting iteration, a tree of a forest, or an epoch. *Outputs* are the
prediction methods of an estimator for some rows, as functions without arguments. A
*stage* is a function that returns the outputs after a round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from inspect import getattr_static
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    is_classifier,
    is_regressor,
)
from sklearn.utils.class_weight import compute_class_weight

Outputs = Mapping[str, Callable[[], Any]]
Stage = Callable[[], Outputs]

# Number of rounds of the first part of a fit in parts, and growth factor of the parts.
FIRST_PART, GROWTH = 32, 1.5

# Methods for predictions.
_PREDICTIONS = ("predict", "predict_proba", "predict_log_proba", "decision_function")
# Special methods that can replace others.
_SPECIAL = ("__getattribute__", "__getattr__", "__sklearn_clone__")
# Methods that do not change fits or predictions.
_HARMLESS = ("get_params", "set_params", "get_metadata_routing")


def base_of(model: Any, library: str, names: Sequence[str]) -> type | None:
    """Return the base class of an estimator in a library, or None."""
    for kind in type(model).__mro__:
        if kind.__name__ in names and kind.__module__.partition(".")[0] == library:
            return kind
    return None


def replaced(kind: type, base: type) -> str | None:
    """Return the name of a method that a subclass replaces, except of parameters."""
    if kind is base:
        return None
    public = [name for name in dir(base) if not name.startswith("__")]
    for name in dict.fromkeys(["fit", "score", *_PREDICTIONS, *_SPECIAL, *public]):
        own, inherited = (getattr_static(cls, name, None) for cls in (kind, base))
        is_request = name.startswith("set_") and name.endswith("_request")
        is_method = callable(own) or hasattr(own, "__get__") or callable(inherited)
        if own is inherited or is_request or name in _HARMLESS or not is_method:
            continue
        return name
    return None


class LearnerWithRounds:
    """Kind of estimators that are fitted round by round."""

    # Package of the estimators, and names of their classes.
    library: str = "sklearn"
    names: tuple[str, ...] = ()
    # Default maximum of the number of rounds; None for the estimator's own number.
    default_cap: int | None = 1000
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
        """Return why scores after a round would not equal those of shorter fits."""
        kind, base = type(model), base_of(model, self.library, self.names)
        assert base is not None
        if (method := replaced(kind, base)) is not None:
            return f"{kind.__name__} replaces {method!r} of {base.__name__}"
        setting = self._unsuited_setting(model, model.get_params(deep=False))
        return None if setting is None else f"{kind.__name__} has {setting}"

    def _unsuited_setting(self, model: Any, own: dict[str, Any]) -> str | None:
        """Return the setting of an estimator that has no scores after its rounds."""
        lacking = sorted({self.parameter(model), *self.settings(model)} - own.keys())
        return f"no parameter {lacking[0]!r}" if lacking else None

    def fit_objection(self, params: Mapping[str, Any]) -> str | None:
        """Return the name of a parameter of `fit` that does not suit rounds, if any."""
        names = self.unsuited_fit_params
        return next((name for name in names if params.get(name) is not None), None)

    def parameter(self, model: Any) -> str:
        """Return the name of the parameter for the number of rounds."""
        own = model.get_params(deep=False)
        return next((n for n in self.round_names if n in own), self.round_names[-1])

    def settings(self, model: Any) -> dict[str, Any]:
        """Return the values of parameters that every fit requires."""
        return dict(self.required)

    def cap_of(self, model: Any) -> int:
        """Return the maximum number of rounds if the user specifies none."""
        own = model.get_params(deep=False).get(self.parameter(model))
        return int(self.default_cap or own)

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Any) -> None:
        """Fit up to the last round of the grid, or until the watch stops the fit.

        ``watch(n_rounds, stages)`` is called with one stage for each of `watch.sets`,
        the features to predict, and returns whether to stop. By default, all rounds are
        shown after the fit.
        """
        model.fit(X, y, **params)
        self.show(model, watch)

    def refit(self, model: Any, X: Any, y: Any, params: dict) -> None:
        """Fit with the number of rounds of the parameter."""
        model.fit(X, y, **params)

    def stages(self, model: Any, X: Any) -> Iterator[Stage]:
        """Yield the stages of a fitted estimator after each round."""
        raise NotImplementedError

    def show(self, model: Any, watch: Any, begin: int = 0) -> bool:
        """Pass the rounds after `begin` to the watch; return whether it stops."""
        by_round = zip(*(self.stages(model, rows) for rows in watch.sets), strict=True)
        return any(n > begin and watch(n, found) for n, found in enumerate(by_round, 1))

    def fit_in_parts(
        self, model: Any, X: Any, y: Any, params: dict, watch: Any
    ) -> None:
        """Fit by warm starts, and show the new rounds after each part."""
        cap, done, end = int(watch.grid[-1]), 0, FIRST_PART
        model.set_params(warm_start=True)
        try:
            while done < cap:
                end = min(end, cap)
                model.set_params(**{self.parameter(model): end}).fit(X, y, **params)
                if self.show(model, watch, done):
                    return
                done, end = end, int(GROWTH * end)
        finally:
            model.set_params(warm_start=False)


class _StagedBoosting(LearnerWithRounds):
    """Boosting of scikit-learn, which provides raw predictions after each round."""

    ties_are_positive = False

    def divisor(self, model: Any) -> float:
        """Return the number by which raw predictions are divided for probabilities."""
        return 1.0

    def stages(self, model: Any, X: Any) -> Iterator[Stage]:
        if is_classifier(model):
            raw_stages = model.staged_decision_function(X)
        else:
            raw_stages = model.staged_predict(X)
        for raw in raw_stages:
            yield partial(self._outputs, model, raw)

    def _outputs(self, model: Any, raw: np.ndarray) -> Outputs:
        if not is_classifier(model):
            return {"predict": lambda: raw}
        if raw.ndim == 2 and raw.shape[1] == 1:
            raw = raw[:, 0]
        proba = probabilities(raw / self.divisor(model))
        outputs = classifier_outputs(model.classes_, proba, raw)
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

    def divisor(self, model: Any) -> float:
        return 0.5 if model.loss == "exponential" else 1.0

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Any) -> None:
        by_set: list[Iterator[Stage]] = []

        def monitor(i: int, estimator: Any, variables: Any) -> bool:
            # Predictions are computed on request, from the existing trees.
            if not by_set:
                by_set.extend(self.stages(model, rows) for rows in watch.sets)
            return watch(i + 1, [next(stages) for stages in by_set])

        model.fit(X, y, monitor=monitor, **params)


class _HistBoosting(_StagedBoosting):
    """Histogram boosting, fitted in parts."""

    names = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
    round_names = ("max_iter",)
    required = MappingProxyType({"early_stopping": False})
    fit = LearnerWithRounds.fit_in_parts


class _AdaBoost(_StagedBoosting):
    """AdaBoost, observed after the fit."""

    names = ("AdaBoostClassifier", "AdaBoostRegressor")
    default_cap = 200

    def divisor(self, model: Any) -> float:
        return max(1, len(model.classes_) - 1)


class _Forest(LearnerWithRounds):
    """Random forests and extremely randomized trees, fitted in parts."""

    names = (
        *("RandomForestClassifier", "RandomForestRegressor"),
        *("ExtraTreesClassifier", "ExtraTreesRegressor"),
    )
    default_cap = 300
    required = MappingProxyType({"warm_start": False})

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Any) -> None:
        if np.ndim(y) > 1 and np.shape(y)[1] > 1:
            raise ValueError("rounds: the targets must have one column.")
        draws = isinstance(model.random_state, np.random.RandomState)
        if draws or isinstance(getattr(model, "class_weight", None), str):
            # A warm start would change the random numbers of later trees, or warn.
            super().fit(model, X, y, params, watch)
        else:
            self.fit_in_parts(model, X, y, params, watch)

    def stages(self, model: Any, X: Any) -> Iterator[Stage]:
        if not sparse.issparse(X):
            # The trees were fitted on an array without feature names.
            X = np.asarray(X, dtype=np.float32)
        total: Any = 0.0
        for n, tree in enumerate(model.estimators_, 1):
            values = tree.predict_proba(X) if is_classifier(model) else tree.predict(X)
            total = total + values
            yield partial(self._outputs, model, total / n)

    def _outputs(self, model: Any, mean: np.ndarray) -> Outputs:
        if is_classifier(model):
            return classifier_outputs(model.classes_, mean)
        return {"predict": lambda: mean}


class _Epochs(LearnerWithRounds):
    """Estimators with `partial_fit`, for which each round is one pass over the data."""

    default_cap = None
    round_names = ("max_iter",)

    def is_kind_of(self, model: Any) -> bool:
        has_passes = hasattr(model, "partial_fit") and hasattr(model, "get_params")
        of_kind = is_classifier(model) or is_regressor(model)
        return has_passes and of_kind and "max_iter" in model.get_params(deep=False)

    def objection(self, model: Any) -> str | None:
        kind = type(model)
        base = next((c for c in kind.__mro__ if "partial_fit" in vars(c)), kind)
        if getattr_static(kind, "fit") is not getattr_static(base, "fit", None):
            return f"{kind.__name__} replaces 'fit' of {base.__name__}"
        scores = (ClassifierMixin.score, RegressorMixin.score)
        if getattr_static(kind, "score", None) not in scores:
            return f"{kind.__name__} defines its own method 'score'"
        return None

    def settings(self, model: Any) -> dict[str, Any]:
        own = model.get_params(deep=False)
        return {"early_stopping": False} if "early_stopping" in own else {}

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Any) -> None:
        def outputs(X: Any) -> Outputs:
            names = [name for name in _PREDICTIONS if hasattr(model, name)]
            return {name: partial(getattr(model, name), X) for name in names}

        def look(n_rounds: int) -> bool:
            return watch(n_rounds, [partial(outputs, rows) for rows in watch.sets])

        _pass_over(model, X, y, params, int(watch.grid[-1]), look)

    def refit(self, model: Any, X: Any, y: Any, params: dict) -> None:
        _pass_over(model, X, y, params, int(model.max_iter), lambda n: False)


def _pass_over(
    model: Any, X: Any, y: Any, params: dict, n_rounds: int, look: Callable[[int], bool]
) -> None:
    """Call `partial_fit` once per round until `look` returns True."""
    first: dict[str, Any] = {}
    own = getattr(model, "class_weight", None)
    if is_classifier(model):
        first = {"classes": np.unique(y)}
        if isinstance(own, str):
            # `partial_fit` rejects "balanced", because other rows are unknown.
            weights = compute_class_weight(own, classes=first["classes"], y=y)
            pairs = zip(first["classes"], weights, strict=True)
            model.set_params(class_weight=dict(pairs))
    try:
        for n in range(1, n_rounds + 1):
            model.partial_fit(X, y, **first, **params)
            if look(n):
                return
    finally:
        if isinstance(own, str):
            model.set_params(class_weight=own)


SKLEARN_LEARNERS = (
    _GradientBoosting(),
    _HistBoosting(),
    _AdaBoost(),
    _Forest(),
    _Epochs(),
)


# -- outputs ---------------------------------------------------------------------------


def classifier_outputs(
    classes: np.ndarray, proba: np.ndarray, raw: np.ndarray | None = None
) -> Outputs:
    """Return the outputs of a classifier with probabilities of shape (n, n_classes)."""

    def log_proba() -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(proba)

    outputs: dict[str, Callable[[], Any]] = {
        "predict_proba": lambda: proba,
        "predict": lambda: classes.take(np.argmax(proba, axis=1)),
        "predict_log_proba": log_proba,
    }
    return outputs if raw is None else {**outputs, "decision_function": lambda: raw}


def probabilities(raw: np.ndarray) -> np.ndarray:
    """Convert raw scores to probabilities: logistic for (n,), softmax for (n, k)."""
    if raw.ndim == 2:
        return softmax(raw, axis=1)
    positive = expit(raw)
    return np.column_stack([1.0 - positive, positive])


class StagedEstimator(BaseEstimator):
    """Fitted estimator with known outputs for the rows `X`."""

    def __init__(self, X: Any, outputs: Outputs, classes: Any = None) -> None:
        self.X, self.outputs, self.classes = X, outputs, classes
        if classes is not None:
            self.classes_ = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        outputs = self.__dict__.get("outputs", {})
        if name not in outputs:
            raise AttributeError(
                f"rounds: scorers can only use predictions, not {name!r}."
            )

        def method(X: Any, *args: Any, **kwargs: Any) -> Any:
            if X is not self.X:
                raise ValueError(
                    "rounds: scorers can only predict the rows that they receive."
                )
            return outputs[name]()

        method.__name__ = name  # scorers cache predictions by name
        return method


class StagedClassifier(ClassifierMixin, StagedEstimator):
    """Classifier after some of its rounds."""


class StagedRegressor(RegressorMixin, StagedEstimator):
    """Regressor after some of its rounds."""
