"""Boosting in pipelines and search spaces, and the limit of its rounds."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from skbayes.options.early_stopping.boosters import BOOSTERS, Booster, base_of, replaced
from skbayes.space import Space
from skbayes.space.dimensions import is_number
from skbayes.space.notation import (
    Choice,
    pairs_of,
    parse_dimension,
    with_sub_spaces,
)
from skbayes.trial.fast_metrics import name_of_metric
from skbayes.trial.fold import configured
from skbayes.trial.learning_curves import Guide
from skbayes.trial.settings import Settings


@dataclass(frozen=True)
class RoundLimits:
    """Maximum number of rounds, and the metric by which a fit stops before it.

    If there is only one metric, `metrics` are its names in scikit-learn for regressors
    and for classifiers. `spaces` is the search space with the parameters `names`, which
    are numbers of rounds. The `cap` applies to configurations for which it has none.
    """

    cap: int
    guide: Guide = Guide()
    metrics: tuple[str | None, str | None] = None, None
    spaces: Any = None
    names: frozenset[str] = frozenset()

    def of(self, estimator: Any, params: Mapping[str, Any]) -> int:
        """Return the maximum number of rounds of a configuration."""
        if self.spaces is None:
            return self.cap
        model, path = last_step(configured(estimator, params))
        if (kind := booster_of(model)) is None:
            return self.cap
        name = full_name(path, kind.parameter(model))
        return _limit_in(self.spaces, params, name, self.names) or self.cap


def _limit_in(
    notation: Any, params: Mapping[str, Any], name: str, removed: frozenset[str]
) -> int | None:
    """Return the largest value of `name` for a configuration; 0 if there is none.

    The configuration lacks the `removed` parameters. The result is None if it is not in
    the notation.
    """
    if isinstance(notation, list | tuple):
        of_dicts = (_limit_in(part, params, name, removed) for part in notation)
        return max((limit for limit in of_dicts if limit is not None), default=None)
    if not isinstance(notation, Mapping) or notation.keys() - removed - params.keys():
        return None
    values = _values_of(notation[name], name) if name in notation else []
    limits: list[int | None] = [int(max(filter(is_number, values), default=0))]
    for key in notation.keys() - removed:
        parsed = parse_dimension(notation[key], key)
        dimension = parsed.dimension if isinstance(parsed, Choice) else parsed
        if not dimension.contains(params[key]):
            return None
        if isinstance(parsed, Choice):
            (place,) = parsed.dimension.place(dimension.encode([params[key]]))
            sub_space = parsed.sub_spaces[place]
            limits.append(_limit_in(sub_space, params, name, removed))
    return None if None in limits else max(filter(None, limits), default=0)


# Maximum number of rounds if neither the parameter nor the search space has one.
DEFAULT_CAP = 1000


def booster_of(model: Any) -> Booster | None:
    """Return the kind of an estimator with rounds; None if it has no rounds."""
    kind = _kind_of(model)
    return None if kind is None or kind.objection(model) else kind


def _kind_of(model: Any) -> Booster | None:
    return next((kind for kind in BOOSTERS if kind.is_kind_of(model)), None)


def _objection_to(model: Any) -> str | None:
    """Return the reason why an estimator has no scores after its rounds, or None."""
    model, _ = last_step(model)
    if isinstance(model, Pipeline):
        return f"{type(model).__name__} replaces {_replaced_in(model)!r} of Pipeline"
    kind = _kind_of(model)
    return None if kind is None else kind.objection(model)


def _replaced_in(pipeline: Pipeline) -> str | None:
    """Return the name of a method of pipelines that a subclass replaces, if any."""
    libraries = ("imblearn", "sklearn")
    bases = (base_of(pipeline, library, ("Pipeline",)) for library in libraries)
    return replaced(type(pipeline), next(filter(None, bases)))


def full_name(path: str, name: str) -> str:
    """Return the full name of a parameter at `path`; "" is the estimator."""
    return f"{path}__{name}" if path else name


def last_step(estimator: Any) -> tuple[Any, str]:
    """Return the last step of a pipeline that replaces no methods, and its path."""
    path = ""
    while isinstance(estimator, Pipeline) and _replaced_in(estimator) is None:
        name, estimator = estimator.steps[-1]
        path = full_name(path, name)
    return estimator, path


def round_settings(
    estimator: Any, params: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the parameter for the number of rounds, and required settings of the fits.

    Settings that the estimator already has, with `params`, are left out.
    """
    if params:
        estimator = configured(estimator, params)
    model, path = last_step(estimator)
    kind = booster_of(model)
    assert kind is not None
    current = model.get_params(deep=False)
    settings = {
        full_name(path, name): value
        for name, value in kind.settings(model).items()
        if name not in current or current[name] is not value
    }
    return full_name(path, kind.parameter(model)), settings


# -- search spaces ---------------------------------------------------------------------


