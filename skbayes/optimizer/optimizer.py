"""Bayesian optimizer of any function, with an ask-and-tell interface.

Symbols: ``k`` is the number of configurations that are observed or pending when the
next one is proposed. Proposal k is a pure function of the space, the parameters, the
observations (also those of an earlier search), the pending configurations, the seed,
and k. Each proposal has its own random generator. The surrogate may keep results from
one proposal to the next, but only results that it would compute again identically.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from skbayes.acquisition.base import Observations
from skbayes.acquisition.fronts import is_nondominated
from skbayes.acquisition.registry import check_acquisition, make_proposer
from skbayes.acquisition.terms import LogTerm, prior_terms
from skbayes.optimizer.costs import AbortedTrials, CostLimits, CostModel, LimitTerms
from skbayes.optimizer.display import OptimizerDisplay
from skbayes.optimizer.initial_design import (
    default_n_initial_points,
    draw_design,
    first_rows,
    next_of_portfolio,
    usable_portfolio,
)
from skbayes.optimizer.observations import ConstraintModels, ObservationList, join
from skbayes.optimizer.random_streams import Stream, make_generator
from skbayes.optimizer.validation import (
    check_cost,
    check_direction,
    check_initial_points,
    check_n_initial_points,
    check_noises,
    check_prior,
    check_random_state,
    check_scores,
)
from skbayes.space.candidates import Candidates, Configuration, SpaceExhausted, key_of
from skbayes.space.dimensions import FloatArray
from skbayes.space.optimum_prior import OptimumPrior
from skbayes.space.space import Space
from skbayes.surrogates.registry import capability, check_surrogate
from skbayes.utils.blas import one_blas_thread
from skbayes.utils.did_you_mean import ArgumentHints
from skbayes.utils.pickled_version import PickledVersion
from skbayes.utils.ranking import best_first, least_violating

if TYPE_CHECKING:
    from skbayes.surrogates.transfer import Source

__all__ = ["Optimizer", "SpaceExhausted"]

Params = dict[str, Any]


class Optimizer(ArgumentHints, CostLimits, OptimizerDisplay, PickledVersion):
    """Bayesian optimizer with an ask-and-tell interface.

    :meth:`ask` proposes a configuration, and :meth:`tell` passes its score back. Scores
    are maximized, or minimized with ``direction="minimize"``. The optimizer needs no
    estimator and no data, so it can optimize any Python function.

    For several objectives, pass a list of scores. The optimizer fits one independent
    surrogate for each objective. It proposes the configurations with the greatest
    expected improvement of the hypervolume that the Pareto front dominates. Objectives
    that are minimized and never negative, such as times, are modeled by their
    logarithm. The same applies to negated times that are maximized.

    Parameters
    ----------
    search_spaces : dict, list of dicts, or Space
        Search space, in any notation of :meth:`skbayes.space.Space.from_notation`.
    surrogate : str or object, default="gp"
        Model of the scores:

        - "gp": a Gaussian process. It is "gp-additive" if the space is finite and has
          at most 20,000 configurations, and "gp-warped" otherwise.
        - "gp-warped": a Gaussian process with a Matérn-5/2 kernel and a learned warping
          of each range.
        - "gp-additive": a Gaussian process with a Matérn-3/2 kernel, half of which is
          for pairs of hyper-parameters.
        - "gp-matern52", "gp-matern32", "gp-rbf": a Gaussian process with one kernel of
          all hyper-parameters together.
        - "graph": a Gaussian field on the graph of all configurations of a finite
          space.
        - "trees": an ensemble of randomized trees. It requires LightGBM.
        - "tpe": the tree-structured Parzen estimator.
        - "random", "sobol": no model; random or quasi-random search.

        An instance of a class of :mod:`skbayes.surrogates` is also accepted, and so is
        any object with ``fit(X, y)``, ``predict(X, gradient)`` and ``condition(X)``.
        For scores with `noise`, the object needs ``fit(X, y, noise)``.
    acquisition : {"ei", "ei-per-second", "pi", "ucb", "eif"} or object, default="ei"
        Acquisition function, which each proposal maximizes:

        - "ei": expected improvement.
        - "ei-per-second": expected improvement per unit of the expected cost; see
          :attr:`cost_budget`.
        - "pi": probability of improvement.
        - "ucb": upper confidence bound.
        - "eif": expected influence, for the surrogate "graph".

        An instance of a class of :mod:`skbayes.acquisition` is also accepted. Keep the
        default "ei" with the surrogates "tpe", "random" and "sobol", which do not
        evaluate an acquisition function. Also keep it with several objectives, where it
        stands for the expected improvement of the hypervolume.
    n_initial_points : int or "auto", default="auto"
        Number of configurations before the surrogate chooses the proposals. This number
        includes the configurations passed to :meth:`tell` or :meth:`learn`, pending
        ones and `initial_points`. The first initial configuration is the middle of all
        ranges, with the first option of each list that is not numeric. The others are a
        Latin hypercube, which spreads them over each range and over the options of each
        list. With 0, the surrogate chooses as soon as one score is known. The number
        does not limit the first configurations of the portfolio of `prior`.

        "auto" is 8 for "tpe", 3 for "eif", and 0 for "random" and "sobol". For the
        other surrogates, it is the number of coefficients of a linear model, at least 3
        and at most 8. This number is 1, plus 1 for each range or list of numbers, plus
        1 for each option after the first of every other list.
    initial_points : list of dict, default=None
        Configurations to propose first.
    constraint : callable, default=None
        Function ``constraint(params) -> bool``. Configurations for which it returns
        False are never proposed.
    direction : {"maximize", "minimize"} or list of them, default="maximize"
        Whether greater or smaller scores are better. A list has one direction for each
        objective. All methods take and return scores as the function computes them.
        Only the surrogate is fitted to negated scores if they are minimized.
    n_objectives : int or None, default=None
        Number of scores of each configuration. None means the length of `direction` if
        it is a list, or else the number of scores in the first call of :meth:`tell` or
        :meth:`learn`.
    prior : OptimumPrior or None, default=None
        Prior density of the best configuration. After n scores, the acquisition
        function is multiplied by this density to the power 5 / n (πBO, Hvarfner et al.
        2022). The power decreases, down to 0, if scores are better where the density is
        lower. The first initial configuration is the center of the prior. The prior has
        no effect with the surrogates "random" and "sobol". None means no prior.
    random_state : int, RandomState, Generator or None, default=None
        Source of randomness. Pass an int for reproducible proposals.

    Attributes
    ----------
    space : Space
        Search space.
    last_expected_improvement : float or None
        Expected improvement of the last proposal over the best score, in units of the
        score, for any acquisition function. With several objectives, it is the expected
        gain in hypervolume, as a share of the box between the reference point and the
        best value of each objective. None if the proposal was not chosen by a model of
        the score.

    Raises
    ------
    ImportError
        If the surrogate needs a library that is not installed.
    TypeError, ValueError
        If an argument is invalid, or if surrogate, acquisition function and space are
        incompatible. The message names the argument or the hyper-parameter.

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
    >>> optimizer.best_params
    {'power': 4, 'x': 0.982056}

    Minimization of a loss:

    >>> optimizer = Optimizer({"x": (-5.0, 5.0)}, direction="minimize", random_state=0)
    >>> for _ in range(12):
    ...     params = optimizer.ask()
    ...     optimizer.tell(params, (params["x"] - 1) ** 2)
    >>> optimizer.best_params
    {'x': 1.0}
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
        direction: str | Sequence[str] = "maximize",
        n_objectives: int | None = None,
        prior: OptimumPrior | None = None,
        random_state: Any = None,
    ) -> None:
        self.space = Space.from_notation(search_spaces, constraint)
        self.surrogate = check_surrogate(surrogate)
        self.acquisition = check_acquisition(acquisition)
        self._seed = check_random_state(random_state)
        self._costs = CostModel(self.space.n_options)
        self._aborted = AbortedTrials(self.space.n_options)
        self._limits = LimitTerms(self._costs, self._aborted)
        self._observed, self._learned = ObservationList(), ObservationList()
        # Trials that can be compared: neither failed nor censored. Scores to maximize.
        self._eligible: list[tuple[list[float], Params, list[float]]] = []
        self._n_objectives: int | None = None
        self._pending: dict[bytes, FloatArray] = {}
        self._candidates = Candidates(self.space)
        self._constraints = ConstraintModels(self._candidates, self._seed)
        self._proposer: Any = make_proposer(
            self.surrogate, self.acquisition, self._candidates, self._seed
        )
        self._signs, n = check_direction(direction, n_objectives)
        if n is not None:
            self._set_n_objectives(n)
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

    # -- ask and tell -------------------------------------------------------------

    @overload
    def ask(self) -> Params: ...

    @overload
    def ask(self, n: int) -> list[Params]: ...

    def ask(self, n: int | None = None) -> Params | list[Params]:
        """Propose one or several configurations.

        Parameters
        ----------
        n : int or None, default=None
            Number of configurations. Each is chosen while the previous ones are
            pending. None returns a single configuration instead of a list.

        Returns
        -------
        params : dict or list of dict
            A configuration that is neither observed nor pending, with its keys sorted
            by name. With `n`, a list of `n` different configurations, or of fewer if
            the space does not contain more.

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
            # These configurations are not returned, so their scores never arrive.
            for configuration in proposed:
                self._withdraw(configuration.row)
            raise
        return [configuration.params for configuration in proposed]

    def propose(self, max_cost: float | None = None) -> Configuration:
        """Propose one configuration, with its encoding.

        Parameters
        ----------
        max_cost : float or None, default=None
            Maximum cost of the trial, > 0, in units of the observed costs. It limits
            this proposal like :attr:`cost_limit`. None means no further limit.

        Returns
        -------
        configuration : Configuration
            Configuration as from :meth:`ask`. The other methods accept it in place of a
            dict, and then do not encode it again.

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
        if n > 1:
            self._proposer = make_proposer(
                self.surrogate, self.acquisition, self._candidates, self._seed, n
            )
        self._n_objectives = n

    # -- pending, queued and earlier configurations -------------------------------

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

    def enqueue(self, params: Mapping[str, Any]) -> None:
        """Add a configuration to the queue of configurations to propose first.

        The queue initially contains `initial_points`.

        Parameters
        ----------
        params : dict
            Configuration of the space. It is skipped if it is already observed or
            pending when its turn comes.

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

    def transfer(self, sources: Sequence[Source]) -> None:
        """Use the results of earlier searches on other data.

        Call this method before the first score is observed. The weight of the model of
        each earlier search depends on how well its ranking agrees with the observed
        scores (:class:`~skbayes.surrogates.TransferSurrogate`). At most three of the
        best configurations of these searches are enqueued. With
        ``n_initial_points="auto"``, the surrogate chooses all configurations after
        these. Surrogates that do not predict scores, and expected influence, only use
        the enqueued configurations.

        Parameters
        ----------
        sources : sequence of Source
            Earlier searches, encoded by :attr:`space`. Their scores have the same
            direction as those of this optimizer.

        Raises
        ------
        ValueError
            If there are several objectives.
        """
        if self._n_objectives not in (None, 1):
            raise ValueError(
                "sources: earlier searches on other data can be used with one "
                f"objective only, but the optimizer has {self._n_objectives}."
            )
        sources = [
            dataclasses.replace(source, y=self._signed([source.y])[0])
            for source in sources
        ]
        from skbayes.surrogates.transfer import TransferSurrogate

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

    def predict(self, params: Sequence[Mapping[str, Any]]) -> tuple[FloatArray, ...]:
        """Predict the scores of configurations.

        Parameters
        ----------
        params : sequence of dict
            Configurations of the space, observed or not.

        Returns
        -------
        mean, sd : ndarray of shape (n,)
            Means and standard deviations of the predicted scores, over all samples of
            the surrogate's hyper-parameters.

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
        sd = np.sqrt(np.mean(sds**2 + (means - mean) ** 2, axis=0))
        return self._signed([mean])[0], sd

    def fitted_surrogate(self) -> Any:
        """Return the surrogate, fitted to all observations.

        Returns
        -------
        surrogate : object
            Surrogate conditioned on the pending configurations. Its configurations are
            encoded by :attr:`space`. It predicts negated scores if they are minimized.
            It is not available with several objectives.

        Raises
        ------
        ValueError
            If no score is known, or `surrogate` does not predict scores.
        """
        if not np.any(np.isfinite(self._learned.scores + self._observed.scores)):
            raise ValueError("No score is known yet.")
        with one_blas_thread():
            # Without constraints, because all observations may violate them.
            observations = dataclasses.replace(self._observations(), slacks=None)
            proposer = self._proposer.fit(observations)
        if proposer.surrogate is None:
            raise ValueError(f"surrogate: {self.surrogate!r} does not predict scores.")
        return proposer.surrogate

    # -- properties ---------------------------------------------------------------

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

    # -- proposals ----------------------------------------------------------------

    def _next(self) -> tuple[Configuration, float | None]:
        """Return the next configuration and its expected improvement.

        Queued configurations come first.
        """
        for queued in self._queue:
            if not self._candidates.is_known(queued.row):
                return Configuration(dict(queued.params), queued.row), None
        row, improvement = self._best_row()
        params = self.space.decode(row[None, :])[0]
        # Encoded again, because a resumed search has only the parameters.
        return Configuration(params, self.space.encode([params])[0]), improvement

    def _best_row(self) -> tuple[FloatArray, float | None]:
        known = (self._learned, self._observed, list(self._pending.values()))
        first = next_of_portfolio(
            self._portfolio, *known, self._candidates, self._limits
        )
        if first is not None:
            return first, None
        k = len(self._observed.scores) + len(self._pending)
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
        """Return the terms that are added to the log of the acquisition function."""
        if not self._proposer.needs_scores:
            return []
        per_cost = getattr(self.acquisition, "per_cost", False)
        prior = prior_terms(self.prior, observations)
        return [*prior, *self._limits.terms(per_cost)]

    def _can_decide(self, observations: Observations) -> bool:
        if not self._proposer.needs_scores:
            return True
        # The surrogate of each objective needs at least one score.
        return bool(np.all(np.any(np.isfinite(observations.scores), axis=0)))

    def _observations(self) -> Observations:
        return join(
            self._learned,
            self._observed,
            list(self._pending.values()),
            self.space.n_columns,
            self._n_objectives or 1,
            self._constraints.slacks(self._learned, self._observed),
        )
