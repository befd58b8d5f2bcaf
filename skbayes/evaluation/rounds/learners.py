"""Estimators with rounds, whose fits provide predictions after each round.

Symbols: a *round* is a boosting iteration, a tree of a forest, or an epoch. Predictions
are only requested at the rounds of a grid, on one or more sets of rows.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import getattr_static
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.utils.class_weight import compute_class_weight

from skbayes.evaluation.rounds.staged import Outputs, classifier_outputs, probabilities

__all__ = ["SKLEARN_LEARNERS", "LearnerWithRounds", "Watch", "base_of", "replaced"]

# Number of rounds of the first part of a fit in parts, and growth factor of the parts.
FIRST_PART, GROWTH = 32, 1.5

# Methods that searches call, in addition to those that the class of a library has.
_SCORED = (
    "fit",
    "score",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
)
# Special methods that can replace other methods.
_SPECIAL = ("__getattribute__", "__getattr__", "__sklearn_clone__")
# Methods that do not change fits or predictions.
_HARMLESS = ("get_params", "set_params", "get_metadata_routing")


class Watch(Protocol):
    """Observer of a fit on a grid of rounds, with rows to predict and their labels."""

    grid: np.ndarray

    @property
    def sets(self) -> Sequence[Any]:
        """Features of the rows to predict."""

    @property
    def labels(self) -> Sequence[Any]:
        """Targets of the rows to predict."""

    def __call__(self, outputs: Sequence[Outputs]) -> bool:
        """Receive predictions for all `sets`; return whether to stop the fit."""

    def is_stalled(self, curve: np.ndarray) -> bool:
        """Return whether a curve at the first rounds of the grid has stalled."""


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
    for name in dict.fromkeys([*_SCORED, *_SPECIAL, *public]):
        own, inherited = (getattr_static(cls, name, None) for cls in (kind, base))
        is_request = name.startswith("set_") and name.endswith("_request")
        is_method = callable(own) or hasattr(own, "__get__") or callable(inherited)
        if is_request or name in _HARMLESS or not is_method:
            continue
        if own is not inherited:
            return name
    return None


class LearnerWithRounds(ABC):
    """Kind of estimators that are fitted round by round.

    Attributes
    ----------
    library : str
        Package of the estimators.
    names : tuple of str
        Names of their classes.
    default_cap : int or None
        Default maximum of the number of rounds; None for the estimator's own number.
    """

    library: str = "sklearn"
    names: tuple[str, ...] = ()
    default_cap: int | None = 1000

    def is_kind_of(self, model: Any) -> bool:
        """Return whether an estimator is of this kind, or of a subclass."""
        return base_of(model, self.library, self.names) is not None

    def objection(self, model: Any) -> str | None:
        """Return why scores after a round would not equal those of shorter fits."""
        base = base_of(model, self.library, self.names)
        assert base is not None
        method = replaced(type(model), base)
        if method is not None:
            return f"{type(model).__name__} replaces {method!r} of {base.__name__}"
        setting = self._unsuited_setting(model)
        return None if setting is None else f"{type(model).__name__} has {setting}"

    def _unsuited_setting(self, model: Any) -> str | None:
        """Return the setting of an estimator that has no scores after its rounds."""
        required = {self.parameter(model), *self.settings(model)}
        lacking = sorted(required - model.get_params(deep=False).keys())
        return f"no parameter {lacking[0]!r}" if lacking else None

    def fit_objection(self, params: Mapping[str, Any]) -> str | None:
        """Return the name of a parameter of `fit` that does not suit rounds, if any."""
        return None

    def parameter(self, model: Any) -> str:
        """Return the name of the parameter for the number of rounds."""
        return "n_estimators"

    def settings(self, model: Any) -> dict[str, Any]:
        """Return the values of parameters that every fit requires."""
        return {}

    def cap_of(self, model: Any) -> int:
        """Return the maximum number of rounds if the user specifies none."""
        own = model.get_params(deep=False).get(self.parameter(model))
        return int(self.default_cap or own)

    @abstractmethod
    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Watch) -> None:
        """Fit up to the last round of the grid, or until the watch stops the fit."""

    def refit(self, model: Any, X: Any, y: Any, params: dict) -> None:
        """Fit with the number of rounds of the parameter."""
        model.fit(X, y, **params)


class _Boosting(LearnerWithRounds):
    """Gradient boosting of scikit-learn, observed during the fit."""

    names = ("GradientBoostingClassifier", "GradientBoostingRegressor")

    def settings(self, model: Any) -> dict[str, Any]:
        return {"n_iter_no_change": None}

    def fit_objection(self, params: Mapping[str, Any]) -> str | None:
        return "monitor" if params.get("monitor") is not None else None

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Watch) -> None:
        stages: list[Iterator] = []

        def monitor(i: int, estimator: Any, variables: Any) -> bool:
            # Predictions are computed on request, from the existing trees.
            if not stages:
                stages.extend(_raw_stages(model, rows) for rows in watch.sets)
            found = [next(stage) for stage in stages]
            if i + 1 not in on_grid:
                return False
            return watch([_raw_outputs(model, raw) for raw in found])

        on_grid = set(watch.grid.tolist())
        model.fit(X, y, monitor=monitor, **params)


class _HistBoosting(LearnerWithRounds):
    """Histogram boosting of scikit-learn, fitted in parts."""

    names = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")

    def parameter(self, model: Any) -> str:
        return "max_iter"

    def settings(self, model: Any) -> dict[str, Any]:
        return {"early_stopping": False}

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Watch) -> None:
        _fit_in_parts(self, model, X, y, params, watch, _raw_stages, _raw_outputs)


class _AdaBoost(LearnerWithRounds):
    """AdaBoost, observed after the fit."""

    names = ("AdaBoostClassifier", "AdaBoostRegressor")
    default_cap = 200

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Watch) -> None:
        model.fit(X, y, **params)
        n_fitted = len(model.estimators_)
        _show(model, watch, _raw_stages, _adaboost_outputs, 0, n_fitted)


class _Forest(LearnerWithRounds):
    """Random forests and extremely randomized trees, fitted in parts."""

    names = (
        "RandomForestClassifier",
        "RandomForestRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
    )
    default_cap = 300

    def settings(self, model: Any) -> dict[str, Any]:
        return {"warm_start": False}

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Watch) -> None:
        if np.ndim(y) > 1 and np.shape(y)[1] > 1:
            raise ValueError("rounds: the targets must have one column.")
        draws = isinstance(model.random_state, np.random.RandomState)
        if draws or isinstance(getattr(model, "class_weight", None), str):
            # A warm start would change the random numbers of later trees, or warn.
            model.fit(X, y, **params)
            n_fitted = len(model.estimators_)
            _show(model, watch, _tree_means, _mean_outputs, 0, n_fitted)
            return
        _fit_in_parts(self, model, X, y, params, watch, _tree_means, _mean_outputs)


class _Epochs(LearnerWithRounds):
    """Estimators with `partial_fit`, for which each round is one pass over the data."""

    default_cap = None

    def is_kind_of(self, model: Any) -> bool:
        has_passes = hasattr(model, "partial_fit") and hasattr(model, "get_params")
        of_kind = is_classifier(model) or is_regressor(model)
        return has_passes and of_kind and "max_iter" in model.get_params(deep=False)

    def objection(self, model: Any) -> str | None:
        """Return why passes over the data would differ from `fit`, or None."""
        kind = type(model)
        base = next((c for c in kind.__mro__ if "partial_fit" in vars(c)), kind)
        if getattr_static(kind, "fit") is not getattr_static(base, "fit", None):
            return f"{kind.__name__} replaces 'fit' of {base.__name__}"
        scores = (ClassifierMixin.score, RegressorMixin.score)
        if getattr_static(kind, "score", None) not in scores:
            return f"{kind.__name__} defines its own method 'score'"
        return None

    def parameter(self, model: Any) -> str:
        return "max_iter"

    def settings(self, model: Any) -> dict[str, Any]:
        own = model.get_params(deep=False)
        return {"early_stopping": False} if "early_stopping" in own else {}

    def fit(self, model: Any, X: Any, y: Any, params: dict, watch: Watch) -> None:
        on_grid = set(watch.grid.tolist())

        def look(n_rounds: int) -> bool:
            if n_rounds not in on_grid:
                return False
            return watch([_own_outputs(model, rows) for rows in watch.sets])

        _pass_over(model, X, y, params, int(watch.grid[-1]), look)

    def refit(self, model: Any, X: Any, y: Any, params: dict) -> None:
        n_rounds = int(model.get_params(deep=False)["max_iter"])
        _pass_over(model, X, y, params, n_rounds, lambda n: False)


SKLEARN_LEARNERS = (_Boosting(), _HistBoosting(), _AdaBoost(), _Forest(), _Epochs())


# -- fits in parts ---------------------------------------------------------------------

# Yields raw predictions of an estimator on rows after each round.
Stages = Callable[[Any, Any], Iterator[np.ndarray]]
# Converts raw predictions to outputs.
MakeOutputs = Callable[[Any, np.ndarray], Outputs]


def _fit_in_parts(
    learner: LearnerWithRounds,
    model: Any,
    X: Any,
    y: Any,
    params: dict,
    watch: Watch,
    stages: Stages,
    outputs: MakeOutputs,
) -> None:
    """Fit by warm starts, and pass the new rounds to the watch after each part."""
    model.set_params(warm_start=True)
    cap, done, end = int(watch.grid[-1]), 0, FIRST_PART
    try:
        while done < cap:
            end = min(end, cap)
            model.set_params(**{learner.parameter(model): end}).fit(X, y, **params)
            if _show(model, watch, stages, outputs, done, end):
                return
            done, end = end, int(GROWTH * end)
    finally:
        model.set_params(warm_start=False)


def _show(
    model: Any, watch: Watch, stages: Stages, outputs: MakeOutputs, begin: int, end: int
) -> bool:
    """Pass the rounds after `begin` to the watch; return whether it stops the fit."""
    on_grid = set(watch.grid.tolist())
    by_set = [stages(model, rows) for rows in watch.sets]
    for n_rounds in range(1, end + 1):
        found = [next(stage) for stage in by_set]
        if n_rounds <= begin or n_rounds not in on_grid:
            continue
        if watch([outputs(model, raw) for raw in found]):
            return True
    return False


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


# -- predictions of scikit-learn's estimators ------------------------------------------


def _raw_stages(model: Any, X: Any) -> Iterator[np.ndarray]:
    if is_classifier(model):
        yield from model.staged_decision_function(X)
    else:
        yield from model.staged_predict(X)


def _raw_outputs(model: Any, raw: np.ndarray) -> Outputs:
    if not is_classifier(model):
        return {"predict": lambda: raw}
    if raw.ndim == 2 and raw.shape[1] == 1:
        raw = raw[:, 0]
    exponential = getattr(model, "loss", None) == "exponential"
    proba = probabilities(raw, 2.0 if exponential else 1.0)
    return _decided(model, classifier_outputs(model.classes_, proba, raw), raw)


def _adaboost_outputs(model: Any, raw: np.ndarray) -> Outputs:
    if not is_classifier(model):
        return {"predict": lambda: raw}
    proba = probabilities(raw / max(1, len(model.classes_) - 1))
    return _decided(model, classifier_outputs(model.classes_, proba, raw), raw)


def _decided(model: Any, outputs: Outputs, raw: np.ndarray) -> Outputs:
    """Return outputs whose classes follow the raw scores, including ties."""
    if raw.ndim == 2:
        return outputs
    ties_are_positive = isinstance(model, GradientBoostingClassifier)
    positive = raw >= 0.0 if ties_are_positive else raw > 0.0
    return {**outputs, "predict": lambda: model.classes_.take(positive.astype(int))}


def _tree_means(model: Any, X: Any) -> Iterator[np.ndarray]:
    if not sparse.issparse(X):
        # The trees were fitted on an array without feature names.
        X = np.asarray(X, dtype=np.float32)
    total: Any = 0.0
    for n, tree in enumerate(model.estimators_, 1):
        values = tree.predict_proba(X) if is_classifier(model) else tree.predict(X)
        total = total + values
        yield total / n


def _mean_outputs(model: Any, mean: np.ndarray) -> Outputs:
    if is_classifier(model):
        return classifier_outputs(model.classes_, mean)
    return {"predict": lambda: mean}


def _own_outputs(model: Any, X: Any) -> Outputs:
    names = ("predict", "predict_proba", "predict_log_proba", "decision_function")
    return {
        name: functools.partial(getattr(model, name), X)
        for name in names
        if hasattr(model, name)
    }