def without_rounds(
    settings: Settings,
    spaces: Any,
    guide: Guide,
    fit_params: Mapping[str, Any],
) -> tuple[Any, RoundLimits]:
    """Return a search space without the numbers of rounds, and their limits."""
    rounds, estimator = settings.early_stopping, settings.estimator
    model, path = last_step(estimator)
    replacing = [
        option
        for part in _dicts_of(spaces)
        if path in part
        for option in _values_of(part[path], path)
        if hasattr(option, "get_params")
    ]
    models = [model, *replacing]
    kinds = [(m, kind) for m in models if (kind := booster_of(m)) is not None]
    names = {full_name(path, kind.parameter(m)) for m, kind in kinds}
    _check_models(rounds, models, bool(names))
    prefix = full_name(path, "")
    # With metadata routing, the names have no prefix.
    arguments = {name.removeprefix(prefix): value for name, value in fit_params.items()}
    for model, kind in kinds:
        if (name := kind.fit_objection(arguments)) is not None:
            raise ValueError(
                f"fit: {full_name(path, name)} cannot be combined with early_stopping, "
                f"because {type(model).__name__} may predict with another number of "
                "rounds. Remove it; early_stopping replaces it."
            )
    if isinstance(spaces, Space) and not names.isdisjoint(spaces.parameter_names):
        raise ValueError(
            f"early_stopping={rounds!r} cannot remove {', '.join(sorted(names))} from "
            "search_spaces, which is a Space. Pass a dict or a list of dicts."
        )
    remaining = _without(spaces, names, path)
    if not remaining:
        raise ValueError(
            f"early_stopping={rounds!r} removes {', '.join(sorted(names))} from "
            "search_spaces, which has no other parameter. Add one to search_spaces."
        )
    scoring = settings.scoring
    regression, classification = (
        name_of_metric(scoring, None, classifies) for classifies in (False, True)
    )
    metrics = regression, classification
    if rounds != "auto":
        return remaining, RoundLimits(int(rounds), guide, metrics)
    limits = RoundLimits(DEFAULT_CAP, guide, metrics, spaces, frozenset(names))
    return remaining, limits


def check_rounds(rounds: Any, estimators: Sequence[Any]) -> None:
    """Check that one of the estimators of the trials has rounds that can be scored."""
    models = [last_step(estimator)[0] for estimator in estimators]
    if all(booster_of(model) is None for model in models):
        _check_models(rounds, models, False)


def _check_models(rounds: Any, models: Sequence[Any], has_rounds: bool) -> None:
    """Check that the rounds of all models can be scored; with "auto", of one model."""
    objections = [text for model in models if (text := _objection_to(model))]
    if objections and not (has_rounds and rounds == "auto"):
        raise ValueError(
            f"early_stopping={rounds!r}: {objections[0]}. Its scores after each round "
            "may differ from those of fits with fewer rounds. Use early_stopping=None."
        )
    if not has_rounds:
        raise ValueError(
            f"early_stopping={rounds!r}: {type(models[0]).__name__} provides no scores "
            "after its rounds. Rounds are counted for GradientBoosting, "
            "HistGradientBoosting, LightGBM, XGBoost and CatBoost, alone or as the "
            "last step of a pipeline. Use early_stopping=None."
        )


def _values_of(notation: Any, name: str) -> list[Any]:
    """Return the options of a parameter, or the ends of its range."""
    parsed = parse_dimension(notation, name)
    dimension = parsed.dimension if isinstance(parsed, Choice) else parsed
    ends = np.array([0.0, 1.0])
    return list(getattr(dimension, "values", ())) or dimension.decode(ends)


def _dicts_of(notation: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the dicts of a notation, including the dicts of its choices."""
    if isinstance(notation, Space):
        notation = [{column.name: column.dimension} for column in notation.columns]
    if isinstance(notation, Mapping):
        yield notation
        choices = [value for value in notation.values() if isinstance(value, Choice)]
        notation = [sub for choice in choices for _, sub in pairs_of(choice)]
    if isinstance(notation, list | tuple):
        for part in notation:
            yield from _dicts_of(part)


def _without(notation: Any, names: set[str], path: str) -> Any:
    """Return a notation without some names, except in models without rounds."""

    def below(key: str, option: Any, sub: Any) -> Any:
        keeps_names = key == path and booster_of(option) is None
        return sub if keeps_names else _without(sub, names, path)

    if isinstance(notation, list | tuple):
        return [_without(part, names, path) for part in notation]
    if not isinstance(notation, Mapping):
        return notation
    remaining = {
        key: with_sub_spaces(value, partial(below, key))
        for key, value in notation.items()
        if key not in names
    }
    if not isinstance(notation, dict):
        return remaining
    space = copy.copy(notation)  # of the same class, such as a default space
    space.clear()
    space.update(remaining)
    return space
