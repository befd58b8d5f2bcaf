"""Observations of an optimizer: scores, costs, and constraints on outcomes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skbayes.acquisition.base import Observations, Proposer
from skbayes.acquisition.feasibility import Feasibility, fit_constrained
from skbayes.acquisition.hypervolume import is_nondominated
from skbayes.optimizer.costs import AbortedTrials, CostModel, LimitTerms
from skbayes.optimizer.validation import (
    check_cost,
    check_cost_limit,
    check_noises,
    check_scores,
)
from skbayes.space.candidates import Candidates, Configuration, key_of
from skbayes.space.dimensions import FloatArray
from skbayes.space.space import Params, Space
from skbayes.surrogates.registry import make_surrogate
from skbayes.utils.blas import one_blas_thread
from skbayes.utils.html_table import html_table
from skbayes.utils.ranking import best_first, least_violating, total_violation

__all__ = [
    "ConstraintModels",
    "ObservationList",
    "ObservedTrials",
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


class ObservedTrials:
    """Trials of an optimizer: observed ones, pending ones, and those of other searches.

    The base class of optimizers sets `surrogate`, and proposes configurations.
    """

    surrogate: Any
    _signs: tuple[float, ...]

    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self._costs = CostModel(space.n_options)
        self._aborted = AbortedTrials(space.n_options)
        self._limits = LimitTerms(self._costs, self._aborted)
        self._observed, self._learned = ObservationList(), ObservationList()
        # Trials that can be compared: neither failed nor censored. Scores to maximize.
        self._eligible: list[tuple[list[float], Params, list[float]]] = []
        self._n_objectives: int | None = None
        self._pending: dict[bytes, FloatArray] = {}
        self._candidates = Candidates(space)
        self._constraints = ConstraintModels(self._candidates, seed)

    def tell(
        self,
        params: Mapping[str, Any] | Configuration,
        score: float | Sequence[float],
        *,
        cost: float | None = None,
        noise: float | Sequence[float] | None = None,
        censored: bool = False,
        constraints: Sequence[float] | None = None,
        ended: bool = False,
    ) -> None:
        """Record the score of a configuration.

        Parameters
        ----------
        params : dict
            Configuration of the space. It need not come from :meth:`ask`, and it may be
            observed several times.
        score : float or list of float
            Score of the configuration; greater is better, unless `direction` is
            "minimize". NaN or an infinity means that the trial failed. The surrogate
            then uses the worst known score. With several objectives, a list of the
            scores, always in the same order. Each of them may be NaN.
        cost : float, default=None
            Cost of the trial, > 0, in seconds or any other unit; see
            :meth:`expected_cost`.
        noise : float or list of float, default=None
            Known variance of `score`, in squared units of the score. It is added to the
            noise that all scores share, which is learned. Use it for scores that are
            less certain than others. None means 0.
        censored : bool, default=False
            Whether the trial was stopped early. `cost` is then a lower bound of its
            full cost, and its score may be NaN or an intermediate score with its
            `noise`. The trial is not eligible for :attr:`best_params` and
            :attr:`pareto_front`.
        constraints : list of float, default=None
            Values of constraints on outcomes of the trial, always in the same order:
            <= 0 if the constraint is satisfied, NaN if unknown. Use
            ``log(value / bound)`` for times and sizes, and ``bound - value`` for a
            score with a lower bound. A Gaussian process models each constraint. The
            improvement over the best trial that satisfies all constraints is multiplied
            by the probability that a configuration satisfies them. None means that all
            values are unknown.
        ended : bool, default=False
            Whether the trial was aborted at a limit on a quantity other than its cost,
            such as memory. Configurations that would also be aborted with a probability
            above 0.95 are not proposed.

        Raises
        ------
        TypeError
            If `score`, `cost` or `noise` is not a number, `censored` is not a bool, or
            `constraints` is not a list of numbers.
        ValueError
            If `params` is not a configuration of the space, or a number is out of
            range. If the number of scores or constraints differs from earlier calls. If
            `censored` is True without a cost. If the `surrogate` does not support
            `noise`, or the `surrogate` or `acquisition` does not support several
            scores.
        """
        cost = check_cost(cost, censored)
        scores, variances = self._check_scores(score, noise)
        slacks = self._constraints.check(constraints)
        configuration = Configuration.of(self.space, params)
        row = configuration.row
        self._pending.pop(key_of(row), None)
        self._candidates.add(row)
        self._observed.add(row, scores, variances, slacks)
        if not (censored or any(map(math.isnan, scores))):
            self._eligible.append((scores, configuration.params, slacks))
        if cost is not None:
            self._costs.add(row, cost, censored)
        if ended or not censored:
            self._aborted.add(row, bool(ended))

    def _check_scores(self, score: Any, noise: Any) -> tuple[list[float], list[float]]:
        """Return scores to maximize, and variances.

        The first call sets the number of objectives.
        """
        scores = check_scores(score, self._n_objectives)
        variances = check_noises(noise, self.surrogate, len(scores))
        # A single NaN marks a failure for any number of objectives.
        if self._n_objectives is None and (
            len(scores) > 1 or not math.isnan(scores[0])
        ):
            self._set_n_objectives(len(scores))
        return self._signed(scores), variances

    def _signed(self, scores: Sequence[Any]) -> list[Any]:
        """Negate the scores of objectives to be minimized.

        Observed scores are negated when they are passed to the optimizer, so that all
        other code maximizes. They are negated again when they are returned.
        """
        signs = itertools.cycle(self._signs)
        return [sign * score for sign, score in zip(signs, scores, strict=False)]

    def _set_n_objectives(self, n: int) -> None:
        self._n_objectives = n

    def pend(self, params: Mapping[str, Any] | Configuration) -> None:
        """Mark a configuration as pending, as if :meth:`ask` had just returned it.

        To continue an interrupted run, pass the observations to :meth:`tell` and the
        pending configurations to this method, both in their original order. The
        proposals that follow are then the same as without the interruption.

        Parameters
        ----------
        params : dict
            Configuration of the space.

        Raises
        ------
        ValueError
            If `params` is not a configuration of the space.
        """
        row = Configuration.of(self.space, params).row
        self._pending[key_of(row)] = row
        self._candidates.add(row)

    def forget(self, params: Mapping[str, Any] | Configuration) -> None:
        """Drop a pending configuration whose score will not be observed.

        Parameters
        ----------
        params : dict
            Pending configuration. It may be proposed again, unless it was observed
            before.

        Raises
        ------
        ValueError
            If it is not pending, or not a configuration of the space.
        """
        configuration = Configuration.of(self.space, params)
        if key_of(configuration.row) not in self._pending:
            raise ValueError(f"params: {configuration.params!r} is not pending.")
        self._withdraw(configuration.row)

    def _withdraw(self, row: FloatArray) -> None:
        key = key_of(row)
        self._pending.pop(key, None)
        if key not in map(key_of, self._observed.rows):
            self._candidates.discard(row)

    def learn(
        self,
        params: Mapping[str, Any],
        score: float | Sequence[float],
        noise: float | Sequence[float] | None = None,
        cost: float | None = None,
        constraints: Sequence[float] | None = None,
    ) -> None:
        """Add an observation of an earlier search.

        The surrogate is fitted to it, and it counts as one of `n_initial_points`. The
        configuration can still be proposed. It does not count in :attr:`n_told`, and it
        is not eligible for :attr:`best_params`. Observations can be added at any time.

        Parameters
        ----------
        params : dict
            Configuration of the space.
        score : float or list of float
            Score in the earlier search, NaN if the trial failed. With several
            objectives, a list as in :meth:`tell`.
        noise : float or list of float, default=None
            Known variance of `score` as an estimate of the score in this search, as in
            :meth:`tell`. Use a value greater than 0 if the two searches differ.
        cost : float, default=None
            Cost of the trial, > 0, as in :meth:`tell`. :meth:`expected_cost` uses it,
            up to a common factor, until a few costs of this search are known.
        constraints : list of float, default=None
            Values of constraints, as in :meth:`tell`. None means that they are unknown.

        Raises
        ------
        TypeError
            If `score`, `noise` or `cost` is not a number, or `constraints` is not a
            list of numbers.
        ValueError
            If `params` is not a configuration of the space, or for a reason given in
            :meth:`tell`.
        """
        cost = check_cost(cost, False)
        row = Configuration.of(self.space, params).row
        slacks = self._constraints.check(constraints)
        self._learned.add(row, *self._check_scores(score, noise), slacks)
        if cost is not None:
            self._costs.learn(row, cost)

    def expected_cost(self, params: Mapping[str, Any] | Configuration) -> float | None:
        """Predict the cost of a configuration.

        Parameters
        ----------
        params : dict
            Configuration of the space.

        Returns
        -------
        cost : float or None
            Median of the cost, predicted by a model of all observed costs. None if no
            cost is known.

        Raises
        ------
        ValueError
            If `params` is not a configuration of the space.
        """
        row = Configuration.of(self.space, params).row
        with one_blas_thread():
            return self._costs.expected(row)

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

    @property
    def n_told(self) -> int:
        """Number of observations passed to :meth:`tell`."""
        return len(self._observed.scores)

    @property
    def n_configurations(self) -> float:
        """Number of configurations that can be proposed, ``math.inf`` if infinite.

        In a space of up to 2,000 configurations, those that the constraint rejects are
        not counted. In a larger space, they can be counted, because the constraint is
        called only for some of them.
        """
        return self._candidates.n_configurations

    @property
    def best_params(self) -> Params:
        """Configuration with the best observed score.

        Failed and censored trials do not count. With constraints, it is the best of the
        trials that satisfy them, or the one that violates them least if none does. A
        ValueError is raised if there is no eligible trial or several objectives.
        """
        if not self._eligible:
            raise ValueError("No score has been observed yet.")
        if self._n_objectives != 1:
            raise ValueError(
                f"best_params is not defined for {self._n_objectives} objectives; use "
                "pareto_front."
            )
        return dict(self._best()[1])

    def _best(self) -> tuple[list[float], Params, list[float]]:
        scores = [scores for scores, *_ in self._eligible]
        return self._eligible[best_first(scores, self._violations())[0]]

    def _violations(self) -> FloatArray:
        """Return the violations of the constraints by the eligible trials."""
        violation = self._constraints.violation
        return np.array([violation(slacks) for _, _, slacks in self._eligible])

    @property
    def pareto_front(self) -> list[tuple[Params, list[float]]]:
        """Nondominated configurations and their scores, in the order of observation.

        A configuration is dominated if another one is at least as good in every
        objective and better in one. Failed and censored trials do not count. With
        constraints, only trials that satisfy them count. If none does, only the trials
        with the smallest violation count.
        """
        if not self._eligible:
            return []
        usable = np.ones(len(self._eligible), dtype=bool)
        places = np.flatnonzero(least_violating(self._violations(), usable))
        allowed = [self._eligible[place] for place in places]
        front = is_nondominated(np.array([scores for scores, *_ in allowed]))
        return [
            (dict(params), self._signed(scores))
            for (scores, params, _), on_it in zip(allowed, front, strict=True)
            if on_it
        ]

    def _observations(self) -> Observations:
        return join(
            self._learned,
            self._observed,
            list(self._pending.values()),
            self.space.n_columns,
            self._n_objectives or 1,
            self._constraints.slacks(self._learned, self._observed),
        )

    def __repr__(self) -> str:
        facts = ", ".join(f"{label} {text}" for label, text in _facts(self))
        return f"<{_title(self)}: {facts}>"

    def _repr_html_(self) -> str:
        return html_table(_title(self), _facts(self))


def _title(optimizer: Any) -> str:
    names = ", ".join(optimizer.space.parameter_names) or "no parameters"
    return f"{type(optimizer).__name__} of {names}"


def _facts(optimizer: Any) -> list[tuple[str, str]]:
    """Return the labels and values that are displayed."""
    surrogate = optimizer.surrogate
    if not isinstance(surrogate, str):
        surrogate = type(surrogate).__name__
    observed = optimizer._observed.scores
    n_failed = sum(math.isnan(scores[0]) for scores in observed)
    facts = [
        ("surrogate", surrogate),
        (
            "observed",
            f"{len(observed)} ({n_failed} failed)" if n_failed else str(len(observed)),
        ),
        ("pending", str(len(optimizer._pending))),
    ]
    if optimizer._learned.scores:
        facts.append(("learned", str(len(optimizer._learned.scores))))
    eligible = optimizer._eligible
    if not eligible:
        return facts
    if len(eligible[0][0]) > 1:
        return [*facts, ("Pareto front", str(len(optimizer.pareto_front)))]
    scores, params, _ = optimizer._best()
    (score,) = optimizer._signed(scores)
    return [*facts, ("best score", f"{score:.6g}"), ("best params", repr(params))]
