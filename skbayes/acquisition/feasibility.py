"""Probability that outcomes satisfy their constraints, a factor of the acquisition.

Symbols (n observations, p pending configurations, m candidates, D columns, c
constraints, S samples of a surrogate's hyper-parameters):

- ``slacks``: (n, c) values of the constraints, <= 0 if satisfied, NaN if unknown.
- ``violation``: (n,) sum of the positive slacks, infinite if one is unknown.
- ``mean``, ``sd``: (S, m) prediction of the slacks of one constraint.

The constraints are assumed to be independent given the data. The probability that all
of them are satisfied is then the product of Phi(-mean / sd), each averaged over S. It
multiplies the expected improvement over the best configuration that satisfies them
(Schonlau, Welch & Jones 1998; Gelbart, Snoek & Adams 2014, "Bayesian optimization with
unknown constraints"). Predictions and probabilities refer to means without noise
(Letham, Karrer, Ottoni & Bakshy 2019, "Constrained Bayesian optimization with noisy
experiments").
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from skbayes.acquisition.improvement import ProbabilityOfImprovement, slope_of_average
from skbayes.acquisition.observations import Observations, fit_surrogate
from skbayes.acquisition.proposers import Proposer, SamplingProposer, in_blocks
from skbayes.acquisition.terms import LogTerm
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.surrogate import capability_of, predict

# Slacks are clipped at this multiple of their median distance from 0. Beyond it, only
# the sign is relevant.
MAX_RATIO = 6.0


class Feasibility(LogTerm):
    """Logarithm of the probability that all constraints are satisfied.

    The `models` are fitted surrogates of the negated slacks, one for each constraint.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.acquisition.feasibility import Feasibility
    >>> from skbayes.surrogates import GaussianProcess
    >>> X, slacks = np.array([[0.0], [0.5], [1.0]]), np.array([-1.0, 0.0, 1.0])
    >>> term = Feasibility([GaussianProcess(n_samples=0).fit(X, -slacks)])
    >>> np.exp(term.value(X)).round(3)
    array([1. , 0.5, 0. ])
    """

    is_feasibility = True

    def __init__(self, models: Sequence[Any]) -> None:
        self.models = models
        self.has_gradients = all(
            capability_of(model, "has_gradients") for model in models
        )
        # P(f > 0) of the negated slacks.
        self._probability = ProbabilityOfImprovement()

    def value(self, X: FloatArray) -> FloatArray:  # noqa: D102
        return in_blocks(
            lambda block: sum(self._log_probabilities(block), np.zeros(len(block))), X
        )

    def gradient(self, X: FloatArray) -> FloatArray:  # noqa: D102
        total = np.zeros(X.shape)
        for model in self.models:
            mean, sd, *slopes = predict(model, X, True)
            utility = self._probability(mean, sd, 0.0)
            _, shares = self._probability.average(utility)
            total += slope_of_average(shares, utility[1:], slopes)
        return total

    def expects_feasible(self, X: FloatArray) -> np.ndarray:
        """Return a mask of the configurations (m, D) expected to be feasible."""
        return np.all([p >= log_ndtr(0.0) for p in self._log_probabilities(X)], axis=0)

    def _log_probabilities(self, X: FloatArray) -> Iterator[FloatArray]:
        """Yield the log probability (m,) of each constraint."""
        for model in self.models:
            mean, sd = predict(model, X, False)
            utility = self._probability(mean, sd, 0.0)
            yield self._probability.average(utility)[0]


class _ConstantProposer(Proposer):
    """Proposer with equal scores for all configurations; only the terms matter."""

    has_gradients = True

    def fit(self, observations: Any) -> _ConstantProposer:
        return self

    def _evaluate(self, X: FloatArray, gradient: bool) -> tuple[FloatArray, Any]:
        return np.zeros(len(X)), np.zeros(X.shape) if gradient else None


def fit_feasibility(
    models: Sequence[Any], observations: Observations
) -> Feasibility | None:
    """Fit a model to the slacks of each constraint; None if no slack is known."""
    assert observations.slacks is not None
    fitted = []
    for model, slacks in zip(models, observations.slacks.T, strict=True):
        rows = ~np.isnan(slacks)
        if np.any(rows):
            y = -slacks[rows]
            distances = np.abs(y)
            finite = distances[(distances > 0.0) & np.isfinite(distances)]
            largest = MAX_RATIO * np.median(finite) if len(finite) else 1.0
            y = np.clip(y, -largest, largest)
            data = Observations(
                observations.X[rows], y, np.zeros(len(y)), observations.pending
            )
            fitted.append(fit_surrogate(model, data))
    return Feasibility(fitted) if fitted else None


def fit_constrained(
    proposer: Proposer, models: Sequence[Any], observations: Observations
) -> tuple[Proposer, Observations]:
    """Fit a proposer, with its acquisition multiplied by the feasibility probability.

    As long as no configuration is feasible, only this probability is maximized.
    Constraints without measured values are ignored. The returned observations include a
    mask of the pending configurations that are expected to satisfy the constraints.
    """
    feasibility, slacks = fit_feasibility(models, observations), observations.slacks
    if feasibility is None or slacks is None:
        observations = dataclasses.replace(observations, slacks=None)
        return proposer.fit(observations), observations
    observations = dataclasses.replace(
        observations,
        slacks=slacks[:, ~np.all(np.isnan(slacks), axis=0)],
        pending_feasible=feasibility.expects_feasible(observations.pending),
    )
    fitted: Proposer = _ConstantProposer()
    if isinstance(proposer, SamplingProposer):
        ordered = dataclasses.replace(observations, scores=feasible_first(observations))
        fitted = proposer.fit(ordered)
    elif np.any(observations.is_rival):
        fitted = proposer.fit(observations)
    return fitted.with_terms([feasibility]), observations


def feasible_first(observations: Observations) -> FloatArray:
    """Return scores (n,) with infeasible configurations below all feasible ones.

    Infeasible configurations are ordered by their violation. Failures stay NaN. Scores
    of several objectives are returned unchanged.
    """
    scores, violation = observations.scores, observations.violation
    if scores.ndim > 1 or not np.any(np.isfinite(scores)):
        return scores
    finite = violation[np.isfinite(violation)]
    worst = 1.0 + float(np.max(finite, initial=0.0))
    below = np.nanmin(scores) - np.where(np.isfinite(violation), violation, worst)
    least = np.ptp(scores[np.isfinite(scores)]) * 1e-9 + 1e-12
    moved = np.where(violation > 0.0, below - least, scores)
    return np.where(np.isnan(scores), np.nan, moved)
