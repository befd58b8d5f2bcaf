"""The model that a search has of its score, or one like it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skbayes.optimizer.optimizer import Optimizer
from skbayes.results.record import SearchRecord, read_record
from skbayes.search.tradeoff import TradeoffSearchCV
from skbayes.space import Categorical, Integer, Real, Space
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

# Positive numbers that span as much are taken for chosen on a logarithmic scale.
LOG_SPAN = 100.0


class NothingToLearn(ValueError):
    """No trial has a score."""


@dataclass(frozen=True)
class ScoreModel:
    """A fitted surrogate, and the trials that it knows.

    Parameters
    ----------
    record : SearchRecord
        The trials of the search.
    space : Space
        How configurations are encoded.
    surrogate : object
        Fitted; see :func:`skbayes.surrogates.base.posterior_of_mean`.
    rows : ndarray of int
        Which trials of the record are comparable configurations of the space.
    params : list of dict
        Their parameters, by the names of the space.
    unit, offset : float
        A score as it is shown is `unit` times what the surrogate predicts, plus
        `offset`.
    """

    record: SearchRecord
    space: Space
    surrogate: Any
    rows: np.ndarray
    params: list[dict[str, Any]]
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

    Parameters
    ----------
    source : search, History, DataFrame or path
        As for :func:`skbayes.results.record.read_record`.
    metric : str or None, default=None
        Which score is meant. None: the one that guides the search.
    surrogate : str or object, default=None
        A surrogate to fit to the trials, as for :class:`skbayes.BayesSearchCV`. None:
        the one of the search with all that it knows; where that does not predict this
        score, as with "tpe", or is not there, as in a journal, "gp".
    search_spaces : dict, list of dicts or Space, default=None
        What could have been chosen. None: the space of the search; where that is not
        known, ranges and options that were seen.
    random_state : int, default=0
        Seed of a surrogate that is fitted.
    name : str or None, default=None
        What to call the search.

    Returns
    -------
    model : ScoreModel
        The model.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong.
    NothingToLearn
        If no trial has a score.
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
    if isinstance(source, TradeoffSearchCV):
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
    if isinstance(source, TradeoffSearchCV):
        # The size of the training set is one of the parameters here.
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


def space_of_values(params: Sequence[Mapping[str, Any]]) -> Space:
    """Guess a space from configurations that were chosen from it.

    Parameters
    ----------
    params : sequence of dict
        The configurations, all with the same names.

    Returns
    -------
    space : Space
        Ranges of numbers, logarithmic if they are positive and span a factor of 100,
        and lists of everything else.

    Raises
    ------
    ValueError
        If the names differ.

    Examples
    --------
    >>> from skbayes.inspection.score_model import space_of_values
    >>> space_of_values([{"C": 0.1, "kernel": "rbf"}, {"C": 10.0, "kernel": "rbf"}])
    Space({C: Real(0.1, 10.0, 'log-uniform'), kernel: Categorical(['rbf'])})
    """
    names = sorted(set().union(*params))
    for name in names:
        if any(name not in row for row in params):
            raise ValueError(
                f"search_spaces: it must be given, since {name!r} is not in every "
                "configuration."
            )
    return Space([{name: _range([row[name] for row in params]) for name in names}])


def _range(values: list[Any]) -> Any:
    if not all(map(is_number, values)) or min(values) == max(values):
        different: list[Any] = []
        for value in values:
            if value not in different:
                different.append(value)
        return Categorical(different)
    low, high = min(values), max(values)
    prior: Any = "log-uniform" if low > 0 and high / low >= LOG_SPAN else "uniform"
    if all(isinstance(value, int) for value in values):
        return Integer(low, high, prior)
    return Real(float(low), float(high), prior)
