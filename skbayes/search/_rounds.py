"""Parameter `rounds` of the searches: limits of the rounds, and result columns."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from skbayes.evaluation.learning_curves import Guide, round_grid
from skbayes.evaluation.prefix_steps import full_name
from skbayes.evaluation.rounds.watched_fit import (
    RoundLimits,
    final_model,
    learner_of,
    objection_to,
)
from skbayes.evaluation.trial import History
from skbayes.space import Choice, Integer, Real
from skbayes.space.notation import pairs_of, with_sub_spaces
from skbayes.spaces.default import EditableSpace

__all__ = [
    "curve_columns",
    "take_rounds_out",
]


def take_rounds_out(
    search: Any, guide: Guide, fit_params: Mapping[str, Any]
) -> RoundLimits | None:
    """Remove the numbers of rounds from `search_spaces_`; return their limits."""
    if search.rounds is None:
        return None
    _check_options(search)
    model, path = final_model(search.estimator)
    replacing = _values_of(search.search_spaces_, path) if path else []
    models = [m for m in [model, *replacing] if hasattr(m, "get_params")]
    found = {
        full_name(path, learner.parameter(model))
        for model in models
        for learner in [learner_of(model)]
        if learner is not None
    }
    _check_models(search, models, any_rounds=bool(found))
    _check_fit_params(models, path, fit_params)
    spaces = search.search_spaces_
    caps = {
        name: cap
        for name in sorted(found)
        for cap in [max(map(_largest, _values_of(spaces, name, path)), default=0)]
        if cap
    }
    search.search_spaces_ = _without(spaces, found, path)
    if not search.search_spaces_:
        names = ", ".join(sorted(found))
        raise ValueError(
            f"rounds={search.rounds!r} removes {names} from search_spaces, which has "
            "no other parameter."
        )
    cap = int(search.rounds) if isinstance(search.rounds, Integral) else None
    return RoundLimits(cap, caps, guide)


def _check_options(search: Any) -> None:
    if isinstance(search.rounds, bool):
        raise ValueError(
            f"rounds must be an int, 'auto' or None, but it is {search.rounds}. "
            "rounds='auto' uses the limits of the search space or of the estimator."
        )


def _check_models(search: Any, models: Sequence[Any], any_rounds: bool) -> None:
    """Check that the rounds of the models can be scored, at least of one of them.

    With ``rounds="auto"``, a model without scores after its rounds may be among others.
    """
    objections = [text for model in models if (text := objection_to(model)) is not None]
    if objections and not (any_rounds and search.rounds == "auto"):
        raise ValueError(
            f"rounds={search.rounds!r}: {objections[0]}. Its scores after each round "
            "may not be those of fits with fewer rounds. Use rounds=None."
        )
    if not any_rounds:
        raise ValueError(
            f"rounds={search.rounds!r}: {type(models[0]).__name__} provides no scores "
            "after its rounds. Rounds are counted for gradient boosting of trees (not "
            "with 'dart', linear models or a custom objective), AdaBoost, forests and "
            "estimators with partial_fit and max_iter, alone or as the last step of a "
            "pipeline."
        )


def _check_fit_params(
    models: Sequence[Any], path: str, fit_params: Mapping[str, Any]
) -> None:
    """Check that no parameter of `fit` changes the number of rounds of a fit."""
    prefix = full_name(path, "")
    # With metadata routing, the names have no prefix.
    given = {name.removeprefix(prefix): value for name, value in fit_params.items()}
    for model in models:
        learner = learner_of(model)
        name = None if learner is None else learner.fit_objection(given)
        if name is not None:
            raise ValueError(
                f"fit: {full_name(path, name)} cannot be combined with rounds, because "
                f"{type(model).__name__} may predict with another number of rounds. "
                "rounds replaces early stopping."
            )


# -- search spaces ---------------------------------------------------------------------


def _parts_of(notation: Any, path: str = "") -> Iterator[Mapping[str, Any]]:
    """Yield the dicts of a notation, including those in the options of choices.

    With `path`, the options for the model at this path are omitted if they have no
    rounds.
    """
    if isinstance(notation, Mapping):
        yield notation
        for key, value in notation.items():
            if isinstance(value, Choice):
                for option, sub in pairs_of(value):
                    if key != path or learner_of(option) is not None:
                        yield from _parts_of(sub, path)
    elif isinstance(notation, list | tuple):
        for part in notation:
            yield from _parts_of(part, path)


def _values_of(notation: Any, name: str, path: str = "") -> list[Any]:
    """Return the values of a name in a notation; for lists and choices, each option."""
    found: list[Any] = []
    for part in _parts_of(notation, path):
        if name not in part:
            continue
        value = part[name]
        if isinstance(value, Choice):
            found += value.dimension.values
        else:
            is_several = isinstance(value, list | tuple | range | np.ndarray)
            found += list(value) if is_several else [value]
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
    """Return a notation without some of its names.

    Options for the model at `path` keep them if they have no rounds.
    """

    def below(of_models: bool, option: Any, sub: Any) -> Any:
        keeps_names = of_models and learner_of(option) is None
        return sub if keeps_names else _without(sub, names, path)

    if isinstance(notation, Mapping):
        kept = {
            key: with_sub_spaces(value, partial(below, key == path))
            for key, value in notation.items()
            if key not in names
        }
        if isinstance(notation, EditableSpace):
            space = copy.copy(notation)
            space.clear()
            space.update(kept)
            return space
        return kept
    if isinstance(notation, list | tuple):
        return [_without(part, names, path) for part in notation]
    return notation


# -- results ---------------------------------------------------------------------------


def curve_columns(history: History) -> dict[str, np.ndarray]:
    """Return the curves of all folds as columns with one row per number of rounds."""
    columns: dict[str, list[Any]] = {}
    for trial in history:
        for split, fold in enumerate(trial.folds):
            test, train = fold.extras.get("curves"), fold.extras.get("train_curves")
            if not test:
                continue
            n_points = min(map(len, test.values()))
            rows = {
                "trial": [trial.number] * n_points,
                "split": [split] * n_points,
                "rounds": round_grid(fold.extras["max_rounds"])[:n_points],
            }
            for kind, curves in (("test", test), ("train", train)):
                for metric, curve in (curves or {}).items():
                    rows[f"{kind}_{metric}"] = curve[:n_points]
            for name, values in rows.items():
                columns.setdefault(name, []).append(np.asarray(values))
    return {name: np.concatenate(parts) for name, parts in columns.items()}
