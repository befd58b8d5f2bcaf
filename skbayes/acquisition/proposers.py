"""Proposers that rank configurations, and the maximization of their scores.

Symbols (m candidates, D columns, S samples of a surrogate's hyper-parameters): arrays
of configurations are encoded, of shape (..., D), NaN where inactive.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import optimize

from skbayes.acquisition.improvement import (
    Acquisition,
    ExpectedImprovement,
    slope_of_average,
)
from skbayes.acquisition.observations import Observations, fit_to_all, rows_for
from skbayes.acquisition.terms import (
    LogTerm,
    draw_candidates,
    sum_gradients,
    sum_values,
)
from skbayes.space.candidates import (
    MAX_CHECKED_FIRST,
    MAX_GRID,
    Candidates,
    order_to_check,
    perturb,
    sobol,
)
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.surrogate import (
    capability_of,
    known_means,
    predict,
    standardize,
)

# Number of candidates that are scored at a time. Covariances then stay in the
# processor's cache, and need little memory if 20,000 configurations are scored.
BLOCK = 320

# Binary logarithm of the number of candidates of a scrambled Sobol sequence.
LOG2_N_SOBOL = 9

# Number of perturbed copies of each incumbent, and standard deviations of the
# perturbation.
N_PERTURBED = 16
PERTURBATIONS = (0.1, 0.02)

# Number of starting points of the local refinement.
N_STARTS = 3

# Number of rounds of gradient ascent followed by steps to neighbors.
N_ROUNDS = 2
MAX_ASCENT_STEPS = 10

# Ordered columns with more than FEW_VALUES values are refined by gradient ascent, and
# columns with at most MAX_GRID values by steps to adjacent values. Many columns are
# refined by both.
FEW_VALUES = 12

# Maximum number of neighbors of a row that are checked by a constraint, which may be
# slow.
MAX_CHECKED_NEIGHBORS = 8

# Maximum number of other options of an unordered column that are tried in a round.
MAX_OPTIONS = 8


def in_blocks(
    function: Callable[[FloatArray], FloatArray], X: FloatArray
) -> FloatArray:
    """Apply a function to blocks of candidates (m, D), and join the results (m,)."""
    starts = range(0, max(len(X), 1), BLOCK)
    return np.concatenate([function(X[i : i + BLOCK]) for i in starts])


# -- proposers ------------------------------------------------------------------------


class Proposer(ABC):
    """Base class of proposers, which rank configurations."""

    # Whether it requires at least one score.
    needs_scores = True
    # Number of observed and pending configurations before it makes proposals; None
    # depends on the space.
    n_initial_points: int | None = None
    # Whether `scores_and_gradient` can be called.
    has_gradients = False
    # Fitted surrogate, if there is one.
    surrogate: Any = None
    # Terms that are added to the logarithm of the acquisition function, and their scale
    # relative to the scores, which is 1 if scores are logarithms.
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
        scores = in_blocks(lambda block: self._evaluate(block, False)[0], X)
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
            X = candidates.unseen()
            X = X[np.argsort(-self.scores(X), kind="stable")]
            return candidates.allowed_first(X)
        return _Maximization(self, candidates, random_state).ranked(incumbents)

    def expected_improvement(self, row: FloatArray) -> float | None:
        """Return the expected improvement of one configuration on the best score.

        It is in units of the score, >= 0, or None if it cannot be computed.
        """
        return None


class ModelProposer(Proposer):
    """Proposer with an acquisition function of a surrogate's predictions.

    `best_f` (S, 1) is the score to improve on.
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
        # Observations that are left out are probably not the best, and predictions for
        # them take time.
        rows = rows_for(self.model, observations, observations.y)
        observations = observations.part(rows)
        fitted.surrogate = fit_to_all(self.model, observations, observations.y)
        # The best score is biased if scores are noisy, for example with few folds. The
        # best predicted mean is less biased. Pending configurations count as observed;
        # otherwise, all proposals would be near the same configuration.
        believed = known_means(fitted.surrogate, observations.configurations)
        believed = believed[:, observations.is_rival]
        fitted.best_f = np.max(believed, axis=1, keepdims=True)
        if not self.acquisition.is_log:
            _, _, fitted.term_unit = standardize(observations.y)
        return fitted

    def _evaluate(self, X: FloatArray, gradient: bool) -> tuple[FloatArray, Any]:
        mean, sd, *slopes = predict(self.surrogate, X, gradient)
        utility = self.acquisition(mean, sd, self.best_f)
        value, shares = self.acquisition.average(utility)
        if not gradient:
            return value, None
        return value, slope_of_average(shares, utility[1:], slopes)

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
                from_terms = draw_candidates(self.terms, n_columns, random_state)
                X = np.vstack([X, candidates.first_new(from_terms)])
            scores = self.sampler.scores(X)
        else:
            scores = random_state.gumbel(size=len(X))
        scores = scores + sum_values(self.terms, X)
        return X[np.argsort(-scores, kind="stable")]


