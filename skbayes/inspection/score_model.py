"""Surrogate of the score: that of a search, or one fitted to its trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skbayes.inspection.scales import are_log
from skbayes.optimizer.optimizer import Optimizer
from skbayes.results.read import read_record
from skbayes.results.record import SearchRecord
from skbayes.space import Categorical, Dimension, Integer, Ordinal, Real, Space
from skbayes.space.candidates import Candidates
from skbayes.space.dimensions import is_number
from skbayes.surrogates.registry import capability, make_surrogate, names_with, registry
from skbayes.utils.blas import one_blas_thread


class NoScores(ValueError):
    """Error if no trial has a score."""


@dataclass(frozen=True)
class ScoreModel:
    """Fitted surrogate, and the trials that it was fitted to."""

    record: SearchRecord
    # Encoding of the configurations.
    space: Space
    surrogate: Any
    # Rows of the trials in the record that are comparable and in the space, and their
    # values by the names of the space.
    rows: np.ndarray
    params: list[dict[str, Any]]
    # Displayed score = unit * prediction + offset.
    unit: float
    offset: float

    @property
    def floor(self) -> float | None:
        """Displayed score that replaces all worse ones in the surrogate, or None."""
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
) -> ScoreModel:
    """Return the surrogate of a search, or fit one; `NoScores` if it has no score."""
    if surrogate is not None and not _predicts(surrogate):
        models, is_name = names_with("predicts_scores"), isinstance(surrogate, str)
        if is_name and surrogate not in registry:
            raise ValueError(f"surrogate must be one of {models}, got {surrogate!r}.")
        raise ValueError(
            f"surrogate: {surrogate!r} does not predict scores; use one of {models}."
        )
    record = read_record(source, metric=metric, search_spaces=search_spaces)
    if surrogate is None and search_spaces is None:
        model = _own_model(source, record)
        if model is not None:
            return model
    space, rows, params = _trials(source, record)
    if surrogate is None:
        surrogate = getattr(source, "surrogate", "gp")
        surrogate = surrogate if _predicts(surrogate) else "gp"
    with one_blas_thread():
        model = make_surrogate(surrogate, Candidates(space), random_state)
        # Failed trials count as the worst score, as in a search.
        y = record.score[rows]
        y = np.where(np.isfinite(y), y, np.min(y[np.isfinite(y)]))
        model = model.fit(space.encode(params), y)
    return ScoreModel(record, space, model, rows, params, float(record.sign), 0.0)


def _predicts(surrogate: Any) -> bool:
    if isinstance(surrogate, str) and surrogate not in registry:
        return False
    return capability(surrogate, "predicts_scores")


def _own_model(source: Any, record: SearchRecord) -> ScoreModel | None:
    """Return the surrogate of a fitted search if it predicts this score."""
    optimizer = getattr(source, "optimizer_", None)
    if not isinstance(optimizer, Optimizer):
        return None
    guide = getattr(source, "target_metric_", "score")
    # A search calls a single metric "score"; a plot uses the name of the metric.
    own_names = [guide, *([source.scoring] if guide == "score" else [])]
    if record.metric not in own_names:
        return None
    try:
        surrogate = optimizer.fitted_surrogate()
    except ValueError:
        return None
    unit, offset = float(record.sign), 0.0
    if hasattr(source, "score_range"):
        # The surrogate is fitted to scores on the scale of the tradeoff.
        low, high = source.score_range or (0.0, 1.0)
        unit, offset = unit * (high - low), unit * low
    space, rows, params = _trials(source, record)
    return ScoreModel(record, space, surrogate, rows, params, unit, offset)


def _trials(
    source: Any, record: SearchRecord
) -> tuple[Space, np.ndarray, list[dict[str, Any]]]:
    """Return the space, and the rows and values of comparable trials in it."""
    space, params, fractions = record.space, record.params, record.train_fraction
    if hasattr(source, "_trials_with_sizes"):
        # The optimizer of the search has the size of the training set as an additional
        # hyper-parameter of the trials.
        space, fractions = source.optimizer_.space, np.ones(len(record))
        trials, *_ = source._trials_with_sizes(source, space)
        proposed = {trial.number: trial.params for trial in trials}
        params = [proposed[number] for number in record.number]
    # Scores on smaller shares of the training rows are not comparable.
    finished = np.isin(record.state, ["complete", "failed"])
    scored = record.complete
    comparable = finished & (fractions == fractions[scored].max(initial=0.0))
    if space is None:
        space = space_of_values([params[i] for i in np.flatnonzero(comparable)])
    rows = [i for i in np.flatnonzero(comparable) if params[i] in space]
    if not np.any(scored[rows]):
        raise NoScores("No trial has a score, so no surrogate can be fitted.")
    return space, np.array(rows, dtype=int), [params[i] for i in rows]


def space_of_values(params: Sequence[Mapping[str, Any]], ranges: bool = True) -> Space:
    """Guess a space from configurations; numbers are ranges if `ranges`, else lists."""
    dimensions = {}
    for name in sorted(set().union(*params)):
        if any(name not in row for row in params):
            raise ValueError(
                f"search_spaces must be given, because {name!r} is not in every "
                "configuration."
            )
        dimensions[name] = _dimension([row[name] for row in params], ranges)
    return Space([dimensions])


def _dimension(values: list[Any], ranges: bool) -> Dimension:
    different: list[Any] = []
    for value in values:
        if value not in different:
            different.append(value)
    if not all(map(is_number, values)):
        return Categorical(different)
    if not ranges:
        return Ordinal(different)
    low, high = min(values), max(values)
    if low == high:
        return Categorical([low])
    prior: Any = "log-uniform" if are_log(values) else "uniform"
    if all(isinstance(value, int) for value in values):
        return Integer(low, high, prior)
    return Real(float(low), float(high), prior)


def column_labels(space: Space) -> list[str]:
    """Name the columns; later columns with the same name are numbered."""
    labels: list[str] = []
    for column in space.columns:
        name = column.name or "(choice of dict)"
        n_before = sum(c.name == column.name for c in space.columns[: len(labels)])
        labels.append(f"{name} ({n_before + 1})" if n_before else name)
    return labels
