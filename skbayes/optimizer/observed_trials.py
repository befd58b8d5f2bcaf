"""Observations of an optimizer: scores, costs, and constraints on outcomes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skbayes.acquisition.observations import Observations
from skbayes.optimizer import optional_parts
from skbayes.optimizer.checks import (
    check_cost,
    check_noises,
    check_positive,
    check_scores,
)
from skbayes.space.candidates import Candidates, Configuration
from skbayes.space.dimensions import FloatArray, key_of
from skbayes.space.space import Params, Space
from skbayes.surrogates.registry import make_surrogate
from skbayes.utils.blas import one_blas_thread
from skbayes.utils.ranking import (
    best_first,
    is_nondominated,
    least_violating,
    total_violation,
)
from skbayes.utils.texts import html_table

if TYPE_CHECKING:
    from skbayes.optimizer.cost_models import AbortedTrials, Cost, CostModel

# Difference between the seeds of the constraints' models and of the scores' models.
SEED_OFFSET = 1000

# Attributes that are derived from the others, and are not pickled.
_DERIVED = (
    *("_proposer", "_candidates", "_constraint_models", "_stacked"),
    *("_cost_model", "_aborted_trials"),
)


class Observation(NamedTuple):
    """Observed configuration, with lists of scores to maximize and of their variances.

    A score of NaN means that the trial failed. Slacks are the values of constraints on
    outcomes, or an empty list if they are unknown. Trials that are eligible can be
    compared: they neither failed nor are censored.
    """

    configuration: Configuration
    scores: list[float]
    noise: list[float]
    slacks: list[float]
    is_eligible: bool = False


class ObservedTrials:
    """Trials of an optimizer: observed, pending, and learned from other searches.

    The derived class sets `surrogate` and `_signs`, and proposes configurations.
    """

    surrogate: Any
    _signs: tuple[float, ...]

    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self._seed = seed
        self._observed: list[Observation] = []
        self._learned: list[Observation] = []
        self._n_objectives: int | None = None
        self._pending: dict[str, FloatArray] = {}
        self._candidates = Candidates(space)
        self._n_constraints: int | None = None
        # One Gaussian process for each constraint, for any surrogate.
        self._constraint_models: list[Any] = []
        self._cost_limit: float | None = None
        self._cost_budget: float | None = None
        self._costs: list[Cost] = []
        self._earlier_costs: list[Cost] = []
        # Rows, and whether the trial was aborted at a limit other than its cost.
        self._aborted: list[tuple[FloatArray, bool]] = []
        self._any_aborted = False
        # Arrays of the previous observations, and the numbers that their shapes depend
        # on.
        self._stacked: tuple[tuple, Observations] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return a state of built-in types, without derived attributes."""
        pickled: Any = super().__getstate__()
        state = {k: value for k, value in pickled.items() if k not in _DERIVED}
        for name in ("_observed", "_learned"):
            state[name] = [
                (trial.configuration.params, trial.configuration.row, *trial[1:])
                for trial in state[name]
            ]
        return {**state, "_known": self._candidates.known_keys}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]
        self._candidates = Candidates(self.space)
        for key in self.__dict__.pop("_known"):
            self._candidates.add_key(key)
        for name in ("_observed", "_learned"):
            trials = [
                Observation(Configuration(params, row), *others)
                for params, row, *others in state[name]
            ]
            setattr(self, name, trials)
        self._stacked = None
        self._make_constraint_models()

    # Most searches need no model of costs.
    @cached_property
    def _cost_model(self) -> CostModel:
        n_options = self.space.n_options
        earlier = optional_parts.cost_model(n_options, self._earlier_costs)
        return optional_parts.cost_model(n_options, self._costs, earlier)

    @cached_property
    def _aborted_trials(self) -> AbortedTrials:
        return optional_parts.aborted_trials(self.space.n_options, self._aborted)

    def tell(
        self,
        params: Mapping[str, Any] | Configuration,
        score: float | Sequence[float],
        *,
        cost: float | None = None,
        noise: float | Sequence[float] | None = None,
        censored: bool = False,
        constraints: Sequence[float] | None = None,
        aborted: bool = False,
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
        aborted : bool, default=False
            Whether the trial was aborted at a limit on a quantity other than its cost,
            such as memory. Configurations that would also be aborted with a probability
            above 0.95 are not proposed.

        Raises
        ------
        TypeError
            If `score`, `cost` or `noise` is not a number, `censored` is not a bool, or
            `constraints` is not a list of numbers.
        ValueError
            If `params` is not a configuration of the space, a number is out of range,
            the number of scores or constraints differs from earlier calls, or
            `censored` is True without a cost. If the `surrogate` does not support
            `noise`, or the `surrogate` or `acquisition` does not support several
            scores.
        """
        cost = check_cost(cost, censored)
        observation = self._checked(params, score, noise, constraints)
        row = observation.configuration.row
        self._pending.pop(key_of(row), None)
        self._candidates.add(row)
        is_eligible = not (censored or any(map(math.isnan, observation.scores)))
        self._observed.append(observation._replace(is_eligible=is_eligible))
        if cost is not None:
            self._costs.append((row, cost, bool(censored)))
        if aborted or not censored:
            self._aborted.append((row, bool(aborted)))
        self._any_aborted |= bool(aborted)

    def _checked(
        self, params: Any, score: Any, noise: Any, constraints: Any
    ) -> Observation:
        """Return an observation with scores to maximize.

        The first call sets the number of objectives. Scores to be minimized are
        negated, so that all other code maximizes, and negated again when they are
        returned.
        """
        scores = check_scores(score, self._n_objectives)
        variances = check_noises(noise, self.surrogate, len(scores))
        # A single NaN marks a failure for any number of objectives.
        is_failure = len(scores) == 1 and math.isnan(scores[0])
        if self._n_objectives is None and not is_failure:
            self._set_n_objectives(len(scores))
        # A failure is replaced by the worst score, without additional noise.
        pairs = zip(scores, variances, strict=True)
        variances = [0.0 if math.isnan(score) else v for score, v in pairs]
        slacks = self._check_constraints(constraints)
        configuration = Configuration.of(self.space, params)
        return Observation(configuration, self._signed(scores), variances, slacks)

    def _check_constraints(self, constraints: Any) -> list[float]:
        """Return slacks of a trial; the first ones set the number of constraints."""
        if constraints is None:
            return []
        try:
            values = [float(slack) for slack in constraints]
        except (TypeError, ValueError) as error:
            raise TypeError(
                "constraints must be a list of numbers, each <= 0 where the "
                f"constraint is satisfied, got {constraints!r}."
            ) from error
        if self._n_constraints not in (None, len(values)):
            raise ValueError(
                f"constraints must have {self._n_constraints} values, as before, got "
                f"{len(values)}."
            )
        if self._n_constraints is None and values:
            self._n_constraints = len(values)
            self._make_constraint_models()
        return values

    def _make_constraint_models(self) -> None:
        self._constraint_models = []
        for place in range(self._n_constraints or 0):
            seed = self._seed + SEED_OFFSET + place
            model = make_surrogate("gp", self._candidates, seed)
            # Values on both sides of the bound matter equally.
            model.winsorize_scores = False
            self._constraint_models.append(model)

    def _signed(self, scores: Sequence[Any]) -> list[Any]:
        """Negate the scores of objectives to be minimized."""
        signs = itertools.cycle(self._signs)
        return [sign * score for sign, score in zip(signs, scores, strict=False)]

    def _set_n_objectives(self, n: int) -> None:
        self._n_objectives = n

    def pend(self, params: Mapping[str, Any] | Configuration) -> None:
        """Mark a configuration as pending, as if :meth:`ask` had just returned it.

        To continue an interrupted run, pass the observations to :meth:`tell` and the
        pending configurations to this method, both in their original order. The
        proposals that follow are then the same as without the interruption. A
        ValueError is raised if it is not a configuration of the space.
        """
        row = Configuration.of(self.space, params).row
        self._pending[key_of(row)] = row
        self._candidates.add(row)

    def forget(self, params: Mapping[str, Any] | Configuration) -> None:
        """Drop a pending configuration whose score will not be observed.

        It may be proposed again, unless it was observed before. A ValueError is raised
        if it is not pending, or not a configuration of the space.
        """
        configuration = Configuration.of(self.space, params)
        if key_of(configuration.row) not in self._pending:
            raise ValueError(f"params: {configuration.params!r} is not pending.")
        self._withdraw(configuration.row)

    def _withdraw(self, row: FloatArray) -> None:
        key = key_of(row)
        self._pending.pop(key, None)
        if all(key_of(trial.configuration.row) != key for trial in self._observed):
            self._candidates.discard(row)

    def learn(
        self,
        params: Mapping[str, Any],
        score: float | Sequence[float],
        noise: float | Sequence[float] | None = None,
        cost: float | None = None,
        constraints: Sequence[float] | None = None,
    ) -> None:
        """Add an observation of an earlier search, at any time.

        The surrogate is fitted to it, and it counts as one of `n_initial_points`. The
        configuration can still be proposed. It does not count in :attr:`n_told`, and it
        is not eligible for :attr:`best_params`. The exceptions are the same as for
        :meth:`tell`.

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
        """
        cost = check_cost(cost)
        observation = self._checked(params, score, noise, constraints)
        self._learned.append(observation)
        if cost is not None:
            self._earlier_costs.append((observation.configuration.row, cost, False))

    def expected_cost(self, params: Mapping[str, Any] | Configuration) -> float | None:
        """Predict the median of the cost of a configuration.

        A model of all observed costs predicts it. It is None if no cost is known. A
        ValueError is raised if `params` is not a configuration of the space.
        """
        row = Configuration.of(self.space, params).row
        with one_blas_thread():
            return self._cost_model.expected(row)

    def limit_costs(self, limit: float | None, budget: float | None) -> None:
        """Set :attr:`cost_limit` and :attr:`cost_budget`."""
        self.cost_limit, self.cost_budget = limit, budget

    @property
    def cost_limit(self) -> float | None:
        """Cost at which a trial is aborted, or None if there is no limit.

        The unit is the unit of the observed costs. A Gaussian process of these costs
        predicts the probability that a trial ends before the limit. Censored costs are
        lower bounds. The acquisition function is multiplied by this probability.
        Configurations with a probability below 0.05 are not proposed, unless no other
        configuration is found in an infinite space. Surrogates that need no scores,
        such as "random", ignore the limit. Setting a limit that is not finite or not
        greater than 0 raises a ValueError.
        """
        return self._cost_limit

    @cost_limit.setter
    def cost_limit(self, limit: float | None) -> None:
        self._cost_limit = check_positive("cost_limit", limit)

    @property
    def cost_budget(self) -> float | None:
        """Total cost of all trials for "ei-per-second", or None if it is unknown.

        The unit is the unit of the observed costs. The expected improvement is divided
        by the expected cost, raised to a power. This power is the share of the budget
        that is left (cost cooling, Lee et al. 2020). Without a budget, the power is 1.
        Setting a budget that is not finite or not greater than 0 raises a ValueError.
        """
        return self._cost_budget

    @cost_budget.setter
    def cost_budget(self, budget: float | None) -> None:
        self._cost_budget = check_positive("cost_budget", budget)

    @property
    def n_told(self) -> int:
        """Number of observations passed to :meth:`tell`."""
        return len(self._observed)

    @property
    def n_configurations(self) -> float:
        """Number of configurations that can be proposed, ``math.inf`` if infinite.

        Configurations that the constraint rejects are not counted in a space of up to
        2,000 configurations. In a larger space, they may be counted, because the
        constraint is called only for some of them.
        """
        return self._candidates.n_configurations

    @property
    def best_params(self) -> Params:
        """Configuration with the best observed score.

        Failed and censored trials do not count. With constraints, it is the best of the
        trials that satisfy them, or the one that violates them least if none does. A
        ValueError is raised if there is no eligible trial or several objectives.
        """
        best = self._best()
        if best is None:
            raise ValueError("No score has been observed yet; pass one to tell.")
        if self._n_objectives != 1:
            raise ValueError(
                f"best_params is not defined for {self._n_objectives} objectives; use "
                "pareto_front."
            )
        return dict(best.configuration.params)

    def _best(self) -> Observation | None:
        trials, violations = self._eligible()
        scores = [trial.scores for trial in trials]
        return trials[best_first(scores, violations)[0]] if trials else None

    def _eligible(self) -> tuple[list[Observation], FloatArray]:
        """Return the eligible trials, and their violations of the constraints."""
        trials = [trial for trial in self._observed if trial.is_eligible]
        slacks = [self._known_slacks(trial) for trial in trials]
        shape = len(trials), self._n_constraints or 0
        return trials, total_violation(np.reshape(slacks, shape))

    def _known_slacks(self, trial: Observation) -> list[float]:
        """Return the slacks of a trial, NaN where they are unknown."""
        return trial.slacks or [math.nan] * (self._n_constraints or 0)

    @property
    def pareto_front(self) -> list[tuple[Params, list[float]]]:
        """Nondominated configurations and their scores, in the order of observation.

        A configuration is dominated if another one is at least as good in every
        objective and better in one. Failed and censored trials do not count. With
        constraints, only trials that satisfy them count. If none does, only the trials
        with the smallest violation count.
        """
        trials, violations = self._eligible()
        if not trials:
            return []
        places = np.flatnonzero(least_violating(violations, np.ones(len(trials), bool)))
        scores = np.array([trials[place].scores for place in places])
        front = [trials[place] for place in places[is_nondominated(scores)]]
        return [
            (dict(trial.configuration.params), self._signed(trial.scores))
            for trial in front
        ]

    def _observations(self) -> Observations:
        """Return all observations as arrays, beginning with earlier searches."""
        d, D = self._n_objectives or 1, self.space.n_columns
        key = len(self._learned), d, self._n_constraints
        if self._stacked is None or self._stacked[0] != key:
            stacked = self._as_arrays(self._learned + self._observed, d)
        else:
            stacked = self._stacked[1]
            n_known = len(stacked.X) - len(self._learned)
            stacked = stacked.followed_by(self._as_arrays(self._observed[n_known:], d))
        self._stacked = key, stacked
        pending = np.array(list(self._pending.values()), dtype=np.float64)
        return replace(stacked, pending=pending.reshape(len(self._pending), D))

    def _as_arrays(self, trials: list[Observation], d: int) -> Observations:
        """Return some observations of `d` objectives as arrays."""
        D = self.space.n_columns

        def column(numbers: list[list[float]]) -> FloatArray:
            # A failure may have one number if it came before the first list of scores.
            rows = [values if len(values) == d else values * d for values in numbers]
            return np.array(rows, dtype=np.float64).reshape((-1, d) if d > 1 else -1)

        slacks = None
        if self._n_constraints is not None:
            rows = [self._known_slacks(trial) for trial in trials]
            shape = len(trials), self._n_constraints
            slacks = np.array(rows, dtype=np.float64).reshape(shape)
        X = np.array([trial.configuration.row for trial in trials], dtype=np.float64)
        return Observations(
            X.reshape(len(trials), D),
            column([trial.scores for trial in trials]),
            column([trial.noise for trial in trials]),
            np.empty((0, D)),
            slacks=slacks,
        )

    def __repr__(self) -> str:
        summary = ", ".join(f"{label} {text}" for label, text in self._summary())
        return f"<{self._title()}: {summary}>"

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._summary())

    def _title(self) -> str:
        names = ", ".join(self.space.parameter_names) or "no parameters"
        return f"{type(self).__name__} of {names}"

    def _summary(self) -> list[tuple[str, str]]:
        """Return the labels and values that are displayed."""
        surrogate = self.surrogate
        if not isinstance(surrogate, str):
            surrogate = type(surrogate).__name__
        n_failed = sum(math.isnan(trial.scores[0]) for trial in self._observed)
        failed = f" ({n_failed} failed)" if n_failed else ""
        summary = [
            ("surrogate", surrogate),
            ("observed", f"{self.n_told}{failed}"),
            ("pending", str(len(self._pending))),
        ]
        if self._learned:
            summary.append(("learned", str(len(self._learned))))
        best = self._best()
        if best is None:
            return summary
        if len(best.scores) > 1:
            return [*summary, ("Pareto front", str(len(self.pareto_front)))]
        (score,) = self._signed(best.scores)
        params = repr(best.configuration.params)
        return [*summary, ("best score", f"{score:.6g}"), ("best params", params)]
