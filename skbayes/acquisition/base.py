"""Observations, and the proposers that rank configurations by them.

Symbols (n scores told or learned, p configurations pending, m candidates, D columns, S
samples of a surrogate's hyper-parameters): every array of configurations is encoded,
of shape (..., D), NaN where inactive.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from skbayes.acquisition.fronts import best_first
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
from skbayes.surrogates.base import known_means
from skbayes.surrogates.registry import capability

__all__ = [
    "ModelProposer",
    "Observations",
    "Proposer",
    "SamplingProposer",
    "fit_surrogate",
]

# Candidates are scored so many at a time: covariances then stay in the processor's
# cache, and do not fill the memory when 20,000 configurations are scored.
BLOCK = 320

# The best configurations so far around which the acquisition is searched closely.
N_INCUMBENTS = 5


@dataclass(frozen=True)
class Observations:
    """All that a proposal may depend on, besides the seed and the parameters.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Configurations learned from earlier searches, then those told, in order.
    scores : ndarray of shape (n,) or (n, d)
        Their scores, NaN for failures; with several objectives a column for each.
    noise : ndarray of shape (n,) or (n, d)
        Known variances of the scores.
    pending : ndarray of shape (p, D)
        Configurations asked for and not told yet.
    slacks : ndarray of shape (n, c) or None, default=None
        Values of the constraints on outcomes, <= 0 where they are kept, NaN where they
        are unknown; None if there are no constraints.
    pending_kept : ndarray of shape (p,), bool, or None, default=None
        Which pending configurations are expected to keep the constraints; None: all.
    """

    X: FloatArray
    scores: FloatArray
    noise: FloatArray
    pending: FloatArray
    slacks: FloatArray | None = field(default=None, kw_only=True)
    pending_kept: np.ndarray | None = field(default=None, kw_only=True)

    @property
    def y(self) -> FloatArray:
        """The scores, with failures taken for the worst; one must not have failed."""
        worst = np.nanmin(self.scores, axis=0)
        return np.where(np.isnan(self.scores), worst, self.scores)

    @property
    def incumbents(self) -> FloatArray:
        """The configurations with the best scores, best first; none without one."""
        if np.any(np.all(np.isnan(self.scores), axis=0)):
            return self.X[:0]
        y = self.y
        order = np.argsort(-y, kind="stable") if y.ndim == 1 else best_first(y)
        return self.X[self.kept_first(order)[:N_INCUMBENTS]]

    @property
    def violation(self) -> FloatArray:
        """By how much each violates the constraints, (n,): 0 if not, else > 0."""
        if self.slacks is None:
            return np.zeros(len(self.X))
        slacks = np.where(np.isnan(self.slacks), np.inf, self.slacks)
        return np.sum(np.maximum(slacks, 0.0), axis=1)

    @property
    def kept(self) -> np.ndarray:
        """Which keep the constraints, a boolean array of (n,)."""
        return self.violation == 0.0

    @property
    def known(self) -> FloatArray:
        """All configurations that were told, learned or asked for, (n + p, D)."""
        return np.vstack([self.X, self.pending])

    @property
    def is_rival(self) -> np.ndarray:
        """Which of those are to be improved on: they keep the constraints, (n + p,)."""
        pending = self.pending_kept
        if pending is None:
            pending = np.ones(len(self.pending), dtype=bool)
        return np.concatenate([self.kept, pending])

    def kept_first(self, order: np.ndarray) -> np.ndarray:
        """Move to the front what violates the constraints least."""
        if self.slacks is None:
            return order
        return order[np.argsort(self.violation[order], kind="stable")]


class Proposer(ABC):
    """Ranks configurations by what is known.

    Attributes
    ----------
    needs_scores : bool
        Whether it can do nothing before one score is known.
    n_initial_points : int or None
        Number of configurations known before it decides; None: by the space.
    has_gradients : bool
        Whether :meth:`scores_and_gradient` can be called.
    surrogate : object
        The fitted model of the score; None if there is none.
    terms : sequence of LogTerm
        What is added to the logarithm of the acquisition function.
    term_unit : float
        What a term of 1 is worth: 1 where scores are logarithms.
    """

    needs_scores = True
    n_initial_points: int | None = None
    has_gradients = False
    surrogate: Any = None
    terms: Sequence[LogTerm] = ()
    term_unit: float = 1.0

    @abstractmethod
    def fit(self, observations: Any) -> Proposer:
        """Return a proposer that knows the observations; this one is unchanged."""

    def with_terms(self, terms: Sequence[LogTerm]) -> Self:
        """Return a proposer of the same knowledge with other terms."""
        if not terms:
            return self
        changed = copy.copy(self)
        changed.terms = tuple(terms)
        all_have = all(term.has_gradients for term in terms)
        changed.has_gradients = self.has_gradients and all_have
        return changed

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the worth (m,) of candidates (m, D); greater is better."""
        blocks = [X[i : i + BLOCK] for i in range(0, max(len(X), 1), BLOCK)]
        scores = np.concatenate([self._evaluate(block, False)[0] for block in blocks])
        if self.terms:
            scores = scores + self.term_unit * sum_values(self.terms, X)
        return scores

    def scores_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return scores (m,), and their derivatives by the positions (m, D)."""
        scores, gradient = self._evaluate(X, True)
        if self.terms:
            scores = scores + self.term_unit * sum_values(self.terms, X)
            gradient = gradient + self.term_unit * sum_gradients(self.terms, X)
        return scores, gradient

    def _evaluate(self, X: FloatArray, gradient: bool) -> tuple[FloatArray, Any]:
        """Return scores (m,), and with `gradient` their derivatives."""
        raise NotImplementedError

    def rank(
        self,
        candidates: Candidates,
        incumbents: FloatArray,
        random_state: np.random.Generator,
    ) -> FloatArray:
        """Return new and allowed configurations (m, D), best first; maybe none.

        `incumbents` (k, D) are the best configurations so far, best first.
        SpaceExhausted is raised if none is left.
        """
        if candidates.is_enumerated:
            return candidates.allowed_first(maximize_over(self, candidates.unseen()))
        space = candidates.space
        more = draw_candidates(self.terms, space.n_columns, random_state)
        return maximize_search(
            self, space, incumbents, candidates.filter_new, random_state, more
        )

    def expected_improvement(self, row: FloatArray) -> float | None:
        """Return the improvement on the best score expected of one configuration.

        In units of the score, >= 0; None if that cannot be said.
        """
        return None


def fit_surrogate(
    model: Any, observations: Observations, y: FloatArray | None = None
) -> Any:
    """Fit a surrogate to scores `y` (by default those observed), and condition it.

    The surrogate that is returned knows what is pending.
    """
    # A surrogate need not know of noise unless there is some.
    noise = {"noise": observations.noise} if np.any(observations.noise) else {}
    surrogate = model.fit(observations.X, observations.y if y is None else y, **noise)
    if len(observations.pending):
        surrogate = surrogate.condition(observations.pending)
    return surrogate


def predict(surrogate: Any, X: FloatArray, gradient: bool) -> tuple[FloatArray, ...]:
    """Predict with derivatives, or without, which some surrogates cannot be told."""
    return surrogate.predict(X, gradient=True) if gradient else surrogate.predict(X)


class ModelProposer(Proposer):
    """Scores candidates by an acquisition function of a surrogate's predictions.

    Parameters
    ----------
    model : object
        The surrogate, not fitted.
    acquisition : Acquisition
        Utility of a prediction.

    Attributes
    ----------
    best_f : ndarray of shape (S, 1)
        Score to improve on.
    """

    best_f: FloatArray

    def __init__(self, model: Any, acquisition: Acquisition) -> None:
        self.model = model
        self.acquisition = acquisition
        self.has_gradients = capability(model, "has_gradients")
        self.needs_scores = capability(model, "needs_scores")
        self.n_initial_points = capability(model, "n_initial_points")

    def fit(self, observations: Observations) -> ModelProposer:  # noqa: D102
        fitted = copy.copy(self)
        fitted.surrogate = fit_surrogate(self.model, observations)
        # The best score is partly luck where scores are noisy, as those of a few folds
        # are; the best of what the model makes of the scores is not. What is pending
        # counts as if it were told, or all would be asked for around the same place.
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
        """Return E max(f - best_f, 0), whatever the acquisition."""
        improvement = ExpectedImprovement()
        mean, sd = self.surrogate.predict(row[None, :])
        value, _ = improvement.average(improvement(mean, sd, self.best_f))
        return float(np.exp(value[0]))


class SamplingProposer(Proposer):
    """Leaves it to a sampler to draw candidates, best first."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler
        self.needs_scores = capability(sampler, "needs_scores")
        self.n_initial_points = capability(sampler, "n_initial_points")

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
        """Return what the sampler draws, ranked by its scores and the terms.

        What has no scores, such as random search, is drawn in proportion to the factors
        whose logarithms the terms are (Gumbel's trick).
        """
        X = self.sampler.draw(candidates, random_state)
        if not self.terms:
            return X
        if self.needs_scores and hasattr(self.sampler, "scores"):
            if not candidates.is_enumerated:
                n_columns = candidates.space.n_columns
                more = draw_candidates(self.terms, n_columns, random_state)
                X = np.vstack([X, candidates.first_new(more)])
            worth = self.sampler.scores(X)
        else:
            worth = random_state.gumbel(size=len(X))
        worth = worth + sum_values(self.terms, X)
        return X[np.argsort(-worth, kind="stable")]
