"""Lists of the observations of an optimizer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from skbayes.acquisition.base import Observations
from skbayes.space.dimensions import FloatArray

__all__ = ["ObservationList", "join"]


@dataclass
class ObservationList:
    """Encoded configurations, their scores, and the known variances of the scores.

    Scores and variances are lists with one number for each objective. A score of NaN
    means that the trial failed. Slacks are lists with one number for each constraint on
    outcomes, or empty lists if they are unknown.
    """

    rows: list[FloatArray] = field(default_factory=list)
    scores: list[list[float]] = field(default_factory=list)
    noise: list[list[float]] = field(default_factory=list)
    slacks: list[list[float]] = field(default_factory=list)

    def add(
        self,
        row: FloatArray,
        scores: list[float],
        noise: list[float],
        slacks: Sequence[float] = (),
    ) -> None:
        """Append one observation."""
        self.slacks.append(list(slacks))
        self.rows.append(row)
        self.scores.append(scores)
        # A failure is replaced by the worst score, without additional noise.
        pairs = zip(scores, noise, strict=True)
        self.noise.append([0.0 if math.isnan(score) else v for score, v in pairs])


def join(
    learned: ObservationList,
    observed: ObservationList,
    pending: Sequence[FloatArray],
    n_columns: int,
    n_objectives: int,
    slacks: FloatArray | None = None,
) -> Observations:
    """Join observations and pending configurations as arrays."""
    shape = (-1, n_objectives) if n_objectives > 1 else -1
    scores, noise = (
        np.array(_joined(numbers, n_objectives), dtype=np.float64).reshape(shape)
        for numbers in (
            learned.scores + observed.scores,
            learned.noise + observed.noise,
        )
    )
    X, waiting = (
        np.array(rows, dtype=np.float64).reshape(len(rows), n_columns)
        for rows in (learned.rows + observed.rows, list(pending))
    )
    return Observations(X, scores, noise, waiting, slacks=slacks)


def _joined(numbers: list[list[float]], n: int) -> list[list[float]]:
    """Return one number for each of `n` objectives, for each observation."""
    if n == 1:
        return numbers
    # A failure may have one number if it came before the first list of scores.
    return [values if len(values) == n else values * n for values in numbers]
