"""Estimators with rounds in pipelines and search spaces, and limits of their rounds."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from skbayes.evaluation.fast_metrics import name_of_metric
from skbayes.evaluation.fold import configured
from skbayes.evaluation.learning_curves import Guide
from skbayes.evaluation.prefix_steps import full_name
from skbayes.evaluation.rounds.boosters import BOOSTERS
from skbayes.evaluation.rounds.learners import (
    SKLEARN_LEARNERS,
    LearnerWithRounds,
    base_of,
    replaced,
)
from skbayes.space.dimensions import Integer, Real
from skbayes.space.notation import Choice, pairs_of, with_sub_spaces


@dataclass(frozen=True)
class RoundLimits:
    """Limits of the number of rounds.

    The maximum is `cap`, or else that of the parameter in `caps`, which are from the
    search space, or else the default of the estimator. A fit stops if the metric of the
    `guide` does not improve, unless its name is not known yet. `metric` is the name in
    scikit-learn of the only metric, if it has one.
    """

    cap: int | None = None
    caps: Mapping[str, int] = field(default_factory=dict)
    guide: Guide = Guide()
    metric: str | None = None

    def cap_of(self, learner: LearnerWithRounds, model: Any, path: str) -> int:
        """Return the maximum number of rounds of a model at `path` of a pipeline."""
        if self.cap is not None:
            return self.cap
        name = full_name(path, learner.parameter(model))
        return self.caps.get(name) or learner.cap_of(model)

    def cap_with(self, estimator: Any, params: dict[str, Any]) -> int:
        """Return the maximum number of rounds with parameters set; 0 without rounds."""
        model, path = final_model(configured(estimator, params))
        learner = learner_of(model)
        return 0 if learner is None else self.cap_of(learner, model, path)


def learner_of(model: Any) -> LearnerWithRounds | None:
    """Return the kind of an estimator with rounds; None if it has no rounds."""
    learner = _kind_of(model)
    return None if learner is None or learner.objection(model) else learner


def _kind_of(model: Any) -> LearnerWithRounds | None:
    learners = (*BOOSTERS, *SKLEARN_LEARNERS)
    return next((learner for learner in learners if learner.is_kind_of(model)), None)


def _objection_to(model: Any) -> str | None:
    """Return the reason why an estimator has no scores after its rounds, or None."""
    model, _ = final_model(model)
    if isinstance(model, Pipeline):
        return f"{type(model).__name__} replaces {_replaced_in(model)!r} of Pipeline"
    learner = _kind_of(model)
    return None if learner is None else learner.objection(model)


def _replaced_in(pipeline: Pipeline) -> str | None:
    """Return the name of a method of pipelines that a subclass replaces, if any."""
    libraries = ("imblearn", "sklearn")
    bases = (base_of(pipeline, library, ("Pipeline",)) for library in libraries)
    return replaced(type(pipeline), next(filter(None, bases)))


def final_model(estimator: Any) -> tuple[Any, str]:
    """Return the last step of a pipeline that replaces no methods, and its path."""
    path = ""
    while isinstance(estimator, Pipeline) and _replaced_in(estimator) is None:
        name, estimator = estimator.steps[-1]
        path = full_name(path, name)
    return estimator, path


def round_params(
    estimator: Any, rounds: int, params: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the parameters for a number of rounds that are not set already.

    The estimator has the parameters `params` in addition to its own.
    """
    if params:
        estimator = configured(estimator, params)
    model, path = final_model(estimator)
    learner = learner_of(model)
    assert learner is not None
    own = model.get_params(deep=False)
    settings = {
        name: value
        for name, value in learner.settings(model).items()
        if name not in own or own[name] is not value
    }
    found = {**settings, learner.parameter(model): rounds}
    return {full_name(path, name): value for name, value in found.items()}


# -- search spaces ---------------------------------------------------------------------


