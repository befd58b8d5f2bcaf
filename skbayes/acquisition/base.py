"""Observations, and the proposers that rank configurations with them.

Symbols (n observations, also those of earlier searches, p pending configurations, m
candidates, D columns, S samples of a surrogate's hyper-parameters): arrays of
configurations are encoded, of shape (..., D), NaN where inactive.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from skbayes.acquisition.fronts import crowded_order_keys
from skbayes.acquisition.improvement import Acquisition, ExpectedImprovement
from skbayes.acquisition.maximize import maximize_over, maximize_search
from skbayes.acquisition.terms import (
    LogTerm,
    draw_candidates,
    sum_gradients,
    sum_values,
)
from skbayes.space.candidates import Candidates
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.base import capability_of, known_means
from skbayes.utils.ranking import best_first, total_violation

__all__ = [
    "ModelProposer",
    "Observations",
    "Proposer",
    "SamplingProposer",
    "fit_surrogate",
]

# Number of candidates that are scored at a time. Covariances then stay in the
# processor's cache, and need little memory if 20,000 configurations are scored.
BLOCK = 320

# Number of the best configurations near which more candidates are drawn.
N_INCUMBENTS = 5


@dataclass(frozen=True)
class Observations:
    """Observations and pending configurations, on which a proposal depends.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Configurations of earlier searches, followed by those of this search, in order.
    scores : ndarray of shape (n,) or (n, d)
        Scores of the configurations, NaN for failures. With several objectives, one
        column for each.
    noise : ndarray of shape (n,) or (n, d)
        Known variances of the scores.
    pending : ndarray of shape (p, D)
        Configurations that were proposed and not observed yet.
    slacks : ndarray of shape (n, c) or None, default=None
        Values of the constraints on outcomes: <= 0 if satisfied, NaN if unknown. None
        means that there are no constraints.
    pending_kept : ndarray of shape (p,), bool, or None, default=None
        Mask of the pending configurations that are expected to satisfy the constraints.
        By default, all.
    """

    X: FloatArray
    scores: FloatArray
    noise: FloatArray
    pending: FloatArray
    slacks: FloatArray | None = field(default=None, kw_only=True)
    pending_kept: np.ndarray | None = field(default=None, kw_only=True)

    @property
    def y(self) -> FloatArray:
        """Scores, with failures replaced by the worst; at least one must be finite."""
        worst = np.nanmin(self.scores, axis=0)
        return np.where(np.isnan(self.scores), worst, self.scores)

    @property
    def incumbents(self) -> FloatArray:
        """Configurations with the best scores, best first; empty without scores."""
        if np.any(np.all(np.isnan(self.scores), axis=0)):
            return self.X[:0]
        y = self.y
        keys = y if y.ndim == 1 else crowded_order_keys(y)
        return self.X[best_first(keys, self.violation)[:N_INCUMBENTS]]

    @property
    def violation(self) -> FloatArray:
        """Violation of the constraints by each configuration, (n,): 0 if satisfied."""
        if self.slacks is None:
            return np.zeros(len(self.X))
        return total_violation(self.slacks)

    @property
    def kept(self) -> np.ndarray:
        """Mask (n,) of the configurations that satisfy the constraints."""
        return self.violation == 0.0

    @property
    def known(self) -> FloatArray:
        """All observed and pending configurations, (n + p, D)."""
        return np.vstack([self.X, self.pending])

    @property
    def is_rival(self) -> np.ndarray:
        """Mask (n + p,) of the known configurations that satisfy the constraints.

        These are the configurations to improve on.
        """
        pending = self.pending_kept
        if pending is None:
            pending = np.ones(len(self.pending), dtype=bool)
        return np.concatenate([self.kept, pending])


class Proposer(ABC):
    """Base class of proposers, which rank configurations.

    Attributes
    ----------
    needs_scores : bool
        Whether it requires at least one score.
    n_initial_points : int or None
        Number of known configurations before it makes proposals. By default, it depends
        on the space.
    has_gradients : bool
        Whether :meth:`scores_and_gradient` can be called.
    surrogate : object
        Fitted surrogate; None if there is none.
    terms : sequence of LogTerm
        Terms that are added to the logarithm of the acquisition function.
    term_unit : float
        Scale of the terms relative to the scores: 1 if scores are logarithms.
    """

    needs_scores = True
    n_initial_points: int | None = None
    has_gradients = False
    surrogate: Any = None
    terms: Sequence[LogTerm] = ()
    term_unit: float = 1.0

    @abstractmethod
    def fit(self, observations: Any) -> Proposer:
        """Return a proposer fitted to observations; this one is unchanged."""

    def with_terms(self, terms: Sequence[LogTerm]) -> Self:
        """Return a copy with other terms."""
        if not terms:
            return self
        changed = copy.copy(self)
        changed.terms = tuple(terms)
        all_have = all(term.has_gradients for term in terms)
        changed.has_gradients = self.has_gradients and all_have
        return changed

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the scores (m,) of candidates (m, D); greater is better."""
        blocks = [X[i : i + BLOCK] for i in range(0, max(len(X), 1), BLOCK)]
        scores = np.concatenate([self._evaluate(block, False)[0] for block in blocks])
        if self.terms:
            scores = scores + self.term_unit * sum_values(self.terms, X)
        return scores

    def scores_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the scores (m,) and their gradients (m, D)."""
        scores, gradient = self._evaluate(X, True)
        if self.terms:
            scores = scores + self.term_unit * sum_values(self.terms, X)
            gradient = gradient + self.term_unit * sum_gradients(self.terms, X)
        return scores, gradient

    def _evaluate(self, X: FloatArray, gradient: bool) -> tuple[FloatArray, Any]:
        """Return the scores (m,), and with `gradient` their derivatives."""
        raise NotImplementedError

    def rank(
        self,
        candidates: Candidates,
        incumbents: FloatArray,
        random_state: np.random.Generator,
    ) -> FloatArray:
        """Return new and allowed configurations (m, D), m >= 0, best first.

        `incumbents` (k, D) are the best configurations so far, best first.
        SpaceExhausted is raised if no new configuration is left.
        """
        if candidates.is_enumerated:
            return candidates.allowed_first(maximize_over(self, candidates.unseen()))
        space = candidates.space
        more = draw_candidates(self.terms, space.n_columns, random_state)
        return maximize_search(
            self, space, incumbents, candidates.filter_new, random_state, more
        )

    def expected_improvement(self, row: FloatArray) -> float | None:
        """Return the expected improvement of one configuration on the best score.

        It is in units of the score, >= 0, or None if it cannot be computed.
        """
        return None


def fit_surrogate(
    model: Any, observations: Observations, y: FloatArray | None = None
) -> Any:
    """Fit a surrogate to scores `y`, by default the observed ones.

    The surrogate that is returned is conditioned on pending configurations.
    """
    # Surrogates without support for noise are accepted if there is none.
    noise = {"noise": observations.noise} if np.any(observations.noise) else {}
    surrogate = model.fit(observations.X, observations.y if y is None else y, **noise)
    if len(observations.pending):
        surrogate = surrogate.condition(observations.pending)
    return surrogate


def predict(surrogate: Any, X: FloatArray, gradient: bool) -> tuple[FloatArray, ...]:
    """Predict with or without derivatives, for which some have no argument."""
    return surrogate.predict(X, gradient=True) if gradient else surrogate.predict(X)


class ModelProposer(Proposer):
    """Proposer with an acquisition function of a surrogate's predictions.

    Attributes
    ----------
    best_f : ndarray of shape (S, 1)
        Score to improve on.
    """

    best_f: FloatArray

    def __init__(self, model: Any, acquisition: Acquisition) -> None:
        self.model = model
        self.acquisition = acquisition
        self.has_gradients = capability_of(model, "has_gradients")
        self.needs_scores = capability_of(model, "needs_scores")
        self.n_initial_points = capability_of(model, "n_initial_points")

    def fit(self, observations: Observations) -> ModelProposer:  # noqa: D102
        fitted = copy.copy(self)
        fitted.surrogate = fit_surrogate(self.model, observations)
        # The best score is biased if scores are noisy, for example with few folds. The
        # best predicted mean is less biased. Pending configurations count as observed;
        # otherwise, all proposals would be near the same configuration.
        believed = known_means(fitted.surrogate, observations.known)
        believed = believed[:, observations.is_rival]
        fitted.best_f = np.max(believed, axis=1, keepdims=True)
        if not self.acquisition.is_log:
            fitted.term_unit = float(np.std(observations.y)) or 1.0
        return fitted

    def _evaluate(self, X: FloatArray, gradient: bool) -> tuple[FloatArray, Any]:
        mean, sd, *slopes = predict(self.surrogate, X, gradient)
        utility = self.acquisition(mean, sd, self.best_f)
        value, shares = self.acquisition.average(utility)
        if not gradient:
            return value, None
        by_position = utility.by_mean[..., None] * slopes[0]
        by_position += utility.by_sd[..., None] * slopes[1]
        return value, np.einsum("sm,smd->md", shares, by_position)

    def expected_improvement(self, row: FloatArray) -> float:
        """Return E max(f - best_f, 0), for any acquisition function."""
        improvement = ExpectedImprovement()
        mean, sd = self.surrogate.predict(row[None, :])
        value, _ = improvement.average(improvement(mean, sd, self.best_f))
        return float(np.exp(value[0]))


class SamplingProposer(Proposer):
    """Proposer of the candidates that a sampler draws."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler
        self.needs_scores = capability_of(sampler, "needs_scores")
        self.n_initial_points = capability_of(sampler, "n_initial_points")

    def fit(self, observations: Observations) -> SamplingProposer:  # noqa: D102
        sampler = self.sampler.fit(observations.X, observations.scores)
        if len(observations.pending):
            sampler = sampler.condition(observations.pending)
        return SamplingProposer(sampler)

    def rank(
        self,
        candidates: Candidates,
        incumbents: FloatArray,
        random_state: np.random.Generator,
    ) -> FloatArray:
        """Return the candidates of the sampler, ranked by its scores and the terms.

        Without scores, as in random search, candidates are drawn with probabilities
        proportional to the exponentials of the terms (Gumbel's trick).
        """
        X = self.sampler.draw(candidates, random_state)
        if not self.terms:
            return X
        if self.needs_scores and hasattr(self.sampler, "scores"):
            if not candidates.is_enumerated:
                n_columns = candidates.space.n_columns
                more = draw_candidates(self.terms, n_columns, random_state)
                X = np.vstack([X, candidates.first_new(more)])
            scores = self.sampler.scores(X)
        else:
            scores = random_state.gumbel(size=len(X))
        scores = scores + sum_values(self.terms, X)
        return X[np.argsort(-scores, kind="stable")]
