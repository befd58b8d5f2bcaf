"""Earlier searches on other data, as prior information for a new search."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from skbayes.journal.json_space import readable_by
from skbayes.journal.reader import read_journal
from skbayes.results.warm_start import known_rows, own_params, rows_of_trials
from skbayes.space import Space
from skbayes.space.dimensions import FloatArray, native
from skbayes.surrogates.transfer import MIN_SCORES, Source
from skbayes.utils.optional import warn_user

__all__ = ["read_sources"]

Params = Mapping[str, Any]


def read_sources(values: Sequence[Any], space: Space, metric: str) -> list[Source]:
    """Read searches on other data as sources with at least three scores in a space.

    Searches with fewer scores are ignored with a warning. The errors TypeError,
    ValueError and OSError name a source as ``warm_start_from[i]``.
    """
    sources = []
    for place, value in enumerate(values):
        name = f"warm_start_from[{place}]"
        try:
            trials = list(_finite(_rows(value, space, metric)))
        except (TypeError, ValueError, OSError) as error:
            text = str(error).removeprefix("warm_start_from").removeprefix(":")
            joint = "" if str(error).startswith("warm_start_from ") else ": "
            message = f"{name}{joint}{text.strip() if joint else text}"
            raise _plain_type(error)(message) from error
        rows = [(_encode(space, params), score) for params, score in trials]
        inside = [(row, score) for row, score in rows if row is not None]
        if len(inside) < MIN_SCORES:
            warn_user(
                f"{name} is ignored: {len(inside)} of its {len(trials)} trials with a "
                f"score are within search_spaces, but {MIN_SCORES} are needed.",
            )
            continue
        sources.append(
            Source(
                np.array([row for row, _ in inside]),
                np.array([score for _, score in inside], dtype=float),
            )
        )
    return sources


def _plain_type(error: Exception) -> type[Exception]:
    """Return the class of an error, or a base class that takes one message."""
    own = (FileNotFoundError, PermissionError, OSError, TypeError)
    return next((kind for kind in own if isinstance(error, kind)), ValueError)


def _rows(value: Any, space: Space, metric: str) -> Sequence[tuple]:
    if not isinstance(value, str | os.PathLike):
        return known_rows(value, metric)
    try:
        _, stored = read_journal(value)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"there is no journal {os.fspath(value)!r}.") from error
    trials = [
        item.trial({k: readable_by(space, k, v) for k, v in item.record.items()})
        for item in stored
        if item.details is not None
    ]
    return rows_of_trials(trials, metric, "score")


def _finite(rows: Sequence[tuple]) -> Iterator[tuple[Params, float]]:
    for params, score, *_ in rows:
        if isinstance(params, Mapping) and math.isfinite(score):
            yield params, float(score)


def _encode(space: Space, params: Params) -> FloatArray | None:
    """Encode the known part of a configuration; None if it is empty or outside."""
    try:
        return space.encode([own_params(space, params)])[0]
    except ValueError:
        pass
    row = np.full(space.n_columns, np.nan)
    inside, outside = set(), set()
    for place, column in enumerate(space.columns):
        name = column.name
        if name is None or name not in params:
            continue
        try:
            row[place] = column.dimension.encode([native(params[name])])[0]
            inside.add(name)
        except (TypeError, ValueError):
            outside.add(name)
    return row if inside and not outside - inside else None