# -- maximization ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Maximization:
    """Search for the best candidates of a space that is not enumerated.

    The candidates are points of a Sobol sequence, perturbed incumbents, and those that
    the terms draw. The best candidates and the best incumbent are refined. Ordered
    columns with many values are refined by gradient ascent, if there are gradients.
    Columns with at most 1,000 values are refined by steps to neighboring values. With a
    constraint, only the best candidates are checked and returned.
    """

    proposer: Proposer
    candidates: Candidates
    random_state: np.random.Generator

    def ranked(self, incumbents: FloatArray) -> FloatArray:
        """Return new and allowed configurations (m, D), best first."""
        space, rng = self.candidates.space, self.random_state
        from_terms = draw_candidates(self.proposer.terms, space.n_columns, rng)
        drawn = space.from_uniform(sobol(space.n_columns, LOG2_N_SOBOL, rng))
        copies = np.repeat(incumbents, N_PERTURBED, axis=0)
        X = np.vstack([drawn, perturb(space, copies, PERTURBATIONS, rng), from_terms])
        if space.constraint is None:
            X = X[self.candidates.filter_new(X)]
        if not len(X):
            return X
        values = self.proposer.scores(X)
        best = np.argsort(-values, kind="stable")
        if space.constraint is not None:
            best = best[self._first_allowed(X[best])]
            X, values, best = X[best], values[best], np.arange(len(best))
        refined = self._refined(np.vstack([X[best[:N_STARTS]], incumbents[:1]]))
        X = np.vstack([X, refined])
        values = np.concatenate([values, self.proposer.scores(refined)])
        return X[np.argsort(-values, kind="stable")]

    def _first_allowed(self, X: FloatArray) -> list[int]:
        """Return the indices of at most `N_STARTS` new and allowed rows.

        After the first one, only a few rows are checked, because a constraint may be
        slow.
        """
        rows: list[int] = []
        for n_checked, row in enumerate(order_to_check(len(X))):
            if len(rows) == N_STARTS or (rows and n_checked >= MAX_CHECKED_FIRST):
                break
            if self.candidates.filter_new(X[[row]])[0]:
                rows.append(row)
        return rows

    def _refined(self, X: FloatArray) -> FloatArray:
        """Improve each row; return the results that are new and allowed."""
        space = self.candidates.space
        counts = np.array([column.dimension.n_values for column in space.columns])
        smooth = (counts > FEW_VALUES) & ~space.categorical
        stepped = np.flatnonzero((counts <= MAX_GRID) & (counts > 1))
        for _ in range(N_ROUNDS):
            if self.proposer.has_gradients and np.any(smooth):
                X = space.snap(self._ascend(X, smooth))
            if not len(stepped):
                break
            before, X = X, self._step(X, stepped)
            if np.array_equal(before, X, equal_nan=True):
                break
        return X[self.candidates.filter_new(X)]

    def _ascend(self, X: FloatArray, smooth: np.ndarray) -> FloatArray:
        """Maximize by gradient ascent in the smooth columns of all rows."""
        free = smooth & ~np.isnan(X)
        if not np.any(free):
            return X
        X = X.copy()

        def loss(positions: FloatArray) -> tuple[float, FloatArray]:
            X[free] = positions
            values, gradient = self.proposer.scores_and_gradient(X)
            return -float(np.sum(values)), -gradient[free]

        result = optimize.minimize(
            loss,
            X[free],
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * int(np.sum(free)),
            options={"maxiter": MAX_ASCENT_STEPS},
        )
        X[free] = result.x
        return X

    def _step(self, X: FloatArray, stepped: np.ndarray) -> FloatArray:
        """Move each row to its best neighbor if this is better."""
        space, filter_new = self.candidates.space, self.candidates.filter_new
        neighbors, origins = [X], [np.arange(len(X))]
        for row, origin in zip(X, origins[0], strict=True):
            for column in stepped[~np.isnan(row[stepped])]:
                positions = self._other_values(column, row[column])
                changed = np.repeat(row[None, :], len(positions), axis=0)
                changed[:, column] = positions
                neighbors.append(changed)
                origins.append(np.full(len(positions), origin))
        rows, origin_of = space.snap(np.vstack(neighbors)), np.concatenate(origins)
        if space.constraint is None:
            allowed = filter_new(rows)
            allowed[: len(X)] = True
            rows, origin_of = rows[allowed], origin_of[allowed]
        values = self.proposer.scores(rows)
        best = []
        for place in range(len(X)):
            places = np.flatnonzero(origin_of == place)
            ranked = places[np.argsort(-values[places], kind="stable")]
            if space.constraint is None:
                best.append(int(ranked[0]))
                continue
            # The ranked rows include the row itself.
            better = ranked[: np.flatnonzero(ranked == place)[0]]
            checked = better[:MAX_CHECKED_NEIGHBORS].tolist()
            candidates = (k for k in checked if filter_new(rows[[k]])[0])
            best.append(next(candidates, place))
        return rows[best]

    def _other_values(self, column: int, position: float) -> FloatArray:
        """Return the positions of the neighboring values of a column."""
        space = self.candidates.space
        grid = space.columns[column].dimension.grid
        current = int(np.argmin(np.abs(grid - position)))
        if not space.categorical[column]:
            adjacent = (current - 1, current + 1)
            return grid[[place for place in adjacent if 0 <= place < len(grid)]]
        positions = np.delete(grid, current)
        if len(positions) > MAX_OPTIONS:
            positions = self.random_state.choice(positions, MAX_OPTIONS, replace=False)
        return positions
