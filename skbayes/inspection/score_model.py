"""Surrogate of the score: the one that a search has, or one fitted to its trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skbayes.inspection.scales import are_log
from skbayes.optimizer.optimizer import Optimizer
from skbayes.results.read import read_record
from skbayes.results.record import SearchRecord
from skbayes.space import Categorical, Integer, Ordinal, Real, Space
from skbayes.space.candidates import Candidates
from skbayes.space.dimensions import is_number
from skbayes.surrogates.registry import (
    capability,
    make_surrogate,
    names_with,
    registry,
)
from skbayes.utils.blas import one_blas_thread

__all__ = ["NothingToLearn", "ScoreModel", "score_model", "space_of_values"]


class NothingToLearn(ValueError):
    """No trial has a score."""


@dataclass(frozen=True)
class ScoreModel:
    """A fitted surrogate, and the trials that it knows."""

    record: SearchRecord
    # How configurations are encoded.
    space: Space
    surrogate: Any
    # Trials of the record that are comparable configurations of the space, and their
    # parameters by the names of the space.
    rows: np.ndarray
    params: list[dict[str, Any]]
    # A score as it is shown is `unit` times a prediction, plus `offset`.
    unit: float
    offset: float

    @property
    def floor(self) -> float | None:
        """The score, as it is shown, that the surrogate takes worse ones for.

        None if it takes all scores as they are.
        """
        surrogate = getattr(self.surrogate, "surrogate", self.surrogate)
        floor = getattr(surrogate, "floor_", None)
        return None if floor is None else self.unit * floor + self.offset


def score_model(
    source: Any,
    *,
    metric: str | None = None,
    surrogate: Any = None,
    search_spaces: Any = None,
    random_state: int = 0,
    name: str | None = None,
) -> ScoreModel:
    """Return the model that a search has, or fit one to its trials.

    `NothingToLearn` is raised if no trial has a score.
    """
    _check_surrogate(surrogate)
    record = read_record(source, metric=metric, search_spaces=search_spaces, name=name)
    if surrogate is None and search_spaces is None:
        own = _own_model(source, record)
        if own is not None:
            return own
    space, rows, params = _trials(source, record)
    if surrogate is None:
        surrogate = getattr(source, "surrogate", "gp")
        surrogate = surrogate if _predicts(surrogate) else "gp"
    with one_blas_thread():
        model = make_surrogate(surrogate, Candidates(space), random_state)
        # A failure is taken for as bad as the worst score, as in a search.
        y = record.score[rows]
        y = np.where(np.isfinite(y), y, np.min(y[np.isfinite(y)]))
        model = model.fit(space.encode(params), y)
    return ScoreModel(record, space, model, rows, params, float(record.sign), 0.0)


def _check_surrogate(surrogate: Any) -> None:
    if surrogate is None or _predicts(surrogate):
        return
    models = names_with("predicts_scores")
    if isinstance(surrogate, str) and surrogate not in registry:
        raise ValueError(f"surrogate must be one of {models}, got {surrogate!r}.")
    raise ValueError(
        f"surrogate: {surrogate!r} does not predict scores; take one of {models}."
    )


def _predicts(surrogate: Any) -> bool:
    if isinstance(surrogate, str) and surrogate not in registry:
        return False
    return capability(surrogate, "predicts_scores")


def _own_model(source: Any, record: SearchRecord) -> ScoreModel | None:
    """Return the model of a fitted search, if it has one of this score."""
    optimizer = getattr(source, "optimizer_", None)
    if not isinstance(optimizer, Optimizer):
        return None
    guide = getattr(source, "target_metric_", "score")
    # A single metric is called "score" by the search, by its own name in a picture.
    own_names = [guide, *([source.scoring] if guide == "score" else [])]
    if record.metric not in own_names:
        return None
    try:
        surrogate = optimizer.fitted_surrogate()
    except ValueError:
        return None
    unit, offset = float(record.sign), 0.0
    if hasattr(source, "score_range"):
        # It learns scores on the scale on which they are weighed against costs.
        low, high = source.score_range or (0.0, 1.0)
        unit, offset = unit * (high - low), unit * low
    space, rows, params = _trials(source, record)
    return ScoreModel(record, space, surrogate, rows, params, unit, offset)


def _trials(
    source: Any, record: SearchRecord
) -> tuple[Space, np.ndarray, list[dict[str, Any]]]:
    """Return the space, and the places and parameters of comparable trials in it."""
    space, params, fractions = record.space, record.params, record.train_fraction
    if hasattr(source, "_own_trials"):
        # The search hands over its trials as its optimizer has them: with the size of
        # the training set as one more parameter.
        space, fractions = source.optimizer_.space, np.ones(len(record))
        proposed = {t.number: t.params for t in source._own_trials(source)}
        params = [proposed[number] for number in record.number]
    # Scores on smaller shares of the training rows cannot be compared with others.
    finished = np.isin(record.state, ["complete", "failed"])
    scored = record.complete
    comparable = finished & (fractions == fractions[scored].max(initial=0.0))
    if space is None:
        space = space_of_values([params[i] for i in np.flatnonzero(comparable)])
    rows = [i for i in np.flatnonzero(comparable) if params[i] in space]
    if not np.any(scored[rows]):
        raise NothingToLearn("No trial has a score: there is nothing to learn.")
    return space, np.array(rows, dtype=int), [params[i] for i in rows]


def space_of_values(params: Sequence[Mapping[str, Any]], ranges: bool = True) -> Space:
    """Guess a space from configurations that were chosen from it.

    With `ranges`, numbers become ranges, logarithmic if they are positive and span a
    factor of 100; else lists of the values that occur, as everything else.
    """
    names = sorted(set().union(*params))
    for name in names:
        if any(name not in row for row in params):
            raise ValueError(
                f"search_spaces: it must be given, since {name!r} is not in every "
                "configuration."
            )
    make = _range if ranges else _listed
    return Space([{name: make([row[name] for row in params]) for name in names}])


def _listed(values: list[Any]) -> Any:
    different: list[Any] = []
    for value in values:
        if value not in different:
            different.append(value)
    return (Ordinal if all(map(is_number, values)) else Categorical)(different)


def _range(values: list[Any]) -> Any:
    if not all(map(is_number, values)):
        return _listed(values)
    low, high = min(values), max(values)
    if low == high:
        return Categorical([low])
    prior: Any = "log-uniform" if are_log(values) else "uniform"
    if all(isinstance(value, int) for value in values):
        return Integer(low, high, prior)
    return Real(float(low), float(high), prior)
