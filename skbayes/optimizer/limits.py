"""Limits per trial, learned from the trials that they ended.

Symbols (m candidates, D columns).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator

import numpy as np

from skbayes.acquisition.cost import CostTerm, LimitTerm
from skbayes.acquisition.terms import LogTerm, sum_values
from skbayes.optimizer.bounded_process import fit_bounded, noise_variance
from skbayes.optimizer.cost_model import MIN_COSTS, CostModel
from skbayes.optimizer.validation import check_cost_limit
from skbayes.space.candidates import Candidates, SpaceExhausted
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates import GaussianProcess

__all__ = ["MIN_PROBABILITY", "CostLimits", "EndedTrials", "TrialLimits"]

# A trial that is less likely than this to end by itself is not begun.
MIN_PROBABILITY = 0.05

# Batches of random configurations among which one is looked for that is likely enough.
N_BATCHES = 8


class EndedTrials:
    """Probability that a trial is not ended at a limit whose measure is not told.

    A latent Gaussian process with probit likelihoods: it is positive where trials were
    ended, such as for their memory, and negative where they were not.
    """

    def __init__(self, n_options: list[int]) -> None:
        self.n_options = n_options
        self._rows: list[FloatArray] = []
        self._ended: list[bool] = []
        self._term: LimitTerm | None = None

    def add(self, row: FloatArray, ended: bool) -> None:
        """Learn whether a trial was ended."""
        self._rows.append(row)
        self._ended.append(ended)
        self._term = None

    def term(self) -> LimitTerm | None:
        """Return the logarithm of the probability; None if no trial was ended."""
        if not any(self._ended) or len(self._ended) < MIN_COSTS:
            return None
        if self._term is None:
            self._term = self._fit()
        return self._term

    def _fit(self) -> LimitTerm:
        X, sides = np.array(self._rows), np.where(self._ended, 1.0, -1.0)
        learner = GaussianProcess(
            n_options=self.n_options, n_samples=0, winsorize_scores=False
        ).fit(X, sides)
        process = fit_bounded(learner, X, np.zeros(len(X)), sides)
        return LimitTerm(process, noise_variance(learner), 0.0)


class TrialLimits:
    """What a limit per trial and the price of trials add to the acquisition function.

    Parameters
    ----------
    costs : CostModel
        Model of the costs of trials.
    ended : EndedTrials
        Model of the trials that were ended for something else.

    Attributes
    ----------
    limit : float or None
        Cost at which a trial is ended.
    budget : float or None
        Cost that all trials together may have; the price counts in proportion to the
        share of it that is left. None: it always counts in full.
    """

    def __init__(self, costs: CostModel, ended: EndedTrials) -> None:
        self._costs, self._ended = costs, ended
        self.limit: float | None = None
        self.budget: float | None = None

    @contextlib.contextmanager
    def at_most(self, cost: float | None) -> Iterator[None]:
        """Lower the limit for a while; None: leave it."""
        limit = self.limit
        if cost is not None:
            self.limit = cost if limit is None else min(cost, limit)
        try:
            yield
        finally:
            self.limit = limit

    def terms(self, per_cost: bool) -> list[LogTerm]:
        """Return the terms of the next proposal, with `per_cost` that of the price."""
        terms = self._of_limits()
        alpha = self._alpha() if per_cost else 0.0
        process = self._costs.process() if alpha > 0.0 else None
        if process is not None:
            terms.append(CostTerm(process, alpha))
        return terms

    def _alpha(self) -> float:
        """Share of the budget that is left (Lee et al. 2020, section 4)."""
        if self.budget is None:
            return 1.0
        return max(0.0, 1.0 - self._costs.total / self.budget)

    def _of_limits(self) -> list[LogTerm]:
        terms: list[LogTerm] = []
        process = None if self.limit is None else self._costs.process()
        if process is not None and self.limit is not None:
            noise = noise_variance(process)
            terms.append(LimitTerm(process, noise, math.log(self.limit)))
        if (memory := self._ended.term()) is not None:
            terms.append(memory)
        return terms

    def filter(self) -> Callable[[FloatArray], FloatArray] | None:
        """Return what leaves out rows (m, D) that are surely ended; None: nothing."""
        terms = self._of_limits()
        if not terms:
            return None
        return lambda X: X[sum_values(terms, X) >= math.log(MIN_PROBABILITY)]

    def first(
        self, X: FloatArray, candidates: Candidates, rng: np.random.Generator
    ) -> FloatArray:
        """Return the first of ranked rows (m, D), m >= 0, that is not surely ended.

        If all of them are, or there are none, another one is drawn. SpaceExhausted is
        raised if a space that is enumerated has no other; elsewhere one is drawn that
        is.
        """
        keep = self.filter()
        if keep is None:
            return X[0] if len(X) else candidates.draw(rng)[0]
        if len(likely := keep(X)):
            return likely[0]
        if candidates.is_enumerated:
            unseen = rng.permutation(candidates.unseen())
            if not len(likely := keep(unseen)):
                raise SpaceExhausted(
                    f"Each of the {len(unseen)} remaining configurations has a "
                    f"probability below {MIN_PROBABILITY} of ending before the limit "
                    "of a trial."
                )
            return candidates.allowed_first(likely)[0]
        for _ in range(N_BATCHES):
            drawn = candidates.draw(rng)
            if len(likely := keep(drawn)):
                return likely[0]
        return drawn[0]


class CostLimits:
    """What an optimizer lets be set about the costs of trials."""

    _limits: TrialLimits

    def limit_costs(self, limit: float | None, budget: float | None) -> None:
        """Set :attr:`cost_limit` and :attr:`cost_budget`."""
        self.cost_limit, self.cost_budget = limit, budget

    @property
    def cost_limit(self) -> float | None:
        """Cost at which a trial is ended, in units of the costs told; None: none.

        A Gaussian process of the costs told predicts the probability that a trial ends
        before this limit. Censored costs are lower bounds. The acquisition function is
        multiplied by this probability. Configurations for which it is below 0.05 are
        not proposed, unless no other one is found in an infinite space. Surrogates that
        need no scores, such as "random", ignore it. Finite and > 0, else ValueError.
        """
        return self._limits.limit

    @cost_limit.setter
    def cost_limit(self, limit: float | None) -> None:
        self._limits.limit = check_cost_limit("cost_limit", limit)

    @property
    def cost_budget(self) -> float | None:
        """Total cost of all trials, for "ei-per-second"; None: unknown.

        In units of the costs told. The expected improvement is divided by the expected
        cost to the power of the share of the budget that is left (cost cooling, Lee et
        al. 2020); without a budget, by the expected cost. Finite and > 0, else
        ValueError.
        """
        return self._limits.budget

    @cost_budget.setter
    def cost_budget(self, budget: float | None) -> None:
        self._limits.budget = check_cost_limit("cost_budget", budget)
