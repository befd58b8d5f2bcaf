"""Partial dependence of the score on one or two hyper-parameters: computation.

The surrogate of the score comes from a search, or is fitted to its trials. Symbols: D
columns of the encoded space; a cell is a combination of positions of the columns that
are not averaged over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from skbayes.inspection.scales import are_log, option_places, scale_of
from skbayes.optimizer.optimizer import Optimizer
from skbayes.results.read import read_record
from skbayes.results.record import SearchRecord
from skbayes.space import (
    Categorical,
    Dimension,
    Distribution,
    Integer,
    Ordinal,
    Real,
    Space,
)
from skbayes.space.candidates import Candidates, sobol
from skbayes.space.dimensions import FloatArray, is_number
from skbayes.surrogates.registry import (
    capability,
    check_surrogate,
    make_surrogate,
    names_with,
)
from skbayes.surrogates.surrogate import posterior_of_mean
from skbayes.utils.blas import one_blas_thread

# Maximum number of values of a single hyper-parameter, and of each hyper-parameter of a
# pair.
RESOLUTION, PAIR_RESOLUTION = 50, 20

# Maximum number of configurations to average over.
N_AVERAGED = 128

# Maximum number of hyper-parameters shown by default: the ones whose mean varies most.
N_SHOWN = 12

# Binary logarithm of the maximum number of configurations drawn to find those with an
# active hyper-parameter.
LOG2_MAX_DRAWN = 16

# Share of the mass in each tail of an unbounded distribution that is not shown.
HIDDEN_TAIL = 0.01


# -- surrogate of the score -----------------------------------------------------------


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
) -> ScoreModel:
    """Return the surrogate of a search, or fit one; `NoScores` if it has no score."""
    if surrogate is not None:
        if not capability(check_surrogate(surrogate), "predicts_scores"):
            raise ValueError(
                f"surrogate: {surrogate!r} does not predict scores; use one of "
                f"{names_with('predicts_scores')}."
            )
    record = read_record(source, metric=metric, search_spaces=search_spaces)
    if surrogate is None and search_spaces is None:
        model = _own_model(source, record)
        if model is not None:
            return model
    space, rows, params = _trials(source, record)
    if surrogate is None:
        surrogate = getattr(source, "surrogate", "gp")
        if not capability(surrogate, "predicts_scores"):
            surrogate = "gp"
    with one_blas_thread():
        model = make_surrogate(surrogate, Candidates(space), 0)
        # Failed trials count as the worst score, as in a search.
        y = record.score[rows]
        y = np.where(np.isfinite(y), y, np.min(y[np.isfinite(y)]))
        model = model.fit(space.encode(params), y)
    return ScoreModel(record, space, model, rows, params, float(record.sign), 0.0)


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
    space, params, highest = record.space, record.params, record.highest
    if hasattr(source, "_trials_with_sizes"):
        # The optimizer of the search has the size of the training set as an additional
        # hyper-parameter of the trials.
        space, highest = source.optimizer_.space, np.ones(len(record), dtype=bool)
        trials, _ = source._trials_with_sizes(source, space)
        proposed = {trial.number: trial.params for trial in trials}
        params = [proposed[number] for number in record.number]
    # Scores on smaller shares of the training rows are not comparable.
    scored = record.complete
    comparable = highest & np.isin(record.state, ["complete", "failed"])
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


# -- partial dependence ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Dependence:
    """Partial dependence of the predicted score on one or two hyper-parameters."""

    names: tuple[str, ...]
    # For each hyper-parameter, the evaluated values and the type of its axis.
    values: tuple[list[Any], ...]
    scales: tuple[str, ...]
    # Averages over the other hyper-parameters: shape (n_values,) or (n_values_1,
    # n_values_2).
    mean: FloatArray
    sd: FloatArray
    # Numbers or positions of options of the trials, shape (n_trials, n_parameters), and
    # the row of the best trial, if it is among them.
    tried: FloatArray
    best: int | None

    def coordinates(self, axis: int) -> FloatArray:
        """Return the positions of the values of one hyper-parameter on its axis."""
        values = self.values[axis]
        if self.scales[axis] == "options":
            return option_places(list(values))
        return np.array(values, dtype=float)


def dependences(
    model: ScoreModel,
    params: Sequence[str | tuple[str, str]] | None = None,
    *,
    resolution: int | None = None,
) -> list[Dependence]:
    """Compute partial dependences of single hyper-parameters and of pairs."""
    if not (resolution is None or isinstance(resolution, Integral) and resolution > 1):
        raise ValueError(f"resolution must be an integer >= 2, got {resolution!r}.")
    others = BackgroundSample(model.space)
    computed = []
    with one_blas_thread():
        for columns in _columns_of(model.space, params):
            most = resolution or (RESOLUTION if len(columns) == 1 else PAIR_RESOLUTION)
            computed.append(_dependence(model, others, columns, most))
    if params is None and len(computed) > N_SHOWN:
        spans = [np.nanmax(d.mean) - np.nanmin(d.mean) for d in computed]
        widest = sorted(np.argsort(spans)[-N_SHOWN:])
        computed = [computed[i] for i in widest]
    return computed


def _columns_of(space: Space, params: Any) -> list[tuple[int, ...]]:
    """Return the columns of each panel, one or two."""
    columns, labels = space.columns, column_labels(space)
    if params is None:
        return [
            (j,) for j, c in enumerate(columns) if c.name and c.dimension.n_values > 1
        ]
    error = ValueError(
        "params must be a list of names, or of pairs of different names, among "
        f"{space.parameter_names}, got {params!r}."
    )
    if isinstance(params, str) or not isinstance(params, Iterable):
        raise error
    panels: list[tuple[int, ...]] = []
    for panel in params:
        names = panel if isinstance(panel, tuple | list) else [panel]
        # Branches can have columns of one name.
        by_name = [
            [j for j, c in enumerate(columns) if name in (c.name, labels[j])]
            for name in names
        ]
        if len(names) not in (1, 2) or not all(by_name) or by_name[1:] == by_name[:1]:
            raise error
        if len(names) == 1:
            panels += [(j,) for j in by_name[0]]
            continue
        pairs = [(i, j) for i in by_name[0] for j in by_name[1]]
        drawn = np.random.default_rng(0).random((4096, space.n_columns))
        active = ~np.isnan(space.from_uniform(drawn))
        together = [pair for pair in pairs if np.any(np.all(active[:, pair], axis=1))]
        if not together:
            raise ValueError(
                f"params: {names[0]!r} and {names[1]!r} never occur together."
            )
        for name, places in zip(names, by_name, strict=True):
            if any(scale_of(columns[j].dimension) == "options" for j in places):
                raise ValueError(
                    f"params: a pair needs ranges or lists of numbers, and {name!r} "
                    "has other options."
                )
        panels += together
    return panels


def _dependence(
    model: ScoreModel,
    others: BackgroundSample,
    columns: tuple[int, ...],
    resolution: int,
) -> Dependence:
    dimensions = [model.space.columns[j].dimension for j in columns]
    positions = [positions_of(dimension, resolution) for dimension in dimensions]
    mean, sd = marginal(model.surrogate, others, columns, positions)
    scales = tuple(map(scale_of, dimensions))
    X = model.space.encode(model.params)[:, list(columns)]
    active = np.all(~np.isnan(X), axis=1)
    tried = np.empty((int(active.sum()), len(columns)))
    for axis, (dimension, scale) in enumerate(zip(dimensions, scales, strict=True)):
        encoded = X[active, axis]
        if scale == "options":
            places = option_places(list(dimension.decode(positions[axis])))
            tried[:, axis] = places[dimension.place(encoded)]  # type: ignore[attr-defined]
        else:
            tried[:, axis] = dimension.decode(encoded)
    best = np.flatnonzero(model.rows[active] == model.record.best)
    labels, shown = column_labels(model.space), zip(dimensions, positions, strict=True)
    return Dependence(
        names=tuple(labels[j] for j in columns),
        values=tuple(dimension.decode(grid) for dimension, grid in shown),
        scales=scales,
        mean=model.unit * mean + model.offset,
        sd=abs(model.unit) * sd,
        tried=tried,
        best=int(best[0]) if len(best) else None,
    )


# -- averages over the other hyper-parameters ------------------------------------------


@dataclass(eq=False)
class BackgroundSample:
    """Sample of configurations for averaging over all columns except some.

    The distribution is that of random search: options are equally probable, a range is
    uniform on its scale, and a conditional hyper-parameter occurs if its option is
    drawn. If there are at most `n_averaged` configurations, the sample contains all of
    them, with their probabilities as weights. Otherwise, it contains points of a Sobol
    sequence, the same for all cells.
    """

    space: Space
    n_averaged: int = N_AVERAGED

    def __post_init__(self) -> None:
        self._drawn: dict[int, FloatArray] = {}
        # All allowed configurations and their probabilities, if feasible.
        self._listed: tuple[FloatArray, FloatArray] | None = None
        dimensions = [column.dimension for column in self.space.columns]
        # Equal probabilities are only certain for values of lists.
        if self.space.overlaps or not all(hasattr(d, "values") for d in dimensions):
            return
        X = Candidates(self.space).rows
        if X is not None:
            counts = np.array([dimension.n_values for dimension in dimensions])
            weights = np.prod(np.where(np.isnan(X), 1.0, 1.0 / counts), axis=1)
            self._listed = X, weights

    def of(
        self, columns: Sequence[int], positions: Sequence[float]
    ) -> tuple[FloatArray, FloatArray]:
        """Return configurations (m, D) with given positions, and their weights (m,)."""
        if self._listed is not None:
            X, weights = self._listed
            alike = np.all(X[:, list(columns)] == positions, axis=1)
            if np.sum(alike) <= self.n_averaged:
                weights = weights[alike]
                return X[alike], weights / (np.sum(weights) or 1.0)
        X = self._draw(list(columns), positions)
        return X, np.full(len(X), 1.0 / max(len(X), 1))

    def _draw(self, columns: list[int], positions: Sequence[float]) -> FloatArray:
        log2_n = max(math.ceil(math.log2(self.n_averaged)), 3)
        while True:
            P = self._points(log2_n).copy()
            P[:, columns] = positions
            rows = np.flatnonzero(np.all(self.space.active(P)[:, columns], axis=1))
            if self.space.constraint is None:
                rows = rows[: self.n_averaged]
            X = self.space.snap(P[rows])
            # The first dict of a list also represents later dicts that overlap with it.
            X = X[np.all(X[:, columns] == positions, axis=1)]
            if self.space.constraint is not None:
                params = self.space.decode(X)
                X = X[[self.space.allows(configuration) for configuration in params]]
            if len(X) >= self.n_averaged or log2_n >= LOG2_MAX_DRAWN:
                return X[: self.n_averaged]
            log2_n += 3

    def _points(self, log2_n: int) -> FloatArray:
        """Return positions in all columns, active or inactive."""
        if log2_n not in self._drawn:
            U = sobol(self.space.n_columns, log2_n, np.random.default_rng(0))
            P = np.empty_like(U)
            for j, column in enumerate(self.space.columns):
                P[:, j] = column.dimension.from_uniform(U[:, j])
            self._drawn[log2_n] = P
        return self._drawn[log2_n]


def positions_of(dimension: Dimension, resolution: int) -> FloatArray:
    """Return the positions at which a dimension is shown, in order; all options."""
    if dimension.is_categorical or dimension.n_values <= resolution:
        return dimension.grid
    low, high = 0.0, 1.0
    if isinstance(dimension, Distribution) and math.isinf(dimension.n_values):
        ends = dimension.distribution.support()
        low = HIDDEN_TAIL if math.isinf(ends[0]) else low
        high = 1.0 - HIDDEN_TAIL if math.isinf(ends[1]) else high
    return np.unique(dimension.snap(np.linspace(low, high, resolution)))


def marginal(
    surrogate: Any,
    others: BackgroundSample,
    columns: Sequence[int],
    positions: Sequence[FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """Return means and standard deviations of the mean score at each cell, or NaN."""
    shape = tuple(len(grid) for grid in positions)
    mean, sd = np.full(shape, np.nan), np.full(shape, np.nan)
    for cell in np.ndindex(*shape):
        at = [float(grid[i]) for grid, i in zip(positions, cell, strict=True)]
        X, weights = others.of(columns, at)
        if len(X):
            means, sds = posterior_of_mean(surrogate, X, weights)
            mean[cell] = np.mean(means)
            sd[cell] = np.sqrt(np.mean(sds**2) + np.var(means))
    return mean, sd
