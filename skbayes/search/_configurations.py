"""Checks of the configurations of a search space on the estimator, before a fit."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from skbayes import compat
from skbayes.search._validation import INNER, check_instances
from skbayes.search.outside import (
    check_aliases,
    check_name,
    current_values,
    warn_of_range,
)
from skbayes.space import Column, Space
from skbayes.trial.evaluator import check_candidates, check_clone
from skbayes.trial.fold import configured
from skbayes.trial.plan import Assignment
from skbayes.trial.settings import Settings
from skbayes.utils.did_you_mean import did_you_mean
from skbayes.utils.estimators import is_estimator, owner_of
from skbayes.utils.optional import warn_user

# Maximum number of values that are checked per parameter.
MAX_VALUES = 50
# Positions in larger ranges whose values are checked.
PLACES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])


def warn_of_empty(notation: Any) -> None:
    """Warn if a search space has no parameters."""
    several = isinstance(notation, list | tuple)
    if notation == {} or (several and not any(notation)):
        warn_user(
            "search_spaces is empty: only the current parameters of the estimator are "
            "tried. Write search_spaces='auto', or a dict such as "
            "{'C': (0.1, 10.0, 'log-uniform')}."
        )


def check_configurations(
    settings: Settings, space: Space, options: Mapping[str, Any], assign: Assignment
) -> list[Any]:
    """Check names and values of the parameters; return estimators with them.

    The `options` are those of a `Job`, and `assign` is that of the first stage.
    """
    estimator = settings.estimator
    sample = [assign(0, dict(params))[0] for params in space.covering_sample()]
    values = current_values(estimator)
    for params in sample:
        for name, value in params.items():
            is_kind = isinstance(value, type) and hasattr(value, "get_params")
            if is_kind and not isinstance(values.get(name), type):
                check_instances(value, f"search_spaces: each value of {name!r}")
    check_candidates(estimator, sample)
    models = [configured(estimator, params) for params in sample]
    try:
        for model in models:
            check_clone(model)
    except RuntimeError as error:  # some estimators can be fitted nevertheless
        warn_user(f"search_spaces: {error}")
    check_fit_params(models, options["fit_params"])
    check_names(estimator, sample, models)
    check_values(space, sample, models)
    check_responses(models, options["scorer"], settings.scoring)
    return models


def check_names(
    estimator: Any, sample: Sequence[Mapping[str, Any]], models: Sequence[Any]
) -> None:
    """Check that models have the parameters of their configurations."""
    checked: set[tuple[str, type]] = set()
    for params, model in zip(sample, models, strict=True):
        parts = model.get_params()
        for name in params:
            prefix = name.rpartition("__")[0]
            owner = parts.get(prefix) if prefix else model
            if is_estimator(owner):
                check_aliases(name, owner, params)
                if (name, type(owner)) not in checked:
                    checked.add((name, type(owner)))
                    check_name(name, owner, owner_of(estimator, name)[0])


def check_values(
    space: Space, sample: Sequence[Mapping[str, Any]], models: Sequence[Any]
) -> None:
    """Raise ValueError for a parameter without any valid value for the estimator.

    The models have the parameters of the covering sample of the space.
    Single invalid values are not an error: their fits fail, and the search avoids them.
    A warning names options that are invalid for each estimator that has the parameter.
    Values that require a package that is not installed are an error too. Estimators
    with such values have a method `_check_packages`.
    """
    # Estimators of different classes that have the parameter of a column.
    owners: dict[int, dict[type, Any]] = {}
    active = space.active(space.encode(space.covering_sample()))
    for row, params, model in zip(active, sample, models, strict=True):
        _check_packages(model)
        for place in np.flatnonzero(row).tolist():
            name = space.columns[place].name
            if name is not None and name in params:
                owner, _ = owner_of(model, name)
                owners.setdefault(place, {}).setdefault(type(owner), owner)
    invalid_options: list[tuple[str, str]] = []
    for place, by_class in owners.items():
        column, (owner, *_) = space.columns[place], by_class.values()
        name, values = str(column.name), _values(column)
        if getattr(column.dimension, "n_items", 0):
            warn_of_range(name, owner, column.dimension)
        errors, *others = (_errors(one, name, values) for one in by_class.values())
        errors = {k: e for k, e in errors.items() if all(k in more for more in others)}
        if values and len(errors) == len(values):
            text = f"{errors[0]}{_remedy(values, owner, name)}"
            raise ValueError(f"Parameter {name!r}: no value is valid. {text}")
        if column.dimension.is_categorical:
            invalid_options += [(name, error) for error in errors.values()]
    for name, error in invalid_options:
        warn_user(
            f"search_spaces: {name!r} has an invalid option, whose fits will fail. "
            f"{error}"
        )


def _errors(owner: Any, name: str, values: list[Any]) -> dict[int, str]:
    """Return the errors for values that an estimator refuses, by their place."""
    errors, leaf = {}, name.rpartition("__")[2]
    for place, value in enumerate(values):
        if (error := compat.refused_value(owner, leaf, value)) is not None:
            listed = compat.listed_strings(owner, leaf)
            hint = did_you_mean(value, listed) if isinstance(value, str) else ""
            errors[place] = f"{error}{hint}"
    return errors


def check_fit_params(models: Sequence[Any], names: Iterable[str]) -> None:
    """Raise TypeError for an argument of `fit` that no model of a sample accepts."""
    if get_config()["enable_metadata_routing"]:  # which has checked them
        return
    for name in names:
        if all(_refuses(model, name) for model in models):
            accepted = [
                k for k in inspect.signature(models[0].fit).parameters if k != "y"
            ]
            if isinstance(models[0], Pipeline):
                accepted = [
                    f"{step}__{k}"
                    for step, part in models[0].steps
                    if hasattr(part, "fit")
                    for k in inspect.signature(part.fit).parameters
                ]
            raise TypeError(
                f"fit: {type(models[0]).__name__} takes no {name!r}."
                f"{did_you_mean(name, [*accepted, 'groups'])}"
            )


def _refuses(model: Any, name: str) -> bool:
    parameters = inspect.signature(model.fit).parameters
    if name in parameters:
        return False
    # A subclass of another library may accept more.
    is_sklearn = type(model).__module__.startswith(("sklearn.", "imblearn."))
    if isinstance(model, Pipeline) and is_sklearn:
        head, _, leaf = name.partition("__")
        step = dict(model.steps).get(head)
        return not leaf or step is None or hasattr(step, "fit") and _refuses(step, leaf)
    return all(p.kind is not p.VAR_KEYWORD for p in parameters.values())


def check_responses(models: Sequence[Any], scorers: Any, scoring: Any = None) -> None:
    """Raise ValueError for a metric that requires a method that no model has.

    Only estimators of scikit-learn are checked. The methods of others may depend on the
    fit.
    """
    public = compat.public_scorers(scorers)
    last_steps = list(map(_last_step, models))
    # A scorer need not be hashable.
    named = public.items() if isinstance(public, dict) else [(scoring, public)]
    for metric, scorer in named:
        methods = compat.response_methods(scorer)
        if methods and all(_surely_lacks(model, methods) for model in last_steps):
            name = f"scoring: {metric!r}" if isinstance(metric, str) else "scoring"
            model = last_steps[-1]
            raise ValueError(
                f"{name} requires {' or '.join(methods)}, which "
                f"{type(model).__name__} does not have.{_response_of(model, methods)}"
            )


def _last_step(model: Any) -> Any:
    while type(model) is Pipeline and model.steps:
        model = model.steps[-1][1]
    return model


def _surely_lacks(model: Any, methods: tuple[str, ...]) -> bool:
    """Return whether an estimator has none of the methods, even after `fit`."""
    if not type(model).__module__.startswith("sklearn."):
        return False
    if any(hasattr(model, method) for method in methods):
        return False
    if not any(hasattr(type(model), method) for method in methods):
        return True
    # Inner estimators may provide the method.
    params = model.get_params(deep=False)
    inner = [value for value in params.values() if hasattr(value, "fit")]
    if not inner:
        return INNER.isdisjoint(params)
    return all(_surely_lacks(estimator, methods) for estimator in inner)


def _response_of(model: Any, methods: tuple[str, ...]) -> str:
    """Return the remedy for an estimator without a method that a metric requires."""
    if "predict_proba" not in methods or not is_classifier(model):
        return " Use another metric."
    kind, params = type(model).__name__, model.get_params(deep=False)
    arguments = "" if INNER.isdisjoint(params) else "..."
    remedy = f"CalibratedClassifierCV({kind}({arguments}), ensemble=False)"
    if "loss" in params and hasattr(
        clone(model).set_params(loss="log_loss"), "predict_proba"
    ):
        remedy = f"{kind}(loss='log_loss')"
    return f" Use {remedy}, or another metric."


def _check_packages(model: Any) -> None:
    for part in [model, *model.get_params().values()]:
        # Attributes of an instance may be dynamic, such as in a plan of skrub.
        if hasattr(type(part), "_check_packages"):
            part._check_packages()


def _values(column: Column) -> list[Any]:
    dimension = column.dimension
    if dimension.n_values <= MAX_VALUES or dimension.is_categorical:
        return dimension.decode(dimension.grid[:MAX_VALUES])
    return dimension.decode(dimension.snap(PLACES))


def _remedy(values: list[Any], owner: Any, name: str) -> str:
    """Return a hint if the values are numbers or ranges in a wrong notation."""
    if all(isinstance(value, str) for value in values):
        numbers = [_number(value) for value in values]
        if None not in numbers and not _errors(owner, name, numbers):
            return " Write the numbers without quotes."
    if all(isinstance(value, float) and math.isfinite(value) for value in values):
        if not _errors(owner, name, [round(value) for value in values]):
            return " For a range of integers, use two integers: (1, 10)."
    if all(isinstance(value, tuple) and len(value) in (2, 3) for value in values):
        return " Write a range without a list around it."
    return ""


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None
