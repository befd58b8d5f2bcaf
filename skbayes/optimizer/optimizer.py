"""Optimizer of any function, by asking for configurations and telling scores.

Symbols: ``k`` is the number of configurations told or pending when one is asked for.
Proposal k is a pure function of the space, the parameters, what was told or learned of
an earlier search, what is pending, the seed and k: it has a random generator of its
own, and what the surrogate keeps from one proposal to the next it would compute again
just so.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from skbayes.acquisition.base import Observations
from skbayes.acquisition.fronts import is_nondominated
from skbayes.acquisition.prior import prior_terms
from skbayes.acquisition.registry import make_proposer
from skbayes.acquisition.terms import LogTerm
from skbayes.optimizer.cost_model import CostModel
from skbayes.optimizer.display import OptimizerDisplay
from skbayes.optimizer.initial_design import default_n_initial_points, draw_design
from skbayes.optimizer.limits import CostLimits, EndedTrials, TrialLimits
from skbayes.optimizer.observations import ObservationList, join
from skbayes.optimizer.outcome_constraints import OutcomeConstraints
from skbayes.optimizer.portfolio import next_of_portfolio, usable_portfolio
from skbayes.optimizer.random_streams import Stream, make_generator
from skbayes.optimizer.transfer import first_rows
from skbayes.optimizer.validation import (
    check_acquisition,
    check_cost,
    check_initial_points,
    check_n_initial_points,
    check_n_objectives,
    check_noises,
    check_prior,
    check_random_state,
    check_scores,
    check_surrogate,
)
from skbayes.space import OptimumPrior, Space
from skbayes.space.candidates import Candidates, SpaceExhausted, key_of
from skbayes.space.configuration import Configuration
from skbayes.space.dimensions import FloatArray
from skbayes.surrogates.registry import capability
from skbayes.surrogates.transfer import Source, TransferSurrogate
from skbayes.utils.blas import one_blas_thread
from skbayes.utils.pickled_version import PickledVersion

__all__ = ["Optimizer", "SpaceExhausted"]

Params = dict[str, Any]


class Optimizer(CostLimits, OptimizerDisplay, PickledVersion):
    """Propose configurations, learn from their scores; maximizes.

    It knows no estimator and no data: use it for any Python function. Several
    objectives at once are told as a list of scores; configurations are then proposed
    for the hypervolume that they are expected to add to that of the Pareto front, with
    one independent model for each objective; objectives that are never positive, such
    as negated times, count by the logarithm of the cost.

    Parameters
    ----------
    search_spaces : dict, list of dicts, or Space
        What may be chosen, in any notation of
        :meth:`skbayes.space.Space.from_notation`.
    surrogate : str or object, default="gp"
        What is believed of the score. "gp": a Gaussian process, "gp-additive" where
        the space is finite and has at most 20,000 configurations, else "gp-warped";
        "gp-warped": with learned warping of each range (Matérn-5/2);
        "gp-additive": half of its kernel is for pairs of parameters (Matérn-3/2).
        "gp-matern52", "gp-matern32", "gp-rbf": a kernel of all parameters together.
        "graph": a Gaussian field on the graph of all configurations of a finite space.
        "trees": an ensemble of randomized trees, with LightGBM. "tpe": the
        tree-structured Parzen estimator. "random", "sobol": nothing; random or
        quasi-random search. Or an instance: a class of :mod:`skbayes.surrogates`, or an
        object with ``fit(X, y)``, ``predict(X, gradient)`` and ``condition(X)``, and,
        for scores told with `noise`, ``fit(X, y, noise)``.
    acquisition : {"ei", "ei-per-second", "pi", "ucb", "eif"} or object, default="ei"
        What a proposal maximizes: expected improvement, the same per unit of the cost
        that is expected (see :attr:`cost_budget`), probability of improvement, upper
        confidence bound, or (on a graph) expected influence; or an instance of a
        class of :mod:`skbayes.acquisition`. "tpe", "random" and "sobol" have no
        choice: it is left at "ei"; so it is with several objectives, where it stands
        for the expected improvement of the hypervolume.
    n_initial_points : int or "auto", default="auto"
        Number of configurations told, learned, or proposed before the model decides;
        `initial_points` count. The first is the middle of all ranges with the first
        option of each list that is not numeric; the others are a Latin hypercube,
        which spreads them over each range and over the options of each list. 0: the
        model decides as soon as one score is known. "auto": 8 for "tpe", 3 for "eif",
        0 for "random" and "sobol", and for other models of the score the number of
        coefficients of a linear model (1, plus 1 for each range or list of numbers,
        plus 1 for each option after the first of every other list), at least 3 and at
        most 8.
    initial_points : list of dict, default=None
        Configurations to propose first.
    constraint : callable, default=None
        ``constraint(params) -> bool``; configurations for which it is False are never
        proposed.
    n_objectives : int or None, default=None
        How many scores will be told of each configuration. None: as many as of the
        first.
    prior : OptimumPrior or None, default=None
        Prior density of the best configuration. After n scores the acquisition function
        is multiplied by this density to the power 5 / n (πBO, Hvarfner et al. 2022). If
        scores are better where the density is lower, the power is smaller, down to 0.
        The first initial configuration is the center of the prior. "random" and "sobol"
        ignore it. None: no prior.
    random_state : int, RandomState, Generator or None, default=None
        Source of randomness; an int makes proposals reproducible.

    Attributes
    ----------
    space : Space
        The space.
    last_expected_improvement : float or None
        How much better than the best score the last proposal was expected to be, in
        units of the score, on average and counting what is worse as 0; whatever the
        acquisition. With several objectives, the hypervolume it was expected to add, as
        a share of the box between the reference and the best of each objective. None
        if no model of the score made the proposal.

    Raises
    ------
    ImportError
        If the surrogate needs a library that is not installed.
    TypeError, ValueError
        If an argument is wrong, or surrogate, acquisition and space do not go
        together; the message names it, or the parameter of the space.

    See Also
    --------
    skbayes.BayesSearchCV : Search for an estimator's hyper-parameters.

    Examples
    --------
    >>> from skbayes import Optimizer
    >>> optimizer = Optimizer({"x": (-5.0, 5.0), "power": [2, 4]}, random_state=0)
    >>> for _ in range(15):
    ...     params = optimizer.ask()
    ...     optimizer.tell(params, -abs(params["x"] - 1) ** params["power"])
    >>> abs(optimizer.best_params["x"] - 1) < 0.5
    True
    """

    def __init__(
        self,
        search_spaces: Any,
        *,
        surrogate: Any = "gp",
        acquisition: Any = "ei",
        n_initial_points: int | str = "auto",
        initial_points: Sequence[Mapping[str, Any]] | None = None,
        constraint: Callable[[Params], bool] | None = None,
        n_objectives: int | None = None,
        prior: OptimumPrior | None = None,
        random_state: Any = None,
    ) -> None:
        self.space = Space.from_notation(search_spaces, constraint)
        self.surrogate = check_surrogate(surrogate)
        self.acquisition = check_acquisition(acquisition)
        self._seed = check_random_state(random_state)
        self._costs = CostModel(self.space.n_options)
        self._ended = EndedTrials(self.space.n_options)
        self._limits = TrialLimits(self._costs, self._ended)
        self._told, self._learned = ObservationList(), ObservationList()
        # Told and comparable: neither failed nor cut short.
        self._eligible: list[tuple[list[float], Params, list[float]]] = []
        self._n_objectives: int | None = None
        self._pending: dict[bytes, FloatArray] = {}
        self._candidates = Candidates(self.space)
        self._constraints = OutcomeConstraints(self._candidates, self._seed)
        self._proposer: Any = make_proposer(
            self.surrogate, self.acquisition, self._candidates, self._seed
        )
        if n_objectives is not None:
            self._set_n_objectives(check_n_objectives(n_objectives))
        auto = default_n_initial_points(self.space, self._proposer)
        self._n_initial = check_n_initial_points(n_initial_points, auto)
        self._n_initial_is_auto = n_initial_points == "auto"
        self._queue = self._checked_points(initial_points)
        self.prior = check_prior(prior, self.space)
        self._portfolio = usable_portfolio(self.prior, auto)
        if self._portfolio is not None and self._n_initial_is_auto:
            self._n_initial = self._portfolio.n_first
        rng = make_generator(self._seed, Stream.DESIGN)
        self._design = draw_design(self.space, self._n_initial, rng, self.prior)
        self.last_expected_improvement: float | None = None

    # -- the two calls ------------------------------------------------------------

    @overload
    def ask(self) -> Params: ...

    @overload
    def ask(self, n: int) -> list[Params]: ...

    def ask(self, n: int | None = None) -> Params | list[Params]:
        """Propose a configuration, or several.

        Parameters
        ----------
        n : int or None, default=None
            Number of configurations. Each is chosen while the others are pending. None:
            one configuration, which is not in a list.

        Returns
        -------
        params : dict or list of dict
            A configuration that was neither told nor asked for before. With `n`, a list
            of `n` different configurations, or of fewer if the space has no more. Keys
            are sorted by name.

        Raises
        ------
        ValueError
            If `n` is not a positive integer, or the constraint raises an exception.
        SpaceExhausted
            If no new configuration is left.
        """
        if n is None:
            return self.propose().params
        if not isinstance(n, numbers.Integral) or n < 1:
            raise ValueError(f"n must be an integer >= 1 or None, got {n!r}.")
        proposed: list[Configuration] = []
        try:
            for _ in range(int(n)):
                proposed.append(self.propose())
        except SpaceExhausted:
            if not proposed:
                raise
        except BaseException:
            # Nobody will ever tell what was never returned.
            for one in proposed:
                self._withdraw(one.row)
            raise
        return [one.params for one in proposed]

    def propose(self, max_cost: float | None = None) -> Configuration:
        """Propose one configuration, with its encoding.

        Parameters
        ----------
        max_cost : float or None, default=None
            Maximum cost of the trial, > 0, in units of the costs told: as
            :attr:`cost_limit`, for this proposal alone. None: no further limit.

        Returns
        -------
        configuration : Configuration
            As by :meth:`ask`; the other methods take it in place of its parameters,
            and need not encode them.

        Raises
        ------
        ValueError
            If the constraint raises an exception.
        SpaceExhausted
            If no new configuration is left.
        """
        with one_blas_thread(), self._limits.at_most(max_cost):
            configuration, improvement = self._next()
        self.pend(configuration)
        self.last_expected_improvement = improvement
        return configuration

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
        """Learn the score of a configuration.

        Parameters
        ----------
        params : dict
            A configuration of the space, asked for or not; it may be told again.
        score : float or list of float
            Its score, greater is better. NaN (or an infinity) says that it failed:
            the model then takes it for as bad as the worst score known. With several
            objectives a list of the scores, always in the same order; each may fail
            for itself.
        cost : float, default=None
            What it cost to find out, > 0, in seconds or any other unit; see
            :meth:`expected_cost`.
        noise : float or list of float, default=None
            Known variance of `score`, in squared units of it, on top of the noise
            that all scores share and that is learned: for scores that are less certain
            than others. None: 0.
        censored : bool, default=False
            Whether the trial was cut short, so that it would have cost more than
            `cost`. Its score may be NaN, or what is known by then, with its `noise`;
            it is not eligible for :attr:`best_params` and :attr:`pareto_front`.
        constraints : list of float, default=None
            Values of constraints on outcomes of the trial, always in the same order:
            <= 0 if the constraint is satisfied, NaN if unknown. Use
            ``log(value / bound)`` for times and sizes, and ``bound - value`` for a
            score with a lower bound. A Gaussian process models each constraint. The
            improvement on the best trial that satisfies all constraints is multiplied
            by the probability that a configuration satisfies them. None: all are
            unknown.
        ended : bool, default=False
            Whether the trial was ended at a limit other than that of its cost, such as
            one of memory. Configurations with a probability above 0.95 of being ended,
            too, are not proposed.

        Raises
        ------
        TypeError
            If `score`, `cost` or `noise` is not a number, `censored` no bool, or
            `constraints` no list of numbers.
        ValueError
            If `params` is not a configuration of the space, a number is out of range,
            there are more or fewer scores or constraints than before, `censored` comes
            without a cost, `noise` is told to an optimizer whose `surrogate` cannot
            take it, or several scores to one whose `surrogate` or `acquisition` is good
            for one only.
        """
        cost = check_cost(cost, censored)
        scores, variances = self._check_scores(score, noise)
        slacks = self._constraints.check(constraints)
        configuration = Configuration.of(self.space, params)
        row = configuration.row
        self._pending.pop(key_of(row), None)
        self._candidates.add(row)
        self._told.add(row, scores, variances, slacks)
        if not (censored or any(map(math.isnan, scores))):
            self._eligible.append((scores, configuration.params, slacks))
        if cost is not None:
            self._costs.add(row, cost, censored)
        if ended or not censored:
            self._ended.add(row, bool(ended))

    def _check_scores(self, score: Any, noise: Any) -> tuple[list[float], list[float]]:
        """Return scores and variances; the first ones say how many objectives."""
        scores = check_scores(score, self._n_objectives)
        variances = check_noises(noise, self.surrogate, len(scores))
        # NaN alone says that it failed, in however many objectives there are.
        if self._n_objectives is None and (
            len(scores) > 1 or not math.isnan(scores[0])
        ):
            self._set_n_objectives(len(scores))
        return scores, variances

    def _set_n_objectives(self, n: int) -> None:
        if n > 1:
            self._proposer = make_proposer(
                self.surrogate, self.acquisition, self._candidates, self._seed, n
            )
        self._n_objectives = n

    # -- besides ------------------------------------------------------------------

    def pend(self, params: Mapping[str, Any] | Configuration) -> None:
        """Take a configuration as asked for, as if :meth:`ask` had just returned it.

        To continue an interrupted run: tell what was told and pend what was asked
        for, each in the order of old, and the proposals that follow are the same.

        Parameters
        ----------
        params : dict
            A configuration of the space.

        Raises
        ------
        ValueError
            If `params` is not a configuration of the space.
        """
        row = Configuration.of(self.space, params).row
        self._pending[key_of(row)] = row
        self._candidates.add(row)

    def enqueue(self, params: Mapping[str, Any]) -> None:
        """Propose a configuration as soon as those of `initial_points` are known.

        Parameters
        ----------
        params : dict
            A configuration of the space; it is not proposed if it is known by then.

        Raises
        ------
        ValueError
            If it is not a configuration of the space, or the constraint forbids it.
        """
        self._queue += self._checked_points([params])

    def _checked_points(self, points: Any) -> list[Configuration]:
        checked = check_initial_points(points, self.space)
        return [Configuration.of(self.space, params) for params in checked]

    def forget(self, params: Mapping[str, Any] | Configuration) -> None:
        """Drop a configuration that was asked for and will never be told.

        Parameters
        ----------
        params : dict
            A pending configuration. It may be asked for again, unless it was told
            before.

        Raises
        ------
        ValueError
            If it is not pending, or no configuration of the space.
        """
        configuration = Configuration.of(self.space, params)
        if key_of(configuration.row) not in self._pending:
            raise ValueError(f"params: {configuration.params!r} is not pending.")
        self._withdraw(configuration.row)

    def _withdraw(self, row: FloatArray) -> None:
        key = key_of(row)
        self._pending.pop(key, None)
        if key not in map(key_of, self._told.rows):
            self._candidates.discard(row)

    def learn(
        self,
        params: Mapping[str, Any],
        score: float | Sequence[float],
        noise: float | Sequence[float] | None = None,
        cost: float | None = None,
        constraints: Sequence[float] | None = None,
    ) -> None:
        """Take knowledge from an earlier search, at any time.

        The model sees it, and it counts as one of `n_initial_points`. Otherwise the
        configuration is as new as before: it may be asked for, and it is in neither
        :attr:`n_told` nor :attr:`best_params`.

        Parameters
        ----------
        params : dict
            A configuration of the space.
        score : float or list of float
            The score it had, NaN if it failed; several as in :meth:`tell`.
        noise : float or list of float, default=None
            Known variance of `score` as an estimate of what would be told here, as in
            :meth:`tell`: greater than 0 where the earlier search was not quite the
            same.
        cost : float, default=None
            Its cost, > 0, as in :meth:`tell`. Until the costs of a few configurations
            have been told, :meth:`expected_cost` uses it, up to a common factor.
        constraints : list of float, default=None
            Values of constraints, as in :meth:`tell`; None: they are unknown.

        Raises
        ------
        TypeError
            If `score`, `noise` or `cost` is not a number, or `constraints` no list of
            numbers.
        ValueError
            If `params` is not a configuration of the space, or as in :meth:`tell`.
        """
        cost = check_cost(cost, False)
        row = Configuration.of(self.space, params).row
        slacks = self._constraints.check(constraints)
        self._learned.add(row, *self._check_scores(score, noise), slacks)
        if cost is not None:
            self._costs.learn(row, cost)

    def transfer(self, sources: Sequence[Source]) -> None:
        """Take knowledge from earlier searches on other data; before the first score.

        The weight of the model of each search depends on how well its ranking agrees
        with the scores told (:class:`~skbayes.surrogates.TransferSurrogate`). At most
        three of their best configurations are enqueued; with
        ``n_initial_points="auto"`` the model proposes the configurations after these. A
        surrogate that predicts no scores, and expected influence, use these
        configurations only.

        Parameters
        ----------
        sources : sequence of Source
            Earlier searches, encoded by :attr:`space`.

        Raises
        ------
        ValueError
            If there are several objectives.
        """
        if self._n_objectives not in (None, 1):
            raise ValueError(
                f"sources: they have one score each, but the optimizer has "
                f"{self._n_objectives} objectives."
            )
        surrogate = TransferSurrogate(self.surrogate, sources, self._seed)
        surrogate.prepare(self._candidates)
        rows = first_rows(self.space, sources, surrogate.models)
        self._queue += [
            Configuration(params, row)
            for params, row in zip(self.space.decode(rows), rows, strict=True)
        ]
        if (
            capability(self.surrogate, "predicts_scores")
            and not self.acquisition.needs_graph
        ):
            self._proposer = make_proposer(
                surrogate, self.acquisition, self._candidates, self._seed
            )
            if self._n_initial_is_auto:
                self._n_initial = min(self._n_initial, len(self._queue))

    def expected_cost(self, params: Mapping[str, Any] | Configuration) -> float | None:
        """Cost that is to be expected of a configuration.

        Parameters
        ----------
        params : dict
            A configuration of the space.

        Returns
        -------
        cost : float or None
            Its median, by a model of all costs told; None if there are none.

        Raises
        ------
        ValueError
            If `params` is not a configuration of the space.
        """
        row = Configuration.of(self.space, params).row
        with one_blas_thread():
            return self._costs.expected(row)

    def predict(self, params: Sequence[Mapping[str, Any]]) -> tuple[FloatArray, ...]:
        """Say what the model expects of configurations.

        Parameters
        ----------
        params : sequence of dict
            Configurations of the space, told or not.

        Returns
        -------
        mean, sd : ndarray of shape (n,)
            Expected scores and their standard deviations, over all samples of the
            model's hyper-parameters.

        Raises
        ------
        ValueError
            If no score is known, `surrogate` does not predict scores, or one of
            `params` is not a configuration of the space.
        """
        X = self.space.encode(list(params))
        with one_blas_thread():
            means, sds = self.fitted_surrogate().predict(X)
        mean = means.mean(axis=0)
        return mean, np.sqrt(np.mean(sds**2 + (means - mean) ** 2, axis=0))

    def fitted_surrogate(self) -> Any:
        """Return the model of the score that knows all that was told.

        Returns
        -------
        surrogate : object
            Fitted, and conditioned on what is pending. Its configurations are encoded
            by :attr:`space`. With several objectives there is none.

        Raises
        ------
        ValueError
            If no score is known, or `surrogate` does not predict scores.
        """
        if not np.any(np.isfinite(self._learned.scores + self._told.scores)):
            raise ValueError("No score is known yet.")
        with one_blas_thread():
            # No constraint: all that was told may violate them.
            observations = dataclasses.replace(self._observations(), slacks=None)
            proposer = self._proposer.fit(observations)
        if proposer.surrogate is None:
            raise ValueError(f"surrogate: {self.surrogate!r} does not predict scores.")
        return proposer.surrogate

    # -- looking at it ------------------------------------------------------------

    @property
    def n_told(self) -> int:
        """Number of scores told."""
        return len(self._told.scores)

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
        """Configuration with the best score told; ValueError if there is none.

        Failed and censored trials do not count. With constraints it is the best of the
        trials that keep them, or else the one that violates them least.
        """
        if not self._eligible:
            raise ValueError("No score has been told yet.")
        if self._n_objectives != 1:
            raise ValueError(
                f"There are {self._n_objectives} objectives, and no best for all of "
                "them; see pareto_front."
            )
        return dict(self._best()[1])

    def _best(self) -> tuple[list[float], Params, list[float]]:
        violation = self._constraints.violation
        return max(self._eligible, key=lambda trial: (-violation(trial[2]), trial[0]))

    @property
    def pareto_front(self) -> list[tuple[Params, list[float]]]:
        """Configurations that no other one dominates, and their scores.

        None of the others told is at least as good in every objective and better in
        one. Failed and censored trials do not count; with constraints only those that
        violate them least, which is not at all if one keeps them. In the order in which
        they were told.
        """
        if not self._eligible:
            return []
        violations = [self._constraints.violation(trial[2]) for trial in self._eligible]
        least = min(violations)
        pairs = zip(self._eligible, violations, strict=True)
        allowed = [trial for trial, violation in pairs if violation == least]
        front = is_nondominated(np.array([scores for scores, *_ in allowed]))
        return [
            (dict(params), list(scores))
            for (scores, params, _), on_it in zip(allowed, front, strict=True)
            if on_it
        ]

    # -- proposals ----------------------------------------------------------------

    def _next(self) -> tuple[Configuration, float | None]:
        """Return the next configuration and the improvement the model expects of it.

        The user's configurations come first, then our own.
        """
        for queued in self._queue:
            if not self._candidates.is_known(queued.row):
                return Configuration(dict(queued.params), queued.row), None
        row, improvement = self._best_row()
        params = self.space.decode(row[None, :])[0]
        # Encoded anew: a search that is resumed has the parameters only.
        return Configuration(params, self.space.encode([params])[0]), improvement

    def _best_row(self) -> tuple[FloatArray, float | None]:
        known = (self._learned, self._told, list(self._pending.values()))
        first = next_of_portfolio(
            self._portfolio, *known, self._candidates, self._limits
        )
        if first is not None:
            return first, None
        k = len(self._told.scores) + len(self._pending)
        rng = make_generator(self._seed, Stream.PROPOSAL, k)
        n_known = len(self._learned.scores) + k
        observations = self._observations()
        if n_known >= self._n_initial and self._can_decide(observations):
            proposer, observations = self._constraints.fit(self._proposer, observations)
            terms = [*proposer.terms, *self._terms(observations)]
            proposer = proposer.with_terms(terms)
            ranked = proposer.rank(self._candidates, observations.incumbents, rng)
            if self._proposer.needs_scores:
                row = self._limits.first(ranked, self._candidates, rng)
            else:
                row = ranked[0] if len(ranked) else self._candidates.draw(rng)[0]
            if not len(ranked):
                return row, None
            improvement = proposer.expected_improvement(row)
            return row, self._constraints.expected(proposer, row, improvement)
        design = self._design[k : k + 1]
        if len(design) and not self._candidates.filter_new(design)[0]:
            design = design[:0]
        return self._limits.first(design, self._candidates, rng), None

    def _terms(self, observations: Observations) -> list[LogTerm]:
        """Return what is added to the logarithm of the acquisition function."""
        if not self._proposer.needs_scores:
            return []
        per_cost = getattr(self.acquisition, "per_cost", False)
        prior = prior_terms(self.prior, observations)
        return [*prior, *self._limits.terms(per_cost)]

    def _can_decide(self, observations: Observations) -> bool:
        if not self._proposer.needs_scores:
            return True
        # The model of an objective needs one score.
        return bool(np.all(np.any(np.isfinite(observations.scores), axis=0)))

    def _observations(self) -> Observations:
        return join(
            self._learned,
            self._told,
            list(self._pending.values()),
            self.space.n_columns,
            self._n_objectives or 1,
            self._constraints.slacks(self._learned, self._told),
        )
