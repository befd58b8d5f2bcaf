"""Observations of an optimizer: scores, and values of constraints on outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skbayes.acquisition.base import Observations, Proposer
from skbayes.acquisition.feasibility import Feasibility, fit_constrained
from skbayes.space.candidates import Candidates
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.registry import make_surrogate
from skbayes.utils.ranking import total_violation

__all__ = [
    "ConstraintModels",
    "ObservationList",
    "join",
]

# Difference between the seeds of these models and of the models of scores.
SEED_OFFSET = 1000


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


class ConstraintModels:
    """Gaussian processes of constraints, one for each, for any surrogate."""

    def __init__(self, candidates: Candidates, seed: int) -> None:
        self._candidates, self._seed = candidates, seed
        self.n: int | None = None
        self._models: list[Any] = []

    def check(self, constraints: Any) -> list[float]:
        """Return the values of a trial, NaN where they are unknown."""
        if constraints is None:
            return []
        try:
            values = [float(slack) for slack in constraints]
        except (TypeError, ValueError) as error:
            raise TypeError(
                "constraints must be a list of numbers, each <= 0 where the "
                f"constraint is satisfied, got {constraints!r}."
            ) from error
        if self.n not in (None, len(values)):
            raise ValueError(
                f"constraints must have {self.n} values, as before, got {len(values)}."
            )
        self._set_n(len(values))
        return values

    def _set_n(self, n: int) -> None:
        if self.n is not None or n == 0:
            return
        self.n = n
        for place in range(n):
            model = make_surrogate("gp", self._candidates, self._seed_of(place))
            # Values on both sides of the bound matter equally.
            model.winsorize_scores = False
            self._models.append(model)

    def _seed_of(self, place: int) -> int:
        return self._seed + SEED_OFFSET + place

    def violation(self, slacks: list[float]) -> float:
        """Return the violation of a trial; infinite if its values are unknown."""
        return float(total_violation(slacks or [math.nan] * (self.n or 0)))

    def slacks(self, *lists: ObservationList) -> FloatArray | None:
        """Return the observed values, shape (n, c); None without constraints."""
        if self.n is None:
            return None
        unknown = [math.nan] * self.n
        rows = [
            slacks or unknown
            for observations in lists
            for slacks in observations.slacks
        ]
        return np.array(rows, dtype=np.float64).reshape(-1, self.n)

    def fit(
        self, proposer: Proposer, observations: Observations
    ) -> tuple[Proposer, Observations]:
        """Fit a proposer to observations; return both with constraints applied."""
        if observations.slacks is None:
            return proposer.fit(observations), observations
        return fit_constrained(proposer, self._models, observations)

    @staticmethod
    def expected(
        proposer: Proposer, row: FloatArray, improvement: float | None
    ) -> float | None:
        """Return an expected improvement times the probability of feasibility."""
        for term in proposer.terms:
            if improvement is not None and isinstance(term, Feasibility):
                improvement *= math.exp(float(term.value(row[None, :])[0]))
        return improvement
