"""Partial dependence of the score on one or two hyper-parameters: computation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skbayes.inspection.background_sample import (
    BackgroundSample,
    marginal,
    positions_of,
)
from skbayes.inspection.importance import column_labels
from skbayes.inspection.scales import is_log, is_ordered, option_places
from skbayes.inspection.score_model import ScoreModel
from skbayes.space import Dimension
from skbayes.space.dimensions import FloatArray
from skbayes.utils.blas import one_blas_thread

__all__ = ["Dependence", "dependences", "scale_of"]

# Maximum number of values of a single hyper-parameter, and of each hyper-parameter of a
# pair.
RESOLUTION, PAIR_RESOLUTION = 50, 20

# Number of hyper-parameters shown by default: those whose mean varies most.
N_SHOWN = 12


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


def scale_of(dimension: Dimension) -> str:
    """Return the type of axis of a dimension: "linear", "log" or "options"."""
    if not is_ordered(dimension):
        return "options"
    return "log" if is_log(dimension) else "linear"


def dependences(
    model: ScoreModel,
    params: Sequence[str | tuple[str, str]] | None = None,
    *,
    resolution: int | None = None,
    n_averaged: int = 128,
    random_state: int = 0,
) -> list[Dependence]:
    """Compute partial dependences of single hyper-parameters and of pairs."""
    _check_count(n_averaged, "n_averaged", 1)
    if resolution is not None:
        _check_count(resolution, "resolution", 2)
    others = BackgroundSample(model.space, int(n_averaged), random_state)
    found = []
    with one_blas_thread():
        for columns in _columns_of(model, params):
            most = resolution or (RESOLUTION if len(columns) == 1 else PAIR_RESOLUTION)
            found.append(_dependence(model, others, columns, int(most)))
    if params is None and len(found) > N_SHOWN:
        spans = [np.nanmax(d.mean) - np.nanmin(d.mean) for d in found]
        widest = sorted(np.argsort(spans)[-N_SHOWN:])
        found = [found[i] for i in widest]
    return found


def _check_count(number: Any, name: str, least: int) -> None:
    if not isinstance(number, int | np.integer) or isinstance(number, bool):
        raise TypeError(f"{name} must be an integer, got {number!r}.")
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number!r}.")


def _columns_of(model: ScoreModel, params: Any) -> list[tuple[int, ...]]:
    columns = model.space.columns
    if params is None:
        return [
            (j,) for j, c in enumerate(columns) if c.name and c.dimension.n_values > 1
        ]
    if isinstance(params, str) or not isinstance(params, Iterable):
        raise TypeError(f"params must be a list of names or pairs, got {params!r}.")
    labels = column_labels(model.space)
    panels: list[tuple[int, ...]] = []
    for panel in params:
        names = panel if isinstance(panel, tuple | list) else (panel,)
        if len(names) not in (1, 2) or not all(isinstance(n, str) for n in names):
            raise TypeError(
                f"params must be names, or pairs of names in tuples, got {panel!r}."
            )
        known = [
            [j for j, c in enumerate(columns) if name in (c.name, labels[j])]
            for name in names
        ]
        for name, places in zip(names, known, strict=True):
            if not places:
                raise ValueError(
                    f"params: {name!r} is not one of {model.space.parameter_names}."
                )
        if len(names) == 2 and known[0] == known[1]:
            raise ValueError(
                f"params: a pair needs two different names, got {panel!r}."
            )
        panels += _together(model, known)
    return panels


def _together(model: ScoreModel, known: list[list[int]]) -> list[tuple[int, ...]]:
    """Return the combinations of columns that occur together."""
    if len(known) == 1:
        return [(j,) for j in known[0]]
    drawn = model.space.from_uniform(
        np.random.default_rng(0).random((4096, model.space.n_columns))
    )
    active = ~np.isnan(drawn)
    pairs = [(i, j) for i in known[0] for j in known[1]]
    found = [pair for pair in pairs if np.any(np.all(active[:, pair], axis=1))]
    if not found:
        names = [model.space.columns[places[0]].name for places in known]
        raise ValueError(f"params: {names[0]!r} and {names[1]!r} never occur together.")
    return list(found)


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
