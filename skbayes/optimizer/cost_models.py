"""Models of the costs of trials, some of which ended early, and limits per trial.

Symbols (n observed costs, k of them bounds, m candidates, D columns):

- ``X``: (n, D) encoded configurations.
- ``y``: (n,) logarithms of the costs, or their bounds. Costs are positive, spread over
  decades, and products of factors such as folds, rows and trees. Their logarithms are
  therefore nearly normal and nearly additive.
- ``b``: logarithm of the cost at which a censored trial ended. Only y >= b is
  known of this trial.
- ``sides``: (n,) 0 for a value, +1 for a lower bound y, -1 for an upper bound y.
- ``g``: (k,) f - y at the bounds, with f the process. A bound means that g plus noise
  has the sign of its side. Its likelihood is Phi(side g / nu), where nu is the standard
  deviation of the noise (Tobit model).

Expectation propagation replaces each of these likelihoods by an observation with its
own variance. Groot & Lucas (2012), "Gaussian process regression with censored data
using expectation propagation". Hutter, Hoos & Leyton-Brown (2013), "Bayesian
optimization with censored response data".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import erfcx

from skbayes.acquisition.observations import selected_rows
from skbayes.acquisition.terms import CostTerm, LimitTerm, LogTerm, sum_values
from skbayes.space.candidates import Candidates, SpaceExhausted
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.gp.ep import propagate
from skbayes.surrogates.gp.gp import GaussianProcess

# Minimum noise, and minimum precision of an observation that replaces a bound, both
# for standardized values.
MIN_NU, MIN_TAU = 1e-3, 1e-6

# Variance of an observation without information.
NO_INFORMATION = 1e9

# With fewer costs, the prediction is their median.
MIN_COSTS = 4

# Maximum number of trials to which a model is fitted, apart from the latest ones. The
# time of a fit grows with the cube of the number.
MAX_TRIALS = 750

# A trial with a lower probability of ending before its limit is not started.
MIN_PROBABILITY = 0.05

# Number of batches of random configurations that are searched for a likely one.
N_BATCHES = 8

# Row and cost of a trial, and whether the cost is a lower bound.
Cost = tuple[FloatArray, float, bool]


def make_process(n_options: list[int] | None, **options: Any) -> GaussianProcess:
    """Make a process for which low values matter as much as high ones."""
    return GaussianProcess(
        n_options=n_options, n_samples=0, winsorize_scores=False, **options
    )


def noise_variance(process: GaussianProcess) -> float:
    """Return the noise variance of single values, in squared units of the values."""
    return float(process.mode["noise"]) * process.units[1] ** 2


def fit_bounded(
    learner: GaussianProcess, X: FloatArray, y: FloatArray, sides: FloatArray
) -> GaussianProcess:
    """Fit values and bounds with the hyper-parameters and units of a fitted process."""
    offset, unit = learner.units
    fixed = learner.mode | {"offset": offset, "unit": unit}
    process = make_process(
        learner.n_options, kernel=learner.kernel, hyperparameters=fixed
    )
    bound = sides != 0.0
    measured = ~bound
    if np.any(measured):
        process.fit(X[measured], y[measured])
    else:
        process.fit(X[:1], np.array([offset]), np.array([NO_INFORMATION * unit**2]))
    mean, covariance = process.joint(X[bound])
    nu = max(np.sqrt(fixed["noise"]), MIN_NU)
    sites = propagate(
        (mean[0] - y[bound]) / unit, covariance[0] / unit**2, sides[bound], nu
    )
    informative = sites.tau > MIN_TAU
    tau = np.where(informative, sites.tau, MIN_TAU)
    values, extra = y.copy(), np.zeros(len(y))
    values[bound] += unit * np.where(informative, sites.shift / tau, 0.0)
    # The process adds the noise that all values share.
    extra[bound] = unit**2 * np.maximum(1.0 / tau - fixed["noise"], 0.0)
    return process.fit(X, values, extra)


def truncated_mean(mean: FloatArray, sd: FloatArray, bound: FloatArray) -> FloatArray:
    """Compute the mean of a normal variable that is at least `bound`.

    E[y | y >= b] = mean + sd phi(z) / (1 - Phi(z)) with z = (b - mean) / sd. The
    quotient is sqrt(2 / pi) / erfcx(z / sqrt(2)), which neither overflows nor cancels.
    """
    z = (bound - mean) / sd
    hazard = math.sqrt(2.0 / math.pi) / erfcx(z / math.sqrt(2.0))
    return np.maximum(mean + sd * hazard, bound)


def _selected(trials: list[Cost]) -> tuple[FloatArray, FloatArray, np.ndarray]:
    """Return rows, costs and flags; at most half of them are the largest costs."""
    costs = np.array([cost for _, cost, _ in trials], dtype=np.float64)
    selected = [trials[place] for place in selected_rows(MAX_TRIALS, costs)]
    X, costs, flags = map(np.array, zip(*selected, strict=True))
    return X, costs, flags


@dataclass
class CostModel:
    """Gaussian process of the logarithms of trial costs.

    To learn the hyper-parameters, each censored cost is replaced by its mean, given the
    bound and the prediction from the uncensored costs, or by the bound if there are few
    uncensored costs. The final fit treats censored costs as bounds
    (:func:`fit_bounded`).

    `trials` may grow. `earlier` is the model of another search, which is used until
    there are enough new trials.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes.optimizer.cost_models import CostModel
    >>> model = CostModel([0])
    >>> for x in (0.0, 0.2, 0.5, 0.8, 1.0):
    ...     model.trials.append((np.array([x]), 10.0 ** (3 * x), False))
    >>> print(f"{model.expected(np.array([0.5])):.1f}")
    31.6
    """

    n_options: list[int]
    trials: list[Cost] = field(default_factory=list)
    earlier: CostModel | None = None

    def __post_init__(self) -> None:
        self._learner = make_process(self.n_options)
        self._fitted: GaussianProcess | None = None
        self._n_fitted = 0

    def expected(self, row: FloatArray) -> float | None:
        """Return the predicted median cost; None if no cost is known."""
        costs = [cost for _, cost, _ in self.trials]
        earlier = self.earlier
        if earlier is not None and earlier.trials and len(costs) < MIN_COSTS:
            # The costs of the two searches differ by a common factor.
            rows = [*(known_row for known_row, *_ in self.trials), row]
            expected = np.array([earlier.expected(row) for row in rows], dtype=float)
            ratios = np.array(costs) / expected[:-1]
            return float(expected[-1] * (np.median(ratios) if len(ratios) else 1.0))
        if not costs:
            return None
        process = self.process()
        if process is None:
            return float(np.median(costs))
        return math.exp(float(process.predict(row[None, :])[0][0, 0]))

    def process(self) -> GaussianProcess | None:
        """Return the model of the logarithms of costs; None if there are too few."""
        if len(self.trials) < MIN_COSTS:
            return None
        if self._fitted is None or self._n_fitted < len(self.trials):
            self._fitted, self._n_fitted = self._fit(), len(self.trials)
        return self._fitted

    def _fit(self) -> GaussianProcess:
        X, costs, censored = _selected(self.trials)
        bounds = np.log(costs)
        if not np.any(censored):
            return self._learner.fit(X, bounds)
        # Predict the censored costs from the uncensored ones.
        y = bounds.copy()
        if np.sum(~censored) >= MIN_COSTS:
            self._learner.fit(X[~censored], y[~censored])
            mean, sd = self._learner.predict(X[censored])
            y[censored] = truncated_mean(mean[0], sd[0], bounds[censored])
        learner = make_process(self.n_options).fit(X, y)
        return fit_bounded(learner, X, bounds, censored.astype(np.float64))


@dataclass
class AbortedTrials:
    """Probability that a trial is not aborted at a limit on an unobserved quantity.

    The model is a latent Gaussian process with probit likelihoods. It is positive where
    trials were aborted, for example at a memory limit, and negative elsewhere. `trials`
    are pairs of a row and whether its trial was aborted; the list may grow.
    """

    n_options: list[int]
    trials: list[tuple[FloatArray, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._term: LimitTerm | None = None
        self._n_fitted = 0

    def term(self) -> LimitTerm | None:
        """Return the log probability; None if no trial was aborted or there are few."""
        if len(self.trials) < MIN_COSTS or not any(flag for _, flag in self.trials):
            return None
        if self._n_fitted < len(self.trials):
            X, aborted, _ = _selected([(row, flag, flag) for row, flag in self.trials])
            sides = np.where(aborted, 1.0, -1.0)
            learner = make_process(self.n_options).fit(X, sides)
            process = fit_bounded(learner, X, np.zeros(len(X)), sides)
            self._term = LimitTerm(process, noise_variance(learner), 0.0)
            self._n_fitted = len(self.trials)
        return self._term


@dataclass(frozen=True)
class LimitTerms:
    """Terms of the acquisition function for limits per trial and costs of trials.

    A trial is aborted at the cost `limit`. The exponent of the cost is the share of the
    `budget` that is left, or 1 without a budget.
    """

    costs: CostModel
    aborted: AbortedTrials
    limit: float | None = None
    budget: float | None = None

    def terms(self, per_cost: bool) -> list[LogTerm]:
        """Return the terms of the next proposal; `per_cost` adds the cost term."""
        terms = self.of_limits()
        alpha = 1.0 if per_cost else 0.0
        if per_cost and self.budget is not None:
            # The share of the budget that is left (Lee et al. 2020, section 4).
            spent = math.fsum(cost for _, cost, _ in self.costs.trials)
            alpha = max(0.0, 1.0 - spent / self.budget)
        process = self.costs.process() if alpha > 0.0 else None
        if process is not None:
            terms.append(CostTerm(process, alpha))
        return terms

    def of_limits(self) -> list[LogTerm]:
        """Return the terms of the limits for which there are enough trials."""
        terms: list[LogTerm] = []
        if self.limit is not None and (process := self.costs.process()) is not None:
            noise = noise_variance(process)
            terms.append(LimitTerm(process, noise, math.log(self.limit)))
        if (memory := self.aborted.term()) is not None:
            terms.append(memory)
        return terms

    def are_likely(self, X: FloatArray) -> np.ndarray:
        """Return a mask of the rows (m, D) whose trials probably end before limits."""
        return sum_values(self.of_limits(), X) >= math.log(MIN_PROBABILITY)

    def first_likely(
        self, X: FloatArray, candidates: Candidates, rng: np.random.Generator
    ) -> FloatArray:
        """Return the best row whose trial probably ends before the limits.

        `X` (m, D), m >= 0, are ranked rows. If none of them is likely to end, other
        rows are drawn. If none of those is either, SpaceExhausted is raised in an
        enumerated space, and a row of an aborted trial is returned in other spaces.
        """
        if len(likely := X[self.are_likely(X)]):
            return likely[0]
        if candidates.is_enumerated:
            unseen = rng.permutation(candidates.unseen())
            if not len(likely := unseen[self.are_likely(unseen)]):
                raise SpaceExhausted(
                    f"Each of the {len(unseen)} remaining configurations has a "
                    f"probability below {MIN_PROBABILITY} of finishing within the "
                    "limit of a trial."
                )
            return candidates.allowed_first(likely)[0]
        for _ in range(N_BATCHES):
            drawn = candidates.draw(rng)
            if len(likely := drawn[self.are_likely(drawn)]):
                return likely[0]
        return drawn[0]
