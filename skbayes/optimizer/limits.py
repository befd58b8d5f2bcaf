"""Limits per trial, with models learned from the trials that were aborted by them.

Symbols: m candidates, D columns.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator

import numpy as np

from skbayes.acquisition.terms import CostTerm, LimitTerm, LogTerm, sum_values
from skbayes.optimizer.bounded_process import fit_bounded, noise_variance
from skbayes.optimizer.cost_model import MIN_COSTS, CostModel
from skbayes.optimizer.validation import check_cost_limit
from skbayes.space.candidates import Candidates, SpaceExhausted
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates import GaussianProcess

__all__ = ["MIN_PROBABILITY", "AbortedTrials", "CostLimits", "LimitTerms"]

# A trial with a lower probability of ending before its limit is not started.
MIN_PROBABILITY = 0.05

# Number of batches of random configurations that are searched for a likely one.
N_BATCHES = 8


class AbortedTrials:
    """Probability that a trial is not aborted at a limit on an unobserved quantity.

    The model is a latent Gaussian process with probit likelihoods. It is positive where
    trials were aborted, for example at a memory limit, and negative elsewhere.
    """

    def __init__(self, n_options: list[int]) -> None:
        self.n_options = n_options
        self._rows: list[FloatArray] = []
        self._aborted: list[bool] = []
        self._term: LimitTerm | None = None

    def add(self, row: FloatArray, aborted: bool) -> None:
        """Add the outcome of a trial."""
        self._rows.append(row)
        self._aborted.append(aborted)
        self._term = None

    def term(self) -> LimitTerm | None:
        """Return the log probability; None if no trial was aborted or there are few."""
        if not any(self._aborted) or len(self._aborted) < MIN_COSTS:
            return None
        if self._term is None:
            self._term = self._fit()
        return self._term

    def _fit(self) -> LimitTerm:
        X, sides = np.array(self._rows), np.where(self._aborted, 1.0, -1.0)
        learner = GaussianProcess(
            n_options=self.n_options, n_samples=0, winsorize_scores=False
        ).fit(X, sides)
        process = fit_bounded(learner, X, np.zeros(len(X)), sides)
        return LimitTerm(process, noise_variance(learner), 0.0)


class LimitTerms:
    """Terms of the acquisition function for limits per trial and costs of trials.

    Parameters
    ----------
    costs : CostModel
        Model of the costs of trials.
    aborted : AbortedTrials
        Model of the trials that were aborted at other limits.

    Attributes
    ----------
    limit : float or None
        Cost at which a trial is aborted.
    budget : float or None
        Total cost of all trials. The exponent of the cost is the share of the budget
        that is left. If None, the exponent is always 1.
    """

    def __init__(self, costs: CostModel, aborted: AbortedTrials) -> None:
        self._costs, self._aborted = costs, aborted
        self.limit: float | None = None
        self.budget: float | None = None

    @contextlib.contextmanager
    def at_most(self, cost: float | None) -> Iterator[None]:
        """Lower the limit inside a ``with`` block, unless `cost` is None."""
        limit = self.limit
        if cost is not None:
            self.limit = cost if limit is None else min(cost, limit)
        try:
            yield
        finally:
            self.limit = limit

    def terms(self, per_cost: bool) -> list[LogTerm]:
        """Return the terms of the next proposal; `per_cost` adds the cost term."""
        terms = self._of_limits()
        alpha = self._alpha() if per_cost else 0.0
        process = self._costs.process() if alpha > 0.0 else None
        if process is not None:
            terms.append(CostTerm(process, alpha))
        return terms

    def _alpha(self) -> float:
        """Return the share of the budget that is left (Lee et al. 2020, section 4)."""
        if self.budget is None:
            return 1.0
        return max(0.0, 1.0 - self._costs.total / self.budget)

    def _of_limits(self) -> list[LogTerm]:
        terms: list[LogTerm] = []
        process = None if self.limit is None else self._costs.process()
        if process is not None and self.limit is not None:
            noise = noise_variance(process)
            terms.append(LimitTerm(process, noise, math.log(self.limit)))
        if (memory := self._aborted.term()) is not None:
            terms.append(memory)
        return terms

    def filter(self) -> Callable[[FloatArray], FloatArray] | None:
        """Return a filter that drops rows (m, D) that are probably aborted, or None."""
        terms = self._of_limits()
        if not terms:
            return None
        return lambda X: X[sum_values(terms, X) >= math.log(MIN_PROBABILITY)]

    def first(
        self, X: FloatArray, candidates: Candidates, rng: np.random.Generator
    ) -> FloatArray:
        """Return the first of ranked rows (m, D), m >= 0, that is not probably aborted.

        If there is none, another row is drawn. In an enumerated space, SpaceExhausted
        is raised if all rows are probably aborted. In other spaces, a row that is
        probably aborted is returned in this case.
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
    """Mixin with the settings of an optimizer for the costs of trials."""

    _limits: LimitTerms

    def limit_costs(self, limit: float | None, budget: float | None) -> None:
        """Set :attr:`cost_limit` and :attr:`cost_budget`.

        Parameters
        ----------
        limit : float or None
            Cost at which a trial is aborted. None means no limit.
        budget : float or None
            Total cost of all trials. None means that it is unknown.

        Raises
        ------
        ValueError
            If a number is not finite or not greater than 0.
        """
        self.cost_limit, self.cost_budget = limit, budget

    @property
    def cost_limit(self) -> float | None:
        """Cost at which a trial is aborted, or None if there is no limit.

        The unit is that of the observed costs. A Gaussian process of these costs
        predicts the probability that a trial ends before the limit. Censored costs are
        lower bounds. The acquisition function is multiplied by this probability.
        Configurations with a probability below 0.05 are not proposed, unless no other
        configuration is found in an infinite space. Surrogates that need no scores,
        such as "random", ignore the limit. Setting a limit that is not finite or not
        greater than 0 raises a ValueError.
        """
        return self._limits.limit

    @cost_limit.setter
    def cost_limit(self, limit: float | None) -> None:
        self._limits.limit = check_cost_limit("cost_limit", limit)

    @property
    def cost_budget(self) -> float | None:
        """Total cost of all trials for "ei-per-second", or None if it is unknown.

        The unit is that of the observed costs. The expected improvement is divided by
        the expected cost, raised to a power. This power is the share of the budget that
        is left (cost cooling, Lee et al. 2020). Without a budget, the power is 1.
        Setting a budget that is not finite or not greater than 0 raises a ValueError.
        """
        return self._limits.budget

    @cost_budget.setter
    def cost_budget(self, budget: float | None) -> None:
        self._limits.budget = check_cost_limit("cost_budget", budget)