def take_rounds_out(
    search: Any, spaces: Any, guide: Guide, fit_params: Mapping[str, Any]
) -> tuple[Any, RoundLimits]:
    """Return a search space without the numbers of rounds, and their limits."""
    rounds = search.rounds
    if isinstance(rounds, bool):
        raise ValueError(
            f"rounds must be an int, 'auto' or None, but it is {rounds}. "
            "rounds='auto' uses the limits of the search space or of the estimator."
        )
    model, path = final_model(search.estimator)
    replacing = _values_of(spaces, path) if path else []
    models = [m for m in [model, *replacing] if hasattr(m, "get_params")]
    learners = [(m, learner) for m in models if (learner := learner_of(m)) is not None]
    names = {full_name(path, learner.parameter(m)) for m, learner in learners}
    _check_models(rounds, models, bool(names))
    prefix = full_name(path, "")
    # With metadata routing, the names have no prefix.
    given = {name.removeprefix(prefix): value for name, value in fit_params.items()}
    for model, learner in learners:
        if (name := learner.fit_objection(given)) is not None:
            raise ValueError(
                f"fit: {full_name(path, name)} cannot be combined with rounds, because "
                f"{type(model).__name__} may predict with another number of rounds. "
                "rounds replaces early stopping."
            )
    caps = {}
    for name in sorted(names):
        cap = max(map(_largest, _values_of(spaces, name, path)), default=0)
        if cap:
            caps[name] = cap
    spaces = _without(spaces, names, path)
    if not spaces:
        raise ValueError(
            f"rounds={rounds!r} removes {', '.join(sorted(names))} from search_spaces, "
            "which has no other parameter."
        )
    most = None if rounds == "auto" else int(rounds)
    metric = name_of_metric(search.scoring, None, is_classifier(search.estimator))
    return spaces, RoundLimits(most, caps, guide, metric)


def _check_models(rounds: Any, models: Sequence[Any], any_rounds: bool) -> None:
    """Check that the rounds of all models can be scored; of one with "auto"."""
    objections = [text for model in models if (text := _objection_to(model))]
    if objections and not (any_rounds and rounds == "auto"):
        raise ValueError(
            f"rounds={rounds!r}: {objections[0]}. Its scores after each round may not "
            "be those of fits with fewer rounds. Use rounds=None."
        )
    if not any_rounds:
        raise ValueError(
            f"rounds={rounds!r}: {type(models[0]).__name__} provides no scores "
            "after its rounds. Rounds are counted for gradient boosting of trees (not "
            "with 'dart', linear models or a custom objective), AdaBoost, forests and "
            "estimators with partial_fit and max_iter, alone or as the last step of a "
            "pipeline."
        )


def _parts_of(notation: Any, path: str = "") -> Iterator[Mapping[str, Any]]:
    """Yield the dicts of a notation, without models at `path` that have no rounds."""
    if isinstance(notation, Mapping):
        yield notation
        for key, value in notation.items():
            for option, sub in pairs_of(value) if isinstance(value, Choice) else ():
                if key != path or learner_of(option) is not None:
                    yield from _parts_of(sub, path)
    elif isinstance(notation, list | tuple):
        for part in notation:
            yield from _parts_of(part, path)


def _values_of(notation: Any, name: str, path: str = "") -> list[Any]:
    """Return the values of a name in a notation; for lists and choices, each option."""
    found: list[Any] = []
    for value in (part[name] for part in _parts_of(notation, path) if name in part):
        if isinstance(value, Choice):
            found += value.dimension.values
        elif isinstance(value, list | tuple | range | np.ndarray):
            found += list(value)
        else:
            found.append(value)
    return found


def _largest(value: Any) -> int:
    """Return a number, or the upper bound of a dimension; 0 for anything else."""
    if isinstance(value, Integer | Real):
        value = value.high
    elif hasattr(value, "support") and hasattr(value, "rvs"):  # distribution of SciPy
        value = value.support()[1]
        value = value if np.isfinite(value) else 0
    is_number = isinstance(value, int | float | np.number)
    return int(value) if is_number and not isinstance(value, bool) else 0


def _without(notation: Any, names: set[str], path: str) -> Any:
    """Return a notation without some names, except in models without rounds."""

    def below(key: str, option: Any, sub: Any) -> Any:
        keeps_names = key == path and learner_of(option) is None
        return sub if keeps_names else _without(sub, names, path)

    if isinstance(notation, list | tuple):
        return [_without(part, names, path) for part in notation]
    if not isinstance(notation, Mapping):
        return notation
    kept = {
        key: with_sub_spaces(value, partial(below, key))
        for key, value in notation.items()
        if key not in names
    }
    if not isinstance(notation, dict):
        return kept
    space = copy.copy(notation)  # of the same class, such as a default space
    space.clear()
    space.update(kept)
    return space
